//! Writes lines of JSON as a table.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Seek};
use std::iter;
use std::path::Path;
use std::sync::Arc;

use csv::{QuoteStyle, WriterBuilder};
use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, DoubleType, FixedLenByteArrayType, FloatType,
    Int64Type,
};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;
use serde_json::value::RawValue;
use undertone::error::{Error, Result};
use undertone::files::atomic::AtomicFile;
use undertone::files::fields::Fields;
use undertone::files::form::Form;
use undertone_core::release::Release;

use crate::columns::io_cause;

/// Limits of a row group, which is in memory: rows, and bytes of lines.
const ROWS: usize = 1 << 16;
const BYTES: usize = 1 << 24;

/// Maximum number of columns, because a client can make up fields.
const COLUMNS: usize = 1000;

/// Digits of an epsilon after the point, and in all.
const MICRO: (i32, i32) = (6, 10);

/// Type of the values of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Strings; other values as their JSON.
    Text,
    /// Integers of 64 bits.
    Whole,
    /// Floating-point numbers in the form that Rust writes.
    Real,
    /// Truth values.
    Truth,
    /// Lists of strings.
    Texts,
    /// Lists of numbers of 32 bits.
    Singles,
    /// A release of a document: 24 bytes, given as hexadecimal digits.
    Release,
    /// An epsilon: a decimal number with six digits after the point.
    Epsilon,
}

/// A table format and the columns that are known in advance. Further columns are those of any line,
/// in order of appearance: numbers if all values are numbers, else strings. Objects and lists
/// become strings of JSON.
#[derive(Clone, Debug)]
pub struct Table {
    form: Form,
    kinds: Vec<(&'static str, Kind)>,
}

/// For `map_err`: converts an error of the Parquet library while writing.
pub fn unwritten(path: &Path) -> impl FnOnce(ParquetError) -> Error {
    move |problem| Error::io("write", path)(io_cause(problem).unwrap_or_else(io::Error::other))
}

impl Table {
    /// The table format of a file name, by its ending `.parquet` or `.csv`; `None` for other names.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`](undertone::error::ErrorKind::Argument) for a table that would be
    /// gzipped.
    pub fn of(path: &Path, kinds: &[(&'static str, Kind)]) -> Result<Option<Self>> {
        let form = Form::of_table(path);
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let inner = name.to_lowercase();
        let inner = inner.strip_suffix(".gz").map(Path::new);
        if inner.is_some_and(|inner| Form::of_table(inner).is_some()) {
            return Err(Error::output(
                path,
                "tables are written as .parquet, which is compressed, or as .csv; name one of these",
            ));
        }
        Ok(form.map(|form| Self {
            form,
            kinds: kinds.to_vec(),
        }))
    }

    /// Writes all lines of a file, each a JSON object, as a table for `path`. The table is on the
    /// disk but does not have its name yet.
    ///
    /// # Errors
    /// [`ErrorKind::Io`](undertone::error::ErrorKind::Io);
    /// [`ErrorKind::Input`](undertone::error::ErrorKind::Input) if lines have more than 1,000
    /// different fields.
    pub fn settled(&self, lines: &mut File, path: &Path) -> Result<AtomicFile> {
        let mut columns: Vec<Column> = Vec::new();
        each(lines, |fields, _| self.learn(&mut columns, fields))
            .map_err(Error::io("read", path))?;
        if columns.len() > COLUMNS {
            return Err(Error::input(format!(
                "more than {} different fields; a table has no room for them; name an \
                 output that ends in .jsonl",
                COLUMNS as u64
            )));
        }
        // A file without rows has the known columns.
        for (name, kind) in &self.kinds {
            if !columns.iter().any(|column| column.name == *name) {
                columns.push(Column::new(name, Some(*kind)));
            }
        }
        let mut file = AtomicFile::create(path)?;
        match self.form {
            Form::Parquet => write_parquet(lines, columns, &mut file).map_err(unwritten(path))?,
            _ => write_csv(lines, &columns, &mut file).map_err(Error::io("write", path))?,
        }
        file.settle()?;
        Ok(file)
    }

    /// Records the columns of a line and the types of its values.
    fn learn(&self, columns: &mut Vec<Column>, fields: &Fields<'_>) -> io::Result<()> {
        for (name, value) in &fields.0 {
            let known = columns.iter().position(|column| *name == column.name[..]);
            let place = known.unwrap_or_else(|| {
                // Columns beyond the limit are an error, so they need no types.
                if columns.len() <= COLUMNS {
                    let known = self.kinds.iter().find(|(known, _)| *name == **known);
                    columns.push(Column::new(&name.text(), known.map(|(_, kind)| *kind)));
                }
                columns.len() - 1
            });
            columns[place].learn(value.get());
        }
        Ok(())
    }
}

/// Reads the lines from the start of the file.
fn each(
    file: &mut File,
    mut work: impl FnMut(&Fields<'_>, usize) -> io::Result<()>,
) -> io::Result<()> {
    file.rewind()?;
    let mut reader = BufReader::new(file);
    let mut line = String::new();
    while reader.read_line(&mut line)? > 0 {
        let fields = serde_json::from_str(&line);
        let fields: Fields<'_> = fields.map_err(|_| io::Error::other("a line is no object"))?;
        work(&fields, line.len())?;
        line.clear();
    }
    Ok(())
}

/// The value of a column in a line; the last one if the name repeats.
fn value<'a>(fields: &Fields<'a>, name: &str) -> Option<&'a str> {
    let own = fields.0.iter().rev().find(|(own, _)| *own == *name);
    own.map(|(_, value)| RawValue::get(value))
        .filter(|value| *value != "null")
}

/// A value as text: the contents of a string, or the JSON of any other value.
fn text(value: &str) -> String {
    serde_json::from_str(value).unwrap_or_else(|_| value.to_owned())
}

/// A column of a table to write.
struct Column {
    name: String,
    kind: Kind,
    /// The types that fit all values so far; `None` if the type is known in advance.
    fitting: Option<Vec<Kind>>,
}

impl Column {
    fn new(name: &str, kind: Option<Kind>) -> Self {
        Self {
            name: name.to_owned(),
            kind: kind.unwrap_or(Kind::Text),
            fitting: kind
                .is_none()
                .then(|| vec![Kind::Whole, Kind::Real, Kind::Truth]),
        }
    }

