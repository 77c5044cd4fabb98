//! Plans of a collection, as JSON, text and HTML.

pub mod form;
mod page;
mod text;
pub mod window;

use std::fmt::Display;

use serde::{Serialize, Serializer};
use undertone::error::{Error, Result};
use undertone::pack::calibration::Calibration;
use undertone::pack::candidates::Candidates;
use undertone::release::budget::{Budget, Mechanism, Unit, number};
use undertone::release::document::{Method, epsilon_f64};
use undertone_core::epsilon::{Epsilon, Micro};
use undertone_core::release::Mechanism as Drawn;
use undertone_core::select::Rule;

use crate::channel::Channel;
use crate::counts::Kind;
use crate::plan::{Forecast, MOST_DEVICES, kinds};
use crate::published::{self, DELTA};
use crate::shares::Confidence;
use crate::{json, refused};

/// Days of a month.
const DAYS: u16 = 30;

/// Numbers of devices on the plot.
const PLOTTED: [f64; 9] = [100.0, 300.0, 1e3, 3e3, 1e4, 3e4, 1e5, 3e5, 1e6];

/// The requirements on a plan.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The values of ε to compare.
    pub epsilon: Vec<Epsilon>,
    /// Most that 95 of 100 estimated shares may deviate from the truth, 0.000001 to 0.5.
    pub within: f64,
    /// Numbers of devices whose precision is requested, each at most [`MOST_DEVICES`].
    pub devices: Vec<u64>,
    /// Guessed shares, each as `NAME=SHARE`. All others share the rest equally.
    pub shares: Vec<String>,
    /// For the privacy cost of a user's releases: the probability, above 0 and below 1, with which
    /// the guarantee with δ may fail.
    pub delta: f64,
    /// Whether the public texts are those of a question.
    pub question: bool,
}

#[derive(Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Of {
    Candidates,
    Labels,
}

/// One method of releasing and estimating, at one ε.
#[derive(Serialize)]
struct Way {
    epsilon: f64,
    shares_of: Of,
    /// The number of sentences that are released of each public text; none if all are, or if the
    /// number makes no difference.
    sentences: Option<u16>,
    mechanism: u8,
    rule: u8,
    order: u16,
    /// Devices for the requested precision; none if no number suffices.
    devices: Option<u64>,
    /// The half-width in the limit of many devices.
    limit: f64,
    precision: Vec<Precision>,
    /// Privacy of one text in the counts, by devices; empty except for shares of candidates.
    published: Vec<Published>,
    #[serde(skip)]
    kind: Kind,
    /// The half-width for each of [`PLOTTED`].
    #[serde(skip)]
    plotted: Vec<f64>,
}

/// The half-width of intervals, for a requested number of devices.
#[derive(Serialize)]
struct Precision {
    devices: u64,
    within: f64,
}

/// Privacy of one text in the published counts of a number of devices.
#[derive(Serialize)]
struct Published {
    devices: u64,
    /// None if it is the ε of one release.
    epsilon: Option<f64>,
    delta: f64,
}

impl Way {
    /// The properties that all alternatives of a choice share. Ways are sorted by it.
    fn group(&self) -> (bool, Epsilon, Option<u16>) {
        let of_labels = self.shares_of == Of::Labels;
        (of_labels, self.kind.epsilon(), self.sentences)
    }
}

/// Privacy cost to a user of a release each day for a month, at one ε.
#[derive(Serialize)]
struct Month {
    epsilon: f64,
    /// The sum, which all kinds share.
    daily_for_a_month: f64,
    delta: f64,
    /// By kind of release, those of sentences first.
    kinds: Vec<Cost>,
    #[serde(skip)]
    of_release: Epsilon,
    #[serde(skip)]
    sum: Micro,
}

/// The cost of a kind of release in a month.
#[derive(Serialize)]
struct Cost {
    #[serde(serialize_with = "displayed")]
    kind: Mechanism,
    #[serde(serialize_with = "displayed")]
    unit: Unit,
    rho: f64,
    epsilon_with_delta: Option<f64>,
    #[serde(skip)]
    with_delta: Option<Micro>,
}

fn displayed<S: Serializer>(
    value: &impl Display,
    serializer: S,
) -> std::result::Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

/// The number of devices that each way of releasing and estimating requires.
#[derive(Serialize)]
pub struct Plan {
    /// Version of the JSON form.
    version: u32,
    within: f64,
    level: f64,
    ways: Vec<Way>,
    months: Vec<Month>,
    unanswered: Vec<String>,
    #[serde(skip)]
    asked: Asked,
    /// Whether shares of labels allow for texts of other sources than the public ones.
    #[serde(skip)]
    allows: bool,
}

