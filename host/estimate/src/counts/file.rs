//! Files of counts: Parquet and CSV.

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::FileReader;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;
use undertone::error::{Error, Result};
use undertone::files::atomic::AtomicFile;
use undertone::files::foreign;
use undertone::files::form::Form;
use undertone::files::lines::unzipped;
use undertone_tables::columns::{guarded, open, place};
use undertone_tables::{unwritten, without_mark};

use super::columns::Column;
use super::{COLUMNS, Counts, Kind, LONGEST_VALUE, Reason, Row};

/// Rows of a row group that we write.
const GROUP: usize = 1 << 20;

/// Index of the first slice among the columns, after the order.
const BEFORE_SLICES: usize = 5;

pub(crate) fn wrong(path: &Path, problem: impl std::fmt::Display) -> Error {
    Error::input(format!(
        "cannot take counts from `{}`: {problem}",
        path.display()
    ))
}

/// Whether a Parquet file has counts instead of releases.
pub(crate) fn is_counts(path: &Path) -> Result<bool> {
    let file = guarded(path, || open(path))?;
    let schema = file.metadata().file_metadata().schema_descr();
    let has = |name: &str| place(schema, name).is_some();
    Ok(COLUMNS.iter().all(|name| has(name)) && !has("release"))
}

impl Counts {
    /// Reads a file that [`write`](Self::write) or another program wrote in this form: `.parquet`
    /// or `.csv`.
    ///
    /// # Errors
    /// [`ErrorKind::Input`](undertone::error::ErrorKind::Input), with the row, for another form;
    /// [`ErrorKind::Io`](undertone::error::ErrorKind::Io).
    pub fn read(path: &Path) -> Result<Self> {
        match Form::of(path) {
            Some(Form::Parquet) => guarded(path, || read_parquet(path)),
            Some(Form::Csv) => {
                let file = File::open(path).map_err(Error::io("open", path))?;
                parse_csv(path, unzipped(file).map_err(Error::io("read", path))?)
            }
            _ => Err(foreign::of_file(path).unwrap_or_else(|| {
                wrong(path, "files of counts end in .parquet or .csv; rename it")
            })),
        }
    }

    /// Parses counts in CSV. `name` names them in errors.
    ///
    /// # Errors
    /// The errors of [`read`](Self::read).
    pub fn from_csv(bytes: &[u8], name: &Path) -> Result<Self> {
        parse_csv(name, bytes)
    }

    /// The counts as CSV.
    pub fn to_csv(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        write_csv(self, &mut bytes).expect("memory takes all bytes");
        bytes
    }

    /// Writes a file atomically: Parquet or CSV, by the extension of its name.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`](undertone::error::ErrorKind::Argument) for another extension;
    /// [`ErrorKind::Io`](undertone::error::ErrorKind::Io).
    pub fn write(&self, path: &Path) -> Result<()> {
        self.settled(path)?.commit()
    }

    /// Writes the file of [`write`](Self::write) to the disk without giving it its name yet.
    ///
    /// # Errors
    /// The errors of [`write`](Self::write).
    pub fn settled(&self, path: &Path) -> Result<AtomicFile> {
        let form = Form::of_table(path).ok_or_else(|| {
            Error::output(
                path,
                "counts are written as Parquet or CSV; name a file that ends in .parquet or .csv",
            )
        })?;
        let mut file = AtomicFile::create(path)?;
        match form {
            Form::Parquet => write_parquet(self, &mut file).map_err(unwritten(path))?,
            _ => write_csv(self, &mut file).map_err(Error::io("write", path))?,
        }
        file.settle()?;
        Ok(file)
    }
}

/// The indices of our columns and of those of the slices.
struct Layout {
    own: [usize; COLUMNS.len()],
    slices: Vec<usize>,
}

impl Layout {
    /// `instead` lists the columns of the file, for an error.
    fn of(path: &Path, names: &[String], instead: &str) -> Result<(Self, Counts)> {
        let mut own = [0; COLUMNS.len()];
        for (place, name) in own.iter_mut().zip(COLUMNS) {
            let found = names.iter().position(|own| own == name);
            *place = found
                .ok_or_else(|| wrong(path, format!("it has no column `{name}`; {instead}")))?;
        }
        let slices: Vec<usize> = (0..names.len())
            .filter(|place| !own.contains(place))
            .collect();
        let counts = Counts::new(slices.iter().map(|place| names[*place].clone()).collect())?;
        Ok((Self { own, slices }, counts))
    }

