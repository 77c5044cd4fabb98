//! The recoder: a small network between the sentence encoder and the mechanism.
//!
//! DeepCandidate (Meehan, Mrini and Chaudhuri 2022) trains an MLP H on public documents so that the
//! mean of recoded sentences keeps its k-means cluster. The pack has H's hidden layers; the last,
//! linear layer is multiplied into the projections when the pack is built.
//!
//! A layer is `y = clamp((W·x + b) ≫ shift, 0, 32767)` on 16-bit integers with 64-bit sums, so host
//! and device agree to the bit. A recoder is a public function of one sentence, so it cannot weaken
//! a guarantee, whatever its numbers.

use zerocopy::little_endian::{I16, I64};

use crate::barrier::wipe;
use crate::checked::{chunk_size, part};
use crate::fixed::Scale;
use crate::integers::{at_least, at_most};
use crate::kernels::Backend;
use crate::pack::format::{MAX_LAYERS, MAX_WIDTH, RECODER_TAG, RecoderHead};
use crate::pack::wire::{Arrays, PackError, scale, within, zero};

/// The inputs or outputs of a layer.
pub type Activations = [i16; MAX_WIDTH as usize];

/// The hidden layers of a recoder, a view into a pack.
#[derive(Clone, Copy, Debug)]
pub struct Recoder<'a> {
    scale: Scale,
    layers: [Layer<'a>; MAX_LAYERS],
    depth: usize,
}

#[derive(Clone, Copy, Debug, Default)]
struct Layer<'a> {
    inputs: usize,
    /// `[outputs][inputs]`.
    weights: &'a [I16],
    /// `[outputs]`.
    bias: &'a [I64],
    shift: u32,
}

impl<'a> Recoder<'a> {
    pub(crate) fn parse(section: &'a [u8], dimension: u32) -> Result<Self, PackError> {
        let (head, mut arrays) = Arrays::open::<RecoderHead>(RECODER_TAG, section)?;
        within("number of recoder inputs", dimension, 1, MAX_WIDTH)?;
        let depth = head.layer_count.get();
        let depth = within("number of recoder layers", depth, 1, MAX_LAYERS as u32)? as usize;
        zero("reserved recoder field", head.reserved.get())?;
        let mut recoder = Self {
            scale: scale(head.exponent.get())?,
            layers: [Layer::default(); MAX_LAYERS],
            depth,
        };
        let mut inputs = dimension as usize;
        let declared = head.widths.iter().zip(&head.shifts);
        let layers = recoder.layers.iter_mut().zip(declared);
        for (index, (layer, (width, shift))) in layers.enumerate() {
            if index >= depth {
                zero("width of a missing recoder layer", width.get())?;
                zero("shift of a missing recoder layer", shift.get())?;
                continue;
            }
            let outputs = within("width of a recoder layer", width.get(), 1, MAX_WIDTH)? as usize;
            *layer = Layer {
                inputs,
                weights: arrays.next(outputs, inputs)?,
                bias: arrays.next(outputs, 1)?,
                shift: within("shift of a recoder layer", shift.get(), 0, 62)?,
            };
            inputs = outputs;
        }
        arrays.finish()?;
        Ok(recoder)
    }

    fn layers(&self) -> &[Layer<'a>] {
        part(&self.layers, ..self.depth)
    }

    /// The number of output coordinates, `1..=1024`.
    pub fn width(&self) -> usize {
        self.layers().last().map_or(0, |layer| layer.bias.len())
    }

    /// Recodes one embedding.
    ///
    /// # Leaks
    /// As [`push`](crate::document::Document::push). The result is as private as the embedding.
    ///
    /// # Shapes
    /// `embedding`: `[dimension]` f32, any bits; `out`: the first [`width`](Recoder::width) numbers
    /// become the result. Missing coordinates of `embedding` count as 0, excess ones are ignored.
    ///
    /// # Cost
    /// The sum of inputs times outputs over the layers, in multiplications; 2 KiB of stack.
    pub fn recode(&self, embedding: &[f32], out: &mut Activations) {
        self.recode_on(Backend::best(), embedding, out);
    }

    pub(crate) fn recode_on(&self, backend: Backend, embedding: &[f32], out: &mut Activations) {
        out.fill(0);
        backend.to_fixed(embedding, self.scale.factor(), out);
        self.apply(out);
    }

    /// The scale of coordinates.
    pub(crate) fn scale(&self) -> Scale {
        self.scale
    }

    /// Recodes a sentence whose coordinates are integers.
    // `inline(never)`: inlined, documents without a recoder have its buffer on the stack.
    #[inline(never)]
    pub(crate) fn apply(&self, sentence: &mut Activations) {
        let mut next: Activations = [0; MAX_WIDTH as usize];
        for layer in self.layers() {
            layer.apply(sentence, &mut next);
            sentence.copy_from_slice(&next);
        }
        wipe(&mut next);
    }
}

impl Layer<'_> {
    fn apply(&self, from: &Activations, to: &mut Activations) {
        let rows = self.weights.chunks_exact(chunk_size(self.inputs));
        for ((y, row), bias) in to.iter_mut().zip(rows).zip(self.bias) {
            // |products| < 2^30 and at most 2^10 of them: only the bias can be large.
            let sum: i64 = row
                .iter()
                .zip(from)
                .map(|(w, x)| i64::from(w.get()) * i64::from(*x))
                .sum();
            let shifted = sum.saturating_add(bias.get()) >> self.shift;
            *y = at_most(at_least(shifted, 0), i16::MAX.into()) as i16;
        }
    }
}
