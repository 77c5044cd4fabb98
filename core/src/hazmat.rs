//! **Private data without protection.** Nothing here may leave the device or stand in an app.
//!
//! [`Document`] has one way in and one way out. Audits and experiments on public text need to look
//! between the two; they do it here, where the name of the module says so at every call.

use crate::document::Document;
use crate::kernels::Backend;
use crate::select::Levels;

/// Calls `visit` with the level of every candidate for the document as it stands, in order, in
/// blocks: 0 is best. This is what the selection protects.
pub fn levels<const K: usize, const P: usize>(
    document: &Document<'_, K, P>,
    visit: impl FnMut(&[u8]),
) {
    document.levels().for_each_block(visit);
}

/// Makes the document use this backend. Which one is in use shows in time only.
pub fn force_backend<const K: usize, const P: usize>(
    document: &mut Document<'_, K, P>,
    backend: Backend,
) {
    document.set_backend(backend);
}
