//! Tables for people.

use crate::page::escape;

/// A column of a [`Table`], with its heading in plain text.
#[derive(Clone, Debug)]
pub enum Column<S> {
    /// Words, aligned left; long ones wrap.
    Text(S),
    /// Numbers, aligned right and never broken.
    Number(S),
}

/// A cell of a [`Table`]. `into()` converts plain text.
#[derive(Clone, Debug, Default)]
pub struct Cell {
    html: String,
}

impl Cell {
    /// Adds plain text in a smaller size on its own line; an empty text adds nothing.
    #[must_use]
    pub fn note(mut self, text: &str) -> Self {
        if !text.is_empty() {
            self.html += &format!("<small>{}</small>", unbroken(text));
        }
        self
    }

    /// Makes the cell bold.
    #[must_use]
    pub fn strong(self) -> Self {
        Self {
            html: format!("<strong>{}</strong>", self.html),
        }
    }
}

impl<S: AsRef<str>> From<S> for Cell {
    fn from(text: S) -> Self {
        Self {
            html: unbroken(text.as_ref()),
        }
    }
}

impl<S: AsRef<str>> FromIterator<S> for Cell {
    /// One line for each text.
    fn from_iter<I: IntoIterator<Item = S>>(lines: I) -> Self {
        let lines: Vec<String> = lines
            .into_iter()
            .map(|line| unbroken(line.as_ref()))
            .collect();
        Self {
            html: lines.join("<br>"),
        }
    }
}

/// A table that scrolls sideways if the page is too narrow. The first cell of a row names the row.
#[derive(Clone, Debug)]
pub struct Table {
    name: String,
    texts: Vec<bool>,
    rows: String,
}

impl Table {
    /// An empty table. `name` describes it in plain text for people who cannot see it.
    pub fn new<S: AsRef<str>>(name: &str, columns: &[Column<S>]) -> Self {
        let mut rows = String::from("<tr>");
        for column in columns {
            rows += &match column {
                Column::Text(heading) => {
                    format!("<th class=\"text\">{}</th>", escape(heading.as_ref()))
                }
                Column::Number(heading) => format!("<th>{}</th>", unbroken(heading.as_ref())),
            };
        }
        rows += "</tr>\n";
        let texts = columns
            .iter()
            .map(|column| matches!(column, Column::Text(_)));
        Self {
            name: escape(name),
            texts: texts.collect(),
            rows,
        }
    }

    /// Appends a row.
    ///
    /// # Panics
    /// If it has more or fewer cells than the table has columns.
    pub fn row(&mut self, cells: Vec<Cell>) {
        self.row_marked(false, cells);
    }

    /// Appends a row that stands out if `marked`.
    ///
    /// # Panics
    /// If it has more or fewer cells than the table has columns.
    pub fn row_marked(&mut self, marked: bool, cells: Vec<Cell>) {
        assert_eq!(cells.len(), self.texts.len(), "one cell for each column");
        let class = if marked { " class=\"marked\"" } else { "" };
        self.rows += &format!("<tr{class}>");
        for (place, (cell, text)) in cells.iter().zip(&self.texts).enumerate() {
            let tag = if place == 0 { "th" } else { "td" };
            let class = if *text { " class=\"text\"" } else { "" };
            self.rows += &format!("<{tag}{class}>{}</{tag}>", cell.html);
        }
        self.rows += "</tr>\n";
    }

    pub(crate) fn html(&self) -> String {
        // A focusable element scrolls with the keyboard.
        format!(
            "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"{}\"><table>\n{}</table></div>\n",
            self.name, self.rows
        )
    }
}

/// Plain text as HTML, with no line break between a name, an equals sign and a value.
fn unbroken(text: &str) -> String {
    escape(text).replace(" = ", "&nbsp;=&nbsp;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_scrolls_and_escapes() {
        let mut table = Table::new("A & B", &[Column::Text("<a>"), Column::Number("ε")]);
        table.row(vec!["x < y".into(), Cell::from("1").note("p = 1 & 2")]);
        table.row_marked(true, vec!["z".into(), Cell::from_iter(["1", "2"]).note("")]);
        let html = table.html();
        assert!(html.starts_with("<div class=\"scroll\""), "{html}");
        for part in [
            "aria-label=\"A &amp; B\"",
            "<th class=\"text\">&lt;a&gt;</th><th>ε</th>",
            "<tr><th class=\"text\">x &lt; y</th><td>1<small>p&nbsp;=&nbsp;1 &amp; 2</small></td></tr>",
            "<tr class=\"marked\"><th class=\"text\">z</th><td>1<br>2</td></tr>",
        ] {
            assert!(html.contains(part), "{part} in {html}");
        }
    }
}
