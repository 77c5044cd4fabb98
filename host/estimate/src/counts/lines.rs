//! Files of releases as lines of JSON.

use std::path::Path;
use std::sync::{Mutex, MutexGuard};

use serde_json::Value;
use undertone::error::Result;
use undertone::files::fields::{Absent, Twice};
use undertone::release::lines::{BadLine, Batch, Lines, ReleaseLine};

use super::counter::{Input, Thread};
use super::turns::{Part, in_turns, lock};
use super::{LONGEST_VALUE, Reason};

struct Work<'l> {
    batch: Batch,
    /// A line after the batch that is too long for memory, and its reader.
    too_long: Option<(u64, MutexGuard<'l, Lines>)>,
}

/// The next batch.
fn next(source: &Mutex<Lines>) -> Result<Option<Work<'_>>> {
    let mut lines = lock(source);
    let mut batch = Batch::default();
    let mut too_long = None;
    while !batch.is_full()
        && let Some(line) = lines.next_line()?
    {
        let number = line.number;
        if line.text == Err(BadLine::TooLong) {
            too_long = Some(number);
            break;
        }
        batch.push(number, &mut lines)?;
    }
    let is_end = batch.line_count() == 0 && too_long.is_none();
    let too_long = too_long.map(|number| (number, lines));
    Ok((!is_end).then_some(Work { batch, too_long }))
}

/// State of one thread.
struct State<'e> {
    thread: Thread<'e>,
    absent: Absent,
}

/// Counts lines. `check`: some line must have each field of the slices.
pub(crate) fn count<'e>(input: Input<'e>, lines: Lines, check: bool) -> Result<Vec<Thread<'e>>> {
    let absent = if check { input.by } else { &[] };
    let source = Mutex::new(lines);
    let start = || {
        Ok(State {
            thread: Thread::new(input.expected),
            absent: Absent::new(absent),
        })
    };
    let work = |state: &mut State<'e>, Work { batch, too_long }: Work<'_>, aside: &mut Part| {
        for (number, line) in batch.lines() {
            if !state.count(line, number, input.by)? {
                aside.push(|| line);
            }
        }
        input.progress.advance(batch.line_count() as u64);
        let Some((number, mut source)) = too_long else {
            return Ok(());
        };
        input.progress.advance(1);
        let reason = Reason::Line(BadLine::TooLong);
        state.thread.reject(reason.into(), number)?;
        source.copy(aside, Path::new("rejected lines"))
    };
    let states = in_turns(|| next(&source), input.aside, start, work)?;
    let mut absent = Absent::new(absent);
    let mut threads = Vec::new();
    for state in states {
        absent.merge(state.absent);
        threads.push(state.thread);
    }
    absent.check(input.path)?;
    Ok(threads)
}

impl State<'_> {
    /// Counts a line. False if it was rejected.
    fn count(&mut self, line: &[u8], number: u64, by: &[String]) -> Result<bool> {
        let text = Lines::text_of(line, number).map_err(Reason::Line);
        let counted = text.and_then(|text| {
            ReleaseLine::with(text, |line| {
                self.absent.look_at(&line.fields);
                let values = by.iter().map(|name| value_of(&line, name));
                let values = values.collect::<Result<Vec<_>, Reason>>()?;
                Ok((values, line.release.to_bytes()))
            })
        });
        match counted {
            Err(reason) => self.thread.reject(reason.into(), number).map(|()| false),
            Ok((values, record)) => self.thread.count(&values, &record, number),
        }
    }
}

fn value_of(line: &ReleaseLine<'_>, name: &str) -> Result<String, Reason> {
    let value = line.fields.find(name).map_err(|Twice| Reason::NotAValue)?;
    let value = value.ok_or(Reason::NoValue)?;
    match serde_json::from_str(value.get()).map_err(|_| Reason::NotAValue)? {
        Value::Null => Err(Reason::NoValue),
        Value::Bool(value) => Ok(value.to_string()),
        Value::Number(number) if !number.is_f64() => Ok(number.to_string()),
        Value::String(text) if text.len() > LONGEST_VALUE => Err(Reason::LongValue),
        Value::String(text) => Ok(text),
        _ => Err(Reason::NotAValue),
    }
}
