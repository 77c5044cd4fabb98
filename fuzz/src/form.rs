//! Forms from arbitrary bytes, and releases by them.

use undertone_core::document::Document;
use undertone_core::epsilon::Epsilon;
use undertone_core::form::{AnswersError, Form, NO_ANSWER, digest, format::Header};
use undertone_core::hazmat;
use undertone_core::pack::Pack;
use undertone_core::release::Release;
use undertone_core::rng::PublicRng;
use zerocopy::FromBytes;

const PACK: &[u8] = include_bytes!("../../tests/golden/golden-scores.pack");

/// A form is the input, and again with the length and digest that the input should have; if it has
/// a topic, with that of a golden pack.
///
/// Checked: a form that parses has as many names as its header declares, which cover its text; its
/// weights are not all 0; every answer can be released, and the release is read back. A text
/// answers the topic only, or changes nothing.
pub fn form_parse_then_use(data: &[u8]) {
    used(data);
    let mut sealed = data.to_vec();
    let length = sealed.len() as u32;
    if let Ok((header, rest)) = Header::mut_from_prefix(&mut sealed) {
        header.magic = *b"UTFORM";
        header.version = 1;
        header.length = length.into();
        if header.topic.get() != 0 {
            header.topic_pack = Pack::parse(PACK).expect("a golden pack").id();
        }
        header.digest = digest(header, rest);
        used(&sealed);
    }
}

fn used(bytes: &[u8]) {
    let Ok(form) = Form::parse(bytes) else {
        return;
    };
    let attributes = form.attribute_count();
    let names = (0..attributes).filter_map(|at| form.attribute_name(at));
    let categories = (0..attributes).flat_map(|at| form.category_names(at));
    let names: Vec<&str> = names.chain(categories).collect();
    let declared: u32 = (0..attributes)
        .filter_map(|at| form.category_count(at))
        .sum();
    assert_eq!(names.len(), attributes + declared as usize);
    assert!(names.iter().all(|name| !name.is_empty()));
    assert!(bytes.ends_with(names.concat().as_bytes()));
    assert_eq!(form.questions().count(), form.question_count());
    assert!(form.questions().any(|question| question.weight > 0));
    answered(&form);
    let mut rng = PublicRng::new(u64::from_le_bytes(form.id()));
    for (answer, micro) in [(0, 1), (1, 3_000_000), (NO_ANSWER, 1_000_000_000)] {
        let epsilon = Epsilon::from_micro(micro).expect("an epsilon");
        let answers = vec![answer; attributes];
        let release = hazmat::draw_answer(&form, &answers, epsilon, &mut rng).expect("answers");
        let read = form.read(&release).expect("a release of the form");
        assert!(read.point < read.geometry.points() && read.question.weight > 0);
        assert_eq!(Release::from_bytes(&release.to_bytes()), Ok(release));
    }
}

fn answered(form: &Form<'_>) {
    let pack = Pack::parse(PACK).expect("a golden pack");
    let mut document = Document::<'_>::new(&pack).expect("scores");
    document.push_text(b"the garden dog").expect("a lexicon");
    let before = vec![NO_ANSWER; form.attribute_count()];
    let mut answers = before.clone();
    let result = form.answer_topic(&mut document, &mut answers);
    let topic = form.topic().map(|topic| usize::from(topic.attribute));
    let is_right = topic.is_some_and(|at| form.category_count(at) == Some(pack.candidate_count()))
        && form.topic().map(|topic| topic.pack_id) == Some(pack.id());
    let Some(at) = topic.filter(|_| is_right) else {
        assert_eq!((result, answers), (Err(AnswersError::OtherPack), before));
        return;
    };
    assert_eq!((result, answers[at]), (Ok(()), 124));
    answers[at] = NO_ANSWER;
    assert_eq!(answers, before);
}
