//! The reverse pass of one evaluation, `g` being the gradient in `F`.
//!
//! ```text
//! u_L^j' = tau'_j g                                    t_{l-1}^j' = u_l^j' W_l^T,   u_l^j' = s'(z_l) t_l^j'
//! f_i'   = c_i g + sum_j Lambda_ij v_j'                z_l' = s'(z_l) x_l' + s''(z_l) sum_j u_l^j t_l^j'
//! z_L'   = tau' f' + tau''_j u_L^j g                   x_{l-1}' = z_l' W_l^T
//! ```
//!
//! Tangents come first, as the value pass needs what they add to `z'`. Gradients of weights wait until some stages are done, and are
//! then one product each.

use std::ops::Range;

use ncde_simd::{Buffer, Float, Kernel, Number, Simd, call, outlined};

use super::Controls;
use super::collect::{Collect, SlotRows, Weights};
use super::field::{Stage, tangents};
use super::network::Last;
use super::product::{Outer, Panels, Rows, RowsMut, Sum};
use super::tape::{Directions, Sizes, Tape, refill, resize};

/// Gradients in what the stages of a few steps computed.
#[derive(Debug, Default)]
pub(crate) struct Adjoint<T: Float> {
    /// `z_l'` and `u_l^j'`, as [`Tape::x`]; in place of the state `h'`, of one slot alone.
    pub(crate) z: Vec<Buffer<T>>,
    /// `v_j'` of the current channels: `[channels, B, H]`.
    v: Buffer<T>,
    /// With unit vectors for directions, gradients in the tangents of the channels behind the hidden layers, `[d, B, n]`; `v_j` and
    /// the tangents of the unit vectors of the current sample, the latter by columns.
    w: Buffer<T>,
    directions: Buffer<T>,
    columns: Panels<T::Register>,
    /// `z_L'` and at depth 2 `u_L^j'`: `[slots, 1 or 2, B, d H]`.
    pub(crate) last: Buffer<T>,
    /// `sum_j Lambda_ji v_j'`: `[B, d H]`.
    mixed: Buffer<T>,
    /// `x_l'` of the current layer.
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
        self.v.reset(b * outputs * tangents.min(1));
        if sizes.directions == Directions::States {
            self.w.reset(b * d * sizes.widths[sizes.top()]);
            self.directions.reset(outputs);
        }
        self.x.reset(b * sizes.widths.iter().copied().max().unwrap_or_default());
    }
}

/// From `g` to `h'`, which is left in the first rows of `z[0]`.
pub(crate) struct Reverse<'a, T: Float> {
    pub(crate) stage: Stage<'a, T>,
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
        if self.stage.sizes.tangents > 0 {
            let &Sizes { b, h, outputs, .. } = self.stage.sizes;
            let f = &self.tape.f[self.stage.slot * b * outputs..][..b * outputs];
            let u = &mut self.adjoint.last[(2 * self.stage.slot + 1) * b * outputs..][..b * outputs];
            seed(simd, self.stage.network.last(), h, [self.gradient, f], u);
        }
        for channels in self.stage.sizes.groups() {
            if self.stage.sizes.at_once() {
                self.tangents(simd, channels);
                continue;
            }
            // The slot has held other channels since: these are computed again, and their part of the gradients is taken at once.
            tangents(simd, self.stage, channels.clone(), self.tape);
            self.tangents(simd, channels.clone());
            let Self { stage: Stage { sizes, slot, .. }, ref tape, ref adjoint, ref mut weights, .. } = self;
            let rows_of_slot = SlotRows::Tangents(channels);
            call(simd, Collect { sizes, slots: slot..slot + 1, rows_of_slot, tape, adjoint, weights });
        }
        self.values(simd);
    }
}

