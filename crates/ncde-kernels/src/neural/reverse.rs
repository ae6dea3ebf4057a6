//! The reverse pass of one evaluation, `g` being the gradient in `F`.
//!
//! ```text
//! u_L^j' = tau'_j g                                    t_{l-1}^j' = u_l^j' W_l^T,   u_l^j' = s'(z_l) t_l^j'
//! f_i'   = c_i g + sum_j Lambda_ij v_j'                z_l' = s'(z_l) x_l' + s''(z_l) sum_j u_l^j t_l^j'
//! z_L'   = tau' f' + tau''_j u_L^j g                   x_{l-1}' = z_l' W_l^T
//! W_l'  += x_{l-1}^T z_l' + sum_j t_{l-1}^j^T u_l^j'   b_l' += z_l'
//! ```
//!
//! Tangents come first, as the value pass needs what they add to `z'`. Gradients of weights wait until some stages are done, and are
//! then one product each.

use std::ops::Range;

use ncde_simd::{Float, Kernel, Number, Simd, call};

use super::Controls;
use super::buffer::Buffer;
use super::field::Tangents;
use super::network::Last;
use super::packed::Packed;
use super::product::{Outer, Rows, RowsMut, Sum};
use super::solver::MOST_STAGES;
use super::tape::{Drive, Sizes, Tape, refill, resize};

/// Gradients in what the stages of a few steps computed.
#[derive(Debug, Default)]
pub(crate) struct Adjoint<T> {
    /// `z_l'` and `u_l^j'`, as [`Tape::x`]; in place of the state `h'` and `v_j'`, of one slot alone.
    pub(crate) z: Vec<Buffer<T>>,
    /// `z_L'` and at depth 2 `u_L^j'`: `[slots, 1 or 2, B, d H]`.
    last: Buffer<T>,
    /// `sum_j Lambda_ji v_j'`: `[B, d H]`.
    mixed: Buffer<T>,
    /// `x_l'` of the layer at hand.
    x: Buffer<T>,
    /// `f_p . v_q'`, `[B, d, d]`, where controls have gradients.
    pub(crate) pairs: Vec<T>,
}

impl<T: Float> Adjoint<T> {
    pub(crate) fn reset(&mut self, sizes: &Sizes, controls: Controls) {
        let &Sizes { b, d, tangents, rows, outputs, slots, .. } = sizes;
        let pairs = if controls == Controls::Variable { b * d * d * tangents.min(1) } else { 0 };
        refill(&mut self.pairs, pairs, T::ZERO);
        resize(&mut self.z, &sizes.widths, slots * rows);
        self.last.reset(slots * (1 + tangents.min(1)) * b * outputs);
        self.mixed.reset(b * outputs);
        self.x.reset(b * sizes.widths.iter().copied().max().unwrap_or_default());
    }
}

/// From `g` to `h'`, which is left in the first rows of `z[0]`.
pub(crate) struct Reverse<'a, T: Float> {
    pub(crate) sizes: &'a Sizes,
    pub(crate) packed: &'a Packed<T>,
    pub(crate) last: Last,
    pub(crate) drive: &'a Drive<T>,
    pub(crate) slot: usize,
    pub(crate) tape: &'a mut Tape<T>,
    pub(crate) adjoint: &'a mut Adjoint<T>,
    pub(crate) weights: &'a mut Weights<T>,
    /// `g`, `[B, H]`.
    pub(crate) gradient: &'a [T],
}

impl<T: Float> Kernel for Reverse<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(mut self, simd: S) {
        if self.sizes.tangents > 0 {
            let &Sizes { b, h, outputs, .. } = self.sizes;
            let f = &self.tape.f[self.slot * b * outputs..][..b * outputs];
            let u = &mut self.adjoint.last[(2 * self.slot + 1) * b * outputs..][..b * outputs];
            call(simd, Seed { last: self.last, h, g: self.gradient, f, u });
        }
        for channels in self.sizes.groups() {
            if self.sizes.at_once() {
                self.tangents(simd, channels);
                continue;
            }
            // The slot has held other channels since: these are computed again, and their part of the gradients is taken at once.
            let Self { sizes, packed, drive, slot, ref mut tape, .. } = self;
            call(simd, Tangents { sizes, packed, drive, slot, channels: channels.clone(), tape });
            self.tangents(simd, channels.clone());
            let Self { ref tape, ref adjoint, ref mut weights, .. } = self;
            call(simd, Collect { sizes, slots: slot..slot + 1, which: Which::Tangents(channels), tape, adjoint, weights });
        }
        self.values(simd);
    }
}

