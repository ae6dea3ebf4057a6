//! Load a saved model, push observations, read predictions: what an engineer embeds.
//!
//! ```no_run
//! use ncde_runtime::{Model, Prediction};
//! let mut model = Model::load("runs/heart".as_ref())?;
//! let mut series = model.start(&[])?;
//! for (time, values) in [(0.0, [0.1, 0.2]), (0.7, [0.3, f64::NAN])] {
//!     model.push(&mut series, time, &values)?;
//!     if let Prediction::Class { class, probabilities } = model.predict(&mut series)? {
//!         // act on it
//!     }
//! }
//! # Ok::<(), ncde_runtime::Error>(())
//! ```
//!
//! | module | what it holds |
//! | --- | --- |
//! | `spec`, `weights` | what a saved model is: `model.json` and `model.safetensors` |
//! | `prepare` | from observations to knots of a path: scaling, gaps, time |
//! | `model` | [`Model`], [`Series`], [`Prediction`] |
//! | `states`, `control`, `head` | models with a state, one knot at a time: what a window becomes, what reads the states |
//! | `slice`, `structure`, `plan`, `flow` | linear flows: structures by name, what log-signatures multiply, one step |
//! | `neural_spec`, `neural` | fields that are networks: what drives them, one window |
//! | `signature_model` | the linear model of signature features |
//! | [`random`] | the counter-based random numbers that everything is drawn from |
//!
//! A prediction after `n` observations is the prediction of the series cut there. A series takes constant memory; it can be saved
//! (with serde) and resumed to the same bits.
//!
//! On its own (`cargo build --release -p ncde-runtime`) the crate has only those kernels compiled that predictions need, for AVX2 and for any
//! processor: some 40 seconds on two cores with all dependencies, against six minutes with every kernel. The feature `avx512` adds that instruction set, where the machine
//! has it (a prediction after every observation, 64 states in blocks of 4: 1.7 to 1.5 microseconds). [`Flow`] of `f64` is there too, and compiled where
//! it is called; see the feature `precompiled` of `ncde-kernels`.

mod control;
mod error;
mod flow;
mod head;
mod model;
mod neural;
mod neural_spec;
mod plan;
mod prepare;
pub mod random;
mod signature_model;
mod slice;
mod spec;
mod states;
mod structure;
mod weights;

pub use error::Error;
pub use flow::{Flow, Number};
pub use head::sizes;
pub use model::{Model, Prediction, SPEC, Series, softmax};
pub use neural_spec::{ActivationName, LastName, NeuralKind, NeuralSpec, SolverName};
pub use plan::{Inputs, Plan, Route, plan};
pub use prepare::{Missing, Preparation, Scaling, Track};
pub use slice::BRACKET_BYTES;
pub use spec::{
    Architecture, At, FORMAT, Head, Input, ModelSpec, Norm, Over, ReadSpec, SignatureSpec, Skip, SliceSpec, Task, TransitionName,
    WeightsSpec,
};
pub use states::NORM_EPSILON;
pub use structure::StructureConfig;
pub use weights::{WEIGHTS, Weight, Weights, to_bytes};
