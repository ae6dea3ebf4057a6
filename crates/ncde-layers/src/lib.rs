//! Neural controlled differential equations on [Burn](https://burn.dev) tensors: `burn_tensor` is `burn::tensor`, and its backends are those of `burn`.
//!
//! | module | what it is |
//! | --- | --- |
//! | [`signature`] | the signature and log-signature of a batch of paths, as a differentiable operation |
//! | [`linear`] | the recurrence of a linear controlled differential equation, as a differentiable operation |
//! | [`neural`] | the whole solve of a neural controlled differential equation, as a differentiable operation |
//! | [`permutation`] | the recurrence of one-hot columns times a diagonal, as a differentiable operation |
//! | [`scan`] | the elementwise recurrence of diagonal state-space models, as a differentiable operation |
//! | [`hosted`] | recurrences with a kernel for processors alone, as differentiable operations |
//! | [`dense`] | linear layers, activations, norms and updates of weights, fused |
//! | [`layer`] | the layers of a model on batches of series, with gradients |
//! | [`expressive`] | states of a random Linear NCDE, as features for a linear readout |
//! | [`graph`] | the lock around what differentiates |
//!
//! An operation with a kernel of its own is a folder of four files:
//!
//! | file | what it is |
//! | --- | --- |
//! | `mod.rs` | the public functions on tensors, their shapes and their errors |
//! | `ops.rs` | the trait a backend implements: forward and reverse pass on its own tensors |
//! | `flex.rs` | the CPU backend: zero-copy slices into the kernel |
//! | `autodiff.rs` | any backend under `Autodiff`: registers the hand-written reverse pass |
//!
//! From observations to a class: a structured Linear NCDE over windows of 5 observations, the mean of its states, and a linear readout.
//!
//! ```
//! use burn_flex::Flex;
//! use burn_tensor::Tensor;
//! use ncde_layers::layer::{Context, Network, Places, Rows};
//! use ncde_runtime::layer::{Linear, LinearCde, Over, Pool, Signal, Windows};
//! let layers = [
//!     Windows::log_signatures(5, 2).into(),
//!     LinearCde::new(16).into(),
//!     Pool { over: Over::Mean }.into(),
//!     Linear { outputs: 3 }.into(),
//! ];
//! let (device, seed) = (Default::default(), 0);
//! let model = Network::<Flex>::drawn(&layers, &Signal::values(6), seed, &device)?;
//! // 4 series of 6 channels, the longest with 100 observations.
//! let series = Rows { values: Tensor::zeros([4, 100, 6], &device), places: Places::regular(&[100, 80, 100, 7]).into() };
//! assert_eq!(model.forward(series, &Context::predict())?.values.dims(), [4, 1, 3]);
//! # Ok::<(), ncde_layers::layer::Error>(())
//! ```
//!
//! Compile with optimisation: an unoptimised build of these crates is 60 to 120 times slower. In a workspace of your own, `[profile.dev.package."*"] opt-level = 2`
//! compiles what you depend on with it once.

pub mod dense;
pub mod expressive;
#[cfg(feature = "gpu")]
pub mod gpu;
pub mod graph;
pub mod hosted;
pub mod layer;
pub mod linear;
pub mod neural;
#[doc(hidden)]
pub mod operation;
pub mod permutation;
pub mod scan;
pub mod signature;

/// The parts of Burn 0.21 that layers, optimizers and losses of other crates are written with.
pub mod burn {
    pub use {burn_autodiff as autodiff, burn_flex as flex, burn_tensor as tensor};
}
