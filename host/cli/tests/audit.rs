//! `undertone audit` on the command line, without a built device.
//!
//! Chance: false alarm none, miss none. The command waits two minutes for a device; the devices
//! here are scripts without randomness.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use crate::common::{self, contains, names, refused, succeed};

/// `undertone audit`, with no device on its path.
fn command(folder: &Path, line: &str) -> Command {
    let mut command = common::command(folder, format!("audit {line}"));
    command.env("PATH", folder);
    command
}

fn audit(folder: &Path, line: &str) -> Output {
    command(folder, line).output().unwrap()
}

/// The demo's pack in a folder of its own.
fn prepared() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    succeed(folder.path(), "demo --save demo.pack");
    folder
}

#[test]
fn the_demo_pack_passes_and_the_report_stands_alone() {
    let folder = prepared();
    let arguments = "demo.pack --mechanism sentences whole-text projective --epsilon 3 0.5 \
                     --neighbours 3000 --out made/here";
    let output = audit(folder.path(), arguments);
    let text = String::from_utf8(output.stdout).unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{text}{errors}");
    contains(
        &text,
        &[
            "scores, permute-and-flip",
            "scores, exponential",
            "levels of replaced sentences",
            "loss of replaced sentences",
            "loss of an exchanged text",
            "texts refused",
            "ffi/install.sh",
            "checks passed",
        ],
    );
    assert!(!text.contains("FAILED"), "{text}");
    let last = text.lines().last().unwrap();
    assert!(last.starts_with("no audit covers: the ledger"), "{last}");
    let out = folder.path().join("made/here");
    assert_eq!(
        names(&out),
        ["checks.csv", "report.html"].map(|name| out.join(name))
    );
    let csv = fs::read_to_string(out.join("checks.csv")).unwrap();
    let header = "mechanism,check,epsilon,method,claimed,measured,tried,passed,detail";
    assert_eq!(csv.lines().next(), Some(header));
    // 2 checks of levels. 3 of losses for each of 2 rules and 2 ε. 2 of whole texts and 2 of points
    // for each of 2 ε.
    assert_eq!(csv.lines().count(), 1 + 2 + 3 * 4 + 2 * 2 * 2);
    let page = fs::read_to_string(out.join("report.html")).unwrap();
    assert!(page.contains("<svg") && page.contains("replaced sentences, exact"));
    assert!(page.contains("the whole text is exchanged"));
    assert!(page.contains("<p class=\"verdict good\">Passed</p>"));
    common::check_page(&page);

    // A second run repeats all checks exactly, because the seed determines every draw.
    let again = audit(folder.path(), &format!("{arguments} --json"));
    assert_eq!(again.status.code(), Some(0));
    let report: serde_json::Value = serde_json::from_slice(&again.stdout).unwrap();
    assert_eq!(report["passed"], true);
    assert_eq!(
        report["checks"].as_array().unwrap().len(),
        csv.lines().count() - 1
    );
    assert_eq!(fs::read_to_string(out.join("checks.csv")).unwrap(), csv);
}

/// The form of an example in the folder.
fn with_form(folder: &Path) {
    let form = include_bytes!("../../../ffi/web/examples/interests/interests.form");
    fs::write(folder.join("interests.form"), form).unwrap();
}

#[test]
fn a_form_passes() {
    let folder = tempfile::tempdir().unwrap();
    with_form(folder.path());
    let arguments = "interests.form -e 0.5 1000 --out out";
    let output = audit(folder.path(), &format!("{arguments} --json"));
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{errors}");
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["form"].as_str().map(str::len), Some(64));
    let checks = report["checks"].as_array().unwrap();
    let names: Vec<_> = checks.iter().map(|check| check["check"].as_str()).collect();
    let [refused, loss] = ["answers refused", "loss of exchanged answers"].map(Some);
    assert_eq!(names, [refused, loss, refused, loss]);
    let page = fs::read_to_string(folder.path().join("out/report.html")).unwrap();
    common::check_page(&page);
}

