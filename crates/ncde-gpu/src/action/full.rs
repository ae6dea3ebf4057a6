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
use crate::device::{array, launch};
use crate::error::Error;
use crate::kernel::action::parts::{self, ChannelLaunch};
use crate::kernel::action::places;
use crate::kernel::action::words::{self, LevelLaunch};
use crate::kernel::wide;
use crate::plan::Owner;
use crate::recurrence::{Arrays, Gradients, Recurrence};

/// What all matrices of words may take: 256 MiB.
const LARGEST: usize = 1 << 28;

/// Which coefficients a step has: those of all words of up to `depth` letters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Words {
    pub(super) letters: usize,
    pub(super) depth: usize,
}

impl Words {
    /// How many words have so many letters; as many as can be counted where there are more.
    fn of(self, length: usize) -> usize {
        self.letters.saturating_pow(length as u32)
    }

    /// How many words have fewer letters: where those of this length begin.
    fn before(self, length: usize) -> usize {
        (1..length).fold(0, |sum: usize, shorter| sum.saturating_add(self.of(shorter)))
    }

    /// How many words there are.
    pub(super) fn count(self) -> usize {
        self.before(self.depth + 1)
    }

    /// Whether full matrices of them are worth their memory, and a cube holds one.
    pub(super) fn fits(self, hidden: usize, shared: usize) -> bool {
        let bytes = if Owner::of(hidden) == Owner::Cube { wide::numbers(hidden) * size_of::<f32>() } else { 0 };
        let all = self.count().saturating_mul(hidden * hidden).saturating_mul(size_of::<f32>());
        bytes <= shared && (self.depth == 1 || all <= LARGEST)
    }
}

/// A call with full matrices.
pub(super) struct Full<'a, R: Runtime> {
    pub(super) call: Call<'a, R>,
    pub(super) of: &'a Acting,
    pub(super) words: Words,
}

impl<R: Runtime> Full<'_, R> {
    /// Parameters of the structure, and of its full matrices.
    fn counts(&self) -> (usize, usize) {
        let hidden = self.call.hidden;
        (self.of.parameters(self.words.letters), self.words.letters * hidden * hidden)
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
        let out = gpu.floats(self.words.count() * hidden * hidden);
        // Places lie among full matrices, one for each parameter.
        let (from, to) = (array(&self.call.arrays.a, count), array(&out, full));
        match self.of {
            Acting::Dplr { rank, .. } => {
                let of = self.channel(*rank, full);
                launch!(gpu, parts::densify, each full; from, to, of);
            }
            Acting::WalshHadamard { bounded, .. } => {
                let factor = self.factor();
                launch!(gpu, words::hadamard, each full; from, to, factor, hidden, full, *bounded);
            }
            Acting::Sparse(entries) => {
                launch!(gpu, places::zero, each full; array(&out, full), full);
                let places = self.places(entries);
                let places = array(&places, count);
                launch!(gpu, places::scatter, each count; from, places, to, count);
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
        let (first, longer) = (self.words.before(length), self.words.before(length + 1));
        LevelLaunch::new(first, longer, self.words.letters, hidden, words * hidden * hidden)
    }

    /// The matrices of all words.
    fn matrices(&self) -> Handle {
        let (gpu, square, all) = (self.call.gpu, self.call.hidden * self.call.hidden, self.letters());
        for length in 1..self.words.depth {
            let words = self.words.of(length + 1);
            // No unit reads what another writes.
            launch!(gpu, words::longer, each words * square; array(&all, self.words.count() * square), self.level(length, words));
        }
        all
    }

    /// The gradient in the matrices of letters from that in all words, which is used up.
    fn of_letters(&self, all: &Handle, gradient: Handle) -> Handle {
        let Words { letters, depth } = self.words;
        if depth == 1 {
            return gradient;
        }
        let (gpu, square) = (self.call.gpu, self.call.hidden * self.call.hidden);
        let count = self.words.count() * square;
        let out = gpu.floats(letters * square);
        for length in (1..depth).rev() {
            let words = self.words.of(length);
            // No unit reads what another writes.
            launch!(gpu, words::shorter, each words * square;
                array(all, count), array(&gradient, count), self.level(length, words));
            launch!(gpu, words::last_letters, each letters * square;
                array(all, count), array(&gradient, count), array(&out, letters * square), words, self.level(length, letters),
                length + 1 == depth, length == 1);
        }
        out
    }

    /// The gradient in the parameters from that in the matrices of letters.
    fn of_parameters(&self, gradient: &Handle) -> Handle {
        let (gpu, hidden, (count, full)) = (self.call.gpu, self.call.hidden, self.counts());
        let out = gpu.floats(count);
        let (a, dense, to) = (array(&self.call.arrays.a, count), array(gradient, full), array(&out, count));
        match self.of {
            Acting::Dplr { rank, .. } => {
                let of = self.channel(*rank, count);
                launch!(gpu, parts::part, each count; a, dense, to, of);
            }
            Acting::WalshHadamard { bounded, .. } => {
                launch!(gpu, words::diagonal, each count; a, dense, to, self.factor(), hidden, count, *bounded);
            }
            Acting::Sparse(entries) => {
                let places = self.places(entries);
                let places = array(&places, count);
                launch!(gpu, places::gather, each count; dense, places, to, count);
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
    fn words_are_counted() {
        let words = Words { letters: 3, depth: 3 };
        assert_eq!([1, 2, 3, 4].map(|length| words.before(length)), [0, 3, 12, 39]);
        assert_eq!((words.of(2), words.count()), (9, 39));
        assert!(words.fits(64, 48 << 10) && !Words { letters: 62, depth: 4 }.fits(64, 48 << 10));
    }
}
