//! Messages and their authors: raw messages of newsgroups, prepared for authorship attribution.
//!
//! A corpus line holds a raw message and its group as the label, as in 20 Newsgroups. The author is
//! the address in the header's `From:` line. The header, quotes, the signature
//! ([`text::message_body`]) and mail addresses are removed, in this order; the rest is the author's
//! own text.

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;

use sha2::{Digest, Sha256};
use undertone_core::rng::PublicRng;

use crate::documents::data::shuffle;
use undertone::corpus::FieldNames;
use undertone::error::{Error, Result};
use undertone::text;

/// A message without the parts that name its author by design.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The newsgroup.
    pub group: String,
    /// The author's mail address in lower case.
    pub author: String,
    /// The author's own text.
    pub text: String,
}

impl Message {
    /// Parses a raw message. Returns `None` if the header has no `From:` line with an address.
    ///
    /// ```
    /// use undertone_lab::authorship::mailbox::Message;
    /// let raw = "From: Ann@Example.org (Ann)\nSubject: soup\n\nSalt, says bob@x.org.\n\n--\nAnn";
    /// let message = Message::parse("rec.food".to_owned(), raw).unwrap();
    /// assert_eq!(message.author, "ann@example.org");
    /// assert_eq!(message.text, "Salt, says .");
    /// ```
    pub fn parse(group: String, raw: &str) -> Option<Self> {
        // Without an empty line, the end of the header is unknown.
        let end = raw.lines().position(str::is_empty)?;
        let header = raw
            .lines()
            .take(end)
            .filter_map(|line| line.split_once(':'));
        let author = header
            .filter(|(field, _)| field.eq_ignore_ascii_case("from"))
            .find_map(|(_, value)| words(value).find(|word| is_address(word)))?;
        let body = text::message_body(raw);
        let mut text = String::with_capacity(body.len());
        for piece in body.split_inclusive(separates) {
            let word = piece.trim_end_matches(separates);
            if !is_address(word.trim_end_matches('.')) {
                text.push_str(word);
            } else if word.ends_with('.') {
                text.push('.');
            }
            text.push_str(&piece[word.len()..]);
        }
        Some(Self {
            group,
            author: author.to_lowercase(),
            text,
        })
    }
}

/// Characters that no address contains in its usual form.
fn separates(c: char) -> bool {
    c.is_whitespace() || "<>()[]\",;:".contains(c)
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(separates)
}

fn is_address(word: &str) -> bool {
    word.split_once('@')
        .is_some_and(|(name, host)| !name.is_empty() && !host.is_empty())
}

/// All messages of a set of corpora.
#[derive(Clone, Debug, Default)]
pub struct Mailbox {
    /// The messages, in order.
    pub messages: Vec<Message>,
    /// Messages left out because their header has no address.
    pub without_author: usize,
    /// Messages left out because no text by the author remains.
    pub empty: usize,
    /// Messages left out because an earlier one of the same author has the same text.
    pub repeated: usize,
}

impl Mailbox {
    /// Reads corpora of raw messages; the label of a line is the group.
    ///
    /// # Errors
    /// Errors of the corpora; [`ErrorKind::Experiment`](undertone::error::ErrorKind::Experiment)
    /// for a message without a group.
    pub fn read(paths: &[PathBuf]) -> Result<Self> {
        let mut mailbox = Self::default();
        let mut seen = HashSet::new();
        for path in paths {
            for document in undertone_tables::corpus_watched(path, &FieldNames::default(), None)? {
                let document = document?;
                let group = document.label.ok_or_else(|| {
                    Error::experiment(format!(
                        "cannot evaluate on `{}`: message {} has no label; wanted is its news \
                         group in the field \"label\"",
                        path.display(),
                        document.id
                    ))
                })?;
                let Some(message) = Message::parse(group, &document.text) else {
                    mailbox.without_author += 1;
                    continue;
                };
                if !message.text.chars().any(char::is_alphanumeric) {
                    mailbox.empty += 1;
                    continue;
                }
                let mut hash = Sha256::new();
                hash.update(&message.author);
                hash.update([0]);
                hash.update(&message.text);
                if seen.insert(<[u8; 32]>::from(hash.finalize())) {
                    mailbox.messages.push(message);
                } else {
                    mailbox.repeated += 1;
                }
            }
        }
        Ok(mailbox)
    }

