//! Runs the command line as a user does. Writes small sentence encoders: a table of token vectors
//! as an ONNX model, and a tokenizer of whole words. No library writes the bytes, so that the
//! engines are checked against the ONNX format itself.

// Each test program uses only some of these functions.
#![allow(dead_code)]

use std::env;
use std::fmt::Debug;
use std::fs::{self, File};
use std::io::Write;
use std::ops::Deref;
use std::os::unix::process::ExitStatusExt;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, UNIX_EPOCH};

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;
use tempfile::TempDir;
use undertone::release::ledger::utc_day;
use undertone_core::release::Release;
use undertone_tables::Table;

/// The command under test: `undertone`, or `undertone-lab` in its own tests.
pub(crate) const PROGRAM: &str = match option_env!("CARGO_BIN_EXE_undertone") {
    Some(program) => program,
    None => match option_env!("CARGO_BIN_EXE_undertone-lab") {
        Some(program) => program,
        None => panic!("a test of the command or of the laboratory's"),
    },
};

/// The folder of the packs that come with undertone.
pub(crate) const PACKS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../packs");

/// A pack that selects by depth, with a small vocabulary.
pub(crate) const GOLDEN: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../tests/golden/golden.pack"
);

/// Whether tests run in the long form.
pub(crate) fn soak() -> bool {
    env::var_os("UNDERTONE_SOAK").is_some_and(|value| value == "1")
}

/// Seed of the drawn cases: `UNDERTONE_SEED`, or else 1, or the clock in the long form. Prints it.
pub(crate) fn seed() -> u64 {
    let given = env::var("UNDERTONE_SEED").map(|seed| seed.parse().expect("a number"));
    let seed = given.unwrap_or_else(|_| {
        if soak() {
            UNIX_EPOCH.elapsed().unwrap().as_micros() as u64
        } else {
            1
        }
    });
    println!("UNDERTONE_SEED={seed}");
    seed
}

/// A temporary folder, in which a test runs commands.
pub(crate) struct Folder(TempDir);

impl Deref for Folder {
    type Target = Path;

