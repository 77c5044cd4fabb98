//! `undertone ledger`.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use serde::Serialize;
use undertone::error::{Cause, Error, Result};
use undertone::release::ledger::{LedgerFile, contents, open_to_read, utc_day};
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
    /// The window; the days since 1970 in UTC, as `privatize` has them, unless an app counts
    /// otherwise.
    #[arg(long, value_name = "N", default_value_t = utc_day(), value_parser = crate::args::whole::<u64>)]
    window: u64,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Replace a ledger that was lost or damaged, or whose window is in the future because a clock
    /// was wrong. Set the clock right first. This day (UTC) counts as spent: releases go on
    /// tomorrow.
    #[arg(long, requires_all = ["unit", "budget"], conflicts_with = "window")]
    recreate_spent: bool,
    /// With --recreate-spent: the unit of the releases. `privatize` takes sentence or whole-text,
    /// by its --rule, and `obfuscate` takes word.
    #[arg(long, value_enum, requires = "recreate_spent")]
    unit: Option<UnitArg>,
    /// With --recreate-spent: the epsilon that all documents of a day (UTC) may spend together.
    #[arg(
        long,
        value_name = "EPSILON",
        requires = "recreate_spent",
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

/// The contents of a ledger, for printing.
#[derive(Serialize)]
struct Answer {
    unit: String,
    budget_micro: u64,
    window: u64,
    spent_micro: u64,
    left_micro: u64,
    /// A record was lost, so that the rest of the window counts as spent.
    record_lost: bool,
}

impl Arguments {
    pub(crate) fn paths(&self) -> Paths {
        if self.recreate_spent {
            Paths::default().output("the ledger", &self.ledger)
        } else {
            Paths::default()
        }
    }

    /// Replaces the ledger.
    fn recreate_spent(&self, unit: Unit, budget: Epsilon) -> Result<()> {
        let path = &self.ledger;
        if !may_be_ledger(path).map_err(Error::io("read", path))? {
            return Err(Error::from(Cause::OutputPath {
                path: path.clone(),
                problem: "it is no ledger, not even a damaged one, and would be overwritten; if the ledger was there, \
                          move this file away and run the command again",
            }));
        }
        if let Ok(old) = contents(path)
            && old.window() > self.window
        {
            note!(
                "`{}` was of day {}; by this machine's clock it is day {}. If that is wrong, set the clock right and run \
                 the command again",
                path.display(),
                old.window(),
                self.window
            );
        }
        LedgerFile::recreate_spent(path, unit, budget, self.window, None)?;
        note!(
            "`{}` is recreated: this day (UTC) counts as spent, and the next has the whole budget",
            path.display()
        );
        Ok(())
    }

    /// Names the ledger in its error, for `map_err`.
    fn problem(&self) -> impl FnOnce(LedgerError) -> Error {
        let path = self.ledger.clone();
        move |problem| Error::from(Cause::Ledger { path, problem })
    }

    pub(crate) fn run(&self) -> Result<()> {
        if let (true, Some(unit), Some(budget)) = (self.recreate_spent, self.unit, self.budget) {
            self.recreate_spent(unit.into(), budget)?;
        }
        let contents = contents(&self.ledger)?;
        let left = contents.remaining(self.window).map_err(self.problem())?;
        let answer = Answer {
            unit: contents.unit().to_string(),
            budget_micro: contents.budget(),
            window: self.window,
            spent_micro: contents.budget().saturating_sub(left),
            left_micro: left,
            record_lost: contents.is_lost(),
        };
        if self.json {
            print(&(json(&answer) + "\n"))
        } else {
            print(&text(&answer))
        }
    }
}

/// Whether the path is free, or has an empty file or the start of a record, as may remain of a
/// ledger.
fn may_be_ledger(path: &Path) -> io::Result<bool> {
    let mut bytes = Vec::new();
    match open_to_read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
        opened => opened?
            .take(LEDGER_BYTES as u64 + 1)
            .read_to_end(&mut bytes)?,
    };
    let mut records = bytes.chunks(RECORD_BYTES);
    let has_start = records.any(|record| record.starts_with(b"UTLEDG"));
    Ok(bytes.is_empty() || (bytes.len() <= LEDGER_BYTES && has_start))
}

/// Advises what to do if the amount that a ledger has spent is unknown, or if its window is in the
/// future.
pub(crate) fn advise(error: &Error) {
    if let Cause::Ledger {
        path,
        problem:
            LedgerError::Length { .. }
            | LedgerError::NotALedger
            | LedgerError::Damaged
            | LedgerError::Mixed
            | LedgerError::FromFuture { .. }
            | LedgerError::SetBack { .. },
    } = error.cause()
    {
        note!(
            "to recreate it: `undertone ledger {} --recreate-spent --unit UNIT --budget EPSILON`",
            path.display()
        );
    }
}

fn text(answer: &Answer) -> String {
    let mut text = format!(
        "unit     {}\nbudget   {} for each window\nwindow   {}\nspent    {}\nleft     {}\n",
        answer.unit,
        Micro(answer.budget_micro),
        answer.window,
        Micro(answer.spent_micro),
        Micro(answer.left_micro),
    );
    if answer.record_lost {
        text += "note     A record was lost, in a power cut for example, so the rest of this window counts as spent.\n";
    }
    text
}
