//! `undertone plan budget`.

use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use serde::Serialize;
use undertone::error::Result;
use undertone::release::budget::{Budget, Mechanism, Total, Unit, number, rounded};
use undertone::release::document::{Method, epsilon_f64};
use undertone::release::window::{Promises, Reader, Window, best_guess, named_by_majority};
use undertone_core::epsilon::{Epsilon, Micro};
use undertone_core::laplace::Noise;
use undertone_core::pack::Pack;
use undertone_core::release::{MAX_BAG_SIZE, WordMechanism};
use undertone_core::select::{MAX_CANDIDATES, Rule};
use undertone_estimate::published;

use crate::args::number as number_if;
use crate::devices::devices;
use crate::files::{json, print, print_json, read_pack, write};
use crate::paths::Paths;
use crate::window;

#[derive(Args)]
pub(crate) struct Arguments {
    /// The releases of one user each day, such as exponential:0.5:2 for two releases at epsilon
    /// 0.5.
    ///
    /// Kinds of documents: permute-and-flip, exponential, whole-text and projective, as by `release
    /// documents --rule`. Bags of 50 words: words-permute-and-flip=50, words-exponential=50 and
    /// words-laplace=50. Vectors: vector-laplace and vector-discrete-laplace.
    #[arg(long, required = true, num_args = 1.., value_delimiter = ',', value_name = "KIND:EPSILON[:RELEASES]")]
    daily: Vec<Daily>,
    /// Numbers of days to add up.
    #[arg(long, num_args = 1.., value_delimiter = ',', default_values_t = [1, 30, 365], value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    days: Vec<u16>,
    /// The probability with which the promise with delta may fail: well below one in the number of
    /// users.
    #[arg(long, default_value = "1e-6", value_name = "DELTA", value_parser = delta, allow_hyphen_values = true)]
    delta: f64,
    /// The pack of the documents, for what releases by sentence cost a whole text; its number of
    /// candidates also lowers the cost of whole-text releases.
    #[arg(short, long, value_name = "FILE")]
    pack: Option<PathBuf>,
    /// The distance between two bags of words (word mover's distance) or two vectors, including q
    /// or tau of the mechanism. Releases of words and vectors cost more at larger distances.
    #[arg(long, default_value = "1", value_name = "W", value_parser = distance, allow_hyphen_values = true)]
    distance: Distance,
    /// The days of a window in which a device releases, drawn before anything is typed
    /// [default: all]
    #[arg(long, value_name = "C", value_parser = window::number())]
    appointments: Option<u16>,
    /// The lines of a day of which a device draws one.
    #[arg(long, default_value_t = 1, value_name = "K", value_parser = window::number())]
    lines: u16,
    /// The number of devices, for a reader of counts; takes --pack.
    #[arg(long, value_name = "N", value_parser = devices)]
    devices: Option<u64>,
    /// Print the numbers as JSON.
    #[arg(long)]
    json: bool,
    #[arg(long, value_name = "FILE", hide = true)]
    json_file: Option<PathBuf>,
}

pub(crate) fn delta(text: &str) -> std::result::Result<f64, String> {
    let problem = "it lies between 0 and 1; 1e-6 is one in a million";
    number_if(text, |delta| delta > 0.0 && delta < 1.0, problem)
}

/// A distance in micro-units, 0.000001 to 1000.
#[derive(Clone, Copy)]
struct Distance(Micro);

fn distance(text: &str) -> std::result::Result<Distance, String> {
    // The range and the digits of an epsilon, which rounds down; a distance must be rounded up.
    let parsed: Option<(Epsilon, f64)> = text.parse().ok().zip(text.parse().ok());
    let (down, exact) = parsed.ok_or("expected a decimal number from 0.000001 to 1000")?;
    let more = exact > epsilon_f64(down);
    Ok(Distance(Micro(u64::from(down.micro()) + u64::from(more))))
}

/// The daily releases of one mechanism.
#[derive(Clone, Copy)]
struct Daily {
    mechanism: Mechanism,
    epsilon: Epsilon,
    releases: u16,
}

