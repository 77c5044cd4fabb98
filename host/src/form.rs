//! Forms from their description in JSON.
//!
//! ```
//! use undertone::form::Contents;
//! use undertone_core::Form;
//!
//! let contents = Contents::from_json(
//!     r#"{
//!         "attributes": [
//!             {"name": "language", "categories": ["de", "en", "fr"]},
//!             {"name": "often", "categories": ["yes", "no"], "weight": 2}
//!         ],
//!         "pairs": [{"first": "language", "second": "often"}]
//!     }"#,
//! )?;
//! let bytes = contents.to_bytes()?;
//! let form = Form::parse(&bytes).expect("it was just written");
//! assert_eq!(form.question_count(), 3);
//! # Ok::<(), undertone::Error>(())
//! ```

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use undertone_core::epsilon::Epsilon;
use undertone_core::form::format::{self, AttributeEntry, Header, PairEntry};
use undertone_core::form::{Form, NO_ANSWER, Question, digest};
use undertone_core::projective::Geometry;
use zerocopy::IntoBytes;
use zerocopy::little_endian::{U16, U32};

use crate::error::{Error, Result};
use crate::files::fields::Fields;
use crate::files::foreign::without_mark;
use crate::pack::candidates::Candidates;

/// The description of a form.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Contents {
    /// The attributes.
    pub attributes: Vec<Attribute>,
    /// The pairs, for cross tables.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pairs: Vec<Pair>,
}

/// An attribute.
///
/// The topic of a text names in JSON the path of a candidates file as `candidates`, in the place of
/// its categories: these are then the names of the candidates.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "DescribedAttribute")]
pub struct Attribute {
    /// Its name, which no other attribute has.
    pub name: String,
    /// The names of its categories, each once. No answer needs no category.
    pub categories: Vec<String>,
    /// The weight with which it is drawn.
    pub weight: u32,
    /// The identifier of the pack whose candidates are the categories, in hexadecimal digits, if
    /// the attribute is the topic of a text. At most one attribute is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pack: Option<String>,
}

/// An attribute as it is described in JSON.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DescribedAttribute {
    name: String,
    categories: Option<Vec<String>>,
    candidates: Option<PathBuf>,
    #[serde(default = "one")]
    weight: u32,
    pack: Option<String>,
}

impl TryFrom<DescribedAttribute> for Attribute {
    type Error = Error;

    fn try_from(described: DescribedAttribute) -> Result<Self> {
        let name = described.name;
        let both = || format!("the attribute \"{name}\" needs either categories or candidates");
        let (categories, pack) = match (described.categories, described.candidates) {
            (Some(categories), None) => (categories, described.pack),
            (None, Some(path)) if described.pack.is_none() => {
                let candidates = Candidates::read(&path)?;
                let pack = hex::encode(candidates.pack_id());
                let names = candidates.entries.into_iter().map(|entry| entry.id);
                (names.collect(), Some(pack))
            }
            _ => return Err(unusable(both())),
        };
        Ok(Self {
            name,
            categories,
            weight: described.weight,
            pack,
        })
    }
}

/// A pair of attributes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pair {
    /// The name of an attribute.
    pub first: String,
    /// The name of another attribute.
    pub second: String,
    /// The weight with which it is drawn.
    #[serde(default = "one")]
    pub weight: u32,
}

fn one() -> u32 {
    1
}

fn unusable(problem: impl std::fmt::Display) -> Error {
    Error::input(format!("not a usable form: {problem}"))
}

impl Contents {
    /// Parses the description, and reads the candidates file that it names, by a path from the
    /// working directory.
    ///
    /// # Errors
    /// [`ErrorKind::Input`](crate::error::ErrorKind::Input) for text that is not such a
    /// description, and for a file that cannot be read.
    pub fn from_json(text: &str) -> Result<Self> {
        serde_json::from_str(text).map_err(|problem| unusable(problem.to_string()))
    }

