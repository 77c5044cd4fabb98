//! The fields of a JSON object, by name or by a path with dots.

use std::borrow::Cow;
use std::fmt;
use std::path::Path;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::error::{Error, Result};

/// The fields of an object in their order, with repetitions. Names and values are slices of the
/// text: copies would take longer than parsing.
pub struct Fields<'a>(pub Vec<(Name<'a>, &'a RawValue)>);

/// The name of a field, as it is written in JSON.
#[derive(Clone, Copy, serde::Deserialize)]
pub struct Name<'a>(#[serde(borrow)] &'a RawValue);

impl<'a> Name<'a> {
    /// The name in quotation marks, with its escapes.
    pub fn as_written(self) -> &'a str {
        self.0.get()
    }

    /// The name. Half a surrogate pair has no text, so a name with one keeps its escapes.
    pub fn text(self) -> Cow<'a, str> {
        let written = self.as_written();
        let inside = &written[1..written.len() - 1];
        if !inside.contains('\\') {
            return Cow::Borrowed(inside);
        }
        let text = serde_json::from_str(written);
        text.map_or(Cow::Borrowed(inside), Cow::Owned)
    }
}

impl PartialEq<str> for Name<'_> {
    fn eq(&self, other: &str) -> bool {
        self.text() == other
    }
}

/// A field is given twice, so the value is ambiguous.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Twice;

impl<'a> Fields<'a> {
    /// Finds a field by its name, which may contain dots, or else by the path of a nested field,
    /// such as `user.name`.
    ///
    /// # Errors
    /// [`Twice`] if the field is ambiguous.
    pub fn find(&self, path: &str) -> Result<Option<&'a RawValue>, Twice> {
        let mut found = self.0.iter().filter(|(name, _)| *name == *path);
        match (found.next(), found.next()) {
            (Some(_), Some(_)) => return Err(Twice),
            (Some((_, value)), None) => return Ok(Some(value)),
            (None, _) => {}
        }
        if let Some((outer, rest)) = path.split_once('.')
            && let Some(outer) = self.find(outer)?
            // The value may be no object.
            && let Ok(inner) = serde_json::from_str::<Fields<'a>>(outer.get())
        {
            return inner.find(rest);
        }
        Ok(None)
    }
}

impl<'de> Deserialize<'de> for Fields<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Pairs;

        impl<'de> Visitor<'de> for Pairs {
            type Value = Fields<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields<'de>, A::Error> {
                let fields = std::iter::from_fn(|| map.next_entry().transpose());
                fields.collect::<Result<_, _>>().map(Fields)
            }
        }

        deserializer.deserialize_map(Pairs)
    }
}

/// Requested fields that no line has had so far.
pub struct Absent {
    names: Vec<String>,
    /// The fields of one line, for the error.
    present: Vec<String>,
}

impl Absent {
    /// Starts with all requested fields.
    pub fn new(names: &[String]) -> Self {
        Self {
            names: names.to_vec(),
            present: Vec::new(),
        }
    }

    /// Removes the fields that a line has.
    pub fn look_at(&mut self, fields: &Fields<'_>) {
        if self.names.is_empty() {
            return;
        }
        let is_absent = |name: &String| matches!(fields.find(name), Ok(None));
        self.names.retain(is_absent);
        if self.present.is_empty() {
            let names = fields.0.iter().map(|(name, _)| name.text().into_owned());
            self.present = names.collect();
        }
    }

    /// Adds the lines that another thread looked at.
    pub fn merge(&mut self, other: Self) {
        if self.present.is_empty() {
            *self = other;
        } else if !other.present.is_empty() {
            self.names.retain(|name| other.names.contains(name));
        }
    }

    /// Refuses a field that none of the lines had, if there were any.
    ///
    /// # Errors
    /// [`ErrorKind::Input`](crate::error::ErrorKind::Input).
    pub fn check(&self, path: &Path) -> Result<()> {
        match self.names.first() {
            Some(name) if !self.present.is_empty() => {
                Err(no_such_field(path, "field", name, &self.present))
            }
            _ => Ok(()),
        }
    }
}

/// Finds a name that differs only in capitals, or in spaces or quotation marks around it.
pub fn similar<'n>(name: &str, names: &'n [String]) -> Option<&'n str> {
    let around = |c: char| c.is_whitespace() || "\"'`“”„‘’«»".contains(c);
    let plain = |name: &str| name.trim_matches(around).to_lowercase();
    let name = plain(name);
    let mut names = names.iter().map(String::as_str);
    names.find(|other| plain(other) == name)
}

