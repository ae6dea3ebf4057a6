//! Neural controlled differential equations: one crate that has what the others have for their users.
//!
//! | module | what it is | feature |
//! | --- | --- | --- |
//! | [`signature`] | paths, signatures, log-signatures and their gradients | |
//! | [`solve`] | solvers, vector fields, Lie brackets, Lip(gamma) bounds | |
//! | [`runtime`] | a saved model: observations in, predictions out, in constant memory | |
//! | [`layers`] | layers on Burn tensors, with gradients | `layers` |
//! | [`data`] | files of time series, and series in memory | `train` |
//! | [`train`] | from data and settings to a saved model | `train` |

pub use ncde_runtime as runtime;
pub use ncde_signature as signature;
pub use ncde_solve as solve;

#[cfg(feature = "layers")]
pub use ncde_layers as layers;

#[cfg(feature = "train")]
pub use {ncde_data as data, ncde_train as train};
