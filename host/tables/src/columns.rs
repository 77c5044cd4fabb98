//! Columns of Parquet files.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use parquet::basic::{Compression, ConvertedType, LogicalType, TimeUnit, Type};
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::column::reader::ColumnReaderImpl;
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, DoubleType, FixedLenByteArrayType, FloatType,
    Int32Type, Int64Type, Int96Type,
};
use parquet::errors::ParquetError;
use parquet::file::FOOTER_SIZE;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::reader::{
    ChunkReader, FileReader, Length, RowGroupReader, SerializedFileReader,
};
use parquet::schema::types::{ColumnDescriptor, SchemaDescriptor};
use undertone::error::{Error, Result};
use undertone::files::foreign;

pub use undertone::files::fields::unusable;

/// Opens a Parquet file.
///
/// # Errors
/// [`ErrorKind::Io`](undertone::error::ErrorKind::Io);
/// [`ErrorKind::Input`](undertone::error::ErrorKind::Input) if it is not a Parquet file.
pub fn open(path: &Path) -> Result<SerializedFileReader<Pages>> {
    let file = foreign::open(path)?;
    let about = file.metadata().map_err(Error::io("read", path))?;
    if !about.is_file() && !about.is_dir() {
        let problem = "Parquet is read from its end, which a pipe lacks; save it and name the file";
        return Err(unusable(path, problem));
    }
    // `None` in a file that is shorter.
    let mark = |mut file: &File, place| {
        use io::ErrorKind::{InvalidInput, UnexpectedEof};
        let mut mark = [0; 4];
        match file.seek(place).and_then(|_| file.read_exact(&mut mark)) {
            Ok(()) => Ok(Some(mark)),
            Err(error) if [UnexpectedEof, InvalidInput].contains(&error.kind()) => Ok(None),
            Err(error) => Err(Error::io("read", path)(error)),
        }
    };
    let start = mark(&file, SeekFrom::Start(0))?;
    let end = mark(&file, SeekFrom::End(-4))?;
    if end == Some(ENCRYPTED_FOOTER) {
        let problem = format!("its footer is encrypted; {DECRYPT}");
        return Err(unusable(path, &problem));
    }
    let problem = match (start, end) {
        (Some(MARK), Some(MARK)) => {
            let copy = file.try_clone().map_err(Error::io("read", path))?;
            let reader = SerializedFileReader::new(Pages(copy)).map_err(|fault| match fault {
                ParquetError::External(ref cause) if cause.is::<io::Error>() => {
                    problem(path)(fault)
                }
                ParquetError::NYI(_) => problem(path)(fault),
                _ => unusable(path, "its footer is damaged; fetch the file again"),
            })?;
            // Offsets in a file count from its own start, which then has two marks before it.
            let footer = mark(&file, SeekFrom::End(-8))?.map_or(0, u32::from_le_bytes);
            let content = i64::try_from(about.len()).unwrap_or(i64::MAX) - 8 - i64::from(footer);
            let start = content.saturating_sub(end_of_content(&reader));
            if let Ok(start) = u64::try_from(start.saturating_sub(4))
                && mark(&file, SeekFrom::Start(start))? == Some(MARK)
                && mark(&file, SeekFrom::Start(start + 4))? == Some(MARK)
            {
                let problem = "it is several Parquet files one after the other; name each alone";
                return Err(unusable(path, problem));
            }
            return Ok(reader);
        }
        (Some(MARK), _) => "it does not end as Parquet does; is the file cut off?",
        _ => "it does not begin as Parquet does; give it the ending of its kind",
    };
    Err(unusable(path, problem))
}

/// Offset of the footer by the sizes of all columns and of their indexes.
fn end_of_content(reader: &SerializedFileReader<Pages>) -> i64 {
    let groups = reader.metadata().row_groups().iter();
    let ends = groups.flat_map(|group| group.columns()).flat_map(|column| {
        let pages = column.dictionary_page_offset().unwrap_or(i64::MAX);
        let index =
            |offset: Option<i64>, length: Option<i32>| Some(offset?.saturating_add(length?.into()));
        let pages = pages.min(column.data_page_offset());
        [
            Some(pages.saturating_add(column.compressed_size())),
            index(column.column_index_offset(), column.column_index_length()),
            index(column.offset_index_offset(), column.offset_index_length()),
            index(column.bloom_filter_offset(), column.bloom_filter_length()),
        ]
    });
    ends.flatten().max().unwrap_or(0)
}

