//! Text of an answer.

use undertone_core::release::Mechanism;
use undertone_core::unit::Unit;
use undertone_report::number::{at_most, count, percent};
use undertone_report::visible;

use crate::forms;
use crate::labels::FEWEST_TO_TEST;

use super::{Answer, Difference, Estimated, OfAnswers, OfCandidates, OfLabels, Row, Slice};

/// Meaning and assumption of statement (a).
pub(crate) const OF_CANDIDATES: &str = "What the pack's own classifier would have said of the texts. This assumes nothing about the texts, only \
     that devices are honest. It is not the truth about them: a classifier errs.";

/// Meaning and assumption of shares of answers.
pub(crate) const OF_ANSWERS: &str = "What people answered; \"no answer\" is also what was none of the categories. This assumes nothing about the \
     answers, only that devices are honest.";

/// Meaning and assumption of statement (b).
pub(crate) const OF_LABELS: &str = "What the texts are about, if the texts with a label on the devices differ from the public ones as much as \
     parts of the public ones differ from each other.";

/// Meaning and assumption of statement (b) for texts exactly like the public ones.
pub(crate) const OF_LABELS_ALIKE: &str = "What the texts would be about if the texts with a label on the devices were exactly like the public \
     ones, and only the shares of labels differed. Texts of another year, author or product are not, so these intervals are too narrow for them.";

/// Most names of sources in a sentence.
const NAMED: usize = 8;

/// The sources that intervals allow for, in words.
pub(crate) fn sources(own: &OfLabels) -> String {
    match &own.sources {
        None => "These intervals do not allow for other texts: no sources of the public texts are known. They hold only if the texts on the \
                 devices are exactly like the public ones. Make the pack anew with this version, best with a field that names the source of each text."
            .to_owned(),
        Some(own) if own.guessed => "The parts that were compared are guessed: groups of similar public texts of each label. A field that names \
                                     real sources, such as the author, product or year, is better: make the pack anew with it."
            .to_owned(),
        Some(own) => {
            let names: Vec<String> = own.names.iter().take(NAMED).map(|name| visible(name)).collect();
            let others = own.names.len().saturating_sub(NAMED);
            let others = if others > 0 {
                format!(" and {} others", count(others as u64))
            } else {
                String::new()
            };
            format!("The parts that were compared: {}{others}.", names.join(", "))
        }
    }
}

/// Condition on the labelled texts of a question.
pub const OF_QUESTION: &str = "The labelled texts of the question must not be ones that the pack was made from: of texts that it knows, releases \
     are right more often, and the shares would come out wrong.";

const REFUTED: &str = "The texts on the devices are not as this assumes: releases of such texts would hardly ever look like this. The \
     guesses below are the best there are, but nobody can say how far off they are, so there are no intervals.";

pub(crate) const REMEDY: &str = "Public texts that are more like those on the devices would help.";

/// Result of the test of fit, in words.
pub(crate) fn fit(own: &OfLabels) -> String {
    if own.fit.refuted {
        return format!("{REFUTED} {REMEDY}");
    }
    if own.releases < FEWEST_TO_TEST {
        return format!(
            "Fewer than {FEWEST_TO_TEST} releases cannot show whether what this assumes is so."
        );
    }
    match (own.fit.probability, own.fit.noticeable) {
            (Some(probability), Some(noticeable)) => format!(
                "A test finds nothing against what this assumes: in {} of 100 such estimates the releases would agree less. It would have \
                 noticed, 9 times in 10, if {} % of the releases had other outcomes in a way that no shares of labels explain. It \
                 notices nothing that looks like other shares.",
                (100.0 * probability).round(),
                percent(noticeable)
            ),
            _ => "Whether this is so cannot be tested here: any releases look like those of some shares of labels.".to_owned(),
    }
}

const IMPOSSIBLE: &str = "Honest devices do not release like this, whatever their texts: some of these releases are forged, or were made with \
     another epsilon or pack than they say. The guesses below say nothing, and there are no intervals.";

