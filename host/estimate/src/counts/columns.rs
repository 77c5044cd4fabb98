//! Releases in Parquet.

use std::collections::HashMap;

use parquet::basic::Type;
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use undertone::error::Result;
use undertone::files::fields::no_such_field;
use undertone::release::lines::BadLine;
use undertone_core::release::Release;
use undertone_tables::columns::{Form, Pages, Values, open, place, problem, said, unusable};

use super::counter::{Input, Thread};
use super::dictionary::{Entries, Rows};
use super::tally::Refused;
use super::turns::{Part, in_turns};
use super::{LONGEST_VALUE, Reason};

const RELEASE: &str = "release";

/// Rows that are read at once.
pub(crate) const ROWS: usize = 8192;

/// The values of a column, a batch of rows at a time.
pub(crate) struct Column {
    values: Values,
    /// Definition level of a value that is present.
    level: i16,
    levels: Vec<i16>,
    /// For each row, the index of its value, if it has one.
    places: Vec<Option<usize>>,
}

impl Column {
    pub(crate) fn open(group: &dyn RowGroupReader, place: usize) -> Result<Self, String> {
        let about = group.metadata().schema_descr().column(place);
        let scalar = !matches!(
            Form::of(&about),
            None | Some(Form::Real | Form::Time(_) | Form::Instant(_) | Form::Uuid)
        );
        if about.max_rep_level() > 0 || !scalar {
            return Err(format!(
                "{}; wanted are strings, whole numbers, decimals, dates or truth values, and no lists",
                said(&about)
            ));
        }
        Ok(Self {
            values: Values::open(group, place)?,
            level: about.max_def_level(),
            levels: Vec::new(),
            places: Vec::new(),
        })
    }

    /// Reads the next rows and returns their number.
    pub(crate) fn next(&mut self) -> Result<usize, ParquetError> {
        let levels = &mut self.levels;
        levels.clear();
        // The column has no repetition levels.
        let rows = self.values.read(ROWS, levels, &mut Vec::new())?;
        self.places.clear();
        if self.level > 0 {
            let mut there = 0;
            self.places.extend(self.levels.iter().map(|level| {
                let is_there = *level == self.level;
                there += usize::from(is_there);
                is_there.then(|| there - 1)
            }));
        }
        Ok(rows)
    }

    /// Replaces the values by the entries of a dictionary. None if they are cut off.
    fn take_entries(&mut self, entries: &Entries, length: i32) -> Option<()> {
        self.values
            .take_entries(&entries.bytes, entries.count, length)?;
        // A row has an index, or no value.
        self.level = self.level.max(1);
        Some(())
    }

    /// Whether all entries in use satisfy `good`, which is called once for each.
    fn entries_are(&self, good: impl Fn(usize) -> bool) -> bool {
        let most = self.places.iter().flatten().max();
        let mut asked = vec![false; most.map_or(0, |most| most + 1)];
        let mut places = (0..).zip(self.places.iter().flatten());
        places.all(|(row, place)| std::mem::replace(&mut asked[*place], true) || good(row))
    }

    #[inline(always)]
    fn place(&self, row: usize) -> Option<usize> {
        match self.level {
            0 => Some(row),
            _ => self.places.get(row).copied().flatten(),
        }
    }

    /// The bytes of a row's value, if it is a string or binary.
    #[inline(always)]
    fn bytes(&self, row: usize) -> Option<&[u8]> {
        self.values.bytes(self.place(row)?)
    }

    fn number(&self, row: usize) -> Option<i128> {
        self.values.number(self.place(row)?)
    }

    /// Appends bytes that identify the value of a row within the column.
    fn key(&self, row: usize, key: &mut Vec<u8>) {
        if let Some(bytes) = self.bytes(row) {
            key.push(1);
            key.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
            key.extend_from_slice(bytes);
        } else if let Some(number) = self.number(row) {
            key.push(2);
            key.extend_from_slice(&number.to_le_bytes());
        } else {
            key.push(0);
        }
    }

    pub(crate) fn text(&self, row: usize) -> Result<String, Reason> {
        if let Some(bytes) = self.bytes(row) {
            if bytes.len() > LONGEST_VALUE {
                return Err(Reason::LongValue);
            }
            let text = str::from_utf8(bytes).map_err(|_| Reason::NotAValue)?;
            return Ok(text.to_owned());
        }
        let number = self.number(row).ok_or(Reason::NoValue)?;
        Ok(self.values.written(number))
    }
}

