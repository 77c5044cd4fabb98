//! The files of `core` are layers: no file imports one of a layer above its own, or a file that
//! imports it, directly or through others. Between crates, cargo enforces the same.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// A module, by the names on its path from the root; the root has none.
type Module = Vec<String>;

/// Imports between modules that are files, without those of tests and comments.
struct Imports {
    modules: BTreeSet<Module>,
    edges: BTreeMap<Module, BTreeSet<Module>>,
}

impl Imports {
    /// Reads the sources of a crate, by path.
    fn of_sources(sources: &BTreeMap<String, String>) -> Self {
        let parsed: BTreeMap<Module, Vec<TokenTree>> = sources
            .iter()
            .map(|(path, text)| {
                let stream: TokenStream = text.parse().unwrap_or_else(|_| panic!("{path} is Rust"));
                (module_of(path), without_tests(stream))
            })
            .collect();
        let modules = parsed.keys().cloned().collect();
        let mut imports = Self {
            modules,
            edges: BTreeMap::new(),
        };
        // A file is a test if only tests declare it.
        let mut live = BTreeSet::from([Module::new()]);
        let mut next = vec![Module::new()];
        while let Some(module) = next.pop() {
            let Some(tokens) = parsed.get(&module) else {
                continue;
            };
            for child in declared(tokens) {
                let child: Module = module.iter().cloned().chain([child]).collect();
                if live.insert(child.clone()) {
                    next.push(child);
                }
            }
        }
        for (module, tokens) in parsed {
            if live.contains(&module) {
                imports.visit(&module, &module, tokens);
            }
        }
        imports
    }

    /// Records the paths in `tokens`, which are in the module `here` of the file `file`.
    fn visit(&mut self, file: &Module, here: &Module, tokens: Vec<TokenTree>) {
        let mut at = 0;
        while at < tokens.len() {
            match &tokens[at..] {
                // The module of `pub(in …)` is not imported.
                [TokenTree::Ident(word), TokenTree::Group(_), ..] if word == "pub" => at += 1,
                [
                    TokenTree::Ident(word),
                    TokenTree::Ident(name),
                    TokenTree::Group(body),
                    ..,
                ] if word == "mod" => {
                    let inner: Module = here.iter().cloned().chain([name.to_string()]).collect();
                    self.visit(file, &inner, without_tests(body.stream()));
                    at += 2;
                }
                [TokenTree::Ident(first), ..] if is_colons(&tokens, at + 1) => {
                    // The token continues a path that started elsewhere.
                    let continued = at >= 2 && is_colons(&tokens, at - 2);
                    let start = match first.to_string().as_str() {
                        _ if continued => None,
                        "crate" => Some(Module::new()),
                        "super" => Some(here[..here.len().saturating_sub(1)].to_vec()),
                        "self" => Some(here.clone()),
                        name => {
                            let child: Module =
                                here.iter().cloned().chain([name.to_owned()]).collect();
                            self.modules.contains(&child).then_some(child)
                        }
                    };
                    if let Some(start) = start {
                        self.follow(file, start, &tokens, at + 3);
                    }
                }
                [TokenTree::Group(group), ..] => {
                    self.visit(file, here, without_tests(group.stream()));
                }
                _ => {}
            }
            at += 1;
        }
    }

    /// Records the module that the rest of a path names; `prefix` is the module so far.
    fn follow(&mut self, file: &Module, prefix: Module, tokens: &[TokenTree], at: usize) {
        match tokens.get(at) {
            Some(TokenTree::Ident(word)) if word == "super" => {
                let prefix = prefix[..prefix.len().saturating_sub(1)].to_vec();
                if is_colons(tokens, at + 1) {
                    return self.follow(file, prefix, tokens, at + 3);
                }
                self.note(file, &prefix);
            }
            Some(TokenTree::Ident(word)) => {
                let longer: Module = prefix.iter().cloned().chain([word.to_string()]).collect();
                if !self.modules.contains(&longer) {
                    self.note(file, &prefix);
                } else if is_colons(tokens, at + 1) {
                    self.follow(file, longer, tokens, at + 3);
                } else {
                    self.note(file, &longer);
                }
            }
            Some(TokenTree::Group(branches)) if branches.delimiter() == Delimiter::Brace => {
                let branches: Vec<TokenTree> = branches.stream().into_iter().collect();
                let comma = |token: &TokenTree| matches!(token, TokenTree::Punct(punct) if punct.as_char() == ',');
                for branch in branches.split(comma).filter(|branch| !branch.is_empty()) {
                    self.follow(file, prefix.clone(), branch, 0);
                }
            }
            _ => self.note(file, &prefix),
        }
    }

