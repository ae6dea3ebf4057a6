//! Training: from data and settings to a saved model and a run record.
//!
//! ```text
//! Config + Dataset -> Settings -> Split -> Preparation -> layers (preset) -> Features -> State, step by step -> model directory
//! ```
//!
//! | file | what it holds |
//! | --- | --- |
//! | `config`, `assign`, `names`, `explain`, `settings` | what was asked for, one key from outside, in words; what is done: every default, decided from the data |
//! | `preset` | models by name: from settings and facts about the data to a list of layers |
//! | `split`, `parts`, `threefry` | which case is for training, validation or testing; a published file of that; the order that the thesis's code takes them in |
//! | `by_time` | a few long series: parts by time, stretches to train on |
//! | `fit` | scalings, from the training part alone |
//! | `features` | the rows that a model is given, computed once |
//! | `goal` | targets, losses, metrics of each task |
//! | `slots`, `ahead`, `known`, `season`, `conformal` | forecasts: where observations lie in time, what lies ahead of each, what naive forecasts know, how far off they are |
//! | `build`, `run`, `resume`, `record` | a run from settings and data; its stages; whether it may go on; what a finished run leaves behind |
//! | `trainer` | the loop: steps on batches of a source, evaluations, checkpoints, what happens to a step that diverges |
//! | `source`, `cases`, `batches` | what the loop takes its batches from: plain numbers of anybody, the cases of a run; which cases make up a step |
//! | `trainee`, `in_flight`, `state` | a network that is trained and one step of it; steps that a device is busy with; what changes from step to step |
//! | [`loss`] | how far outputs are from what should come out |
//! | [`optimizer`], `schedule` | how weights follow their gradients; how the learning rate goes |
//! | `reservoir` | a reservoir, solved for in closed form |
//! | `score`, `baseline` | how good predictions are; what a model should beat |
//! | `reading` | how files for a saved model are read |
//! | `directory`, `checkpoint`, `store` | one run in a directory at a time; what survives `kill -9`; the files of a saved model |
//! | `batched` | what a saved model says, on any device |
//! | `device`, `event` | work that is the same on every device; what happens meanwhile |
//! | `warning`, `fingerprint` | what looks wrong with the data; whether data are those that a run was begun with |
//!
//! Everything random is a function of the seed and of a place, so that a run that was killed goes on to the same weights.

mod ahead;
mod assign;
mod baseline;
mod batched;
mod batches;
mod build;
mod by_time;
mod cases;
mod checkpoint;
mod config;
mod conformal;
pub mod demo;
mod device;
mod directory;
mod error;
mod event;
mod explain;
mod features;
mod fingerprint;
mod fit;
mod goal;
mod in_flight;
mod known;
pub mod loss;
mod names;
pub mod optimizer;
mod parts;
mod preset;
mod reading;
mod record;
mod reservoir;
mod resume;
mod run;
mod schedule;
mod score;
mod season;
mod settings;
mod slots;
mod smoothing;
mod source;
mod split;
mod state;
mod store;
mod threefry;
mod threshold;
mod trainee;
mod trainer;
mod warning;

pub use assign::assign;
pub use batched::predict_on;
pub use by_time::Cut;
pub use checkpoint::RUNNING as CHECKPOINT;
pub use config::{Config, DataConfig, ModelConfig, PrepareConfig, TrainConfig};
pub use device::Device;
pub use directory::CONFIG;
pub use error::Error;
pub use event::{Event, Outcome, ignore, watching};
pub use explain::Key;
pub use known::KnownAhead;
pub use loss::{Loss, LossName};
pub use names::{BlockActivation, BlockDrive, ClassWeights, FirstRow, MemoryName, MissingName, Scale, SplitBy, StabilityName};
pub use ncde_data::TaskName;
pub use optimizer::{Optimizer, OptimizerName};
pub use preset::{permutations, presets, sequence_blocks, stacked, stacked_on};
pub use reading::{options_of, schema_of};
pub use run::{Run, TrainRequest};
pub use schedule::{Schedule, Shape};
pub use score::score;
pub use settings::{Settings, task_name};
pub use source::{FitRequest, Fitted, Padded, Predictor, Source, Targets, fit};
pub use split::{Parts, Split};
pub use store::{Answered, predict_all};
pub use threefry::Threefry;
pub use threshold::ThresholdBy;
pub use trainer::{Evaluation, Plan};
pub use warning::Warning;
