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
//!
//! From arrays in memory to a saved model, and predictions one observation at a time:
//!
//! ```
//! use ncde::data::{Dataset, Targets};
//! use ncde::runtime::{Model, Prediction};
//! use ncde::train::{Config, Run, TrainRequest, ignore};
//! // Slow and fast waves, each as long as it is.
//! let wave = |i: usize| (0..20 + i % 7).map(|t| ((1 + i % 2) as f64 * 0.4 * t as f64 + i as f64).sin()).collect();
//! let labels = (0..60).map(|i| if i % 2 == 0 { "slow" } else { "fast" });
//! let data = Dataset::from_arrays(1, (0..60).map(wave), Targets::labels(labels));
//! # let directory = std::env::temp_dir().join(format!("ncde-front-page-{}", std::process::id()));
//! let record = Run::new(&Config::default(), data, None)?.train(&TrainRequest::new(&directory), &mut ignore)?.record;
//! assert!(record.test.is_some_and(|test| test.get("accuracy") > Some(0.9)));
//!
//! let model = Model::load(&directory)?;
//! let mut series = model.start(&[])?;
//! for t in 0..20 {
//!     if let Prediction::Class { class, probabilities } = model.step(&mut series, f64::from(t), &[(0.8 * f64::from(t)).sin()])? {
//!         assert!(probabilities[class] >= 0.5);
//!     }
//! }
//! # std::fs::remove_dir_all(&directory)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Any model is a list of layers: [`runtime::layer`] has them with their equations, [`train::Config`] takes them in `[[model.layers]]`, and layers and optimizers of other
//! crates go the same way. Everything is computed with the instructions of the processor at hand, chosen at run time. Compile with optimisation
//! (`[profile.dev.package."*"] opt-level = 2`): an unoptimised build is 60 to 120 times slower.

pub use ncde_runtime as runtime;
pub use ncde_signature as signature;
pub use ncde_solve as solve;

#[cfg(feature = "layers")]
pub use ncde_layers as layers;

#[cfg(feature = "train")]
pub use {ncde_data as data, ncde_train as train};
