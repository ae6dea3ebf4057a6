//! Generators that act on a state and are never formed as matrices, through time; see [`crate::action`].
//!
//! | file | what |
//! | --- | --- |
//! | `operator` | `Omega x`, and `Omega^T z` with the gradient in the numbers of Omega |
//! | `hadamard` | the fast Walsh-Hadamard transform in shared memory |
//! | `series` | how many stages and terms of the exponential a step takes |
//! | `walk` | states forwards, a column of a series a cube |
//! | `back` | their gradients back |
//! | `lowrank` | a diagonal plus low rank, first order, forwards and back |
//! | `parts` | parameters of low rank apart, and as full matrices |
//! | `places` | what is moved: coefficients of a slab, parameters to the places of a matrix |
//! | `words` | full matrices of words, and of Walsh-Hadamard letters |
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
