//! How the parameters of the seven structures of `A^i` are drawn.
//!
//! ```text
//! A^i_jk ~ N(0, s^2 / b),   and the like for what is not a block
//! ```
//!
//! Thesis, section "Structured Linear NCDEs"; the deviations of [`Init`] from that section and from its experiments.

use ncde_kernels::{Bound, Field};
use ncde_runtime::StructureConfig;
use serde::{Deserialize, Serialize};

use super::Error;
use crate::random::Stream;

/// How the parameters of `A` are drawn.
///
/// | structure | `Scaled { std: s }`, as used in practice | `MaximallyExpressive` |
/// | --- | --- | --- |
/// | dense | entries `s / sqrt(H)` | `1 / sqrt(H)` |
/// | diagonal | `s` | none |
/// | block, of size `b` | `s / sqrt(b)` | `1 / sqrt(b)`; the theorem has `b = ceil(log H)` |
/// | diagonal-dense | diagonal `s`, block `s / sqrt(b)` | none |
/// | DPLR | `D`: `s`; `u`, `v`: `s / sqrt(r)` | `D = 0`, `u v^T / sqrt(r H)` with entries of 1; the theorem has `r = ceil(log H)` |
/// | sparse, kept with probability `p` | `s / sqrt(H)` | `1 / sqrt(H p)` |
/// | Walsh-Hadamard | `D`: `s` | `(H_n / sqrt n) D`, `D` of 1, unbounded |
///
/// (Standard deviations of normal numbers with mean 0.) The right column is the thesis's theorem on the maximal probabilistic
/// expressivity of structured Linear NCDEs, with `h_0 ~ N(0, 1)`. Its printed normalisations for low rank (`u v^T`) and
/// Walsh-Hadamard (`H D` with `H H^T = n I`) do not satisfy the bound its proof rests on, `<A^I h, A^I h> / H -> 1`: one factor
/// `A` multiplies that norm by `r H`, or by `n`. Divided by its square root, they do.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Init {
    /// As used in practice; 0.25 in the thesis's time-series experiments, 0.5 or 1 in stacked token models.
    Scaled {
        /// `s`.
        std: f64,
    },
    /// A distribution for which the thesis proves maximal probabilistic expressivity.
    MaximallyExpressive,
}

impl Init {
    /// Parameters for a field made by `config`.
    ///
    /// # Errors
    /// If no expressive distribution is known for the structure, or the deviation is not a positive number.
    pub fn draw(&self, config: &StructureConfig, field: &Field, stream: &Stream) -> Result<Vec<f64>, Error> {
        let mut values = Vec::with_capacity(field.parameters());
        for k in 0..field.channels() {
            for (count, std) in self.deviations(config, field, k)? {
                let first = values.len();
                values.extend((first..first + count).map(|place| std * stream.normal(place as u64)));
            }
        }
        Ok(values)
    }

    /// The deviations of consecutive parameters of channel `k`: how many, and which.
    fn deviations(&self, config: &StructureConfig, field: &Field, k: usize) -> Result<Vec<(usize, f64)>, Error> {
        let hidden = field.hidden();
        let root = |x: usize| (x as f64).sqrt();
        if let Self::Scaled { std } = *self
            && !(std.is_finite() && std > 0.0)
        {
            return Err(Error::Setting { setting: "init", problem: format!("the deviation is {std}; it is a positive number") });
        }
        let blocks = |std: f64| field.structure().sizes().into_iter().flatten().map(move |b| (b * b, std / root(b))).collect();
        Ok(match (config, *self) {
            (StructureConfig::Dplr { rank }, Self::Scaled { std }) => {
                vec![(hidden, std), (2 * hidden * rank, std / root(*rank))]
            }
            (StructureConfig::Dplr { rank }, Self::MaximallyExpressive) => {
                vec![(hidden, 0.0), (2 * hidden * rank, 1.0 / root(rank * hidden).sqrt())]
            }
            (StructureConfig::Sparse { .. }, Self::Scaled { std }) => vec![(field.channel(k).len(), std / root(hidden))],
            (StructureConfig::Sparse { epsilon }, Self::MaximallyExpressive) => {
                vec![(field.channel(k).len(), (hidden as f64).powf(-epsilon / 2.0))]
            }
            (StructureConfig::WalshHadamard { .. }, Self::Scaled { std }) => vec![(hidden, std)],
            (StructureConfig::WalshHadamard { bound: Bound::None }, Self::MaximallyExpressive) => vec![(hidden, 1.0)],
            (StructureConfig::WalshHadamard { bound: Bound::Tanh }, Self::MaximallyExpressive) => {
                return unknown("a bounded Walsh-Hadamard diagonal is not normal; use bound `none`");
            }
            (StructureConfig::Diagonal | StructureConfig::DiagonalDense { .. }, Self::MaximallyExpressive) => {
                return unknown("diagonal states are not expressive under any distribution; use `scaled` or another structure");
            }
            (_, Self::Scaled { std }) => blocks(std),
            (_, Self::MaximallyExpressive) => blocks(1.0),
        })
    }
}

fn unknown<T>(problem: &str) -> Result<T, Error> {
    Err(Error::Setting { setting: "init", problem: format!("`maximally-expressive`: {problem}") })
}
