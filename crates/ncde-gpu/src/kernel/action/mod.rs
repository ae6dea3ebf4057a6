//! Generators that act on a state and are never formed as matrices, through time; see [`crate::action`].
//!
//! | array | layout |
//! | --- | --- |
//! | states, their gradient, `beta` | `[batch, length, columns, H]` |
//! | numbers of Omega of a slab, and their gradient | `[batch, steps, deep, H]`: of state `j`, the `k`-th number |
//! | which state goes with a number of a sparse matrix | `[deep, H]` by rows, then the same by columns |
//! | stages and terms of a slab | `[batch, steps, 2]` |

pub(crate) mod back;
mod hadamard;
pub(crate) mod lowrank;
mod operator;
pub(crate) mod parts;
pub(crate) mod places;
pub(crate) mod series;
pub(crate) mod walk;
pub(crate) mod words;
