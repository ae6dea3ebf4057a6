//! The matrices `A^1, ..., A^d` of a linear vector field `dh = sum_k A^k h domega^k`, in seven structures.
//!
//! | structure | `A^k` | parameters a channel | one product with a state | closed under products |
//! | --- | --- | --- | --- | --- |
//! | dense | full, row by row | `H^2` | `H^2` | yes |
//! | diagonal | its diagonal | `H` | `H` | yes |
//! | block | dense blocks of sizes `b_j`, each row by row | `sum b_j^2` | `sum b_j^2` | yes |
//! | diagonal-dense | a diagonal of `H - b`, then one dense block of `b` | `H - b + b^2` | the same | yes |
//! | DPLR | `D + u v^T`: `H` of `D`, then `r` columns of `u`, then `r` columns of `v` | `H (1 + 2 r)` | the same | no |
//! | sparse | the entries of its mask ([`Pattern`]) | their number | their number | no |
//! | Walsh-Hadamard | `(H_n / sqrt n) D`: the diagonal of `D`, or of its inverse hyperbolic tangent | `H` | `H log H` | no |
//!
//! Thesis, section "Structured Linear NCDEs". The first four are all block-diagonal, and one kernel serves them.

mod channel;
mod densify;
mod pattern;
mod series;

use std::sync::Arc;

pub(crate) use channel::add_product;
pub use pattern::Pattern;
pub(crate) use series::words;

use crate::Error;

/// The range of Walsh-Hadamard diagonals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bound {
    /// Any number.
    None,
    /// Between -1 and 1: parameters go through a hyperbolic tangent.
    #[default]
    Tanh,
}

/// The structure of the matrices, with its sizes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Structure {
    /// Full matrices.
    Dense {
        /// `H`.
        hidden: usize,
    },
    /// Diagonal matrices.
    Diagonal {
        /// `H`.
        hidden: usize,
    },
    /// Dense blocks along the diagonal.
    Block {
        /// `b_1, b_2, ...`; `H` is their sum.
        sizes: Vec<usize>,
    },
    /// A diagonal, then one dense block at the end.
    DiagonalDense {
        /// `H`.
        hidden: usize,
        /// `b`.
        block: usize,
    },
    /// A diagonal plus a matrix of low rank.
    Dplr {
        /// `H`.
        hidden: usize,
        /// `r`.
        rank: usize,
    },
    /// Few entries, at fixed random places.
    Sparse {
        /// Where they are.
        pattern: Arc<Pattern>,
    },
    /// A Hadamard matrix times a diagonal.
    WalshHadamard {
        /// `H`, a power of two.
        hidden: usize,
        /// The range of the diagonal.
        bound: Bound,
    },
}

impl Structure {
    /// The block-diagonal structure with equal blocks.
    ///
    /// # Errors
    /// If `block` does not divide `hidden`.
    pub fn blocks(hidden: usize, block: usize) -> Result<Self, Error> {
        if block == 0 || !hidden.is_multiple_of(block) {
            let problem = format!(
                "blocks of {block} do not fill {hidden} states; take a divisor of {hidden}, or list the sizes of all blocks"
            );
            return Err(Error::Structure { structure: "block-diagonal", problem });
        }
        Ok(Self::Block { sizes: vec![block; hidden / block] })
    }

    /// The name in messages.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Dense { .. } => "dense",
            Self::Diagonal { .. } => "diagonal",
            Self::Block { .. } => "block-diagonal",
            Self::DiagonalDense { .. } => "diagonal-dense",
            Self::Dplr { .. } => "DPLR",
            Self::Sparse { .. } => "sparse",
            Self::WalshHadamard { .. } => "Walsh-Hadamard",
        }
    }

    /// The number of states `H`.
    pub fn hidden(&self) -> usize {
        match self {
            Self::Dense { hidden }
            | Self::Diagonal { hidden }
            | Self::DiagonalDense { hidden, .. }
            | Self::Dplr { hidden, .. }
            | Self::WalshHadamard { hidden, .. } => *hidden,
            Self::Block { sizes } => sizes.iter().sum(),
            Self::Sparse { pattern } => pattern.hidden(),
        }
    }

    /// Whether products of such matrices are such matrices.
    pub fn is_closed(&self) -> bool {
        self.sizes().is_some()
    }

    /// The sizes of the blocks of a structure that is closed under products.
    pub fn sizes(&self) -> Option<Vec<usize>> {
        match self {
            Self::Dense { hidden } => Some(vec![*hidden]),
            Self::Diagonal { hidden } => Some(vec![1; *hidden]),
            Self::Block { sizes } => Some(sizes.clone()),
            Self::DiagonalDense { hidden, block } => {
                let mut sizes = vec![1; hidden - block];
                sizes.push(*block);
                Some(sizes)
            }
            Self::Dplr { .. } | Self::Sparse { .. } | Self::WalshHadamard { .. } => None,
        }
    }

    fn check(&self) -> Result<(), Error> {
        let refuse = |problem: String| Err(Error::Structure { structure: self.name(), problem });
        let hidden = self.hidden();
        if hidden == 0 {
            return refuse("there are no states; at least 1 is needed".into());
        }
        match self {
            Self::Block { sizes } if sizes.contains(&0) => refuse(format!("a block of size 0 in {sizes:?}; leave it out")),
            Self::DiagonalDense { block, .. } if *block == 0 || *block > hidden => {
                refuse(format!("a dense block of {block} in {hidden} states; it has between 1 and {hidden}"))
            }
            Self::Dplr { rank, .. } if *rank == 0 || *rank > hidden => {
                refuse(format!("rank {rank} with {hidden} states; it lies between 1 and {hidden} (rank 0 is `diagonal`)"))
            }
            Self::WalshHadamard { .. } if !hidden.is_power_of_two() => refuse(format!(
                "{hidden} states, but a Hadamard matrix of ours has a power of two; the next is {}",
                hidden.next_power_of_two()
            )),
            _ => Ok(()),
        }
    }
}

