//! Statement (a) on made-up answers, to compare it with other frequency oracles in
//! `host/estimate/peers/frequency.py`.
//!
//! Reads one line of JSON from standard input: `{"candidates", "epsilon", "answers", "repetitions",
//! "seed"}`. An answer is a candidate's number, or the number of candidates for "nothing known".
//! Draws a release of every answer as devices do, by the rule with less variance, and estimates.
//! Writes a line with the rule, then the estimates of each repetition on a line.

use std::collections::BTreeMap;
use std::error::Error;
use std::io::Write;

use serde_json::{Value, json};
use undertone_core::epsilon::Epsilon;
use undertone_core::hazmat;
use undertone_core::projective::{Geometry, Shape};
use undertone_core::rng::PublicRng;
use undertone_core::select::{Ratio, Rule, SliceLevels};
use undertone_estimate::channel::Channel;
use undertone_estimate::counts::Kind;
use undertone_estimate::shares::{Confidence, shares};

fn main() -> Result<(), Box<dyn Error>> {
    let input: Value = serde_json::from_reader(std::io::stdin())?;
    let number = |name: &str| input[name].as_u64().ok_or(format!("no {name}"));
    let candidates: u32 = number("candidates")?.try_into()?;
    let epsilon: Epsilon = input["epsilon"].as_str().ok_or("no epsilon")?.parse()?;
    let answers: Vec<u32> = serde_json::from_value(input["answers"].clone())?;
    let mut rng = PublicRng::new(number("seed")?);

    let outcomes = candidates + 1;
    let geometry = Geometry::best(outcomes, epsilon).ok_or("too many candidates")?;
    let kinds = [
        Kind::from_fields([0; 8], 7, 2, epsilon, 0)?,
        Kind::from_fields([0; 8], 8, 2, epsilon, geometry.order())?,
    ];
    let channel = |kind| -> Result<Channel, Box<dyn Error>> {
        Ok(Channel::new(kind, candidates)?.ok_or("no channel")?)
    };
    let [whole, projective] = [channel(kinds[0])?, channel(kinds[1])?];
    // Mean over the answers of the variance of their shares, for any shares.
    let variance = |channel: &Channel| {
        let [own, other] = [channel.own(), channel.other()].map(|p| p * (1.0 - p));
        (own + f64::from(candidates) * other) * channel.weight().powi(2)
    };
    let by_whole_text = variance(&whole) <= variance(&projective);
    let (kind, channel, rule) = if by_whole_text {
        (kinds[0], whole, "whole text".to_owned())
    } else {
        let rule = match geometry.shape() {
            Shape::Hyperplanes { order, coordinates } => {
                format!("projective, q = {order}, t = {coordinates}")
            }
            Shape::Progressions { modulus, terms } => {
                format!("projective, {terms} terms modulo {modulus}")
            }
            _ => "projective".to_owned(),
        };
        (kinds[1], projective, rule)
    };

    let mut out = std::io::stdout().lock();
    let of_rule = json!({"rule": rule, "own": channel.own(), "other": channel.other()});
    writeln!(out, "{of_rule}")?;
    // The best candidate has level 0, all others level 1.
    let mut levels = vec![1; outcomes as usize];
    let ratio = Ratio::per_unit(epsilon, 1);
    for _ in 0..number("repetitions")? {
        let mut counts = BTreeMap::new();
        for answer in &answers {
            let outcome = if by_whole_text {
                levels[*answer as usize] = 0;
                let own = SliceLevels {
                    levels: &levels,
                    bound: 2,
                };
                let drawn = hazmat::select::<2, _>(&own, Rule::Exponential, ratio, &mut rng)?;
                levels[*answer as usize] = 1;
                drawn
            } else {
                hazmat::draw_point(&geometry, *answer, epsilon, &mut rng)
            };
            *counts.entry(outcome).or_insert(0) += 1;
        }
        let own = shares(kind, &counts, candidates, Confidence::default())?;
        let own = own.ok_or("no statement (a)")?;
        let shares: Vec<f64> = own.shares.iter().map(|share| share.share).collect();
        writeln!(
            out,
            "{}",
            json!({"unbiased": own.unbiased, "shares": shares})
        )?;
    }
    Ok(())
}
