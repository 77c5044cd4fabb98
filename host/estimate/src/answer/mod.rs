//! Answers from counts of releases, as JSON, text and HTML.

mod page;
mod text;

pub use text::{OF_PUBLISHED, OF_QUESTION};
pub(crate) use text::{hidden, likely};

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZero;
use std::str::FromStr;

use serde::Serialize;
use undertone::error::{Error, Result};
use undertone::pack::calibration::Calibration;
use undertone::pack::candidates::Candidates;
use undertone::release::document::epsilon_f64;
use undertone_core::epsilon::MICRO;
use undertone_core::form::Form;
use undertone_core::release::Mechanism;
use undertone_core::reservoir::all_lines_epsilon;

use crate::channel::Channel;
use crate::counts::{Counted, Expected, Kind, MOST};
use crate::forms::{self, Estimates};
use crate::labels::{self, Assumption, Fit, Labels, Laws, Sample};
use crate::published::{self, DELTA};
use crate::shares::{self, Confidence, Population, Share, Shares};
use crate::{json, refused};

/// Most slices of an answer. More are a mistake and would take hours.
const MOST_SLICES: usize = 500;

/// A pack of the fleet.
pub struct Source {
    /// Its identifier.
    pub id: [u8; 8],
    /// The names of its candidates.
    pub names: Vec<String>,
    /// Whether "nothing known" is an outcome of documents' releases for the whole text.
    pub has_nothing_known: bool,
    /// Its labelled public texts.
    pub calibration: Option<Calibration>,
}

impl From<Candidates> for Source {
    fn from(candidates: Candidates) -> Self {
        Self {
            id: candidates.pack_id(),
            names: candidates.entries.into_iter().map(|own| own.id).collect(),
            has_nothing_known: candidates.has_nothing_known,
            calibration: candidates.calibration,
        }
    }
}

/// Restricts counting to releases of these packs and answers to these forms.
pub fn expected(sources: &[Source], forms: &[Form<'_>]) -> Expected {
    let mut expected = Expected::default();
    for source in sources {
        let candidates = u32::try_from(source.names.len()).unwrap_or(u32::MAX);
        expected.pack(source.id, candidates, source.has_nothing_known);
    }
    for form in forms {
        expected.form(form);
    }
    expected
}

/// Slices to compare.
#[derive(Clone, Debug, PartialEq)]
pub enum Compare {
    /// Each slice with the first.
    First,
    /// The third value with the second; both are values of the first, a column.
    Two(String, String, String),
}

impl FromStr for Compare {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        if text.is_empty() {
            return Ok(Self::First);
        }
        let two = text
            .split_once('=')
            .and_then(|(field, values)| Some((field, values.split_once(',')?)));
        match two {
            Some((field, (a, b))) if !b.contains(',') && a != b => {
                Ok(Self::Two(field.to_owned(), a.to_owned(), b.to_owned()))
            }
            _ => {
                Err("write FIELD=A,B with two values of a field, such as country=SE,NO".to_owned())
            }
        }
    }
}

/// Estimates from releases.
#[derive(Default, Serialize)]
pub struct Answer {
    /// Version of the JSON form.
    version: u32,
    pub(crate) level: f64,
    pub(crate) at_once: bool,
    /// Number of accepted releases.
    pub(crate) releases: u64,
    pub(crate) rejected: Vec<Rejects>,
    /// Kinds of releases that were left out.
    pub(crate) left_out: Vec<LeftOut>,
    pub(crate) slices: Vec<String>,
    pub(crate) kinds: Vec<KindOf>,
    /// Whether labels are those of a question.
    pub(crate) question: bool,
    pub(crate) candidates: Vec<OfCandidates>,
    pub(crate) answers: Vec<OfAnswers>,
    pub(crate) labels: Vec<OfLabels>,
    /// Shares of labels if private texts were exactly like public ones, if requested.
    pub(crate) labels_alike: Vec<OfLabels>,
    pub(crate) differences: Vec<Difference>,
    /// Estimates that could not be made, and why.
    pub(crate) unanswered: Vec<String>,
}

#[derive(Serialize)]
pub(crate) struct Rejects {
    pub(crate) reason: String,
    pub(crate) count: u64,
}

