//! The reverse pass of a network: `z_l' = s_l'(z_l) x_l'`, `x_{l-1}' = W_l z_l'`, `W_l' = <x_{l-1}, z_l'>`, in numbers that may be nested
//! duals.
//!
//! Weights are reals, so a layer costs one product with its weights for each part of the numbers: `2^k` with `k` layers of duals, where
//! weights that were duals themselves would take `3^k`.

use std::ops::Range;

use super::{Network, Reversible, VectorField};
use crate::number::{Dual, Jet};

impl Network {
    /// The outputs of layer `l` that are asked for, before the activation.
    fn affine<N: Jet>(&self, l: usize, outputs: Range<usize>, parameters: &[N::Real], x: &[N]) -> Vec<N> {
        let (weights, biases) = self.place(l);
        let width = biases.len();
        let mut z: Vec<N> = parameters[biases][outputs.clone()].iter().map(|&b| N::constant(b)).collect();
        for (&x, row) in x.iter().zip(parameters[weights].chunks_exact(width)) {
            for (z, &w) in z.iter_mut().zip(&row[outputs.clone()]) {
                *z += x.scaled(w);
            }
        }
        z
    }

    /// Which outputs of layer `l` some channels need: of the last layer their own.
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
            x = z.into_iter().map(|z| layer.activation.apply(z)).collect();
        }
        out.copy_from_slice(&x);
    }

    fn reverse<N: Jet>(
        &self,
        channels: Range<usize>,
        parameters: &[N::Real],
        h: &[N],
        gradient: &[N],
        of_h: &mut [N],
        of_parameters: &mut [N::Real],
    ) {
        let (mut inputs, mut slopes) = (vec![h.to_vec()], Vec::new());
        for (l, layer) in self.layers().iter().enumerate() {
            let z = self.affine(l, self.needed(l, &channels), parameters, &inputs[l]);
            // s(z + e) = s(z) + s'(z) e.
            let moved: Vec<Dual<N>> = z.into_iter().map(|z| layer.activation.apply(Dual::new(z, N::of(1.0)))).collect();
            inputs.push(moved.iter().map(|y| y.value).collect());
            slopes.push(moved.into_iter().map(|y| y.tangent).collect::<Vec<N>>());
        }
        let mut x = gradient.to_vec();
        for (l, slopes) in slopes.iter().enumerate().rev() {
            let z: Vec<N> = x.iter().zip(slopes).map(|(&x, &slope)| slope * x).collect();
            let outputs = self.needed(l, &channels);
            let (weights, biases) = self.place(l);
            let width = biases.len();
            for (g, &z) in of_parameters[biases][outputs.clone()].iter_mut().zip(&z) {
                *g += z.pair(N::of(1.0));
            }
            let rows = parameters[weights.clone()].chunks_exact(width).zip(of_parameters[weights].chunks_exact_mut(width));
            x = inputs[l]
                .iter()
                .zip(rows)
                .map(|(&x, (row, of_row))| {
                    let mut sum = N::zero();
                    for ((&w, g), &z) in row[outputs.clone()].iter().zip(&mut of_row[outputs.clone()]).zip(&z) {
                        *g += x.pair(z);
                        sum += z.scaled(w);
                    }
                    sum
                })
                .collect();
        }
        for (of_h, x) in of_h.iter_mut().zip(x) {
            *of_h += x;
        }
    }
}
