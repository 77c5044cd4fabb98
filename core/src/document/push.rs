//! Sentences on their way into a document: as embeddings, as texts, or as both.
//!
//! Each call checks its arguments, then sets up the state if no earlier call did. Then every
//! sentence takes the same steps: features, lexicon or embedding, recoder, scores or depth.

use core::slice;

use subtle::ConstantTimeEq;

use super::{Candidates, Document, DocumentError};
use crate::barrier::wipe;
use crate::checked::{chunk_size, part, part_mut};
use crate::depth::{DepthSection, project};
use crate::features::{self, Divisor, Features};
use crate::fixed::Scale;
use crate::kernels::{GROUP, Sums};
use crate::pack::format::MAX_WIDTH;
use crate::recode::{Activations, Recoder};
use crate::scores::{Recognised, ScoresSection, TOGETHER};
use crate::sentences::sentences;

impl<'p, const K: usize, const P: usize> Document<'p, K, P> {
    /// Adds one sentence by its embedding.
    ///
    /// # Shapes
    /// `embedding`: `[dimension]` f32, any bits; a coordinate that is not finite counts as 0.
    ///
    /// # Errors
    /// [`DocumentError::Dimension`] for another length, [`DocumentError::Full`] for more than `K`
    /// sentences, [`DocumentError::NeedsText`] for a pack with features. The document is unchanged.
    /// No error depends on a coordinate.
    ///
    /// # Cost
    /// Depth: p·dimension multiplications, p·256 byte additions. Scores: m·dimension
    /// multiplications, m·Q comparisons; 2 KiB of stack. A recoder adds its own cost.
    pub fn push(&mut self, embedding: &[f32]) -> Result<(), DocumentError> {
        self.check_dimension(embedding)?;
        self.check_room()?;
        self.push_all(embedding).map(|_| ())
    }

    /// Adds several sentences by their embeddings until the document is full, and returns the
    /// number of sentences added.
    ///
    /// The result is the same as from one [`push`](Document::push) for each embedding. It takes
    /// less time because each part of the pack is read once for several sentences.
    ///
    /// # Shapes
    /// `embeddings`: `[n][dimension]` f32, any bits; a coordinate that is not finite counts as 0.
    ///
    /// # Errors
    /// [`DocumentError::Dimension`] for a length that is no multiple of the dimension,
    /// [`DocumentError::NeedsText`] for a pack with features. The document is unchanged. No error
    /// depends on a coordinate.
    ///
    /// # Cost
    /// At most that of one [`push`](Document::push) for each embedding.
    pub fn push_all(&mut self, embeddings: &[f32]) -> Result<usize, DocumentError> {
        let dimension = self.dimension.get();
        if !embeddings.len().is_multiple_of(dimension) {
            return Err(DocumentError::Dimension {
                expected: dimension,
                found: embeddings.len(),
            });
        }
        if self.features.is_some() {
            return Err(DocumentError::NeedsText);
        }
        self.fill();
        let added = self.room().min(embeddings.len() / dimension);
        let embeddings = part(embeddings, ..added * dimension);
        match self.candidates {
            Candidates::Depth(section) if self.recoder.is_none() => {
                for group in embeddings.chunks(chunk_size(GROUP * dimension)) {
                    // Buffers of a fitting size: the stack of a microcontroller is small.
                    match group.len() / dimension {
                        1 => self.count_group::<1>(section, group),
                        2..=4 => self.count_group::<4>(section, group),
                        _ => self.count_group::<GROUP>(section, group),
                    }
                }
            }
            Candidates::Scores(section) if self.recoder.is_none() => {
                for group in embeddings.chunks(chunk_size(TOGETHER * dimension)) {
                    // A single sentence has smaller buffers.
                    if group.len() == dimension {
                        self.add_embedding(group, Divisor::default());
                    } else {
                        self.score_group(section, group);
                    }
                }
            }
            _ => {
                for embedding in embeddings.chunks(dimension) {
                    self.add_embedding(embedding, Divisor::default());
                }
            }
        }
        Ok(added)
    }

