//! Load a saved model, push observations, read predictions: what an engineer embeds.
//!
//! ```no_run
//! use ncde_runtime::{Model, Prediction};
//! let model = Model::load("runs/heart")?;
//! let mut series = model.session(&[])?;
//! for (time, values) in [(0.0, [0.1, 0.2]), (0.7, [0.3, f64::NAN])] {
//!     series.push(time, &values)?;
//!     if let Prediction::Class { class, probabilities } = series.predict()? {
//!         // act on it
//!     }
//! }
//! # Ok::<(), ncde_runtime::Error>(())
//! ```
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`layer`] | the layers: specs, weights, and one row at a time |
//! | `spec`, `weights` | what a saved model is: `model.json` and `model.safetensors` |
//! | `budget` | how much memory and work a model may ask for |
//! | `prepare` | from observations to knots of a path: scaling, gaps, time |
//! | `extent` | how far training went, and what lies beyond it |
//! | `model` | [`Model`], [`Series`] |
//! | `prediction` | [`Prediction`]: from outputs to what a model says |
//! | `session` | [`Session`]: a model and one series |
//! | `description` | reading `model.json` |
//! | [`random`] | the counter-based random numbers that everything is drawn from |
//!
//! A [`Model`] is shared: clones are cheap, all its methods take `&self`, and any number of threads may use it at once. Whoever keeps the
//! states of series elsewhere uses [`Model::push`] and [`Model::predict`] with a [`Series`]; a [`Session`] keeps both together.
//!
//! A prediction after `n` observations is the prediction of the series cut there. A series takes constant memory; it can be saved
//! (with serde) and resumed to the same bits.
//!
//! On its own (`cargo build --release -p ncde-runtime`) the crate has only those kernels compiled that predictions need, for AVX2 and for any
//! processor: some 40 seconds on two cores with all dependencies, against six minutes with every kernel. The feature `avx512` adds that instruction set, where the machine
//! has it (a prediction after every observation, 64 states in blocks of 4: 1.7 to 1.5 microseconds). See the feature `precompiled` of `ncde-kernels`.

mod budget;
mod calendar;
mod description;
mod error;
mod extent;
mod forecast;
pub mod layer;
mod model;
mod prediction;
mod prepare;
pub mod random;
mod session;
mod smoothing;
mod spec;
mod threshold;
mod weights;

pub use calendar::Calendar;
pub use error::Error;
pub use extent::{Beyond, Extent};
pub use forecast::{Baseline, Forecast, Forecasts, Intervals};
pub use layer::LayerSpec;
pub use model::{Model, SPEC, Series};
pub use prediction::{Prediction, mean_of_members, softmax};
pub use prepare::{Missing, Preparation, Scaling, Track};
pub use session::Session;
pub use smoothing::{Expert, Known, Smoothing};
pub use spec::{At, FORMAT, ModelSpec, Task, WeightsSpec};
pub use threshold::Threshold;
pub use weights::{NamedWeight, WEIGHTS, Weights, to_bytes};
