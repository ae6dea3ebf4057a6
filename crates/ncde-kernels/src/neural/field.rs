//! One evaluation of the right-hand side.
//!
//! ```text
//! depth 1:   F = sum_i c_i f_i(h)
//! depth 2:   F = sum_i c_i f_i(h) + sum_j Df_j(h) v_j,   v_j = sum_i Lambda_ij f_i(h)
//! ```
//!
//! The tangents of all channels go through the hidden layers together, `t_0^j = v_j`, `t_l^j = s_l'(z_l) (t_{l-1}^j W_l)`, with the
//! derivatives that the value pass left; of the last layer each needs its own block alone. `d` products with the hidden layers and
//! one with the last, whatever the number of brackets. With fewer states than channels the tangents of the unit vectors go through the
//! hidden layers instead, and those of the channels are sums of them.

use std::ops::Range;

use ncde_simd::{Float, Kernel, Number, Simd, call, outlined};

use super::activation::{Order, activate, finish};
use super::network::{Last, Network};
use super::packed::Packed;
use super::product::{Outer, Rows, RowsMut, Sum};
use super::tape::{Directions, Drive, Sizes, Tape};

/// How much of an evaluation is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// The values of the network.
    Values,
    /// `F`.
    All,
}

/// The field at the values of a slot.
pub(crate) struct Evaluate<'a, T: Float> {
    pub(crate) sizes: &'a Sizes,
    pub(crate) packed: &'a Packed<T>,
    pub(crate) network: &'a Network,
    pub(crate) drive: &'a Drive<T>,
    pub(crate) order: Order,
    pub(crate) part: Part,
    pub(crate) slot: usize,
    pub(crate) tape: &'a mut Tape<T>,
    /// `F`, `[B, H]`.
    pub(crate) out: &'a mut [T],
}

impl<T: Float> Kernel for Evaluate<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(mut self, simd: S) {
        self.values(simd);
        if self.part == Part::Values {
            return;
        }
        for channels in self.sizes.groups() {
            let Self { sizes, packed, drive, slot, ref mut tape, .. } = self;
            call(simd, Tangents { sizes, packed, drive, slot, channels, tape });
        }
        let Self { sizes, network, drive, slot, tape, out, .. } = self;
        let outputs = slot * sizes.b * sizes.outputs..(slot + 1) * sizes.b * sizes.outputs;
        let v = tape.v.get(outputs.clone()).unwrap_or_default();
        contract(simd, network.last(), sizes.h, &drive.letters, [&tape.f[outputs], v], out);
    }
}

impl<T: Float> Evaluate<'_, T> {
    #[inline(always)]
    fn values<S: Simd>(&mut self, simd: S) {
        let Sizes { b, rows, widths, outputs, h, .. } = self.sizes;
        let (b, slot) = (*b, self.slot);
        for (l, panels) in self.packed.hidden.iter().enumerate() {
            let (n, m) = (widths[l], widths[l + 1]);
            let (before, after) = self.tape.x.split_at_mut(l + 1);
            let x = &mut after[0][slot * rows * m..][..b * m];
            let a = Rows { values: &before[l][slot * rows * n..], stride: n };
            panels.multiply(simd, b, a, RowsMut { values: x, stride: m });
            let values = slot * b * m..(slot + 1) * b * m;
            let first = &mut self.tape.first[l][values.clone()];
            let second = self.tape.second[l].get_mut(values).unwrap_or_default();
            activate(simd, (self.network.activation_of(l), self.order), &self.packed.bias[l], x, [first, second]);
        }
        let top = self.sizes.top();
        let n = widths[top];
        let a = Rows { values: &self.tape.x[top][slot * rows * n..], stride: n };
        let f = &mut self.tape.f[slot * b * outputs..][..b * outputs];
        for (j, panels) in self.packed.last.iter().enumerate() {
            panels.multiply(simd, b, a, RowsMut { values: &mut f[j * h..], stride: *outputs });
        }
        finish(simd, self.network.last(), &self.packed.bias[top], f);
    }
}

/// The tangents of a few channels: `v_j`, through the hidden layers, and the j-th block of the last one.
pub(crate) struct Tangents<'a, T: Float> {
    pub(crate) sizes: &'a Sizes,
    pub(crate) packed: &'a Packed<T>,
    pub(crate) drive: &'a Drive<T>,
    pub(crate) slot: usize,
    pub(crate) channels: Range<usize>,
    pub(crate) tape: &'a mut Tape<T>,
}

impl<T: Float> Kernel for Tangents<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(mut self, simd: S) {
        if self.sizes.directions == Directions::States {
            self.through(simd, self.sizes.tangents);
            self.behind(simd);
        } else {
            self.before(simd);
            self.through(simd, self.channels.len());
        }
        self.blocks(simd);
    }
}