    /// Adds one sentence by its text, through the lexicon and the features of the pack.
    ///
    /// # Shapes
    /// `sentence`: text or any bytes, taken as one sentence. Bytes that are not UTF-8 act as word
    /// separators. They give no error, because an error would depend on the text. A sentence
    /// without a known word counts as the zero vector.
    ///
    /// # Errors
    /// [`DocumentError::NoLexicon`] if the pack reads embeddings only, [`DocumentError::Full`] for
    /// more than `K` sentences.
    ///
    /// # Cost
    /// The sum of [`Lexicon::sentence_vector`](crate::lexicon::Lexicon::sentence_vector),
    /// [`each_feature`](crate::features::each_feature) and [`push`](Document::push).
    pub fn push_sentence(&mut self, sentence: impl AsRef<[u8]>) -> Result<(), DocumentError> {
        self.check_reads_text()?;
        self.check_room()?;
        self.fill();
        self.add_text(sentence.as_ref());
        Ok(())
    }

    /// Adds one sentence by its text and its embedding, for packs that have features beside a
    /// neural encoder. The text is ignored if the pack has no features.
    ///
    /// # Shapes
    /// `sentence`: any bytes, taken as one sentence; `embedding`: the embedding of this sentence,
    /// as for [`push`](Document::push).
    ///
    /// # Errors
    /// [`DocumentError::Dimension`] and [`DocumentError::Full`] as for [`push`](Document::push).
    ///
    /// # Cost
    /// The sum of [`each_feature`](crate::features::each_feature) and [`push`](Document::push).
    pub fn push_encoded(
        &mut self,
        sentence: &[u8],
        embedding: &[f32],
    ) -> Result<(), DocumentError> {
        if self.features.is_none() {
            return self.push(embedding);
        }
        self.check_dimension(embedding)?;
        self.check_room()?;
        self.fill();
        let mut divisor = self.look_up_features(sentence);
        self.add_embedding(embedding, divisor);
        divisor.wipe();
        Ok(())
    }

    /// Adds the [`sentences`](sentences()) of a text until the document is full, and returns the
    /// number of sentences added. A pack that [takes whole
    /// texts](crate::features::Features::takes_whole_texts) gets the text as one sentence.
    ///
    /// The guarantee for a sentence compares lists of sentences, not texts. The module
    /// [`sentences`](mod@crate::sentences) defines what a sentence is. If the pack
    /// takes a text as one sentence, the guarantee protects the text of one call: several calls
    /// push several sentences.
    ///
    /// # Shapes
    /// `text`: any bytes.
    ///
    /// # Errors
    /// [`DocumentError::NoLexicon`] if the pack reads embeddings only. No error depends on the
    /// text.
    ///
    /// # Cost
    /// Linear in the text, and one [`push_sentence`](Document::push_sentence) for each sentence.
    pub fn push_text(&mut self, text: &[u8]) -> Result<usize, DocumentError> {
        self.check_reads_text()?;
        // Even if the text has no sentence, because its release must take the same steps.
        self.fill();
        let (whole, split) = match features::read(&self.features) {
            Some(features) if features.takes_whole_texts() => (Some(text), &[][..]),
            _ => (None, text),
        };
        let mut added = 0;
        for sentence in whole.into_iter().chain(sentences(split)).take(self.room()) {
            self.add_text(sentence);
            added += 1;
        }
        Ok(added)
    }

    /// The number of sentences that still fit.
    fn room(&self) -> usize {
        K.saturating_sub(self.sentence_count())
    }

    fn check_room(&self) -> Result<(), DocumentError> {
        if self.room() == 0 {
            return Err(DocumentError::Full { limit: K });
        }
        Ok(())
    }

    fn check_dimension(&self, embedding: &[f32]) -> Result<(), DocumentError> {
        if embedding.len() != self.dimension.get() {
            return Err(DocumentError::Dimension {
                expected: self.dimension.get(),
                found: embedding.len(),
            });
        }
        Ok(())
    }

    fn check_reads_text(&self) -> Result<(), DocumentError> {
        let features = features::read(&self.features);
        if self.lexicon.is_none() && !features.is_some_and(Features::is_alone) {
            return Err(DocumentError::NoLexicon);
        }
        Ok(())
    }

    fn add_text(&mut self, sentence: &[u8]) {
        let mut divisor = self.look_up_features(sentence);
        let mut coordinates: Activations = [0; MAX_WIDTH as usize];
        if let Some(lexicon) = self.lexicon {
            lexicon.mean_at(self.scale(), self.backend, sentence, &mut coordinates);
        }
        self.add_sentence(&mut coordinates, divisor);
        wipe(&mut coordinates);
        divisor.wipe();
    }

    /// Writes the feature weights of a sentence to the state, for
    /// [`add_sentence`](Document::add_sentence).
    #[inline(never)]
    fn look_up_features(&mut self, sentence: &[u8]) -> Divisor {
        let features = features::read(&self.features);
        let (Some(features), Candidates::Scores(section)) = (features, self.candidates) else {
            return Divisor::default();
        };
        let weights = self.state.scores_mut(section.layout(P)).weights;
        wipe(weights);
        features.add(self.backend, sentence, weights)
    }

