//! Files of the repository, by their paths from the top.

use std::fs;
use std::path::{Path, PathBuf};

/// Folders with what is built, not written.
const NOT_OURS: [&str; 5] = ["target", "build", ".git", "corpus", "node_modules"];

/// The top of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The text of a file.
///
/// # Panics
/// If it is missing, or is no text.
pub fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The files below a folder whose names have this ending: their paths and texts.
///
/// # Panics
/// If a folder or a file cannot be read.
pub fn files(folder: &str, ending: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root().join(folder)).expect("a folder of the tree") {
        let entry = entry.expect("an entry");
        let name = entry
            .file_name()
            .into_string()
            .expect("a name that is text");
        let path = Path::new(folder).join(&name).display().to_string();
        if entry.path().is_dir() {
            if !NOT_OURS.contains(&&*name) {
                found.extend(files(&path, ending));
            }
        } else if name.ends_with(ending) {
            let text = read(&path);
            found.push((path, text));
        }
    }
    found
}
