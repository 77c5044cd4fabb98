//! One HTML page that needs no other file.

use crate::{Figure, Table};

/// A page, built from top to bottom.
#[derive(Clone, Debug)]
pub struct Page {
    title: String,
    headline: Option<String>,
    byline: String,
    body: String,
}

impl Page {
    /// The usual file name of a page.
    pub const FILE: &str = "report.html";

    /// A page with only a heading, in plain text.
    pub fn new(title: &str) -> Self {
        Self {
            title: escape(title),
            headline: None,
            byline: String::new(),
            body: String::new(),
        }
    }

    /// Puts the answer, a sentence in plain text, in the place of the title, which moves above it.
    pub fn headline(&mut self, sentence: &str) {
        self.headline = Some(escape(sentence));
    }

    /// Sets the line below the headline, such as date, pack and author, in plain text.
    pub fn byline(&mut self, parts: &[String]) {
        self.byline = escape(&parts.join(" · "));
    }

    /// Appends one word about the whole page, in plain text and large letters.
    pub fn verdict(&mut self, good: bool, word: &str) {
        let class = if good { "good" } else { "bad" };
        self.body += &format!("<p class=\"verdict {class}\">{}</p>\n", escape(word));
    }

    /// Appends a heading in plain text; `level` is 2 for chapters and 3 for sections.
    pub fn heading(&mut self, level: u8, text: &str) {
        self.body += &format!("<h{level}>{}</h{level}>\n", escape(text));
    }

    /// Appends a paragraph of HTML: [`escape`] text from elsewhere.
    pub fn paragraph(&mut self, html: &str) {
        self.body += &format!("<p>{html}</p>\n");
    }

    /// Appends a list of names and their values, in plain text.
    pub fn facts(&mut self, facts: &[(&str, String)]) {
        self.body += "<dl>\n";
        for (name, text) in facts {
            self.body += &format!("<dt>{}</dt><dd>{}</dd>\n", escape(name), escape(text));
        }
        self.body += "</dl>\n";
    }

    /// Appends the seed, the version and the command line, which repeat the run.
    pub fn repeat(&mut self, seed: u64, command: &str) {
        self.body += &format!(
            "<dl>\n<dt>seed</dt><dd>{seed}</dd>\n<dt>version</dt><dd>undertone {}</dd>\n\
             <dt>to repeat it</dt><dd><code>{}</code></dd>\n</dl>\n",
            env!("CARGO_PKG_VERSION"),
            escape(command)
        );
    }

    /// Appends a table.
    pub fn table(&mut self, table: &Table) {
        self.body += &table.html();
    }

    /// Appends plots with a caption in plain text.
    pub fn figure(&mut self, caption: &str, figure: &Figure) {
        self.body += &figure.html(caption);
    }

    /// Appends figures side by side, each with a caption in plain text.
    pub fn figures(&mut self, figures: &[(String, Figure)]) {
        self.body += "<div class=\"panels\">\n";
        for (caption, figure) in figures {
            self.figure(caption, figure);
        }
        self.body += "</div>\n";
    }

    /// The whole page.
    pub fn finish(&self) -> String {
        let Self {
            title,
            headline,
            byline,
            body,
        } = self;
        let mut head = match headline {
            Some(headline) => format!("<p class=\"title\">{title}</p>\n<h1>{headline}</h1>\n"),
            None => format!("<h1>{title}</h1>\n"),
        };
        if !byline.is_empty() {
            head += &format!("<p class=\"byline\">{byline}</p>\n");
        }
        format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <title>undertone: {title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n\
             {head}{body}</body>\n</html>\n"
        )
    }
}

/// Text from elsewhere, such as a name, for people to read on one line. Invisible characters that
/// move, hide or colour others become escapes, such as `\n` and `\u{1b}`.
pub fn visible(text: &str) -> String {
    let mut visible = String::new();
    for c in text.chars() {
        // Unicode line ends and characters that change the direction of writing.
        let moves = matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        if moves || c.is_control() {
            visible.extend(c.escape_default());
        } else {
            visible.push(c);
        }
    }
    visible
}

/// Plain text as HTML. Characters are escaped as by [`visible`], except line ends, which become
/// spaces.
pub fn escape(text: &str) -> String {
    let lines: Vec<String> = text.split('\n').map(visible).collect();
    lines
        .join("\n")
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// The width of a text in Latin letters. A Chinese, Japanese or Korean letter takes two.
pub(crate) fn width(text: &str) -> usize {
    let is_wide = |c: char| matches!(c, '\u{1100}'..='\u{115f}' | '\u{2e80}'..='\u{d7a3}' | '\u{f900}'..='\u{faff}' | '\u{ff01}'..='\u{ff60}' | '\u{1f300}'..);
    text.chars().map(|c| 1 + usize::from(is_wide(c))).sum()
}

/// A text of at most this [`width`], with an ellipsis if it was longer.
pub(crate) fn cut(text: &str, most: usize) -> String {
    if width(text) <= most {
        return text.to_owned();
    }
    let mut short = text.to_owned();
    while width(&short) >= most {
        short.pop();
    }
    short + "…"
}

// Plots are 500 pixels wide with letters of 16 pixels. Two fit side by side on a wide page. On a
// narrow page they shrink to its width, and letters stay above 11 pixels.
const STYLE: &str = "
:root { color-scheme: light dark; --ink: #1a1a1a; --page: #fff; --clear: #fff0; --shade: #0003; --none: #0000; --soft: #555;
  --line: #ddd; --mark: #fff3e6; --good: #00653a; --bad: #b00020; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8e8e8; --page: #161616; --clear: #16161600; --shade: #fff4;
  --none: #fff0; --soft: #aaa; --line: #3a3a3a; --mark: #3d2a12; --good: #5fd39a; --bad: #ff8a9a; }
  svg { filter: invert(1) hue-rotate(180deg); mix-blend-mode: screen; } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--page); max-width: 64rem;
  margin: 0 auto; padding: 1rem; overflow-wrap: break-word; }
