//! `undertone plan`.

use std::path::PathBuf;

use clap::Args;
use undertone::error::{Error, Result};
use undertone::files::atomic::AtomicFile;
use undertone::pack::candidates::Candidates;
use undertone::release::document::epsilon_f64;
use undertone_core::epsilon::Epsilon;
use undertone_core::release::Selector;
use undertone_estimate::counts::Kind;
use undertone_estimate::plan::{Forecast, MOST_DEVICES, kinds};
use undertone_estimate::refused;
use undertone_estimate::shares::is_whole_text;
use undertone_report::number::{count, number, percent};
use undertone_report::{
    Axis, Column, DrawError, Line, Look, Page, Plot, Point, Range, Table, escape, visible,
};

use crate::files::{print, write};
use crate::paths::Paths;

/// Standard errors to one side of a 95 % interval.
const REACH: f64 = 1.959_963_984_540_054;

/// So many times the devices are about as many.
const NEAR: f64 = 1.2;

/// Devices that the plot goes through.
const PLOTTED: [f64; 9] = [100.0, 300.0, 1e3, 3e3, 1e4, 3e4, 1e5, 3e5, 1e6];

/// Its arguments.
#[derive(Args)]
pub(crate) struct Arguments {
    /// The candidates that `pack` wrote.
    #[arg(long, value_name = "FILE")]
    candidates: PathBuf,
    /// The values of epsilon to compare.
    #[arg(long, required = true, num_args = 1.., value_delimiter = ',', value_name = "E")]
    epsilon: Vec<Epsilon>,
    /// How far 95 of 100 estimated shares may lie from the truth: 0.03 is 3 percentage points.
    #[arg(long, default_value_t = 0.03, value_name = "SHARE", value_parser = within)]
    within: f64,
    /// Say how precise these numbers of devices will be.
    #[arg(long, num_args = 1.., value_delimiter = ',', value_name = "N", value_parser = clap::value_parser!(u64).range(1..=MOST_DEVICES as u64))]
    devices: Vec<u64>,
    /// Guessed shares, such as football=0.5,garden=0.2. All others share the rest equally.
    #[arg(long, value_delimiter = ',', value_name = "NAME=SHARE")]
    shares: Vec<String>,
    /// Where to write a page for people: one HTML file that needs no other.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

fn within(text: &str) -> std::result::Result<f64, String> {
    let share: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    match (1e-6..=0.5).contains(&share) {
        true => Ok(share),
        false => Err("it lies in 0.000001 to 0.5; 0.03 is 3 percentage points".to_owned()),
    }
}

/// What is estimated.
#[derive(Clone, Copy, PartialEq)]
enum Of {
    Candidates,
    Labels,
}

/// A way to release and to estimate, at one ε.
struct Way {
    of: Of,
    kind: Kind,
    /// Devices for the wanted precision; none if no number gives it.
    needed: Option<u64>,
    /// The half-width that any number of devices leaves.
    limit: f64,
    /// The half-width of intervals, for each number of devices that is asked for.
    precise: Vec<f64>,
    plotted: Vec<f64>,
}

struct Plan {
    ways: Vec<Way>,
    unanswered: Vec<String>,
}

impl Arguments {
    pub(crate) fn paths(&self) -> Paths {
        let paths = Paths::default().input("--candidates", &self.candidates);
        match &self.html {
            None => paths,
            Some(path) => paths.output("--html", path),
        }
    }

    pub(crate) fn run(&self) -> Result<()> {
        self.html.as_ref().map(AtomicFile::check).transpose()?;
        let candidates = Candidates::read(&self.candidates)?;
        let plan = self.plan(&candidates)?;
        if plan.ways.is_empty() {
            return Err(refused(plan.unanswered.join("; ")));
        }
        if let Some(path) = &self.html {
            let page = self.page(&plan).map_err(Error::plot)?;
            write(path, page.as_bytes())?;
        }
        print(&self.text(&plan))
    }

