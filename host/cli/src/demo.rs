//! `undertone demo`: what the program of `host/demo` shows, with a text and files of the user's.

use std::path::PathBuf;

use clap::Args;
use undertone::demo;
use undertone::error::Result;
use undertone::files::atomic::AtomicFile;
use undertone::pack::{self, candidates_beside};

use crate::args::whole;
use crate::files::{print, read_text};
use crate::paths::Paths;

#[derive(Args)]
pub(crate) struct Arguments {
    /// A private text [default: the built-in letter]; `-` is standard input.
    #[arg(long, value_name = "FILE")]
    text: Option<PathBuf>,
    /// Seed of the public side.
    #[arg(long, default_value_t = 1, value_parser = whole::<u64>)]
    seed: u64,
    /// Save the pack, and its candidates in NAME.candidates.safetensors.
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
}

impl Arguments {
    pub(crate) fn run(&self) -> Result<()> {
        let texts = self.text.iter().fold(Paths::default(), |all, path| {
            all.stream_input("--text", path)
        });
        let candidates = self.save.as_deref().map(candidates_beside);
        let paths = texts.outputs("--save", &self.save);
        paths.outputs("--save", &candidates).check()?;
        let text = match &self.text {
            None => demo::PRIVATE_TEXT.into(),
            Some(path) => read_text(path)?,
        };
        self.save.as_ref().map(AtomicFile::check).transpose()?;
        let built = demo::build(self.seed)?;
        print(&demo::tell(&built, &text)?)?;
        match &self.save {
            Some(path) => pack::save(path, &built.pack, &built.candidates),
            None => Ok(()),
        }
    }
}
