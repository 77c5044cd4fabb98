//! Statement (b): the shares of labels among the texts.
//!
//! # The assumption
//! Public and private texts of one label have the same distribution (label shift); only the shares
//! of labels differ. Then the shares of outcomes are h = Cᵀπ, where π are the shares of labels and
//! C\[y\]\[z\] is the mean over public texts of label y of the exact probability of outcome z.
//! [`Fit`] tests the testable part of that.
//!
//! The world's texts do not differ from the public ones like a second sample, but like another
//! source: another author, product or year. With [`Assumption::OtherSources`] intervals therefore
//! add Σ_y π_y²·B_y/m to the covariance of h, where B_y is the covariance, between sources of
//! public texts, of the mean law of label y. Private texts are taken for m sources: 1 if a field
//! names the sources of public texts, otherwise `GUESSED`, because clusters differ more than
//! sources. Such errors are not errors of C: the laws of the private texts are what they are, and
//! nothing pulls shares together.
//!
//! # The estimate
//! Generalised least squares: π minimises (h − Cᵀπ)ᵀ·Σ⁻¹·(h − Cᵀπ), where Σ is the covariance of h,
//! from finitely many releases, plus that of Cᵀπ, from finitely many public texts. Errors of C
//! would pull all shares together, so their part of C·Σ⁻¹·Cᵀ is subtracted (Fuller 1987). The point
//! estimate is the most likely vector of shares (not negative, with sum one) after a fraction of a
//! count is added for each label. The interval comes from the minimum without that bound, a linear
//! function of h, which is nearly normal at any number of releases, even for a share of 0. Several
//! kinds of releases count together, each with its own C.
//!
//! # Few releases, and few public texts
//! Both variances are measured, and would be 0 if a few releases or texts agree. So a few arbitrary
//! releases are added, and for each label a few texts in each outcome. Quantiles are those of
//! Student's t, where texts contribute. Intervals from little data are too wide rather than too
//! narrow; `tests/few.rs` measures both.
//!
//! # Source
//! Label shift: Saerens, Latinne and Decaestecker 2002; Vaz, Izbicki and Stern 2019. Ours: exact
//! laws instead of sampled confusion, and closed-form intervals instead of a bootstrap, so that
//! equal counts give equal answers.

use core::num::NonZero;
use std::collections::BTreeMap;

use nalgebra::{DMatrix, DVector, RowDVector};
use serde::Serialize;
use statrs::distribution::{ContinuousCDF, Normal, StudentsT};
use undertone::error::{Error, Result};
use undertone::pack::calibration::{BySource, Calibration};
use undertone::release::law::Law;
use undertone_core::release::Mechanism;
use undertone_core::rng::PublicRng;
use undertone_core::rng::rand_core::Rng;
use undertone_core::select::Ratio;

use crate::channel::Channel;
use crate::counts::Kind;
use crate::refused;
use crate::shares::{Confidence, Share, ascending, is_whole_text};
use crate::simplex::{least, likely, with_sum_one};

/// Fewest public texts of a label.
pub const FEWEST_TEXTS: usize = 5;

/// Most outcomes, because matrices grow with their square.
pub const MOST_OUTCOMES: usize = 2000;

/// Most kinds of releases: each requires its own matrices, and a forger can invent values of ε.
pub const MOST_KINDS: usize = 32;

/// Texts added to the variance of a label's mean, for each outcome: an outcome that no public text
/// of a label shows may still be that of other texts. Without them, five texts that agree would
/// leave no doubt. Chosen by `tests/few.rs`.
const UNSEEN: f64 = 4.0;

/// Most such texts in all outcomes together, where their errors add up: outcomes do not all stay
/// unseen by chance.
const UNSEEN_TOGETHER: f64 = 60.0;

/// Arbitrary releases added to the variance, half at either end of the range: the variance of a few
/// releases that agree would otherwise be 0 (Agresti and Coull 1998).
const UNHEARD: f64 = 4.0;

/// Widening of intervals, as a fraction of the influence of one release: errors of few releases are
/// not normal.
const MARGIN: f64 = 0.5;

/// Fewest releases that are tested for fit: the expected deviation of fewer is not known well
/// enough.
pub const FEWEST_TO_TEST: u64 = 100;

/// Simulated populations for the test of fit.
const SIMULATED: usize = 499;

/// Scale of the count that is added for each label, so that few releases do not give one label
/// everything: this many times the mean variance of the estimates over the square of an equal
/// share. Chosen on 20 Newsgroups, where a fixed count is right either for informative releases or
/// for uninformative ones.
const PRIOR: f64 = 0.2;

/// Most of that count: the prior of Jeffreys.
const MOST_PRIOR: f64 = 0.5;

/// Iterations for Σ, which depends on the shares.
const ROUNDS: usize = 8;

/// The number of clusters of public texts that private texts are worth. Chosen on the suite of
/// natural shifts in `RESULTS.md`.
const GUESSED: f64 = 2.0;

/// Least distance of a share from the ends of its interval, as a part of half its width: a share
/// at an end would look like a mistake.
const EDGE: f64 = 0.1;

/// The assumption about private texts of a label.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Assumption {
    /// They differ from public ones as much as parts of these differ from each other. The same as
    /// [`Alike`](Self::Alike) for public texts of unknown sources.
    #[default]
    OtherSources,
    /// They are like public ones.
    Alike,
}