/// State of one thread.
struct State<'a> {
    thread: Thread<'a>,
    /// The indices of slices by the bytes of their values.
    slices: HashMap<Vec<u8>, usize>,
    /// Buffer for the bytes of a slice.
    key: Vec<u8>,
}

/// Counts the column `release` of a Parquet file, by other columns.
pub(crate) fn count<'a>(input: Input<'a>) -> Result<Vec<Thread<'a>>> {
    let Input {
        path,
        expected,
        by,
        aside,
        progress,
    } = input;
    let file = open(path)?;
    let schema = file.metadata().file_metadata().schema_descr();
    let wanted = |name: &str| {
        place(schema, name).ok_or_else(|| {
            let all = schema.columns().iter().map(|column| column.path().string());
            no_such_field(path, "column", name, &all.collect::<Vec<_>>())
        })
    };
    let release = wanted(RELEASE)?;
    let about = schema.column(release);
    if !matches!(
        about.physical_type(),
        Type::BYTE_ARRAY | Type::FIXED_LEN_BYTE_ARRAY
    ) {
        let problem = format!(
            "{}; wanted are 24 bytes, or strings of 48 hexadecimal digits",
            said(&about)
        );
        return Err(unusable(path, &problem));
    }
    let by_places = by.iter().map(|name| wanted(name));
    let by_places = by_places.collect::<Result<Vec<_>>>()?;
    let mut firsts = Vec::new();
    let mut rows = 0u64;
    for group in file.metadata().row_groups() {
        firsts.push(rows);
        rows = rows.saturating_add(u64::try_from(group.num_rows()).unwrap_or(0));
    }
    let start = || {
        let state = State {
            thread: Thread::new(expected),
            slices: HashMap::new(),
            key: Vec::new(),
        };
        Ok((state, open(path)?))
    };
    let mut groups = 0..firsts.len();
    let next = || Ok(groups.next());
    type Work<'a> = (State<'a>, SerializedFileReader<Pages>);
    let work = |(state, file): &mut Work<'a>, index: usize, aside: &mut Part| {
        let group = file.get_row_group(index).map_err(problem(path))?;
        let column =
            |place: usize| Column::open(&*group, place).map_err(|problem| unusable(path, &problem));
        let places = [&[release], &by_places[..]].concat();
        if let Some(mut batch) = Batch::of_entries(&*group, &places, by)
            && batch.count_entries(state)?
        {
            progress.advance(batch.rows);
            return Ok(());
        }
        let mut batch = Batch {
            rows: 0,
            times: Vec::new(),
            releases: column(release)?,
            values: by_places
                .iter()
                .map(|place| column(*place))
                .collect::<Result<_>>()?,
            names: by,
        };
        let mut first = firsts[index];
        loop {
            let rows = batch.next().map_err(problem(path))?;
            if rows == 0 {
                return Ok(());
            }
            for row in 0..rows {
                if let Err(refused) = batch.count(row, state) {
                    state.thread.reject(refused, first + row as u64 + 1)?;
                    aside.push(|| batch.line(row));
                }
            }
            first += rows as u64;
            progress.advance(rows as u64);
        }
    };
    let states = in_turns(next, aside, start, work)?;
    Ok(states.into_iter().map(|(state, _)| state.thread).collect())
}

/// Some rows of a row group, or the combinations of dictionary entries in it.
struct Batch<'n> {
    /// The number of rows, and of rows with each combination.
    rows: u64,
    times: Vec<u64>,
    releases: Column,
    values: Vec<Column>,
    names: &'n [String],
}

impl<'n> Batch<'n> {
    /// The combinations of dictionary entries of a whole row group, one row for each. None if a
    /// column has no dictionary.
    fn of_entries(
        group: &dyn RowGroupReader,
        places: &[usize],
        names: &'n [String],
    ) -> Option<Self> {
        let mut rows = Rows::new(group.metadata().num_rows())?;
        let mut columns = Vec::new();
        for place in places {
            let about = group.metadata().schema_descr().column(*place);
            let mut pages = group.get_column_page_reader(*place).ok()?;
            let entries = rows.add(&mut *pages, about.max_def_level())?;
            let mut column = Column::open(group, *place).ok()?;
            column.take_entries(&entries, about.type_length())?;
            columns.push(column);
        }
        let mut times = Vec::new();
        rows.combinations(|entries, count| {
            times.push(count);
            for (column, entry) in columns.iter_mut().zip(entries) {
                column.places.push(Some(*entry));
            }
        });
        let mut columns = columns.into_iter();
        Some(Self {
            rows: times.iter().sum(),
            times,
            releases: columns.next()?,
            values: columns.collect(),
            names,
        })
    }

