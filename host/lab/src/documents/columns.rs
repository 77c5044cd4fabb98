//! The mechanisms that the experiment compares.

use std::rc::Rc;

use rayon::prelude::*;
use undertone_core::document::DocumentError;
use undertone_core::epsilon::Epsilon;
use undertone_core::rng::{self, PublicRng};
use undertone_core::select::{Rule, SelectError};
use undertone_core::words::WordMechanism;

use crate::baselines::{Truncation, randomised_response, two_stage};
use crate::documents::data::{Data, Labelled, shuffle};
use crate::documents::word_columns::{Exchanged, Words};
use crate::documents::{
    Classify, Column, Draw, Mechanism, Options, Part, Role, Selection, Teacher,
};
use undertone::encoder::vectors::{self, DocumentVectors};
use undertone::error::{Error, Result};
use undertone::pack::heads::{self, Targets};
use undertone::pack::kmeans::{kmeans, normalised};
use undertone::pack::trained::{Recoder, ScoreHeads};
use undertone::pack::{Directions, depth_pack, scores_pack};
use undertone::progress::Progress;
use undertone_train::{Run, Split, TrainedRecoder, train_recoder, train_scores};

/// Numbers of random projection directions to choose from, as published.
const RANDOM_DIRECTIONS: [usize; 4] = [10, 20, 50, 100];

/// Numbers of principal directions to choose from.
const PRINCIPAL_DIRECTIONS: [usize; 3] = [5, 10, 30];

/// Clusters for votes: the best of 20, 30 and 50 on the validation documents of 20 Newsgroups.
const VOTE_CLUSTERS: usize = 20;

/// Candidates of clipped cosine, at most.
const COSINE_DOCUMENTS: usize = 2000;

/// The slope of clipped cosine: a cosine of 1/4 is a full score.
const COSINE_SLOPE: f32 = 4.0;

/// The privacy parameters at which heads are trained.
const TRAINED_AT: [f64; 3] = [1.0, 3.0, 10.0];

/// The numerator of the share of ε that the first of two stages takes.
const FIRST_STAGE: u32 = 2;

/// The classifier on the mean of the sentences.
struct NonPrivate {
    classifier: Rc<dyn Classify>,
}

impl Mechanism for NonPrivate {
    fn setting(&self) -> String {
        String::new()
    }

    fn predict(&self, documents: &DocumentVectors, draws: &[Draw]) -> Result<Vec<Vec<usize>>> {
        let predictions = self.classifier.predict(&documents.means());
        Ok(vec![predictions; draws.len()])
    }
}

/// Classes drawn with the frequencies of the training documents.
struct RandomGuess {
    frequencies: Vec<f64>,
}

impl Mechanism for RandomGuess {
    fn setting(&self) -> String {
        String::new()
    }

    fn predict(&self, documents: &DocumentVectors, draws: &[Draw]) -> Result<Vec<Vec<usize>>> {
        let guess = |draw: &Draw, document| {
            // Shares have at most 53 bits.
            let place = rng::below(&mut draw.rng(document), 1 << 53) as f64 / (1u64 << 53) as f64;
            let mut below = 0.0;
            let before = self.frequencies.iter().take_while(|share| {
                below += **share;
                below <= place
            });
            before.count().min(self.frequencies.len() - 1)
        };
        let guesses = draws
            .iter()
            .map(|draw| (0..documents.len()).map(|d| guess(draw, d)).collect());
        Ok(guesses.collect())
    }
}

/// The classifier on noisy means: see [`Truncation`].
struct Truncated {
    truncation: Truncation,
    classifier: Box<dyn Classify>,
}

impl Mechanism for Truncated {
    fn setting(&self) -> String {
        String::new()
    }