    /// The description as JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("names and numbers are JSON")
    }

    /// The bytes of a form, from the bytes of a file: those of a form, or a description in JSON.
    ///
    /// # Errors
    /// [`ErrorKind::Input`](crate::error::ErrorKind::Input) for bytes that are neither.
    pub fn pack(file: Vec<u8>) -> Result<Vec<u8>> {
        if file.starts_with(&format::MAGIC) {
            Form::parse(&file)?;
            return Ok(file);
        }
        let neither = "it is neither a form nor a description of one in JSON";
        let text = str::from_utf8(without_mark(&file)).map_err(|_| unusable(neither))?;
        Self::from_json(text)?.to_bytes()
    }

    /// The description of a form.
    pub fn of(form: &Form<'_>) -> Self {
        let count = form.attribute_count();
        let name = |at: usize| form.attribute_name(at).unwrap_or_default().to_owned();
        let weights: Vec<u32> = form.questions().map(|question| question.weight).collect();
        let attribute = |at: usize| Attribute {
            name: name(at),
            categories: form.category_names(at).map(str::to_owned).collect(),
            weight: weights.get(at).copied().unwrap_or_default(),
            pack: form
                .topic()
                .filter(|topic| usize::from(topic.attribute) == at)
                .map(|topic| hex::encode(topic.pack_id)),
        };
        let pairs = form.questions().filter_map(|question| {
            Some(Pair {
                first: name(question.first.into()),
                second: name(question.second?.into()),
                weight: question.weight,
            })
        });
        Self {
            attributes: (0..count).map(attribute).collect(),
            pairs: pairs.collect(),
        }
    }

    /// The bytes of the form. The order of the pairs and of the names in a pair does not matter.
    ///
    /// # Errors
    /// [`ErrorKind::Input`](crate::error::ErrorKind::Input) if a name is empty or given twice, for
    /// a pair of an unknown attribute, and for more than a form can have.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        self.check_names()?;
        let pairs = self.pairs.iter().map(|pair| self.entry(pair));
        let mut pairs = pairs.collect::<Result<Vec<_>>>()?;
        pairs.sort_by_key(|pair| (pair.first.get(), pair.second.get()));
        let most = usize::from(format::MAX_QUESTIONS);
        let questions = self.attributes.len() + pairs.len();
        if questions > most {
            return Err(unusable(format!(
                "{questions} attributes and pairs; allowed are {most}"
            )));
        }
        let mut rest = Vec::new();
        for attribute in &self.attributes {
            let entry = AttributeEntry {
                categories: U32::new(short(attribute.categories.len())?),
                weight: U32::new(attribute.weight),
            };
            rest.extend_from_slice(entry.as_bytes());
        }
        rest.extend_from_slice(pairs.as_bytes());
        let names = self.attributes.iter().map(|attribute| &attribute.name);
        let categories = self
            .attributes
            .iter()
            .map(|attribute| &attribute.categories);
        let category_count = categories.clone().map(Vec::len).sum();
        let names: Vec<&String> = names.chain(categories.flatten()).collect();
        let mut end = 0;
        for name in &names {
            end += name.len();
            rest.extend_from_slice(&short(end)?.to_le_bytes());
        }
        rest.extend(names.iter().flat_map(|name| name.bytes()));
        let (topic, topic_pack) = self.topic()?;
        let mut header = Header {
            magic: format::MAGIC,
            version: format::VERSION,
            reserved: 0,
            length: U32::new(short(size_of::<Header>() + rest.len())?),
            // At most `MAX_QUESTIONS` each.
            attributes: U16::new(self.attributes.len() as u16),
            pairs: U16::new(pairs.len() as u16),
            categories: U32::new(short(category_count)?),
            topic: U16::new(topic),
            reserved_more: [0; 2],
            topic_pack,
            digest: [0; 32],
        };
        header.digest = digest(&header, &rest);
        let bytes = [header.as_bytes(), &rest].concat();
        Form::parse(&bytes)?;
        Ok(bytes)
    }

    /// The number of the topic's attribute, from 1, and the identifier of its pack; zeroes without
    /// a topic.
    fn topic(&self) -> Result<(u16, [u8; 8])> {
        let mut topics = (1..)
            .zip(&self.attributes)
            .filter_map(|(number, own)| Some((number, own.pack.as_ref()?)));
        let Some((number, digits)) = topics.next() else {
            return Ok((0, [0; 8]));
        };
        if topics.next().is_some() {
            return Err(unusable("two attributes have a pack; a form has one topic"));
        }
        let mut pack = [0; 8];
        hex::decode_to_slice(digits, &mut pack)
            .map_err(|_| unusable("the pack of an attribute is not 16 hexadecimal digits"))?;
        Ok((number, pack))
    }

    fn check_names(&self) -> Result<()> {
        let attributes = self.attributes.iter().map(|attribute| &attribute.name);
        distinct("attribute", attributes)?;
        for attribute in &self.attributes {
            let of = format!("category of the attribute \"{}\"", attribute.name);
            distinct(&of, attribute.categories.iter())?;
        }
        Ok(())
    }

    fn entry(&self, pair: &Pair) -> Result<PairEntry> {
        let index = |name: &String| {
            let mut attributes = self.attributes.iter();
            let found = attributes.position(|attribute| attribute.name == *name);
            found.ok_or_else(|| unusable(format!("a pair names \"{name}\", which is no attribute")))
        };
        let mut indices = [index(&pair.first)?, index(&pair.second)?];
        indices.sort_unstable();
        // A larger index is refused with the number of attributes.
        let [first, second] = indices.map(|index| U16::new(index as u16));
        Ok(PairEntry {
            first,
            second,
            weight: U32::new(pair.weight),
        })
    }
}

