//! The seven structures of `A^i`, by name, and how their parameters are drawn.
//!
//! ```text
//! A^i: dense, diag(d), BlockDiag(B_1, ..., B_k), diag(d) then a block, diag(d) + u v^T, few entries, or (H_n / sqrt n) diag(d)
//! ```
//!
//! Thesis, section "Structured Linear NCDEs". Standard deviations of the first parameters, normal with mean 0:
//!
//! | structure | `{"kind": "scaled", "deviation": s}`, as used in practice | `{"kind": "maximally-expressive"}` |
//! | --- | --- | --- |
//! | dense | entries `s / sqrt(H)` | `1 / sqrt(H)` |
//! | diagonal | `s` | none |
//! | block, of size `b` | `s / sqrt(b)` | `1 / sqrt(b)`; the theorem has `b = ceil(log H)` |
//! | diagonal-dense | diagonal `s`, block `s / sqrt(b)` | none |
//! | DPLR | `D`: `s`; `u`, `v`: `s / sqrt(r)` | `D = 0`, `u v^T / sqrt(r H)` with entries of 1; the theorem has `r = ceil(log H)` |
//! | sparse, `H^(1 + epsilon)` entries | `s / sqrt(H)` | `H^(-epsilon / 2)` |
//! | Walsh-Hadamard | `D`: `s` | `(H_n / sqrt n) D`, `D` of 1, unbounded |
//!
//! The right column is the thesis's theorem on the maximal probabilistic expressivity of structured Linear NCDEs, with `h_0 ~ N(0, 1)`. Its printed
//! normalisations for low rank (`u v^T`) and Walsh-Hadamard (`H D` with `H H^T = n I`) do not satisfy the bound its proof rests on,
//! `<A^I h, A^I h> / H -> 1`: one factor `A` multiplies that norm by `r H`, or by `n`. Divided by its square root, they do.

use std::sync::Arc;

use ncde_kernels::{Bound, Field, Pattern, Structure};
use serde::{Deserialize, Serialize};

use super::Init;
use super::signal::refuse;
use crate::Error;

/// The most states with sparse matrices: `row H + column` is a whole number below `2^24`, all of which `f32` can tell apart.
const MAX_SPARSE: usize = 1 << 12;

/// A structure, without the number of states.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
pub enum StructureSpec {
    /// Full matrices.
    Dense {},
    /// Diagonal matrices.
    Diagonal {},
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
    /// Entries at random places that stay as they are; the weight `mask` says where.
    Sparse {
        /// `H^(1 + epsilon)` entries a channel.
        epsilon: f64,
    },
    /// A Hadamard matrix times a diagonal.
    WalshHadamard {
        /// The range of the diagonal.
        #[serde(default)]
        bound: Bound,
    },
}

/// The name of a structure: the seven of linear fields, and that of a layer of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "as the structures above")]
pub enum StructureName {
    Block,
    Dense,
    Diagonal,
    DiagonalDense,
    Dplr,
    Sparse,
    WalshHadamard,
    PermutationDiagonal,
}

impl StructureName {
    /// All of them, as they are written.
    pub const ALL: &[(&str, Self)] = &[
        ("block", Self::Block),
        ("dense", Self::Dense),
        ("diagonal", Self::Diagonal),
        ("diagonal-dense", Self::DiagonalDense),
        ("dplr", Self::Dplr),
        ("sparse", Self::Sparse),
        ("walsh-hadamard", Self::WalshHadamard),
        ("permutation-diagonal", Self::PermutationDiagonal),
    ];

    /// As it is written.
    pub fn as_str(self) -> &'static str {
        Self::ALL.iter().find(|(_, structure)| *structure == self).map_or("", |(name, _)| name)
    }

    /// The structure of a linear field with its sizes, of which it takes those it has.
    ///
    /// # Errors
    /// If it is no structure of linear fields, but the layer [`PermutationDiagonal`](super::PermutationDiagonal).
    pub fn spec(self, block: usize, rank: usize, epsilon: f64, bound: Bound) -> Result<StructureSpec, Error> {
        Ok(match self {
            Self::Block => StructureSpec::Block { block },
            Self::Dense => StructureSpec::Dense {},
            Self::Diagonal => StructureSpec::Diagonal {},
            Self::DiagonalDense => StructureSpec::DiagonalDense { block },
            Self::Dplr => StructureSpec::Dplr { rank },
            Self::Sparse => StructureSpec::Sparse { epsilon },
            Self::WalshHadamard => StructureSpec::WalshHadamard { bound },
            Self::PermutationDiagonal => {
                return refuse(
                    "structure",
                    "`permutation-diagonal`, whose matrices a path does not drive linearly; use it in a `stack`, or a layer of that name",
                );
            }
        })
    }
}