/// The first and last bytes of a file.
const MARK: [u8; 4] = *b"PAR1";

/// The last bytes of a file whose footer is encrypted.
const ENCRYPTED_FOOTER: [u8; 4] = *b"PARE";

const DECRYPT: &str = "encrypted Parquet is not read, so write the file without encryption";

/// A Parquet file whose page headers are checked before the library decompresses the pages.
pub struct Pages(File);

impl Length for Pages {
    fn len(&self) -> u64 {
        self.0.len()
    }
}

impl ChunkReader for Pages {
    type T = BufReader<File>;

    /// The library calls this for the end of the file and for the header of each page.
    fn get_read(&self, start: u64) -> Result<Self::T, ParquetError> {
        let mut reader = self.0.get_read(start)?;
        if start + FOOTER_SIZE as u64 == self.0.len() {
            return Ok(reader);
        }
        check_page(reader.fill_buf()?)
            .map_err(|problem| ParquetError::External(Box::new(io::Error::other(problem))))?;
        Ok(reader)
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        self.0.get_bytes(start, length)
    }
}

/// Pages up to this size are always decompressed; most programs write pages of 1 MiB. The entries
/// of a dictionary page can take eight times its size.
const PAGE_LIMIT: i64 = 32 << 20;

/// Largest compression ratio of larger pages.
const PAGE_RATIO: i64 = 100;

/// Refuses encrypted pages, and pages that would take disproportionate memory: 29 kB of Zstandard
/// can expand to 939 MB. The library finds all other faults of a page.
fn check_page(mut header: &[u8]) -> Result<(), String> {
    // An encrypted header starts with its length, 4 little-endian bytes; a plain one with the field
    // of its type.
    if matches!(header, [first, _, 0, 0, ..] if *first != I32_FIELD) {
        return Err(format!("its pages are encrypted; {DECRYPT}"));
    }
    let mut next = |number: i64| {
        match *header.split_off_first()? {
            I32_FIELD => {}
            LONG_I32_FIELD if zigzag(&mut header)? == number => {}
            _ => return None,
        }
        zigzag(&mut header)
    };
    let (Some(_), Some(size), Some(packed)) = (next(1), next(2), next(3)) else {
        return Ok(());
    };
    if size > PAGE_LIMIT.max(packed.saturating_mul(PAGE_RATIO)) {
        return Err(format!(
            "one of its pages has {packed} bytes and would unpack to {size}, above {PAGE_LIMIT} and \
             {PAGE_RATIO} times its size; write the file with smaller pages"
        ));
    }
    Ok(())
}

/// Thrift's compact protocol: a field of type i32 whose number follows that of the previous field.
const I32_FIELD: u8 = 0x15;

/// A field of type i32 whose number follows.
const LONG_I32_FIELD: u8 = 0x05;

/// Takes an i32 of Thrift's compact protocol off the front.
fn zigzag(bytes: &mut &[u8]) -> Option<i64> {
    let length = bytes.iter().take(5).position(|byte| byte & 0x80 == 0)? + 1;
    let digits = bytes.split_off(..length)?.iter().rev();
    let number = digits.fold(0, |number: i64, byte| number << 7 | i64::from(byte & 0x7f));
    Some(number >> 1 ^ -(number & 1))
}

/// For `map_err`: converts an error of the Parquet library.
pub fn problem(path: &Path) -> impl FnOnce(ParquetError) -> Error {
    move |problem| match io_cause(problem) {
        Ok(cause) => Error::io("read", path)(cause),
        Err(other) => unusable(path, damage(&other).unwrap_or(&other.to_string())),
    }
}

/// The error of the system that caused an error of the Parquet library.
pub(crate) fn io_cause(problem: ParquetError) -> Result<io::Error, ParquetError> {
    match problem {
        ParquetError::External(cause) => match cause.downcast() {
            Ok(cause) => Ok(*cause),
            Err(other) => Err(ParquetError::External(other)),
        },
        other => Err(other),
    }
}