impl<T: Float> Reverse<'_, T> {
    /// Where the rows of layer `l` start, and the width of a row.
    #[inline(always)]
    fn start(&self, l: usize) -> (usize, usize) {
        let n = self.sizes.widths[l];
        (if l == 0 { 0 } else { self.slot * self.sizes.rows * n }, n)
    }

    #[inline(always)]
    fn tangents<S: Simd>(&mut self, simd: S, channels: Range<usize>) {
        let &Sizes { b, d, h, outputs, tangents, .. } = self.sizes;
        let (count, top) = (channels.len(), self.sizes.top());
        let sum = if channels.start == 0 { Sum::Set } else { Sum::Add };
        let (at, n) = self.start(top);
        let u = &self.adjoint.last[(2 * self.slot + 1) * b * outputs..][..b * outputs];
        for (row, j) in channels.clone().enumerate() {
            let a = Rows { values: &u[j * h..], stride: outputs };
            let c = RowsMut { values: &mut self.adjoint.z[top][at + (1 + row) * b * n..], stride: n };
            self.packed.last_back.multiply_part(simd, b, a, j * h, (j + 1) * h, c);
        }
        for l in (1..=top).rev() {
            let ((at, n), (below, m)) = (self.start(l), self.start(l - 1));
            let own = self.slot * b * n..(self.slot + 1) * b * n;
            let (z, t) = self.adjoint.z[l][at..][..(1 + count) * b * n].split_at_mut(b * n);
            let (first, second) = (&self.tape.first[l - 1][own.clone()], &self.tape.second[l - 1][own]);
            let u = &self.tape.u[l - 1][self.slot * tangents * b * n..][..count * b * n];
            call(simd, Bend { sum, first, second, u, t, z });
            let (before, after) = self.adjoint.z.split_at_mut(l);
            let a = Rows { values: &after[0][at + b * n..], stride: n };
            let c = RowsMut { values: &mut before[l - 1][below + b * m..], stride: m };
            self.packed.hidden_back[l - 1].multiply(simd, count * b, a, c);
        }
        for i in 0..b {
            let c = RowsMut { values: &mut self.adjoint.mixed[i * outputs..], stride: h };
            let a = Rows { values: &self.drive.pairs[(i * d + channels.start) * d..], stride: d };
            let b = Rows { values: &self.adjoint.z[0][(b + i) * h..], stride: b * h };
            let shape = [d, self.sizes.registers::<T>()];
            call(simd, Outer { a, b, starts: &[(0, 0)], count, shape, sum, c });
        }
        for (at, pair) in self.adjoint.pairs.iter_mut().enumerate() {
            let (i, p, q) = (at / (d * d), at / d % d, at % d);
            if channels.contains(&q) {
                let f = &self.tape.f[(self.slot * b + i) * outputs + p * h..][..h];
                let v = &self.adjoint.z[0][((1 + q - channels.start) * b + i) * h..][..h];
                *pair = T::dot(simd, f, v);
            }
        }
    }

    #[inline(always)]
    fn values<S: Simd>(&mut self, simd: S) {
        let &Sizes { b, h, tangents, outputs, .. } = self.sizes;
        let own = self.slot * b * outputs..(self.slot + 1) * b * outputs;
        let top = self.sizes.top();
        let Adjoint { z, last, mixed, x, .. } = &mut *self.adjoint;
        let out = &mut last[(1 + tangents.min(1)) * own.start..][..b * outputs];
        let v = self.tape.v.get(own.clone()).unwrap_or_default();
        let (g, letters) = (self.gradient, &self.drive.letters);
        call(simd, Output { last: self.last, h, g, letters, f: &self.tape.f[own], v, mixed, out });
        let a = Rows { values: out, stride: outputs };
        let n = self.sizes.widths[top];
        let c = RowsMut { values: if top == 0 { &mut z[0] } else { x }, stride: n };
        self.packed.last_back.multiply(simd, b, a, c);
        for l in (1..=top).rev() {
            let (n, m) = (self.sizes.widths[l], self.sizes.widths[l - 1]);
            let at = self.slot * self.sizes.rows * n;
            let (before, after) = z.split_at_mut(l);
            let own = &mut after[0][at..][..b * n];
            let first = &self.tape.first[l - 1][self.slot * b * n..][..b * n];
            // Tangents have left their part.
            let sum = if tangents > 0 { Sum::Add } else { Sum::Set };
            call(simd, Through { sum, first, x: &x[..b * n], z: own });
            let c = RowsMut { values: if l == 1 { &mut before[0] } else { x }, stride: m };
            self.packed.hidden_back[l - 1].multiply(simd, b, Rows { values: own, stride: n }, c);
        }
    }
}

/// `u_L^j' = tau'_j g`.
struct Seed<'a, T> {
    last: Last,
    h: usize,
    g: &'a [T],
    f: &'a [T],
    u: &'a mut [T],
}

