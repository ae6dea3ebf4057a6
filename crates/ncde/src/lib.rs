//! Neural controlled differential equations on [Burn](https://burn.dev) tensors.
//!
//! | module | what it is |
//! | --- | --- |
//! | [`signature`] | the signature and log-signature of a batch of paths, as a differentiable operation |
//! | [`linear`] | the recurrence of a linear controlled differential equation, as a differentiable operation |
//! | [`neural`] | the whole solve of a neural controlled differential equation, as a differentiable operation |
//! | [`model`] | Linear NCDEs (in batches, or one observation at a time), NCDEs, NRDEs and Log-NCDEs, what drives them, `SLiCE` blocks and stacks, path development, readouts, randomised signatures |
//! | [`train`] | from data and settings to a saved model |
//! | [`demo`] | series to try things on |
//! | [`random`] | the counter-based random numbers that all weights and masks are drawn from |
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
//! From observations to a class, in five lines:
//!
//! ```
//! use burn::backend::Flex;
//! use burn::tensor::Tensor;
//! use ncde::model::{Gates, GatesConfig, LinearNcdeConfig, Observations, Over, ReadoutConfig, TimeChannel, Times};
//! use ncde::random::Stream;
//! let (device, seed) = (Default::default(), 0);
//! let values = Tensor::<Flex, 3>::zeros([4, 100, 6], &device); // 4 series, 100 observations, 6 channels
//!
//! let gates = GatesConfig::Increments { time: TimeChannel::Present }.init::<Flex>(6, &device, &Stream::new(seed, 1));
//! let [omega, _] = gates.channels(6);
//! let model = LinearNcdeConfig::new(16, omega).init::<Flex>(&device, seed)?;
//! let readout = ReadoutConfig::new(3).with_over(Over::Mean).init::<Flex>(16, &device, &Stream::new(seed, 2));
//! let drive = gates.drive(Observations { values, times: Times::Regular(0.01), lengths: None })?;
//! let classes = readout.forward(model.forward_with_start(&drive)?, None)?;
//! assert_eq!(classes.dims(), [4, 1, 3]);
//! # Ok::<(), ncde::model::Error>(())
//! ```

pub mod demo;
pub mod linear;
pub mod model;
pub mod neural;
pub mod signature;
mod slices;
pub mod train;

pub use ncde_runtime::random;
