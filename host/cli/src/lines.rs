//! `undertone release lines`.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::path::PathBuf;
use std::process::ExitCode;

use chrono::NaiveDate;
use clap::Args;
use undertone::corpus::CorpusDocument;
use undertone::encoder::PrivateEncoder;
use undertone::error::{Error, LineProblem, Result};
use undertone::files::fields::Fields;
use undertone::release::document::{self, HostDocument, Method, OsEntropy};
use undertone::release::ledger::{LedgerFile, contents, utc_day};
use undertone::release::window::Window;
use undertone_core::epsilon::{Epsilon, Micro};
use undertone_core::ledger::Grant;
use undertone_core::release::Release;
use undertone_core::reservoir::Reservoir;
use undertone_core::unit::Unit;

use crate::args::{EncoderArgs, TextArgs, named};
use crate::files::read_pack;
use crate::paths::Paths;
use crate::releases::{Private, PrivateArgs, RELEASE, ReleaseLines, field, quietly};
use crate::statement::date;
use crate::window::{RULES, ScheduleArgs};

/// In two lines, because one is wider than a terminal.
const USAGE: &str = "undertone release lines [OPTIONS] --pack <FILE> --epsilon <E> --ledger <FILE>
           --out <FILE>";

#[derive(Args)]
#[command(override_usage = USAGE)]
pub(crate) struct Arguments {
    #[command(flatten)]
    encoder: EncoderArgs,
    /// The pack.
    #[arg(short, long, value_name = "FILE")]
    pack: PathBuf,
    /// The privacy parameter of each release, 0.000001 to 1000.
    #[arg(short, long, value_name = "E", allow_hyphen_values = true)]
    epsilon: Epsilon,
    /// The rule, which protects all lines of a slot together.
    #[arg(short, long, default_value = "whole-text", value_parser = named(&RULES))]
    rule: Method,
    #[command(flatten)]
    schedule: ScheduleArgs,
    /// The days of a slot. Slots and windows are counted from 1970-01-01.
    #[arg(long, default_value_t = 7, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    days: u16,
    /// The ledger, created if it is missing. It draws the slots, and no window spends more than
    /// --appointments times --epsilon.
    #[arg(long, value_name = "FILE")]
    ledger: PathBuf,
    #[command(flatten)]
    input: PrivateArgs,
    #[command(flatten)]
    texts: TextArgs,
    /// The field with the day of a line, as YYYY-MM-DD. What follows it, such as a time, is
    /// ignored.
    #[arg(long, default_value = "date", value_name = "FIELD")]
    date_field: String,
    /// The releases, a new file: a JSON object a line, or a .parquet or .csv table.
    ///
    /// "date", the first day of the slot, and "release" in hexadecimal digits, in Parquet 24 bytes.
    #[arg(short, long, value_name = "FILE")]
    out: PathBuf,
}

/// The texts of a device by slot, counted from the slot of 1970-01-01.
type Diary = BTreeMap<u64, Vec<String>>;

impl Arguments {
    pub(crate) fn run(&self) -> Result<ExitCode> {
        let paths = Paths::default()
            .held_input("--in", &self.input.input)
            .input("--pack", &self.pack)
            .output("--out", &self.out);
        let paths = self.encoder.paths(paths);
        paths.output("--ledger", &self.ledger).check()?;
        if self.out.exists() {
            return Err(Error::output(
                &self.out,
                "it exists, and may have releases of earlier slots; name another file",
            ));
        }
        let keep = [self.date_field.clone()];
        let mut input = self.input.texts(&self.texts);
        input.keep_option = "--date-field";
        input.check_fields(&keep)?;
        let window = self.schedule.window()?;
        quietly(|| self.release(window, &input, &keep))
    }

    fn release(&self, window: Window, input: &Private<'_>, keep: &[String]) -> Result<ExitCode> {
        let pack = read_pack(&self.pack)?;
        let opened = self.encoder.open_for(&pack)?;
        document::check_encoder(&pack, opened.encoder.as_ref())?;
        let document = document::empty(&pack)?;
        document.check_whole_text()?;
        let method = self.rule;
        let budget = self.budget(window)?;
        let diary = self.diary(input, keep)?;
        let ledger = LedgerFile::open_or_create(&self.ledger, Unit::WholeText, budget)?;
        let run = input.run_of("release lines")?.with_place(&self.ledger)?;
        let run = run
            .with(pack.digest())
            .with(self.epsilon.micro().to_le_bytes())
            .with(format!(
                "{method:?} {window:?} {} {}",
                self.days, self.date_field
            ));
        let lines = ReleaseLines::start(&self.out, &RELEASE, Some(&run), usize::MAX)?;
        let served = method.served(self.epsilon, pack.candidate_count());
        note!("{}", promise(window, served));
        let mut device = Device {
            encoder: PrivateEncoder::new(opened.encoder.as_ref()),
            document,
            ledger,
            epsilon: self.epsilon,
            method,
            window,
            places: NonZero::new(window.places()).expect("a window has places"),
        };
        self.play(&mut device, &diary, lines)
    }

