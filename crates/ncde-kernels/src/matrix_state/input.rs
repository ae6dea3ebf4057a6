//! The arrays of a call, and all checks of them.

use ncde_simd::Float;

use super::MatrixState;
use crate::Error;
use crate::error::{finite, want_shape, want_some};

/// The arrays of one call, the last index running fastest.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a, T> {
    /// How many series.
    pub batch: usize,
    /// How many steps.
    pub length: usize,
    /// The decay, `[batch, length, heads]` or `[batch, length, heads, K]`; empty for [`Decay::None`](super::Decay::None).
    pub w: &'a [T],
    /// What `delta` reads the state with, `[batch, length, heads, K]`; empty without `delta`.
    pub a: &'a [T],
    /// The key to which `delta` adds what was read, shaped as `a`.
    pub c: &'a [T],
    /// Keys, `[batch, length, heads, K]`.
    pub k: &'a [T],
    /// Queries, `[batch, length, heads, K]`.
    pub q: &'a [T],
    /// Values, `[batch, length, heads, V]`.
    pub v: &'a [T],
    /// `S_0`, `[batch, heads, V, K]`; empty for zeros.
    pub initial: &'a [T],
}

/// The arrays of one step of one series, those of an [`Input`] without batch and length.
#[derive(Debug, Clone, Copy)]
pub struct Step<'a, T> {
    /// `[heads]` or `[heads, K]`, or empty.
    pub w: &'a [T],
    /// `[heads, K]`, or empty.
    pub a: &'a [T],
    /// `[heads, K]`, or empty.
    pub c: &'a [T],
    /// `[heads, K]`.
    pub k: &'a [T],
    /// `[heads, K]`.
    pub q: &'a [T],
    /// `[heads, V]`.
    pub v: &'a [T],
}

impl<'a, T> Step<'a, T> {
    /// A series of this step alone.
    pub(super) fn input(&self, initial: &'a [T]) -> Input<'a, T> {
        let &Self { w, a, c, k, q, v } = self;
        Input { batch: 1, length: 1, w, a, c, k, q, v, initial }
    }
}

/// The result of a forward pass.
#[derive(Debug, Clone, PartialEq)]
pub struct Outputs<T> {
    /// `o`, `[batch, length, heads, V]`.
    pub outputs: Vec<T>,
    /// The state after the last step, `[batch, heads, V, K]`.
    pub last: Vec<T>,
    /// What the reverse pass needs, see [`MatrixState::checkpoints`].
    pub checkpoints: Vec<T>,
}

/// The gradient of a loss in each array of an [`Input`].
#[derive(Debug, Clone, PartialEq)]
pub struct Gradients<T> {
    /// In the decay.
    pub w: Vec<T>,
    /// In `a`.
    pub a: Vec<T>,
    /// In `c`.
    pub c: Vec<T>,
    /// In the keys.
    pub k: Vec<T>,
    /// In the queries.
    pub q: Vec<T>,
    /// In the values.
    pub v: Vec<T>,
    /// In `S_0`, `[batch, heads, V, K]`, also where none was given.
    pub initial: Vec<T>,
}

impl MatrixState {
    /// The names, numbers and widths of the arrays with a row for each step and head.
    fn arrays<'a, T>(&self, input: &Input<'a, T>) -> [(&'static str, &'a [T], (&'static str, usize)); 6] {
        let &Input { w, a, c, k, q, v, .. } = input;
        let of_delta = ("# keys of delta", if self.delta { self.keys } else { 0 });
        let (keys, values) = (("# keys", self.keys), ("# values", self.values));
        let decay = ("# of the decay", self.decay.numbers(self.keys));
        [("w", w, decay), ("a", a, of_delta), ("c", c, of_delta), ("k", k, keys), ("q", q, keys), ("v", v, values)]
    }

    /// Checks the sizes of all arrays.
    pub(super) fn check_sizes<T>(&self, operation: &'static str, input: &Input<'_, T>) -> Result<(), Error> {
        let &Self { heads, keys, values, .. } = self;
        let &Input { batch, length, initial, .. } = input;
        let some = [
            ("size", batch),
            ("length", length),
            ("number of heads", heads),
            ("number of keys", keys),
            ("number of values", values),
        ];
        want_some(operation, &some)?;
        let (series, heads) = (("batch #", batch), ("# heads", heads));
        for (what, array, width) in self.arrays(input) {
            want_shape(operation, what, array.len(), &[series, ("length #", length), heads, width])?;
        }
        let shape = [series, heads, ("# values", values), ("# keys", keys)];
        if initial.is_empty() { Ok(()) } else { want_shape(operation, "the initial state", initial.len(), &shape) }
    }

    /// Refuses NaN and infinities. Each makes a result so, whatever it is multiplied by: this is called where a result is not finite, to say
    /// why, and no other call reads its arrays twice.
    pub(super) fn check_finite<T: Float>(&self, operation: &'static str, input: &Input<'_, T>) -> Result<(), Error> {
        let &Self { heads, keys, values, .. } = self;
        for (what, array, (_, width)) in self.arrays(input) {
            finite(operation, what, array, |i| {
                let row = i / width;
                let (series, step) = (row / (input.length * heads), row / heads % input.length);
                format!("series {series}, step {step}, head {}, number {}", row % heads, i % width)
            })?;
        }
        finite(operation, "the initial state", input.initial, |i| {
            let row = i / keys;
            let (series, head) = (row / (values * heads), row / values % heads);
            format!("series {series}, head {head}, value {}, key {}", row % values, i % keys)
        })
    }
}