/// Cause of an error of the library, if it is recognised.
pub(crate) fn damage(problem: &ParquetError) -> Option<&'static str> {
    let is_checksum = matches!(problem, ParquetError::General(text) if text.contains("CRC"));
    is_checksum.then_some(
        "a page differs from its checksum, so it was damaged after it was written; fetch the file again, or write it \
         anew",
    )
}

/// Message for a file on which the Parquet library panics.
pub(crate) const DAMAGED: &str = "it is damaged, and the reader of Parquet gave up; write it anew";

/// Runs `work`, which calls the Parquet library. The library panics on some damaged files.
///
/// # Errors
/// Errors of `work`; [`ErrorKind::Input`](undertone::error::ErrorKind::Input) if it panics.
pub fn guarded<T>(path: &Path, work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err(unusable(path, DAMAGED)))
}

/// Index of a column. Dots separate the names in the path of a nested field.
pub fn place(schema: &SchemaDescriptor, name: &str) -> Option<usize> {
    let mut columns = schema.columns().iter();
    columns.position(|column| column.path().string() == name)
}

/// Type of the values of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Strings.
    Text,
    /// Bytes, which may be UTF-8.
    Bytes,
    /// Identifiers of 16 bytes.
    Uuid,
    /// Integers.
    Whole,
    /// Unsigned integers.
    Unsigned,
    /// Days since 1970.
    Day,
    /// Times of day since midnight, in units of 1/n s.
    Time(i64),
    /// Integers with n digits after the point.
    Decimal(u32),
    /// Instants since 1970, in units of 1/n s.
    Instant(i64),
    /// Numbers with fractions.
    Real,
    /// Truth values.
    Truth,
}

impl Form {
    /// Returns the form of a column, or `None` for an unsupported type.
    pub fn of(about: &ColumnDescriptor) -> Option<Self> {
        // Older programs write no logical type.
        use ConvertedType as Old;
        let old = about.converted_type();
        let scale = |scale: i32| Form::Decimal(u32::try_from(scale).unwrap_or(0));
        let parts = |unit: &TimeUnit| match unit {
            TimeUnit::MILLIS => 1_000,
            TimeUnit::MICROS => 1_000_000,
            TimeUnit::NANOS => 1_000_000_000,
        };
        let is_short = (1..=WIDEST).contains(&about.type_length());
        Some(match (about.physical_type(), about.logical_type_ref()) {
            (Type::BOOLEAN, None) => Self::Truth,
            (Type::FLOAT | Type::DOUBLE, None) => Self::Real,
            (Type::INT96, None) => Self::Instant(1_000_000),
            (
                Type::BYTE_ARRAY,
                Some(LogicalType::String | LogicalType::Enum | LogicalType::Json),
            ) => Self::Text,
            (Type::FIXED_LEN_BYTE_ARRAY, Some(LogicalType::Decimal(about))) if is_short => {
                scale(about.scale)
            }
            (physical @ (Type::BYTE_ARRAY | Type::FIXED_LEN_BYTE_ARRAY), None) => match old {
                Old::DECIMAL if is_short && physical == Type::FIXED_LEN_BYTE_ARRAY => {
                    scale(about.type_scale())
                }
                Old::NONE => Self::Bytes,
                Old::UTF8 | Old::ENUM | Old::JSON => Self::Text,
                _ => return None,
            },
            (Type::FIXED_LEN_BYTE_ARRAY, Some(LogicalType::Uuid)) => Self::Uuid,
            (Type::INT32, Some(LogicalType::Date)) => Self::Day,
            (Type::INT32 | Type::INT64, Some(LogicalType::Decimal(about))) => scale(about.scale),
            (Type::INT64, Some(LogicalType::Timestamp(about))) => Self::Instant(parts(&about.unit)),
            (Type::INT32 | Type::INT64, Some(LogicalType::Time(about))) => {
                Self::Time(parts(&about.unit))
            }
            (Type::INT32 | Type::INT64, Some(LogicalType::Integer(about))) if !about.is_signed => {
                Self::Unsigned
            }
            (Type::INT32 | Type::INT64, Some(LogicalType::Integer(_))) => Self::Whole,
            // A column of nulls.
            (Type::INT32 | Type::INT64, Some(LogicalType::Unknown)) => Self::Whole,
            (Type::INT32 | Type::INT64, None) => match old {
                Old::DATE => Self::Day,
                Old::DECIMAL => scale(about.type_scale()),
                Old::TIME_MILLIS => Self::Time(1_000),
                Old::TIME_MICROS => Self::Time(1_000_000),
                Old::TIMESTAMP_MILLIS => Self::Instant(1_000),
                Old::TIMESTAMP_MICROS => Self::Instant(1_000_000),
                Old::UINT_8 | Old::UINT_16 | Old::UINT_32 | Old::UINT_64 => Self::Unsigned,
                Old::NONE | Old::INT_8 | Old::INT_16 | Old::INT_32 | Old::INT_64 => Self::Whole,
                _ => return None,
            },
            _ => return None,
        })
    }
}

