//! Candidates in any file.

use std::fs;

use undertone::pack::candidates::Candidates;
use undertone_core::release::Release;

/// Reads the input as a file of candidates, and again with a valid header length, the header being
/// the bytes before the first zero byte.
///
/// Checked: there is an embedding and a line for each candidate; a release names one of them
/// exactly if its index is below their number and its pack is theirs; written candidates are read
/// as the same.
pub fn candidates_file_is_total(data: &[u8]) {
    let folder = tempfile::tempdir().expect("room for a file");
    let path = folder.path().join("candidates.safetensors");
    let end = data
        .iter()
        .position(|byte| *byte == 0)
        .unwrap_or(data.len());
    let (header, rest) = data.split_at(end);
    let mended = [
        &(end as u64).to_le_bytes(),
        header,
        rest.get(1..).unwrap_or_default(),
    ]
    .concat();
    for file in [data, &mended] {
        fs::write(&path, file).expect("room for a file");
        match Candidates::read(&path) {
            Ok(candidates) => use_candidates(&candidates),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
}

fn use_candidates(candidates: &Candidates) {
    let Candidates {
        entries,
        embeddings,
        dimension,
        ..
    } = candidates;
    assert_eq!(entries.len() * dimension, embeddings.len());
    let list = candidates.list();
    let lines: Vec<&str> = list.lines().collect();
    assert_eq!(lines.len(), entries.len() + 1);
    for (index, line) in lines[1..].iter().enumerate() {
        assert!(line.starts_with(&format!("{index}\t")));
        assert_eq!(line.matches('\t').count(), 2, "{line:?}");
    }
    for own in [true, false] {
        for index in [
            0,
            entries.len().saturating_sub(1),
            entries.len(),
            u32::MAX as usize,
        ] {
            let mut bytes = *b"UTR\x01\x02\x01\0\0\x01\0\0\0....--------";
            bytes[12..16].copy_from_slice(&(index as u32).to_le_bytes());
            bytes[16..].copy_from_slice(&candidates.pack_digest[..8]);
            bytes[16] ^= u8::from(!own);
            let release = Release::from_bytes(&bytes).expect("a release");
            match candidates.decode(&release) {
                Ok(None) => unreachable!("a release by sentence names a candidate"),
                Ok(Some((candidate, embedding))) => {
                    assert!(own);
                    assert_eq!(*candidate, entries[index]);
                    let expected = &embeddings[index * dimension..][..*dimension];
                    assert!(
                        embedding
                            .iter()
                            .map(|x| x.to_bits())
                            .eq(expected.iter().map(|x| x.to_bits()))
                    );
                }
                Err(_) => assert!(!own || index >= entries.len()),
            }
        }
    }
    let folder = tempfile::tempdir().expect("room for a file");
    let path = folder.path().join("again.safetensors");
    candidates.write(&path).expect("room for a file");
    let again = Candidates::read(&path).expect("what was written");
    let bits = |candidates: &Candidates| -> Vec<u32> {
        candidates.embeddings.iter().map(|x| x.to_bits()).collect()
    };
    assert_eq!(bits(&again), bits(candidates));
    assert_eq!(
        (
            again.entries,
            again.pack_digest,
            again.encoder,
            again.dimension
        ),
        (
            entries.clone(),
            candidates.pack_digest,
            candidates.encoder.clone(),
            *dimension
        )
    );
}
