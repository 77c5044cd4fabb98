//! What an interrupted run left of its output.

use std::fs;

use undertone::resume::PartialLines;

/// Goes on behind the lines in the input, and gives them their name.
///
/// Checked: the lines found are those of the input that are whole and UTF-8, up to the first that is not; the
/// output is these bytes and what was added; a restart leaves none of them.
pub fn resumed_lines_are_whole(data: &[u8]) {
    let folder = tempfile::tempdir().expect("room for a file");
    let target = folder.path().join("out.jsonl");
    let beside = folder.path().join("out.jsonl.partial");
    let whole: Vec<&[u8]> = data
        .split_inclusive(|byte| *byte == b'\n')
        .take_while(|line| line.ends_with(b"\n") && str::from_utf8(line).is_ok())
        .collect();
    for restarts in [false, true] {
        fs::write(&beside, data).expect("room for a file");
        let (mut lines, found) = PartialLines::open(&target).expect("a folder to write to");
        let expected = whole
            .iter()
            .map(|line| str::from_utf8(line).expect("it was looked at"));
        assert!(
            found
                .iter()
                .map(String::as_str)
                .eq(expected.map(|line| line.trim_end_matches('\n')))
        );
        let mut output = whole.concat();
        if restarts {
            lines.restart();
            output.clear();
        }
        lines.push("{}").expect("room for a line");
        lines.commit().expect("room for a file");
        output.extend(b"{}\n");
        assert_eq!(fs::read(&target).expect("it is there"), output);
        assert!(!beside.exists());
        fs::remove_file(&target).expect("it was there");
    }
}
