//! Forms: the file, and the law of the code over all lists of answers, on its own random words. No
//! tolerance.

use std::collections::{BTreeMap, BTreeSet};

use num_bigint::BigUint;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use undertone::form::Contents;
use undertone_core::epsilon::Epsilon;
use undertone_core::form::{AnswersError, Form, FormError, NO_ANSWER, Question};
use undertone_core::hazmat;
use undertone_core::ledger::Grant;
use undertone_core::projective::{Geometry, Order, Shape};
use undertone_core::release::Release;
use undertone_core::rng::rand_core::Rng;
use undertone_core::rng::{PublicRng, below};
use undertone_core::unit::Unit;
use undertone_tests::exponential::{PRECISION, exp};
use undertone_tests::forms::{FormParts, seal};
use undertone_tests::law::{draws_in, ends};
use undertone_tests::{CountingRng, FixedEntropy, FixedWords};

use crate::proof::{MICRO, epsilon};

/// ε in millionths: 28 exceeds the range of the weights, 1000 is the maximum.
const EPSILONS: [u32; 7] = [
    1,
    500_000,
    1_000_000,
    3_000_000,
    10_000_000,
    28_000_000,
    1_000_000_000,
];

// --- The law

/// The bytes that leave the device for these answers and random words.
type Mechanism<'a> = &'a dyn Fn(&Form<'_>, &[u32], Epsilon, &mut FixedWords<'_>) -> Vec<u8>;

/// The mechanism of the code.
fn real(form: &Form<'_>, answers: &[u32], epsilon: Epsilon, words: &mut FixedWords<'_>) -> Vec<u8> {
    let release = hazmat::draw_answer(form, answers, epsilon, words).expect("answers");
    release.to_bytes().to_vec()
}

/// All lists of answers, no answer included.
fn lists(sizes: &[u32]) -> Vec<Vec<u32>> {
    let mut all = vec![Vec::new()];
    for size in sizes {
        let longer = |list: &Vec<u32>| {
            let list = list.clone();
            (0..=*size).map(move |answer| [&list[..], &[answer]].concat())
        };
        all = all.iter().flat_map(longer).collect();
    }
    all
}

/// The outcome of a question, from the definition.
fn outcome(question: &Question, sizes: &[u32], answers: &[u32]) -> u32 {
    let of = |attribute: u16| answers[usize::from(attribute)].min(sizes[usize::from(attribute)]);
    match question.second {
        None => of(question.first),
        Some(second) => of(question.first) * (sizes[usize::from(second)] + 1) + of(second),
    }
}

/// The probability of each release for a list of answers, in 2⁻³⁸⁴: by the releases for the first
/// and the last random words of every interval. Checks that the release names the question of the
/// interval and a point on the right side of its geometry, and that no word is left over.
fn law(
    mechanism: Mechanism<'_>,
    form: &Form<'_>,
    sizes: &[u32],
    answers: &[u32],
    micro: u32,
) -> Result<BTreeMap<Vec<u8>, BigUint>, String> {
    let total: u128 = form
        .questions()
        .map(|question| u128::from(question.weight))
        .sum();
    let (first, other) = Geometry::weights(epsilon(micro));
    let mut law = BTreeMap::<Vec<u8>, BigUint>::new();
    let mut start = 0;
    for (index, question) in (0u8..=255).zip(form.questions()) {
        let end = start + u128::from(question.weight);
        let geometry = Geometry::best_for_answer(question.outcomes, epsilon(micro));
        let geometry = geometry.expect("outcomes");
        let [k, c] = [geometry.points(), geometry.preferred()].map(u128::from);
        let share = c * u128::from(first);
        let all = share + (k - c) * u128::from(other);
        for (inside, from, to, count) in [(true, 0, share, c), (false, share, all, k - c)] {
            if start == end {
                continue;
            }
            for rank in 0..count {
                let draws = [
                    (start, end, total),
                    (from, to, all),
                    (rank, rank + 1, count),
                ];
                let [low, high] = [0, 1].map(|at| {
                    let words = draws
                        .map(|(start, end, n)| ends(start, end, n)[at])
                        .concat();
                    let mut words = FixedWords(&words);
                    let bytes = mechanism(form, answers, epsilon(micro), &mut words);
                    (bytes, words.0.len())
                });
                if low != high || low.1 != 0 {
                    return Err(format!(
                        "{answers:?}: {low:?} and {high:?} from one interval"
                    ));
                }
                let release = low.0.get(..24).map(Release::from_bytes);
                let read = release.and_then(|release| form.read(&release.ok()?));
                let of = outcome(&question, sizes, answers);
                let right = read.is_some_and(|answer| {
                    answer.index == index
                        && answer.question == question
                        && answer.geometry == geometry
                        && geometry.contains(of, answer.point) == inside
                });
                if !right {
                    return Err(format!("{answers:?} {question:?}: {read:?}"));
                }
                let draws = draws.map(|(start, end, n)| draws_in(start, end, n));
                *law.entry(low.0).or_default() += draws.iter().product::<BigUint>();
            }
        }
        start = end;
    }
    if law.values().sum::<BigUint>() == BigUint::from(1u32) << 384u32 {
        Ok(law)
    } else {
        Err("the probabilities do not add up to 1".to_owned())
    }
}