    fn deref(&self) -> &Path {
        self.0.path()
    }
}

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// A folder with `public.tsv`, a labelled corpus of two topics, and with its pack, `a.pack`.
    pub(crate) fn with_pack() -> Self {
        let folder = Self::new();
        let topics = "Food\tThe soup needs salt. Boil the potatoes.\nSky\tA comet passed.\n";
        folder.write("public.tsv", topics.repeat(9));
        folder.succeed("pack --corpus public.tsv --out a.pack");
        folder
    }

    pub(crate) fn command(&self, line: impl Line) -> Command {
        through(self, PROGRAM, &[], line)
    }

    pub(crate) fn run(&self, line: impl Line) -> Output {
        undertone(self, line)
    }

    /// Runs a command that must succeed. Returns its standard output and its notes.
    pub(crate) fn done(&self, line: impl Line) -> [String; 2] {
        let output = self.run(&line);
        let [text, notes] =
            [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
        assert!(output.status.success(), "{line:?}: {notes}");
        [text, notes]
    }

    /// Runs a command that must succeed. Returns its standard output.
    pub(crate) fn succeed(&self, line: impl Line) -> String {
        let [text, _] = self.done(line);
        text
    }

    /// Runs a command that must succeed. Returns its notes.
    pub(crate) fn notes(&self, line: impl Line) -> String {
        let [_, notes] = self.done(line);
        notes
    }

    /// Runs a command with `input` on its standard input.
    pub(crate) fn fed(&self, line: impl Line, input: &[u8]) -> Output {
        let mut command = self.command(line);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut pipe = child.stdin.take().unwrap();
        // Writes one byte first, as a slow pipe does.
        let (first, rest) = input.split_at(1);
        pipe.write_all(first).unwrap();
        pipe.flush().unwrap();
        thread::sleep(Duration::from_millis(30));
        pipe.write_all(rest).unwrap();
        drop(pipe);
        child.wait_with_output().unwrap()
    }

    /// Runs a command with `input`; it must succeed. Returns its standard output.
    pub(crate) fn feed(&self, line: impl Line, input: impl AsRef<[u8]>) -> String {
        let output = self.fed(&line, input.as_ref());
        let notes = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{line:?}: {notes}");
        String::from_utf8(output.stdout).unwrap()
    }

    pub(crate) fn remove(&self, name: impl AsRef<Path>) {
        fs::remove_file(self.join(name)).unwrap();
    }

    /// Runs a command that must fail with a message that contains all `parts`. Returns its status.
    pub(crate) fn fail(&self, line: impl Line, parts: &[&str]) -> Option<i32> {
        let output = self.run(&line);
        refused(&output, &line, parts);
        output.status.code()
    }

    /// See [`refuse`].
    pub(crate) fn refuse(&self, line: impl Line, parts: &[&str]) -> String {
        refuse(self, line, parts)
    }

    /// Runs the commands of a table, which must fail. A line has the rest of a command after
    /// `start`, `=>` and the parts of its message, with `|` between them.
    pub(crate) fn refuse_all(&self, start: &str, table: &str) {
        for [rest, parts] in rows(table) {
            let parts: Vec<&str> = parts.split('|').map(str::trim).collect();
            self.refuse(format!("{start} {rest}"), &parts);
        }
    }

    /// Runs a command that the system kills when a file would exceed `bytes`, which is inside a
    /// line. Returns the whole lines of the partial file of `out`.
    pub(crate) fn interrupt(&self, line: impl Line, out: &str, bytes: usize) -> String {
        let status = self.limited(bytes, &line).status().unwrap();
        assert_eq!(status.signal(), Some(SIGXFSZ), "{line:?}: {status}");
        let left = fs::read(self.partial(out).expect("lines were left")).unwrap();
        assert_eq!(left.len(), bytes, "it stopped elsewhere");
        String::from_utf8(whole_lines(left)).unwrap()
    }

    /// A command that SIGXFSZ kills when a file would exceed `bytes`.
    pub(crate) fn limited(&self, bytes: usize, line: impl Line) -> Command {
        let limits = [&*format!("--fsize={bytes}"), "--core=0"];
        let mut command = through(self, "prlimit", &limits, line);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    pub(crate) fn names(&self) -> Vec<PathBuf> {
        names(self)
    }

    /// Partial file of `out`, which may be in a folder, that an interrupted run left.
    pub(crate) fn partial(&self, out: &str) -> Option<PathBuf> {
        let out = self.join(out);
        names(out.parent().unwrap()).into_iter().find(|path| {
            let rest = path.to_str().unwrap().strip_prefix(out.to_str().unwrap());
            rest.and_then(|rest| rest.strip_prefix('.')?.strip_suffix(".partial"))
                .is_some_and(|run| run.len() == 16)
        })
    }

    pub(crate) fn write(&self, name: impl AsRef<Path>, content: impl AsRef<[u8]>) {
        fs::write(self.join(name), content).unwrap();
    }

    pub(crate) fn bytes(&self, name: impl AsRef<Path>) -> Vec<u8> {
        fs::read(self.join(name)).unwrap()
    }

    pub(crate) fn text(&self, name: impl AsRef<Path>) -> String {
        fs::read_to_string(self.join(name)).unwrap()
    }

    /// The lines of a file.
    pub(crate) fn count(&self, name: impl AsRef<Path>) -> usize {
        self.text(name).lines().count()
    }

    /// The values of a file with lines of JSON.
    pub(crate) fn values(&self, name: impl AsRef<Path>) -> Vec<Value> {
        values(&self.text(name))
    }

    /// Writes the lines of JSON in the file `lines` as a table. The ending of `name` decides the format.
    pub(crate) fn table(&self, lines: &str, name: &str) {
        let path = self.join(name);
        let table = Table::of(&path, &[]).unwrap().expect("a table");
        let mut lines = File::open(self.join(lines)).unwrap();
        table.settled(&mut lines, &path).unwrap().commit().unwrap();
    }

    /// Makes a named pipe.
    pub(crate) fn pipe(&self, name: impl AsRef<Path>) {
        let made = Command::new("mkfifo").arg(self.join(name)).status();
        assert!(made.unwrap().success());
    }
}

pub(crate) fn array(value: &Value) -> &[Value] {
    value.as_array().expect("an array")
}

/// The row of a table of shares.
pub(crate) fn share<'v>(table: &'v Value, name: &str) -> &'v Value {
    let mut rows = array(&table["shares"]).iter();
    rows.find(|row| row["name"] == name).unwrap()
}

/// Checks that a number of JSON is as far as `by` from the expected one at most.
pub(crate) fn near(value: &Value, expected: f64, by: f64) {
    let found = value.as_f64().unwrap();
    assert!((found - expected).abs() < by, "{found}, not {expected}");
}

/// The lines that are not cut off.
pub(crate) fn whole_lines(mut text: Vec<u8>) -> Vec<u8> {
    let end = text.iter().rposition(|byte| *byte == b'\n');
    text.truncate(end.map_or(0, |end| end + 1));
    text
}

