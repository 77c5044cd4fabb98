//! `undertone lexicon project`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde_json::json;
use sha2::{Digest, Sha256};
use undertone::encoder::EncoderIdentity;
use undertone::error::Result;
use undertone::files::atomic::AtomicFile;
use undertone::lexicon::word_vectors::Vectors;
use undertone::pack::projection::{self, PrincipalDirections};
use undertone_core::laplace::Sensitivity;
use undertone_core::pack::Pack;

use crate::args::whole;
use crate::paths::Paths;

#[derive(Args)]
pub(super) struct Arguments {
    /// Public word vectors: a text file, .txt or .vec, gzipped or not; or a .npy matrix whose words
    /// are in NAME.vocab.txt in the same folder.
    #[arg(long, value_name = "FILE")]
    vectors: PathBuf,
    /// How the rows are chosen.
    #[arg(long, value_enum, default_value_t = Kind::Pca)]
    kind: Kind,
    /// Number of rows: the coordinates of a release.
    #[arg(long, value_name = "M", value_parser = whole::<usize>)]
    dimension: usize,
    /// Seed of random rows.
    #[arg(long, default_value_t = 1, value_parser = whole::<u64>)]
    seed: u64,
    /// The pack. NAME.certificate.json states how far the projection stretches distances.
    #[arg(short, long, value_name = "FILE")]
    out: PathBuf,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// The principal directions of the vectors.
    Pca,
    /// Random rows at right angles.
    Orthonormal,
    /// Independent Gaussian entries of variance 1/M, as published.
    Gaussian,
}

pub(super) fn run(arguments: &Arguments) -> Result<()> {
    let beside = arguments.out.with_extension("certificate.json");
    let paths = Paths::default().vectors("--vectors", &arguments.vectors);
    paths.outputs("--out", [&arguments.out, &beside]).check()?;
    AtomicFile::check(&arguments.out)?;
    AtomicFile::check(&beside)?;
    let vectors = Vectors::open(&arguments.vectors)?;
    let (n, m) = (vectors.dimension, arguments.dimension);
    let rows = &vectors.vectors;
    let projection = match arguments.kind {
        Kind::Pca => PrincipalDirections::fit(rows, n)?.first(m)?,
        Kind::Orthonormal => projection::orthonormal(n, m, arguments.seed)?,
        Kind::Gaussian => projection::gaussian(n, m, arguments.seed)?,
    };
    let every = projection.sensitivity()?;
    let pairs = projection::pair_certificates(rows, n, &[&projection])?[0];

    let digest: Sha256 = rows.iter().fold(Sha256::new(), |hash, x| {
        hash.chain_update(x.to_bits().to_le_bytes())
    });
    let encoder = EncoderIdentity {
        name: format!("words:{}", vectors.name),
        digest: digest.finalize().into(),
    };
    let largest = rows.iter().fold(0f32, |most, x| most.max(x.abs()));
    let pack = projection.pack(&encoder, largest.log2().ceil() as i32)?;
    let id = Pack::parse(&pack).map_err(undertone::Error::from)?.id();

    let delta = |sensitivity: Sensitivity| {
        json!({
            "sensitivity": sensitivity.to_string(),
            "units_of_2^-32": sensitivity.units(),
        })
    };
    let kind = arguments.kind.to_possible_value();
    let certificate = json!({
        "pack": hex::encode(id),
        "vectors": vectors.name,
        "kind": kind.as_ref().map(|kind| kind.get_name()),
        "seed": (arguments.kind != Kind::Pca).then_some(arguments.seed),
        "rows": m,
        "coordinates": n,
        "every_vector": {
            "certified": delta(every),
            "by": "the largest row sum of |PHI PHI^T| (Gershgorin), as a device computes it from the pack",
            "norm": projection.norm(),
        },
        "vocabulary": {
            "certified": delta(pairs.sensitivity),
            "by": "the largest |PHI (v - w)| / |v - w| over all pairs of different vectors",
            "valid_for": "the words of these vectors only",
            "words": vectors.words.len(),
            "largest": pairs.maximum,
            "pair": [&vectors.words[pairs.pair.0], &vectors.words[pairs.pair.1]],
            "pairs": pairs.pairs,
            "equal_pairs": pairs.equal,
        },
        "squared_distances_kept": projection.share(rows),
    });
    let certificate = AtomicFile::settled(&beside, format!("{certificate:#}\n").as_bytes())?;
    let written = AtomicFile::settled(&arguments.out, &pack)?;
    certificate.commit()?;
    written.commit()?;
    note!(
        "{m} of {n} coordinates, {:.1} % of squared distances\n\
         noise for every vector: sensitivity {every}\n\
         noise for these {} words: sensitivity {} ({}, {})",
        100.0 * projection.share(rows),
        vectors.words.len(),
        pairs.sensitivity,
        vectors.words[pairs.pair.0],
        vectors.words[pairs.pair.1],
    );
    Ok(())
}