    fn predict(&self, documents: &DocumentVectors, draws: &[Draw]) -> Result<Vec<Vec<usize>>> {
        let (dimension, truncation) = (documents.dimension(), &self.truncation);
        let predict = |draw: &Draw| {
            let mut noisy = vec![0.0; documents.len() * dimension];
            noisy
                .par_chunks_exact_mut(dimension)
                .enumerate()
                .try_for_each(|(number, mean)| {
                    let (sentences, rng) = (documents.document(number), &mut draw.rng(number));
                    truncation.noisy_mean(sentences, draw.epsilon, rng, mean)
                })
                .map_err(|error| {
                    Error::experiment(format!("cannot run the experiment: {error}"))
                })?;
            Ok(self.classifier.predict(&noisy))
        };
        draws.iter().map(predict).collect()
    }
}

/// Randomised response for each sentence, then a vote: see [`randomised_response`].
struct Reports {
    /// Votes for the class of one sentence.
    votes: Selection,
    classes: usize,
}

impl Mechanism for Reports {
    fn setting(&self) -> String {
        String::new()
    }

    fn predict(&self, documents: &DocumentVectors, draws: &[Draw]) -> Result<Vec<Vec<usize>>> {
        // Each sentence is a document.
        let sentences = documents.rows().len() / documents.dimension();
        let single = DocumentVectors::new(
            documents.dimension(),
            documents.rows().to_vec(),
            (0..=sentences).collect(),
        );
        let class_of = self.votes.with_levels(&single, |_, levels| {
            let best = levels.iter().enumerate().min_by_key(|(_, level)| **level);
            Ok(best.map_or(0, |(class, _)| class))
        })?;
        let predict = |draw: &Draw, number: usize| {
            let mut rng = draw.rng(number);
            let mut reports = vec![0usize; self.classes];
            for sentence in documents.range(number) {
                let class = class_of[sentence];
                let report = randomised_response(class, self.classes, draw.epsilon, &mut rng);
                reports[report.map_err(selection)?] += 1;
            }
            let most = reports.iter().enumerate().rev().max_by_key(|(_, n)| **n);
            Ok(most.map_or(0, |(class, _)| class))
        };
        draws
            .iter()
            .map(|draw| {
                let numbers = (0..documents.len()).into_par_iter();
                numbers.map(|number| predict(draw, number)).collect()
            })
            .collect()
    }
}

/// Draws a cluster, then a document of it: see [`two_stage`].
struct TwoStages {
    clusters: Selection,
    documents: Selection,
    /// The candidates of `documents` in each cluster.
    members: Vec<Vec<usize>>,
    class_of: Vec<usize>,
}

impl Mechanism for TwoStages {
    fn setting(&self) -> String {
        String::new()
    }

    fn predict(&self, documents: &DocumentVectors, draws: &[Draw]) -> Result<Vec<Vec<usize>>> {
        let first = self
            .clusters
            .with_levels(documents, |_, levels| Ok(levels))?;
        let by_document = self.documents.with_levels(documents, |number, levels| {
            let classes = draws.iter().map(|draw| {
                let half =
                    Epsilon::from_micro(draw.epsilon.micro() / FIRST_STAGE).unwrap_or(draw.epsilon);
                let ratios = (self.clusters.ratio(half), self.documents.ratio(half));
                let inside = |cluster: usize| {
                    let members = self.members[cluster].iter();
                    members.map(|member| levels[*member]).collect()
                };
                let rng = &mut draw.rng(number);
                let rule = Rule::PermuteAndFlip;
                let (cluster, member) =
                    two_stage(&first[number], inside, rule, ratios, rng).map_err(selection)?;
                Ok(self.class_of[self.members[cluster][member]])
            });
            classes.collect::<Result<Vec<usize>>>()
        })?;
        let of_draw = |draw: usize| by_document.iter().map(|classes| classes[draw]).collect();
        Ok((0..draws.len()).map(of_draw).collect())
    }
}

fn selection(error: SelectError) -> Error {
    Error::from(DocumentError::Selection(error))
}

/// The inputs of all columns.
struct Made<'a, 'o> {
    data: &'a Data,
    options: &'o Options,
    /// The training documents.
    train: Labelled,
    /// Their means.
    means: Vec<f32>,
    /// The classifier of means.
    classifier: Rc<dyn Classify>,
}

