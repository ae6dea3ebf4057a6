//! Models: paths in, states and outputs out.
//!
//! ```text
//! h_t = h_{t_0} + ∫ sum_i A^i h_s domega^i_s + ∫ B dxi_s,   or   h_t = h_{t_0} + ∫ f(h_s) dX_s;   y_t = L h_t
//! ```
//!
//! | file | what it holds |
//! | --- | --- |
//! | `gates`, `presets` | what drives the state, omega, and what is added to it, xi: functions of the path |
//! | `structure` | how the seven structures of `A^i` are drawn |
//! | `log_ode` | windows of a path, as log-signatures; what each of their coordinates multiplies is decided in `ncde-runtime` |
//! | `linear_config`, `linear_ncde` | the Linear NCDE: vector- or matrix-valued, driven by increments or by Log-ODE windows |
//! | `stream`, `step_gates` | the same layer fed one observation at a time, on plain numbers |
//! | `neural_config`, `neural_cde` | NCDE, NRDE and Log-NCDE: a network as the vector field |
//! | `neural_drive`, `neural_steps` | what drives them: windows or derivatives of paths, and the solver's steps |
//! | `development` | path development: the state is a matrix of a Lie group |
//! | `block`, `stack` | the `SLiCE` block, and stacks of it behind an embedding or an encoder |
//! | `readout` | from states to outputs |
//! | `randomised` | randomised signatures: a fixed random `A`, a readout by least squares |
//! | `dropout`, `parameters`, `least_squares` | the small parts |
//!
//! A model is configured, then initialised from a seed: the same seed gives the same weights on every machine.

mod block;
mod development;
mod dropout;
mod gates;
mod least_squares;
mod linear_config;
mod linear_ncde;
mod log_ode;
mod neural_cde;
mod neural_config;
mod neural_drive;
mod neural_steps;
mod parameters;
mod presets;
mod randomised;
mod readout;
mod short_windows;
mod stack;
mod step_gates;
mod stream;
mod structure;

pub use block::{Activation, Block, BlockConfig};
pub use development::{Algebra, Development, DevelopmentConfig};
pub use dropout::Phase;
pub(crate) use dropout::dropout;
pub use gates::{Drive, First, Gates, GatesConfig, Observations, TimeChannel, Times};
pub use linear_config::{Driving, Initial, InputTerm, LinearNcdeConfig};
pub use linear_ncde::LinearNcde;
pub use ncde_runtime::{Head, NeuralKind, Number as StreamNumber, Over, Plan, Route, StructureConfig, plan};
pub use neural_cde::NeuralCde;
pub use neural_config::NeuralCdeConfig;
pub use neural_drive::NeuralDrive;
pub use neural_steps::StepRule;
pub use parameters::cast;
pub use presets::{MambaGates, PathGates, PathKind, Preset, TokenGates};
pub use randomised::{RandomisedSignature, RandomisedSignatureConfig, Regression};
pub use readout::{Readout, ReadoutConfig};
pub(crate) use short_windows::applies as short_windows_apply;
pub use short_windows::short_windows_pay;
pub use stack::{Encoder, Stack, StackConfig};
pub use stream::{LinearNcdeStream, StreamState, WindowState};
pub use structure::Init;

use crate::linear::LinearOps;
use crate::neural::NeuralOps;
use crate::signature::SignatureOps;

/// A backend that models run on: one with all our operations.
pub trait ModelBackend: LinearOps + NeuralOps + SignatureOps {}
impl<B: LinearOps + NeuralOps + SignatureOps> ModelBackend for B {}

/// What can go wrong.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A recurrence failed.
    #[error(transparent)]
    Linear(#[from] crate::linear::Error),

    /// A neural solve failed.
    #[error(transparent)]
    Neural(#[from] crate::neural::Error),

    /// A log-signature of tensors failed.
    #[error(transparent)]
    Signature(#[from] crate::signature::Error),

    /// A kernel refused its sizes.
    #[error(transparent)]
    Kernel(#[from] ncde_kernels::Error),

    /// A setting of a saved model, or a step of it.
    #[error(transparent)]
    Runtime(#[from] ncde_runtime::Error),

    /// There is no such log-signature.
    #[error(transparent)]
    Algebra(#[from] ncde_signature::Error),

    /// A setting that makes no sense.
    #[error("setting `{setting}`: {problem}")]
    Setting {
        /// Which one.
        setting: &'static str,
        /// What was seen, wanted, and what to try.
        problem: String,
    },

    /// A tensor of the wrong shape.
    #[error("{operation}: {what} has {seen}, but {wanted} is needed")]
    Shape {
        /// What was computed.
        operation: &'static str,
        /// Which tensor.
        what: &'static str,
        /// Its size.
        seen: String,
        /// The size it should have.
        wanted: String,
    },

    /// A least-squares problem without a unique solution.
    #[error("least squares: {rows} observations do not determine {columns} coefficients; use a ridge above 0, or fewer states")]
    Singular {
        /// How many observations.
        rows: usize,
        /// How many coefficients.
        columns: usize,
    },
}
