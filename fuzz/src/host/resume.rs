//! Leftovers of an interrupted run, in any state.

use std::fs;
use std::path::{Path, PathBuf};

use arbitrary::{Result, Unstructured};
use undertone::encoder::{Encoder, EncoderIdentity};
use undertone::files::resume::{Encoding, PartialLines, Run};
use undertone::progress::Progress;

/// Continues after the lines of the input, under their name.
///
/// Checked: the retained lines are those of the input that are complete, UTF-8 and requested, up to
/// the first that is not; the output is these bytes and the added ones; another run is refused if
/// there is a whole line, which may be paid for.
pub fn resumed_lines_are_whole(data: &[u8]) {
    let folder = tempfile::tempdir().expect("room for a file");
    let target = folder.path().join("out.jsonl");
    // Lines that a run may have written.
    let wanted = |line: &str| !line.starts_with('#');
    let start = |line: &[u8]| line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line).to_vec();
    let whole: Vec<&[u8]> = data
        .split_inclusive(|byte| *byte == b'\n')
        .enumerate()
        .take_while(|(number, line)| {
            let text = if *number == 0 {
                start(line)
            } else {
                line.to_vec()
            };
            line.ends_with(b"\n") && str::from_utf8(&text).is_ok_and(wanted)
        })
        .map(|(_, line)| line)
        .collect();
    let beside = beside(&target);
    fs::write(&beside, data).expect("room for a file");
    let other = PartialLines::open(&target, &run("another"), wanted);
    assert_eq!(other.is_err(), data.contains(&b'\n'));
    assert_eq!(other.is_ok(), !beside.exists());
    drop(other);
    fs::write(&beside, data).expect("room for a file");
    let mut lines = PartialLines::open(&target, &run(""), wanted).expect("a folder to write to");
    assert_eq!(lines.kept(), whole.len());
    lines.push("{}").expect("room for a line");
    lines.commit().expect("room for a file");
    let output = [&whole.concat()[..], b"{}\n"].concat();
    assert_eq!(fs::read(&target).expect("it is there"), output);
    assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 1);
}

fn run(option: &str) -> Run {
    Run::of("fuzz").with(option)
}

/// The file for the lines of a run without options, the only one in the folder.
fn beside(target: &Path) -> PathBuf {
    let mut lines = PartialLines::open(target, &run(""), |_| true).expect("a folder to write to");
    lines.push("").expect("room for a line");
    drop(lines);
    let folder = target.parent().expect("a file in a folder");
    let entry = fs::read_dir(folder).expect("a folder").next();
    entry.expect("the lines").expect("a readable folder").path()
}

/// Encodes some sentences, lets the input damage the file of their vectors, and continues with it.
///
/// Checked: after any damage, the vectors are those of the encoder.
pub fn kept_vectors_are_those_of_the_encoder(data: &[u8]) {
    // Input that is too short for that teaches nothing.
    let _ = damage_and_go_on(&mut Unstructured::new(data));
}

fn damage_and_go_on(u: &mut Unstructured<'_>) -> Result<()> {
    let folder = tempfile::tempdir().expect("room for a file");
    let path = folder.path().join("kept");
    let sentences: Vec<String> = (0..u.int_in_range(0..=20u8)?)
        .map(|n| n.to_string())
        .collect();
    let known = u.int_in_range(0..=sentences.len())?;
    let encoder = Numbers::new(1);
    let expected =
        |sentences: &[String]| -> Vec<f32> { sentences.iter().flat_map(|s| row(s)).collect() };
    let progress = Progress::hidden();
    let mut encoding = Encoding::kept_in(&encoder, path.clone()).expect("room for a file");
    let rows = encoding
        .rows(&sentences[..known], &progress)
        .expect("vectors");
    assert_eq!(rows, expected(&sentences[..known]));
    drop(encoding);

    let mut file = fs::read(&path).unwrap_or_default();
    for _ in 0..u.int_in_range(0..=4u8)? {
        let at = u.int_in_range(0..=file.len())?;
        match u.int_in_range(0..=4u8)? {
            0 => file.truncate(at),
            1 => file
                .splice(at..at, u.bytes(u.len().min(8))?.iter().copied())
                .for_each(drop),
            2 => drop(file.drain(at..(at + 32).min(file.len()))),
            // A repeated record, in the wrong place.
            3 => file.extend_from_within(at..(at + 32).min(file.len())),
            _ => {
                let byte: u8 = u.arbitrary()?;
                file.iter_mut().skip(at).take(1).for_each(|old| *old = byte);
            }
        }
    }
    fs::write(&path, &file).expect("room for a file");
    // Sometimes for another encoder, and for other sentences.
    let encoder = Numbers::new(if u.ratio(1, 8)? { 2 } else { 1 });
    let from = u
        .int_in_range(0..=sentences.len())?
        .min(u.int_in_range(0..=20)?);
    let mut encoding = Encoding::kept_in(&encoder, path.clone()).expect("room for a file");
    for _ in 0..2 {
        let mut rest = &sentences[from..];
        while !rest.is_empty() {
            let (next, behind) = rest.split_at(u.int_in_range(1..=rest.len())?);
            assert_eq!(
                encoding.rows(next, &progress).expect("vectors"),
                expected(next)
            );
            rest = behind;
        }
        encoding.rewind();
    }
    encoding.finish().expect("a file to remove");
    assert!(!path.exists());
    Ok(())
}

/// A vector that distinguishes sentences.
fn row(sentence: &str) -> [f32; 2] {
    let number: f32 = sentence.parse().expect("a number");
    [number, -1.0 - number]
}

struct Numbers(EncoderIdentity);

impl Numbers {
    fn new(digest: u8) -> Self {
        Self(EncoderIdentity {
            name: "numbers".to_owned(),
            digest: [digest; 32],
        })
    }
}

impl Encoder for Numbers {
    fn identity(&self) -> &EncoderIdentity {
        &self.0
    }

    fn dimension(&self) -> usize {
        2
    }

    fn encode(&self, sentence: &str, out: &mut [f32]) -> undertone::Result<()> {
        out.copy_from_slice(&row(sentence));
        Ok(())
    }
}
