//! Tables for programs.

use std::fmt::Display;

/// A table as comma-separated values: a header line, then rows.
#[derive(Clone, Debug)]
pub struct Csv {
    text: String,
    columns: usize,
}

impl Csv {
    /// An empty table; `columns` are the names of its columns, separated by commas.
    pub fn new(columns: &str) -> Self {
        Self {
            text: format!("{columns}\n"),
            columns: columns.split(',').count(),
        }
    }

    /// Appends a row. Fields are quoted where necessary.
    ///
    /// # Panics
    /// If the row has more or fewer fields than the table has columns.
    pub fn row(&mut self, row: &[&dyn Display]) {
        assert_eq!(row.len(), self.columns, "one field for each column");
        let fields: Vec<String> = row.iter().map(|field| quoted(field.to_string())).collect();
        self.text += &fields.join(",");
        self.text.push('\n');
    }

    /// The contents of the file.
    pub fn finish(self) -> String {
        self.text
    }
}

fn quoted(field: String) -> String {
    if field.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_where_they_need_it() {
        let mut csv = Csv::new("name,x");
        csv.row(&[&"plain", &1.5]);
        csv.row(&[&"a, \"b\"", &""]);
        assert_eq!(csv.finish(), "name,x\nplain,1.5\n\"a, \"\"b\"\"\",\n");
    }

    #[test]
    #[should_panic(expected = "one field for each column")]
    fn a_row_has_all_fields() {
        Csv::new("name,x").row(&[&"only one"]);
    }
}