impl<'a, 'o> Made<'a, 'o> {
    fn new(data: &'a Data, teach: Teacher<'_>, options: &'o Options) -> Result<Self> {
        let train = data.learning.subset(&data.train);
        Ok(Self {
            classifier: teach(data, &data.learning.documents.means())?.into(),
            means: train.documents.means(),
            train,
            data,
            options,
        })
    }

    fn dimension(&self) -> usize {
        self.train.documents.dimension()
    }

    /// The mean of the means.
    fn centre(&self) -> Vec<f32> {
        vectors::mean(&self.means, self.dimension())
    }

    /// Training documents with enough sentences, at most `most`, drawn uniformly; all training
    /// documents if none has enough.
    fn candidates(&self, most: usize) -> Vec<usize> {
        let documents = &self.train.documents;
        let mut fitting: Vec<usize> = (0..documents.len()).collect();
        fitting.retain(|number| documents.range(*number).len() >= self.options.min_sentences);
        if fitting.is_empty() {
            fitting = (0..documents.len()).collect();
        }
        shuffle(&mut fitting, &mut PublicRng::new(self.options.seed));
        fitting.truncate(most);
        fitting
    }

    fn means_of(&self, documents: &[usize]) -> Vec<f32> {
        let dimension = self.dimension();
        let rows = documents
            .iter()
            .flat_map(|number| &self.means[number * dimension..(number + 1) * dimension]);
        rows.copied().collect()
    }

    /// Depth, with each of these choices of directions.
    fn by_depth(
        &self,
        recoder: Option<&TrainedRecoder>,
        directions: &[Directions],
        rule: Rule,
    ) -> Result<Vec<Box<dyn Mechanism>>> {
        let chosen = self.candidates(self.options.candidates);
        let candidates = self.train.documents.subset(&chosen);
        let network = recoder.map(|trained| &trained.recoder);
        let class_of = match recoder {
            None => self.classifier.predict(&candidates.means()),
            Some(TrainedRecoder {
                recoder,
                classifier: Some(classifier),
                ..
            }) => classifier.predict(&recoder.apply(&candidates).means()),
            Some(_) => unreachable!("the recoder was trained with labels"),
        };
        let outputs = network.map_or(self.dimension(), Recoder::outputs);
        let variant = |directions: Directions| -> Result<Box<dyn Mechanism>> {
            let seed = self.options.seed;
            let pack = depth_pack(&self.data.encoder, &candidates, network, directions, seed)?;
            let (kind, p) = match directions {
                Directions::Random(p) => ("", p),
                Directions::Principal(p) => ("principal ", p),
            };
            let with = if network.is_some() {
                ""
            } else {
                ", no recoder"
            };
            let setting = format!("{kind}p = {p}{with}");
            Ok(Box::new(Selection::new(
                setting,
                pack,
                rule,
                class_of.clone(),
            )?))
        };
        let possible = directions.iter().filter(|directions| match directions {
            Directions::Random(_) => true,
            Directions::Principal(p) => *p <= outputs,
        });
        possible.map(|directions| variant(*directions)).collect()
    }

    fn recoder(&self) -> Result<TrainedRecoder> {
        let documents = &self.data.learning.documents;
        let clusters = undertone_train::CLUSTERS.min(self.data.train.len());
        let clusters = kmeans(
            &documents.means(),
            self.dimension(),
            clusters,
            self.options.seed,
        )?;
        let labels = Targets {
            of_documents: self.data.learning.labels.clone(),
            classes: self.data.classes.len(),
        };
        let clusters = Targets {
            classes: clusters.centroids.len() / self.dimension(),
            of_documents: clusters.assignment,
        };
        let run = self.run(&|steps| Progress::new("training a recoder", steps));
        train_recoder(documents, &clusters, Some(&labels), &self.split(), &run)
    }