/// Most bytes of a decimal.
const WIDEST: i32 = 16;

/// Describes the type of a column, for messages.
pub fn said(about: &ColumnDescriptor) -> String {
    let decimals;
    let kind = match Form::of(about) {
        Some(Form::Text) => "strings",
        Some(Form::Bytes) => "bytes",
        Some(Form::Uuid) => "identifiers (UUID)",
        Some(Form::Whole | Form::Unsigned) => "whole numbers",
        Some(Form::Day) => "dates",
        Some(Form::Time(_)) => "times of day",
        Some(Form::Decimal(_)) => "decimals",
        Some(Form::Instant(_)) => "time stamps",
        Some(Form::Real) => "numbers with a fraction",
        Some(Form::Truth) => "truth values",
        None => match (about.logical_type_ref(), about.converted_type()) {
            (Some(LogicalType::Decimal(_)), _) | (None, ConvertedType::DECIMAL) => {
                decimals = format!(
                    "decimals of {} digits, {} of them after the point, in {} bytes each",
                    about.type_precision(),
                    about.type_scale(),
                    match about.physical_type() {
                        Type::FIXED_LEN_BYTE_ARRAY => about.type_length().to_string(),
                        _ => "any number of".to_owned(),
                    }
                );
                &decimals
            }
            (Some(LogicalType::Float16), _) => "numbers of half precision (float16)",
            (Some(LogicalType::Bson), _) | (None, ConvertedType::BSON) => "documents (BSON)",
            (Some(LogicalType::Geometry(_) | LogicalType::Geography(_)), _) => "places on a map",
            (None, ConvertedType::INTERVAL) => "intervals of time",
            _ => "values of a type that is not known here",
        },
    };
    format!("its column `{}` holds {kind}", about.path().string())
}

/// Message for a column chunk with an unsupported compression.
pub(crate) fn packed(about: &ColumnChunkMetaData) -> Option<String> {
    let codec = match about.compression() {
        Compression::UNCOMPRESSED
        | Compression::SNAPPY
        | Compression::GZIP(_)
        | Compression::ZSTD(_) => return None,
        Compression::LZ4 | Compression::LZ4_RAW => "LZ4",
        Compression::BROTLI(_) => "Brotli",
        Compression::LZO => "LZO",
    };
    let column = about.column_path().string();
    Some(format!(
        "its column `{column}` is compressed with {codec}, which is not read; write the file with Snappy, Zstandard or gzip, or \
         uncompressed"
    ))
}

/// The most items of lists in one batch of rows. A page of a few bytes can claim two billion nulls,
/// which would take 4 bytes each.
const ITEM_LIMIT: u64 = 1 << 24;

/// The pages of a column of lists. A batch of rows ends early, with an error, if it has too many
/// items.
struct Items {
    pages: Box<dyn PageReader>,
    /// Items of the pages since the start of the batch.
    count: Arc<AtomicU64>,
}

/// Adds the items of a page to those of its batch.
fn count_items(count: &AtomicU64, items: u32) -> Result<(), ParquetError> {
    let items = u64::from(items);
    if items + count.fetch_add(items, Ordering::Relaxed) > ITEM_LIMIT {
        let problem = format!(
            "some of its rows have lists of more than {ITEM_LIMIT} items; write the file with shorter lists"
        );
        return Err(ParquetError::External(Box::new(io::Error::other(problem))));
    }
    Ok(())
}

