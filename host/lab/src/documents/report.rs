//! Reports of the experiment on documents: CSV tables and an HTML page.

use std::fmt::Display;
use std::path::Path;
use std::time::Duration;

use undertone_core::epsilon::Epsilon;
use undertone_report::{
    Axis, Cell, Column, Csv, DrawError, Line, Look, Page, Plot, Range, Table, escape, number,
};

use crate::documents::cost::Cost;
use crate::documents::data::Data;
use crate::documents::{Histogram, Measured, Options, Point, Role};
use undertone::error::{Error, Result};
use undertone::files::folder;
use undertone::release::document::epsilon_f64;

/// All results of a run.
pub struct Report {
    /// Settings of the run.
    pub options: Options,
    /// The command line that repeats the run.
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
    /// Numbers of documents: training, validation, test, and left out as too short.
    pub documents: [usize; 4],
    /// Number of sentences of all used documents.
    pub sentences: usize,
    /// Time to read and encode, or to read the cache.
    pub encoding: Duration,
    /// Time to train classifiers and to pack.
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
    /// Makes the folder `out` if it is missing, and checks that files can be written there.
    ///
    /// # Errors
    /// [`ErrorKind::Io`](undertone::error::ErrorKind::Io) or
    /// [`ErrorKind::Argument`](undertone::error::ErrorKind::Argument).
    pub fn check(out: &Path) -> Result<()> {
        folder::check(out, Page::FILE)
    }

    /// Writes `f1-vs-epsilon.csv`, `f1-vs-sentences.csv`, `histograms.csv`, `privacy-loss.csv`,
    /// `timings.csv`, `encoders.csv` and `report.html` into the folder `out`.
    ///
    /// All texts are made before the first file is written. Each file is written whole, the page
    /// last; if the disk is full, the old files remain. Files of these names are replaced; others
    /// stay.
    ///
    /// # Errors
    /// [`ErrorKind::Io`](undertone::error::ErrorKind::Io) or
    /// [`ErrorKind::Argument`](undertone::error::ErrorKind::Argument);
    /// [`ErrorKind::Experiment`](undertone::error::ErrorKind::Experiment).
    pub fn write(&self, out: &Path) -> Result<()> {
        let files = [
            ("f1-vs-epsilon.csv", self.by_epsilon()),
            ("f1-vs-sentences.csv", self.by_sentences()),
            ("histograms.csv", self.histograms()),
            ("privacy-loss.csv", self.losses()),
            ("timings.csv", self.timings()),
            ("encoders.csv", self.encoders()),
            (Page::FILE, self.page().map_err(Error::plot)?),
        ];
        folder::write(out, &files)
    }

    /// Each mechanism with its task.
    fn all(&self) -> impl Iterator<Item = (&TaskReport, &Measured)> {
        let of_task = |task| std::iter::repeat(task);
        self.tasks
            .iter()
            .flat_map(move |task| of_task(task).zip(&task.measured))
    }

    fn by_epsilon(&self) -> String {
        let mut csv = Csv::new(
            "task,encoder,mechanism,setting,epsilon,trials,macro_f1_mean,macro_f1_sd,\
             accuracy_mean,accuracy_sd",
        );
        for (task, measured) in self.all() {
            for point in &measured.by_epsilon {
                row(&mut csv, task, measured, point, &[&point.x]);
            }
        }
        csv.finish()
    }

    fn by_sentences(&self) -> String {
        let mut csv = Csv::new(
            "task,encoder,mechanism,setting,epsilon,sentences,trials,macro_f1_mean,macro_f1_sd,\
             accuracy_mean,accuracy_sd",
        );
        for (task, measured) in self.all() {
            for point in &measured.by_sentences {
                let x: [&dyn Display; 2] = [&self.options.fixed_epsilon, &point.x];
                row(&mut csv, task, measured, point, &x);
            }
        }
        csv.finish()
    }

