//! Path development: the flow of a linear equation in a matrix Lie group.
//!
//! ```text
//! H_{t_0} = I,   H_{t_{j+1}} = exp(sum_i A^i dx^i_j) H_{t_j},   A^i in a matrix Lie algebra g
//! ```
//!
//! | algebra | matrices | free parameters of each | what the state keeps |
//! | --- | --- | --- | --- |
//! | `gl(n)` | all | `n^2` | it can be inverted |
//! | `sl(n)` | trace 0 | `n^2 - 1` | determinant 1 |
//! | `so(n)` | `A^T = -A` | `n (n - 1) / 2` | `H^T H = I` |
//! | `sp(2m)` | `A^T J = -J A`, `J = [[0, I], [-I, 0]]` | `m (2 m + 1)` | `H^T J H = J` |
//!
//! Thesis, section "Related Work" of Structured Linear NCDEs: a matrix-valued `SLiCE` with `xi = 0`, `H_{t_0} = I` and `omega = X`.

use std::sync::Arc;

use burn::module::{Module, Param};
use burn::tensor::Tensor;
use burn::tensor::backend::Backend;
use ncde_kernels::{Field, Recurrence, Structure};
use serde::{Deserialize, Serialize};

use super::Error;
use super::parameters::{constant, normal, parameter};
use crate::linear::{Arguments, LinearOps, recurrence};
use crate::random::Stream;

/// A matrix Lie algebra.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Algebra {
    /// `gl(n)`.
    GeneralLinear {
        /// The size of the matrices.
        size: usize,
    },
    /// `sl(n)`.
    SpecialLinear {
        /// The size of the matrices.
        size: usize,
    },
    /// `so(n)`.
    SpecialOrthogonal {
        /// The size of the matrices.
        size: usize,
    },
    /// `sp(2m)`.
    Symplectic {
        /// `m`, half the size of the matrices.
        half: usize,
    },
}

impl Algebra {
    /// `n`: matrices are `n x n`.
    pub fn size(&self) -> usize {
        match *self {
            Self::GeneralLinear { size } | Self::SpecialLinear { size } | Self::SpecialOrthogonal { size } => size,
            Self::Symplectic { half } => 2 * half,
        }
    }

    /// A basis: for each matrix its entries `(row, column, value)`.
    pub fn basis(&self) -> Vec<Vec<(usize, usize, f64)>> {
        let n = self.size();
        let pairs = |from: fn(usize) -> usize| (0..n).flat_map(move |i| (from(i)..n).map(move |j| (i, j)));
        match *self {
            Self::GeneralLinear { .. } => pairs(|_| 0).map(|(i, j)| vec![(i, j, 1.0)]).collect(),
            Self::SpecialLinear { .. } => {
                let off = pairs(|_| 0).filter(|(i, j)| i != j).map(|(i, j)| vec![(i, j, 1.0)]);
                off.chain((1..n).map(|i| vec![(i - 1, i - 1, 1.0), (i, i, -1.0)])).collect()
            }
            Self::SpecialOrthogonal { .. } => pairs(|i| i + 1).map(|(i, j)| vec![(i, j, 1.0), (j, i, -1.0)]).collect(),
            Self::Symplectic { half: m } => {
                // [[P, Q], [R, -P^T]] with Q and R symmetric.
                let mut basis = Vec::new();
                for (i, j) in (0..m).flat_map(|i| (0..m).map(move |j| (i, j))) {
                    basis.push(vec![(i, j, 1.0), (m + j, m + i, -1.0)]);
                }
                for (i, j) in (0..m).flat_map(|i| (i..m).map(move |j| (i, j))) {
                    for (row, column) in [(0, m), (m, 0)] {
                        let mut symmetric = vec![(row + i, column + j, 1.0)];
                        if i != j {
                            symmetric.push((row + j, column + i, 1.0));
                        }
                        basis.push(symmetric);
                    }
                }
                basis
            }
        }
    }
}

/// The settings of a [`Development`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct DevelopmentConfig {
    /// Where the generators live.
    pub algebra: Algebra,
    /// The channels of the path.
    pub channels: usize,
    /// The deviation of the free parameters at first, times the square root of `n`; 0.25 if not said otherwise.
    pub std: f64,
}

impl DevelopmentConfig {
    /// Paths of `channels` channels into the group of `algebra`.
    pub fn new(algebra: Algebra, channels: usize) -> Self {
        Self { algebra, channels, std: 0.25 }
    }

    /// Another deviation.
    #[must_use]
    pub fn with_std(self, std: f64) -> Self {
        Self { std, ..self }
    }

    /// The layer with weights drawn from `seed`.
    ///
    /// # Errors
    /// If there are no channels, or the algebra holds nothing but 0.
    pub fn init<B: Backend>(&self, device: &B::Device, seed: u64) -> Result<Development<B>, Error> {
        let size = self.algebra.size();
        let field = Field::new(Structure::Dense { hidden: size }, self.channels)?;
        let free = self.algebra.basis().len();
        if free == 0 {
            let problem = format!("{:?} holds nothing but 0; take larger matrices", self.algebra);
            return Err(Error::Setting { setting: "algebra", problem });
        }
        let values = normal(&Stream::new(seed, 0), self.channels * free, self.std / (size as f64).sqrt());
        Ok(Development {
            weights: parameter(values, [self.channels, free], device),
            algebra: self.algebra,
            recurrence: Arc::new(Recurrence::new(field)),
        })
    }
}

/// The development of paths in a matrix Lie group.
#[derive(Module, Debug)]
pub struct Development<B: Backend> {
    /// The coordinates of `A^i` in the basis of the algebra: `[channels, free parameters]`.
    pub weights: Param<Tensor<B, 2>>,
    #[module(skip)]
    algebra: Algebra,
    #[module(skip)]
    recurrence: Arc<Recurrence>,
}

impl<B: LinearOps> Development<B> {
    /// `A^1, ..., A^d`.
    ///
    /// # Shapes
    /// `[channels, n, n]`.
    pub fn generators(&self) -> Tensor<B, 3> {
        let (weights, size) = (self.weights.val(), self.algebra.size());
        let [channels, free] = weights.dims();
        let mut basis = vec![0.0; free * size * size];
        for (matrix, entries) in basis.chunks_exact_mut(size * size).zip(self.algebra.basis()) {
            for (row, column, value) in entries {
                matrix[row * size + column] = value;
            }
        }
        let basis = constant(basis, [free, size * size], &weights);
        weights.matmul(basis).reshape([channels, size, size])
    }

    /// The development after each increment of the path.
    ///
    /// # Shapes
    /// `increments`: `[batch, steps, channels]`, to `[batch, steps, n, n]`.
    ///
    /// # Errors
    /// If the channels are others, a number is not finite, or a state overflows.
    pub fn forward(&self, increments: Tensor<B, 3>, lengths: Option<Arc<[usize]>>) -> Result<Tensor<B, 4>, Error> {
        let (batch, size) = (increments.dims()[0], self.algebra.size());
        let identity = (0..size * size).map(|i| f64::from(u8::from(i % (size + 1) == 0))).collect();
        let arguments = Arguments {
            a: self.generators().flatten(0, 2),
            initial: constant(identity, [1, size, size], &increments).expand([batch, size, size]),
            coefficients: increments,
            affine: None,
            lengths,
        };
        // The recurrence holds columns of H one after the other.
        Ok(recurrence(&self.recurrence, arguments)?.swap_dims(2, 3))
    }
}
