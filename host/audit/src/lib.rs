//! Privacy audits: what a mechanism promises, compared with what it does.
//!
//! Where the domain allows, the law of a release is computed, not sampled, and the worst neighbours are
//! searched; elsewhere a device is asked for releases.

#![warn(clippy::too_many_lines)]

pub mod exact;
mod report;
pub mod sampled;

use std::fmt;
use std::time::Instant;

use undertone_core::epsilon::Epsilon;
use undertone_core::pack::Pack;
use undertone_core::select::Rule;
use undertone_core::vector::Noise;
use undertone_core::words::{Vocabulary, WordMechanism};

use exact::inside::{
    self, CoreProjective, CoreSentences, CoreWholeText, CoreWords, Engine, Sentences, WholeText,
};
use exact::{encoders, sentences, whole_text, words};
pub use report::Report;
use sampled::device::Device;
use sampled::selection::{Designs, Neighbours};
use sampled::{reachability, selection, timing, vectors};
use undertone::encoder::{Encoder, encode_all_public};
use undertone::error::{Cause, Error, Result};
use undertone::progress::Progress;
use undertone::release::budget::number;
use undertone::release::document::{Method as Released, check_encoder};
pub use undertone::release::law::{Law, deep_candidate, levels};

/// Public sentences that an encoder is checked with.
const ENCODED: usize = 64;

/// Public sentences that a search starts from, those included.
const SEARCHED: usize = 240;

/// Values of ε in an audit, at most: with both rules and every mechanism each takes some 31 bounds and 111 tests of
/// fit, so that there are fewer than [`sampled::statistics::MOST`].
const EPSILONS: usize = 8;

/// Releases of each document in an audit, at least: with fewer there are not enough for a test of fit.
pub const LEAST_RELEASES: u64 = 1000;

/// Long documents take longer: fewer of them, by this factor.
const LONG: usize = 16;

/// The same for words, of which there are fewer.
const LEAST_OF_WORDS: u64 = 100;

/// Losses are computed in double precision from exact integers. A probability is a sum of positive terms, each with
/// a few dozen roundings of 2⁻⁵³, and of at most 2¹⁶ terms: its relative error stays below 10⁻¹¹. This much of the
/// promise a loss may exceed it by, ...
const RELATIVE: f64 = 1e-9;

/// ... and this much if the promise is small.
const ROUNDING: f64 = 1e-10;

impl Check {
    /// Whether it compares a loss with what is promised at an ε.
    fn is_loss(&self) -> bool {
        self.epsilon.is_some() && self.claimed > 0.0 && self.name.starts_with("loss")
    }
}

/// A line of a table for people.
impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = if self.passed { "passed" } else { "FAILED" };
        let epsilon = self.epsilon.map(|epsilon| format!("ε = {epsilon}"));
        write!(
            f,
            "{verdict}  {:<28} {:<39} {:<9} {:<7} {} {:<9} measured {:<10} tried {}",
            self.mechanism,
            self.name,
            epsilon.unwrap_or_default(),
            self.method,
            if self.is_loss() { "claimed" } else { "limit  " },
            report::claimed(self),
            report::value(self, self.measured),
            self.tried
        )?;
        if self.passed {
            return Ok(());
        }
        write!(f, "\n        {}", self.detail)
    }
}

/// What can be audited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mechanism {
    /// What selects a candidate for a document, to protect each of its sentences.
    Sentences,
    /// What selects a candidate for a document, to protect the whole text.
    WholeText,
    /// What draws a point for a document, to protect the whole text.
    Projective,
    /// The exchange of words of the lexicon.
    Words,
    /// Noise on vectors, which the pack has no part in.
    Vectors,
    /// The encoder whose vectors the pack was built from.
    Encoder,
}

impl Mechanism {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Encoder,
        Self::Sentences,
        Self::WholeText,
        Self::Projective,
        Self::Words,
        Self::Vectors,
    ];
}

/// What is checked, and how hard.
#[derive(Clone, Debug)]
pub struct Options {
    /// What is audited of all that the pack has.
    pub mechanisms: Vec<Mechanism>,
    /// The privacy parameters.
    pub epsilons: Vec<Epsilon>,
    /// How candidates are drawn.
    pub rules: Vec<Rule>,
    /// Neighbours whose exact laws are compared, at least; pairs of words a tenth of it.
    pub neighbours: u64,
    /// Releases that a device is asked for, for each document; fewer of what takes longer.
    pub releases: u64,
    /// Seed of searches.
    pub seed: u64,
}

/// How something was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    /// Computed by enumeration or integer arithmetic.
    Exact,
    /// Estimated from releases, with a confidence bound.
    Sampled,
    /// Tried to tell apart by what an attacker does.
    Attack,
    /// Measured by a clock or a counter.
    Timed,
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Exact => "exact",
            Self::Sampled => "sampled",
            Self::Attack => "attack",
            Self::Timed => "timed",
        })
    }
}

