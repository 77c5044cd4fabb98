//! The files that a command reads and writes, so that none is destroyed by writing another.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use same_file::Handle;
use undertone::error::{Error, Result};
use undertone::files::atomic::{folder, resolved};

/// Standard input or output.
pub const STREAM: &str = "-";

/// Whether a path means standard input or output.
pub fn is_stream(path: &Path) -> bool {
    path == Path::new(STREAM)
}

/// Inputs and outputs of a command.
#[derive(Default)]
pub struct Paths {
    inputs: Vec<Named>,
    outputs: Vec<Named>,
    /// Why standard input or output cannot serve.
    stream: Option<String>,
    /// Why a pipe or a device cannot be read several times.
    pipe: Option<String>,
}

struct Named {
    option: &'static str,
    path: PathBuf,
    place: Place,
}

impl Named {
    fn file(option: &'static str, path: &Path) -> Self {
        Self {
            option,
            path: path.to_owned(),
            place: Place::of(path),
        }
    }

    /// Standard input or output, if a shell has put a file there, as with `<`, `>` and `>>`.
    fn stream(option: &'static str, stream: io::Result<Handle>) -> Option<Self> {
        let file = stream.ok()?;
        let is_file = file.as_file().metadata().is_ok_and(|about| about.is_file());
        is_file.then(|| Self {
            option,
            path: STREAM.into(),
            place: Place {
                file: Some(file),
                folder: None,
                name: String::new(),
            },
        })
    }
}

impl Paths {
    /// A file to read.
    pub fn input(self, option: &'static str, path: &Path) -> Self {
        let problem = "this is read from a file; name one";
        self.no_stream(option, path, problem)
            .stream_input(option, path)
    }

    /// A file to read several times.
    pub fn reread(self, option: &'static str, path: &Path) -> Self {
        let problem = "it is read several times, which standard input cannot be; save it in a file and name that";
        self.no_stream(option, path, problem)
            .no_pipe(option, path)
            .stream_input(option, path)
    }

    /// A file to read several times, or standard input, which is held in memory.
    pub fn held_input(self, option: &'static str, path: &Path) -> Self {
        self.no_pipe(option, path).stream_input(option, path)
    }

    /// A file to read, or standard input.
    pub fn stream_input(mut self, option: &'static str, path: &Path) -> Self {
        if is_stream(path) {
            self.inputs.extend(Named::stream(option, Handle::stdin()))
        } else {
            self.inputs.push(Named::file(option, path))
        }
        self
    }

