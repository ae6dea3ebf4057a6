//! Flows that never expand: free weights to matrices whose symmetric part is not positive.
//!
//! ```text
//! A^0 = U - U^T - L L^T - r I   (time),     A^i = (M^i - M^i^T) / 2   (the other channels),     each block by itself
//! ```
//!
//! Of the weights `M^0` of a block of time, `U` is what lies above the diagonal and `L` the rest. While time goes forward by `dt` and all is multiplied with
//! `scale`, the symmetric part of `Omega` is at most `-scale r dt`, so that
//!
//! ```text
//! |exp(Omega) h| <= exp(-scale r dt) |h|,     |phi_1(Omega) beta| <= |beta|
//! ```
//!
//! and, where rows are at least `dt` apart and at most `beta` is added at each, over any number of rows
//! `|h_k| <= |h_0| + max |beta| / (1 - exp(-scale r dt))`: what comes in over the rate at which it is forgotten. That is lost at depth 2, as the bracket of a
//! matrix that is not skew is not, and with `I + Omega`, which expands even if `Omega` is skew.

use std::ops::Range;

use ncde_kernels::Structure;
use serde::{Deserialize, Serialize};

use super::signal::refuse;
use crate::Error;

/// Whether the flow of a linear CDE may expand.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
pub enum Stability {
    /// It may: the weights are the matrices.
    Free {},
    /// It never does, where channel 0 of omega, time, never decreases.
    Contractive {
        /// `r`, the least rate at which states are forgotten, a unit of channel 0.
        rate: f64,
    },
}

impl Default for Stability {
    fn default() -> Self {
        Self::Free {}
    }
}

impl Stability {
    /// Whether it is the default.
    pub(super) fn is_free(&self) -> bool {
        *self == Self::Free {}
    }
}

/// The map from free weights to matrices.
#[derive(Debug, Clone, PartialEq)]
pub struct Contractive {
    rate: f64,
    /// Blocks of one size that follow each other: the size, and where their parameters lie.
    runs: Vec<(usize, Range<usize>)>,
    /// The place of each parameter in the transposed matrix.
    transposed: Vec<usize>,
    /// `row - column` of each parameter, in its block.
    below: Vec<isize>,
}

impl Contractive {
    /// For matrices of this structure.
    ///
    /// # Errors
    /// If it has no blocks, or the rate is not positive.
    pub fn new(structure: &Structure, rate: f64) -> Result<Self, Error> {
        if !(rate.is_finite() && rate > 0.0) {
            return refuse("stability", format!("contractive with a rate of {rate}; it is a positive number"));
        }
        let Some(sizes) = structure.sizes() else {
            let name = structure.name();
            return refuse(
                "stability",
                format!(
                    "`contractive`, but {name} matrices have no skew form; use `block`, `dense`, `diagonal-dense` or `diagonal`"
                ),
            );
        };
        let mut runs: Vec<(usize, Range<usize>)> = Vec::new();
        let (mut transposed, mut below) = (Vec::new(), Vec::new());
        for b in sizes {
            let start = transposed.len();
            match runs.last_mut() {
                Some((size, places)) if *size == b => places.end += b * b,
                _ => runs.push((b, start..start + b * b)),
            }
            transposed.extend((0..b * b).map(|i| start + i % b * b + i / b));
            below.extend((0..b * b).map(|i| (i / b) as isize - (i % b) as isize));
        }
        Ok(Self { rate, runs, transposed, below })
    }

    /// `r`.
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// Blocks of one size that follow each other: the size, and where their parameters lie.
    pub fn runs(&self) -> &[(usize, Range<usize>)] {
        &self.runs
    }

    /// The place of each parameter in the transposed matrix.
    pub fn transposed(&self) -> &[usize] {
        &self.transposed
    }

    /// 1 where `row - column` of a parameter in its block is as asked for, 0 elsewhere.
    pub fn where_below(&self, wanted: impl Fn(isize) -> bool) -> Vec<f32> {
        self.below.iter().map(|&below| f32::from(u8::from(wanted(below)))).collect()
    }

    /// The matrices of weights `[channels, parameters]`, time first.
    pub fn matrices(&self, a: &[f32]) -> Vec<f32> {
        let count = self.transposed.len();
        let skew =
            |matrix: &[f32]| -> Vec<f32> { self.transposed.iter().zip(matrix).map(|(&t, x)| 0.5 * (x - matrix[t])).collect() };
        let (time, others) = a.split_at(count);
        let mut all = self.time(time);
        all.extend(others.chunks_exact(count).flat_map(skew));
        all
    }

    /// `U - U^T - L L^T - r I`.
    fn time(&self, m: &[f32]) -> Vec<f32> {
        let mut out = Vec::with_capacity(m.len());
        for (b, places) in &self.runs {
            for block in m[places.clone()].chunks_exact(b * b) {
                for (i, j) in (0..b * b).map(|k| (k / b, k % b)) {
                    let turn = match i.cmp(&j) {
                        std::cmp::Ordering::Less => block[i * b + j],
                        std::cmp::Ordering::Equal => -self.rate as f32,
                        std::cmp::Ordering::Greater => -block[j * b + i],
                    };
                    let shrink: f32 = (0..=i.min(j)).map(|k| block[i * b + k] * block[j * b + k]).sum();
                    out.push(turn - shrink);
                }
            }
        }
        out
    }
}