impl Plan {
    /// The plan for the pack of these candidates. `texts`: labelled public texts by the number of
    /// sentences that are released of each; `None` for all sentences, or for the texts stored with
    /// the candidates.
    ///
    /// # Errors
    /// [`ErrorKind::Input`](undertone::error::ErrorKind::Input) for invalid guesses of shares, or
    /// if nothing can be planned.
    pub fn new(
        asked: &Asked,
        candidates: &Candidates,
        texts: &[(Option<u16>, Calibration)],
    ) -> Result<Self> {
        let m = candidates.entries.len() as u32;
        let calibration = texts.first().map(|(_, own)| own);
        let mechanism = calibration.map_or(Drawn::Scores, |own| own.mechanism);
        let mut names: Vec<&str> = candidates
            .entries
            .iter()
            .map(|own| own.id.as_str())
            .collect();
        let has_nothing_known = candidates.has_nothing_known;
        if has_nothing_known {
            names.push("nothing known");
        }
        let labels: Vec<&str> = calibration
            .map(|own| own.labels.iter().map(String::as_str).collect())
            .unwrap_or_default();
        let mut all = [&names[..], &labels].concat();
        all.sort_unstable();
        all.dedup();
        known(&asked.shares, &all)?;
        let of_candidates = guessed(&asked.shares, &names[..m as usize])?;
        let mut plan = Plan {
            version: 1,
            within: asked.within,
            level: Confidence::default().level,
            ways: Vec::new(),
            months: Vec::new(),
            unanswered: Vec::new(),
            asked: asked.clone(),
            allows: texts.iter().all(|(_, own)| own.by_source.is_some()),
        };
        if calibration.is_none() {
            plan.unanswered.push(
                "shares of labels, and sentence releases at all: the candidates file carries no public texts. Give labelled \
                 ones and their pack, or make the pack anew from labelled documents with this version"
                    .to_owned(),
            );
        }
        for epsilon in &asked.epsilon {
            // The cost of a release depends on its number of outcomes.
            let fewer = m - u32::from(!has_nothing_known && m > 1);
            plan.months.push(asked.month(*epsilon, mechanism, fewer)?);
            for kind in kinds(
                candidates.pack_id(),
                m,
                has_nothing_known,
                mechanism,
                *epsilon,
            )? {
                if let Some(own) = Forecast::of_candidates(kind, m, &of_candidates)? {
                    let mut way = asked.way(Of::Candidates, kind, None, &own)?;
                    way.published = asked.published(&way, m)?;
                    plan.ways.push(way);
                }
                for (length, texts) in texts {
                    let shares = guessed(&asked.shares, &labels)?;
                    let own = Forecast::of_labels(kind, texts, &shares);
                    match own.and_then(|own| asked.way(Of::Labels, kind, *length, &own)) {
                        Ok(way) => plan.ways.push(way),
                        Err(problem) => plan.unanswered.push(match length {
                            None => problem.to_string(),
                            Some(length) => format!("{}: {problem}", text::length(*length)),
                        }),
                    }
                }
            }
        }
        plan.unanswered.dedup();
        // Alternatives become neighbours.
        plan.ways.sort_by_key(Way::group);
        if plan.ways.is_empty() {
            return Err(refused(plan.unanswered.join("; ")));
        }
        Ok(plan)
    }

    /// All numbers as JSON; the README of this crate has the form.
    pub fn json(&self) -> String {
        json(self)
    }

    /// The plan in words.
    pub fn text(&self) -> String {
        text::text(self)
    }

    /// A self-contained HTML page, with `byline` below the headline, such as date, pack and author.
    ///
    /// # Errors
    /// [`ErrorKind::Internal`](undertone::error::ErrorKind::Internal) if a figure cannot be drawn.
    pub fn html(&self, byline: &[String]) -> Result<String> {
        page::page(self, byline).map_err(Error::plot)
    }

    /// Whether the plan compares lengths of texts.
    fn by_length(&self) -> bool {
        self.ways.iter().any(|way| way.sentences.is_some())
    }
}

impl Asked {
    fn way(
        &self,
        shares_of: Of,
        kind: Kind,
        sentences: Option<u16>,
        forecast: &Forecast<'_>,
    ) -> Result<Way> {
        let confidence = Confidence::default();
        let half = |devices: f64| Ok(forecast.widest(devices, confidence)?.min(1.0));
        let precision = self.devices.iter().map(|devices| {
            Ok(Precision {
                devices: *devices,
                within: half(*devices as f64)?,
            })
        });
        Ok(Way {
            epsilon: epsilon_f64(kind.epsilon()),
            shares_of,
            sentences,
            mechanism: kind.mechanism() as u8,
            rule: kind.rule() as u8,
            order: kind.order(),
            devices: forecast.releases(self.within, confidence)?,
            limit: half(MOST_DEVICES)?,
            precision: precision.collect::<Result<_>>()?,
            published: Vec::new(),
            kind,
            plotted: PLOTTED.into_iter().map(half).collect::<Result<_>>()?,
        })
    }

