//! HTML of an answer.

use undertone_report::number::count;
use undertone_report::{
    Axis, Cell, Column, DrawError, Intervals, Line, Look, Page, Plot, Point, Range, Table, escape,
    visible,
};

use super::text::{
    OF_ANSWERS, OF_CANDIDATES, OF_LABELS, OF_LABELS_ALIKE, OF_PUBLISHED, OF_QUESTION, REMEDY,
    answered, classified, compared, fit, forged, honest, interval, most, of_candidates, privacy,
    published, releases, share, slice, sources, sure, together,
};
use super::{Answer, Difference, Row, Slice};
use crate::forms;

/// Most lines over time; more are illegible.
const LINES: usize = 8;

/// Most slices that get a plot of their own.
const PLOTTED: usize = 40;

pub(crate) fn page(answer: &Answer, top: usize, byline: &[String]) -> Result<String, DrawError> {
    let is_of_texts = answer.answers.is_empty();
    let mut page = Page::new(if is_of_texts {
        "What the texts are about"
    } else {
        "What the releases say"
    });
    page.headline(&headline(answer));
    page.byline(byline);
    page.paragraph(&format!(
        "<strong>Counted: {}.</strong> {} Releases together show how frequent {} is. A point is the best guess; the bar is where \
         the share lies. {}",
        releases(answer.releases),
        escape(&privacy(answer)),
        if is_of_texts { "a subject" } else { "an answer" },
        escape(&sure(answer))
    ));
    summary(&mut page, answer);
    if !answer.candidates.is_empty() {
        page.heading(2, "What the pack's classifier would have said");
        page.paragraph(&escape(OF_CANDIDATES));
        let tables = answer.candidates.iter().map(|own| Shown {
            slice: &own.estimated.slice,
            title: undigested(answer, &classified(answer, own)),
            said: of_candidates(own),
            rows: &own.estimated.shares,
            group: own.pack.clone(),
        });
        chapter(&mut page, answer, tables.collect(), top, true)?;
    }
    if !answer.answers.is_empty() {
        page.heading(2, "What people answered");
        page.paragraph(&escape(OF_ANSWERS));
        let tables = answer.answers.iter().map(|own| Shown {
            slice: &own.estimated.slice,
            title: undigested(answer, &answered(answer, own)),
            said: honest(&own.estimated),
            rows: &own.estimated.shares,
            group: format!("{} {}", own.form, forms::title(&own.attributes)),
        });
        chapter(&mut page, answer, tables.collect(), top, true)?;
    }
    labels(&mut page, answer, top)?;
    if !answer.differences.is_empty() {
        page.heading(2, "Differences between slices");
        page.paragraph(&format!(
            "In percentage points. {}",
            escape(&together(answer))
        ));
        let differences = answer.differences.iter();
        let charts = charts(differences.map(|own| most(&own.shares, top, own.of != "labels").0));
        for (place, own) in answer.differences.iter().enumerate() {
            difference(&mut page, answer, own, top, charts.get(place));
        }
    }
    let published = published(answer);
    if !published.is_empty() {
        page.heading(2, "What published counts reveal");
        page.paragraph(&escape(OF_PUBLISHED));
    }
    for own in published {
        page.paragraph(&escape(&undigested(answer, &own)));
    }
    breaks(&mut page, answer);
    Ok(page.finish())
}

/// The shares of labels, under the default assumption and, if requested, the stronger one.
fn labels(page: &mut Page, answer: &Answer, top: usize) -> Result<(), DrawError> {
    let chapters = [
        (&answer.labels, "Shares of labels", OF_LABELS, true),
        (
            &answer.labels_alike,
            "Shares of labels, if the texts were exactly like the public ones",
            OF_LABELS_ALIKE,
            false,
        ),
    ];
    for (tables, title, meaning, allows) in chapters {
        if tables.is_empty() {
            continue;
        }
        page.heading(2, title);
        page.paragraph(&escape(meaning));
        if answer.question {
            page.paragraph(&escape(OF_QUESTION));
        }
        if let Some(own) = tables.first().filter(|_| allows) {
            page.paragraph(&escape(&sources(own)));
        }
        let tables = tables.iter().map(|own| Shown {
            slice: &own.slice,
            title: format!(
                "{}: {}",
                slice(&answer.slices, &own.slice),
                releases(own.releases)
            ),
            said: format!("{} {}", fit(own), forged(own.one_forged_release_moves)),
            rows: &own.shares,
            group: own.packs.join(", "),
        });
        chapter(page, answer, tables.collect(), top, false)?;
    }
    Ok(())
}

