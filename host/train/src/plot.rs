//! The loss as a picture.

use std::io::Write;
use std::path::Path;

use plotters::prelude::*;

use super::{Epoch, chosen};
use undertone::error::{Error, Result};
use undertone::files::atomic::AtomicFile;

/// Width and height, in pixels.
const SIZE: (u32, u32) = (720, 420);

/// Writes an SVG with the training and the validation loss of each epoch, in nats, and a mark at the
/// epoch that was kept.
///
/// # Errors
/// [`Error::Training`] without epochs; [`Error::Io`] or [`Error::OutputPath`], and nothing is left
/// behind.
pub fn write_loss(path: &Path, epochs: &[Epoch]) -> Result<()> {
    let mut file = AtomicFile::create(path)?;
    let svg = loss(epochs)?;
    file.write_all(svg.as_bytes())
        .map_err(Error::io("write", path))?;
    file.commit()
}

fn loss(epochs: &[Epoch]) -> Result<String> {
    let Some(chosen) = chosen(epochs) else {
        return Err(super::training("there is no epoch to plot".to_owned()));
    };
    let mut svg = String::new();
    draw(epochs, chosen, &mut svg)
        .map_err(|error| super::training(format!("the loss cannot be drawn: {error}")))?;
    Ok(svg)
}

fn draw(
    epochs: &[Epoch],
    chosen: Epoch,
    svg: &mut String,
) -> Result<(), Box<dyn std::error::Error>> {
    let largest = epochs
        .iter()
        .flat_map(|epoch| [epoch.train_loss, epoch.validation_loss])
        .fold(0.0, f64::max);
    let area = SVGBackend::with_string(svg, SIZE).into_drawing_area();
    area.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&area)
        .margin(12)
        .x_label_area_size(40)
        .y_label_area_size(56)
        // A margin of half an epoch keeps the marks off the frame.
        .build_cartesian_2d(
            0.5..epochs.len() as f64 + 0.5,
            0.0..(1.05 * largest).max(f64::MIN_POSITIVE),
        )?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .x_desc("epoch")
        .x_labels(epochs.len().min(10))
        .x_label_formatter(&|x| {
            // Ticks may fall between epochs.
            if x.fract() == 0.0 {
                format!("{x}")
            } else {
                String::new()
            }
        })
        .y_desc("loss in nats")
        .draw()?;
    type Value = fn(&Epoch) -> f64;
    let curves: [(&str, RGBColor, Value); 2] = [
        ("training", RGBColor(0x00, 0x72, 0xb2), |epoch| {
            epoch.train_loss
        }),
        ("validation", RGBColor(0xd5, 0x5e, 0x00), |epoch| {
            epoch.validation_loss
        }),
    ];
    for (name, colour, value) in curves {
        let points = epochs
            .iter()
            .map(move |epoch| (epoch.number as f64, value(epoch)));
        let line = LineSeries::new(points, colour.stroke_width(2)).point_size(2);
        chart
            .draw_series(line)?
            .label(name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], colour.stroke_width(2)));
    }
    let mark = (chosen.number as f64, chosen.validation_loss);
    chart
        .draw_series([Circle::new(mark, 6, BLACK.stroke_width(2))])?
        .label(format!("kept: epoch {}", chosen.number))
        .legend(|(x, y)| Circle::new((x + 9, y), 5, BLACK.stroke_width(2)));
    chart
        .configure_series_labels()
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK.mix(0.3))
        .draw()?;
    area.present()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn epochs(losses: &[(f64, f64)]) -> Vec<Epoch> {
        let numbered = losses.iter().zip(1..);
        numbered
            .map(|(&(train_loss, validation_loss), number)| Epoch {
                number,
                train_loss,
                validation_loss,
            })
            .collect()
    }

    #[test]
    fn shows_both_losses_and_the_epoch_that_was_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.loss.svg");
        write_loss(&path, &epochs(&[(3.0, 3.1), (2.0, 2.2), (1.0, 2.5)])).unwrap();
        let svg = std::fs::read_to_string(&path).unwrap();
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
        for text in [
            "training",
            "validation",
            "kept: epoch 2",
            "epoch",
            "loss in nats",
        ] {
            assert!(svg.contains(text), "{text}");
        }
        assert!(svg.matches("<polyline").count() >= 2);
    }

    #[test]
    fn odd_losses_are_drawn_and_none_is_an_error() {
        assert!(loss(&epochs(&[(0.0, 0.0)])).is_ok());
        assert!(loss(&epochs(&[(1e300, 1e-300); 200])).is_ok());
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.loss.svg");
        assert!(matches!(
            write_loss(&path, &[]),
            Err(Error::Training { .. })
        ));
        assert!(!path.exists());
        let absent = folder.path().join("absent/out.loss.svg");
        let error = write_loss(&absent, &epochs(&[(1.0, 1.0)])).unwrap_err();
        assert!(error.to_string().contains("out.loss.svg"), "{error}");
    }
}
