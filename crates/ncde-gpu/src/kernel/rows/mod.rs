//! What layers do to rows of numbers, `[rows, width]`, one after the other.

pub(crate) mod activation;
pub(crate) mod adam;
pub(crate) mod dropout;
pub(crate) mod lookup;
pub(crate) mod loss;
pub(crate) mod norm;
pub(crate) mod shift;
pub(crate) mod sums;
