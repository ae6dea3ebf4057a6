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

use ncde_simd::{Float, Number, Simd, call, outlined};

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

/// What the evaluation in one stage is given, both ways.
#[derive(Clone, Copy)]
pub(crate) struct Stage<'a, T: Float> {
    pub(crate) sizes: &'a Sizes,
    pub(crate) packed: &'a Packed<T>,
    pub(crate) network: &'a Network,
    pub(crate) drive: &'a Drive<T>,
    pub(crate) slot: usize,
}

/// The field at the values of a slot; `F` goes to `out`, `[B, H]`.
#[inline(always)]
pub(crate) fn evaluate<S: Simd, T: Float>(
    simd: S,
    stage: Stage<'_, T>,
    (order, part): (Order, Part),
    tape: &mut Tape<T>,
    out: &mut [T],
) {
    outlined(
        simd,
        #[inline(always)]
        move || {
            values(simd, stage, order, tape);
            if part == Part::Values {
                return;
            }
            for channels in stage.sizes.groups() {
                tangents(simd, stage, channels, tape);
            }
            let Stage { sizes, network, drive, slot, .. } = stage;
            let outputs = slot * sizes.b * sizes.outputs..(slot + 1) * sizes.b * sizes.outputs;
            let v = tape.v.get(outputs.clone()).unwrap_or_default();
            contract(simd, network.last(), sizes.h, &drive.letters, [&tape.f[outputs], v], out);
        },
    );
}

#[inline(always)]
fn values<S: Simd, T: Float>(simd: S, stage: Stage<'_, T>, order: Order, tape: &mut Tape<T>) {
    let Sizes { b, rows, widths, outputs, h, .. } = stage.sizes;
    let (b, slot) = (*b, stage.slot);
    for (l, panels) in stage.packed.hidden.iter().enumerate() {
        let (n, m) = (widths[l], widths[l + 1]);
        let (before, after) = tape.x.split_at_mut(l + 1);
        let x = &mut after[0][slot * rows * m..][..b * m];
        let a = Rows { values: &before[l][slot * rows * n..], stride: n };
        panels.multiply(simd, b, a, RowsMut { values: x, stride: m });
        let values = slot * b * m..(slot + 1) * b * m;
        let first = &mut tape.first[l][values.clone()];
        let second = tape.second[l].get_mut(values).unwrap_or_default();
        activate(simd, (stage.network.activation_of(l), order), &stage.packed.bias[l], x, [first, second]);
    }
    let top = stage.sizes.top();
    let n = widths[top];
    let a = Rows { values: &tape.x[top][slot * rows * n..], stride: n };
    let f = &mut tape.f[slot * b * outputs..][..b * outputs];
    for (j, panels) in stage.packed.last.iter().enumerate() {
        panels.multiply(simd, b, a, RowsMut { values: &mut f[j * h..], stride: *outputs });
    }
    finish(simd, stage.network.last(), &stage.packed.bias[top], f);
}

/// The tangents of a few channels: `v_j`, through the hidden layers, and the j-th block of the last one.
#[inline(always)]
pub(crate) fn tangents<S: Simd, T: Float>(simd: S, stage: Stage<'_, T>, channels: Range<usize>, tape: &mut Tape<T>) {
    outlined(
        simd,
        #[inline(always)]
        move || {
            if stage.sizes.directions == Directions::States {
                through(simd, stage, stage.sizes.tangents, tape);
                behind(simd, stage, tape);
            } else {
                before(simd, stage, &channels, tape);
                through(simd, stage, channels.len(), tape);
            }
            blocks(simd, stage, channels, tape);
        },
    );
}

/// `v_j`, where the tangents of the channels start.
#[inline(always)]
fn before<S: Simd, T: Float>(simd: S, stage: Stage<'_, T>, channels: &Range<usize>, tape: &mut Tape<T>) {
    let &Sizes { b, d, d_padded, rows, outputs, h, .. } = stage.sizes;
    for i in 0..b {
        // Row j of sample i: the rows of one channel are together.
        let c = RowsMut { values: &mut tape.x[0][(stage.slot * rows + b + i) * h..], stride: b * h };
        let a = Rows { values: &stage.drive.pairs[i * d * d_padded + channels.start..], stride: d_padded };
        let f = Rows { values: &tape.f[(stage.slot * b + i) * outputs..], stride: h };
        let shape = [channels.len(), stage.sizes.registers::<T>()];
        call(simd, Outer { a, b: f, starts: &[(0, 0)], count: d, shape, sum: Sum::Set, c });
    }
}

/// Through the hidden layers.
#[inline(always)]
fn through<S: Simd, T: Float>(simd: S, stage: Stage<'_, T>, count: usize, tape: &mut Tape<T>) {
    let &Sizes { b, rows, tangents, ref widths, .. } = stage.sizes;
    let slot = stage.slot;
    for (l, panels) in stage.packed.hidden.iter().enumerate() {
        let (n, m) = (widths[l], widths[l + 1]);
        let (before, after) = tape.x.split_at_mut(l + 1);
        let u = &mut tape.u[l][slot * tangents * b * m..][..count * b * m];
        let a = Rows { values: &before[l][(slot * rows + b) * n..], stride: n };
        panels.multiply(simd, count * b, a, RowsMut { values: u, stride: m });
        let t = &mut after[0][(slot * rows + b) * m..][..count * b * m];
        scale(simd, &tape.first[l][slot * b * m..][..b * m], u, t);
    }
}

/// The tangents of the channels from those of the unit vectors: `t^j = sum_e v_j[e] t^e`.
#[inline(always)]
fn behind<S: Simd, T: Float>(simd: S, stage: Stage<'_, T>, tape: &mut Tape<T>) {
    let &Sizes { b, d, d_padded, rows, tangents, outputs, h, .. } = stage.sizes;
    let top = stage.sizes.top();
    let (n, lanes, slot) = (stage.sizes.widths[top], T::Register::WIDTH, stage.slot);
    let Tape { x, f, w, mixed, .. } = tape;
    for i in 0..b {
        let a = Rows { values: &f[(slot * b + i) * outputs..], stride: h };
        let pairs = Rows { values: &stage.drive.pairs[i * d * d_padded..], stride: d_padded };
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
fn blocks<S: Simd, T: Float>(simd: S, stage: Stage<'_, T>, channels: Range<usize>, tape: &mut Tape<T>) {
    let &Sizes { b, d, rows, outputs, h, directions, .. } = stage.sizes;
    let top = stage.sizes.top();
    let (n, slot) = (stage.sizes.widths[top], stage.slot);
    let v = &mut tape.v[slot * b * outputs..][..b * outputs];
    let tangents = match directions {
        Directions::Channels => &tape.x[top][(slot * rows + b) * n..],
        Directions::States => &tape.w[slot * d * b * n..],
    };
    for (row, j) in channels.enumerate() {
        let a = Rows { values: &tangents[row * b * n..], stride: n };
        stage.packed.last[j].multiply(simd, b, a, RowsMut { values: &mut v[j * h..], stride: outputs });
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