impl<T: Float> Reverse<'_, T> {
    /// Where the rows of layer `l` start, and the width of a row.
    #[inline(always)]
    fn start(&self, l: usize) -> (usize, usize) {
        let n = self.stage.sizes.widths[l];
        (if l == 0 { 0 } else { self.stage.slot * self.stage.sizes.rows * n }, n)
    }

    #[inline(always)]
    fn tangents<S: Simd>(&mut self, simd: S, channels: Range<usize>) {
        let &Sizes { b, d, d_padded, h, outputs, tangents, .. } = self.stage.sizes;
        let top = self.stage.sizes.top();
        let count = if self.stage.sizes.directions == Directions::States { tangents } else { channels.len() };
        let sum = if channels.start == 0 { Sum::Set } else { Sum::Add };
        let (at, n) = self.start(top);
        let states = self.stage.sizes.directions == Directions::States;
        let u = &self.adjoint.last[(2 * self.stage.slot + 1) * b * outputs..][..b * outputs];
        for (row, j) in channels.clone().enumerate() {
            let a = Rows { values: &u[j * h..], stride: outputs };
            let tangents = match (states, top) {
                (true, _) => &mut self.adjoint.w[..],
                (false, 0) => &mut self.adjoint.v[..],
                (false, _) => &mut self.adjoint.z[top][at + b * n..],
            };
            let c = RowsMut { values: &mut tangents[row * b * n..], stride: n };
            self.stage.packed.last_back.multiply_part(simd, b, a, j * h, (j + 1) * h, c);
        }
        if states {
            self.behind(simd);
        }
        for l in (1..=top).rev() {
            let ((at, n), (below, m)) = (self.start(l), self.start(l - 1));
            let rows = self.stage.slot * b * n..(self.stage.slot + 1) * b * n;
            let (z, t) = self.adjoint.z[l][at..][..(1 + count) * b * n].split_at_mut(b * n);
            let (first, second) = (&self.tape.first[l - 1][rows.clone()], &self.tape.second[l - 1][rows]);
            let u = &self.tape.u[l - 1][self.stage.slot * tangents * b * n..][..count * b * n];
            bend(simd, sum, [first, second, u], t, z);
            if states && l == 1 {
                // Unit vectors have no gradient.
                break;
            }
            let (before, after) = self.adjoint.z.split_at_mut(l);
            let a = Rows { values: &after[0][at + b * n..], stride: n };
            let below = if l == 1 { &mut self.adjoint.v[..] } else { &mut before[l - 1][below + b * m..] };
            let c = RowsMut { values: below, stride: m };
            self.stage.packed.hidden_back[l - 1].multiply(simd, count * b, a, c);
        }
        for i in 0..b {
            let c = RowsMut { values: &mut self.adjoint.mixed[i * outputs..], stride: h };
            let a = Rows { values: &self.stage.drive.pairs[(i * d + channels.start) * d_padded..], stride: d_padded };
            let b = Rows { values: &self.adjoint.v[i * h..], stride: b * h };
            let shape = [d, self.stage.sizes.registers::<T>()];
            call(simd, Outer { a, b, starts: &[(0, 0)], count: channels.len(), shape, sum, c });
        }
        for (at, pair) in self.adjoint.pairs.iter_mut().enumerate() {
            let (i, p, q) = (at / (d * d), at / d % d, at % d);
            if channels.contains(&q) {
                let f = &self.tape.f[(self.stage.slot * b + i) * outputs + p * h..][..h];
                let v = &self.adjoint.v[((q - channels.start) * b + i) * h..][..h];
                *pair = T::dot(simd, f, v);
            }
        }
    }

    /// From the tangents of the channels to those of the unit vectors and to `v_j'`: `t^e' = sum_j v_j[e] t^j'`, `v_j'[e] = t^j' . t^e`.
    #[inline(always)]
    fn behind<S: Simd>(&mut self, simd: S) {
        let &Sizes { b, d, d_padded, h, outputs, tangents, rows, .. } = self.stage.sizes;
        let (top, lanes, slot) = (self.stage.sizes.top(), T::Register::WIDTH, self.stage.slot);
        let (at, n) = self.start(top);
        let Adjoint { z, v, w, directions, columns, .. } = &mut *self.adjoint;
        for i in 0..b {
            let a = Rows { values: &self.stage.drive.pairs[i * d * d_padded..], stride: d_padded };
            let f = Rows { values: &self.tape.f[(slot * b + i) * outputs..], stride: h };
            let c = RowsMut { values: directions, stride: h };
            call(simd, Outer { a, b: f, starts: &[(0, 0)], count: d, shape: [d, h / lanes], sum: Sum::Set, c });
            let a = Rows { values: directions, stride: h };
            let t = Rows { values: &w[i * n..], stride: b * n };
            let c = RowsMut { values: &mut z[top][at + (b + i) * n..], stride: b * n };
            call(simd, Outer { a, b: t, starts: &[(0, 0)], count: d, shape: [tangents, n / lanes], sum: Sum::Set, c });
            let unit = Rows { values: &self.tape.x[top][(slot * rows + b + i) * n..], stride: b * n };
            columns.transpose(simd, self.stage.sizes.inputs[top], tangents, unit);
            columns.multiply(simd, d, t, RowsMut { values: &mut v[i * h..], stride: b * h });
        }
    }

    #[inline(always)]
    fn values<S: Simd>(&mut self, simd: S) {
        let &Sizes { b, h, tangents, outputs, .. } = self.stage.sizes;
        let slot_outputs = self.stage.slot * b * outputs..(self.stage.slot + 1) * b * outputs;
        let top = self.stage.sizes.top();
        let Adjoint { z, last, mixed, x, .. } = &mut *self.adjoint;
        let out = &mut last[(1 + tangents.min(1)) * slot_outputs.start..][..b * outputs];
        let v = self.tape.v.get(slot_outputs.clone()).unwrap_or_default();
        output(
            simd,
            (self.stage.network.last(), h),
            &self.stage.drive.letters,
            [self.gradient, &self.tape.f[slot_outputs], v, mixed],
            out,
        );
        let a = Rows { values: out, stride: outputs };
        let n = self.stage.sizes.widths[top];
        let c = RowsMut { values: if top == 0 { &mut z[0] } else { x }, stride: n };
        self.stage.packed.last_back.multiply(simd, b, a, c);
        for l in (1..=top).rev() {
            let (n, m) = (self.stage.sizes.widths[l], self.stage.sizes.widths[l - 1]);
            let at = self.stage.slot * self.stage.sizes.rows * n;
            let (before, after) = z.split_at_mut(l);
            let d_z = &mut after[0][at..][..b * n];
            let first = &self.tape.first[l - 1][self.stage.slot * b * n..][..b * n];
            // Tangents have left their part.
            let sum = if tangents > 0 { Sum::Add } else { Sum::Set };
            through(simd, sum, [first, &x[..b * n]], d_z);
            let c = RowsMut { values: if l == 1 { &mut before[0] } else { x }, stride: m };
            self.stage.packed.hidden_back[l - 1].multiply(simd, b, Rows { values: d_z, stride: n }, c);
        }
    }
}

