//! What the reports of experiments and audits have in common: tables for programs, and one page for people that needs
//! no other file.

// Evaluations use all of it.

use std::fs;
use std::io::Write;
use std::ops::Range;
use std::path::Path;

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::error::{Error, Result};
use crate::files::atomic::AtomicFile;

/// The name of the page.
pub const PAGE: &str = "report.html";

/// Makes the folder `out`, if it is not there, and says now whether files can be written there.
///
/// # Errors
/// [`Error::Io`] or [`Error::OutputPath`].
pub fn check(out: &Path) -> Result<()> {
    fs::create_dir_all(out).map_err(Error::io("create the folder", out))?;
    AtomicFile::check(out.join(PAGE))
}

/// Writes each text as the file of its name in the folder `out`.
///
/// All are on the disk before one of them gets its name, so that a full disk leaves the old ones; the page gets
/// its name last. Files of these names are replaced, others are left alone.
///
/// # Errors
/// [`Error::Io`] or [`Error::OutputPath`].
pub fn write(out: &Path, files: &[(&str, String)]) -> Result<()> {
    let settled = |(name, text): &(&str, String)| {
        let path = out.join(name);
        let mut file = AtomicFile::create(&path)?;
        file.write_all(text.as_bytes())
            .map_err(Error::io("write", &path))?;
        file.settle()?;
        Ok(file)
    };
    let files = files.iter().map(settled).collect::<Result<Vec<_>>>()?;
    files.into_iter().try_for_each(AtomicFile::commit)
}

/// The whole page; `title` is plain text, `body` is HTML.
pub fn page(title: &str, body: &str) -> String {
    let title = escape(title);
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>undertone: {title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n\
         <h1>{title}</h1>\n{body}</body>\n</html>\n"
    )
}

/// The last lines of the list at the top of a page: what it takes to repeat the run.
pub fn repeat(seed: u64, command: &str) -> String {
    format!(
        "<dt>seed</dt><dd>{seed}</dd>\n<dt>version</dt><dd>undertone {}</dd>\n\
         <dt>to repeat it</dt><dd><code>{}</code></dd>\n",
        env!("CARGO_PKG_VERSION"),
        escape(command)
    )
}

const STYLE: &str = "
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, sans-serif; color: #1a1a1a; background: #fff; max-width: 60rem;
  margin: 0 auto; padding: 1rem; }
