//! `undertone decode`.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;
use undertone::error::{Error, Result};
use undertone::files::atomic::AtomicFile;
use undertone::pack::candidates::Candidates;
use undertone::release::lines::Lines;
use undertone_core::release::Release;

use crate::files::json;
use crate::privatize::ReleaseLine;
use crate::progress::Rate;

/// Its arguments.
#[derive(Args)]
pub(crate) struct Arguments {
    /// The candidates that `pack` wrote.
    #[arg(long, value_name = "FILE")]
    candidates: PathBuf,
    /// The releases that `privatize` wrote.
    #[arg(long = "in", value_name = "FILE")]
    input: PathBuf,
    /// One line of JSON per release, with the candidate's embedding.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

/// One line of what the server makes of a release.
#[derive(Serialize)]
struct DecodedLine<'a> {
    id: &'a str,
    epsilon: String,
    candidate: u32,
    name: &'a str,
    label: Option<&'a str>,
    excerpt: &'a str,
    embedding: &'a [f32],
}

impl Arguments {
    pub(crate) fn run(&self) -> Result<()> {
        decode(&self.candidates, &self.input, &self.out)
    }
}

fn decode(candidates: &Path, input: &Path, out: &Path) -> Result<()> {
    let candidates = Candidates::read(candidates)?;
    let mut source = Lines::open(input)?;
    let mut file = AtomicFile::create(out)?;
    let mut rate = Rate::start();
    while let Some((line, text)) = source.next_line()? {
        if text.trim().is_empty() {
            continue;
        }
        let fail = |problem: String| Error::ReleaseLine {
            path: input.to_owned(),
            line,
            problem,
        };
        let ReleaseLine { id, release } = serde_json::from_str(text).map_err(|error| {
            // The message may quote the line, and the file may be the wrong one.
            fail(format!("not a release in JSON (column {})", error.column()))
        })?;
        let bytes =
            hex::decode(release).map_err(|_| fail("the release is not hexadecimal".to_owned()))?;
        let release = Release::from_bytes(&bytes).map_err(|error| fail(error.to_string()))?;
        let (candidate, embedding) = candidates
            .decode(&release)
            .map_err(|error| fail(error.to_string()))?;
        let decoded = DecodedLine {
            id: &id,
            epsilon: release.epsilon().to_string(),
            candidate: release.candidate(),
            name: &candidate.id,
            label: candidate.label.as_deref(),
            excerpt: &candidate.excerpt,
            embedding,
        };
        writeln!(file, "{}", json(&decoded)).map_err(Error::io("write", out))?;
        rate.count(1, 0);
    }
    file.commit()?;
    rate.report("decoded");
    Ok(())
}