    /// Samples the groups that have the most authors with at least `least_messages` messages in the
    /// group, and splits their messages.
    ///
    /// Ties between groups are broken by the number of these authors' messages, then by name. The
    /// messages of each such author, and those of all other authors of a group together, are split
    /// at random by `seed`: 60 % for training, 20 % for validation and 20 % for testing. At most
    /// `others` messages of other authors are used in each group, drawn in the same way.
    ///
    /// # Errors
    /// [`ErrorKind::Experiment`](undertone::error::ErrorKind::Experiment) if fewer groups than
    /// `groups` have at least two such authors.
    pub fn sample(
        &self,
        groups: usize,
        least_messages: usize,
        others: usize,
        seed: u64,
    ) -> Result<Sample> {
        let mut by_author: BTreeMap<(&str, &str), Vec<usize>> = BTreeMap::new();
        for (number, message) in self.messages.iter().enumerate() {
            let key = (message.group.as_str(), message.author.as_str());
            by_author.entry(key).or_default().push(number);
        }
        let mut found: BTreeMap<&str, Vec<(&str, Vec<usize>)>> = BTreeMap::new();
        for ((group, author), own) in &by_author {
            if own.len() >= least_messages {
                found.entry(group).or_default().push((author, own.clone()));
            }
        }
        found.retain(|_, authors| authors.len() >= 2);
        if found.len() < groups || groups == 0 {
            return Err(Error::experiment(format!(
                "{} groups have two or more authors of at least {least_messages} \
                 messages each, but {groups} are wanted; give more messages, fewer \
                 --groups (at least 1) or fewer --least-messages",
                found.len()
            )));
        }
        let size = |authors: &[(&str, Vec<usize>)]| -> usize {
            authors.iter().map(|(_, own)| own.len()).sum()
        };
        let mut ranked: Vec<_> = found.into_iter().collect();
        ranked.sort_by_key(|(_, authors)| std::cmp::Reverse((authors.len(), size(authors))));
        ranked.truncate(groups);

        let mut rng = PublicRng::new(seed);
        let mut sample = Sample::default();
        for (group, (name, authors)) in ranked.into_iter().enumerate() {
            let mut split = |mut own: Vec<usize>, author: Option<usize>, most: usize| {
                shuffle(&mut own, &mut rng);
                own.truncate(most);
                let n = own.len();
                for (place, number) in own.into_iter().enumerate() {
                    sample.messages.push(Item {
                        text: self.messages[number].text.clone(),
                        group,
                        author,
                        part: match place {
                            place if 5 * place < 3 * n => Part::Train,
                            place if 5 * place < 4 * n => Part::Validation,
                            _ => Part::Test,
                        },
                    });
                }
            };
            let known: HashSet<&str> = authors.iter().map(|(author, _)| *author).collect();
            let rest = self.messages.iter().enumerate().filter(|(_, message)| {
                message.group == name && !known.contains(message.author.as_str())
            });
            split(rest.map(|(number, _)| number).collect(), None, others);
            let mut names = Vec::new();
            for (author, (name, own)) in authors.into_iter().enumerate() {
                split(own, Some(author), usize::MAX);
                names.push(name.to_owned());
            }
            sample.groups.push(name.to_owned());
            sample.authors.push(names);
        }
        Ok(sample)
    }
}

/// The part of the split that a message belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Training.
    Train,
    /// Validation: settings are chosen on it, then it is added to the training messages.
    Validation,
    /// Testing.
    Test,
}

/// One message of a [`Sample`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// The author's own text.
    pub text: String,
    /// The index of its group.
    pub group: usize,
    /// The index of its author in [`Sample::authors`] of the group, if the author has enough
    /// messages.
    pub author: Option<usize>,
    /// The part of the split.
    pub part: Part,
}

/// Messages of some groups, split into parts.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    /// The names of the groups.
    pub groups: Vec<String>,
    /// The addresses of the authors to recognise, by group.
    pub authors: Vec<Vec<String>>,
    /// All messages.
    pub messages: Vec<Item>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(raw: &str) -> Option<Message> {
        Message::parse("g".to_owned(), raw)
    }

    #[test]
    fn headers_go_first_and_addresses_everywhere() {
        let raw = concat!(
            "Subject: Re: [ann@a.org] From: nobody\nfrom: \"Ann\" <Ann@A.org>\nTo: x@y.z\n\n",
            "In article <1@x>, bob@b.org writes:\n> ann@a.org is right\n",
            "Mail ann@a.org, or (Ann@A.ORG). Not me @ home, nor a@ or @b.\n\nAnn\nann@a.org\n",
        );
        let message = parse(raw).unwrap();
        assert_eq!(message.author, "ann@a.org");
        assert_eq!(message.text, "Mail , or (). Not me @ home, nor a@ or @b.");
    }

    #[test]
    fn messages_without_a_sender_or_a_body_are_no_messages() {
        assert_eq!(parse("Subject: soup\n\nFrom: a@b.c\n"), None);
        assert_eq!(parse("From: nobody\n\nText.\n"), None);
        assert_eq!(parse("From: a@b.c\nText without an empty line.\n"), None);
        assert_eq!(parse(""), None);
    }

    fn mailbox(authors: &[(&str, &str, usize)]) -> Mailbox {
        let mut mailbox = Mailbox::default();
        for (group, author, messages) in authors {
            for number in 0..*messages {
                mailbox.messages.push(Message {
                    group: (*group).to_owned(),
                    author: (*author).to_owned(),
                    text: format!("{author} {number}"),
                });
            }
        }
        mailbox
    }

    #[test]
    fn authors_need_enough_messages_in_one_group() {
        let mailbox = mailbox(&[
            ("a", "one", 10),
            ("a", "two", 20),
            ("a", "few", 9),
            // Twelve messages, spread over two groups.
            ("a", "both", 6),
            ("b", "both", 6),
            ("b", "one", 10),
            ("b", "two", 10),
            ("b", "three", 10),
            ("c", "alone", 50),
        ]);
        let sample = mailbox.sample(2, 10, 7, 1).unwrap();
        // The group with more authors first.
        assert_eq!(sample.groups, ["b", "a"]);
        assert_eq!(
            sample.authors,
            [vec!["one", "three", "two"], vec!["one", "two"]]
        );
        for (group, author, parts) in [
            (0, Some(0), [6, 2, 2]),
            (1, Some(1), [12, 4, 4]),
            // 7 of 15 messages of other authors are used.
            (1, None, [5, 1, 1]),
            (0, None, [4, 1, 1]),
        ] {
            let own = |part| {
                let own = sample
                    .messages
                    .iter()
                    .filter(|item| (item.group, item.author, item.part) == (group, author, part));
                own.count()
            };
            let found = [Part::Train, Part::Validation, Part::Test].map(own);
            assert_eq!(found, parts, "{group} {author:?}");
        }
        assert!(
            sample
                .messages
                .iter()
                .all(|item| !item.text.contains("alone"))
        );
        let error = mailbox.sample(3, 10, 7, 1).unwrap_err().to_string();
        assert!(
            error.contains("2 groups") && error.contains("3 are wanted"),
            "{error}"
        );
    }
}
