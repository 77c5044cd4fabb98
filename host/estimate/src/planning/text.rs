//! Text of a plan.

use undertone::release::budget::{self, Unit, rounded};
use undertone::release::document::epsilon_f64;
use undertone_core::release::Mechanism;
use undertone_core::select::MAX_CANDIDATES;
use undertone_report::number::{count, number, percent};
use undertone_report::visible;

use super::{DAYS, Month, Of, Plan, Way};
use crate::answer::{OF_PUBLISHED, OF_QUESTION, hidden, likely};
use crate::counts::Kind;
use crate::shares::is_whole_text;

/// Numbers of devices within this factor count as about equal.
const NEAR: f64 = 1.2;

/// The best way of each group.
pub(super) fn best_ways(plan: &Plan) -> impl Iterator<Item = &Way> {
    // They are sorted by group.
    let groups = plan.ways.chunk_by(|a, b| a.group() == b.group());
    groups.map(best)
}

/// The number of devices that the best way of each group requires, in words. `never`: only of
/// groups for which no number suffices.
pub(super) fn required(plan: &Plan, never: bool) -> Vec<String> {
    let ways = best_ways(plan).filter(|best| !never || best.devices.is_none());
    let lines = ways.map(|best| {
        let epsilon = best.kind.epsilon();
        let texts = match best.sentences {
            None => String::new(),
            Some(sentences) => format!(" and {}", length(sentences)),
        };
        let what = what(best.shares_of);
        match best.devices {
            Some(needed) => format!(
                "At epsilon {epsilon}{texts}, {what} within {} points take {} devices, with {}.",
                points(plan.within),
                count(needed),
                unit(best.kind)
            ),
            None => format!(
                "At epsilon {epsilon}{texts}, no number of devices gives {what} within {} points: ± {} is the limit{}; {} come nearest.",
                points(plan.within),
                points(best.limit),
                match best.shares_of {
                    Of::Labels => " from these public texts. Take more labelled texts, or ask for less",
                    Of::Candidates => ". Ask for less",
                },
                unit(best.kind)
            ),
        }
    });
    let rule = "Where both take about as many devices, take whole-text releases.";
    lines.chain((!never).then(|| rule.to_owned())).collect()
}

/// Privacy of a release and of a month, in words.
pub(super) fn advice(plan: &Plan) -> Vec<String> {
    let mut lines = Vec::new();
    let mut epsilons: Vec<_> = plan.ways.iter().map(|way| way.kind.epsilon()).collect();
    epsilons.sort_unstable();
    epsilons.dedup();
    lines.extend(epsilons.into_iter().map(|epsilon| {
        format!(
            "At epsilon {epsilon}, a release may make one of two texts that were equally likely before up to {} % likely; a sentence \
             release, one of two sentences.",
            likely(epsilon_f64(epsilon))
        )
    }));
    lines.extend(plan.months.iter().map(cost));
    lines
}

/// The privacy cost to a user of a month of daily releases, in words.
fn cost(month: &Month) -> String {
    let of = |wanted: Unit| {
        let own = month.kinds.iter().filter(|own| own.unit == wanted);
        let named = own.map(|own| {
            let with = own.with_delta.map_or("never".to_owned(), rounded);
            format!("{with} by {}", own.kind)
        });
        named.collect::<Vec<_>>().join(", ")
    };
    let whole = match of(Unit::WholeText) {
        none if none.is_empty() => String::new(),
        own => format!("; for a whole text {own}"),
    };
    let epsilon = month.of_release;
    format!(
        "A release each day for a month costs a user {DAYS} × {epsilon} = {} of epsilon. With delta {:e} it is, for a sentence, {}{whole}. \
         One release in the month, on a day drawn beforehand, costs {epsilon}.{}",
        month.sum,
        month.delta,
        of(Unit::Sentence),
        served(month)
    )
}

/// The mechanisms that draw a month's releases, if some use a smaller ε.
fn served(month: &Month) -> String {
    let less = month.kinds.iter().filter_map(|own| {
        let budget::Mechanism::Document(method) = own.kind else {
            return None;
        };
        let served = method.served(month.of_release, MAX_CANDIDATES);
        let less = served.0 < month.of_release.micro().into();
        less.then(|| format!("{served} by {}", own.kind))
    });
    let less: Vec<String> = less.collect();
    if less.is_empty() {
        return String::new();
    }
    format!(" Not all of it is served: {}.", less.join(", "))
}

/// The assumptions of the plan.
pub(super) fn assumed(plan: &Plan) -> String {
    let asked = &plan.asked;
    let labels = if plan.allows {
        "Shares of labels allow for texts that differ from the public ones as much as parts of these differ from each other."
    } else {
        "Shares of labels assume texts exactly like the public ones, because no sources of these are known; make the pack anew with this \
         version."
    };
    let shares = if asked.shares.is_empty() {
        "all shares are equal".to_owned()
    } else {
        format!(
            "the shares are {}, and all others equal",
            asked.shares.join(", ")
        )
    };
    let question = if asked.question {
        format!(" {OF_QUESTION}")
    } else {
        String::new()
    };
    format!(
        "Guessed: {shares}. Points are percentage points to either side of the least precise share, 95 % of the time. Shares of candidates \
         are what the pack's classifier would have said, and assume nothing about texts. {labels}{question}"
    )
}

