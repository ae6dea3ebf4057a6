//! Muon: the momentum of a matrix with all its singular values moved towards 1 (Jordan and others 2024); Adam for weights that are no matrices.
//!
//! ```text
//! V <- mu V + G,   O ~ U W^T for V = U S W^T,   Theta <- (1 - rate decay) Theta - rate sqrt(max(1, rows / columns)) O
//! X_0 = V / |V|_F,   X <- a X + (b X X^T + c (X X^T)^2) X,   (a, b, c) = (3.4445, -4.7750, 2.0315), five times
//! ```

use burn_tensor::Tensor;
use ncde_layers::layer::{Error, LayerBackend};

use super::{Moment, Optimizer, Parameter, Updated, one_by_one};

/// Muon.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Muon {
    /// `mu`, and of weights that are no matrices the decay of the mean of gradients and of their squares.
    pub betas: [f64; 3],
}

impl Default for Muon {
    fn default() -> Self {
        Self { betas: [0.95, 0.9, 0.999] }
    }
}

/// The Newton-Schulz iteration: how often, and its coefficients.
const ITERATIONS: usize = 5;
const COEFFICIENTS: [f64; 3] = [3.4445, -4.7750, 2.0315];

/// About `U W^T` of a matrix `U S W^T`.
fn orthogonalised<B: LayerBackend>(matrix: Tensor<B, 2>) -> Tensor<B, 2> {
    let [rows, columns] = matrix.dims();
    let wide = if rows > columns { matrix.transpose() } else { matrix };
    let norm = wide.clone().square().sum().sqrt().add_scalar(1e-12).reshape([1, 1]);
    let [a, b, c] = COEFFICIENTS;
    let mut x = wide.clone() / norm.expand(wide.dims());
    for _ in 0..ITERATIONS {
        let gram = x.clone().matmul(x.clone().transpose());
        let by = gram.clone() * b + gram.clone().matmul(gram) * c;
        x = x.clone() * a + by.matmul(x);
    }
    if rows > columns { x.transpose() } else { x }
}

impl Optimizer for Muon {
    fn slots(&self) -> &'static [&'static str] {
        &["momentum", "square"]
    }

    fn update<B: LayerBackend>(&self, moment: &Moment<B>, parameters: Vec<Parameter<B>>) -> Result<Vec<Updated<B>>, Error> {
        let [mu, b1, b2] = self.betas;
        let corrected = |beta: f64| 1.0 - beta.powi(i32::try_from(moment.step).unwrap_or(i32::MAX));
        Ok(one_by_one(moment, parameters, |Parameter { shape, weight, gradient, mut slots }| {
            let square = slots.pop().unwrap_or_else(|| gradient.zeros_like());
            let momentum = slots.pop().unwrap_or_else(|| gradient.zeros_like());
            let weight = weight * (1.0 - moment.rate * moment.decay);
            match shape[..] {
                [rows, columns] if rows > 1 && columns > 1 => {
                    let momentum = momentum * mu + gradient;
                    let scale = (rows as f64 / columns as f64).max(1.0).sqrt();
                    let direction = orthogonalised(momentum.clone().reshape([rows, columns])).reshape([rows * columns]);
                    Updated { weight: weight - direction * (moment.rate * scale), slots: vec![momentum, square] }
                }
                _ => {
                    let mean = momentum * b1 + gradient.clone() * (1.0 - b1);
                    let square = square * b2 + gradient.square() * (1.0 - b2);
                    let size = (square.clone() / corrected(b2)).sqrt() + 1e-8;
                    let step = mean.clone() * (moment.rate / corrected(b1)) / size;
                    Updated { weight: weight - step, slots: vec![mean, square] }
                }
            }
        }))
    }
}
