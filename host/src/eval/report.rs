//! The results of an evaluation as files: tables for programs, one page for people.

use std::fmt::{Display, Write as _};
use std::fs;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use undertone_core::epsilon::Epsilon;

use super::data::Data;
use super::sentences::{Histogram, Measured, Options, Point, Role};
use crate::error::{Error, Result};
use crate::output::AtomicFile;

/// All results of a run.
pub struct Report {
    /// What was measured with which numbers.
    pub options: Options,
    /// How to repeat it: a command line.
    pub command: String,
    /// One for each task.
    pub tasks: Vec<TaskReport>,
}

/// The results of one task.
pub struct TaskReport {
    /// The name of the task.
    pub name: String,
    /// The encoder's name.
    pub encoder: String,
    /// The names of the classes.
    pub classes: Vec<String>,
    /// Documents to train on, to validate on, to test on, and left out as too short.
    pub documents: [usize; 4],
    /// Sentences of all documents that are used.
    pub sentences: usize,
    /// Reading and encoding, or reading the cache.
    pub encoding: Duration,
    /// Training of classifiers, and packing.
    pub preparing: Duration,
    /// The mechanisms.
    pub measured: Vec<Measured>,
}

impl TaskReport {
    /// The results of `data`.
    pub fn new(
        data: &Data,
        encoding: Duration,
        preparing: Duration,
        measured: Vec<Measured>,
    ) -> Self {
        let sentences = |documents: &[usize]| documents.last().copied().unwrap_or(0);
        Self {
            name: data.name.clone(),
            encoder: data.encoder.name.clone(),
            classes: data.classes.clone(),
            documents: [
                data.train.len(),
                data.validation.len(),
                data.test.labels.len(),
                data.left_out,
            ],
            sentences: sentences(data.learning.documents.offsets())
                + sentences(data.test.documents.offsets()),
            encoding,
            preparing,
            measured,
        }
    }
}

impl Report {
    /// Makes the folder `out`, if it is not there, and says now whether files can be written there.
    ///
    /// # Errors
    /// [`Error::Io`] or [`Error::OutputPath`].
    pub fn check(out: &Path) -> Result<()> {
        fs::create_dir_all(out).map_err(Error::io("create the folder", out))?;
        AtomicFile::check(out.join(PAGE))
    }

    /// Writes `f1-vs-epsilon.csv`, `f1-vs-sentences.csv`, `histograms.csv`, `privacy-loss.csv`,
    /// `timings.csv` and `report.html` into the folder `out`.
    ///
    /// Everything is there before the first file is written; each file appears whole, the page last.
    /// Files of these names are replaced, others are left alone.
    ///
    /// # Errors
    /// [`Error::Io`] or [`Error::OutputPath`]; [`Error::Plot`].
    pub fn write(&self, out: &Path) -> Result<()> {
        let files = [
            ("f1-vs-epsilon.csv", self.by_epsilon()),
            ("f1-vs-sentences.csv", self.by_sentences()),
            ("histograms.csv", self.histograms()),
            ("privacy-loss.csv", self.losses()),
            ("timings.csv", self.timings()),
            (PAGE, self.page()?),
        ];
        for (name, text) in files {
            let path = out.join(name);
            let mut file = AtomicFile::create(&path)?;
            file.write_all(text.as_bytes())
                .map_err(Error::io("write", &path))?;
            file.commit()?;
        }
        Ok(())
    }

    /// Each mechanism with its task.
    fn all(&self) -> impl Iterator<Item = (&TaskReport, &Measured)> {
        let of_task = |task| std::iter::repeat(task);
        self.tasks
            .iter()
            .flat_map(move |task| of_task(task).zip(&task.measured))
    }

    fn by_epsilon(&self) -> String {
        let mut csv = "task,encoder,mechanism,setting,epsilon,trials,macro_f1_mean,macro_f1_sd,\
                       accuracy_mean,accuracy_sd\n"
            .to_owned();
        for (task, measured) in self.all() {
            for point in &measured.by_epsilon {
                csv += &self.row(task, measured, point, &[&point.x]);
            }
        }
        csv
    }

    fn by_sentences(&self) -> String {
        let mut csv = "task,encoder,mechanism,setting,epsilon,sentences,trials,macro_f1_mean,\
                       macro_f1_sd,accuracy_mean,accuracy_sd\n"
            .to_owned();
        for (task, measured) in self.all() {
            for point in &measured.by_sentences {
                let x: [&dyn Display; 2] = [&self.options.fixed_epsilon, &point.x];
                csv += &self.row(task, measured, point, &x);
            }
        }
        csv
    }