    fn learn(&mut self, value: &str) {
        if value != "null"
            && let Some(fitting) = &mut self.fitting
        {
            let whole = value.parse::<i64>().ok().filter(|n| n.to_string() == value);
            fitting.retain(|kind| match (kind, whole) {
                (Kind::Whole, _) => whole.is_some(),
                // A number that loses digits as a double stays text.
                (Kind::Real, Some(whole)) => whole.unsigned_abs() < 1 << 53,
                (Kind::Real, None) => is_real(value),
                _ => matches!(value, "true" | "false"),
            });
            self.kind = fitting.first().copied().unwrap_or(Kind::Text);
        }
    }

    fn schema(&self) -> Result<Type, ParquetError> {
        let name = self.name.as_str();
        let of = |physical| {
            Type::primitive_type_builder(name, physical).with_repetition(Repetition::OPTIONAL)
        };
        match self.kind {
            Kind::Text => of(Physical::BYTE_ARRAY)
                .with_logical_type(Some(LogicalType::String))
                .build(),
            Kind::Whole => of(Physical::INT64).build(),
            Kind::Real => of(Physical::DOUBLE).build(),
            Kind::Truth => of(Physical::BOOLEAN).build(),
            Kind::Release => of(Physical::FIXED_LEN_BYTE_ARRAY)
                .with_length(Release::BYTES as i32)
                .build(),
            Kind::Epsilon => {
                let (scale, precision) = MICRO;
                of(Physical::INT64)
                    .with_logical_type(Some(LogicalType::decimal(scale, precision)))
                    .with_precision(precision)
                    .with_scale(scale)
                    .build()
            }
            Kind::Texts => self.list(Physical::BYTE_ARRAY, Some(LogicalType::String)),
            Kind::Singles => self.list(Physical::FLOAT, None),
        }
    }

    fn list(&self, physical: Physical, logical: Option<LogicalType>) -> Result<Type, ParquetError> {
        let element = Type::primitive_type_builder("element", physical)
            .with_repetition(Repetition::REQUIRED)
            .with_logical_type(logical);
        let items = Type::group_type_builder("list")
            .with_repetition(Repetition::REPEATED)
            .with_fields(vec![Arc::new(element.build()?)]);
        Type::group_type_builder(&self.name)
            .with_repetition(Repetition::OPTIONAL)
            .with_logical_type(Some(LogicalType::List))
            .with_fields(vec![Arc::new(items.build()?)])
            .build()
    }

    fn cells(&self) -> Box<dyn Cells> {
        match self.kind {
            Kind::Text => held::<ByteArrayType>(Parse::One(|value| Some(bytes(text(value))))),
            Kind::Whole => held::<Int64Type>(Parse::One(|value| value.parse().ok())),
            Kind::Real => held::<DoubleType>(Parse::One(|value| value.parse().ok())),
            Kind::Truth => held::<BoolType>(Parse::One(|value| Some(value == "true"))),
            Kind::Epsilon => held::<Int64Type>(Parse::One(micro)),
            Kind::Release => held::<FixedLenByteArrayType>(Parse::One(|value| {
                let bytes = hex::decode(text(value)).ok()?;
                (bytes.len() == Release::BYTES).then(|| bytes.into())
            })),
            Kind::Texts => held::<ByteArrayType>(Parse::List(|value| {
                let texts: Vec<String> = serde_json::from_str(value).ok()?;
                Some(texts.into_iter().map(bytes).collect())
            })),
            Kind::Singles => held::<FloatType>(Parse::List(|v| serde_json::from_str(v).ok())),
        }
    }
}

fn bytes(text: String) -> ByteArray {
    text.into_bytes().into()
}

/// Whether Rust would write the number with the same digits.
fn is_real(value: &str) -> bool {
    let number = value.parse::<f64>().ok().filter(|own| own.is_finite());
    number.is_some_and(|own| serde_json::to_string(&own).is_ok_and(|own| own == value))
}

/// An epsilon in micro-units.
fn micro(value: &str) -> Option<i64> {
    let epsilon: undertone_core::epsilon::Epsilon = value.parse().ok()?;
    Some(i64::from(epsilon.micro()))
}

/// The values of a column in a row group.
trait Cells {
    /// Appends a value. A value that does not fit the column becomes null; commands write none.
    fn push(&mut self, value: Option<&str>);

