//! A plot of the losses.

use std::path::Path;

use undertone_report::{Axis, Line, Look, Plot, Point, Range};

use super::{Epoch, chosen};
use undertone::error::Result;
use undertone::files::atomic::AtomicFile;

/// Writes an SVG with the training and the validation loss of each epoch, in nats, and the number
/// of the chosen epoch.
///
/// # Errors
/// [`ErrorKind::Experiment`](undertone::error::ErrorKind::Experiment) without epochs;
/// [`ErrorKind::Io`](undertone::error::ErrorKind::Io) or
/// [`ErrorKind::Argument`](undertone::error::ErrorKind::Argument), in which case no file remains.
pub fn write_loss(path: &Path, epochs: &[Epoch]) -> Result<()> {
    let svg = loss(epochs)?;
    AtomicFile::settled(path, svg.as_bytes())?.commit()
}

fn loss(epochs: &[Epoch]) -> Result<String> {
    let Some(chosen) = chosen(epochs) else {
        return Err(super::training("no epoch to plot".to_owned()));
    };
    let line = |name: &str, look, value: fn(&Epoch) -> f64| Line {
        name: name.to_owned(),
        look,
        points: epochs
            .iter()
            .map(|epoch| Point::bare(epoch.number as f64, value(epoch)))
            .collect(),
    };
    let kept = format!("validation, kept: epoch {}", chosen.number);
    let plot = Plot {
        x: Axis {
            label: "epoch",
            range: Range::Whole,
        },
        y: Axis {
            label: "loss (nats)",
            range: Range::FromZero,
        },
        lines: vec![
            line(&kept, Look::Default, |epoch| epoch.validation_loss),
            line("training", Look::Plain, |epoch| epoch.train_loss),
        ],
    };
    let figure = plot
        .draw()
        .map_err(|error| super::training(format!("the loss cannot be drawn: {error}")))?;
    Ok(figure.into_svg())
}

#[cfg(test)]
mod tests {
    use super::*;
    use undertone::error::ErrorKind;

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
        for text in ["training", "validation", "kept: epoch", "loss (nats)"] {
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
        let error = write_loss(&path, &[]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Experiment, "{error}");
        assert!(!path.exists());
        let absent = folder.path().join("absent/out.loss.svg");
        let error = write_loss(&absent, &epochs(&[(1.0, 1.0)])).unwrap_err();
        assert!(error.to_string().contains("out.loss.svg"), "{error}");
    }
}
