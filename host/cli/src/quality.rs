//! How good a pack is, as a table.

use undertone::pack::QualityData;
use undertone::release::document::epsilon_f64;
use undertone_core::quality::Quality;
use undertone_core::unit::Unit;

/// The table that a pack carries.
pub(crate) fn table(quality: &Quality<'_>) -> String {
    rows(&QualityData::from_view(quality))
}

/// How often releases name the right candidate, in per cent. For people, who choose the unit of privacy.
pub(crate) fn rows(quality: &QualityData) -> String {
    let percent = |accuracy: Option<f64>| match accuracy {
        Some(share) => format!("{:5.1}", 100.0 * share),
        None => "    –".to_owned(),
    };
    let mut text =
        "right releases in per cent, by the sentence rule | by the whole-text rule\nepsilon"
            .to_owned();
    for sentences in &quality.lengths {
        let name = match sentences {
            0 => "as they are".to_owned(),
            1 => "1 sentence".to_owned(),
            more => format!("{more} sentences"),
        };
        text += &format!("  {name:>13}");
    }
    text += "  more often right as they are\n";
    for (row, epsilon) in quality.epsilons.iter().enumerate() {
        text += &format!("{:7}", epsilon_f64(*epsilon));
        let of = |unit, column| quality.accuracy(unit, row, column);
        for column in 0..quality.lengths.len() {
            let [sentence, whole] =
                [Unit::Sentence, Unit::WholeText].map(|unit| percent(of(unit, column)));
            text += &format!("  {sentence} | {whole}");
        }
        text += match of(Unit::WholeText, 0) > of(Unit::Sentence, 0) {
            true => "  whole text\n",
            false => "  sentence\n",
        };
    }
    text += "   none";
    for noiseless in &quality.noiseless {
        text += &format!("  {:>13}", percent(*noiseless));
    }
    text + "\n"
}
