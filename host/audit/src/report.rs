//! Reports of an audit as files: a table for programs, and a page for people.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

use serde_json::json;
use undertone_core::epsilon::Epsilon;
use undertone_report::{
    Axis, Cell, Column, Csv, DrawError, Line, Look, Page, Plot, Point, Range, Table, escape, number,
};

use super::{Check, Method, Options};
use undertone::error::{Error, Result};
use undertone::files::folder;
use undertone::release::document::epsilon_f64;

/// Properties that no audit covers. The README has more.
const NOT_COVERED: [&str; 8] = [
    "the ledger",
    "encoders",
    "the projection of a pack",
    "words by noise and nearest word",
    "the coins of a device's last batch",
    "keys of more bits than the check of keys says",
    "rare releases",
    "time, memory, caches and power",
];

/// All checks of a pack or a form.
#[derive(Clone, Debug)]
pub struct Report {
    /// The checks, in the order in which they were made.
    pub checks: Vec<Check>,
    /// Checks that were left out, with the reason.
    pub left_out: Vec<String>,
    /// Duration of the audit.
    pub took: Duration,
    /// "pack" or "form", and its digest.
    subject: [String; 2],
    options: Options,
    promises: Vec<Promise>,
}

/// The promise of one way to release, by ε of the options.
#[derive(Clone, Debug)]
struct Promise {
    mechanism: String,
    /// Losses if one sentence is replaced, and if the whole text is exchanged for any other.
    losses: Vec<[f64; 2]>,
}

impl Report {
    pub(super) fn new(subject: [&str; 2], options: &Options) -> Self {
        Self {
            checks: Vec::new(),
            left_out: Vec::new(),
            took: Duration::ZERO,
            subject: subject.map(str::to_owned),
            options: options.clone(),
            promises: Vec::new(),
        }
    }

    /// Records the promises for releases of documents, by ε of the options: for one replaced
    /// sentence, and for an exchanged whole text.
    pub(super) fn promise(&mut self, mechanism: String, losses: Vec<[f64; 2]>) {
        self.promises.push(Promise { mechanism, losses });
    }

    /// Whether every check passed.
    pub fn passed(&self) -> bool {
        self.checks.iter().all(|check| check.passed)
    }

    /// The end of a report for a terminal: what was left out, the summary, and what no audit
    /// covers.
    pub fn text(&self) -> String {
        let left_out = self.left_out.iter();
        let mut text: String = left_out
            .map(|own| format!("not checked: {own}\n"))
            .collect();
        let _ = writeln!(text, "{}\n{}", self.summary(), Self::not_covered());
        text
    }

    /// The whole report as a line of JSON.
    pub fn json(&self) -> String {
        let check = |check: &Check| {
            json!({
                "mechanism": check.mechanism,
                "check": check.name,
                "epsilon": check.epsilon.map(epsilon_f64),
                "method": check.method.to_string(),
                "claimed": check.claimed,
                "measured": check.measured,
                "tried": check.tried,
                "passed": check.passed,
                "detail": check.detail,
            })
        };
        let [kind, digest] = &self.subject;
        let report = json!({
            "passed": self.passed(),
            kind.as_str(): digest,
            "checks": self.checks.iter().map(check).collect::<Vec<_>>(),
            "left_out": self.left_out,
            "not_covered": NOT_COVERED,
        });
        format!("{report}\n")
    }

    /// One line about the whole audit.
    pub fn summary(&self) -> String {
        let failed = self.checks.iter().filter(|check| !check.passed).count();
        let neighbours = self.neighbours();
        let mut line = match failed {
            0 => format!("passed: all {} checks passed", self.checks.len()),
            _ => format!("FAILED: {failed} of {} checks failed", self.checks.len()),
        };
        if !self.left_out.is_empty() {
            let _ = write!(line, ", {} left out", self.left_out.len());
        }
        let _ = write!(
            line,
            ", {} neighbours compared exactly, {}",
            number::count(neighbours),
            number::time(self.took)
        );
        if let Some(worst) = self.worst() {
            let _ = write!(
                line,
                "; the largest loss is {} % of its limit, and up to 100 % is what was promised ({}, {})",
                number::percent(worst.measured / worst.claimed),
                worst.mechanism,
                worst.name
            );
        }
        line
    }

    /// The size of the audit and the largest loss, for people.
    fn extent(&self) -> String {
        let mut text = format!(
            "{} checks compared {} pairs of neighbouring inputs exactly in {}.",
            number::count(self.checks.len() as u64),
            number::count(self.neighbours()),
            number::time(self.took)
        );
        if let Some(worst) = self.worst() {
            let _ = write!(
                text,
                " The promise is a limit, and a release may use all of it: the largest loss uses {} %. More than 100 % would be a failure.",
                number::percent(worst.measured / worst.claimed)
            );
        }
        text
    }

