//! Privacy audits: compare the promises of a mechanism with its behaviour.
//!
//! The law of a release is computed, not sampled, if the domain allows, and the worst neighbours
//! are searched. Otherwise a device draws releases.

#![warn(clippy::too_many_lines)]

/// Computes exact laws and searches for the worst neighbours.
pub mod exact {
    mod construct;
    pub mod inside;
    pub(crate) mod neighbours;
    pub mod sentences;
    pub mod whole_text;
    pub mod words;
}

/// Judges mechanisms by the releases of a device.
pub mod sampled {
    pub mod device;
    pub mod selection;
    pub mod stated;
    pub mod statistics;
    pub mod vectors;
}

mod report;
pub mod schedule;

use std::collections::BTreeSet;
use std::fmt;
use std::time::Instant;

use undertone_core::epsilon::Epsilon;
use undertone_core::form::Form;
use undertone_core::pack::Pack;
use undertone_core::select::Rule;
use undertone_core::vector::Noise;

use exact::inside::{
    self, CoreAnswers, CoreSentences, CoreWholeText, CoreWords, Engine, Sentences, WholeText,
};
use exact::{sentences, whole_text, words};
pub use report::Report;
use sampled::device::{Device, Sentence};
use sampled::selection::{Designs, Judge, Neighbours, SentenceAudit, WordAudit};
use sampled::{selection, vectors};
use undertone::encoder::{Encoder, encode_all_public};
use undertone::error::{Error, Result};
use undertone::progress::Progress;
use undertone::release::budget::number;
use undertone::release::document::{Method as Released, check_encoder};
pub use undertone::release::law::{Law, levels};

/// Number of public sentences from which a search starts.
const SEARCHED: usize = 240;

/// Maximum number of ε in an audit. With both rules and every mechanism, each takes some 30 bounds
/// and 111 tests of fit, so an audit has fewer than [`sampled::statistics::MOST`].
const EPSILONS: usize = 8;

/// Minimum number of releases of each document in an audit; a test of fit needs this many.
pub const LEAST_RELEASES: u64 = 1000;

/// Long documents take longer, so they get fewer releases, by this factor.
const LONG: usize = 16;

/// Minimum number of releases of words, which take longer.
const LEAST_OF_WORDS: u64 = 100;

/// Relative tolerance of a loss above its promise. Losses are computed in double precision from
/// exact integers. A probability is a sum of at most 2¹⁶ positive terms, each with a few dozen
/// roundings of 2⁻⁵³, so its relative error stays below 10⁻¹¹.
const RELATIVE: f64 = 1e-9;

/// Absolute tolerance, for small promises.
const ROUNDING: f64 = 1e-10;

impl Check {
    /// A check that passes if `measured` is at most `claimed`. A loss that is computed may exceed
    /// it by the error of rounding.
    fn new(
        mechanism: impl Into<String>,
        name: impl Into<String>,
        epsilon: Option<Epsilon>,
        method: Method,
        [claimed, measured]: [f64; 2],
    ) -> Self {
        let is_rounded = method == Method::Exact && epsilon.is_some();
        let limit = if is_rounded {
            claimed * (1.0 + RELATIVE) + ROUNDING
        } else {
            claimed
        };
        Self {
            mechanism: mechanism.into(),
            name: name.into(),
            epsilon,
            method,
            claimed,
            measured,
            tried: 0,
            passed: measured <= limit,
            detail: String::new(),
        }
    }

    /// The same check, of this number of trials.
    fn of(self, tried: u64, detail: impl Into<String>) -> Self {
        let detail = detail.into();
        Self {
            tried,
            detail,
            ..self
        }
    }

    /// Whether the check compares a loss with a promise that depends on ε.
    fn is_loss(&self) -> bool {
        self.epsilon.is_some() && self.claimed > 0.0 && self.name.starts_with("loss")
    }
}

/// Formats a line of a table for people.
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