fn summary(page: &mut Page, answer: &Answer) {
    let mut table = Table::new(
        "Releases",
        &[Column::Text("kind of release"), Column::Number("releases")],
    );
    for kind in &answer.kinds {
        table.row(vec![
            undigested(answer, &kind.name).into(),
            count(kind.releases).into(),
        ]);
    }
    for own in &answer.left_out {
        table.row(vec![
            Cell::from(undigested(answer, &format!("left out: {}", own.kind))).note(&own.reason),
            count(own.releases).into(),
        ]);
    }
    for own in &answer.rejected {
        table.row(vec![
            Cell::from("rejected").note(&own.reason),
            count(own.count).into(),
        ]);
    }
    page.table(&table);
}

struct Shown<'a> {
    slice: &'a Slice,
    title: String,
    said: String,
    rows: &'a [Row],
    /// Tables of one group make one plot over time.
    group: String,
}

fn chapter(
    page: &mut Page,
    answer: &Answer,
    tables: Vec<Shown<'_>>,
    top: usize,
    last: bool,
) -> Result<(), DrawError> {
    let mut groups: Vec<&str> = Vec::new();
    for own in &tables {
        if !groups.contains(&own.group.as_str()) {
            groups.push(&own.group);
        }
    }
    for group in groups {
        over_time(page, answer, &tables, group, last)?;
    }
    let charts = charts(tables.iter().map(|own| most(own.rows, top, last).0));
    for (place, own) in tables.iter().enumerate() {
        page.heading(3, &own.title);
        page.paragraph(&escape(&own.said));
        let (rows, others) = most(own.rows, top, last);
        if let Some(chart) = charts.get(place) {
            page.figure("The share of each, in per cent.", &chart.draw());
        }
        page.table(&shares(&own.title, "share (%)", &rows, others));
    }
    Ok(())
}

/// A chart for each of the first tables, all with the same axis.
fn charts<'a>(tables: impl Iterator<Item = Vec<&'a Row>>) -> Vec<Intervals> {
    let charts = tables.take(PLOTTED).map(|rows| {
        let mut chart = Intervals::default();
        for row in rows {
            chart.row(&row.name, row.share, row.low.zip(row.high));
        }
        chart
    });
    let mut charts: Vec<Intervals> = charts.collect();
    Intervals::align(&mut charts);
    charts
}

/// The answer in one sentence: the most frequent subject or answer, if it is clear.
fn headline(answer: &Answer) -> String {
    let all = |slice: &Slice| slice.is_none();
    let labels = answer.labels.iter().find(|own| all(&own.slice));
    let answers = answer.answers.iter().find(|own| all(&own.estimated.slice));
    let mut candidates = answer.candidates.iter();
    let candidates = candidates.find(|own| all(&own.estimated.slice));
    let (rows, last, of, noun) = if let Some(own) = labels {
        (&own.shares, false, "of the texts".to_owned(), "subject")
    } else if let Some(own) = answers {
        let of = format!("to {}", visible(&forms::title(&own.attributes)));
        (&own.estimated.shares, true, of, "answer")
    } else if let Some(own) = candidates {
        let of = "of the texts, by the pack's classifier".to_owned();
        (&own.estimated.shares, true, of, "subject")
    } else {
        return format!("Counted: {}.", releases(answer.releases));
    };
    let (rows, _) = most(rows, 2, last);
    let (first, second) = (rows.first().copied(), rows.get(1).copied());
    most_frequent(noun, &of, first, second)
}