    fn split(&self) -> Split<'_> {
        Split {
            train: &self.data.train,
            validation: &self.data.validation,
        }
    }

    fn run<'p>(&self, progress: &'p dyn Fn(u64) -> Progress) -> Run<'p> {
        Run {
            progress,
            ..Run::new(undertone_train::Options {
                seed: self.options.seed,
                ..undertone_train::Options::default()
            })
        }
    }

    fn scores(
        &self,
        setting: String,
        heads: &ScoreHeads,
        class_of: Vec<usize>,
    ) -> Result<Selection> {
        let pack = scores_pack(&self.data.encoder, self.train.documents.rows(), heads, None)?;
        Selection::new(setting, pack, Rule::PermuteAndFlip, class_of)
    }

    fn labels(&self) -> Targets {
        Targets {
            of_documents: self.train.labels.clone(),
            classes: self.data.classes.len(),
        }
    }

    fn clusters(&self, clusters: Option<usize>) -> Result<Targets> {
        heads::clusters_as_targets(&self.train.documents, clusters, self.options.seed)
    }

    fn fit(&self, targets: &Targets) -> Result<ScoreHeads> {
        heads::fit(
            &self.train.documents,
            &targets.of_documents,
            targets.classes,
        )
    }

    /// The mean of the documents of each class, `[classes][dimension]`.
    fn centres(&self, targets: &Targets) -> Vec<f32> {
        let centre = |class: usize| {
            let own = targets.of_documents.iter().enumerate();
            let own: Vec<usize> = own
                .filter(|(_, target)| **target == class)
                .map(|(number, _)| number)
                .collect();
            vectors::mean(&self.means_of(&own), self.dimension())
        };
        (0..targets.classes).flat_map(centre).collect()
    }

    /// Heads trained through the mechanism at each of some ε, starting from the closed form.
    /// `validation` holds the class of each validation document.
    fn trained(
        &self,
        targets: &Targets,
        validation: &[usize],
        class_of: &[usize],
    ) -> Result<Vec<Box<dyn Mechanism>>> {
        let start = self.fit(targets)?;
        let mut of_documents = vec![0; self.data.learning.labels.len()];
        let train = self.data.train.iter().zip(&targets.of_documents);
        for (number, target) in train.chain(self.data.validation.iter().zip(validation)) {
            of_documents[*number] = *target;
        }
        let targets = Targets {
            of_documents,
            classes: targets.classes,
        };
        let run = self.run(&|steps| Progress::new("training score heads", steps));
        let variant = |epsilon: &f64| -> Result<Box<dyn Mechanism>> {
            let (heads, _) = train_scores(
                &start,
                &self.data.learning.documents,
                &targets,
                &[*epsilon],
                &self.split(),
                &run,
            )?;
            let setting = format!("trained at ε = {epsilon}");
            Ok(Box::new(self.scores(setting, &heads, class_of.to_vec())?))
        };
        TRAINED_AT.iter().map(variant).collect()
    }

    /// The index of the centre with the largest cosine to each point, both relative to the mean of
    /// all documents.
    fn nearest(&self, centres: &[f32], points: &[f32]) -> Vec<usize> {
        let dimension = self.dimension();
        let middle = self.centre();
        let centres = normalised(centres, dimension, &middle);
        let points = normalised(points, dimension, &middle);
        let cosine = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
        let nearest = |point: &[f32]| {
            let cosines = centres
                .chunks_exact(dimension)
                .map(|centre| cosine(centre, point));
            let best = cosines.enumerate().max_by(|(_, a), (_, b)| a.total_cmp(b));
            best.map_or(0, |(class, _)| class)
        };
        points.chunks_exact(dimension).map(nearest).collect()
    }
}

/// The set of mechanisms to compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Every mechanism.
    All,
    /// Mechanisms that show the quality of an encoder: non-private, the best depth, scores.
    Encoder,
}

