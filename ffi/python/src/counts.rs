//! Counts of releases, and estimates from them.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use undertone::release::document::epsilon_f64;
use undertone_core::epsilon::Epsilon;
use undertone_core::release::Release as CoreRelease;
use undertone_estimate::answer::{Answer as HostAnswer, Compare, Source};
use undertone_estimate::counts::{
    Counted, Counter, Counts as HostCounts, Expected, Format, Rejected, Row,
};
use undertone_estimate::planning::form::FormPlan;
use undertone_estimate::planning::{Asked, Plan};
use undertone_estimate::shares::Confidence;

use crate::arguments::{self, FilePath, Name, listed};
use crate::candidates::Candidates;
use crate::document::rule_name;
use crate::errors::{argument, quietly, raised, short};
use crate::form::Form;
use crate::pack::{Pack, mechanism_name};
use crate::question::Question;
use crate::work;

/// The number of releases of each outcome.
#[pyclass(frozen, module = "undertone._undertone")]
pub(crate) struct Counts(Arc<Counted>);

/// The filter for releases to count.
fn expected(
    packs: &[PyRef<'_, Pack>],
    candidates: &[PyRef<'_, Candidates>],
    forms: &[PyRef<'_, Form>],
    epsilons: &[Epsilon],
) -> Expected {
    let mut expected = Expected::default();
    for pack in packs {
        let pack = pack.0.pack();
        expected.pack(pack.id(), pack.candidate_count(), pack.has_nothing_known());
    }
    for candidates in candidates {
        let count = u32::try_from(candidates.0.entries.len()).unwrap_or(u32::MAX);
        expected.pack(
            candidates.0.pack_id(),
            count,
            candidates.0.has_nothing_known,
        );
    }
    for form in forms {
        expected.form(form.0.form());
    }
    for epsilon in epsilons {
        expected.epsilon(*epsilon);
    }
    expected
}

fn epsilons(values: &[Bound<'_, PyAny>]) -> PyResult<Vec<Epsilon>> {
    values.iter().map(arguments::epsilon).collect()
}

pub(crate) fn form(name: &str) -> PyResult<Format> {
    match name {
        "jsonl" => Ok(Format::Lines),
        "raw" => Ok(Format::Raw),
        "parquet" => Ok(Format::Parquet),
        "csv" => Ok(Format::Csv),
        "counts" => Ok(Format::Counts),
        _ => Err(argument(
            "format is unknown; take \"jsonl\", \"raw\", \"parquet\", \"csv\" or \"counts\"",
        )),
    }
}

/// Counts files of releases, and adds files of counts.
#[pyfunction]
#[pyo3(signature = (paths, format, by, packs, candidates, forms, epsilon, progress))]
#[allow(clippy::too_many_arguments)]
pub(crate) fn count_files(
    py: Python<'_>,
    paths: Vec<FilePath>,
    format: Option<Name>,
    by: Vec<Name>,
    packs: Vec<PyRef<'_, Pack>>,
    candidates: Vec<PyRef<'_, Candidates>>,
    forms: Vec<PyRef<'_, Form>>,
    epsilon: Vec<Bound<'_, PyAny>>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Counts> {
    let expected = expected(&packs, &candidates, &forms, &epsilons(&epsilon)?);
    let format = format.map(|name| form(&name)).transpose()?;
    let by = listed(by);
    let counted = work::run(py, progress, move || {
        let mut counter = Counter::new(by, expected)?;
        for path in &paths {
            let format = format.map_or_else(|| Format::of(path), Ok)?;
            counter.file(path, format)?;
        }
        counter.finish()
    })?;
    Ok(Counts(Arc::new(counted)))
}

/// The different values of a column, and the place among them of each release's value.
struct Column {
    values: Vec<String>,
    places: Vec<usize>,
}

impl Column {
    fn new(values: Vec<Name>) -> Self {
        let mut known: HashMap<String, usize> = HashMap::new();
        let mut column = Self {
            values: Vec::new(),
            places: Vec::with_capacity(values.len()),
        };
        for value in listed(values) {
            let place = known.entry(value).or_insert_with_key(|value| {
                column.values.push(value.clone());
                column.values.len() - 1
            });
            column.places.push(*place);
        }
        column
    }

    /// The value of a release.
    fn value(&self, release: usize) -> &str {
        &self.values[self.places[release]]
    }
}

/// Counts releases in memory, 24 bytes each, with a value of each column for every one.
#[pyfunction]
#[pyo3(signature = (releases, by, columns, packs, candidates, forms, epsilon, progress))]
#[allow(clippy::too_many_arguments)]
pub(crate) fn count_records(
    py: Python<'_>,
    releases: &Bound<'_, PyBytes>,
    by: Vec<Name>,
    columns: Vec<Vec<Name>>,
    packs: Vec<PyRef<'_, Pack>>,
    candidates: Vec<PyRef<'_, Candidates>>,
    forms: Vec<PyRef<'_, Form>>,
    epsilon: Vec<Bound<'_, PyAny>>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Counts> {
    let expected = expected(&packs, &candidates, &forms, &epsilons(&epsilon)?);
    let bytes = releases.as_bytes();
    let (records, rest) = bytes.as_chunks::<{ CoreRelease::BYTES }>();
    if !rest.is_empty() {
        return Err(argument(format!(
            "{} bytes are no whole number of releases of {} bytes",
            bytes.len(),
            CoreRelease::BYTES
        )));
    }
    for (name, column) in by.iter().zip(&columns) {
        if column.len() != records.len() {
            return Err(argument(format!(
                "by {} has {} values for {} releases; give one for each",
                short(name),
                column.len(),
                records.len()
            )));
        }
    }
    let by = listed(by);
    let records = records.to_vec();
    let counted = work::run(py, progress, move || {
        let columns: Vec<Column> = columns.into_iter().map(Column::new).collect();
        let mut known: HashMap<Vec<usize>, usize> = HashMap::new();
        let mut slices: Vec<Vec<String>> = Vec::new();
        let mut of_records = Vec::with_capacity(records.len());
        for number in 0..records.len() {
            let places = columns.iter().map(|column| column.places[number]);
            let place = known.entry(places.collect()).or_insert_with(|| {
                let values = columns.iter().map(|column| column.value(number).to_owned());
                slices.push(values.collect());
                slices.len() - 1
            });
            of_records.push(*place);
        }
        let mut counter = Counter::new(by, expected)?;
        let records = records.iter().zip(&of_records);
        counter.records(
            Path::new("the releases"),
            records.map(|(record, place)| (record, slices[*place].as_slice())),
        )?;
        counter.finish()
    })?;
    Ok(Counts(Arc::new(counted)))
}

/// A dictionary of lists, one for each column of these rows.
struct Columns<'py, 'r>(Bound<'py, PyDict>, &'r [Row<'r>]);

impl<'py, 'r> Columns<'py, 'r> {
    fn set<T: IntoPyObject<'py>>(
        &self,
        name: &str,
        value: impl Fn(&'r Row<'r>) -> T,
    ) -> PyResult<()> {
        let values: Vec<T> = self.1.iter().map(value).collect();
        self.0.set_item(name, values)
    }
}

#[pymethods]
impl Counts {
    /// Counts by what `__getnewargs__` gives.
    #[new]
    fn new(counts: &[u8], rejected: &str) -> PyResult<Self> {
        let counts = raised(HostCounts::from_csv(counts, Path::new("the counts")))?;
        let rejected = Rejected::from_json(rejected)
            .map_err(|problem| argument(format!("cannot read what was rejected: {problem}")))?;
        Ok(Self(Arc::new(Counted { counts, rejected })))
    }

    fn __getnewargs__<'py>(&self, py: Python<'py>) -> (Bound<'py, PyBytes>, String) {
        let counts = PyBytes::new(py, &self.0.counts.to_csv());
        (counts, self.0.rejected.to_json())
    }

    #[staticmethod]
    fn open(py: Python<'_>, path: FilePath) -> PyResult<Self> {
        let counts = raised(py.detach(|| quietly(|| HostCounts::read(&path))))?;
        let rejected = Rejected::default();
        Ok(Self(Arc::new(Counted { counts, rejected })))
    }

    /// Writes Parquet or CSV, which appears whole or not at all.
    fn save(&self, py: Python<'_>, path: FilePath) -> PyResult<()> {
        raised(py.detach(|| quietly(|| self.0.counts.write(&path))))
    }

    /// These counts and those of others, which are sliced alike.
    fn merge(&self, other: &Self) -> PyResult<Self> {
        let mut counts = self.0.counts.clone();
        raised(counts.merge(&other.0.counts))?;
        let rejected = self.0.rejected.clone();
        Ok(Self(Arc::new(Counted { counts, rejected })))
    }

    #[getter]
    fn total(&self) -> u64 {
        self.0.counts.total()
    }

    #[getter]
    fn slices(&self) -> Vec<String> {
        self.0.counts.slices().to_vec()
    }

    /// Why releases were not counted, and how many.
    #[getter]
    fn rejected(&self) -> Vec<(String, u64)> {
        let reasons = self.0.rejected.reasons();
        reasons
            .map(|(reason, seen)| (reason.to_string(), seen.count))
            .collect()
    }

    /// A list for each column of a file of counts.
    fn columns<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let rows: Vec<_> = self.0.counts.rows().collect();
        let columns = Columns(PyDict::new(py), &rows);
        columns.set("pack", |row| hex::encode(row.kind.pack_id()))?;
        columns.set("mechanism", |row| mechanism_name(row.kind.mechanism()))?;
        columns.set("rule", |row| {
            rule_name(row.kind.mechanism(), row.kind.rule())
        })?;
        columns.set("epsilon", |row| epsilon_f64(row.kind.epsilon()))?;
        columns.set("order", |row| row.kind.order())?;
        for (place, name) in self.0.counts.slices().iter().enumerate() {
            columns.set(name, |row| row.slice[place].as_str())?;
        }
        columns.set("outcome", |row| row.outcome)?;
        columns.set("count", |row| row.count)?;
        Ok(columns.0)
    }

    /// Estimates from the counts. `question`: public texts instead of those of the pack.
    #[pyo3(signature = (candidates, forms, level, at_once, difference, question, alike, progress))]
    #[allow(clippy::too_many_arguments)]
    fn estimate(
        &self,
        py: Python<'_>,
        candidates: Vec<PyRef<'_, Candidates>>,
        forms: Vec<PyRef<'_, Form>>,
        level: f64,
        at_once: bool,
        difference: Option<&str>,
        question: Option<&Question>,
        alike: bool,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Answer> {
        if !(0.5..1.0).contains(&level) {
            return Err(argument(format!(
                "level = {level}: a level lies from 0.5 to below 1, such as 0.95"
            )));
        }
        let compare: Option<Compare> = difference
            .map(|text| text.parse().map_err(|problem: String| argument(problem)))
            .transpose()?;
        let candidates = candidates.iter();
        let mut sources: Vec<Source> = candidates.map(|one| (*one.0).clone().into()).collect();
        if let Some(question) = question {
            let ids: Vec<_> = sources.iter().map(|source| source.id).collect();
            question.check(&ids)?;
            let [(_, calibration)] = &question.texts[..] else {
                return Err(argument(
                    "the question has texts of several lengths; give it one of first_sentences, as many as the released texts have",
                ));
            };
            for source in &mut sources {
                source.calibration = (source.id == question.pack).then(|| calibration.clone());
            }
        }
        let forms: Vec<_> = forms.iter().map(|form| form.0.clone()).collect();
        let counted = self.0.clone();
        let asked = question.is_some();
        let answer = work::run(py, progress, move || {
            let confidence = Confidence { level, at_once };
            let forms: Vec<_> = forms.iter().map(|form| *form.form()).collect();
            HostAnswer::new(
                &counted,
                &sources,
                &forms,
                confidence,
                compare.as_ref(),
                asked,
                alike,
            )
        })?;
        Ok(Answer(answer))
    }

    fn __repr__(&self) -> String {
        format!("Counts(total={}, slices={:?})", self.total(), self.slices())
    }
}

/// Estimates from releases.
#[pyclass(frozen, module = "undertone._undertone")]
pub(crate) struct Answer(HostAnswer);

#[pymethods]
impl Answer {
    fn json(&self) -> String {
        self.0.json()
    }

    fn text(&self, top: usize) -> String {
        self.0.text(top)
    }

    fn html(&self, py: Python<'_>, top: usize, byline: Vec<Name>) -> PyResult<String> {
        let byline = listed(byline);
        raised(py.detach(|| quietly(|| self.0.html(top, &byline))))
    }
}

/// The number of devices that a precision needs.
#[pyclass(frozen, module = "undertone._undertone")]
pub(crate) struct PlanAnswer(Planned);

enum Planned {
    Pack(Plan),
    Form(FormPlan),
}

#[pymethods]
impl PlanAnswer {
    fn json(&self) -> String {
        match &self.0 {
            Planned::Pack(plan) => plan.json(),
            Planned::Form(plan) => plan.json(),
        }
    }

    fn text(&self) -> String {
        match &self.0 {
            Planned::Pack(plan) => plan.text(),
            Planned::Form(plan) => plan.text(),
        }
    }

    fn html(&self, py: Python<'_>, byline: Vec<Name>) -> PyResult<String> {
        let byline = listed(byline);
        raised(py.detach(|| {
            quietly(|| match &self.0 {
                Planned::Pack(plan) => plan.html(&byline),
                Planned::Form(plan) => Ok(plan.html(&byline)),
            })
        }))
    }
}

/// Plans what to collect of a form.
#[pyfunction]
pub(crate) fn plan_form(
    form: &Form,
    epsilon: Vec<Bound<'_, PyAny>>,
    within: f64,
    devices: Vec<u64>,
) -> PyResult<PlanAnswer> {
    check_plan(within, &devices)?;
    let plan = FormPlan::new(form.0.form(), &epsilons(&epsilon)?, within, &devices);
    Ok(PlanAnswer(Planned::Form(raised(plan)?)))
}

fn check_plan(within: f64, devices: &[u64]) -> PyResult<()> {
    if !(1e-6..=0.5).contains(&within) {
        return Err(argument(format!(
            "within = {within}: it lies in 0.000001 to 0.5; 0.03 is 3 percentage points"
        )));
    }
    let most = undertone_estimate::plan::MOST_DEVICES as u64;
    match devices.iter().find(|count| !(1..=most).contains(*count)) {
        Some(found) => Err(argument(format!(
            "devices = {found}: a number of devices lies in 1 to {most}"
        ))),
        None => Ok(()),
    }
}

/// Plans what to collect.
#[pyfunction]
#[pyo3(signature = (candidates, epsilon, within, devices, shares, delta, question, progress))]
#[allow(clippy::too_many_arguments)]
pub(crate) fn plan(
    py: Python<'_>,
    candidates: &Candidates,
    epsilon: Vec<Bound<'_, PyAny>>,
    within: f64,
    devices: Vec<u64>,
    shares: Vec<String>,
    delta: f64,
    question: Option<&Question>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<PlanAnswer> {
    if !(delta > 0.0 && delta < 1.0) {
        return Err(argument(format!(
            "delta = {delta}: it lies between 0 and 1; 1e-6 is one in a million"
        )));
    }
    check_plan(within, &devices)?;
    let asked = Asked {
        epsilon: epsilons(&epsilon)?,
        within,
        devices,
        shares,
        delta,
        question: question.is_some(),
    };
    let candidates = candidates.0.clone();
    let texts = match question {
        None => {
            let texts = candidates.calibration.clone().into_iter();
            texts.map(|texts| (None, texts)).collect()
        }
        Some(question) => {
            question.check(&[candidates.pack_id()])?;
            question.texts.clone()
        }
    };
    let plan = work::run(py, progress, move || Plan::new(&asked, &candidates, &texts))?;
    Ok(PlanAnswer(Planned::Pack(plan)))
}
