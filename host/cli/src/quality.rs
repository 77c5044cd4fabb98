//! How good a pack is, as a table.

use serde_json::{Value, json};
use undertone::pack::QualityData;
use undertone::release::document::epsilon_f64;
use undertone_core::quality::Quality;
use undertone_core::unit::Unit;

/// The shares of right releases, for programs: `null` where nothing was measured. `lengths` are
/// numbers of sentences, 0 for texts as they are.
pub(crate) fn numbers(quality: &QualityData) -> Value {
    let shares = |unit| -> Value {
        let row = |row| {
            let lengths = 0..quality.lengths.len();
            lengths
                .map(|length| quality.accuracy(unit, row, length))
                .collect::<Value>()
        };
        (0..quality.epsilons.len()).map(row).collect()
    };
    let epsilons = quality.epsilons.iter().map(|epsilon| epsilon_f64(*epsilon));
    json!({
        "epsilons": epsilons.collect::<Value>(),
        "lengths": quality.lengths,
        "sentence": shares(Unit::Sentence),
        "whole_text": shares(Unit::WholeText),
        "noiseless": quality.noiseless,
    })
}

/// The table that a pack carries.
pub(crate) fn table(quality: &Quality<'_>) -> String {
    rows(&QualityData::from_view(quality), None)
}

/// The percentages of releases that name the right candidate, for people who choose the privacy
/// unit. `of_one_sentence`: `[epsilons][lengths]`, the shares for releases of a drawn sentence.
pub(crate) fn rows(quality: &QualityData, of_one_sentence: Option<&[Vec<Option<f64>>]>) -> String {
    let percent = |accuracy: Option<f64>| match accuracy {
        Some(share) => format!("{:5.1}", 100.0 * share),
        None => "    –".to_owned(),
    };
    let mut text =
        "right releases in per cent, by the sentence rule | by the whole-text rule".to_owned();
    let mut width = 13;
    if of_one_sentence.is_some() {
        text += " | by one drawn sentence";
        width += 8;
    }
    text += "\nepsilon";
    for sentences in &quality.lengths {
        let name = match sentences {
            0 => "as they are".to_owned(),
            1 => "1 sentence".to_owned(),
            more => format!("{more} sentences"),
        };
        text += &format!("  {name:>width$}");
    }
    text += "  more often right as they are\n";
    for (row, epsilon) in quality.epsilons.iter().enumerate() {
        text += &format!("{:7}", epsilon_f64(*epsilon));
        let of = |unit, column| quality.accuracy(unit, row, column);
        for column in 0..quality.lengths.len() {
            let [sentence, whole] =
                [Unit::Sentence, Unit::WholeText].map(|unit| percent(of(unit, column)));
            text += &format!("  {sentence} | {whole}");
            if let Some(shares) = of_one_sentence {
                text += &format!(" | {}", percent(shares[row][column]));
            }
        }
        text += if of(Unit::WholeText, 0) > of(Unit::Sentence, 0) {
            "  whole text\n"
        } else {
            "  sentence\n"
        };
    }
    text += "   none";
    for noiseless in &quality.noiseless {
        text += &format!("  {:>width$}", percent(*noiseless));
    }
    text + "\n"
}