/// The linear vector field: a structure and the number of channels that drive it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    structure: Structure,
    channels: usize,
    /// Where each channel's parameters begin; one more at the end.
    offsets: Vec<usize>,
    /// The blocks of a closed structure.
    blocks: Vec<BlockOffset>,
}

/// A diagonal block: its size `b`, its first state `at` and its first parameter `entry` within a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BlockOffset {
    pub(crate) b: usize,
    pub(crate) at: usize,
    pub(crate) entry: usize,
}

impl Field {
    /// Matrices `A^1, ..., A^channels`.
    ///
    /// ```
    /// use ncde_kernels::{Field, Structure};
    /// let field = Field::new(Structure::blocks(128, 4)?, 7)?;
    /// assert_eq!(field.parameters(), 7 * 32 * 16);
    /// let wrong = Structure::WalshHadamard { hidden: 100, bound: ncde_kernels::Bound::None };
    /// assert!(Field::new(wrong, 7).unwrap_err().to_string().ends_with("the next is 128"));
    /// # Ok::<(), ncde_kernels::Error>(())
    /// ```
    ///
    /// # Errors
    /// If a size is 0 or does not fit the others.
    pub fn new(structure: Structure, channels: usize) -> Result<Self, Error> {
        structure.check()?;
        let refuse = |problem: String| Err(Error::Structure { structure: structure.name(), problem });
        if channels == 0 {
            return refuse("there are no channels to drive the state; at least 1 is needed".into());
        }
        let hidden = structure.hidden();
        let (mut at, mut entry, mut blocks) = (0, 0, Vec::new());
        for b in structure.sizes().into_iter().flatten() {
            blocks.push(BlockOffset { b, at, entry });
            at += b;
            entry += b * b;
        }
        let channel_len = match &structure {
            Structure::Dplr { rank, .. } => hidden * (1 + 2 * rank),
            Structure::WalshHadamard { .. } => hidden,
            Structure::Sparse { pattern } => {
                if pattern.channels() != channels {
                    return refuse(format!("the masks are for {} channels, the field has {channels}", pattern.channels()));
                }
                let mut offsets: Vec<usize> = (0..channels).map(|k| pattern.channel(k).0.start).collect();
                offsets.push(pattern.parameters());
                return Ok(Self { structure, channels, offsets, blocks });
            }
            Structure::Dense { .. } | Structure::Diagonal { .. } | Structure::Block { .. } | Structure::DiagonalDense { .. } => {
                entry
            }
        };
        Ok(Self { structure, channels, offsets: (0..=channels).map(|k| k * channel_len).collect(), blocks })
    }

    /// The structure.
    pub fn structure(&self) -> &Structure {
        &self.structure
    }

    /// The number of channels `d`.
    pub fn channels(&self) -> usize {
        self.channels
    }

    /// The number of states `H`.
    pub fn hidden(&self) -> usize {
        self.structure.hidden()
    }

    /// The number of parameters of `A^1, ..., A^d`, which are stored channel after channel.
    pub fn parameters(&self) -> usize {
        self.offsets[self.channels]
    }

    /// The parameters of channel `k`, counted from 0.
    pub fn channel(&self, k: usize) -> std::ops::Range<usize> {
        self.offsets[k]..self.offsets[k + 1]
    }

    /// The blocks of a closed structure; none for the others.
    pub(crate) fn blocks(&self) -> &[BlockOffset] {
        &self.blocks
    }
}
