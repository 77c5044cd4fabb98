//! The public interface of core, ffi and host, from the JSON of rustdoc:
//! `tests/public-api/run.sh`.

use std::collections::{BTreeSet, HashSet};
use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use public_api::Builder;
use rustdoc_types::{Crate, Function, Id, Item, ItemEnum, Type};

/// Excluded: derives of the views into a pack, and traits of the compiler.
const NOT_COVERED: [&str; 4] = [
    "impl zerocopy",
    "zerocopy::KnownLayout",
    "core::marker::Freeze",
    "core::marker::UnsafeUnpin",
];

/// The headings of a mechanism, in a fixed order, so that two mechanisms can be compared line by
/// line.
const FIXED: [&str; 6] = ["Guarantee", "Leaks", "Shapes", "Errors", "Cost", "Source"];

/// The headings that rustdoc and clippy know, anywhere.
const CUSTOMARY: [&str; 3] = ["Panics", "Safety", "Examples"];

/// Modules of core whose functions take bytes or text that is public: files, releases, parameters.
const PUBLIC_BYTES: [&str; 7] = [
    "epsilon", "form", "kernels", "laplace", "ledger", "pack", "release",
];

/// Modules of host whose functions may take private text or vectors; the others take public
/// corpora, packs and files.
const PRIVATE_TEXT: [&str; 3] = ["encoder", "release", "text"];

fn json(name: &str) -> PathBuf {
    let folder = env::var_os("UNDERTONE_RUSTDOC_JSON")
        .expect("tests/public-api/run.sh sets UNDERTONE_RUSTDOC_JSON");
    Path::new(&folder).join(name).with_extension("json")
}

fn read(name: &str) -> Crate {
    let text = fs::read_to_string(json(name)).expect("the documentation as JSON");
    let version: u32 = serde_json::from_str::<serde_json::Value>(&text)
        .ok()
        .and_then(|crate_| crate_.get("format_version")?.as_u64())
        .and_then(|version| version.try_into().ok())
        .expect("rustdoc writes its format version");
    assert_eq!(
        version,
        rustdoc_types::FORMAT_VERSION,
        "this compiler's documentation has another format than Rust 1.95's, which the test reads: \
         run it with that one, or raise public-api and rustdoc-types in tests/Cargo.toml"
    );
    serde_json::from_str(&text).expect("documentation in that format")
}

/// A crate, its file in `tests/public-api`, and the other crates whose types its interface
/// contains: a new major version of theirs is one of ours.
const INTERFACES: [(&str, &str, &[&str]); 3] = [
    (
        "undertone_core",
        "undertone-core.txt",
        &["heapless", "rand_core", "zerocopy"],
    ),
    ("undertone_ffi", "undertone-ffi.txt", &[]),
    (
        "undertone",
        "undertone.txt",
        &["getrandom", "rand_core", "undertone_core"],
    ),
];

#[test]
#[ignore = "requires the documentation as JSON: tests/public-api/run.sh"]
fn interface_is_the_recorded_one() {
    let mut changed = String::new();
    let mut strangers = BTreeSet::new();
    for (name, file, others) in INTERFACES {
        read(name);
        let interface = Builder::from_rustdoc_json(json(name))
            .omit_blanket_impls(true)
            .omit_auto_derived_impls(true)
            .build()
            .expect("the interface");
        let mut now = String::new();
        for item in interface.items().map(ToString::to_string) {
            if !NOT_COVERED.iter().any(|path| mentions(&item, path)) {
                writeln!(now, "{item}").unwrap();
                strangers.extend(crates(&item).filter(|found| {
                    let ours = ["core", "alloc", "std", name].contains(&found.as_str());
                    !ours && !others.contains(&found.as_str())
                }));
            }
        }
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("public-api")
            .join(file);
        if env::var_os("UNDERTONE_WRITE_PUBLIC_API").is_some() {
            fs::write(&path, &now).expect("tests/public-api can be written");
        }
        let recorded = fs::read_to_string(&path).unwrap_or_default();
        let (now, recorded) = (lines(&now), lines(&recorded));
        for gone in recorded.difference(&now) {
            writeln!(changed, "- {gone}").unwrap();
        }
        for new in now.difference(&recorded) {
            writeln!(changed, "+ {new}").unwrap();
        }
    }
    assert!(
        strangers.is_empty(),
        "types of {strangers:?} in the interface: keep them out, or see INTERFACES"
    );
    assert!(
        changed.is_empty(),
        "the public interface is not the recorded one:\n{changed}\
         A line with - breaks who used it: CONTRIBUTING.md says when it may. Then record it with\n    \
         UNDERTONE_WRITE_PUBLIC_API=1 tests/public-api/run.sh"
    );
}

/// The crates that the paths in an item start with.
fn crates(item: &str) -> impl Iterator<Item = String> + '_ {
    item.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':'))
        .filter_map(|path| path.split_once("::"))
        .map(|(first, _)| first.to_owned())
        .filter(|first| first.starts_with(|c: char| c.is_lowercase()))
}

