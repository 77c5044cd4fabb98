//! `undertone plan window`.

use std::path::PathBuf;

use clap::Args;
use undertone::error::Result;
use undertone::pack::candidates::Candidates;
use undertone::release::document::Method;
use undertone::release::window::Window;
use undertone_core::epsilon::Epsilon;
use undertone_estimate::planning::window::{Asked, Plan};

use crate::devices::{devices, within};
use crate::files::print;
use crate::paths::Paths;

#[derive(Args)]
pub(crate) struct Arguments {
    /// The candidates that `pack` wrote.
    #[arg(short = 'C', long, value_name = "FILE")]
    candidates: PathBuf,
    /// The number of devices.
    #[arg(long, value_name = "N", value_parser = devices)]
    devices: u64,
    /// How far 95 of 100 shares estimated from one slot may lie from the truth: 0.01 is 1
    /// percentage point.
    #[arg(long, default_value_t = 0.01, value_name = "SHARE", value_parser = within)]
    within: f64,
    /// The epsilon of everything that a person types in the window [default: the least that gives
    /// this precision in each slot]
    #[arg(short, long, value_name = "E")]
    epsilon: Option<Epsilon>,
    #[command(flatten)]
    slots: SlotArgs,
    /// Guessed shares, such as football=0.5,garden=0.2; the rest is divided equally.
    #[arg(long, value_delimiter = ',', value_name = "NAME=SHARE")]
    shares: Vec<String>,
    /// Print the numbers as JSON.
    #[arg(long)]
    json: bool,
}

/// The slots of a window and the lines of a slot.
#[derive(Args)]
pub(crate) struct SlotArgs {
    /// The slots of the window, such as the weeks of a year.
    #[arg(long, default_value_t = 52, value_name = "T", value_parser = number())]
    slots: u16,
    /// The lines of a slot of which a device draws one. Choose fewer than most people type.
    #[arg(long, default_value_t = 1, value_name = "K", value_parser = number())]
    lines: u16,
}

/// The whole schedule of a device.
#[derive(Args)]
pub(crate) struct ScheduleArgs {
    #[command(flatten)]
    slots: SlotArgs,
    /// The slots of the window in which a device releases.
    #[arg(long, default_value_t = 1, value_name = "C", value_parser = number())]
    appointments: u16,
}

impl ScheduleArgs {
    pub(crate) fn window(&self) -> Result<Window> {
        Window::new(self.slots.slots, self.appointments, self.slots.lines)
    }
}

/// The rules for whole texts.
pub(crate) const RULES: [(&str, &str, Method); 2] = [
    (
        "whole-text",
        "Draws the best candidate or any other",
        Method::WholeText,
    ),
    (
        "projective",
        "Draws a point that the best candidate prefers, or any other. With many candidates, \
         estimates err less than by whole-text",
        Method::Projective,
    ),
];

/// A number of slots, appointments or lines.
pub(crate) fn number() -> clap::builder::RangedI64ValueParser<u16> {
    clap::value_parser!(u16).range(1..=i64::from(Window::MOST))
}

impl Arguments {
    pub(crate) fn run(&self) -> Result<()> {
        Paths::default()
            .input("--candidates", &self.candidates)
            .check()?;
        let candidates = Candidates::read(&self.candidates)?;
        let names: Vec<&str> = candidates
            .entries
            .iter()
            .map(|own| own.id.as_str())
            .collect();
        let asked = Asked {
            devices: self.devices,
            within: self.within,
            slots: self.slots.slots,
            places: self.slots.lines,
            person: self.epsilon,
            shares: self.shares.clone(),
        };
        let plan = Plan::new(&asked, candidates.pack_id(), &names)?;
        print(&if self.json { plan.json() } else { plan.text() })
    }
}