    fn note(&mut self, file: &Module, target: &Module) {
        let known = (0..=target.len()).rev().map(|length| &target[..length]);
        let target = known
            .into_iter()
            .find(|module| self.modules.contains(*module));
        if let Some(target) = target.filter(|target| *target != file.as_slice()) {
            let edges = self.edges.entry(file.clone()).or_default();
            edges.insert(target.to_vec());
        }
    }

    /// Finds modules that import one another in a circle.
    fn circle(&self) -> Option<Vec<String>> {
        let mut done = BTreeSet::new();
        let mut way = Vec::new();
        let mut starts = self.edges.keys();
        starts.find_map(|start| self.circle_from(start, &mut way, &mut done))
    }

    fn circle_from(
        &self,
        module: &Module,
        way: &mut Vec<Module>,
        done: &mut BTreeSet<Module>,
    ) -> Option<Vec<String>> {
        if let Some(start) = way.iter().position(|before| before == module) {
            let names = way[start..].iter().chain([module]);
            return Some(names.map(|module| module.join("::")).collect());
        }
        if !done.insert(module.clone()) {
            return None;
        }
        way.push(module.clone());
        let mut next = self.edges.get(module).into_iter().flatten();
        let found = next.find_map(|module| self.circle_from(module, way, done));
        way.pop();
        found
    }
}

/// `a/b.rs` and `a/b/mod.rs` are `a::b`, `lib.rs` is the root.
fn module_of(path: &str) -> Module {
    let name = path.strip_suffix(".rs").expect("a source");
    let names = name.split('/').map(str::to_owned);
    names
        .filter(|name| name != "mod" && name != "lib")
        .collect()
}

fn is_colons(tokens: &[TokenTree], at: usize) -> bool {
    let colon = |at: usize| matches!(tokens.get(at), Some(TokenTree::Punct(punct)) if punct.as_char() == ':');
    colon(at) && colon(at + 1)
}

/// The tokens without attributes (doc comments included) and without code for tests.
fn without_tests(stream: TokenStream) -> Vec<TokenTree> {
    let mut kept = Vec::new();
    let mut tokens = stream.into_iter().peekable();
    while let Some(token) = tokens.next() {
        if !matches!(&token, TokenTree::Punct(punct) if punct.as_char() == '#') {
            kept.push(token);
            continue;
        }
        tokens.next_if(|token| matches!(token, TokenTree::Punct(punct) if punct.as_char() == '!'));
        let attribute = tokens
            .next()
            .map(|token| token.to_string())
            .unwrap_or_default();
        if attribute.replace(' ', "") == "[cfg(test)]" {
            // Skip to the end of the item.
            for token in tokens.by_ref() {
                match token {
                    TokenTree::Punct(punct) if punct.as_char() == ';' => break,
                    TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => break,
                    _ => {}
                }
            }
        }
    }
    kept
}

/// The modules that are declared as files.
fn declared(tokens: &[TokenTree]) -> Vec<String> {
    let declarations = tokens.windows(3).filter_map(|three| match three {
        [
            TokenTree::Ident(word),
            TokenTree::Ident(name),
            TokenTree::Punct(end),
        ] if word == "mod" && end.as_char() == ';' => Some(name.to_string()),
        _ => None,
    });
    declarations.collect()
}

fn sources(folder: &Path, prefix: &str, found: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(folder).expect("a folder of the tree") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() {
            sources(&path, &format!("{prefix}{name}/"), found);
        } else if name.ends_with(".rs") {
            let text = fs::read_to_string(&path).expect("a source is UTF-8");
            found.insert(format!("{prefix}{name}"), text);
        }
    }
}