    fn histograms(&self) -> String {
        let mut csv = Csv::new("task,encoder,mechanism,which,epsilon,level_above_best,count");
        for (task, measured) in self.all() {
            let Some(histogram) = &measured.histogram else {
                continue;
            };
            let mut add = |which: &str, epsilon: &dyn Display, counts: &[u64]| {
                let (encoder, name) = (&measured.encoder, &measured.name);
                for (level, count) in counts.iter().enumerate() {
                    csv.row(&[&task.name, encoder, name, &which, epsilon, &level, count]);
                }
            };
            add("all candidates", &"", &histogram.all);
            for (epsilon, counts) in &histogram.drawn {
                add("drawn", epsilon, counts);
            }
        }
        csv.finish()
    }

    fn losses(&self) -> String {
        let mut csv = Csv::new(
            "task,encoder,mechanism,epsilon,worst_loss,guess_mean,guess_worst,guess_bound,pairs",
        );
        for (task, measured) in self.all() {
            for loss in &measured.losses {
                let worst = format!("{:.9}", loss.worst);
                let (encoder, name) = (&measured.encoder, &measured.name);
                csv.row(&[
                    &task.name,
                    encoder,
                    name,
                    &loss.epsilon,
                    &worst,
                    &format!("{:.6}", loss.guessed[0]),
                    &format!("{:.6}", loss.guessed[1]),
                    &format!("{:.6}", guess_bound(loss.epsilon)),
                    &loss.pairs,
                ]);
            }
        }
        csv.finish()
    }

    fn timings(&self) -> String {
        let mut csv = Csv::new("task,encoder,mechanism,step,seconds");
        for task in &self.tasks {
            for (step, time) in [
                ("read and encode", task.encoding),
                ("train and pack", task.preparing),
            ] {
                let seconds = format!("{:.6}", time.as_secs_f64());
                csv.row(&[&task.name, &task.encoder, &"", &step, &seconds]);
            }
            for measured in &task.measured {
                for (step, time) in [
                    ("choose a setting", measured.tuning),
                    ("release and classify a document", measured.per_release),
                ] {
                    let seconds = format!("{:.9}", time.as_secs_f64());
                    csv.row(&[
                        &task.name,
                        &measured.encoder,
                        &measured.name,
                        &step,
                        &seconds,
                    ]);
                }
            }
        }
        csv.finish()
    }

    fn encoders(&self) -> String {
        let mut csv = Csv::new("task,encoder,pack_bytes,seconds_per_sentence");
        for task in &self.tasks {
            for cost in &task.costs {
                let seconds = format!("{:.9}", cost.sentence.as_secs_f64());
                csv.row(&[&task.name, &cost.encoder, &cost.pack, &seconds]);
            }
        }
        csv.finish()
    }

    fn page(&self) -> Result<String, DrawError> {
        let options = &self.options;
        let epsilons: Vec<String> = options.epsilons.iter().map(Epsilon::to_string).collect();
        let mut page = Page::new("What is left of a document after its release");
        page.paragraph(&format!(
            "Each test document of a public, labelled corpus is released once for each ε and each trial. A \
             classifier, trained on the means of public sentence vectors, then guesses the document's class from \
             the release alone. Higher is better. Numbers are means ± standard deviations over {} trials, in per \
             cent. Settings of a mechanism (such as the number of directions p) are chosen for each ε on \
             validation documents, which are neither trained nor tested on.",
            options.trials
        ));
        page.facts(&[
            (
                "ε",
                format!(
                    "{}; documents are cut at ε = {}",
                    epsilons.join(", "),
                    options.fixed_epsilon
                ),
            ),
            (
                "candidates",
                format!(
                    "at most {} training documents of at least {} sentences",
                    number::count(options.candidates as u64),
                    options.min_sentences
                ),
            ),
        ]);
        page.repeat(options.seed, &self.command);
        for task in &self.tasks {
            self.section(&mut page, task)?;
        }
        Ok(page.finish())
    }

