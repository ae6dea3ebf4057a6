//! Which kernels are launched in which order.
//!
//! ```text
//! forwards:  signatures of pieces  ->  joined, where a path is cut  ->  logarithm and coordinates
//! back:      states after each step  ->  gradient of the logarithm  ->  adjoints at the ends of chunks  ->  increments  ->  observations
//! ```

use cubecl::prelude::*;
use cubecl::server::Handle;

use super::cut::{Cut, Pieces, Words, tile, units};
use super::{Arrays, Coordinates, Over};
use crate::device::{Gpu, launch};
use crate::kernel::signature::back::{self, Begin};
use crate::kernel::signature::{chain, log, steps};

/// A call whose sizes were checked, on which every launch relies.
pub(super) struct Pass<'a, R: Runtime> {
    pub(super) gpu: &'a Gpu<R>,
    pub(super) of: Words,
    pub(super) cut: Cut,
    pub(super) over: Over,
    pub(super) arrays: &'a Arrays,
}

impl<R: Runtime> Pass<'_, R> {
    fn steps(&self) -> usize {
        self.arrays.length - 1
    }

    /// Results of all paths.
    fn rows(&self) -> usize {
        self.arrays.batch * self.over.results(self.arrays.length)
    }

    /// Signatures of the results, `[batch, results, words]`.
    pub(super) fn signatures(&self) -> Handle {
        match self.over {
            Over::Windows(_) => self.run(self.of, self.over.pieces(self.steps()), None, false),
            Over::Prefixes => self.prefixes(self.of),
            Over::Whole => {
                let chunks = self.chunks(self.of);
                let pieces = self.run(self.of, chunks, None, false);
                if chunks.count == 1 { pieces } else { self.chained(self.of, &pieces, chunks, false).1 }
            }
        }
    }

    /// Signatures below the last level after each step, `[batch, steps, words]`; of windows, each from its beginning. None at depth 1.
    pub(super) fn states(&self) -> Handle {
        let Some(lower) = self.of.lower() else { return self.gpu.floats(1) };
        match self.over {
            Over::Windows(_) => self.run(lower, self.over.pieces(self.steps()), None, true),
            _ => self.prefixes(lower),
        }
    }

    fn chunks(&self, of: Words) -> Pieces {
        Pieces::chunks(self.steps(), self.arrays.batch, units(of), self.gpu.limits())
    }

    /// After each step from the beginning of the path: signatures of chunks, what is before each, then all.
    fn prefixes(&self, of: Words) -> Handle {
        let chunks = self.chunks(of);
        if chunks.count == 1 {
            return self.run(of, chunks, None, true);
        }
        let pieces = self.run(of, chunks, None, false);
        self.run(of, chunks, Some(&self.chained(of, &pieces, chunks, false).0), true)
    }

    /// Of each piece, or after each step; from nothing, or from what is before each piece.
    fn run(&self, of: Words, pieces: Pieces, starts: Option<&Handle>, every: bool) -> Handle {
        let &Arrays { batch, length, ref path } = self.arrays;
        let numbers = of.len() * batch * if every { self.steps() } else { pieces.count };
        let (out, units) = (self.gpu.floats(numbers), batch * pieces.count * units(of));
        let place = steps::PieceSizesLaunch::new(length, pieces.size, pieces.count, units);
        let before = starts.cloned().unwrap_or_else(|| self.gpu.floats(1));
        launch!(self.gpu, steps::signatures, each units;
            [path, before, out], place, of, tile(of.channels), starts.is_some(), every);
        out
    }

    /// What is before (or behind) each piece, and the whole, from the signatures of pieces.
    fn chained(&self, of: Words, pieces: &Handle, cut: Pieces, behind: bool) -> (Handle, Handle) {
        let batch = self.arrays.batch;
        let (of_pieces, all) = (batch * cut.count * of.len(), batch * of.len());
        let (others, whole, units) = (self.gpu.floats(of_pieces), self.gpu.floats(all), batch * of.level(of.depth));
        launch!(self.gpu, chain::chained, each units; [pieces, others, whole], cut.count, units, of, behind);
        (others, whole)
    }

    /// The logarithm at every word.
    pub(super) fn expanded(&self, signatures: &Handle) -> Handle {
        let out = self.gpu.floats(self.rows() * self.of.len());
        for n in 1..=self.of.depth {
            let units = self.rows() * self.of.level(n);
            launch!(self.gpu, log::expanded, each units; [signatures, out], units, n, self.of);
        }
        out
    }

    /// The logarithm in coordinates.
    pub(super) fn coordinates(&self, coordinates: &Coordinates, signatures: &Handle) -> Handle {
        let out = self.gpu.floats(self.rows() * coordinates.len());
        let (places, words) = (self.gpu.indices(&coordinates.places), self.gpu.indices(&coordinates.words));
        let factors = self.gpu.put(&coordinates.factors);
        for (n, &(first, end)) in (1..).zip(&coordinates.degrees) {
            let units = self.rows() * (end - first);
            if units == 0 {
                continue;
            }
            launch!(self.gpu, log::coordinates, each units;
                [signatures, places, words, factors, out], first, end - first, coordinates.len(), units, n, self.of);
        }
        out
    }

    /// From the gradient of coordinates to that of the logarithm at every word.
    pub(super) fn spread(&self, coordinates: &Coordinates, gradient: &Handle) -> Handle {
        let units = self.rows() * self.of.len();
        let out = self.gpu.floats(units);
        let (starts, of) = (self.gpu.indices(&coordinates.starts), self.gpu.indices(&coordinates.coordinates));
        let factors = self.gpu.put(&coordinates.back_factors);
        launch!(self.gpu, log::spread, each units; [gradient, starts, of, factors, out], coordinates.len(), self.of.len(), units);
        out
    }

    /// From the gradient of the logarithm at every word to that of the signature.
    pub(super) fn log_back(&self, states: &Handle, gradient: &Handle) -> Handle {
        let (of, rows, pieces) = (self.of, self.rows(), self.over.pieces(self.steps()));
        let (slopes, out) = (self.gpu.floats(rows * of.slope(of.depth)), self.gpu.floats(rows * of.len()));
        for t in 1..of.depth {
            let units = rows * of.level(t);
            launch!(self.gpu, log::slopes, each units; [states, slopes], self.steps(), pieces.size, pieces.count, units, t, of);
        }
        for m in 1..=of.depth {
            let units = rows * of.level(m);
            launch!(self.gpu, log::gathered, each units; [gradient, slopes, out], of.channels, units, m, of);
        }
        out
    }

    /// From the gradient of signatures to that of the path.
    pub(super) fn path(&self, states: &Handle, gradient: &Handle) -> Handle {
        let &Arrays { batch, length, ref path } = self.arrays;
        let (of, cut, steps) = (self.of, self.cut, self.steps());
        let (begin, pieces, other) = self.begin(gradient);
        let (dx, numbers, cubes) =
            (self.gpu.floats(batch * steps * of.channels), batch * length * of.channels, batch * pieces.count);
        let out = self.gpu.floats(numbers);
        launch!(self.gpu, back::increments, self.gpu.spread(cubes), cut.units;
            [path, states, gradient, other, dx], steps::PieceSizesLaunch::new(length, pieces.size, pieces.count, cubes), of, cut,
            begin);
        launch!(self.gpu, back::observations, each numbers; [dx, out], length, of.channels, numbers);
        out
    }

    /// How adjoints begin, in which pieces, and what they need besides the gradient.
    fn begin(&self, gradient: &Handle) -> (Begin, Pieces, Handle) {
        let (of, batch, steps) = (self.of, self.arrays.batch, self.steps());
        match self.over {
            Over::Windows(_) => (Begin::Windows, self.over.pieces(steps), self.gpu.floats(1)),
            Over::Prefixes => {
                let units = batch * of.level(of.depth);
                let summed = self.gpu.floats(units * steps);
                launch!(self.gpu, back::summed, each units; [gradient, summed], steps, units, of);
                (Begin::Every, Pieces::new(steps, steps), summed)
            }
            Over::Whole => {
                let chunks = Pieces::chunks(steps, batch, self.cut.units, self.gpu.limits());
                if chunks.count == 1 {
                    return (Begin::Windows, chunks, self.gpu.floats(1));
                }
                let Some(lower) = of.lower() else { return (Begin::Chunks, chunks, self.gpu.floats(1)) };
                let pieces = self.run(lower, chunks, None, false);
                let behind = self.chained(lower, &pieces, chunks, true).0;
                let units = batch * chunks.count * of.below();
                let ends = self.gpu.floats(units);
                launch!(self.gpu, back::ends, each units; [gradient, behind, ends], chunks.count, of.channels, units, of);
                (Begin::Chunks, chunks, ends)
            }
        }
    }
}