    fn plan(&self, candidates: &Candidates) -> Result<Plan> {
        let m = candidates.entries.len() as u32;
        let calibration = candidates.calibration.as_ref();
        let selector = calibration.map_or(Selector::Scores, |own| own.selector);
        let mut names: Vec<&str> = candidates
            .entries
            .iter()
            .map(|own| own.id.as_str())
            .collect();
        names.push("nothing known");
        let labels: Vec<&str> = calibration
            .map(|own| own.labels.iter().map(String::as_str).collect())
            .unwrap_or_default();
        let mut all = [&names[..], &labels].concat();
        all.sort_unstable();
        all.dedup();
        self.known(&all)?;
        let of_candidates = self.guessed(&names[..m as usize])?;
        let mut plan = Plan {
            ways: Vec::new(),
            unanswered: Vec::new(),
        };
        if calibration.is_none() {
            plan.unanswered.push(
                "shares of labels, and sentence releases at all: the candidates file carries no public texts. Make the pack anew from \
                 labelled documents with this version"
                    .to_owned(),
            );
        }
        for epsilon in &self.epsilon {
            for kind in kinds(candidates.pack_id(), m, selector, *epsilon)? {
                if let Some(own) = Forecast::of_candidates(kind, m, &of_candidates)? {
                    plan.ways.push(self.way(Of::Candidates, kind, &own)?);
                }
                let Some(calibration) = calibration else {
                    continue;
                };
                let shares = self.guessed(&labels)?;
                let own = Forecast::of_labels(kind, calibration, &shares);
                match own.and_then(|own| self.way(Of::Labels, kind, &own)) {
                    Ok(way) => plan.ways.push(way),
                    Err(problem) => plan.unanswered.push(problem.to_string()),
                }
            }
        }
        plan.unanswered.dedup();
        // What is compared stands together.
        plan.ways
            .sort_by_key(|way| (way.of == Of::Labels, way.kind.epsilon()));
        Ok(plan)
    }

    fn way(&self, of: Of, kind: Kind, forecast: &Forecast<'_>) -> Result<Way> {
        let half =
            |devices: f64| -> Result<f64> { Ok((REACH * forecast.largest(devices)?).min(1.0)) };
        let precise = self.devices.iter().map(|devices| half(*devices as f64));
        let precise = precise.collect::<Result<_>>()?;
        let plotted = PLOTTED.into_iter().map(half).collect::<Result<_>>()?;
        Ok(Way {
            of,
            kind,
            limit: half(MOST_DEVICES)?,
            needed: forecast.releases(self.within / REACH)?,
            precise,
            plotted,
        })
    }

    /// Refuses guesses about what is not there.
    fn known(&self, names: &[&str]) -> Result<()> {
        for (name, _) in self.guesses()? {
            if !names.contains(&name) {
                return Err(refused(format!(
                    "--shares guesses the share of `{name}`, which is no candidate and no label of this pack; there are {}",
                    names
                        .iter()
                        .take(10)
                        .copied()
                        .collect::<Vec<_>>()
                        .join(", ")
                )));
            }
        }
        Ok(())
    }

    fn guesses(&self) -> Result<Vec<(&str, f64)>> {
        let of = |text: &String| match text.rsplit_once('=') {
            None => None,
            Some((name, share)) => {
                let share: f64 = share.parse().ok()?;
                let place = self.shares.iter().position(|own| own == text)?;
                (0.0..=1.0)
                    .contains(&share)
                    .then(|| (&self.shares[place][..name.len()], share))
            }
        };
        let guesses = self.shares.iter().map(|text| {
            of(text).ok_or_else(|| {
                refused(format!(
                    "--shares has `{text}`; write NAME=SHARE with a share of 0 to 1, such as football=0.5"
                ))
            })
        });
        guesses.collect()
    }

