//! Forms: releases of answers that the app already has, such as an emoji, a language or a ticked
//! box.
//!
//! A [`Form`] is a public file with m *attributes*. Attribute j has n_j *categories*. A device
//! fills in one private *answer* for each attribute, the number of a category. Any other number is
//! *no answer*, which also stands for "none of these". A *pair* of attributes, which the form may
//! list, asks for both answers at once, for a cross table. Attributes and pairs are the
//! *questions*.
//!
//! One attribute may be the *topic*, which a text answers: its categories are the candidates of the
//! pack that the form names. [`Form::answer_topic`] fills it in.
//!
//! # The law
//! 1. Question j is drawn with its public weight w_j, without looking at any answer.
//! 2. An attribute has n_j + 1 outcomes: its categories, numbered from 0, and no answer, with the
//!    number n_j. A pair of the attributes j and k has the (n_j + 1)·(n_k + 1) combinations. The
//!    device takes the outcome that its answers give to the drawn question. It draws a *point* for
//!    it at ε by one of three *geometries*: randomised response, projective geometry or
//!    progressions. [`Geometry::best_for_answer`] chooses one by the number of outcomes and ε.
//! 3. The release states the question, the geometry and the point.
//!
//! # Why it is private
//! Let all answers be replaced. Let a be all answers, a_j the outcome of question j for them, y
//! the point, and M_j the law of step 2. Then Pr\[j, y | a\] = (w_j / Σ w)·M_j(y | a_j). The first
//! factor does not depend on a, and the second changes by at most a factor of e^ε
//! ([`projective`](mod@crate::projective)). So one release costs ε for the *whole form*, whatever m
//! is. ∎ The price is accuracy: question j has a share w_j / Σ w of the releases.
//!
//! The draw of a question, by [`below`], meets its probabilities up to rounding. The rounded ones
//! are the same for all answers, so the proof holds for the code;
//! [`projective`](mod@crate::projective) accounts for the finite randomness of M_j.
//!
//! # Constant work
//! The question that was drawn is public, because the release states it. Which answers are read,
//! and the work, depend on the question alone. The steps for "no answer" are those for a category.
//!
//! # Source
//! One random attribute at the whole ε, not all of them at a part of it: Wang et al. 2019,
//! "Collecting and analyzing multidimensional data with local differential privacy".

pub mod format;

use core::cmp;

use rand_core::Rng;
use sha2::{Digest, Sha256};
use subtle::{ConditionallySelectable, ConstantTimeGreater};
use thiserror::Error;
use zerocopy::little_endian::U32;
use zerocopy::{FromBytes, Immutable, Unaligned};

use crate::document::{Document, DocumentError};
use crate::epsilon::Epsilon;
use crate::kernels::Backend;
use crate::ledger::{Grant, WrongUnit};
use crate::projective::Geometry;
use crate::release::{DrawnBy, Release};
use crate::rng::{Entropy, ReleaseStream, below};
use crate::unit::Unit;
use crate::whole_text::OneBest;
use format::{AttributeEntry, Header, PairEntry};

/// The bits of the number in a release that hold the point; every geometry has fewer than 2²⁴
/// points.
pub const POINT_BITS: u32 = 24;

/// An answer that is no category of any attribute.
pub const NO_ANSWER: u32 = u32::MAX;

/// A checked view of a form's file. A copy is a few pointers.
///
/// A form is untrusted input: any bytes either parse or give an error, and none weakens the
/// promise. A hostile form can choose the questions, and a release answers one of them within ε.
#[derive(Clone, Copy, Debug)]
pub struct Form<'a> {
    header: &'a Header,
    attributes: &'a [AttributeEntry],
    pairs: &'a [PairEntry],
    /// The ends of names in `text`: of the attributes, then of the categories of each attribute.
    ends: &'a [U32],
    text: &'a str,
}