    fn row<X>(
        &self,
        task: &TaskReport,
        measured: &Measured,
        point: &Point<X>,
        x: &[&dyn Display],
    ) -> String {
        let mut row = fields(&[
            &task.name,
            &measured.encoder,
            &measured.name,
            &point.setting,
        ]);
        for x in x {
            let _ = write!(row, ",{x}");
        }
        let (f1, accuracy) = (point.score.macro_f1, point.score.accuracy);
        let _ = writeln!(
            row,
            ",{},{:.5},{:.5},{:.5},{:.5}",
            self.options.trials, f1.mean, f1.sd, accuracy.mean, accuracy.sd
        );
        row
    }

    fn histograms(&self) -> String {
        let mut csv = "task,encoder,mechanism,which,epsilon,level_above_best,count\n".to_owned();
        for (task, measured) in self.all() {
            let Some(histogram) = &measured.histogram else {
                continue;
            };
            let start = fields(&[&task.name, &measured.encoder, &measured.name]);
            for (level, count) in histogram.all.iter().enumerate() {
                let _ = writeln!(csv, "{start},all candidates,,{level},{count}");
            }
            for (epsilon, counts) in &histogram.drawn {
                for (level, count) in counts.iter().enumerate() {
                    let _ = writeln!(csv, "{start},drawn,{epsilon},{level},{count}");
                }
            }
        }
        csv
    }

    fn losses(&self) -> String {
        let mut csv = "task,encoder,mechanism,epsilon,worst_loss,pairs\n".to_owned();
        for (task, measured) in self.all() {
            let start = fields(&[&task.name, &measured.encoder, &measured.name]);
            for loss in &measured.losses {
                let (epsilon, worst, pairs) = (loss.epsilon, loss.worst, loss.pairs);
                let _ = writeln!(csv, "{start},{epsilon},{worst:.9},{pairs}");
            }
        }
        csv
    }

    fn timings(&self) -> String {
        let mut csv = "task,encoder,mechanism,step,seconds\n".to_owned();
        for task in &self.tasks {
            let start = fields(&[&task.name, &task.encoder]);
            for (step, time) in [
                ("read and encode", task.encoding),
                ("train and pack", task.preparing),
            ] {
                let _ = writeln!(csv, "{start},,{step},{:.6}", time.as_secs_f64());
            }
            for measured in &task.measured {
                let start = fields(&[&task.name, &measured.encoder, &measured.name]);
                for (step, time) in [
                    ("choose a setting", measured.tuning),
                    ("release and classify a document", measured.per_release),
                ] {
                    let _ = writeln!(csv, "{start},{step},{:.9}", time.as_secs_f64());
                }
            }
        }
        csv
    }

