//! The files of `core` are layers: no file imports one of a layer above its own, or a file that
//! imports it, directly or through others. Between crates, cargo enforces the same.

use std::collections::{BTreeMap, BTreeSet};

use undertone_tests::tree::{files, read};

/// Modules that are files, such as `pack::wire`, and those that each imports.
type Imports = BTreeMap<String, BTreeSet<String>>;

/// `a/b.rs` and `a/b/mod.rs` are `a::b`, `lib.rs` is the root, which has no name.
fn module_of(path: &str) -> String {
    let names = path.trim_end_matches(".rs").split('/');
    let names: Vec<&str> = names
        .filter(|name| !["mod", "lib"].contains(name))
        .collect();
    names.join("::")
}

fn joined(module: &str, name: &str) -> String {
    let separator = if module.is_empty() { "" } else { "::" };
    format!("{module}{separator}{name}")
}

fn parent(module: &str) -> &str {
    module.rsplit_once("::").map_or("", |(parent, _)| parent)
}

/// Imports of sources by path, without those of comments and tests.
fn imports_of(sources: &BTreeMap<String, String>) -> Imports {
    let modules: BTreeSet<String> = sources.keys().map(|path| module_of(path)).collect();
    let imports = sources.iter().map(|(path, text)| {
        let here = module_of(path);
        let code = text
            .split("#[cfg(test)]\nmod tests {")
            .next()
            .unwrap_or_default();
        let lines = code
            .lines()
            .map(|line| line.split("//").next().unwrap_or_default());
        let mut found = BTreeSet::new();
        for path in lines.flat_map(|line| line.split(|c: char| !is_of_path(c))) {
            let mut names = path.split("::");
            let mut at = match names.next() {
                Some("crate") => String::new(),
                Some("super") => parent(&here).to_owned(),
                Some("self") => here.clone(),
                Some(name) if modules.contains(&joined(&here, name)) => joined(&here, name),
                _ => continue,
            };
            for name in names {
                let longer = joined(&at, name);
                match name {
                    "super" => at = parent(&at).to_owned(),
                    _ if modules.contains(&longer) => at = longer,
                    _ => break,
                }
            }
            if path.contains("::") && at != here {
                found.insert(at);
            }
        }
        (here, found)
    });
    imports.collect()
}

fn is_of_path(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == ':'
}

/// Finds modules that import one another in a circle: those left after removing, again and again,
/// each that imports none of the others.
fn circle(imports: &Imports) -> BTreeSet<&str> {
    let mut left: BTreeSet<&str> = imports.keys().map(String::as_str).collect();
    loop {
        let stays = |module: &&str| imports[*module].iter().any(|to| left.contains(&**to));
        let fewer: BTreeSet<&str> = left
            .iter()
            .copied()
            .filter(|module| stays(module))
            .collect();
        if fewer == left {
            return left;
        }
        left = fewer;
    }
}

fn core() -> Imports {
    let files = files("core/src", ".rs").into_iter();
    let sources = files.filter(|(path, _)| !path.ends_with("/tests.rs"));
    let below = |path: String| path.replace("core/src/", "");
    imports_of(&sources.map(|(path, text)| (below(path), text)).collect())
}

/// The table of `core/README.md`: the layer of each name, counted from the top.
fn layers() -> BTreeMap<String, usize> {
    let page = read("core/README.md");
    let (_, table) = page.split_once("```text\nlib ").expect("the table");
    let (table, _) = table.split_once("```").expect("its end");
    let mut layers = BTreeMap::new();
    for (layer, line) in format!("lib {table}").lines().enumerate() {
        let (names, _) = line.split_once("  ").expect("names, then their content");
        layers.extend(names.split(" · ").map(|name| (module_of(name), layer)));
    }
    layers
}

#[test]
fn files_of_core_import_their_own_layer_and_those_below_without_circles() {
    let (imports, layers) = (core(), layers());
    for name in layers.keys() {
        assert!(imports.contains_key(name), "no file is {name:?}");
    }
    let layer = |module: &str| {
        let mut prefix = module;
        while !layers.contains_key(prefix) || (prefix.is_empty() && !module.is_empty()) {
            assert!(!prefix.is_empty(), "{module:?} is not in the table");
            prefix = parent(prefix);
        }
        layers[prefix]
    };
    for (from, targets) in &imports {
        for to in targets {
            assert!(
                layer(from) <= layer(to),
                "{from:?} imports {to:?}, above it"
            );
        }
    }
    assert_eq!(circle(&imports), BTreeSet::new());
    // Imports that exist, so that a search that finds nothing fails.
    for (from, to) in [
        ("document", "pack"),
        ("pack", "depth"),
        ("depth", "pack::wire"),
        ("kernels::avx2", "kernels::portable"),
    ] {
        assert!(imports[from].contains(to), "{from} imports {to}");
    }
}

#[test]
fn circles_are_found() {
    let circle = |last: &str| {
        let sources = [
            ("lib.rs", "mod a; mod b; mod c;"),
            ("a.rs", "use crate::b::{X, Y};"),
            ("b.rs", "fn f() { g(&[super::c::H]) }"),
            ("c.rs", last),
        ];
        let sources = sources.map(|(path, text)| (path.to_owned(), text.to_owned()));
        circle(&imports_of(&BTreeMap::from(sources))).len()
    };
    assert_eq!(circle("use crate::a::Y;"), 3);
    for harmless in [
        "#[cfg(test)]\nmod tests { use crate::a::Y; }",
        "//! Like [`crate::a`].\n/// Not `crate::a::Y`.\nstruct Y;",
        "use other::a::Y;",
    ] {
        assert_eq!(circle(harmless), 0, "{harmless}");
    }
}