/// An error that names the fields or columns of a file, at most 30 of them.
pub fn no_such_field(path: &Path, kind: &str, name: &str, present: &[String]) -> Error {
    let problem = match similar(name, present) {
        Some(other) => format!(
            "it has no {kind} `{name}`, but `{other}`, which differs in capitals, spaces or quotation marks; name \
             that one"
        ),
        None if present.is_empty() => format!("it has no {kind} at all; name another file"),
        None => format!(
            "it has no {kind} `{name}`, only {}; name another",
            present[..present.len().min(30)].join(", ")
        ),
    };
    unusable(path, &problem)
}

/// An error about a table.
pub fn unusable(path: &Path, problem: &str) -> Error {
    let path = path.display();
    Error::input(format!("cannot read the table `{path}`: {problem}"))
}

/// Replaces by null the numbers that JSON lacks and Python writes, NaN and infinities. Returns
/// `None` if the line has none.
pub fn without_nan(line: &str) -> Option<String> {
    const NAMES: [&str; 3] = ["NaN", "Infinity", "-Infinity"];
    let mut written = String::new();
    let mut rest = line;
    let mut is_text = false;
    while let Some(place) = rest.find(['"', '\\', 'N', 'I', '-']) {
        let (before, from) = rest.split_at(place);
        written += before;
        let mut names = NAMES.iter();
        if let Some(name) = names.find(|name| !is_text && from.starts_with(**name)) {
            written += "null";
            rest = &from[name.len()..];
            continue;
        }
        is_text ^= from.starts_with('"');
        let length = match from.as_bytes() {
            // An escaped character does not end a string.
            [b'\\', next, ..] if next.is_ascii() => 2,
            _ => 1,
        };
        written += &from[..length];
        rest = &from[length..];
    }
    written += rest;
    (written != line).then_some(written)
}

/// Writes a text as a JSON string.
pub fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Formats a member of an object; `value` is JSON already.
pub fn member(name: &str, value: &str) -> String {
    format!("{}:{value}", quoted(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_json_does_not_have_are_null() {
        for (line, expected) in [
            (
                r#"{"a": NaN, "b\"NaN": [-Infinity, "NaN\\"], "c":Infinity}"#,
                Some(r#"{"a": null, "b\"NaN": [null, "NaN\\"], "c":null}"#),
            ),
            (r#"{"a": "NaN Infinity", "b": -1}"#, None),
            ("NaN", Some("null")),
            ("\\", None),
            ("\\ä\"NaN", None),
        ] {
            assert_eq!(without_nan(line).as_deref(), expected, "{line}");
        }
    }

    #[test]
    fn fields_are_found_by_name_and_by_path() {
        let line = r#"{"a.b": 1, "a": {"b": 2, "c": {"d": 3, "d.e": 4}, "c.d": 5, "n": null},
            "l": [1], "t": 6, "t": 7, "o": {"t": 8, "t": 9}, "n": null}"#;
        let fields: Fields<'_> = serde_json::from_str(line).unwrap();
        let find = |path| {
            let found = fields.find(path)?;
            Ok(found.map(|value| value.get().parse::<u8>().unwrap_or(0)))
        };
        for (path, value) in [
            ("a.b", Some(1)),
            // A name with dots is preferred at every level.
            ("a.c.d", Some(5)),
            ("a.c.d.e", Some(4)),
            ("a", Some(0)),
            ("l", Some(0)),
            ("n", Some(0)),
            ("a.n", Some(0)),
            ("n.n", None),
            ("a.x", None),
            ("a.b.c", None),
            ("l.0", None),
            ("", None),
            (".", None),
        ] {
            assert_eq!(find(path), Ok(value), "{path}");
        }
        assert_eq!([find("t"), find("o.t")], [Err(Twice); 2]);
    }

    #[test]
    fn names_with_half_a_surrogate_pair_do_not_hide_other_fields() {
        let line = r#"{"\ud800": 1, "\udc00\ud83d": {"\udfff": 2, "b": 3}, "\ud83d\ude00": 4, "a\u0062": 5}"#;
        let fields: Fields<'_> = serde_json::from_str(line).unwrap();
        let texts: Vec<_> = fields.0.iter().map(|(name, _)| name.text()).collect();
        assert_eq!(texts, [r"\ud800", r"\udc00\ud83d", "\u{1f600}", "ab"]);
        assert_eq!(fields.0[0].0.as_written(), r#""\ud800""#);
        for (path, value) in [("\u{1f600}", "4"), ("ab", "5"), (r"\udc00\ud83d.b", "3")] {
            let found = fields.find(path).unwrap().map(RawValue::get);
            assert_eq!(found, Some(value), "{path}");
        }
    }
}