    fn section(&self, page: &mut Page, task: &TaskReport) -> Result<(), DrawError> {
        let [train, validation, test, left_out] = task.documents.map(|n| number::count(n as u64));
        page.heading(2, &task.name);
        page.paragraph(&format!(
            "{train} training, {validation} validation and {test} test documents; {left_out} documents with fewer \
             than {} sentences are left out. {} sentences. {} classes: {}. Encoder: {}.",
            crate::documents::data::LEAST_SENTENCES,
            number::count(task.sentences as u64),
            task.classes.len(),
            escape(&task.classes.join(", ")),
            escape(&task.encoder),
        ));

        self.curves(page, task)?;
        selections(page, task)?;

        page.heading(3, "Privacy loss, computed");
        page.paragraph(
            "The largest change of the logarithm of a release's probability when one sentence is replaced, over \
             some neighbouring test documents, from the exact law of the selection. It must not exceed ε.",
        );
        page.table(&self.loss_table(task));
        page.paragraph(
            "How often the best guess is right at which of two such neighbours was released, if both are equally likely, in \
             per cent: on average over the pairs, and below it for the pair where it is right most often. No attacker is \
             better, and by the promise none is right more often than e^ε/(1 + e^ε).",
        );
        page.table(&self.guess_table(task));

        page.heading(3, "What an encoder costs a device");
        page.paragraph(
            "The pack has the heads of the labels, and the lexicon if that is the encoder; a neural encoder comes \
             on top. A sentence: median time to encode one, on one thread.",
        );
        page.table(&cost_table(&task.costs));

        promises(page, task);
        Ok(())
    }

    /// Macro F₁ by ε and by the number of sentences.
    fn curves(&self, page: &mut Page, task: &TaskReport) -> Result<(), DrawError> {
        let options = &self.options;
        page.heading(3, "Macro F1 against ε");
        let by_epsilon = lines(&task.measured, |m| &m.by_epsilon, |x| epsilon_f64(*x));
        page.figure(
            "Macro F1 on whole test documents. Bands are ± one standard deviation.",
            &plot("ε", by_epsilon).draw()?,
        );
        page.table(&table("ε", &task.measured, &options.epsilons, |m| {
            &m.by_epsilon
        }));

        page.heading(
            3,
            &format!(
                "Macro F1 against the number of sentences, ε = {}",
                options.fixed_epsilon
            ),
        );
        let by_length = lines(&task.measured, |m| &m.by_sentences, |k| *k as f64);
        page.figure(
            "Macro F1 with each test document cut to its first k sentences; shorter documents are whole. \
             Bands are ± one standard deviation.",
            &plot("k, first sentences of a document", by_length).draw()?,
        );
        let first = task.measured.first();
        let lengths = first.map(|m| m.by_sentences.iter().map(|point| point.x).collect());
        let lengths: Vec<usize> = lengths.unwrap_or_default();
        page.table(&table("k", &task.measured, &lengths, |m| &m.by_sentences));
        Ok(())
    }

    fn loss_table(&self, task: &TaskReport) -> Table {
        let mut columns = vec![Column::Text("mechanism".to_owned())];
        columns.extend(columns_of("ε", &self.options.epsilons));
        columns.push(Column::Number("pairs".to_owned()));
        let mut table = Table::new("Privacy loss by ε", &columns);
        for measured in task.measured.iter().filter(|m| !m.losses.is_empty()) {
            let mut cells = vec![Cell::from(&measured.name)];
            let losses = measured
                .losses
                .iter()
                .map(|loss| number::digits(loss.worst, 4));
            cells.extend(losses.map(Cell::from));
            let pairs = measured.losses.first().map_or(0, |loss| loss.pairs);
            cells.push(number::count(pairs as u64).into());
            table.row_marked(measured.role == Role::Default, cells);
        }
        table
    }