    /// One line about properties that no audit covers.
    fn not_covered() -> String {
        format!("no audit covers: {}", NOT_COVERED.join("; "))
    }

    /// Number of neighbours compared exactly. All ε and rules of a mechanism share them, so they
    /// count once.
    fn neighbours(&self) -> u64 {
        let exact = self.losses().filter(|check| check.method == Method::Exact);
        let seen = exact.map(|check| {
            let (base, _) = check.mechanism.split_once(", ").unzip();
            (base.unwrap_or(&check.mechanism), &check.name, check.tried)
        });
        let seen = BTreeSet::from_iter(seen);
        seen.into_iter().map(|(.., tried)| tried).sum()
    }

    /// The exact loss that is largest in relation to its promise.
    fn worst(&self) -> Option<&Check> {
        let part = |check: &Check| check.measured / check.claimed;
        self.losses()
            .filter(|check| check.method == Method::Exact)
            .max_by(|a, b| part(a).total_cmp(&part(b)))
    }

    /// The checks that compare a loss with a promise that depends on ε.
    fn losses(&self) -> impl Iterator<Item = &Check> {
        self.checks.iter().filter(|check| check.is_loss())
    }

    /// Checks, before the work starts, that the files can be written into the folder `out`.
    ///
    /// # Errors
    /// [`ErrorKind::Io`](undertone::error::ErrorKind::Io) or
    /// [`ErrorKind::Argument`](undertone::error::ErrorKind::Argument).
    pub fn check_output(out: &Path) -> Result<()> {
        folder::check(out, Page::FILE)
    }

    /// Writes `checks.csv` and `report.html` into the folder `out`, each atomically, the page last.
    /// A full disk leaves the old files. The page shows `byline`: date, pack, author.
    ///
    /// # Errors
    /// [`ErrorKind::Io`](undertone::error::ErrorKind::Io),
    /// [`ErrorKind::Argument`](undertone::error::ErrorKind::Argument) or
    /// [`ErrorKind::Experiment`](undertone::error::ErrorKind::Experiment).
    pub fn write(&self, out: &Path, command: &str, byline: &[String]) -> Result<()> {
        let files = [
            ("checks.csv", self.csv()),
            (Page::FILE, self.page(command, byline).map_err(Error::plot)?),
        ];
        folder::write(out, &files)
    }

    fn csv(&self) -> String {
        let mut csv =
            Csv::new("mechanism,check,epsilon,method,claimed,measured,tried,passed,detail");
        for check in &self.checks {
            csv.row(&[
                &check.mechanism,
                &check.name,
                &at(check.epsilon),
                &check.method,
                &check.claimed,
                &check.measured,
                &check.tried,
                &check.passed,
                &check.detail,
            ]);
        }
        csv.finish()
    }

    fn page(&self, command: &str, byline: &[String]) -> Result<String, DrawError> {
        let mut page = Page::new("Privacy audit");
        let failed = self.checks.iter().filter(|check| !check.passed).count();
        page.headline(&match failed {
            0 => "The check found no release that reveals more than promised.".to_owned(),
            _ => format!(
                "{failed} of {} checks failed: see the first rows of the table.",
                self.checks.len()
            ),
        });
        page.byline(byline);
        page.verdict(failed == 0, if failed == 0 { "Passed" } else { "Failed" });
        page.paragraph(&escape(&self.extent()));
        if !self.left_out.is_empty() {
            page.facts(&[("not checked", self.left_out.join("; "))]);
        }
        page.paragraph(
            "Every mechanism makes one promise: a neighbouring input changes the probability of any release by at \
             most a factor of e<sup>loss</sup>, and the loss is at most what is claimed.",
        );
        page.facts(&[
            (
                "exact",
                "The loss is computed from the law of the release, for the worst neighbours that a search found. \
                 Weights are exact integers and sums are in double precision; an excess of 10⁻⁹ of the promise, or of \
                 10⁻¹⁰, counts as rounding."
                    .to_owned(),
            ),
            (
                "sampled",
                "A lower bound on the loss, estimated from releases of a device, for the neighbours that this number \
                 of releases can tell apart best. It can prove that a promise is broken, but not that it is kept. \
                 It misses events that are too rare to be seen."
                    .to_owned(),
            ),
            (
                "confidence",
                "All bounds of this report hold together with a probability of at least 99.9 %.".to_owned(),
            ),
        ]);
        if !self.promises.is_empty() {
            page.heading(2, "What a release of a document promises");
            page.table(&self.promised());
        }
        page.heading(2, "Claimed and measured loss");
        let mut mechanisms: Vec<&str> = Vec::new();
        for check in self.losses() {
            if !mechanisms.contains(&check.mechanism.as_str()) {
                mechanisms.push(&check.mechanism);
            }
        }
        let plots = mechanisms.into_iter().map(|of| {
            let caption = format!("{of}: the largest loss found, as a share of what is claimed.");
            Ok((caption, self.plot(of).draw()?))
        });
        page.figures(&plots.collect::<Result<Vec<_>, DrawError>>()?);
        page.heading(2, "All checks");
        page.table(&self.all());
        page.paragraph(&escape(&Self::not_covered()));
        page.heading(2, "To repeat it");
        let [kind, digest] = &self.subject;
        let name = format!("SHA-256 of the {kind}");
        page.facts(&[(name.as_str(), digest.clone())]);
        page.repeat(self.options.seed, command);
        Ok(page.finish())
    }

