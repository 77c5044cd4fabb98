//! Plans for the answers to a form.

use std::fmt::Write as _;

use serde::Serialize;
use undertone::error::Result;
use undertone::release::document::epsilon_f64;
use undertone_core::epsilon::Epsilon;
use undertone_core::form::Form;
use undertone_core::projective::Shape;
use undertone_report::number::{count, number, percent};
use undertone_report::{Column, Page, Table, escape, visible};

use super::Precision;
use super::text::{needs, points};
use crate::answer::likely;
use crate::forms::{self, Law};
use crate::plan::{Forecast, MOST_DEVICES, rounded_up};
use crate::shares::Confidence;

/// The precision that each question of a form has, by ε.
#[derive(Serialize)]
pub struct FormPlan {
    /// Version of the JSON form.
    version: u32,
    form: String,
    within: f64,
    level: f64,
    questions: Vec<Planned>,
}

/// A question at one ε.
#[derive(Serialize)]
struct Planned {
    epsilon: f64,
    /// The name of an attribute, or of the two of a pair.
    attributes: Vec<String>,
    /// The number of outcomes, with "no answer".
    outcomes: u32,
    /// The share of releases that answer it.
    drawn: f64,
    law: &'static str,
    order: u16,
    /// Probability that a release is a point that the answer prefers.
    own: f64,
    /// Probability that a release is a point that a given other answer prefers.
    other: f64,
    /// The standard error of a share near 0, times the square root of the number of devices; none
    /// for a question that is never drawn.
    error_times_root: Option<f64>,
    /// Devices for the requested precision; none if no number suffices.
    devices: Option<u64>,
    precision: Vec<Precision>,
}

impl FormPlan {
    /// The plan of a form at each of these ε. `within`: most that 95 of 100 estimated shares may
    /// deviate from the truth. `devices`: the numbers of devices whose precision is requested, each
    /// at most [`MOST_DEVICES`].
    ///
    /// # Errors
    /// [`ErrorKind::Input`](undertone::error::ErrorKind::Input) for a `within` that is not above 0.
    pub fn new(
        form: &Form<'_>,
        epsilons: &[Epsilon],
        within: f64,
        devices: &[u64],
    ) -> Result<Self> {
        let mut questions = Vec::new();
        for epsilon in epsilons {
            for law in forms::laws(form, *epsilon)? {
                questions.push(planned(form, *epsilon, &law, within, devices)?);
            }
        }
        Ok(Self {
            version: 1,
            form: hex::encode(form.id()),
            within,
            level: Confidence::default().level,
            questions,
        })
    }

    /// All numbers as JSON.
    pub fn json(&self) -> String {
        crate::json(self)
    }

    /// The plan in words.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for own in self.by_epsilon() {
            let _ = writeln!(text, "{}", cost(own[0].epsilon));
            let mut rows = vec![self.columns(own)];
            rows.extend(own.iter().map(cells));
            let length = |at: usize| rows.iter().map(move |cells| cells[at].chars().count());
            let widths = (0..rows[0].len()).map(|at| length(at).max().unwrap_or(0));
            let widths: Vec<usize> = widths.collect();
            for cells in &rows {
                let line = cells.iter().zip(&widths).enumerate();
                let line = line.map(|(at, (cell, width))| match at {
                    0 => format!("  {cell:width$}"),
                    _ => format!("  {cell:>width$}"),
                });
                let _ = writeln!(text, "{}", line.collect::<String>().trim_end());
            }
            text.push('\n');
        }
        text + NOTES + "\n"
    }

    /// A self-contained HTML page of a table, with `byline` below the headline.
    pub fn html(&self, byline: &[String]) -> String {
        let mut page = Page::new("What a form costs");
        // The question that takes the most devices decides.
        let needed = self.by_epsilon().filter_map(|own| {
            let most = own
                .iter()
                .map(|row| row.devices)
                .collect::<Option<Vec<_>>>();
            Some((own[0].epsilon.to_string(), most?.into_iter().max()?))
        });
        if let Some(sentence) = needs(&needed.collect::<Vec<_>>(), "shares", self.within) {
            page.headline(&sentence);
        }
        page.byline(byline);
        let names = self.columns(&self.questions);
        // The answer comes first, because a narrow page shows only the first columns.
        let order = [0, 5].into_iter().chain(6..names.len()).chain([4, 3, 1, 2]);
        let order: Vec<usize> = order.collect();
        let mut columns = vec![Column::Text("ε")];
        columns.extend(order.iter().map(|at| match at {
            0 | 2 => Column::Text(names[*at].as_str()),
            _ => Column::Number(names[*at].as_str()),
        }));
        let mut table = Table::new("Devices and precision", &columns);
        for row in &self.questions {
            let cells = cells(row);
            let mut ordered = vec![row.epsilon.to_string().into()];
            ordered.extend(order.iter().map(|at| cells[*at].as_str().into()));
            table.row(ordered);
        }
        page.table(&table);
        for own in self.by_epsilon() {
            page.paragraph(&escape(&cost(own[0].epsilon)));
        }
        page.paragraph(&escape(NOTES));
        page.finish()
    }

    fn by_epsilon(&self) -> impl Iterator<Item = &[Planned]> {
        self.questions.chunk_by(|a, b| a.epsilon == b.epsilon)
    }

    fn columns(&self, rows: &[Planned]) -> Vec<String> {
        let fixed = ["question", "outcomes", "law", "drawn (%)", "error·√n"];
        let mut columns: Vec<String> = fixed.map(str::to_owned).to_vec();
        columns.push(format!("devices for ±{}", points(self.within)));
        let of = |own: &Precision| format!("± with {}", count(own.devices));
        columns.extend(rows[0].precision.iter().map(of));
        columns
    }
}

