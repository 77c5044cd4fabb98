//! `undertone audit` on the command line, without a built device.
//!
//! Chance: false alarm none, miss none. The command waits two minutes for a device; the devices
//! here are scripts without randomness.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use crate::common::{Folder, check_page, contains, json, names, refused, rows};

/// `undertone audit`, with no device on its path.
fn command(folder: &Folder, line: &str) -> Command {
    let mut command = folder.command(format!("audit {line}"));
    command.env("PATH", &**folder);
    command
}

/// Its exit status, standard output and notes.
fn audit(folder: &Folder, line: &str) -> (Option<i32>, String, String) {
    let Output {
        status,
        stdout,
        stderr,
    } = command(folder, line).output().unwrap();
    let [text, notes] = [stdout, stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    (status.code(), text, notes)
}

fn start(folder: &Folder, line: &str, errors: Stdio) -> Child {
    let mut command = command(folder, line);
    command
        .stdout(Stdio::null())
        .stderr(errors)
        .spawn()
        .unwrap()
}

/// The demo's pack in a folder of its own.
fn prepared() -> Folder {
    let folder = Folder::new();
    folder.succeed("demo --save demo.pack");
    folder
}

#[test]
fn the_demo_pack_passes_and_the_report_stands_alone() {
    let folder = prepared();
    let arguments = "demo.pack --mechanism sentences,whole-text projective --epsilon 3,0.5 \
                     --neighbours 3000 --out made/here";
    let (status, text, notes) = audit(&folder, arguments);
    assert_eq!(status, Some(0), "{text}{notes}");
    let parts = [
        "scores, permute-and-flip",
        "scores, exponential",
        "levels of replaced sentences",
        "loss of replaced sentences",
        "loss of an exchanged text",
        "texts refused",
        "ffi/install.sh",
        "checks passed",
    ];
    contains(&text, &parts);
    assert!(!text.contains("FAILED"), "{text}");
    let last = text.lines().last().unwrap();
    assert!(last.starts_with("no audit covers: the ledger"), "{last}");
    let out = folder.join("made/here");
    let files = ["checks.csv", "report.html"].map(|name| out.join(name));
    assert_eq!(names(&out), files);
    let [csv, page] = files.map(|file| fs::read_to_string(file).unwrap());
    let header = "mechanism,check,epsilon,method,claimed,measured,tried,passed,detail";
    assert_eq!(csv.lines().next(), Some(header));
    // 2 checks of levels. 3 of losses for each of 2 rules and 2 ε. 2 of whole texts and 2 of points
    // for each of 2 ε.
    assert_eq!(csv.lines().count(), 1 + 2 + 3 * 4 + 2 * 2 * 2);
    let parts = [
        "<svg",
        "replaced sentences, exact",
        "the whole text is exchanged",
        "<p class=\"verdict good\">Passed</p>",
    ];
    contains(&page, &parts);
    check_page(&page);

    // A second run repeats all checks exactly, because the seed determines every draw.
    let (status, text, _) = audit(&folder, &format!("{arguments} --json"));
    assert_eq!(status, Some(0));
    let report = json(text);
    assert_eq!(report["passed"], true);
    let checks = report["checks"].as_array().unwrap();
    assert_eq!(checks.len(), csv.lines().count() - 1);
    assert_eq!(folder.text("made/here/checks.csv"), csv);
}

/// The form of an example in the folder.
fn with_form(folder: &Folder) {
    let form = include_bytes!("../../../ffi/web/examples/interests/interests.form");
    folder.write("interests.form", form);
}

#[test]
fn a_form_passes() {
    let folder = Folder::new();
    with_form(&folder);
    let arguments = "interests.form -e 0.5 1000 --out out";
    let (status, text, notes) = audit(&folder, &format!("{arguments} --json"));
    assert_eq!(status, Some(0), "{notes}");
    let report = json(text);
    assert_eq!(report["form"].as_str().map(str::len), Some(64));
    let checks = report["checks"].as_array().unwrap();
    let names: Vec<_> = checks.iter().map(|check| check["check"].as_str()).collect();
    let [refused, loss] = ["answers refused", "loss of exchanged answers"].map(Some);
    assert_eq!(names, [refused, loss, refused, loss]);
    check_page(&folder.text("out/report.html"));
}

#[test]
fn what_cannot_be_audited_is_refused() {
    let here = prepared();
    with_form(&here);
    here.write("cut.form", b"UTFORM");
    here.write("text.pack", "not a pack, only text");
    here.write("file", "");
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
    for [line, parts] in rows(table) {
        let (status, arguments) = line.split_once(' ').unwrap();
        let output = command(&here, arguments).output().unwrap();
        refused(&output, arguments, &parts.split(" | ").collect::<Vec<_>>());
        assert_eq!(output.status.code(), status.parse().ok(), "{arguments}");
        assert!(!here.join("out/report.html").exists(), "{arguments}");
    }
}

/// A shell script as the device. Another process writes it: if this process had it open, a child of
/// another test would inherit the file, and no file that is open for writing can be executed.
fn device(folder: &Folder, text: &str) {
    let candidates = folder.succeed("candidates demo.candidates.safetensors");
    let id = &candidates["# pack ".len()..][..16];
    let hello = "echo ok undertone-device 4 0.1.0 portable ID";
    let text = text.replace("HELLO", hello).replace("ID", id);
    let status = Command::new("sh")
        .args([
            "-c",
            "printf '#!/bin/sh\n%s\n' \"$1\" >device && chmod 755 device",
        ])
        .args(["sh", &text])
        .current_dir(&**folder)
        .status();
    assert!(status.unwrap().success());
}

/// A failed check has a status of its own.
#[test]
fn a_device_without_noise_fails() {
    let here = prepared();
    // Every release of a whole text names candidate 0, so there is no noise.
    device(
        &here,
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
    let arguments =
        "demo.pack --mechanism whole-text --epsilon 1 --device ./device --releases 1000 --out out";
    let (status, text, notes) = audit(&here, arguments);
    assert_eq!(status, Some(3), "{text}{notes}");
    contains(&text, &["FAILED  whole text", "\nFAILED: "]);
    let csv = here.text("out/checks.csv");
    assert!(csv.contains(",false,"), "{csv}");
}

#[test]
fn people_are_told_that_a_silent_device_is_waited_for() {
    let folder = prepared();
    // The device ends at the end of its input.
    device(&folder, "HELLO\nwhile read -r line; do :; done");
    let vectors = "demo.pack --mechanism vectors --epsilon 1 --device ./device --out out";
    let mut child = start(&folder, vectors, Stdio::piped());
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
    let line = "demo.pack --neighbours 1000000000 --out out";
    let mut child = start(&folder, line, Stdio::null());
    let out = folder.join("out");
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