/// `u_L^j' = tau'_j g`.
#[inline(always)]
fn seed<S: Simd, T: Float>(simd: S, last: Last, h: usize, [g, f]: [&[T]; 2], u: &mut [T]) {
    outlined(
        simd,
        #[inline(always)]
        move || {
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
        },
    );
}

/// `z' = s'' sum_j u^j t^j'`, or that added, and `t^j' <- s' t^j'`.
#[inline(always)]
fn bend<S: Simd, T: Float>(simd: S, before: Sum, [first, second, u]: [&[T]; 3], t: &mut [T], z: &mut [T]) {
    outlined(
        simd,
        #[inline(always)]
        move || {
            let (lanes, n) = (T::Register::WIDTH, z.len());
            for at in (0..n).step_by(lanes) {
                let p = T::Register::read(&first[at..]);
                let mut sum = T::Register::ZEROS;
                for (u, t) in u.chunks_exact(n).zip(t.chunks_exact_mut(n)) {
                    let (u, t) = (&u[at..at + lanes], &mut t[at..at + lanes]);
                    let t_register = T::Register::read(t);
                    sum = t_register.fma(simd, T::Register::read(u), sum);
                    t_register.times(simd, p).write(t);
                }
                let z = &mut z[at..at + lanes];
                let start = if before == Sum::Add { T::Register::read(z) } else { T::Register::ZEROS };
                sum.fma(simd, T::Register::read(&second[at..]), start).write(z);
            }
        },
    );
}

/// `z_L' = tau' (c_i g - sum_j Lambda_ji v_j') + tau'' u_L g`.
#[inline(always)]
fn output<S: Simd, T: Float>(simd: S, (last, h): (Last, usize), letters: &[T], [g, f, v, mixed]: [&[T]; 4], out: &mut [T]) {
    outlined(
        simd,
        #[inline(always)]
        move || {
            let (d, two) = (f.len() / g.len(), T::ONE + T::ONE);
            for (i, (out, &c)) in out.chunks_exact_mut(h).zip(letters).enumerate() {
                let channel = i * h..(i + 1) * h;
                let (g, f) = (&g[i / d * h..][..h], &f[channel.clone()]);
                match (last, v.get(channel.clone())) {
                    (Last::Linear, None) => {
                        for (out, &g) in out.iter_mut().zip(g) {
                            *out = c * g;
                        }
                    }
                    (Last::Linear, Some(_)) => {
                        for ((out, &g), &mixed) in out.iter_mut().zip(g).zip(&mixed[channel]) {
                            *out = c * g - mixed;
                        }
                    }
                    (Last::Tanh, None) => {
                        for ((out, &g), &f) in out.iter_mut().zip(g).zip(f) {
                            *out = (T::ONE - f * f) * c * g;
                        }
                    }
                    (Last::Tanh, Some(v)) => {
                        for ((out, &g), ((&f, &v), &mixed)) in out.iter_mut().zip(g).zip(f.iter().zip(v).zip(&mixed[channel])) {
                            *out = (T::ONE - f * f) * ((c - two * f * v) * g - mixed);
                        }
                    }
                }
            }
        },
    );
}

/// `z' = s' x'`, or that added.
#[inline(always)]
fn through<S: Simd, T: Float>(simd: S, sum: Sum, [first, x]: [&[T]; 2], z: &mut [T]) {
    outlined(
        simd,
        #[inline(always)]
        move || {
            for ((z, &x), &first) in z.iter_mut().zip(x).zip(first) {
                *z = if sum == Sum::Add { *z + first * x } else { first * x };
            }
        },
    );
}
