//! Reports of the attacks: CSV tables and an HTML page.

use std::path::Path;

use undertone_core::epsilon::Epsilon;
use undertone_report::{
    Axis, Cell, Column, Csv, DrawError, Line, Look, Page, Plot, Point, Range, Table, number,
};

use super::{Options, SEVERAL, Tally, bags, vectors};
use crate::documents::report::columns_of;
use undertone::error::{Error, Result};
use undertone::files::folder;
use undertone::release::document::epsilon_f64;

/// All results of a run.
pub struct Report {
    /// Settings of the run.
    pub options: Options,
    /// The command line that repeats the run.
    pub command: String,
    /// The name of the word vectors.
    pub name: String,
    /// Size of the vocabulary of vectors.
    pub words: usize,
    /// Size of the vocabulary of bags.
    pub bag_words: usize,
    /// Attacks on vectors.
    pub vectors: Vec<vectors::Measured>,
    /// Attacks on bags.
    pub bags: Vec<bags::Measured>,
}

/// A row of a table, which is also a line of a plot.
struct Row {
    name: String,
    look: Look,
    /// By ascending ε: the share found by one guess, half its confidence interval, and a note.
    cells: Vec<(Epsilon, f64, f64, String)>,
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

    /// Writes `vectors.csv`, `bags.csv` and `report.html` into the folder `out`. Each file is
    /// written whole, the page last; if the disk is full, the old files remain.
    ///
    /// # Errors
    /// [`ErrorKind::Io`](undertone::error::ErrorKind::Io) or
    /// [`ErrorKind::Argument`](undertone::error::ErrorKind::Argument);
    /// [`ErrorKind::Experiment`](undertone::error::ErrorKind::Experiment).
    pub fn write(&self, out: &Path) -> Result<()> {
        let files = [
            ("vectors.csv", self.vector_table()),
            ("bags.csv", self.bag_table()),
            (Page::FILE, self.page().map_err(Error::plot)?),
        ];
        folder::write(out, &files)
    }

    /// Failed checks: attackers that exceed the bound, and exact attackers that are right more or
    /// less often than predicted.
    pub fn alarms(&self) -> Vec<String> {
        let of_vectors = self.vectors.iter().flat_map(|found| {
            let what = format!("{}, ε = {}", found.release, found.epsilon);
            found
                .tallies
                .iter()
                .flat_map(move |tally| alarms(tally, found.bounds[0], &what))
        });
        let of_bags = self.bags.iter().flat_map(|found| {
            let what = format!("{}, ε = {}", heading(found), found.epsilon);
            found
                .tallies
                .iter()
                .flat_map(move |tally| alarms(tally, found.bound(tally), &what))
        });
        of_vectors.chain(of_bags).collect()
    }

    fn vector_table(&self) -> String {
        let mut csv = Csv::new(
            "release,epsilon,attacker,words,found,found_sd,found_by_ten,expected,bound,bound_by_ten",
        );
        for found in &self.vectors {
            for tally in &found.tallies {
                csv.row(&[
                    &found.release,
                    &found.epsilon,
                    &tally.attacker,
                    &tally.groups,
                    &format!("{:.5}", tally.first.mean),
                    &format!("{:.5}", tally.first.sd),
                    &format!("{:.5}", tally.several.mean),
                    &tally
                        .expected
                        .map(|x| format!("{x:.5}"))
                        .unwrap_or_default(),
                    &format!("{:.6}", found.bounds[0]),
                    &format!("{:.6}", found.bounds[1]),
                ]);
            }
        }
        csv.finish()
    }

