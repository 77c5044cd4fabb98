//! Rows of Parquet files as lines of JSON.
//!
//! The row interface of the Parquet library is not used: its errors quote values, and it does not
//! guarantee lists.

use std::io::{self, BufRead};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use parquet::basic::{ConvertedType, LogicalType, Repetition};
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::schema::types::Type;
use undertone::error::Result;
use undertone::files::fields::no_such_field;
use undertone::progress::Progress;

use crate::columns::{
    self, DAMAGED, Form, Pages, Values, damage, guarded, io_cause, packed, said, unusable,
};
use crate::{RELEASE, Source, Stream, push_text};

/// Rows per batch. Texts may have 16 MiB, so a batch can have a gigabyte.
const ROWS: usize = 64;

/// A field of a row.
struct Node {
    name: String,
    what: What,
    /// Definition level at which the field is not null.
    there: i16,
    /// Range of its columns in `Rows::leaves`.
    columns: Range<usize>,
}

enum What {
    Value(Use),
    Fields(Vec<Node>),
    /// A list, and the repetition level of its items.
    List(Box<Node>, i16),
}

/// Meaning of a binary value.
#[derive(Clone, Copy, PartialEq)]
enum Use {
    Release,
    /// A text. Invalid UTF-8 stays, so that the reader of the line rejects it.
    Text,
    Other,
}

/// A column that is read.
#[derive(Default)]
struct Leaf {
    /// Index of the column in the file.
    place: usize,
    /// Definition level of a value that is not null.
    most: i16,
    /// `None` before the first row group.
    values: Option<Values>,
    levels: Vec<i16>,
    repeats: Vec<i16>,
    /// Positions in the levels and in the values.
    at: usize,
    value: usize,
}

const DAMAGED_PAGES: &str = "its pages are damaged; write it anew";

/// The levels of a row are inconsistent.
struct Broken;

/// The rows of a file.
struct Rows {
    file: SerializedFileReader<Pages>,
    fields: Vec<Node>,
    leaves: Vec<Leaf>,
    groups: Range<usize>,
    /// Rows that were read and are not yet written.
    left: usize,
    progress: Progress,
    failed: bool,
}

/// Opens the rows of a file with the fields `wanted`, by name or path; `None` selects all. The
/// field `needed`, the text of a corpus or the release, must exist.
pub(crate) fn open(
    path: &Path,
    wanted: Option<&[&str]>,
    needed: Option<&str>,
    watched: bool,
) -> Result<impl BufRead + Send + use<>> {
    guarded(path, || {
        let file = columns::open(path)?;
        let about = file.metadata().file_metadata();
        let schema = about.schema_descr();
        let rows = u64::try_from(about.num_rows()).unwrap_or(0);
        let mut tree = Tree::default();
        let mut fields = Vec::new();
        for field in schema.root_schema().get_fields() {
            let name = field.name();
            tree.taken = wanted.is_none_or(|wanted| wanted.iter().any(|path| leads_to(path, name)));
            let node = tree.node(field, 0, 0);
            if tree.taken {
                fields.push(node);
            }
        }
        let columns = schema.columns().iter().map(|column| column.path().string());
        let columns: Vec<String> = columns.collect();
        let named = |missing: &str| no_such_field(path, "column", missing, &columns);
        if tree.leaves.is_empty() {
            let wanted = wanted.unwrap_or_default().join(", ");
            return Err(named(needed.unwrap_or(&wanted)));
        }
        if let Some(needed) = needed {
            let node = find(&mut fields, needed).ok_or_else(|| named(needed))?;
            if let What::Value(what) = &mut node.what {
                *what = Use::Text;
            }
        }
        for leaf in &tree.leaves {
            let column = schema.column(leaf.place);
            if Form::of(&column).is_none() {
                let remedy = match wanted {
                    None => "all columns are copied, so write the file without this one",
                    Some(_) => "name another column, or leave it out",
                };
                let problem = format!(
                    "{}, which are not read; wanted are strings, numbers, dates, times, truth values or bytes; {remedy}",
                    said(&column),
                );
                return Err(unusable(path, &problem));
            }
            let groups = file.metadata().row_groups().iter();
            let mut parts = groups.filter_map(|group| group.columns().get(leaf.place));
            if let Some(problem) = parts.find_map(packed) {
                return Err(unusable(path, &problem));
            }
        }
        for field in &mut fields {
            if let What::Value(what) = &mut field.what
                && field.name == RELEASE
            {
                *what = Use::Release;
            }
        }
        let progress = if watched {
            Progress::new("reading", rows)
        } else {
            Progress::hidden()
        };
        Ok(Stream::lines(Rows {
            groups: 0..file.num_row_groups(),
            file,
            fields,
            leaves: tree.leaves,
            left: 0,
            progress,
            failed: false,
        }))
    })
}

/// Finds a field by name or dotted path.
fn find<'f>(fields: &'f mut [Node], path: &str) -> Option<&'f mut Node> {
    let place = |name: &str| fields.iter().position(|own| own.name == name);
    if let Some(place) = place(path) {
        return Some(&mut fields[place]);
    }
    let (outer, rest) = path.split_once('.')?;
    match &mut fields[place(outer)?].what {
        What::Fields(inner) => find(inner, rest),
        _ => None,
    }
}

