//! Counting in one thread.

use std::collections::{HashMap, HashSet};

use undertone::error::Result;
use undertone::release::lines::BadLine;
use undertone_core::release::Release;

use super::expected::Outcomes;
use super::{
    Counts, Expected, Kind, MOST_KINDS, MOST_ROWS, MOST_SLICES, Reason, too_many_kinds,
    too_many_rows, too_many_slices,
};

/// Outcomes below this are counted in an array: more than any pack has candidates.
const DENSE: u32 = 1 << 17;

/// Most numbers in all arrays of a thread. Anyone can send any outcome for any slice, so further
/// counts go to a hash map, whose size depends only on the outcomes met.
const ARRAYS: usize = 1 << 22;

/// Heads that are found without a hash map.
const RECENT: usize = 64;

/// The bytes of a release without its outcome: bytes 0 to 7, 8 to 11 and 16 to 23.
type Head = (u64, u32, u64);

/// The head and the outcome of a record.
#[inline(always)]
fn split(record: &[u8; Release::BYTES]) -> (Head, u32) {
    let long = |at: usize| {
        let bytes = record[at..at + 8].try_into();
        u64::from_le_bytes(bytes.expect("eight bytes are eight"))
    };
    let short = |at: usize| {
        let bytes = record[at..at + 4].try_into();
        u32::from_le_bytes(bytes.expect("four bytes are four"))
    };
    ((long(0), short(8), long(16)), short(12))
}

/// The place of a head in the cache.
#[inline(always)]
fn slot((start, epsilon, pack): Head) -> usize {
    let mixed = start.rotate_left(17) ^ u64::from(epsilon).rotate_left(32) ^ pack;
    (mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as usize % RECENT
}

pub(crate) struct Tally<'a> {
    expected: &'a Expected,
    /// The index of each slice by its values.
    slices: HashMap<Vec<String>, usize>,
    /// The tables of each kind and slice.
    tables: Vec<Table>,
    places: HashMap<(Head, usize), usize>,
    kinds: HashSet<Head>,
    /// A cache of table indices by recent head and slice, one entry for each hash.
    recent: Vec<(Head, usize, usize)>,
    /// Total length of all arrays.
    arrays: usize,
    /// Outcomes in all hash maps.
    sparse: usize,
}

struct Table {
    kind: Kind,
    slice: usize,
    /// Other outcomes are rejected.
    outcomes: Outcomes,
    dense: Vec<u64>,
    sparse: HashMap<u32, u64>,
}

/// Why a record is rejected or stops the counting.
pub(crate) enum Refused {
    Reject(Reason, Option<[u8; 8]>),
    Stop(undertone::error::Error),
}

impl From<Reason> for Refused {
    fn from(reason: Reason) -> Self {
        Self::Reject(reason, None)
    }
}

impl<'a> Tally<'a> {
    pub(crate) fn new(expected: &'a Expected) -> Self {
        Self {
            expected,
            slices: HashMap::new(),
            tables: Vec::new(),
            places: HashMap::new(),
            kinds: HashSet::new(),
            recent: vec![(Head::default(), usize::MAX, usize::MAX); RECENT],
            arrays: 0,
            sparse: 0,
        }
    }

    /// The index of a record's slice. Rejected records make no slice.
    pub(crate) fn slice(
        &mut self,
        values: &[String],
        record: &[u8; Release::BYTES],
    ) -> Result<usize, Refused> {
        if let Some(place) = self.slices.get(values) {
            return Ok(*place);
        }
        self.check(record)?;
        let place = self.slices.len();
        if place == MOST_SLICES {
            return Err(Refused::Stop(too_many_slices()));
        }
        self.slices.insert(values.to_vec(), place);
        Ok(place)
    }

    /// The index of the only slice of unsliced inputs.
    pub(crate) fn no_slice(&mut self) -> usize {
        if self.slices.is_empty() {
            self.slices.insert(Vec::new(), 0);
        }
        0
    }

