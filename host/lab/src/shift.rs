//! The suite of natural shifts: how good estimates of label shares are if private texts are of
//! other sources than public ones.
//!
//! Each case has public texts, from which a pack is made, and private texts of another source.
//! Populations of private texts with known shares release by whole text, and the shares are
//! estimated by undertone, by adjusted counting (ACC; Forman 2008), by expectation maximisation
//! (EMQ; Saerens, Latinne and Decaestecker 2002), and by plain counting.

use std::collections::BTreeMap;
use std::path::Path;

use undertone::corpus::{Corpus, CorpusDocument, FieldNames};
use undertone::encoder::embeddings::Encoded;
use undertone::encoder::{Encoder, LexiconEncoder, NoEncoder};
use undertone::error::{Error, Result};
use undertone::files::resume::Encoding;
use undertone::pack::calibration::Calibration;
use undertone::pack::{self, Contest, Fit, Inputs, LexiconData, Options, Selector, TargetChoice};
use undertone::text::message_body;
use undertone_core::epsilon::Epsilon;
use undertone_core::pack::Pack;
use undertone_core::rng::rand_core::Rng;
use undertone_core::rng::{self, PublicRng};
use undertone_estimate::channel::Channel;
use undertone_estimate::counts::Kind;
use undertone_estimate::labels::{Assumption, Labels, Laws, Sample, labels};
use undertone_estimate::shares::Confidence;

/// Public texts, and sets of private texts of other sources.
pub struct Case {
    public: Vec<CorpusDocument>,
    private: Vec<(String, Vec<CorpusDocument>)>,
}

impl Case {
    /// Retains the shifts whose names contain `part`.
    pub fn retain(&mut self, part: &str) {
        self.private.retain(|(name, _)| name.contains(part));
    }

    /// Whether no shift is left.
    pub fn is_empty(&self) -> bool {
        self.private.is_empty()
    }

    /// Whether the data names several sources of public texts.
    pub fn has_sources(&self) -> bool {
        let mut sources = self.public.iter().map(|own| &own.source);
        let first = sources.next();
        sources.any(|own| Some(own) != first)
    }
}

/// The results of an estimator.
#[derive(Clone, Copy, Debug, Default)]
pub struct Score {
    /// Mean total variation between estimated and true shares.
    pub distance: f64,
    /// Fraction of intervals that contain the true share; 0 without intervals.
    pub covered: f64,
    /// Mean width of intervals.
    pub width: f64,
}

/// The results of a shift at one ε.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The description of the shift.
    pub name: String,
    /// ε.
    pub epsilon: Epsilon,
    /// Our estimate, which allows for other sources.
    pub ours: Score,
    /// Our estimate for texts exactly like the public ones.
    pub alike: Score,
    /// Expectation maximisation.
    pub emq: Score,
    /// Adjusted counting.
    pub acc: Score,
    /// Plain counting.
    pub counting: Score,
    /// Fraction of populations in which the test of fit refutes the assumption.
    pub refuted: f64,
}

/// The requested size of the measurement.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// Number of populations.
    pub populations: usize,
    /// Releases of each.
    pub releases: usize,
    /// Seed of all that is drawn.
    pub seed: u64,
}

fn read(path: &Path, label: &str, source: Option<&str>) -> Result<Vec<CorpusDocument>> {
    let names = FieldNames {
        label: label.to_owned(),
        source: source.map(str::to_owned),
        ..FieldNames::default()
    };
    Corpus::open(path)?.fields(names).collect()
}