/// The mechanisms to audit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mechanism {
    /// Selection of a candidate for a document, which protects each sentence.
    Sentences,
    /// Selection of a candidate for a document, which protects the whole text.
    WholeText,
    /// Drawing of a point for a document, which protects the whole text.
    Projective,
    /// Exchange of words of the lexicon.
    Words,
    /// Noise on vectors, which does not involve the pack.
    Vectors,
}

impl Mechanism {
    /// All mechanisms.
    pub const ALL: [Self; 5] = [
        Self::Sentences,
        Self::WholeText,
        Self::Projective,
        Self::Words,
        Self::Vectors,
    ];
}

/// The extent of an audit.
#[derive(Clone, Debug)]
pub struct Options {
    /// The mechanisms to audit, if the pack has them.
    pub mechanisms: Vec<Mechanism>,
    /// The privacy parameters.
    pub epsilons: Vec<Epsilon>,
    /// The rules of drawing.
    pub rules: Vec<Rule>,
    /// Minimum number of neighbours whose exact laws are compared; a twentieth of it for pairs of
    /// words.
    pub neighbours: u64,
    /// Releases of each document by a device; slower kinds get fewer.
    pub releases: u64,
    /// Seed of the searches.
    pub seed: u64,
}

/// The method of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    /// Computed by enumeration or integer arithmetic.
    Exact,
    /// Estimated from releases, with a confidence bound.
    Sampled,
    /// Found by an attacker who tries to distinguish inputs.
    Attack,
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Exact => "exact",
            Self::Sampled => "sampled",
            Self::Attack => "attack",
        })
    }
}

/// Result of one check.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// The mechanism and its rule, as in "scores, permute-and-flip".
    pub mechanism: String,
    /// The checked property, as in "loss of replaced sentences".
    pub name: String,
    /// The ε of the check, if it depends on one.
    pub epsilon: Option<Epsilon>,
    /// The method of the measurement.
    pub method: Method,
    /// The promise, or the limit of a test: the measured value may not exceed it.
    pub claimed: f64,
    /// The measured value.
    pub measured: f64,
    /// Number of neighbours compared, releases drawn, or other trials.
    pub tried: u64,
    /// Whether the promise holds as far as this check can determine.
    pub passed: bool,
    /// Further details, for people.
    pub detail: String,
}

/// Audits the mechanisms of a pack, and calls `notice` with each check when it is made.
///
/// `encoder`: the encoder of the pack, if searches are to start from the `public` sentences.
/// `device`: a program that has read the same pack. The report lists the checks that are left out.
///
/// # Errors
/// [`ErrorKind::Encoder`](undertone::error::ErrorKind::Encoder) for another encoder,
/// [`ErrorKind::Experiment`](undertone::error::ErrorKind::Experiment) if the pack has nothing to
/// audit, for more than 8 values of ε, and for fewer releases of a device than [`LEAST_RELEASES`];
/// and the errors of encoders, of devices and of packs that this library cannot release from. A
/// failed check is not an error.
pub fn run(
    pack: &Pack<'_>,
    encoder: Option<&dyn Encoder>,
    device: Option<&mut dyn Device>,
    public: &[&str],
    options: &Options,
    notice: &mut dyn FnMut(&Check),
) -> Result<Report> {
    if let Some(encoder) = encoder {
        check_encoder(pack, encoder)?;
    }
    let subject = Subject {
        pack,
        encoder,
        public,
    };
    let report = Report::new(["pack", &hex::encode(pack.digest())], options);
    let device = device.map(|device| device as &mut dyn Device);
    audit(subject, report, device, options, notice, |audit| {
        let wanted = |mechanism: &Mechanism| options.mechanisms.contains(mechanism);
        for mechanism in Mechanism::ALL.into_iter().filter(wanted) {
            match mechanism {
                Mechanism::Sentences => audit.sentences()?,
                Mechanism::WholeText => audit.whole_text(Released::WholeText)?,
                Mechanism::Projective => audit.whole_text(Released::Projective)?,
                Mechanism::Words => audit.words()?,
                Mechanism::Vectors => audit.vectors()?,
            }
        }
        Ok(())
    })
}