/// Checks all pairs of lists of answers.
fn check(mechanism: Mechanism<'_>, parts: &FormParts, micro: u32) -> Result<usize, String> {
    let bytes = parts.to_form();
    let form = Form::parse(&bytes).expect("a form");
    let sizes: Vec<u32> = parts
        .attributes
        .iter()
        .map(|it| it.2.len() as u32)
        .collect();
    let lists = lists(&sizes);
    let laws: Vec<_> = lists
        .iter()
        .map(|answers| law(mechanism, &form, &sizes, answers, micro))
        .collect::<Result<_, _>>()?;
    let factor = exp(u64::from(micro), MICRO);
    let keys: BTreeSet<_> = laws.iter().flat_map(BTreeMap::keys).collect();
    let zero = BigUint::ZERO;
    for key in keys {
        let of = |law: &BTreeMap<Vec<u8>, BigUint>| law.get(key).unwrap_or(&zero).clone();
        let largest = laws.iter().map(of).max().expect("a list");
        let least = laws.iter().map(of).min().expect("a list");
        if largest << PRECISION > least * &factor.lower {
            return Err(format!("{key:?} tells answers apart"));
        }
    }
    Ok(lists.len() * lists.len())
}

/// All forms of up to three attributes of up to four categories, with and without a pair.
fn forms() -> Vec<FormParts> {
    let mut sizes: Vec<Vec<u32>> = vec![Vec::new()];
    let mut all = Vec::new();
    for _ in 0..3 {
        let longer = |sizes: &Vec<u32>| {
            let sizes = sizes.clone();
            (1..=4).map(move |size| [&sizes[..], &[size]].concat())
        };
        sizes = sizes.iter().flat_map(longer).collect();
        for (number, sizes) in sizes.iter().enumerate() {
            let last = sizes.len() as u16 - 1;
            let equal = [1; 3];
            let other = [[3, 1, 2], [u32::MAX, 1, 0], [0, 5, 1]][number % 3];
            all.push(FormParts::of_sizes(sizes, &equal, &[]));
            if last > 0 {
                all.push(FormParts::of_sizes(sizes, &other, &[(0, last, 2)]));
            }
        }
    }
    all
}

/// The theorem, and that the code has this law.
#[test]
fn no_two_lists_of_answers_exceed_epsilon() {
    let (mut pairs, mut forms_checked) = (0, 0);
    for (number, parts) in forms().iter().enumerate() {
        // Every form with one ε, small ones with all.
        let small = parts.attributes.len() < 3 || undertone_tests::soak();
        let some = if small { EPSILONS.len() } else { 1 };
        let from = number % EPSILONS.len();
        for micro in EPSILONS.iter().cycle().skip(from).take(some) {
            pairs += check(&real, parts, *micro).unwrap_or_else(|error| {
                panic!("{parts:?} at {micro} millionths: {error}");
            });
        }
        forms_checked += 1;
    }
    assert_eq!(forms_checked, 4 + 2 * 16 + 2 * 64);
    println!("{pairs} pairs of lists");
}

/// The question with this draw.
fn drawn_by(weights: &[u64], rng: &mut impl Rng) -> usize {
    let total: u64 = weights.iter().sum();
    let mut rest = below(rng, total.into());
    let at = weights.iter().position(|weight| {
        let found = rest < *weight;
        rest = rest.wrapping_sub(*weight);
        found
    });
    at.expect("a weight")
}

/// A release of an answer to question `index`, from its parts.
fn bytes_of(form: &Form<'_>, index: usize, order: u16, point: u32, epsilon: Epsilon) -> Vec<u8> {
    let head = [b"UTR".as_slice(), &[1, 10, 2], &order.to_le_bytes()].concat();
    let number = (index as u32) << 24 | point;
    let tail = [epsilon.micro().to_le_bytes(), number.to_le_bytes()].concat();
    [head, tail, form.id().to_vec()].concat()
}

