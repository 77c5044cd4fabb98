//! The results of the authorship experiment as files: tables for programs, one page for people.

use std::fmt::Write as _;
use std::path::Path;

use undertone_core::epsilon::Epsilon;
use undertone_core::select::Rule;
use undertone_core::words::WordMechanism;

use crate::authorship::fidelity::{self, Curves, Fidelity};
use crate::authorship::mailbox::{Mailbox, Part, Sample};
use crate::authorship::{Clear, Measured, Options, Way};
use crate::metrics::MeanSd;
use undertone::error::Result;
use undertone::page::{
    self, COLOURS, Curve, GREYS, HIGHLIGHT, Scale, Style, escape, fields, figure, head,
};
use undertone::release::document::number;
use undertone::release::words::TypicalDistances;

/// The bar: this far from the clear text's accuracy to chance, with this much of the topic's F₁ left.
pub const BAR: (f64, f64) = (0.8, 0.7);

/// All results of a run.
pub struct Report {
    /// What was measured with which numbers.
    pub options: Options,
    /// How to repeat it: a command line.
    pub command: String,
    /// The name of the word vectors.
    pub vectors: String,
    /// Words of the vocabulary of bags.
    pub vocabulary: u32,
    /// Distances between them; none if there is but one.
    pub distances: Option<TypicalDistances>,
    /// q, the step of levels, in units of distance.
    pub unit: f64,
    /// Messages whose bags are of the fallback word.
    pub without_words: usize,
    /// Messages left out: without an author, without a text, repeated.
    pub left_out: [usize; 3],
    /// The messages.
    pub sample: Sample,
    /// What the clear texts tell.
    pub clear: Clear,
    /// What bags tell: drawn words without privacy first.
    pub measured: Vec<Measured>,
    /// Words of the vocabulary of the curves.
    pub fidelity_vocabulary: u32,
    /// How the curves were measured.
    pub fidelity_options: fidelity::Options,
    /// What is left of a word.
    pub fidelity: Curves,
}

/// The messages that were left out of a sample.
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

fn style_of(way: fidelity::Way) -> Style {
    match way {
        fidelity::Way::Mechanism(mechanism) => style(mechanism),
        fidelity::Way::Certified => Style {
            colour: HIGHLIGHT,
            width: 2,
            dashed: true,
        },
    }
}

fn style(mechanism: WordMechanism) -> Style {
    let (colour, width) = match mechanism {
        WordMechanism::Selection(Rule::PermuteAndFlip) => (HIGHLIGHT, 4),
        WordMechanism::Selection(Rule::Exponential) => (COLOURS[4], 2),
        _ => (COLOURS[0], 2),
    };
    Style {
        colour,
        width,
        dashed: false,
    }
}

/// A line across a plot.
fn level<'a>(name: &'a str, shade: usize, epsilons: &[Epsilon], value: MeanSd) -> Curve<'a> {
    Curve {
        name,
        style: Style {
            colour: GREYS[shade],
            width: 1,
            dashed: true,
        },
        points: epsilons
            .iter()
            .map(|epsilon| point(*epsilon, value))
            .collect(),
    }
}

fn point(epsilon: Epsilon, value: MeanSd) -> (f64, f64, f64) {
    (number(epsilon), 100.0 * value.mean, 100.0 * value.sd)
}

fn exactly(value: f64) -> MeanSd {
    MeanSd {
        mean: value,
        sd: 0.0,
    }
}

/// The ε of three ways to exchange a word that keep equally much of it.
struct Comparison {
    what: String,
    selection: Option<f64>,
    certified: Option<f64>,
    noise: Option<f64>,
}

impl Comparison {
    /// The ε of selection, of a certified table and of noise, and what the last is of the first two.
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
    /// Makes the folder `out`, if it is not there, and says now whether files can be written there.
    ///
    /// # Errors
    /// Those of `page::check`: [`undertone::Error::Io`] or [`undertone::Error::OutputPath`].
    pub fn check(out: &Path) -> Result<()> {
        page::check(out)
    }