    fn page(&self) -> Result<String> {
        let options = &self.options;
        let epsilons: Vec<String> = options.epsilons.iter().map(Epsilon::to_string).collect();
        let mut page = format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <title>undertone: evaluation</title>\n<style>{STYLE}</style>\n</head>\n<body>\n\
             <h1>What is left of a document after its release</h1>\n\
             <p>Each test document of a public, labelled corpus is released once for each ε and trial; a \
             classifier, trained on the means of public sentence vectors, then guesses its class from the \
             release alone. Higher is better. {} trials each, mean ± standard deviation, in percent. \
             Settings of a mechanism (such as the number of directions p) are chosen for each ε on \
             validation documents that are neither trained nor tested on.</p>\n\
             <dl>\n<dt>ε</dt><dd>{}; documents cut at ε = {}</dd>\n\
             <dt>candidates</dt><dd>at most {} training documents of at least {} sentences</dd>\n\
             <dt>seed</dt><dd>{}</dd>\n<dt>version</dt><dd>undertone {}</dd>\n\
             <dt>to repeat it</dt><dd><code>{}</code></dd>\n</dl>\n",
            options.trials,
            epsilons.join(", "),
            options.fixed_epsilon,
            options.candidates,
            options.min_sentences,
            options.seed,
            env!("CARGO_PKG_VERSION"),
            escape(&self.command),
        );
        for task in &self.tasks {
            page += &self.section(task)?;
        }
        page += "</body>\n</html>\n";
        Ok(page)
    }

    fn section(&self, task: &TaskReport) -> Result<String> {
        let [train, validation, test, left_out] = task.documents;
        let styles = styles(&task.measured);
        let mut page = format!(
            "<section>\n<h2>{}</h2>\n<p>{train} training, {validation} validation and {test} test \
             documents ({left_out} with fewer than {} sentences left out), {} sentences, {} classes: {}. \
             Encoder: {}.</p>\n",
            escape(&task.name),
            super::data::LEAST_SENTENCES,
            task.sentences,
            task.classes.len(),
            escape(&task.classes.join(", ")),
            escape(&task.encoder),
        );

        page += "<h3>Macro F1 against ε</h3>\n";
        page += &figure(
            "Macro F1 (%) against ε, test documents as they are.",
            &curves(
                &task.measured,
                &styles,
                "ε",
                |measured| &measured.by_epsilon,
                |epsilon| f64::from(epsilon.micro()) * 1e-6,
            )?,
        );
        page += &table(
            "ε",
            &task.measured,
            &styles,
            &self.options.epsilons,
            |measured| &measured.by_epsilon,
        );

        let _ = writeln!(
            page,
            "<h3>Macro F1 against the number of sentences, ε = {}</h3>",
            self.options.fixed_epsilon
        );
        page += &figure(
            "Macro F1 (%) with each test document cut to its first k sentences; shorter ones are whole.",
            &curves(
                &task.measured,
                &styles,
                "k, first sentences of a document",
                |measured| &measured.by_sentences,
                |sentences| *sentences as f64,
            )?,
        );
        let lengths: Vec<usize> = task
            .measured
            .first()
            .map(|measured| measured.by_sentences.iter().map(|point| point.x).collect())
            .unwrap_or_default();
        page += &table("k", &task.measured, &styles, &lengths, |measured| {
            &measured.by_sentences
        });

        page += "<h3>Where selection lands</h3>\n<p>How many levels above the best one a candidate \
                 lies: of all candidates of all test documents, and of those that were drawn. A selection \
                 works at an ε where its curve stays near 0 though nearly all candidates lie far from \
                 it.</p>\n<div class=\"pair\">\n";
        for measured in &task.measured {
            if let Some(histogram) = &measured.histogram {
                page += &figure(&measured.name, &levels(histogram)?);
            }
        }
        page += "</div>\n";

        page += "<h3>Privacy loss, computed</h3>\n<p>The largest change of the logarithm of a release's \
                 probability when one sentence is replaced, over some neighbouring test documents, from \
                 the exact law of the selection. It must not exceed ε.</p>\n";
        page += &self.loss_table(task);

        page += "<h3>What each mechanism promises, and how long it takes</h3>\n<div class=\"wide\">\
                 <table>\n<tr><th>mechanism</th><th class=\"text\">promise</th>\
                 <th>one release, classified (all cores)</th></tr>\n";
        for (measured, style) in task.measured.iter().zip(&styles) {
            let _ = writeln!(
                page,
                "<tr{}>{}<td class=\"text\">{}</td><td>{:.1} µs</td></tr>",
                highlight(measured),
                style.name(measured),
                escape(&measured.promise),
                measured.per_release.as_secs_f64() * 1e6
            );
        }
        let _ = writeln!(
            page,
            "</table></div>\n<p>Reading and encoding (or reading the cache) took {:.1} s, training and \
             packing {:.1} s.</p>\n</section>",
            task.encoding.as_secs_f64(),
            task.preparing.as_secs_f64()
        );
        Ok(page)
    }

    fn loss_table(&self, task: &TaskReport) -> String {
        let heads: Vec<String> = self
            .options
            .epsilons
            .iter()
            .map(Epsilon::to_string)
            .collect();
        let mut html = head("ε", &heads, "<th>pairs</th>");
        for measured in task.measured.iter().filter(|m| !m.losses.is_empty()) {
            let _ = write!(html, "<tr><th>{}</th>", escape(&measured.name));
            for loss in &measured.losses {
                let _ = write!(html, "<td>{:.4}</td>", loss.worst);
            }
            let pairs = measured.losses.first().map_or(0, |loss| loss.pairs);
            let _ = writeln!(html, "<td>{pairs}</td></tr>");
        }
        html + "</table></div>\n"
    }
}

/// The name of the page.
const PAGE: &str = "report.html";

const STYLE: &str = "
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, sans-serif; color: #1a1a1a; background: #fff; max-width: 60rem;
  margin: 0 auto; padding: 1rem; }