const NOTES: &str = "error·√n: the standard error of an estimated share near 0, times the square root of the number of devices. ±: percentage \
     points within which 95 of 100 estimated shares lie.";

/// The cost of one release, in words.
fn cost(epsilon: f64) -> String {
    format!(
        "At epsilon {epsilon}, one release costs epsilon {epsilon} for all answers of a person together. It may make one of two lists of \
         answers that were equally likely before up to {} % likely.",
        likely(epsilon)
    )
}

fn cells(row: &Planned) -> Vec<String> {
    let never = || "-".to_owned();
    let mut cells = vec![
        visible(&forms::title(&row.attributes)),
        count(row.outcomes.into()),
        row.law.to_owned(),
        percent(row.drawn),
        row.error_times_root.map_or_else(never, number),
        row.devices.map_or_else(never, count),
    ];
    let precision = row.precision.iter();
    cells.extend(precision.map(|own| points(own.within)));
    cells
}

fn planned(
    form: &Form<'_>,
    epsilon: Epsilon,
    law: &Law,
    within: f64,
    devices: &[u64],
) -> Result<Planned> {
    let confidence = Confidence::default();
    let outcomes = law.question.outcomes;
    let shares = vec![1.0 / f64::from(outcomes); outcomes as usize];
    let forecast = Forecast::of_candidates(law.kind, outcomes - 1, &shares)?;
    let forecast = forecast.expect("answers have a channel");
    let needed = if law.drawn > 0.0 {
        forecast.releases(within, confidence)?
    } else {
        None
    };
    let needed = needed.map(|releases| rounded_up(releases as f64 / law.drawn));
    let shape = law.channel.geometry().map(|geometry| geometry.shape());
    let precision = devices.iter().map(|devices| {
        // Fewer than one release is answered by a guess.
        let releases = *devices as f64 * law.drawn;
        let half = if releases >= 1.0 {
            forecast.widest(releases, confidence)?
        } else {
            1.0
        };
        Ok(Precision {
            devices: *devices,
            within: half.min(1.0),
        })
    });
    Ok(Planned {
        epsilon: epsilon_f64(epsilon),
        attributes: forms::attributes(form, &law.question),
        outcomes,
        drawn: law.drawn,
        law: match shape {
            Some(Shape::Hyperplanes { .. }) => "projective geometry",
            Some(Shape::Progressions { .. }) => "progressions",
            _ => "randomised response",
        },
        order: law.kind.order(),
        own: law.channel.own(),
        other: law.channel.other(),
        error_times_root: Some(law.error()).filter(|error| error.is_finite()),
        devices: needed.filter(|needed| *needed as f64 <= MOST_DEVICES),
        precision: precision.collect::<Result<_>>()?,
    })
}
