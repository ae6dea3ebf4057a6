//! What layers do to rows of numbers, `[rows, width]`, one after the other.
//!
//! | file | what |
//! | --- | --- |
//! | `activation` | functions of numbers, and their slopes |
//! | `norm` | rows of mean 0 and variance 1 |
//! | `sums` | sums over rows, over splits, of squares |
//! | `dropout` | masks from a stream of random numbers |
//! | `lookup` | rows of a table |
//! | `loss` | the loss of classes |
//! | `adam` | the update of a weight |

pub(crate) mod activation;
pub(crate) mod adam;
pub(crate) mod dropout;
pub(crate) mod lookup;
pub(crate) mod loss;
pub(crate) mod norm;
pub(crate) mod shift;
pub(crate) mod sums;