/// A question of a form: an attribute, or a pair of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Question {
    /// Index of the attribute, or of the first attribute of a pair.
    pub first: u16,
    /// Index of the second attribute of a pair.
    pub second: Option<u16>,
    /// The number of outcomes. The last one is "no answer"; for a pair, "no answer" to both.
    pub outcomes: u32,
    /// The weight with which the question is drawn.
    pub weight: u32,
}

/// The attribute of a form that a text answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Topic {
    /// The index of the attribute.
    pub attribute: u16,
    /// The identifier of the pack. Its candidates are the categories of the attribute.
    pub pack_id: [u8; 8],
}

/// A release in the terms of its form: [`Form::read`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Answer {
    /// The index of the question among [`Form::questions`].
    pub index: u8,
    /// The question that was drawn.
    pub question: Question,
    /// The geometry of its outcomes.
    pub geometry: Geometry,
    /// The point that was drawn, below [`Geometry::points`].
    pub point: u32,
}

impl<'a> Form<'a> {
    /// Checks `bytes`, which may be any, and returns a view into them.
    ///
    /// The order of the checks is: size, magic, version, declared length, digest, header fields,
    /// attributes, pairs, names.
    ///
    /// # Errors
    /// [`FormError`]; see its variants.
    ///
    /// # Cost
    /// One pass over the bytes (SHA-256), no copy, no heap.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, FormError> {
        let (header, rest) = Header::ref_from_prefix(bytes).map_err(|_| FormError::TooShort {
            found: bytes.len(),
            least: size_of::<Header>(),
        })?;
        check_file(header, rest)?;
        let [m, pairs] = [header.attributes, header.pairs].map(|count| u32::from(count.get()));
        let most = format::MAX_QUESTIONS.into();
        within("the number of attributes", m, 1, most)?;
        within("the number of attributes and pairs", m + pairs, 1, most)?;
        let topic = header.topic.get();
        within("the number of the topic's attribute", topic.into(), 0, m)?;
        let pack = topic == 0 && header.topic_pack != [0; 8];
        if pack || header.reserved != 0 || header.reserved_more != [0; 2] {
            return Err(FormError::Reserved);
        }
        let (attributes, rest) = array::<AttributeEntry>(rest, m as usize)?;
        let (pairs, rest) = array::<PairEntry>(rest, pairs as usize)?;
        let categories = check_attributes(attributes)?;
        let declared = header.categories.get();
        within("the number of categories", declared, categories, categories)?;
        check_pairs(pairs, attributes)?;
        let weights = attributes.iter().map(|attribute| attribute.weight);
        if weights
            .chain(pairs.iter().map(|pair| pair.weight))
            .all(|weight| weight.get() == 0)
        {
            return Err(FormError::Weights);
        }
        let (ends, text) = array::<U32>(rest, (m + categories) as usize)?;
        let text = core::str::from_utf8(text).map_err(|_| FormError::Names)?;
        check_names(ends, text)?;
        Ok(Self {
            header,
            attributes,
            pairs,
            ends,
            text,
        })
    }

    /// The first eight bytes of the digest, by which a release names its form.
    pub fn id(&self) -> [u8; 8] {
        let (id, _) = self
            .header
            .digest
            .split_first_chunk()
            .unwrap_or((&[0; 8], &[]));
        *id
    }

    /// SHA-256 of the file (with the digest field zero).
    pub fn digest(&self) -> &'a [u8; 32] {
        &self.header.digest
    }

    /// m, the number of attributes, 1 to 256.
    pub fn attribute_count(&self) -> usize {
        self.attributes.len()
    }

    /// The number of attributes and pairs, 1 to 256.
    pub fn question_count(&self) -> usize {
        self.attributes.len() + self.pairs.len()
    }

    /// n, the number of categories of an attribute, 1 to 65536; `None` if there is no such
    /// attribute.
    pub fn category_count(&self, attribute: usize) -> Option<u32> {
        Some(self.attributes.get(attribute)?.categories.get())
    }

    /// The name of an attribute.
    pub fn attribute_name(&self, attribute: usize) -> Option<&'a str> {
        self.name(Some(attribute).filter(|index| *index < self.attributes.len())?)
    }

    /// The name of a category of an attribute.
    pub fn category_name(&self, attribute: usize, category: u32) -> Option<&'a str> {
        let count = self.category_count(attribute)?;
        let category = Some(category).filter(|category| *category < count)?;
        self.name(self.first_category(attribute) + category as usize)
    }

    /// The index of the name of an attribute's first category.
    fn first_category(&self, attribute: usize) -> usize {
        let before = self.attributes.iter().take(attribute);
        let before: usize = before.map(|entry| entry.categories.get() as usize).sum();
        self.attributes.len() + before
    }

    /// The names of an attribute's categories; none if there is no such attribute.
    pub fn category_names(&self, attribute: usize) -> impl Iterator<Item = &'a str> + use<'a> {
        let form = *self;
        let start = self.first_category(attribute);
        let count = self.category_count(attribute).unwrap_or(0) as usize;
        (start..start + count).filter_map(move |index| form.name(index))
    }

    fn name(&self, index: usize) -> Option<&'a str> {
        let start = match index.checked_sub(1) {
            Some(before) => self.ends.get(before)?.get(),
            None => 0,
        };
        let end = self.ends.get(index)?.get();
        self.text.get(start as usize..end as usize)
    }

    /// The attribute that [`answer_topic`](Form::answer_topic) answers, if the form has one.
    pub fn topic(&self) -> Option<Topic> {
        let attribute = self.header.topic.get().checked_sub(1)?;
        Some(Topic {
            attribute,
            pack_id: self.header.topic_pack,
        })
    }

    /// Answers the form's [`topic`](Form::topic) with the candidate that the text of `document` is
    /// about, and forgets the sentences.
    ///
    /// The answer is the number of the candidate that [`Document::release_whole_text`] favours,
    /// without noise. It is as private as the text: pass it to [`release`](Form::release) or to an
    /// [`AnswerReservoir`](crate::AnswerReservoir) only. For a text in which the pack
    /// recognises nothing it is "no answer", or a fixed candidate if the pack lacks that outcome.
    ///
    /// # Guarantee
    /// Nothing is released. [`release`](Form::release) protects the text together with all other
    /// answers: its ε is for replacing the whole text and all answers at once.
    ///
    /// # Leaks
    /// As [`Document::release_whole_text`]: the work is the same whatever the sentences.
    ///
    /// # Shapes
    /// `answers`: one number for each attribute; only that of the topic is written.
    ///
    /// # Errors
    /// [`AnswersError::Length`] for another number of answers; [`AnswersError::OtherPack`] if the
    /// form has no topic, or one for another pack than the document's; [`AnswersError::Topic`] with
    /// [`DocumentError::NoScores`] or [`DocumentError::TooManyCandidates`]. The answers and the
    /// sentences then remain. No error depends on the text or an answer.
    ///
    /// # Cost
    /// One pass over the candidates.
    pub fn answer_topic<const K: usize, const P: usize>(
        &self,
        document: &mut Document<'_, K, P>,
        answers: &mut [u32],
    ) -> Result<(), AnswersError> {
        self.check_length(answers)?;
        let attribute = self.check_topic(document)?;
        let best = document.take_best().map_err(AnswersError::Topic)?.best;
        if let Some(answer) = answers.get_mut(attribute) {
            *answer = best;
        }
        Ok(())
    }

    /// Checks that the form's topic is for the document's pack, and returns the index of the
    /// topic's attribute. The result depends on public files only.
    ///
    /// # Errors
    /// As [`answer_topic`](Form::answer_topic), without [`AnswersError::Length`].
    pub fn check_topic<const K: usize, const P: usize>(
        &self,
        document: &Document<'_, K, P>,
    ) -> Result<usize, AnswersError> {
        let topic = self.topic().ok_or(AnswersError::OtherPack)?;
        let attribute = usize::from(topic.attribute);
        let outcomes = document.outcomes_of_lines().map_err(AnswersError::Topic)?;
        let categories = self.category_count(attribute).unwrap_or(0);
        if topic.pack_id == document.pack_id() && categories + 1 == outcomes {
            Ok(attribute)
        } else {
            Err(AnswersError::OtherPack)
        }
    }

    /// The questions: the attributes, then the pairs.
    pub fn questions(&self) -> impl Iterator<Item = Question> + use<'a> {
        let attributes = self.attributes;
        let first = (0u16..).zip(attributes).map(|(first, entry)| Question {
            first,
            second: None,
            outcomes: entry.categories.get() + 1,
            weight: entry.weight.get(),
        });
        let second = self.pairs.iter().map(move |pair| Question {
            first: pair.first.get(),
            second: Some(pair.second.get()),
            // `parse` accepted the pair.
            outcomes: pair_outcomes(pair, attributes).unwrap_or(0) as u32,
            weight: pair.weight.get(),
        });
        first.chain(second)
    }

    /// The question, geometry and point of a release. `None` for a release of another form,
    /// and for a forged one, whose question, geometry or point cannot occur with this form.
    pub fn read(&self, release: &Release) -> Option<Answer> {
        let DrawnBy::Answer(order) = release.drawn_by else {
            return None;
        };
        let index = (release.number >> POINT_BITS) as u8;
        let question = self.questions().nth(index.into())?;
        let is_drawn = question.weight > 0;
        let geometry = Geometry::of_answer(order.number(), question.outcomes)?;
        let answer = Answer {
            index,
            question,
            geometry,
            point: release.number & ((1 << POINT_BITS) - 1),
        };
        (is_drawn && release.pack_id == self.id() && answer.point < geometry.points())
            .then_some(answer)
    }

    /// Releases an answer to one question, which is drawn.
    ///
    /// # Guarantee
    /// ε-DP for **all answers of the form together**: any two lists of answers give every release
    /// with probabilities within a factor e^ε of each other. There is no δ. See the [module](self)
    /// for the proof.
    ///
    /// # Leaks
    /// That there is a release, its time, form and ε, which must be chosen without looking at an
    /// answer. The work is the same for all answers; it depends on the question that was drawn.
    ///
    /// # Shapes
    /// `answers`: one number for each attribute. A number that is not below the attribute's number
    /// of categories, such as [`NO_ANSWER`], counts as no answer.
    ///
    /// # Errors
    /// [`AnswersError::Length`] for another number of answers; [`AnswersError::Unit`] for a grant
    /// that is not for whole texts; [`AnswersError::Entropy`] if the source failed or returned
    /// nothing but zeroes; [`AnswersError::Outcomes`] cannot occur with a parsed form. After an
    /// error nothing was released, and the grant is spent.
    ///
    /// # Cost
    /// [`Geometry::best_for_answer`], and at most about 5 products for each coordinate of a point;
    /// 32 bytes of entropy.
    pub fn release<E: Entropy + ?Sized>(
        &self,
        answers: &[u32],
        grant: Grant,
        entropy: &mut E,
    ) -> Result<Release, AnswersError> {
        let find = |index, epsilon| self.best_geometry(index, epsilon);
        self.release_with(find, answers, grant, entropy)
    }

    /// [`release`](Form::release) by geometries that were computed before: for programs that make
    /// many releases with one ε.
    ///
    /// # Guarantee
    /// The guarantee of [`release`](Form::release), for any geometries.
    ///
    /// # Leaks
    /// As [`release`](Form::release). The geometries must be chosen without looking at an answer.
    ///
    /// # Shapes
    /// `geometries`: [`Geometry::best_for_answer`] for each of [`questions`](Form::questions).
    ///
    /// # Errors
    /// As [`release`](Form::release), and [`AnswersError::Outcomes`] if the drawn question has no
    /// geometry, or one with too few outcomes.
    ///
    /// # Cost
    /// As [`release`](Form::release), without the search for a geometry.
    pub fn release_by<E: Entropy + ?Sized>(
        &self,
        geometries: &[Geometry],
        answers: &[u32],
        grant: Grant,
        entropy: &mut E,
    ) -> Result<Release, AnswersError> {
        let find = |index: u8, _| geometries.get(usize::from(index)).copied();
        self.release_with(find, answers, grant, entropy)
    }

    fn release_with<E: Entropy + ?Sized>(
        &self,
        find: impl FnOnce(u8, Epsilon) -> Option<Geometry>,
        answers: &[u32],
        grant: Grant,
        entropy: &mut E,
    ) -> Result<Release, AnswersError> {
        let epsilon = grant.spend(Unit::WholeText).map_err(AnswersError::Unit)?;
        self.check_length(answers)?;
        let mut stream =
            ReleaseStream::open(Backend::best(), entropy).map_err(|_| AnswersError::Entropy)?;
        self.draw(find, answers, epsilon, &mut stream)
    }

    /// The geometry of a question.
    pub(crate) fn best_geometry(&self, index: u8, epsilon: Epsilon) -> Option<Geometry> {
        let question = self.questions().nth(index.into())?;
        Geometry::best_for_answer(question.outcomes, epsilon)
    }

    /// Checks the number of answers, which is public. Call it before a ledger spends:
    /// [`release`](Form::release) checks again, but then an error costs the grant.
    ///
    /// # Errors
    /// [`AnswersError::Length`].
    pub fn check_length(&self, answers: &[u32]) -> Result<(), AnswersError> {
        let (found, expected) = (answers.len(), self.attributes.len());
        if found == expected {
            Ok(())
        } else {
            Err(AnswersError::Length { found, expected })
        }
    }

    /// Draws a question, then a point for its outcome by the geometry that `find` returns.
    pub(crate) fn draw<R: Rng + ?Sized>(
        &self,
        find: impl FnOnce(u8, Epsilon) -> Option<Geometry>,
        answers: &[u32],
        epsilon: Epsilon,
        rng: &mut R,
    ) -> Result<Release, AnswersError> {
        self.check_length(answers)?;
        let drawn = self.draw_question(rng);
        let (index, question) = drawn.ok_or(AnswersError::Outcomes { found: 0 })?;
        let outcome = OneBest {
            best: self.outcome(question, answers),
            outcomes: question.outcomes,
        };
        self.draw_point(find(index, epsilon), index, &outcome, epsilon, rng)
    }

    /// Draws a point for an outcome of the question `index`.
    pub(crate) fn draw_point<R: Rng + ?Sized>(
        &self,
        geometry: Option<Geometry>,
        index: u8,
        outcome: &OneBest,
        epsilon: Epsilon,
        rng: &mut R,
    ) -> Result<Release, AnswersError> {
        // The proof needs an outcome that the geometry has.
        let found = outcome.outcomes;
        let geometry = geometry
            .filter(|geometry| geometry.outcomes() >= found)
            .ok_or(AnswersError::Outcomes { found })?;
        let point = geometry.draw(outcome.best, epsilon, rng);
        Ok(Release {
            drawn_by: DrawnBy::Answer(geometry.into()),
            number: u32::from(index) << POINT_BITS | point,
            epsilon,
            pack_id: self.id(),
        })
    }

    /// Draws the index of a question by the weights. It is not private, and no answer is read.
    pub(crate) fn draw_question<R: Rng + ?Sized>(&self, rng: &mut R) -> Option<(u8, Question)> {
        let weights = || self.questions().map(|question| u64::from(question.weight));
        // At most 256·2^32.
        let mut rest = below(rng, weights().sum::<u64>().into());
        let mut questions = (0u8..=u8::MAX).zip(self.questions());
        questions.find(|(_, question)| {
            let weight = u64::from(question.weight);
            let found = rest < weight;
            rest = rest.wrapping_sub(weight);
            found
        })
    }

    /// The private outcome of a question: the number of the category or of the combination, where
    /// "no answer" counts as the last category. Which answers are read, and the work, depend on the
    /// question alone.
    pub(crate) fn outcome(&self, question: Question, answers: &[u32]) -> u32 {
        let of = |attribute: u16| {
            let none = self.category_count(attribute.into()).unwrap_or(0);
            let answer = answers.get(usize::from(attribute)).unwrap_or(&none);
            (
                none,
                u32::conditional_select(&none, answer, none.ct_gt(answer)),
            )
        };
        let (_, first) = of(question.first);
        question.second.map_or(first, |second| {
            let (none, second) = of(second);
            first * (none + 1) + second
        })
    }
}

