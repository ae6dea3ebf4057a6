//! The reverse pass of a network: `z_l' = s_l'(z_l) x_l'`, `x_{l-1}' = W_l z_l'`, `W_l' = <x_{l-1}, z_l'>`, in numbers that may be nested
//! duals.
//!
//! Weights are reals, so a layer costs one product with its weights for each part of the numbers: `2^k` with `k` layers of duals, where
//! weights that were duals themselves would take `3^k`.

use std::ops::Range;

use super::activation::activate;
use super::{Network, Reversible, VectorField};
use crate::scalar::{Dual, Jet, Real, axpy};

impl Network {
    /// The requested outputs of layer `l`, before the activation.
    fn affine<N: Jet>(&self, l: usize, outputs: Range<usize>, parameters: &[N::Real], x: &[N]) -> Vec<N> {
        let (weights, biases) = self.parameter_ranges(l);
        let (width, x, mut z) = (biases.len(), Planes::of(x), Planes::zero(N::PARTS, outputs.len()));
        z.values[..outputs.len()].copy_from_slice(&parameters[biases][outputs.clone()]);
        for (i, row) in parameters[weights].chunks_exact(width).enumerate() {
            for p in 0..N::PARTS {
                axpy(z.plane_mut(p), x.plane(p)[i], &row[outputs.clone()]);
            }
        }
        z.numbers()
    }

    /// The outputs of layer `l` that some channels need: of the last layer only their blocks.
    fn needed(&self, l: usize, channels: &Range<usize>) -> Range<usize> {
        let hidden = self.hidden();
        if l + 1 == self.layers().len() { channels.start * hidden..channels.end * hidden } else { 0..self.layers()[l].width }
    }
}

impl Reversible for Network {
    fn eval_fixed<N: Jet>(&self, channels: Range<usize>, parameters: &[N::Real], h: &[N], out: &mut [N]) {
        let mut x = h.to_vec();
        for (l, layer) in self.layers().iter().enumerate() {
            let z = self.affine(l, self.needed(l, &channels), parameters, &x);
            x = z.into_iter().map(|z| activate(layer.activation, z)).collect();
        }
        out.copy_from_slice(&x);
    }

    fn reverse<N: Jet>(
        &self,
        channels: Range<usize>,
        parameters: &[N::Real],
        h: &[N],
        gradient: &[N],
        d_h: &mut [N],
        d_parameters: &mut [N::Real],
    ) {
        let (mut inputs, mut slopes) = (vec![h.to_vec()], Vec::new());
        for (l, layer) in self.layers().iter().enumerate() {
            let z = self.affine(l, self.needed(l, &channels), parameters, &inputs[l]);
            // s(z + e) = s(z) + s'(z) e.
            let moved: Vec<Dual<N>> = z.into_iter().map(|z| activate(layer.activation, Dual::new(z, N::of(1.0)))).collect();
            inputs.push(moved.iter().map(|y| y.value).collect());
            slopes.push(moved.into_iter().map(|y| y.tangent).collect::<Vec<N>>());
        }
        let mut x = gradient.to_vec();
        for (l, slopes) in slopes.iter().enumerate().rev() {
            let z: Vec<N> = x.iter().zip(slopes).map(|(&x, &slope)| slope * x).collect();
            let outputs = self.needed(l, &channels);
            let (weights, biases) = self.parameter_ranges(l);
            let width = biases.len();
            for (g, &z) in d_parameters[biases][outputs.clone()].iter_mut().zip(&z) {
                *g += z.pair(N::of(1.0));
            }
            let (inputs, z, mut back) = (Planes::of(&inputs[l]), Planes::of(&z), Planes::zero(N::PARTS, inputs[l].len()));
            let rows = parameters[weights.clone()].chunks_exact(width).zip(d_parameters[weights].chunks_exact_mut(width));
            for (i, (row, d_row)) in rows.enumerate() {
                for p in 0..N::PARTS {
                    axpy(&mut d_row[outputs.clone()], inputs.plane(p)[i], z.plane(N::PARTS - 1 - p));
                    back.plane_mut(p)[i] = dot(&row[outputs.clone()], z.plane(p));
                }
            }
            x = back.numbers();
        }
        for (d_h, x) in d_h.iter_mut().zip(x) {
            *d_h += x;
        }
    }
}

/// Numbers part by part, `[PARTS, count]`: what runs along a plane is a loop over reals that lie side by side.
struct Planes<T> {
    values: Vec<T>,
    count: usize,
}

impl<T: Real> Planes<T> {
    fn zero(parts: usize, count: usize) -> Self {
        Self { values: vec![T::ZERO; parts * count], count }
    }

    fn of<N: Jet<Real = T>>(x: &[N]) -> Self {
        let mut planes = Self::zero(N::PARTS, x.len());
        for (i, &x) in x.iter().enumerate() {
            x.write(&mut planes.values[i..], planes.count);
        }
        planes
    }

    fn numbers<N: Jet<Real = T>>(&self) -> Vec<N> {
        (0..self.count).map(|i| N::read(&self.values[i..], self.count)).collect()
    }

    fn plane(&self, p: usize) -> &[T] {
        &self.values[p * self.count..(p + 1) * self.count]
    }

    fn plane_mut(&mut self, p: usize) -> &mut [T] {
        &mut self.values[p * self.count..(p + 1) * self.count]
    }
}

/// Eight sums side by side: one alone would wait for each addition.
fn dot<T: Real>(a: &[T], b: &[T]) -> T {
    let mut sums = [T::ZERO; 8];
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<8>(), b.as_chunks::<8>());
    for (a, b) in a.iter().zip(b) {
        for ((sum, &a), &b) in sums.iter_mut().zip(a).zip(b) {
            *sum += a * b;
        }
    }
    let rest = a_rest.iter().zip(b_rest).fold(T::ZERO, |sum, (&a, &b)| sum + a * b);
    sums.into_iter().fold(rest, |all, sum| all + sum)
}