    /// The ε of all releases of a window together.
    fn budget(&self, window: Window) -> Result<Epsilon> {
        let person = window.person(Micro(self.epsilon.micro().into()));
        let budget = u32::try_from(person.0)
            .ok()
            .and_then(|micro| Epsilon::from_micro(micro).ok());
        budget.ok_or_else(|| {
            Error::setting(
                "--appointments times --epsilon",
                person.0 as f64 / 1e6,
                "at most 1000, which is the most that a ledger counts",
            )
        })
    }

    /// Reads all lines before anything is spent.
    fn diary(&self, input: &Private<'_>, keep: &[String]) -> Result<Diary> {
        let mut diary = Diary::new();
        for document in input.check(keep)?.after(0)? {
            let document = document?;
            let day = day(&document, &self.date_field)
                .map_err(|problem| Error::line(&self.input.input, document.line, problem))?;
            let slot = day / u64::from(self.days);
            diary.entry(slot).or_default().push(document.text);
        }
        Ok(diary)
    }

    /// Makes the releases of all slots that are over, in their order.
    fn play(
        &self,
        device: &mut Device<'_>,
        diary: &Diary,
        mut lines: ReleaseLines,
    ) -> Result<ExitCode> {
        let slots = u64::from(device.window.slots());
        let days = u64::from(self.days);
        let counted = contents(&self.ledger)?.window().saturating_mul(slots);
        let today = utc_day() / days;
        let (first, last) = match (diary.keys().next(), diary.keys().next_back()) {
            (Some(first), Some(last)) => (counted.max(*first), today.min(last + 1)),
            _ => (0, 0),
        };
        if diary.keys().any(|slot| *slot < counted) {
            note!("lines of windows before that of the ledger are left out");
        }
        if diary.keys().any(|slot| *slot >= today) {
            note!("lines of slots that are not over are left for a later run");
        }
        let mut released = lines.kept();
        let mut done = Ok(());
        for slot in first..last {
            let texts = diary.get(&slot).map_or(&[][..], Vec::as_slice);
            let release = match device.slot(slot, texts) {
                Ok(None) => continue,
                Ok(Some(release)) => release,
                Err(error) => {
                    done = Err(error);
                    break;
                }
            };
            let date = NaiveDate::default() + chrono::Days::new(slot * days);
            let release = field(&release.to_bytes());
            lines.push(&format!("{{\"date\":\"{date}\",{release}}}"))?;
            released += 1;
        }
        lines.end(done, released, released)
    }
}

/// The promise of releases with this loss, for people.
fn promise(window: Window, served: Micro) -> String {
    format!(
        "promised: {} for everything of {} slots, {} for one line",
        window.person(served),
        window.slots(),
        window.line(served)
    )
}

/// Days since 1970-01-01.
fn day(document: &CorpusDocument, field: &str) -> Result<u64, LineProblem> {
    let wrong = || LineProblem::WrongType {
        field: field.to_owned(),
        wanted: "a day as YYYY-MM-DD, from 1970 on",
    };
    let kept = format!("{{{}}}", document.kept);
    let fields = serde_json::from_str::<Fields<'_>>(&kept).ok();
    let value = fields
        .as_ref()
        .and_then(|fields| fields.0.iter().find(|(name, _)| *name == *field));
    let (_, value) = value.ok_or_else(|| LineProblem::MissingField {
        field: field.to_owned(),
    })?;
    let text = serde_json::from_str::<String>(value.get()).map_err(|_| wrong())?;
    let date = text.get(..10).and_then(|day| date(day).ok());
    let days = date.map(|date| (date - NaiveDate::default()).num_days());
    days.and_then(|days| u64::try_from(days).ok())
        .ok_or_else(wrong)
}

/// The device of one person.
struct Device<'a> {
    encoder: PrivateEncoder<'a>,
    document: HostDocument<'a>,
    ledger: LedgerFile,
    epsilon: Epsilon,
    method: Method,
    window: Window,
    places: NonZero<u16>,
}

impl Device<'_> {
    /// The release of a slot with these lines, if one is due.
    fn slot(&mut self, slot: u64, texts: &[String]) -> Result<Option<Release>> {
        let slots = NonZero::new(self.window.slots()).expect("a window has slots");
        let (window, place) = (
            slot / u64::from(slots.get()),
            (slot % u64::from(slots.get())) as u16,
        );
        let count = self.window.appointments();
        if !self
            .ledger
            .is_due(window, slots, count, place, self.epsilon)?
        {
            return Ok(None);
        }
        let mut reservoir = Reservoir::new(&self.document, slot, self.places, &mut OsEntropy)?;
        for text in texts {
            document::fill_text(&mut self.document, &self.encoder, text)?;
            reservoir.add(&mut self.document, &mut OsEntropy)?;
        }
        let grant: Grant = self.ledger.spend(self.epsilon, window)?;
        let release = match self.method {
            Method::Projective => reservoir.release_projective(grant, &mut OsEntropy),
            _ => reservoir.release_whole_text(grant, &mut OsEntropy),
        };
        Ok(Some(release?))
    }
}
