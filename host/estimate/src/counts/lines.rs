//! Files of releases as lines of JSON.

use std::path::Path;

use serde_json::Value;
use undertone::error::Result;
use undertone::files::fields::Twice;
use undertone::progress::Progress;
use undertone::release::lines::{Lines, ReleaseLine};

use super::counter::{STEP, Thread};
use super::turns::Aside;
use super::{LONGEST_VALUE, Reason};

pub(crate) fn count(
    thread: &mut Thread<'_>,
    mut lines: Lines,
    by: &[String],
    mut aside: Option<Aside<'_>>,
    progress: &Progress,
) -> Result<()> {
    let mut values = Vec::new();
    let mut steps = 0;
    while let Some(line) = lines.next_line()? {
        let number = line.number;
        let parsed = line.text.and_then(ReleaseLine::parse);
        let counted = match parsed {
            Err(problem) => Err(Reason::Line(problem)),
            Ok(line) => values_of(&line, by, &mut values).map(|()| line.release.to_bytes()),
        };
        let counted = match counted {
            Err(reason) => {
                thread.rejected.add(reason, 1, number, None);
                false
            }
            Ok(record) => thread.count(&values, &record, number)?,
        };
        if !counted && let Some(aside) = &mut aside {
            lines.copy(aside.writer, Path::new(aside.path))?;
        }
        steps += 1;
        if steps % STEP == 0 {
            progress.advance(STEP);
        }
    }
    Ok(())
}

fn values_of(
    line: &ReleaseLine<'_>,
    by: &[String],
    values: &mut Vec<String>,
) -> Result<(), Reason> {
    values.clear();
    for name in by {
        values.push(value_of(line, name)?);
    }
    Ok(())
}

/// The value of a field.
fn value_of(line: &ReleaseLine<'_>, name: &str) -> Result<String, Reason> {
    let value = line.fields.find(name).map_err(|Twice| Reason::NotAValue)?;
    let value = value.ok_or(Reason::NoValue)?;
    let value = serde_json::from_str(value.get()).map_err(|_| Reason::NotAValue)?;
    text(&value)
}

fn text(value: &Value) -> Result<String, Reason> {
    match value {
        Value::Null => Err(Reason::NoValue),
        Value::Bool(value) => Ok(value.to_string()),
        Value::Number(number) if !number.is_f64() => Ok(number.to_string()),
        Value::String(text) if text.len() > LONGEST_VALUE => Err(Reason::LongValue),
        Value::String(text) => Ok(text.clone()),
        _ => Err(Reason::NotAValue),
    }
}