impl<T: Float> Kernel for Seed<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        let Self { last, h, g, f, u } = self;
        let d = f.len() / g.len();
        for (i, (f, u)) in f.chunks_exact(h).zip(u.chunks_exact_mut(h)).enumerate() {
            let g = &g[i / d * h..][..h];
            match last {
                Last::Tanh => {
                    for ((u, &f), &g) in u.iter_mut().zip(f).zip(g) {
                        *u = (T::ONE - f * f) * g;
                    }
                }
                Last::Linear => u.copy_from_slice(g),
            }
        }
    }
}

/// `z' = s'' sum_j u^j t^j'`, or that added, and `t^j' <- s' t^j'`.
struct Bend<'a, T> {
    sum: Sum,
    first: &'a [T],
    second: &'a [T],
    u: &'a [T],
    t: &'a mut [T],
    z: &'a mut [T],
}

impl<T: Float> Kernel for Bend<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Self { sum: before, first, second, u, t, z } = self;
        let (lanes, n) = (T::Register::WIDTH, z.len());
        for at in (0..n).step_by(lanes) {
            let p = T::Register::read(&first[at..]);
            let mut sum = T::Register::zero();
            for (u, t) in u.chunks_exact(n).zip(t.chunks_exact_mut(n)) {
                let (u, t) = (&u[at..at + lanes], &mut t[at..at + lanes]);
                let own = T::Register::read(t);
                sum = own.fma(simd, T::Register::read(u), sum);
                own.times(simd, p).write(t);
            }
            let z = &mut z[at..at + lanes];
            let start = if before == Sum::Add { T::Register::read(z) } else { T::Register::zero() };
            sum.fma(simd, T::Register::read(&second[at..]), start).write(z);
        }
    }
}

/// `z_L' = tau' (c_i g - sum_j Lambda_ji v_j') + tau'' u_L g`.
struct Output<'a, T> {
    last: Last,
    h: usize,
    g: &'a [T],
    letters: &'a [T],
    f: &'a [T],
    v: &'a [T],
    mixed: &'a [T],
    out: &'a mut [T],
}

impl<T: Float> Kernel for Output<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        let Self { last, h, g, letters, f, v, mixed, out } = self;
        let (d, two) = (f.len() / g.len(), T::ONE + T::ONE);
        for (i, (out, &c)) in out.chunks_exact_mut(h).zip(letters).enumerate() {
            let own = i * h..(i + 1) * h;
            let (g, f) = (&g[i / d * h..][..h], &f[own.clone()]);
            match (last, v.get(own.clone())) {
                (Last::Linear, None) => {
                    for (out, &g) in out.iter_mut().zip(g) {
                        *out = c * g;
                    }
                }
                (Last::Linear, Some(_)) => {
                    for ((out, &g), &mixed) in out.iter_mut().zip(g).zip(&mixed[own]) {
                        *out = c * g - mixed;
                    }
                }
                (Last::Tanh, None) => {
                    for ((out, &g), &f) in out.iter_mut().zip(g).zip(f) {
                        *out = (T::ONE - f * f) * c * g;
                    }
                }
                (Last::Tanh, Some(v)) => {
                    for ((out, &g), ((&f, &v), &mixed)) in out.iter_mut().zip(g).zip(f.iter().zip(v).zip(&mixed[own])) {
                        *out = (T::ONE - f * f) * ((c - two * f * v) * g - mixed);
                    }
                }
            }
        }
    }
}

/// `z' = s' x'`, or that added.
struct Through<'a, T> {
    sum: Sum,
    first: &'a [T],
    x: &'a [T],
    z: &'a mut [T],
}

impl<T: Float> Kernel for Through<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        let Self { sum, first, x, z } = self;
        for ((z, &x), &first) in z.iter_mut().zip(x).zip(first) {
            *z = if sum == Sum::Add { *z + first * x } else { first * x };
        }
    }
}

/// Gradients of weights, `[inputs, padded outputs]`, and biases.
#[derive(Debug, Default)]
pub(crate) struct Weights<T> {
    pub(crate) weight: Vec<Buffer<T>>,
    pub(crate) bias: Vec<Buffer<T>>,
}

impl<T: Float> Weights<T> {
    pub(crate) fn reset(&mut self, sizes: &Sizes) {
        let outputs = sizes.widths[1..].iter().copied().chain([sizes.outputs]);
        let layers = sizes.inputs.len();
        self.weight.resize_with(layers, Buffer::default);
        self.bias.resize_with(layers, Buffer::default);
        for (l, n) in outputs.enumerate() {
            self.weight[l].reset(sizes.inputs[l] * n);
            self.bias[l].reset(n);
        }
    }
}

/// Which rows of a slot.
#[derive(Debug, Clone)]
pub(crate) enum Which {
    All,
    Values,
    /// The tangents of these channels.
    Tangents(Range<usize>),
}