/// The mechanisms to compare on `data`, including word-level mechanisms if `words` is given.
///
/// To add a mechanism, add a [`Column`]: a [`Selection`] if it has a pack, else a [`Mechanism`] of
/// its own.
///
/// # Errors
/// Errors of `teach`, of training and of packing.
pub fn columns<'a>(
    data: &'a Data,
    extent: Extent,
    words: Option<Words<'a>>,
    teach: Teacher<'_>,
    options: &Options,
) -> Result<Vec<Column<'a>>> {
    let made = Made::new(data, teach, options)?;
    let all = extent == Extent::All;
    let mut columns = Columns {
        extent,
        columns: Vec::new(),
    };
    if all {
        random_guess(data, &mut columns);
        truncation(&made, teach, &mut columns)?;
    }
    depth(&made, all, &mut columns)?;
    let heads = Heads::new(&made)?;
    if all {
        votes(&made, &mut columns)?;
        by_documents(&made, &heads, &mut columns)?;
        randomised_responses(&made, &heads, &mut columns)?;
        trained_clusters(&made, &heads, &mut columns)?;
    }
    closed_form_clusters(&made, &heads, &mut columns)?;
    if all {
        trained_labels(&made, &heads, &mut columns)?;
    }
    closed_form_labels(&made, &heads, &mut columns)?;
    if let Some(words) = words {
        each_word(&made, words, &mut columns);
    }
    // Non-private comes last because later curves are drawn above earlier ones.
    columns.push(
        "non-private",
        "None: the classifier sees the mean of the sentence vectors.".to_owned(),
        Role::Bound,
        vec![Box::new(NonPrivate {
            classifier: made.classifier,
        })],
    );
    Ok(columns.columns)
}

/// The guarantee of mechanisms that select from a pack.
const SENTENCE: &str = "ε-DP when one sentence is replaced, (ε/2)-DP when one is added or removed";

struct Columns<'a> {
    extent: Extent,
    columns: Vec<Column<'a>>,
}

impl<'a> Columns<'a> {
    fn push(
        &mut self,
        name: &str,
        promise: String,
        role: Role,
        variants: Vec<Box<dyn Mechanism + 'a>>,
    ) {
        self.columns.push(Column {
            name: match self.extent {
                Extent::All => name.to_owned(),
                Extent::Encoder => format!("lexicon: {name}"),
            },
            promise,
            role,
            variants,
            part: None,
        });
    }
}

/// Heads in closed form, of labels and of clusters.
struct Heads {
    labels: Targets,
    label_heads: ScoreHeads,
    clusters: Targets,
    cluster_heads: ScoreHeads,
    cluster_centres: Vec<f32>,
    /// The class of each cluster's centre.
    cluster_class: Vec<usize>,
}

impl Heads {
    fn new(made: &Made<'_, '_>) -> Result<Self> {
        let labels = made.labels();
        let label_heads = made.fit(&labels)?;
        let clusters = made.clusters(None)?;
        let cluster_heads = made.fit(&clusters)?;
        let cluster_centres = made.centres(&clusters);
        Ok(Self {
            cluster_class: made.classifier.predict(&cluster_centres),
            labels,
            label_heads,
            clusters,
            cluster_heads,
            cluster_centres,
        })
    }

    /// One class for each label.
    fn label_class(&self) -> Vec<usize> {
        (0..self.labels.classes).collect()
    }
}

/// Removes the thresholds, so that a sentence votes for the candidate with the largest value.
fn voting(heads: ScoreHeads) -> ScoreHeads {
    ScoreHeads {
        thresholds: Vec::new(),
        ..heads
    }
}

fn random_guess(data: &Data, columns: &mut Columns<'_>) {
    let guess: f64 = data.frequencies().iter().map(|share| share * share).sum();
    columns.push(
        "random guess",
        format!(
            "Nothing of the document is used: a class is drawn with its training frequency. Expected \
             accuracy Σq² = {guess:.3}."
        ),
        Role::Bound,
        vec![Box::new(RandomGuess {
            frequencies: data.frequencies(),
        })],
    );
}

fn truncation(made: &Made<'_, '_>, teach: Teacher<'_>, columns: &mut Columns<'_>) -> Result<()> {
    let truncation = Truncation::fit(&made.means, made.dimension());
    let means = truncation.means(&made.data.learning.documents);
    columns.push(
        "truncation",
        "ε-DP when one sentence is replaced, the number of sentences public (Li and Clifton 2021)."
            .to_owned(),
        Role::Baseline,
        vec![Box::new(Truncated {
            classifier: teach(made.data, &means)?,
            truncation,
        })],
    );
    Ok(())
}

