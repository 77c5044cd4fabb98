//! `undertone-lab shift`.

use std::path::PathBuf;

use clap::Args;
use undertone::error::Result;
use undertone_cli::args::whole;
use undertone_cli::paths::Paths;
use undertone_core::epsilon::Epsilon;
use undertone_lab::shift::{Measured, Score, Size, cases, measure};

#[derive(Args)]
pub(crate) struct Arguments {
    /// The folder of public evaluation data.
    #[arg(long, value_name = "FOLDER")]
    data: PathBuf,
    /// Only shifts whose name contains this.
    #[arg(long, default_value = "", value_name = "TEXT")]
    case: String,
    /// Take the sources that the data names (products, languages) instead of guessed ones.
    #[arg(long)]
    named: bool,
    /// The privacy parameters.
    #[arg(long, num_args = 1.., value_delimiter = ',', default_values = ["1", "3"], value_name = "LIST")]
    epsilons: Vec<Epsilon>,
    /// Populations of each case.
    #[arg(long, default_value_t = 100, value_parser = whole::<usize>)]
    populations: usize,
    /// Releases of each population.
    #[arg(long, default_value_t = 20_000, value_parser = whole::<usize>)]
    releases: usize,
    /// Seed of all randomness.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

impl Arguments {
    pub(super) fn paths(&self) -> Paths {
        Paths::default()
    }
}

pub(super) fn run(arguments: Arguments) -> Result<()> {
    let size = Size {
        populations: arguments.populations,
        releases: arguments.releases,
        seed: arguments.seed,
    };
    println!(
        "| case | ε | covered (width) | if alike (width) | refuted | total variation | EMQ | ACC | counting |"
    );
    println!("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
    for mut case in cases(&arguments.data, arguments.seed)? {
        case.retain(&arguments.case);
        let skipped = case.is_empty() || (arguments.named && !case.has_sources());
        if !skipped {
            for own in measure(&case, arguments.named, &arguments.epsilons, size)? {
                println!("{}", row(&own));
            }
        }
    }
    Ok(())
}

fn row(own: &Measured) -> String {
    let intervals = |own: Score| format!("{:.1} % ({:.3})", 100.0 * own.covered, own.width);
    format!(
        "| {} | {} | {} | {} | {:.0} % | {:.3} | {:.3} | {:.3} | {:.3} |",
        own.name,
        own.epsilon,
        intervals(own.ours),
        intervals(own.alike),
        100.0 * own.refuted,
        own.ours.distance,
        own.emq.distance,
        own.acc.distance,
        own.counting.distance
    )
}
