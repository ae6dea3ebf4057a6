//! What runs on the device.
//!
//! | file | what |
//! | --- | --- |
//! | `step` | one step of a small block in registers: the flow and its derivative |
//! | `small` | small blocks through time: products of chunks, states, gradients |
//! | `few` | the same with few channels: generators made on the way |
//! | `middle` | blocks of 9 to 16, a team of units each, with its rows in registers |
//! | `wide` | large blocks in shared memory |
//! | `place` | where walks of both begin and end |
//! | `carry` | from chunk to chunk |
//! | `scale` | `factor x` |
//! | `scan` | the elementwise recurrence |
//! | `generators` | generators and their gradients as matrix products |
//! | `brackets` | matrices and vectors of brackets |
//! | `commutators` | generators of short windows |
//! | `action` | structures whose matrices act without being formed: states, gradients |
//! | `permutation` | one-hot columns times a diagonal: choices, states, gradients |
//! | `neural` | whole neural-CDE solves: states, gradients |
//! | `signature` | signatures and log-signatures: pieces of paths, logarithms, gradients |
//! | `product` | products of matrices |
//! | `tensor` | the same of rounded numbers, on tensor cores |
//! | `rows` | what layers do to rows |
//! | `unit` | which unit or cube this is, arrays in registers |
//! | `team` | sums and maxima over the units that share a row |
#![allow(
    clippy::collapsible_if,
    clippy::eq_op,
    clippy::manual_div_ceil,
    clippy::manual_is_multiple_of,
    clippy::too_many_arguments,
    reason = "kernels are translated: what is decided ahead stands apart from what is decided on the device, which has no such functions"
)]

pub(crate) mod action;
pub(crate) mod brackets;
pub(crate) mod carry;
pub(crate) mod commutators;
pub(crate) mod few;
pub(crate) mod generators;
pub(crate) mod middle;
pub(crate) mod neural;
pub(crate) mod permutation;
pub(crate) mod place;
pub(crate) mod product;
pub(crate) mod rows;
pub(crate) mod scale;
pub(crate) mod scan;
pub(crate) mod signature;
pub(crate) mod small;
pub(crate) mod step;
pub(crate) mod team;
pub(crate) mod tensor;
pub(crate) mod unit;
pub(crate) mod wide;
