//! `undertone ledger`.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use undertone::error::{Cause, Error, Result};
use undertone::release::ledger::{contents, utc_day};
use undertone_core::epsilon::Micro;

use crate::files::{json, print};

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
    pub(crate) fn run(&self) -> Result<()> {
        let contents = contents(&self.ledger)?;
        let left = contents.remaining(self.window).map_err(|problem| {
            Error::from(Cause::Ledger {
                path: self.ledger.clone(),
                problem,
            })
        })?;
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
