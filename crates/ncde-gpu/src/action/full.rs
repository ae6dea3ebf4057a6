//! Matrices made full, so that the kernels of dense structures do the rest, which also work on many chunks of time at once.
//!
//! ```text
//! Omega = sum_w lambda_w A^{w_n} ... A^{w_1}
//! ```
//!
//! Coefficients of words: the matrices of all words are formed once for a call, products of full ones. Acting on a state they would take a product with a structure for each word, one after the other, and ten times that for an exact flow.
//! Exact flows of DPLR: the series takes ten products with Omega a step, and its derivative has as many pairs `(g, h)`. With about as many channels as states it costs less to form Omega once.

use cubecl::prelude::*;
use cubecl::server::Handle;

use super::{Acting, Entries};
use crate::call::Call;
use crate::device::launch;
use crate::error::Error;
use crate::kernel::action::parts::{self, ChannelLaunch};
use crate::kernel::action::places;
use crate::kernel::action::words::{self, LevelLaunch};
use crate::kernel::wide;
use crate::plan::Owner;
use crate::recurrence::{Arrays, Gradients, Recurrence};
use crate::signature::cut::Words;

/// What all matrices of words may take: 256 MiB.
const LARGEST: usize = 1 << 28;

/// Whether full matrices of words are worth their memory, and a cube holds one.
pub(super) fn fits(words: Words, hidden: usize, shared: usize) -> bool {
    let bytes = if Owner::of(hidden) == Owner::Cube { wide::numbers(hidden) * size_of::<f32>() } else { 0 };
    let all = words.len().saturating_mul(hidden * hidden).saturating_mul(size_of::<f32>());
    bytes <= shared && (words.depth == 1 || all <= LARGEST)
}

/// A call with full matrices.
pub(super) struct Full<'a, R: Runtime> {
    pub(super) call: Call<'a, R>,
    pub(super) of: &'a Acting,
    /// Which coefficients a step has: those of all words of up to `depth` letters.
    pub(super) words: Words,
}

impl<R: Runtime> Full<'_, R> {
    /// Parameters of the structure, and of its full matrices.
    fn counts(&self) -> (usize, usize) {
        let hidden = self.call.hidden;
        (self.of.parameters(self.words.channels), self.words.channels * hidden * hidden)
    }

    fn channel(&self, rank: usize, units: usize) -> ChannelLaunch<R> {
        ChannelLaunch::new(self.call.hidden, rank, units)
    }

    /// The factor of a Hadamard matrix.
    fn factor(&self) -> f32 {
        1.0 / (self.call.hidden as f32).sqrt()
    }

    /// The matrices of letters, at the beginning of a buffer for all words.
    fn letters(&self) -> Handle {
        let (gpu, hidden, (count, full)) = (self.call.gpu, self.call.hidden, self.counts());
        let out = gpu.floats(self.words.len() * hidden * hidden);
        let a = &self.call.arrays.a;
        match self.of {
            Acting::Dplr { rank, .. } => {
                let of = self.channel(*rank, full);
                launch!(gpu, parts::densify, each full; [a, out], of);
            }
            Acting::WalshHadamard { bounded, .. } => {
                let factor = self.factor();
                launch!(gpu, words::hadamard, each full; [a, out], factor, hidden, full, *bounded);
            }
            Acting::Sparse(entries) => {
                launch!(gpu, places::zero, each full; [out], full);
                // Places lie among full matrices, one for each parameter.
                launch!(gpu, places::scatter, each count; [a, self.places(entries), out], count);
            }
        }
        out
    }

    /// Where the parameters of sparse matrices lie in full ones.
    fn places(&self, entries: &Entries) -> Handle {
        self.call.gpu.indices(&entries.full_places())
    }

    /// Words of `length` letters, and where those with one more begin.
    fn level(&self, length: usize, words: usize) -> LevelLaunch<R> {
        let hidden = self.call.hidden;
        let (first, longer) = (self.words.start(length), self.words.start(length + 1));
        LevelLaunch::new(first, longer, self.words.channels, hidden, words * hidden * hidden)
    }

    /// The matrices of all words.
    fn matrices(&self) -> Handle {
        let (gpu, square, all) = (self.call.gpu, self.call.hidden * self.call.hidden, self.letters());
        for length in 1..self.words.depth {
            let words = self.words.level(length + 1);
            // No unit reads what another writes.
            launch!(gpu, words::longer, each words * square; [all], self.level(length, words));
        }
        all
    }

    /// The gradient in the matrices of letters from that in all words, which is used up.
    fn of_letters(&self, all: &Handle, gradient: Handle) -> Handle {
        let Words { channels: letters, depth } = self.words;
        if depth == 1 {
            return gradient;
        }
        let (gpu, square) = (self.call.gpu, self.call.hidden * self.call.hidden);
        let out = gpu.floats(letters * square);
        for length in (1..depth).rev() {
            let words = self.words.level(length);
            // No unit reads what another writes.
            launch!(gpu, words::shorter, each words * square; [all, gradient], self.level(length, words));
            launch!(gpu, words::last_letters, each letters * square;
                [all, gradient, out], words, self.level(length, letters), length + 1 == depth, length == 1);
        }
        out
    }

    /// The gradient in the parameters from that in the matrices of letters.
    fn of_parameters(&self, gradient: &Handle) -> Handle {
        let (gpu, hidden, (count, _)) = (self.call.gpu, self.call.hidden, self.counts());
        let out = gpu.floats(count);
        let a = &self.call.arrays.a;
        match self.of {
            Acting::Dplr { rank, .. } => {
                let of = self.channel(*rank, count);
                launch!(gpu, parts::part, each count; [a, gradient, out], of);
            }
            Acting::WalshHadamard { bounded, .. } => {
                launch!(gpu, words::diagonal, each count; [a, gradient, out], self.factor(), hidden, count, *bounded);
            }
            Acting::Sparse(entries) => {
                launch!(gpu, places::gather, each count; [gradient, self.places(entries), out], 1, count);
            }
        }
        out
    }

    /// The arrays with full matrices, and without what lies past the ends of series.
    fn arrays(&self, matrices: Handle) -> Arrays {
        let coefficients = self.call.slab_coefficients((0, self.call.shapes.length));
        Arrays { a: matrices, coefficients, ..self.call.arrays.clone() }
    }

    fn dense(&self) -> Result<Recurrence, Error> {
        Recurrence::new(vec![self.call.hidden], self.call.flow)
    }

    /// The states after each step.
    pub(super) fn states(&self) -> Result<Handle, Error> {
        self.dense()?.forward(self.call.gpu, self.call.shapes, &self.arrays(self.matrices()))
    }

    /// All gradients.
    pub(super) fn gradients(&self, states: &Handle, gradient: &Handle, of_coefficients: bool) -> Result<Gradients, Error> {
        let all = self.matrices();
        let arrays = self.arrays(all.clone());
        let of = self.dense()?.backward(self.call.gpu, self.call.shapes, &arrays, (states, gradient), None, of_coefficients)?;
        let letters = self.of_letters(&all, of.a);
        Ok(Gradients { a: self.of_parameters(&letters), ..of })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matrices_of_many_words_do_not_fit() {
        assert!(fits(Words { channels: 3, depth: 3 }, 64, 48 << 10) && !fits(Words { channels: 62, depth: 4 }, 64, 48 << 10));
        assert!(!fits(Words { channels: 1 << 40, depth: 12 }, 64, 48 << 10));
    }
}