/// Audits the answers of a form, and calls `notice` with each check when it is made. The mechanisms
/// and rules of `options` do not apply.
///
/// `device`: a program that has read the same form.
///
/// # Errors
/// Errors of [`run`].
pub fn run_form(
    form: &Form<'_>,
    device: Option<&mut dyn Device>,
    options: &Options,
    notice: &mut dyn FnMut(&Check),
) -> Result<Report> {
    let report = Report::new(["form", &hex::encode(form.digest())], options);
    let device = device.map(|device| device as &mut dyn Device);
    audit(form, report, device, options, notice, |audit| {
        audit.answers()
    })
}

/// Makes the checks of `make`, and those of all audits.
fn audit<'a, S>(
    subject: S,
    report: Report,
    device: Option<&'a mut dyn Device>,
    options: &'a Options,
    notice: &'a mut dyn FnMut(&Check),
    make: impl FnOnce(&mut Audit<'a, S>) -> Result<()>,
) -> Result<Report> {
    let start = Instant::now();
    if options.epsilons.len() > EPSILONS {
        return Err(Error::experiment(format!(
            "cannot audit: an audit takes at most {EPSILONS} values of epsilon, \
             which share its rate of false alarms; these are {}. Name fewer, or \
             audit twice",
            options.epsilons.len()
        )));
    }
    if device.is_some() && options.releases < LEAST_RELEASES {
        return Err(Error::experiment(format!(
            "cannot audit: {} releases of a document are too few to tell anything; \
             ask for {LEAST_RELEASES} or more",
            options.releases
        )));
    }
    let mut audit = Audit {
        subject,
        device,
        options,
        notice,
        report,
    };
    make(&mut audit)?;
    let stated = audit
        .device
        .as_ref()
        .and_then(|device| device.stated().check());
    audit.add(Vec::from_iter(stated));
    if audit.device.is_none() {
        audit.leave_out(
            "releases of a device: no undertone-device was found; ffi/install.sh builds one",
        );
    }
    let mut report = audit.report;
    if report.checks.is_empty() {
        return Err(Error::experiment(format!(
            "cannot audit: {}",
            report.left_out.join("; ")
        )));
    }
    report.took = start.elapsed();
    Ok(report)
}

/// The pack to audit.
struct Subject<'a> {
    pack: &'a Pack<'a>,
    encoder: Option<&'a dyn Encoder>,
    public: &'a [&'a str],
}

struct Audit<'a, S> {
    subject: S,
    device: Option<&'a mut dyn Device>,
    options: &'a Options,
    notice: &'a mut dyn FnMut(&Check),
    report: Report,
}

impl<S> Audit<'_, S> {
    fn add(&mut self, checks: Vec<Check>) {
        checks.iter().for_each(&mut *self.notice);
        self.report.checks.extend(checks);
    }

    fn leave_out(&mut self, what: &str) {
        self.report.left_out.push(what.to_owned());
    }

    /// Adds the checks of a device's releases, if there is a device.
    fn release(&mut self, check: impl FnOnce(&mut dyn Device) -> Result<Vec<Check>>) -> Result<()> {
        if let Some(device) = &mut self.device {
            let checks = check(&mut **device)?;
            self.add(checks);
        }
        Ok(())
    }

    /// Checks an exchange of inputs from inside, and by releases of the device. `outcomes`: the
    /// number of outcomes at an ε.
    fn exchanged<W: WholeText>(
        &mut self,
        mechanism: &W,
        inputs: &[W::Input],
        outcomes: impl Fn(Epsilon) -> u64,
    ) -> Result<()> {
        let most = inside::MOST_OUTCOMES;
        let few = |epsilon: &Epsilon| outcomes(*epsilon) <= most.into();
        let epsilons = self.options.epsilons.iter().copied();
        let (few, many): (Vec<_>, Vec<_>) = epsilons.partition(few);
        for epsilon in &many {
            let name = mechanism.name();
            self.leave_out(&format!(
                "{name} at epsilon {epsilon}: a release has more than {most} outcomes"
            ));
        }
        let options = Options {
            epsilons: few,
            ..self.options.clone()
        };
        self.add(whole_text::check(mechanism, inputs, &options));
        let count = options.releases as usize;
        for epsilon in &options.epsilons {
            let shown = whole_text::shown(mechanism, inputs, *epsilon);
            self.release(|device| {
                selection::whole_texts(device, mechanism, *epsilon, &shown, count)
            })?;
        }
        Ok(())
    }
}

