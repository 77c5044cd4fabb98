//! Plots as SVG.
//!
//! Names stand at the ends of the lines. A panel has at most [`COLOURED`] lines in colour: a plot
//! with more becomes several panels with the same axes, each of which shows some in colour and the
//! rest in grey.

use std::error::Error;
use std::fmt;

use plotters::coord::Shift;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::number::{digits, number, whole};
use crate::page::{cut, escape, width};

/// Maximum number of coloured lines in one panel.
pub const COLOURED: usize = 4;

/// A line chart.
#[derive(Clone, Debug)]
pub struct Plot<'a> {
    /// The horizontal axis.
    pub x: Axis<'a>,
    /// The vertical axis.
    pub y: Axis<'a>,
    /// The lines, most important first.
    pub lines: Vec<Line>,
}

/// An axis of a [`Plot`].
#[derive(Clone, Copy, Debug)]
pub struct Axis<'a> {
    /// The quantity and its unit, in plain text.
    pub label: &'a str,
    /// The range of numbers on the axis.
    pub range: Range,
}

/// The range of numbers that an [`Axis`] shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Range {
    /// All positive values on a logarithmic scale; other values are not drawn.
    Logarithmic,
    /// All values, which are integers.
    Whole,
    /// From 0 to the largest value.
    FromZero,
    /// From 0 to 100.
    Percent,
}

/// A line of a [`Plot`], with a band around it.
#[derive(Clone, Debug)]
pub struct Line {
    /// Name at the end of the line, in plain text.
    pub name: String,
    /// The role of the line.
    pub look: Look,
    /// Points by ascending x.
    pub points: Vec<Point>,
}

/// A point of a [`Line`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Horizontal position.
    pub x: f64,
    /// Vertical position.
    pub y: f64,
    /// The ends of the band, the lower one first; `None` for no band.
    pub band: Option<(f64, f64)>,
}

impl Point {
    /// A point without a band.
    pub fn bare(x: f64, y: f64) -> Self {
        Self { x, y, band: None }
    }

    /// A point whose band extends `spread` up and down; 0 for none.
    pub fn spread(x: f64, y: f64, spread: f64) -> Self {
        let band = (spread > 0.0).then_some((y - spread, y + spread));
        Self { x, y, band }
    }
}

/// The role of a [`Line`], which determines its look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// The default of the library: thick, in every panel.
    Default,
    /// A reference for the others: dashed and grey, in every panel.
    Bound,
    /// Published results of others: in colour in the first panel.
    Published,
    /// Any other line.
    Plain,
}

/// A drawn plot: one panel or more.
#[derive(Clone, Debug)]
pub struct Figure {
    panels: Vec<String>,
}

/// An error of drawing a plot.
#[derive(Clone, Debug)]
pub struct DrawError(String);

impl fmt::Display for DrawError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for DrawError {}

impl Figure {
    pub(crate) fn of(svg: String) -> Self {
        Self { panels: vec![svg] }
    }

    /// The first panel, for a file of its own.
    pub fn into_svg(self) -> String {
        self.panels.into_iter().next().unwrap_or_default()
    }

    pub(crate) fn html(&self, caption: &str) -> String {
        let panels = self.panels.join("\n");
        let (panels, note) = match self.panels.len() {
            1 => (panels, ""),
            _ => (
                format!("<div class=\"panels\">\n{panels}\n</div>"),
                " Each panel shows some lines in colour and the rest in grey; the axes are the same.",
            ),
        };
        let caption = escape(caption);
        format!("<figure>\n{panels}\n<figcaption>{caption}{note}</figcaption>\n</figure>\n")
    }
}

/// Width and minimum height of a panel, in pixels.
const SIZE: (u32, u32) = (500, 340);

/// Space above the plot, and below it for the name of the x axis.
const ABOVE: u32 = 14;
const BELOW: u32 = 58;

/// Letter size in the units of the library: 20 of them are 16 pixels.
const TEXT: i32 = 20;

/// Width of a letter and distance of two lines of text, in pixels.
const LETTER: usize = 9;
const LINE: i32 = 18;

/// Maximum number of letters in one line of a name.
const WRAP: usize = 16;

/// Maximum number of marked points on a line.
const MARKED: usize = 12;