    fn bag_table(&self) -> String {
        let mut csv = Csv::new(
            "mechanism,size,epsilon,attacker,bags,found,found_sd,found_by_ten,expected,best_on_words,bound",
        );
        for found in &self.bags {
            for tally in &found.tallies {
                csv.row(&[
                    &found.mechanism_name(),
                    &found.size,
                    &found.epsilon,
                    &tally.attacker,
                    &tally.groups,
                    &format!("{:.5}", tally.first.mean),
                    &format!("{:.5}", tally.first.sd),
                    &format!("{:.5}", tally.several.mean),
                    &tally
                        .expected
                        .map(|x| format!("{x:.5}"))
                        .unwrap_or_default(),
                    &found
                        .best_alone
                        .map(|x| format!("{x:.6}"))
                        .unwrap_or_default(),
                    &format!("{:.6}", found.bound(tally)),
                ]);
            }
        }
        csv.finish()
    }

    fn page(&self) -> Result<String, DrawError> {
        let mut page = Page::new("Attackers on private words");
        page.paragraph(
            "What attackers find who want the words back. They know the vocabulary, the mechanism, its law and its ε, and how \
             frequent words are. <b>Chance</b> is the best guess without a release. The <b>exact posterior</b> is Bayes' rule \
             with the public law; for one release of one word no attacker is better. The <b>trained decoder</b> is a perceptron \
             that learned from releases of public words. The <b>bound</b> follows from the promise alone and holds for every \
             attacker. ε counts per unit of distance between the vectors of words.",
        );
        page.facts(&[
            ("vectors", self.name.clone()),
            (
                "vocabularies",
                format!(
                    "{} words for vectors, {} for bags",
                    number::count(self.words as u64),
                    number::count(self.bag_words as u64)
                ),
            ),
        ]);
        page.repeat(self.options.seed, &self.command);
        page.heading(2, "Checks");
        let alarms = self.alarms();
        page.paragraph(
            "Nobody is above the bound, and attackers whose success follows from the law have it. Each check fails by chance \
             with a probability below 10⁻⁹.",
        );
        for alarm in &alarms {
            page.paragraph(&format!(
                "<b>Failed:</b> {}",
                undertone_report::escape(alarm)
            ));
        }
        if alarms.is_empty() {
            page.paragraph("All hold.");
        }
        self.vector_sections(&mut page)?;
        self.bag_sections(&mut page)?;
        Ok(page.finish())
    }

    fn vector_sections(&self, page: &mut Page) -> Result<(), DrawError> {
        page.heading(2, "Private vectors");
        page.paragraph(&format!(
            "{} words drawn by their frequency, each released once as a vector. Shares of words that the first guess finds, in \
             per cent, with 95 % intervals; below it the shares among {SEVERAL} guesses.",
            number::count(self.options.words as u64)
        ));
        for of_release in self.vectors.chunk_by(|a, b| a.release == b.release) {
            let mut rows = rows(of_release, |found| (found.epsilon, &found.tallies));
            let cells = of_release.iter().map(|found| {
                let [first, several] = found.bounds;
                (
                    found.epsilon,
                    first,
                    0.0,
                    format!("of {SEVERAL}: {}", number::percent(several)),
                )
            });
            rows.push(Row {
                name: "bound".to_owned(),
                look: Look::Bound,
                cells: cells.collect(),
            });
            self.section(page, &of_release[0].release, &rows)?;
        }
        Ok(())
    }

    fn bag_sections(&self, page: &mut Page) -> Result<(), DrawError> {
        page.heading(2, "Obfuscated bags");
        page.paragraph(
            "Words are drawn from test messages and exchanged by selection or, as published, by Laplace noise and the nearest \
             word. The law of the latter is estimated from releases of each word, so the posterior is, too. An attacker on the \
             <b>whole bag</b> knows public messages of the same kind. The first bound is for attackers on single words, with the frequencies of the test \
             messages. The second is for those who see the whole bag: what somebody could do at most who knows the message and \
             has to guess which of its words was drawn. The best on single words follows from the law.",
        );
        for of_size in self
            .bags
            .chunk_by(|a, b| (a.mechanism, a.size) == (b.mechanism, b.size))
        {
            let mut rows = rows(of_size, |found| (found.epsilon, &found.tallies));
            type Of = fn(&bags::Measured) -> Option<f64>;
            let lines: [(&str, Of); 3] = [
                ("best on single words", |found| found.best_alone),
                ("bound on single words", |found| Some(found.bounds[0])),
                ("bound on whole bags", |found| Some(found.bounds[1])),
            ];
            for (name, of) in lines {
                let cells = of_size
                    .iter()
                    .map(|found| Some((found.epsilon, of(found)?, 0.0, String::new())));
                if let Some(cells) = cells.collect() {
                    rows.push(Row {
                        name: name.to_owned(),
                        look: Look::Bound,
                        cells,
                    });
                }
            }
            self.section(page, &heading(&of_size[0]), &rows)?;
        }
        Ok(())
    }