/// Adds what some slots say about the weights.
pub(crate) struct Collect<'a, T> {
    pub(crate) sizes: &'a Sizes,
    pub(crate) slots: Range<usize>,
    pub(crate) which: Which,
    pub(crate) tape: &'a Tape<T>,
    pub(crate) adjoint: &'a Adjoint<T>,
    pub(crate) weights: &'a mut Weights<T>,
}

impl<T: Float> Kernel for Collect<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(mut self, simd: S) {
        let &Sizes { b, d, tangents, rows, outputs, h, .. } = self.sizes;
        let (first, count, top) = (self.slots.start, self.slots.len(), self.sizes.top());
        let together = 1 + tangents.min(1);
        let mut starts = [(0, 0); 2 * MOST_STAGES];
        for l in 0..top {
            let (n, m) = (self.sizes.widths[l], self.sizes.widths[l + 1]);
            match &self.which {
                Which::All => self.layer(simd, l, 0..m, &[(first * rows * n, first * rows * m)], count * rows),
                Which::Values => {
                    for (start, slot) in starts.iter_mut().zip(self.slots.clone()) {
                        *start = (slot * rows * n, slot * rows * m);
                    }
                    self.layer(simd, l, 0..m, &starts[..count], b);
                }
                Which::Tangents(channels) => {
                    let (at, len) = (first * rows + b, channels.len());
                    self.layer(simd, l, 0..m, &[(at * n, at * m)], len * b);
                }
            }
        }
        let n = self.sizes.widths[top];
        let last = |slot: usize, part: usize, j: usize| (together * slot + part) * b * outputs + j * h;
        match self.which.clone() {
            Which::All if tangents == 0 => self.layer(simd, top, 0..outputs, &[(first * b * n, first * b * outputs)], count * b),
            Which::All => {
                for j in 0..d {
                    // The values' rows, and those of the j-th tangent, in every slot.
                    for (start, slot) in starts.chunks_exact_mut(2).zip(self.slots.clone()) {
                        start[0] = (slot * rows * n, last(slot, 0, j));
                        start[1] = ((slot * rows + (1 + j) * b) * n, last(slot, 1, j));
                    }
                    self.layer(simd, top, j * h..(j + 1) * h, &starts[..2 * count], b);
                }
            }
            Which::Values => {
                for (start, slot) in starts.iter_mut().zip(self.slots.clone()) {
                    *start = (slot * rows * n, last(slot, 0, 0));
                }
                self.layer(simd, top, 0..outputs, &starts[..count], b);
            }
            Which::Tangents(channels) => {
                for (row, j) in channels.enumerate() {
                    let start = ((first * rows + (1 + row) * b) * n, last(first, 1, j));
                    self.layer(simd, top, j * h..(j + 1) * h, &[start], b);
                }
            }
        }
        if !matches!(self.which, Which::Tangents(_)) {
            self.biases(simd);
        }
    }
}

impl<T: Float> Collect<'_, T> {
    /// Some columns of the gradient of one weight, from `count` rows of each start.
    #[inline(always)]
    fn layer<S: Simd>(&mut self, simd: S, l: usize, columns: Range<usize>, starts: &[(usize, usize)], count: usize) {
        let top = self.sizes.top();
        let a = Rows { values: &self.tape.x[l], stride: self.sizes.widths[l] };
        let (z, stride) =
            if l == top { (&self.adjoint.last, self.sizes.outputs) } else { (&self.adjoint.z[l + 1], self.sizes.widths[l + 1]) };
        let c = RowsMut { values: &mut self.weights.weight[l][columns.start..], stride };
        // Where rows of the last layer start says which columns; other layers have all of theirs.
        let shape = [self.sizes.inputs[l], columns.len() / T::Register::WIDTH];
        call(simd, Outer { a, b: Rows { values: z, stride }, starts, count, shape, sum: Sum::Add, c });
    }

    #[inline(always)]
    fn biases<S: Simd>(&mut self, simd: S) {
        let &Sizes { b, tangents, rows, outputs, .. } = self.sizes;
        let top = self.sizes.top();
        for slot in self.slots.clone() {
            for l in 0..top {
                let m = self.sizes.widths[l + 1];
                let rows = &self.adjoint.z[l + 1][slot * rows * m..][..b * m];
                call(simd, Columns { rows, sum: &mut self.weights.bias[l] });
            }
            let own = (1 + tangents.min(1)) * slot * b * outputs;
            call(simd, Columns { rows: &self.adjoint.last[own..][..b * outputs], sum: &mut self.weights.bias[top] });
        }
    }
}

/// Adds rows up.
struct Columns<'a, T> {
    rows: &'a [T],
    sum: &'a mut [T],
}

impl<T: Float> Kernel for Columns<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        for row in self.rows.chunks_exact(self.sum.len()) {
            for (sum, &x) in self.sum.iter_mut().zip(row) {
                *sum += x;
            }
        }
    }
}