h1 { font-size: clamp(1.5rem, 6vw, 2rem); line-height: 1.2; max-width: 48rem; } h2 { margin-top: 3rem; border-bottom: 1px solid var(--line); }
.title, .byline { color: var(--soft); margin: .5rem 0; } .title + h1 { margin: 0; }
.verdict { font-size: 3rem; font-weight: 700; line-height: 1.2; margin: 1rem 0; }
.good { color: var(--good); } .bad { color: var(--bad); }
p, dl { max-width: 48rem; } code { overflow-wrap: anywhere; }
dt { font-weight: 600; } dd { margin: 0 0 .4rem; overflow-wrap: anywhere; }
figure { margin: 1rem 0; } figcaption { color: var(--soft); font-size: .9rem; max-width: 48rem; }
svg { display: block; width: 100%; max-width: 500px; height: auto; }
.panels { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 25rem), 1fr)); gap: 1rem; }
.panels > figure { margin: 0; }
.scroll { overflow-x: auto; margin: 1rem 0; max-width: 100%;
  background: linear-gradient(to right, var(--page) 30%, var(--clear)),
  linear-gradient(to left, var(--page) 30%, var(--clear)) 100% 0,
  linear-gradient(to right, var(--shade), var(--none)), linear-gradient(to left, var(--shade), var(--none)) 100% 0;
  background-repeat: no-repeat; background-size: 2rem 100%, 2rem 100%, .6rem 100%, .6rem 100%;
  background-attachment: local, local, scroll, scroll; }
table { border-collapse: collapse; font-size: .875rem; line-height: 1.35; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .5rem; text-align: right; vertical-align: top; border-bottom: 1px solid var(--line); }
td { white-space: nowrap; } th { min-width: 3rem; }
.text { text-align: left; white-space: normal; min-width: 5rem; } td.text:last-child { min-width: 8rem; }
th.text:first-child { max-width: 14rem; overflow-wrap: break-word; }
small { color: var(--soft); display: block; font-weight: 400; white-space: normal; }
.marked { background: var(--mark); } .marked th { font-weight: 700; } tr:not(.marked) > th.text { font-weight: 400; }
tr:first-child > th, tr:first-child > th.text { font-weight: 600; vertical-align: bottom; }
@media (max-width: 40rem) { body { padding: 1rem .75rem; } th.text:first-child { max-width: 10rem; } .text { min-width: 3rem; } }
@media print { html, body { max-width: none; font-size: 11px; } figure, tr { break-inside: avoid; }
  .scroll { overflow: visible; background: none; } .marked { print-color-adjust: exact; } }
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_stands_alone_and_escapes() {
        let mut page = Page::new("A < B");
        page.headline("C > D");
        page.byline(&["1 May".to_owned(), "<me>".to_owned()]);
        page.verdict(true, "Passed");
        page.heading(2, "R & D");
        page.paragraph("<em>kept</em>");
        page.facts(&[("pack", "<x>".to_owned())]);
        page.repeat(7, "undertone eval \"a\"");
        let html = page.finish();
        for part in [
            "<title>undertone: A &lt; B</title>",
            "<p class=\"title\">A &lt; B</p>\n<h1>C &gt; D</h1>\n<p class=\"byline\">1 May · &lt;me&gt;</p>",
            "<p class=\"verdict good\">Passed</p>",
            "prefers-color-scheme: dark",
            "<h2>R &amp; D</h2>",
            "<p><em>kept</em></p>",
            "<dt>pack</dt><dd>&lt;x&gt;</dd>",
            "<dd>7</dd>",
            "<code>undertone eval &quot;a&quot;</code>",
        ] {
            assert!(html.contains(part), "{part} in {html}");
        }
        assert_eq!(escape("\u{1b}[2Jx\ny\u{202e}"), "\\u{1b}[2Jx\ny\\u{202e}");
        assert_eq!(visible("x\ny\t\0"), "x\\ny\\t\\u{0}");
        assert_eq!(
            visible("naïve, हिन्दी, می‌خواهم 👩‍🔬 \\"),
            "naïve, हिन्दी, می‌خواهم 👩‍🔬 \\"
        );
        for outside in ["<script", "<link", "src=", "@import", "url("] {
            assert!(!html.contains(outside), "{outside}");
        }
    }
}