/// The mechanism of the code from its parts, with one part replaced.
pub(crate) fn planted<R: Rng + Clone>(
    form: &Form<'_>,
    answers: &[u32],
    epsilon: Epsilon,
    words: &mut R,
    bug: Bug,
) -> Vec<u8> {
    let questions: Vec<Question> = form.questions().collect();
    let sizes: Vec<u32> = (0..form.attribute_count())
        .map(|attribute| form.category_count(attribute).expect("an attribute"))
        .collect();
    let mut weights: Vec<u64> = questions.iter().map(|it| it.weight.into()).collect();
    let missing = |at: usize| answers.get(at).is_some_and(|answer| *answer >= sizes[at]);
    match bug {
        Bug::AnsweredOnly => (0..sizes.len()).filter(|at| missing(*at)).for_each(|at| {
            if weights.iter().sum::<u64>() > weights[at] {
                weights[at] = 0;
            }
        }),
        Bug::WeightsAfterAnswers => weights[0] *= 1 + u64::from(answers[0] == 0),
        _ => {}
    }
    let index = drawn_by(&weights, words);
    let question = questions[index];
    let other = (index + 1) % questions.len();
    let geometry = Geometry::best_for_answer(question.outcomes, epsilon).expect("outcomes");
    if matches!(bug, Bug::ShorterPath) && missing(index) {
        let point = below(words, geometry.points().into()) as u32;
        return bytes_of(form, index, geometry.order(), point, epsilon);
    }
    let mut same = words.clone();
    let point = hazmat::draw_point(
        &geometry,
        outcome(&question, &sizes, answers),
        epsilon,
        words,
    );
    let order = |index: usize| {
        let geometry = Geometry::best_for_answer(questions[index].outcomes, epsilon);
        geometry.expect("outcomes").order()
    };
    match bug {
        Bug::WrongOffset => bytes_of(form, other, order(index), point, epsilon),
        Bug::WrongOrder => bytes_of(form, index, order(other), point, epsilon),
        Bug::TwoFromOneDraw => {
            let of = outcome(&questions[other], &sizes, answers);
            let outcomes = questions[other].outcomes;
            let geometry = Geometry::best_for_answer(outcomes, epsilon).expect("outcomes");
            let second = hazmat::draw_point(&geometry, of, epsilon, &mut same);
            let first = bytes_of(form, index, order(index), point, epsilon);
            [first, bytes_of(form, other, order(other), second, epsilon)].concat()
        }
        _ => bytes_of(form, index, order(index), point, epsilon),
    }
}

/// A planted mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bug {
    /// None: the parts are put together as the code does.
    None,
    /// The question is drawn among those that have an answer.
    AnsweredOnly,
    /// The weights depend on an answer.
    WeightsAfterAnswers,
    /// No answer takes fewer random words.
    ShorterPath,
    /// Two questions are answered from the random words of one.
    TwoFromOneDraw,
    /// The release names another question.
    WrongOffset,
    /// The release has the order of another question.
    WrongOrder,
}

/// The check can fail.
#[test]
fn planted_mistakes_are_caught() {
    let parts = FormParts::of_sizes(&[2, 6], &[1, 1], &[]);
    // Otherwise an order of another question could not be told.
    let order = |outcomes| {
        let geometry = Geometry::best_for_answer(outcomes, epsilon(500_000));
        geometry.expect("outcomes").order()
    };
    assert_ne!(order(3), order(7));
    let check = |bug, micro| {
        let mechanism = |form: &Form<'_>, answers: &[u32], epsilon, words: &mut FixedWords<'_>| {
            planted(form, answers, epsilon, words, bug)
        };
        check(&mechanism, &parts, micro)
    };
    for micro in [500_000, 1_000_000] {
        check(Bug::None, micro).expect("no mistake");
        for bug in [
            Bug::AnsweredOnly,
            Bug::WeightsAfterAnswers,
            Bug::ShorterPath,
            Bug::TwoFromOneDraw,
            Bug::WrongOffset,
        ] {
            assert!(check(bug, micro).is_err(), "{bug:?}");
        }
    }
    assert!(check(Bug::WrongOrder, 500_000).is_err());
}

