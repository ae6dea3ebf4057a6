//! The contraction for fields with a reverse pass of their own, and its way back: no tape, real parameters, real coefficients.
//!
//! ```text
//! F = sum_j l_j f_j + sum_j D G_j[f_j]:    f_j' = l_j F' + (the tangent's part),   l_j' = <f_j, F'>
//! y = G_j(h + f_j e), F has its tangent:   y' = F' + 0 e,   so (h + f_j e)' = f_j' + h' e
//! ```
//!
//! The pairing of [`Jet`] swaps value and tangent: what comes back in the value belongs to the tangent, and the other way round.

use super::order::{Deeper, DepthOne, DepthTwo, add_tangents, below, fixed, moving, words_from};
use crate::field::Reversible;
use crate::scalar::{Dual, Jet};

/// Where a contraction is evaluated.
pub(crate) struct Inputs<'a, N: Jet> {
    pub(crate) parameters: &'a [N::Real],
    /// One coefficient for each word.
    pub(crate) row: &'a [N::Real],
    pub(crate) h: &'a [N],
}

/// Where gradients are added up.
pub(crate) struct Gradients<'a, T> {
    pub(crate) parameters: &'a mut [T],
    /// One for each word.
    pub(crate) row: &'a mut [T],
}

/// The contraction at one depth, both ways.
pub(super) trait TwoWay {
    /// `F`, with the coefficients of the words below, level by level.
    fn value<F: Reversible, N: Jet>(field: &F, parameters: &[N::Real], row: &[N::Real], h: &[N], out: &mut [N]);

    /// From `F'`, adds to `h'` and to the gradients in parameters and coefficients.
    fn reverse<F: Reversible, N: Jet>(field: &F, at: Inputs<'_, N>, gradient: &[N], d_h: &mut [N], sums: Gradients<'_, N::Real>);
}

impl TwoWay for DepthOne {
    fn value<F: Reversible, N: Jet>(field: &F, parameters: &[N::Real], row: &[N::Real], h: &[N], out: &mut [N]) {
        combine(&values(field, parameters, h), row, out);
    }

    fn reverse<F: Reversible, N: Jet>(field: &F, at: Inputs<'_, N>, gradient: &[N], d_h: &mut [N], sums: Gradients<'_, N::Real>) {
        let Inputs { parameters, row, h } = at;
        let d_f = combine_back(&values(field, parameters, h), row, gradient, sums.row);
        field.reverse(0..field.channels(), parameters, h, &d_f, d_h, sums.parameters);
    }
}

impl TwoWay for DepthTwo {
    fn value<F: Reversible, N: Jet>(field: &F, parameters: &[N::Real], row: &[N::Real], h: &[N], out: &mut [N]) {
        let d = field.channels();
        let f = values(field, parameters, h);
        combine(&f, &row[..d], out);
        let mut moved = vec![Dual::fixed(N::zero()); h.len()];
        for k in 0..d {
            field.eval_fixed(k..k + 1, parameters, &moving(h, &direction(&f, &column(row, d, k), h.len())), &mut moved);
            add_tangents(&moved, out);
        }
    }

    fn reverse<F: Reversible, N: Jet>(field: &F, at: Inputs<'_, N>, gradient: &[N], d_h: &mut [N], sums: Gradients<'_, N::Real>) {
        let Inputs { parameters, row, h } = at;
        let d = field.channels();
        let f = values(field, parameters, h);
        let (letters, pairs) = sums.row.split_at_mut(d);
        let mut d_f = combine_back(&f, &row[..d], gradient, letters);
        let seed = fixed(gradient);
        for k in 0..d {
            let weights = column(row, d, k);
            let start = moving(h, &direction(&f, &weights, h.len()));
            let mut d_start = vec![Dual::fixed(N::zero()); h.len()];
            field.reverse(k..k + 1, parameters, &start, &seed, &mut d_start, sums.parameters);
            add_tangents(&d_start, d_h);
            let d_direction: Vec<N> = d_start.iter().map(|g| g.value).collect();
            let mut d_weights = vec![N::zero().value(); d];
            let part = combine_back(&f, &weights, &d_direction, &mut d_weights);
            add(&mut d_f, part.into_iter());
            for (j, d_weight) in d_weights.into_iter().enumerate() {
                pairs[j * d + k] += d_weight;
            }
        }
        field.reverse(0..d, parameters, h, &d_f, d_h, sums.parameters);
    }
}

