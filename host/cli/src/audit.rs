//! `undertone audit`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs};

use clap::Args;
use serde::Deserialize;
use undertone::demo;
use undertone::encoder::{Encoder, LexiconEncoder};
use undertone::error::{Error, Result};
use undertone::release::window::Window;
use undertone_audit::sampled::device::{Contents, Device, Program};
use undertone_audit::schedule::{self, Observed, Stated};
use undertone_audit::{Check, Mechanism, Options, Report};
use undertone_core::epsilon::Epsilon;
use undertone_core::form::format;
use undertone_core::pack::Pack;
use undertone_core::release::{Mechanism as Released, Release};
use undertone_core::select::Rule;
use undertone_estimate::refused;
use undertone_estimate::statement::Terms;

use crate::args::{EncoderArgs, RULES, byline, named, whole};
use crate::files::{parse_form, parse_pack, print, read_bytes};
use crate::paths::Paths;

/// The exit status if a check failed.
const FAILED: u8 = 3;

#[derive(Args)]
pub(super) struct Arguments {
    /// The pack, or a form of answers.
    pack: PathBuf,
    /// The mechanisms of a pack to audit [default: all in the pack]
    #[arg(long, num_args = 1.., value_delimiter = ',', value_name = "MECHANISM", value_parser = named(&MECHANISMS))]
    mechanism: Vec<Mechanism>,
    /// Privacy parameters from 0.000001 to 1000, separated by spaces or commas.
    #[arg(short, long, num_args = 1.., value_delimiter = ',', default_values = ["0.5", "1", "3", "10"])]
    epsilon: Vec<Epsilon>,
    /// How candidates are drawn [default: both]
    #[arg(short, long, num_args = 1.., value_delimiter = ',', value_parser = named(&RULES))]
    rule: Vec<Rule>,
    /// Compare the exact laws of at least N neighbours, and of N/20 pairs of words.
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = whole::<u64>)]
    neighbours: u64,
    /// Releases that the device draws of each document, at least 1000; fewer of slow mechanisms.
    #[arg(long, value_name = "N", default_value_t = 20_000, value_parser = whole::<u64>)]
    releases: u64,
    /// A program that releases through the C library; ffi/install.sh builds it [default:
    /// undertone-device in the folder of this program or on the PATH]
    #[arg(long, value_name = "PROGRAM")]
    device: Option<PathBuf>,
    #[command(flatten)]
    encoder: EncoderArgs,
    /// The seed of the searches.
    #[arg(long, default_value_t = 1, value_parser = whole::<u64>)]
    seed: u64,
    /// Only compare releases of test devices with terms.json of `plan statement`.
    #[arg(
        long,
        value_name = "FILE",
        requires = "observed",
        conflicts_with = "out"
    )]
    statement: Option<PathBuf>,
    /// The releases of test devices: a line of JSON for each, with "device", "slot", "release" in
    /// hexadecimal and "line", the best candidate of the only line of the slot, or null.
    #[arg(long, value_name = "FILE", requires = "statement")]
    observed: Option<PathBuf>,
    /// The folder for report.html and checks.csv.
    #[arg(
        short,
        long,
        value_name = "FOLDER",
        required_unless_present = "statement"
    )]
    out: Option<PathBuf>,
    /// Print the report as JSON instead of text.
    #[arg(long, conflicts_with = "statement")]
    json: bool,
    /// The author that the page names.
    #[arg(long, value_name = "NAME", requires = "out")]
    author: Option<String>,
}

/// A line of `--observed`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    device: String,
    slot: u64,
    line: Option<u32>,
    release: String,
}

/// Reads a line of `--observed`.
fn observed(number: usize, text: &str) -> Result<Observed> {
    let problem = |what: String| refused(format!("line {number} of --observed: {what}"));
    let line: Line = serde_json::from_str(text).map_err(|own| problem(own.to_string()))?;
    let bytes = hex::decode(&line.release).map_err(|own| problem(own.to_string()))?;
    Ok(Observed {
        device: line.device,
        slot: line.slot,
        line: line.line,
        release: Release::from_bytes(&bytes).map_err(|own| problem(own.to_string()))?,
    })
}

/// Compares releases of test devices with a statement; returns whether all checks passed.
fn compare(pack: &Pack<'_>, statement: &Path, releases: &Path) -> Result<bool> {
    let read = |path: &Path| fs::read_to_string(path).map_err(Error::io("read", path));
    let terms = Terms::parse(&read(statement)?)?;
    let is_stated = |own: &Released| matches!(own, Released::WholeText | Released::Projective);
    let mechanism = Released::from_number(terms.mechanism).filter(is_stated);
    let stated = Stated {
        pack_id: pack.id(),
        mechanism: mechanism.ok_or_else(|| {
            refused(format!(
                "mechanism {} in --statement, not 7 or 8",
                terms.mechanism
            ))
        })?,
        epsilon: Epsilon::from_micro(terms.epsilon_micro)
            .map_err(|own| refused(own.to_string()))?,
        window: Window::new(terms.slots, terms.appointments, terms.places)?,
    };
    if terms.pack != hex::encode(pack.id()) {
        return Err(refused(format!(
            "--statement is about pack {}, not {}",
            terms.pack,
            hex::encode(pack.id())
        )));
    }
    let lines = read(releases)?;
    let observations: Vec<Observed> = (1..)
        .zip(lines.lines())
        .map(|(number, line)| observed(number, line))
        .collect::<Result<_>>()?;
    if observations.is_empty() {
        return Err(refused("--observed has no releases"));
    }
    let mut passed = true;
    for check in schedule::compare(&stated, pack.candidate_count(), &observations) {
        print(&format!("{check}\n"))?;
        passed &= check.passed;
    }
    Ok(passed)
}