pub(super) fn text(plan: &Plan) -> String {
    let mut text = format!("{}\n\n", assumed(plan));
    for line in required(plan, false).into_iter().chain(advice(plan)) {
        text += &format!("{line}\n");
    }
    let head = format!("± {} points", points(plan.within));
    // Lengths are a column only if they differ.
    let by_length = plan.by_length();
    let lengths = |cell: &str| {
        if by_length {
            format!("{cell:>9}  ")
        } else {
            String::new()
        }
    };
    text += &format!(
        "\n{:8}  {:10}  {}{:14}  {head:>16}",
        "epsilon",
        "shares of",
        lengths("sentences"),
        "releases of"
    );
    for devices in &plan.asked.devices {
        text += &format!("  {:>12}", count(*devices));
    }
    text += "\n";
    for way in &plan.ways {
        let needed = way.devices.map_or("never".to_owned(), count);
        text += &format!(
            "{:8}  {:10}  {}{:14}  {needed:>16}",
            way.kind.epsilon().to_string(),
            short(way.shares_of),
            lengths(&sentences(way)),
            unit_short(way.kind)
        );
        for own in &way.precision {
            text += &format!("  {:>12}", format!("± {}", points(own.within)));
        }
        text += "\n";
    }
    let published = published(plan);
    if !published.is_empty() {
        text += &format!("\n{OF_PUBLISHED}\n");
    }
    for line in published {
        text += &format!("  {line}\n");
    }
    for problem in &plan.unanswered {
        text += &format!("\nNot planned: {}\n", visible(problem));
    }
    text
}

/// Privacy of published counts, for each kind of whole-text releases.
pub(super) fn published(plan: &Plan) -> Vec<String> {
    let ways = plan.ways.iter();
    let all = ways.flat_map(|way| way.published.iter().map(move |own| (way, own)));
    all.map(|(way, own)| {
        format!(
            "{} devices, epsilon {}, {}: {}",
            count(own.devices),
            way.kind.epsilon(),
            unit_short(way.kind),
            hidden(own.epsilon, own.delta)
        )
    })
    .collect()
}

/// The answer in one sentence: the number of devices for each ε, by releases of the whole text.
pub(super) fn headline(plan: &Plan) -> String {
    let labels = plan.ways.iter().any(|way| way.shares_of == Of::Labels);
    let of = if labels { Of::Labels } else { Of::Candidates };
    let needed = plan.asked.epsilon.iter().filter_map(|epsilon| {
        let ways = plan.ways.iter().filter(|way| {
            way.shares_of == of && way.kind.epsilon() == *epsilon && is_whole_text(way.kind)
        });
        let devices = ways.filter_map(|way| way.devices).min()?;
        Some((epsilon.to_string(), devices))
    });
    let (what, within) = (what(of), points(plan.within));
    needs(&needed.collect::<Vec<_>>(), &what, plan.within).unwrap_or_else(|| {
        format!("No number of devices gives {what} within {within} points by releases of the whole text.")
    })
}

/// Numbers of devices by ε as a sentence; none for none.
pub(super) fn needs(needed: &[(String, u64)], what: &str, within: f64) -> Option<String> {
    let (first, fewest) = needed.first()?;
    let more = needed[1..].iter();
    let more = more.map(|(epsilon, devices)| format!(", {} at ε = {epsilon}", count(*devices)));
    Some(format!(
        "{} devices give {what} within {} points at ε = {first}{}.",
        count(*fewest),
        points(within),
        more.collect::<String>()
    ))
}

/// The way that requires the fewest devices. The stronger guarantee wins if it costs little more.
fn best(ways: &[Way]) -> &Way {
    let devices = |way: &Way| (way.devices.unwrap_or(u64::MAX), way.limit);
    let order = |a: &&Way, b: &&Way| {
        let (a, b) = (devices(a), devices(b));
        a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
    };
    let fewest = ways.iter().min_by(order).expect("a group has a way");
    let whole = ways
        .iter()
        .filter(|way| is_whole_text(way.kind))
        .min_by(order);
    let Some(whole) = whole else {
        return fewest;
    };
    let near = match (fewest.devices, whole.devices) {
        (Some(fewest), Some(whole)) => whole as f64 <= NEAR * fewest as f64,
        _ => false,
    };
    if near { whole } else { fewest }
}

/// The length of texts in words.
pub(super) fn length(sentences: u16) -> String {
    match sentences {
        1 => "texts of 1 sentence".to_owned(),
        more => format!("texts of {more} sentences"),
    }
}

/// The length of the texts of a way, for a table.
pub(super) fn sentences(way: &Way) -> String {
    match way.sentences {
        None => "any".to_owned(),
        Some(sentences) => sentences.to_string(),
    }
}

pub(super) fn points(half: f64) -> String {
    if half < 0.001 {
        number(100.0 * half)
    } else {
        percent(half)
    }
}

pub(super) fn what(of: Of) -> String {
    format!("shares of {}", short(of))
}

pub(super) fn short(of: Of) -> &'static str {
    match of {
        Of::Candidates => "candidates",
        Of::Labels => "labels",
    }
}

fn unit(kind: Kind) -> &'static str {
    match kind.mechanism() {
        Mechanism::WholeText | Mechanism::WholeTextKnown => "releases of the whole text",
        Mechanism::Projective | Mechanism::ProjectiveKnown => {
            "projective releases of the whole text"
        }
        _ => "sentence releases",
    }
}

pub(super) fn unit_short(kind: Kind) -> &'static str {
    match kind.mechanism() {
        Mechanism::WholeText | Mechanism::WholeTextKnown => "whole text",
        Mechanism::Projective | Mechanism::ProjectiveKnown => "projective",
        _ => "sentence",
    }
}
