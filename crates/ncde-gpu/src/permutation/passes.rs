//! One call: which kernels are launched in which order.

use cubecl::prelude::*;
use cubecl::server::Handle;

use super::cut::Cut;
use super::{Arrays, Gradients, PermutationDiagonal};
use crate::device::{Gpu, launch};
use crate::kernel::permutation::turn::{self, ACROSS, SIDE};
use crate::kernel::permutation::{choice, entries, lines, walk};

/// One call; sizes have been checked.
pub(super) struct Pass<'a, R: Runtime> {
    gpu: &'a Gpu<R>,
    of: PermutationDiagonal,
    cut: Cut,
    arrays: &'a Arrays,
    lengths: Handle,
    spans: Option<Handle>,
    /// The rows that are steps of a series, in order, and how many.
    places: Handle,
    steps: usize,
}

/// `s` of all rows, and the argmax index of each of their lines.
pub(super) struct Chosen {
    weights: Handle,
    pub(super) at: Handle,
}

impl<'a, R: Runtime> Pass<'a, R> {
    pub(super) fn new(gpu: &'a Gpu<R>, of: PermutationDiagonal, cut: Cut, arrays: &'a Arrays, lengths: Handle) -> Self {
        let spans = arrays.spans.as_deref().map(|spans| gpu.put(spans));
        let places = places(arrays);
        let (places, steps) = (gpu.indices(&places), places.len());
        Self { gpu, of, cut, arrays, lengths, spans, places, steps }
    }

    fn rows(&self) -> usize {
        self.arrays.batch * self.arrays.length
    }

    /// Without spans the initial state stands in for them, and is not read.
    fn spans(&self) -> &Handle {
        self.spans.as_ref().unwrap_or(&self.arrays.initial)
    }

    /// Room for so many numbers of all lines of all steps.
    fn lines(&self, numbers: usize) -> Handle {
        self.gpu.floats(numbers * self.steps * self.of.hidden)
    }

    /// Cubes that mix lines.
    fn cubes(&self) -> CubeCount {
        let tiles = self.steps.div_ceil(lines::STEPS);
        self.gpu.spread(tiles * self.cut.groups(&self.of))
    }

    /// The argmax index of each line in all steps, and with a buffer for them the largest numbers.
    pub(super) fn choose(&self, tops: Option<&Handle>) -> Chosen {
        let (gpu, steps) = (self.gpu, self.steps);
        let (weights, at) = (gpu.floats(steps * self.of.matrices), gpu.floats(self.rows() * self.of.hidden));
        // Without room for them largest numbers are not written.
        launch!(gpu, choice::weights, each steps; [self.arrays.control, self.places, weights], steps, self.of);
        launch!(gpu, lines::choose, self.cubes(), lines::STEPS;
            4; [weights, self.arrays.dictionary, self.places, at, tops.unwrap_or(&weights)], steps, self.cut.lines, self.of,
            tops.is_some());
        Chosen { weights, at }
    }

    /// The states after each step.
    pub(super) fn states(&self, at: &Handle) -> Handle {
        let &Arrays { batch, length, .. } = self.arrays;
        let states = self.gpu.floats(self.rows() * self.of.width());
        launch!(self.gpu, walk::states, self.gpu.spread(batch), self.cut.units;
            [self.arrays.control, at, self.spans(), self.lengths, self.arrays.initial, states], batch, length, self.of, self.cut.units,
            self.spans.is_some());
        states
    }

    /// All gradients.
    pub(super) fn gradients(&self, states: &Handle, gradient: &Handle) -> Gradients {
        let control = self.gpu.floats(self.rows() * self.of.columns());
        let tops = self.lines(1);
        let chosen = self.choose(Some(&tops));
        let (vectors, initial) = self.walk_back(&chosen.at, states, gradient, &control);
        let stats = self.soften(&chosen.weights, &tops, &vectors, &control);
        let dictionary = self.gather(&chosen.weights, &stats, &vectors);
        Gradients { dictionary, control, initial }
    }

    /// `e` and `l` of all steps, and the gradient in `h_0`; those in numbers of the diagonal and in the input go to their places.
    fn walk_back(&self, at: &Handle, states: &Handle, gradient: &Handle, control: &Handle) -> (Handle, Handle) {
        let (gpu, &Arrays { batch, length, .. }) = (self.gpu, self.arrays);
        let (rows, width, hidden) = (self.rows(), self.of.width(), self.of.hidden);
        let (vectors, initial) = (gpu.floats(rows * 2 * width), gpu.floats(batch * width));
        launch!(gpu, walk::adjoints, gpu.spread(batch), self.cut.units;
            [self.arrays.control, at, self.spans(), self.lengths, gradient, vectors, initial], batch, length, self.of,
            self.cut.units, self.spans.is_some());
        launch!(gpu, walk::slopes, each rows * hidden;
            [self.arrays.control, at, self.spans(), self.lengths, self.arrays.initial, states, vectors, control], length, rows * hidden,
            self.of, self.spans.is_some());
        (vectors, initial)
    }

    /// What makes `dM` of each line. Gradients of scores go to their places.
    fn soften(&self, weights: &Handle, tops: &Handle, vectors: &Handle, control: &Handle) -> Handle {
        let (gpu, steps, columns) = (self.gpu, self.steps, 2 * self.of.width());
        let groups = self.cut.groups(&self.of);
        let stats = self.lines(1 + self.of.parts());
        let (turned, parts) = (gpu.floats(steps * columns), gpu.floats(groups * steps * self.of.matrices));
        launch!(gpu, turn::turn, gpu.spread(steps.div_ceil(SIDE) * columns.div_ceil(SIDE)), SIDE * ACROSS;
            [vectors, self.places, turned], steps, columns);
        launch!(gpu, lines::soften, self.cubes(), lines::STEPS;
            4; [weights, self.arrays.dictionary, tops, turned, stats, parts], steps, self.cut.lines, self.of);
        launch!(gpu, choice::scores, each steps; [weights, parts, self.places, control], groups, steps, self.of);
        stats
    }

    /// The gradient of the dictionary.
    fn gather(&self, weights: &Handle, stats: &Handle, vectors: &Handle) -> Handle {
        let (gpu, steps, of, numbers) = (self.gpu, self.steps, self.of, self.of.dictionary());
        let splits = self.cut.splits(steps);
        let units = splits * of.hidden * of.hidden.div_ceil(entries::lines_per_unit(of));
        let out = gpu.floats(numbers);
        let parts = if splits == 1 { out.clone() } else { gpu.floats(splits * numbers) };
        launch!(gpu, entries::gather, each units;
            [weights, self.arrays.dictionary, stats, vectors, self.places, parts], steps, self.cut.steps, units, of);
        if splits > 1 {
            gpu.total_into(&parts, splits, numbers, None, &out);
        }
        out
    }
}

/// The rows that are steps of a series.
fn places(arrays: &Arrays) -> Vec<u32> {
    let length_of = |series: usize| arrays.lengths.as_ref().map_or(arrays.length, |lengths| lengths[series]);
    (0..arrays.batch).flat_map(|series| (0..length_of(series)).map(move |t| (series * arrays.length + t) as u32)).collect()
}