/// Replaces a letter of `part` of the longer words by another one.
fn misspelt(text: &str, part: f64, rng: &mut PublicRng) -> String {
    let word = |word: &str| {
        let mut letters: Vec<char> = word.chars().collect();
        if letters.len() > 3 && uniform(rng) < part {
            let place = rng::below(rng, letters.len() as u128) as usize;
            letters[place] = char::from(b'a' + rng::below(rng, 26) as u8);
        }
        letters.into_iter().collect::<String>()
    };
    text.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

fn uniform(rng: &mut PublicRng) -> f64 {
    (rng.next_u64() >> 11) as f64 * 2f64.powi(-53)
}

/// The cases, from the folder of public evaluation data.
///
/// # Errors
/// The errors of [`Corpus`].
pub fn cases(data: &Path, seed: u64) -> Result<Vec<Case>> {
    let mut cases = sentences(data, seed)?;
    cases.push(utterances(data, seed)?);
    cases.extend(reviews(data)?);
    cases.push(newsgroups(data)?);
    cases.push(languages(data)?);
    Ok(cases)
}

/// Sentences of film and product reviews. SST-5 has sentences of MR, so they are not paired.
fn sentences(data: &Path, seed: u64) -> Result<Vec<Case>> {
    let of = |name: &str| -> Result<Vec<CorpusDocument>> {
        let mut all = read(&data.join("senteval").join(name), "label", None)?;
        all.iter_mut()
            .for_each(|own| own.source = Some(name.to_owned()));
        Ok(all)
    };
    let (mr, cr) = (of("MR.tsv")?, of("CR.tsv")?);
    let mut sst = of("SST5.train.tsv")?;
    sst.retain(|own| own.label.as_deref() != Some("2"));
    for own in &mut sst {
        let positive = matches!(own.label.as_deref(), Some("3" | "4"));
        own.label = Some(u8::from(positive).to_string());
    }
    let mut rng = PublicRng::new(seed);
    let (first, second): (Vec<_>, Vec<_>) =
        mr.iter().cloned().partition(|_| uniform(&mut rng) < 0.5);
    let case = |public: &[CorpusDocument], private: &[(&str, &[CorpusDocument])]| Case {
        public: public.to_vec(),
        private: private
            .iter()
            .map(|(name, texts)| ((*name).to_owned(), texts.to_vec()))
            .collect(),
    };
    Ok(vec![
        case(&first, &[("no shift: halves of MR", &second)]),
        case(&mr, &[("MR to CR", &cr)]),
        case(&cr, &[("CR to MR", &mr), ("CR to SST-5", &sst)]),
        case(&sst, &[("SST-5 to CR", &cr)]),
    ])
}

/// Domains of CLINC150.
fn utterances(data: &Path, seed: u64) -> Result<Case> {
    let of = |part: &str| {
        let name = format!("clinc150.{part}.jsonl.gz");
        read(&data.join("short-text").join(name), "domain", None)
    };
    let test = of("test")?;
    let private = |(name, part): (&str, f64)| {
        let mut rng = PublicRng::new(seed);
        let mut private = test.clone();
        for own in &mut private {
            own.text = misspelt(&own.text, part, &mut rng);
        }
        (name.to_owned(), private)
    };
    let shifts = [
        ("no shift: CLINC validation to test", 0.0),
        ("CLINC, 20 % of longer words misspelt", 0.2),
        ("CLINC, 40 % of longer words misspelt", 0.4),
    ];
    Ok(Case {
        public: of("val")?,
        private: shifts.into_iter().map(private).collect(),
    })
}

/// Amazon reviews of products, and with sentiments, that no public text has.
fn reviews(data: &Path) -> Result<Vec<Case>> {
    let mut cases = Vec::new();
    for (label, source, values) in [
        (
            "sentiment",
            "label",
            &["books", "dvd", "electronics", "kitchen"][..],
        ),
        ("label", "sentiment", &["pos", "neg"]),
    ] {
        let of = |part: &str| {
            let name = format!("amazon-multidomain/{part}.jsonl.gz");
            read(&data.join(name), label, Some(source))
        };
        let (train, test) = (of("train")?, of("test")?);
        for value in values {
            let is_left_out = |own: &CorpusDocument| own.source.as_deref() == Some(*value);
            let (mut public, mut private) = (train.clone(), test.clone());
            public.retain(|own| !is_left_out(own));
            private.retain(is_left_out);
            let name = format!("Amazon, {label}: unseen {value}");
            cases.push(Case {
                public,
                private: vec![(name, private)],
            });
        }
    }
    Ok(cases)
}

/// 20 Newsgroups by date.
fn newsgroups(data: &Path) -> Result<Case> {
    let of = |part: &str| {
        let name = format!("20news-bydate/{part}.jsonl.gz");
        read(&data.join(name), "label", None)
    };
    let bodies = |mut all: Vec<CorpusDocument>| {
        for own in &mut all {
            own.text = message_body(&own.text);
        }
        all
    };
    let (public, raw) = (of("train")?, of("test")?);
    Ok(Case {
        public: bodies(public),
        private: vec![
            ("20 Newsgroups by date".to_owned(), bodies(raw.clone())),
            (
                "20 Newsgroups by date, private ones with headers and quotes".to_owned(),
                raw,
            ),
        ],
    })
}

/// The languages of SIB-200 in `data/short-text`.
const LANGUAGES: [&str; 12] = [
    "arb_Arab", "deu_Latn", "eng_Latn", "fra_Latn", "hin_Deva", "ind_Latn", "jpn_Jpan", "rus_Cyrl",
    "swh_Latn", "tha_Thai", "tur_Latn", "zho_Hans",
];

/// Heads of all languages of SIB-200, and private texts in each of them.
fn languages(data: &Path) -> Result<Case> {
    let of = |language: &str, part: &str| -> Result<Vec<CorpusDocument>> {
        let name = format!("short-text/sib200.{language}.{part}.jsonl.gz");
        let mut all = read(&data.join(name), "label", None)?;
        for own in &mut all {
            // Translations have the same number, and must not be in different folds.
            own.id = own.id.rsplit('-').next().unwrap_or_default().to_owned();
            own.source = Some(language.to_owned());
        }
        Ok(all)
    };
    let (mut public, mut private) = (Vec::new(), Vec::new());
    for language in LANGUAGES {
        public.extend(of(language, "train")?);
        let name = format!("SIB-200, all languages to {language}");
        private.push((name, of(language, "test")?));
    }
    Ok(Case { public, private })
}

/// The best candidates of the texts of a case.
struct Prepared {
    pack_id: [u8; 8],
    candidates: u32,
    public: Calibration,
    /// The name and the texts of each shift.
    private: Vec<(String, Calibration)>,
}

/// Makes the pack of a case, whose sources are guessed unless they are `named`.
fn prepare(case: &Case, named: bool, seed: u64) -> Result<Prepared> {
    let encoder = LexiconEncoder::embedded();
    let lexicon = LexiconData::from_view(encoder.lexicon());
    let mut documents = case.public.clone();
    if !named {
        documents.iter_mut().for_each(|own| own.source = None);
    }
    let mut encoded = Encoded::new("public texts", Encoding::new(&encoder), move || {
        Ok(documents.clone().into_iter().map(Ok))
    });
    let options = Options {
        selector: Selector::Scores {
            targets: TargetChoice::Labels,
            fit: Fit::HeldOut(Contest {
                inputs: &[Inputs::Features],
                size: None,
                nothing_known: None,
            }),
        },
        seed,
    };
    let built = pack::build(&mut encoded, Some(lexicon), &options)?;
    let pack = Pack::parse(&built.pack).map_err(Error::from)?;
    let public = built.candidates.calibration;
    let public = public.expect("each label has texts enough to hold some out");
    let mut private = Vec::new();
    for (name, texts) in &case.private {
        let mut own = Calibration::new(&pack, public.labels.clone())?;
        for text in texts {
            let label = text.label.as_ref();
            let label = public.labels.iter().position(|name| Some(name) == label);
            if let Some(label) = label {
                let sentences = NoEncoder::of(&pack).split(&text.text);
                own.add_sentences(&pack, label as u32, &sentences)?;
            }
        }
        private.push((name.clone(), own));
    }
    Ok(Prepared {
        pack_id: pack.id(),
        candidates: pack.candidate_count(),
        public,
        private,
    })
}

/// Makes the pack of a case and measures estimates from its private texts. Sources of public texts
/// are guessed unless they are to be `named` by the data.
///
/// # Errors
/// The errors of packing and of estimating.
pub fn measure(
    case: &Case,
    named: bool,
    epsilons: &[Epsilon],
    size: Size,
) -> Result<Vec<Measured>> {
    let prepared = prepare(case, named, size.seed)?;
    (0..prepared.private.len())
        .flat_map(|shift| epsilons.iter().map(move |epsilon| (shift, *epsilon)))
        .map(|(shift, epsilon)| at(&prepared, shift, epsilon, size))
        .collect()
}

/// Tallies of one estimator.
#[derive(Default)]
struct Tally {
    distance: f64,
    covered: usize,
    intervals: usize,
    width: f64,
    populations: usize,
}

impl Tally {
    fn add(&mut self, shares: &[f64], truth: &[f64]) {
        let errors = shares
            .iter()
            .zip(truth)
            .map(|(own, truth)| (own - truth).abs());
        self.distance += errors.sum::<f64>() / 2.0;
        self.populations += 1;
    }

    fn add_intervals(&mut self, own: &Labels, truth: &[f64]) {
        let shares: Vec<f64> = own.shares.iter().map(|own| own.share).collect();
        self.add(&shares, truth);
        for (own, truth) in own.shares.iter().zip(truth) {
            self.intervals += 1;
            self.covered += usize::from(own.low <= *truth && *truth <= own.high);
            self.width += own.high - own.low;
        }
    }

    fn score(&self) -> Score {
        let intervals = self.intervals.max(1) as f64;
        Score {
            distance: self.distance / self.populations.max(1) as f64,
            covered: self.covered as f64 / intervals,
            width: self.width / intervals,
        }
    }
}

/// Measures estimates for the shift of this number.
fn at(prepared: &Prepared, shift: usize, epsilon: Epsilon, size: Size) -> Result<Measured> {
    let public = &prepared.public;
    let (name, private) = &prepared.private[shift];
    let kind = Kind::from_fields(prepared.pack_id, 7, 2, epsilon, 0).expect("whole-text releases");
    let channel = Channel::new(kind, prepared.candidates)?.expect("whole-text releases");
    let laws = Laws::new(kind, public)?;
    let means = means(public, &channel);
    let mut texts = vec![Vec::new(); public.labels.len()];
    for (text, label) in private.of_texts.iter().enumerate() {
        texts[*label as usize].push(private.best[text]);
    }
    let mut rng = PublicRng::new(size.seed);
    let [mut ours, mut alike, mut emq, mut acc, mut counting] = [(); 5].map(|()| Tally::default());
    let mut refuted = 0;
    for _ in 0..size.populations {
        let truth = dirichlet(texts.len(), &mut rng);
        let outcomes = population(&texts, &truth, &channel, size.releases, &mut rng);
        let sample = Sample {
            laws: &laws,
            outcomes: &outcomes,
        };
        let own = labels(&[sample], Confidence::default(), Assumption::OtherSources)?;
        refuted += usize::from(own.fit.refuted);
        ours.add_intervals(&own, &truth);
        let own = labels(&[sample], Confidence::default(), Assumption::Alike)?;
        alike.add_intervals(&own, &truth);
        let mut observed = vec![0.0; channel.answers()];
        for (outcome, count) in &outcomes {
            observed[*outcome as usize] = *count as f64 / size.releases as f64;
        }
        emq.add(&most_likely(&means, &observed), &truth);
        acc.add(&adjusted(&means, &observed), &truth);
        counting.add(&observed[..truth.len()], &truth);
    }
    Ok(Measured {
        name: name.clone(),
        epsilon,
        ours: ours.score(),
        alike: alike.score(),
        emq: emq.score(),
        acc: acc.score(),
        counting: counting.score(),
        refuted: refuted as f64 / size.populations as f64,
    })
}

/// Shares from Dirichlet(½): scaled squares of normal numbers.
fn dirichlet(count: usize, rng: &mut PublicRng) -> Vec<f64> {
    let mut square = || -> f64 {
        let radius = -2.0 * (1.0 - uniform(rng)).ln();
        radius * (std::f64::consts::TAU * uniform(rng)).cos().powi(2)
    };
    let squares: Vec<f64> = (0..count).map(|_| square()).collect();
    let sum: f64 = squares.iter().sum();
    squares.iter().map(|own| own / sum).collect()
}

/// Whole-text releases of texts with these shares of labels; `texts` are the best candidates.
fn population(
    texts: &[Vec<u32>],
    shares: &[f64],
    channel: &Channel,
    releases: usize,
    rng: &mut PublicRng,
) -> BTreeMap<u32, u64> {
    let mut outcomes = BTreeMap::new();
    for _ in 0..releases {
        let (at, mut sum) = (uniform(rng), 0.0);
        let label = shares.iter().position(|share| {
            sum += share;
            at < sum
        });
        let own = &texts[label.unwrap_or(shares.len() - 1)];
        let best = own[rng::below(rng, own.len() as u128) as usize];
        let outcome = if uniform(rng) < channel.own() {
            best
        } else {
            let other = rng::below(rng, channel.answers() as u128 - 1) as u32;
            other + u32::from(other >= best)
        };
        *outcomes.entry(outcome).or_insert(0) += 1;
    }
    outcomes
}

/// The mean law of the public texts of each label: `[labels][outcomes]`.
fn means(public: &Calibration, channel: &Channel) -> Vec<Vec<f64>> {
    let mut means = vec![vec![0.0; channel.answers()]; public.labels.len()];
    let mut counts = vec![0.0; public.labels.len()];
    for (label, best) in public.of_texts.iter().zip(&public.best) {
        means[*label as usize][*best as usize] += 1.0;
        counts[*label as usize] += 1.0;
    }
    for (mean, count) in means.iter_mut().zip(counts) {
        for own in mean {
            *own = channel.other() + *own / count * (channel.own() - channel.other());
        }
    }
    means
}

fn mixed(means: &[Vec<f64>], shares: &[f64]) -> Vec<f64> {
    let mut mixed = vec![0.0; means[0].len()];
    for (mean, share) in means.iter().zip(shares) {
        for (own, mean) in mixed.iter_mut().zip(mean) {
            *own += share * mean;
        }
    }
    mixed
}

/// Steps of EMQ and of ACC.
const STEPS: usize = 5000;

/// EMQ: the most likely shares, by expectation maximisation from equal ones.
fn most_likely(means: &[Vec<f64>], observed: &[f64]) -> Vec<f64> {
    let mut shares = vec![1.0 / means.len() as f64; means.len()];
    for _ in 0..STEPS {
        let mixed = mixed(means, &shares);
        let mut moved = 0.0;
        for (share, mean) in shares.iter_mut().zip(means) {
            let terms = observed.iter().zip(mean).zip(&mixed);
            let factor: f64 = terms.map(|((seen, own), all)| seen * own / all).sum();
            moved += (*share * (factor - 1.0)).abs();
            *share *= factor;
        }
        if moved < 1e-9 {
            break;
        }
    }
    shares
}

/// ACC: the shares nearest in least squares, by exponentiated gradients.
fn adjusted(means: &[Vec<f64>], observed: &[f64]) -> Vec<f64> {
    let mut shares = vec![1.0 / means.len() as f64; means.len()];
    let scale = means
        .iter()
        .flatten()
        .fold(0.0f64, |most, own| most.max(*own));
    for _ in 0..STEPS {
        let mixed = mixed(means, &shares);
        let gradient = means.iter().map(|mean| {
            let terms = observed.iter().zip(mean).zip(&mixed);
            terms
                .map(|((seen, own), all)| (seen - all) * own)
                .sum::<f64>()
        });
        let gradient: Vec<f64> = gradient.collect();
        let (mut sum, mut moved) = (0.0, 0.0f64);
        for (share, own) in shares.iter_mut().zip(&gradient) {
            let factor = (own / (scale * scale)).exp();
            moved = moved.max((*share * (factor - 1.0)).abs());
            *share *= factor;
            sum += *share;
        }
        for share in &mut shares {
            *share /= sum;
        }
        if moved < 1e-9 {
            break;
        }
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From exact frequencies, both peers find the shares.
    #[test]
    fn peers_invert_the_means() {
        let means = vec![vec![0.8, 0.1, 0.1], vec![0.2, 0.7, 0.1]];
        let shares = [0.3, 0.7];
        let observed = mixed(&means, &shares);
        for found in [most_likely(&means, &observed), adjusted(&means, &observed)] {
            for (found, share) in found.iter().zip(shares) {
                assert!((found - share).abs() < 1e-4, "{found} {share}");
            }
        }
    }

    /// One pack for two sets of private texts: intervals cover texts like the public ones, and
    /// those of a shift that exchanges most labels do not.
    #[test]
    fn a_case_measures_each_of_its_shifts() {
        let texts = |seed: u64, exchanged: usize| -> Vec<CorpusDocument> {
            let mut rng = PublicRng::new(seed);
            let mut word = |topic: usize| format!("{topic}w{} ", rng::below(&mut rng, 12));
            (0..80)
                .map(|line| {
                    let topic = if line % 10 < exchanged {
                        1 - line % 2
                    } else {
                        line % 2
                    };
                    CorpusDocument {
                        id: line.to_string(),
                        label: Some((line % 2).to_string()),
                        source: Some((line / 2 % 4).to_string()),
                        text: (0..6).map(|_| word(topic)).collect(),
                        ..CorpusDocument::default()
                    }
                })
                .collect()
        };
        let mut case = Case {
            public: texts(1, 1),
            private: ["like", "exchanged"]
                .into_iter()
                .zip([1, 9])
                .map(|(name, exchanged)| (name.to_owned(), texts(2, exchanged)))
                .collect(),
        };
        assert!(case.has_sources());
        let size = Size {
            populations: 3,
            releases: 5000,
            seed: 1,
        };
        let epsilon: Epsilon = "3".parse().unwrap();
        let measured = measure(&case, true, &[epsilon], size).unwrap();
        let names: Vec<&str> = measured.iter().map(|own| own.name.as_str()).collect();
        assert_eq!(names, ["like", "exchanged"]);
        assert!(measured[0].ours.covered > 0.99, "{measured:?}");
        assert!(measured[1].alike.covered < 0.01, "{measured:?}");
        assert!(measured[0].ours.distance < measured[1].ours.distance / 2.0);
        case.retain("no such shift");
        assert!(case.is_empty());
    }
}
