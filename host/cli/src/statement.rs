//! `undertone plan statement`.
//!
//! A subcommand of `plan`, because a statement is made from settings before anything is collected;
//! `inspect` shows what a file contains.

use std::path::PathBuf;

use chrono::NaiveDate;
use clap::Args;
use undertone::error::Result;
use undertone::files::folder;
use undertone::release::document::Method;
use undertone_core::epsilon::Epsilon;
use undertone_estimate::statement::{Settings, Statement};

use crate::args::named;
use crate::devices::devices;
use crate::files::read_pack;
use crate::paths::Paths;
use crate::window::{RULES, ScheduleArgs};

/// In two lines, because one is wider than a terminal.
const USAGE: &str = "undertone plan statement [OPTIONS] --pack <FILE> --epsilon <E> --devices <N>
           --name <NAME> --curator <NAME> --from <DATE> --out <FOLDER>";

/// The files of a statement.
const FILES: [&str; 4] = ["users.html", "review.md", "registry.yaml", "terms.json"];

#[derive(Args)]
#[command(override_usage = USAGE)]
pub(crate) struct Arguments {
    /// The pack of the devices.
    #[arg(short, long, value_name = "FILE")]
    pack: PathBuf,
    /// The epsilon of one release.
    #[arg(short, long, value_name = "E")]
    epsilon: Epsilon,
    /// The rule of the releases.
    #[arg(long, default_value = "whole-text", value_parser = named(&RULES))]
    rule: Method,
    #[command(flatten)]
    schedule: ScheduleArgs,
    /// The number of devices.
    #[arg(long, value_name = "N", value_parser = devices)]
    devices: u64,
    /// The name of what is published.
    #[arg(long)]
    name: String,
    /// Who publishes it.
    #[arg(long, value_name = "NAME")]
    curator: String,
    /// The day of the first publication, as YYYY-MM-DD.
    #[arg(long, value_name = "DATE", value_parser = date)]
    from: NaiveDate,
    /// The folder for users.html, review.md, registry.yaml and terms.json.
    #[arg(short, long, value_name = "FOLDER")]
    out: PathBuf,
}

/// Parses a day of the calendar.
pub(crate) fn date(text: &str) -> std::result::Result<NaiveDate, String> {
    let date = text.parse::<NaiveDate>().ok();
    date.filter(|date| date.to_string() == text)
        .ok_or_else(|| "expected a day as YYYY-MM-DD, such as 2027-01-31".to_owned())
}

impl Arguments {
    pub(crate) fn run(&self) -> Result<()> {
        let pack = Paths::default().stream_input("--pack", &self.pack);
        let files = FILES.map(|file| self.out.join(file));
        pack.outputs("--out", &files).check()?;
        let pack = read_pack(&self.pack)?;
        let settings = Settings {
            name: self.name.clone(),
            curator: self.curator.clone(),
            from: self.from.to_string(),
            epsilon: self.epsilon,
            method: self.rule,
            window: self.schedule.window()?,
            devices: self.devices,
        };
        let statement = Statement::new(&settings, &pack)?;
        folder::check(&self.out, FILES[3])?;
        let texts = [
            statement.users,
            statement.review,
            statement.registry,
            statement.terms,
        ];
        let files: Vec<_> = FILES.into_iter().zip(texts).collect();
        folder::write(&self.out, &files)
    }
}