/// Names of all fields, and paths of nested ones.
pub(crate) fn names(path: &Path) -> Result<Vec<String>> {
    guarded(path, || {
        let file = columns::open(path)?;
        let schema = file.metadata().file_metadata().schema_descr();
        let mut names = Vec::new();
        for column in schema.columns() {
            let parts = column.path().parts();
            names.extend((1..=parts.len()).map(|end| parts[..end].join(".")));
        }
        Ok(names)
    })
}

/// Whether `path` is the field `name` or a field inside it.
fn leads_to(path: &str, name: &str) -> bool {
    let rest = path.strip_prefix(name);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Builds nodes and leaves from a schema.
#[derive(Default)]
struct Tree {
    leaves: Vec<Leaf>,
    /// Index of the next column in the file.
    place: usize,
    /// Whether the next columns are selected.
    taken: bool,
}

impl Tree {
    /// Builds the node of a field, given the levels of its parent.
    fn node(&mut self, field: &Type, level: i16, repeat: i16) -> Node {
        if has(field, Repetition::OPTIONAL) {
            return self.content(field, level + 1, repeat);
        }
        if has(field, Repetition::REPEATED) {
            // Without the list annotation.
            let inner = self.content(field, level + 1, repeat + 1);
            return list(field, inner, level, repeat + 1);
        }
        self.content(field, level, repeat)
    }

    /// Builds the node of a field that is not null from `level` on.
    fn content(&mut self, field: &Type, level: i16, repeat: i16) -> Node {
        let first = self.leaves.len();
        if field.is_primitive() {
            if self.taken {
                self.leaves.push(Leaf {
                    place: self.place,
                    most: level,
                    ..Leaf::default()
                });
            }
            self.place += 1;
            return self.named(field, What::Value(Use::Other), level, first);
        }
        if let Some(items) = items(field) {
            // Most programs wrap each item in a group.
            let inner = if items.is_group() && has_one_item(items) {
                self.node(&items.get_fields()[0], level + 1, repeat + 1)
            } else {
                self.content(items, level + 1, repeat + 1)
            };
            return list(field, inner, level, repeat + 1);
        }
        let own = field.get_fields().iter();
        let own = own.map(|field| self.node(field, level, repeat)).collect();
        self.named(field, What::Fields(own), level, first)
    }

    fn named(&self, field: &Type, what: What, there: i16, first: usize) -> Node {
        Node {
            name: field.name().to_owned(),
            what,
            there,
            columns: first..self.leaves.len(),
        }
    }
}

fn list(field: &Type, inner: Node, there: i16, repeat: i16) -> Node {
    Node {
        name: field.name().to_owned(),
        columns: inner.columns.clone(),
        what: What::List(Box::new(inner), repeat),
        there,
    }
}

/// Whether a field has this repetition. The root has none.
fn has(field: &Type, repetition: Repetition) -> bool {
    let about = field.get_basic_info();
    about.has_repetition() && about.repetition() == repetition
}

/// The repeated field of a list or a map.
fn items(field: &Type) -> Option<&Type> {
    let about = field.get_basic_info();
    let is_list = matches!(
        about.logical_type_ref(),
        Some(LogicalType::List | LogicalType::Map)
    ) || matches!(
        about.converted_type(),
        ConvertedType::LIST | ConvertedType::MAP | ConvertedType::MAP_KEY_VALUE
    );
    let [items] = field.get_fields() else {
        return None;
    };
    (is_list && has(items, Repetition::REPEATED)).then_some(&**items)
}

/// Whether a repeated group only wraps the item, by the format's rules for lists of older programs.
fn has_one_item(items: &Type) -> bool {
    items.get_fields().len() == 1 && items.name() != "array" && !items.name().ends_with("_tuple")
}

impl Rows {
    /// Reads the next rows; false at the end.
    fn read(&mut self) -> Result<bool, ParquetError> {
        loop {
            let mut rows = None;
            for leaf in &mut self.leaves {
                let own = leaf.read()?;
                if *rows.get_or_insert(own) != own {
                    return Err(ParquetError::General("columns differ".to_owned()));
                }
            }
            self.left = rows.unwrap_or(0);
            if self.left > 0 {
                self.progress.advance(self.left as u64);
                return Ok(true);
            }
            let Some(group) = self.groups.next() else {
                return Ok(false);
            };
            let group = self.file.get_row_group(group)?;
            for leaf in &mut self.leaves {
                let values = Values::open(&*group, leaf.place);
                leaf.values = Some(values.map_err(ParquetError::General)?);
            }
        }
    }

    fn next(&mut self, out: &mut Vec<u8>) -> io::Result<bool> {
        if self.left == 0 {
            let read = self.read().map_err(|problem| {
                let other = |problem| damage(&problem).unwrap_or(DAMAGED_PAGES);
                // The message of the library could quote a value.
                io_cause(problem).unwrap_or_else(|problem| io::Error::other(other(problem)))
            })?;
            if !read {
                return Ok(false);
            }
        }
        self.left -= 1;
        let row = object(&self.fields, &mut self.leaves, out);
        row.map_err(|Broken| {
            // Discards the part of the row that was written.
            out.clear();
            io::Error::other(DAMAGED_PAGES)
        })?;
        Ok(true)
    }
}

impl Source for Rows {
    fn line(&mut self, out: &mut Vec<u8>) -> io::Result<bool> {
        if self.failed {
            return Ok(false);
        }
        let next = catch_unwind(AssertUnwindSafe(|| self.next(out)));
        let next = next.unwrap_or_else(|_| {
            out.clear();
            Err(io::Error::other(DAMAGED))
        });
        self.failed = next.is_err();
        next
    }
}

impl Leaf {
    fn read(&mut self) -> Result<usize, ParquetError> {
        self.levels.clear();
        self.repeats.clear();
        (self.at, self.value) = (0, 0);
        match &mut self.values {
            Some(values) => values.read(ROWS, &mut self.levels, &mut self.repeats),
            None => Ok(0),
        }
    }

    /// Definition level of the next value.
    fn level(&self) -> Result<i16, Broken> {
        if self.most == 0 {
            return Ok(0);
        }
        self.levels.get(self.at).copied().ok_or(Broken)
    }

    fn push(&mut self, what: Use, out: &mut Vec<u8>) -> Result<(), Broken> {
        let values = self.values.as_ref().ok_or(Broken)?;
        let place = self.value;
        self.value += 1;
        match values.form() {
            Form::Text => push_text(values.bytes(place).ok_or(Broken)?, out),
            Form::Bytes => push_bytes(values.bytes(place).ok_or(Broken)?, what, out),
            Form::Uuid => {
                let digits = hex::encode(values.bytes(place).ok_or(Broken)?);
                let parts = [0..8, 8..12, 12..16, 16..20, 20..32].into_iter();
                let parts: Option<Vec<&str>> = parts.map(|part| digits.get(part)).collect();
                push_text(parts.ok_or(Broken)?.join("-").as_bytes(), out);
            }
            Form::Real => {
                let number = values.real(place).ok_or(Broken)?;
                let number = serde_json::Value::from(number);
                out.extend_from_slice(number.to_string().as_bytes());
            }
            form => {
                let text = values.written(values.number(place).ok_or(Broken)?);
                match form {
                    Form::Day | Form::Time(_) | Form::Instant(_) => push_text(text.as_bytes(), out),
                    _ => out.extend_from_slice(text.as_bytes()),
                }
            }
        }
        Ok(())
    }
}

/// Appends bytes. A release becomes hexadecimal digits, unless it has that form already.
fn push_bytes(bytes: &[u8], what: Use, out: &mut Vec<u8>) {
    let digits = bytes.len().is_multiple_of(2) && bytes.iter().all(u8::is_ascii_hexdigit);
    // Raw bytes of a release are never hexadecimal digits: they begin with "UTR".
    let is_text = match what {
        Use::Release => digits,
        Use::Text => true,
        Use::Other => str::from_utf8(bytes).is_ok(),
    };
    if is_text {
        push_text(bytes, out);
    } else {
        push_text(hex::encode(bytes).as_bytes(), out);
    }
}

fn object(fields: &[Node], leaves: &mut [Leaf], out: &mut Vec<u8>) -> Result<(), Broken> {
    out.push(b'{');
    for (place, field) in fields.iter().enumerate() {
        if place > 0 {
            out.push(b',');
        }
        push_text(field.name.as_bytes(), out);
        out.push(b':');
        value(field, leaves, out)?;
    }
    out.push(b'}');
    Ok(())
}

fn value(node: &Node, leaves: &mut [Leaf], out: &mut Vec<u8>) -> Result<(), Broken> {
    // A struct without fields is null.
    let level = match leaves[node.columns.clone()].first() {
        Some(first) => first.level()?,
        None => -1,
    };
    match &node.what {
        _ if level < node.there => {
            skip(node, leaves);
            out.extend_from_slice(b"null");
        }
        What::Value(what) => {
            let leaf = &mut leaves[node.columns.start];
            leaf.push(*what, out)?;
            leaf.at += 1;
        }
        What::Fields(fields) => object(fields, leaves, out)?,
        What::List(_, _) if level == node.there => {
            skip(node, leaves);
            out.extend_from_slice(b"[]");
        }
        What::List(inner, repeat) => {
            out.push(b'[');
            loop {
                value(inner, leaves, out)?;
                let first = &leaves[node.columns.start];
                if first.repeats.get(first.at) != Some(repeat) {
                    break;
                }
                out.push(b',');
            }
            out.push(b']');
        }
    }
    Ok(())
}

/// Skips a null or an empty list, which has one entry in each column.
fn skip(node: &Node, leaves: &mut [Leaf]) {
    for leaf in &mut leaves[node.columns.clone()] {
        leaf.at += 1;
    }
}
