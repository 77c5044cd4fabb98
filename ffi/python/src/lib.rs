//! undertone for Python. This crate wraps: every release is drawn in `undertone_core`, every pack
//! is made and every answer is computed in the libraries of `host`. `python/undertone` puts the
//! face on it that users see.
//!
//! Python is let go of while anything takes long: other threads run, and Ctrl-C works.

#![warn(clippy::too_many_lines)]

mod arguments;
mod candidates;
mod counts;
mod document;
mod encoder;
mod errors;
mod form;
mod ledger;
mod pack;
mod packing;
mod question;
mod reading;
mod releaser;
mod reservoir;
mod vectors;
mod words;
mod work;

use pyo3::prelude::*;

#[pymodule]
mod _undertone {
    #[pymodule_export]
    use crate::candidates::Candidates;
    #[pymodule_export]
    use crate::counts::{Answer, Counts, PlanAnswer, count_files, count_records, plan, plan_form};
    #[pymodule_export]
    use crate::document::{Document, Release};
    #[pymodule_export]
    use crate::encoder::Encoder;
    #[pymodule_export]
    use crate::form::{Form, FormReleaser};
    #[pymodule_export]
    use crate::ledger::Ledger;
    #[pymodule_export]
    use crate::pack::{Lexicon, Pack};
    #[pymodule_export]
    use crate::packing::{build_pack, demo_corpus, save_built};
    #[pymodule_export]
    use crate::question::Question;
    #[pymodule_export]
    use crate::reading::{format_of, read_file};
    #[pymodule_export]
    use crate::releaser::Releaser;
    #[pymodule_export]
    use crate::reservoir::{AnswerReservoir, Reservoir};
    #[pymodule_export]
    use crate::vectors::{VectorMechanism, VectorRelease};
    #[pymodule_export]
    use crate::words::Obfuscator;
    use pyo3::prelude::*;
    use pyo3::types::PyDict;
    use undertone_core::form::NO_ANSWER;
    use undertone_core::release::{Mechanism, Release as CoreRelease};
    use undertone_core::select::Rule;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add("NO_ANSWER", NO_ANSWER)?;
        module.add("RELEASE_BYTES", CoreRelease::BYTES)?;
        // The names of the numbers that releases have.
        let (mechanisms, rules) = (PyDict::new(module.py()), PyDict::new(module.py()));
        for number in 0..=u8::MAX {
            let Some(mechanism) = Mechanism::from_number(number) else {
                continue;
            };
            mechanisms.set_item(number, crate::pack::mechanism_name(mechanism))?;
            for rule in [Rule::PermuteAndFlip, Rule::Exponential] {
                let name = crate::document::rule_name(mechanism, rule);
                rules.set_item((number, rule as u8), name)?;
            }
        }
        module.add("MECHANISMS", mechanisms)?;
        module.add("RULES", rules)?;
        // Counts in Spark, with marks for slices.
        let counts = include_str!("../../../host/estimate/sql/spark.sql");
        module.add("SPARK_SQL", counts)?;
        crate::work::start();
        Ok(())
    }
}