/// One thing that was checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// The mechanism and its rule, as in "scores, permute-and-flip".
    pub mechanism: String,
    /// What was checked, as in "loss of replaced sentences".
    pub name: String,
    /// The ε it was checked at, if it depends on one.
    pub epsilon: Option<Epsilon>,
    /// How it was measured.
    pub method: Method,
    /// What is promised, or the limit of a test: the measured value may not exceed it.
    pub claimed: f64,
    /// What was found.
    pub measured: f64,
    /// Neighbours compared, releases drawn, or whatever was counted.
    pub tried: u64,
    /// Whether the promise holds as far as this can tell.
    pub passed: bool,
    /// What else there is to say, for people.
    pub detail: String,
}

/// Audits what the pack can do, and calls `notice` with each check as it is made.
///
/// `encoder`: that of the pack. `device`: a program that has read the same pack. `public`: sentences that encoders are
/// checked with and that searches start from. What cannot be checked without an encoder or a device is left out, and the
/// report says so.
///
/// # Errors
/// [`ErrorKind::Encoder`](undertone::error::ErrorKind::Encoder) for another encoder, [`ErrorKind::Experiment`](undertone::error::ErrorKind::Experiment) if the pack has nothing to audit, for
/// more than 8 values of ε, and for fewer releases of a device than [`LEAST_RELEASES`]; and
/// the errors of encoders, of devices and of packs that this library cannot release from. A check that failed is no
/// error.
pub fn run(
    pack: &Pack<'_>,
    encoder: Option<&dyn Encoder>,
    device: Option<&mut dyn Device>,
    public: &[&str],
    options: &Options,
    notice: &mut dyn FnMut(&Check),
) -> Result<Report> {
    let start = Instant::now();
    if options.epsilons.len() > EPSILONS {
        return Err(Error::from(Cause::Audit {
            problem: format!(
                "an audit takes at most {EPSILONS} values of epsilon, which share its rate of false alarms; these are {}. \
                 Name fewer, or audit twice",
                options.epsilons.len()
            ),
        }));
    }
    if device.is_some() && options.releases < LEAST_RELEASES {
        return Err(Error::from(Cause::Audit {
            problem: format!(
                "{} releases of a document are too few to tell anything; ask for {LEAST_RELEASES} or more",
                options.releases
            ),
        }));
    }
    if let Some(encoder) = encoder {
        check_encoder(pack, encoder)?;
    }
    let mut audit = Audit {
        pack,
        encoder,
        device: device.map(|device| device as &mut dyn Device),
        public,
        options,
        notice,
        report: Report::new(pack, options),
    };
    let wanted = |mechanism: &Mechanism| options.mechanisms.contains(mechanism);
    for mechanism in Mechanism::ALL.into_iter().filter(wanted) {
        match mechanism {
            Mechanism::Encoder => audit.encoder()?,
            Mechanism::Sentences => audit.sentences()?,
            Mechanism::WholeText => audit.whole_text()?,
            Mechanism::Projective => audit.projective()?,
            Mechanism::Words => audit.words()?,
            Mechanism::Vectors => audit.vectors()?,
        }
    }
    let stated = audit
        .device
        .as_ref()
        .and_then(|device| device.stated().check());
    audit.add(Vec::from_iter(stated));
    if audit.device.is_none() {
        audit.leave_out(
            "releases of a device, and vectors: no undertone-device was found; ffi/install.sh builds one, --device \
             names it",
        );
    }
    let mut report = audit.report;
    if report.checks.is_empty() {
        return Err(Error::from(Cause::Audit {
            problem: report.left_out.join("; "),
        }));
    }
    report.took = start.elapsed();
    Ok(report)
}

/// Pushes and releases that are timed.
const TIMED: usize = 3000;

/// An audit under way.
struct Audit<'a> {
    pack: &'a Pack<'a>,
    encoder: Option<&'a dyn Encoder>,
    device: Option<&'a mut dyn Device>,
    public: &'a [&'a str],
    options: &'a Options,
    notice: &'a mut dyn FnMut(&Check),
    report: Report,
}

impl<'a> Audit<'a> {
    fn add(&mut self, checks: Vec<Check>) {
        checks.iter().for_each(&mut *self.notice);
        self.report.checks.extend(checks);
    }

    fn leave_out(&mut self, what: &str) {
        self.report.left_out.push(what.to_owned());
    }

