//! Reports of the experiments on vectors: CSV tables and an HTML page.

use std::path::Path;

use undertone_core::epsilon::Epsilon;
use undertone_report::{
    Axis, Cell, Column, Csv, DrawError, Line, Page, Plot, Point, Range, Table, number,
};

use super::tasks::Protocol;
use super::{Bench, Known, Measured, Options, Scope, value};
use crate::documents::Role;
use crate::documents::report::{columns_of, look};
use crate::metrics::MeanSd;
use undertone::error::{Error, Result};
use undertone::files::folder;
use undertone::release::document::epsilon_f64;

/// All results of a run.
pub struct Report<'a> {
    /// Settings of the run.
    pub options: &'a Options,
    /// The command line that repeats the run.
    pub command: String,
    /// The mechanisms.
    pub bench: &'a Bench<'a>,
    /// The results.
    pub measured: &'a Measured,
}

/// One row of a table: a mechanism, with a mean for each ε.
struct Row<'a> {
    name: &'a str,
    role: Role,
    /// ε, mean and chosen setting.
    cells: Vec<(Epsilon, MeanSd, &'a str)>,
}

impl Report<'_> {
    /// Makes the folder `out` if it is missing, and checks that files can be written there.
    ///
    /// # Errors
    /// [`ErrorKind::Io`](undertone::error::ErrorKind::Io) or
    /// [`ErrorKind::Argument`](undertone::error::ErrorKind::Argument).
    pub fn check(out: &Path) -> Result<()> {
        folder::check(out, Page::FILE)
    }

    /// Writes `projections.csv`, `signal-to-noise.csv`, `pairs.csv`, `words.csv`, `tasks.csv`,
    /// `timings.csv` and `report.html` into the folder `out`.
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
            ("projections.csv", self.projections()),
            ("signal-to-noise.csv", self.signal_to_noise()),
            ("pairs.csv", self.pairs()),
            ("words.csv", self.words()),
            ("tasks.csv", self.tasks()),
            ("timings.csv", self.timings()),
            (Page::FILE, self.page().map_err(Error::plot)?),
        ];
        folder::write(out, &files)
    }

    fn projections(&self) -> String {
        let mut csv = Csv::new(
            "projection,m,beta,claimed,largest_over_vocabulary,certified_for_vocabulary,word,\
             other_word,pairs,equal_pairs,certified_for_every_vector,norm,\
             share_of_squared_distances",
        );
        for known in &self.bench.known {
            let Known {
                kind,
                projection,
                beta,
                certificate,
                every,
                norm,
                share,
            } = known;
            let (a, b) = certificate.pair;
            let text = |x: Option<f64>| x.map(|x| x.to_string()).unwrap_or_default();
            csv.row(&[
                kind,
                &projection.outputs(),
                &text(*beta),
                &text(beta.map(|beta| 1.0 + beta)),
                &format!("{:.9}", certificate.maximum),
                &certificate.sensitivity,
                &self.bench.name(a),
                &self.bench.name(b),
                &certificate.pairs,
                &certificate.equal,
                every,
                &format!("{norm:.6}"),
                &format!("{share:.6}"),
            ]);
        }
        csv.finish()
    }

    fn signal_to_noise(&self) -> String {
        let mut csv = Csv::new("mechanism,m,scope,sensitivity,epsilon,signal_to_noise");
        for snr in &self.measured.snr {
            let mechanism = &self.bench.mechanisms[snr.mechanism];
            for (epsilon, ratio) in &snr.ratios {
                csv.row(&[
                    &mechanism.name,
                    &mechanism.m,
                    &scope(mechanism.scope),
                    &mechanism.sensitivity,
                    epsilon,
                    &format!("{ratio:.6e}"),
                ]);
            }
        }
        csv.finish()
    }

    fn pairs(&self) -> String {
        let mut csv = Csv::new(
            "mechanism,setting,epsilon,distance_error_mean,distance_error_sd,distance_bound,\
             product_error_mean,product_error_sd,product_bound",
        );
        for score in &self.measured.pairs {
            let (distance, product) = (score.distance, score.product);
            let bound = |of: fn((f64, f64)) -> f64| {
                let bound = score.bounds.map(of).map(|x| x.to_string());
                bound.unwrap_or_default()
            };
            csv.row(&[
                &score.name,
                &score.setting,
                &score.epsilon,
                &format!("{:.6}", distance.mean),
                &format!("{:.6}", distance.sd),
                &bound(|bounds| bounds.0),
                &format!("{:.6}", product.mean),
                &format!("{:.6}", product.sd),
                &bound(|bounds| bounds.1),
            ]);
        }
        csv.finish()
    }

    fn words(&self) -> String {
        let mut csv =
            Csv::new("mechanism,setting,epsilon,trials,accuracy_mean,accuracy_sd,auc_mean,auc_sd");
        for score in &self.measured.words {
            let (accuracy, auc) = (score.accuracy, score.auc);
            csv.row(&[
                &score.name,
                &score.setting,
                &score.epsilon,
                &self.options.trials,
                &format!("{:.5}", accuracy.mean),
                &format!("{:.5}", accuracy.sd),
                &format!("{:.5}", auc.mean),
                &format!("{:.5}", auc.sd),
            ]);
        }
        csv.finish()
    }

    fn tasks(&self) -> String {
        let mut csv = Csv::new(
            "task,noise,mechanism,setting,epsilon,runs,train_accuracy_mean,train_accuracy_sd,\
             test_accuracy_mean,test_accuracy_sd",
        );
        for score in &self.measured.tasks {
            let (train, test) = (score.train, score.test);
            csv.row(&[
                &score.task,
                &score.protocol,
                &score.name,
                &score.setting,
                &self.options.task_epsilon,
                &self.options.runs,
                &format!("{:.5}", train.mean),
                &format!("{:.5}", train.sd),
                &format!("{:.5}", test.mean),
                &format!("{:.5}", test.sd),
            ]);
        }
        csv.finish()
    }

    fn timings(&self) -> String {
        let mut csv = Csv::new("step,seconds");
        for (step, time) in &self.measured.timings {
            csv.row(&[step, &format!("{:.3}", time.as_secs_f64())]);
        }
        csv.finish()
    }

    fn page(&self) -> Result<String, DrawError> {
        let vectors = self.bench.vectors;
        let mut page = Page::new("Private word vectors");
        page.paragraph(&format!(
            "Vectors of public words are released with noise for metric privacy, at ε per unit of Euclidean distance \
             between the vectors as they are (mean norm {}), and compared with the originals. <b>M1</b> adds noise \
             to the vector itself. <b>M2</b> first projects to fewer, Gaussian directions and <em>claims</em> that \
             distances grow by a factor of at most 1 + β. The others project to principal directions of the \
             vocabulary, or to random ones, and scale their noise by a factor that is <em>certified</em>, for the \
             words of this vocabulary or for every vector. All draw from the same noise engine.",
            number::number(mean_norm(&vectors.vectors, vectors.dimension)),
        ));
        page.facts(&[(
            "vectors",
            format!(
                "{}: {} words, {} coordinates",
                vectors.name,
                number::count(vectors.words.len() as u64),
                vectors.dimension
            ),
        )]);
        page.repeat(self.options.seed, &self.command);
        self.projection_section(&mut page);
        self.snr_section(&mut page);
        self.pair_sections(&mut page)?;
        self.word_sections(&mut page)?;
        if !self.options.tasks.is_empty() {
            self.task_section(&mut page);
        }
        page.heading(2, "Time");
        let columns = [Column::Text("step"), Column::Number("time")];
        let mut table = Table::new("Times of steps", &columns);
        for (step, time) in &self.measured.timings {
            table.row(vec![step.into(), number::time(*time).into()]);
        }
        page.table(&table);
        Ok(page.finish())
    }

    fn projection_section(&self, page: &mut Page) {
        page.heading(2, "How far projections stretch distances");
        page.paragraph(
            "The largest ‖Φ(v−w)‖/‖v−w‖: what is claimed, what it is over all pairs of words, and for every vector. \
             If the claim is below the largest stretch, the stated ε does not hold.",
        );
        let columns = [
            Column::Text("projection"),
            Column::Number("m"),
            Column::Number("claimed"),
            Column::Number("vocabulary"),
            Column::Text("by the words"),
            Column::Number("‖Φ‖"),
            Column::Number("certified for every vector"),
            Column::Text("claim holds for"),
            Column::Number("squared distances kept (%)"),
        ];
        let mut table = Table::new("How far projections stretch distances", &columns);
        let number = |x: f64| Cell::from(number::digits(x, 4));
        for known in &self.bench.known {
            let claimed = known.beta.map(|beta| 1.0 + beta);
            let holds: Cell = claimed.map_or("".into(), |claimed| {
                if known.norm <= claimed {
                    "every vector".into()
                } else if value(known.certificate.sensitivity) <= claimed {
                    "the vocabulary only".into()
                } else {
                    Cell::from("neither").strong()
                }
            });
            let (a, b) = known.certificate.pair;
            table.row(vec![
                known.kind.to_string().into(),
                known.projection.outputs().to_string().into(),
                claimed.map_or("–".into(), number),
                number(value(known.certificate.sensitivity)),
                Cell::from_iter([self.bench.name(a), self.bench.name(b)]),
                number(known.norm),
                number(value(known.every)),
                holds,
                number::percent(known.share).into(),
            ]);
        }
        page.table(&table);
    }

    fn snr_section(&self, page: &mut Page) {
        page.heading(2, "Signal to noise");
        page.paragraph(
            "E‖Φ(x−x′)‖² / E‖κ−κ′‖² for words x, x′ drawn uniformly and independent noise κ, κ′: how far apart two \
             words are in the release, relative to two releases of one word. More is better at equal \
             m. Fewer directions always have a higher ratio, and say less.",
        );
        let mut columns = vec![Column::Text("mechanism".to_owned())];
        columns.extend(columns_of("ε", &self.options.epsilons));
        columns.extend(["m", "Δ of the noise"].map(|name| Column::Number(name.to_owned())));
        columns.push(Column::Text("Δ holds for".to_owned()));
        let mut table = Table::new("Signal to noise by ε", &columns);
        for snr in &self.measured.snr {
            let mechanism = &self.bench.mechanisms[snr.mechanism];
            let mut cells = vec![Cell::from(&mechanism.name)];
            let ratios = snr.ratios.iter().map(|(_, ratio)| number::number(*ratio));
            cells.extend(ratios.map(Cell::from));
            cells.push(mechanism.m.to_string().into());
            cells.push(number::digits(value(mechanism.sensitivity), 4).into());
            cells.push(scope(mechanism.scope).into());
            table.row(cells);
        }
        page.table(&table);
    }

    fn pair_sections(&self, page: &mut Page) -> Result<(), DrawError> {
        let words = number::count(self.options.words as u64);
        let rows = |of: fn(&super::PairScore) -> MeanSd| {
            self.rows(&self.measured.pairs, |score| {
                (
                    &score.name,
                    score.role,
                    score.epsilon,
                    of(score),
                    &score.setting,
                )
            })
        };
        page.heading(2, "Distances");
        page.paragraph(&format!(
            "|‖wᵢ−wⱼ‖ − ‖xᵢ−xⱼ‖| between releases w of {words} × {words} pairs of words and the words x. Lower is \
             better. The number of principal directions is chosen for each ε on other words of the vocabulary. “Read \
             through a line”: a public straight line, fitted on other words, turns noisy distances into distances."
        ));
        let distances = rows(|score| score.distance);
        self.panel(page, &distances, "error of distances", Unit::Plain)?;
        page.heading(2, "Inner products");
        page.paragraph("|⟨wᵢ, wⱼ⟩ − ⟨xᵢ, xⱼ⟩| of the same pairs. Lower is better.");
        let products = rows(|score| score.product);
        self.panel(page, &products, "error of inner products", Unit::Plain)
    }

    fn word_sections(&self, page: &mut Page) -> Result<(), DrawError> {
        page.heading(2, "Positive and negative words");
        page.paragraph(&format!(
            "{} words of each class. A logistic regression learns from the releases of four fifths of them and is \
             tested on the releases of the rest; {} trials. Penalty and number of directions are chosen on a fifth \
             of the words learned from. “Best reading”: coordinates, or the posterior mean of the words' first {} \
             principal coordinates, with all words equally likely beforehand.",
            number::count(self.measured.opinion_words as u64),
            self.options.trials,
            self.bench.features.len() / self.bench.vectors.words.len(),
        ));
        let rows = |of: fn(&super::WordScore) -> MeanSd| {
            self.rows(&self.measured.words, |score| {
                (
                    &score.name,
                    score.role,
                    score.epsilon,
                    of(score),
                    &score.setting,
                )
            })
        };
        let accuracy = rows(|score| score.accuracy);
        self.panel(page, &accuracy, "accuracy (%)", Unit::Percent)?;
        page.heading(3, "Area under the curve");
        page.paragraph("Of true against false positives.");
        self.panel(
            page,
            &rows(|score| score.auc),
            "area under the curve (%)",
            Unit::Percent,
        )
    }

    /// Groups scores by mechanism, in order of first appearance.
    fn rows<'s, S>(
        &self,
        scores: &'s [S],
        of: impl Fn(&'s S) -> (&'s String, Role, Epsilon, MeanSd, &'s String),
    ) -> Vec<Row<'s>> {
        let mut rows: Vec<Row<'s>> = Vec::new();
        for score in scores {
            let (name, role, epsilon, mean, setting) = of(score);
            let cell = (epsilon, mean, setting.as_str());
            match rows.iter_mut().find(|row| row.name == name) {
                Some(row) => row.cells.push(cell),
                None => rows.push(Row {
                    name,
                    role,
                    cells: vec![cell],
                }),
            }
        }
        rows
    }

    /// Adds a plot and a table to the page.
    fn panel(
        &self,
        page: &mut Page,
        rows: &[Row<'_>],
        what: &str,
        unit: Unit,
    ) -> Result<(), DrawError> {
        let (factor, range) = match unit {
            Unit::Plain => (1.0, Range::Logarithmic),
            Unit::Percent => (100.0, Range::Percent),
        };
        let line = |row: &Row<'_>| Line {
            name: row.name.to_owned(),
            look: look(row.role),
            points: row
                .cells
                .iter()
                .map(|(epsilon, y, _)| {
                    Point::spread(epsilon_f64(*epsilon), factor * y.mean, factor * y.sd)
                })
                .collect(),
        };
        let plot = Plot {
            x: Axis {
                label: "ε per unit of distance",
                range: Range::Logarithmic,
            },
            y: Axis { label: what, range },
            lines: rows.iter().map(line).collect(),
        };
        page.figure(
            "Means by ε; bands are ± one standard deviation.",
            &plot.draw()?,
        );
        let mut columns = vec![Column::Text("mechanism".to_owned())];
        columns.extend(columns_of("ε", &self.options.epsilons));
        let mut table = Table::new(what, &columns);
        for row in rows {
            let cell = |(_, y, setting): &(Epsilon, MeanSd, &str)| {
                let text = match unit {
                    Unit::Plain => number::spread(y.mean, y.sd),
                    Unit::Percent => number::percent_spread(y.mean, y.sd),
                };
                Cell::from(text).note(setting)
            };
            let mut cells = vec![Cell::from(row.name)];
            cells.extend(row.cells.iter().map(cell));
            table.row_marked(row.role == Role::Default, cells);
        }
        page.table(&table);
        Ok(())
    }

    fn task_section(&self, page: &mut Page) {
        let options = self.options;
        page.heading(2, &format!("Sentences, ε = {}", options.task_epsilon));
        page.paragraph(&format!(
            "A sentence is the mean of its words' private vectors. A logistic regression learns from private \
             sentences and is tested on private sentences. Accuracy on the test set in per cent, mean ± standard \
             deviation over {} folds (as many releases where there is a test set), and below it the accuracy on the \
             training set. Penalty and number of directions are chosen on a fifth of what is learned from. “Best \
             reading”: coordinates, or the posterior mean of the words' features under frequencies of a public \
             corpus (SUBJ). Words without a vector are left out.",
            options.runs
        ));
        for protocol in Protocol::ALL {
            let (heading, text) = match protocol {
                Protocol::Table => (
                    "Every word gets its noise once",
                    "As published: a private table of word vectors, used for all sentences. The classifier learns \
                     each word's noise by heart, so noise in many dimensions serves as a name of the word. Anyone \
                     who has the table can read the words of a sentence off its vector.",
                ),
                Protocol::Fresh => (
                    "Every occurrence gets its own noise",
                    "What users send who release their own sentences, word by word.",
                ),
            };
            page.heading(3, heading);
            page.paragraph(text);
            let mut columns = vec![Column::Text("mechanism".to_owned())];
            let tasks = options.tasks.iter().map(ToString::to_string);
            columns.extend(tasks.map(Column::Number));
            let mut table = Table::new(&format!("Accuracy (%) by task. {heading}"), &columns);
            let of_protocol = || {
                self.measured
                    .tasks
                    .iter()
                    .filter(|score| score.protocol == protocol)
            };
            let first = options.tasks.first();
            for row in of_protocol().filter(|score| Some(&score.task) == first) {
                let mut cells = vec![Cell::from(&row.name)];
                let own = of_protocol().filter(|score| score.name == row.name);
                cells.extend(own.map(|score| {
                    Cell::from(number::percent_spread(score.test.mean, score.test.sd))
                        .note(&format!("training {}", number::percent(score.train.mean)))
                        .note(&score.setting)
                }));
                table.row_marked(row.role == Role::Default, cells);
            }
            page.table(&table);
        }
    }
}

/// The unit of a table.
#[derive(Clone, Copy)]
enum Unit {
    Plain,
    /// Shares, printed in per cent.
    Percent,
}

fn scope(scope: Scope) -> &'static str {
    match scope {
        Scope::Every => "every vector",
        Scope::Vocabulary => "the vocabulary",
        Scope::Claimed => "claimed",
    }
}

fn mean_norm(vectors: &[f32], dimension: usize) -> f64 {
    let rows = vectors.chunks_exact(dimension);
    let n = rows.len() as f64;
    let norms = rows.map(|row| {
        row.iter()
            .map(|x| f64::from(*x).powi(2))
            .sum::<f64>()
            .sqrt()
    });
    norms.sum::<f64>() / n
}
