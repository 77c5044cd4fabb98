//! Word vectors in any file.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use undertone::lexicon::word_vectors::Vectors;
use undertone_core::pack::Pack;

/// Reads the input as word vectors. The first byte selects the format.
///
/// Checked: shapes and finiteness; the same vectors are read again from a text file and a NumPy
/// matrix that are written here; a lexicon of them accounts for every word.
pub fn word_vectors_survive_a_rewrite(data: &[u8]) {
    let Some((kind, data)) = data.split_first() else {
        return;
    };
    let folder = tempfile::tempdir().expect("room for files");
    let write = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, bytes).expect("room for files");
        path
    };
    let path = match kind % 4 {
        0 => write("words.txt", data),
        1 => write("words.vec.gz", data),
        kind => {
            // The words are the bytes before the first zero byte.
            let end = data
                .iter()
                .position(|byte| *byte == 0)
                .unwrap_or(data.len());
            let (words, rest) = (&data[..end], data.get(end + 1..).unwrap_or_default());
            write("words.vocab.txt", words);
            if kind == 2 {
                write("words.npy", rest)
            } else {
                let (header, rest) = rest.split_at(rest.len().min(120));
                // The dictionary ends with a line.
                let end = header
                    .iter()
                    .position(|byte| *byte == b'\n')
                    .map_or(header.len(), |end| end + 1);
                let (dictionary, before) = header.split_at(end);
                write("words.npy", &[&npy(dictionary), before, rest].concat())
            }
        }
    };
    let vectors = match Vectors::open(&path) {
        Ok(vectors) => vectors,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return;
        }
    };
    let Vectors {
        words,
        vectors: values,
        dimension,
        ..
    } = &vectors;
    assert!((1..=512).contains(dimension) && !words.is_empty());
    assert_eq!(words.len() * dimension, values.len());
    assert!(values.iter().all(|x| x.is_finite()));

    // Words of a matrix may be such as no line of a text file can start with.
    let plain = |word: &String| {
        !word.is_empty()
            && !word.contains(['\n', '\r', '\t', ' '])
            && !words[0].starts_with('\u{feff}')
    };
    if words.iter().all(plain) {
        let mut text = format!("{} {dimension}\n", words.len());
        for (index, word) in words.iter().enumerate() {
            let _ = write!(text, "{word}");
            for x in vectors.vector(index) {
                let _ = write!(text, " {x}");
            }
            text.push('\n');
        }
        again(&vectors, &write("again.vec", text.as_bytes()));
        let dictionary = format!(
            "{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {dimension}), }}\n",
            words.len()
        );
        let mut matrix = npy(dictionary.as_bytes());
        matrix.extend(values.iter().flat_map(|x| x.to_le_bytes()));
        write("again.vocab.txt", words.join("\n").as_bytes());
        again(&vectors, &write("again.npy", &matrix));
    }

    for most in [1, 65_536] {
        match vectors.lexicon_pack(None, most) {
            Ok(made) => {
                let read = made.words + made.unusable + made.duplicates + made.zero + made.cut;
                assert_eq!(read, words.len());
                assert!(made.words <= most && made.relative_error.is_finite());
                let pack = Pack::parse(&made.pack).expect("what was made");
                assert_eq!(pack.lexicon().expect("a lexicon").word_count(), made.words);
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
}

fn again(vectors: &Vectors, path: &Path) {
    let again = Vectors::open(path).expect("what was written");
    let bits =
        |vectors: &Vectors| -> Vec<u32> { vectors.vectors.iter().map(|x| x.to_bits()).collect() };
    assert_eq!(again.words, vectors.words);
    assert_eq!(again.dimension, vectors.dimension);
    assert_eq!(bits(&again), bits(vectors));
}

/// The head of a `.npy` file of version 1.
fn npy(dictionary: &[u8]) -> Vec<u8> {
    let mut header = b"\x93NUMPY\x01\x00".to_vec();
    header.extend((dictionary.len() as u16).to_le_bytes());
    header.extend(dictionary);
    header
}