/// Returns whether the item contains this path, and not only a longer one with the same start.
fn mentions(item: &str, path: &str) -> bool {
    item.match_indices(path).any(|(start, _)| {
        let behind = item.get(start + path.len()..).unwrap_or_default();
        !behind.starts_with(|next: char| next.is_alphanumeric() || next == '_')
    })
}

fn lines(text: &str) -> BTreeSet<String> {
    text.lines().map(str::to_owned).collect()
}

/// A public item and its location.
struct Public<'c> {
    path: String,
    item: &'c Item,
    /// The type of the method, and the modules around it.
    around: Vec<&'c Item>,
}

impl Public<'_> {
    fn headings(&self) -> Vec<&str> {
        headings(self.item)
    }

    /// Returns whether the item, its type or its module has the heading.
    fn has(&self, heading: &str) -> bool {
        self.headings().contains(&heading)
            || self
                .around
                .iter()
                .any(|item| headings(item).contains(&heading))
    }

    fn function(&self) -> Option<&Function> {
        match &self.item.inner {
            ItemEnum::Function(function) => Some(function),
            _ => None,
        }
    }
}

/// The headings of an item, without those in its examples.
fn headings(item: &Item) -> Vec<&str> {
    let mut inside = false;
    item.docs
        .as_deref()
        .unwrap_or_default()
        .lines()
        .filter_map(|line| {
            if line.trim_start().starts_with("```") {
                inside = !inside;
            }
            let title = line.trim_start_matches('#');
            (!inside && title.len() < line.len() && title.starts_with(' ')).then(|| title.trim())
        })
        .collect()
}

/// Every item that a user of the crate can name.
fn public(crate_: &Crate) -> Vec<Public<'_>> {
    let mut found = Vec::new();
    let mut seen = HashSet::new();
    walk(
        crate_,
        crate_.root,
        String::new(),
        &[],
        &mut seen,
        &mut found,
    );
    found
}

fn walk<'c>(
    crate_: &'c Crate,
    id: Id,
    path: String,
    around: &[&'c Item],
    seen: &mut HashSet<Id>,
    found: &mut Vec<Public<'c>>,
) {
    // Re-exports of other crates are documented in those crates.
    let Some(item) = crate_.index.get(&id).filter(|item| item.crate_id == 0) else {
        return;
    };
    if !seen.insert(id) {
        return;
    }
    let path = match &item.name {
        Some(name) if path.is_empty() => name.clone(),
        Some(name) => format!("{path}::{name}"),
        None => path,
    };
    let mut inside = around.to_vec();
    inside.push(item);
    let mut each = |ids: &[Id], found: &mut Vec<Public<'c>>| {
        for id in ids {
            walk(crate_, *id, path.clone(), &inside, seen, found);
        }
    };
    let methods = |ids: &[Id]| {
        let inherent = ids
            .iter()
            .filter_map(|id| match &crate_.index.get(id)?.inner {
                ItemEnum::Impl(block) if block.trait_.is_none() => Some(block.items.clone()),
                _ => None,
            });
        inherent.flatten().collect::<Vec<Id>>()
    };
    match &item.inner {
        ItemEnum::Module(module) => each(&module.items, found),
        ItemEnum::Struct(type_) => each(&methods(&type_.impls), found),
        ItemEnum::Enum(type_) => each(&methods(&type_.impls), found),
        ItemEnum::Trait(trait_) => each(&trait_.items, found),
        ItemEnum::Use(import) => {
            if let Some(id) = import.id {
                walk(crate_, id, path, around, seen, found);
            }
            return;
        }
        _ => (),
    }
    found.push(Public {
        path,
        item,
        around: around.to_vec(),
    });
}

/// The last part of the names of all types among the inputs of a signature, `&[T]` as `[T]`.
fn inputs(function: &Function) -> HashSet<String> {
    let mut names = HashSet::new();
    for (_, type_) in &function.sig.inputs {
        collect(type_, &mut names);
    }
    // `entropy: &mut E` where `E: Entropy`, and `impl Entropy`.
    let bounds = serde_json::to_string(&function.generics).unwrap();
    if bounds.contains("Entropy") {
        names.insert("Entropy".into());
    }
    names
}

fn collect(type_: &Type, names: &mut HashSet<String>) {
    match type_ {
        Type::ResolvedPath(path) => {
            let name = path.path.rsplit("::").next().unwrap_or_default();
            names.insert(name.to_owned());
        }
        Type::Primitive(name) => {
            names.insert(name.clone());
        }
        Type::Slice(of) | Type::Array { type_: of, .. } => match &**of {
            Type::Primitive(name) => {
                names.insert(format!("[{name}]"));
            }
            other => collect(other, names),
        },
        Type::BorrowedRef {
            is_mutable: false,
            type_,
            ..
        } => collect(type_, names),
        // Outputs are not inputs.
        _ => (),
    }
}