/// Names the most frequent answer if its interval lies above that of the second.
fn most_frequent(noun: &str, of: &str, first: Option<&Row>, second: Option<&Row>) -> String {
    let ends = |row: &Row| row.low.zip(row.high);
    let named = |row: &Row| {
        let ends = interval(row).unwrap_or_default();
        format!("{}, {} % ({ends} %)", visible(&row.name), share(row))
    };
    let unknown = format!("The releases do not show which {noun} is the most frequent.");
    let Some((first, (low, _))) = first.and_then(|row| Some((row, ends(row)?))) else {
        return unknown;
    };
    let Some(second) = second else {
        return format!("The only {noun} {of} is {}.", named(first));
    };
    match ends(second) {
        None => unknown,
        Some((_, high)) if low > high => {
            format!("The most frequent {noun} {of} is {}.", named(first))
        }
        Some(_) => format!(
            "No {noun} {of} is clearly the most frequent: the intervals of {}, and {}, overlap.",
            named(first),
            named(second)
        ),
    }
}

/// A sentence without the identifiers of packs and forms if there is only one; otherwise with four
/// digits of each.
fn undigested(answer: &Answer, text: &str) -> String {
    let kinds = answer.kinds.iter();
    let mut ids: Vec<&str> = kinds.map(|kind| kind.pack.as_str()).collect();
    ids.sort_unstable();
    ids.dedup();
    let mut text = text.to_owned();
    for id in &ids {
        if ids.len() == 1 {
            for what in ["pack", "form"] {
                text = text.replace(&format!(" of {what} {id}"), "");
                text = text.replace(&format!("{what} {id}, "), "");
            }
        } else {
            text = text.replace(id, &id[..4]);
        }
    }
    text
}

fn shares(title: &str, of: &str, rows: &[&Row], others: usize) -> Table {
    let mut table = Table::new(
        title,
        &[
            Column::Text("name"),
            Column::Number(of),
            Column::Number("interval"),
        ],
    );
    for row in rows {
        table.row(vec![
            row.name.as_str().into(),
            share(row).into(),
            interval(row)
                .unwrap_or_else(|| "none, see above".to_owned())
                .into(),
        ]);
    }
    if others > 0 {
        let name = format!("and {} others", count(others as u64));
        table.row(vec![name.into(), Cell::default(), Cell::default()]);
    }
    table
}