/// SHA-256 of a form with zeroes for the digest field. `rest` is everything after the header.
pub fn digest(header: &Header, rest: &[u8]) -> [u8; 32] {
    let mut header = *header;
    header.digest = [0; 32];
    let mut hash = Sha256::new();
    hash.update(zerocopy::IntoBytes::as_bytes(&header));
    hash.update(rest);
    hash.finalize().into()
}

fn check_file(header: &Header, rest: &[u8]) -> Result<(), FormError> {
    if header.magic != format::MAGIC {
        return Err(FormError::NotAForm);
    }
    if header.version != format::VERSION {
        return Err(FormError::Version {
            found: header.version,
        });
    }
    let (declared, found) = (header.length.get(), size_of::<Header>() + rest.len());
    if declared as usize != found {
        return Err(FormError::Length { declared, found });
    }
    if digest(header, rest) != header.digest {
        return Err(FormError::Digest);
    }
    Ok(())
}

/// Splits off `count` elements.
fn array<T>(bytes: &[u8], count: usize) -> Result<(&[T], &[u8]), FormError>
where
    T: FromBytes + Immutable + Unaligned,
{
    <[T]>::ref_from_prefix_with_elems(bytes, count).map_err(|_| FormError::Truncated)
}

/// The number of categories of all attributes.
fn check_attributes(attributes: &[AttributeEntry]) -> Result<u32, FormError> {
    let mut all = 0;
    for entry in attributes {
        let categories = entry.categories.get();
        let most = format::MAX_CATEGORIES;
        within(
            "the number of categories of an attribute",
            categories,
            1,
            most,
        )?;
        // At most 256·65,536.
        all += categories;
    }
    Ok(all)
}

