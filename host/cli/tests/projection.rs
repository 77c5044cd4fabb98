//! `undertone project` on the command line.

use std::fs;

use serde_json::Value;
use undertone_core::pack::Pack;

use crate::common::{refuse_all, succeed};

/// Words on a plane in three dimensions, the longest difference along the first axis.
const VECTORS: &str =
    "north 4 0 0\nsouth -4 0 0\neast 0 1 0\nwest 0 -1 0\nhere 0 0 0\nthere 0 0 0\n";

#[test]
fn a_pack_comes_with_what_it_does_to_distances() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("plane.txt"), VECTORS).unwrap();
    for kind in ["pca", "orthonormal", "gaussian"] {
        succeed(
            folder.path(),
            format!("project --vectors plane.txt --dimension 2 --out plane.pack --kind {kind}"),
        );
        let bytes = fs::read(folder.path().join("plane.pack")).unwrap();
        let pack = Pack::parse(&bytes).unwrap();
        let section = pack.projection().unwrap();
        assert_eq!(
            (
                section.dimension(),
                section.row_count(),
                section.bound_exponent()
            ),
            (3, 2, 2)
        );

        let text = fs::read_to_string(folder.path().join("plane.certificate.json")).unwrap();
        let certificate: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(certificate["pack"], hex::encode(pack.id()));
        assert_eq!(
            (certificate["kind"].as_str(), certificate["seed"].is_null()),
            (Some(kind), kind == "pca")
        );
        let units = |scope: &str| {
            certificate[scope]["certified"]["units_of_2^-32"]
                .as_u64()
                .unwrap()
        };
        assert_eq!(
            units("every_vector"),
            section.sensitivity().unwrap().units()
        );
        // Both bounds are rounded up.
        assert!(units("vocabulary") <= units("every_vector") + 2);
        let vocabulary = &certificate["vocabulary"];
        assert_eq!(
            (
                vocabulary["pairs"].as_u64(),
                vocabulary["equal_pairs"].as_u64()
            ),
            (Some(15), Some(1))
        );
        if kind == "pca" {
            // All words lie on the plane.
            assert!((vocabulary["largest"].as_f64().unwrap() - 1.0).abs() < 1e-3);
            assert!(certificate["squared_distances_kept"].as_f64().unwrap() > 0.999);
        }
    }
}

#[test]
fn errors_say_what_is_wrong_and_leave_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("plane.txt", VECTORS);
    write("nan.txt", "a 1 2\nb nan 1\n");
    write("equal.txt", "a 1 2\nb 1 2\n");
    refuse_all(
        folder.path(),
        "project",
        "--vectors none.txt --dimension 1 --out a.pack => cannot open `none.txt`
        --vectors nan.txt --dimension 1 --out a.pack => `nan.txt`
        --vectors equal.txt --dimension 1 --out a.pack => no two of 2 word vectors differ
        --vectors plane.txt --dimension 0 --out a.pack => allowed are 1 to 3
        --vectors plane.txt --dimension 4 --out a.pack => allowed are 1 to 3
        --vectors plane.txt --dimension 2 --out no/such/a.pack => a.pack",
    );
}