/// Draws a line for each of the most frequent answers, if slices are days.
fn over_time(
    page: &mut Page,
    answer: &Answer,
    tables: &[Shown<'_>],
    group: &str,
    last: bool,
) -> Result<(), DrawError> {
    let own: Vec<&Shown<'_>> = tables.iter().filter(|own| own.group == group).collect();
    let days: Option<Vec<(i64, &[Row])>> = own
        .iter()
        .filter_map(|own| Some((own.slice.as_ref()?, own.rows)))
        .map(|(values, rows)| match values.as_slice() {
            [value] => Some((day(value)?, rows)),
            _ => None,
        })
        .collect();
    let (Some(days), Some(all)) = (days, own.iter().find(|own| own.slice.is_none())) else {
        return Ok(());
    };
    let (Some(start), true) = (days.iter().map(|(day, _)| *day).min(), days.len() > 1) else {
        return Ok(());
    };
    let (rows, _) = most(all.rows, LINES, last);
    let lines = rows.iter().take(LINES).map(|shown| Line {
        name: visible(&shown.name),
        look: Look::Plain,
        points: days
            .iter()
            .filter_map(|(day, rows)| {
                let row = rows.iter().find(|row| row.name == shown.name)?;
                let ends = row.low.zip(row.high);
                Some(Point {
                    x: (day - start) as f64,
                    y: 100.0 * row.share,
                    band: ends.map(|(low, high)| (100.0 * low, 100.0 * high)),
                })
            })
            .collect(),
    });
    let first = own
        .iter()
        .filter_map(|own| own.slice.as_ref()?.first())
        .min();
    let label = format!("days since {}", first.map_or("", String::as_str));
    let plot = Plot {
        x: Axis {
            label: &label,
            range: Range::Whole,
        },
        y: Axis {
            label: "share (%)",
            range: Range::FromZero,
        },
        lines: lines.collect(),
    };
    page.figure(
        &format!(
            "Shares by {}, with the intervals of the tables.",
            answer.slices.join(", ")
        ),
        &plot.draw()?,
    );
    Ok(())
}

/// The number of a day written like 2026-11-30.
fn day(text: &str) -> Option<i64> {
    let parts: Vec<i64> = text
        .split('-')
        .map(|part| part.parse().ok())
        .collect::<Option<_>>()?;
    let &[year, month, day] = parts.as_slice() else {
        return None;
    };
    let fits = text.len() == 10 && (1..=12).contains(&month) && (1..=31).contains(&day);
    // Years that start in March end with the leap day.
    let (year, month) = if month > 2 {
        (year, month - 3)
    } else {
        (year - 1, month + 9)
    };
    let before = 365 * year + year / 4 - year / 100 + year / 400;
    fits.then_some(before + (153 * month + 2) / 5 + day)
}

fn difference(
    page: &mut Page,
    answer: &Answer,
    own: &Difference,
    top: usize,
    chart: Option<&Intervals>,
) {
    let title = compared(answer, own);
    page.heading(3, &title);
    let (rows, others) = most(&own.shares, top, own.of != "labels");
    if rows.iter().any(|row| row.low.is_none()) {
        page.paragraph(
            "There are no intervals: what they assume does not hold in one of the slices.",
        );
    }
    if let Some(chart) = chart {
        let caption = "By how many percentage points the shares differ.";
        page.figure(caption, &chart.draw());
    }
    page.table(&shares(&title, "difference", &rows, others));
}

fn breaks(page: &mut Page, answer: &Answer) {
    page.heading(2, "What would make this wrong");
    let mut facts = vec![(
        "Forged releases",
        "Whoever can send releases can make them up. One moves a share by what is said above; a thousand move it by a thousand times that. \
         Devices that are known, and one release of each, are the remedy."
            .to_owned(),
    )];
    if !answer.labels.is_empty() {
        facts.push((
            "Other texts",
            format!(
                "Shares of labels allow for texts that differ from the public ones as much as these differ from each other. Texts that \
                 differ more make them wrong, and no test finds all of these. {REMEDY}"
            ),
        ));
    }
    facts.push((
        "Several releases of one text",
        "Intervals take each release for a text of its own. Who releases one text twice counts twice.".to_owned(),
    ));
    facts.push((
        "Looking often",
        "Of a hundred intervals that are each right 95 % of the time about five are wrong. Intervals that hold together avoid this; they are wider."
            .to_owned(),
    ));
    for problem in &answer.unanswered {
        facts.push(("Not answered", problem.clone()));
    }
    page.facts(&facts);
}

#[cfg(test)]
mod tests {
    use super::{Row, day, most_frequent};

    #[test]
    fn the_most_frequent_answer_is_named_only_if_it_is_clear() {
        let row = |name: &str, share: f64, ends: Option<(f64, f64)>| Row {
            name: name.to_owned(),
            share,
            low: ends.map(|own| own.0),
            high: ends.map(|own| own.1),
            unbiased: None,
        };
        let headline = |ends: Option<(f64, f64)>| {
            let (first, second) = (row("a", 0.5, ends), row("b", 0.25, Some((0.2, 0.3))));
            most_frequent("subject", "of the texts", Some(&first), Some(&second))
        };
        assert_eq!(
            headline(Some((0.4, 0.6))),
            "The most frequent subject of the texts is a, 50.0 % (40.0 to 60.0 %)."
        );
        assert!(
            headline(Some((0.29, 0.6))).starts_with("No subject of the texts is clearly the most")
        );
        assert!(headline(None).starts_with("The releases do not show"));
    }

    #[test]
    fn days_are_numbered() {
        let number = |text: &str| day(text).unwrap();
        assert_eq!(number("2026-03-01") - number("2026-02-28"), 1);
        assert_eq!(number("2028-03-01") - number("2028-02-28"), 2);
        assert_eq!(number("2027-01-01") - number("2026-01-01"), 365);
        assert_eq!(number("2026-11-30") - number("2026-11-01"), 29);
        for other in ["SE", "2026-13-01", "2026-1-1", "2026-11", "", "1.2.3"] {
            assert_eq!(day(other), None, "{other}");
        }
    }
}