/// The shares of labels.
#[derive(Clone, Debug, PartialEq)]
pub struct Labels {
    /// The number of releases.
    pub releases: u64,
    /// `[labels]`.
    pub shares: Vec<Share>,
    /// `[labels]`: estimates that may be negative.
    pub unbounded: Vec<f64>,
    /// Whether the intervals allow for other sources.
    pub allows: bool,
    /// Test of the assumption.
    pub fit: Fit,
    /// Most that one forged release moves a share, before shares are bounded to 0..=1.
    pub moved: f64,
    /// Errors, for differences.
    noise: Noise,
}

/// How well the releases agree with the assumption. The test has no results if `freedom` is 0 or
/// there are fewer than [`FEWEST_TO_TEST`] releases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Fit {
    /// Probability that releases of texts that satisfy the assumption agree less.
    pub probability: Option<f64>,
    /// Distance of the releases from the fitted shares, as a multiple of the expected one; at least
    /// 1.
    pub dispersion: Option<f64>,
    /// Fraction of releases that must have other outcomes, in a way that no shares of labels make,
    /// for the test to refute the assumption 9 times in 10.
    pub noticeable: Option<f64>,
    /// The number of ways in which outcomes can differ from all that shares of labels make. At 0
    /// nothing can be tested: every deviation looks like other shares.
    pub freedom: usize,
    /// Whether the assumption is refuted: by the test, at a probability below 0.01, or because no
    /// shares from 0 to 1 make such releases.
    pub refuted: bool,
}

/// Sources of the errors of estimates.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Noise {
    /// `[labels]`: the variance from releases.
    of_releases: DVector<f64>,
    /// `[labels]`: the widening of intervals beyond normal errors.
    margin: DVector<f64>,
    influence: Vec<Influence>,
}

/// How the errors of each public text of a calibration move the estimates.
#[derive(Clone, Debug, PartialEq)]
struct Influence {
    calibration: usize,
    /// Whether these are sources, instead of texts. Private texts of two estimates are taken to be
    /// of different sources.
    of_sources: bool,
    /// `[texts]`: the label of each text; then `[labels]`: the number of texts.
    labels: Vec<usize>,
    texts: Vec<f64>,
    /// `[texts][labels]`.
    of_texts: DMatrix<f64>,
    /// `[outcomes · labels][labels]`: the influence of unseen outcomes, see [`UNSEEN`].
    of_unseen: DMatrix<f64>,
}

impl Influence {
    /// Adds `factor` times another influence of the same texts.
    fn add(&mut self, other: &Self, factor: f64) {
        self.of_texts += &other.of_texts * factor;
        let rows = self.of_unseen.nrows().max(other.of_unseen.nrows());
        let resized = |own: &DMatrix<f64>| own.clone().resize_vertically(rows, 0.0);
        self.of_unseen = resized(&self.of_unseen) + resized(&other.of_unseen) * factor;
    }

    /// `[labels of texts]`: the variance of an estimate due to the texts of each label.
    fn by_label(&self, guess: usize) -> Vec<f64> {
        let mut own = vec![0.0; self.texts.len()];
        for (label, moved) in self.labels.iter().zip(self.of_texts.column(guess).iter()) {
            own[*label] += moved * moved;
        }
        for (row, moved) in self.of_unseen.column(guess).iter().enumerate() {
            own[row % self.texts.len()] += moved * moved;
        }
        own
    }
}

impl Noise {
    /// Half the width of the interval of an estimate; `side` is the probability beyond each end.
    pub(crate) fn half(&self, guess: usize, side: f64) -> f64 {
        let mut total = self.of_releases[guess];
        let mut squares = 0.0;
        for own in &self.influence {
            for (part, texts) in own.by_label(guess).into_iter().zip(&own.texts) {
                total += part;
                squares += part * part / (texts - 1.0);
            }
        }
        // Variances from few texts are uncertain: Welch 1947, Satterthwaite 1946.
        reach(side, total * total / squares) * total.sqrt() + self.margin[guess]
    }

    /// The noise of a difference of estimates, which share the errors of public texts.
    fn less(&self, other: &Self) -> Self {
        let mut influence = self.influence.clone();
        for theirs in &other.influence {
            let same = |own: &&mut Influence| {
                !theirs.of_sources && !own.of_sources && own.calibration == theirs.calibration
            };
            match influence.iter_mut().find(same) {
                Some(own) => own.add(theirs, -1.0),
                None => influence.push(theirs.clone()),
            }
        }
        Self {
            of_releases: &self.of_releases + &other.of_releases,
            margin: &self.margin + &other.margin,
            influence,
        }
    }
}

/// The distance of an end in standard deviations that were measured with `freedom` degrees of
/// freedom.
fn reach(side: f64, freedom: f64) -> f64 {
    let normal = -Normal::standard().inverse_cdf(side);
    match StudentsT::new(0.0, 1.0, freedom) {
        Ok(own) if freedom < 1e4 => -ascending(-2.0 * normal, -normal, side, |at| own.cdf(at)),
        _ => normal,
    }
}

/// Releases of one kind, and the laws of public texts under it.
#[derive(Clone, Copy, Debug)]
pub struct Sample<'a> {
    /// The laws of public texts, shared by all samples of the kind.
    pub laws: &'a Laws<'a>,
    /// The number of releases by outcome.
    pub outcomes: &'a BTreeMap<u32, u64>,
}