    fn encoder(&mut self) -> Result<()> {
        match self.encoder {
            Some(encoder) => {
                let public = &self.public[..self.public.len().min(ENCODED)];
                self.add(encoders::check(encoder, public)?);
            }
            None => self
                .leave_out("the encoder: the pack has no lexicon; name its encoder with --encoder"),
        }
        Ok(())
    }

    fn sentences(&mut self) -> Result<()> {
        let Some(mechanism) = self.mechanism("sentences")? else {
            return Ok(());
        };
        for rule in &self.options.rules {
            let losses = self.options.epsilons.iter().map(|epsilon| {
                let whole = mechanism.whole_text_loss(*epsilon, *rule);
                [self.served(Released::Sentence(*rule), *epsilon), whole]
            });
            self.report
                .promise(label(&mechanism, *rule), losses.collect());
        }
        let rows = self.rows(&mechanism)?;
        let (checks, searched) = sentences::search(&mechanism, &rows, self.options);
        self.add(checks);
        self.release_sentences(&mechanism, searched)
    }

    /// The sentence mechanism of the pack, or why there is none to audit `what` with.
    fn mechanism(&mut self, what: &str) -> Result<Option<CoreSentences<'a>>> {
        let pack = self.pack;
        if inside::wants_both(pack) {
            self.leave_out(&format!(
                "{what}: the pack has features beside an encoder, and a sentence of it is a text and an embedding at once"
            ));
            return Ok(None);
        }
        let mechanism = CoreSentences::new(pack)?;
        if mechanism.is_none() {
            self.leave_out(&format!("{what}: the pack has no candidates"));
        }
        Ok(mechanism)
    }

    /// Sentences to search from, as the mechanism takes them.
    fn rows(&self, mechanism: &CoreSentences<'_>) -> Result<Vec<f32>> {
        if mechanism.text_count() > 0 {
            return Ok((0..mechanism.text_count())
                .map(|text| text as f32)
                .collect());
        }
        match self.encoder {
            Some(encoder) => {
                let public = &self.public[..self.public.len().min(SEARCHED)];
                encode_all_public(encoder, public, &Progress::hidden())
            }
            None => Ok(Vec::new()),
        }
    }

    fn whole_text(&mut self) -> Result<()> {
        let Some(sentences) = self.mechanism("the whole-text rule")? else {
            return Ok(());
        };
        let Some(mechanism) = CoreWholeText::new(self.pack)? else {
            let candidates = "the pack selects by depth, or has too many candidates";
            self.leave_out(&format!("the whole-text rule: {candidates}"));
            return Ok(());
        };
        self.exchanged_texts(Released::WholeText, &mechanism, &sentences, self.options)
    }

    fn projective(&mut self) -> Result<()> {
        let Some(sentences) = self.mechanism("projective geometry response")? else {
            return Ok(());
        };
        let Some(mechanism) = CoreProjective::new(self.pack)? else {
            let candidates = "the pack selects by depth, or has too many candidates";
            self.leave_out(&format!("projective geometry response: {candidates}"));
            return Ok(());
        };
        let few = |epsilon: &Epsilon| {
            let geometry = mechanism.geometry(*epsilon);
            geometry.is_some_and(|geometry| geometry.points() <= CoreProjective::MOST_POINTS)
        };
        let (few, many) = self.options.epsilons.iter().copied().partition(few);
        for epsilon in &many {
            let points = CoreProjective::MOST_POINTS;
            self.leave_out(&format!(
                "projective geometry response at epsilon {epsilon}: it has more than {points} points"
            ));
        }
        let options = Options {
            epsilons: few,
            ..self.options.clone()
        };
        match options.epsilons.is_empty() {
            true => Ok(()),
            false => self.exchanged_texts(Released::Projective, &mechanism, &sentences, &options),
        }
    }

    /// The ε that a release is drawn with.
    fn served(&self, method: Released, epsilon: Epsilon) -> f64 {
        number(method.served(epsilon, self.pack.candidate_count()))
    }

    /// Checks a mechanism for whole texts from inside, and by releases of the device.
    fn exchanged_texts(
        &mut self,
        method: Released,
        mechanism: &dyn WholeText,
        sentences: &CoreSentences<'_>,
        options: &Options,
    ) -> Result<()> {
        // The report has a column for every epsilon that was asked for.
        let epsilons = self.options.epsilons.iter();
        let losses = epsilons
            .map(|epsilon| [self.served(method, *epsilon); 2])
            .collect();
        self.report.promise(mechanism.name(), losses);
        let rows = self.rows(sentences)?;
        let documents = whole_text::documents(sentences, &rows, options.seed);
        self.add(whole_text::check(mechanism, &documents, options));
        let count = options.releases as usize;
        for epsilon in &options.epsilons {
            let shown = whole_text::shown(mechanism, &documents, *epsilon);
            self.release(|device| {
                selection::whole_texts(device, mechanism, *epsilon, &shown, count)
            })?;
        }
        Ok(())
    }

    /// Checks releases of sentences by a device: of neighbours by design and of those that were `searched`, by rule
    /// and ε.
    fn release_sentences(
        &mut self,
        mechanism: &CoreSentences<'_>,
        searched: Vec<Vec<Neighbours>>,
    ) -> Result<()> {
        let (pack, options) = (self.pack, self.options);
        let count = options.releases as usize;
        let designs = match self.device {
            Some(_) => Designs::new(pack)?,
            None => return Ok(()),
        };
        let mut searched = searched.into_iter();
        for rule in &options.rules {
            let label = label(mechanism, *rule);
            for epsilon in &options.epsilons {
                let mut neighbours = designs.worst(*rule, *epsilon);
                // Where texts can be pushed, those by design are texts. One pair of them is enough beside searched
                // ones.
                let searched = searched.next().unwrap_or_default();
                neighbours.truncate(if searched.is_empty() { 2 } else { 1 });
                neighbours.extend(searched);
                self.release(|device| {
                    let (rule, epsilon) = (*rule, *epsilon);
                    let mut checks = selection::sentences(
                        device,
                        pack,
                        &label,
                        rule,
                        epsilon,
                        &neighbours,
                        count,
                    )?;
                    checks.extend(selection::runs(device, pack, &label, rule, epsilon)?);
                    let few = (count / LONG).max(LEAST_RELEASES as usize);
                    let long = selection::long(device, pack, &label, rule, epsilon, few)?;
                    checks.push(long);
                    Ok(checks)
                })?;
            }
            // No time depends on ε. That of a text depends on the text.
            if let Some(epsilon) = options.epsilons.first()
                && mechanism.text_count() == 0
            {
                let count = TIMED.min(count);
                self.release(|device| timing::check(device, pack, &label, *rule, *epsilon, count))?;
            }
        }
        Ok(())
    }

    fn words(&mut self) -> Result<()> {
        let Some(mechanism) = CoreWords::new(self.pack) else {
            self.leave_out("words: the pack has no lexicon");
            return Ok(());
        };
        self.add(words::check(&mechanism, self.options));
        self.release_words(&mechanism)
    }

    /// Checks releases of words by a device.
    fn release_words(&mut self, mechanism: &CoreWords<'_>) -> Result<()> {
        let options = self.options;
        let vocabulary = Vocabulary::new(self.pack).map_err(Error::from)?;
        let n = vocabulary.word_count();
        if n < 2 || self.device.is_none() {
            return Ok(());
        }
        // A release of a word goes over all words: fewer of them, and at the ε at which most can be seen.
        let count = (options.releases / u64::from(n).div_ceil(256)).max(LEAST_OF_WORDS) as usize;
        let Some(epsilon) = options.epsilons.iter().max() else {
            return Ok(());
        };
        let first = n / 2;
        let near = words::nearest(mechanism, first, 1);
        let pairs = [[first, near.first().copied().unwrap_or(0)]];
        for rule in &options.rules {
            let label = label(mechanism, *rule);
            let how = WordMechanism::Selection(*rule);
            self.release(|device| {
                selection::words(device, &vocabulary, &label, how, *epsilon, &pairs, count)
            })?;
        }
        Ok(())
    }

    fn vectors(&mut self) -> Result<()> {
        let count = self.options.releases as usize;
        for noise in [Noise::Laplace, Noise::DiscreteLaplace] {
            for epsilon in &self.options.epsilons {
                self.release(|device| vectors::check(device, noise, *epsilon, count))?;
                self.release(|device| reachability::check(device, noise, *epsilon, count))?;
            }
        }
        // Keys have nothing to do with ε.
        if let Some(epsilon) = self.options.epsilons.iter().max() {
            let epsilon = *epsilon;
            self.release(|device| Ok(Vec::from_iter(vectors::keys(device, epsilon, count)?)))?;
        }
        if self.pack.projection().is_some() {
            self.leave_out(
                "the projection of the pack: vectors are released without it; a device computes the sensitivity of a \
                 projection from the integers that it multiplies with",
            );
        }
        Ok(())
    }

    /// Adds what releases of the device say, if there is one.
    fn release(&mut self, check: impl FnOnce(&mut dyn Device) -> Result<Vec<Check>>) -> Result<()> {
        if let Some(device) = &mut self.device {
            let checks = check(&mut **device)?;
            self.add(checks);
        }
        Ok(())
    }
}

/// The mechanism and its rule.
fn label(engine: &dyn Engine, rule: Rule) -> String {
    let rule = match rule {
        Rule::PermuteAndFlip => "permute-and-flip",
        Rule::Exponential => "exponential",
    };
    format!("{}, {rule}", engine.name())
}