/// Pairs are of two attributes, in ascending order, and have few enough categories.
fn check_pairs(pairs: &[PairEntry], attributes: &[AttributeEntry]) -> Result<(), FormError> {
    let mut before = None;
    for pair in pairs {
        let key = (pair.first.get(), pair.second.get());
        let outcomes = pair_outcomes(pair, attributes);
        if key.0 >= key.1 || before >= Some(key) || outcomes.is_none() {
            return Err(FormError::Pair {
                first: key.0,
                second: key.1,
            });
        }
        let limit = format::MAX_PAIR_CATEGORIES;
        let categories = cmp::min(outcomes.unwrap_or(0), u32::MAX.into()) as u32 - 1;
        within("the number of categories of a pair", categories, 1, limit)?;
        before = Some(key);
    }
    Ok(())
}

/// The number of outcomes of a pair; `None` for an attribute that does not exist.
fn pair_outcomes(pair: &PairEntry, attributes: &[AttributeEntry]) -> Option<u64> {
    let outcomes = |attribute: u16| {
        let entry = attributes.get(usize::from(attribute))?;
        Some(u64::from(entry.categories.get()) + 1)
    };
    Some(outcomes(pair.first.get())? * outcomes(pair.second.get())?)
}

/// Names are not empty, are UTF-8 each, and cover the text.
fn check_names(ends: &[U32], text: &str) -> Result<(), FormError> {
    let mut start = 0;
    for end in ends {
        let end = end.get() as usize;
        text.get(start..end)
            .filter(|name| !name.is_empty())
            .ok_or(FormError::Names)?;
        start = end;
    }
    if start == text.len() {
        Ok(())
    } else {
        Err(FormError::Names)
    }
}

