//! The results as tables and one page.

use std::fmt::{Display, Write as _};
use std::path::Path;

use plotters::style::RGBColor;
use undertone_core::epsilon::Epsilon;

use super::tasks::Protocol;
use super::{Bench, Known, Measured, Options, Scope, value};
use crate::documents::Role;
use crate::metrics::MeanSd;
use undertone::error::Result;
use undertone::page::{
    self, COLOURS, Curve, GREYS, HIGHLIGHT, PAGE, Scale, Style, curves, escape, fields, figure,
    head,
};
use undertone::release::document::number;

/// All results of a run.
pub struct Report<'a> {
    /// What was measured with which numbers.
    pub options: &'a Options,
    /// How to repeat it: a command line.
    pub command: String,
    /// The mechanisms.
    pub bench: &'a Bench<'a>,
    /// The results.
    pub measured: &'a Measured,
}

/// One row of a table: a mechanism, and a mean for each ε.
struct Row<'a> {
    name: &'a str,
    role: Role,
    /// ε, mean, what was chosen.
    cells: Vec<(Epsilon, MeanSd, &'a str)>,
}

impl Report<'_> {
    /// Makes the folder `out`, if it is not there, and says now whether files can be written there.
    ///
    /// # Errors
    /// [`undertone::Error::Io`] or [`undertone::Error::OutputPath`].
    pub fn check(out: &Path) -> Result<()> {
        page::check(out)
    }

    /// Writes `projections.csv`, `signal-to-noise.csv`, `pairs.csv`, `words.csv`, `tasks.csv`, `timings.csv` and
    /// `report.html` into the folder `out`.
    ///
    /// Everything is there before the first file is written; each file appears whole, the page last; a full
    /// disk leaves the old ones.
    /// Files of these names are replaced, others are left alone.
    ///
    /// # Errors
    /// [`undertone::Error::Io`] or [`undertone::Error::OutputPath`]; [`undertone::Error::Plot`].
    pub fn write(&self, out: &Path) -> Result<()> {
        let files = [
            ("projections.csv", self.projections()),
            ("signal-to-noise.csv", self.signal_to_noise()),
            ("pairs.csv", self.pairs()),
            ("words.csv", self.words()),
            ("tasks.csv", self.tasks()),
            ("timings.csv", self.timings()),
            (PAGE, self.page()?),
        ];
        page::write(out, &files)
    }

    fn projections(&self) -> String {
        let mut csv = "projection,m,beta,claimed,largest_over_vocabulary,certified_for_vocabulary,word,\
                       other_word,pairs,equal_pairs,certified_for_every_vector,norm,share_of_squared_distances\n"
            .to_owned();
        for known in &self.bench.known {
            let Known {
                kind,
                projection,
                beta,
                certificate,
                every,
                norm,
                share,
            } = known;
            let (a, b) = certificate.pair;
            let words = fields(&[self.bench.name(a), self.bench.name(b)]);
            let beta = beta.map_or(",".to_owned(), |beta| format!("{beta},{}", 1.0 + beta));
            let _ = writeln!(
                csv,
                "{kind},{},{beta},{:.9},{},{words},{},{},{every},{norm:.6},{share:.6}",
                projection.outputs(),
                certificate.maximum,
                certificate.sensitivity,
                certificate.pairs,
                certificate.equal,
            );
        }
        csv
    }

    fn signal_to_noise(&self) -> String {
        let mut csv = "mechanism,m,scope,sensitivity,epsilon,signal_to_noise\n".to_owned();
        for snr in &self.measured.snr {
            let mechanism = &self.bench.mechanisms[snr.mechanism];
            let start = fields(&[
                &mechanism.name,
                &mechanism.m.to_string(),
                scope(mechanism.scope),
            ]);
            for (epsilon, ratio) in &snr.ratios {
                let _ = writeln!(
                    csv,
                    "{start},{},{epsilon},{ratio:.6e}",
                    mechanism.sensitivity
                );
            }
        }
        csv
    }

    fn pairs(&self) -> String {
        let mut csv =
            "mechanism,setting,epsilon,distance_error_mean,distance_error_sd,distance_bound,\
                       product_error_mean,product_error_sd,product_bound\n"
                .to_owned();
        for score in &self.measured.pairs {
            let start = fields(&[&score.name, &score.setting]);
            let (distance, product) = (score.distance, score.product);
            let bound = |of: fn((f64, f64)) -> f64| score.bounds.map(of).map(|x| x.to_string());
            let _ = writeln!(
                csv,
                "{start},{},{:.6},{:.6},{},{:.6},{:.6},{}",
                score.epsilon,
                distance.mean,
                distance.sd,
                bound(|bounds| bounds.0).unwrap_or_default(),
                product.mean,
                product.sd,
                bound(|bounds| bounds.1).unwrap_or_default(),
            );
        }
        csv
    }

    fn words(&self) -> String {
        let mut csv =
            "mechanism,setting,epsilon,trials,accuracy_mean,accuracy_sd,auc_mean,auc_sd\n"
                .to_owned();
        for score in &self.measured.words {
            let start = fields(&[&score.name, &score.setting]);
            let (accuracy, auc) = (score.accuracy, score.auc);
            let _ = writeln!(
                csv,
                "{start},{},{},{:.5},{:.5},{:.5},{:.5}",
                score.epsilon, self.options.trials, accuracy.mean, accuracy.sd, auc.mean, auc.sd
            );
        }
        csv
    }

    fn tasks(&self) -> String {
        let mut csv =
            "task,noise,mechanism,setting,epsilon,runs,train_accuracy_mean,train_accuracy_sd,\
                       test_accuracy_mean,test_accuracy_sd\n"
                .to_owned();
        for score in &self.measured.tasks {
            let (task, protocol) = (score.task.to_string(), score.protocol.to_string());
            let start = fields(&[&task, &protocol, &score.name, &score.setting]);
            let (train, test) = (score.train, score.test);
            let _ = writeln!(
                csv,
                "{start},{},{},{:.5},{:.5},{:.5},{:.5}",
                self.options.task_epsilon,
                self.options.runs,
                train.mean,
                train.sd,
                test.mean,
                test.sd
            );
        }
        csv
    }

    fn timings(&self) -> String {
        let mut csv = "step,seconds\n".to_owned();
        for (step, time) in &self.measured.timings {
            let _ = writeln!(csv, "{},{:.3}", fields(&[step]), time.as_secs_f64());
        }
        csv
    }

    fn page(&self) -> Result<String> {
        let options = self.options;
        let vectors = self.bench.vectors;
        let mut body = format!(
            "<p>Vectors of public words are released with noise for metric privacy at ε per unit of Euclidean \
             distance between the vectors as they are (mean norm {:.2}), and compared with what they were. \
             <b>M1</b> adds noise to the vector itself. <b>M2</b> projects to fewer, Gaussian directions first \
             and <em>claims</em> that distances grow by a factor of at most 1 + β. The others project to \
             principal directions of the vocabulary, or random ones, and make their noise for a factor that is \
             <em>certified</em>, for the words of this vocabulary or for every vector. One noise engine draws \
             for all.</p>\n<dl>\n<dt>vectors</dt><dd>{}: {} words, {} coordinates</dd>\n{}</dl>\n",
            mean_norm(&vectors.vectors, vectors.dimension),
            escape(&vectors.name),
            vectors.words.len(),
            vectors.dimension,
            page::repeat(options.seed, &self.command),
        );
        body += &self.projection_section();
        body += &self.snr_section();
        self.pair_sections(&mut body)?;
        self.word_sections(&mut body)?;
        if !options.tasks.is_empty() {
            body += &self.task_section();
        }
        body +=
            "<h2>Time</h2>\n<div class=\"wide\"><table>\n<tr><th>step</th><th>seconds</th></tr>\n";
        for (step, time) in &self.measured.timings {
            let _ = writeln!(
                body,
                "<tr><td>{step}</td><td>{:.1}</td></tr>",
                time.as_secs_f64()
            );
        }
        body += "</table></div>\n";
        Ok(page::page("Private word vectors", &body))
    }

    fn projection_section(&self) -> String {
        let mut html = "<h2>How far projections stretch distances</h2>\n<p>The largest ‖Φ(v−w)‖/‖v−w‖: \
             what is claimed, what it is over all pairs of words, and for every vector. A claim below the \
             largest is no promise: that ε does not hold.</p>\n<div class=\"wide\"><table>\n\
             <tr><th>projection</th><th>m</th><th>claimed</th><th>vocabulary</th><th class=\"text\">by the \
             words</th><th>‖Φ‖</th><th>certified for every vector</th><th>claim holds for</th>\
             <th>squared distances kept</th></tr>\n"
            .to_owned();
        for known in &self.bench.known {
            let claimed = known.beta.map(|beta| 1.0 + beta);
            let holds = claimed.map_or("", |claimed| {
                if known.norm <= claimed {
                    "every vector"
                } else if value(known.certificate.sensitivity) <= claimed {
                    "the vocabulary only"
                } else {
                    "<b>neither</b>"
                }
            });
            let (a, b) = known.certificate.pair;
            let _ = writeln!(
                html,
                "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td class=\"text\">{}, {}</td><td>{:.3}</td>\
                 <td>{}</td><td>{holds}</td><td>{:.0} %</td></tr>",
                known.kind,
                known.projection.outputs(),
                claimed.map_or("–".to_owned(), |claimed| format!("{claimed:.2}")),
                known.certificate.sensitivity,
                escape(self.bench.name(a)),
                escape(self.bench.name(b)),
                known.norm,
                known.every,
                100.0 * known.share,
            );
        }
        html + "</table></div>\n"
    }

    /// The heads of columns.
    fn epsilons(&self) -> Vec<String> {
        let epsilons = self.options.epsilons.iter();
        epsilons.map(Epsilon::to_string).collect()
    }

    fn snr_section(&self) -> String {
        let epsilons = self.epsilons();
        let mut html = "<h2>Signal to noise</h2>\n<p>E‖Φ(x−x′)‖² / E‖κ−κ′‖² for words x, x′ drawn uniformly \
             and independent noise κ, κ′: how far two words stand apart in the release, in units of how \
             far two releases of one word do. More is better at equal m; fewer directions always have more \
             of it and say less.</p>\n"
            .to_owned();
        html += &head(
            "ε",
            &epsilons,
            "<th>m</th><th>Δ of the noise</th><th>Δ holds for</th>",
        );
        for snr in &self.measured.snr {
            let mechanism = &self.bench.mechanisms[snr.mechanism];
            let _ = write!(html, "<tr><th>{}</th>", escape(&mechanism.name));
            for (_, ratio) in &snr.ratios {
                let _ = write!(html, "<td>{}</td>", significant(*ratio));
            }
            let (m, scope) = (mechanism.m, scope(mechanism.scope));
            let _ = writeln!(
                html,
                "<td>{m}</td><td>{}</td><td>{scope}</td></tr>",
                mechanism.sensitivity
            );
        }
        html + "</table></div>\n"
    }

    fn pair_sections(&self, body: &mut String) -> Result<()> {
        let words = self.options.words;
        let rows = |of: fn(&super::PairScore) -> MeanSd| {
            self.rows(&self.measured.pairs, |score| {
                (
                    &score.name,
                    score.role,
                    score.epsilon,
                    of(score),
                    &score.setting,
                )
            })
        };
        let chosen = "The number of principal directions is chosen for each ε on other words of the vocabulary.";
        let _ = write!(
            body,
            "<h2>Distances</h2>\n<p>|‖wᵢ−wⱼ‖ − ‖xᵢ−xⱼ‖| between releases w of {words} × {words} pairs of words and \
             the words x. Lower is better. {chosen} “Read through a line”: a public straight line, fitted on \
             other words, turns noisy distances into distances.</p>\n"
        );
        self.panel(
            body,
            &rows(|score| score.distance),
            "Error of distances against ε.",
            Scale::Logarithmic,
        )?;
        let _ = write!(
            body,
            "<h2>Inner products</h2>\n<p>|⟨wᵢ, wⱼ⟩ − ⟨xᵢ, xⱼ⟩| of the same pairs. Lower is better.</p>\n"
        );
        let caption = "Error of inner products against ε.";
        self.panel(
            body,
            &rows(|score| score.product),
            caption,
            Scale::Logarithmic,
        )
    }

    fn word_sections(&self, body: &mut String) -> Result<()> {
        let n = self.measured.opinion_words;
        let _ = write!(
            body,
            "<h2>Positive and negative words</h2>\n<p>{n} words of each class, a logistic regression on the \
             releases of four fifths of them, tested on the releases of the rest; {} trials. Penalty and number of \
             directions are chosen on a fifth of the words learned from. “Best reading”: coordinates or the posterior \
             mean of the words' first {} principal coordinates, all words alike beforehand.</p>\n",
            self.options.trials,
            self.bench.features.len() / self.bench.vectors.words.len(),
        );
        let rows = |of: fn(&super::WordScore) -> MeanSd| {
            self.rows(&self.measured.words, |score| {
                let percent = of(score);
                let percent = MeanSd {
                    mean: 100.0 * percent.mean,
                    sd: 100.0 * percent.sd,
                };
                (
                    &score.name,
                    score.role,
                    score.epsilon,
                    percent,
                    &score.setting,
                )
            })
        };
        self.panel(
            body,
            &rows(|score| score.accuracy),
            "Accuracy (%) against ε.",
            Scale::Percent,
        )?;
        *body += "<h3>Area under the curve</h3>\n";
        let caption = "Area under the curve of true against false positives (%) against ε.";
        self.panel(body, &rows(|score| score.auc), caption, Scale::Percent)
    }

    /// Scores by mechanism, in the order of the first.
    fn rows<'s, S>(
        &self,
        scores: &'s [S],
        of: impl Fn(&'s S) -> (&'s String, Role, Epsilon, MeanSd, &'s String),
    ) -> Vec<Row<'s>> {
        let mut rows: Vec<Row<'s>> = Vec::new();
        for score in scores {
            let (name, role, epsilon, mean, setting) = of(score);
            let cell = (epsilon, mean, setting.as_str());
            match rows.iter_mut().find(|row| row.name == name) {
                Some(row) => row.cells.push(cell),
                None => rows.push(Row {
                    name,
                    role,
                    cells: vec![cell],
                }),
            }
        }
        rows
    }

    /// Curves and a table.
    fn panel(
        &self,
        body: &mut String,
        rows: &[Row<'_>],
        caption: &str,
        scale: Scale,
    ) -> Result<()> {
        let styles = styles(rows.iter().map(|row| row.role));
        let all = rows.iter().zip(&styles).map(|(row, style)| Curve {
            name: row.name,
            style: *style,
            points: row
                .cells
                .iter()
                .map(|(epsilon, y, _)| (number(*epsilon), y.mean, y.sd))
                .collect(),
        });
        *body += &figure(
            caption,
            &curves(&all.collect::<Vec<Curve<'_>>>(), "ε", scale)?,
        );
        let epsilons = self.epsilons();
        *body += &head("ε", &epsilons, "");
        for (row, style) in rows.iter().zip(styles) {
            let _ = write!(body, "<tr{}>{}", highlight(row.role), style.name(row.name));
            for (_, y, setting) in &row.cells {
                *body += &cell(*y, setting);
            }
            *body += "</tr>\n";
        }
        *body += "</table></div>\n";
        Ok(())
    }

    fn task_section(&self) -> String {
        let options = self.options;
        let mut html = format!(
            "<h2>Sentences, ε = {}</h2>\n<p>A sentence is the mean of its words' private vectors; a logistic \
             regression learns from private sentences and is tested on private sentences. Accuracy in percent, test \
             (train), mean ± standard deviation over {} folds, or over as many releases where there is a test \
             set. Penalty and number of directions are chosen on a fifth of what is learned from. “Best \
             reading”: coordinates, or the posterior mean of the words' features under frequencies of a public \
             corpus (SUBJ). Words without a vector are left out.</p>\n",
            options.task_epsilon, options.runs
        );
        for protocol in Protocol::ALL {
            html += match protocol {
                Protocol::Table => {
                    "<h3>Every word gets its noise once</h3>\n<p>As published: a private table of word \
                     vectors, used for all sentences. The classifier learns each word's noise by heart, \
                     so noise in many dimensions serves it as a name of the word; and whoever holds the table \
                     reads the words of a sentence off its vector.</p>\n"
                }
                Protocol::Fresh => {
                    "<h3>Every occurrence gets its own noise</h3>\n<p>What users send who release their \
                     own sentences, word by word.</p>\n"
                }
            };
            let names: Vec<String> = options.tasks.iter().map(ToString::to_string).collect();
            html += &head("task", &names, "");
            let of_protocol = || {
                self.measured
                    .tasks
                    .iter()
                    .filter(|score| score.protocol == protocol)
            };
            let first = options.tasks.first();
            let rows: Vec<_> = of_protocol()
                .filter(|score| Some(&score.task) == first)
                .collect();
            let styles = styles(rows.iter().map(|row| row.role));
            for (row, style) in rows.iter().zip(styles) {
                let _ = write!(html, "<tr{}>{}", highlight(row.role), style.name(&row.name));
                for score in of_protocol().filter(|score| score.name == row.name) {
                    let percent = |x: f64| format!("{:.1}", 100.0 * x);
                    let _ = write!(
                        html,
                        "<td>{} ± {} ({})<small>{}</small></td>",
                        percent(score.test.mean),
                        percent(score.test.sd),
                        percent(score.train.mean),
                        escape(&score.setting)
                    );
                }
                html += "</tr>\n";
            }
            html += "</table></div>\n";
        }
        html
    }
}

fn scope(scope: Scope) -> &'static str {
    match scope {
        Scope::Every => "every vector",
        Scope::Vocabulary => "the vocabulary",
        Scope::Claimed => "claimed",
    }
}

