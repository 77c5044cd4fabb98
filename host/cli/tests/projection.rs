//! `undertone project` on the command line.

use undertone_core::pack::Pack;

use crate::common::{Folder, json, near};

/// Words on a plane in three dimensions, the longest difference along the first axis.
const VECTORS: &str =
    "north 4 0 0\nsouth -4 0 0\neast 0 1 0\nwest 0 -1 0\nhere 0 0 0\nthere 0 0 0\n";

#[test]
fn a_pack_comes_with_what_it_does_to_distances() {
    let folder = Folder::new();
    folder.write("plane.txt", VECTORS);
    for kind in ["pca", "orthonormal", "gaussian"] {
        let project = "project --vectors plane.txt --dimension 2 --out plane.pack --kind";
        folder.succeed(format!("{project} {kind}"));
        let bytes = folder.bytes("plane.pack");
        let pack = Pack::parse(&bytes).unwrap();
        let section = pack.projection().unwrap();
        assert_eq!((section.dimension(), section.row_count()), (3, 2));
        assert_eq!(section.bound_exponent(), 2);

        let certificate = json(folder.text("plane.certificate.json"));
        assert_eq!(certificate["pack"], hex::encode(pack.id()));
        assert_eq!(certificate["kind"], kind);
        assert_eq!(certificate["seed"].is_null(), kind == "pca");
        let units = |scope: &str| {
            certificate[scope]["certified"]["units_of_2^-32"]
                .as_u64()
                .unwrap()
        };
        let certified = section.sensitivity().unwrap().units();
        assert_eq!(units("every_vector"), certified);
        // Both bounds are rounded up.
        assert!(units("vocabulary") <= certified + 2);
        let vocabulary = &certificate["vocabulary"];
        assert_eq!([&vocabulary["pairs"], &vocabulary["equal_pairs"]], [15, 1]);
        if kind == "pca" {
            // All words lie on the plane.
            near(&vocabulary["largest"], 1.0, 1e-3);
            assert!(certificate["squared_distances_kept"].as_f64().unwrap() > 0.999);
        }
    }
}

#[test]
fn errors_say_what_is_wrong_and_leave_nothing() {
    let folder = Folder::new();
    folder.write("plane.txt", VECTORS);
    folder.write("nan.txt", "a 1 2\nb nan 1\n");
    folder.write("equal.txt", "a 1 2\nb 1 2\n");
    folder.refuse_all(
        "project",
        "--vectors none.txt --dimension 1 --out a.pack => cannot open `none.txt`
        --vectors nan.txt --dimension 1 --out a.pack => `nan.txt`
        --vectors equal.txt --dimension 1 --out a.pack => no two of 2 word vectors differ
        --vectors plane.txt --dimension 0 --out a.pack => allowed are 1 to 3
        --vectors plane.txt --dimension 4 --out a.pack => allowed are 1 to 3",
    );
}
