//! An audit of a fleet finds lies about its statement.

use std::num::NonZero;
use std::sync::LazyLock;

use undertone::release::window::Window;
use undertone_audit::schedule::{Observed, Stated, compare};
use undertone_core::document::{Document, DocumentError};
use undertone_core::hazmat;
use undertone_core::ledger::Grant;
use undertone_core::pack::Pack;
use undertone_core::release::{Mechanism, Release};
use undertone_core::reservoir::Reservoir;
use undertone_core::rng::PublicRng;
use undertone_core::rng::rand_core::Rng;
use undertone_core::unit::Unit;
use undertone_tests::FixedEntropy;
use undertone_tests::golden::SCORES_PACK;

/// The same random bytes in each run.
static BYTES: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let mut bytes = vec![0; 1 << 20];
    PublicRng::new(1).fill_bytes(&mut bytes);
    bytes
});

type Draw = fn(Reservoir, Grant, &mut FixedEntropy<'static>) -> Result<Release, DocumentError>;

/// The behaviour of all test devices.
#[derive(Clone, Copy)]
struct Behaviour {
    appointments: u64,
    places: u16,
    epsilon: &'static str,
    unit: Unit,
    draw: Draw,
    slots_apart: u64,
}

/// Two releases a year at ε = 3 by one of 100 places.
const HONEST: Behaviour = Behaviour {
    appointments: 2,
    places: 100,
    epsilon: "3",
    unit: Unit::WholeText,
    draw: Reservoir::release_whole_text,
    slots_apart: 3,
};

const PROJECTIVE: Behaviour = Behaviour {
    draw: Reservoir::release_projective,
    ..HONEST
};

/// The releases of 1000 devices, each of which sees one line in a slot.
fn observe(pack: &Pack<'_>, behaviour: Behaviour) -> Vec<Observed> {
    let mut document: Document<'_> = Document::new(pack).expect("candidates");
    let text = "the great dog";
    document.push_sentence(text).expect("room");
    let line = hazmat::best(&document).expect("scores");
    assert!(line < pack.candidate_count(), "the pack knows the text");
    document.clear();
    let mut entropy = FixedEntropy::new(&BYTES);
    let mut observed = Vec::new();
    for device in 0..1000 {
        for appointment in 0..behaviour.appointments {
            let slot = device % 40 + behaviour.slots_apart * appointment;
            let places = NonZero::new(behaviour.places).expect("places");
            let reservoir = Reservoir::new(&document, slot, places, &mut entropy);
            let mut reservoir = reservoir.expect("entropy");
            document.push_sentence(text).expect("room");
            reservoir.add(&mut document, &mut entropy).expect("entropy");
            let epsilon = behaviour.epsilon.parse().expect("an epsilon");
            let grant = Grant::unrecorded(behaviour.unit, epsilon);
            let release = (behaviour.draw)(reservoir, grant, &mut entropy);
            observed.push(Observed {
                device: device.to_string(),
                slot,
                line: Some(line),
                release: release.expect("entropy"),
            });
        }
    }
    observed
}

/// The checks that fail if devices behave like this, where the honest behaviour is stated.
fn failed(behaviour: Behaviour, mechanism: Mechanism) -> Vec<String> {
    let pack = Pack::parse(SCORES_PACK).expect("a golden pack");
    let stated = Stated {
        pack_id: pack.id(),
        mechanism,
        epsilon: HONEST.epsilon.parse().expect("an epsilon"),
        window: Window::new(52, 2, HONEST.places).expect("a window"),
    };
    let observed = observe(&pack, behaviour);
    let checks = compare(&stated, pack.candidate_count(), &observed);
    let failed = checks.into_iter().filter(|check| !check.passed);
    failed.map(|check| check.name).collect()
}

/// A device that keeps the statement passes, and each lie fails one check.
#[test]
fn lies_are_found() {
    let none: [&str; 0] = [];
    assert_eq!(failed(HONEST, Mechanism::WholeText), none);
    assert_eq!(failed(PROJECTIVE, Mechanism::Projective), none);
    let appointments = Behaviour {
        appointments: 3,
        ..HONEST
    };
    let epsilon = Behaviour {
        epsilon: "3.1",
        ..HONEST
    };
    let slots = Behaviour {
        slots_apart: 0,
        ..HONEST
    };
    // A release by the sentence is of another rule, whatever else it states.
    let by_sentence = Behaviour {
        unit: Unit::Sentence,
        draw: Reservoir::release_drawn,
        ..HONEST
    };
    for (lie, name) in [
        (appointments, "releases of a device in a window"),
        (epsilon, "largest epsilon, in micro-units"),
        (PROJECTIVE, "releases of another rule or pack"),
        (by_sentence, "releases of another rule or pack"),
        (slots, "releases of a device in a slot"),
    ] {
        assert_eq!(failed(lie, Mechanism::WholeText), [name]);
    }
    let name = "releases about the only line";
    for (behaviour, mechanism) in [
        (HONEST, Mechanism::WholeText),
        (PROJECTIVE, Mechanism::Projective),
    ] {
        let places = 5;
        let few_places = Behaviour {
            places,
            ..behaviour
        };
        assert_eq!(failed(few_places, mechanism), [name]);
    }
}
