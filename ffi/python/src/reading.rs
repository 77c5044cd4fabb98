//! Files of releases into memory.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use undertone::error::{Error, Result};
use undertone::files::fields::{Absent, Twice, no_such_field};
use undertone::files::foreign;
use undertone::files::form::Form;
use undertone::files::lines::unpacked;
use undertone::release::lines::{BadLine, ReleaseLine};
use undertone_core::release::Release;
use undertone_estimate::counts::{Format, Reason};
use undertone_tables::{names_of, releases_of};

use crate::arguments::{FilePath, Name, listed};
use crate::counts::form;
use crate::errors::{argument, raised};
use crate::work;

/// Releases, the fields beside them as they are written, and why lines were left out.
#[derive(Default)]
struct Found {
    releases: Vec<u8>,
    columns: Vec<Vec<Option<String>>>,
    wrong: Vec<(String, u64)>,
}

impl Found {
    fn reject(&mut self, reason: Reason) {
        let reason = reason.to_string();
        match self.wrong.iter_mut().find(|(own, _)| *own == reason) {
            Some((_, count)) => *count += 1,
            None => self.wrong.push((reason, 1)),
        }
    }

    fn rows(path: &Path, form: Form, columns: &[String]) -> Result<Self> {
        let mut found = Self {
            columns: vec![Vec::new(); columns.len()],
            ..Self::default()
        };
        let wanted: Vec<&str> = std::iter::once("release")
            .chain(columns.iter().map(String::as_str))
            .collect();
        let mut lines = releases_of(path, form, Some(&wanted))?;
        let mut absent = Absent::new(columns);
        if let Some(names) = names_of(path, form)? {
            // A column of a table may have no values.
            absent = Absent::new(&[]);
            if let Some(name) = columns.iter().find(|name| !names.contains(name)) {
                return Err(no_such_field(path, "column", name, &names));
            }
        }
        while let Some(line) = lines.next_line()? {
            let text = line.text.map_err(Reason::Line);
            let kept = text.and_then(|text| {
                ReleaseLine::with(text, |line| {
                    absent.look_at(&line.fields);
                    Ok((line.release, values(&line, columns)?))
                })
            });
            match kept {
                Err(reason) => found.reject(reason),
                Ok((release, values)) => {
                    found.releases.extend(release.to_bytes());
                    for (value, column) in values.into_iter().zip(&mut found.columns) {
                        column.push(value);
                    }
                }
            }
        }
        absent.check(path)?;
        Ok(found)
    }

    fn records(path: &Path, columns: &[String]) -> Result<Self> {
        if !columns.is_empty() {
            return Err(Error::argument(format!(
                "`{}` has raw records, which have no fields, so it cannot be sliced by \
                 {}; leave ⟨by⟩ out, or give JSON lines or Parquet",
                path.display(),
                columns.join(", ")
            )));
        }
        let file = File::open(path).map_err(Error::io("open", path))?;
        let mut bytes = Vec::new();
        unpacked(file)
            .and_then(|mut file| file.read_to_end(&mut bytes))
            .map_err(Error::io("read", path))?;
        let mut found = Self::default();
        let (records, rest) = bytes.as_chunks::<{ Release::BYTES }>();
        for record in records {
            match Release::from_bytes(record) {
                Ok(_) => found.releases.extend(record),
                Err(_) => found.reject(Reason::Line(BadLine::NotARelease)),
            }
        }
        if !rest.is_empty() {
            found.reject(Reason::CutOff);
        }
        Ok(found)
    }
}

/// The fields of these names or paths as they are written; None for one that is missing.
fn values(line: &ReleaseLine<'_>, columns: &[String]) -> Result<Vec<Option<String>>, Reason> {
    let find = |name: &String| line.fields.find(name).map_err(|Twice| Reason::NotAValue);
    let values = columns.iter().map(find);
    values
        .map(|value| Ok(value?.map(|value| value.get().to_owned())))
        .collect()
}

type Read3<'py> = (
    Bound<'py, PyBytes>,
    Vec<Vec<Option<String>>>,
    Vec<(String, u64)>,
);

/// The releases of a file, the fields of these names as JSON, and how many lines were left out for
/// which reason.
#[pyfunction]
pub(crate) fn read_file<'py>(
    py: Python<'py>,
    path: FilePath,
    format: Name,
    columns: Vec<Name>,
) -> PyResult<Read3<'py>> {
    let columns = listed(columns);
    let form = match form(&format)? {
        Format::Lines => Form::JsonLines,
        Format::Raw => Form::Raw,
        Format::Parquet => Form::Parquet,
        Format::Csv => Form::Csv,
        Format::Counts => {
            return Err(argument(
                "format = \"counts\": files of counts have no releases; read them with count",
            ));
        }
    };
    let found = work::run(py, None, move || {
        let found = match form {
            Form::Raw => Found::records(&path, &columns),
            form => Found::rows(&path, form, &columns),
        }?;
        if found.releases.is_empty()
            && !found.wrong.is_empty()
            && form != Form::Parquet
            && let Some(error) = foreign::of_releases(&path)
        {
            return Err(error);
        }
        Ok(found)
    })?;
    let releases = PyBytes::new(py, &found.releases);
    Ok((releases, found.columns, found.wrong))
}

/// The form of a file of releases, by its ending.
#[pyfunction]
pub(crate) fn format_of(path: FilePath) -> PyResult<&'static str> {
    Ok(match raised(Format::of(&path))? {
        Format::Lines => "jsonl",
        Format::Raw => "raw",
        Format::Parquet => "parquet",
        Format::Csv => "csv",
        Format::Counts => "counts",
    })
}
