//! Every stored input of a fuzz target, through the function that the target calls.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::panic::catch_unwind;
use std::path::Path;

use flate2::read::GzDecoder;
use tar::Archive;
use undertone_core::pack::Pack;

/// The stored inputs of each target, with their names.
fn inputs() -> BTreeMap<String, Vec<(String, Vec<u8>)>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpora.tar.gz");
    let file = File::open(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut inputs = BTreeMap::<_, Vec<_>>::new();
    for entry in Archive::new(GzDecoder::new(file))
        .entries()
        .expect("an archive")
    {
        let mut entry = entry.expect("an entry");
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).expect("a whole entry");
        let path = entry.path().expect("a name").display().to_string();
        let (target, name) = path.split_once('/').expect("a folder for each target");
        inputs
            .entry(target.to_owned())
            .or_default()
            .push((name.to_owned(), bytes));
    }
    inputs
}

#[test]
fn inputs_pass() {
    let mut failed = Vec::new();
    let mut inputs = inputs();
    for &(target, body) in undertone_fuzz::TARGETS {
        let inputs = inputs
            .remove(target)
            .unwrap_or_else(|| panic!("{target} has no inputs"));
        body(b"");
        for (name, bytes) in inputs {
            if catch_unwind(|| body(&bytes)).is_err() {
                failed.push(format!("{target}: {name}"));
            }
        }
    }
    #[cfg(feature = "host")]
    assert_eq!(inputs.keys().next(), None, "inputs of no target");
    assert!(
        failed.is_empty(),
        "these inputs fail, see above: {failed:#?}"
    );
}

/// Packs that no longer parse would leave the fuzzer outside.
#[test]
fn stored_packs_parse() {
    let mut packs = inputs().remove("pack_parse_then_use").expect("inputs");
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
