//! Reports for people and tables for programs.
//!
//! A report is one HTML page that needs no other file. [`Page`] builds it from top to bottom:
//! paragraphs, [`Table`]s, and figures, which a [`Plot`] draws. [`Csv`] holds the same data for
//! programs. [`number`] formats every number of a page, so that equal numbers look equal in all
//! reports.
//!
//! This crate reads and writes no files and prints nothing. It returns text.
//!
//! ```
//! use undertone_report::{Axis, Cell, Column, Line, Look, Page, Plot, Point, Range, Table, number};
//!
//! let mut table = Table::new("Accuracy by ε", &[Column::Text("mechanism"), Column::Number("ε = 1")]);
//! table.row(vec!["scores".into(), Cell::from(number::percent_spread(0.912, 0.004)).note("p = 10")]);
//!
//! let plot = Plot {
//!     x: Axis { label: "ε", range: Range::Logarithmic },
//!     y: Axis { label: "accuracy (%)", range: Range::Percent },
//!     lines: vec![Line {
//!         name: "scores".to_owned(),
//!         look: Look::Default,
//!         points: vec![Point::spread(1.0, 91.2, 0.4), Point::spread(3.0, 97.0, 0.2)],
//!     }],
//! };
//!
//! let mut page = Page::new("What is left of a document");
//! page.heading(2, "Accuracy");
//! page.figure("Accuracy against ε.", &plot.draw()?);
//! page.table(&table);
//! assert!(page.finish().contains("91.2 ± 0.4"));
//! # Ok::<(), undertone_report::DrawError>(())
//! ```

#![warn(clippy::too_many_lines)]

mod csv;
mod intervals;
pub mod number;
mod page;
mod plot;
mod table;

pub use csv::Csv;
pub use intervals::Intervals;
pub use page::{Page, escape, visible};
pub use plot::{Axis, COLOURED, DrawError, Figure, Line, Look, Plot, Point, Range};
pub use table::{Cell, Column, Table};