/// The laws of public texts under a kind of releases and their means, computed once for all
/// estimates from that kind.
#[derive(Debug)]
pub struct Laws<'a> {
    kind: Kind,
    calibration: &'a Calibration,
    /// `[texts][outcomes]`: the deviation from the mean of the label.
    residuals: DMatrix<f64>,
    /// `[labels][outcomes]`: C.
    pub(crate) means: DMatrix<f64>,
    /// `[texts]`: their labels.
    of_texts: Vec<usize>,
    /// `[labels]`: the number of texts.
    texts: Vec<f64>,
    pub(crate) channel: Option<Channel>,
    /// `[outcomes]`: most that the laws of two texts may differ.
    spread: DVector<f64>,
    between: Option<Between>,
}

/// The covariance between sources of the mean laws of labels, over m.
#[derive(Debug)]
struct Between {
    /// `[rows][outcomes]`: the covariance of a label is the sum of the outer products of its rows.
    rows: DMatrix<f64>,
    /// `[rows]`: their labels.
    labels: Vec<usize>,
    /// `[labels]`: the number of sources.
    sources: Vec<f64>,
}

impl Between {
    /// `laws`: `[texts][outcomes]`. `None` if a label has texts of fewer than two sources.
    fn new(own: &BySource, laws: &DMatrix<f64>) -> Option<Self> {
        let labels = own.texts.labels.len();
        let worth = if own.are_guessed() { GUESSED } else { 1.0 };
        let mut texts: Vec<BTreeMap<u32, Vec<usize>>> = vec![BTreeMap::new(); labels];
        for (text, (label, source)) in own.texts.of_texts.iter().zip(&own.of_texts).enumerate() {
            texts[*label as usize]
                .entry(*source)
                .or_default()
                .push(text);
        }
        let (mut rows, mut of_rows) = (Vec::new(), Vec::new());
        for (label, sources) in texts.iter().enumerate() {
            if sources.len() < 2 {
                return None;
            }
            let mean = |texts: &[usize]| {
                let zeros = RowDVector::zeros(laws.ncols());
                let sum = texts.iter().fold(zeros, |sum, text| sum + laws.row(*text));
                sum / texts.len() as f64
            };
            let all: Vec<usize> = sources.values().flatten().copied().collect();
            let count = all.len() as f64;
            let all = mean(&all);
            let (mut between, mut within, mut squares) = (0.0, 0.0, 0.0);
            let start = rows.len();
            for own in sources.values() {
                let size = own.len() as f64;
                let centre = mean(own);
                for text in own {
                    within += (laws.row(*text) - &centre).norm_squared();
                }
                let deviation = (centre - &all) * (size / count).sqrt();
                between += deviation.norm_squared();
                squares += size * size;
                rows.push(deviation);
                of_rows.push(label);
            }
            // The estimate of moments of a variance between groups (Cochran 1939).
            let degrees = sources.len() as f64 - 1.0;
            let sampling = degrees * within / (count - sources.len() as f64).max(1.0);
            let variance = (count * between - sampling).max(0.0) / (count - squares / count);
            let scale = if between > 0.0 {
                variance / between
            } else {
                0.0
            };
            for row in &mut rows[start..] {
                *row *= (scale / worth).sqrt();
            }
        }
        Some(Self {
            rows: DMatrix::from_rows(&rows),
            labels: of_rows,
            sources: texts.iter().map(|own| own.len() as f64).collect(),
        })
    }

    /// The rows, each times the share of its label.
    fn scaled(&self, shares: &[f64]) -> DMatrix<f64> {
        scale_rows(self.rows.clone(), &self.labels, |label| shares[label])
    }
}

/// Multiplies each row by the factor of its label.
fn scale_rows(
    mut rows: DMatrix<f64>,
    labels: &[usize],
    factor: impl Fn(usize) -> f64,
) -> DMatrix<f64> {
    for (mut row, label) in rows.row_iter_mut().zip(labels) {
        row.scale_mut(factor(*label));
    }
    rows
}

/// The laws of public texts: `[texts][outcomes]`.
fn laws_of(
    texts: &Calibration,
    kind: Kind,
    channel: Option<Channel>,
    outcomes: usize,
) -> DMatrix<f64> {
    let mut laws = DMatrix::zeros(texts.len(), outcomes);
    let steps = texts.steps.try_into().unwrap_or(NonZero::<u8>::MIN);
    let ratio = Ratio::per_step(kind.epsilon(), steps);
    for text in 0..texts.len() {
        let best = texts.best[text] as usize;
        match channel {
            // Debiased votes estimate the best candidate itself.
            Some(_) if kind.holds_points() => laws[(text, best)] = 1.0,
            Some(channel) => {
                laws.row_mut(text).fill(channel.other());
                laws[(text, best)] = channel.own();
            }
            None => {
                let law = Law::new(texts.levels_of(text).to_vec(), ratio, kind.rule());
                for outcome in 0..outcomes {
                    laws[(text, outcome)] = law.probability(outcome);
                }
            }
        }
    }
    laws
}