/// A number out of range is no answer, whatever its size.
#[test]
fn numbers_out_of_range_are_no_answer() {
    let parts = FormParts::of_sizes(&[2, 3], &[1, 1], &[(0, 1, 1)]);
    let bytes = parts.to_form();
    let form = Form::parse(&bytes).expect("a form");
    let mut rng = PublicRng::new(0x7e57_f001);
    for _ in 0..2000 {
        let words: Vec<u64> = (0..6).map(|_| rng.next_u64()).collect();
        let draw = |answers: [u32; 2]| {
            let mut words = FixedWords(&words);
            hazmat::draw_answer(&form, &answers, epsilon(2_000_000), &mut words).expect("answers")
        };
        for second in [0, 3] {
            for number in [3, 4, 1 << 24, NO_ANSWER - 1, NO_ANSWER] {
                assert_eq!(draw([number, second]), draw([2, second]));
                assert_eq!(draw([1, number.max(3)]), draw([1, 3]));
            }
        }
    }
}

/// No geometry has a variance of less than 32/33 of the chosen one's.
#[test]
fn the_law_errs_least() {
    let micros = [1, 100_000, 1_000_000, 2_000_000, 3_000_000, 6_000_000];
    let mut singletons = 0;
    for outcomes in (2..40).chain([65, 225, 2601, 4225]) {
        for micro in micros {
            let epsilon = epsilon(micro);
            let own = Geometry::best_for_answer(outcomes, epsilon).expect("outcomes");
            let orders = (2..(2 * outcomes).clamp(100, 5790) as u16)
                .filter(|it| Order::from_number(*it).is_some());
            let others = orders.filter_map(|order| Geometry::new(order, outcomes));
            let least = others
                .chain(Geometry::singletons(outcomes))
                .map(|geometry| geometry.variance(outcomes, epsilon))
                .fold(f64::INFINITY, f64::min);
            let found = own.variance(outcomes, epsilon);
            assert!(found <= least * 33.0 / 32.0, "{outcomes} {micro}: {own:?}");
            singletons += u32::from(matches!(own.shape(), Shape::Singletons { .. }));
        }
    }
    assert!((50..200).contains(&singletons), "{singletons}");
}

// --- Releases

#[test]
fn releases_are_read_back_and_forged_ones_refused() {
    let parts = FormParts::of_sizes(&[4, 2600], &[1, 3], &[]);
    let bytes = parts.to_form();
    let form = Form::parse(&bytes).expect("a form");
    for key in 1..40u8 {
        let key = [key; 32];
        let mut entropy = FixedEntropy::new(&key);
        let grant = Grant::unrecorded(Unit::WholeText, epsilon(4_000_000));
        let release = form.release(&[1, 7], grant, &mut entropy).expect("answers");
        assert_eq!(entropy.left(), 0);
        let bytes = release.to_bytes();
        assert_eq!(Release::from_bytes(&bytes), Ok(release));
        let answer = form.read(&release).expect("a release of the form");
        assert_eq!(Some(Order::from(answer.geometry)), release.order());
        assert_eq!(
            u32::from(answer.index) << 24 | answer.point,
            release.number()
        );
        assert_eq!(release.outcome(4), None);
        for (at, value) in [(15, 2), (12, 0xff), (16, bytes[16] ^ 1)] {
            let mut forged = bytes;
            forged[at] = value;
            if at == 12 {
                forged[13..15].fill(0xff);
            }
            let forged = Release::from_bytes(&forged).expect("well formed");
            assert_eq!(form.read(&forged), None, "{at}");
        }
        for (at, value) in [(0, 0), (3, 2), (4, 7), (5, 1), (6, 9), (11, 0xff)] {
            let mut bad = bytes;
            bad[at] = value;
            bad[7] = if at == 6 { 0 } else { bad[7] };
            assert!(Release::from_bytes(&bad).is_err(), "{at}");
        }
        assert!(Release::from_bytes(&bytes[..23]).is_err());
    }
}

/// No honest device draws a question of weight 0.
#[test]
fn a_question_of_weight_zero_is_forged() {
    let bytes = FormParts::of_sizes(&[4, 4], &[1, 0], &[]).to_form();
    let form = Form::parse(&bytes).expect("a form");
    let grant = Grant::unrecorded(Unit::WholeText, epsilon(4_000_000));
    let release = form.release(&[1, 2], grant, &mut FixedEntropy::new(&[1; 32]));
    let release = release.expect("answers");
    assert!(form.read(&release).is_some());
    let mut forged = release.to_bytes();
    // The index of the question.
    forged[15] = 1;
    let forged = Release::from_bytes(&forged).expect("well formed");
    assert_eq!(form.read(&forged), None);
}

