//! Forecasts: the precision of a number of devices, and the number that a precision requires.
//!
//! Half-widths are those of the intervals that [`shares`](crate::shares) and
//! [`labels`](crate::labels) report later, computed by the same code from guessed shares instead of
//! counts.

use nalgebra::{DMatrix, DVector};
use undertone::error::Result;
use undertone::pack::calibration::Calibration;
use undertone::release::document::Method;
use undertone_core::epsilon::Epsilon;
use undertone_core::projective::Geometry;
use undertone_core::release::Mechanism;

use crate::channel::Channel;
use crate::counts::Kind;
use crate::labels::{Errors, Laws, Part, expected_errors};
use crate::refused;
use crate::shares::{Confidence, mean_of_coins};

/// Most devices of a plan.
pub const MOST_DEVICES: f64 = 1e10;

/// The kinds of releases that devices with a pack can make at an ε: sentence releases by the
/// default rule, whole-text and projective ones. `has_nothing_known`: whether the pack has that
/// outcome.
///
/// # Errors
/// [`ErrorKind::Input`](undertone::error::ErrorKind::Input) if there are too many candidates for
/// points.
pub fn kinds(
    pack: [u8; 8],
    candidates: u32,
    has_nothing_known: bool,
    sentences_by: Mechanism,
    epsilon: Epsilon,
) -> Result<Vec<Kind>> {
    let sentences = Kind::from_fields(pack, sentences_by as u8, 1, epsilon, 0).map_err(refused)?;
    let mut kinds = vec![sentences];
    // The best candidate requires scores.
    if sentences_by == Mechanism::Scores {
        for method in [Method::WholeText, Method::Projective] {
            let kind = whole_text_kind(pack, candidates, has_nothing_known, method, epsilon)?;
            kinds.push(kind);
        }
    }
    Ok(kinds)
}

/// The kind of releases by a method for the whole text. `has_nothing_known`: whether that is an
/// outcome, as it always is for reservoirs.
///
/// # Errors
/// [`ErrorKind::Input`](undertone::error::ErrorKind::Input) for sentence releases, and if there are
/// too many candidates for points.
pub(crate) fn whole_text_kind(
    pack: [u8; 8],
    candidates: u32,
    has_nothing_known: bool,
    method: Method,
    epsilon: Epsilon,
) -> Result<Kind> {
    let outcomes = candidates + u32::from(has_nothing_known);
    let (mechanism, order) = match method {
        Method::WholeText if has_nothing_known => (Mechanism::WholeText, 0),
        Method::WholeText => (Mechanism::WholeTextKnown, 0),
        Method::Projective => {
            let geometry = Geometry::best(outcomes, epsilon).ok_or_else(|| {
                refused(format!(
                    "{candidates} candidates are too many for releases of points"
                ))
            })?;
            let mechanism = if has_nothing_known {
                Mechanism::Projective
            } else {
                Mechanism::ProjectiveKnown
            };
            (mechanism, geometry.order())
        }
        Method::Sentence(_) => {
            return Err(refused(
                "only releases for the whole text bound what a person reveals; take the whole-text or the projective rule",
            ));
        }
    };
    Kind::from_fields(pack, mechanism as u8, 2, epsilon, order).map_err(refused)
}

/// Errors and intervals of shares by the number of releases.
pub struct Forecast<'a> {
    form: Form<'a>,
}

enum Form<'a> {
    Candidates { channel: Channel, shares: Vec<f64> },
    Labels(Box<OfLabels<'a>>),
}

struct OfLabels<'a> {
    laws: Laws<'a>,
    shares: DVector<f64>,
    observed: DVector<f64>,
    of_release: Option<DMatrix<f64>>,
}

impl OfLabels<'_> {
    fn errors(&self, releases: f64) -> Result<Errors> {
        let of_release = self.of_release.clone();
        let part = Part::of(0, &self.laws, releases, self.observed.clone(), of_release);
        expected_errors(part, &self.shares)
    }
}

impl<'a> Forecast<'a> {
    /// Forecast for shares of candidates near `shares`; `None` for sentence releases.
    ///
    /// # Errors
    /// The errors of [`Channel::new`]; [`ErrorKind::Input`](undertone::error::ErrorKind::Input) if
    /// `shares` is invalid.
    pub fn of_candidates(kind: Kind, candidates: u32, shares: &[f64]) -> Result<Option<Self>> {
        check(shares)?;
        let channel = Channel::new(kind, candidates)?;
        Ok(channel.map(|channel| Self {
            form: Form::Candidates {
                channel,
                shares: shares.to_vec(),
            },
        }))
    }

    /// Forecast for shares of labels near `shares`: `[labels]`.
    ///
    /// # Errors
    /// The errors of [`labels`](crate::labels::labels), and if `shares` is invalid or its length is
    /// not the number of labels.
    pub fn of_labels(kind: Kind, calibration: &'a Calibration, shares: &[f64]) -> Result<Self> {
        check(shares)?;
        if shares.len() != calibration.labels.len() {
            return Err(refused(format!(
                "{} shares are guessed for {} labels; guess one for each",
                shares.len(),
                calibration.labels.len()
            )));
        }
        let laws = Laws::new(kind, calibration)?;
        let shares = DVector::from_column_slice(shares);
        let observed = laws.means.tr_mul(&shares);
        let of_release = laws
            .channel
            .and_then(|channel| of_points(kind, &channel, &observed));
        Ok(Self {
            form: Form::Labels(Box::new(OfLabels {
                laws,
                shares,
                observed,
                of_release,
            })),
        })
    }