impl FromStr for Daily {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let parts: Vec<&str> = text.split(':').collect();
        let (kind, epsilon, releases) = match *parts {
            [kind, epsilon] => (kind, epsilon, "1"),
            [kind, epsilon, releases] => (kind, epsilon, releases),
            _ => {
                return Err(
                    "write KIND:EPSILON or KIND:EPSILON:RELEASES, such as exponential:0.5 or \
                     words-exponential=50:1:2; commas separate kinds, and decimals take a point"
                        .to_owned(),
                );
            }
        };
        let releases: u16 = releases.parse().unwrap_or(0);
        if releases == 0 {
            return Err("releases a day are a whole number from 1 to 65535".to_owned());
        }
        Ok(Self {
            mechanism: mechanism(kind)?,
            epsilon: epsilon.parse().map_err(|own| format!("{own}"))?,
            releases,
        })
    }
}

fn mechanism(kind: &str) -> std::result::Result<Mechanism, String> {
    let document = |method| Ok(Mechanism::Document(method));
    let Some((bag, words)) = kind.split_once('=') else {
        return match kind {
            "permute-and-flip" => document(Method::Sentence(Rule::PermuteAndFlip)),
            "exponential" => document(Method::Sentence(Rule::Exponential)),
            "whole-text" => document(Method::WholeText),
            "projective" => document(Method::Projective),
            "vector-laplace" => Ok(Mechanism::Vector(Noise::Laplace)),
            "vector-discrete-laplace" => Ok(Mechanism::Vector(Noise::DiscreteLaplace)),
            "words-permute-and-flip" | "words-exponential" | "words-laplace" => {
                Err(format!("say how many words a bag has, such as {kind}=50"))
            }
            _ => Err(unknown(kind)),
        };
    };
    let mechanism = match bag {
        "words-permute-and-flip" => WordMechanism::Selection(Rule::PermuteAndFlip),
        "words-exponential" => WordMechanism::Selection(Rule::Exponential),
        "words-laplace" => WordMechanism::LaplaceNearest,
        _ => return Err(unknown(bag)),
    };
    match words.parse() {
        Ok(words) if (1..=MAX_BAG_SIZE).contains(&words) => {
            Ok(Mechanism::Words { mechanism, words })
        }
        _ => Err(format!(
            "a bag has 1 to {MAX_BAG_SIZE} words, not `{words}`"
        )),
    }
}

fn unknown(kind: &str) -> String {
    format!(
        "no kind is called `{kind}`; there are permute-and-flip, exponential, whole-text, projective, \
         words-permute-and-flip=N, words-exponential=N, words-laplace=N, vector-laplace and vector-discrete-laplace"
    )
}

impl Daily {
    /// The rule that draws, if one of two does.
    fn rule_mut(&mut self) -> Option<&mut Rule> {
        match &mut self.mechanism {
            Mechanism::Document(Method::Sentence(rule))
            | Mechanism::Words {
                mechanism: WordMechanism::Selection(rule),
                ..
            } => Some(rule),
            _ => None,
        }
    }

    fn rule(mut self) -> Option<Rule> {
        self.rule_mut().copied()
    }

    /// The same by another rule, if a rule draws.
    fn by(mut self, other: Rule) -> Self {
        if let Some(rule) = self.rule_mut() {
            *rule = other;
        }
        self
    }

    /// Whether all of it is about a document.
    fn of_document(&self) -> Option<Method> {
        match self.mechanism {
            Mechanism::Document(method) => Some(method),
            _ => None,
        }
    }
}

/// The answer, as JSON has it.
#[derive(Serialize)]
struct Answer {
    delta: f64,
    /// Between two bags or two vectors.
    distance: f64,
    daily: Vec<DailyRow>,
    windows: Vec<WindowRow>,
    totals: Vec<Row>,
    /// In words.
    notes: Vec<String>,
}

#[derive(Serialize)]
struct DailyRow {
    kind: String,
    epsilon: f64,
    releases: u16,
}

/// The three numbers of a window.
#[derive(Serialize)]
struct WindowRow {
    days: u16,
    appointments: u16,
    lines: u16,
    person: f64,
    line: f64,
    /// With the δ of published counts.
    reader_of_counts: Option<f64>,
    #[serde(skip)]
    promises: Promises,
}

