//! Training: from data and settings to a saved model and a run record.
//!
//! ```text
//! Config + Dataset -> Settings -> Split -> Preparation -> layers (preset) -> Features -> State, step by step -> model directory
//! ```
//!
//! | file | what it holds |
//! | --- | --- |
//! | `config`, `names`, `explain`, `settings` | what was asked for, and in words; what is done: every default, decided from the data |
//! | `preset` | models by name: from settings and facts about the data to a list of layers |
//! | `split`, `parts`, `threefry` | which case is for training, validation or testing; a published file of that; the order that the thesis's code takes them in |
//! | `fit` | scalings, from the training part alone |
//! | `features` | the rows that a model is given, computed once |
//! | `goal` | targets, losses, metrics of each task |
//! | `state` | weights and moments, and one step of Adam |
//! | `batches` | which cases make up a step: a pure function of seed and step |
//! | `reservoir` | a reservoir, solved for in closed form |
//! | `run`, `record` | the loop, counted in steps; events for whoever shows them; what a finished run leaves behind |
//! | `checkpoint`, `store` | what survives `kill -9`; the directory of a saved model |
//!
//! Everything random is a function of the seed and of a place, so that a run that was killed goes on to the same weights.

mod batches;
mod checkpoint;
mod config;
mod error;
mod explain;
mod features;
mod fit;
mod goal;
mod names;
mod parts;
mod preset;
mod record;
mod reservoir;
mod run;
mod settings;
mod split;
mod state;
mod store;
mod threefry;

pub use config::{Config, DataConfig, ModelConfig, PrepareConfig, TrainConfig};
pub use error::Error;
pub use names::{
    BlockActivation, BlockDrive, ClassWeights, FirstRow, MissingName, OptimizerName, Scale, Schedule, SplitBy, StabilityName,
    TaskName,
};
pub use preset::presets;
pub use run::{Event, Outcome, Run};
pub use settings::Settings;
pub use split::{Parts, Split};
pub use store::{Answered, predict_all, score};
