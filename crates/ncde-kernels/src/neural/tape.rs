//! The values that the stages of a few steps store for their reverse pass, and the controls of the current stage.
//!
//! A stage has a slot in each array: the values of `B` samples, then at depth 2 their tangents, channel by channel, so that a layer is
//! one matrix product over the rows of a slot and a gradient of its weight one over the rows of several slots. With many channels a
//! slot has room for the tangents of a few of them.

use std::ops::Range;

use ncde_simd::{Buffer, Float, Number};

use super::packed::padded;
use super::{Depth, Input, Solve};

/// The sizes of a group of samples.
#[derive(Debug)]
pub(crate) struct Sizes {
    /// Samples.
    pub(crate) b: usize,
    /// Channels.
    pub(crate) d: usize,
    /// `d` rounded up to whole registers.
    pub(crate) d_padded: usize,
    /// The directions of the tangents.
    pub(crate) directions: Directions,
    /// Directions whose tangents go through the layers together; 0 at depth 1.
    pub(crate) tangents: usize,
    /// Rows of a slot.
    pub(crate) rows: usize,
    /// Padded widths of the state and the hidden layers.
    pub(crate) widths: Vec<usize>,
    /// The same without padding.
    pub(crate) inputs: Vec<usize>,
    /// The padded width of the state.
    pub(crate) h: usize,
    /// The padded width of all outputs.
    pub(crate) outputs: usize,
    /// The stages of a step.
    pub(crate) stages: usize,
    /// Slots: some steps of stages.
    pub(crate) slots: usize,
}

/// The directions in which hidden layers are differentiated at depth 2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Directions {
    /// `v_j` for each channel.
    Channels,
    /// The unit vectors of the state, where they are fewer: `t^j = sum_e v_j[e] t^e` gives those of the channels behind the hidden
    /// layers.
    States,
}

/// At depth 1 the gradients of weights are summed over about this many rows at once; at depth 2 the tangents of one step are enough rows.
const GRADIENT_ROWS: usize = 128;

/// The most rows of tangents that are stored for the reverse pass. More would not fit the second-level cache, and it is faster to
/// take a few channels at a time, about `GROUP_ROWS` rows, and to compute their tangents again.
const MAX_ROWS: usize = 256;
const GROUP_ROWS: usize = 96;

impl Sizes {
    pub(crate) fn new<T: Float>(solve: &Solve, b: usize) -> Self {
        let network = solve.network();
        let inputs: Vec<usize> = (0..network.layers()).map(|l| network.layer(l).inputs).collect();
        let d = network.channels();
        // Unit vectors save products between hidden layers, so there must be two.
        let (few, deep) = (network.hidden() < d && network.hidden() * b <= MAX_ROWS, inputs.len() > 2);
        let (directions, tangents) = match solve.depth() {
            Depth::One => (Directions::Channels, 0),
            Depth::Two if few && deep => (Directions::States, network.hidden()),
            Depth::Two if d * b <= MAX_ROWS => (Directions::Channels, d),
            Depth::Two => (Directions::Channels, d.div_ceil((d * b).div_ceil(GROUP_ROWS))),
        };
        let (rows, stages) = ((1 + tangents) * b, solve.method().stages());
        let steps = if tangents > 0 { 1 } else { GRADIENT_ROWS.div_ceil(rows * stages) };
        let h = padded::<T>(network.hidden());
        let widths = inputs.iter().map(|&n| padded::<T>(n)).collect();
        Self {
            b,
            d,
            d_padded: padded::<T>(d),
            directions,
            tangents,
            rows,
            widths,
            inputs,
            h,
            outputs: d * h,
            stages,
            slots: steps * stages,
        }
    }

    /// The last of the arrays of rows.
    pub(crate) fn top(&self) -> usize {
        self.widths.len() - 1
    }

    /// Whether all channels go through the layers together.
    pub(crate) fn at_once(&self) -> bool {
        self.tangents == 0 || self.tangents == self.d || self.directions == Directions::States
    }

    /// The channels that go through the layers together, group by group; none at depth 1.
    pub(crate) fn groups(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        let d = if self.tangents > 0 { self.d } else { 0 };
        let together = if self.at_once() { self.d } else { self.tangents };
        (0..d).step_by(together).map(move |first| first..d.min(first + together))
    }

    /// Registers of a state.
    pub(crate) fn registers<T: Float>(&self) -> usize {
        self.h / T::Register::WIDTH
    }
}

/// The arrays of the stages.
#[derive(Debug, Default)]
pub(crate) struct Tape<T> {
    /// `x_l` and the tangents `t_l^j`: `[slots, (1 + tangents) B, n_l]`, from the state on.
    pub(crate) x: Vec<Buffer<T>>,
    /// `s'` and `s''` before `x_{l+1}`: `[slots, B, n_{l+1}]`.
    pub(crate) first: Vec<Buffer<T>>,
    pub(crate) second: Vec<Buffer<T>>,
    /// The tangents before `s'`: `[slots, tangents B, n_{l+1}]`.
    pub(crate) u: Vec<Buffer<T>>,
    /// `f`, and at depth 2 the j-th block of the j-th tangent before `tau'`: `[slots, B, d H]`.
    pub(crate) f: Buffer<T>,
    pub(crate) v: Buffer<T>,
    /// With unit vectors for directions, the tangents of the channels behind the hidden layers: `[slots, d B, n_{L-1}]`.
    pub(crate) w: Buffer<T>,
    /// `v_j[e]`, `[H, d]`, of the current sample.
    pub(crate) mixed: Buffer<T>,
}

