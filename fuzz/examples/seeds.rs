//! Writes the seeds of `pack_parse_then_use`.

use std::fs;
use std::path::Path;

use undertone_fuzz::assemble::{Depth, depth_section, lexicon_section, pack};

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
    let unknown = (*b"????", vec![7; 3]);
    let (depth, lexicon) = ((*b"DPTH", depth), (*b"LEXI", lexicon));
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds/pack_parse_then_use");
    fs::create_dir_all(&folder)?;
    for (name, sections) in [
        ("empty.pack", vec![]),
        ("depth.pack", vec![depth.clone()]),
        ("lexicon.pack", vec![lexicon.clone()]),
        ("all.pack", vec![lexicon, unknown, depth]),
    ] {
        fs::write(folder.join(name), pack(2, "seed encoder", &sections))?;
    }
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden/golden.pack");
    fs::copy(golden, folder.join("golden.pack"))?;
    Ok(())
}
