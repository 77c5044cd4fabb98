//! The command line, run as a user runs it.
//!
//! Chance: false alarm 10⁻¹², miss none. Comments in `candidates_are_listed…` and `of_messages…`
//! derive it.

use std::fs;

use crate::common::{
    Folder, GOLDEN, Model, PACKS, contains, fitting_tokenizer, json, release_in, rows,
    write_encoder,
};
use sha2::{Digest, Sha256};
use undertone::encoder::{Encoder, LexiconEncoder};
use undertone::pack::trained::{Layer, Recoder, ScoreHeads};
use undertone_core::pack::Pack;
use undertone_core::release::Mechanism;

const CANDIDATES: &str = "a.candidates.safetensors";

fn privatize(pack: &str, epsilon: &str, input: &str, out: &str) -> String {
    format!("privatize --pack {pack} --epsilon={epsilon} --in {input} --out {out}")
}

/// Writes a public and a private corpus, and makes a pack of the public one.
fn prepared() -> Folder {
    let folder = Folder::new();
    let topics = [
        "The soup needs salt.|Boil the potatoes.|Bake the bread slowly.|Chop the onions.",
        "The goalkeeper dived.|They scored twice.|The referee blew his whistle.|Our team lost.",
        "The telescope shows Saturn.|A comet passed.|Stars twinkle.|The moon is full.",
    ];
    let mut public = String::new();
    let mut private = String::new();
    for (number, topic) in (0..).zip(topics.iter().cycle().take(30)) {
        let sentences = topic.split('|').cycle().skip(number % 4);
        let text = sentences.take(8 + number % 3).collect::<Vec<_>>().join(" ");
        let label = number % 3;
        public +=
            &format!("{{\"id\": \"public-{number}\", \"label\": {label}, \"text\": \"{text}\"}}\n");
        private += &format!("{label}\t{text}\n");
    }
    folder.write("public.jsonl", public);
    folder.write("private.tsv", private);
    folder.succeed("pack --corpus public.jsonl --out a.pack");
    folder
}

#[test]
fn candidates_are_listed_and_releases_drawn_anew() {
    let folder = prepared();
    let described = folder.succeed("inspect a.pack");
    // The lexicon travels in the pack.
    let parts = ["scores      3 candidates, 0..=8 a sentence", "words"];
    contains(&described, &parts);

    let listed = folder.succeed(format!("candidates {CANDIDATES}"));
    let listed = listed.lines().map(|line| line.split('\t').collect());
    let listed: Vec<Vec<&str>> = listed.collect();
    assert!(listed[0][0].starts_with("# pack ") && listed[0][0].len() == 23);
    for (index, candidate) in listed[1..].iter().enumerate() {
        assert_eq!(candidate[..2], [index.to_string(), index.to_string()]);
        assert!(candidate[2].ends_with('.'), "{candidate:?}");
    }
    assert_eq!(listed.len(), 4);
    folder.refuse("candidates a.pack", &["a.pack", "not a candidates file"]);

    // Each run draws new releases. No outcome has a probability above e^0.01/4, so two runs give
    // the same 30 releases with a probability below 10⁻¹⁷.
    let private = privatize("a.pack", "0.01", "private.tsv", "r.jsonl");
    folder.succeed(&private);
    let first = folder.bytes("r.jsonl");
    folder.succeed(&private);
    assert_ne!(folder.bytes("r.jsonl"), first);
}

#[test]
fn the_program_says_its_own_name() {
    let folder = Folder::new();
    let expected = concat!("undertone ", env!("CARGO_PKG_VERSION"), "\n");
    assert_eq!(folder.succeed("--version"), expected);
}