/// Dark enough for text, and distinct for colour-blind readers (after Okabe and Ito 2008).
const HIGHLIGHT: RGBColor = RGBColor(200, 80, 0);
const COLOURS: [RGBColor; COLOURED - 1] = [
    RGBColor(0, 114, 178),
    RGBColor(0, 135, 98),
    RGBColor(165, 70, 135),
];
const BOUND: RGBColor = RGBColor(85, 85, 85);
const CONTEXT: RGBColor = RGBColor(205, 205, 205);
const GRID: RGBColor = RGBColor(232, 232, 232);

type Drawn = Result<(), Box<dyn Error>>;
type Root<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;

/// A line in one panel, with its colour; grey lines have none.
type Styled<'p> = (&'p Line, Option<RGBColor>);

/// Text at the right of a panel, and the height of its line end.
struct Label {
    lines: Vec<String>,
    colour: RGBColor,
    end: Option<(i32, i32)>,
}

impl Label {
    fn height(&self) -> i32 {
        LINE * self.lines.len() as i32 + 3
    }
}

impl Plot<'_> {
    /// Draws the plot.
    ///
    /// # Errors
    /// Errors of the drawing library.
    pub fn draw(&self) -> Result<Figure, DrawError> {
        let points = || self.lines.iter().flat_map(|line| &line.points);
        let x = Scale::new(self.x.range, &points().map(|at| at.x).collect::<Vec<f64>>());
        let mut ys: Vec<f64> = points().map(|at| at.y).collect();
        // Other axes follow the lines and cut bands off.
        if self.y.range == Range::FromZero {
            ys.extend(points().filter_map(|at| Some(at.band?.1)));
        }
        let y = Scale::new(self.y.range, &ys);

        let panels = panels(&self.lines);
        let panels = panels.iter().map(|styled| self.panel(styled, &x, &y));
        let panels = panels.collect::<Result<_, _>>();
        panels
            .map(|panels| Figure { panels })
            .map_err(|error| DrawError(error.to_string()))
    }

    fn panel(&self, lines: &[Styled<'_>], x: &Scale, y: &Scale) -> Result<String, Box<dyn Error>> {
        // The width of the labels at the right is needed before the plot is placed.
        let coloured: Vec<(&Line, RGBColor)> = lines
            .iter()
            .filter_map(|(line, colour)| Some((*line, (*colour)?)))
            .collect();
        let mut labels: Vec<Label> = coloured
            .iter()
            .map(|(line, colour)| Label {
                lines: wrap(&line.name),
                colour: *colour,
                end: None,
            })
            .collect();
        let widest = labels
            .iter()
            .flat_map(|label| &label.lines)
            .map(|text| width(text));
        let right = widest.max().map_or(16, |letters| 34 + LETTER * letters) as u32;
        let longest = y.ticks.iter().map(|(_, text)| text.chars().count()).max();
        let left = (36 + LETTER * longest.unwrap_or(1)) as u32;
        let names: i32 = labels.iter().map(Label::height).sum();
        let height = SIZE.1.max(names as u32 + ABOVE + BELOW);

        let mut text = String::new();
        {
            let root = SVGBackend::with_string(&mut text, (SIZE.0, height)).into_drawing_area();
            root.fill(&WHITE)?;
            let mut chart = ChartBuilder::on(&root)
                .margin_top(ABOVE)
                .margin_bottom(BELOW)
                .margin_left(left)
                .margin_right(right)
                .build_cartesian_2d(x.start..x.end, y.start..y.end)?;
            self.axes(&root, &chart, x, y)?;
            self.data(&mut chart, lines, x, y)?;

            for (label, (line, _)) in labels.iter_mut().zip(coloured) {
                let end = line.points.iter().rev().find_map(|at| place(at, x, y));
                label.end = end.map(|end| chart.plotting_area().map_coordinate(&end));
            }
            name(
                &root,
                labels,
                (SIZE.0 - right) as i32,
                (height - BELOW) as i32,
            )?;
            root.present()?;
        }
        let names: Vec<&str> = lines.iter().map(|(line, _)| line.name.as_str()).collect();
        let what = format!(
            "{} against {}: {}",
            self.y.label,
            self.x.label,
            names.join("; ")
        );
        Ok(text.replacen(
            "<svg ",
            &format!("<svg role=\"img\" aria-label=\"{}\" ", escape(&what)),
            1,
        ))
    }

    fn axes(&self, root: &Root<'_>, chart: &Chart<'_, '_>, x: &Scale, y: &Scale) -> Drawn {
        let area = chart.plotting_area();
        let (across, down) = area.get_pixel_range();
        let style = |horizontal, vertical| {
            let style = ("sans-serif", TEXT).into_text_style(root);
            style.pos(Pos::new(horizontal, vertical))
        };
        let write = |text: &str, place, style| root.draw(&Text::new(text.to_owned(), place, style));
        for (at, text) in &y.ticks {
            let (_, place) = area.map_coordinate(&(x.start, *at));
            let line = [(across.start, place), (across.end, place)];
            root.draw(&PathElement::new(line.to_vec(), GRID.stroke_width(1)))?;
            let style = style(HPos::Right, VPos::Center);
            write(text, (across.start - 7, place), style)?;
        }
        let axis = [(across.start, down.end), (across.end, down.end)];
        root.draw(&PathElement::new(axis.to_vec(), BOUND.stroke_width(1)))?;
        // Skips a label that would touch the previous one.
        let mut free = i32::MIN;
        for (at, text) in &x.ticks {
            let (place, _) = area.map_coordinate(&(*at, y.start));
            let tick = [(place, down.end), (place, down.end + 4)];
            root.draw(&PathElement::new(tick.to_vec(), BOUND.stroke_width(1)))?;
            let half = (LETTER * text.chars().count()) as i32 / 2 + 3;
            if place - half >= free {
                let style = style(HPos::Center, VPos::Top);
                write(text, (place, down.end + 8), style)?;
                free = place + half;
            }
        }
        let label = style(HPos::Center, VPos::Top);
        let middle = (across.start + across.end) / 2;
        write(self.x.label, (middle, down.end + 32), label)?;
        let label = style(HPos::Center, VPos::Top).transform(FontTransform::Rotate270);
        let middle = (down.start + down.end) / 2;
        Ok(write(self.y.label, (4, middle), label)?)
    }

    fn data(&self, chart: &mut Chart<'_, '_>, lines: &[Styled<'_>], x: &Scale, y: &Scale) -> Drawn {
        // The most important line is drawn last, on top.
        for (line, colour) in lines.iter().rev() {
            let points: Vec<(f64, f64)> = line
                .points
                .iter()
                .filter_map(|at| place(at, x, y))
                .collect();
            let Some(colour) = colour else {
                chart.draw_series(LineSeries::new(points, CONTEXT.stroke_width(2)))?;
                continue;
            };
            if line.points.iter().any(|at| at.band.is_some()) {
                chart.draw_series([Polygon::new(band(line, x, y), colour.mix(0.15))])?;
            }
            let width = if line.look == Look::Default { 4 } else { 2 };
            let stroke = colour.stroke_width(width);
            if line.look == Look::Bound {
                chart.draw_series(DashedLineSeries::new(points.clone(), 6, 4, stroke))?;
                continue;
            }
            chart.draw_series(LineSeries::new(points.clone(), stroke))?;
            if points.len() <= MARKED {
                let mark = |at: &(f64, f64)| Circle::new(*at, width + 1, colour.filled());
                chart.draw_series(points.iter().map(mark))?;
            }
        }
        Ok(())
    }
}

/// Writes the names at the ends of their lines, moved apart where they would overlap.
fn name(root: &Root<'_>, mut labels: Vec<Label>, x: i32, bottom: i32) -> Drawn {
    labels.sort_by_key(|label| label.end.map(|(_, y)| y));
    let mut free = 0;
    let mut tops: Vec<i32> = labels
        .iter()
        .map(|label| {
            let top = label
                .end
                .map_or(0, |(_, y)| y - label.height() / 2)
                .max(free);
            free = top + label.height();
            top
        })
        .collect();
    let mut limit = bottom + LINE / 2;
    for (top, label) in tops.iter_mut().zip(&labels).rev() {
        *top = (*top).min(limit - label.height());
        limit = *top;
    }
    for (label, top) in labels.iter().zip(tops) {
        let style = ("sans-serif", TEXT)
            .into_text_style(root)
            .color(&label.colour);
        let style = style.pos(Pos::new(HPos::Left, VPos::Center));
        if let Some((end, y)) = label.end {
            let leader = vec![(end + 6, y), (x + 22, top + label.height() / 2)];
            root.draw(&PathElement::new(leader, label.colour.stroke_width(1)))?;
        }
        for (line, text) in (0..).zip(&label.lines) {
            let place = (x + 26, top + LINE / 2 + LINE * line + 1);
            root.draw(&Text::new(text.clone(), place, style.clone()))?;
        }
    }
    Ok(())
}

/// The lines of each panel with their colours, most important first.
fn panels(lines: &[Line]) -> Vec<Vec<Styled<'_>>> {
    let (every, mut others): (Vec<&Line>, Vec<&Line>) = lines
        .iter()
        .partition(|line| matches!(line.look, Look::Default | Look::Bound));
    others.sort_by_key(|line| line.look != Look::Published);
    let groups = others.len().div_ceil(COLOURS.len()).max(1);
    let size = others.len().div_ceil(groups).max(1);
    let panel = |group: usize| {
        let own = group * size..(group + 1) * size;
        let colour = |line: &Line| match line.look {
            Look::Default => HIGHLIGHT,
            _ => BOUND,
        };
        let always = every.iter().map(|line| (*line, Some(colour(line))));
        let coloured = (0..).zip(&others).map(|(place, line)| {
            let colour = own.contains(&place).then(|| COLOURS[place - own.start]);
            (*line, colour)
        });
        let mut styled: Vec<Styled<'_>> = always.chain(coloured).collect();
        // Grey lines come last here and are drawn first.
        styled.sort_by_key(|(line, colour)| (colour.is_none(), line.look != Look::Default));
        styled
    };
    (0..groups).map(panel).collect()
}