#[derive(Serialize)]
struct Row {
    #[serde(rename = "unit")]
    identifier: &'static str,
    #[serde(skip)]
    unit: Unit,
    days: u16,
    /// The sum.
    epsilon: f64,
    /// The δ that the mechanisms have themselves.
    own_delta: f64,
    rho: f64,
    /// The ε that holds together with `delta`; `null` if that is not above `own_delta`.
    epsilon_with_delta: Option<f64>,
    #[serde(skip)]
    total: Total,
}

impl Arguments {
    pub(crate) fn run(&self) -> Result<()> {
        let packs = self.pack.iter();
        packs
            .fold(Paths::default(), |all, path| {
                all.stream_input("--pack", path)
            })
            .outputs("--json", &self.json_file)
            .check()?;
        let pack = self.pack.as_deref().map(read_pack).transpose()?;
        let answer = self.answer(pack.as_ref())?;
        if let Some(path) = &self.json_file {
            write(path, (json(&answer) + "\n").as_bytes())?;
        }
        if self.json {
            print_json(&answer)
        } else {
            print(&self.text(&answer))
        }
    }

    fn answer(&self, pack: Option<&Pack<'_>>) -> Result<Answer> {
        let budget = self.budget(&self.daily, pack)?;
        let mut totals = Vec::new();
        for unit in Unit::ALL {
            for days in &self.days {
                let Some(total) = budget.total(unit, *days) else {
                    continue;
                };
                totals.push(Row {
                    identifier: identifier(unit),
                    unit,
                    days: *days,
                    epsilon: number(total.epsilon()),
                    own_delta: total.delta(),
                    rho: total.rho(),
                    epsilon_with_delta: total.with_delta(self.delta).map(number),
                    total,
                });
            }
        }
        let daily = self.daily.iter().map(|own| DailyRow {
            kind: own.mechanism.to_string(),
            epsilon: epsilon_f64(own.epsilon),
            releases: own.releases,
        });
        Ok(Answer {
            delta: self.delta,
            distance: number(self.distance.0),
            daily: daily.collect(),
            windows: self.windows(&budget, pack)?,
            notes: self.notes(pack, &totals)?,
            totals,
        })
    }

    /// The three numbers of each window, if all releases are about the whole text.
    fn windows(&self, budget: &Budget, pack: Option<&Pack<'_>>) -> Result<Vec<WindowRow>> {
        let whole = |own: &Daily| own.of_document().filter(|own| own.is_whole_text());
        if self.daily.iter().any(|own| whole(own).is_none()) {
            return Ok(Vec::new());
        }
        let mut rows = Vec::new();
        for days in self
            .days
            .iter()
            .copied()
            .filter(|days| *days <= Window::MOST)
        {
            let appointments = self.appointments.unwrap_or(days).min(days);
            let window = Window::new(days, appointments, self.lines)?;
            let lines = self.daily.iter().filter_map(|own| {
                let served = whole(own)?.served(own.epsilon, MAX_CANDIDATES);
                Some(window.line(served).0 * u64::from(own.releases))
            });
            let person = budget.total(Unit::WholeText, appointments);
            let promises = Promises {
                window,
                person: person.map_or(Micro(0), |own| own.epsilon()),
                line: Micro(lines.sum()),
                reader: self.reader(window, pack)?,
            };
            rows.push(WindowRow {
                days,
                appointments,
                lines: self.lines,
                person: number(promises.person),
                line: number(promises.line),
                reader_of_counts: promises.reader.and_then(|own| own.epsilon),
                promises,
            });
        }
        Ok(rows)
    }

    /// What counts reveal of one kind of releases.
    fn reader(&self, window: Window, pack: Option<&Pack<'_>>) -> Result<Option<Reader>> {
        let (Some(devices), Some(pack), [daily]) = (self.devices, pack, &self.daily[..]) else {
            return Ok(None);
        };
        let each = |own: u16| own.checked_mul(daily.releases);
        let (Some(slots), Some(appointments)) = (each(window.slots()), each(window.appointments()))
        else {
            return Ok(None);
        };
        let window = Window::new(slots, appointments, window.places())?;
        let method = daily.of_document().expect("all are documents");
        let candidates = pack.candidate_count();
        let promises = published::promises(method, daily.epsilon, candidates, devices, window)?;
        Ok(promises.reader)
    }