fn mean_norm(vectors: &[f32], dimension: usize) -> f64 {
    let rows = vectors.chunks_exact(dimension);
    let n = rows.len() as f64;
    let norms = rows.map(|row| {
        row.iter()
            .map(|x| f64::from(*x).powi(2))
            .sum::<f64>()
            .sqrt()
    });
    norms.sum::<f64>() / n
}

fn highlight(role: Role) -> &'static str {
    if role == Role::Default {
        " class=\"default\""
    } else {
        ""
    }
}

fn cell(y: MeanSd, setting: &str) -> String {
    let (mean, sd) = (significant(y.mean), significant(y.sd));
    let setting = if setting.is_empty() {
        String::new()
    } else {
        format!("<small>{}</small>", escape(setting))
    };
    format!("<td>{mean} ± {sd}{setting}</td>")
}

/// Three digits that count, or whole numbers.
fn significant(x: f64) -> impl Display {
    let digits = if x == 0.0 {
        0
    } else {
        (2 - x.abs().log10().floor() as i32).clamp(0, 8)
    };
    format!("{x:.*}", digits.unsigned_abs() as usize)
}

fn styles(roles: impl Iterator<Item = Role>) -> Vec<Style> {
    let mut colours = COLOURS.iter().cycle();
    let mut greys = GREYS.iter().cycle();
    let style = |role| {
        let (colour, width) = match role {
            Role::Default => (Some(&HIGHLIGHT), 4),
            Role::Candidate => (colours.next(), 2),
            Role::Bound | Role::Baseline => (greys.next(), 2),
        };
        Style {
            colour: colour.copied().unwrap_or(RGBColor(0, 0, 0)),
            width,
            // More baselines than greys.
            dashed: false,
        }
    };
    roles.map(style).collect()
}