/// The rows of a table, whose cells `=>` separates.
pub(crate) fn rows<const N: usize>(table: &str) -> impl Iterator<Item = [&str; N]> {
    table.trim().lines().map(|line| {
        let cells: Vec<&str> = line.split("=>").map(str::trim).collect();
        cells.try_into().expect("a row of the table")
    })
}

/// The value of a text of JSON.
pub(crate) fn json(text: impl AsRef<[u8]>) -> Value {
    serde_json::from_slice(text.as_ref()).expect("JSON and nothing else")
}

/// The values of lines of JSON.
pub(crate) fn values(lines: &str) -> Vec<Value> {
    lines.lines().map(json).collect()
}

/// The release of a line of JSON.
pub(crate) fn release_in(line: &Value) -> Release {
    let bytes = hex::decode(line["release"].as_str().unwrap()).unwrap();
    Release::from_bytes(&bytes).unwrap()
}

pub(crate) fn gzip(bytes: impl AsRef<[u8]>) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes.as_ref()).unwrap();
    encoder.finish().unwrap()
}

/// The arguments of a command, as typed with single spaces, or as a list.
pub(crate) trait Line: Debug {
    fn words(&self) -> Vec<&str>;
}

impl Line for str {
    fn words(&self) -> Vec<&str> {
        self.split_whitespace().collect()
    }
}

impl Line for String {
    fn words(&self) -> Vec<&str> {
        self.as_str().words()
    }
}

impl Line for [&str] {
    fn words(&self) -> Vec<&str> {
        self.to_vec()
    }
}

impl<const N: usize> Line for [&str; N] {
    fn words(&self) -> Vec<&str> {
        self.to_vec()
    }
}

impl Line for Vec<&str> {
    fn words(&self) -> Vec<&str> {
        self.clone()
    }
}

impl<L: Line + ?Sized> Line for &L {
    fn words(&self) -> Vec<&str> {
        (**self).words()
    }
}

/// The command under test, run by `program` with `arguments` before it.
pub(crate) fn through(
    folder: &Path,
    program: &str,
    arguments: &[&str],
    line: impl Line,
) -> Command {
    let mut command = Command::new(program);
    command
        .current_dir(folder)
        .env_remove("ORT_DYLIB_PATH")
        .args(arguments);
    if program != PROGRAM {
        command.arg(PROGRAM);
    }
    command.args(line.words());
    command
}

pub(crate) fn undertone(folder: &Path, line: impl Line) -> Output {
    let mut command = through(folder, PROGRAM, &[], line);
    command.output().expect("the binary runs")
}

/// Runs a command that must fail with a message that contains all `parts`, and that must create or
/// remove no file. Returns the message.
pub(crate) fn refuse(folder: &Path, line: impl Line, parts: &[&str]) -> String {
    let before = names(folder);
    let output = undertone(folder, &line);
    refused(&output, &line, parts);
    assert_eq!(names(folder), before, "{line:?} left something behind");
    String::from_utf8(output.stderr).unwrap()
}

pub(crate) const SIGXFSZ: i32 = 25;

/// Checks that a text contains all `parts`.
pub(crate) fn contains(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "no \"{part}\" in: {text}");
    }
}

/// Checks that a command failed with a message that contains all `parts`.
pub(crate) fn refused(output: &Output, line: impl Line, parts: &[&str]) {
    let errors = str::from_utf8(&output.stderr).unwrap();
    assert!(!output.status.success(), "{line:?} was accepted");
    contains(errors, parts);
    assert!(!errors.contains("panicked"), "{line:?}: {errors}");
}

// Chance: false alarm none, miss none. A test that passes within a day also passes around midnight.
/// Runs a test that must start and end on the same day: once more if midnight came in between.
pub(crate) fn within_a_day(test: impl Fn(u64)) {
    let day = utc_day();
    let outcome = panic::catch_unwind(AssertUnwindSafe(|| test(day)));
    if utc_day() != day {
        test(utc_day());
    } else if let Err(failure) = outcome {
        panic::resume_unwind(failure);
    }
}

pub(crate) fn names(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    names.sort();
    names
}

pub(crate) const DIMENSION: usize = 3;

/// Vectors of the tokens [UNK], [CLS], [SEP], red, green, blue. In f32 there are no odd numbers
/// near 3e7, so sums show their order.
pub(crate) const TABLE: [[f32; DIMENSION]; 6] = [
    [9.0, 9.0, 9.0],
    [1.0, 0.0, 0.5],
    [3.0, 0.0, -0.5],
    [8.0, 1.0, 0.0],
    [16.0, 3e7, 0.25],
    [32.0, 4.0, f32::INFINITY],
];

