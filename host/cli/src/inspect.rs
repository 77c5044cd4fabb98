//! `undertone inspect`.

use std::path::Path;

use undertone::error::Result;
use undertone::release::document::{self, Method};
use undertone_core::epsilon::Epsilon;
use undertone_core::pack::Pack;
use undertone_core::select::Rule;

use crate::files::{print, read_pack};
use crate::quality;

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
            "scores      {} candidates, 0..={} a sentence, {} levels, exponent {}\n",
            scores.candidate_count(),
            scores.largest_score(),
            scores.level_count(),
            scores.exponent()
        );
    }
    if let Some(features) = pack.features() {
        let kinds = features.kinds();
        let kind = |set, name| if set { name } else { "" };
        text += &format!(
            "features    {}: {}{}runs of {}..={} characters{}\n",
            features.feature_count(),
            kind(kinds.words, "words, "),
            kind(kinds.pairs, "pairs of words, "),
            kinds.least,
            kinds.most,
            kind(features.is_alone(), "; no encoder"),
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
    text += &promises(&pack);
    if let Some(quality) = pack.quality() {
        text += &format!("\n{}\n", quality::table(&quality));
    }
    print(&text)
}

/// What releases with ε = 1 promise.
fn promises(pack: &Pack<'_>) -> String {
    let one: Epsilon = "1".parse().expect("1 is an epsilon");
    let Ok(document) = document::empty(pack) else {
        return String::new();
    };
    let loss = document.whole_text_epsilon(one, Rule::PermuteAndFlip);
    let mut text = format!(
        "promises    at epsilon 1, the sentence exchanged: 1; the whole text exchanged: {loss}\n"
    );
    if document.check_whole_text().is_ok() {
        text += "            by the whole-text or projective rule, the whole text exchanged: 1\n";
    }
    let served = |method: Method| method.served(Epsilon::MAX, pack.candidate_count());
    let flip = Method::Sentence(Rule::PermuteAndFlip);
    text += &format!("served      at most {} by permute-and-flip", served(flip));
    let exponential = Method::Sentence(Rule::Exponential);
    text += &format!(", {} by exponential", served(exponential));
    if document.check_whole_text().is_ok() {
        text += &format!(
            ", {} by whole-text, {} by projective",
            served(Method::WholeText),
            served(Method::Projective)
        );
    }
    text + "\n"
}
