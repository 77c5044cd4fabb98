//! HTML of a plan.

use std::ptr;

use undertone_report::number::count;
use undertone_report::{
    Axis, Column, DrawError, Line, Look, Page, Plot, Point, Range, Table, escape,
};

use super::text::{
    advice, assumed, best_ways, headline, length, points, published, required, sentences, short,
    unit_short, what,
};
use super::{Of, PLOTTED, Plan, Way};
use crate::answer::OF_PUBLISHED;

pub(super) fn page(plan: &Plan, byline: &[String]) -> Result<String, DrawError> {
    let mut page = Page::new("How many devices it takes");
    page.headline(&headline(plan));
    page.byline(byline);
    page.table(&table(plan));
    page.paragraph("Marked: the fewest devices, or whole-text releases if they take few more.");
    for line in required(plan, true).into_iter().chain(advice(plan)) {
        page.paragraph(&escape(&line));
    }
    page.paragraph(&escape(&assumed(plan)));
    for of in [Of::Candidates, Of::Labels] {
        let own: Vec<&Way> = plan.ways.iter().filter(|way| way.shares_of == of).collect();
        if own.is_empty() {
            continue;
        }
        page.heading(2, &format!("Precision of {}", what(of)));
        let mut lengths: Vec<Option<u16>> = own.iter().map(|way| way.sentences).collect();
        lengths.sort_unstable();
        lengths.dedup();
        if lengths.len() > 1 {
            let devices = plan.asked.devices.first().copied().unwrap_or(DEVICES);
            by_length(&mut page, &own, devices)?;
        }
        for sentences in lengths {
            let own: Vec<&Way> = own
                .iter()
                .filter(|way| way.sentences == sentences)
                .copied()
                .collect();
            let of = match sentences {
                None => String::new(),
                Some(sentences) => format!(", from {}", length(sentences)),
            };
            let lines = own.iter().map(|way| Line {
                name: name(way),
                look: Look::Plain,
                points: PLOTTED.iter().zip(&way.plotted).map(point).collect(),
            });
            page.figure(
                &format!(
                    "How far an estimated share may lie from the truth, by the number of devices{of}."
                ),
                &plot("devices", Range::Logarithmic, lines.collect()).draw()?,
            );
        }
    }
    let published = published(plan);
    if !published.is_empty() {
        page.heading(2, "What published counts reveal");
        page.paragraph(&escape(OF_PUBLISHED));
    }
    for line in published {
        page.paragraph(&escape(&line));
    }
    for problem in &plan.unanswered {
        page.facts(&[("Not planned", problem.clone())]);
    }
    Ok(page.finish())
}

/// Devices of the plot by length if none are requested: one of [`PLOTTED`].
const DEVICES: u64 = 10_000;

fn table(plan: &Plan) -> Table {
    let mut columns = vec![
        Column::Text("ε".to_owned()),
        Column::Text("shares of".to_owned()),
        Column::Text("releases of".to_owned()),
        Column::Number(format!("devices for ± {} points", points(plan.within))),
    ];
    if plan.by_length() {
        columns.insert(2, Column::Number("sentences".to_owned()));
    }
    let devices = plan
        .asked
        .devices
        .iter()
        .map(|own| format!("± points of {} devices", count(*own)));
    columns.extend(devices.map(Column::Number));
    let mut table = Table::new("Devices and precision", &columns);
    let best: Vec<&Way> = best_ways(plan).collect();
    for way in &plan.ways {
        let mut cells = vec![
            way.kind.epsilon().to_string().into(),
            short(way.shares_of).into(),
            unit_short(way.kind).into(),
            way.devices.map_or("no number".to_owned(), count).into(),
        ];
        if plan.by_length() {
            cells.insert(2, sentences(way).into());
        }
        cells.extend(way.precision.iter().map(|own| points(own.within).into()));
        table.row_marked(best.iter().any(|best| ptr::eq(*best, way)), cells);
    }
    table
}

/// Plots the precision of `devices` by the length of texts.
fn by_length(page: &mut Page, ways: &[&Way], devices: u64) -> Result<(), DrawError> {
    let mut lines: Vec<Line> = Vec::new();
    for way in ways {
        let name = name(way);
        let half = way.precision.first().map(|own| own.within).or_else(|| {
            let place = PLOTTED.iter().position(|own| *own == devices as f64)?;
            way.plotted.get(place).copied()
        });
        let (Some(sentences), Some(half)) = (way.sentences, half) else {
            continue;
        };
        let point = point((&f64::from(sentences), &half));
        match lines.iter_mut().find(|line| line.name == name) {
            Some(line) => line.points.push(point),
            None => lines.push(Line {
                name,
                look: Look::Plain,
                points: vec![point],
            }),
        }
    }
    page.figure(
        &format!(
            "How far a share estimated from {} devices may lie from the truth, by the length of texts.",
            count(devices)
        ),
        &plot("sentences of a text", Range::Whole, lines).draw()?,
    );
    Ok(())
}

fn name(way: &Way) -> String {
    format!("ε = {}, {}", way.kind.epsilon(), unit_short(way.kind))
}

fn point((x, half): (&f64, &f64)) -> Point {
    Point::bare(*x, 100.0 * half)
}

fn plot(label: &str, range: Range, lines: Vec<Line>) -> Plot<'_> {
    Plot {
        x: Axis { label, range },
        y: Axis {
            label: "± percentage points",
            range: Range::Logarithmic,
        },
        lines,
    }
}