/// The outline of a line's band: its upper ends, then its lower ends in reverse. A point without a
/// band is on both.
fn band(line: &Line, x: &Scale, y: &Scale) -> Vec<(f64, f64)> {
    let points = line.points.iter().filter_map(|at| {
        let (across, middle) = place(at, x, y)?;
        let (low, high) = at.band.unwrap_or((at.y, at.y));
        let [low, high] = [(low, y.start), (high, middle)].map(|(end, otherwise)| {
            let place = y.place(end).unwrap_or(otherwise);
            (across, place.clamp(y.start, y.end))
        });
        Some((low, high))
    });
    let (lower, mut outline): (Vec<_>, Vec<_>) = points.unzip();
    outline.extend(lower.into_iter().rev());
    outline
}

fn place(at: &Point, x: &Scale, y: &Scale) -> Option<(f64, f64)> {
    Some((x.place(at.x)?, y.place(at.y)?))
}

/// Splits a name into lines of at most [`WRAP`] letters. A longer word is cut.
fn wrap(name: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in name.split_whitespace() {
        match lines.last_mut() {
            Some(line) if width(line) + width(word) < WRAP => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(cut(word, WRAP)),
        }
    }
    lines
}

/// The ends and labels of an axis.
#[derive(Debug)]
struct Scale {
    logarithmic: bool,
    start: f64,
    end: f64,
    ticks: Vec<(f64, String)>,
}