    /// Writes `authorship.csv`, `clear.csv`, `groups.csv`, `fidelity.csv`, `fidelity-ratios.csv` and `report.html`
    /// into the folder `out`, each whole, the page last; a full disk leaves the old ones.
    ///
    /// # Errors
    /// [`undertone::Error::Io`] or [`undertone::Error::OutputPath`]; [`undertone::Error::Plot`].
    pub fn write(&self, out: &Path) -> Result<()> {
        let files = [
            ("authorship.csv", self.table()),
            ("clear.csv", self.clear_table()),
            ("groups.csv", self.groups()),
            ("fidelity.csv", self.fidelity_table()),
            ("fidelity-ratios.csv", self.ratio_table()),
            (page::PAGE, self.page()?),
        ];
        page::write(out, &files)
    }

    /// The topic's F₁ of drawn words without privacy.
    fn drawn_topic(&self) -> f64 {
        let drawn = self
            .measured
            .iter()
            .find(|measured| measured.way == Way::Drawn);
        drawn.map_or(self.clear.topic, |measured| measured.topic.mean)
    }

    /// Whether the bar is reached against the topic's F₁ of drawn words, and against that of the clear text.
    fn reached(&self, measured: &Measured) -> [bool; 2] {
        let hidden = self.clear.way_to_chance(measured.attack().mean) >= BAR.0;
        [self.drawn_topic(), self.clear.topic]
            .map(|topic| hidden && measured.topic.mean >= BAR.1 * topic)
    }

    fn table(&self) -> String {
        let mut csv = "mechanism,epsilon,words,vocabulary,trials,adaptive_mean,adaptive_sd,static_mean,static_sd,\
                       attack_mean,attack_sd,balanced_mean,balanced_sd,way_to_chance,topic_f1_mean,topic_f1_sd,\
                       topic_of_drawn,topic_of_clear,adaptive_validated,static_validated,topic_validated,adaptive_setting,static_setting,topic_setting\n"
            .to_owned();
        for measured in &self.measured {
            let (name, epsilon) = match measured.way {
                Way::Drawn => ("drawn words", String::new()),
                Way::Private(mechanism, epsilon) => (name(mechanism), epsilon.to_string()),
            };
            let (n, words, trials) = (self.options.bag_size, self.vocabulary, self.options.trials);
            let _ = write!(csv, "{},{epsilon},{n},{words},{trials}", fields(&[name]));
            let attack = measured.attack();
            for value in [measured.adaptive, measured.fixed, attack, measured.balanced] {
                let _ = write!(csv, ",{:.5},{:.5}", value.mean, value.sd);
            }
            let topic = measured.topic;
            let [adaptive, fixed, about] = &measured.settings;
            let _ = write!(
                csv,
                ",{:.5},{:.5},{:.5},{:.5},{:.5}",
                self.clear.way_to_chance(attack.mean),
                topic.mean,
                topic.sd,
                topic.mean / self.drawn_topic(),
                topic.mean / self.clear.topic,
            );
            for validated in measured.validated {
                let _ = write!(csv, ",{validated:.5}");
            }
            let _ = writeln!(csv, ",{}", fields(&[adaptive, fixed, about]));
        }
        csv
    }

    fn clear_table(&self) -> String {
        let mut csv = "what,setting,accuracy,balanced_accuracy,macro_f1\n".to_owned();
        for attack in &self.clear.attacks {
            let (accuracy, balanced) = (attack.accuracy, attack.balanced);
            let start = fields(&[&format!("attack: {}", attack.name), &attack.setting]);
            let _ = writeln!(csv, "{start},{accuracy:.5},{balanced:.5},");
        }
        let (chance, balanced) = (self.clear.chance, self.clear.balanced_chance);
        let _ = writeln!(csv, "chance,,{chance:.5},{balanced:.5},");
        let start = fields(&["topic: all words", &self.clear.topic_setting]);
        let _ = writeln!(csv, "{start},,,{:.5}", self.clear.topic);
        csv
    }

    /// Messages of a group by part: of its authors, of others.
    fn messages(&self, group: usize, known: bool) -> [usize; 3] {
        [Part::Train, Part::Validation, Part::Test].map(|part| {
            let own = self.sample.messages.iter().filter(|message| {
                message.group == group && message.part == part && message.author.is_some() == known
            });
            own.count()
        })
    }

    fn groups(&self) -> String {
        let mut csv =
            "group,authors,train,validation,test,others_train,others_validation,others_test\n"
                .to_owned();
        for (group, name) in self.sample.groups.iter().enumerate() {
            let _ = write!(
                csv,
                "{},{}",
                fields(&[name]),
                self.sample.authors[group].len()
            );
            for known in [true, false] {
                for messages in self.messages(group, known) {
                    let _ = write!(csv, ",{messages}");
                }
            }
            csv.push('\n');
        }
        csv
    }