    /// The kind, slice, outcome and count of a row; `text` returns the value of a column.
    fn row(
        &self,
        text: impl Fn(usize) -> Result<String, String>,
    ) -> Result<(Kind, Vec<String>, u32, u64), String> {
        let [pack, mechanism, rule, epsilon, order, outcome, count] = self.own.map(&text);
        let mut id = [0; 8];
        hex::decode_to_slice(pack?, &mut id)
            .map_err(|_| "the pack is wrong; wanted are 16 hexadecimal digits")?;
        let epsilon = epsilon?;
        let epsilon = epsilon
            .parse()
            .map_err(|problem| format!("epsilon is {}: {problem}", said(&epsilon)))?;
        let kind = Kind::from_fields(
            id,
            number(mechanism, "mechanism")?,
            number(rule, "rule")?,
            epsilon,
            number(order, "order")?,
        );
        let kind = kind.map_err(|problem| problem.to_string())?;
        let outcome = number(outcome, "outcome")?;
        let count = number(count, "count")?;
        let slice = self.slices.iter().map(|place| text(*place));
        Ok((kind, slice.collect::<Result<_, _>>()?, outcome, count))
    }
}

fn number<T: std::str::FromStr>(text: Result<String, String>, name: &str) -> Result<T, String> {
    let text = text?;
    let most = match name {
        "mechanism" | "rule" => "255",
        "order" => "65535",
        "outcome" => "4294967295",
        _ => "9223372036854775807",
    };
    text.parse().map_err(|_| {
        let found = said(&text);
        format!("the {name} is {found}; wanted is a whole number from 0 to {most}")
    })
}

/// Quotes a value for a message if it is a number. Other values may be private text of a wrong
/// file.
fn said(text: &str) -> String {
    let digit = |own: u8| own.is_ascii_digit() || b"+-.".contains(&own);
    if (1..=40).contains(&text.len()) && text.bytes().all(digit) {
        format!("`{text}`")
    } else {
        "no number".to_owned()
    }
}

/// Message for a value that is too long. It does not quote the value, which may be private text.
fn too_long(name: &str) -> String {
    format!("the {name} is longer than {LONGEST_VALUE} bytes; count by something shorter")
}

fn parse_csv(path: &Path, file: impl Read) -> Result<Counts> {
    let file = without_mark(file).map_err(Error::io("read", path))?;
    let problem = |problem: csv::Error| {
        let line = problem.position().map_or(0, csv::Position::line);
        match problem.into_kind() {
            csv::ErrorKind::Io(cause) => Error::io("read", path)(cause),
            csv::ErrorKind::UnequalLengths {
                expected_len, len, ..
            } => wrong(
                path,
                format!("line {line} has {len} fields, the first line {expected_len}"),
            ),
            csv::ErrorKind::Utf8 { .. } => wrong(path, format!("line {line} is not UTF-8")),
            other => wrong(path, format!("{other:?}")),
        }
    };
    let mut reader = csv::Reader::from_reader(file);
    let names = reader.headers().map_err(problem)?;
    let names: Vec<String> = names.iter().map(str::to_owned).collect();
    // Does not quote the names: without a header line they are private texts.
    let instead = format!(
        "its first line has {} fields, and must name the columns: `release` in files of releases, {} in files of counts",
        names.len(),
        COLUMNS.join(", ")
    );
    let (layout, mut counts) = Layout::of(path, &names, &instead)?;
    for record in reader.records() {
        let record = record.map_err(problem)?;
        let line = record.position().map_or(0, csv::Position::line);
        let text = |place: usize| match record.get(place).unwrap_or_default() {
            text if text.len() > LONGEST_VALUE => Err(too_long(&names[place])),
            text => Ok(text.to_owned()),
        };
        let row = layout.row(text);
        let (kind, slice, outcome, count) =
            row.map_err(|problem| wrong(path, format!("line {line}: {problem}")))?;
        counts.add(kind, slice, outcome, count)?;
    }
    counts.check()?;
    Ok(counts)
}

fn read_parquet(path: &Path) -> Result<Counts> {
    let problem = |problem: ParquetError| wrong(path, problem.to_string());
    let file = open(path)?;
    let schema = file.metadata().file_metadata().schema_descr();
    let names = schema.columns().iter().map(|column| column.path().string());
    let names: Vec<String> = names.collect();
    let instead = format!("its columns are {}", names.join(", "));
    let (layout, mut counts) = Layout::of(path, &names, &instead)?;
    let mut number = 0u64;
    for group in 0..file.num_row_groups() {
        let group = file.get_row_group(group).map_err(problem)?;
        let columns = (0..names.len()).map(|place| Column::open(&*group, place));
        let columns = columns.collect::<Result<Vec<_>, _>>();
        let mut columns = columns.map_err(|problem| wrong(path, problem))?;
        loop {
            let mut rows = None;
            for column in &mut columns {
                let own = column.next().map_err(problem)?;
                if *rows.get_or_insert(own) != own {
                    return Err(wrong(path, "its columns have different lengths"));
                }
            }
            let rows = rows.unwrap_or(0);
            if rows == 0 {
                break;
            }
            for row in 0..rows {
                number += 1;
                let text = |place: usize| {
                    let text = columns[place].text(row);
                    text.map_err(|reason| match reason {
                        Reason::LongValue => too_long(&names[place]),
                        _ => format!("the {} is missing or no text", names[place]),
                    })
                };
                let row = layout.row(text);
                let (kind, slice, outcome, count) =
                    row.map_err(|problem| wrong(path, format!("row {number}: {problem}")))?;
                counts.add(kind, slice, outcome, count)?;
            }
        }
    }
    counts.check()?;
    Ok(counts)
}

