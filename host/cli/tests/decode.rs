//! `undertone decode` with the releases of many devices: broken lines, old packs, streams.
//!
//! Chance: false alarm none, miss none. Of releases only the form and the number are checked.

use crate::common::{Folder, contains, gzip, refused, release_in, values};

/// Makes two packs, releases under each, and private texts.
fn prepared() -> Folder {
    let folder = Folder::with_pack();
    let private = r#"{"id":17,"lang":"en","text":"The soup needs salt.","secret":[1]}
{"id":1.50e3,"text":"A comet passed."}
{"text":"Boil the potatoes.", "lang" : {"of":"d\u00e9"}}
"#;
    folder.write("private.jsonl", private);
    // This rule always names a candidate.
    for line in [
        "pack --corpus public.tsv --heads vectors --out new.pack",
        "pack --corpus public.tsv --clusters 3 --out old.pack",
        "privatize --pack new.pack --rule exponential --epsilon 0.5 --in private.jsonl --out new.jsonl",
        "privatize --pack old.pack --rule exponential --epsilon 1 --in private.jsonl --out old.jsonl",
    ] {
        folder.succeed(line);
    }
    folder
}

const NEW: &str = "new.candidates.safetensors";
const OLD: &str = "old.candidates.safetensors";

/// Releases texts from standard input to standard output.
const RELEASE: &str = "privatize --pack new.pack --epsilon 9 --in - --out -";

/// Decodes releases of the same pack from standard input to standard output.
const DECODE: &str = "decode --candidates new.candidates.safetensors --in - --out -";

/// Releases private texts, or those of a file that follows.
const OF_FILES: &str = "privatize --pack new.pack --epsilon 1 --out o.jsonl --in";

/// The hexadecimal digits of the first release.
fn digits(releases: &str) -> &str {
    let (_, rest) = releases.split_once("\"release\":\"").unwrap();
    &rest[..48]
}

#[test]
fn bad_lines_are_set_aside_and_the_others_decoded() {
    let folder = prepared();
    let good = folder.text("new.jsonl");
    let old = folder.text("old.jsonl");
    let first = good.lines().next().unwrap();
    let hexadecimal = digits(first);
    // Replaces the candidate's number, which follows epsilon.
    let forged = format!("{}ffff0000{}", &hexadecimal[..24], &hexadecimal[32..]);
    let forged = first.replace(hexadecimal, &forged);
    let long = "x".repeat(3 << 20);
    let long = format!("{{\"id\": \"{long}\", \"release\": \"00\"}}");
    let short = first.replace(hexadecimal, &hexadecimal[..40]);
    let bad: [&[u8]; 9] = [
        &first.as_bytes()[..first.len() - 9],
        b"\xff\xfe",
        long.as_bytes(),
        b"{\"id\": 4}",
        b"{\"release\": \"zz\"}",
        short.as_bytes(),
        old.lines().next().unwrap().as_bytes(),
        b"[\"secret words\"]",
        forged.as_bytes(),
    ];
    let lines = good.lines().cycle().zip(bad);
    let lines = lines.map(|(good, bad)| [good.as_bytes(), b"\n", bad, b"\n"].concat());
    folder.write("in.jsonl", lines.collect::<Vec<_>>().concat());
    let aside = bad.map(|bad| [bad, b"\n"].concat()).concat();
    let decode = format!("decode --candidates {NEW} --in in.jsonl --out d.jsonl");
    let said = folder.notes(&decode);
    assert_eq!(folder.count("d.jsonl"), 9);
    let parts = [
        "decoded 9 ",
        "9 lines rejected; name a file with --rejected to keep them",
        "2: not a release in JSON; the first on line 2",
        "1: longer than 1048576 bytes; the first on line 6",
        "1: not UTF-8; the first on line 4",
        "1: no field \"release\" that is a string; the first on line 8",
        "1: the release is not hexadecimal",
        "1: not the bytes of a release",
        "1: names nothing that its pack or form has; it is damaged or forged; the first on line 18",
        "1: made under a pack or form that was not given; the first on line 14, pack ",
    ];
    contains(&said, &parts);
    assert!(!said.contains("secret"), "{said}");

    let said = folder.notes(format!("{decode} --rejected bad.jsonl"));
    assert!(said.contains("they are in `bad.jsonl`"), "{said}");
    assert!(folder.bytes("bad.jsonl") == aside, "as they were");

    // The candidates of the old pack decode the lines that were set aside.
    folder.succeed(format!(
        "decode --candidates {OLD} --in bad.jsonl --out again.jsonl"
    ));
    assert_eq!(folder.count("again.jsonl"), 1);

    // If no line can be decoded, the candidates are probably the wrong ones: only the rejects are
    // written.
    folder.write("forged.jsonl", format!("{forged}\n"));
    for input in ["old.jsonl", "forged.jsonl"] {
        let none = format!("decode --candidates {NEW} --in {input} --rejected x --out y");
        folder.fail(&none, &[input, "no line of", "could be decoded"]);
        assert!(!folder.join("y").exists());
        assert!(folder.bytes("x") == folder.bytes(input), "as they were");
    }
}