    fn notes(&self, pack: Option<&Pack<'_>>, totals: &[Row]) -> Result<Vec<String>> {
        let mut notes = self.rules(pack)?;
        let is = |method: &dyn Fn(Method) -> bool| {
            let mut methods = self.daily.iter().filter_map(Daily::of_document);
            methods.any(method)
        };
        let by_sentence = is(&|method| matches!(method, Method::Sentence(_)));
        let by_text = is(&|method| !matches!(method, Method::Sentence(_)));
        if by_sentence && pack.is_none() {
            notes.push(
                "What releases by the sentence cost a whole text depends on the pack: name it with --pack. It can be much \
                 more than what they cost a sentence."
                    .to_owned(),
            );
        }
        notes.extend(self.repetition(pack));
        if by_text && pack.is_none() {
            notes.push(format!(
                "With delta {:e} whole texts cost less if the number of candidates is known: name the pack with --pack.",
                self.delta
            ));
        }
        if self.daily.iter().any(|daily| daily.of_document().is_none()) {
            notes.push(format!(
                "For words and vectors the numbers are for a distance of {} (of bags, word mover's distance), with q or tau included. \
                 --distance W computes them for another distance.",
                self.distance.0
            ));
        }
        if totals.iter().any(|row| row.epsilon_with_delta.is_none()) {
            notes.push(format!(
                "never: what is released with noise has a delta of its own, and that is not below {:e}. Use more delta, less epsilon, or \
                 vector-discrete-laplace, which has none.",
                self.delta
            ));
        }
        if totals.iter().any(|row| row.unit != totals[0].unit) {
            notes.push(
                "Never add up lines about different things that are exchanged: their sum promises nothing."
                    .to_owned(),
            );
        }
        notes.push(
            "A total is about what is in the texts of all these days, or about one sentence of each. What is in one day's texts alone \
             costs that day's epsilon. Releases under another pack add up, too."
                .to_owned(),
        );
        Ok(notes)
    }

    /// How well the most frequent release of a line names it, and what an appointment does to that.
    fn repetition(&self, pack: Option<&Pack<'_>>) -> Option<String> {
        const DAYS: u16 = 7;
        let [daily] = self.daily[..] else {
            return None;
        };
        let is_daily = self.appointments.is_none() && self.days.iter().any(|own| *own >= DAYS);
        if daily.mechanism != Mechanism::Document(Method::WholeText) || !is_daily {
            return None;
        }
        let outcomes = pack?.outcomes();
        let epsilon = epsilon_f64(daily.epsilon);
        let percent = |share: f64| format!("{:.1}", 100.0 * share);
        Some(format!(
            "Repetition: the most frequent of {DAYS} daily releases of the same line, among {outcomes} outcomes, names it in {} % of \
             cases. With one appointment (--appointments 1) no attacker tells two equally likely windows of text apart in more than {} %.",
            percent(named_by_majority(
                outcomes,
                epsilon,
                DAYS.saturating_mul(daily.releases)
            )),
            percent(best_guess(epsilon))
        ))
    }

    /// Notes that compare the cost of both rules.
    fn rules(&self, pack: Option<&Pack<'_>>) -> Result<Vec<String>> {
        let days = self.days.iter().copied().max().unwrap_or(1);
        let all_by = |rule| {
            let daily: Vec<Daily> = self.daily.iter().map(|own| own.by(rule)).collect();
            self.budget(&daily, pack)
        };
        let flip = all_by(Rule::PermuteAndFlip)?;
        let exponential = all_by(Rule::Exponential)?;
        let has = |rule| self.daily.iter().any(|own| own.rule() == Some(rule));
        let mut notes = Vec::new();
        for unit in [Unit::Sentence, Unit::Word] {
            let drawn = self
                .daily
                .iter()
                .any(|own| own.rule().is_some() && is_about(own, unit));
            let with = |budget: &Budget| budget.total(unit, days)?.with_delta(self.delta);
            let (Some(by_flip), Some(by_exponential), true) =
                (with(&flip), with(&exponential), drawn)
            else {
                continue;
            };
            let sum = flip.total(unit, days).map_or(Micro(0), |own| own.epsilon());
            let days = plural(days);
            let unit = self.name(unit);
            if by_exponential.0 >= by_flip.0 {
                notes.push(format!(
                    "For {days} and {unit} the sum, {sum}, is the least, so delta buys nothing, and \
                     permute-and-flip errs less."
                ));
                continue;
            }
            let advice = if has(Rule::PermuteAndFlip) {
                "For daily use with delta, permute-and-flip is the wrong rule: take `--rule exponential`."
            } else {
                "For daily use with delta, exponential is the right rule."
            };
            notes.push(format!(
                "With delta {:e}, {days} cost an epsilon of {} by permute-and-flip and of {} by the \
                 exponential mechanism (exchanged: {unit}). {advice} Without delta both cost {sum}, \
                 and permute-and-flip errs less.",
                self.delta,
                rounded(by_flip),
                rounded(by_exponential),
            ));
        }
        Ok(notes)
    }