fn write_csv(counts: &Counts, file: impl Write) -> std::io::Result<()> {
    let mut writer = csv::Writer::from_writer(file);
    let (before, after) = COLUMNS.split_at(BEFORE_SLICES);
    let slices = counts.slices().iter().map(String::as_str);
    writer.write_record(
        before
            .iter()
            .copied()
            .chain(slices)
            .chain(after.iter().copied()),
    )?;
    for row in counts.rows() {
        let kind = row.kind;
        let before = [
            hex::encode(kind.pack_id()),
            (kind.mechanism() as u8).to_string(),
            (kind.rule() as u8).to_string(),
            kind.epsilon().to_string(),
            kind.order().to_string(),
        ];
        let after = [row.outcome.to_string(), row.count.to_string()];
        writer.write_record(before.iter().chain(row.slice).chain(&after))?;
    }
    writer.flush()
}

fn schema(counts: &Counts) -> Result<Type, ParquetError> {
    let column = |name: &str, physical, logical: Option<LogicalType>| {
        let column = Type::primitive_type_builder(name, physical)
            .with_repetition(Repetition::REQUIRED)
            .with_logical_type(logical);
        let column = match name {
            "epsilon" => column.with_precision(10).with_scale(6),
            _ => column,
        };
        column.build().map(Arc::new)
    };
    let text = || Some(LogicalType::String);
    let mut columns = vec![
        column("pack", Physical::BYTE_ARRAY, text())?,
        column("mechanism", Physical::INT32, None)?,
        column("rule", Physical::INT32, None)?,
        // Micro-units: exact decimals in every program.
        column(
            "epsilon",
            Physical::INT64,
            Some(LogicalType::decimal(6, 10)),
        )?,
        column("order", Physical::INT32, None)?,
    ];
    for name in counts.slices() {
        columns.push(column(name, Physical::BYTE_ARRAY, text())?);
    }
    columns.push(column("outcome", Physical::INT64, None)?);
    columns.push(column("count", Physical::INT64, None)?);
    Type::group_type_builder("counts")
        .with_fields(columns)
        .build()
}

/// Writes the next column of a row group.
fn write_column<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, &mut AtomicFile>,
    values: impl Iterator<Item = T::T>,
) -> Result<(), ParquetError> {
    let values: Vec<T::T> = values.collect();
    let mut column = group.next_column()?.expect("the schema has it");
    column.typed::<T>().write_batch(&values, None, None)?;
    column.close()
}

fn write_parquet(counts: &Counts, file: &mut AtomicFile) -> Result<(), ParquetError> {
    let settings = WriterProperties::builder().set_compression(Compression::SNAPPY);
    let settings = Arc::new(settings.build());
    let mut writer = SerializedFileWriter::new(file, Arc::new(schema(counts)?), settings)?;
    let rows: Vec<Row<'_>> = counts.rows().collect();
    for rows in rows.chunks(GROUP) {
        let mut own = writer.next_row_group()?;
        let group = &mut own;
        let kinds = || rows.iter().map(|row| row.kind);
        let packs = kinds().map(|kind| hex::encode(kind.pack_id()).into_bytes().into());
        write_column::<ByteArrayType>(group, packs)?;
        write_column::<Int32Type>(group, kinds().map(|kind| kind.mechanism() as i32))?;
        write_column::<Int32Type>(group, kinds().map(|kind| kind.rule() as i32))?;
        write_column::<Int64Type>(group, kinds().map(|kind| kind.epsilon().micro().into()))?;
        write_column::<Int32Type>(group, kinds().map(|kind| kind.order().into()))?;
        for place in 0..counts.slices().len() {
            let texts = rows.iter().map(|row| row.slice[place].as_str().into());
            write_column::<ByteArrayType>(group, texts)?;
        }
        write_column::<Int64Type>(group, rows.iter().map(|row| row.outcome.into()))?;
        // At most `MOST`.
        let numbers = rows.iter().map(|row| row.count.cast_signed());
        write_column::<Int64Type>(group, numbers)?;
        own.close()?;
    }
    writer.close()?;
    Ok(())
}