impl<'a> Laws<'a> {
    /// The laws of these public texts.
    ///
    /// # Errors
    /// [`ErrorKind::Input`](undertone::error::ErrorKind::Input) for releases that the pack of the
    /// calibration cannot make, for more than [`MOST_OUTCOMES`] outcomes, and for fewer than
    /// [`FEWEST_TEXTS`] texts of a label.
    ///
    /// # Cost
    /// The exact law of each text, and a number for each text and outcome.
    pub fn new(kind: Kind, calibration: &'a Calibration) -> Result<Self> {
        let candidates = calibration.candidates as u32;
        let channel = Channel::new(kind, candidates)?;
        if kind.places().is_some() {
            return Err(refused(format!(
                "labels belong to whole texts, and {kind} is about one sentence of each; estimate the shares of candidates"
            )));
        }
        if channel.is_none() && kind.mechanism() != calibration.mechanism {
            return Err(refused(format!(
                "{kind} was not released by the pack of the calibration, which selects by {}",
                match calibration.mechanism {
                    Mechanism::Scores => "scores",
                    _ => "depth",
                }
            )));
        }
        let outcomes = match channel {
            Some(channel) => channel.answers(),
            None => calibration.candidates,
        };
        if outcomes > MOST_OUTCOMES {
            return Err(refused(format!(
                "shares of labels are estimated from at most {MOST_OUTCOMES} outcomes, and {kind} has {outcomes}; \
                 estimate the shares of candidates"
            )));
        }
        let by_source = calibration.by_source.as_ref().map(|own| &own.texts.best);
        let mut best = calibration
            .best
            .iter()
            .chain(by_source.into_iter().flatten());
        if channel.is_some() && best.any(|best| *best as usize >= outcomes) {
            return Err(refused(format!(
                "{kind} was not released by the pack of the calibration, which has the outcome \"nothing known\""
            )));
        }
        let of_texts: Vec<usize> = calibration.of_texts.iter().map(|y| *y as usize).collect();
        let labels = calibration.labels.len();
        let mut texts = vec![0.0; labels];
        let mut means = DMatrix::zeros(labels, outcomes);
        let mut laws = laws_of(calibration, kind, channel, outcomes);
        for (text, label) in of_texts.iter().enumerate() {
            texts[*label] += 1.0;
            let mut mean = means.row_mut(*label);
            mean += laws.row(text);
        }
        for (label, count) in texts.iter().enumerate() {
            if (*count as usize) < FEWEST_TEXTS {
                return Err(refused(format!(
                    "label \"{}\" has {count} public texts, and an estimate needs at least {FEWEST_TEXTS}; give more labelled texts",
                    calibration.labels[label]
                )));
            }
            means.row_mut(label).scale_mut(1.0 / count);
        }
        let spread = DVector::from_fn(outcomes, |outcome, _| match channel {
            Some(_) if kind.holds_points() => 1.0,
            Some(channel) => channel.own() - channel.other(),
            None => laws.column(outcome).max() - laws.column(outcome).min(),
        });
        for (text, label) in of_texts.iter().enumerate() {
            let mut residual = laws.row_mut(text);
            residual -= means.row(*label);
        }
        let between = calibration
            .by_source
            .as_ref()
            .and_then(|own| Between::new(own, &laws_of(&own.texts, kind, channel, outcomes)));
        Ok(Self {
            between,
            kind,
            calibration,
            residuals: laws,
            means,
            of_texts,
            texts,
            channel: channel.filter(|_| kind.holds_points()),
            spread,
        })
    }

    /// The laws under several kinds of releases, for a joint estimate.
    ///
    /// # Errors
    /// The errors of [`new`](Self::new), and
    /// [`ErrorKind::Input`](undertone::error::ErrorKind::Input) for more than [`MOST_KINDS`] kinds.
    pub fn of_kinds(
        kinds: impl ExactSizeIterator<Item = (Kind, &'a Calibration)>,
    ) -> Result<Vec<Self>> {
        if kinds.len() > MOST_KINDS {
            return Err(refused(format!(
                "there are releases of {} kinds, and shares of labels are estimated from at most {MOST_KINDS}; some may be \
                 forged: name the values of epsilon that your devices use with ⟨epsilon⟩",
                kinds.len()
            )));
        }
        kinds
            .map(|(kind, calibration)| Self::new(kind, calibration))
            .collect()
    }

    /// The labels of the public texts.
    pub fn labels(&self) -> &'a [String] {
        &self.calibration.labels
    }

    /// The kind of releases.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The part of the variance of a label's mean that one of its texts contributes.
    fn share_of_variance(&self, label: usize) -> f64 {
        1.0 / (self.texts[label] * (self.texts[label] - 1.0))
    }

    /// The standard error that one text contributes to the part of its label in Cᵀπ, relative to
    /// its residual.
    fn weight(&self, label: usize, shares: &[f64]) -> f64 {
        shares[label] * self.share_of_variance(label).sqrt()
    }

    /// The covariance of Cᵀπ.
    fn covariance(&self, shares: &[f64]) -> DMatrix<f64> {
        let scaled = scale_rows(self.residuals.clone(), &self.of_texts, |label| {
            self.weight(label, shares)
        });
        let mut covariance = scaled.tr_mul(&scaled);
        let unseen = shares.iter().enumerate();
        let unseen = unseen.map(|(label, share)| UNSEEN * (share / self.texts[label]).powi(2));
        let unseen: f64 = unseen.sum();
        for (outcome, spread) in self.spread.iter().enumerate() {
            covariance[(outcome, outcome)] += unseen * spread * spread;
        }
        covariance
    }

    /// Standard error of a label's mean in an outcome that none of its texts shows, relative to
    /// `spread`.
    fn unseen(&self, label: usize) -> f64 {
        UNSEEN
            .min(UNSEEN_TOGETHER / self.spread.len() as f64)
            .sqrt()
            / self.texts[label]
    }
}

