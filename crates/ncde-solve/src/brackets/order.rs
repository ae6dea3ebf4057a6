//! The recursion over depths, as types: each layer of derivatives is one more [`Dual`] around the numbers below.
//!
//! A function that calls itself on `Dual<N>` would have no end for the compiler, so the depth is a type: [`DepthOne`], [`DepthTwo`],
//! `Deeper<DepthTwo>`, `Deeper<Deeper<DepthTwo>>`, ...

use std::marker::PhantomData;

use ncde_signature::algebra::Tree;

use crate::field::VectorField;
use crate::scalar::{Dual, Scalar};

/// The computations for one depth, with one layer of derivatives less than the depth.
pub(super) trait Order {
    /// `G = sum_j l_j f_j + sum_j D G_j[f_j]`. `row` holds the coefficients of the words below, level by level.
    fn contract<F: VectorField, N: Scalar>(field: &F, parameters: &[N], row: &[N], h: &[N], out: &mut [N]);

    /// The vector field of one basis element.
    fn bracket<F: VectorField, N: Scalar>(field: &F, parameters: &[N], trees: &[Tree], at: usize, h: &[N], out: &mut [N]);
}

/// Depth 1: `G = sum_j l_j f_j`.
pub(super) struct DepthOne;

/// Depth 2, with Jacobian-vector products of single channels: `G = sum_j l_j f_j + sum_k D f_k[v_k]`, `v_k = sum_j l_jk f_j`.
pub(super) struct DepthTwo;

/// One layer more than `O`.
pub(super) struct Deeper<O>(PhantomData<O>);

impl Order for DepthOne {
    fn contract<F: VectorField, N: Scalar>(field: &F, parameters: &[N], row: &[N], h: &[N], out: &mut [N]) {
        combine(&values(field, parameters, h), row, out);
    }

    fn bracket<F: VectorField, N: Scalar>(field: &F, parameters: &[N], trees: &[Tree], at: usize, h: &[N], out: &mut [N]) {
        match trees[at] {
            Tree::Letter(letter) => field.eval_channel(letter - 1, parameters, h, out),
            Tree::Bracket(..) => unreachable!("a bracket has degree 2 or more"),
        }
    }
}

impl Order for DepthTwo {
    fn contract<F: VectorField, N: Scalar>(field: &F, parameters: &[N], row: &[N], h: &[N], out: &mut [N]) {
        let d = field.channels();
        let f = values(field, parameters, h);
        combine(&f, &row[..d], out);
        let parameters = fixed(parameters);
        let (mut moving, mut moved) = (vec![Dual::fixed(N::zero()); h.len()], vec![Dual::fixed(N::zero()); h.len()]);
        for k in 0..d {
            for (a, moving) in moving.iter_mut().enumerate() {
                *moving = Dual::new(h[a], N::zero().accumulate(d, |j| (row[d + j * d + k], f[j * h.len() + a])));
            }
            field.eval_channel(k, &parameters, &moving, &mut moved);
            add_tangents(&moved, out);
        }
    }

    fn bracket<F: VectorField, N: Scalar>(field: &F, parameters: &[N], trees: &[Tree], at: usize, h: &[N], out: &mut [N]) {
        Deeper::<DepthOne>::bracket(field, parameters, trees, at, h, out);
    }
}

impl<O: Order> Order for Deeper<O> {
    fn contract<F: VectorField, N: Scalar>(field: &F, parameters: &[N], row: &[N], h: &[N], out: &mut [N]) {
        let d = field.channels();
        let f = values(field, parameters, h);
        combine(&f, &row[..d], out);
        let parameters = fixed(parameters);
        let mut moved = vec![Dual::fixed(N::zero()); h.len()];
        for (j, f) in f.chunks_exact(h.len()).enumerate() {
            O::contract(field, &parameters, &fixed(&below(row, d, j)), &moving(h, f), &mut moved);
            add_tangents(&moved, out);
        }
    }

    fn bracket<F: VectorField, N: Scalar>(field: &F, parameters: &[N], trees: &[Tree], at: usize, h: &[N], out: &mut [N]) {
        let (left, right) = match trees[at] {
            Tree::Letter(letter) => return field.eval_channel(letter - 1, parameters, h, out),
            Tree::Bracket(left, right) => (left, right),
        };
        let still = fixed(parameters);
        // D(element)[along].
        let derivative = |element: usize, along: usize| {
            let mut direction = vec![N::zero(); h.len()];
            O::bracket(field, parameters, trees, along, h, &mut direction);
            let mut moved = vec![Dual::fixed(N::zero()); h.len()];
            O::bracket(field, &still, trees, element, &moving(h, &direction), &mut moved);
            moved
        };
        for ((out, a), b) in out.iter_mut().zip(derivative(right, left)).zip(derivative(left, right)) {
            *out = a.tangent - b.tangent;
        }
    }
}

fn values<F: VectorField, N: Scalar>(field: &F, parameters: &[N], h: &[N]) -> Vec<N> {
    let mut f = vec![N::zero(); field.channels() * h.len()];
    field.eval(parameters, h, &mut f);
    f
}

/// `out = sum_j l_j f_j`.
fn combine<N: Scalar>(f: &[N], l: &[N], out: &mut [N]) {
    let hidden = out.len();
    for (a, out) in out.iter_mut().enumerate() {
        *out = N::zero().accumulate(l.len(), |j| (l[j], f[j * hidden + a]));
    }
}

/// Numbers that do not move.
pub(super) fn fixed<N: Scalar>(x: &[N]) -> Vec<Dual<N>> {
    x.iter().map(|&x| Dual::fixed(x)).collect()
}

/// `h`, moving along `v`.
pub(super) fn moving<N: Scalar>(h: &[N], v: &[N]) -> Vec<Dual<N>> {
    h.iter().zip(v).map(|(&h, &v)| Dual::new(h, v)).collect()
}

pub(super) fn add_tangents<N: Scalar>(moved: &[Dual<N>], out: &mut [N]) {
    for (out, moved) in out.iter_mut().zip(moved) {
        *out += moved.tangent;
    }
}

/// The indices of the words that start with `j`: block `j` of each level from the second on.
pub(super) fn words_from(words: usize, d: usize, j: usize) -> impl Iterator<Item = usize> {
    let levels = std::iter::successors(Some((d, d)), move |&(start, size)| Some((start + size * d, size * d)));
    levels.take_while(move |&(start, _)| start < words).flat_map(move |(start, size)| start + j * size..start + (j + 1) * size)
}

/// Their coefficients, without that letter.
pub(super) fn below<T: Copy>(row: &[T], d: usize, j: usize) -> Vec<T> {
    words_from(row.len(), d, j).map(|index| row[index]).collect()
}
