//! Reading a journal record by record, so that a long one takes no more memory than a short one.

use super::record::{FORMAT, HEAD, checksum};
use super::{JournalError, JournalRecord};
use std::io::{self, BufReader, Read};

/// The kinds of records there are: what the first byte of one says.
const KINDS: u8 = 6;
/// Checksums of what came before are kept for every so many bytes.
const STRIDE: usize = 4096;

/// The records of a journal, in order, each read when it is asked for.
pub struct JournalRecords {
    source: BufReader<Box<dyn Read + Send>>,
    /// How many there are.
    count: usize,
    given: usize,
    content: Vec<u8>,
}

/// What is whole in a journal.
pub(super) struct Whole {
    pub(super) records: usize,
    pub(super) bytes: u64,
}

impl JournalRecords {
    /// Those of a journal that was looked through.
    pub(super) fn new(source: Box<dyn Read + Send>, whole: &Whole) -> Self {
        let source = BufReader::with_capacity(1 << 16, source);
        Self { source, count: whole.records, given: 0, content: Vec::new() }
    }
}

impl Iterator for JournalRecords {
    type Item = Result<JournalRecord, JournalError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.given == self.count {
            return None;
        }
        self.given += 1;
        Some(match read(&mut self.source, &mut self.content) {
            Ok(Step::Record) => decode(&self.content, self.given),
            // It was there a moment ago.
            Ok(Step::Torn(_)) => Err(JournalError::Unreadable { index: self.given }),
            Err(error) => Err(error.into()),
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.count - self.given, Some(self.count - self.given))
    }
}

impl ExactSizeIterator for JournalRecords {}

/// Start comes first, and its format first in it: that has been so in every format.
fn decode(content: &[u8], index: usize) -> Result<JournalRecord, JournalError> {
    if let ([0, format, ..], 1) = (content, index)
        && u32::from(*format) != FORMAT
    {
        return Err(JournalError::OtherFormat { found: u32::from(*format) });
    }
    postcard::from_bytes(content).map_err(|_| JournalError::Unreadable { index })
}

enum Step {
    /// A record, whole; it is in the buffer.
    Record,
    /// What comes next is none: all bytes that are left, if there are any.
    Torn(Vec<u8>),
}

/// The next record.
fn read(source: &mut impl Read, content: &mut Vec<u8>) -> io::Result<Step> {
    let mut head = Vec::with_capacity(HEAD);
    source.by_ref().take(HEAD as u64).read_to_end(&mut head)?;
    content.clear();
    if let Some((length, expected)) = numbers(&head) {
        source.by_ref().take(length as u64).read_to_end(content)?;
        if content.len() == length && length > 0 && checksum(content) == expected {
            return Ok(Step::Record);
        }
    }
    head.append(content);
    source.read_to_end(&mut head)?;
    Ok(Step::Torn(head))
}

/// Length and checksum of the record that begins here.
fn numbers(bytes: &[u8]) -> Option<(usize, u32)> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    let expected = rest.first_chunk::<4>()?;
    Some((u32::from_le_bytes(*length) as usize, u32::from_le_bytes(*expected)))
}

/// The first record, if it is whole.
pub(super) fn first(source: &mut impl Read) -> Result<Option<JournalRecord>, JournalError> {
    let mut content = Vec::new();
    match read(source, &mut content)? {
        Step::Record => decode(&content, 1).map(Some),
        Step::Torn(_) => Ok(None),
    }
}

/// Looks a journal through, up to the first record that is not whole. That one must be the last: a
/// crash while appending leaves nothing behind it.
pub(super) fn look_through(source: &mut dyn Read) -> Result<Whole, JournalError> {
    let mut source = BufReader::with_capacity(1 << 16, source);
    let (mut whole, mut content) = (Whole { records: 0, bytes: 0 }, Vec::new());
    loop {
        match read(&mut source, &mut content)? {
            Step::Record => {
                if whole.records == 0 {
                    decode(&content, 1)?;
                }
                whole.records += 1;
                whole.bytes += (HEAD + content.len()) as u64;
            }
            // A whole record somewhere behind the damage: then it is no unfinished write.
            Step::Torn(rest) => match behind(&rest) {
                None => return Ok(whole),
                Some(start) => {
                    let (offset, after) = (whole.bytes as usize, rest.len() - start);
                    return Err(JournalError::Damaged { offset, after });
                }
            },
        }
    }
}

/// Where a whole record begins behind the first byte.
///
/// Any byte may be the beginning of one, and any number there its length. So that this takes a time
/// that grows with the bytes, and not with their square, checksums of pieces are made from
/// checksums of what comes before their ends.
fn behind(bytes: &[u8]) -> Option<usize> {
    let whole = |start: &usize| {
        let (length, expected) = numbers(&bytes[*start..])?;
        let (first, end) = (start + HEAD, start.checked_add(HEAD)?.checked_add(length)?);
        let may = length > 0 && end <= bytes.len() && bytes[first] < KINDS;
        may.then_some((first, end, expected))
    };
    // Where the length of the damaged one is right.
    let next = numbers(bytes).map(|(length, _)| HEAD.saturating_add(length));
    let next = next.filter(|next| *next < bytes.len());
    let holds = |(first, end, expected): (usize, usize, u32)| {
        (checksum(&bytes[first..end]) == expected).then_some(first - HEAD)
    };
    if let Some(start) = next.and_then(|next| whole(&next)).and_then(holds) {
        return Some(start);
    }
    let before = Prefixes::new(bytes);
    (1..bytes.len()).find(|start| {
        whole(start).is_some_and(|(first, end, expected)| before.of(first, end) == expected)
    })
}

/// Checksums of everything before some places.
struct Prefixes<'a> {
    bytes: &'a [u8],
    every: Vec<u32>,
}

impl<'a> Prefixes<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        let mut hasher = crc32fast::Hasher::new();
        let mut every = vec![0];
        for piece in bytes.chunks_exact(STRIDE) {
            hasher.update(piece);
            every.push(hasher.clone().finalize());
        }
        Self { bytes, every }
    }

    fn until(&self, end: usize) -> u32 {
        let known = end / STRIDE;
        let at = known * STRIDE;
        let mut hasher = crc32fast::Hasher::new_with_initial_len(self.every[known], at as u64);
        hasher.update(&self.bytes[at..end]);
        hasher.finalize()
    }

    /// The checksum that a record with this content has.
    fn of(&self, first: usize, end: usize) -> u32 {
        let length = (end - first) as u64;
        // Whatever comes before a piece is a summand of the checksum of both.
        let appended = |before: u32, after: u32| {
            let mut hasher = crc32fast::Hasher::new_with_initial_len(before, 1);
            hasher.combine(&crc32fast::Hasher::new_with_initial_len(after, length));
            hasher.finalize()
        };
        let content = appended(self.until(first), 0) ^ self.until(end);
        appended(super::record::begun(length as u32).finalize(), content)
    }
}
