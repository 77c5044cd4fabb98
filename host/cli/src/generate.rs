//! `undertone generate`: files for shells and for `man`, for those who package the command.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use clap_complete::Shell;
use undertone::error::{Error, Result};

#[derive(Args)]
pub(crate) struct Arguments {
    #[arg(value_enum)]
    what: What,
    /// The folder of the files.
    #[arg(value_name = "FOLDER", default_value = ".")]
    folder: PathBuf,
}

#[derive(Clone, Copy, ValueEnum)]
enum What {
    /// Completions for bash, elvish, fish, PowerShell and zsh.
    Completions,
    /// A page of the manual for each verb.
    Man,
}

impl Arguments {
    pub(crate) fn run(&self, mut command: clap::Command) -> Result<()> {
        let folder: &Path = &self.folder;
        let written = match self.what {
            What::Completions => Shell::value_variants().iter().try_for_each(|shell| {
                clap_complete::generate_to(*shell, &mut command, "undertone", folder).map(drop)
            }),
            What::Man => clap_mangen::generate_to(command, folder),
        };
        written.map_err(Error::io("write", folder))
    }
}