/// The geometry of each question of a form that errs least at this ε, for
/// [`release_by`](Form::release_by).
pub fn geometries(form: &Form<'_>, epsilon: Epsilon) -> Vec<Geometry> {
    let best = |question: Question| Geometry::best_for_answer(question.outcomes, epsilon);
    let geometries = form.questions().map(best).collect::<Option<_>>();
    geometries.expect("a form that parses has no question with too many outcomes")
}

/// The answers of records whose fields are named like the attributes of a form.
///
/// A value is the name of a category. If no category of the attribute is named by a whole number,
/// the number of a category will do. Everything else is no answer: a missing field, null, an
/// unknown name, a list. No value is an error, because an error would reveal it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answers {
    attributes: Vec<AttributeNames>,
    /// The attribute whose field has a text.
    text: Option<usize>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct AttributeNames {
    name: String,
    categories: HashMap<String, u32>,
    /// Whether numbers are those of categories, and not names.
    by_number: bool,
}

impl Answers {
    /// The names of a form.
    pub fn new(form: &Form<'_>) -> Self {
        let of = |attribute| {
            let names = form.category_names(attribute).map(str::to_owned);
            let categories: HashMap<String, u32> = names.zip(0..).collect();
            let name = form.attribute_name(attribute);
            AttributeNames {
                name: name.unwrap_or_default().to_owned(),
                by_number: categories.keys().all(|name| whole(name).is_none()),
                categories,
            }
        };
        Self {
            attributes: (0..form.attribute_count()).map(of).collect(),
            text: None,
        }
    }

    /// The names of a form whose topic a text answers: the field of that attribute has the text. A
    /// value that is no string counts as an empty text.
    pub fn with_text(form: &Form<'_>) -> Self {
        let topic = form.topic().map(|topic| topic.attribute.into());
        Self {
            text: topic,
            ..Self::new(form)
        }
    }

    /// The names of the attributes, in the order of the form.
    pub fn attributes(&self) -> impl Iterator<Item = &str> {
        self.attributes.iter().map(|own| own.name.as_str())
    }

    /// The answer to an attribute that a value stands for: a string, or the digits of a number.
    pub fn answer(&self, attribute: usize, value: &str) -> u32 {
        let answer = self.attributes.get(attribute).and_then(|own| {
            let named = own.categories.get(value).copied();
            named.or_else(|| match whole(value)? {
                // Numbers without a category are no answer.
                number if own.by_number => u32::try_from(number).ok(),
                // Columns with missing values have 1.0 for 1.
                number => own.categories.get(&number.to_string()).copied(),
            })
        });
        answer.unwrap_or(NO_ANSWER)
    }

    /// The text of a record, and its answers, one for each attribute; none for that of the text.
    pub(crate) fn of_record(&self, fields: &Fields<'_>) -> (String, Vec<u32>) {
        let mut text = String::new();
        let mut answer = |(attribute, own): (usize, &AttributeNames)| {
            // A field that is given twice has no value.
            let value = fields.find(&own.name).ok().flatten();
            if self.text == Some(attribute) {
                let string = value.and_then(|value| serde_json::from_str(value.get()).ok());
                text = string.unwrap_or_default();
                return NO_ANSWER;
            }
            value.map_or(NO_ANSWER, |value| self.of_json(attribute, value))
        };
        let answers = self.attributes.iter().enumerate().map(&mut answer);
        let answers = answers.collect();
        (text, answers)
    }