/// Tokenizer for `{[CLS] text [SEP]}` of whole words. `truncation` is that field of the file.
pub(crate) fn tokenizer_json(words: &[&str], truncation: &str) -> String {
    let words: Vec<_> = ["[UNK]", "[CLS]", "[SEP]"]
        .iter()
        .chain(words)
        .enumerate()
        .map(|(number, word)| format!("\"{word}\": {number}"))
        .collect();
    let special = |name: &str, number: u32| {
        format!("\"{name}\": {{\"id\": \"{name}\", \"ids\": [{number}], \"tokens\": [\"{name}\"]}}")
    };
    let piece =
        |kind: &str, id: &str| format!("{{\"{kind}\": {{\"id\": \"{id}\", \"type_id\": 0}}}}");
    format!(
        r#"{{
            "version": "1.0", "truncation": {truncation}, "padding": {{
                "strategy": {{"Fixed": 64}}, "direction": "Right", "pad_to_multiple_of": null,
                "pad_id": 0, "pad_type_id": 0, "pad_token": "[UNK]"
            }},
            "added_tokens": [], "normalizer": null,
            "pre_tokenizer": {{"type": "Whitespace"}},
            "post_processor": {{
                "type": "TemplateProcessing",
                "single": [{cls}, {text}, {sep}],
                "pair": [{cls}, {text}, {sep}, {pair}, {sep}],
                "special_tokens": {{{cls_ids}, {sep_ids}}}
            }},
            "decoder": null,
            "model": {{"type": "WordLevel", "vocab": {{{words}}}, "unk_token": "[UNK]"}}
        }}"#,
        cls = piece("SpecialToken", "[CLS]"),
        sep = piece("SpecialToken", "[SEP]"),
        text = piece("Sequence", "A"),
        pair = piece("Sequence", "B"),
        cls_ids = special("[CLS]", 1),
        sep_ids = special("[SEP]", 2),
        words = words.join(", "),
    )
}

/// Properties of an ONNX model that differ between tests.
pub(crate) struct Model {
    pub(crate) inputs: &'static [&'static str],
    /// Declared shape of the inputs.
    pub(crate) axes: [Option<u64>; 2],
    /// Name and declared shape; `None` is a dimension of unknown size.
    pub(crate) output: (&'static str, &'static [Option<u64>]),
    /// Operator of the output and its inputs; `table` is a constant.
    pub(crate) operator: (&'static str, &'static [&'static str]),
    /// File with the table, unless the model contains it.
    pub(crate) weights: Option<&'static str>,
}

impl Default for Model {
    fn default() -> Self {
        Self {
            inputs: &["input_ids", "attention_mask", "token_type_ids"],
            axes: [None, None],
            output: ("last_hidden_state", &[None, None, Some(3)]),
            operator: ("Gather", &["table", "input_ids"]),
            weights: None,
        }
    }
}

impl Model {
    pub(crate) fn bytes(&self) -> Vec<u8> {
        const FLOAT: u64 = 1;
        const INT64: u64 = 7;
        let mut node = Message::default();
        for input in self.operator.1 {
            node.text(1, input);
        }
        node.text(2, self.output.0).text(4, self.operator.0);
        let mut table = Message::default();
        table
            .number(1, TABLE.len() as u64)
            .number(1, DIMENSION as u64);
        table.number(2, FLOAT).text(8, "table");
        match self.weights {
            None => table.bytes(9, &table_bytes()),
            Some(file) => {
                let mut location = Message::default();
                location.text(1, "location").text(2, file);
                table.message(13, &location).number(14, 1)
            }
        };

        let mut graph = Message::default();
        graph.message(1, &node).text(2, "graph").message(5, &table);
        for name in self.inputs {
            graph.message(11, &value(name, INT64, &self.axes));
        }
        graph.message(12, &value(self.output.0, FLOAT, self.output.1));
        let mut opset = Message::default();
        opset.number(2, 14);
        let mut model = Message::default();
        model.number(1, 7).message(7, &graph).message(8, &opset);
        model.0
    }
}

pub(crate) fn table_bytes() -> Vec<u8> {
    let values = TABLE.as_flattened().iter();
    values.flat_map(|value| value.to_le_bytes()).collect()
}

/// A `ValueInfoProto`.
fn value(name: &str, element: u64, shape: &[Option<u64>]) -> Message {
    let mut dimensions = Message::default();
    for (index, size) in shape.iter().enumerate() {
        let mut dimension = Message::default();
        match size {
            Some(size) => dimension.number(1, *size),
            None => dimension.text(2, &format!("d{index}")),
        };
        dimensions.message(1, &dimension);
    }
    let mut tensor = Message::default();
    tensor.number(1, element).message(2, &dimensions);
    let mut kind = Message::default();
    kind.message(1, &tensor);
    let mut value = Message::default();
    value.text(1, name).message(2, &kind);
    value
}

/// A protocol buffer message.
#[derive(Default)]
pub(crate) struct Message(pub(crate) Vec<u8>);

impl Message {
    /// Adds a number: seven bits a byte, the lowest first.
    pub(crate) fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn number(&mut self, field: u64, value: u64) -> &mut Self {
        self.varint(field << 3);
        self.varint(value);
        self
    }

    pub(crate) fn bytes(&mut self, field: u64, value: &[u8]) -> &mut Self {
        self.varint(field << 3 | 2);
        self.varint(value.len() as u64);
        self.0.extend_from_slice(value);
        self
    }

    fn text(&mut self, field: u64, value: &str) -> &mut Self {
        self.bytes(field, value.as_bytes())
    }

    fn message(&mut self, field: u64, value: &Message) -> &mut Self {
        self.bytes(field, &value.0)
    }
}

/// Writes an encoder into the folder `name` in `folder`.
pub(crate) fn write_encoder(folder: &Path, name: &str, model: &Model, tokenizer: &str) -> PathBuf {
    let folder = folder.join(name);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("model.onnx"), model.bytes()).unwrap();
    fs::write(folder.join("tokenizer.json"), tokenizer).unwrap();
    folder
}

