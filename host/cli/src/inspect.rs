//! `undertone inspect`.

use std::path::Path;

use undertone::error::Result;

use crate::files::{print, read_pack};

pub(crate) fn run(path: &Path) -> Result<()> {
    let pack = read_pack(path)?;
    let mut text = format!(
        "digest      {}\nencoder     {} ({})\ndimension   {}\n",
        hex::encode(pack.digest()),
        pack.encoder_name(),
        hex::encode(pack.encoder_digest()),
        pack.dimension(),
    );
    if let Some(recoder) = pack.recoder() {
        text += &format!("recoder     {} coordinates\n", recoder.width());
    }
    if let Some(scores) = pack.scores() {
        text += &format!(
            "scores      {} candidates, 0..={} a sentence, exponent {}\n",
            scores.candidate_count(),
            scores.largest_score(),
            scores.exponent()
        );
    }
    if let Some(depth) = pack.depth() {
        text += &format!(
            "depth       {} candidates, {} directions, exponent {}\n",
            depth.candidate_count(),
            depth.direction_count(),
            depth.exponent()
        );
    }
    if let Some(lexicon) = pack.lexicon() {
        text += &format!(
            "lexicon     {} words, {} phrases, exponent {}\n",
            lexicon.word_count(),
            lexicon.phrase_count(),
            lexicon.exponent()
        );
    }
    if let Some(projection) = pack.projection() {
        text += &format!(
            "projection  to {} coordinates, sensitivity {}\n",
            projection.row_count(),
            projection
                .sensitivity()
                .map_or("above 4096".to_owned(), |delta| delta.to_string())
        );
    }
    print(&text)
}