impl Audit<'_, &Form<'_>> {
    fn answers(&mut self) -> Result<()> {
        let options = self.options;
        let mechanism = CoreAnswers::new(self.subject, &options.epsilons);
        let lists = whole_text::lists(&mechanism, options.seed);
        self.exchanged(&mechanism, &lists, |epsilon| mechanism.outcomes(epsilon))?;
        // The least ε has the most noise.
        let least = options.epsilons.iter().min();
        let law = least.and_then(|epsilon| Some((epsilon, mechanism.law(&lists[0], *epsilon)?)));
        let Some((epsilon, law)) = law else {
            return Ok(());
        };
        self.release(|device| {
            let judge = Judge {
                mechanism: &mechanism.name(),
                epsilon: *epsilon,
            };
            let repeats = selection::repeats(device, judge, &law, |device, draws| {
                mechanism.releases(device, &[&lists[0]], *epsilon, draws)
            });
            Ok(Vec::from_iter(repeats?))
        })
    }
}

impl<'a> Audit<'a, Subject<'a>> {
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
        let rows = self.rows()?;
        let (checks, searched) = sentences::search(&mechanism, &rows, self.options);
        self.add(checks);
        self.release_sentences(&mechanism, searched)
    }

    /// The sentence mechanism of the pack. Without one, reports that `what` is left out.
    fn mechanism(&mut self, what: &str) -> Result<Option<CoreSentences<'a>>> {
        let pack = self.subject.pack;
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

    /// The embeddings of public sentences to search from; empty without an encoder.
    fn rows(&self) -> Result<Vec<Sentence>> {
        let Some(encoder) = self.subject.encoder else {
            return Ok(Vec::new());
        };
        let public = self.subject.public;
        let public = &public[..public.len().min(SEARCHED)];
        let rows = encode_all_public(encoder, public, &Progress::hidden())?;
        let rows = rows.chunks_exact(encoder.dimension());
        Ok(rows.map(|row| Sentence::Embedding(row.to_vec())).collect())
    }

    /// Checks a mechanism that protects the whole text.
    fn whole_text(&mut self, method: Released) -> Result<()> {
        let what = match method {
            Released::Projective => "projective geometry response",
            _ => "the whole-text rule",
        };
        let Some(sentences) = self.mechanism(what)? else {
            return Ok(());
        };
        let Some(mechanism) = CoreWholeText::new(self.subject.pack, method)? else {
            self.leave_out(&format!(
                "{what}: the pack selects by depth, or has too many candidates"
            ));
            return Ok(());
        };
        // The report has a column for every requested epsilon.
        let epsilons = self.options.epsilons.iter();
        let losses = epsilons
            .map(|epsilon| [self.served(method, *epsilon); 2])
            .collect();
        self.report.promise(mechanism.name(), losses);
        let rows = self.rows()?;
        let documents = whole_text::documents(&sentences, &rows, self.options.seed);
        self.exchanged(&mechanism, &documents, |epsilon| mechanism.points(epsilon))
    }

    /// The ε that a release is drawn with.
    fn served(&self, method: Released, epsilon: Epsilon) -> f64 {
        number(method.served(epsilon, self.subject.pack.candidate_count()))
    }

    /// Checks releases of sentences by a device, by rule and ε: of designed neighbours and of those
    /// that were `searched`.
    fn release_sentences(
        &mut self,
        mechanism: &CoreSentences<'_>,
        searched: Vec<Vec<Neighbours>>,
    ) -> Result<()> {
        let (pack, options) = (self.subject.pack, self.options);
        let count = options.releases as usize;
        let designs = match self.device {
            Some(_) => Designs::new(pack)?,
            None => return Ok(()),
        };
        let mut searched = searched.into_iter();
        for rule in &options.rules {
            let label = &*label(mechanism, *rule);
            let audit = |epsilon| SentenceAudit {
                pack,
                mechanism: label,
                rule: *rule,
                epsilon,
            };
            for epsilon in &options.epsilons {
                let mut neighbours = designs.worst(*rule, *epsilon);
                // Designed neighbours are texts if texts can be pushed. One such pair is enough
                // next to searched ones.
                let searched = searched.next().unwrap_or_default();
                neighbours.truncate(if searched.is_empty() { 2 } else { 1 });
                neighbours.extend(searched);
                self.release(|device| audit(*epsilon).neighbours(device, &neighbours, count))?;
            }
            // Neither pushes nor keys depend on ε. A small ε shows little of a document, and with a
            // large one hardly more than one candidate is drawn.
            let mut epsilons = options.epsilons.clone();
            epsilons.sort_unstable();
            if let Some(epsilon) = epsilons.get(epsilons.len() / 2) {
                let few = (count / LONG).max(LEAST_RELEASES as usize);
                self.release(|device| {
                    let long = audit(*epsilon).long(device, few)?;
                    let runs = audit(*epsilon).runs(device)?;
                    Ok([long].into_iter().chain(runs).collect())
                })?;
            }
        }
        Ok(())
    }

    fn words(&mut self) -> Result<()> {
        let Some(mechanism) = CoreWords::new(self.subject.pack) else {
            self.leave_out("words: the pack has no lexicon");
            return Ok(());
        };
        self.add(words::check(&mechanism, self.options));
        self.release_words(&mechanism)
    }

    /// Checks releases of words by a device.
    fn release_words(&mut self, mechanism: &CoreWords<'_>) -> Result<()> {
        let options = self.options;
        let n = mechanism.vocabulary.word_count();
        if n < 2 || self.device.is_none() {
            return Ok(());
        }
        // A release of a word scans all words, so there are fewer, at the ε that shows most.
        let count = (options.releases / u64::from(n).div_ceil(256)).max(LEAST_OF_WORDS) as usize;
        let Some(epsilon) = options.epsilons.iter().max() else {
            return Ok(());
        };
        let first = n / 2;
        let near = words::nearest(mechanism, first, 1);
        let pairs = [[first, near.first().copied().unwrap_or(0)]];
        for (index, rule) in options.rules.iter().enumerate() {
            let audit = WordAudit {
                words: mechanism,
                rule: *rule,
                epsilon: *epsilon,
                draws: count,
                // Neither depends on the rule.
                bags_and_unknown: index == 0,
            };
            self.release(|device| audit.run(device, &pairs))?;
        }
        Ok(())
    }

    fn vectors(&mut self) -> Result<()> {
        if self.device.is_none() {
            self.leave_out("vectors, which only a device releases");
            return Ok(());
        }
        let count = self.options.releases as usize;
        for noise in [Noise::Laplace, Noise::DiscreteLaplace] {
            // ε scales the noise, so the least and the largest one are enough.
            let epsilons = self.options.epsilons.iter();
            let ends =
                BTreeSet::from_iter(epsilons.clone().min().into_iter().chain(epsilons.max()));
            for epsilon in ends {
                self.release(|device| vectors::check(device, noise, *epsilon, count))?;
            }
        }
        // Keys do not depend on ε.
        if let Some(epsilon) = self.options.epsilons.iter().max() {
            let epsilon = *epsilon;
            self.release(|device| Ok(Vec::from_iter(vectors::keys(device, epsilon, count)?)))?;
        }
        if self.subject.pack.projection().is_some() {
            self.leave_out(
                "the projection of the pack: vectors are released without it; a device computes the sensitivity of a \
                 projection from the integers that it multiplies with",
            );
        }
        Ok(())
    }
}

fn label(engine: &dyn Engine, rule: Rule) -> String {
    let rule = match rule {
        Rule::PermuteAndFlip => "permute-and-flip",
        Rule::Exponential => "exponential",
    };
    format!("{}, {rule}", engine.name())
}
