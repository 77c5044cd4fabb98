//! Ledgers, for `undertone inspect` and `undertone release`.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;
use undertone::error::{Error, Result};
use undertone::release::ledger::{LedgerFile, contents, open_to_read, utc_day};
use undertone_core::epsilon::{Epsilon, Micro};
use undertone_core::ledger::{LEDGER_BYTES, LedgerError, RECORD_BYTES};
use undertone_core::unit::Unit;

use crate::args::{named, whole};
use crate::files::{print, print_json};
use crate::paths::Paths;

#[derive(Args)]
pub(crate) struct Recreate {
    /// The ledger.
    ledger: PathBuf,
    /// The unit of the releases. `release documents` takes sentence or whole-text, by its --rule,
    /// `release answers` and `release lines` take whole-text, and `release words` takes word.
    #[arg(long, value_parser = named(&UNITS))]
    unit: Unit,
    /// The epsilon that all releases of a window, such as a day, may spend together.
    #[arg(long, value_name = "EPSILON", allow_hyphen_values = true)]
    budget: Epsilon,
    /// The window that counts as spent. For `release lines`, the days since 1970-01-01 divided by
    /// the days of a window, rounded down [default: today]
    #[arg(long, value_name = "N", value_parser = whole::<u64>)]
    window: Option<u64>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

const UNITS: [(&str, &str, Unit); 4] = [
    ("sentence", "", Unit::Sentence),
    ("whole-text", "", Unit::WholeText),
    ("word", "", Unit::Word),
    ("vector", "", Unit::Vector),
];

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

impl Recreate {
    pub(crate) fn run(&self) -> Result<()> {
        let (path, window) = (&self.ledger, self.window.unwrap_or_else(utc_day));
        Paths::default().output("the ledger", path).check()?;
        if !may_be_ledger(path).map_err(Error::io("read", path))? {
            return Err(Error::output(
                path,
                "it is no ledger, not even a damaged one, and would be overwritten; if the ledger was there, \
                          move this file away and run the command again",
            ));
        }
        if let Ok(old) = contents(path)
            && old.window() > window
        {
            note!(
                "`{}` was of window {}, and now window {} counts as spent. If the clock or --window was wrong, set it right \
                 and run the command again",
                path.display(),
                old.window(),
                window
            );
        }
        LedgerFile::recreate_spent(path, self.unit, self.budget, window, None)?;
        note!(
            "`{}` is recreated: window {window} counts as spent, and the next has the whole budget",
            path.display()
        );
        show(path, window, self.json)
    }
}

/// Prints what is left of a ledger in a window.
pub(crate) fn show(path: &Path, window: u64, as_json: bool) -> Result<()> {
    let contents = contents(path)?;
    let left = contents.remaining(window).map_err(Error::ledger(path))?;
    let answer = Answer {
        unit: contents.unit().to_string(),
        budget_micro: contents.budget(),
        window,
        spent_micro: contents.budget().saturating_sub(left),
        left_micro: left,
        record_lost: contents.is_lost(),
    };
    if as_json {
        return print_json(&answer);
    }
    let mut text = format!(
        "unit     {}\nbudget   {} for each window\nwindow   {window}\nspent    {}\nleft     {}\n",
        answer.unit,
        Micro(answer.budget_micro),
        Micro(answer.spent_micro),
        Micro(left),
    );
    if answer.record_lost {
        text += "note     A record was lost, in a power cut for example, so the rest of this window counts as spent.\n";
    }
    print(&text)
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
    if let Some(
        LedgerError::Length { .. }
        | LedgerError::NotALedger
        | LedgerError::Damaged
        | LedgerError::Mixed
        | LedgerError::FromFuture { .. }
        | LedgerError::SetBack { .. },
    ) = error.cause()
    {
        note!(
            "to recreate it: `undertone release recreate-ledger LEDGER --unit UNIT --budget EPSILON`, for `release \
             lines` with --window"
        );
    }
}
