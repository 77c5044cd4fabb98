//! What of a text is valid UTF-8.

/// The valid parts of a text, and whether invalid bytes follow each.
fn parts(text: &[u8]) -> impl Iterator<Item = (&str, bool)> {
    let parts = text.utf8_chunks();
    parts.map(|part| (part.valid(), !part.invalid().is_empty()))
}

#[cfg(not(any(undertone_kernels = "x86", undertone_kernels = "aarch64")))]
pub(crate) fn valid_parts(text: &[u8]) -> impl Iterator<Item = (&str, bool)> {
    parts(text)
}

/// The same. What is valid throughout, as most texts are, is one part: with vectors that is found sooner.
#[cfg(any(undertone_kernels = "x86", undertone_kernels = "aarch64"))]
pub(crate) fn valid_parts(text: &[u8]) -> impl Iterator<Item = (&str, bool)> {
    let whole = core::str::from_utf8(text).ok();
    let rest = match whole {
        Some(_) => Default::default(),
        None => text,
    };
    whole
        .map(|whole| (whole, false))
        .into_iter()
        .chain(parts(rest))
}
