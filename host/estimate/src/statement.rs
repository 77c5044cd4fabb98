//! The statement of a deployment: what it promises to people, to a review and to the public,
//! computed from its pack and its settings.
//!
//! Each number is stated with the theorem that it follows from.

use serde::{Deserialize, Serialize};
use undertone::error::{Error, Result};
use undertone::release::budget::number;
use undertone::release::document::{self, Method};
use undertone::release::window::{Promises, Window, best_guess, named_by_majority, three_digits};
use undertone_core::epsilon::{Epsilon, Micro};
use undertone_core::pack::Pack;
use undertone_core::unit::Unit;
use undertone_report::number::{count, percent};
use undertone_report::{Page, escape};

use crate::channel::Channel;
use crate::plan::whole_text_kind;
use crate::published::{self, DELTA};
use crate::{json, refused};

/// Where the proofs are.
const OF_A_RELEASE: &str = "core/README.md, \"What is promised\"; core/proofs/WholeText.v";
const OF_A_PERSON: &str = "host/src/release/window.rs, \"A person\": composition of releases";
const OF_A_LINE: &str = "host/src/release/window.rs, \"A line\": a mixture of laws, group privacy";
const OF_A_READER: &str =
    "host/estimate/src/published.rs: the privacy blanket, composed by privacy loss distributions";
const OF_A_GUESS: &str = "Bayes' rule: e^epsilon/(1 + e^epsilon) for two equally likely options";
const OF_THE_KEY: &str = "core/README.md, \"Finite randomness, and the key\"";

/// A part of the entry that only the publisher can write.
const OPEN: &str = "TO BE WRITTEN BY THE PUBLISHER";

/// The settings of a deployment.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The name of what is published.
    pub name: String,
    /// Who publishes it.
    pub curator: String,
    /// The day of the first publication, as YYYY-MM-DD.
    pub from: String,
    /// ε of one release.
    pub epsilon: Epsilon,
    /// A rule for the whole text.
    pub method: Method,
    /// The schedule of a device.
    pub window: Window,
    /// The number of devices.
    pub devices: u64,
}

/// The texts of a statement.
#[derive(Clone, Debug)]
pub struct Statement {
    /// A page for the people whose texts are protected: HTML without other files.
    pub users: String,
    /// Answers to the questions of a data review, in Markdown.
    pub review: String,
    /// An entry for the registry of deployments of OpenDP (`opendp/deployments-registry-data`),
    /// in YAML.
    pub registry: String,
    /// The [`Terms`] as JSON, against which an audit compares devices.
    pub terms: String,
}

/// The stated settings of a device, for programs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Terms {
    /// Always [`Terms::VERSION`].
    pub version: u32,
    /// The identifier of the pack, in hexadecimal.
    pub pack: String,
    /// The number of the mechanism in a release.
    pub mechanism: u8,
    /// ε of one release, in micro-units.
    pub epsilon_micro: u32,
    /// The slots of a window.
    pub slots: u16,
    /// The slots in which a device releases.
    pub appointments: u16,
    /// The places of a slot's reservoir.
    pub places: u16,
}

impl Terms {
    /// The version of the JSON form.
    pub const VERSION: u32 = 1;

    /// Reads the JSON form.
    ///
    /// # Errors
    /// [`ErrorKind::Input`](undertone::error::ErrorKind::Input) for other JSON or another version.
    pub fn parse(json: &str) -> Result<Self> {
        let terms: Self = serde_json::from_str(json)
            .map_err(|problem| refused(format!("not the terms of a statement: {problem}")))?;
        if terms.version == Self::VERSION {
            Ok(terms)
        } else {
            Err(refused(format!(
                "terms of version {}, but this program reads version {}; write the statement anew",
                terms.version,
                Self::VERSION
            )))
        }
    }
}

/// A question of a review, its answer, and what the answer follows from.
type Row = (&'static str, String, &'static str);

/// The numbers of a statement.
struct Promise<'a> {
    settings: &'a Settings,
    pack: &'a Pack<'a>,
    outcomes: u32,
    /// The ε of one release.
    served: Micro,
    promises: Promises,
}