/// How large the first parameters are.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
pub enum Scale {
    /// As used in practice; 0.25 in the thesis's time-series experiments, 0.5 or 1 in stacked token models.
    Scaled {
        /// `s`.
        deviation: f64,
    },
    /// A distribution for which the thesis proves maximal probabilistic expressivity.
    MaximallyExpressive {},
}

impl StructureSpec {
    /// How many entries a sparse matrix has; none for the other structures.
    ///
    /// # Errors
    /// If `epsilon` is not between 0 and 1.
    pub fn entries(&self, hidden: usize) -> Result<Option<usize>, Error> {
        match *self {
            Self::Sparse { .. } if hidden > MAX_SPARSE => refuse(
                "hidden",
                format!("{hidden}; sparse matrices have at most {MAX_SPARSE} rows, or places in them are no `f32`"),
            ),
            Self::Sparse { epsilon } if (0.0..=1.0).contains(&epsilon) => {
                Ok(Some(((hidden as f64).powf(1.0 + epsilon).round() as usize).clamp(1, hidden * hidden)))
            }
            Self::Sparse { epsilon } => {
                refuse("epsilon", format!("{epsilon}; a matrix has hidden^(1 + epsilon) entries, with epsilon between 0 and 1"))
            }
            Self::Dense {}
            | Self::Diagonal {}
            | Self::Block { .. }
            | Self::Blocks { .. }
            | Self::DiagonalDense { .. }
            | Self::Dplr { .. }
            | Self::WalshHadamard { .. } => Ok(None),
        }
    }

    /// How many parameters a channel has, without asking for memory; as many as can be counted where there are more.
    pub(super) fn demand(&self, hidden: usize) -> usize {
        match self {
            Self::Dense {} => hidden.saturating_mul(hidden),
            Self::Diagonal {} | Self::WalshHadamard { .. } => hidden,
            Self::Block { block } => hidden.saturating_mul(*block),
            Self::Blocks { sizes } => sizes.iter().fold(hidden, |sum, b| sum.saturating_add(b.saturating_mul(*b))) - hidden,
            Self::DiagonalDense { block } => hidden.saturating_add(block.saturating_mul(*block)).saturating_sub(*block),
            Self::Dplr { rank } => rank.saturating_mul(2).saturating_add(1).saturating_mul(hidden),
            // Refused elsewhere where it makes no sense.
            Self::Sparse { .. } => self.entries(hidden).ok().flatten().unwrap_or(hidden),
        }
    }

    /// How many rows the largest block has.
    pub(super) fn side(&self, hidden: usize) -> usize {
        match self {
            Self::Block { block } | Self::DiagonalDense { block } => *block,
            Self::Blocks { sizes } => sizes.iter().copied().max().unwrap_or(1),
            Self::Dense {} | Self::Diagonal {} | Self::Dplr { .. } | Self::Sparse { .. } | Self::WalshHadamard { .. } => hidden,
        }
    }

    /// The field with `hidden` states and `channels` driving channels; `mask` holds the places `row H + column` of the entries of sparse matrices.
    ///
    /// # Errors
    /// If the sizes make no sense.
    pub fn field(&self, hidden: usize, channels: usize, mask: Option<&[f32]>) -> Result<Field, Error> {
        let structure = match self {
            Self::Dense {} => Structure::Dense { hidden },
            Self::Diagonal {} => Structure::Diagonal { hidden },
            Self::Block { block } => Structure::blocks(hidden, *block)?,
            Self::Blocks { sizes } => {
                if let Some(size) = sizes.iter().find(|size| **size > hidden) {
                    return refuse("structure", format!("a block of {size} states, but `hidden` is {hidden}"));
                }
                Structure::Block { sizes: sizes.clone() }
            }
            Self::DiagonalDense { block } => Structure::DiagonalDense { hidden, block: *block },
            Self::Dplr { rank } => Structure::Dplr { hidden, rank: *rank },
            Self::WalshHadamard { bound } => Structure::WalshHadamard { hidden, bound: *bound },
            Self::Sparse { .. } => {
                let entries = self.entries(hidden)?.unwrap_or(1);
                let wrong = |place: &&f32| !(**place >= 0.0 && **place < (hidden * hidden) as f32 && place.fract() == 0.0);
                if let Some(place) = mask.and_then(|mask| mask.iter().find(wrong)) {
                    return refuse(
                        "mask",
                        format!("{place} somewhere, which is no place `row {hidden} + column` of a {hidden} x {hidden} matrix"),
                    );
                }
                let place = |&place: &f32| (place as usize / hidden, place as usize % hidden);
                let places = |k: usize| match mask {
                    Some(mask) => mask[k * entries..(k + 1) * entries].iter().map(place).collect(),
                    // Sizes alone are asked for.
                    None => (0..entries).map(|i| (i / hidden, i % hidden)).collect(),
                };
                let pattern = Pattern::new(hidden, &(0..channels).map(places).collect::<Vec<_>>())?;
                Structure::Sparse { pattern: Arc::new(pattern) }
            }
        };
        if structure.hidden() != hidden {
            return refuse("structure", format!("blocks of {} states in all, but `hidden` is {hidden}", structure.hidden()));
        }
        Ok(Field::new(structure, channels)?)
    }