/// Adds the best variant of depth, and the published one if `published`.
fn depth(made: &Made<'_, '_>, published: bool, columns: &mut Columns<'_>) -> Result<()> {
    let random = RANDOM_DIRECTIONS.map(Directions::Random);
    let principal = PRINCIPAL_DIRECTIONS.map(Directions::Principal);
    let recoder = made.recoder()?;
    if published {
        columns.push(
            "depth, as published",
            format!(
                "{SENTENCE}: trained recoder, depth on random directions, exponential mechanism (Meehan, \
                 Mrini and Chaudhuri 2022)."
            ),
            Role::Baseline,
            made.by_depth(Some(&recoder), &random, Rule::Exponential)?,
        );
    }
    let mut variants = Vec::new();
    for recoder in [Some(&recoder), None] {
        for directions in [&random[..], &principal] {
            variants.extend(made.by_depth(recoder, directions, Rule::PermuteAndFlip)?);
        }
    }
    columns.push(
        "depth, best variant",
        format!(
            "{SENTENCE}: depth with or without recoder, on random or public principal directions, \
             permute-and-flip (McKenna and Sheldon 2020)."
        ),
        Role::Baseline,
        variants,
    );
    Ok(())
}

fn votes(made: &Made<'_, '_>, columns: &mut Columns<'_>) -> Result<()> {
    let votes = made.clusters(Some(VOTE_CLUSTERS.min(made.train.documents.len())))?;
    let centres = made.centres(&votes);
    let cosine = heads::cosine(&centres, &made.centre(), made.dimension(), 1.0);
    columns.push(
        "votes",
        format!(
            "{SENTENCE}: every sentence votes for the nearest of {} clusters; no labels.",
            votes.classes
        ),
        Role::Candidate,
        vec![Box::new(made.scores(
            String::new(),
            &voting(cosine),
            made.classifier.predict(&centres),
        )?)],
    );
    Ok(())
}

/// Adds documents as candidates, by clipped cosine: all at once, or those of a cluster that is
/// selected first.
fn by_documents(made: &Made<'_, '_>, heads: &Heads, columns: &mut Columns<'_>) -> Result<()> {
    let documents = made.candidates(COSINE_DOCUMENTS);
    let means = made.means_of(&documents);
    let class_of = made.classifier.predict(&means);
    let cosine = heads::cosine(&means, &made.centre(), made.dimension(), COSINE_SLOPE);
    columns.push(
        "clipped cosine",
        format!(
            "{SENTENCE}: clipped cosine to {} public documents; no labels.",
            documents.len()
        ),
        Role::Candidate,
        vec![Box::new(made.scores(
            String::new(),
            &cosine,
            class_of.clone(),
        )?)],
    );
    let mut members = vec![Vec::new(); heads.clusters.classes];
    for (candidate, document) in documents.iter().enumerate() {
        members[heads.clusters.of_documents[*document]].push(candidate);
    }
    // A cluster without a drawn document takes the candidate nearest to it.
    let nearest = made.nearest(&means, &heads.cluster_centres);
    for (members, nearest) in members.iter_mut().zip(nearest) {
        if members.is_empty() {
            members.push(nearest);
        }
    }
    columns.push(
        "two stages",
        format!(
            "{SENTENCE}: a cluster by scores with ε/2, then one of its documents by clipped cosine with \
             ε/2; no labels."
        ),
        Role::Candidate,
        vec![Box::new(TwoStages {
            clusters: made.scores(String::new(), &heads.cluster_heads, Vec::new())?,
            documents: made.scores(String::new(), &cosine, Vec::new())?,
            members,
            class_of,
        })],
    );
    Ok(())
}