h1 { line-height: 1.2; } h2 { margin-top: 3rem; border-bottom: 1px solid #bbb; }
dt { font-weight: 600; } dd { margin: 0 0 .4rem; } code { overflow-wrap: anywhere; }
figure { margin: 1rem 0; } figcaption { color: #555; font-size: .9rem; }
svg { width: 100%; height: auto; }
.wide { overflow-x: auto; }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(18rem, 1fr)); gap: 1rem; }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .6rem; text-align: right; border-bottom: 1px solid #ddd; }
th:first-child, .text { text-align: left; } td { white-space: nowrap; } td.text { white-space: normal; }
small { color: #666; display: block; }
.dot { display: inline-block; width: .8em; height: .8em; border-radius: 50%; margin-right: .4em; }
.default { background: #fff3e6; font-weight: 600; }
@media print { body { max-width: none; font-size: 11px; } figure, tr { break-inside: avoid; }
  .wide { overflow: visible; } .default, .dot { print-color-adjust: exact; } }
";

/// Colours that differ for colour-blind readers too (Okabe and Ito 2008); grey is for baselines, the
/// first one for the default.
const HIGHLIGHT: RGBColor = RGBColor(213, 94, 0);
const COLOURS: [RGBColor; 6] = [
    RGBColor(0, 114, 178),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(230, 159, 0),
    RGBColor(0, 0, 0),
];
const GREYS: [RGBColor; 3] = [
    RGBColor(110, 110, 110),
    RGBColor(150, 150, 150),
    RGBColor(185, 185, 185),
];

/// How a mechanism is drawn.
#[derive(Clone, Copy)]
struct Style {
    colour: RGBColor,
    width: u32,
    /// Another encoder than the first mechanism's.
    dashed: bool,
}

impl Style {
    /// The first cell of a row: a mark in the colour of the curve, and the name.
    fn name(self, measured: &Measured) -> String {
        let RGBColor(red, green, blue) = self.colour;
        format!(
            "<th><span class=\"dot\" style=\"background:rgb({red},{green},{blue})\"></span>{}</th>",
            escape(&measured.name)
        )
    }
}

fn styles(measured: &[Measured]) -> Vec<Style> {
    let mut colours = COLOURS.iter().cycle();
    let mut greys = GREYS.iter().cycle();
    let mut styles: Vec<Style> = Vec::new();
    for own in measured {
        let dashed = own.encoder != measured[0].encoder;
        // With another encoder a mechanism keeps its colour.
        let same = measured
            .iter()
            .zip(&styles)
            .find(|(other, _)| dashed && own.name.ends_with(&format!(": {}", other.name)));
        let (colour, width) = match (same, own.role) {
            (Some((_, style)), _) => (Some(style.colour), 2),
            (None, Role::Default) => (Some(HIGHLIGHT), 4),
            (None, Role::Candidate) => (colours.next().copied(), 2),
            (None, Role::Bound | Role::Baseline) => (greys.next().copied(), 2),
        };
        styles.push(Style {
            colour: colour.unwrap_or(BLACK),
            width,
            dashed,
        });
    }
    styles
}

fn highlight(measured: &Measured) -> &'static str {
    if measured.role == Role::Default {
        " class=\"default\""
    } else {
        ""
    }
}

/// Fields of a line of CSV.
fn fields(fields: &[&str]) -> String {
    let quoted = fields.iter().map(|field| {
        if field.contains([',', '"', '\n', '\r']) {
            format!("\"{}\"", field.replace('"', "\"\""))
        } else {
            (*field).to_owned()
        }
    });
    quoted.collect::<Vec<String>>().join(",")
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

fn figure(caption: &str, svg: &str) -> String {
    let caption = escape(caption);
    format!("<figure>\n{svg}\n<figcaption>{caption}</figcaption>\n</figure>\n")
}

fn head(x: &str, values: &[String], more: &str) -> String {
    let cells: String = values.iter().map(|x| format!("<th>{x}</th>")).collect();
    format!("<div class=\"wide\"><table>\n<tr><th>{x} =</th>{cells}{more}</tr>\n")
}

/// Mean ± standard deviation of macro F₁ in percent, and the setting.
fn table<X: Display + PartialEq>(
    x: &str,
    measured: &[Measured],
    styles: &[Style],
    values: &[X],
    points: impl Fn(&Measured) -> &Vec<Point<X>>,
) -> String {
    let heads: Vec<String> = values.iter().map(X::to_string).collect();
    let mut html = head(x, &heads, "");
    for (measured, style) in measured.iter().zip(styles) {
        let _ = write!(html, "<tr{}>{}", highlight(measured), style.name(measured));
        for value in values {
            match points(measured).iter().find(|point| point.x == *value) {
                None => html += "<td>–</td>",
                Some(point) => {
                    let f1 = point.score.macro_f1;
                    let (mean, sd) = (100.0 * f1.mean, 100.0 * f1.sd);
                    let _ = write!(html, "<td>{mean:.1} ± {sd:.1}");
                    if !point.setting.is_empty() {
                        let _ = write!(html, "<small>{}</small>", escape(&point.setting));
                    }
                    html += "</td>";
                }
            }
        }
        html += "</tr>\n";
    }
    html + "</table></div>\n"
}

/// Room for the names at the right of a plot, in pixels.
const NAMES: i32 = 210;

/// Distance of two lines of text, in pixels.
const LINE: i32 = 20;

type Drawing<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// Draws an SVG of this size.
fn svg(
    size: (u32, u32),
    draw: impl FnOnce(&Drawing<'_>) -> Result<(), Box<dyn std::error::Error>>,
) -> Result<String> {
    let mut text = String::new();
    {
        let root = SVGBackend::with_string(&mut text, size).into_drawing_area();
        draw(&root)
            .and_then(|()| Ok(root.present()?))
            .map_err(|error| Error::Plot {
                problem: error.to_string(),
            })?;
    }
    Ok(text)
}

/// Curves with error bars over a logarithmic axis, each with its name at its end.
fn curves<X>(
    measured: &[Measured],
    styles: &[Style],
    x_name: &str,
    points: impl Fn(&Measured) -> &Vec<Point<X>>,
    value: impl Fn(&X) -> f64,
) -> Result<String> {
    let curve = |measured: &Measured| -> Vec<(f64, f64, f64)> {
        let points = points(measured).iter().map(|point| {
            let f1 = point.score.macro_f1;
            (value(&point.x), 100.0 * f1.mean, 100.0 * f1.sd)
        });
        points.collect()
    };
    let all: Vec<Vec<(f64, f64, f64)>> = measured.iter().map(curve).collect();
    let mut ticks: Vec<f64> = all.iter().flatten().map(|(x, ..)| *x).collect();
    ticks.sort_unstable_by(f64::total_cmp);
    ticks.dedup();
    let (Some(first), Some(last)) = (ticks.first(), ticks.last()) else {
        return Ok(String::new());
    };
    // Room beside the first and the last point.
    let (left, right) = (first.ln() - 0.1, last.ln() + 0.1);
    svg((760, 440), |root| {
        let mut chart = ChartBuilder::on(root)
            .margin(10)
            .margin_right(NAMES)
            .x_label_area_size(50)
            .y_label_area_size(50)
            .build_cartesian_2d(left..right, 0.0..100.0)?;
        chart
            .configure_mesh()
            .disable_x_mesh()
            .x_labels(0)
            .y_labels(6)
            .light_line_style(TRANSPARENT)
            .bold_line_style(RGBColor(225, 225, 225))
            .label_style(("sans-serif", 15))
            .y_label_formatter(&|y| format!("{y:.0}"))
            .draw()?;
        let middle = |size: i32| ("sans-serif", size).into_text_style(root);
        let below = Pos::new(HPos::Center, VPos::Top);
        for tick in &ticks {
            let (x, y) = chart.plotting_area().map_coordinate(&(tick.ln(), 0.0));
            let text = Text::new(format!("{tick}"), (x, y + 7), middle(15).pos(below));
            root.draw(&text)?;
        }
        let centre = ((left + right) / 2.0, 0.0);
        let (x, y) = chart.plotting_area().map_coordinate(&centre);
        root.draw(&Text::new(x_name, (x, y + 30), middle(15).pos(below)))?;

        let mut ends = Vec::new();
        for ((curve, measured), style) in all.iter().zip(measured).zip(styles) {
            let line = style.colour.stroke_width(style.width);
            let bars = curve
                .iter()
                .filter(|(.., sd)| *sd > 0.0)
                .map(|(x, mean, sd)| {
                    let ends = [mean - sd, mean + sd];
                    PathElement::new(ends.map(|y| (x.ln(), y)).to_vec(), line)
                });
            chart.draw_series(bars)?;
            let points: Vec<(f64, f64)> = curve.iter().map(|(x, y, _)| (x.ln(), *y)).collect();
            if style.dashed {
                chart.draw_series(DashedLineSeries::new(points.clone(), 6, 4, line))?;
            } else {
                chart.draw_series(LineSeries::new(points.clone(), line))?;
            }
            let mark = style.colour.filled();
            let radius = style.width + 1;
            chart.draw_series(points.iter().map(|at| Circle::new(*at, radius, mark)))?;
            if let Some(end) = points.last() {
                ends.push((chart.plotting_area().map_coordinate(end), measured, style));
            }
        }
        // Names beside the ends of their curves, moved apart where they would overlap.
        ends.sort_by_key(|((_, y), ..)| *y);
        let mut next = i32::MIN;
        let mut places: Vec<i32> = ends
            .iter()
            .map(|((_, y), ..)| {
                let place = (*y).max(next);
                next = place + LINE;
                place
            })
            .collect();
        let mut limit = chart.plotting_area().get_pixel_range().1.end;
        for place in places.iter_mut().rev() {
            *place = (*place).min(limit);
            limit = *place - LINE;
        }
        for (((x, y), measured, style), place) in ends.into_iter().zip(places) {
            let colour = style.colour;
            root.draw(&PathElement::new(
                [(x + 6, y), (x + 20, place)],
                colour.stroke_width(1),
            ))?;
            let beside = Pos::new(HPos::Left, VPos::Center);
            let text = middle(16).color(&colour).pos(beside);
            root.draw(&Text::new(measured.name.clone(), (x + 24, place), text))?;
        }
        Ok(())
    })
}

/// Shares of candidates by their level above the best.
fn levels(histogram: &Histogram) -> Result<String> {
    let share = |counts: &[u64]| -> Vec<f64> {
        let total = counts.iter().sum::<u64>().max(1) as f64;
        counts.iter().map(|n| 100.0 * *n as f64 / total).collect()
    };
    let all = share(&histogram.all);
    // Beyond this level next to nothing is drawn, even with the least ε.
    let widest = histogram.drawn.first().map(|(_, counts)| share(counts));
    let mut beyond = 100.0;
    let shown = widest.iter().flatten().take_while(|share| {
        beyond -= **share;
        beyond > 1.0
    });
    let end = shown.count().max(7) as f64 + 1.0;
    let levels = end as usize + 1;
    // A few ε are enough: the least, the middle one, the largest.
    let drawn = &histogram.drawn;
    let mut few = vec![0, drawn.len() / 2, drawn.len().saturating_sub(1)];
    few.dedup();
    let curves: Vec<(String, Vec<f64>)> = few
        .into_iter()
        .filter_map(|index| drawn.get(index))
        .map(|(epsilon, counts)| {
            let mut shares = share(counts);
            shares.resize(levels, 0.0);
            shares.truncate(levels);
            (format!("drawn, ε = {epsilon}"), shares)
        })
        .collect();
    let shares = curves
        .iter()
        .flat_map(|(_, shares)| shares)
        .chain(all.iter().take(levels));
    let most = shares.copied().fold(1.0, f64::max);
    svg((480, 340), |root| {
        let mut chart = ChartBuilder::on(root)
            .margin(10)
            .x_label_area_size(44)
            .y_label_area_size(50)
            .build_cartesian_2d(-0.5..end, 0.0..most * 1.05)?;
        chart
            .configure_mesh()
            .disable_x_mesh()
            .light_line_style(TRANSPARENT)
            .bold_line_style(RGBColor(225, 225, 225))
            .label_style(("sans-serif", 15))
            .x_desc("levels above the best")
            .y_desc("share (%)")
            .x_label_formatter(&|x| format!("{x:.0}"))
            .y_label_formatter(&|y| format!("{y:.0}"))
            .draw()?;
        let grey = RGBColor(200, 200, 200);
        let bars = (0..).zip(&all).map(|(level, share)| {
            let corners = [
                (f64::from(level) - 0.4, 0.0),
                (f64::from(level) + 0.4, *share),
            ];
            Rectangle::new(corners, grey.filled())
        });
        let bars = bars.take(levels);
        chart
            .draw_series(bars)?
            .label("all candidates")
            .legend(move |(x, y)| Rectangle::new([(x, y - 5), (x + 16, y + 5)], grey.filled()));
        for ((name, shares), colour) in curves.iter().zip(COLOURS) {
            let points = (0..).map(f64::from).zip(shares.iter().copied());
            let points: Vec<(f64, f64)> = points.collect();
            let line = colour.stroke_width(2);
            let size = if levels > 24 { 0 } else { 3 };
            chart
                .draw_series(LineSeries::new(points, line).point_size(size))?
                .label(name.as_str())
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], line));
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperRight)
            .background_style(WHITE.mix(0.8))
            .label_font(("sans-serif", 15))
            .draw()?;
        Ok(())
    })
}