/// The meaning of the shares of a pack, in words.
pub(crate) fn of_candidates(own: &OfCandidates) -> String {
    let honest = honest(&own.estimated);
    match own.places {
        None => honest,
        Some(places) => format!(
            "These are shares of sentences, one drawn from {places} places of each text: a text of fewer sentences \
             counts as \"nothing known\" for the rest. {honest}"
        ),
    }
}

/// Whether devices can be honest, in words.
pub(crate) fn honest(own: &Estimated) -> String {
    let forged = forged(own.one_forged_release_moves);
    if own.possible {
        forged
    } else {
        format!("{IMPOSSIBLE} {forged}")
    }
}

/// The influence of forgers, in words.
pub(crate) fn forged(moved: f64) -> String {
    format!(
        "One forged release moves an unbiased guess of a share by at most {} percentage points.",
        at_most(100.0 * moved, 3)
    )
}

/// A level in percent with all of its digits: rounded, 99.9999 would be 100.
fn level(level: f64) -> String {
    let digits = level.to_string();
    match digits.strip_prefix("0.") {
        Some(digits) => {
            let digits = format!("{digits:0<3}");
            let (whole, rest) = digits.split_at(2);
            format!("{whole}.{rest}")
        }
        None => percent(level),
    }
}

/// How likely a release may make one of two inputs that were equally likely before, in percent,
/// rounded up to one decimal.
pub(crate) fn likely(epsilon: f64) -> f64 {
    (1000.0 / (1.0 + (-epsilon).exp())).ceil() / 10.0
}

/// Privacy of one release, in words: for each unit, at the largest ε of its kinds.
pub(crate) fn privacy(answer: &Answer) -> String {
    let largest = |of: fn(Mechanism) -> bool| {
        let kinds = answer.kinds.iter();
        let kinds = kinds.filter(|kind| Mechanism::from_number(kind.mechanism).is_some_and(of));
        kinds.map(|kind| kind.epsilon).reduce(f64::max)
    };
    let is_whole = |own: Mechanism| own.unit() == Unit::WholeText;
    let units = [
        (
            "whole texts",
            largest(|own| own.unit() == Unit::WholeText && own != Mechanism::Answer),
        ),
        ("lists of answers", largest(|own| own == Mechanism::Answer)),
        ("sentences", largest(|own| own.unit() != Unit::WholeText)),
    ];
    let sentences = units.into_iter().filter_map(|(unit, epsilon)| {
        let epsilon = epsilon?;
        let likely = likely(epsilon);
        Some(format!(
            "At epsilon {epsilon}, a release may make one of two {unit} that were equally likely before up to {likely} % likely."
        ))
    });
    let mut sentences: Vec<String> = sentences.collect();
    if let Some(epsilon) = largest(is_whole) {
        sentences.push(format!(
            "Each release of a device costs the person epsilon {epsilon}, and a single line as much, or less if the device drew it \
             among several lines."
        ));
    }
    if !published(answer).is_empty() {
        sentences.push("Below stands what the published counts alone reveal.".to_owned());
    }
    sentences.join(" ")
}

/// A number of releases, in words.
pub(crate) fn releases(number: u64) -> String {
    match number {
        1 => "1 release".to_owned(),
        more => format!("{} releases", count(more)),
    }
}

/// The confidence of intervals, in words.
pub(crate) fn sure(answer: &Answer) -> String {
    let level = level(answer.level);
    if answer.at_once {
        format!("All intervals together are right {level} % of the time.")
    } else {
        format!("Each interval is right {level} % of the time, all of them together less often.")
    }
}

pub(crate) fn slice(names: &[String], slice: &Slice) -> String {
    match slice {
        None => "all".to_owned(),
        Some(values) => {
            let values = names
                .iter()
                .zip(values)
                .map(|(name, value)| match value.as_str() {
                    "" => format!("{} \"\"", visible(name)),
                    value => visible(&format!("{name} {value}")),
                });
            values.collect::<Vec<_>>().join(", ")
        }
    }
}

