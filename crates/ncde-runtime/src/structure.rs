//! The seven structures of `A^i`, by name.
//!
//! ```text
//! A^i: dense, diag(d), BlockDiag(B_1, ..., B_k), diag(d) then a block, diag(d) + u v^T, few entries, or (H_n / sqrt n) diag(d)
//! ```
//!
//! Thesis, section "Structured Linear NCDEs".

use std::sync::Arc;

use ncde_kernels::{Bound, Field, Pattern, Structure};
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::random::Stream;

/// A structure, without the number of states.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum StructureConfig {
    /// Full matrices.
    Dense,
    /// Diagonal matrices.
    Diagonal,
    /// Equal dense blocks along the diagonal.
    Block {
        /// `b`, a divisor of `H`.
        block: usize,
    },
    /// Dense blocks of any sizes.
    Blocks {
        /// `b_1, b_2, ...`, with sum `H`.
        sizes: Vec<usize>,
    },
    /// A diagonal, then one dense block.
    DiagonalDense {
        /// `b`.
        block: usize,
    },
    /// A diagonal plus a matrix of low rank.
    Dplr {
        /// `r`.
        rank: usize,
    },
    /// Entries at random places that stay as they are.
    Sparse {
        /// `H^(1 + epsilon)` entries a channel on average.
        epsilon: f64,
    },
    /// A Hadamard matrix times a diagonal.
    WalshHadamard {
        /// The range of the diagonal.
        #[serde(with = "BoundName", default = "tanh")]
        bound: Bound,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Bound", rename_all = "kebab-case")]
enum BoundName {
    None,
    Tanh,
}

fn tanh() -> Bound {
    Bound::Tanh
}

impl StructureConfig {
    /// The field with `hidden` states and `channels` driving channels; sparse masks are drawn from `masks`.
    ///
    /// # Errors
    /// If the sizes make no sense.
    pub fn field(&self, hidden: usize, channels: usize, masks: &Stream) -> Result<Field, Error> {
        let structure = match self {
            Self::Dense => Structure::Dense { hidden },
            Self::Diagonal => Structure::Diagonal { hidden },
            Self::Block { block } => Structure::blocks(hidden, *block)?,
            Self::Blocks { sizes } => Structure::Block { sizes: sizes.clone() },
            Self::DiagonalDense { block } => Structure::DiagonalDense { hidden, block: *block },
            Self::Dplr { rank } => Structure::Dplr { hidden, rank: *rank },
            Self::Sparse { epsilon } => {
                let pattern = Pattern::bernoulli(hidden, channels, *epsilon, |i| masks.uniform(i))?;
                Structure::Sparse { pattern: Arc::new(pattern) }
            }
            Self::WalshHadamard { bound } => Structure::WalshHadamard { hidden, bound: *bound },
        };
        if structure.hidden() != hidden {
            let problem = format!("the blocks have {} states in all, but `hidden` is {hidden}", structure.hidden());
            return Err(Error::Setting { setting: "structure", problem });
        }
        Ok(Field::new(structure, channels)?)
    }
}
