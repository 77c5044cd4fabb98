//! `undertone audit` as a user runs it, without a device.

mod common;

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use common::{names, refused, succeed};

fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_undertone"));
    command
        .current_dir(folder)
        // No device is found.
        .env("PATH", folder)
        .args(arguments);
    command
}

fn audit(folder: &Path, arguments: &[&str]) -> Output {
    command(folder, &[&["audit"], arguments].concat())
        .output()
        .unwrap()
}

/// The demo's pack in a folder of its own.
fn prepared() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    succeed(folder.path(), &["demo", "--save", "demo.pack"]);
    folder
}

#[test]
fn the_demo_pack_passes_and_the_report_stands_alone() {
    let folder = prepared();
    let arguments = [
        "demo.pack",
        "--mechanism",
        "sentences",
        "encoder",
        "--epsilon",
        "3",
        "0.5",
        "--neighbours",
        "3000",
        "--out",
        "made/here",
    ];
    let output = audit(folder.path(), &arguments);
    let text = String::from_utf8(output.stdout).unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{text}{errors}");
    for part in [
        "scores, permute-and-flip",
        "scores, exponential",
        "table of weights",
        "draws by the table",
        "loss of replaced sentences",
        "same vectors in any order",
        "ffi/install.sh",
        "checks passed",
    ] {
        assert!(text.contains(part), "no {part} in {text}");
    }
    assert!(!text.contains("FAILED"), "{text}");
    let out = folder.path().join("made/here");
    assert_eq!(
        names(&out),
        ["checks.csv", "report.html"].map(|name| out.join(name))
    );
    let csv = fs::read_to_string(out.join("checks.csv")).unwrap();
    let header = "mechanism,check,epsilon,method,claimed,measured,tried,passed,detail";
    assert_eq!(csv.lines().next(), Some(header));
    // 3 of the encoder; tables, draws and 2 losses at 2 ε by 2 rules; 2 of levels.
    assert_eq!(csv.lines().count(), 1 + 3 + 4 * 4 + 2);
    let page = fs::read_to_string(out.join("report.html")).unwrap();
    assert!(page.contains("<svg") && page.contains("replaced sentences, exact"));
    common::check_page(&page);

    // Again, and nothing but the time is another: everything is drawn from the seed.
    assert_eq!(audit(folder.path(), &arguments).status.code(), Some(0));
    assert_eq!(fs::read_to_string(out.join("checks.csv")).unwrap(), csv);
}

#[test]
fn what_cannot_be_audited_is_refused() {
    let folder = prepared();
    let here = folder.path();
    fs::write(here.join("text.pack"), "not a pack, only text").unwrap();
    fs::write(here.join("file"), "").unwrap();
    fs::create_dir_all(here.join("taken/report.html/inside")).unwrap();
    // Broken packs, outputs and devices: 1; arguments that clap refuses: 2. Never 3, which says that a check failed.
    for (status, arguments, parts) in [
        (
            1,
            &["absent.pack", "--out", "out"][..],
            &["absent.pack"][..],
        ),
        (1, &["text.pack", "--out", "out"], &["text.pack", "pack"]),
        (1, &["demo.pack", "--out", "file"], &["file"]),
        (
            1,
            &["demo.pack", "--out", "taken"],
            &["report.html", "folder"],
        ),
        (
            1,
            &["demo.pack", "--device", "absent", "--out", "out"],
            &["absent", "start"],
        ),
        (
            1,
            &["demo.pack", "--encoder", "absent", "--out", "out"],
            &["absent"],
        ),
        (
            1,
            &["demo.pack", "--mechanism", "vectors", "--out", "out"],
            &["ffi/install.sh"],
        ),
        (2, &["demo.pack"], &["--out"]),
        (2, &["--out", "out"], &["<PACK>"]),
        (2, &["demo.pack", "--epsilon", "0", "--out", "out"], &["0"]),
        (
            2,
            &["demo.pack", "--epsilon", "-1", "--out", "out"],
            &["-1"],
        ),
        (
            2,
            &["demo.pack", "--epsilon", "1e9", "--out", "out"],
            &["1000"],
        ),
        (
            2,
            &["demo.pack", "--neighbours", "many", "--out", "out"],
            &["many"],
        ),
        (
            2,
            &["demo.pack", "--mechanism", "magic", "--out", "out"],
            &["magic", "sentences"],
        ),
    ] {
        let output = audit(here, arguments);
        refused(&output, arguments, parts);
        assert_eq!(output.status.code(), Some(status), "{arguments:?}");
        assert!(!here.join("out/report.html").exists(), "{arguments:?}");
    }
}

#[test]
fn an_interrupted_audit_leaves_nothing_behind() {
    let folder = prepared();
    let mut child = command(
        folder.path(),
        &[
            "audit",
            "demo.pack",
            "--neighbours",
            "1000000000",
            "--out",
            "out",
        ],
    )
    .stdout(Stdio::null())
    .stderr(Stdio::null())
    .spawn()
    .unwrap();
    let out = folder.path().join("out");
    let start = Instant::now();
    while !out.exists() && start.elapsed() < Duration::from_secs(60) {
        thread::sleep(Duration::from_millis(20));
    }
    thread::sleep(Duration::from_millis(200));
    child.kill().unwrap();
    assert!(!child.wait().unwrap().success());
    assert_eq!(names(&out).len(), 0);
}
