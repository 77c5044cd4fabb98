//! Makes releases to measure counting with: `releases N FILE`, where FILE ends in .raw, .jsonl or
//! .parquet.
//!
//! NOT PRIVATE: the releases come from no text, and the generator has a fixed seed. They are of two
//! packs, two values of ε and 150 candidates. Lines and rows also have a day and a country.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

use parquet::basic::Compression;
use parquet::data_type::{
    ByteArray, ByteArrayType, DataType, FixedLenByteArray, FixedLenByteArrayType, Int32Type,
};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;

/// Rows of a row group, as DuckDB writes them.
const GROUP: u64 = 122_880;

const SCHEMA: &str = "message releases {
    required fixed_len_byte_array(24) release;
    required int32 day (DATE);
    required binary country (STRING);
}";

const COUNTRIES: [&str; 5] = ["AR", "DE", "KE", "NP", "US"];

/// SplitMix64.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((u128::from(z ^ (z >> 31)) * u128::from(bound)) >> 64) as u64
    }

    fn release(&mut self) -> [u8; 24] {
        let mut release = *b"UTR\x01\x07\x02\0\0\0\0\0\0\0\0\0\0newpack\0";
        let epsilon = [1_000_000u32, 3_000_000][self.below(2) as usize];
        release[8..12].copy_from_slice(&epsilon.to_le_bytes());
        // The smaller of two numbers, so that shares differ.
        let candidate = self.below(151).min(self.below(151)) as u32;
        release[12..16].copy_from_slice(&candidate.to_le_bytes());
        if self.below(10) == 0 {
            release[16..19].copy_from_slice(b"old");
        }
        release
    }

    fn day(&mut self) -> i32 {
        20_770 + self.below(10) as i32
    }

    fn country(&mut self) -> &'static str {
        COUNTRIES[self.below(COUNTRIES.len() as u64) as usize]
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(count), Some(path)) = (arguments.next(), arguments.next()) else {
        return Err("releases N FILE: two arguments".into());
    };
    let count: u64 = count.parse()?;
    let mut numbers = Numbers(1);
    let mut file = BufWriter::with_capacity(1 << 20, File::create(&path)?);
    match Path::new(&path)
        .extension()
        .and_then(|ending| ending.to_str())
    {
        Some("raw") => {
            for _ in 0..count {
                file.write_all(&numbers.release())?;
            }
        }
        Some("jsonl") => {
            for _ in 0..count {
                let release = hex::encode(numbers.release());
                let (day, country) = (numbers.day(), numbers.country());
                writeln!(
                    file,
                    "{{\"release\":\"{release}\",\"day\":{day},\"from\":{{\"country\":\"{country}\"}}}}"
                )?;
            }
        }
        Some("parquet") => parquet(&mut file, &mut numbers, count)?,
        _ => return Err("FILE ends in .raw, .jsonl or .parquet".into()),
    }
    file.flush()?;
    Ok(())
}

/// Writes the next column.
fn column<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, impl Write + Send>,
    values: &[T::T],
) -> Result<(), Box<dyn std::error::Error>> {
    let mut column = group.next_column()?.ok_or("the schema has three columns")?;
    column.typed::<T>().write_batch(values, None, None)?;
    Ok(column.close()?)
}

fn parquet(
    file: &mut (impl Write + Send),
    numbers: &mut Numbers,
    count: u64,
) -> Result<(), Box<dyn std::error::Error>> {
    let settings = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .build();
    let schema = Arc::new(parse_message_type(SCHEMA)?);
    let mut writer = SerializedFileWriter::new(file, schema, Arc::new(settings))?;
    let mut left = count;
    while left > 0 {
        let rows = left.min(GROUP);
        left -= rows;
        let mut releases = Vec::new();
        let mut days = Vec::new();
        let mut countries = Vec::new();
        for _ in 0..rows {
            let release = numbers.release().to_vec();
            releases.push(FixedLenByteArray::from(ByteArray::from(release)));
            days.push(numbers.day());
            countries.push(ByteArray::from(numbers.country()));
        }
        let mut group = writer.next_row_group()?;
        column::<FixedLenByteArrayType>(&mut group, &releases)?;
        column::<Int32Type>(&mut group, &days)?;
        column::<ByteArrayType>(&mut group, &countries)?;
        group.close()?;
    }
    writer.close()?;
    Ok(())
}
