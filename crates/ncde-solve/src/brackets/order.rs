//! The recursion over depths, as types: each layer of derivatives is one more [`Dual`] around the numbers below.
//!
//! A function that calls itself on `Dual<N>` would have no end for the compiler, so the depth is a type: [`One`], [`Two`],
//! `Then<Two>`, `Then<Then<Two>>`, ...

use std::marker::PhantomData;

use ncde_signature::algebra::Tree;

use crate::field::VectorField;
use crate::scalar::{Dual, Scalar};

/// What can be computed with so many layers of derivatives.
pub(super) trait Order {
    /// `G = sum_j l_j f_j + sum_j D G_j[f_j]`. `row` holds the coefficients of the words below, level by level.
    fn contract<F: VectorField, N: Scalar>(field: &F, parameters: &[N], row: &[N], h: &[N], out: &mut [N]);

    /// The vector field of one basis element.
    fn bracket<F: VectorField, N: Scalar>(field: &F, parameters: &[N], trees: &[Tree], at: usize, h: &[N], out: &mut [N]);
}

/// Depth 1: `G = sum_j l_j f_j`.
pub(super) struct One;

/// Depth 2, with Jacobian-vector products of single channels: `G = sum_j l_j f_j + sum_k D f_k[v_k]`, `v_k = sum_j l_jk f_j`.
pub(super) struct Two;

/// One layer more than `O`.
pub(super) struct Then<O>(PhantomData<O>);

impl Order for One {
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

impl Order for Two {
    fn contract<F: VectorField, N: Scalar>(field: &F, parameters: &[N], row: &[N], h: &[N], out: &mut [N]) {
        let d = field.channels();
        let f = values(field, parameters, h);
        combine(&f, &row[..d], out);
        let parameters: Vec<Dual<N>> = parameters.iter().map(|&p| Dual::fixed(p)).collect();
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
        Then::<One>::bracket(field, parameters, trees, at, h, out);
    }
}

impl<O: Order> Order for Then<O> {
    fn contract<F: VectorField, N: Scalar>(field: &F, parameters: &[N], row: &[N], h: &[N], out: &mut [N]) {
        let d = field.channels();
        let f = values(field, parameters, h);
        combine(&f, &row[..d], out);
        let parameters: Vec<Dual<N>> = parameters.iter().map(|&p| Dual::fixed(p)).collect();
        let mut moved = vec![Dual::fixed(N::zero()); h.len()];
        for j in 0..d {
            let moving: Vec<Dual<N>> = h.iter().zip(&f[j * h.len()..]).map(|(&h, &f)| Dual::new(h, f)).collect();
            O::contract(field, &parameters, &below(row, d, j), &moving, &mut moved);
            add_tangents(&moved, out);
        }
    }

    fn bracket<F: VectorField, N: Scalar>(field: &F, parameters: &[N], trees: &[Tree], at: usize, h: &[N], out: &mut [N]) {
        let (left, right) = match trees[at] {
            Tree::Letter(letter) => return field.eval_channel(letter - 1, parameters, h, out),
            Tree::Bracket(left, right) => (left, right),
        };
        let fixed: Vec<Dual<N>> = parameters.iter().map(|&p| Dual::fixed(p)).collect();
        // D(of)[along].
        let derivative = |of: usize, along: usize| {
            let mut direction = vec![N::zero(); h.len()];
            O::bracket(field, parameters, trees, along, h, &mut direction);
            let moving: Vec<Dual<N>> = h.iter().zip(direction).map(|(&h, v)| Dual::new(h, v)).collect();
            let mut moved = vec![Dual::fixed(N::zero()); h.len()];
            O::bracket(field, &fixed, trees, of, &moving, &mut moved);
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

fn add_tangents<N: Scalar>(moved: &[Dual<N>], out: &mut [N]) {
    for (out, moved) in out.iter_mut().zip(moved) {
        *out += moved.tangent;
    }
}

/// The coefficients of the words that start with `j`, without that letter: block `j` of each level from the second on.
fn below<N: Scalar>(row: &[N], d: usize, j: usize) -> Vec<Dual<N>> {
    let mut result = Vec::with_capacity(row.len() / d);
    let (mut start, mut size) = (d, d);
    while start < row.len() {
        result.extend(row[start + j * size..start + (j + 1) * size].iter().map(|&l| Dual::fixed(l)));
        size *= d;
        start += size;
    }
    result
}