h1 { line-height: 1.2; } h2 { margin-top: 3rem; border-bottom: 1px solid #bbb; }
dt { font-weight: 600; } dd { margin: 0 0 .4rem; } code { overflow-wrap: anywhere; }
figure { margin: 1rem 0; } figcaption { color: #555; font-size: .9rem; }
svg { width: 100%; height: auto; }
.wide { overflow-x: auto; }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(18rem, 1fr)); gap: 1rem; }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .6rem; text-align: right; border-bottom: 1px solid #ddd; }
th:first-child, .text { text-align: left; } td { white-space: nowrap; } td.text { white-space: normal; }
small { color: #666; display: block; }
.dot { display: inline-block; width: .8em; height: .8em; border-radius: 50%; margin-right: .4em; }
.default { background: #fff3e6; font-weight: 600; }
@media print { body { max-width: none; font-size: 11px; } figure, tr { break-inside: avoid; }
  .wide { overflow: visible; } .default, .dot { print-color-adjust: exact; } }
";

/// Colours that differ for colour-blind readers too (Okabe and Ito 2008); grey is for baselines, the
/// first one for the default.
pub const HIGHLIGHT: RGBColor = RGBColor(213, 94, 0);
pub const COLOURS: [RGBColor; 6] = [
    RGBColor(0, 114, 178),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(230, 159, 0),
    RGBColor(0, 0, 0),
];
pub const GREYS: [RGBColor; 3] = [
    RGBColor(110, 110, 110),
    RGBColor(150, 150, 150),
    RGBColor(185, 185, 185),
];

/// How a mechanism is drawn.
#[derive(Clone, Copy)]
pub struct Style {
    /// Of its curve, and of the mark in tables.
    pub colour: RGBColor,
    /// Of its curve, in pixels.
    pub width: u32,
    /// Set apart from others of the same colour.
    pub dashed: bool,
}

impl Style {
    /// The first cell of a row: a mark in the colour of the curve, and the name.
    pub fn name(self, name: &str) -> String {
        let RGBColor(red, green, blue) = self.colour;
        format!(
            "<th><span class=\"dot\" style=\"background:rgb({red},{green},{blue})\"></span>{}</th>",
            escape(name)
        )
    }
}

/// Fields of a line of CSV.
pub fn fields(fields: &[&str]) -> String {
    let quoted = fields.iter().map(|field| {
        if field.contains([',', '"', '\n', '\r']) {
            format!("\"{}\"", field.replace('"', "\"\""))
        } else {
            (*field).to_owned()
        }
    });
    quoted.collect::<Vec<String>>().join(",")
}

/// Text as it stands in HTML.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// A plot with the plain text `caption`.
pub fn figure(caption: &str, svg: &str) -> String {
    let caption = escape(caption);
    format!("<figure>\n{svg}\n<figcaption>{caption}</figcaption>\n</figure>\n")
}

/// The first row of a table with a column for each of `values`, named `x`, and the cells `more`.
pub fn head(x: &str, values: &[String], more: &str) -> String {
    let cells: String = values.iter().map(|x| format!("<th>{x}</th>")).collect();
    format!("<div class=\"wide\"><table>\n<tr><th>{x} =</th>{cells}{more}</tr>\n")
}

/// Room for the names at the right of a plot, in pixels: at least, and for a letter.
const NAMES: usize = 210;
const LETTER: usize = 8;

/// The width of a plot without its names, in pixels.
const WIDTH: usize = 550;

/// Distance of two lines of text, in pixels.
const LINE: i32 = 20;

/// What is drawn on.
pub type Drawing<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// Draws an SVG of this size.
pub fn svg(
    size: (u32, u32),
    draw: impl FnOnce(&Drawing<'_>) -> Result<(), Box<dyn std::error::Error>>,
) -> Result<String> {
    let mut text = String::new();
    {
        let root = SVGBackend::with_string(&mut text, size).into_drawing_area();
        draw(&root)
            .and_then(|()| Ok(root.present()?))
            .map_err(|error| Error::Plot {
                problem: error.to_string(),
            })?;
    }
    Ok(text)
}

/// A curve with error bars.
pub struct Curve<'a> {
    /// Written at its end.
    pub name: &'a str,
    /// How it is drawn.
    pub style: Style,
    /// x > 0, mean and standard deviation, by ascending x.
    pub points: Vec<(f64, f64, f64)>,
}

/// What the vertical axis shows.
#[derive(Clone, Copy, PartialEq)]
pub enum Scale {
    /// From 0 to 100 per cent.
    Percent,
    /// All values, which are positive, by their logarithms.
    Logarithmic,
}

impl Scale {
    /// Where a value is drawn.
    fn place(self, y: f64) -> f64 {
        match self {
            Self::Percent => y,
            Self::Logarithmic => y.max(f64::MIN_POSITIVE).log10(),
        }
    }

    fn range(self, curves: &[Curve<'_>]) -> Range<f64> {
        match self {
            Self::Percent => 0.0..100.0,
            Self::Logarithmic => {
                let means = curves.iter().flat_map(|curve| &curve.points);
                let places = means.map(|(_, mean, _)| self.place(*mean));
                let (low, high) = places.fold((f64::MAX, f64::MIN), |(low, high), y| {
                    (y.min(low), y.max(high))
                });
                low - 0.15..high + 0.15
            }
        }
    }

    /// A value of the axis as text.
    fn label(self, place: f64) -> String {
        match self {
            Self::Percent => format!("{place:.0}"),
            Self::Logarithmic => {
                let value = 10f64.powf(place);
                match place {
                    2.0.. => format!("{value:.0}"),
                    1.0.. => format!("{value:.1}"),
                    0.0.. => format!("{value:.2}"),
                    _ => format!("{value:.1e}"),
                }
            }
        }
    }
}

/// Curves with error bars over a logarithmic axis, each with its name at its end.
///
/// # Errors
/// [`Error::Plot`].
pub fn curves(all: &[Curve<'_>], x_name: &str, scale: Scale) -> Result<String> {
    let points = all.iter().flat_map(|curve| &curve.points);
    let mut ticks: Vec<f64> = points.map(|(x, ..)| *x).collect();
    ticks.sort_unstable_by(f64::total_cmp);
    ticks.dedup();
    let (Some(first), Some(last)) = (ticks.first(), ticks.last()) else {
        return Ok(String::new());
    };
    // Room beside the first and the last point.
    let (left, right) = (first.ln() - 0.1, last.ln() + 0.1);
    let vertical = scale.range(all);
    let longest = all.iter().map(|curve| curve.name.chars().count()).max();
    let names = (30 + LETTER * longest.unwrap_or(0)).max(NAMES);
    svg(((WIDTH + names) as u32, 440), |root| {
        let mut chart = ChartBuilder::on(root)
            .margin(10)
            .margin_right(names as i32)
            .x_label_area_size(50)
            .y_label_area_size(50)
            .build_cartesian_2d(left..right, vertical.clone())?;
        chart
            .configure_mesh()
            .disable_x_mesh()
            .x_labels(0)
            .y_labels(6)
            .light_line_style(TRANSPARENT)
            .bold_line_style(RGBColor(225, 225, 225))
            .label_style(("sans-serif", 15))
            .y_label_formatter(&|y| scale.label(*y))
            .draw()?;
        let middle = |size: i32| ("sans-serif", size).into_text_style(root);
        let below = Pos::new(HPos::Center, VPos::Top);
        for tick in &ticks {
            let (x, y) = chart
                .plotting_area()
                .map_coordinate(&(tick.ln(), vertical.start));
            let text = Text::new(format!("{tick}"), (x, y + 7), middle(15).pos(below));
            root.draw(&text)?;
        }
        let centre = ((left + right) / 2.0, vertical.start);
        let (x, y) = chart.plotting_area().map_coordinate(&centre);
        root.draw(&Text::new(x_name, (x, y + 30), middle(15).pos(below)))?;

        let mut ends = Vec::new();
        for curve in all {
            let style = curve.style;
            let line = style.colour.stroke_width(style.width);
            let bars = curve
                .points
                .iter()
                .filter(|(.., sd)| *sd > 0.0)
                .map(|(x, mean, sd)| {
                    let ends = [mean - sd, mean + sd].map(|y| {
                        let y = scale.place(y).clamp(vertical.start, vertical.end);
                        (x.ln(), y)
                    });
                    PathElement::new(ends.to_vec(), line)
                });
            chart.draw_series(bars)?;
            let points = curve.points.iter();
            let points: Vec<(f64, f64)> =
                points.map(|(x, y, _)| (x.ln(), scale.place(*y))).collect();
            if style.dashed {
                chart.draw_series(DashedLineSeries::new(points.clone(), 6, 4, line))?;
            } else {
                chart.draw_series(LineSeries::new(points.clone(), line))?;
            }
            let mark = style.colour.filled();
            let radius = style.width + 1;
            chart.draw_series(points.iter().map(|at| Circle::new(*at, radius, mark)))?;
            if let Some(end) = points.last() {
                ends.push((chart.plotting_area().map_coordinate(end), curve));
            }
        }
        // Names beside the ends of their curves, moved apart where they would overlap.
        ends.sort_by_key(|((_, y), ..)| *y);
        let mut next = i32::MIN;
        let mut places: Vec<i32> = ends
            .iter()
            .map(|((_, y), ..)| {
                let place = (*y).max(next);
                next = place + LINE;
                place
            })
            .collect();
        let mut limit = chart.plotting_area().get_pixel_range().1.end;
        for place in places.iter_mut().rev() {
            *place = (*place).min(limit);
            limit = *place - LINE;
        }
        for (((x, y), curve), place) in ends.into_iter().zip(places) {
            let colour = curve.style.colour;
            root.draw(&PathElement::new(
                [(x + 6, y), (x + 20, place)],
                colour.stroke_width(1),
            ))?;
            let beside = Pos::new(HPos::Left, VPos::Center);
            let text = middle(16).color(&colour).pos(beside);
            root.draw(&Text::new(curve.name.to_owned(), (x + 24, place), text))?;
        }
        Ok(())
    })
}
