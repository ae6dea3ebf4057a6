//! Training: from data and settings to a saved model and a run record.
//!
//! ```text
//! Config + Dataset -> Settings -> Split -> Preparation -> Features -> Network, step by step -> Model directory
//! ```
//!
//! | file | what it holds |
//! | --- | --- |
//! | `config`, `names`, `explain`, `settings`, `architecture` | what was asked for, and in words; what is done: every default, decided from the data; which model |
//! | `split`, `threefry` | which case is for training, validation or testing; the order that the thesis's code takes them in |
//! | `fit` | scalings, from the training part alone |
//! | `features` | what a model is fed, computed once: first knots and log-signatures of windows |
//! | `goal` | targets, losses, metrics of each task |
//! | `network` | the models as Burn modules, their weights by name |
//! | `batches` | which cases make up a step: a pure function of seed and step |
//! | `clip` | the norm of a gradient, and its limit |
//! | `run`, `record` | the loop, counted in steps; events for whoever shows them; what a finished run leaves behind |
//! | `checkpoint`, `store` | what survives `kill -9`; the directory of a saved model |
//!
//! Everything random is a function of the seed and of a place, so that a run that was killed goes on to the same weights.

mod architecture;
mod batches;
mod checkpoint;
mod clip;
mod config;
mod error;
mod explain;
mod features;
mod fit;
mod goal;
mod names;
mod network;
mod record;
mod run;
mod settings;
mod split;
mod store;
mod threefry;

pub use config::{Config, DataConfig, ModelConfig, PrepareConfig, TrainConfig};
pub use error::Error;
pub use names::{
    ActivationChoice, ClassWeights, LastChoice, MissingName, ModelName, OptimizerName, ReadoutName, Scale, Schedule,
    SolverChoice, SplitBy, StructureName, TaskName, TransitionChoice,
};
pub use run::{Event, Outcome, Run};
pub use settings::Settings;
pub use split::{Parts, Split};
pub use store::{predict_all, score};