#[test]
fn what_cannot_be_audited_is_refused() {
    let folder = prepared();
    let here = folder.path();
    with_form(here);
    fs::write(here.join("cut.form"), b"UTFORM").unwrap();
    fs::write(here.join("text.pack"), "not a pack, only text").unwrap();
    fs::write(here.join("file"), "").unwrap();
    fs::create_dir_all(here.join("taken/report.html/inside")).unwrap();
    // Broken packs, outputs and devices: 1. Arguments that clap refuses: 2. Never 3, the status of
    // a failed check.
    let table = "
        1 absent.pack --out out => absent.pack
        1 text.pack --out out => text.pack | pack
        1 demo.pack --out file => file
        1 demo.pack --out - => --out cannot be `-` | folder
        1 demo.pack --out taken => report.html | folder
        1 demo.pack --device absent --out out => absent | start
        1 demo.pack --encoder absent --out out => absent
        1 demo.pack --mechanism vectors --out out => ffi/install.sh
        1 interests.form --rule exponential --out out => form | --rule
        1 cut.form --out out => form
        2 demo.pack => --out
        2 --out out => <PACK>
        2 demo.pack --epsilon 0 --out out => 0
        2 demo.pack --epsilon -1 --out out => -1
        2 demo.pack --epsilon 1e9 --out out => 1000
        2 demo.pack --neighbours many --out out => many
        2 demo.pack --mechanism magic --out out => magic | sentences";
    for line in table.trim().lines() {
        let (command, parts) = line.trim().split_once(" => ").unwrap();
        let (status, arguments) = command.split_once(' ').unwrap();
        let output = audit(here, arguments);
        refused(&output, arguments, &parts.split(" | ").collect::<Vec<_>>());
        assert_eq!(output.status.code(), status.parse().ok(), "{arguments}");
        assert!(!here.join("out/report.html").exists(), "{arguments}");
    }
}

/// A shell script as the device. Another process writes it: if this process had it open, a child of
/// another test would inherit the file, and no file that is open for writing can be executed.
fn device(folder: &Path, text: &str) {
    let candidates = succeed(folder, "candidates demo.candidates.safetensors");
    let id = candidates
        .lines()
        .next()
        .unwrap()
        .trim_start_matches("# pack ");
    let text = text.replace(
        "HELLO",
        &format!("echo ok undertone-device 4 0.1.0 portable {id}"),
    );
    let text = text.replace("ID", id);
    let status = Command::new("sh")
        .args([
            "-c",
            "printf '#!/bin/sh\n%s\n' \"$1\" >device && chmod 755 device",
            "sh",
            &text,
        ])
        .current_dir(folder)
        .status();
    assert!(status.unwrap().success());
}

/// 0: every check passed. 3: one failed. 1 and 2: no audit was made.
#[test]
fn the_exit_status_tells_the_outcome() {
    let folder = prepared();
    let here = folder.path();
    let whole_text = "demo.pack --mechanism whole-text --epsilon 1";
    let honest = format!("{whole_text} --out out");
    assert_eq!(audit(here, &honest).status.code(), Some(0));
    assert_eq!(audit(here, "absent.pack --out out").status.code(), Some(1));
    assert_eq!(audit(here, "demo.pack").status.code(), Some(2));

    // Every release of a whole text names candidate 0, so there is no noise.
    device(
        here,
        r#"HELLO
repeat() {
    left=$1 block=$2 made=
    while [ $left -gt 0 ]; do
        [ $((left % 2)) = 0 ] || made=$made$block
        left=$((left / 2)) block=$block$block
    done
}
while read -r what epsilon count documents; do
    made=
    [ "$what" != whole-text ] || repeat "$count" " 555452010702000040420f0000000000ID"
    echo "ok$made"
done"#,
    );
    let asked = "--device ./device --releases 1000 --out out";
    let output = audit(here, &format!("{whole_text} {asked}"));
    let text = String::from_utf8(output.stdout).unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(3), "{text}{errors}");
    contains(&text, &["FAILED  whole text", "\nFAILED: "]);
    let csv = fs::read_to_string(here.join("out/checks.csv")).unwrap();
    assert!(csv.contains(",false,"), "{csv}");
}

#[test]
fn people_are_told_that_a_silent_device_is_waited_for() {
    let folder = prepared();
    // The device ends at the end of its input.
    device(folder.path(), "HELLO\nwhile read -r line; do :; done");
    let vectors = "demo.pack --mechanism vectors --epsilon 1 --device ./device --out out";
    let mut child = command(folder.path(), vectors)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // On a busy machine, lines of progress come before.
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let said = lines.find_map(|line| line.ok().filter(|line| line.starts_with("waiting")));
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(
        said.unwrap(),
        "waiting for ./device: no answer for 5 s; the audit gives up after another 115 s"
    );
}

#[test]
fn an_interrupted_audit_leaves_nothing_behind() {
    let folder = prepared();
    let mut child = command(folder.path(), "demo.pack --neighbours 1000000000 --out out")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let out = folder.path().join("out");
    while !out.exists() {
        let ended = child.try_wait().unwrap();
        assert!(ended.is_none(), "it takes hours, but ended: {ended:?}");
        thread::sleep(Duration::from_millis(20));
    }
    thread::sleep(Duration::from_millis(200));
    child.kill().unwrap();
    assert!(!child.wait().unwrap().success());
    assert_eq!(names(&out).len(), 0);
}
