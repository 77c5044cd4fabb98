//! The results of an evaluation as files: tables for programs, one page for people.

use std::fmt::{Display, Write as _};
use std::path::Path;
use std::time::Duration;

use plotters::prelude::*;
use undertone_core::epsilon::Epsilon;

use crate::documents::cost::Cost;
use crate::documents::data::Data;
use crate::documents::{Histogram, Measured, Options, Point, Role};
use undertone::error::Result;
use undertone::page::{
    self, COLOURS, Curve, GREYS, HIGHLIGHT, PAGE, Scale, Style, curves, escape, fields, figure,
    head, svg,
};
use undertone::release::document::number;

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
    /// The encoders.
    pub costs: Vec<Cost>,
}

impl TaskReport {
    /// The results of `data`.
    pub fn new(
        data: &Data,
        encoding: Duration,
        preparing: Duration,
        measured: Vec<Measured>,
        costs: Vec<Cost>,
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
            costs,
        }
    }
}

impl Report {
    /// Makes the folder `out`, if it is not there, and says now whether files can be written there.
    ///
    /// # Errors
    /// [`undertone::Error::Io`] or [`undertone::Error::OutputPath`].
    pub fn check(out: &Path) -> Result<()> {
        page::check(out)
    }

    /// Writes `f1-vs-epsilon.csv`, `f1-vs-sentences.csv`, `histograms.csv`, `privacy-loss.csv`,
    /// `timings.csv`, `encoders.csv` and `report.html` into the folder `out`.
    ///
    /// Everything is there before the first file is written; each file appears whole, the page last; a full
    /// disk leaves the old ones.
    /// Files of these names are replaced, others are left alone.
    ///
    /// # Errors
    /// [`undertone::Error::Io`] or [`undertone::Error::OutputPath`]; [`undertone::Error::Plot`].
    pub fn write(&self, out: &Path) -> Result<()> {
        let files = [
            ("f1-vs-epsilon.csv", self.by_epsilon()),
            ("f1-vs-sentences.csv", self.by_sentences()),
            ("histograms.csv", self.histograms()),
            ("privacy-loss.csv", self.losses()),
            ("timings.csv", self.timings()),
            ("encoders.csv", self.encoders()),
            (PAGE, self.page()?),
        ];
        page::write(out, &files)
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
            measured.releases.1, f1.mean, f1.sd, accuracy.mean, accuracy.sd
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

    fn encoders(&self) -> String {
        let mut csv = "task,encoder,pack_bytes,seconds_per_sentence\n".to_owned();
        for task in &self.tasks {
            for cost in &task.costs {
                let start = fields(&[&task.name, &cost.encoder]);
                let seconds = cost.sentence.as_secs_f64();
                let _ = writeln!(csv, "{start},{},{seconds:.9}", cost.pack);
            }
        }
        csv
    }

    fn page(&self) -> Result<String> {
        let options = &self.options;
        let epsilons: Vec<String> = options.epsilons.iter().map(Epsilon::to_string).collect();
        let mut body = format!(
            "<p>Each test document of a public, labelled corpus is released once for each ε and trial; a \
             classifier, trained on the means of public sentence vectors, then guesses its class from the \
             release alone. Higher is better. {} trials each, mean ± standard deviation, in percent. \
             Settings of a mechanism (such as the number of directions p) are chosen for each ε on \
             validation documents that are neither trained nor tested on.</p>\n\
             <dl>\n<dt>ε</dt><dd>{}; documents cut at ε = {}</dd>\n\
             <dt>candidates</dt><dd>at most {} training documents of at least {} sentences</dd>\n\
             {}</dl>\n",
            options.trials,
            epsilons.join(", "),
            options.fixed_epsilon,
            options.candidates,
            options.min_sentences,
            page::repeat(options.seed, &self.command),
        );
        for task in &self.tasks {
            body += &self.section(task)?;
        }
        Ok(page::page(
            "What is left of a document after its release",
            &body,
        ))
    }

    fn section(&self, task: &TaskReport) -> Result<String> {
        let [train, validation, test, left_out] = task.documents;
        let styles = styles(&task.measured);
        let mut page = format!(
            "<section>\n<h2>{}</h2>\n<p>{train} training, {validation} validation and {test} test \
             documents ({left_out} with fewer than {} sentences left out), {} sentences, {} classes: {}. \
             Encoder: {}.</p>\n",
            escape(&task.name),
            crate::documents::data::LEAST_SENTENCES,
            task.sentences,
            task.classes.len(),
            escape(&task.classes.join(", ")),
            escape(&task.encoder),
        );

        page += "<h3>Macro F1 against ε</h3>\n";
        page += &figure(
            "Macro F1 (%) against ε, test documents as they are.",
            &f1_curves(
                &task.measured,
                &styles,
                "ε",
                |measured| &measured.by_epsilon,
                |epsilon| number(*epsilon),
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
            &f1_curves(
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

        page += "<h3>What an encoder costs a device</h3>\n<p>Bytes of the pack with the heads of the labels, \
                 and with the lexicon if that is the encoder; a neural encoder comes on top. Encoding a \
                 sentence, on one thread, median.</p>\n<div class=\"wide\"><table>\n<tr><th>encoder</th>\
                 <th>pack</th><th>a sentence</th></tr>\n";
        for cost in &task.costs {
            let _ = writeln!(
                page,
                "<tr><td class=\"text\">{}</td><td>{} bytes</td><td>{:.1} µs</td></tr>",
                escape(&cost.encoder),
                cost.pack,
                cost.sentence.as_secs_f64() * 1e6
            );
        }
        page += "</table></div>\n";

        page += "<h3>What each mechanism promises, and how long it takes</h3>\n<div class=\"wide\">\
                 <table>\n<tr><th>mechanism</th><th class=\"text\">promise</th>\
                 <th>one release, classified (all cores)</th></tr>\n";
        for (measured, style) in task.measured.iter().zip(&styles) {
            let _ = writeln!(
                page,
                "<tr{}>{}<td class=\"text\">{}</td><td>{:.1} µs</td></tr>",
                highlight(measured),
                style.name(&measured.name),
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
        let _ = write!(
            html,
            "<tr{}>{}",
            highlight(measured),
            style.name(&measured.name)
        );
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

/// Curves of macro F₁ in per cent.
fn f1_curves<X>(
    measured: &[Measured],
    styles: &[Style],
    x_name: &str,
    points: impl Fn(&Measured) -> &Vec<Point<X>>,
    value: impl Fn(&X) -> f64,
) -> Result<String> {
    let all = measured.iter().zip(styles).map(|(measured, style)| Curve {
        name: &measured.name,
        style: *style,
        points: points(measured)
            .iter()
            .map(|point| {
                let f1 = point.score.macro_f1;
                (value(&point.x), 100.0 * f1.mean, 100.0 * f1.sd)
            })
            .collect(),
    });
    curves(&all.collect::<Vec<Curve<'_>>>(), x_name, Scale::Percent)
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