#[derive(Serialize)]
pub(crate) struct LeftOut {
    pub(crate) kind: String,
    pub(crate) releases: u64,
    pub(crate) reason: String,
}

#[derive(Serialize)]
pub(crate) struct KindOf {
    #[serde(skip)]
    pub(crate) name: String,
    pub(crate) pack: String,
    mechanism: u8,
    rule: u8,
    pub(crate) epsilon: f64,
    order: u16,
    pub(crate) releases: u64,
    /// Privacy of the published counts; none for sentence releases and answers.
    pub(crate) published: Option<Published>,
}

/// Privacy of one text in the counts, against an observer who cannot link releases to devices.
#[derive(Serialize)]
pub(crate) struct Published {
    /// The number of releases, or that of the smallest slice.
    pub(crate) releases: u64,
    /// At most the ε of one release.
    pub(crate) epsilon: f64,
    pub(crate) delta: f64,
}

/// A value for each slice column; none for all releases.
pub(crate) type Slice = Option<Vec<String>>;

#[derive(Serialize)]
pub(crate) struct OfCandidates {
    pub(crate) pack: String,
    /// The number of places, if these are shares of drawn sentences; none for shares of texts.
    pub(crate) places: Option<NonZero<u16>>,
    /// In the order of the pack; "nothing known" is last.
    #[serde(flatten)]
    pub(crate) estimated: Estimated,
}

#[derive(Serialize)]
pub(crate) struct OfAnswers {
    pub(crate) form: String,
    /// The name of an attribute, or of the two of a pair.
    pub(crate) attributes: Vec<String>,
    /// In the order of the form; "no answer" is last.
    #[serde(flatten)]
    pub(crate) estimated: Estimated,
}

/// Shares that hold whatever people wrote or answered.
#[derive(Serialize)]
pub(crate) struct Estimated {
    pub(crate) slice: Slice,
    pub(crate) releases: u64,
    pub(crate) one_forged_release_moves: f64,
    /// Whether honest devices can release like this.
    pub(crate) possible: bool,
    pub(crate) shares: Vec<Row>,
}

impl Estimated {
    fn new(slice: &Slice, own: &Shares, name: impl Fn(usize) -> String) -> Self {
        let rows = own.shares.iter().zip(&own.unbiased).enumerate();
        Self {
            slice: slice.clone(),
            releases: own.releases,
            one_forged_release_moves: own.moved,
            possible: own.possible,
            shares: rows
                .map(|(answer, (share, unbiased))| {
                    row(name(answer), *share, Some(*unbiased), own.possible)
                })
                .collect(),
        }
    }
}

#[derive(Serialize)]
pub(crate) struct OfLabels {
    pub(crate) packs: Vec<String>,
    pub(crate) slice: Slice,
    pub(crate) releases: u64,
    pub(crate) one_forged_release_moves: f64,
    pub(crate) fit: Fit,
    /// The sources that intervals allow for; none if they assume texts like the public ones.
    pub(crate) sources: Option<SourcesOf>,
    pub(crate) shares: Vec<Row>,
}

/// The sources of public texts that are compared.
#[derive(Clone, Serialize)]
pub(crate) struct SourcesOf {
    /// Whether they are clusters.
    pub(crate) guessed: bool,
    /// Those that a field names.
    pub(crate) names: Vec<String>,
}

#[derive(Serialize)]
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) share: f64,
    /// None if the assumption of the interval is refuted.
    pub(crate) low: Option<f64>,
    pub(crate) high: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unbiased: Option<f64>,
}

#[derive(Serialize)]
pub(crate) struct Difference {
    pub(crate) of: &'static str,
    /// The packs, or the form.
    pub(crate) packs: Vec<String>,
    /// The name of an attribute, or of the two of a pair.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) attributes: Vec<String>,
    pub(crate) first: Slice,
    pub(crate) second: Slice,
    /// The second less the first.
    pub(crate) shares: Vec<Row>,
}

type Outcomes = BTreeMap<u32, u64>;

/// The releases of a slice, by kind.
#[derive(Default)]
struct View {
    slice: Slice,
    kinds: BTreeMap<Kind, Outcomes>,
}