fn within(name: &'static str, found: u32, least: u32, most: u32) -> Result<(), FormError> {
    if (least..=most).contains(&found) {
        Ok(())
    } else {
        Err(FormError::Field {
            name,
            found,
            least,
            most,
        })
    }
}

/// Why bytes are not a form that this version reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FormError {
    /// Fewer bytes than a header.
    #[error("{found} bytes, but a form has at least {least}; is the file whole?")]
    TooShort {
        /// Bytes given.
        found: usize,
        /// Bytes in a header.
        least: usize,
    },
    /// The file does not start with [`MAGIC`](format::MAGIC).
    #[error("not a form: the first six bytes are not \"UTFORM\"")]
    NotAForm,
    /// A version that this reader does not know.
    #[error(
        "form format version {found}, but this library reads version {}; \
         update the older of the two",
        format::VERSION
    )]
    Version {
        /// The file's version.
        found: u8,
    },
    /// The header declares another length.
    #[error("the form declares {declared} bytes, found {found}; copy it again")]
    Length {
        /// The length in the header.
        declared: u32,
        /// Bytes given.
        found: usize,
    },
    /// The digest in the header is not that of the file.
    #[error("the form's digest does not match its bytes; copy it again")]
    Digest,
    /// A field outside its range.
    #[error("{name} is {found}, allowed are {least}..={most}")]
    Field {
        /// The name of the field.
        name: &'static str,
        /// Its value.
        found: u32,
        /// The least value allowed.
        least: u32,
        /// The largest value allowed.
        most: u32,
    },
    /// A reserved field that is not zero.
    #[error("a reserved field of the form is not zero")]
    Reserved,
    /// A pair that is not of two attributes in ascending order, or is out of order in the list.
    #[error(
        "the pair of attributes {first} and {second} is not allowed: a pair has two attributes of \
         the form, the first before the second, and pairs are listed once and in ascending order"
    )]
    Pair {
        /// The index of the first attribute.
        first: u16,
        /// The index of the second attribute.
        second: u16,
    },
    /// No question has a weight above 0.
    #[error("all weights of the form are 0; give at least one question a weight")]
    Weights,
    /// The file ends before the end of its arrays.
    #[error("the form is too short for what its header declares")]
    Truncated,
    /// The names are not UTF-8, one is empty, or they do not cover the rest of the file.
    #[error("the names must be UTF-8, none empty, and fill the rest of the form")]
    Names,
}

/// Why no answer was released. It never depends on an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AnswersError {
    /// The number of answers is not the number of attributes.
    #[error("{found} answers, but the form has {expected} attributes; give one for each")]
    Length {
        /// Answers given.
        found: usize,
        /// Attributes of the form.
        expected: usize,
    },
    /// The form has no topic, or that of another pack.
    #[error(
        "the form has no topic for the document's pack; \
         make the form again with the candidates of this pack"
    )]
    OtherPack,
    /// The document's pack or state allows no whole-text release.
    #[error(transparent)]
    Topic(DocumentError),
    /// A grant for another unit.
    #[error("not the right grant: {0}")]
    Unit(WrongUnit),
    /// The entropy source failed or returned nothing but zeroes.
    #[error("the entropy source failed or returned nothing but zeroes")]
    Entropy,
    /// A question has no geometry, or one with fewer outcomes than the question. Only
    /// [`Form::release_by`] returns this.
    #[error("a question of {found} outcomes has no geometry, or one for fewer outcomes")]
    Outcomes {
        /// The number of outcomes.
        found: u32,
    },
}