impl Scale {
    fn new(range: Range, values: &[f64]) -> Self {
        let drawn = |x: &&f64| x.is_finite() && (range != Range::Logarithmic || **x > 0.0);
        let mut values: Vec<f64> = values.iter().filter(drawn).copied().collect();
        values.sort_unstable_by(f64::total_cmp);
        values.dedup();
        let low = values.first().copied().unwrap_or(1.0);
        let high = values.last().copied().unwrap_or(1.0);
        match range {
            Range::Logarithmic => Self::logarithmic(&values, low, high),
            Range::Whole => Self::linear(low - 0.5, high + 0.5, nice((high - low) / 6.0).max(1.0)),
            Range::FromZero => {
                let high = if high > 0.0 { high } else { 1.0 };
                let step = nice(high / 5.0);
                // Rounding of a value adds no step.
                Self::linear(0.0, (high / step - 1e-6).ceil() * step, step)
            }
            Range::Percent => Self::linear(0.0, 100.0, 20.0),
        }
    }

    fn linear(start: f64, end: f64, step: f64) -> Self {
        Self {
            logarithmic: false,
            start,
            end,
            ticks: steps(start, end, step),
        }
    }

    fn logarithmic(values: &[f64], low: f64, high: f64) -> Self {
        let (from, to) = (low.log10(), high.log10());
        // Margins for the first and the last point.
        let room = (0.05 * (to - from)).max(0.03);
        let inside = |x: &f64| (from - room..=to + room).contains(&x.log10());
        let decades = |digits: &[f64]| -> Vec<f64> {
            let decades = from.floor() as i32..=to.ceil() as i32;
            let all =
                decades.flat_map(|power| digits.iter().map(move |digit| digit * 10f64.powi(power)));
            all.filter(inside).collect()
        };
        let label = |x: f64| (x.log10(), digits(x, 1));
        let [every, some] = [&[1.0, 2.0, 5.0][..], &[1.0]].map(decades);
        let ticks = if values.len() <= 8 {
            // The values as tables show them.
            values.iter().map(|x| (x.log10(), format!("{x}"))).collect()
        } else {
            match (every.len(), some.len()) {
                (2..=8, _) => every.into_iter().map(label).collect(),
                (_, 2..) => {
                    let nth = some.len().div_ceil(8);
                    some.into_iter().step_by(nth).map(label).collect()
                }
                _ => {
                    let ticks = steps(low, high, nice((high - low) / 4.0)).into_iter();
                    ticks
                        .filter(|(x, _)| *x > 0.0)
                        .map(|(x, text)| (x.log10(), text))
                        .collect()
                }
            }
        };
        Self {
            logarithmic: true,
            start: from - room,
            end: to + room,
            ticks,
        }
    }