    fn budget(&self, daily: &[Daily], pack: Option<&Pack<'_>>) -> Result<Budget> {
        let mut budget = Budget::at_distance(self.distance.0);
        for own in daily {
            let (epsilon, releases) = (own.epsilon, own.releases);
            match (pack, own.of_document()) {
                (Some(pack), Some(method)) => budget.add_of_pack(pack, method, epsilon, releases),
                _ => budget.add(own.mechanism, epsilon, releases),
            }?;
        }
        Ok(budget)
    }

    /// The name of a unit, with the distance where one counts.
    fn name(&self, unit: Unit) -> String {
        match unit {
            Unit::Sentence => "a sentence".to_owned(),
            Unit::WholeText => "a whole text".to_owned(),
            Unit::Word => format!("a bag, distance {}", self.distance.0),
            Unit::Vector => format!("a vector, distance {}", self.distance.0),
        }
    }

    fn text(&self, answer: &Answer) -> String {
        let daily = self.daily.iter().map(|own| {
            let times = match own.releases {
                1 => String::new(),
                n => format!("{n} times "),
            };
            let epsilon = match own.mechanism {
                Mechanism::Document(method) => method.epsilon_text(own.epsilon, MAX_CANDIDATES),
                _ => own.epsilon.to_string(),
            };
            format!("{times}{} at epsilon {epsilon}", own.mechanism)
        });
        let mut text = format!("Each day: {}.\n\n", daily.collect::<Vec<_>>().join(", "));
        for row in &answer.windows {
            text += &format!(
                "{}, with releases in {}:\n{}\n",
                plural(row.days),
                row.appointments,
                row.promises
            );
        }
        text += &format!(
            "{:20}  {:>5}  {:>14}  {:>9}  {:>16}\n",
            "exchanged",
            "days",
            "epsilon, summed",
            "its delta",
            format!("with delta {:e}", self.delta)
        );
        for row in &answer.totals {
            let sum = row.total.epsilon().to_string();
            let own = match row.own_delta {
                0.0 => "0".to_owned(),
                delta => format!("{delta:.1e}"),
            };
            let with = row.total.with_delta(self.delta);
            let with = with.map_or("never".to_owned(), rounded);
            text += &format!(
                "{:20}  {:>5}  {sum:>15}  {own:>9}  {with:>16}\n",
                self.name(row.unit),
                row.days
            );
        }
        for note in &answer.notes {
            text += &format!("\n{note}\n");
        }
        text
    }
}

/// Whether a release promises something for this unit, or may be taken to.
fn is_about(daily: &Daily, unit: Unit) -> bool {
    match daily.mechanism {
        Mechanism::Document(_) => matches!(unit, Unit::Sentence | Unit::WholeText),
        Mechanism::Words { .. } => unit == Unit::Word,
        Mechanism::Vector(_) => unit == Unit::Vector,
    }
}

/// For programs.
fn identifier(unit: Unit) -> &'static str {
    match unit {
        Unit::Sentence => "sentence",
        Unit::WholeText => "whole-text",
        Unit::Word => "words",
        Unit::Vector => "vector",
    }
}

fn plural(days: u16) -> String {
    match days {
        1 => "1 day".to_owned(),
        n => format!("{n} days"),
    }
}
