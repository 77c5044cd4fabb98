//! The Java and Kotlin classes: they cover all functions of C, and the programs in `tests/java` and
//! `tests/kotlin`, which use them correctly and wrongly, pass.
//!
//! Chance: false alarm 10⁻¹², miss none. A bag, a vector and whole texts are released at the
//! largest epsilon, where any other outcome has a chance below 2⁻⁵⁰ for a word, e⁻²⁰⁰ for a
//! coordinate and 2⁻⁴⁷ for a whole text; other releases are only checked for their form.

#![cfg(unix)]

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::common::{self, Java, have, java, output_dir, root, run};
use undertone::form::Contents;
use undertone_tests::faces::{OF_FORMS, assert_agrees, assert_ran, golden_files};
use undertone_tests::packs::features_pack;
use undertone_tests::tree::{files, read};

fn has_word(text: &str, word: &str) -> bool {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .any(|found| found == word)
}

/// Java and Kotlin have every function of C.
#[test]
fn every_function_of_c_has_a_face() {
    let native = read("ffi/src/jni.rs");
    let native = native.split("#[cfg(test)]").next().unwrap_or_default();
    for function in read("tests/c/symbols.txt").lines() {
        // The steps of `undertone_ledger_spend`, for storage that answers later; in Java a thread
        // waits.
        let needless = [
            "undertone_ledger_grant",
            "undertone_ledger_open",
            "undertone_ledger_reserve_epsilon",
        ]
        .contains(&function);
        assert!(
            needless || has_word(native, function),
            "ffi/src/jni.rs lacks {function}"
        );
        assert!(
            !needless || !has_word(native, function),
            "{function} is not needless"
        );
    }
}

/// The name of the method that a line of a `native!` block of `jni.rs` exports.
fn exported(line: &str) -> Option<&str> {
    let line = line.strip_prefix("    ")?;
    match line.strip_prefix("fn ") {
        Some(method) => method.split('(').next(),
        None => line.split_once(" = undertone_").map(|(method, _)| method),
    }
    .filter(|name| name.chars().all(|c| c.is_ascii_alphanumeric()))
}

/// The library exports exactly the native methods that Java declares, and a class calls each.
#[test]
fn native_methods_are_declared_exported_and_called() {
    let declared = read("ffi/java/dev/undertone/Native.java");
    let native = read("ffi/src/jni.rs");
    let native = native.split("#[cfg(test)]").next().unwrap_or_default();
    let exports: BTreeSet<&str> = native.lines().filter_map(exported).collect();
    let classes = files("ffi/java/dev/undertone", ".java").into_iter();
    let callers: String = classes.map(|(_, text)| text).collect();
    let methods: BTreeSet<&str> = declared
        .lines()
        .filter(|line| line.contains("static native "))
        .filter_map(|line| line.split('(').next()?.rsplit(' ').next())
        .collect();
    assert!(methods.len() > 50, "{methods:?}");
    assert_eq!(exports, methods);
    for method in &methods {
        // Declared once, and called.
        let named = callers.matches(&format!("{method}(")).count();
        assert!(named >= 2, "no class calls {method}");
    }
}

/// A pack, and every object made from it, reads the bytes of the pack in place. Garbage collection
/// during a call would free them, so every call is passed them. The calls of a document and a bag
/// hold a monitor, which keeps the rest alive.
#[test]
fn what_a_call_reads_outlives_it() {
    let mut checked = 0;
    for declared in read("ffi/java/dev/undertone/Native.java").split("static native ") {
        let arguments = declared.split(");").next().unwrap_or_default();
        for reader in ["pack", "vocabulary", "mechanism", "form"] {
            if arguments.contains(&format!("ByteBuffer {reader}")) {
                let held = [" held", "ByteBuffer packBytes"];
                assert!(
                    held.iter().any(|held| arguments.contains(held)),
                    "{arguments}"
                );
                checked += 1;
            }
        }
    }
    assert!(checked > 15, "{checked} methods found");
}

/// Compiles programs against our classes.
fn compiled(name: &str, compiler: &str, sources: &[PathBuf], options: &[&str]) -> PathBuf {
    let folder = output_dir().join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("the target folder can be written");
    run(Command::new(compiler)
        .args(options)
        .arg("-cp")
        .arg(&java().classes)
        .arg("-d")
        .arg(&folder)
        .args(sources));
    folder
}

/// Runs a program with `-Xcheck:jni`, which prints what it finds, and returns the output.
fn printed<A: AsRef<OsStr>>(classes: &Path, program: &str, arguments: &[A]) -> String {
    let Java {
        library,
        classes: own,
    } = java();
    let path = format!("{}:{}", own.display(), classes.display());
    common::printed(run(Command::new("java")
        .arg(format!("-Djava.library.path={}", library.display()))
        .args(["-Xcheck:jni", "-XX:TieredStopAtLevel=1", "-Xmx512m", "-cp"])
        .arg(path)
        .arg(program)
        .args(arguments)))
}

/// Runs a program that prints a line.
fn runs(classes: &Path, program: &str, arguments: &[&Path]) {
    let said = printed(classes, program, arguments);
    println!("{said}");
    assert_eq!(said.lines().count(), 1, "warnings");
}

