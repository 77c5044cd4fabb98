//! The words that best distinguish the labels of a public corpus.
//!
//! A word is ranked by the mutual information of a document's label and the word's occurrence in
//! the document. The corpus is public, so a list of the first words can be a fixed rule for private
//! texts.

use std::collections::{HashMap, HashSet};

use undertone_core::lexicon::Word;

/// Counts of documents by label, in total and by word.
#[derive(Clone, Debug, Default)]
pub struct WordsByLabel {
    labels: HashMap<String, usize>,
    documents: Vec<u64>,
    words: HashMap<Word, Vec<u64>>,
}

impl WordsByLabel {
    /// Counts one public document with these words.
    ///
    /// # Leaks
    /// None: the counts are of public documents.
    ///
    /// # Shapes
    /// `words`: in any order, any number of times.
    ///
    /// # Cost
    /// A look-up of each word.
    pub fn add(&mut self, label: &str, words: impl Iterator<Item = Word>) {
        let next = self.labels.len();
        let label = *self.labels.entry(label.to_owned()).or_insert(next);
        self.documents.resize(self.labels.len(), 0);
        self.documents[label] += 1;
        for word in words.collect::<HashSet<_>>() {
            let counts = self.words.entry(word).or_default();
            if counts.len() <= label {
                counts.resize(label + 1, 0);
            }
            counts[label] += 1;
        }
    }

    /// The number of labels.
    pub fn labels(&self) -> usize {
        self.labels.len()
    }

    /// Returns all words with their information about the label, in bits, from most to least
    /// informative; ties are in byte order.
    pub fn ranked(&self) -> Vec<(&str, f64)> {
        let words = self.words.iter();
        let ranked = words.map(|(word, counts)| (word.as_str(), self.information(counts)));
        let mut ranked: Vec<(&str, f64)> = ranked.collect();
        ranked.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(b.0)));
        ranked
    }

    /// Computes Σ p(x, y)·log₂(p(x, y)/(p(x)·p(y))) over labels y and occurrence x of the word.
    fn information(&self, with_word: &[u64]) -> f64 {
        let all = self.documents.iter().sum::<u64>() as f64;
        let with = with_word.iter().sum::<u64>() as f64;
        let term = |joint: f64, word: f64, label: f64| match joint {
            0.0 => 0.0,
            _ => joint / all * (joint * all / (word * label)).log2(),
        };
        let present = with_word.iter().chain(std::iter::repeat(&0));
        self.documents
            .iter()
            .zip(present)
            .map(|(label, present)| {
                let (label, present) = (*label as f64, *present as f64);
                term(present, with, label) + term(label - present, all - with, label)
            })
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::WordsByLabel;
    use undertone_core::lexicon::words;

    #[test]
    fn words_are_ranked_by_their_information() {
        let mut counts = WordsByLabel::default();
        for (label, text) in [
            ("a", "all perfect perfect half one"),
            ("a", "all perfect"),
            ("b", "all half"),
            ("b", "all"),
        ] {
            counts.add(label, words(text));
        }
        assert_eq!(counts.labels(), 2);
        let ranked = counts.ranked();
        // H(label) = 1 bit; "one" leaves 3/4·H(1/3).
        let one = 1.0 - 0.75 * (3f64.log2() - 2.0 / 3.0);
        for ((word, bits), (expected, value)) in
            ranked
                .iter()
                .zip([("perfect", 1.0), ("one", one), ("all", 0.0), ("half", 0.0)])
        {
            assert_eq!(*word, expected);
            assert!((bits - value).abs() < 1e-12, "{word}: {bits}");
        }
        assert_eq!(ranked.len(), 4);
    }
}