#[test]
fn packs_are_reproducible_from_their_seed() {
    let folder = prepared();
    let same = |a: &str, b: &str| folder.bytes(a) == folder.bytes(b);
    for how in ["--clusters 5", "--selector depth"] {
        for (out, seed) in [("1.pack", "1"), ("again.pack", "1"), ("2.pack", "2")] {
            let pack = format!("pack --corpus public.jsonl --out {out}");
            folder.succeed(format!("{pack} {how} --seed {seed}"));
        }
        assert!(same("1.pack", "again.pack"));
        let candidates = |name: &str| format!("{name}.candidates.safetensors");
        assert!(same(&candidates("1"), &candidates("again")));
        assert!(!same("1.pack", "2.pack"));
    }
}

#[test]
fn candidates_are_labels_clusters_or_documents() {
    let folder = prepared();
    let unlabelled = folder.text("public.jsonl").replace("label", "other");
    folder.write("unlabelled.jsonl", unlabelled);
    // Nine different documents make at most nine clusters.
    let table = "
        public.jsonl => scores      3 candidates
        public.jsonl --clusters 5 => scores      5 candidates
        unlabelled.jsonl => scores      9 candidates
        unlabelled.jsonl --clusters 2 => scores      2 candidates
        public.jsonl --selector depth => depth       30 candidates, 50 directions
        public.jsonl --selector depth --candidates 9 --directions 7 => depth       9 candidates, 7 directions";
    for [how, expected] in rows(table) {
        folder.succeed(format!("pack --out b.pack --corpus {how}"));
        contains(&folder.succeed("inspect b.pack"), &[expected]);
        let release = privatize("b.pack", "1", "private.tsv", "r.jsonl");
        if how.contains("depth") {
            // A run never chooses a weaker promise by default.
            folder.refuse(&release, &["selects by depth", "--rule permute-and-flip"]);
        }
        folder.succeed(format!("{release} --rule permute-and-flip"));
    }
}

#[test]
fn limit_reads_only_the_first_documents() {
    let folder = prepared();
    folder.succeed("pack --corpus public.jsonl --limit 7 --selector depth --out b.pack");
    assert!(folder.succeed("inspect b.pack").contains("7 candidates"));
    let release = privatize("b.pack", "1", "private.tsv", "r.jsonl");
    let more = "--rule permute-and-flip --limit 2";
    folder.succeed(format!("{release} {more}"));
    assert_eq!(folder.count("r.jsonl"), 2);
    // A header is refused whatever the limit.
    let text = "Kategorie\tText\nx\tThe ball\ny\tThe soup\ny\tThe tea\n";
    folder.write("h.tsv", text);
    let release = privatize("b.pack", "1", "h.tsv", "h.jsonl");
    folder.refuse(format!("{release} {more}"), &["line 1: it names columns"]);
}

#[test]
fn encode_writes_what_other_software_reads() {
    let folder = prepared();
    folder.succeed("encode --corpus public.jsonl --out e.safetensors");
    let bytes = folder.bytes("e.safetensors");
    let tensors = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    let offsets = tensors.tensor("offsets").unwrap();
    assert_eq!(offsets.shape(), [31]);
    let sentences = u64::from_le_bytes(offsets.data()[30 * 8..].try_into().unwrap());
    // There are ten documents each of 8, 9 and 10 sentences.
    assert_eq!(sentences, 270);
    assert_eq!(tensors.tensor("embeddings").unwrap().shape()[0], 270);
}

