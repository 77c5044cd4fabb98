//! What an audit found, as files: a table for programs, one page for people.

use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

use undertone_core::pack::Pack;

use super::{Check, Method, Options};
use crate::error::Result;
use crate::mechanism::number;
use crate::page::{
    self, COLOURS, Curve, GREYS, HIGHLIGHT, PAGE, Scale, Style, curves, escape, fields, figure,
};

/// All checks of a pack.
#[derive(Clone, Debug)]
pub struct Report {
    /// In the order in which they were made.
    pub checks: Vec<Check>,
    /// What was not checked, and why.
    pub left_out: Vec<String>,
    /// How long it took.
    pub took: Duration,
    pack: String,
    options: Options,
}

impl Report {
    pub(super) fn new(pack: &Pack<'_>, options: &Options) -> Self {
        Self {
            checks: Vec::new(),
            left_out: Vec::new(),
            took: Duration::ZERO,
            pack: hex::encode(pack.digest()),
            options: options.clone(),
        }
    }

    /// Whether every check passed.
    pub fn passed(&self) -> bool {
        self.checks.iter().all(|check| check.passed)
    }

    /// A line on the whole.
    pub fn summary(&self) -> String {
        let failed = self.checks.iter().filter(|check| !check.passed).count();
        let neighbours: u64 = self.neighbours();
        let mut line = match failed {
            0 => format!("all {} checks passed", self.checks.len()),
            _ => format!("{failed} of {} checks FAILED", self.checks.len()),
        };
        if !self.left_out.is_empty() {
            let _ = write!(line, ", {} left out", self.left_out.len());
        }
        let _ = write!(
            line,
            ", {neighbours} neighbours compared exactly, {:.0} s",
            self.took.as_secs_f64()
        );
        if let Some(worst) = self.worst() {
            let _ = write!(
                line,
                "; the largest loss is {:.4} of the promise ({}, {})",
                worst.measured / worst.claimed,
                worst.mechanism,
                worst.name
            );
        }
        line
    }

    /// Neighbours compared exactly: those of one ε and rule are those of the others too.
    fn neighbours(&self) -> u64 {
        let mut seen = Vec::new();
        for check in self.losses().filter(|check| check.method == Method::Exact) {
            let (base, _) = base(check);
            if !seen.contains(&(base, &check.name, check.tried)) {
                seen.push((base, &check.name, check.tried));
            }
        }
        seen.iter().map(|(.., tried)| tried).sum()
    }

    /// The exact loss that is nearest to what is promised.
    fn worst(&self) -> Option<&Check> {
        let part = |check: &Check| check.measured / check.claimed;
        self.losses()
            .filter(|check| check.method == Method::Exact)
            .max_by(|a, b| part(a).total_cmp(&part(b)))
    }

    /// Checks of a loss against a promise that depends on ε.
    fn losses(&self) -> impl Iterator<Item = &Check> {
        self.checks.iter().filter(|check| check.is_loss())
    }

    /// Says now, before the work, whether the files can be written into the folder `out`.
    ///
    /// # Errors
    /// [`crate::Error::Io`] or [`crate::Error::OutputPath`].
    pub fn check_output(out: &Path) -> Result<()> {
        page::check(out)
    }

    /// Writes `checks.csv` and `report.html` into the folder `out`, each whole, the page last; a full disk leaves the
    /// old ones.
    ///
    /// # Errors
    /// [`crate::Error::Io`], [`crate::Error::OutputPath`] or [`crate::Error::Plot`].
    pub fn write(&self, out: &Path, command: &str) -> Result<()> {
        let files = [("checks.csv", self.csv()), (PAGE, self.page(command)?)];
        page::write(out, &files)
    }

    fn csv(&self) -> String {
        let mut csv =
            String::from("mechanism,check,epsilon,method,claimed,measured,tried,passed,detail\n");
        for check in &self.checks {
            csv += &fields(&[
                &check.mechanism,
                &check.name,
                &check.epsilon.map(|e| e.to_string()).unwrap_or_default(),
                &check.method.to_string(),
                &check.claimed.to_string(),
                &check.measured.to_string(),
                &check.tried.to_string(),
                &check.passed.to_string(),
                &check.detail,
            ]);
            csv.push('\n');
        }
        csv
    }

