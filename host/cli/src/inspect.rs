//! `undertone inspect`.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use undertone::error::{Error, Result};
use undertone::files::foreign::without_mark;
use undertone::form::Contents;
use undertone::pack::QualityData;
use undertone::pack::candidates::Candidates;
use undertone::release::document::{self, Method};
use undertone::release::ledger::{open_to_read, utc_day};
use undertone::release::window::Window;
use undertone_core::epsilon::Epsilon;
use undertone_core::form::{Form, format};
use undertone_core::pack::Pack;
use undertone_core::select::Rule;
use undertone_estimate::planning::form::FormPlan;
use undertone_estimate::published;
use undertone_report::visible;

use crate::args::whole;
use crate::files::{parse_form, parse_pack, print, print_json, read_bytes, write};
use crate::paths::{Paths, is_stream};
use crate::{ledger, quality};

#[derive(Args)]
pub(crate) struct Arguments {
    /// A pack, the candidates that `pack` wrote, a form or its description in JSON, or a ledger. `-`
    /// is standard input, for all but a ledger.
    file: PathBuf,
    /// The kind of the file [default: by its first bytes]
    #[arg(long = "as", value_enum)]
    kind: Option<Kind>,
    /// The window of a ledger, in days since 1970 in UTC unless an app counts otherwise
    /// [default: today]
    #[arg(long, value_name = "N", value_parser = whole::<u64>)]
    window: Option<u64>,
    /// The epsilon at which to show the law of a form.
    #[arg(short, long, default_value = "1", allow_hyphen_values = true)]
    epsilon: Epsilon,
    /// Write a form to this file, in the format that devices read.
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// Its sections, what releases promise, and how often they are right.
    Pack,
    /// The pack's identifier, then number, name and excerpt of each candidate, separated by tabs.
    Candidates,
    /// Its attributes and categories, the law of each question, and what a release costs.
    Form,
    /// The rest of its budget. Nothing is written and nothing is locked.
    Ledger,
}

impl Arguments {
    pub(crate) fn run(&self) -> Result<()> {
        let path = &self.file;
        if let Some(out) = &self.out {
            Paths::default()
                .input("FILE", path)
                .output("--out", out)
                .check()?;
        }
        if self.kind == Some(Kind::Ledger) || (self.kind.is_none() && is_ledger(path)) {
            self.writes_nothing()?;
            return ledger::show(path, self.window.unwrap_or_else(utc_day), self.json);
        }
        let bytes = read_bytes(path)?;
        // A safetensors file has the length of its header, below 2⁵⁶, then the header, which is JSON.
        let is_safetensors = bytes.get(7..9) == Some(b"\0{");
        let is_text = without_mark(&bytes).trim_ascii().starts_with(b"{");
        let is_form = bytes.starts_with(&format::MAGIC) || (is_text && !is_safetensors);
        if self.kind == Some(Kind::Form) || (self.kind.is_none() && is_form) {
            return self.form(&parse_form(bytes)?);
        }
        self.writes_nothing()?;
        if self.kind == Some(Kind::Candidates) || (self.kind.is_none() && is_safetensors) {
            return self.candidates(&Candidates::from_bytes(&bytes, path)?);
        }
        let pack = parse_pack(bytes, path)?;
        if self.json {
            print_json(&description(&pack))
        } else {
            print(&text(&pack))
        }
    }

    /// Refuses --out for a file that is no form.
    fn writes_nothing(&self) -> Result<()> {
        match self.out {
            None => Ok(()),
            Some(_) => Err(Error::argument(
                "--out does nothing without a form; name one, or leave --out out",
            )),
        }
    }