#[test]
fn corpora_that_give_no_pack_are_refused() {
    let folder = prepared();
    let many: String = (0..=12_800).map(|n| format!("{n}\tSoup.\n")).collect();
    for (name, text) in [
        ("short.tsv", "1\tOne sentence.\n"),
        ("empty.jsonl", ""),
        ("rulers.tsv", "1\t-- ** --\n1\t...\n"),
        ("many.tsv", &many),
    ] {
        folder.write(name, text);
    }
    // A device can sum the scores of at most 12,800 candidates, so a larger pack is of no use.
    folder.refuse_all(
        "pack --out b.pack --corpus",
        "short.tsv => all 1 documents have the same label
        empty.jsonl => the corpus has no documents
        rulers.tsv => none of the 2 documents has a sentence
        short.tsv --selector depth => 1 documents | 8 sentences
        no.jsonl => no.jsonl
        a.pack => a.pack` is a pack of undertone
        many.tsv => the labels of the corpus are more than the 12800 candidates | --clusters N
        many.tsv --clusters 12801 => 12801 clusters are more than the 12800 candidates",
    );
}

/// Values outside their range, which includes negative numbers, options without a use, names of
/// fields that no document has, and files of another kind.
#[test]
fn options_that_make_no_sense_are_refused() {
    let folder = prepared();
    fs::create_dir(folder.join("texts")).unwrap();
    folder.write("r.jsonl", "");
    // A size that leaves nothing for features has the same message as one that is too small.
    folder.refuse_all(
        "pack --corpus public.jsonl --out b.pack",
        "--limit -1 => invalid value '-1' for '--limit | from 0 to 18446744073709551615
        --seed -1 => invalid value '-1' for '--seed | from 0 to 18446744073709551615
        --size -1 => invalid value '-1' for '--size | from 0 to 18446744073709551615
        --first-sentences -1 => invalid value '-1' for '--first-sentences | 1..=65535
        --label-field Label => --label-field Label | there are id, label, text
        --id-field number => --id-field number | there are id, label, text
        --onnxruntime x => --onnxruntime does nothing without a neural encoder
        --onnxruntime x --encoder a.pack => --onnxruntime does nothing without a neural encoder
        --directions 5 => --directions is for --selector depth
        --depth-candidates 5 => --depth-candidates is for --selector depth
        --min-sentences 5 => --min-sentences is for --selector depth
        --selector depth --clusters 5 => --clusters is for --selector scores
        --selector depth --directions 0 => 1 to 100
        --selector depth --directions 101 => 1 to 100
        --selector depth --depth-candidates 0 => 1 to 65536
        --selector depth --depth-candidates 65537 => 1 to 65536
        --selector depth --min-sentences 0 => 1 to 128
        --selector depth --min-sentences 129 => 1 to 128
        --clusters 31 => 31
        --clusters 0 => 0
        --clusters 1 => 1
        --size 1500 => more than the 1500 of --size
        --size 1500 --heads features => no feature can be in the pack
        --size 1 --heads features => no feature can be in the pack
        --size 0 => --size 0 leaves no room for a word of the lexicon; give at least 76
        --size 75 --heads vectors => give at least 76
        --size 1 --heads both => give at least 76
        --size 76 --heads vectors => more than the 76 of --size",
    );
    folder.refuse_all(
        "privatize --out o.jsonl",
        "--pack a.pack --in private.tsv --epsilon 0 => below 0.000001
        --pack a.pack --in private.tsv --epsilon -1 => below 0.000001
        --pack a.pack --in private.tsv --epsilon 1e12 => above 1000
        --pack a.pack --in private.tsv --epsilon abc => not a decimal number
        --pack a.pack --in private.tsv --epsilon= => not a decimal number
        --pack a.pack --in private.tsv --epsilon NaN => not a decimal number
        --pack a.pack --in private.tsv --epsilon 1 --limit -1 => '-1' for '--limit
        --pack a.pack --in public.jsonl --epsilon 1 --keep day => --keep day | there are id, label
        --pack a.pack --in public.jsonl --epsilon 1 --id-field number => no such column or field
        --pack a.pack --in texts --epsilon 1 => `texts` is a folder
        --pack a.candidates.safetensors --in private.tsv --epsilon 1 => is a file of candidates",
    );
    for command in ["plan --epsilon 1", "estimate --in r.jsonl"] {
        folder.refuse_all(
            &format!("{command} --candidates a.candidates.safetensors"),
            "--messages => not provided | --corpus <FILE>
            --text-field text => not provided | --corpus <FILE>
            --label-field x => not provided | --corpus <FILE>
            --id-field x => not provided | --corpus <FILE>
            --encoder a.pack => not provided | --corpus <FILE>
            --onnxruntime x => not provided | --corpus <FILE>",
        );
    }
    folder.refuse_all("",
        "decode --candidates a.pack --in r.jsonl --out d.jsonl => `a.pack` is not a candidates file
        encode --corpus public.jsonl --out e --onnxruntime x => --onnxruntime does nothing without
        measure --pack a.pack --corpus public.jsonl --misspelt -1 => '-1' for '--misspelt | 0..=1
        measure --pack a.pack --corpus public.jsonl --limit -1 => '-1' for '--limit
        plan --candidates a.candidates.safetensors --epsilon 1 --within -0.1 => 0.000001 to 0.5
        plan --candidates a.candidates.safetensors --epsilon 1 --devices -1 => '-1' | from 1 to
        plan --candidates a.candidates.safetensors --epsilon 1 --devices 0 => '0' | from 1 to
        estimate --candidates a.candidates.safetensors --in r.jsonl --level -0.5 => '-0.5' | from 0.5
        estimate --candidates a.candidates.safetensors --in r.jsonl --top -1 => '-1' for '--top
        keywords --corpus public.jsonl --out w.txt --words -1 => '-1' for '--words | from 1 to
        keywords --corpus public.jsonl --out w.txt --words 0 => '0' for '--words | from 1 to
        budget --daily whole-text:1 --days -1 => '-1' for '--days | 1..=65535",
    );
}

#[test]
fn wrong_encoders_are_refused_by_name() {
    let folder = prepared();
    // The vector of "blue" has an infinite coordinate, which is an error.
    write_encoder(&folder, "tiny", &Model::default(), &fitting_tokenizer());
    folder.write("blue.tsv", "a\tRed red.\nb\tGreen blue.\n");
    let encode = "encode --corpus blue.tsv --encoder tiny --out e";
    folder.fail(encode, &["NaN or infinity for sentence 1"]);
    assert!(!folder.join("e").exists());
    folder.write("text.pack", "not a pack");
    // The lexicon of this pack has 16 coordinates.
    let release = privatize("a.pack", "1", "private.tsv", "r.jsonl");
    folder.refuse_all(
        &format!("{release} --encoder"),
        &format!(
            "no-such-folder => no-such-folder | model.onnx
            {GOLDEN} => 16 coordinates
            text.pack => text.pack | not a usable pack"
        ),
    );
}

/// Without its labels, another pack would be made of the corpus.
#[test]
fn labels_in_a_field_of_nearly_the_default_name_are_an_error() {
    let folder = prepared();
    let public = folder.text("public.jsonl");
    folder.write("capital.jsonl", public.replace("\"label\"", "\"Label\""));
    folder.write("spaced.csv", "text, label\na.,b\nc.,d\n");
    for (corpus, other) in [("capital.jsonl", "`Label`"), ("spaced.csv", "` label`")] {
        for limit in ["", " --limit 1"] {
            let pack = format!("pack --corpus {corpus} --out b.pack{limit}");
            folder.refuse(&pack, &["no field `label`, but", other]);
        }
    }
}

/// Labels that are missing in some documents, or are all the same, are an error.
#[test]
fn labels_that_cannot_be_candidates_are_refused_by_line() {
    let folder = prepared();
    let public = folder.text("public.jsonl");
    for (corpus, label) in [
        ("some.jsonl", "\"other\": 1"),
        ("null.jsonl", "\"label\": null"),
        ("blank.jsonl", "\"label\": \"\""),
    ] {
        let text = public.replacen("\"label\": 1", label, 3);
        folder.write(corpus, format!("\n{text}"));
        let without = "3 of 30 documents have no label, the first on line 3";
        let pack = format!("pack --corpus {corpus} --out b.pack");
        folder.refuse(&pack, &[without, "--unlabelled skip", "--clusters"]);
        let said = folder.notes(format!("{pack} --unlabelled skip"));
        let parts = [
            "3 labels as candidates, out of 27 documents",
            "3 documents without a label are left out, the first on line 3",
        ];
        contains(&said, &parts);
        folder.succeed(format!("{pack} --clusters 4"));
        folder.remove("b.pack");
        folder.remove("b.candidates.safetensors");
        let keywords = format!("keywords --corpus {corpus} --words 3 --out k");
        folder.refuse(keywords, &[without]);
    }
    folder.write("one.tsv", "a\tSoup.\n".repeat(40));
    folder.refuse_all(
        "pack --out b.pack --corpus",
        "one.tsv => all 40 documents have the same label | --clusters N
        public.jsonl --unlabelled skip --clusters 3 => --unlabelled skip is for labels as candidates
        public.jsonl --unlabelled skip --selector depth => --unlabelled skip is for --selector scores",
    );
}

/// Labels of another pack are not taken for those of this one.
#[test]
fn a_pack_is_measured_with_its_own_candidates() {
    let folder = prepared();
    folder.succeed("pack --corpus public.jsonl --clusters 3 --out other.pack");
    let measure = "measure --pack a.pack --corpus public.jsonl";
    folder.succeed(measure);
    folder.write(CANDIDATES, folder.bytes("other.candidates.safetensors"));
    let id = |pack| hex::encode(Pack::parse(&folder.bytes(pack)).unwrap().id());
    let of = format!(
        "`{CANDIDATES}` has the candidates of pack {}",
        id("other.pack")
    );
    folder.refuse(
        measure,
        &[&of, &format!("`a.pack` is pack {}", id("a.pack"))],
    );
}

/// Heads and recoders come from files of the laboratory or of any other program.
#[test]
fn heads_and_recoders_come_from_files() {
    let folder = prepared();
    let encoder = LexiconEncoder::embedded();
    let (identity, dimension) = (encoder.identity(), encoder.dimension());
    let labels = ["0", "1", "2"].map(str::to_owned).to_vec();
    let heads = ScoreHeads {
        centre: vec![0.0; dimension],
        weights: vec![0.5; labels.len() * dimension],
        bias: vec![0.25; labels.len()],
        thresholds: vec![0.5, 1.0, 2.0],
    };
    let write = |name: &str, labels: &[String]| {
        heads.write(&folder.join(name), labels, identity).unwrap();
    };
    write("heads.safetensors", &labels);
    let layer = |inputs: usize, outputs: usize| Layer {
        inputs,
        weights: vec![0.5; inputs * outputs],
        bias: vec![0.25; outputs],
    };
    let layers = vec![layer(dimension, 8), layer(8, 4)];
    let recoder = Recoder { layers };
    let path = folder.join("recoder.safetensors");
    recoder.write(&path, identity).unwrap();

    let pack = "pack --corpus public.jsonl --out from.pack";
    folder.succeed(format!("{pack} --heads-from heads.safetensors"));
    let bytes = folder.bytes("from.pack");
    let scores = Pack::parse(&bytes).unwrap().scores().unwrap();
    assert_eq!(scores.largest_score(), 3);
    assert_eq!(scores.candidate_count() as usize, labels.len());
    folder.succeed(format!(
        "{pack} --selector depth --recoder-from recoder.safetensors"
    ));
    let bytes = folder.bytes("from.pack");
    assert!(Pack::parse(&bytes).unwrap().recoder().is_some());

    write(
        "others.safetensors",
        &["another", "1", "2"].map(str::to_owned),
    );
    folder.refuse_all(
        pack,
        "--heads-from others.safetensors => another
        --heads-from recoder.safetensors => weights
        --heads-from missing => missing
        --heads-from heads.safetensors --heads both => --heads is for
        --recoder-from recoder.safetensors => --selector depth
        --selector depth --heads-from heads.safetensors => --selector scores",
    );
}

/// Every text is in the corpus twice, and its words do not depend on its label, so only a copy of a
/// held-out text in the training part can predict its label.
#[test]
fn documents_with_one_id_are_held_out_together() {
    let folder = Folder::new();
    let text = |n: u32| {
        let letter = |place: u32| char::from(b'a' + (n * 7919 / 13u32.pow(place) % 26) as u8);
        (0..3).map(letter).collect::<String>().repeat(3)
    };
    let line = |n: u32| {
        let label = ["tea", "sport"][(n.count_ones() % 2) as usize];
        let text = text(n);
        format!("{{\"of\": {n}, \"label\": \"{label}\", \"text\": \"{text}\"}}\n")
    };
    let corpus: String = (0..128).flat_map(|n| [line(n), line(n)]).collect();
    folder.write("c.jsonl", corpus);
    // The share of right releases without noise.
    let right = |id_field| -> f64 {
        let pack = "pack --corpus c.jsonl --out c.pack --heads features --id-field";
        let notes = folder.notes(format!("{pack} {id_field}"));
        let mut lines = notes.lines().map(str::trim);
        let none = lines.find_map(|line| line.strip_prefix("none")).unwrap();
        none.split_whitespace().next().unwrap().parse().unwrap()
    };
    let (alone, together) = (right("id"), right("of"));
    assert!(alone > 80.0 && together < 60.0, "{alone} {together}");
}

#[test]
fn demo_states_a_loss_below_every_epsilon() {
    let folder = Folder::new();
    let note = "The nurse drew blood. My scan is on Friday! Will it hurt?";
    folder.write("note.txt", note);
    for text in [
        "demo",
        "demo --text note.txt",
        "demo --text note.txt --save d.pack",
    ] {
        let shown = folder.succeed(text);
        let losses = shown.lines().filter_map(|line| {
            let numbers = line.trim().strip_prefix("worst privacy loss")?;
            let mut words = numbers.split_whitespace();
            let mut number = |skipped| words.nth(skipped)?.trim_end_matches(',').parse().ok();
            Some([number(0)?, number(3)?])
        });
        let losses: Vec<[f64; 2]> = losses.collect();
        assert_eq!(losses.len(), 4, "{shown}");
        for [loss, most] in losses {
            assert!(loss > 0.3 * most && loss <= most, "{loss} of {most}");
        }
        assert!(shown.contains("What is promised"));
    }
    assert!(folder.join("d.pack").exists() && folder.join("d.candidates.safetensors").exists());
    folder.refuse("demo --text missing.txt", &["missing.txt"]);
}

#[test]
fn of_messages_only_the_author_s_words_count() {
    let folder = prepared();
    let quoted = "> The goalkeeper dived. They scored twice. The referee blew his whistle. Our team lost.\\n".repeat(9);
    let own = "The soup needs salt. Boil the potatoes. Bake the bread slowly. Chop the onions. "
        .repeat(3);
    let messages = format!(
        "{{\"text\": \"Subject: the referee blew his whistle\\n\\n{quoted}{own}\\n-- \\nOur team\"}}\n"
    );
    folder.write("messages.jsonl", messages);
    let sentences = |more: &str| {
        let encode = "encode --corpus messages.jsonl --out e";
        folder.succeed(format!("{encode} {more}"));
        let bytes = folder.bytes("e");
        let tensors = safetensors::SafeTensors::deserialize(&bytes).unwrap();
        tensors.tensor("embeddings").unwrap().shape()[0]
    };
    assert!(sentences("") > 12 + 36);
    assert_eq!(sentences("--messages"), 12);

    let label = |more: &str| {
        let release = privatize("a.pack", "1000", "messages.jsonl", "r.jsonl");
        folder.succeed(format!("{release} {more}"));
        let decode = format!("decode --candidates {CANDIDATES} --in r.jsonl");
        json(folder.succeed(decode))["label"].clone()
    };
    // Another topic has a probability of at most 2⁻⁴⁷: the rule limits ε to 33.3.
    assert_eq!(label(""), "1", "football");
    assert_eq!(label("--messages"), "0", "soup");
}

/// A rule limits epsilon, and the run prints the ε after the limit.
#[test]
fn a_run_prints_what_is_served() {
    let folder = prepared();
    for (rule, epsilon, served) in [
        ("whole-text", "1000", "33.271065"),
        ("projective", "1000", "27.725888"),
        ("permute-and-flip", "1000", "45.4600"),
        ("exponential", "1000", "33.9642"),
        ("whole-text", "33", "33"),
    ] {
        let release = privatize("a.pack", epsilon, "private.tsv", "r.jsonl");
        let notes = folder.notes(format!("{release} --rule {rule}"));
        assert!(notes.contains(&format!("Promised: {served}")), "{notes}");
        let asked = notes.contains("The releases state the 1000 that was asked for");
        assert_eq!(asked, served != epsilon, "{notes}");
    }
    let described = folder.succeed("inspect a.pack");
    let parts = ["33.271065 by whole-text", "27.725888 by projective"];
    contains(&described, &parts);
}

/// A pack whose table of quality rates releases by the sentence as always right, and by the whole
/// text as never right.
fn hostile_pack() -> Vec<u8> {
    let mut pack = fs::read(format!("{PACKS}/assistant.en.pack")).unwrap();
    let number =
        |pack: &[u8], at: usize| u32::from_le_bytes(pack[at..at + 4].try_into().unwrap()) as usize;
    let mut entries = (0..number(&pack, 12)).map(|entry| 128 + 24 * entry);
    let entry = entries.find(|at| pack[*at..at + 4] == *b"QUAL").unwrap();
    let section = number(&pack, entry + 8);
    let [epsilons, lengths] = [number(&pack, section), number(&pack, section + 4)];
    // The head, the epsilons, the lengths and the accuracies start at multiples of 64 bytes.
    let after = |start: usize, bytes: usize| start + bytes.next_multiple_of(64);
    let accuracies = after(after(after(section, 16), 4 * epsilons), 4 * lengths);
    let unit = 2 * epsilons * lengths;
    for (at, accuracy) in [(accuracies, 65534u16), (accuracies + unit, 0)] {
        for cell in pack[at..at + unit].chunks_exact_mut(2) {
            cell.copy_from_slice(&accuracy.to_le_bytes());
        }
    }
    pack[32..64].fill(0);
    let digest = Sha256::digest(&pack);
    pack[32..64].copy_from_slice(&digest);
    pack
}

/// The author of a pack chooses the candidates, but not the unit of privacy.
#[test]
fn a_pack_does_not_choose_the_unit_of_privacy() {
    let folder = Folder::new();
    folder.write("text.tsv", "\tdo i need a visa to go to spain\n");
    folder.write("hostile.pack", hostile_pack());
    contains(&folder.succeed("inspect hostile.pack"), &["100.0 |   0.0"]);
    let notes = folder.notes(privatize("hostile.pack", "3", "text.tsv", "r.jsonl"));
    let parts = ["Promised: 3 for the whole text exchanged for any other"];
    contains(&notes, &parts);
    let release = release_in(&json(folder.text("r.jsonl")));
    assert_eq!(release.mechanism(), Mechanism::WholeText);
}

/// At this epsilon another topic than the best has a probability below 2⁻⁴⁴.
#[test]
fn ready_packs_know_what_texts_are_about() {
    let folder = Folder::new();
    let table = "
        assistant.en => please transfer 100 dollars to my savings account => banking
        assistant.en => do i need a visa to go to spain => travel
        topics.12 => Die Mannschaft gewann das Spiel mit drei Toren. => sports
        topics.12 => 总统在议会宣布了新的选举。 => politics
        topics.12 => Scientists found that the virus infects cells. => science/technology";
    for [name, text, about] in rows(table) {
        let pack = format!("{PACKS}/{name}");
        folder.write("text.tsv", format!("\t{text}\n"));
        folder.succeed(privatize(
            &format!("{pack}.pack"),
            "1000",
            "text.tsv",
            "r.jsonl",
        ));
        let decode = format!("decode --in r.jsonl --candidates {pack}.candidates.safetensors");
        assert_eq!(json(folder.succeed(decode))["label"], about, "{text}");
    }
}