    /// Files to read.
    pub fn inputs<'a>(
        self,
        option: &'static str,
        paths: impl IntoIterator<Item = &'a PathBuf>,
    ) -> Self {
        paths
            .into_iter()
            .fold(self, |all, path| all.input(option, path))
    }

    /// An encoder, if one is named: a folder, or a model with its tokenizer beside it or one folder
    /// up, or a pack.
    pub fn encoder(self, option: &'static str, path: &Option<PathBuf>) -> Self {
        let models = match path {
            None => Vec::new(),
            Some(path) if path.is_dir() => {
                vec![path.join("model.onnx"), path.join("onnx/model.onnx")]
            }
            Some(path) => vec![path.to_owned()],
        };
        models.iter().fold(self, |all, model| {
            let tokenizer = model.with_file_name("tokenizer.json");
            let above = model.with_file_name("../tokenizer.json");
            all.inputs(option, [model, &tokenizer, &above])
        })
    }

    /// Word vectors: a file, or a matrix with its words beside it.
    pub fn vectors(self, option: &'static str, path: &Path) -> Self {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let stem = name.split('.').next().unwrap_or_default();
        let words = path.with_file_name(format!("{stem}.vocab.txt"));
        self.input(option, path).input(option, &words)
    }

    /// A file to write.
    pub fn output(self, option: &'static str, path: &Path) -> Self {
        let problem = "this is written to a file; name one";
        self.no_stream(option, path, problem)
            .stream_output(option, path)
    }

    /// Files to write.
    pub fn outputs<'a>(
        self,
        option: &'static str,
        paths: impl IntoIterator<Item = &'a PathBuf>,
    ) -> Self {
        paths
            .into_iter()
            .fold(self, |all, path| all.output(option, path))
    }

    /// A file to write, or standard output.
    pub fn stream_output(mut self, option: &'static str, path: &Path) -> Self {
        if is_stream(path) {
            self.outputs.extend(Named::stream(option, Handle::stdout()))
        } else {
            self.outputs.push(Named::file(option, path))
        }
        self
    }

    /// The folder of a report, whose existing pages, tables and plots may be replaced.
    pub fn report(self, option: &'static str, folder: &Path) -> Self {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let files = entries.map(|entry| entry.path()).filter(|path| {
            let ending = path.extension().unwrap_or_default();
            ["csv", "html", "svg"].iter().any(|known| ending == *known)
        });
        let problem = "the report is written to a folder; name one";
        files
            .fold(self, |all, path| all.output(option, &path))
            .no_stream(option, folder, problem)
    }

    fn no_stream(mut self, option: &'static str, path: &Path, problem: &'static str) -> Self {
        if is_stream(path) {
            let problem = || format!("{option} cannot be `-`: {problem}");
            self.stream.get_or_insert_with(problem);
        }
        self
    }

    /// A pipe or a device is empty, or waits for ever, when it is read again.
    fn no_pipe(mut self, option: &'static str, path: &Path) -> Self {
        let refused = |about: fs::Metadata| !about.is_file() && !about.is_dir();
        if !is_stream(path) && fs::metadata(path).is_ok_and(refused) {
            let problem = || {
                let path = path.display();
                format!(
                    "{option} `{path}` is read several times, which only a regular file can be; \
                     save it in one and name that"
                )
            };
            self.pipe.get_or_insert_with(problem);
        }
        self
    }

    /// Refuses an output that is an input or another output, even under another name, because
    /// writing it would destroy the other.
    pub fn check(&self) -> Result<()> {
        if let Some(problem) = self.stream.as_ref().or(self.pipe.as_ref()) {
            return Err(Error::argument(problem.clone()));
        }
        for (index, output) in self.outputs.iter().enumerate() {
            // It is refused for that when it is to be written.
            if !is_stream(&output.path) && output.path.is_dir() {
                continue;
            }
            let place = &output.place;
            let is_lost = |input: &&Named| input.place.is(place) || place.sweeps(&input.place);
            let is_same = |other: &&Named| other.place.is(place);
            let earlier = || self.outputs[..index].iter().find(is_same);
            if let Some(other) = self.inputs.iter().find(is_lost).or_else(earlier) {
                let named = if other.path == output.path {
                    other.option.to_owned()
                } else {
                    format!("{} (`{}`)", other.option, other.path.display())
                };
                return Err(Error::argument(format!(
                    "{} names `{}`, which {named} needs, too: writing would destroy it; name \
                     another file",
                    output.option,
                    output.path.display()
                )));
            }
        }
        Ok(())
    }
}

/// The place that a path resolves to.
struct Place {
    /// The regular file, if it exists, however it is spelled and linked.
    file: Option<Handle>,
    /// Its folder, if that is there, and its name in it.
    folder: Option<PathBuf>,
    name: String,
}

impl Place {
    fn of(path: &Path) -> Self {
        let path = &resolved(path);
        // Opening a pipe would block.
        let is_file = fs::metadata(path).is_ok_and(|about| about.is_file());
        Self {
            file: is_file.then(|| Handle::from_path(path).ok()).flatten(),
            folder: fs::canonicalize(folder(path)).ok(),
            name: path
                .file_name()
                .map(OsStr::to_string_lossy)
                .unwrap_or_default()
                .into_owned(),
        }
    }

    fn is(&self, other: &Self) -> bool {
        match (&self.file, &other.file) {
            (Some(own), Some(other)) => own == other,
            // Not there yet: then two names are one file if they stand for one place.
            (None, None) => self.beside(other) && self.name == other.name,
            _ => false,
        }
    }

    fn beside(&self, other: &Self) -> bool {
        self.folder.is_some() && self.folder == other.folder
    }

    /// Whether writing this file removes the other one, which has the name of an unfinished part.
    fn sweeps(&self, other: &Self) -> bool {
        let part = |start: &str, end: &str| {
            let rest = other.name.strip_prefix(start);
            rest.is_some_and(|rest| rest.ends_with(end))
        };
        let name = &self.name;
        other.file.is_some()
            && self.beside(other)
            && (part(&format!("{name}."), ".partial") || part(&format!(".{name}."), ".part"))
    }
}