    /// Privacy of published counts, for the requested numbers of devices, else for the required
    /// one.
    fn published(&self, way: &Way, candidates: u32) -> Result<Vec<Published>> {
        let Some(channel) = Channel::new(way.kind, candidates)? else {
            return Ok(Vec::new());
        };
        let devices = if self.devices.is_empty() {
            way.devices.into_iter().collect()
        } else {
            self.devices.clone()
        };
        let of = |devices| {
            Ok(Published {
                devices,
                epsilon: published::epsilon(&channel, devices, DELTA)?,
                delta: DELTA,
            })
        };
        devices.into_iter().map(of).collect()
    }

    /// The cost of a release each day for a month, by each kind that devices with such a pack can
    /// make.
    fn month(&self, epsilon: Epsilon, sentences_by: Drawn, candidates: u32) -> Result<Month> {
        let mut methods = vec![
            (Method::Sentence(Rule::PermuteAndFlip), Unit::Sentence),
            (Method::Sentence(Rule::Exponential), Unit::Sentence),
        ];
        if sentences_by == Drawn::Scores {
            methods.push((Method::WholeText, Unit::WholeText));
            methods.push((Method::Projective, Unit::WholeText));
        }
        let mut sum = Micro(0);
        let mut kinds = Vec::new();
        for (method, unit) in methods {
            let mut budget = Budget::default();
            budget.add_among(candidates, method, epsilon, 1)?;
            let Some(total) = budget.total(unit, DAYS) else {
                continue;
            };
            if kinds.is_empty() {
                sum = total.epsilon();
            }
            let with_delta = total.with_delta(self.delta);
            kinds.push(Cost {
                kind: Mechanism::Document(method),
                unit,
                rho: total.rho(),
                epsilon_with_delta: with_delta.map(number),
                with_delta,
            });
        }
        Ok(Month {
            epsilon: epsilon_f64(epsilon),
            daily_for_a_month: number(sum),
            delta: self.delta,
            kinds,
            of_release: epsilon,
            sum,
        })
    }
}

/// Refuses guesses about unknown names.
fn known(shares: &[String], names: &[&str]) -> Result<()> {
    let guesses = guesses(shares)?;
    match guesses.iter().find(|(name, _)| !names.contains(name)) {
        None => Ok(()),
        Some((name, _)) => Err(refused(format!(
            "⟨shares⟩ guesses the share of `{name}`, which is no candidate and no label of this pack; there are {}",
            names[..names.len().min(10)].join(", ")
        ))),
    }
}

/// The parsed guesses, whose names are distinct.
fn guesses(shares: &[String]) -> Result<Vec<(&str, f64)>> {
    let mut guesses: Vec<(&str, f64)> = Vec::new();
    for text in shares {
        let guess = text.rsplit_once('=').and_then(|(name, share)| {
            let share: f64 = share.parse().ok()?;
            (0.0..=1.0).contains(&share).then_some((name, share))
        });
        let guess = guess.ok_or_else(|| {
            refused(format!(
                "⟨shares⟩ has `{text}`; write NAME=SHARE with a share of 0 to 1, such as football=0.5"
            ))
        })?;
        guesses.push(guess);
    }
    for (place, (name, _)) in guesses.iter().enumerate() {
        if guesses[..place].iter().any(|(own, _)| own == name) {
            return Err(refused(format!(
                "⟨shares⟩ guesses the share of `{name}` twice; guess each share once"
            )));
        }
    }
    Ok(guesses)
}

/// A share for each name.
fn guessed(shares: &[String], names: &[&str]) -> Result<Vec<f64>> {
    let guesses = guesses(shares)?;
    let find = |name: &&str| guesses.iter().find(|(own, _)| own == name);
    let known: Vec<Option<f64>> = names
        .iter()
        .map(|name| find(name).map(|(_, share)| *share))
        .collect();
    let sum: f64 = known.iter().flatten().sum();
    let others = known.iter().filter(|share| share.is_none()).count();
    if sum > 1.0 + 1e-9 {
        return Err(refused(format!(
            "the shares of ⟨shares⟩ add up to {sum}; they add up to 1 at most"
        )));
    }
    let rest = (1.0 - sum).max(0.0) / others.max(1) as f64;
    Ok(known.iter().map(|share| share.unwrap_or(rest)).collect())
}
