//! Compares what releases of a device state about themselves with what was asked for.

use std::collections::BTreeMap;

use crate::{Check, Method};

/// Differences between the statements of releases and the requests.
#[derive(Clone, Debug, Default)]
pub struct Stated {
    read: u64,
    /// Number of wrong releases, by the name of the statement.
    wrong: BTreeMap<&'static str, u64>,
}

impl Stated {
    /// Records a release: the name of each of its statements, and whether it is what was asked for.
    pub(crate) fn record<const N: usize>(&mut self, statements: [(&'static str, bool); N]) {
        self.read += 1;
        for (name, _) in statements.iter().filter(|(_, is_right)| !is_right) {
            *self.wrong.entry(name).or_default() += 1;
        }
    }

    /// A check of all releases that were read; `None` without releases.
    pub(crate) fn check(&self) -> Option<Check> {
        let wrong: u64 = self.wrong.values().sum();
        let names: Vec<&str> = self.wrong.keys().copied().collect();
        let detail = match &names[..] {
            [] => "statements of another mechanism, rule, length, epsilon, form or pack".to_owned(),
            names => format!("wrong statements: {}", names.join(", ")),
        };
        let name = "releases state what was asked for";
        let check = Check::new(
            "all releases",
            name,
            None,
            Method::Exact,
            [0.0, wrong as f64],
        );
        (self.read > 0).then(|| check.of(self.read, detail))
    }
}