impl View {
    fn total(&self, of: impl Fn(Kind) -> bool) -> u64 {
        let own = self.kinds.iter().filter(|(kind, _)| of(**kind));
        own.flat_map(|(_, outcomes)| outcomes.values()).sum()
    }
}

/// A kind of releases and the public texts of its pack.
type Public<'a> = (Kind, &'a Calibration);

/// Packs with the same labels, whose releases are estimated together.
struct Group<'a> {
    packs: Vec<String>,
    /// For each kind, the laws of its pack's public texts.
    laws: Vec<Laws<'a>>,
    sources: Option<SourcesOf>,
}

impl Answer {
    /// Estimates from these counts for the packs of `sources` and for `forms`. `question`: the
    /// public texts of the packs are those of a question. `alike`: also estimates the shares of
    /// labels for texts exactly like the public ones.
    ///
    /// # Errors
    /// [`ErrorKind::Input`](undertone::error::ErrorKind::Input) if nothing can be estimated.
    pub fn new(
        counted: &Counted,
        sources: &[Source],
        forms: &[Form<'_>],
        confidence: Confidence,
        compare: Option<&Compare>,
        question: bool,
        alike: bool,
    ) -> Result<Self> {
        if counted.counts.total() > MOST {
            return Err(refused(format!(
                "there are more than {MOST} releases, which nobody has; look for counts that are wrong"
            )));
        }
        let (views, left_out) = views(counted, sources, forms)?;
        let all = &views[0];
        let rejected = counted.rejected.reasons();
        let mut answer = Self {
            version: 2,
            level: confidence.level,
            at_once: confidence.at_once,
            releases: all.total(|_| true),
            rejected: rejected
                .map(|(reason, seen)| Rejects {
                    reason: reason.to_string(),
                    count: seen.count,
                })
                .collect(),
            left_out,
            slices: counted.counts.slices().to_vec(),
            kinds: all
                .kinds
                .iter()
                .map(|(kind, own)| Ok(kind_of(*kind, own, published(*kind, sources, &views)?)))
                .collect::<Result<_>>()?,
            question,
            ..Self::default()
        };
        if all.kinds.is_empty() {
            return Err(refused(format!(
                "no release can be taken:{}",
                listed(
                    answer
                        .left_out
                        .iter()
                        .map(|own| format!("{}: {}", own.kind, own.reason))
                )
            )));
        }
        let groups = answer.groups(sources, all);
        let pairs = pairs(compare, &views, counted.counts.slices())?;
        answer.of_candidates(sources, &views, confidence)?;
        answer.of_answers(forms, &views, confidence)?;
        answer.labels = answer.of_labels(&groups, &views, confidence, Assumption::OtherSources);
        if alike {
            answer.labels_alike = answer.of_labels(&groups, &views, confidence, Assumption::Alike);
        }
        answer.differences((sources, forms), &groups, &views, &pairs, confidence.level)?;
        let is_empty = answer.candidates.is_empty() && answer.answers.is_empty();
        if is_empty && answer.labels.is_empty() {
            return Err(refused(format!(
                "nothing can be said of these releases:{}",
                listed(answer.unanswered.iter().cloned())
            )));
        }
        Ok(answer)
    }

    /// All numbers as JSON; the README of this crate has the form.
    pub fn json(&self) -> String {
        json(self)
    }

    /// The answer in words, with the `top` most frequent answers of each table.
    pub fn text(&self, top: usize) -> String {
        text::text(self, top)
    }

    /// A self-contained HTML page with the `top` most frequent answers of each table, and `byline`
    /// below the headline, such as date, pack and author.
    ///
    /// # Errors
    /// [`ErrorKind::Internal`](undertone::error::ErrorKind::Internal) if a figure cannot be drawn.
    pub fn html(&self, top: usize, byline: &[String]) -> Result<String> {
        page::page(self, top, byline).map_err(Error::plot)
    }

    /// Groups the packs by their labels; reports the packs without labels.
    fn groups<'a>(&mut self, sources: &'a [Source], all: &View) -> Vec<Group<'a>> {
        let mut groups: Vec<(Vec<String>, Vec<Public<'a>>)> = Vec::new();
        for source in sources {
            let kinds: Vec<Kind> = all
                .kinds
                .keys()
                .filter(|kind| kind.pack_id() == source.id)
                .copied()
                .collect();
            let (drawn, kinds): (Vec<Kind>, Vec<Kind>) =
                kinds.into_iter().partition(|kind| kind.places().is_some());
            let pack = hex::encode(source.id);
            if !drawn.is_empty() {
                self.unanswered.push(format!(
                    "shares of labels from drawn sentences of pack {pack}: labels belong to whole texts; release by another rule for them"
                ));
            }
            if kinds.is_empty() {
                continue;
            }
            let Some(calibration) = &source.calibration else {
                self.unanswered.push(if self.question {
                    format!("the question is about another pack than {pack}; ask it of that pack in a run of its own")
                } else {
                    format!(
                        "shares of labels from releases of pack {pack}: its candidates file carries no public texts. Give labelled ones \
                         and their pack, or make the pack anew from labelled documents with this version"
                    )
                });
                continue;
            };
            let place = groups
                .iter()
                .position(|(_, kinds)| kinds[0].1.labels == calibration.labels);
            let place = place.unwrap_or_else(|| {
                groups.push((Vec::new(), Vec::new()));
                groups.len() - 1
            });
            let (packs, of_group) = &mut groups[place];
            packs.push(pack);
            of_group.extend(kinds.into_iter().map(|kind| (kind, calibration)));
        }
        let mut all = Vec::new();
        for (packs, kinds) in groups {
            let sources = sources_of(&kinds);
            match Laws::of_kinds(kinds.into_iter()) {
                Ok(laws) => all.push(Group {
                    packs,
                    laws,
                    sources,
                }),
                Err(problem) => self.unanswered.push(problem.to_string()),
            }
        }
        all
    }