/// The tokenizer of the tokens of [`TABLE`].
pub(crate) fn fitting_tokenizer() -> String {
    tokenizer_json(&["red", "green", "blue"], "null")
}

/// A file of all-MiniLM-L6-v2, if it is there.
pub(crate) fn minilm(file: &str) -> Option<PathBuf> {
    let models = env::var_os("UNDERTONE_MODELS").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/models"),
        PathBuf::from,
    );
    let path = models.join("all-MiniLM-L6-v2").join(file);
    if path.exists() {
        return Some(path);
    }
    eprintln!(
        "not checked: {file} of all-MiniLM-L6-v2 (not at hand; UNDERTONE_MODELS names its folder)"
    );
    None
}

/// Checks every page of a report: tables that scroll on their own, plots with named axes and few
/// colours, one notation for numbers, and no external resources.
pub(crate) fn check_page(page: &str) {
    for outside in ["<script", "<link", "src=", "@import", "url(", "NaN"] {
        assert!(!page.contains(outside), "{outside}");
    }
    let tables = page.matches("<table>").count();
    assert!(tables > 0);
    let scrolling = page.match_indices("<table>").filter(|(at, _)| {
        let before = page[..*at].rsplit('<').next().unwrap();
        before.starts_with("div class=\"scroll\" role=\"region\" tabindex=\"0\"")
    });
    assert_eq!(scrolling.count(), tables, "a table without a container");

    let mut rest = String::new();
    for (part, text) in page.split("<svg ").enumerate() {
        let Some((svg, after)) = text.split_once("</svg>") else {
            assert_eq!(part, 0);
            rest += text;
            continue;
        };
        rest += after;
        let label = svg
            .split("aria-label=\"")
            .nth(1)
            .expect("a plot has a label");
        let (y, x) = label.split_once(" against ").expect("both axes are named");
        let x = x.split_once(": ").expect("lines are named").0;
        for axis in [x, y] {
            assert!(
                !axis.is_empty() && svg.contains(&format!(">\n{axis}\n</text>")),
                "{axis}"
            );
        }
        let mut colours: Vec<&str> = svg
            .split("<polyline ")
            .skip(1)
            .filter_map(|line| line.split("stroke=\"#").nth(1)?.get(..6))
            .filter(|colour| colour[..2] != colour[2..4] || colour[..2] != colour[4..])
            .collect();
        colours.sort_unstable();
        colours.dedup();
        assert!(colours.len() <= 4, "{colours:?}");
        rest += &texts_of(svg);
    }
    let mut tag = false;
    let text: String = rest
        .chars()
        .map(|c| {
            tag = (tag || c == '<') && c != '>';
            if tag || "<>(),;:%".contains(c) {
                ' '
            } else {
                c
            }
        })
        .collect();
    for word in text.split_whitespace() {
        let scientific = word.contains('e') && word.len() < 20 && word.parse::<f64>().is_ok();
        assert!(!scientific, "{word} is written unlike other numbers");
    }
}

/// The texts of a plot, joined by spaces.
fn texts_of(svg: &str) -> String {
    let texts = svg.split("<text ").skip(1);
    let texts = texts.filter_map(|text| text.split_once('>')?.1.split('<').next());
    texts.collect::<Vec<&str>>().join(" ")
}