const MECHANISMS: [(&str, &str, Mechanism); 5] = [
    (
        "sentences",
        "The selection of a candidate for a document, by depth or scores",
        Mechanism::Sentences,
    ),
    (
        "whole-text",
        "The release of the best candidate for the whole text",
        Mechanism::WholeText,
    ),
    (
        "projective",
        "The release of a point that the best candidate for the whole text prefers",
        Mechanism::Projective,
    ),
    ("words", "The exchange of words", Mechanism::Words),
    (
        "vectors",
        "Noise on vectors, released by the device",
        Mechanism::Vectors,
    ),
];

/// The values of a list, or all if it is empty.
fn or_all<T: Copy>(list: &[T], all: &[(&str, &str, T)]) -> Vec<T> {
    if list.is_empty() {
        all.iter().map(|(.., value)| *value).collect()
    } else {
        list.to_vec()
    }
}

impl Arguments {
    fn paths(&self) -> Paths {
        let paths = self.encoder.paths(Paths::default());
        let paths = paths
            .input("PACK", &self.pack)
            .inputs("--device", &self.device)
            .inputs("--statement", &self.statement)
            .inputs("--observed", &self.observed);
        self.out
            .iter()
            .fold(paths, |paths, out| paths.report("--out", out))
    }
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode> {
    arguments.paths().check()?;
    let bytes = read_bytes(&arguments.pack)?;
    if bytes.starts_with(&format::MAGIC) {
        if arguments.statement.is_some()
            || arguments.encoder.encoder.is_some()
            || !(arguments.mechanism.is_empty() && arguments.rule.is_empty())
        {
            return Err(refused(
                "--mechanism, --rule, --encoder and --statement are for packs, but the file is a form",
            ));
        }
        let form = parse_form(bytes)?;
        return report(arguments, &form, |device, options, notice| {
            undertone_audit::run_form(&form, device, options, notice)
        });
    }
    let pack = parse_pack(bytes, &arguments.pack)?;
    if let (Some(statement), Some(releases)) = (&arguments.statement, &arguments.observed) {
        return compare(&pack, statement, releases).map(status);
    }
    let encoder: Option<Box<dyn Encoder>> = match (&arguments.encoder.encoder, pack.lexicon()) {
        (None, Some(_)) => LexiconEncoder::new(&pack).map(|encoder| Box::new(encoder) as _),
        (None, None) => None,
        (Some(_), _) => Some(arguments.encoder.open(LexiconEncoder::embedded)?.encoder),
    };
    report(arguments, &pack, |device, options, notice| {
        let (encoder, public) = (encoder.as_deref(), demo::public_sentences());
        undertone_audit::run(&pack, encoder, device, &public, options, notice)
    })
}

/// The exit status of an audit or a comparison.
fn status(passed: bool) -> ExitCode {
    if passed {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(FAILED)
    }
}

/// Starts the device with `contents`, audits, and writes the report.
fn report<'p>(
    arguments: &Arguments,
    contents: impl Into<Contents<'p>>,
    audit: impl FnOnce(Option<&mut dyn Device>, &Options, &mut dyn FnMut(&Check)) -> Result<Report>,
) -> Result<ExitCode> {
    let out = arguments
        .out
        .as_deref()
        .expect("required without a statement");
    let mut epsilons = arguments.epsilon.clone();
    epsilons.sort_unstable();
    epsilons.dedup();
    let options = Options {
        mechanisms: or_all(&arguments.mechanism, &MECHANISMS),
        epsilons,
        rules: or_all(&arguments.rule, &RULES),
        neighbours: arguments.neighbours,
        releases: arguments.releases,
        seed: arguments.seed,
    };
    Report::check_output(out)?;
    let program = arguments.device.clone().or_else(find_device);
    let mut device = program
        .map(|program| {
            let notice = |line: &str| note!("{line}");
            Program::start(&program, &arguments.pack, contents, notice)
        })
        .transpose()?;
    let mut printed = Ok(());
    let report = audit(
        device.as_mut().map(|device| device as &mut dyn Device),
        &options,
        &mut |check| {
            if printed.is_ok() && !arguments.json {
                printed = print(&format!("{check}\n"));
            }
        },
    )?;
    printed?;
    let command: Vec<String> = env::args_os()
        .map(|argument| argument.to_string_lossy().into_owned())
        .collect();
    let byline = byline(Some(&arguments.pack), arguments.author.as_deref());
    report.write(out, &command.join(" "), &byline)?;
    print(&if arguments.json {
        report.json()
    } else {
        report.text()
    })?;
    Ok(status(report.passed()))
}

/// The device beside this program or on the PATH.
fn find_device() -> Option<PathBuf> {
    let name = format!("undertone-device{}", env::consts::EXE_SUFFIX);
    let beside = env::current_exe().ok();
    let beside = beside.iter().filter_map(|program| program.parent());
    let path = env::var_os("PATH").unwrap_or_default();
    let path: Vec<PathBuf> = env::split_paths(&path).collect();
    beside
        .map(PathBuf::from)
        .chain(path)
        .map(|folder| folder.join(&name))
        .find(|program| program.is_file())
}