    /// How the parameters of one channel are drawn.
    ///
    /// # Errors
    /// If no expressive distribution is known for the structure, or the deviation is not a positive number.
    pub fn init(&self, scale: Scale, field: &Field) -> Result<Vec<(usize, Init)>, Error> {
        let (hidden, root) = (field.hidden(), |x: usize| (x as f64).sqrt());
        let s = match scale {
            Scale::Scaled { deviation } if !(deviation.is_finite() && deviation > 0.0) => {
                return refuse("init", format!("a deviation of {deviation}; it is a positive number"));
            }
            Scale::Scaled { deviation } => Some(deviation),
            Scale::MaximallyExpressive {} => None,
        };
        let none = |why: &str| refuse("init", format!("`maximally-expressive`: {why}"));
        let deviations: Vec<(usize, f64)> = match (self, s) {
            (Self::Dplr { rank }, Some(s)) => vec![(hidden, s), (2 * hidden * rank, s / root(*rank))],
            (Self::Dplr { rank }, None) => vec![(hidden, 0.0), (2 * hidden * rank, 1.0 / root(rank * hidden).sqrt())],
            (Self::Sparse { .. }, Some(s)) => vec![(field.channel(0).len(), s / root(hidden))],
            (Self::Sparse { epsilon }, None) => vec![(field.channel(0).len(), (hidden as f64).powf(-epsilon / 2.0))],
            (Self::WalshHadamard { .. }, Some(s)) => vec![(hidden, s)],
            (Self::WalshHadamard { bound: Bound::None }, None) => vec![(hidden, 1.0)],
            (Self::WalshHadamard { bound: Bound::Tanh }, None) => {
                return none("a bounded Walsh-Hadamard diagonal is not normal; use bound `none`");
            }
            (Self::Diagonal {} | Self::DiagonalDense { .. }, None) => {
                return none("diagonal states are not expressive under any distribution; use `scaled` or another structure");
            }
            (Self::Dense {} | Self::Diagonal {} | Self::Block { .. } | Self::Blocks { .. } | Self::DiagonalDense { .. }, s) => {
                let sizes = field.structure().sizes().into_iter().flatten();
                sizes.map(|b| (b * b, s.unwrap_or(1.0) / root(b))).collect()
            }
        };
        Ok(deviations.into_iter().map(|(count, deviation)| (count, Init::Normal(deviation))).collect())
    }

    /// Where the parameters of the diagonal of a matrix lie, state by state, and the state whose rate each follows: one rate a block, or its
    /// states could not be mixed without forgetting at the fastest. None where a structure has no diagonal of its own, and unless `full`
    /// for dense matrices, whose states are all mixed; then each state has its own rate.
    pub(super) fn diagonal(&self, field: &Field, full: bool) -> Option<Vec<(usize, usize)>> {
        match self {
            Self::Dplr { .. } => Some((0..field.hidden()).map(|j| (j, j)).collect()),
            Self::Dense {} if full => Some((0..field.hidden()).map(|j| (j * (field.hidden() + 1), j)).collect()),
            Self::Dense {} | Self::Sparse { .. } | Self::WalshHadamard { .. } => None,
            Self::Diagonal {} | Self::Block { .. } | Self::Blocks { .. } | Self::DiagonalDense { .. } => {
                let (mut place, mut state, mut all) = (0, 0, Vec::new());
                for b in field.structure().sizes()? {
                    all.extend((0..b).map(|j| (place + j * (b + 1), state)));
                    (place, state) = (place + b * b, state + b);
                }
                Some(all)
            }
        }
    }
}