#[test]
fn releases_by_given_geometries_are_the_same() {
    let bytes = FormParts::of_sizes(&[4, 2600, 2], &[1, 3, 1], &[(0, 2, 2)]).to_form();
    let form = Form::parse(&bytes).expect("a form");
    let epsilon = epsilon(4_000_000);
    let best = |question: Question| Geometry::best_for_answer(question.outcomes, epsilon);
    let geometries: Vec<Geometry> = form.questions().filter_map(best).collect();
    let grant = || Grant::unrecorded(Unit::WholeText, epsilon);
    for key in 1..40u8 {
        let key = [key; 32];
        let by = |geometries: &[Geometry]| {
            form.release_by(
                geometries,
                &[1, 7, 2],
                grant(),
                &mut FixedEntropy::new(&key),
            )
        };
        let release = form.release(&[1, 7, 2], grant(), &mut FixedEntropy::new(&key));
        assert_eq!(by(&geometries), release);
        // The promise is for outcomes of a geometry.
        let few = geometries
            .iter()
            .map(|own| Geometry::singletons(own.outcomes().min(2)));
        let few: Vec<Geometry> = few.flatten().collect();
        assert!(matches!(by(&few), Err(AnswersError::Outcomes { .. })));
        assert!(matches!(by(&[]), Err(AnswersError::Outcomes { .. })));
    }
}

#[test]
fn misuse_is_refused_whatever_the_answers() {
    let bytes = FormParts::of_sizes(&[4, 2], &[1, 3], &[]).to_form();
    let form = Form::parse(&bytes).expect("a form");
    let grant = |unit| Grant::unrecorded(unit, epsilon(1_000_000));
    let release = |answers: &[u32], unit, key: &[u8]| {
        form.release(answers, grant(unit), &mut FixedEntropy::new(key))
    };
    for answers in [&[0][..], &[0, 1, 1], &[]] {
        let found = answers.len();
        let refused = release(answers, Unit::WholeText, &[1; 32]);
        assert_eq!(refused, Err(AnswersError::Length { found, expected: 2 }));
    }
    for answers in [[0, 0], [NO_ANSWER, 7]] {
        for unit in [Unit::Sentence, Unit::Word, Unit::Vector] {
            let refused = release(&answers, unit, &[1; 32]);
            assert!(matches!(refused, Err(AnswersError::Unit(_))));
        }
        for key in [&[0; 32][..], &[1; 31]] {
            let refused = release(&answers, Unit::WholeText, key);
            assert_eq!(refused, Err(AnswersError::Entropy));
        }
        let mut rng = CountingRng::new(PublicRng::new(1));
        hazmat::draw_answer(&form, &answers, epsilon(1_000_000), &mut rng).expect("answers");
        assert_eq!(rng.take_count(), 6);
    }
}

// --- The file

