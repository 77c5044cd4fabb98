//! Writes packs to the corpus of `pack_parse_then_use`.

use std::fs;
use std::path::Path;

use undertone_fuzz::assemble::{
    Depth, Layer, Recoder, Scores, depth_section, lexicon_section, pack, projection_section,
    recoder_section, scores_section,
};

fn main() -> std::io::Result<()> {
    let depth = depth_section(&Depth {
        exponent: 8,
        shift: 3,
        directions: vec![vec![5, -300], vec![-32768, 32767]],
        boundaries: vec![
            (-127..128).collect(),
            (-127..128).map(|x| x * 9000).collect(),
        ],
        codes: vec![vec![0, 255, 128, 127, 1], vec![3, 1, 4, 1, 5]],
    });
    let lexicon = lexicon_section(
        -8,
        &[
            ("apple".into(), 50_000, vec![100, -100]),
            ("été".into(), 1, vec![-128, 127]),
        ],
    );
    let scores = |exponent: i32, thresholds: Vec<i32>| {
        let section = scores_section(&Scores {
            exponent,
            centre: vec![3, -4],
            weights: vec![vec![127, -128], vec![0, 1], vec![-5, 0]],
            bias: vec![0, i32::MIN, 300],
            thresholds,
            levels: 0,
            featured: false,
        });
        (*b"SCOR", section)
    };
    let recoder = recoder_section(&Recoder {
        exponent: 8,
        layers: vec![
            Layer {
                weights: vec![vec![32767, -1], vec![-32768, 2], vec![1, 1]],
                bias: vec![-500, i64::MAX, 0],
                shift: 10,
            },
            Layer {
                weights: vec![vec![1, 2, 3], vec![-3, 2, 1]],
                bias: vec![i64::MIN, 40],
                shift: 2,
            },
        ],
    });
    let recoder = (*b"RCOD", recoder);
    let recoded_depth = depth_section(&Depth {
        exponent: 0,
        shift: 2,
        directions: vec![vec![1, -1]],
        boundaries: vec![(-127..128).collect()],
        codes: vec![vec![0, 255, 128]],
    });
    let recoded_depth = (*b"DPTH", recoded_depth);
    let rows = [vec![300, 400], vec![-400, 300], vec![i16::MIN, i16::MAX]];
    let projection = (*b"PROJ", projection_section(-9, 1, &rows));
    let unknown = (*b"????", vec![7; 3]);
    let (depth, lexicon) = ((*b"DPTH", depth), (*b"LEXI", lexicon));
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/pack_parse_then_use");
    fs::create_dir_all(&folder)?;
    for (name, sections) in [
        ("empty.pack", vec![]),
        ("depth.pack", vec![depth.clone()]),
        ("lexicon.pack", vec![lexicon.clone()]),
        ("scores.pack", vec![scores(8, vec![-700, 20_000, 0])]),
        ("vote.pack", vec![scores(-3, vec![]), depth.clone()]),
        (
            "recoder.pack",
            vec![
                recoder.clone(),
                scores(0, (0..255).map(|i| i * 100).collect()),
                lexicon.clone(),
            ],
        ),
        ("projection.pack", vec![projection]),
        ("recoded-depth.pack", vec![recoder, recoded_depth]),
        ("all.pack", vec![lexicon, unknown, depth]),
    ] {
        fs::write(folder.join(name), pack(2, "seed encoder", &sections))?;
    }
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden");
    for name in [
        "golden.pack",
        "golden-scores.pack",
        "golden-recoded.pack",
        "golden-features.pack",
        "golden-vectors.pack",
    ] {
        fs::copy(golden.join(name), folder.join(name))?;
    }
    Ok(())
}
