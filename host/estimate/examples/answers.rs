//! Measures shares of answers to a form.
//!
//! `cargo run --release -p undertone-estimate --example answers [POPULATIONS]`
//!
//! 1. One attribute of 2,600 emoji, ε = 4, 10⁶ devices with a Zipf law: the standard error of rare
//!    emoji times √n, and how often the intervals of the twenty most frequent contain the truth, in
//!    POPULATIONS populations (default 20).
//! 2. Eight attributes of four levels, ε = 5.96 for all of them: the standard error of a small
//!    share times √n, by the law.

use std::collections::BTreeMap;
use std::error::Error;

use undertone::form::{Attribute, Contents};
use undertone::release::document::OsEntropy;
use undertone_core::epsilon::Epsilon;
use undertone_core::form::Form;
use undertone_core::ledger::Grant;
use undertone_core::projective::Geometry;
use undertone_core::rng::PublicRng;
use undertone_core::rng::rand_core::Rng;
use undertone_core::unit::Unit;
use undertone_estimate::counts::Kind;
use undertone_estimate::forms::{estimate, laws};
use undertone_estimate::shares::Confidence;

const EMOJI: usize = 2_600;

const DEVICES: u32 = 1_000_000;

/// The most frequent emoji, whose intervals are checked.
const FREQUENT: usize = 20;

/// Emoji from this rank on are rare: their shares are below 1 in 8,000.
const RARE: usize = 1_000;

fn form(attributes: usize, categories: usize) -> Result<Vec<u8>, Box<dyn Error>> {
    let attribute = |number: usize| Attribute {
        name: format!("attribute {number}"),
        categories: (0..categories)
            .map(|own| format!("category {own}"))
            .collect(),
        weight: 1,
    };
    let contents = Contents {
        attributes: (0..attributes).map(attribute).collect(),
        pairs: Vec::new(),
    };
    Ok(contents.to_bytes()?)
}

fn emoji(populations: usize) -> Result<(), Box<dyn Error>> {
    let bytes = form(1, EMOJI)?;
    let form = Form::parse(&bytes)?;
    let epsilon: Epsilon = "4".parse()?;
    let law = laws(&form, epsilon)?.remove(0);
    println!(
        "{EMOJI} emoji, epsilon 4, {DEVICES} devices, {populations} populations: error of a share near 0 times the root of devices {:.4} by the law",
        law.error()
    );
    let geometry = Geometry::best_for_answer(law.question.outcomes, epsilon).ok_or("a law")?;
    let weights: Vec<f64> = (1..=EMOJI).map(|rank| 1.0 / rank as f64).collect();
    let total: f64 = weights.iter().sum();
    let mut sum = 0.0;
    let cumulative: Vec<f64> = weights
        .iter()
        .map(|weight| {
            sum += weight / total;
            sum
        })
        .collect();
    let mut rng = PublicRng::new(0xe301);
    let (mut covered, mut squares, mut rare) = (0, 0.0, 0);
    for _ in 0..populations {
        let mut truth = vec![0u32; EMOJI + 1];
        let mut counts: BTreeMap<Kind, BTreeMap<u32, u64>> = BTreeMap::new();
        for _ in 0..DEVICES {
            let at = (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
            let answer = cumulative.partition_point(|end| *end <= at).min(EMOJI - 1);
            truth[answer] += 1;
            let grant = Grant::unrecorded(Unit::WholeText, epsilon);
            let release = form.release_by(&[geometry], &[answer as u32], grant, &mut OsEntropy)?;
            let (kind, outcome) = Kind::of(&release);
            *counts.entry(kind).or_default().entry(outcome).or_default() += 1;
        }
        let samples = counts.iter().map(|(kind, outcomes)| (*kind, outcomes));
        let found = estimate(&form, samples, Confidence::default())?;
        let shares = found.questions[0].shares.as_ref().ok_or("shares")?;
        let share = |answer: usize| f64::from(truth[answer]) / f64::from(DEVICES);
        covered += (0..FREQUENT)
            .filter(|answer| {
                let own = shares.shares[*answer];
                (own.low..=own.high).contains(&share(*answer))
            })
            .count();
        squares += (RARE..=EMOJI)
            .map(|answer| (shares.unbiased[answer] - share(answer)).powi(2))
            .sum::<f64>();
        rare += EMOJI + 1 - RARE;
    }
    println!(
        "  measured for ranks from {RARE} on: {:.4}; intervals of the {FREQUENT} most frequent that contain the truth: {covered} of {}",
        (squares / rare as f64 * f64::from(DEVICES)).sqrt(),
        FREQUENT * populations
    );
    Ok(())
}

fn levels() -> Result<(), Box<dyn Error>> {
    let bytes = form(8, 4)?;
    let epsilon: Epsilon = "5.96".parse()?;
    let law = laws(&Form::parse(&bytes)?, epsilon)?.remove(0);
    let (one, other) = (0.92f64, 0.0288f64);
    println!(
        "8 attributes of 4 levels, epsilon 5.96 for all: {:.4}; unary encoding of all with p = {one}, q = {other}, epsilon {:.1} for all: {:.4}",
        law.error(),
        8.0 * ((one * (1.0 - other)) / (other * (1.0 - one))).ln(),
        (other * (1.0 - other)).sqrt() / (one - other)
    );
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let populations = std::env::args().nth(1);
    let populations = populations.map_or(Ok(20), |text| text.parse())?;
    levels()?;
    emoji(populations)
}