/// One sample's part of the estimate.
pub(crate) struct Part<'a> {
    calibration: usize,
    laws: &'a Laws<'a>,
    /// The covariance between sources, if the assumption allows for it.
    between: Option<&'a Between>,
    releases: f64,
    /// h.
    observed: DVector<f64>,
    /// The covariance of one release's part of h, unless it is that of shares.
    of_release: Option<DMatrix<f64>>,
    /// Σ⁻¹.
    inverse: DMatrix<f64>,
    /// A root of Σ.
    root: DMatrix<f64>,
}

impl<'a> Part<'a> {
    fn new(sample: &Sample<'a>, calibration: usize, assumption: Assumption) -> Result<Self> {
        let laws = sample.laws;
        let outcomes = laws.means.ncols();
        let total: u64 = sample.outcomes.values().sum();
        let n = total as f64;
        let (observed, of_release) = match laws.channel {
            None => {
                let mut observed = DVector::zeros(outcomes);
                for (outcome, count) in sample.outcomes {
                    let place = observed.get_mut(*outcome as usize).ok_or_else(|| {
                        refused(format!(
                            "outcome {outcome} of {} does not exist: the pack has {outcomes} outcomes; count again with the \
                             candidates file, which sets forged releases aside",
                            laws.kind
                        ))
                    })?;
                    *place += *count as f64 / n;
                }
                (observed, None)
            }
            Some(channel) => {
                let mut mean = DVector::zeros(outcomes);
                let mut square = DMatrix::zeros(outcomes, outcomes);
                let mut answers = Vec::new();
                for (outcome, count) in sample.outcomes {
                    answers.clear();
                    channel.each_answer(*outcome, |answer| answers.push(answer));
                    for a in &answers {
                        mean[*a] += *count as f64 / n;
                        for b in &answers {
                            square[(*a, *b)] += *count as f64 / n;
                        }
                    }
                }
                let weight = channel.weight();
                let covariance = (square - &mean * mean.transpose()) * (weight * weight);
                // A covariance measured on few releases is useless. Preferred sets overlap little
                // more than by chance, which is assumed until there are more releases than answers.
                let chance = outcomes as f64 / (n + outcomes as f64);
                let of_chance = channel.deviation(1.0 / outcomes as f64, 1.0).powi(2);
                let mut covariance: DMatrix<f64> = covariance * (1.0 - chance);
                for i in 0..outcomes {
                    covariance[(i, i)] += chance * of_chance;
                }
                (mean.map(|share| channel.unbiased(share)), Some(covariance))
            }
        };
        let mut part = Self::of(calibration, laws, n, observed, of_release);
        if assumption == Assumption::Alike {
            part.between = None;
        }
        Ok(part)
    }

    /// A part with these shares of outcomes.
    pub(crate) fn of(
        calibration: usize,
        laws: &'a Laws<'a>,
        releases: f64,
        observed: DVector<f64>,
        of_release: Option<DMatrix<f64>>,
    ) -> Self {
        Self {
            calibration,
            laws,
            between: laws.between.as_ref(),
            releases,
            observed,
            of_release,
            inverse: DMatrix::zeros(0, 0),
            root: DMatrix::zeros(0, 0),
        }
    }

    /// `[labels]`: most that one release moves each estimate. `moves` maps h to the estimates:
    /// `[labels][outcomes]`.
    fn most_moved(&self, moves: &DMatrix<f64>) -> DVector<f64> {
        let most = DVector::from_fn(moves.nrows(), |label, _| {
            let row = moves.row(label).into_owned();
            match self.laws.channel {
                None => row.max() - row.min(),
                Some(channel) => {
                    // Most answers that prefer one point.
                    let mut sorted: Vec<f64> = row.iter().copied().collect();
                    sorted.sort_by(f64::total_cmp);
                    let preferred = channel.answers_of_an_outcome().min(sorted.len());
                    let low: f64 = sorted.iter().take(preferred).sum();
                    let high: f64 = sorted.iter().rev().take(preferred).sum();
                    channel.weight() * (high - low)
                }
            }
        });
        most / self.releases
    }

    /// The covariance of h for these shares.
    fn of_releases(&self, shares: &DVector<f64>) -> DMatrix<f64> {
        let covariance = match &self.of_release {
            Some(own) => own.clone(),
            None => {
                let mixed = self.laws.means.tr_mul(shares);
                DMatrix::from_diagonal(&mixed) - &mixed * mixed.transpose()
            }
        };
        covariance / self.releases
    }

    /// Computes Σ for these shares, with or without the covariance between sources.
    fn weigh(&mut self, shares: &DVector<f64>, with_sources: bool) -> Result<()> {
        let mut covariance = self.of_releases(shares) + self.laws.covariance(shares.as_slice());
        if let Some(between) = self.between.filter(|_| with_sources) {
            let scaled = between.scaled(shares.as_slice());
            covariance += scaled.tr_mul(&scaled);
        }
        let size = covariance.trace() / covariance.nrows() as f64;
        if self.of_release.is_none() {
            // Shares have sum one, so one direction has no variance. Fitted shares never lie in it.
            covariance.add_scalar_mut(size);
        }
        // One or two more releases of a rare outcome are no surprise.
        let one = self.laws.channel.map_or(1.0, |own| own.weight()) / self.releases;
        for i in 0..covariance.nrows() {
            covariance[(i, i)] += 1e-9 * size + 2.0 * one * one;
        }
        let factored = covariance.cholesky().ok_or_else(singular)?;
        self.inverse = factored.inverse();
        self.root = factored.unpack();
        Ok(())
    }