    /// Adds a plot and a table to the page.
    fn section(&self, page: &mut Page, heading: &str, rows: &[Row]) -> Result<(), DrawError> {
        page.heading(3, heading);
        let line = |row: &Row| Line {
            name: row.name.clone(),
            look: row.look,
            points: row
                .cells
                .iter()
                .map(|(epsilon, share, half, _)| {
                    Point::spread(epsilon_f64(*epsilon), 100.0 * share, 100.0 * half)
                })
                .collect(),
        };
        let plot = Plot {
            x: Axis {
                label: "ε per unit of distance",
                range: Range::Logarithmic,
            },
            y: Axis {
                label: "words found (%)",
                range: Range::Percent,
            },
            lines: rows.iter().map(line).collect(),
        };
        page.figure("Words found by one guess, by ε.", &plot.draw()?);
        let mut columns = vec![Column::Text("attacker".to_owned())];
        columns.extend(columns_of("ε", &self.options.epsilons));
        let mut table = Table::new(&format!("Words found (%). {heading}"), &columns);
        for row in rows {
            let cell = |(_, share, half, note): &(Epsilon, f64, f64, String)| {
                let text = match row.look {
                    Look::Bound => number::percent(*share),
                    _ => number::percent_spread(*share, *half),
                };
                Cell::from(text).note(note)
            };
            let mut cells = vec![Cell::from(&row.name)];
            cells.extend(row.cells.iter().map(cell));
            table.row_marked(row.look == Look::Default, cells);
        }
        page.table(&table);
        Ok(())
    }
}

/// The heading for a size and a mechanism of bags.
fn heading(found: &bags::Measured) -> String {
    format!("Bags of {}, by {}", found.size, found.mechanism_name())
}

/// The failed checks of one tally.
fn alarms(tally: &Tally, bound: f64, what: &str) -> Vec<String> {
    let found = number::percent(tally.first.mean);
    let mut alarms = Vec::new();
    if tally.above(bound) {
        alarms.push(format!(
            "{what}: {} finds {found} % of the words, above the bound of {} %",
            tally.attacker,
            number::percent(bound)
        ));
    }
    if let Some(expected) = tally.expected.filter(|_| !tally.as_expected()) {
        alarms.push(format!(
            "{what}: {} finds {found} % of the words, but {} % by the law",
            tally.attacker,
            number::percent(expected)
        ));
    }
    alarms
}

/// One row for each attacker.
fn rows<M>(measured: &[M], of: impl Fn(&M) -> (Epsilon, &Vec<Tally>)) -> Vec<Row> {
    let attackers = measured.first().map_or(0, |found| of(found).1.len());
    let row = |number: usize| {
        let cells = measured.iter().map(|found| {
            let (epsilon, tallies) = of(found);
            let tally = &tallies[number];
            let note = format!("of {SEVERAL}: {}", number::percent(tally.several.mean));
            (epsilon, tally.first.mean, tally.half_interval(), note)
        });
        let name = of(&measured[0]).1[number].attacker;
        Row {
            name: name.to_owned(),
            look: match name {
                "chance" => Look::Bound,
                "exact posterior" | "estimated posterior" => Look::Default,
                "trained decoder" => Look::Published,
                _ => Look::Plain,
            },
            cells: cells.collect(),
        }
    };
    (0..attackers).map(row).collect()
}