    fn of_candidates(
        &mut self,
        sources: &[Source],
        views: &[View],
        confidence: Confidence,
    ) -> Result<()> {
        let mut tables = Vec::new();
        for source in sources {
            for population in populations(&views[0], source) {
                let holds = |view: &&View| populations(view, source).contains(&population);
                let views = views.iter().filter(holds);
                tables.extend(views.map(|view| (source, population, view)));
            }
        }
        let confidence = confidence.among(tables.len());
        for (source, population, view) in tables {
            if let Some(own) = pooled(source, view, population, confidence)? {
                self.candidates.push(OfCandidates {
                    pack: hex::encode(source.id),
                    places: match population {
                        Population::Texts | Population::Known => None,
                        Population::Sentences(places) => Some(places),
                    },
                    estimated: Estimated::new(&view.slice, &own, |answer| name(source, answer)),
                });
            }
        }
        Ok(())
    }

    fn of_answers(
        &mut self,
        forms: &[Form<'_>],
        views: &[View],
        confidence: Confidence,
    ) -> Result<()> {
        let confidence = confidence.among(forms.len() * views.len());
        for form in forms {
            for view in views {
                let estimates = answered(form, view, confidence)?;
                if view.slice.is_none() && estimates.forged > 0 {
                    self.left_out.push(LeftOut {
                        kind: format!("form {}, answer", hex::encode(form.id())),
                        releases: estimates.forged,
                        reason: "no device with the form makes them".to_owned(),
                    });
                }
                for own in &estimates.questions {
                    let Some(shares) = &own.shares else {
                        continue;
                    };
                    let names = forms::outcomes(form, &own.question);
                    self.answers.push(OfAnswers {
                        form: hex::encode(form.id()),
                        attributes: forms::attributes(form, &own.question),
                        estimated: Estimated::new(&view.slice, shares, |answer| {
                            names[answer].clone()
                        }),
                    });
                }
            }
        }
        Ok(())
    }

    fn of_labels(
        &mut self,
        groups: &[Group<'_>],
        views: &[View],
        confidence: Confidence,
        assumption: Assumption,
    ) -> Vec<OfLabels> {
        let confidence = confidence.among(groups.len() * views.len());
        let mut all = Vec::new();
        for group in groups {
            for view in views {
                match estimated(group, view, confidence, assumption) {
                    None => {}
                    Some(Ok(own)) => all.push(of_labels(group, view, &own)),
                    // All slices fail alike.
                    Some(Err(problem)) => {
                        let problem = problem.to_string();
                        if !self.unanswered.contains(&problem) {
                            self.unanswered.push(problem);
                        }
                    }
                }
            }
        }
        all
    }

    fn differences(
        &mut self,
        (sources, forms): (&[Source], &[Form<'_>]),
        groups: &[Group<'_>],
        views: &[View],
        pairs: &[(usize, usize)],
        level: f64,
    ) -> Result<()> {
        let both = [Population::Texts, Population::Known];
        let whole: Vec<(&Source, Population)> = sources
            .iter()
            .flat_map(|source| both.map(|population| (source, population)))
            .filter(|(source, population)| populations(&views[0], source).contains(population))
            .collect();
        let confidence = Confidence {
            level,
            at_once: true,
        };
        let confidence = confidence.among(pairs.len() * (whole.len() + groups.len() + forms.len()));
        for &(first, second) in pairs {
            let views = [&views[first], &views[second]];
            let mut add = |of, packs, attributes, names: &[String], shares: Vec<Share>, sound| {
                let shares = shares.into_iter().zip(names);
                self.differences.push(Difference {
                    of,
                    packs,
                    attributes,
                    first: views[0].slice.clone(),
                    second: views[1].slice.clone(),
                    shares: shares
                        .map(|(share, name)| row(name.clone(), share, None, sound))
                        .collect(),
                });
            };
            for (source, population) in &whole {
                let [a, b] = views.map(|view| pooled(source, view, *population, confidence));
                let (Some(a), Some(b)) = (a?, b?) else {
                    continue;
                };
                let names = (0..a.shares.len()).map(|answer| name(source, answer));
                let names: Vec<String> = names.collect();
                let packs = vec![hex::encode(source.id)];
                let shares = shares::difference(&a, &b)?;
                let sound = a.possible && b.possible;
                add("candidates", packs, Vec::new(), &names, shares, sound);
            }
            for form in forms {
                let [a, b] = views.map(|view| answered(form, view, confidence));
                for (a, b) in a?.questions.iter().zip(&b?.questions) {
                    let (question, Some(a), Some(b)) = (&a.question, &a.shares, &b.shares) else {
                        continue;
                    };
                    let packs = vec![hex::encode(form.id())];
                    let attributes = forms::attributes(form, question);
                    let names = forms::outcomes(form, question);
                    let shares = shares::difference(a, b)?;
                    let sound = a.possible && b.possible;
                    add("answers", packs, attributes, &names, shares, sound);
                }
            }
            for group in groups {
                let assumption = Assumption::OtherSources;
                let [a, b] = views.map(|view| estimated(group, view, confidence, assumption));
                let (Some(Ok(a)), Some(Ok(b))) = (a, b) else {
                    continue;
                };
                let packs = group.packs.clone();
                let shares = labels::difference(&a, &b, confidence);
                let sound = !a.fit.refuted && !b.fit.refuted;
                add("labels", packs, Vec::new(), group.names(), shares, sound);
            }
        }
        Ok(())
    }
}

impl Group<'_> {
    fn names(&self) -> &[String] {
        self.laws.first().map_or(&[], Laws::labels)
    }
}

/// The sources that the calibrations of all these kinds have; none if one has none.
fn sources_of(kinds: &[Public<'_>]) -> Option<SourcesOf> {
    let mut names = BTreeSet::new();
    let mut guessed = false;
    for (_, calibration) in kinds {
        let own = calibration.by_source.as_ref()?;
        guessed |= own.are_guessed();
        names.extend(own.names.iter().cloned());
    }
    Some(SourcesOf {
        guessed,
        names: names.into_iter().collect(),
    })
}

fn listed(lines: impl Iterator<Item = String>) -> String {
    lines.map(|line| format!("\n  {line}")).collect()
}

fn row(name: String, share: Share, unbiased: Option<f64>, sound: bool) -> Row {
    Row {
        name,
        share: share.share,
        low: sound.then_some(share.low),
        high: sound.then_some(share.high),
        unbiased,
    }
}

fn name(source: &Source, answer: usize) -> String {
    let name = source.names.get(answer);
    name.map_or("nothing known", String::as_str).to_owned()
}

/// The counts of the smallest slice reveal most.
fn published(kind: Kind, sources: &[Source], views: &[View]) -> Result<Option<Published>> {
    // Nothing is proved of the counts of a form.
    if kind.mechanism() == Mechanism::Answer {
        return Ok(None);
    }
    let source = sources.iter().find(|own| own.id == kind.pack_id());
    let candidates = source.map_or(0, |own| own.names.len()) as u32;
    let Some(channel) = Channel::new(kind, candidates)? else {
        return Ok(None);
    };
    let totals = views.iter().map(|view| view.total(|own| own == kind));
    let releases = totals.filter(|total| *total > 0).min().unwrap_or(0);
    let one = match kind.places() {
        Some(places) => all_lines_epsilon(kind.epsilon(), places).0 as f64 / f64::from(MICRO),
        None => epsilon_f64(kind.epsilon()),
    };
    let epsilon = published::epsilon(&channel, releases, DELTA)?;
    Ok(Some(Published {
        releases,
        epsilon: epsilon.map_or(one, |own| own.min(one)),
        delta: epsilon.map_or(0.0, |_| DELTA),
    }))
}

fn kind_of(kind: Kind, outcomes: &Outcomes, published: Option<Published>) -> KindOf {
    KindOf {
        name: kind.to_string(),
        pack: hex::encode(kind.pack_id()),
        mechanism: kind.mechanism() as u8,
        rule: kind.rule() as u8,
        epsilon: epsilon_f64(kind.epsilon()),
        order: kind.order(),
        releases: outcomes.values().sum(),
        published,
    }
}

/// The populations of a pack's releases.
fn populations(view: &View, source: &Source) -> BTreeSet<Population> {
    let own = view.kinds.iter().filter(|(kind, outcomes)| {
        kind.pack_id() == source.id && outcomes.values().any(|count| *count > 0)
    });
    own.filter_map(|(kind, _)| Population::of(*kind)).collect()
}

/// The shares of all questions of a form.
fn answered(form: &Form<'_>, view: &View, confidence: Confidence) -> Result<Estimates> {
    let samples = view.kinds.iter().map(|(kind, outcomes)| (*kind, outcomes));
    forms::estimate(form, samples, confidence)
}

fn pooled(
    source: &Source,
    view: &View,
    population: Population,
    confidence: Confidence,
) -> Result<Option<Shares>> {
    if !populations(view, source).contains(&population) {
        return Ok(None);
    }
    let own = view.kinds.iter().filter(|(kind, _)| {
        kind.pack_id() == source.id && Population::of(**kind) == Some(population)
    });
    let own: Vec<(Kind, &Outcomes)> = own.map(|(kind, outcomes)| (*kind, outcomes)).collect();
    shares::pooled(&own, source.names.len() as u32, confidence)
}

/// None if the slice has no releases of the group.
fn estimated(
    group: &Group<'_>,
    view: &View,
    confidence: Confidence,
    assumption: Assumption,
) -> Option<Result<Labels>> {
    let nothing = Outcomes::new();
    let samples: Vec<Sample<'_>> = group
        .laws
        .iter()
        .map(|laws| Sample {
            laws,
            outcomes: view.kinds.get(&laws.kind()).unwrap_or(&nothing),
        })
        .collect();
    let some = samples.iter().any(|own| !own.outcomes.is_empty());
    some.then(|| labels::labels(&samples, confidence, assumption))
}

fn of_labels(group: &Group<'_>, view: &View, own: &Labels) -> OfLabels {
    let refuted = own.fit.refuted;
    let rows = own.shares.iter().zip(&own.unbounded).zip(group.names());
    OfLabels {
        packs: group.packs.clone(),
        slice: view.slice.clone(),
        releases: own.releases,
        one_forged_release_moves: own.moved,
        fit: own.fit,
        sources: group.sources.clone().filter(|_| own.allows),
        shares: rows
            .map(|((share, unbiased), name)| row(name.clone(), *share, Some(*unbiased), !refuted))
            .collect(),
    }
}

/// All releases, then those of each slice; and the kinds that no device makes.
fn views(
    counted: &Counted,
    sources: &[Source],
    forms: &[Form<'_>],
) -> Result<(Vec<View>, Vec<LeftOut>)> {
    let mut views = vec![View::default()];
    let mut places: BTreeMap<Vec<String>, usize> = BTreeMap::new();
    let mut left_out: BTreeMap<Kind, (u64, String)> = BTreeMap::new();
    let slices: BTreeSet<&[String]> = counted.counts.groups().map(|own| own.slice).collect();
    if slices.len() > MOST_SLICES {
        return Err(refused(format!(
            "there are {} slices, and an estimate has at most {MOST_SLICES}; slice by fewer fields, or by ones with fewer \
             values, such as the month instead of the day",
            slices.len()
        )));
    }
    if !counted.counts.slices().is_empty() {
        for slice in slices {
            places.insert(slice.to_vec(), views.len());
            views.push(View {
                slice: Some(slice.to_vec()),
                ..View::default()
            });
        }
    }
    for group in counted.counts.groups() {
        if let Some(reason) = unmade(group.kind, sources, forms) {
            left_out.entry(group.kind).or_insert((0, reason)).0 += group.total();
            continue;
        }
        let own = places.get(group.slice).copied();
        for place in [Some(0), own].into_iter().flatten() {
            let outcomes = views[place].kinds.entry(group.kind).or_default();
            for (outcome, count) in group.outcomes {
                *outcomes.entry(*outcome).or_insert(0) += count;
            }
        }
    }
    views.retain(|view| view.slice.is_none() || !view.kinds.is_empty());
    let left_out = left_out
        .into_iter()
        .map(|(kind, (releases, reason))| LeftOut {
            kind: kind.to_string(),
            releases,
            reason,
        });
    Ok((views, left_out.collect()))
}

/// The reason why no device with the pack or form makes releases of this kind. They are left out
/// without an error, because anybody can send them.
fn unmade(kind: Kind, sources: &[Source], forms: &[Form<'_>]) -> Option<String> {
    let is_answer = kind.mechanism() == Mechanism::Answer;
    let of_form = forms.iter().any(|form| form.id() == kind.pack_id());
    if of_form && !is_answer {
        return Some("the form has answers only".to_owned());
    }
    if is_answer {
        return (!of_form).then(|| "the form is not given".to_owned());
    }
    let source = sources.iter().find(|own| own.id == kind.pack_id())?;
    let by_scores = source
        .calibration
        .as_ref()
        .is_none_or(|own| own.mechanism == Mechanism::Scores);
    if kind.is_known() && source.has_nothing_known {
        return Some("the pack has the outcome \"nothing known\"".to_owned());
    }
    if Population::of(kind).is_some() {
        let problem = "the pack has no scores, so it knows no best candidate";
        return (!by_scores).then(|| problem.to_owned());
    }
    let mechanism = source.calibration.as_ref()?.mechanism;
    (mechanism != kind.mechanism()).then(|| "the pack selects by another mechanism".to_owned())
}

/// Indices of the slices to compare.
fn pairs(
    compare: Option<&Compare>,
    views: &[View],
    slices: &[String],
) -> Result<Vec<(usize, usize)>> {
    match compare {
        None => Ok(Vec::new()),
        Some(_) if slices.is_empty() => Err(refused(
            "there are no slices to compare; name a field with ⟨by⟩",
        )),
        Some(Compare::First) if views.len() < 3 => Err(refused(
            "there is one slice only, which differs from nothing; give releases of others",
        )),
        Some(Compare::First) => Ok((2..views.len()).map(|other| (1, other)).collect()),
        Some(Compare::Two(field, first, second)) => {
            if slices != [field.clone()] {
                return Err(refused(format!(
                    "⟨difference⟩ compares values of {field}, and the slices are by {}; slice by {field} alone, with ⟨by {field}⟩",
                    slices.join(", ")
                )));
            }
            let place = |value: &String| {
                let own = views
                    .iter()
                    .position(|view| view.slice.as_ref().is_some_and(|own| own[0] == *value));
                own.ok_or_else(|| {
                    let known: Vec<&str> = views
                        .iter()
                        .filter_map(|view| Some(view.slice.as_ref()?[0].as_str()))
                        .take(10)
                        .collect();
                    refused(format!(
                        "no release has {field} = {value}; there are {}",
                        known.join(", ")
                    ))
                })
            };
            Ok(vec![(place(first)?, place(second)?)])
        }
    }
}