    /// C·Σ⁻¹·Cᵀ without the part due to errors of C, and that part.
    fn information(&self) -> (DMatrix<f64>, DMatrix<f64>) {
        let laws = self.laws;
        let full = &laws.means * &self.inverse * laws.means.transpose();
        let weighted = &laws.residuals * &self.inverse;
        let mut errors = DMatrix::zeros(full.nrows(), full.nrows());
        for (text, label) in laws.of_texts.iter().enumerate() {
            let own = weighted.row(text).dot(&laws.residuals.row(text));
            errors[(*label, *label)] += own * laws.share_of_variance(*label);
        }
        (full - &errors, errors)
    }
}

fn singular() -> Error {
    refused(
        "the public texts of two labels give the same releases, so their shares cannot be told apart; join these labels, or ask \
         for the shares of candidates"
            .to_owned(),
    )
}

/// The shares of the labels that the calibrations of all samples have in common.
///
/// # Errors
/// [`ErrorKind::Input`](undertone::error::ErrorKind::Input) if there are no releases, if labels of
/// calibrations differ, if a label has too few texts, or if labels cannot be told apart.
pub fn labels(
    samples: &[Sample<'_>],
    confidence: Confidence,
    assumption: Assumption,
) -> Result<Labels> {
    confidence.check()?;
    let first = samples
        .iter()
        .find(|sample| sample.outcomes.values().any(|count| *count > 0));
    let Some(first) = first else {
        return Err(refused("there are no releases"));
    };
    let names = &first.laws.calibration.labels;
    let mut calibrations: Vec<&Calibration> = Vec::new();
    let mut parts = Vec::new();
    for sample in samples {
        let calibration = sample.laws.calibration;
        if calibration.labels != *names {
            return Err(refused(format!(
                "the packs have other labels: [{}] and [{}]; estimate their releases apart",
                names.join(", "),
                calibration.labels.join(", ")
            )));
        }
        let place = calibrations
            .iter()
            .position(|own| own.of_texts == calibration.of_texts);
        let place = place.unwrap_or_else(|| {
            calibrations.push(calibration);
            calibrations.len() - 1
        });
        // Calibrations are numbered for differences, because packs made with the same public texts
        // share their errors. Packs with the same sequence of labels count as such; taking others
        // for the same does no harm.
        if sample.outcomes.values().any(|count| *count > 0) {
            parts.push(Part::new(sample, place, assumption)?);
        }
    }
    solve(parts, names.len(), confidence)
}

/// C·Σ⁻¹·Cᵀ and C·Σ⁻¹·h of all parts. Errors are not subtracted if that leaves a singular matrix.
fn normal_equations(parts: &[Part<'_>], count: usize) -> (DMatrix<f64>, DVector<f64>) {
    let mut matrix = DMatrix::zeros(count, count);
    let mut errors = DMatrix::zeros(count, count);
    let mut side = DVector::zeros(count);
    for part in parts {
        let (own, own_errors) = part.information();
        matrix += own;
        errors += own_errors;
        side += &part.laws.means * (&part.inverse * &part.observed);
    }
    let symmetric = |m: &DMatrix<f64>| (m + m.transpose()) / 2.0;
    let corrected = symmetric(&matrix);
    // If errors are as large as the measurements, no correction is possible.
    let enough = corrected
        .clone()
        .symmetric_eigenvalues()
        .iter()
        .all(|own| *own > 0.2 * errors.trace() / count as f64 && *own > 0.0);
    if enough {
        (corrected, side)
    } else {
        (symmetric(&(matrix + errors)), side)
    }
}

fn solve(mut parts: Vec<Part<'_>>, count: usize, confidence: Confidence) -> Result<Labels> {
    let mut shares = DVector::repeat(count, 1.0 / count as f64);
    let mut equations = None;
    for _ in 0..ROUNDS {
        for part in &mut parts {
            part.weigh(&shares, false)?;
        }
        let (matrix, side) = normal_equations(&parts, count);
        let own = least(&matrix, &side, shares.as_slice()).ok_or_else(singular)?;
        shares = DVector::from_vec(own);
        equations = Some((matrix, side));
    }
    let (matrix, observed) = equations.expect("there are rounds");
    let (unbounded, _) = with_sum_one(&matrix, &observed).ok_or_else(singular)?;
    let errors = errors(&parts, &matrix, &shares)?;
    let side = confidence.side(count);
    let (fit, dispersion) = tested(&mut parts, &shares)?;
    let noise = errors.sampling * count as f64;
    let guess = likely(
        &(&matrix / dispersion),
        &(&observed / dispersion),
        (PRIOR * noise).min(MOST_PRIOR),
    );
    let guess = guess.ok_or_else(singular)?;
    let ends = |label: usize| {
        let half = errors.noise.half(label, side);
        interval(guess[label], unbounded[label], half, [0.0, 1.0])
    };
    Ok(Labels {
        releases: parts.iter().map(|part| part.releases as u64).sum(),
        shares: (0..count).map(ends).collect(),
        unbounded: unbounded.iter().copied().collect(),
        allows: parts.iter().all(|part| part.between.is_some()),
        fit,
        moved: errors.moved.min(1.0),
        noise: errors.noise,
    })
}

/// An interval of this half-width around the unbounded estimate, between two bounds, and the share
/// inside of it.
fn interval(share: f64, unbounded: f64, half: f64, [least, most]: [f64; 2]) -> Share {
    Share {
        share,
        low: (unbounded - half).min(share - half * EDGE).max(least),
        high: (unbounded + half).max(share + half * EDGE).min(most),
    }
}

/// Errors of estimates.
pub(crate) struct Errors {
    /// `[labels][labels]`: the expected covariance. Intervals are wider for few releases or public
    /// texts.
    pub(crate) covariance: DMatrix<f64>,
    /// The trace of its part that is not due to other sources.
    sampling: f64,
    pub(crate) noise: Noise,
    moved: f64,
}

/// The errors of estimates that follow from `matrix`, C·Σ⁻¹·Cᵀ, for these shares.
fn errors(parts: &[Part<'_>], matrix: &DMatrix<f64>, shares: &DVector<f64>) -> Result<Errors> {
    let count = shares.len();
    // Maps h to the estimates: the inverse of the matrix within sums of zero, times C·Σ⁻¹.
    let inverse = matrix.clone().cholesky().ok_or_else(singular)?.inverse();
    let ones = &inverse * DVector::repeat(count, 1.0);
    let within = &inverse - &ones * ones.transpose() / ones.sum();
    let mut covariance = DMatrix::zeros(count, count);
    let mut influence: Vec<Influence> = Vec::new();
    let [mut unheard, mut margin] = [0; 2].map(|_| DVector::<f64>::zeros(count));
    let mut moved: f64 = 0.0;
    for part in parts {
        let laws = part.laws;
        let moves = &within * &laws.means * &part.inverse;
        let most = part.most_moved(&moves);
        moved = moved.max(most.max());
        margin = margin.sup(&(&most * MARGIN));
        unheard += most
            .map(|most| UNHEARD * most * most / 4.0 * part.releases / (part.releases + UNHEARD));
        covariance += &moves * part.of_releases(shares) * moves.transpose();
        let of_texts = &laws.residuals * moves.transpose();
        let of_texts = scale_rows(of_texts, &laws.of_texts, |label| {
            laws.weight(label, shares.as_slice())
        });
        let of_unseen = DMatrix::from_fn(laws.spread.len() * count, count, |row, guess| {
            let (outcome, label) = (row / count, row % count);
            shares[label] * laws.unseen(label) * laws.spread[outcome] * moves[(guess, outcome)]
        });
        let of_texts = Influence {
            calibration: part.calibration,
            of_sources: false,
            labels: laws.of_texts.clone(),
            texts: laws.texts.clone(),
            of_texts,
            of_unseen,
        };
        let of_sources = part.between.map(|between| Influence {
            calibration: part.calibration,
            of_sources: true,
            labels: between.labels.clone(),
            texts: between.sources.clone(),
            of_texts: between.scaled(shares.as_slice()) * moves.transpose(),
            of_unseen: DMatrix::zeros(0, count),
        });
        for new in [Some(of_texts), of_sources].into_iter().flatten() {
            let same = |own: &&mut Influence| {
                (own.calibration, own.of_sources) == (new.calibration, new.of_sources)
                    // Packs of the same texts may cut them into other sources.
                    && own.labels == new.labels
            };
            match influence.iter_mut().find(same) {
                Some(own) => own.add(&new, 1.0),
                None => influence.push(new),
            }
        }
    }
    let of_releases = covariance.diagonal().map(|own| own.max(0.0)) + unheard;
    let mut sampling = covariance.trace();
    for own in &influence {
        let of_texts = own.of_texts.tr_mul(&own.of_texts);
        if !own.of_sources {
            sampling += of_texts.trace();
        }
        covariance += of_texts;
    }
    Ok(Errors {
        covariance,
        sampling,
        noise: Noise {
            of_releases,
            margin,
            influence,
        },
        moved,
    })
}

/// The errors of estimates from releases of texts with these shares, before there are any.
pub(crate) fn expected_errors(mut part: Part<'_>, shares: &DVector<f64>) -> Result<Errors> {
    part.weigh(shares, false)?;
    let parts = [part];
    let (matrix, _) = normal_equations(&parts, shares.len());
    errors(&parts, &matrix, shares)
}

/// Tests the assumption, whose errors include those of other sources. They do not enter the
/// estimate: on the suite of shifts, weights that include them give larger errors. Also returns the
/// dispersion, even if nothing is tested.
fn tested(parts: &mut [Part<'_>], shares: &DVector<f64>) -> Result<(Fit, f64)> {
    for part in parts.iter_mut() {
        part.weigh(shares, true)?;
    }
    let (matrix, side) = normal_equations(parts, shares.len());
    let shares = least(&matrix, &side, shares.as_slice()).ok_or_else(singular)?;
    Ok(fit(parts, &matrix, &DVector::from_vec(shares)))
}

/// Compares the distance of the releases from the fitted shares with that of simulated releases
/// which satisfy the assumption.
fn fit(parts: &[Part<'_>], matrix: &DMatrix<f64>, shares: &DVector<f64>) -> (Fit, f64) {
    let freedom = freedom(parts, shares.len());
    let releases: f64 = parts.iter().map(|part| part.releases).sum();
    if releases < FEWEST_TO_TEST as f64 {
        let untested = Fit {
            freedom,
            ..Fit::default()
        };
        return (untested, 1.0);
    }
    let distance = |observed: &[DVector<f64>], shares: &DVector<f64>| -> f64 {
        let parts = parts.iter().zip(observed);
        let own = parts.map(|(part, observed)| {
            let rest = observed - part.laws.means.tr_mul(shares);
            (&part.inverse * &rest).dot(&rest)
        });
        own.sum()
    };
    let observed: Vec<DVector<f64>> = parts.iter().map(|part| part.observed.clone()).collect();
    let found = distance(&observed, shares);
    // Public, and equal for equal counts.
    let mut rng = PublicRng::new(SIMULATED as u64);
    let mut normal = move || -> f64 {
        let uniform = |word: u64| ((word >> 11) as f64 + 0.5) * 2f64.powi(-53);
        let [radius, angle] = [rng.next_u64(), rng.next_u64()].map(uniform);
        (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
    };
    let mut distances = Vec::new();
    for _ in 0..SIMULATED {
        let simulated: Vec<DVector<f64>> = parts
            .iter()
            .map(|part| {
                let noise = DVector::from_fn(part.root.nrows(), |_, _| normal());
                let mut own = &part.root * noise;
                if part.of_release.is_none() {
                    // Shares of outcomes have sum one.
                    let mean = own.mean();
                    own.add_scalar_mut(-mean);
                }
                part.laws.means.tr_mul(shares) + own
            })
            .collect();
        let mut side = DVector::zeros(shares.len());
        for (part, own) in parts.iter().zip(&simulated) {
            side += &part.laws.means * (&part.inverse * own);
        }
        let Some(own) = least(matrix, &side, shares.as_slice()) else {
            continue;
        };
        distances.push(distance(&simulated, &DVector::from_vec(own)));
    }
    distances.sort_by(f64::total_cmp);
    let farther = distances.iter().filter(|own| **own >= found).count();
    let expected = distances.iter().sum::<f64>() / SIMULATED as f64;
    let probability = (farther + 1) as f64 / (SIMULATED + 1) as f64;
    let dispersion = (found / expected).max(1.0);
    let critical = distances.len() - distances.len() / 100;
    let noticeable = || noticeable(parts, distances[critical.saturating_sub(1)], expected);
    let is_tested = freedom > 0;
    let fit = Fit {
        probability: is_tested.then_some(probability),
        dispersion: is_tested.then_some(dispersion),
        noticeable: is_tested.then(noticeable),
        freedom,
        refuted: probability < 0.01,
    };
    (fit, dispersion)
}

/// The number of outcomes that labels do not explain. Whole-text releases of any kind say the same
/// of a text, so those of one pack count once.
fn freedom(parts: &[Part<'_>], labels: usize) -> usize {
    let mut packs = BTreeMap::new();
    let mut outcomes = 0;
    for part in parts {
        let own = part.laws.means.ncols() - 1;
        if is_whole_text(part.laws.kind) {
            let most = packs.entry(part.laws.kind.pack_id()).or_insert(own);
            *most = own.max(*most);
        } else {
            outcomes += own;
        }
    }
    outcomes += packs.values().sum::<usize>();
    (outcomes + 1).saturating_sub(labels)
}

/// The fraction of the releases of the largest sample that must have other outcomes for a distance
/// above `critical` 9 times in 10, in the direction in which that is hardest to see.
fn noticeable(parts: &[Part<'_>], critical: f64, expected: f64) -> f64 {
    let part = parts
        .iter()
        .max_by(|a, b| a.releases.total_cmp(&b.releases))
        .expect("there is a sample");
    // The excess that a shift must add: the mean of a noncentral χ² is `expected` plus it, its
    // variance 2·(`expected` + 2·excess).
    let ninth = -Normal::standard().inverse_cdf(0.1);
    let reached =
        |excess: f64| expected + excess - ninth * (2.0 * (expected + 2.0 * excess)).sqrt();
    let mut excess = 1.0;
    while reached(excess) < critical && excess < 1e12 {
        excess *= 1.1;
    }
    // The distance of a shift from the nearest one that labels explain, as a quadratic form of
    // shifts with sum zero.
    let explained = &part.laws.means * &part.inverse;
    let Some(inverse) = (&explained * part.laws.means.transpose()).try_inverse() else {
        return 1.0;
    };
    let mut form = &part.inverse - explained.transpose() * inverse * &explained;
    for mut row in form.row_iter_mut() {
        let mean = row.mean();
        row.add_scalar_mut(-mean);
    }
    for mut column in form.column_iter_mut() {
        let mean = column.mean();
        column.add_scalar_mut(-mean);
    }
    let eigen = form.symmetric_eigen();
    let mut sizes: Vec<(f64, f64)> = eigen
        .eigenvalues
        .iter()
        .zip(eigen.eigenvectors.column_iter())
        .map(|(value, vector)| (*value, (excess / value).sqrt() * vector.lp_norm(1) / 2.0))
        .collect();
    sizes.sort_by(|a, b| b.0.total_cmp(&a.0));
    let laws = part.laws;
    let testable = laws.means.ncols().saturating_sub(laws.means.nrows());
    let sizes = sizes.iter().take(testable).map(|(_, size)| *size);
    sizes.fold(0.0, f64::max).min(1.0)
}

/// The differences of the shares of two sets of releases, the second less the first. Both must have
/// been estimated with the same calibrations in the same order, even those of samples without
/// releases, because they share the errors of these.
pub fn difference(first: &Labels, second: &Labels, confidence: Confidence) -> Vec<Share> {
    let count = first.shares.len();
    let side = confidence.side(count);
    let noise = second.noise.less(&first.noise);
    let of = |label: usize| {
        let share = second.shares[label].share - first.shares[label].share;
        let middle = second.unbounded[label] - first.unbounded[label];
        interval(share, middle, noise.half(label, side), [-1.0, 1.0])
    };
    (0..count).map(of).collect()
}