    /// Counts a record `count` times.
    #[inline(always)]
    pub(crate) fn count(
        &mut self,
        slice: usize,
        record: &[u8; Release::BYTES],
        times: u64,
    ) -> Result<(), Refused> {
        let (head, outcome) = split(record);
        let (last, of, table) = self.recent[slot(head)];
        if last == head
            && of == slice
            && let Some(table) = self.tables.get_mut(table)
            && let Some(count) = table.dense.get_mut(outcome as usize)
        {
            *count += times;
            return Ok(());
        }
        self.count_slowly(head, slice, record, outcome, times)
    }

    #[cold]
    #[inline(never)]
    fn count_slowly(
        &mut self,
        head: Head,
        slice: usize,
        record: &[u8; Release::BYTES],
        outcome: u32,
        times: u64,
    ) -> Result<(), Refused> {
        let place = match self.places.get(&(head, slice)) {
            Some(place) => *place,
            None => self.table(head, slice, record)?,
        };
        self.recent[slot(head)] = (head, slice, place);
        let table = &mut self.tables[place];
        if !table.outcomes.contains(outcome) {
            return Err(NO_SUCH_OUTCOME.into());
        }
        let index = outcome as usize;
        if index >= table.dense.len() && outcome < DENSE {
            let wanted = (index + 1).next_power_of_two().max(16);
            let most = usize::try_from(table.outcomes.first()).unwrap_or(wanted);
            let wanted = wanted.min(most.max(index + 1));
            let more = wanted - table.dense.len();
            if self.arrays + more <= ARRAYS {
                self.arrays += more;
                table.dense.reserve_exact(more);
                table.dense.resize(wanted, 0);
            }
        }
        match table.dense.get_mut(index) {
            Some(count) => *count += times,
            None => {
                let sparse = &mut self.sparse;
                let count = table.sparse.entry(outcome).or_insert_with(|| {
                    *sparse += 1;
                    0
                });
                *count += times;
                if self.sparse > MOST_ROWS {
                    return Err(Refused::Stop(too_many_rows()));
                }
            }
        }
        Ok(())
    }

    /// Makes a table if its kind is valid and expected, so that rejects take no memory.
    fn table(
        &mut self,
        head: Head,
        slice: usize,
        record: &[u8; Release::BYTES],
    ) -> Result<usize, Refused> {
        let (kind, outcomes) = self.check(record)?;
        if self.kinds.len() == MOST_KINDS && !self.kinds.contains(&head) {
            return Err(Refused::Stop(too_many_kinds()));
        }
        self.kinds.insert(head);
        let place = self.tables.len();
        if place == MOST_SLICES {
            return Err(Refused::Stop(too_many_slices()));
        }
        self.tables.push(Table {
            kind,
            slice,
            outcomes,
            dense: Vec::new(),
            sparse: HashMap::new(),
        });
        self.places.insert((head, slice), place);
        Ok(place)
    }

    /// The kind of a record and the outcomes of the kind, if it is valid and expected.
    pub(crate) fn check(&self, record: &[u8; Release::BYTES]) -> Result<(Kind, Outcomes), Refused> {
        let (kind, outcome) =
            Kind::of_bytes(record).map_err(|_| Reason::Line(BadLine::NotARelease))?;
        match self.expected.outcomes(&kind) {
            Ok(outcomes) if outcomes.contains(outcome) => Ok((kind, outcomes)),
            Ok(_) => Err(NO_SUCH_OUTCOME.into()),
            Err(reason) => Err(Refused::Reject(reason, reason.pack(&kind))),
        }
    }

    /// Adds the tally to counts with the same slice columns.
    pub(crate) fn add_to(self, counts: &mut Counts) -> Result<()> {
        let mut slices = vec![Vec::new(); self.slices.len()];
        for (values, place) in self.slices {
            slices[place] = values;
        }
        for table in self.tables {
            let outcomes = (0..).zip(table.dense).chain(table.sparse);
            counts.add_all(table.kind, slices[table.slice].clone(), outcomes)?;
        }
        counts.check()
    }
}

const NO_SUCH_OUTCOME: Reason = Reason::Line(BadLine::NoSuchCandidate);