    /// Counts combinations. Returns false and counts nothing if one is rejected, because rejects
    /// require a look at each row.
    fn count_entries(&mut self, state: &mut State<'_>) -> Result<bool> {
        // Check each entry once, however many combinations it has.
        let tally = &state.thread.tally;
        let good = self.releases.entries_are(|row| {
            let record = self.record(row);
            record.is_ok_and(|record| tally.check(&record).is_ok())
        });
        let mut values = self.values.iter();
        let good = good && values.all(|column| column.entries_are(|row| column.text(row).is_ok()));
        if !good {
            return Ok(false);
        }
        // Neighbouring combinations mostly have the same slice.
        let mut last = None;
        for (row, times) in self.times.iter().enumerate() {
            let same = |before: usize| {
                let mut values = self.values.iter();
                values.all(|column| column.place(before) == column.place(row))
            };
            let counted = self.record(row).map_err(Refused::from).and_then(|record| {
                let slice = match last {
                    Some((before, slice)) if same(before) => slice,
                    _ => self.slice(row, &record, state)?,
                };
                last = Some((row, slice));
                state.thread.tally.count(slice, &record, *times)
            });
            // Nothing is rejected any more, but a limit may be exceeded.
            if let Err(refused) = counted {
                state.thread.reject(refused, 0)?;
            }
        }
        Ok(true)
    }

    fn next(&mut self) -> Result<usize, ParquetError> {
        let rows = self.releases.next()?;
        for column in &mut self.values {
            if column.next()? != rows {
                let problem = "the columns of a row group have different lengths";
                return Err(ParquetError::General(problem.to_owned()));
            }
        }
        Ok(rows)
    }

    /// Counts a row.
    #[inline(always)]
    fn count(&self, row: usize, state: &mut State<'_>) -> Result<(), Refused> {
        let record = self.record(row)?;
        let slice = self.slice(row, &record, state)?;
        state.thread.tally.count(slice, &record, 1)
    }

    #[inline(always)]
    fn record(&self, row: usize) -> Result<[u8; Release::BYTES], Reason> {
        let bytes = self.releases.bytes(row).ok_or(Reason::NoRelease)?;
        if let Ok(record) = bytes.try_into() {
            return Ok(record);
        }
        let mut record = [0; Release::BYTES];
        match hex::decode_to_slice(bytes, &mut record) {
            Ok(()) => Ok(record),
            Err(hex::FromHexError::InvalidHexCharacter { .. }) => {
                Err(Reason::Line(BadLine::NotHexadecimal))
            }
            Err(_) => Err(Reason::Line(BadLine::NotARelease)),
        }
    }

    /// The index of a row's slice.
    #[inline(always)]
    fn slice(
        &self,
        row: usize,
        record: &[u8; Release::BYTES],
        state: &mut State<'_>,
    ) -> Result<usize, Refused> {
        if self.values.is_empty() {
            return Ok(state.thread.tally.no_slice());
        }
        state.key.clear();
        for column in &self.values {
            column.key(row, &mut state.key);
        }
        if let Some(place) = state.slices.get(&state.key) {
            return Ok(*place);
        }
        let texts = self.values.iter().map(|column| column.text(row));
        let texts = texts.collect::<Result<Vec<_>, _>>()?;
        let place = state.thread.tally.slice(&texts, record)?;
        state.slices.insert(state.key.clone(), place);
        Ok(place)
    }

    /// A row as a line of JSON.
    fn line(&self, row: usize) -> String {
        let mut object = serde_json::Map::new();
        let release = self
            .releases
            .bytes(row)
            .map(|bytes| match str::from_utf8(bytes) {
                Ok(text) if bytes.len() != Release::BYTES => text.to_owned(),
                _ => hex::encode(bytes),
            });
        object.insert(RELEASE.to_owned(), release.into());
        for (name, column) in self.names.iter().zip(&self.values) {
            object.insert(name.clone(), column.text(row).ok().into());
        }
        let mut line = serde_json::Value::Object(object).to_string();
        line.push('\n');
        line
    }
}