    fn guess_table(&self, task: &TaskReport) -> Table {
        let mut columns = vec![Column::Text("mechanism".to_owned())];
        columns.extend(columns_of("ε", &self.options.epsilons));
        let mut table = Table::new("Right guesses at one of two neighbours (%) by ε", &columns);
        let percent = |share: f64| number::digits(100.0 * share, 4);
        for measured in task.measured.iter().filter(|m| !m.losses.is_empty()) {
            let mut cells = vec![Cell::from(&measured.name)];
            let guessed = measured.losses.iter().map(|loss| loss.guessed.map(percent));
            cells.extend(guessed.map(|[mean, worst]| Cell::from(mean).note(&worst)));
            table.row_marked(measured.role == Role::Default, cells);
        }
        let mut cells = vec![Cell::from("at most")];
        let bounds = self
            .options
            .epsilons
            .iter()
            .map(|epsilon| percent(guess_bound(*epsilon)));
        cells.extend(bounds.map(Cell::from));
        table.row(cells);
        table
    }
}

/// The largest share of right guesses between two neighbours that the guarantee allows: (1 + (e^ε −
/// 1)/(e^ε + 1))/2.
fn guess_bound(epsilon: Epsilon) -> f64 {
    1.0 / (1.0 + (-epsilon_f64(epsilon)).exp())
}

/// Adds the distances of selected candidates from the best ones to the page.
fn selections(page: &mut Page, task: &TaskReport) -> Result<(), DrawError> {
    page.heading(3, "Where selection lands");
    page.paragraph(
        "How many levels a candidate lies above the best one: all candidates of all test documents, and the ones \
         drawn. Each line gives the share of candidates up to a level. A selection works at an ε if its line reaches the top near \
         level 0 while that of all candidates stays low.",
    );
    let histograms = task.measured.iter().filter_map(|measured| {
        let histogram = measured.histogram.as_ref()?;
        Some(
            levels(histogram)
                .draw()
                .map(|figure| (measured.name.clone(), figure)),
        )
    });
    page.figures(&histograms.collect::<Result<Vec<_>, _>>()?);
    Ok(())
}

/// Adds the guarantee and the times of each mechanism to the page.
fn promises(page: &mut Page, task: &TaskReport) {
    page.heading(3, "What each mechanism promises, and how long it takes");
    let mut promises = Table::new(
        "Promises and times of mechanisms",
        &[
            Column::Text("mechanism"),
            Column::Text("promise"),
            Column::Number("release and classify"),
        ],
    );
    for measured in &task.measured {
        let time = number::time(measured.per_release);
        let cells = [&measured.name, &measured.promise, &time].map(Cell::from);
        promises.row_marked(measured.role == Role::Default, cells.into());
    }
    page.table(&promises);
    page.paragraph(&format!(
        "Times are for all cores. Reading and encoding (or reading the cache) took {}, training and packing {}.",
        number::time(task.encoding),
        number::time(task.preparing)
    ));
}

/// A row of one of the first two tables; `x` is the ε or the number of sentences.
fn row<X>(
    csv: &mut Csv,
    task: &TaskReport,
    measured: &Measured,
    point: &Point<X>,
    x: &[&dyn Display],
) {
    let (f1, accuracy) = (point.score.macro_f1, point.score.accuracy);
    let scores = [f1.mean, f1.sd, accuracy.mean, accuracy.sd].map(|score| format!("{score:.5}"));
    let mut row: Vec<&dyn Display> = vec![
        &task.name,
        &measured.encoder,
        &measured.name,
        &point.setting,
    ];
    row.extend(x);
    row.push(&measured.releases.1);
    row.extend(scores.iter().map(|score| score as &dyn Display));
    csv.row(&row);
}

fn cost_table(costs: &[Cost]) -> Table {
    let columns = [
        Column::Text("encoder"),
        Column::Number("pack"),
        Column::Number("a sentence"),
    ];
    let mut table = Table::new("Costs of encoders", &columns);
    for cost in costs {
        let pack = number::bytes(cost.pack as u64);
        let cells = [&cost.encoder, &pack, &number::time(cost.sentence)];
        table.row(cells.map(Cell::from).into());
    }
    table
}

/// The look of a curve, by the role of its mechanism.
pub(crate) fn look(role: Role) -> Look {
    match role {
        Role::Default => Look::Default,
        Role::Bound => Look::Bound,
        Role::Baseline => Look::Published,
        Role::Candidate => Look::Plain,
    }
}