impl Statement {
    /// The statement of devices with this pack.
    ///
    /// # Errors
    /// [`ErrorKind::Release`](undertone::error::ErrorKind::Release) if the pack does not support
    /// releases for the whole text, and the errors of [`published::promises`].
    pub fn new(settings: &Settings, pack: &Pack<'_>) -> Result<Self> {
        let candidates = pack.candidate_count();
        let epsilon = settings.epsilon;
        document::empty(pack)?
            .check_whole_text()
            .map_err(Error::from)?;
        let method = settings.method;
        let promises = published::promises(
            method,
            epsilon,
            candidates,
            settings.devices,
            settings.window,
        )?;
        let kind = whole_text_kind(pack.id(), candidates, true, method, epsilon)?;
        let channel = Channel::new(kind, candidates)?;
        let terms = Terms {
            version: Terms::VERSION,
            pack: hex::encode(pack.id()),
            mechanism: kind.mechanism() as u8,
            epsilon_micro: epsilon.micro(),
            slots: settings.window.slots(),
            appointments: settings.window.appointments(),
            places: settings.window.places(),
        };
        let promise = Promise {
            settings,
            pack,
            outcomes: channel.map_or(0, |own| own.sizes()[0]),
            served: method.served(epsilon, candidates),
            promises,
        };
        Ok(Self {
            users: promise.users(),
            review: promise.review(),
            registry: promise.registry(),
            terms: json(&terms),
        })
    }
}