/// The rows with the largest shares, and the number of the others. "Nothing known" is always shown
/// last.
pub(crate) fn most(rows: &[Row], top: usize, last: bool) -> (Vec<&Row>, usize) {
    let (rows, rest) = match (last, rows) {
        (true, [rows @ .., rest]) => (rows, Some(rest)),
        _ => (rows, None),
    };
    let mut sorted: Vec<&Row> = rows.iter().collect();
    // A stable sort: equal rows keep their order.
    sorted.sort_by(|a, b| b.share.abs().total_cmp(&a.share.abs()));
    let others = sorted.len().saturating_sub(top);
    sorted.truncate(top);
    sorted.extend(rest);
    (sorted, others)
}

/// The share of a row in percent; a share that rounds to an end of its interval is bounded instead.
pub(crate) fn share(row: &Row) -> String {
    let ends = row
        .low
        .zip(row.high)
        .map(|(low, high)| [percent(low), percent(high)]);
    match (percent(row.share), ends) {
        (share, Some([low, high])) if low != high && share == low => format!("> {share}"),
        (share, Some([low, high])) if low != high && share == high => format!("< {share}"),
        (share, _) => share,
    }
}

/// `[low, high]` of a row in percent.
pub(crate) fn interval(row: &Row) -> Option<String> {
    let (low, high) = (row.low?, row.high?);
    Some(format!("{} to {}", percent(low), percent(high)))
}

fn table(rows: &[Row], top: usize, last: bool) -> String {
    let (rows, others) = most(rows, top, last);
    let names: Vec<String> = rows.iter().map(|row| visible(&row.name)).collect();
    let widest = names.iter().map(|name| name.chars().count()).max();
    let widest = widest.unwrap_or(0).min(40);
    let mut text = String::new();
    for (row, name) in rows.iter().zip(names) {
        text += &format!(
            "    {name:widest$}  {:>6} %   {}\n",
            share(row),
            interval(row).unwrap_or_else(|| "no interval".to_owned())
        );
    }
    if others > 0 {
        text += &format!("    and {} others\n", count(others as u64));
    }
    text
}

pub(crate) fn text(answer: &Answer, top: usize) -> String {
    let mut text = format!("{}\n", releases(answer.releases));
    for kind in &answer.kinds {
        text += &format!("  {}: {}\n", count(kind.releases), kind.name);
    }
    for own in &answer.left_out {
        text += &format!(
            "  left out {}: {}: {}\n",
            count(own.releases),
            own.kind,
            own.reason
        );
    }
    text += &format!("{}\n", sure(answer));
    if !answer.candidates.is_empty() {
        text += &format!("\nSHARES OF CANDIDATES. {OF_CANDIDATES}\n");
    }
    for own in &answer.candidates {
        text += &format!("\n  {}. {}\n", classified(answer, own), of_candidates(own));
        text += &table(&own.estimated.shares, top, true);
    }
    if !answer.answers.is_empty() {
        text += &format!("\nSHARES OF ANSWERS. {OF_ANSWERS}\n");
    }
    for own in &answer.answers {
        text += &format!(
            "\n  {}. {}\n",
            answered(answer, own),
            honest(&own.estimated)
        );
        text += &table(&own.estimated.shares, top, true);
    }
    let chapters = [
        (&answer.labels, "SHARES OF LABELS", OF_LABELS),
        (
            &answer.labels_alike,
            "IF TEXTS WERE EXACTLY LIKE THE PUBLIC ONES",
            OF_LABELS_ALIKE,
        ),
    ];
    for (tables, title, meaning) in chapters {
        if tables.is_empty() {
            continue;
        }
        text += &format!("\n{title}. {meaning}\n");
        if answer.question {
            text += &format!("{OF_QUESTION}\n");
        }
        for own in tables {
            text += &format!(
                "\n  {}: {}. {}\n  {}\n",
                slice(&answer.slices, &own.slice),
                releases(own.releases),
                forged(own.one_forged_release_moves),
                fit(own)
            );
            if title == chapters[0].1 {
                text += &format!("  {}\n", sources(own));
            }
            text += &table(&own.shares, top, false);
        }
    }
    if !answer.differences.is_empty() {
        text += &format!(
            "\nDIFFERENCES, in percentage points. {}\n",
            together(answer)
        );
    }
    for own in &answer.differences {
        text += &format!("\n  {}\n", compared(answer, own));
        text += &table(&own.shares, top, own.of != "labels").replace(" %   ", "   ");
    }
    let published = published(answer);
    if !published.is_empty() {
        text += &format!("\nPUBLISHED COUNTS. {OF_PUBLISHED}\n\n");
    }
    for own in published {
        text += &format!("  {own}\n");
    }
    for problem in &answer.unanswered {
        text += &format!("\nNot answered: {}\n", visible(problem));
    }
    text
}