    fn form(&self, form: &Form<'_>) -> Result<()> {
        let contents = Contents::of(form);
        if let Some(path) = &self.out {
            write(path, &contents.to_bytes()?)?;
        }
        let plan = FormPlan::new(form, &[self.epsilon], 0.03, &[])?;
        let digest = hex::encode(form.digest());
        if self.json {
            return print_json(&json!({
                "digest": digest,
                "form": contents,
                "questions": json!(plan)["questions"],
            }));
        }
        let mut text = format!("digest      {digest}\n");
        for attribute in &contents.attributes {
            let names: Vec<String> = attribute
                .categories
                .iter()
                .map(|own| visible(own))
                .collect();
            let name = visible(&attribute.name);
            let count = names.len();
            let shown = names[..count.min(SHOWN)].join(", ");
            let more = if count > SHOWN {
                format!(" and {} others", count - SHOWN)
            } else {
                String::new()
            };
            let of = match &attribute.pack {
                Some(pack) => format!("candidates of pack {pack}"),
                None => "categories".to_owned(),
            };
            text += &format!(
                "attribute   {name}, weight {}, {count} {of}: {shown}{more}\n",
                attribute.weight
            );
        }
        for pair in &contents.pairs {
            let names = [&pair.first, &pair.second].map(|name| visible(name));
            text += &format!(
                "pair        {}, weight {}\n",
                names.join(" × "),
                pair.weight
            );
        }
        print(&format!("{text}\n{}", plan.text()))
    }

    fn candidates(&self, candidates: &Candidates) -> Result<()> {
        if !self.json {
            return print(&candidates.list());
        }
        let entries = candidates.entries.iter().map(|candidate| {
            json!({
                "name": candidate.id,
                "label": candidate.label,
                "excerpt": candidate.excerpt,
            })
        });
        print_json(&json!({
            "pack": hex::encode(candidates.pack_id()),
            "candidates": entries.collect::<Value>(),
        }))
    }
}

/// Most categories that are listed; --json has all.
const SHOWN: usize = 10;

fn is_ledger(path: &Path) -> bool {
    let mut start = Vec::new();
    let read = |file: File| file.take(6).read_to_end(&mut start);
    !is_stream(path) && open_to_read(path).and_then(read).is_ok() && start == b"UTLEDG"
}

/// The sections of a pack, for programs.
pub(crate) fn description(pack: &Pack<'_>) -> Value {
    json!({
        "digest": hex::encode(pack.digest()),
        "encoder": pack.encoder_name(),
        "encoder_digest": hex::encode(pack.encoder_digest()),
        "dimension": pack.dimension(),
        "candidates": pack.candidate_count(),
        "recoder": pack.recoder().map(|recoder| json!({ "coordinates": recoder.width() })),
        "scores": pack.scores().map(|scores| json!({
            "candidates": scores.candidate_count(),
            "largest": scores.largest_score(),
            "levels": scores.level_count(),
            "nothing_known": scores.has_nothing_known(),
            "exponent": scores.exponent(),
        })),
        "features": pack.features().map(|features| json!({
            "count": features.feature_count(),
            "words": features.kinds().words,
            "pairs": features.kinds().pairs,
            "shortest_run": features.kinds().least,
            "longest_run": features.kinds().most,
            "alone": features.is_alone(),
            "whole_texts": features.takes_whole_texts(),
        })),
        "depth": pack.depth().map(|depth| json!({
            "candidates": depth.candidate_count(),
            "directions": depth.direction_count(),
            "exponent": depth.exponent(),
        })),
        "lexicon": pack.lexicon().map(|lexicon| json!({
            "words": lexicon.word_count(),
            "phrases": lexicon.phrase_count(),
            "exponent": lexicon.exponent(),
        })),
        "projection": pack.projection().map(|projection| json!({
            "coordinates": projection.row_count(),
            "sensitivity": projection.sensitivity().map(|delta| delta.to_string()),
        })),
        "quality": pack.quality().map(|quality| quality::numbers(&QualityData::from_view(&quality))),
    })
}

