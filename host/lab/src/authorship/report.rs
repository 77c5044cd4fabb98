//! Reports of the authorship experiment: CSV tables and an HTML page.

use std::fmt::Display;
use std::path::Path;

use undertone_core::epsilon::Epsilon;
use undertone_core::select::Rule;
use undertone_core::words::WordMechanism;
use undertone_report::{
    Axis, Cell, Column, Csv, DrawError, Line, Look, Page, Plot, Point, Range, Table, escape, number,
};

use crate::authorship::fidelity::{self, Curves, Fidelity};
use crate::authorship::mailbox::{Mailbox, Part, Sample};
use crate::authorship::{Clear, Measured, Options, Way};
use crate::metrics::MeanSd;
use undertone::error::{Error, Result};
use undertone::files::folder;
use undertone::release::document::epsilon_f64;
use undertone::release::words::TypicalDistances;

/// The bar: the part of the way from the clear text's accuracy to chance, and the part of the
/// topic's F₁ that remains.
pub const BAR: (f64, f64) = (0.8, 0.7);

/// All results of a run.
pub struct Report {
    /// Settings of the run.
    pub options: Options,
    /// The command line that repeats the run.
    pub command: String,
    /// The name of the word vectors.
    pub vectors: String,
    /// Words of the vocabulary of bags.
    pub vocabulary: u32,
    /// Typical distances between these words; none if there is only one.
    pub distances: Option<TypicalDistances>,
    /// q, the step of levels, in units of distance.
    pub unit: f64,
    /// Messages whose bags consist of the fallback word.
    pub without_words: usize,
    /// Messages left out: without an author, without a text, repeated.
    pub left_out: [usize; 3],
    /// The messages.
    pub sample: Sample,
    /// Results on clear texts.
    pub clear: Clear,
    /// Results on bags, starting with drawn words without privacy.
    pub measured: Vec<Measured>,
    /// Words of the vocabulary of the curves.
    pub fidelity_vocabulary: u32,
    /// Settings of the curves.
    pub fidelity_options: fidelity::Options,
    /// Fidelity of words.
    pub fidelity: Curves,
}

/// The numbers of messages that were left out of a sample.
pub fn left_out(mailbox: &Mailbox) -> [usize; 3] {
    [mailbox.without_author, mailbox.empty, mailbox.repeated]
}

fn name(mechanism: WordMechanism) -> &'static str {
    match mechanism {
        WordMechanism::Selection(Rule::PermuteAndFlip) => "selection",
        WordMechanism::Selection(Rule::Exponential) => "selection (exponential)",
        _ => "Laplace + nearest",
    }
}

fn name_of(way: fidelity::Way) -> &'static str {
    match way {
        fidelity::Way::Mechanism(mechanism) => name(mechanism),
        fidelity::Way::Certified => "selection (certified table)",
    }
}

fn look(mechanism: WordMechanism) -> Look {
    match mechanism {
        WordMechanism::Selection(Rule::PermuteAndFlip) => Look::Default,
        WordMechanism::Selection(Rule::Exponential) => Look::Plain,
        _ => Look::Published,
    }
}

/// A horizontal line of a plot.
fn level(name: &str, epsilons: &[Epsilon], value: MeanSd) -> Line {
    Line {
        name: name.to_owned(),
        look: Look::Bound,
        points: epsilons.iter().map(|e| point(*e, value)).collect(),
    }
}

fn point(epsilon: Epsilon, value: MeanSd) -> Point {
    Point::spread(epsilon_f64(epsilon), 100.0 * value.mean, 100.0 * value.sd)
}

fn plot(y: &str, lines: Vec<Line>) -> Plot<'_> {
    Plot {
        x: Axis {
            label: "ε per unit of distance",
            range: Range::Logarithmic,
        },
        y: Axis {
            label: y,
            range: Range::Percent,
        },
        lines,
    }
}

fn exactly(value: f64) -> MeanSd {
    MeanSd {
        mean: value,
        sd: 0.0,
    }
}

