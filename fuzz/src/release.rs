//! The byte form of a release.

use undertone_core::release::Release;

/// Reads the input as a release, and again with the fixed fields in place.
///
/// Checked: what is read is written back the same, and the second reading succeeds exactly when
/// mechanism, rule and ε are allowed.
pub fn release_from_bytes_is_total(data: &[u8]) {
    read(data);
    let Some((fields, _)) = data.split_first_chunk::<17>() else {
        return;
    };
    let [rule, rest @ ..] = fields;
    for mechanism in 0..=3 {
        let mut bytes = *b"UTR\x01----................";
        bytes[4..8].copy_from_slice(&[mechanism, *rule, 0, 0]);
        bytes[8..].copy_from_slice(rest);
        let micro = u32::from_le_bytes([rest[0], rest[1], rest[2], rest[3]]);
        let allowed = (1..=2).contains(&mechanism)
            && (1..=2).contains(rule)
            && (1..=1_000_000_000).contains(&micro);
        assert_eq!(read(&bytes), allowed, "{bytes:?}");
    }
}

fn read(bytes: &[u8]) -> bool {
    match Release::from_bytes(bytes) {
        Ok(release) => {
            assert_eq!(release.to_bytes(), *bytes);
            true
        }
        Err(error) => {
            assert!(!error.to_string().is_empty());
            false
        }
    }
}