/// The confidence of differences, in words.
pub(crate) fn together(answer: &Answer) -> String {
    format!(
        "All these intervals together are right {} % of the time. An interval on one side of 0 is a difference; one with 0 inside may be none.",
        level(answer.level)
    )
}

/// Meaning of published counts.
pub const OF_PUBLISHED: &str = "What the counts of whole-text releases reveal of one text to somebody who sees the counts alone, and not which device \
     sent what. Replacing the text by any other changes the probability of the counts by at most a factor e^epsilon, but for delta. The other \
     devices must be honest: forged releases hide nobody. Several releases of one text add up. Whoever receives the releases themselves learns of each what its own epsilon \
     allows. For releases by the sentence rule nothing of the kind holds.";

/// Privacy of one text in published counts; no ε if it is that of one release.
pub(crate) fn hidden(epsilon: Option<f64>, delta: f64) -> String {
    match epsilon {
        Some(epsilon) => format!(
            "epsilon {}, delta {}",
            at_most(epsilon, 3),
            at_most(delta, 3)
        ),
        None => "too few to hide one, so its own epsilon".to_owned(),
    }
}

/// Privacy of published counts, for each kind of whole-text releases.
pub(crate) fn published(answer: &Answer) -> Vec<String> {
    let smallest = if answer.slices.is_empty() {
        ""
    } else {
        " in the smallest slice"
    };
    let kinds = answer.kinds.iter();
    let own = kinds.filter_map(|kind| Some((kind, kind.published.as_ref()?)));
    own.map(|(kind, own)| {
        let limit = hidden(Some(own.epsilon).filter(|_| own.delta > 0.0), own.delta);
        format!(
            "{}: {}{smallest}: {limit}.",
            kind.name,
            releases(own.releases)
        )
    })
    .collect()
}

/// The slices that are compared, in words.
pub(crate) fn compared(answer: &Answer, own: &Difference) -> String {
    let [first, second] = [&own.first, &own.second].map(|own| slice(&answer.slices, own));
    let of = if own.attributes.is_empty() {
        own.of.to_owned()
    } else {
        visible(&forms::title(&own.attributes))
    };
    format!("shares of {of}: {second}, less {first}")
}

/// The slice of a table of candidates, its releases and its pack, in words.
pub(crate) fn classified(answer: &Answer, own: &OfCandidates) -> String {
    format!(
        "{}: {} of pack {}",
        slice(&answer.slices, &own.estimated.slice),
        releases(own.estimated.releases),
        own.pack
    )
}

/// The question of a table, its slice and its releases, in words.
pub(crate) fn answered(answer: &Answer, own: &OfAnswers) -> String {
    format!(
        "{}, {}: {} of form {}",
        visible(&forms::title(&own.attributes)),
        slice(&answer.slices, &own.estimated.slice),
        releases(own.estimated.releases),
        own.form
    )
}

#[cfg(test)]
mod tests {
    use super::level;

    #[test]
    fn a_level_of_many_nines_is_not_100_percent() {
        let said = [0.5, 0.9, 0.95, 0.995, 0.999_999_999_999].map(level);
        assert_eq!(said, ["50.0", "90.0", "95.0", "99.5", "99.9999999999"]);
    }
}