    fn page(&self, command: &str) -> Result<String> {
        let mut body = format!(
            "<p><strong>{}</strong></p>\n<dl>\n<dt>pack</dt><dd><code>{}</code></dd>\n",
            escape(&self.summary()),
            self.pack
        );
        if !self.left_out.is_empty() {
            let _ = writeln!(
                body,
                "<dt>not checked</dt><dd>{}</dd>",
                escape(&self.left_out.join("; "))
            );
        }
        body += &page::repeat(self.options.seed, command);
        body += "</dl>\n<p>Each mechanism promises that a neighbouring input changes the probability of any release by \
                 at most a factor of e<sup>loss</sup>, where the loss is at most what is claimed. Exact: the loss is \
                 computed from the law of the release, for the worst neighbours that a search found. Tables are exact \
                 integers and sums are in double precision: an excess of 10<sup>-9</sup> of the promise, or of \
                 10<sup>-10</sup>, is rounding. Sampled: a lower bound on the loss, from releases of a device, for the \
                 neighbours that show most in so many releases. It can prove that a promise is broken, but not that it \
                 is kept, and it misses events that are too rare to be seen. All bounds of a report hold at once with a \
                 probability of 99.9 %.</p>\n";
        body += "<h2>Claimed and measured loss</h2>\n";
        let mut mechanisms: Vec<&str> = Vec::new();
        for check in self.losses() {
            if !mechanisms.contains(&check.mechanism.as_str()) {
                mechanisms.push(&check.mechanism);
            }
        }
        body += &self.shares();
        for of in mechanisms {
            let caption = format!(
                "{of}: what is claimed (grey, dashed) and the largest loss found, against ε; both axes logarithmic. \
                 A bound of 0 is not drawn."
            );
            body += &figure(&caption, &self.plot(of)?);
        }
        body += "<h2>All checks</h2>\n<div class=\"wide\"><table>\n<tr><th></th><th class=\"text\">mechanism</th>\
                 <th class=\"text\">check</th><th>ε</th><th>method</th><th>claimed, or limit</th><th>measured</th><th>tried</th>\
                 <th class=\"text\">what it is</th></tr>\n";
        // What failed comes first.
        let mut checks: Vec<&Check> = self.checks.iter().collect();
        checks.sort_by_key(|check| check.passed);
        for check in checks {
            let (class, verdict) = match check.passed {
                true => ("", "passed"),
                false => (" class=\"default\"", "FAILED"),
            };
            let _ = writeln!(
                body,
                "<tr{class}><th>{verdict}</th><td class=\"text\">{}</td><td class=\"text\">{}</td><td>{}</td><td>{}</td>\
                 <td>{}</td><td>{}</td><td>{}</td><td class=\"text\">{}</td></tr>",
                escape(&check.mechanism),
                escape(&check.name),
                check.epsilon.map(|e| e.to_string()).unwrap_or_default(),
                check.method,
                value(check.claimed),
                value(check.measured),
                check.tried,
                escape(&check.detail)
            );
        }
        body += "</table></div>\n";
        Ok(page::page("Privacy audit", &body))
    }

    /// A table of all losses as shares of what is claimed, by ε.
    fn shares(&self) -> String {
        let epsilons: Vec<String> = self
            .options
            .epsilons
            .iter()
            .map(|e| e.to_string())
            .collect();
        let mut table = page::head(
            "Share of what is claimed, at ε",
            &epsilons,
            "<th>method</th>",
        );
        let mut rows: Vec<(&str, &str)> = Vec::new();
        for check in self.losses() {
            let row = (check.mechanism.as_str(), check.name.as_str());
            if rows.contains(&row) {
                continue;
            }
            rows.push(row);
            let _ = write!(table, "<tr><th>{}: {}</th>", escape(row.0), escape(row.1));
            for epsilon in &self.options.epsilons {
                let same = self.losses().find(|other| {
                    (other.mechanism.as_str(), other.name.as_str()) == row
                        && other.epsilon == Some(*epsilon)
                });
                let share = same.map(|check| format!("{:.3}", check.measured / check.claimed));
                let _ = write!(table, "<td>{}</td>", share.unwrap_or_default());
            }
            let _ = writeln!(table, "<td>{}</td></tr>", check.method);
        }
        table + "</table></div>\n"
    }

    /// Losses of one mechanism by ε: a curve for each check and method, and what is claimed for each.
    fn plot(&self, of: &str) -> Result<String> {
        struct Line {
            name: String,
            style: Style,
            points: Vec<(f64, f64, f64)>,
        }
        let mut lines: Vec<Line> = Vec::new();
        let (mut greys, mut colours) = (GREYS.iter().cycle(), COLOURS.iter().cycle());
        let mut add = |name: String, claim: bool, x: f64, y: f64| {
            let at = lines.iter().position(|line| line.name == name);
            let at = at.unwrap_or_else(|| {
                let colour = if claim { greys.next() } else { colours.next() };
                let style = Style {
                    colour: *colour.unwrap_or(&HIGHLIGHT),
                    width: 2,
                    dashed: claim,
                };
                let points = Vec::new();
                lines.push(Line {
                    name,
                    style,
                    points,
                });
                lines.len() - 1
            });
            lines[at].points.push((x, y, 0.0));
        };
        let checks: Vec<&Check> = self
            .losses()
            .filter(|check| check.mechanism == of)
            .collect();
        for (index, check) in checks.iter().enumerate() {
            let Some(epsilon) = check.epsilon.map(number) else {
                continue;
            };
            let what = check.name.trim_start_matches("loss ");
            // What two checks claim alike is drawn once.
            let claims = |before: &&Check| (before.epsilon, before.claimed);
            if checks[..index]
                .iter()
                .all(|before| claims(before) != claims(check))
            {
                add(format!("claimed {what}"), true, epsilon, check.claimed);
            }
            // On a logarithmic axis there is no 0, which a bound may be.
            if check.measured > 0.0 && check.measured.is_finite() {
                add(
                    format!("{} {what}", check.method),
                    false,
                    epsilon,
                    check.measured,
                );
            }
        }
        for line in &mut lines {
            line.points.sort_by(|a, b| a.0.total_cmp(&b.0));
        }
        let all: Vec<Curve<'_>> = lines
            .iter()
            .map(|line| Curve {
                name: &line.name,
                style: line.style,
                points: line.points.clone(),
            })
            .collect();
        curves(&all, "ε", Scale::Logarithmic)
    }
}

/// The mechanism without its rule, and the rule.
fn base(check: &Check) -> (&str, &str) {
    check
        .mechanism
        .split_once(", ")
        .unwrap_or((&check.mechanism, ""))
}

/// A number for people.
pub(super) fn value(x: f64) -> String {
    if x.fract() == 0.0 && x.abs() < 1e6 {
        // Without the sign of -0.
        return format!("{}", x + 0.0);
    }
    match x.abs() {
        1e-3..1e4 => format!("{x:.6}"),
        _ => format!("{x:.3e}"),
    }
}