impl Iterator for Items {
    type Item = Result<Page, ParquetError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl PageReader for Items {
    fn get_next_page(&mut self) -> Result<Option<Page>, ParquetError> {
        let page = self.pages.get_next_page()?;
        let data = page.as_ref().filter(|page| page.is_data_page());
        count_items(&self.count, data.map_or(0, Page::num_values))?;
        Ok(page)
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>, ParquetError> {
        self.pages.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<(), ParquetError> {
        self.pages.skip_next_page()
    }

    fn at_record_boundary(&mut self) -> Result<bool, ParquetError> {
        self.pages.at_record_boundary()
    }
}

/// Values of a column in batches, without nulls.
pub struct Values {
    read: Box<ReadBatch>,
    batch: Batch,
    form: Form,
    physical: Type,
    /// Bits of a value that count: those above its width repeat the sign.
    mask: i128,
    /// Items of lists, counted by [`Items`].
    items: Arc<AtomicU64>,
}

/// Reads the values of at most this number of rows, and appends their definition and repetition
/// levels. Returns the number of rows with the values.
type ReadBatch =
    dyn FnMut(usize, &mut Vec<i16>, &mut Vec<i16>) -> Result<(usize, Batch), ParquetError> + Send;

/// The values of a batch of rows. Truth values are 0 and 1.
enum Batch {
    Bytes(Vec<ByteArray>),
    Numbers(Vec<i128>),
    Reals(Vec<f64>),
}

/// Opens a column of this type, given with its pages, whose values are converted by `value`.
fn reader<T: DataType, V: 'static>(
    (column, pages): (Arc<ColumnDescriptor>, Box<dyn PageReader>),
    value: impl Fn(T::T) -> Option<V> + Send + 'static,
    batch: fn(Vec<V>) -> Batch,
) -> Box<ReadBatch> {
    let mut reader = ColumnReaderImpl::<T>::new(column, pages);
    Box::new(move |rows, levels, repeats| {
        let mut values = Vec::with_capacity(rows);
        let (rows, ..) = reader.read_records(rows, Some(levels), Some(repeats), &mut values)?;
        let values: Option<Vec<V>> = values.into_iter().map(&value).collect();
        let long = || ParquetError::General("a decimal is too long".to_owned());
        Ok((rows, batch(values.ok_or_else(long)?)))
    })
}

impl Values {
    /// Opens the column at `place` of a row group.
    ///
    /// # Errors
    /// A message, if the column cannot be read.
    pub fn open(group: &dyn RowGroupReader, place: usize) -> Result<Self, String> {
        let descriptor = group.metadata().schema_descr().column(place);
        let form = Form::of(&descriptor).ok_or_else(|| said(&descriptor))?;
        if let Some(problem) = packed(group.metadata().column(place)) {
            return Err(problem);
        }
        let pages = group.get_column_page_reader(place);
        let mut pages = pages.map_err(|problem| problem.to_string())?;
        let items = Arc::new(AtomicU64::new(0));
        if descriptor.max_rep_level() > 0 {
            let count = Arc::clone(&items);
            pages = Box::new(Items { pages, count });
        }
        let physical = descriptor.physical_type();
        let source = (descriptor, pages);
        let is_decimal = matches!(form, Form::Decimal(_));
        let read = match physical {
            Type::BYTE_ARRAY => reader::<ByteArrayType, _>(source, Some, Batch::Bytes),
            Type::FIXED_LEN_BYTE_ARRAY if is_decimal => {
                reader::<FixedLenByteArrayType, _>(source, |own| wide(own.data()), Batch::Numbers)
            }
            Type::FIXED_LEN_BYTE_ARRAY => {
                reader::<FixedLenByteArrayType, _>(source, |own| Some(own.into()), Batch::Bytes)
            }
            Type::INT32 => reader::<Int32Type, _>(source, |own| Some(own.into()), Batch::Numbers),
            Type::INT64 => reader::<Int64Type, _>(source, |own| Some(own.into()), Batch::Numbers),
            Type::INT96 => {
                reader::<Int96Type, _>(source, |own| Some(own.to_micros().into()), Batch::Numbers)
            }
            Type::BOOLEAN => reader::<BoolType, _>(source, |own| Some(own.into()), Batch::Numbers),
            // The shortest digits that identify the value at its width.
            Type::FLOAT => {
                reader::<FloatType, _>(source, |own| own.to_string().parse().ok(), Batch::Reals)
            }
            Type::DOUBLE => reader::<DoubleType, _>(source, Some, Batch::Reals),
        };
        let mask = match (form, physical) {
            (Form::Unsigned, Type::INT32) => u32::MAX.into(),
            (Form::Unsigned, _) => u64::MAX.into(),
            _ => -1,
        };
        let batch = Batch::Bytes(Vec::new());
        Ok(Self {
            read,
            batch,
            form,
            physical,
            mask,
            items,
        })
    }

    /// Type of the values.
    pub fn form(&self) -> Form {
        self.form
    }

    /// Reads the values of at most `rows` rows and returns the number of rows. Appends definition
    /// and repetition levels if the column has them.
    ///
    /// # Errors
    /// Errors of the Parquet library.
    pub fn read(
        &mut self,
        rows: usize,
        levels: &mut Vec<i16>,
        repeats: &mut Vec<i16>,
    ) -> Result<usize, ParquetError> {
        self.items.store(0, Ordering::Relaxed);
        let (rows, batch) = (self.read)(rows, levels, repeats)?;
        self.batch = batch;
        Ok(rows)
    }

    /// Replaces the values by the plainly encoded entries of a dictionary; `length` is the size of
    /// fixed-length values. Returns `None` if entries are cut off, or if this form has no
    /// dictionaries.
    pub fn take_entries(&mut self, entries: &ByteArray, count: usize, length: i32) -> Option<()> {
        let mut rest = entries.clone();
        let mut take = |length: u32| {
            let length = usize::try_from(length).ok()?;
            let left = rest.len().checked_sub(length)?;
            let taken = rest.slice(0, length);
            rest = rest.slice(length, left);
            Some(taken)
        };
        let mut next = || {
            let length = match self.physical {
                Type::BYTE_ARRAY => u32::from_le_bytes(take(4)?.data().try_into().ok()?),
                Type::FIXED_LEN_BYTE_ARRAY => length.try_into().ok()?,
                Type::INT32 => 4,
                Type::INT64 => 8,
                _ => return None,
            };
            take(length)
        };
        let entries = (0..count).map(|_| next()).collect::<Option<Vec<_>>>()?;
        let big = |own: &ByteArray| wide(own.data());
        let little = |own: &ByteArray| wide(&own.data().iter().rev().copied().collect::<Vec<u8>>());
        self.batch = match (self.physical, self.form) {
            (Type::INT32 | Type::INT64, _) => {
                Batch::Numbers(entries.iter().map(little).collect::<Option<_>>()?)
            }
            (_, Form::Decimal(_)) => {
                Batch::Numbers(entries.iter().map(big).collect::<Option<_>>()?)
            }
            _ => Batch::Bytes(entries),
        };
        Some(())
    }

    /// The bytes of a string or binary value.
    #[inline(always)]
    pub fn bytes(&self, place: usize) -> Option<&[u8]> {
        match &self.batch {
            Batch::Bytes(values) => values.get(place).map(ByteArray::data),
            _ => None,
        }
    }

    /// A value that the file stores as an integer; a truth value is 0 or 1.
    pub fn number(&self, place: usize) -> Option<i128> {
        match &self.batch {
            Batch::Numbers(values) => values.get(place).map(|number| number & self.mask),
            _ => None,
        }
    }

    /// A value that has a fraction.
    pub(crate) fn real(&self, place: usize) -> Option<f64> {
        match &self.batch {
            Batch::Reals(values) => values.get(place).copied(),
            _ => None,
        }
    }

    /// Formats such a number for people.
    pub fn written(&self, number: i128) -> String {
        match self.form {
            Form::Truth => (number != 0).to_string(),
            Form::Day => day(number),
            Form::Decimal(scale) => decimal(number, scale),
            Form::Time(unit) => time(number, unit),
            Form::Instant(unit) => instant(number, unit),
            _ => number.to_string(),
        }
    }
}

/// Reads a big-endian integer of at most 16 bytes.
fn wide(bytes: &[u8]) -> Option<i128> {
    let sign = bytes.first().map_or(0, |first| match first >> 7 {
        0 => 0,
        _ => u8::MAX,
    });
    let mut all = [sign; 16];
    let start = all.len().checked_sub(bytes.len())?;
    all[start..].copy_from_slice(bytes);
    Some(i128::from_be_bytes(all))
}

/// Formats a day since 1970 as `2026-11-22`. After "chrono-compatible low-level date algorithms",
/// Howard Hinnant.
fn day(days: i128) -> String {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + era * 400 + i128::from(month <= 2);
    let sign = if year < 0 { "-" } else { "" };
    format!("{sign}{:04}-{month:02}-{day:02}", year.unsigned_abs())
}

/// Formats an instant since 1970, in units of 1/`unit` s, as `2026-11-22T12:00:00.000000Z`.
fn instant(number: i128, unit: i64) -> String {
    let of_day = i128::from(unit) * 86_400;
    let (days, rest) = (number.div_euclid(of_day), number.rem_euclid(of_day));
    format!("{}T{}Z", day(days), time(rest, unit))
}

/// Formats a time of day, in units of 1/`unit` s, as `12:00:00.000`.
fn time(number: i128, unit: i64) -> String {
    let (seconds, parts) = (
        number.div_euclid(unit.into()),
        number.rem_euclid(unit.into()),
    );
    let [hours, minutes, seconds] = [seconds / 3600, seconds / 60 % 60, seconds % 60];
    let digits = unit.ilog10() as usize;
    format!("{hours:02}:{minutes:02}:{seconds:02}.{parts:0digits$}")
}

/// Formats an integer with a point before its last `scale` digits.
fn decimal(number: i128, scale: u32) -> String {
    if scale == 0 {
        return number.to_string();
    }
    let width = scale as usize + 1;
    let digits = format!("{:0width$}", number.unsigned_abs());
    let (whole, fraction) = digits.split_at(digits.len() - scale as usize);
    let sign = if number < 0 { "-" } else { "" };
    format!("{sign}{whole}.{fraction}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_people_do() {
        assert_eq!(day(0), "1970-01-01");
        assert_eq!(day(20_779), "2026-11-22");
        assert_eq!(day(-1), "1969-12-31");
        assert_eq!(day(11_016), "2000-02-29");
        assert_eq!(day(-735_160), "-0043-03-15");
        assert_eq!(decimal(500_000, 6), "0.500000");
        assert_eq!(decimal(-12, 1), "-1.2");
        assert_eq!(decimal(7, 0), "7");
        assert_eq!(time(43_261_007, 1000), "12:01:01.007");
        assert_eq!(wide(&[0xff, 0xfe]), Some(-2));
        assert_eq!(wide(&[0, 0xfe]), Some(254));
        assert_eq!(wide(&i128::MIN.to_be_bytes()), Some(i128::MIN));
        assert_eq!((wide(&[]), wide(&[0; 17])), (Some(0), None));
        assert_eq!(instant(0, 1000), "1970-01-01T00:00:00.000Z");
        assert_eq!(instant(-1, 1_000_000), "1969-12-31T23:59:59.999999Z");
        let noon = (20_779 * 86_400 + 43_261) * 1000 + 7;
        assert_eq!(instant(noon, 1000), "2026-11-22T12:01:01.007Z");
    }

    /// Pages of a few bytes may claim nulls without end.
    #[test]
    fn lists_of_a_batch_have_a_limit() {
        let count = AtomicU64::new(0);
        assert!(count_items(&count, 10_000_000).is_ok());
        let error = count_items(&count, 10_000_000).unwrap_err().to_string();
        assert!(error.contains("more than 16777216 items"), "{error}");
        // The next batch has room again.
        count.store(0, Ordering::Relaxed);
        assert!(count_items(&count, 10_000_000).is_ok());
    }

    #[test]
    fn sizes_of_pages_are_read_in_both_forms_of_a_field() {
        // 900 MB from 28 kB: fields in sequence, and fields with their numbers.
        let (size, packed) = ([0x80, 0xa4, 0xa7, 0xda, 0x06], [0xc0, 0xb5, 0x03]);
        let short = [&[0x15, 0][..], &[0x15], &size, &[0x15], &packed].concat();
        let long = [&[5, 2, 0][..], &[5, 4], &size, &[5, 6], &packed].concat();
        for header in [short, long] {
            let problem = check_page(&header).unwrap_err();
            let part = "28000 bytes and would unpack to 900000000";
            assert!(problem.contains(part), "{problem}");
        }
    }
}