    /// The position of a value, if the axis can show it.
    fn place(&self, x: f64) -> Option<f64> {
        if self.logarithmic {
            (x > 0.0 && x.is_finite()).then(|| x.log10())
        } else {
            x.is_finite().then_some(x)
        }
    }
}

/// The smallest of ..., 0.1, 0.2, 0.5, 1, 2, 5, 10, ... that is at least `step`.
fn nice(step: f64) -> f64 {
    if step.is_nan() || step <= 0.0 {
        return 1.0;
    }
    let power = 10f64.powf(step.log10().floor());
    let nice = [1.0, 2.0, 5.0]
        .iter()
        .find(|digit| *digit * power >= step * (1.0 - 1e-9));
    nice.unwrap_or(&10.0) * power
}

/// The multiples of `step` from `start` to `end`, with the decimals they need.
fn steps(start: f64, end: f64, step: f64) -> Vec<(f64, String)> {
    let decimals = (-step.log10().floor()).max(0.0) as usize;
    let first = (start / step - 1e-9).ceil();
    let n = (end / step - first + 1e-9).floor().clamp(0.0, 20.0) as usize;
    let ticks = (0..=n).map(|place| {
        let at = (first + place as f64) * step;
        let text = match decimals {
            0 if at.abs() < 1e9 => whole(at),
            1..=4 => format!("{at:.decimals$}"),
            _ => number(at),
        };
        (at, text)
    });
    ticks.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(name: &str, look: Look, ys: &[f64]) -> Line {
        let points = (1..)
            .zip(ys)
            .map(|(x, y)| Point::spread(f64::from(x), *y, 0.5));
        Line {
            name: name.to_owned(),
            look,
            points: points.collect(),
        }
    }

    fn plot(range: Range, lines: Vec<Line>) -> Plot<'static> {
        Plot {
            x: Axis {
                label: "ε",
                range: Range::Logarithmic,
            },
            y: Axis {
                label: "accuracy (%)",
                range,
            },
            lines,
        }
    }

    /// The values of one attribute in all elements of a kind.
    fn attributes<'s>(svg: &'s str, element: &str, name: &str) -> Vec<&'s str> {
        let start = format!("<{element}");
        let name = format!(" {name}=\"");
        let elements = svg.split(&start).skip(1);
        let value = |rest: &'s str| rest.split_once(&name)?.1.split('"').next();
        elements.filter_map(value).collect()
    }

    fn sixteen() -> Vec<Line> {
        let name = |n: usize| format!("mechanism {n}");
        let mut lines: Vec<Line> = (0..16)
            .map(|n| line(&name(n), Look::Plain, &[90.0, 92.0 + 0.4 * n as f64]))
            .collect();
        lines[3].look = Look::Default;
        lines[5].look = Look::Bound;
        lines[9].look = Look::Published;
        lines
    }

    #[test]
    fn many_lines_become_named_panels_of_few_colours() {
        let lines = sixteen();
        let figure = plot(Range::Percent, lines.clone()).draw().unwrap();
        assert_eq!(figure.panels.len(), 5);
        assert!(figure.html("").contains("in grey"));
        for styled in panels(&lines) {
            assert_eq!(styled.len(), 16);
            let mut colours: Vec<RGBColor> = Vec::new();
            for (line, colour) in &styled {
                if let Some(colour) = colour
                    && line.look != Look::Bound
                {
                    assert!(!colours.contains(colour), "{}", line.name);
                    colours.push(*colour);
                }
            }
            assert!((2..=COLOURED).contains(&colours.len()));
        }
        assert!(figure.panels[0].contains("mechanism 9"));
        for svg in &figure.panels {
            let start = "<svg role=\"img\" aria-label=\"accuracy (%) against ε: ";
            assert!(svg.starts_with(start), "{svg}");
            for label in ["ε", "accuracy (%)"] {
                let named = format!(">\n{label}\n</text>");
                assert!(svg.contains(&named), "{label}: {svg}");
            }
        }
        for line in &lines {
            let named = |svg: &&String| svg.contains(&format!(">\n{}\n</text>", line.name));
            let times = figure.panels.iter().filter(named).count();
            let always = matches!(line.look, Look::Default | Look::Bound);
            assert_eq!(times, if always { 5 } else { 1 }, "{}", line.name);
        }
    }

    #[test]
    fn names_and_labels_of_axes_do_not_overlap() {
        let names = [
            "one of them",
            "another of them with a long name",
            "a third",
            "the last",
        ];
        // A word that is wider than the panel is cut.
        let word = [line(&"x".repeat(150), Look::Plain, &[1.0])];
        let svg = plot(Range::FromZero, word.to_vec()).draw().unwrap();
        assert!(
            svg.into_svg()
                .contains(&format!("\n{}…\n", "x".repeat(WRAP - 1)))
        );
        let lines = names.map(|name| line(name, Look::Plain, &[1.0, 50.0]));
        let rounded = Scale::new(Range::FromZero, &[0.5, 1.0 + 1e-12]);
        assert!((rounded.end - 1.0).abs() < 1e-9, "{}", rounded.end);
        let figure = plot(Range::FromZero, lines[..3].to_vec()).draw().unwrap();
        let svg = &figure.panels[0];
        let (xs, ys) = (attributes(svg, "text", "x"), attributes(svg, "text", "y"));
        let right = xs
            .iter()
            .filter_map(|x| x.parse::<i32>().ok())
            .max()
            .unwrap();
        let mut places: Vec<i32> = xs
            .iter()
            .zip(&ys)
            .filter(|(x, _)| x.parse() == Ok(right))
            .map(|(_, y)| y.parse().unwrap())
            .collect();
        places.sort_unstable();
        assert!(places.len() >= 4, "{svg}");
        assert!(
            places.windows(2).all(|pair| pair[1] - pair[0] >= LINE),
            "{places:?}"
        );

        // An axis has no space for 25 labels.
        let many: Vec<f64> = (0..25).map(f64::from).collect();
        let scale = Scale::new(Range::Logarithmic, &many[1..]);
        let labels: Vec<&str> = scale.ticks.iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!(labels, ["1", "2", "5", "10", "20"]);
    }

    #[test]
    fn odd_values_are_drawn() {
        for values in [
            &[][..],
            &[0.0, 0.0],
            &[f64::NAN, 1.0],
            &[f64::INFINITY, 1.0],
            &[1e300, 1e-300],
            &[-1.0, 3.0],
            &[3.16, 3.17],
        ] {
            for range in [
                Range::FromZero,
                Range::Percent,
                Range::Logarithmic,
                Range::Whole,
            ] {
                let lines = vec![
                    line("x", Look::Default, values),
                    line("y", Look::Plain, &[2.0]),
                ];
                let figure = plot(range, lines).draw().unwrap();
                assert!(figure.panels[0].ends_with("</svg>\n"), "{values:?}");
                assert!(!figure.panels[0].contains("NaN"), "{values:?}");
            }
        }
        let none = plot(Range::Percent, Vec::new()).draw().unwrap();
        assert_eq!(none.panels.len(), 1);
    }

    #[test]
    fn a_band_has_the_ends_it_is_given() {
        let mut line = line("share", Look::Plain, &[1.0, 50.0, 2.0]);
        line.points[0].band = Some((0.0, 40.0));
        line.points[1].band = Some((49.0, 90.0));
        line.points[2].band = None;
        let x = Scale::new(Range::Whole, &[1.0, 2.0, 3.0]);
        let y = Scale::linear(0.0, 60.0, 10.0);
        let expected = [
            (1.0, 40.0),
            // Clipped at the end of the axis.
            (2.0, 60.0),
            (3.0, 2.0),
            (3.0, 2.0),
            (2.0, 49.0),
            (1.0, 0.0),
        ];
        assert_eq!(band(&line, &x, &y), expected);
        // A band whose lower end is off the axis goes to its start.
        line.points[0].band = Some((-1.0, 2.0));
        let y = Scale::new(Range::Logarithmic, &[0.1, 100.0]);
        assert_eq!(band(&line, &x, &y)[5], (1.0, y.start));
    }
}