/// A column for each value of `name`.
pub(crate) fn columns_of<X: Display>(name: &str, values: &[X]) -> Vec<Column<String>> {
    let heads = values.iter().map(|x| format!("{name} = {x}"));
    heads.map(Column::Number).collect()
}

/// Means ± standard deviations of macro F₁ in per cent, and the settings.
fn table<X: Display + PartialEq>(
    x: &str,
    measured: &[Measured],
    values: &[X],
    points: impl Fn(&Measured) -> &Vec<Point<X>>,
) -> Table {
    let mut columns = vec![Column::Text("mechanism".to_owned())];
    columns.extend(columns_of(x, values));
    let mut table = Table::new(&format!("Macro F1 (%) by {x}"), &columns);
    for measured in measured {
        let cell = |value: &X| {
            let Some(point) = points(measured).iter().find(|point| point.x == *value) else {
                return Cell::from("–");
            };
            let f1 = point.score.macro_f1;
            Cell::from(number::percent_spread(f1.mean, f1.sd)).note(&point.setting)
        };
        let mut cells = vec![Cell::from(&measured.name)];
        cells.extend(values.iter().map(cell));
        table.row_marked(measured.role == Role::Default, cells);
    }
    table
}

/// Lines of macro F₁ in per cent.
fn lines<'m, X: 'm>(
    measured: &'m [Measured],
    points: impl Fn(&'m Measured) -> &'m Vec<Point<X>>,
    value: impl Fn(&X) -> f64,
) -> Vec<Line> {
    let line = |measured: &'m Measured| Line {
        name: measured.name.clone(),
        look: look(measured.role),
        points: points(measured)
            .iter()
            .map(|point| {
                let f1 = &point.score.macro_f1;
                undertone_report::Point::spread(value(&point.x), 100.0 * f1.mean, 100.0 * f1.sd)
            })
            .collect(),
    };
    measured.iter().map(line).collect()
}

fn plot(x: &str, lines: Vec<Line>) -> Plot<'_> {
    Plot {
        x: Axis {
            label: x,
            range: Range::Logarithmic,
        },
        y: Axis {
            label: "macro F1 (%)",
            range: Range::Percent,
        },
        lines,
    }
}

/// Shares of candidates at most a given number of levels from the best one.
fn levels(histogram: &Histogram) -> Plot<'static> {
    let shares = |counts: &[u64]| -> Vec<f64> {
        let total = counts.iter().sum::<u64>().max(1) as f64;
        let mut sum = 0;
        let share = |n: &u64| {
            sum += n;
            100.0 * sum as f64 / total
        };
        counts.iter().map(share).collect()
    };
    // The plot ends where it covers 99 % of the draws at the smallest ε.
    let widest = histogram.drawn.first().map(|(_, counts)| shares(counts));
    let shown = widest.iter().flatten().take_while(|share| **share < 99.0);
    let levels = shown.count().max(7) + 2;
    let line = |name: String, look, counts: &[u64]| {
        let mut shares = shares(counts);
        shares.resize(levels, 100.0);
        let points = (0..)
            .zip(shares)
            .map(|(level, share)| undertone_report::Point::bare(f64::from(level), share));
        Line {
            name,
            look,
            points: points.collect(),
        }
    };
    // Shows the smallest, the middle and the largest ε.
    let drawn = &histogram.drawn;
    let mut few = vec![0, drawn.len() / 2, drawn.len().saturating_sub(1)];
    few.dedup();
    let few = few.into_iter().filter_map(|index| drawn.get(index));
    let mut lines: Vec<Line> = few
        .map(|(epsilon, counts)| line(format!("drawn, ε = {epsilon}"), Look::Plain, counts))
        .collect();
    lines.push(line(
        "all candidates".to_owned(),
        Look::Bound,
        &histogram.all,
    ));
    Plot {
        x: Axis {
            label: "levels above the best, at most",
            range: Range::Whole,
        },
        y: Axis {
            label: "candidates (%)",
            range: Range::FromZero,
        },
        lines,
    }
}