    /// A share for each name.
    fn guessed(&self, names: &[&str]) -> Result<Vec<f64>> {
        let guesses = self.guesses()?;
        let find = |name: &&str| guesses.iter().find(|(own, _)| own == name);
        let known: Vec<Option<f64>> = names
            .iter()
            .map(|name| find(name).map(|(_, share)| *share))
            .collect();
        let sum: f64 = known.iter().flatten().sum();
        let others = known.iter().filter(|share| share.is_none()).count();
        if sum > 1.0 + 1e-9 {
            return Err(refused(format!(
                "the shares of --shares add up to {sum}; they add up to 1 at most"
            )));
        }
        let rest = (1.0 - sum).max(0.0) / others.max(1) as f64;
        Ok(known.iter().map(|share| share.unwrap_or(rest)).collect())
    }

    /// What is better, in words, for each ε and statement.
    fn advice(&self, plan: &Plan) -> Vec<String> {
        let mut lines = Vec::new();
        for epsilon in &self.epsilon {
            for of in [Of::Candidates, Of::Labels] {
                let own = plan
                    .ways
                    .iter()
                    .filter(|way| way.kind.epsilon() == *epsilon && way.of == of);
                let own: Vec<&Way> = own.collect();
                let Some(best) = best(&own) else {
                    continue;
                };
                let what = what(of);
                lines.push(match best.needed {
                    Some(needed) => format!(
                        "At epsilon {epsilon}, {what} within {} points take {} devices, with {}.",
                        points(self.within),
                        count(needed),
                        unit(best.kind)
                    ),
                    None => format!(
                        "At epsilon {epsilon}, no number of devices gives {what} within {} points: from these public texts ± {} is the limit. \
                         Make the pack from more labelled documents, or ask for less; {} come nearest.",
                        points(self.within),
                        points(best.limit),
                        unit(best.kind)
                    ),
                });
            }
        }
        lines.push(
            "Whole-text releases protect the whole text; sentence releases protect one sentence of it. Where both take about as many \
             devices, take the whole text."
                .to_owned(),
        );
        for epsilon in &self.epsilon {
            lines.push(format!(
                "A release each day for a month costs a user 30 × {epsilon} = {} of epsilon.",
                number(30.0 * epsilon_f64(*epsilon))
            ));
        }
        lines
    }

    fn assumed(&self) -> String {
        let shares = match self.shares.is_empty() {
            true => "all shares are equal".to_owned(),
            false => format!(
                "the shares are {}, and all others equal",
                self.shares.join(", ")
            ),
        };
        format!(
            "Guessed: {shares}. Points are percentage points to either side of the least precise share, 95 % of the time. Shares of candidates \
             are what the pack's classifier would have said, and assume nothing about texts. Shares of labels assume texts like the public ones."
        )
    }

    fn text(&self, plan: &Plan) -> String {
        let mut text = format!("{}\n\n", self.assumed());
        for line in self.advice(plan) {
            text += &format!("{line}\n");
        }
        let head = format!("± {} points", points(self.within));
        text += &format!(
            "\n{:8}  {:10}  {:14}  {head:>16}",
            "epsilon", "shares of", "releases of"
        );
        for devices in &self.devices {
            text += &format!("  {:>12}", count(*devices));
        }
        text += "\n";
        for way in &plan.ways {
            let needed = way.needed.map_or("never".to_owned(), count);
            text += &format!(
                "{:8}  {:10}  {:14}  {needed:>16}",
                way.kind.epsilon().to_string(),
                short(way.of),
                unit_short(way.kind)
            );
            for half in &way.precise {
                text += &format!("  {:>12}", format!("± {}", points(*half)));
            }
            text += "\n";
        }
        for problem in &plan.unanswered {
            text += &format!("\nNot planned: {}\n", visible(problem));
        }
        text
    }