    /// All checks, failed ones first.
    fn all(&self) -> Table {
        let columns = [
            Column::Text("result"),
            Column::Text("mechanism"),
            Column::Text("check"),
            Column::Number("ε"),
            Column::Text("method"),
            Column::Number("claimed, or limit"),
            Column::Number("measured"),
            Column::Number("tried"),
            Column::Text("what it is"),
        ];
        let mut table = Table::new("All checks", &columns);
        let mut checks: Vec<&Check> = self.checks.iter().collect();
        checks.sort_by_key(|check| check.passed);
        for check in checks {
            let verdict = if check.passed { "passed" } else { "FAILED" };
            let cells = vec![
                verdict.into(),
                Cell::from(&check.mechanism),
                Cell::from(&check.name),
                at(check.epsilon).into(),
                check.method.to_string().into(),
                claimed(check).into(),
                value(check, check.measured).into(),
                number::count(check.tried).into(),
                Cell::from(&check.detail),
            ];
            table.row_marked(!check.passed, cells);
        }
        table
    }

    /// Both promises of every way to release a document.
    fn promised(&self) -> Table {
        let mut columns = vec![Column::Text("the loss is at most".to_owned())];
        columns.push(Column::Text("where".to_owned()));
        let epsilons = self.options.epsilons.iter();
        columns.extend(epsilons.map(|e| Column::Number(format!("ε = {e}"))));
        let mut table = Table::new("Promises of a release, by ε", &columns);
        let units = ["one sentence is replaced", "the whole text is exchanged"];
        for promise in &self.promises {
            for (index, unit) in units.into_iter().enumerate() {
                let losses = promise
                    .losses
                    .iter()
                    .map(|loss| number::at_most(loss[index], 6));
                let mut cells = vec![Cell::from(&promise.mechanism), unit.into()];
                cells.extend(losses.map(Cell::from));
                table.row(cells);
            }
        }
        table
    }

    /// Losses of one mechanism by ε, as shares of their promises: a line for each check and method.
    fn plot(&self, of: &str) -> Plot<'static> {
        let mut lines: Vec<Line> = Vec::new();
        let mut add = |name: String, look: Look, x: f64, y: f64| {
            let point = Point::bare(x, y);
            match lines.iter_mut().find(|line| line.name == name) {
                Some(line) => line.points.push(point),
                None => lines.push(Line {
                    name,
                    look,
                    points: vec![point],
                }),
            }
        };
        for epsilon in &self.options.epsilons {
            add(
                "claimed".to_owned(),
                Look::Bound,
                epsilon_f64(*epsilon),
                1.0,
            );
        }
        for check in self.losses().filter(|check| check.mechanism == of) {
            let Some(epsilon) = check.epsilon.map(epsilon_f64) else {
                continue;
            };
            let what = check.name.trim_start_matches("loss of ");
            let name = format!("{what}, {}", check.method);
            add(name, Look::Plain, epsilon, check.measured / check.claimed);
        }
        for line in &mut lines {
            line.points.sort_by(|a, b| a.x.total_cmp(&b.x));
        }
        Plot {
            x: Axis {
                label: "ε",
                range: Range::Logarithmic,
            },
            y: Axis {
                label: "loss / claimed",
                range: Range::FromZero,
            },
            lines,
        }
    }
}

/// The ε of a check as text; empty if it has none.
fn at(epsilon: Option<Epsilon>) -> String {
    epsilon
        .map(|epsilon| epsilon.to_string())
        .unwrap_or_default()
}

/// The promise or limit of a check as text; a bound is rounded up.
pub(super) fn claimed(check: &Check) -> String {
    if check.is_loss() {
        number::at_most(check.claimed, 6)
    } else {
        value(check, check.claimed)
    }
}

/// A loss or a limit for people, with enough digits to distinguish a loss from a promise that it
/// nearly reaches.
pub(super) fn value(check: &Check, x: f64) -> String {
    if !check.is_loss() && x.fract() == 0.0 && x.abs() < 1e9 {
        number::whole(x)
    } else {
        number::digits(x, 6)
    }
}