    /// The standard error of each share from this number of releases. Intervals are wider, because
    /// they also allow for outcomes that no public text shows.
    ///
    /// # Errors
    /// [`ErrorKind::Input`](undertone::error::ErrorKind::Input) for less than one release, and for
    /// labels that cannot be told apart.
    pub fn errors(&self, releases: f64) -> Result<Vec<f64>> {
        check_releases(releases)?;
        match &self.form {
            Form::Candidates { channel, shares } => {
                let of = |share: &f64| channel.deviation(*share, releases);
                Ok(shares.iter().map(of).collect())
            }
            Form::Labels(own) => {
                let variances = own.errors(releases)?.covariance.diagonal();
                Ok(variances.iter().map(|own| own.max(0.0).sqrt()).collect())
            }
        }
    }

    /// Half the width of the widest interval from this number of releases, before intervals are
    /// bounded to 0..=1.
    ///
    /// # Errors
    /// The errors of [`errors`](Self::errors), and
    /// [`ErrorKind::Input`](undertone::error::ErrorKind::Input) for a level outside 0..1.
    pub fn widest(&self, releases: f64, confidence: Confidence) -> Result<f64> {
        check_releases(releases)?;
        confidence.check()?;
        let halves: Vec<f64> = match &self.form {
            Form::Candidates { channel, shares } => {
                let side = confidence.side(channel.answers());
                let mut shares = shares.clone();
                shares.sort_by(f64::total_cmp);
                shares.dedup();
                let half = |share: &f64| {
                    let votes = releases * channel.preferred(*share);
                    let [low, high] = mean_of_coins(votes.round() as u64, releases as u64, side);
                    (high - low) / 2.0 * channel.weight()
                };
                shares.iter().map(half).collect()
            }
            Form::Labels(own) => {
                let noise = own.errors(releases)?.noise;
                let count = own.shares.len();
                let side = confidence.side(count);
                (0..count).map(|label| noise.half(label, side)).collect()
            }
        };
        Ok(halves.into_iter().fold(0.0, f64::max))
    }

    /// The fewest releases, rounded up to two digits, whose intervals are at most ± `half`; `None`
    /// if the public texts are too few for any number.
    ///
    /// # Errors
    /// The errors of [`widest`](Self::widest);
    /// [`ErrorKind::Input`](undertone::error::ErrorKind::Input) if `half` is not above 0.
    pub fn releases(&self, half: f64, confidence: Confidence) -> Result<Option<u64>> {
        if half.is_nan() || half <= 0.0 {
            return Err(refused(format!(
                "no number of devices gives an error of {half}; ask for more than 0"
            )));
        }
        if self.widest(MOST_DEVICES, confidence)? > half {
            return Ok(None);
        }
        let (mut low, mut high) = (0.0, MOST_DEVICES.ln());
        while high - low > 1e-3 {
            let middle = f64::midpoint(low, high);
            if self.widest(middle.exp(), confidence)? > half {
                low = middle;
            } else {
                high = middle;
            }
        }
        Ok(Some(rounded_up(high.exp())))
    }
}

/// The covariance of the debiased votes of one release if `best` are the shares of best candidates.
/// `None` if no two answers prefer the same point: then it is that of shares.
fn of_points(kind: Kind, channel: &Channel, best: &DVector<f64>) -> Option<DMatrix<f64>> {
    let geometry = channel.geometry()?;
    let weights = Geometry::weights(kind.epsilon());
    let [first, other] = [weights.0, weights.1].map(|weight| weight as f64);
    let [points, preferred, shared] =
        [geometry.points(), geometry.preferred(), geometry.shared()].map(f64::from);
    let total = preferred * first + (points - preferred) * other;
    // Points that three answers prefer, averaged over the third.
    let [of_a_point, outcomes] =
        [geometry.outcomes_of_a_point(), geometry.outcomes()].map(f64::from);
    let three = shared * (of_a_point - 2.0).max(0.0) / (outcomes - 2.0).max(1.0);
    let votes = best.map(|share| channel.preferred(share));
    let count = best.len();
    let weight = channel.weight().powi(2);
    let covariance = DMatrix::from_fn(count, count, |a, b| {
        let both = if a == b {
            votes[a]
        } else {
            let two = (best[a] + best[b]).min(1.0);
            let common = two * shared + (1.0 - two) * three;
            (shared * other + (first - other) * common) / total
        };
        weight * (both - votes[a] * votes[b])
    });
    Some(covariance)
}

fn check_releases(releases: f64) -> Result<()> {
    if releases.is_nan() || releases < 1.0 {
        return Err(refused(format!(
            "{releases} devices release nothing; plan for at least 1"
        )));
    }
    Ok(())
}

pub(crate) fn rounded_up(releases: f64) -> u64 {
    let unit = 10f64.powf((releases.log10().floor() - 1.0).max(0.0));
    ((releases / unit - 1e-9).ceil() * unit) as u64
}

fn check(shares: &[f64]) -> Result<()> {
    let sum: f64 = shares.iter().sum();
    match shares.iter().find(|share| !(0.0..=1.0).contains(*share)) {
        Some(share) => Err(refused(format!(
            "the guessed share {share} does not lie in 0 to 1"
        ))),
        None if sum > 1.0 + 1e-6 || shares.is_empty() => Err(refused(format!(
            "the guessed shares add up to {sum}, and should to 1"
        ))),
        None => Ok(()),
    }
}