#[test]
fn hostile_forms_are_refused() {
    let good = FormParts::of_sizes(&[2, 64, 64], &[1, 2, 3], &[(0, 1, 1), (1, 2, 1)]);
    let parse = |parts: &FormParts| Form::parse(&parts.to_form()).map(|_| ());
    assert_eq!(parse(&good), Ok(()));
    let bad = |change: fn(&mut FormParts)| {
        let mut parts = good.clone();
        change(&mut parts);
        parse(&parts).expect_err("a hostile form")
    };
    type Change = fn(&mut FormParts);
    let fields: [Change; 5] = [
        |it| it.topic = Some((3, [0; 8])),
        |it| it.attributes[1].2.clear(),
        |it| it.attributes.clear(),
        |it| it.pairs = vec![(0, 1, 1); 254],
        |it| it.attributes[1].2.push("more".to_owned()),
    ];
    for change in fields {
        let error = bad(change);
        assert!(matches!(error, FormError::Field { .. }), "{error}");
    }
    for pair in [(0, 1), (2, 1), (1, 1), (1, 3), (0, 3)] {
        let mut parts = good.clone();
        parts.pairs[1] = (pair.0, pair.1, 1);
        let (first, second) = pair;
        assert_eq!(parse(&parts), Err(FormError::Pair { first, second }));
    }
    assert_eq!(bad(|it| it.attributes[2].0.clear()), FormError::Names);
    assert_eq!(bad(|it| it.attributes[2].2[5].clear()), FormError::Names);
    let weights: Change = |it| {
        it.attributes.iter_mut().for_each(|it| it.1 = 0);
        it.pairs.iter_mut().for_each(|it| it.2 = 0);
    };
    assert_eq!(bad(weights), FormError::Weights);

    let bytes = good.to_form();
    for (at, error) in [
        (0, FormError::NotAForm),
        (6, FormError::Version { found: 2 }),
        (32, FormError::Digest),
        (70, FormError::Digest),
    ] {
        let mut bad = bytes.clone();
        bad[at] = if at == 6 { 2 } else { bad[at] ^ 1 };
        assert_eq!(Form::parse(&bad).err(), Some(error));
    }
    for at in [7, 22, 23, 24, 31] {
        let mut bad = bytes.clone();
        bad[at] = 1;
        seal(&mut bad);
        assert_eq!(Form::parse(&bad).err(), Some(FormError::Reserved));
    }
    for len in 0..bytes.len() {
        assert!(Form::parse(&bytes[..len]).is_err());
        // With the right length and digest, arrays or names are missing.
        let mut cut = bytes[..len].to_vec();
        if let Some(length) = cut.get_mut(8..12) {
            length.copy_from_slice(&(len as u32).to_le_bytes());
        }
        seal(&mut cut);
        assert!(Form::parse(&cut).is_err());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn forms_are_what_was_written(
        attributes in vec(("\\PC{1,9}", any::<u32>(), vec("\\PC{1,9}", 1..20)), 1..8),
        pairs in vec((0u16..8, 0u16..8, any::<u32>()), 0..6),
        topic in option::of((0u16..8, any::<[u8; 8]>())),
    ) {
        let m = attributes.len() as u16;
        let pairs: BTreeMap<_, _> = pairs.into_iter().map(|(j, k, w)| ((j, k), w)).collect();
        let pairs = pairs.into_iter().filter(|((j, k), _)| j < k && *k < m);
        let pairs = pairs.map(|((j, k), w)| (j, k, w)).collect();
        let topic = topic.filter(|(attribute, _)| *attribute < m);
        let mut parts = FormParts { attributes, pairs, topic };
        parts.attributes[0].1 |= 1;
        let bytes = parts.to_form();
        let form = Form::parse(&bytes).expect("a form");
        prop_assert_eq!(form.attribute_count(), parts.attributes.len());
        prop_assert_eq!(form.topic().map(|own| (own.attribute, own.pack_id)), topic);
        for (at, (name, weight, categories)) in parts.attributes.iter().enumerate() {
            prop_assert_eq!(form.attribute_name(at), Some(name.as_str()));
            let found: Vec<&str> = form.category_names(at).collect();
            prop_assert_eq!(&found, categories);
            for index in 0..=categories.len() {
                let name = form.category_name(at, index as u32);
                prop_assert_eq!(name, found.get(index).copied());
            }
            let question = form.questions().nth(at).expect("a question");
            let outcomes = categories.len() as u32 + 1;
            prop_assert_eq!((question.outcomes, question.weight), (outcomes, *weight));
        }
        prop_assert_eq!(form.category_name(usize::from(m), 0), None);
        let found: Vec<_> = form.questions().filter_map(|it| {
            Some((it.first, it.second?, it.weight))
        }).collect();
        prop_assert_eq!(found, parts.pairs);
    }

    #[test]
    fn damaged_forms_are_parsed_or_refused(
        changes in vec((0usize..400, any::<u8>()), 0..6),
        cut in 0usize..400,
    ) {
        let mut bytes = FormParts::of_sizes(&[3, 9, 2], &[1, 2, 0], &[(0, 2, 7)]).to_form();
        for (at, value) in changes {
            if let Some(byte) = bytes.get_mut(at) {
                *byte = value;
            }
        }
        bytes.truncate(bytes.len().saturating_sub(cut % 8));
        seal(&mut bytes);
        if let Ok(form) = Form::parse(&bytes) {
            let answers = vec![1; form.attribute_count()];
            let grant = Grant::unrecorded(Unit::WholeText, epsilon(1_000_000));
            let mut entropy = FixedEntropy::new(&[1; 32]);
            let release = form.release(&answers, grant, &mut entropy).expect("answers");
            prop_assert!(form.read(&release).is_some());
        }
    }
}

#[test]
fn the_form_of_the_example_is_that_of_its_description() {
    let description = include_str!("../../ffi/web/examples/interests/interests.json");
    let bytes = Contents::from_json(description).and_then(|contents| contents.to_bytes());
    let form = include_bytes!("../../ffi/web/examples/interests/interests.form");
    assert_eq!(bytes.expect("a description of a form"), form);
}