    fn fidelity_table(&self) -> String {
        let mut csv = "mechanism,epsilon,same_word,mean_distance\n".to_owned();
        for curve in &self.fidelity.curves {
            for point in &curve.points {
                let (epsilon, same, distance) = (point.epsilon, point.same, point.distance);
                let start = fields(&[name_of(curve.way)]);
                let _ = writeln!(csv, "{start},{epsilon},{same:.6},{distance:.6}");
            }
        }
        csv
    }

    /// The ε of selection and of noise with nearest word at equal fidelity.
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
            let what = format!("mean distance {goal:.2}, {part} of that to any word");
            compare(what, goal, |x| x.distance)
        });
        same.into_iter().chain(distance).collect()
    }

    fn ratio_table(&self) -> String {
        let mut csv = "at,epsilon_selection,epsilon_certified,epsilon_laplace,laplace_over_selection,laplace_over_certified\n"
            .to_owned();
        for comparison in self.comparisons() {
            let text =
                |value: Option<f64>| value.map_or(String::new(), |value| format!("{value:.4}"));
            let _ = writeln!(
                csv,
                "{},{}",
                fields(&[&comparison.what]),
                comparison.values().map(text).join(",")
            );
        }
        csv
    }

    fn page(&self) -> Result<String> {
        let options = &self.options;
        let clear = &self.clear;
        let n = options.bag_size;
        let mut body = format!(
            "<p>Messages of news groups are released as bags of {n} words: of a message, stop words and all but the \
             {} most informative words about the topic go, {n} of the rest are drawn with replacement, and each is \
             exchanged for a word of that list with ε per unit of distance. Who wrote a message is then guessed \
             among the authors of its group, and its group is guessed from the bag. A release that hides the author \
             has a low attack accuracy, one that keeps the topic a high macro F1. After Fernandes, Dras and McIver \
             (2018).</p>\n\
             <p>The attacker sees bags and knows the mechanism: it learns from bags made of other messages of the \
             same authors, {} of each (adaptive), or from these messages in the clear (static); the stronger one \
             counts. What a classifier leaves to be chosen is chosen on validation messages. {} trials each, mean ± \
             standard deviation over releases of the test messages, in percent.</p>\n<dl>\n",
            self.vocabulary, options.copies, options.trials
        );
        let mut entry = |name: &str, text: &str| {
            let _ = writeln!(body, "<dt>{name}</dt><dd>{text}</dd>");
        };
        if let Some(distances) = self.distances {
            entry(
                "what ε means here",
                &format!(
                    "Distances in {}, medians: {:.2} to the nearest other word, {:.2} to any other. At ε = 1 the \
                     probabilities of what comes out for two words differ by a factor of up to e^(distance), of \
                     selection e^(distance + {:.3}) for the step of levels; with ε the exponents grow in proportion, \
                     and those of the {n} words of a bag add up.",
                    escape(&self.vectors),
                    distances.nearest,
                    distances.any,
                    self.unit,
                ),
            );
        }
        let [without_author, empty, repeated] = self.left_out;
        entry(
            "left out",
            &format!(
                "{without_author} messages without a sender's address, {empty} without a text of their own, \
                 {repeated} repeated; of the rest {} have no word that is kept, their bags are of one fixed word",
                self.without_words
            ),
        );
        body += &page::repeat(options.seed, &self.command);
        body += "</dl>\n";

        body += &self.verdict();
        let epsilons: Vec<Epsilon> = options.epsilons.clone();
        let drawn = self
            .measured
            .iter()
            .find(|measured| measured.way == Way::Drawn);
        let mechanisms = self.mechanisms();
        let by = |value: fn(&Measured) -> MeanSd| -> Vec<Curve<'_>> {
            let of = |mechanism: &WordMechanism| Curve {
                name: name(*mechanism),
                style: style(*mechanism),
                points: self
                    .of(*mechanism)
                    .map(|(epsilon, m)| point(epsilon, value(m)))
                    .collect(),
            };
            mechanisms.iter().map(of).collect()
        };
        body += "<section>\n<h2>Author against ε</h2>\n";
        let mut curves = vec![
            level("clear text", 0, &epsilons, exactly(clear.attack().accuracy)),
            level("chance", 2, &epsilons, exactly(clear.chance)),
        ];
        curves.extend(drawn.map(|drawn| level("drawn words", 1, &epsilons, drawn.attack())));
        curves.extend(by(Measured::attack));
        body += &figure(
            "Accuracy (%) of the stronger attack on the author. Chance is the share of the author who writes most.",
            &page::curves(&curves, "ε per unit of distance", Scale::Percent)?,
        );
        body += &self.html_table(&|measured| {
            let attack = measured.attack();
            format!(
                "{}<small>{:.0} % of the way to chance</small><small>adaptive {:.1}, static {:.1}</small>",
                percent(attack),
                100.0 * clear.way_to_chance(attack.mean),
                100.0 * measured.adaptive.mean,
                100.0 * measured.fixed.mean
            )
        });
        body += "</section>\n<section>\n<h2>Topic against ε</h2>\n";
        let mut curves = vec![level("clear text", 0, &epsilons, exactly(clear.topic))];
        curves.extend(drawn.map(|drawn| level("drawn words", 1, &epsilons, drawn.topic)));
        curves.extend(by(|measured| measured.topic));
        body += &figure(
            "Macro F1 (%) of the group.",
            &page::curves(&curves, "ε per unit of distance", Scale::Percent)?,
        );
        body += &self.html_table(&|measured| {
            format!(
                "{}<small>{:.0} % of drawn words</small><small>{:.0} % of clear text</small>",
                percent(measured.topic),
                100.0 * measured.topic.mean / self.drawn_topic(),
                100.0 * measured.topic.mean / clear.topic
            )
        });
        body += "</section>\n";
        body += &self.sources();
        body += &self.word_section()?;
        Ok(page::page("Who wrote it, and what is it about?", &body))
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

    /// What was measured of a mechanism.
    fn of(&self, mechanism: WordMechanism) -> impl Iterator<Item = (Epsilon, &Measured)> {
        self.measured
            .iter()
            .filter_map(move |measured| match measured.way {
                Way::Private(own, epsilon) if own == mechanism => Some((epsilon, measured)),
                _ => None,
            })
    }

    /// At which ε the bar is reached.
    fn verdict(&self) -> String {
        let mut html = format!(
            "<section>\n<h2>Author hidden, topic kept</h2>\n<p>The attack is at least {:.0} % of the way from clear \
             text to chance and the topic keeps at least {:.0} % of its macro F1:</p>\n<div class=\"wide\"><table>\n\
             <tr><th>mechanism</th><th>F1 relative to drawn words</th><th>F1 relative to clear text</th></tr>\n",
            100.0 * BAR.0,
            100.0 * BAR.1
        );
        for mechanism in self.mechanisms() {
            let at = |which: usize| {
                let reached = self
                    .of(mechanism)
                    .filter(|(_, measured)| self.reached(measured)[which]);
                let list: Vec<String> = reached
                    .map(|(epsilon, _)| format!("ε = {epsilon}"))
                    .collect();
                if list.is_empty() {
                    "at no ε".to_owned()
                } else {
                    list.join(", ")
                }
            };
            let _ = writeln!(
                html,
                "<tr>{}<td>{}</td><td>{}</td></tr>",
                style(mechanism).name(name(mechanism)),
                at(0),
                at(1)
            );
        }
        html + "</table></div>\n</section>\n"
    }

    fn html_table(&self, cell: &dyn Fn(&Measured) -> String) -> String {
        let epsilons = &self.options.epsilons;
        let heads: Vec<String> = epsilons.iter().map(Epsilon::to_string).collect();
        let mut html = head("ε", &heads, "");
        for mechanism in self.mechanisms() {
            let _ = write!(html, "<tr>{}", style(mechanism).name(name(mechanism)));
            for wanted in epsilons {
                let found = self.of(mechanism).find(|(epsilon, _)| epsilon == wanted);
                let text = found.map_or("–".to_owned(), |(_, measured)| cell(measured));
                let _ = write!(html, "<td>{text}</td>");
            }
            html += "</tr>\n";
        }
        html + "</table></div>\n"
    }

    /// The clear texts, and the groups.
    fn sources(&self) -> String {
        let clear = &self.clear;
        let mut html = "<section>\n<h2>Without obfuscation</h2>\n<div class=\"wide\"><table>\n<tr><th></th><th>\
                        accuracy</th><th>mean over authors, then groups</th><th>topic, macro F1</th></tr>\n"
            .to_owned();
        for attack in &clear.attacks {
            let _ = writeln!(
                html,
                "<tr><th>clear text, {}<small>{}</small></th><td>{:.1}</td><td>{:.1}</td><td></td></tr>",
                escape(attack.name),
                escape(&attack.setting),
                100.0 * attack.accuracy,
                100.0 * attack.balanced
            );
        }
        for measured in self
            .measured
            .iter()
            .filter(|measured| measured.way == Way::Drawn)
        {
            let (attack, all, topic) = (measured.attack(), measured.balanced, measured.topic);
            let _ = writeln!(
                html,
                "<tr><th>drawn words</th><td>{}</td><td>{}</td><td>{}</td></tr>",
                percent(attack),
                percent(all),
                percent(topic)
            );
        }
        let _ = writeln!(
            html,
            "<tr><th>clear text, topic by all words<small>{}</small></th><td></td><td></td><td>{:.1}</td></tr>\n\
             <tr><th>chance</th><td>{:.1}</td><td>{:.1}</td><td></td></tr>\n</table></div>\n<h3>Groups</h3>\n\
             <div class=\"wide\"><table>\n<tr><th>group</th><th>authors</th><th>their messages: training, \
             validation, test</th><th>others' messages, for the topic</th></tr>",
            escape(&clear.topic_setting),
            100.0 * clear.topic,
            100.0 * clear.chance,
            100.0 * clear.balanced_chance
        );
        for (group, name) in self.sample.groups.iter().enumerate() {
            let list = |known| {
                self.messages(group, known)
                    .map(|n| n.to_string())
                    .join(", ")
            };
            let (authors, own, others) =
                (self.sample.authors[group].len(), list(true), list(false));
            let _ = writeln!(
                html,
                "<tr><th>{}</th><td>{authors}</td><td>{own}</td><td>{others}</td></tr>",
                escape(name)
            );
        }
        html + "</table></div>\n</section>\n"
    }

    /// What is left of a word.
    fn word_section(&self) -> Result<String> {
        let options = &self.fidelity_options;
        let mut html = format!(
            "<section>\n<h2>What is left of a word</h2>\n<p>{} words drawn from all {} of {}; of selection the exact \
             law, of Laplace + nearest {} draws a word.</p>\n",
            options.words,
            self.fidelity_vocabulary,
            escape(&self.vectors),
            options.draws
        );
        let curves = |value: &dyn Fn(&Fidelity) -> f64| -> Vec<Curve<'static>> {
            let of = |curve: &fidelity::Curve| Curve {
                name: name_of(curve.way),
                style: style_of(curve.way),
                points: curve
                    .points
                    .iter()
                    .map(|x| point(x.epsilon, exactly(value(x))))
                    .collect(),
            };
            self.fidelity.curves.iter().map(of).collect()
        };
        let any = self.fidelity.any;
        html += &figure(
            "Probability (%) of the word itself.",
            &page::curves(
                &curves(&|x| x.same),
                "ε per unit of distance",
                Scale::Percent,
            )?,
        );
        html += &figure(
            &format!(
                "Mean distance between the word and what comes out, in percent of that to any word ({any:.2})."
            ),
            &page::curves(
                &curves(&|x| x.distance / any),
                "ε per unit of distance",
                Scale::Percent,
            )?,
        );
        html += "<div class=\"wide\"><table>\n<tr><th>equal fidelity</th><th>ε of selection</th><th>with a certified \
                 table</th><th>ε of Laplace + nearest</th><th>ratio to selection</th><th>to certified</th></tr>\n";
        for comparison in self.comparisons() {
            let text = |value: Option<f64>| value.map_or("–".to_owned(), |x| format!("{x:.2}"));
            let _ = writeln!(
                html,
                "<tr><th>{}</th><td>{}</td></tr>",
                comparison.what,
                comparison.values().map(text).join("</td><td>")
            );
        }
        Ok(html + "</table></div>\n</section>\n")
    }
}

fn percent(value: MeanSd) -> String {
    format!("{:.1} ± {:.1}", 100.0 * value.mean, 100.0 * value.sd)
}