/// The ε of three mechanisms at the same fidelity.
struct Comparison {
    what: String,
    selection: Option<f64>,
    certified: Option<f64>,
    noise: Option<f64>,
}

impl Comparison {
    /// The ε of selection, of a certified table and of noise, and the ratios of the last to the
    /// first two.
    fn values(&self) -> [Option<f64>; 5] {
        let ratio = |to: Option<f64>| self.noise.zip(to).map(|(noise, to)| noise / to);
        [
            self.selection,
            self.certified,
            self.noise,
            ratio(self.selection),
            ratio(self.certified),
        ]
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

    /// Writes `authorship.csv`, `clear.csv`, `groups.csv`, `fidelity.csv`, `fidelity-ratios.csv`
    /// and `report.html` into the folder `out`. Each file is written whole, the page last; if the
    /// disk is full, the old files remain.
    ///
    /// # Errors
    /// [`ErrorKind::Io`](undertone::error::ErrorKind::Io) or
    /// [`ErrorKind::Argument`](undertone::error::ErrorKind::Argument);
    /// [`ErrorKind::Experiment`](undertone::error::ErrorKind::Experiment).
    pub fn write(&self, out: &Path) -> Result<()> {
        let files = [
            ("authorship.csv", self.table()),
            ("clear.csv", self.clear_table()),
            ("groups.csv", self.groups()),
            ("fidelity.csv", self.fidelity_table()),
            ("fidelity-ratios.csv", self.ratio_table()),
            (Page::FILE, self.page().map_err(Error::plot)?),
        ];
        folder::write(out, &files)
    }

    /// The topic's F₁ of drawn words without privacy.
    fn drawn_topic(&self) -> f64 {
        self.drawn()
            .map_or(self.clear.topic, |measured| measured.topic.mean)
    }

    /// Whether the bar is reached, relative to the topic's F₁ of drawn words and to that of the
    /// clear text.
    fn reached(&self, measured: &Measured) -> [bool; 2] {
        let hidden = self.clear.way_to_chance(measured.attack().mean) >= BAR.0;
        [self.drawn_topic(), self.clear.topic]
            .map(|topic| hidden && measured.topic.mean >= BAR.1 * topic)
    }

    fn table(&self) -> String {
        let mut csv = Csv::new(
            "mechanism,epsilon,words,vocabulary,trials,adaptive_mean,adaptive_sd,static_mean,\
             static_sd,attack_mean,attack_sd,balanced_mean,balanced_sd,way_to_chance,\
             topic_f1_mean,topic_f1_sd,topic_of_drawn,topic_of_clear,adaptive_validated,\
             static_validated,topic_validated,adaptive_setting,static_setting,topic_setting",
        );
        let digits = |value: f64| format!("{value:.5}");
        for measured in &self.measured {
            let (name, epsilon) = match measured.way {
                Way::Drawn => ("drawn words", String::new()),
                Way::Private(mechanism, epsilon) => (name(mechanism), epsilon.to_string()),
            };
            let (attack, topic) = (measured.attack(), measured.topic);
            let scores = [measured.adaptive, measured.fixed, attack, measured.balanced];
            let mut numbers: Vec<f64> = scores.iter().flat_map(|x| [x.mean, x.sd]).collect();
            numbers.extend([
                self.clear.way_to_chance(attack.mean),
                topic.mean,
                topic.sd,
                topic.mean / self.drawn_topic(),
                topic.mean / self.clear.topic,
            ]);
            numbers.extend(measured.validated);
            let numbers: Vec<String> = numbers.into_iter().map(digits).collect();
            let options = &self.options;
            let mut row: Vec<&dyn Display> = vec![
                &name,
                &epsilon,
                &options.bag_size,
                &self.vocabulary,
                &options.trials,
            ];
            row.extend(numbers.iter().map(|text| text as &dyn Display));
            row.extend(measured.settings.iter().map(|text| text as &dyn Display));
            csv.row(&row);
        }
        csv.finish()
    }

    fn clear_table(&self) -> String {
        let mut csv = Csv::new("what,setting,accuracy,balanced_accuracy,macro_f1");
        let digits = |value: f64| format!("{value:.5}");
        let clear = &self.clear;
        for attack in &clear.attacks {
            let (accuracy, balanced) = (digits(attack.accuracy), digits(attack.balanced));
            let name = format!("attack: {}", attack.name);
            csv.row(&[&name, &attack.setting, &accuracy, &balanced, &""]);
        }
        let (chance, balanced) = (digits(clear.chance), digits(clear.balanced_chance));
        csv.row(&[&"chance", &"", &chance, &balanced, &""]);
        let topic = digits(clear.topic);
        csv.row(&[&"topic: all words", &clear.topic_setting, &"", &"", &topic]);
        csv.finish()
    }

    /// The number of messages of a group in each part, by its authors if `known`, else by others.
    fn messages(&self, group: usize, known: bool) -> [usize; 3] {
        [Part::Train, Part::Validation, Part::Test].map(|part| {
            let own = self.sample.messages.iter().filter(|message| {
                message.group == group && message.part == part && message.author.is_some() == known
            });
            own.count()
        })
    }

    fn groups(&self) -> String {
        let mut csv = Csv::new(
            "group,authors,train,validation,test,others_train,others_validation,others_test",
        );
        for (group, name) in self.sample.groups.iter().enumerate() {
            let authors = self.sample.authors[group].len();
            let mut row: Vec<&dyn Display> = vec![name, &authors];
            let messages = [true, false].map(|known| self.messages(group, known));
            row.extend(messages.iter().flatten().map(|n| n as &dyn Display));
            csv.row(&row);
        }
        csv.finish()
    }

    fn fidelity_table(&self) -> String {
        let mut csv = Csv::new("mechanism,epsilon,same_word,mean_distance");
        for curve in &self.fidelity.curves {
            for point in &curve.points {
                let [same, distance] = [point.same, point.distance].map(|x| format!("{x:.6}"));
                csv.row(&[&name_of(curve.way), &point.epsilon, &same, &distance]);
            }
        }
        csv.finish()
    }

    /// The ε of each mechanism at equal fidelity.
    fn comparisons(&self) -> Vec<Comparison> {
        let [selection, _, noise, certified] = &self.fidelity.curves[..] else {
            return Vec::new();
        };
        let compare = |what: String, goal: f64, value: fn(&Fidelity) -> f64| Comparison {
            what,
            selection: selection.epsilon_at(goal, value),
            certified: certified.epsilon_at(goal, value),
            noise: noise.epsilon_at(goal, value),
        };
        let same = [0.25, 0.5, 0.75].map(|goal| {
            compare(format!("same word with probability {goal}"), goal, |x| {
                x.same
            })
        });
        let distance = [0.75, 0.5, 0.25].map(|part| {
            let goal = part * self.fidelity.any;
            let what = format!(
                "mean distance {}, {part} of that to any word",
                number::number(goal)
            );
            compare(what, goal, |x| x.distance)
        });
        same.into_iter().chain(distance).collect()
    }

    fn ratio_table(&self) -> String {
        let mut csv = Csv::new(
            "at,epsilon_selection,epsilon_certified,epsilon_laplace,laplace_over_selection,\
             laplace_over_certified",
        );
        for comparison in self.comparisons() {
            let text = |value: Option<f64>| value.map(|x| format!("{x:.4}")).unwrap_or_default();
            let values = comparison.values().map(text);
            let mut row: Vec<&dyn Display> = vec![&comparison.what];
            row.extend(values.iter().map(|text| text as &dyn Display));
            csv.row(&row);
        }
        csv.finish()
    }

    fn page(&self) -> Result<String, DrawError> {
        let mut page = Page::new("Who wrote it, and what is it about?");
        self.introduction(&mut page);
        self.verdict(&mut page);
        self.author_section(&mut page)?;
        self.topic_section(&mut page)?;
        self.sources(&mut page);
        self.word_section(&mut page)?;
        Ok(page.finish())
    }

    fn introduction(&self, page: &mut Page) {
        let options = &self.options;
        let n = options.bag_size;
        page.paragraph(&format!(
            "Messages of news groups are released as bags of {n} words. Of a message, only the {} words that say \
             most about the topic are kept; {n} of them are drawn with replacement, and each is exchanged for a word \
             of that list with ε per unit of distance. An attacker then guesses who of the authors of its group \
             wrote the message, and a classifier guesses the group from the bag. A release that hides the author has \
             a low attack accuracy; one that keeps the topic has a high macro F1. After Fernandes, Dras and McIver \
             (2018).",
            number::count(self.vocabulary.into())
        ));
        page.paragraph(&format!(
            "The attacker sees bags and knows the mechanism. It learns from bags made of other messages of the same \
             authors, {} of each (adaptive), or from these messages in the clear (static); the stronger attack \
             counts. Settings of classifiers are chosen on validation messages. Numbers are means ± standard \
             deviations over {} releases of the test messages, in per cent.",
            options.copies, options.trials
        ));
        let mut facts = Vec::new();
        if let Some(distances) = self.distances {
            facts.push((
                "what ε means here",
                format!(
                    "Distances in {}, medians: {} to the nearest other word, {} to any other. At ε = 1 the \
                     probabilities of a result for two words differ by at most a factor of e^distance; for \
                     selection it is e^(distance + {}) because of the step of levels. The exponents grow in \
                     proportion to ε, and those of the {n} words of a bag add up.",
                    self.vectors,
                    number::number(distances.nearest),
                    number::number(distances.any),
                    number::number(self.unit),
                ),
            ));
        }
        let [without_author, empty, repeated] = self.left_out.map(|n| number::count(n as u64));
        facts.push((
            "left out",
            format!(
                "{without_author} messages without a sender's address, {empty} without a text of their own, \
                 {repeated} repeated. Of the rest, {} have no word that is kept; their bags hold one fixed word.",
                number::count(self.without_words as u64)
            ),
        ));
        page.facts(&facts);
        page.repeat(options.seed, &self.command);
    }

    fn author_section(&self, page: &mut Page) -> Result<(), DrawError> {
        let clear = &self.clear;
        let epsilons = &self.options.epsilons;
        page.heading(2, "Author against ε");
        let mut lines = self.lines(Measured::attack);
        lines.push(level(
            "clear text",
            epsilons,
            exactly(clear.attack().accuracy),
        ));
        lines.extend(
            self.drawn()
                .map(|drawn| level("drawn words", epsilons, drawn.attack())),
        );
        lines.push(level("chance", epsilons, exactly(clear.chance)));
        page.figure(
            "Accuracy of the stronger attack on the author. Chance is the share of the author who writes most. Bands are \
             ± one standard deviation.",
            &plot("attack accuracy (%)", lines).draw()?,
        );
        let columns = [
            "attack (%)",
            "way to chance (%)",
            "adaptive (%)",
            "static (%)",
        ];
        page.table(
            &self.by_epsilon("Accuracy of the attack by ε", columns, &|measured| {
                let attack = measured.attack();
                [
                    percent(attack),
                    number::percent(clear.way_to_chance(attack.mean)).into(),
                    percent(measured.adaptive),
                    percent(measured.fixed),
                ]
            }),
        );
        Ok(())
    }

    fn topic_section(&self, page: &mut Page) -> Result<(), DrawError> {
        let clear = &self.clear;
        let epsilons = &self.options.epsilons;
        page.heading(2, "Topic against ε");
        let mut lines = self.lines(|measured| measured.topic);
        lines.push(level("clear text", epsilons, exactly(clear.topic)));
        lines.extend(
            self.drawn()
                .map(|drawn| level("drawn words", epsilons, drawn.topic)),
        );
        page.figure(
            "Macro F1 of the group. Bands are ± one standard deviation.",
            &plot("macro F1 (%)", lines).draw()?,
        );
        let columns = ["macro F1 (%)", "of drawn words (%)", "of clear text (%)"];
        page.table(
            &self.by_epsilon("Macro F1 of the group by ε", columns, &|measured| {
                let share = |of: f64| number::percent(measured.topic.mean / of).into();
                [
                    percent(measured.topic),
                    share(self.drawn_topic()),
                    share(clear.topic),
                ]
            }),
        );
        Ok(())
    }

    /// Bags of drawn words without privacy.
    fn drawn(&self) -> Option<&Measured> {
        self.measured
            .iter()
            .find(|measured| measured.way == Way::Drawn)
    }

    /// One line for each mechanism, by ε.
    fn lines(&self, value: fn(&Measured) -> MeanSd) -> Vec<Line> {
        let line = |mechanism: WordMechanism| Line {
            name: name(mechanism).to_owned(),
            look: look(mechanism),
            points: self
                .releases_by(mechanism)
                .map(|(epsilon, m)| point(epsilon, value(m)))
                .collect(),
        };
        self.mechanisms().into_iter().map(line).collect()
    }

    /// The mechanisms in the order in which they were measured.
    fn mechanisms(&self) -> Vec<WordMechanism> {
        let mut mechanisms = Vec::new();
        for measured in &self.measured {
            if let Way::Private(mechanism, _) = measured.way
                && !mechanisms.contains(&mechanism)
            {
                mechanisms.push(mechanism);
            }
        }
        mechanisms
    }

    /// Results of one mechanism, by ε.
    fn releases_by(&self, mechanism: WordMechanism) -> impl Iterator<Item = (Epsilon, &Measured)> {
        self.measured
            .iter()
            .filter_map(move |measured| match measured.way {
                Way::Private(own, epsilon) if own == mechanism => Some((epsilon, measured)),
                _ => None,
            })
    }

    /// Adds the ε at which the bar is reached to the page.
    fn verdict(&self, page: &mut Page) {
        page.heading(2, "Author hidden, topic kept");
        page.paragraph(&format!(
            "At these ε the attack is at least {:.0} % of the way from clear text to chance, and the topic keeps at \
             least {:.0} % of its macro F1:",
            100.0 * BAR.0,
            100.0 * BAR.1
        ));
        let columns = [
            Column::Text("mechanism"),
            Column::Text("F1 relative to drawn words"),
            Column::Text("F1 relative to clear text"),
        ];
        let mut table = Table::new("Where the author is hidden and the topic kept", &columns);
        for mechanism in self.mechanisms() {
            let at = |which: usize| {
                let reached = self
                    .releases_by(mechanism)
                    .filter(|(_, measured)| self.reached(measured)[which]);
                let list: Vec<String> = reached.map(|(epsilon, _)| epsilon.to_string()).collect();
                if list.is_empty() {
                    "at no ε".to_owned()
                } else {
                    format!("ε = {}", list.join(", "))
                }
            };
            let cells = vec![name(mechanism).into(), at(0).into(), at(1).into()];
            table.row_marked(look(mechanism) == Look::Default, cells);
        }
        page.table(&table);
    }

    /// One row for each mechanism and ε.
    fn by_epsilon<const N: usize>(
        &self,
        name_of_table: &str,
        columns: [&str; N],
        cells: &dyn Fn(&Measured) -> [Cell; N],
    ) -> Table {
        let mut all = vec![Column::Text("mechanism"), Column::Number("ε")];
        all.extend(columns.map(Column::Number));
        let mut table = Table::new(name_of_table, &all);
        for mechanism in self.mechanisms() {
            for (epsilon, measured) in self.releases_by(mechanism) {
                let mut row = vec![name(mechanism).into(), epsilon.to_string().into()];
                row.extend(cells(measured));
                table.row_marked(look(mechanism) == Look::Default, row);
            }
        }
        table
    }

    /// Adds the clear texts and the groups to the page.
    fn sources(&self, page: &mut Page) {
        let clear = &self.clear;
        page.heading(2, "Without obfuscation");
        let columns = [
            Column::Text("text and guess"),
            Column::Number("accuracy (%)"),
            Column::Number("mean over authors, then groups (%)"),
            Column::Number("topic, macro F1 (%)"),
        ];
        let mut table = Table::new("What texts tell without obfuscation", &columns);
        let share = |x: f64| Cell::from(number::percent(x));
        for attack in &clear.attacks {
            let name = Cell::from(format!("clear text, {}", attack.name));
            table.row(vec![
                name.note(&attack.setting),
                share(attack.accuracy),
                share(attack.balanced),
                "".into(),
            ]);
        }
        if let Some(drawn) = self.drawn() {
            table.row(vec![
                "drawn words".into(),
                percent(drawn.attack()),
                percent(drawn.balanced),
                percent(drawn.topic),
            ]);
        }
        table.row(vec![
            Cell::from("clear text, topic by all words").note(&clear.topic_setting),
            "".into(),
            "".into(),
            share(clear.topic),
        ]);
        table.row(vec![
            "chance".into(),
            share(clear.chance),
            share(clear.balanced_chance),
            "".into(),
        ]);
        page.table(&table);

        page.heading(3, "Groups");
        let columns = [
            Column::Text("group"),
            Column::Number("authors"),
            Column::Number("their messages: training, validation, test"),
            Column::Number("others' messages, for the topic"),
        ];
        let mut table = Table::new("Groups and their messages", &columns);
        for (group, name) in self.sample.groups.iter().enumerate() {
            let list = |known| {
                let messages = self.messages(group, known);
                Cell::from(messages.map(|n| number::count(n as u64)).join(" / "))
            };
            let authors = number::count(self.sample.authors[group].len() as u64);
            table.row(vec![name.into(), authors.into(), list(true), list(false)]);
        }
        page.table(&table);
    }

    /// Adds the fidelity of words to the page.
    fn word_section(&self, page: &mut Page) -> Result<(), DrawError> {
        let options = &self.fidelity_options;
        page.heading(2, "What is left of a word");
        page.paragraph(&format!(
            "{} words are drawn from all {} of {}. Selection: from the exact law. Laplace + nearest: from {} draws \
             for each word.",
            number::count(options.words as u64),
            number::count(self.fidelity_vocabulary.into()),
            escape(&self.vectors),
            number::count(options.draws as u64)
        ));
        let lines = |value: &dyn Fn(&Fidelity) -> f64| -> Vec<Line> {
            let line = |curve: &fidelity::Curve| Line {
                name: name_of(curve.way).to_owned(),
                look: match curve.way {
                    fidelity::Way::Mechanism(mechanism) => look(mechanism),
                    fidelity::Way::Certified => Look::Plain,
                },
                points: curve
                    .points
                    .iter()
                    .map(|x| point(x.epsilon, exactly(value(x))))
                    .collect(),
            };
            self.fidelity.curves.iter().map(line).collect()
        };
        let any = self.fidelity.any;
        page.figures(&[
            (
                "Probability that the word itself comes out.".to_owned(),
                plot("same word (%)", lines(&|x| x.same)).draw()?,
            ),
            (
                format!(
                    "Mean distance between the word and what comes out, in per cent of that to any word ({}).",
                    number::number(any)
                ),
                plot("mean distance (%)", lines(&|x| x.distance / any)).draw()?,
            ),
        ]);
        let columns = [
            Column::Text("equal fidelity"),
            Column::Number("ε of selection"),
            Column::Number("with a certified table"),
            Column::Number("ε of Laplace + nearest"),
            Column::Number("ratio to selection"),
            Column::Number("to certified"),
        ];
        let mut table = Table::new("ε at equal fidelity", &columns);
        for comparison in self.comparisons() {
            let text =
                |value: Option<f64>| Cell::from(value.map_or("–".to_owned(), number::number));
            let mut cells = vec![Cell::from(&comparison.what)];
            cells.extend(comparison.values().map(text));
            table.row(cells);
        }
        page.table(&table);
        Ok(())
    }
}

fn percent(value: MeanSd) -> Cell {
    number::percent_spread(value.mean, value.sd).into()
}