    fn of_json(&self, attribute: usize, value: &RawValue) -> u32 {
        match value.get().as_bytes() {
            [b'"', ..] => serde_json::from_str::<String>(value.get())
                .map_or(NO_ANSWER, |text| self.answer(attribute, &text)),
            [b'-' | b'0'..=b'9' | b't' | b'f', ..] => self.answer(attribute, value.get()),
            _ => NO_ANSWER,
        }
    }
}

/// The whole number that a text stands for, if it is one that floating-point numbers hold exactly.
fn whole(text: &str) -> Option<u64> {
    let number: f64 = text.parse().ok()?;
    let is_whole = number.fract() == 0.0 && (0.0..9_007_199_254_740_992.0).contains(&number);
    is_whole.then_some(number as u64)
}

/// Refuses a name that is empty or given twice.
fn distinct<'a>(what: &str, names: impl Iterator<Item = &'a String>) -> Result<()> {
    let mut seen = HashSet::new();
    for name in names {
        if name.is_empty() {
            return Err(unusable(format!("the name of an {what} is empty")));
        }
        if !seen.insert(name) {
            return Err(unusable(format!("there are two of the {what} \"{name}\"")));
        }
    }
    Ok(())
}

fn short(number: usize) -> Result<u32> {
    u32::try_from(number)
        .map_err(|_| unusable(format!("{number} bytes are more than a form can have")))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::encoder::EncoderIdentity;
    use crate::pack::candidates::Candidate;

    fn contents() -> Contents {
        Contents::from_json(
            r#"{"attributes": [
                {"name": "a", "categories": ["x", "y"]},
                {"name": "b", "categories": ["x"], "weight": 0},
                {"name": "c", "categories": ["1", "2", "3"], "weight": 7}],
               "pairs": [{"first": "c", "second": "b"}, {"first": "a", "second": "c", "weight": 2}]}"#,
        )
        .unwrap()
    }

    #[test]
    fn a_form_is_what_was_described() {
        let bytes = contents().to_bytes().unwrap();
        let found = Contents::of(&Form::parse(&bytes).unwrap());
        assert_eq!(found.attributes, contents().attributes);
        let pair = |own: &Pair| (own.first.clone() + &own.second, own.weight);
        let pairs: Vec<_> = found.pairs.iter().map(pair).collect();
        assert_eq!(pairs, [("ac".to_owned(), 2), ("bc".to_owned(), 1)]);
        assert_eq!(found.to_bytes().unwrap(), bytes);
        let json = serde_json::to_string(&found).unwrap();
        assert_eq!(Contents::from_json(&json).unwrap(), found);
    }

    #[test]
    fn mistakes_are_named() {
        let refused = |part: &str, change: fn(&mut Contents)| {
            let mut contents = contents();
            change(&mut contents);
            let error = contents.to_bytes().unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        };
        refused("two of the attribute \"a\"", |it| {
            it.attributes[1].name = "a".into()
        });
        refused("is empty", |it| it.attributes[0].categories[1].clear());
        refused("\"c\" \"1\"", |it| {
            it.attributes[2].categories[2] = "1".into()
        });
        refused("\"d\", which is no attribute", |it| {
            it.pairs[0].first = "d".into()
        });
        refused("attributes 2 and 2", |it| it.pairs[0].second = "c".into());
        refused("no attribute", |it| it.attributes.clear());
        refused("not 16 hexadecimal digits", |it| {
            it.attributes[1].pack = Some("12".into())
        });
        refused("one topic", |it| {
            it.attributes[1].pack = Some("12".into());
            it.attributes[2].pack = Some("12".into());
        });
        refused("allowed are 1..=65536", |it| {
            it.attributes[1].categories.clear()
        });
        let unknown = Contents::from_json(r#"{"attributes": [], "weights": 1}"#);
        assert!(unknown.unwrap_err().to_string().contains("weights"));
    }

    #[test]
    fn the_topic_has_the_names_of_candidates() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.candidates.safetensors");
        let entry = |name: &str| Candidate {
            id: name.to_owned(),
            label: None,
            excerpt: String::new(),
        };
        let candidates = Candidates {
            pack_digest: [7; 32],
            encoder: EncoderIdentity {
                name: String::new(),
                digest: [0; 32],
            },
            dimension: 1,
            embeddings: vec![0.0; 2],
            entries: vec![entry("health"), entry("sport")],
            has_nothing_known: true,
            calibration: None,
        };
        candidates.write(&path).unwrap();
        let described = |topic: Value| {
            let other = json!({"name": "stars", "categories": ["1"]});
            Contents::from_json(&json!({"attributes": [other, topic]}).to_string())
        };
        let contents = described(json!({"name": "topic", "candidates": path})).unwrap();
        assert_eq!(contents.attributes[1].categories, ["health", "sport"]);
        let bytes = contents.to_bytes().unwrap();
        let form = Form::parse(&bytes).unwrap();
        let topic = form.topic().unwrap();
        assert_eq!((topic.attribute, topic.pack_id), (1, [7; 8]));
        assert_eq!(Contents::of(&form), contents);
        assert_eq!(Contents::from_json(&contents.to_json()).unwrap(), contents);
        for (refused, part) in [
            (json!({"name": "a"}), "needs either"),
            (
                json!({"name": "a", "candidates": path, "categories": ["b"]}),
                "needs either",
            ),
            (
                json!({"name": "a", "candidates": "no such file"}),
                "no such file",
            ),
        ] {
            let error = described(refused).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
        let answers = Answers::with_text(&form);
        for (topic, text) in [(r#""A match.""#, "A match."), ("null", ""), ("7", "")] {
            let line = format!("{{\"topic\": {topic}, \"stars\": 1}}");
            let fields: Fields<'_> = serde_json::from_str(&line).unwrap();
            let expected = (text.to_owned(), vec![0, NO_ANSWER]);
            assert_eq!(answers.of_record(&fields), expected);
        }
    }

    #[test]
    fn values_are_names_or_numbers_and_everything_else_is_no_answer() {
        let form = Contents::pack(
            br#"{"attributes": [
                {"name": "mood", "categories": ["good", "bad", "true"]},
                {"name": "stars", "categories": ["1", "2", "3"]}]}"#
                .to_vec(),
        )
        .unwrap();
        assert_eq!(Contents::pack(form.clone()).unwrap(), form);
        let answers = Answers::new(&Form::parse(&form).unwrap());
        assert_eq!(answers.attributes().collect::<Vec<_>>(), ["mood", "stars"]);
        let none = NO_ANSWER;
        for (mood, stars, expected) in [
            (r#""bad""#, r#""3""#, [1, 2]),
            ("1", "1", [1, 0]),
            ("1.0", "2.0", [1, 1]),
            ("true", "1e0", [2, 0]),
            (r#""\u0062ad""#, r#""2""#, [1, 1]),
            // A number of an attribute whose categories are numbers is a name, and no place.
            ("0", "0", [0, none]),
            ("null", "null", [none; 2]),
            ("\"\"", "-1", [none; 2]),
            (r#""BAD""#, "1.5", [none; 2]),
            (r#"["bad"]"#, r#"{"stars": 1}"#, [none; 2]),
            ("false", "1e300", [none; 2]),
            ("4294967296", r#""inf""#, [none; 2]),
            (r#""bad", "mood": "good""#, r#"1, "stars": 1"#, [none; 2]),
        ] {
            let line = format!(r#"{{"mood": {mood}, "stars": {stars}, "other": 1}}"#);
            let fields: Fields<'_> = serde_json::from_str(&line).unwrap();
            assert_eq!(answers.of_record(&fields).1, expected, "{line}");
        }
        let fields: Fields<'_> = serde_json::from_str("{}").unwrap();
        assert_eq!(answers.of_record(&fields).1, [none; 2]);
        assert_eq!(answers.answer(2, "good"), none);
        for bytes in [&b"\xff\xfe"[..], b"UTFORM", b"{}", b""] {
            assert!(Contents::pack(bytes.to_vec()).is_err());
        }
    }
}