fn core() -> Imports {
    let mut found = BTreeMap::new();
    sources(&root().join("core/src"), "", &mut found);
    Imports::of_sources(&found)
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

#[test]
fn no_file_of_core_imports_one_that_imports_it() {
    let imports = core();
    assert_eq!(imports.circle(), None);
    // Imports that exist, so that a search that finds nothing fails.
    for (from, to) in [
        ("document", "pack"),
        ("pack", "depth"),
        ("depth", "pack/wire"),
        ("kernels/avx2", "kernels/portable"),
    ] {
        let edges = imports.edges.get(&module_of(&format!("{from}.rs")));
        let to = module_of(&format!("{to}.rs"));
        assert!(
            edges.is_some_and(|edges| edges.contains(&to)),
            "{from} imports {to:?}"
        );
    }
}

/// The table of `core/README.md`: the layer of each name, counted from the top.
fn layers() -> BTreeMap<Module, usize> {
    let page = fs::read_to_string(root().join("core/README.md")).expect("the page of core");
    let (_, table) = page.split_once("```text\nlib ").expect("the table");
    let (table, _) = table.split_once("```").expect("its end");
    let lines = format!("lib {table}");
    let rows = lines.lines().enumerate().flat_map(|(layer, line)| {
        let (names, _) = line.split_once("  ").expect("names, then their content");
        let names = names
            .split(" · ")
            .map(move |name| (module_of(&format!("{name}.rs")), layer));
        names.collect::<Vec<_>>()
    });
    rows.collect()
}

#[test]
fn files_of_core_import_their_own_layer_and_those_below() {
    let (imports, layers) = (core(), layers());
    for name in layers.keys() {
        assert!(imports.modules.contains(name), "no file is {name:?}");
    }
    let layer = |module: &Module| {
        let mut prefixes = (0..=module.len()).rev().map(|length| &module[..length]);
        // The root is a prefix of all, but only its own name.
        let found = prefixes.find_map(|prefix| layers.get(prefix).map(|layer| (prefix, layer)));
        let found = found.filter(|(prefix, _)| !prefix.is_empty() || module.is_empty());
        *found
            .unwrap_or_else(|| panic!("{module:?} is not in the table"))
            .1
    };
    for (from, targets) in &imports.edges {
        for to in targets {
            assert!(
                layer(from) <= layer(to),
                "{from:?} imports {to:?}, above it"
            );
        }
    }
}

#[test]
fn circles_are_found() {
    let circle = |sources: &[(&str, &str)]| {
        let sources = sources
            .iter()
            .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()));
        let modules = ("lib.rs".to_owned(), "mod a; mod b; mod c;".to_owned());
        Imports::of_sources(&sources.chain([modules]).collect()).circle()
    };
    let names = ["a", "b", "c", "a"].map(str::to_owned).to_vec();
    // An import of several names, a path in an expression, and a path out of an inline module.
    let import = ("a.rs", "use crate::{b::X, d};");
    let expression = ("b.rs", "fn f() { g(&[super::c::H]) }");
    let inside = ("c.rs", "mod inner { pub(super) use super::super::a::Y; }");
    assert_eq!(circle(&[import, expression, inside]), Some(names));
    for harmless in [
        "mod inner { pub(in super::super::a) struct Y; }",
        "#[cfg(test)] mod tests { use crate::a::Y; }",
        "//! Like [`crate::a`].\n/// Not `crate::a::Y`.\nstruct Y;",
        "use other::a::Y;",
    ] {
        assert_eq!(
            circle(&[import, expression, ("c.rs", harmless)]),
            None,
            "{harmless}"
        );
    }
    // A module and its submodule.
    let parent = ("a/mod.rs", "mod inner; use inner::X;");
    let child = ("a/inner.rs", "use super::Y;");
    let both = ["a", "a::inner", "a"].map(str::to_owned).to_vec();
    assert_eq!(circle(&[parent, child]), Some(both));
    // The root re-exports everything.
    let root = [
        ("a.rs", "use crate::Document;"),
        ("lib.rs", "mod a; pub use a::X;"),
    ];
    let sources = root.map(|(path, text)| (path.to_owned(), text.to_owned()));
    assert!(Imports::of_sources(&sources.into()).circle().is_some());
}