/// The sections of a pack, for people.
fn text(pack: &Pack<'_>) -> String {
    let mut text = format!(
        "digest      {}\nencoder     {} ({})\ndimension   {}\n",
        hex::encode(pack.digest()),
        pack.encoder_name(),
        hex::encode(pack.encoder_digest()),
        pack.dimension(),
    );
    if let Some(recoder) = pack.recoder() {
        text += &format!("recoder     {} coordinates\n", recoder.width());
    }
    if let Some(scores) = pack.scores() {
        text += &format!(
            "scores      {} candidates, 0..={} a sentence, {} levels, exponent {}{}\n",
            scores.candidate_count(),
            scores.largest_score(),
            scores.level_count(),
            scores.exponent(),
            if scores.has_nothing_known() {
                ""
            } else {
                "; \"nothing known\" is left out"
            }
        );
    }
    if let Some(features) = pack.features() {
        let kinds = features.kinds();
        let kind = |set, name| if set { name } else { "" };
        text += &format!(
            "features    {}: {}{}runs of {}..={} characters{}\n",
            features.feature_count(),
            kind(kinds.words, "words, "),
            kind(kinds.pairs, "pairs of words, "),
            kinds.least,
            kinds.most,
            kind(features.is_alone(), "; no encoder"),
        );
        text += kind(
            features.takes_whole_texts(),
            "texts       not split: a text is one sentence\n",
        );
    }
    if let Some(depth) = pack.depth() {
        text += &format!(
            "depth       {} candidates, {} directions, exponent {}\n",
            depth.candidate_count(),
            depth.direction_count(),
            depth.exponent()
        );
    }
    if let Some(lexicon) = pack.lexicon() {
        text += &format!(
            "lexicon     {} words, {} phrases, exponent {}\n",
            lexicon.word_count(),
            lexicon.phrase_count(),
            lexicon.exponent()
        );
    }
    if let Some(projection) = pack.projection() {
        text += &format!(
            "projection  to {} coordinates, sensitivity {}\n",
            projection.row_count(),
            projection
                .sensitivity()
                .map_or("above 4096".to_owned(), |delta| delta.to_string())
        );
    }
    text += &promises(pack);
    if let Some(quality) = pack.quality() {
        text += &format!("\n{}\n", quality::table(&quality));
    }
    text
}

/// The promises of a year with one whole-text release, for a schedule that many apps can have.
fn of_a_year(epsilon: Epsilon, candidates: u32) -> String {
    const DEVICES: u64 = 1_000_000;
    let promises = Window::new(52, 1, 100).and_then(|year| {
        published::promises(Method::WholeText, epsilon, candidates, DEVICES, year)
    });
    promises.map_or(String::new(), |own| {
        format!("a year      one release at epsilon {epsilon}, in a week drawn beforehand:\n{own}")
    })
}

/// The promises of releases with ε = 1, and the largest ε in use.
fn promises(pack: &Pack<'_>) -> String {
    let one: Epsilon = "1".parse().expect("1 is an epsilon");
    let Ok(document) = document::empty(pack) else {
        return String::new();
    };
    let loss = document.whole_text_epsilon(one, Rule::PermuteAndFlip);
    let mut text = if document::takes_whole_texts(pack) {
        format!("promises    at epsilon 1, a text exchanged: 1; all texts of a release: {loss}\n")
    } else {
        format!(
            "promises    at epsilon 1, the sentence exchanged: 1; the whole text exchanged: {loss}\n"
        )
    };
    if document.check_whole_text().is_ok() {
        text += "            by the whole-text or projective rule, the whole text exchanged: 1\n";
        text += &of_a_year(one, pack.candidate_count());
    }
    let served = |method: Method| method.served(Epsilon::MAX, pack.candidate_count());
    let flip = Method::Sentence(Rule::PermuteAndFlip);
    text += &format!("served      at most {} by permute-and-flip", served(flip));
    let exponential = Method::Sentence(Rule::Exponential);
    text += &format!(", {} by exponential", served(exponential));
    if document.check_whole_text().is_ok() {
        text += &format!(
            ", {} by whole-text, {} by projective",
            served(Method::WholeText),
            served(Method::Projective)
        );
    }
    text + "\n"
}