    #[inline(never)]
    fn add_embedding(&mut self, embedding: &[f32], divisor: Divisor) {
        let mut coordinates: Activations = [0; MAX_WIDTH as usize];
        let factor = self.scale().factor();
        self.backend.to_fixed(embedding, factor, &mut coordinates);
        self.add_sentence(&mut coordinates, divisor);
        wipe(&mut coordinates);
    }

    /// Adds one sentence by its coordinates as integers, of which there are at most [`MAX_WIDTH`].
    fn add_sentence(&mut self, coordinates: &mut Activations, divisor: Divisor) {
        let mut recognised = self.recognise(coordinates, divisor);
        if let Some(recoder) = &self.recoder {
            recoder.apply(coordinates);
        }
        match self.candidates {
            Candidates::Depth(section) => self.count_sentence(section, coordinates),
            Candidates::Scores(section) => section.add(
                self.backend,
                features::read(&self.features),
                self.state.scores_mut(section.layout(P)),
                slice::from_mut(coordinates),
                slice::from_ref(&recognised),
            ),
        }
        recognised.wipe();
        self.sentences += 1;
    }

    /// Records whether the pack recognises this sentence, from its coordinates before a recoder.
    fn recognise(&mut self, coordinates: &Activations, divisor: Divisor) -> Recognised {
        let bits = coordinates.iter().fold(0, |bits, x| bits | *x);
        let known = !bits.ct_eq(&0) | divisor.is_known();
        let recognised = Recognised {
            divisor,
            known: -i32::from(known.unwrap_u8()),
        };
        self.known |= recognised.known;
        recognised
    }

    /// The scale of the coordinates that [`add_sentence`](Document::add_sentence) takes.
    fn scale(&self) -> Scale {
        let recoder = self.recoder.as_ref().map(Recoder::scale);
        recoder.unwrap_or_else(|| self.candidates.scale())
    }

    #[inline(never)]
    fn count_sentence(&mut self, section: DepthSection<'p>, coordinates: &Activations) {
        let mut projections = [0i64; P];
        section.add_projections(self.backend, 0, &[coordinates], &mut projections, 1);
        let sums = Sums {
            sums: &projections,
            room: 1,
            sentences: 1,
        };
        section.count(self.backend, &sums, self.state.counts_mut());
        wipe(&mut projections);
    }

    /// Adds up to `N` sentences by their embeddings, for a pack with depth and no recoder.
    // `inline(never)`: inlined, its buffers would be on the stack together with those of the
    // caller.
    #[inline(never)]
    fn count_group<const N: usize>(&mut self, section: DepthSection<'p>, group: &[f32]) {
        let mut projections = [[0i64; N]; P];
        let projections = projections.as_flattened_mut();
        let dimension = self.dimension.get();
        project::<N>(self.backend, &section, group, dimension, projections);
        let sums = Sums {
            sums: projections,
            room: N,
            sentences: group.len() / dimension,
        };
        section.count(self.backend, &sums, self.state.counts_mut());
        self.sentences += sums.sentences as u8;
        wipe(projections);
    }

    /// Adds up to [`TOGETHER`] sentences by their embeddings, for a pack with scores and no
    /// recoder.
    // `inline(never)`: as `count_group`.
    #[inline(never)]
    fn score_group(&mut self, section: ScoresSection<'p>, group: &[f32]) {
        let mut sentences: [Activations; TOGETHER] = [[0; MAX_WIDTH as usize]; TOGETHER];
        let mut recognised = [Recognised::default(); TOGETHER];
        let embeddings = group.chunks_exact(self.dimension.get());
        let count = embeddings.len();
        let places = sentences.iter_mut().zip(&mut recognised);
        let factor = section.scale().factor();
        for ((sentence, recognised), embedding) in places.zip(embeddings) {
            self.backend.to_fixed(embedding, factor, sentence);
            *recognised = self.recognise(sentence, Divisor::default());
        }
        let tables = self.state.scores_mut(section.layout(P));
        let pushed = part_mut(&mut sentences, ..count);
        section.add(self.backend, None, tables, pushed, &recognised);
        self.sentences += count as u8;
        wipe(sentences.as_flattened_mut());
        recognised.iter_mut().for_each(Recognised::wipe);
    }
}