fn returns_result(function: &Function) -> bool {
    matches!(&function.sig.output, Some(Type::ResolvedPath(path))
        if path.path.rsplit("::").next() == Some("Result"))
}

#[test]
#[ignore = "requires the documentation as JSON: tests/public-api/run.sh"]
fn documentation_has_the_fixed_headings() {
    let mut wrong = String::new();
    let mut releases = 0;
    let mut private_inputs = 0;
    for name in ["undertone_core", "undertone"] {
        let crate_ = read(name);
        let core = name == "undertone_core";
        for public in public(&crate_) {
            let mut missing = |heading: &str, why: &str| {
                writeln!(wrong, "{}: no `# {heading}`: {why}", public.path).unwrap();
            };
            let headings = public.headings();

            // Headings of a module are free; a mechanism in it has those of its promise.
            for heading in &headings {
                if !matches!(public.item.inner, ItemEnum::Module(_))
                    && !FIXED.contains(heading)
                    && !CUSTOMARY.contains(heading)
                {
                    missing(heading, "allowed: not one of the fixed headings");
                }
            }
            let order: Vec<usize> = headings
                .iter()
                .filter_map(|heading| FIXED.iter().position(|fixed| fixed == heading))
                .collect();
            if !order.is_sorted() {
                missing("", &format!("order; {headings:?} is not that of {FIXED:?}"));
            }
            if headings.contains(&"Guarantee") && !matches!(public.item.inner, ItemEnum::Module(_))
            {
                for heading in ["Leaks", "Source"] {
                    if !public.has(heading) {
                        missing(heading, "it has a guarantee");
                    }
                }
            }

            let Some(function) = public.function() else {
                continue;
            };
            let inputs = inputs(function);
            if returns_result(function) && !headings.contains(&"Errors") {
                missing("Errors", "it returns a Result");
            }
            if inputs.contains("Grant") {
                releases += 1;
                for heading in ["Guarantee", "Leaks", "Source"] {
                    if !public.has(heading) {
                        missing(heading, "it releases, as it takes a grant");
                    }
                }
                if !headings.contains(&"Cost") {
                    missing("Cost", "it releases, as it takes a grant");
                }
            }
            let room = public.path.split("::").nth(1).unwrap_or_default();
            let bytes = ["[f32]", "[u8]", "str"];
            let private = if core {
                !PUBLIC_BYTES.contains(&room)
            } else {
                PRIVATE_TEXT.contains(&room)
            };
            if private && bytes.iter().any(|type_| inputs.contains(*type_)) {
                private_inputs += 1;
                if !headings.contains(&"Shapes") {
                    missing("Shapes", "it takes what may be private");
                }
                for heading in ["Leaks", "Cost"] {
                    if !public.has(heading) {
                        missing(heading, "it takes what may be private");
                    }
                }
            }
        }
    }

    // The header's form of the same headings: paragraphs that start with a word.
    let crate_ = read("undertone_ffi");
    let mut functions = 0;
    for public in public(&crate_) {
        let Some(function) = public.function() else {
            continue;
        };
        let docs = public.item.docs.as_deref().unwrap_or_default();
        let mut missing = |word: &str, why: &str| {
            if !docs.lines().any(|line| line.starts_with(word)) {
                writeln!(wrong, "{}: no paragraph `{word}`: {why}", public.path).unwrap();
            }
        };
        functions += 1;
        let inputs: Vec<&str> = function
            .sig
            .inputs
            .iter()
            .map(|(name, _)| &**name)
            .collect();
        let reads = |name: &str| inputs.windows(2).any(|pair| pair == [name, "len"]);
        let private = ["embedding", "embeddings", "text", "vector", "word"];
        if private.iter().any(|name| reads(name)) && !public.path.ends_with("epsilon_parse") {
            private_inputs += 1;
        }
        if inputs.contains(&"entropy") && inputs.contains(&"grant") {
            releases += 1;
            for word in ["Guarantee:", "Leaks:", "Statuses:"] {
                missing(word, "it releases");
            }
        }
    }
    // Rules for every function are stated once, at the top of the header.
    let header = Path::new(env!("CARGO_MANIFEST_DIR")).join("../include/undertone.h");
    let header = fs::read_to_string(header).expect("the header can be read");
    let (top, _) = header.split_once("*/").expect("a comment at the top");
    let top = top.replace("\n *   ", " ");
    for rule in [
        "\n * - Threads. ",
        "No status depends on the content of a sentence",
    ] {
        if !top.contains(rule) {
            writeln!(wrong, "the top of the header: no {rule:?}").unwrap();
        }
    }
    println!("{releases} functions release, {private_inputs} take private input, {functions} in C");
    // A lower bound: an empty result would mean that the search finds nothing.
    assert!(releases >= 8 && private_inputs >= 8 && functions >= 50);
    assert!(wrong.is_empty(), "{wrong}");
}