impl<O: TwoWay> TwoWay for Deeper<O> {
    fn value<F: Reversible, N: Jet>(field: &F, parameters: &[N::Real], row: &[N::Real], h: &[N], out: &mut [N]) {
        let d = field.channels();
        let f = values(field, parameters, h);
        combine(&f, &row[..d], out);
        let mut moved = vec![Dual::fixed(N::zero()); h.len()];
        for (j, f) in f.chunks_exact(h.len()).enumerate() {
            O::value(field, parameters, &below(row, d, j), &moving(h, f), &mut moved);
            add_tangents(&moved, out);
        }
    }

    fn reverse<F: Reversible, N: Jet>(field: &F, at: Inputs<'_, N>, gradient: &[N], d_h: &mut [N], sums: Gradients<'_, N::Real>) {
        let Inputs { parameters, row, h } = at;
        let d = field.channels();
        let f = values(field, parameters, h);
        let mut d_f = combine_back(&f, &row[..d], gradient, &mut sums.row[..d]);
        let seed = fixed(gradient);
        for (j, (f, d_f)) in f.chunks_exact(h.len()).zip(d_f.chunks_exact_mut(h.len())).enumerate() {
            let inner_row = below(row, d, j);
            let mut d_inner_row = vec![N::zero().value(); inner_row.len()];
            let mut d_start = vec![Dual::fixed(N::zero()); h.len()];
            let inner = Gradients { parameters: &mut *sums.parameters, row: &mut d_inner_row };
            O::reverse(field, Inputs { parameters, row: &inner_row, h: &moving(h, f) }, &seed, &mut d_start, inner);
            add_tangents(&d_start, d_h);
            add(d_f, d_start.iter().map(|g| g.value));
            for (to, from) in words_from(sums.row.len(), d, j).zip(d_inner_row) {
                sums.row[to] += from;
            }
        }
        field.reverse(0..d, parameters, h, &d_f, d_h, sums.parameters);
    }
}

fn values<F: Reversible, N: Jet>(field: &F, parameters: &[N::Real], h: &[N]) -> Vec<N> {
    let mut f = vec![N::zero(); field.channels() * h.len()];
    field.eval_fixed(0..field.channels(), parameters, h, &mut f);
    f
}

/// `out = sum_j l_j f_j`.
fn combine<N: Jet>(f: &[N], l: &[N::Real], out: &mut [N]) {
    out.fill(N::zero());
    for (f, &l) in f.chunks_exact(out.len()).zip(l) {
        add(out, f.iter().map(|f| f.scaled(l)));
    }
}

/// Its way back: adds to `l'`, gives `f'`.
fn combine_back<N: Jet>(f: &[N], l: &[N::Real], gradient: &[N], d_l: &mut [N::Real]) -> Vec<N> {
    let mut d_f = Vec::with_capacity(f.len());
    for ((f, &l), d_l) in f.chunks_exact(gradient.len()).zip(l).zip(d_l) {
        for (&f, &g) in f.iter().zip(gradient) {
            *d_l += f.pair(g);
            d_f.push(g.scaled(l));
        }
    }
    d_f
}

fn direction<N: Jet>(f: &[N], l: &[N::Real], hidden: usize) -> Vec<N> {
    let mut v = vec![N::zero(); hidden];
    combine(f, l, &mut v);
    v
}

fn add<N: Jet>(out: &mut [N], terms: impl Iterator<Item = N>) {
    out.iter_mut().zip(terms).for_each(|(out, term)| *out += term);
}

/// The coefficients of the words `jk` of two letters.
fn column<T: Copy>(row: &[T], d: usize, k: usize) -> Vec<T> {
    (0..d).map(|j| row[d + j * d + k]).collect()
}