    /// Writes the values and forgets them.
    fn write(&mut self, group: &mut Group<'_, '_>) -> Result<(), ParquetError>;
}

type Group<'w, 'f> = SerializedRowGroupWriter<'w, &'f mut AtomicFile>;

/// Reads the JSON of a value, or of a list of values.
enum Parse<T> {
    One(fn(&str) -> Option<T>),
    List(fn(&str) -> Option<Vec<T>>),
}

/// Values, and for each row whether it has one; for lists also their starts.
struct Held<D: DataType> {
    parse: Parse<D::T>,
    values: Vec<D::T>,
    levels: Vec<i16>,
    repeats: Vec<i16>,
}

fn held<D: DataType>(parse: Parse<D::T>) -> Box<dyn Cells> {
    Box::new(Held::<D> {
        parse,
        values: Vec::new(),
        levels: Vec::new(),
        repeats: Vec::new(),
    })
}

impl<D: DataType> Cells for Held<D> {
    fn push(&mut self, value: Option<&str>) {
        let before = self.values.len();
        // Null has level 0. A list has level 1 if it is empty; its items have level 2.
        let (alone, item) = match &self.parse {
            Parse::One(parse) => {
                self.values.extend(value.and_then(parse));
                (0, 1)
            }
            Parse::List(parse) => {
                let list = value.and_then(parse);
                let level = i16::from(list.is_some());
                self.values.extend(list.into_iter().flatten());
                (level, 2)
            }
        };
        let count = self.values.len() - before;
        self.levels.extend(iter::repeat_n(item, count));
        self.repeats.extend((0..count).map(|n| i16::from(n > 0)));
        if count == 0 {
            self.levels.push(alone);
            self.repeats.push(0);
        }
    }

    fn write(&mut self, group: &mut Group<'_, '_>) -> Result<(), ParquetError> {
        let mut column = group.next_column()?.expect("the schema has it");
        let typed = column.typed::<D>();
        typed.write_batch(&self.values, Some(&self.levels), Some(&self.repeats))?;
        column.close()?;
        self.values.clear();
        self.levels.clear();
        self.repeats.clear();
        Ok(())
    }
}

fn write_parquet(
    lines: &mut File,
    columns: Vec<Column>,
    file: &mut AtomicFile,
) -> Result<(), ParquetError> {
    let fields = columns.iter().map(|column| column.schema().map(Arc::new));
    let schema =
        Type::group_type_builder("releases").with_fields(fields.collect::<Result<_, _>>()?);
    let settings = WriterProperties::builder().set_compression(Compression::SNAPPY);
    let settings = Arc::new(settings.build());
    let mut writer = SerializedFileWriter::new(file, Arc::new(schema.build()?), settings)?;
    let mut cells: Vec<Box<dyn Cells>> = columns.iter().map(Column::cells).collect();
    let (mut rows, mut bytes) = (0, 0);
    let mut flush = |cells: &mut [Box<dyn Cells>]| -> Result<(), ParquetError> {
        let mut group = writer.next_row_group()?;
        for cells in cells {
            cells.write(&mut group)?;
        }
        group.close()?;
        Ok(())
    };
    each(lines, |fields, length| {
        for (column, cells) in columns.iter().zip(&mut cells) {
            cells.push(value(fields, &column.name));
        }
        rows += 1;
        bytes += length;
        if rows == ROWS || bytes >= BYTES {
            flush(&mut cells).map_err(io::Error::other)?;
            (rows, bytes) = (0, 0);
        }
        Ok(())
    })?;
    if rows > 0 {
        flush(&mut cells)?;
    }
    writer.close()?;
    Ok(())
}

fn write_csv(lines: &mut File, columns: &[Column], file: &mut AtomicFile) -> io::Result<()> {
    // Readers drop a byte order mark at the start of a file, so quote a first name that has one.
    let quotes = match columns {
        [first, ..] if first.name.starts_with('\u{feff}') => QuoteStyle::Always,
        _ => QuoteStyle::Necessary,
    };
    let mut writer = WriterBuilder::new().quote_style(quotes).from_writer(file);
    writer.write_record(columns.iter().map(|column| &column.name))?;
    each(lines, |fields, _| {
        let cells = columns
            .iter()
            .map(|column| value(fields, &column.name).map_or(String::new(), text));
        writer.write_record(cells)?;
        Ok(())
    })?;
    writer.flush()
}
