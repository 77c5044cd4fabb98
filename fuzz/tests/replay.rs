//! Every seed, and every input that failed once, through the function that its target calls.

use std::fs;
use std::panic::catch_unwind;
use std::path::Path;

use undertone_core::pack::Pack;

fn seeds(target: &str) -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("seeds")
        .join(target);
    let mut seeds: Vec<_> = fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| {
            let path = entry.expect("a readable folder").path();
            (
                path.display().to_string(),
                fs::read(&path).expect("a readable seed"),
            )
        })
        .collect();
    seeds.sort();
    seeds
}

#[test]
fn seeds_pass() {
    for &(target, body) in undertone_fuzz::TARGETS {
        let seeds = seeds(target);
        assert!(!seeds.is_empty(), "{target} has no seeds");
        body(b"");
        for (path, bytes) in seeds {
            assert!(
                catch_unwind(|| body(&bytes)).is_ok(),
                "{path} fails; see above"
            );
        }
    }
}

/// Packs that no longer parse would leave the fuzzer outside.
#[test]
fn seed_packs_parse() {
    for (path, bytes) in seeds("pack_parse_then_use") {
        if path.ends_with(".pack") {
            assert!(
                Pack::parse(&bytes).is_ok(),
                "{path}: {:?}",
                Pack::parse(&bytes)
            );
        }
    }
}
