//! The fields of a JSON object, by name or by a path with dots.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// The fields of an object in their order, as often as they are given, as they are written. Names without escapes are those of
/// the text: of millions of lines copies take longer than reading them.
pub struct Fields<'a>(pub Vec<(Cow<'a, str>, &'a RawValue)>);

/// A name, which serde would copy.
#[derive(serde::Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

/// A field is given twice, so nobody knows which one is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Twice;

impl<'a> Fields<'a> {
    /// The field of this name: one that is called so, dots and all, or else one inside other fields, whose names have dots
    /// between.
    ///
    /// # Errors
    /// [`Twice`].
    pub fn find(&self, path: &str) -> Result<Option<&'a RawValue>, Twice> {
        let mut found = self.0.iter().filter(|(name, _)| name == path);
        match (found.next(), found.next()) {
            (Some(_), Some(_)) => return Err(Twice),
            (Some((_, value)), None) => return Ok(Some(value)),
            (None, _) => {}
        }
        let Some((outer, rest)) = path.split_once('.') else {
            return Ok(None);
        };
        let Some(outer) = self.find(outer)? else {
            return Ok(None);
        };
        match serde_json::from_str::<Fields<'a>>(outer.get()) {
            Ok(inner) => inner.find(rest),
            // No object.
            Err(_) => Ok(None),
        }
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

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = Vec::new();
                while let Some((Name(name), value)) = map.next_entry()? {
                    fields.push((name, value));
                }
                Ok(Fields(fields))
            }
        }

        deserializer.deserialize_map(Pairs)
    }
}

/// A line with null for the numbers that JSON does not have and Python writes: NaN and infinities. None
/// if it has none.
pub fn without_nan(line: &str) -> Option<String> {
    const NAMES: [&str; 3] = ["NaN", "Infinity", "-Infinity"];
    let mut written = String::new();
    let mut rest = line;
    let mut is_text = false;
    while let Some(place) = rest.find(['"', '\\', 'N', 'I', '-']) {
        let (before, from) = rest.split_at(place);
        written += before;
        let name = NAMES
            .iter()
            .find(|name| !is_text && from.starts_with(**name));
        let length = match (name, from.as_bytes()) {
            (Some(name), _) => {
                written += "null";
                rest = &from[name.len()..];
                continue;
            }
            // What is escaped is no end of a string.
            (None, [b'\\', next, ..]) if next.is_ascii() => 2,
            (None, [first, ..]) => {
                is_text ^= *first == b'"';
                1
            }
            (None, []) => break,
        };
        written += &from[..length];
        rest = &from[length..];
    }
    written += rest;
    (written != line).then_some(written)
}

/// The same in less time, as lines of releases are read.
pub fn plain(line: &str) -> Cow<'_, str> {
    let may_have = line.contains("NaN") || line.contains("Infinity");
    let plain = if may_have { without_nan(line) } else { None };
    plain.map_or(Cow::Borrowed(line), Cow::Owned)
}

/// A text as it is written in JSON.
pub fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// A member of an object: its name, and its value as it is written.
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
            // A name with dots comes first at every level.
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
}
