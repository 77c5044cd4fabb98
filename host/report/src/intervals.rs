//! A chart of shares with intervals, one row for each.

use crate::number::percent;
use crate::page::{cut, escape};
use crate::plot::Figure;

/// Shares in per cent, or differences of shares, each drawn as a point on a bar that covers its
/// interval.
#[derive(Clone, Debug, Default)]
pub struct Intervals {
    rows: Vec<(String, f64, Option<Ends>)>,
    reach: Ends,
}

/// The ends of an interval.
type Ends = (f64, f64);

/// Pixels: width of a panel, space for names, margins of the bars, and height of a row.
const WIDTH: f64 = 500.0;
const NAMES: f64 = 165.0;
const MARGIN: f64 = 18.0;
const ROW: f64 = 26.0;

/// Maximum number of letters in a name, of 9 pixels each.
const LETTERS: usize = 17;

impl Intervals {
    /// Appends a row: its name in plain text, a share, and the ends of its interval if it has one.
    pub fn row(&mut self, name: &str, share: f64, ends: Option<(f64, f64)>) {
        self.rows.push((name.to_owned(), share, ends));
    }

    /// Gives charts that are compared the same axis.
    pub fn align(charts: &mut [Self]) {
        let ends = charts.iter().map(Self::ends);
        let reach = ends.fold((0.0f64, 0.0f64), |all, own| {
            (all.0.min(own.0), all.1.max(own.1))
        });
        for chart in charts {
            chart.reach = reach;
        }
    }

    /// The ends of the axis: the lowest and the highest number, 0 and `reach`.
    fn ends(&self) -> Ends {
        let numbers = self.rows.iter().flat_map(|(_, share, ends)| {
            let (low, high) = ends.unwrap_or((*share, *share));
            [*share, low, high]
        });
        numbers.fold(self.reach, |(low, high), x| (low.min(x), high.max(x)))
    }

    /// Draws the rows on an axis from 0, or from the lowest end if that is negative, to the highest
    /// end.
    pub fn draw(&self) -> Figure {
        let (low, high) = self.ends();
        let step = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5]
            .into_iter()
            .find(|step| (high - low) / step <= 6.0)
            .unwrap_or(0.5);
        let (low, high) = ((low / step).floor(), (high / step).ceil().max(1.0));
        let place = |share: f64| {
            let part = (share / step - low) / (high - low);
            NAMES + part * (WIDTH - NAMES - MARGIN)
        };
        let bottom = self.rows.len() as f64 * ROW + 8.0;
        let mut body = String::new();
        for tick in low as i64..=high as i64 {
            let share = tick as f64 * step;
            let (x, colour) = (place(share), if tick == 0 { "#777" } else { "#e4e4e4" });
            body += &format!(
                "<line x1=\"{x:.1}\" y1=\"4\" x2=\"{x:.1}\" y2=\"{bottom}\" stroke=\"{colour}\"/>\n\
                 <text x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\" font-size=\"14\">{}</text>\n",
                bottom + 18.0,
                percent(share).trim_end_matches(".0")
            );
        }
        for (place_of_row, (name, share, ends)) in self.rows.iter().enumerate() {
            let y = 4.0 + ROW * (place_of_row as f64 + 0.5);
            body += &format!(
                "<text x=\"{}\" y=\"{}\" text-anchor=\"end\" font-size=\"14\">{}</text>\n",
                NAMES - 10.0,
                y + 5.0,
                escape(&cut(name, LETTERS))
            );
            if let Some((from, to)) = ends {
                body += &format!(
                    "<line x1=\"{:.1}\" y1=\"{y}\" x2=\"{:.1}\" y2=\"{y}\" stroke=\"#0072b2\" stroke-width=\"7\" \
                     stroke-opacity=\".35\"/>\n",
                    place(*from),
                    place(*to)
                );
            }
            body += &format!(
                "<circle cx=\"{:.1}\" cy=\"{y}\" r=\"5\" fill=\"#0072b2\"/>\n",
                place(*share)
            );
        }
        let height = bottom + 26.0;
        let names: Vec<String> = self
            .rows
            .iter()
            .map(|(name, share, _)| format!("{name} {}", percent(*share)))
            .collect();
        Figure::of(format!(
            "<svg role=\"img\" aria-label=\"{}\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" \
             font-family=\"sans-serif\" fill=\"#1a1a1a\">\n{body}</svg>\n",
            escape(&names.join("; "))
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_lie_where_their_ends_are() {
        let mut intervals = Intervals::default();
        intervals.row("a < b", 0.5, Some((0.25, 1.0)));
        intervals.row("a name with more letters than fit", 0.0, None);
        intervals.row("日本語の地域の名前", 0.0, None);
        let svg = intervals.draw().into_svg();
        for part in [
            "a &lt; b",
            "a name with more…",
            "日本語の地域の名…",
            ">100</text>",
            "x2=\"482.0\"",
        ] {
            assert!(svg.contains(part), "{part} in {svg}");
        }
        assert_eq!(svg.matches("stroke-width=\"7\"").count(), 1);
        let mut differences = Intervals::default();
        differences.row("less", -0.5, Some((-0.7, -0.3)));
        let svg = differences.draw().into_svg();
        assert!(
            svg.contains(">−80</text>") && svg.contains(">0</text>"),
            "{svg}"
        );
        assert!(Intervals::default().draw().into_svg().ends_with("</svg>\n"));
        // Charts that are compared have the same axis.
        let mut charts = [differences, Intervals::default()];
        charts[1].row("more", 0.02, Some((0.01, 0.03)));
        Intervals::align(&mut charts);
        for chart in charts {
            let svg = chart.draw().into_svg();
            assert!(
                svg.contains(">−80</text>") && svg.contains(">20</text>"),
                "{svg}"
            );
        }
    }
}
