//! Every stored input of a fuzz target, through the function that the target calls.

use std::fs::File;
use std::io::Read;
use std::panic::catch_unwind;
use std::path::Path;

use flate2::read::GzDecoder;
use tar::Archive;
use undertone_core::pack::Pack;

/// The inputs in a target's archive, with their names.
fn inputs(target: &str) -> Vec<(String, Vec<u8>)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("corpora")
        .join(format!("{target}.tar.gz"));
    let file = File::open(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    Archive::new(GzDecoder::new(file))
        .entries()
        .expect("an archive")
        .map(|entry| {
            let mut entry = entry.expect("an entry");
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes).expect("a whole entry");
            let name = entry.path().expect("a name").display().to_string();
            (name, bytes)
        })
        .collect()
}

#[test]
fn inputs_pass() {
    let mut failed = Vec::new();
    for &(target, body) in undertone_fuzz::TARGETS {
        let inputs = inputs(target);
        assert!(!inputs.is_empty(), "{target} has no inputs");
        body(b"");
        for (name, bytes) in inputs {
            if catch_unwind(|| body(&bytes)).is_err() {
                failed.push(format!("{target}: {name}"));
            }
        }
    }
    assert!(
        failed.is_empty(),
        "these inputs fail, see above: {failed:#?}"
    );
}

/// Packs that no longer parse would leave the fuzzer outside.
#[test]
fn stored_packs_parse() {
    let mut packs = inputs("pack_parse_then_use");
    packs.retain(|(name, _)| name.ends_with(".pack"));
    assert!(packs.len() >= 16, "only {} packs", packs.len());
    for (name, bytes) in packs {
        assert!(
            Pack::parse(&bytes).is_ok(),
            "{name}: {:?}",
            Pack::parse(&bytes)
        );
    }
}
