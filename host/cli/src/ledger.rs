//! `undertone ledger`.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use serde::Serialize;
use undertone::error::{Cause, Error, Result};
use undertone::release::ledger::{LedgerFile, contents, utc_day};
use undertone_core::epsilon::{Epsilon, Micro};
use undertone_core::ledger::{LEDGER_BYTES, LedgerError, RECORD_BYTES};
use undertone_core::unit::Unit;

use crate::files::{json, print};
use crate::paths::Paths;

/// Its arguments.
#[derive(Args)]
pub(crate) struct Arguments {
    /// The ledger.
    ledger: PathBuf,
    /// The window; the days since 1970 in UTC, as `privatize` has them, unless an app counts otherwise.
    #[arg(long, value_name = "N", default_value_t = utc_day(), value_parser = crate::args::whole::<u64>)]
    window: u64,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Put a ledger in the place of one that was lost or damaged. What that one had spent is not known, so this day (UTC) counts
    /// as spent: releases go on tomorrow.
    #[arg(long, requires_all = ["unit", "budget"], conflicts_with = "window")]
    begin_anew: bool,
    /// With --begin-anew: what the releases promise for. `privatize` takes sentence or whole-text, by its --rule, and
    /// `obfuscate` takes word.
    #[arg(long, value_enum, requires = "begin_anew")]
    unit: Option<UnitArg>,
    /// With --begin-anew: the epsilon that all documents of a day (UTC) may spend together.
    #[arg(
        long,
        value_name = "EPSILON",
        requires = "begin_anew",
        allow_hyphen_values = true
    )]
    budget: Option<Epsilon>,
}

#[derive(Clone, Copy, ValueEnum)]
enum UnitArg {
    Sentence,
    WholeText,
    Word,
    Vector,
}

impl From<UnitArg> for Unit {
    fn from(unit: UnitArg) -> Self {
        match unit {
            UnitArg::Sentence => Self::Sentence,
            UnitArg::WholeText => Self::WholeText,
            UnitArg::Word => Self::Word,
            UnitArg::Vector => Self::Vector,
        }
    }
}

/// What a ledger says.
#[derive(Serialize)]
struct Answer {
    /// `None` in a ledger of version 1, which does not say.
    unit: Option<String>,
    budget_micro: u64,
    window: u64,
    spent_micro: u64,
    left_micro: u64,
    /// Whether a record was lost, so that the rest of the window counts as spent.
    record_lost: bool,
}

impl Arguments {
    pub(crate) fn paths(&self) -> Paths {
        match self.begin_anew {
            true => Paths::default().output("the ledger", &self.ledger),
            false => Paths::default(),
        }
    }

    /// Puts a new ledger there.
    fn begin_anew(&self, unit: Unit, budget: Epsilon) -> Result<()> {
        let path = &self.ledger;
        if !may_be_ledger(path).map_err(Error::io("read", path))? {
            return Err(Error::from(Cause::OutputPath {
                path: path.clone(),
                problem: "it is no ledger, not even a damaged one, and would be overwritten; if the ledger was there, \
                          move this file away and run the command again",
            }));
        }
        // One of a later day would be a fresh budget for that day.
        if let Ok(old) = contents(path) {
            old.remaining(self.window).map_err(self.problem())?;
        }
        LedgerFile::begin_anew(path, unit, budget, self.window, None)?;
        note!(
            "`{}` begins anew: this day (UTC) counts as spent, and the next has the whole budget",
            path.display()
        );
        Ok(())
    }

    /// For `map_err`: whose ledger refused.
    fn problem(&self) -> impl FnOnce(LedgerError) -> Error {
        let path = self.ledger.clone();
        move |problem| Error::from(Cause::Ledger { path, problem })
    }

    pub(crate) fn run(&self) -> Result<()> {
        if let (true, Some(unit), Some(budget)) = (self.begin_anew, self.unit, self.budget) {
            self.begin_anew(unit.into(), budget)?;
        }
        let contents = contents(&self.ledger)?;
        let left = contents.remaining(self.window).map_err(self.problem())?;
        let answer = Answer {
            unit: contents.unit().map(|unit| unit.to_string()),
            budget_micro: contents.budget(),
            window: self.window,
            spent_micro: contents.budget().saturating_sub(left),
            left_micro: left,
            record_lost: contents.is_lost(),
        };
        match self.json {
            true => print(&(json(&answer) + "\n")),
            false => print(&text(&answer)),
        }
    }
}

/// Whether nothing is there, or what may be left of a ledger: nothing at all, or the start of a record.
fn may_be_ledger(path: &Path) -> io::Result<bool> {
    let mut bytes = Vec::new();
    match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
        opened => opened?
            .take(LEDGER_BYTES as u64 + 1)
            .read_to_end(&mut bytes)?,
    };
    let mut records = bytes.chunks(RECORD_BYTES);
    let has_start = records.any(|record| record.starts_with(b"UTLEDG"));
    Ok(bytes.is_empty() || (bytes.len() <= LEDGER_BYTES && has_start))
}

/// What to do about a ledger of which nobody knows what it had spent.
pub(crate) fn advise(error: &Error) {
    if let Cause::Ledger {
        path,
        problem:
            LedgerError::Length { .. }
            | LedgerError::NotALedger
            | LedgerError::Damaged
            | LedgerError::Mixed
            | LedgerError::SetBack { .. },
    } = error.cause()
    {
        note!(
            "to begin anew: `undertone ledger {} --begin-anew --unit UNIT --budget EPSILON`",
            path.display()
        );
    }
}

fn text(answer: &Answer) -> String {
    let unit = answer.unit.as_deref();
    let mut text = format!(
        "unit     {}\nbudget   {} for each window\nwindow   {}\nspent    {}\nleft     {}\n",
        unit.unwrap_or("not said (version 1)"),
        Micro(answer.budget_micro),
        answer.window,
        Micro(answer.spent_micro),
        Micro(answer.left_micro),
    );
    if answer.record_lost {
        text += "note     A record was lost, in a power cut for example: what it spent is not known, so the rest of this \
                 window counts as spent.\n";
    }
    text
}
