//! What runs on the device.
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
pub(crate) mod filters;
pub(crate) mod generators;
pub(crate) mod matrix_state;
pub(crate) mod middle;
pub(crate) mod neural;
pub(crate) mod oscillator;
pub(crate) mod permutation;
pub(crate) mod place;
pub(crate) mod product;
pub(crate) mod recurrent;
pub(crate) mod rows;
pub(crate) mod scale;
pub(crate) mod scan;
pub(crate) mod selective;
pub(crate) mod signature;
pub(crate) mod small;
pub(crate) mod step;
pub(crate) mod team;
pub(crate) mod tensor;
pub(crate) mod unit;
pub(crate) mod wide;