/// Runs a program that prints the names of a list's cases.
fn runs_list(classes: &Path, program: &str, golden: &Path, face: &str, list: &str) {
    let said = printed(classes, program, &[golden]);
    println!("{said}");
    let warnings = said.lines().any(|line| !line.starts_with("case "));
    assert!(!warnings, "warnings of {program}");
    assert_ran(face, list, &said);
}

#[test]
fn java_holds() {
    if !have("javac", "default-jdk-headless") {
        return;
    }
    let folder = root().join("tests/java");
    let sources = [
        "EveryMethod.java",
        "Golden.java",
        "KeyboardDay.java",
        "Misuse.java",
    ];
    let classes = compiled(
        "java-programs",
        "javac",
        &sources.map(|source| folder.join(source)),
        &["-encoding", "UTF-8", "-Xlint:all", "-Werror"],
    );
    let golden = root().join("tests/golden");
    let header = root().join("include/undertone.h");
    let topics = classes.join("topics.pack");
    let pack = features_pack(&[&["dentist", "doctor"], &["goal", "match"]], false);
    fs::write(&topics, pack).expect("the target folder can be written");
    runs(&classes, "EveryMethod", &[&golden, &header, &topics]);
    let ran = |program, list| runs_list(&classes, program, &golden, "Java", list);
    ran("KeyboardDay", "keyboard-day.md");
    ran("Misuse", "misuse.md");

    let files = [&golden_files()[..], &OF_FORMS].concat();
    let mut arguments = vec![golden.into_os_string()];
    arguments.extend(
        files
            .iter()
            .flat_map(|(file, vectors)| [file.into(), vectors.into()]),
    );
    assert_agrees("Java", &files, &printed(&classes, "Golden", &arguments));
}

/// All programs in Kotlin with its runtime: those of `tests/kotlin`, and every part of
/// `ffi/examples/android-keyboard` that does not need Android. Compiled at once, because the
/// compiler takes longer to start than to compile them.
fn kotlin() -> Option<&'static Path> {
    static PROGRAMS: OnceLock<PathBuf> = OnceLock::new();
    if !have("javac", "default-jdk-headless") || !have("kotlinc", "kotlin") {
        return None;
    }
    Some(PROGRAMS.get_or_init(|| {
        let app = root().join("ffi/examples/android-keyboard/app/src");
        let main = app.join("main/kotlin/dev/undertone/keyboard");
        let folder = output_dir().join("kotlin-programs");
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("the target folder can be written");
        let programs = folder.join("programs.jar");
        run(Command::new("kotlinc")
            .args(["-Werror", "-include-runtime", "-cp"])
            .arg(&java().classes)
            .arg("-d")
            .arg(&programs)
            .args(
                ["KeyboardDay.kt", "Misuse.kt"].map(|name| root().join("tests/kotlin").join(name)),
            )
            .args(["Cursor.kt", "Diary.kt", "Field.kt"].map(|name| main.join(name)))
            .arg(app.join("test/kotlin/DiaryTest.kt")));
        programs
    }))
}

#[test]
fn kotlin_holds() {
    let Some(programs) = kotlin() else {
        return;
    };
    let golden = root().join("tests/golden");
    let ran = |program, list| runs_list(programs, program, &golden, "Kotlin", list);
    ran("KeyboardDayKt", "keyboard-day.md");
    ran("MisuseKt", "misuse.md");
}

#[test]
fn the_keyboard_of_android_keeps_its_promises() {
    let Some(programs) = kotlin() else {
        return;
    };
    let pack = root().join("tests/golden/golden-scores.pack");
    let emoji = read("ffi/examples/keyboard/emoji.json");
    let emoji = Contents::from_json(&emoji).and_then(|contents| contents.to_bytes());
    let form = programs.with_file_name("emoji.form");
    fs::write(&form, emoji.expect("a form")).expect("the target folder can be written");
    runs(programs, "DiaryTestKt", &[&pack, &form]);
}

/// No permission except the one that Android requires of every keyboard, no backup, no log.
#[test]
fn the_keyboard_of_android_asks_for_nothing() {
    let folder = "ffi/examples/android-keyboard/app/src/main";
    let manifest = read(&format!("{folder}/AndroidManifest.xml"));
    assert!(!manifest.contains("uses-permission"));
    assert!(manifest.contains("android:allowBackup=\"false\""));
    let permissions: Vec<&str> = manifest.split("android:permission=").skip(1).collect();
    let [permission] = permissions[..] else {
        panic!("{} permissions", permissions.len());
    };
    assert!(permission.starts_with("\"android.permission.BIND_INPUT_METHOD\""));
    for source in ["Cursor.kt", "Diary.kt", "Field.kt", "KeyboardService.kt"] {
        let text = read(&format!("{folder}/kotlin/dev/undertone/keyboard/{source}"));
        for word in ["Log", "println", "print", "Timber", "Throwable"] {
            assert!(!has_word(&text, word), "{source} has {word}");
        }
    }
    let service = read(&format!(
        "{folder}/kotlin/dev/undertone/keyboard/KeyboardService.kt"
    ));
    assert!(service.contains("noBackupFilesDir") && !has_word(&service, "filesDir"));
}