impl<T: Float> Tangents<'_, T> {
    /// `v_j`, where the tangents of the channels start.
    #[inline(always)]
    fn before<S: Simd>(&mut self, simd: S) {
        let &Sizes { b, d, d_padded, rows, outputs, h, .. } = self.sizes;
        for i in 0..b {
            // Row j of sample i: the rows of one channel are together.
            let c = RowsMut { values: &mut self.tape.x[0][(self.slot * rows + b + i) * h..], stride: b * h };
            let a = Rows { values: &self.drive.pairs[i * d * d_padded + self.channels.start..], stride: d_padded };
            let f = Rows { values: &self.tape.f[(self.slot * b + i) * outputs..], stride: h };
            let shape = [self.channels.len(), self.sizes.registers::<T>()];
            call(simd, Outer { a, b: f, starts: &[(0, 0)], count: d, shape, sum: Sum::Set, c });
        }
    }

    /// Through the hidden layers.
    #[inline(always)]
    fn through<S: Simd>(&mut self, simd: S, count: usize) {
        let &Sizes { b, rows, tangents, ref widths, .. } = self.sizes;
        let slot = self.slot;
        for (l, panels) in self.packed.hidden.iter().enumerate() {
            let (n, m) = (widths[l], widths[l + 1]);
            let (before, after) = self.tape.x.split_at_mut(l + 1);
            let u = &mut self.tape.u[l][slot * tangents * b * m..][..count * b * m];
            let a = Rows { values: &before[l][(slot * rows + b) * n..], stride: n };
            panels.multiply(simd, count * b, a, RowsMut { values: u, stride: m });
            let t = &mut after[0][(slot * rows + b) * m..][..count * b * m];
            scale(simd, &self.tape.first[l][slot * b * m..][..b * m], u, t);
        }
    }

    /// The tangents of the channels from those of the unit vectors: `t^j = sum_e v_j[e] t^e`.
    #[inline(always)]
    fn behind<S: Simd>(&mut self, simd: S) {
        let &Sizes { b, d, d_padded, rows, tangents, outputs, h, .. } = self.sizes;
        let top = self.sizes.top();
        let (n, lanes, slot) = (self.sizes.widths[top], T::Register::WIDTH, self.slot);
        let Tape { x, f, w, mixed, .. } = &mut *self.tape;
        for i in 0..b {
            let a = Rows { values: &f[(slot * b + i) * outputs..], stride: h };
            let pairs = Rows { values: &self.drive.pairs[i * d * d_padded..], stride: d_padded };
            let c = RowsMut { values: mixed, stride: d_padded };
            let shape = [tangents, d_padded / lanes];
            call(simd, Outer { a, b: pairs, starts: &[(0, 0)], count: d, shape, sum: Sum::Set, c });
            let a = Rows { values: mixed, stride: d_padded };
            let t = Rows { values: &x[top][(slot * rows + b + i) * n..], stride: b * n };
            let c = RowsMut { values: &mut w[(slot * d * b + i) * n..], stride: b * n };
            let shape = [d, n / lanes];
            call(simd, Outer { a, b: t, starts: &[(0, 0)], count: tangents, shape, sum: Sum::Set, c });
        }
    }

    /// The j-th block of the last layer for the j-th channel.
    #[inline(always)]
    fn blocks<S: Simd>(&mut self, simd: S) {
        let &Sizes { b, d, rows, outputs, h, directions, .. } = self.sizes;
        let top = self.sizes.top();
        let (n, slot) = (self.sizes.widths[top], self.slot);
        let v = &mut self.tape.v[slot * b * outputs..][..b * outputs];
        let tangents = match directions {
            Directions::Channels => &self.tape.x[top][(slot * rows + b) * n..],
            Directions::States => &self.tape.w[slot * d * b * n..],
        };
        for (row, j) in self.channels.clone().enumerate() {
            let a = Rows { values: &tangents[row * b * n..], stride: n };
            self.packed.last[j].multiply(simd, b, a, RowsMut { values: &mut v[j * h..], stride: outputs });
        }
    }
}

/// `t^j = s' u^j` for every channel.
#[inline(always)]
fn scale<S: Simd, T: Float>(simd: S, first: &[T], u: &[T], t: &mut [T]) {
    outlined(
        simd,
        #[inline(always)]
        move || {
            let n = first.len();
            for (u, t) in u.chunks_exact(n).zip(t.chunks_exact_mut(n)) {
                for ((t, &u), &first) in t.iter_mut().zip(u).zip(first) {
                    *t = first * u;
                }
            }
        },
    );
}

/// `F = sum_j (c_j f_j + tau'_j v_j)`.
#[inline(always)]
fn contract<S: Simd, T: Float>(simd: S, last: Last, h: usize, letters: &[T], [f, v]: [&[T]; 2], out: &mut [T]) {
    outlined(
        simd,
        #[inline(always)]
        move || {
            let samples = out.len() / h;
            let d = letters.len() / samples;
            out.fill(T::ZERO);
            for (i, &c) in letters.iter().enumerate() {
                let out = &mut out[i / d * h..][..h];
                let f = &f[i * h..(i + 1) * h];
                for (out, &f) in out.iter_mut().zip(f) {
                    *out += c * f;
                }
                let Some(v) = v.get(i * h..(i + 1) * h) else { continue };
                match last {
                    Last::Tanh => {
                        for ((out, &f), &v) in out.iter_mut().zip(f).zip(v) {
                            *out += (T::ONE - f * f) * v;
                        }
                    }
                    Last::Linear => {
                        for (out, &v) in out.iter_mut().zip(v) {
                            *out += v;
                        }
                    }
                }
            }
        },
    );
}