#[test]
fn several_packs_are_decoded_together() {
    let folder = prepared();
    let both = [folder.bytes("new.jsonl"), folder.bytes("old.jsonl")];
    folder.write("both.jsonl", both.concat());
    folder.succeed(format!(
        "decode --candidates {NEW} {OLD} --in both.jsonl --out d.jsonl"
    ));
    let packs = folder.values("d.jsonl");
    let packs: Vec<_> = packs.iter().map(|line| &line["pack"]).collect();
    let [new, old] = [packs[0], packs[5]];
    assert_ne!(new, old);
    assert_eq!(packs, [new, new, new, old, old, old]);
    folder.write("copy", folder.bytes(OLD));
    let twice = format!("decode --candidates {OLD} --candidates copy --in both.jsonl --out x");
    folder.refuse(&twice, &[OLD, "`copy`", "the same pack"]);
}

#[test]
fn fields_are_kept_as_they_are_written() {
    let folder = prepared();
    let text = folder.text("new.jsonl");
    let starts = |text: &str| -> Vec<String> {
        let start = |line: &str| line.split(",\"release\"").next().unwrap().to_owned();
        text.lines().map(start).collect()
    };
    let ids = [r#"{"id":17"#, r#"{"id":1.50e3"#, r#"{"id":"line-3""#];
    assert_eq!(starts(&text), ids);
    // Other fields are copied only on request, and the text never.
    folder.succeed(format!("{OF_FILES} private.jsonl --keep lang"));
    let more = folder.text("o.jsonl");
    let last = r#"{"id":"line-3","lang":{"of":"d\u00e9"}"#;
    assert_eq!(starts(&more), [r#"{"id":17,"lang":"en""#, ids[1], last]);
    assert!(!more.contains("secret"));
    folder.remove("o.jsonl");
    folder.refuse_all(
        &format!("{OF_FILES} private.jsonl --keep"),
        "text => --keep text | private
        release => --keep release | this name
        id => --keep id | anyway",
    );

    let release = digits(&text);
    let input = format!(
        r#"{{"when": 12345678901234567890, "label": "own", "release": "{release}"}}
{{"id": {{"a": null}}, "release": "{release}"}}
"#
    );
    folder.write("in.jsonl", input);
    let decode = format!("decode --candidates {NEW} --in in.jsonl --out d.jsonl");
    folder.succeed(&decode);
    let decoded = folder.text("d.jsonl");
    let all: Vec<&str> = decoded.lines().collect();
    let start = r#"{"when":12345678901234567890,"input_label":"own","release":"#;
    assert!(all[0].starts_with(start), "{}", all[0]);
    contains(all[0], &[r#","epsilon":0.5,"pack":""#]);
    assert!(
        all[1].starts_with(r#"{"id":{"a": null},"release":"#),
        "{}",
        all[1]
    );
    let decoded = values(&decoded);
    assert_eq!(decoded[0]["epsilon"], 0.5);
    assert_eq!(decoded[0]["label"], decoded[0]["name"]);
    assert!(decoded[0].get("id").is_none() && decoded[0].get("embedding").is_none());
    folder.succeed(format!("{decode} --embedding"));
    let decoded = folder.values("d.jsonl");
    assert_eq!(decoded[1]["embedding"].as_array().unwrap().len(), 128);
}

/// A field of the input whose name is that of an output field gets a prefix, repeated until no
/// other field has the name.
#[test]
fn names_of_fields_stay_apart() {
    let folder = prepared();
    let text = folder.text("new.jsonl");
    let (_, release) = text.lines().next().unwrap().split_once(",").unwrap();
    let rows = [
        r#"{"name":"x","input_name":"y","#,
        r#"{"input_input_name":"z","name":"x","input_name":"y","#,
        r#"{"name":"x","#,
    ];
    let input = rows.map(|row| format!("{row}{release}\n")).concat();
    folder.write("in.jsonl", input);
    for out in ["d.jsonl", "d.parquet", "d.csv"] {
        folder.succeed(format!(
            "decode --candidates {NEW} --in in.jsonl --out {out}"
        ));
    }
    let decoded = folder.text("d.jsonl");
    let starts = [
        r#"{"input_input_name":"x","input_name":"y","release""#,
        r#"{"input_input_name":"z","input_input_input_name":"x","input_name":"y","release""#,
        r#"{"input_name":"x","release""#,
    ];
    for (line, start) in decoded.lines().zip(starts) {
        assert!(line.starts_with(start), "{line}");
    }
}

/// Lines from a pipe are in no other file, so rejects are kept even if all lines are rejected.
#[test]
fn rejects_of_a_pipe_are_kept_though_all_are_rejected() {
    let folder = prepared();
    let bad = b"{\"id\":1}\nsecret\n";
    let decode = format!("decode --candidates {NEW} --in - --out d.jsonl --rejected bad.jsonl");
    let count = "count --in - --out c.csv --rejected bad.jsonl";
    for (arguments, out, part) in [
        (&*decode, "d.jsonl", "could be decoded"),
        (count, "c.csv", "nothing could be counted"),
    ] {
        let output = folder.fed(arguments, bad);
        refused(&output, arguments, &[part, "they are in `bad.jsonl`"]);
        assert!(!String::from_utf8_lossy(&output.stderr).contains("secret"));
        assert_eq!(folder.bytes("bad.jsonl"), bad);
        assert!(!folder.join(out).exists());
        folder.remove("bad.jsonl");
    }
}

/// All fields are copied unchanged, whatever their names.
#[test]
fn names_with_half_a_surrogate_pair_are_copied() {
    let folder = prepared();
    let text = br#"{"text":"My doctor called.","id":1,"\ud83d":"\ud83d"}"#;
    let released = folder.feed(RELEASE, text);
    let given = released.replacen('{', r#"{"\ud800":NaN,"a\udc00":1,"a\u0062":2,"#, 1);
    let decoded = folder.feed(DECODE, given);
    let start = r#"{"\ud800":null,"a\udc00":1,"a\u0062":2,"id":1,"#;
    assert!(decoded.starts_with(start), "{decoded}");
}

#[test]
fn inputs_may_be_gzipped_and_come_and_go_as_streams() {
    let folder = prepared();
    let private = folder.bytes("private.jsonl");
    let before = folder.names();
    for input in [&private[..], &gzip(&private)] {
        let released = folder.feed(RELEASE, input);
        assert_eq!(released.lines().count(), 3);
        for releases in [released.as_bytes(), &gzip(&released)] {
            let decoded = values(&folder.feed(DECODE, releases));
            assert_eq!((&decoded[0]["id"], decoded.len()), (&17.into(), 3));
        }
    }
    // The output is a file.
    folder.feed(RELEASE.replace("--out -", "--out into.jsonl"), &private);
    assert_eq!(folder.count("into.jsonl"), 3);
    folder.remove("into.jsonl");
    assert_eq!(folder.names(), before);
    // A broken line at the end prevents all releases.
    let broken = [&private[..], b"{\"text\": secret"].concat();
    let output = folder.fed(RELEASE, &broken);
    let parts = ["`standard input` line 4", "not one JSON object"];
    refused(&output, RELEASE, &parts);
    assert!(output.stdout.is_empty());

    // The content decides whether a file is gzipped, whatever the ending of its name.
    folder.write("zipped.jsonl", gzip(&private));
    folder.succeed(format!("{OF_FILES} zipped.jsonl"));
    let zipped = gzip(folder.bytes("o.jsonl"));
    folder.write("z", &zipped);
    let decode = format!("decode --candidates {NEW} --in z --out");
    assert_eq!(values(&folder.succeed(format!("{decode} -"))).len(), 3);
    // A compressed file that is cut off is an error of the file and not of a line.
    folder.write("z", &zipped[..zipped.len() - 9]);
    folder.refuse(format!("{decode} x"), &["cannot read `z`"]);

    for (verb, name) in [("inspect", "new.pack"), ("candidates", NEW)] {
        let shown = folder.feed(format!("{verb} -"), folder.bytes(name));
        assert_eq!(shown, folder.succeed(format!("{verb} {name}")));
    }
    let labelled = b"{\"label\":\"a\",\"text\":\"soup\"}\n{\"label\":\"b\",\"text\":\"moon\"}\n";
    let keywords = folder.feed("keywords --corpus - --words 9 --out -", labelled);
    assert_eq!(keywords, "moon\nsoup\n");
}

/// All cores decode batches, and the lines stay in order.
#[test]
fn lines_of_many_batches_stay_in_order() {
    const LINES: u64 = 6000;
    let folder = prepared();
    let new = folder.text("new.jsonl");
    let old = folder.text("old.jsonl");
    let (good, other) = (digits(&new), digits(&old));
    // Longer than one read, so the line arrives in pieces.
    let long = format!("{{\"id\":\"{}\"}}", "x".repeat(3 << 20));
    let (mut input, mut aside, mut ids) = (Vec::new(), Vec::new(), Vec::new());
    for number in 0..LINES {
        let bad = match number {
            3000 => long.clone(),
            _ if number % 100 == 50 => format!("{{\"id\":{number},\"release\":\"{other}\"}}"),
            _ if number % 100 == 60 => format!("secret {number}"),
            _ => {
                ids.push(number);
                let line = format!("{{\"id\":{number},\"release\":\"{good}\"}}\n");
                input.extend(line.as_bytes());
                continue;
            }
        };
        for bytes in [&mut input, &mut aside] {
            bytes.extend(bad.as_bytes());
            bytes.extend(b"\r\n");
        }
    }
    folder.write("in.jsonl", &input);
    let decode = format!("decode --candidates {NEW} --rejected bad.jsonl");
    let said = folder.notes(format!("{decode} --in in.jsonl --out d.jsonl"));
    let others = "60: made under a pack or form that was not given; the first on line 51, pack";
    contains(
        &said,
        &[
            "121 lines rejected",
            "1: longer than 1048576 bytes; the first on line 3001",
            "60: not a release in JSON; the first on line 61",
            &format!("{others} {}", &other[32..]),
        ],
    );
    let decoded = folder.bytes("d.jsonl");
    let found = folder.values("d.jsonl").into_iter();
    assert!(found.map(|line| line["id"].as_u64().unwrap()).eq(ids));
    assert!(folder.bytes("bad.jsonl") == aside);
    // A stream gives parts of any length, which may end inside a line.
    folder.remove("bad.jsonl");
    folder.remove("d.jsonl");
    folder.feed(format!("{decode} --in - --out d.jsonl"), &input);
    assert!(folder.bytes("d.jsonl") == decoded);
    assert!(folder.bytes("bad.jsonl") == aside);
}

/// A point has no single candidate, so such lines are set aside with a message about what to use
/// instead.
#[test]
fn points_are_set_aside() {
    let folder = prepared();
    let said = folder.notes(format!("{OF_FILES} private.jsonl --rule projective"));
    contains(&said, &["rule: projective. Promised: 1 for the whole text"]);
    let points = folder.text("o.jsonl");
    for line in values(&points) {
        assert!(release_in(&line).order().is_some(), "{line}");
    }
    let decode = format!("decode --candidates {NEW} --out d.jsonl --in");
    let reason = "names a point that many candidates prefer, and no candidate; count such releases with `undertone count`";
    let parts = ["no line of", "could be decoded", reason];
    folder.refuse(format!("{decode} o.jsonl"), &parts);
    let good = folder.text("new.jsonl");
    folder.write("both.jsonl", format!("{points}{good}"));
    let said = folder.notes(format!("{decode} both.jsonl --rejected r.jsonl"));
    contains(&said, &[&format!("3: {reason}")]);
    assert_eq!(folder.count("d.jsonl"), 3);
    assert_eq!(folder.text("r.jsonl"), points, "as they were");
}

/// The id is copied, so no combination of options may make it the text.
#[test]
fn no_option_publishes_the_text() {
    let folder = prepared();
    let nested = "{\"body\":{\"text\":\"SECRET\"},\"id\":\"SECRET\",\"text\":\"SECRET\"}\n";
    folder.write("n.jsonl", nested.repeat(2));
    for (options, id) in [
        ("--id-field text", "text"),
        ("--text-field id", "id"),
        ("--text-field body.text --id-field body.text", "body.text"),
        ("--text-field body.text --id-field body", "body"),
        ("--text-field body --id-field body.text", "body.text"),
    ] {
        for command in ["privatize", "obfuscate"] {
            for out in ["-", "o.jsonl"] {
                let line = format!(
                    "{command} --pack new.pack --epsilon 3 --in n.jsonl --out {out} {options}"
                );
                let parts = [&format!("--id-field {id}"), "the text is what is private"];
                folder.refuse(&line, &parts);
                assert_eq!(folder.run(&line).stdout, b"");
            }
        }
    }
}

/// Options that would have no effect, and options that repeat another, are errors.
#[test]
fn fields_that_are_not_there_are_no_options() {
    let folder = prepared();
    folder.write("p.csv", "id,text,app.country\n1,The soup.,NP\n");
    let row = r#"{"id":1,"text":"The soup.","app.country":"NP"}"#;
    folder.write("row.jsonl", row);
    folder.table("row.jsonl", "p.parquet");
    folder.refuse_all(
        OF_FILES,
        "private.jsonl --keep lang --keep lang => --keep lang | named twice
        private.jsonl --keep nope => --keep nope | ; there are
        p.csv --keep nope => --keep nope | no such column
        p.csv --keep app => --keep app | no such column
        p.csv --id-field nope => --id-field nope | no such column
        p.parquet --keep nope => --keep nope | no such column
        p.parquet --keep app.nope => --keep app.nope | no such column
        public.tsv --keep nope => --keep nope | can keep only label
        public.tsv --text-field body => --text-field body | no field names
        public.tsv --id-field user => --id-field user | no field names",
    );
    // A JSON line lists no fields in advance, so a field is accepted if only the last line has it.
    for options in [
        "p.csv --keep app.country",
        "p.parquet --keep app.country",
        "public.tsv --keep label",
        "private.jsonl --keep lang",
    ] {
        folder.succeed(format!("{OF_FILES} {options}"));
    }
    for (option, field) in [("--keep", "nope"), ("--id-field", "nom")] {
        let arguments = format!("{OF_FILES} private.jsonl --keep lang {option} {field}");
        let parts = [option, field, "no such column or field", "lang"];
        folder.refuse(arguments, &parts);
    }
}

/// Only texts are required: a label that no option uses may have any value.
#[test]
fn a_label_that_is_not_used_is_not_read() {
    let folder = prepared();
    let lines = r#"{"text":"The soup needs salt.","label":[1,"a"]}
{"text":"A comet passed.","label":{"a":1}}
{"text":"A comet passed.","label":true,"label":1}
"#;
    folder.write("l.jsonl", lines);
    for command in ["privatize", "obfuscate"] {
        let line = format!("{command} --pack new.pack --epsilon 1 --in l.jsonl --out o.jsonl");
        folder.succeed(&line);
        assert_eq!(folder.count("o.jsonl"), 3);
    }
    // An id is copied, so it must be a string or a number; null counts as missing.
    let id = |value: &str| {
        let line = format!("{{\"text\":\"A comet passed.\",\"id\":{value}}}\n");
        folder.write("l.jsonl", line);
    };
    let line = format!("{OF_FILES} l.jsonl");
    for wrong in ["true", "{}", "[1]"] {
        id(wrong);
        folder.refuse(&line, &["line 1", "\"id\" is not a string or a number"]);
    }
    for (good, written) in [("null", "\"line-1\""), ("1.50", "1.50"), ("\"a\"", "\"a\"")] {
        id(good);
        folder.succeed(&line);
        let out = folder.text("o.jsonl");
        assert!(out.starts_with(&format!("{{\"id\":{written},")), "{out}");
    }
}