impl Promise<'_> {
    fn rule(&self) -> &'static str {
        match self.settings.method {
            Method::Projective => "projective geometry response",
            _ => "randomised response",
        }
    }

    /// The ε of a reader of counts, with its δ.
    fn reader(&self) -> String {
        match self.promises.reader.and_then(|own| own.epsilon) {
            Some(epsilon) => format!("{epsilon}, delta {DELTA:e}"),
            None => format!(
                "{}, the same as for a person",
                three_digits(self.promises.person)
            ),
        }
    }

    /// How often an attacker is right at most.
    fn right(&self, epsilon: f64) -> String {
        // Rounded up.
        let share = (best_guess(epsilon) * 1000.0).ceil() / 1000.0;
        percent(share)
    }

    fn schedule(&self) -> String {
        let window = self.settings.window;
        let [slots, appointments] = [window.slots(), window.appointments()];
        if slots == appointments {
            format!("in each of the {slots} slots of a window")
        } else {
            format!(
                "in {appointments} of the {slots} slots of a window, which the device draws at random before anything is typed"
            )
        }
    }

    fn users(&self) -> String {
        let settings = self.settings;
        let window = settings.window;
        let mut page = Page::new(&format!("{}: what leaves your device", settings.name));
        let mut paragraph = |text: String| page.paragraph(&escape(&text));
        paragraph(format!(
            "{} learns from many devices together how often people write about each of {} topics. Your texts stay on your device. \
             It sends 24 bytes {}, even if nothing was typed. They name one of {} outcomes, drawn at random: the topic of \
             what you typed is only more likely than the others.",
            settings.curator,
            count(self.pack.candidate_count().into()),
            self.schedule(),
            count(self.outcomes.into()),
        ));
        paragraph(
            "How much can anybody learn? The answer is a number, epsilon: the smaller, the less. There are three."
                .to_owned(),
        );
        page.facts(&[
            (
                "Everything that you type in a window",
                format!("{} (a person)", three_digits(self.promises.person)),
            ),
            (
                "Any one line of it",
                format!(
                    "{} (one of {} lines of a slot)",
                    three_digits(self.promises.line),
                    window.places()
                ),
            ),
            (
                "Everything, towards somebody who sees only the published counts",
                format!(
                    "{} (a reader of counts of {} devices)",
                    self.reader(),
                    count(settings.devices)
                ),
            ),
        ]);
        let mut paragraph = |text: String| page.paragraph(&escape(&text));
        paragraph(format!(
            "What this means: somebody who knows that you typed one of two things all along, each equally likely, and who sees \
             everything that your device sends, is right at most {} % of the time. About one line: {} %. A coin is right 50 % of the time.",
            self.right(number(self.promises.person)),
            self.right(number(self.promises.line)),
        ));
        paragraph(format!(
            "Not hidden: that your device takes part, when it sends, and through which network. Each further window of {} slots \
             adds as much again.",
            window.slots()
        ));
        page.finish()
    }

    /// ε of one release, for people.
    fn release(&self) -> String {
        let candidates = self.pack.candidate_count();
        let settings = self.settings;
        settings.method.epsilon_text(settings.epsilon, candidates)
    }

    fn of_a_release(&self) -> Vec<Row> {
        vec![
            (
                "What leaves a device?",
                format!(
                    "24 bytes {}: the pack, the rule, epsilon, and one of {} outcomes. No text, no score, no name.",
                    self.schedule(),
                    count(self.outcomes.into())
                ),
                "core/FORMAT.md: the form of a release",
            ),
            (
                "Which kind of privacy is it?",
                "Local differential privacy: the device draws, and no server is trusted. For uniform random words there is no delta; that \
                 ChaCha12's words cannot be told from them is an assumption, see below."
                    .to_owned(),
                OF_A_RELEASE,
            ),
            (
                "What does one release cost?",
                format!(
                    "Epsilon {}, for any two texts, by {} among {} candidates and \"nothing known\".",
                    self.release(),
                    self.rule(),
                    count(self.pack.candidate_count().into())
                ),
                OF_A_RELEASE,
            ),
        ]
    }

    fn of_a_window(&self) -> Vec<Row> {
        let settings = self.settings;
        let window = settings.window;
        let [slots, appointments, places] =
            [window.slots(), window.appointments(), window.places()];
        let each = number(self.served);
        let releases = settings.devices as f64 * f64::from(appointments) / f64::from(slots);
        let few = places.min(3);
        let group = window.lines(self.served, few);
        let candidates = self.pack.candidate_count();
        vec![
            (
                "A person: what does everything of a window cost (user level)?",
                format!(
                    "Epsilon {} = {appointments} × {} in {slots} slots.",
                    self.promises.person, self.served
                ),
                OF_A_PERSON,
            ),
            (
                "A line: what does one line cost (event level)?",
                format!(
                    "Epsilon {}, as one of {places} lines of a slot. {few} lines of a slot together: {}.",
                    three_digits(self.promises.line),
                    three_digits(group)
                ),
                OF_A_LINE,
            ),
            (
                "A reader of counts: what do published counts reveal of a person?",
                format!(
                    "Epsilon {}, if {} honest devices take part, about {} in a slot, and nobody shows their releases.",
                    self.reader(),
                    count(settings.devices),
                    count(releases as u64)
                ),
                OF_A_READER,
            ),
            (
                "How often can an attacker be right?",
                format!(
                    "At most {} % of the time about two equally likely windows of text, and {} % about two equally likely lines.",
                    self.right(number(self.promises.person)),
                    self.right(number(self.promises.line))
                ),
                OF_A_GUESS,
            ),
            (
                "What would daily releases about the same line reveal?",
                format!(
                    "The most frequent of 7 releases at epsilon {} among {} outcomes is the line's own in {} % of cases. \
                     The ledger refuses more than {appointments} a window.",
                    self.release(),
                    count((candidates + 1).into()),
                    percent(named_by_majority(candidates + 1, each, 7))
                ),
                "host/src/release/window.rs, `named_by_majority`: computed for randomised response",
            ),
        ]
    }

    fn of_a_device(&self) -> Vec<Row> {
        vec![
            (
                "What enforces it?",
                format!(
                    "A ledger on the device with the unit {} and the budget {} for each window, whatever the schedule does.",
                    Unit::WholeText,
                    self.promises.person
                ),
                "core/proofs/ledger.md",
            ),
            (
                "What do several windows cost?",
                format!(
                    "They add up: two windows cost {}, ten cost {}. A new installation is a new person.",
                    three_digits(Micro(2 * self.promises.person.0)),
                    three_digits(Micro(10 * self.promises.person.0))
                ),
                OF_A_PERSON,
            ),
            (
                "What has to be assumed?",
                "The device's random bytes are uniform, secret and fresh; ChaCha12 under a secret key cannot be told from uniform \
                 words (computational); storage is not set back; no attacker reads the memory of the app."
                    .to_owned(),
                OF_THE_KEY,
            ),
            (
                "What is not protected?",
                "That a device takes part, when it sends, and from which address. The time that encoding takes.".to_owned(),
                "README.md, \"What is promised\"",
            ),
            (
                "Which pack?",
                format!(
                    "{}, with {} candidates.",
                    hex::encode(self.pack.digest()),
                    count(self.pack.candidate_count().into())
                ),
                "core/FORMAT.md, \"Header\": the digest of the pack",
            ),
        ]
    }

    fn review(&self) -> String {
        let settings = self.settings;
        let mut text = format!(
            "# {}: answers for a data review\n\nPublisher: {}. First publication: {}. All values of epsilon are upper bounds, rounded up.\n\n\
             | question | answer | follows from |\n| --- | --- | --- |\n",
            settings.name, settings.curator, settings.from
        );
        let rows = [self.of_a_release(), self.of_a_window(), self.of_a_device()];
        for (question, answer, source) in rows.into_iter().flatten() {
            let cell = |text: &str| text.replace('|', "\\|");
            text += &format!("| {question} | {} | {} |\n", cell(&answer), cell(source));
        }
        text
    }

    /// Fields and values of the registry's schema as of July 2026.
    fn registry(&self) -> String {
        let settings = self.settings;
        let window = settings.window;
        // A string of JSON is a string of YAML.
        let quoted = |text: &str| serde_json::Value::from(text).to_string();
        let year = settings.from.split('-').next().unwrap_or_default();
        let slug = [&settings.name, &settings.curator, year]
            .map(slug)
            .join("-");
        let open = quoted(OPEN);
        let release_type = if window.slots() == 1 {
            "One release"
        } else {
            "Many releases"
        };
        format!(
            "url_slug: {slug}\nstatus: Draft\ntier: 3\ndeployment:\n  basic:\n    name: {name}\n    data_curators:\n      - {curator}\n    \
             description: {description}\n    intended_use: {open}\n    data_product_type: Summary statistics\n    data_product_region: \
             {open}\n    publication_date: {from}\n  dp_variant:\n    variant_name: Pure DP\n    data_domain: {domain}\n    \
             unprotected_quantities: {unprotected}\n  privacy_loss:\n    privacy_unit: {unit}\n    privacy_unit_details: {details}\n    \
             privacy_parameters:\n      epsilon: {epsilon}\n    privacy_parameters_details: {parameters}\n  deployment_model:\n    \
             model_name: Local\n    actors: {actors}\n    release_type: {release_type}\n    release_type_details: {releases}\n    \
             data_source_type: Dynamic\n    access_type: Non-interactive\n  accounting:\n    post_processing: {post}\n    composition: \
             {composition}\n  implementation:\n    preprocessing_and_hyperparameter_tuning: {tuning}\n    mechanisms: {mechanisms}\n    \
             justification: {open}\n  administrative:\n    registry_authors:\n      - {curator}\n",
            name = quoted(&settings.name),
            curator = quoted(&settings.curator),
            description = quoted(&format!(
                "Shares of {} topics of what people type, estimated from randomised releases of {} devices.",
                count(self.pack.candidate_count().into()),
                count(settings.devices)
            )),
            from = quoted(&settings.from),
            domain = quoted("All texts that a person types on one device in one window."),
            unprotected = quoted(
                "That a device takes part, the time of its releases, and its network address. The pack is public."
            ),
            unit = quoted("User level, for one window"),
            details = quoted(&format!(
                "Two data sets are adjacent if everything that one person types in a window of {} slots on one device is exchanged.",
                window.slots()
            )),
            epsilon = number(self.promises.person),
            parameters = quoted(&format!(
                "A person: epsilon {} for everything of a window ({OF_A_PERSON}). A line: {} ({OF_A_LINE}). A reader of counts: {} \
                 ({OF_A_READER}). The first two are computational, without a delta for uniform random words ({OF_THE_KEY}).",
                three_digits(self.promises.person),
                three_digits(self.promises.line),
                self.reader()
            )),
            actors = quoted(
                "The device draws and is trusted by its owner. Network, server and readers of the counts are not trusted."
            ),
            releases = quoted(&format!(
                "A device releases {}. Each window has this budget anew, and windows add up.",
                self.schedule()
            )),
            post = quoted("Counts by outcome, debiased, with confidence intervals."),
            composition = quoted(&format!(
                "Sequential: the {} of a window at epsilon {}. A ledger on the device refuses more.",
                match window.appointments() {
                    1 => "release".to_owned(),
                    more => format!("{more} releases"),
                },
                settings.epsilon
            )),
            tuning = quoted("The pack is made from public texts alone."),
            mechanisms = quoted(&format!(
                "{} by undertone, in integer arithmetic and constant work after the best candidate is known. Pack {}.",
                self.rule(),
                hex::encode(self.pack.digest())
            )),
        )
    }
}