fn randomised_responses(
    made: &Made<'_, '_>,
    heads: &Heads,
    columns: &mut Columns<'_>,
) -> Result<()> {
    let votes = voting(heads.label_heads.clone());
    columns.push(
        "randomised response",
        "ε-DP when one sentence is replaced, the number of sentences public: the class of every sentence \
         with randomised response, then a vote; labels."
            .to_owned(),
        Role::Candidate,
        vec![Box::new(Reports {
            votes: made.scores(String::new(), &votes, Vec::new())?,
            classes: heads.labels.classes,
        })],
    );
    Ok(())
}

fn trained_clusters(made: &Made<'_, '_>, heads: &Heads, columns: &mut Columns<'_>) -> Result<()> {
    let unseen = made.data.learning.subset(&made.data.validation);
    let nearest = made.nearest(&heads.cluster_centres, &unseen.documents.means());
    columns.push(
        "scores trained, no labels",
        format!(
            "{SENTENCE}: heads of {} clusters, trained through the mechanism.",
            heads.clusters.classes
        ),
        Role::Candidate,
        made.trained(&heads.clusters, &nearest, &heads.cluster_class)?,
    );
    Ok(())
}

fn closed_form_clusters(
    made: &Made<'_, '_>,
    heads: &Heads,
    columns: &mut Columns<'_>,
) -> Result<()> {
    let class_of = heads.cluster_class.clone();
    columns.push(
        "scores, no labels",
        format!(
            "{SENTENCE}: closed-form heads of {} clusters; what `pack` makes of a corpus without labels.",
            heads.clusters.classes
        ),
        Role::Candidate,
        vec![Box::new(made.scores(
            String::new(),
            &heads.cluster_heads,
            class_of,
        )?)],
    );
    Ok(())
}

fn trained_labels(made: &Made<'_, '_>, heads: &Heads, columns: &mut Columns<'_>) -> Result<()> {
    let unseen = made.data.learning.subset(&made.data.validation);
    columns.push(
        "scores trained",
        format!("{SENTENCE}: heads of the labels, trained through the mechanism."),
        Role::Candidate,
        made.trained(&heads.labels, &unseen.labels, &heads.label_class())?,
    );
    Ok(())
}

fn closed_form_labels(made: &Made<'_, '_>, heads: &Heads, columns: &mut Columns<'_>) -> Result<()> {
    let role = match columns.extent {
        Extent::All => Role::Default,
        Extent::Encoder => Role::Candidate,
    };
    columns.push(
        "scores",
        format!(
            "{SENTENCE}: closed-form heads of the labels; what `pack` makes of a labelled corpus."
        ),
        role,
        vec![Box::new(made.scores(
            String::new(),
            &heads.label_heads,
            heads.label_class(),
        )?)],
    );
    Ok(())
}

/// Adds word-level mechanisms, on some of the test documents.
fn each_word<'a>(made: &Made<'a, '_>, words: Words<'a>, columns: &mut Columns<'a>) {
    let test = &made.data.test;
    let mut documents: Vec<usize> = (0..test.labels.len()).collect();
    shuffle(&mut documents, &mut PublicRng::new(made.options.seed));
    documents.truncate(words.documents);
    for (name, mechanism, role, source) in [
        (
            "each word: Laplace + nearest",
            WordMechanism::LaplaceNearest,
            Role::Baseline,
            "noise on its vector, then the nearest word (Feyisetan, Balle, Drake and Diethe 2020)",
        ),
        (
            "each word: selection",
            WordMechanism::Selection(Rule::PermuteAndFlip),
            Role::Candidate,
            "selection among all words by distance",
        ),
    ] {
        let texts = documents.iter().map(|number| test.texts[*number].as_str());
        let exchanged = Exchanged::new(words, mechanism, made.classifier.clone(), texts);
        columns.columns.push(Column {
            name: name.to_owned(),
            promise: format!(
                "Another promise, metric and for each word: ε per unit of distance, which can be many units; the \
                 numbers of words and sentences and their places are public. Every word is exchanged by \
                 {source}, the sentences are encoded anew. {} test documents drawn at random, 1 trial.",
                documents.len()
            ),
            role,
            variants: vec![Box::new(exchanged)],
            part: Some(Part {
                documents: documents.clone(),
                trials: 1,
            }),
        });
    }
}