    fn page(&self, plan: &Plan) -> std::result::Result<String, DrawError> {
        let mut page = Page::new("How many devices it takes");
        for line in self.advice(plan) {
            page.paragraph(&escape(&line));
        }
        page.paragraph(&escape(&self.assumed()));
        let mut columns = vec![
            Column::Text("ε".to_owned()),
            Column::Text("shares of".to_owned()),
            Column::Text("releases of".to_owned()),
            Column::Number(format!("devices for ± {} points", points(self.within))),
        ];
        let devices = self
            .devices
            .iter()
            .map(|own| format!("± points of {} devices", count(*own)));
        columns.extend(devices.map(Column::Number));
        let mut table = Table::new("Devices and precision", &columns);
        for way in &plan.ways {
            let mut cells = vec![
                way.kind.epsilon().to_string().into(),
                short(way.of).into(),
                unit_short(way.kind).into(),
                way.needed.map_or("no number".to_owned(), count).into(),
            ];
            cells.extend(way.precise.iter().map(|half| points(*half).into()));
            table.row(cells);
        }
        page.table(&table);
        for of in [Of::Candidates, Of::Labels] {
            let own: Vec<&Way> = plan.ways.iter().filter(|way| way.of == of).collect();
            if own.is_empty() {
                continue;
            }
            page.heading(2, &format!("Precision of {}", what(of)));
            let lines = own.iter().map(|way| Line {
                name: format!("ε = {}, {}", way.kind.epsilon(), unit_short(way.kind)),
                look: Look::Plain,
                points: PLOTTED
                    .iter()
                    .zip(&way.plotted)
                    .map(|(devices, half)| Point {
                        x: *devices,
                        y: 100.0 * half,
                        spread: 0.0,
                    })
                    .collect(),
            });
            let plot = Plot {
                x: Axis {
                    label: "devices",
                    range: Range::Logarithmic,
                },
                y: Axis {
                    label: "± percentage points",
                    range: Range::Logarithmic,
                },
                lines: lines.collect(),
                mark: None,
            };
            page.figure(
                "How far an estimated share may lie from the truth, by the number of devices.",
                &plot.draw()?,
            );
        }
        for problem in &plan.unanswered {
            page.facts(&[("Not planned", problem.clone())]);
        }
        Ok(page.finish())
    }
}

/// The way that takes the fewest devices. The stronger promise wins where it costs little.
fn best<'a>(ways: &[&'a Way]) -> Option<&'a Way> {
    let devices = |way: &Way| (way.needed.unwrap_or(u64::MAX), way.limit);
    let order = |a: &&&Way, b: &&&Way| {
        let (a, b) = (devices(a), devices(b));
        a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
    };
    let fewest = ways.iter().min_by(order)?;
    let whole = ways
        .iter()
        .filter(|way| is_whole_text(way.kind))
        .min_by(order);
    let Some(whole) = whole else {
        return Some(fewest);
    };
    let near = match (fewest.needed, whole.needed) {
        (Some(fewest), Some(whole)) => whole as f64 <= NEAR * fewest as f64,
        _ => false,
    };
    Some(if near { whole } else { fewest })
}

fn points(half: f64) -> String {
    match half < 0.001 {
        true => number(100.0 * half),
        false => percent(half),
    }
}

fn what(of: Of) -> &'static str {
    match of {
        Of::Candidates => "shares of candidates",
        Of::Labels => "shares of labels",
    }
}

fn short(of: Of) -> &'static str {
    match of {
        Of::Candidates => "candidates",
        Of::Labels => "labels",
    }
}

fn unit(kind: Kind) -> &'static str {
    match kind.selector() {
        Selector::WholeText => "whole-text releases (privatize --rule whole-text)",
        Selector::Projective => {
            "projective releases of the whole text (privatize --rule projective)"
        }
        _ => "sentence releases",
    }
}

fn unit_short(kind: Kind) -> &'static str {
    match kind.selector() {
        Selector::WholeText => "whole text",
        Selector::Projective => "projective",
        _ => "sentence",
    }
}