/// The registry's form of a name: lower case, with a hyphen for each run of other characters, and
/// for each underscore.
fn slug(name: &str) -> String {
    let mut slug = String::new();
    let mut is_open = false;
    for own in name.to_lowercase().chars() {
        let is_word = own.is_alphanumeric() || own == '_';
        if is_word || !is_open {
            slug.push(if own.is_alphanumeric() { own } else { '-' });
        }
        is_open = !is_word;
    }
    slug
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use undertone_core::select::Rule;

    use super::*;

    fn settings() -> Settings {
        Settings {
            name: "Topics: \"messages\"".to_owned(),
            curator: "Example Ltd".to_owned(),
            from: "2027-01-01".to_owned(),
            epsilon: "3".parse().unwrap(),
            method: Method::WholeText,
            window: Window::new(52, 1, 100).unwrap(),
            devices: 1_000_000,
        }
    }

    /// The fields of the entry with their values: `deployment.basic.name`.
    fn fields(entry: &str) -> BTreeMap<String, String> {
        let mut path: Vec<&str> = Vec::new();
        let mut fields = BTreeMap::new();
        for line in entry.lines() {
            let depth = (line.len() - line.trim_start().len()) / 2;
            path.truncate(depth);
            if let Some(item) = line.trim_start().strip_prefix("- ") {
                fields.insert(path.join("."), item.to_owned());
                continue;
            }
            let (name, value) = line.trim_start().split_once(':').expect("a field");
            path.push(name);
            if !value.is_empty() {
                let value = value.strip_prefix(' ').expect("a space before a value");
                let before = fields.insert(path.join("."), value.to_owned());
                assert_eq!(before, None, "{line}");
            }
        }
        fields
    }

    /// The fields that the schema of the registry has, as of July 2026. `!` marks required ones,
    /// and values follow `=` if the schema lists them.
    const SCHEMA: &str = "\
!url_slug
!status = Converted, Draft, Pending, Changes Required, Approved, Approved (Update Requested), Approved (Pending)
!tier = 1, 2, 3
!deployment.basic.name
!deployment.basic.data_curators
!deployment.basic.intended_use
!deployment.basic.data_product_type = Summary statistics, Machine learning model, Dataset, Synthetic data, Interactive API, SQL queries
!deployment.basic.data_product_region
!deployment.basic.description
!deployment.basic.publication_date
deployment.basic.data_product_sector = Technology, Healthcare, Education, Government, Energy, Finance
deployment.dp_variant.variant_name = Pure DP, Approximate DP, Zero-concentrated DP, Renyi DP, Custom
deployment.dp_variant.data_domain
deployment.dp_variant.unprotected_quantities
deployment.privacy_loss.privacy_unit
deployment.privacy_loss.privacy_unit_details
deployment.privacy_loss.privacy_parameters.epsilon
deployment.privacy_loss.privacy_parameters.delta
deployment.privacy_loss.privacy_parameters.rho
deployment.privacy_loss.privacy_parameters_details
deployment.deployment_model.model_name = Local, Central, Shuffle, Federated, Varies
deployment.deployment_model.model_name_details
deployment.deployment_model.actors
deployment.deployment_model.release_type = One release, Many releases
deployment.deployment_model.release_type_details
deployment.deployment_model.data_source_type = Static, Dynamic
deployment.deployment_model.data_source_type_details
deployment.deployment_model.access_type = Interactive, Non-interactive
deployment.deployment_model.access_type_details
deployment.accounting.post_processing
deployment.accounting.composition
deployment.implementation.preprocessing_and_hyperparameter_tuning
deployment.implementation.mechanisms
deployment.implementation.justification
deployment.administrative.sources
deployment.administrative.notes
!deployment.administrative.registry_authors";

    #[test]
    fn the_entry_fits_the_schema() {
        let built = undertone::demo::build(1).unwrap();
        let pack = Pack::parse(&built.pack).unwrap();
        let entry = Statement::new(&settings(), &pack).unwrap().registry;
        let mut found = fields(&entry);
        assert_eq!(
            found["deployment.privacy_loss.privacy_parameters.epsilon"],
            "3"
        );
        // Name, curator and year, as the registry's own script makes it.
        assert_eq!(found["url_slug"], "topics-messages--example-ltd-2027");
        for line in SCHEMA.lines() {
            let (name, values) = match line.split_once(" = ") {
                Some((name, values)) => (name, Some(values)),
                None => (line, None),
            };
            let required = name.starts_with('!');
            let name = name.trim_start_matches('!');
            let value = found.remove(name);
            assert!(value.is_some() || !required, "{name} is missing");
            if let (Some(value), Some(values)) = (&value, values) {
                assert!(
                    values.split(", ").any(|own| own == value),
                    "{name}: {value}"
                );
            }
            let Some(value) = value else { continue };
            // Strings are quoted, so that no text of the publisher becomes a field.
            let is_bare = values.is_some() || name == "url_slug" || name.ends_with(".epsilon");
            if !is_bare {
                let text: String = serde_json::from_str(&value).expect("a quoted string");
                assert!(!text.is_empty());
            }
        }
        assert!(found.is_empty(), "unknown fields: {found:?}");
    }

    #[test]
    fn terms_are_read_back() {
        let built = undertone::demo::build(1).unwrap();
        let pack = Pack::parse(&built.pack).unwrap();
        let json = Statement::new(&settings(), &pack).unwrap().terms;
        let terms = Terms::parse(&json).unwrap();
        assert_eq!(terms.pack, hex::encode(pack.id()));
        assert_eq!(
            (terms.mechanism, terms.epsilon_micro, terms.places),
            (7, 3_000_000, 100)
        );
        for (old, new, problem) in [
            ("\"version\": 1", "\"version\": 2", "terms of version 2"),
            ("\"slots\"", "\"weeks\"", "unknown field"),
            ("52", "-1", "not the terms"),
        ] {
            let error = Terms::parse(&json.replace(old, new)).unwrap_err();
            assert!(error.to_string().contains(problem), "{error}");
        }
    }

    #[test]
    fn every_number_follows_from_a_theorem() {
        let built = undertone::demo::build(1).unwrap();
        let pack = Pack::parse(&built.pack).unwrap();
        let statement = Statement::new(&settings(), &pack).unwrap();
        for part in [
            "3 (a person)",
            "0.175 (one of 100 lines",
            "delta 1e-9",
            "95.3 %",
            "54.4 %",
        ] {
            assert!(
                statement.users.contains(part),
                "{part}: {}",
                statement.users
            );
        }
        let rows = statement
            .review
            .lines()
            .filter(|line| line.starts_with("| "));
        for row in rows {
            assert_eq!(row.matches(" | ").count(), 2, "{row}");
            assert!(!row.ends_with("|  |"), "{row}");
        }
        for part in [
            "Epsilon 3 = 1 × 3 in 52 slots",
            "the budget 3 for each window",
            "ten cost 30",
        ] {
            assert!(
                statement.review.contains(part),
                "{part}: {}",
                statement.review
            );
        }
        let by_sentence = Settings {
            method: Method::Sentence(Rule::Exponential),
            ..settings()
        };
        let problem = Statement::new(&by_sentence, &pack).unwrap_err().to_string();
        assert!(
            problem.contains("only releases for the whole text"),
            "{problem}"
        );
    }
}