impl<T: Float> Tape<T> {
    pub(crate) fn reset(&mut self, sizes: &Sizes, slots: usize) {
        let &Sizes { b, tangents, rows, outputs, .. } = sizes;
        let hidden = &sizes.widths[1..];
        resize(&mut self.x, &sizes.widths, slots * rows);
        resize(&mut self.first, hidden, slots * b);
        resize(&mut self.second, hidden, slots * b * tangents.min(1));
        resize(&mut self.u, hidden, slots * b * tangents);
        self.f.reset(slots * b * outputs);
        self.v.reset(slots * b * outputs * tangents.min(1));
        if sizes.directions == Directions::States {
            self.w.reset(slots * b * sizes.d * sizes.widths[sizes.top()]);
            self.mixed.reset(tangents * sizes.d_padded);
            for (row, x) in self.x[0].chunks_exact_mut(sizes.h).enumerate() {
                // Rows of values come first.
                if let Some(e) = (row % rows / b).checked_sub(1) {
                    x[e] = T::ONE;
                }
            }
        }
    }
}

/// Resizes each array to `rows` rows of its width.
pub(crate) fn resize<T: Float>(arrays: &mut Vec<Buffer<T>>, widths: &[usize], rows: usize) {
    arrays.resize_with(widths.len(), Buffer::default);
    for (array, width) in arrays.iter_mut().zip(widths) {
        array.reset(rows * width);
    }
}

/// The coefficients that drive each sample in the current stage.
#[derive(Debug, Default)]
pub(crate) struct Drive<T> {
    /// `c`, `[B, d]`.
    pub(crate) letters: Vec<T>,
    /// `Lambda`, `[B, d, d]`, antisymmetric, at depth 2; rows are whole registers.
    pub(crate) pairs: Buffer<T>,
    /// The row of the control that is there, if any.
    loaded: Vec<Option<usize>>,
}

impl<T: Float> Drive<T> {
    pub(crate) fn reset(&mut self, sizes: &Sizes) {
        let &Sizes { b, d, d_padded, tangents, .. } = sizes;
        refill(&mut self.letters, b * d, T::ZERO);
        self.pairs.reset(b * d * d_padded * tangents.min(1));
        refill(&mut self.loaded, b, None);
    }

    /// Reads the rows of stage `stage` of step `step`, samples from `first` on; where `dt` is zero nothing drives.
    pub(crate) fn load(&mut self, sizes: &Sizes, input: &Input<'_, T>, first: usize, step: usize, stage: usize) {
        let &Sizes { b, d, d_padded, stages, .. } = sizes;
        let coefficients = if sizes.tangents > 0 { d + d * (d - 1) / 2 } else { d };
        for i in 0..b {
            let sample_step = (first + i) * input.steps + step;
            let row = (input.dt[sample_step] != T::ZERO).then(|| input.rows[sample_step * stages + stage]);
            if self.loaded[i] == row {
                continue;
            }
            self.loaded[i] = row;
            let letters = &mut self.letters[i * d..(i + 1) * d];
            let pairs = self.pairs.get_mut(i * d * d_padded..(i + 1) * d * d_padded).unwrap_or_default();
            let Some(row) = row else {
                letters.fill(T::ZERO);
                pairs.fill(T::ZERO);
                continue;
            };
            let row_coefficients = &input.coefficients[((first + i) * input.control + row) * coefficients..][..coefficients];
            letters.copy_from_slice(&row_coefficients[..d]);
            let mut brackets = row_coefficients[d..].iter();
            for p in 0..d {
                for q in p + 1..d {
                    if let Some(&x) = brackets.next() {
                        pairs[p * d_padded + q] = x;
                        pairs[q * d_padded + p] = -x;
                    }
                }
            }
        }
    }
}

/// Fills a vector with `len` copies of a value, in the memory it has if that is enough.
pub(crate) fn refill<V: Clone>(array: &mut Vec<V>, len: usize, value: V) {
    array.clear();
    array.resize(len, value);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::neural::{Method, Network};

    #[test]
    fn channels_go_together_where_their_rows_are_few() {
        let sizes = |channels: usize, depth, b, widths: &[usize]| {
            let network = Network::new(2, channels, widths).unwrap();
            Sizes::new::<f32>(&Solve::new(network).with_depth(depth).with_method(Method::Rk4), b)
        };
        let once = sizes(6, Depth::Two, 8, &[3]);
        assert!(once.at_once() && once.rows == 56 && once.slots == 4);
        assert_eq!((once.groups().next(), once.groups().count()), (Some(0..6), 1));
        let many = sizes(37, Depth::Two, 8, &[3]);
        assert!(!many.at_once() && many.rows == 88);
        assert_eq!(many.groups().collect::<Vec<_>>(), [0..10, 10..20, 20..30, 30..37]);
        // Two states are fewer than 37 channels, which pays between two hidden layers.
        let few = sizes(37, Depth::Two, 8, &[3, 3]);
        assert!(few.directions == Directions::States && few.at_once() && few.rows == 24);
        assert_eq!((few.groups().next(), few.groups().count()), (Some(0..37), 1));
        // At depth 1 there are none, and several steps make up enough rows for a gradient.
        let none = sizes(37, Depth::One, 8, &[3, 3]);
        assert!(none.at_once() && none.groups().next().is_none() && none.slots == 16);
    }
}
