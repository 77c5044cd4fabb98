//! The fields of a JSON object, by name or by a path with dots.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// The fields of an object, in order, duplicates included, with values as written. Names without
/// escapes borrow from the line: copying them takes longer than reading millions of lines.
pub struct Fields<'a>(pub Vec<(Cow<'a, str>, &'a RawValue)>);

/// A name that borrows from the line; serde copies a plain `Cow`.
#[derive(serde::Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

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
            // The value is not an object.
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
        let name = NAMES
            .iter()
            .find(|name| !is_text && from.starts_with(**name));
        let length = match (name, from.as_bytes()) {
            (Some(name), _) => {
                written += "null";
                rest = &from[name.len()..];
                continue;
            }
            // An escaped character does not end a string.
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

/// [`without_nan`], with a quick test for lines that need no change.
pub fn plain(line: &str) -> Cow<'_, str> {
    let may_have = line.contains("NaN") || line.contains("Infinity");
    let plain = if may_have { without_nan(line) } else { None };
    plain.map_or(Cow::Borrowed(line), Cow::Owned)
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
}
