//! The settings of a Linear NCDE, and how its weights are drawn from them.
//!
//! ```text
//! A^i as the structure says,   B ~ U(±1 / sqrt(d_xi)),   h_{t_0} = c, or L X_{t_0} + c
//! ```

use std::sync::Arc;

use burn::tensor::backend::Backend;
use ncde_kernels::{Affine, Mode, Recurrence, Transition};
use ncde_runtime::{Inputs, StructureConfig};
use ncde_signature::Signature;
use serde::{Deserialize, Serialize};

use super::Error;
use super::linear_ncde::{LinearNcde, Parts};
use super::parameters::{normal, parameter, uniform};
use super::structure::Init;
use crate::random::Stream;

/// Where the state starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Initial {
    /// At a learned state, the same for all series.
    Learned,
    /// At a learned linear function of the first observation, `h_{t_0} = L X_{t_0}`, with a bias.
    FromFirst {
        /// The channels of an observation.
        channels: usize,
    },
}

/// What is added to the state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum InputTerm {
    /// Nothing.
    None,
    /// `B dxi`, to a vector-valued state.
    Vector {
        /// `d_xi`.
        channels: usize,
    },
    /// `B diag(dxi)`: to each column its own channel of xi.
    Columns,
    /// `B domega`, to a vector-valued state: the path that drives the state is added to it as well, and log-signatures are of that path alone.
    Path,
}

/// What a step of the recurrence is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Driving {
    /// One step of the driving path.
    Increments,
    /// A window of it, through its log-signature.
    LogOde {
        /// `N`.
        depth: usize,
        /// How many steps of the driving path make up a window.
        steps: usize,
    },
}

/// The settings of a [`LinearNcde`].
///
/// | setting | default | range |
/// | --- | --- | --- |
/// | `structure` | blocks of 4 | any of the seven |
/// | `init` | scaled, 0.25 | |
/// | `initial` | learned | |
/// | `input` | none | |
/// | `columns` | 1 | at least 1 |
/// | `driving` | increments | depth and steps at least 1 |
/// | `transition` | exp | exp, euler |
/// | `affine` | exact | exact, approximate |
/// | `mode` | auto | parallel for closed structures alone |
/// | `chunk` | 128 | at least 1 |
/// | `bracket_bytes` | 256 MiB | what bracket matrices formed ahead may take |
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the table above")]
pub struct LinearNcdeConfig {
    pub hidden: usize,
    pub omega: usize,
    pub structure: StructureConfig,
    pub init: Init,
    pub initial: Initial,
    pub input: InputTerm,
    pub columns: usize,
    pub driving: Driving,
    #[serde(with = "ncde_runtime::TransitionName")]
    pub transition: Transition,
    #[serde(with = "AffineName")]
    pub affine: Affine,
    #[serde(with = "ModeName")]
    pub mode: Mode,
    pub chunk: usize,
    pub bracket_bytes: usize,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Affine", rename_all = "kebab-case")]
enum AffineName {
    Exact,
    Approximate,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Mode", rename_all = "kebab-case")]
pub(crate) enum ModeName {
    Auto,
    Recurrent,
    Parallel,
}

impl LinearNcdeConfig {
    /// `hidden` states driven by `omega` channels.
    pub fn new(hidden: usize, omega: usize) -> Self {
        Self {
            hidden,
            omega,
            structure: StructureConfig::Block { block: 4 },
            init: Init::Scaled { std: 0.25 },
            initial: Initial::Learned,
            input: InputTerm::None,
            columns: 1,
            driving: Driving::Increments,
            transition: Transition::Exp,
            affine: Affine::Exact,
            mode: Mode::Auto,
            chunk: 128,
            bracket_bytes: 256 << 20,
        }
    }

    /// Another structure.
    #[must_use]
    pub fn with_structure(self, structure: StructureConfig) -> Self {
        Self { structure, ..self }
    }

    /// Another distribution of the parameters.
    #[must_use]
    pub fn with_init(self, init: Init) -> Self {
        Self { init, ..self }
    }

    /// Another initial state.
    #[must_use]
    pub fn with_initial(self, initial: Initial) -> Self {
        Self { initial, ..self }
    }

    /// Another input term.
    #[must_use]
    pub fn with_input(self, input: InputTerm) -> Self {
        Self { input, ..self }
    }

    /// A matrix-valued state.
    #[must_use]
    pub fn with_columns(self, columns: usize) -> Self {
        Self { columns, ..self }
    }

    /// Another step.
    #[must_use]
    pub fn with_driving(self, driving: Driving) -> Self {
        Self { driving, ..self }
    }

    /// Another transition.
    #[must_use]
    pub fn with_transition(self, transition: Transition) -> Self {
        Self { transition, ..self }
    }

    /// Another treatment of the input term.
    #[must_use]
    pub fn with_affine(self, affine: Affine) -> Self {
        Self { affine, ..self }
    }

    /// Another order of computation.
    #[must_use]
    pub fn with_mode(self, mode: Mode) -> Self {
        Self { mode, ..self }
    }

    /// What is added to the state.
    pub fn inputs(&self) -> Inputs {
        match self.input {
            InputTerm::None => Inputs::None,
            InputTerm::Vector { channels } => Inputs::Own(channels),
            InputTerm::Columns => Inputs::Own(self.columns),
            InputTerm::Path => Inputs::Path,
        }
    }

    fn check(&self) -> Result<(), Error> {
        let refuse = |setting, problem: String| Err(Error::Setting { setting, problem });
        match (self.columns, self.input, self.driving) {
            (0, ..) => refuse("columns", "there are 0; a vector-valued state has 1".into()),
            (_, InputTerm::Vector { channels: 0 }, _) => refuse("input", "xi has 0 channels; use `none`".into()),
            (2.., InputTerm::Vector { .. }, _) => refuse(
                "input",
                format!("`vector` with {} columns would be the same for all of them; use `columns`", self.columns),
            ),
            (2.., InputTerm::Path, _) => {
                refuse("input", format!("`path` with {} columns would be the same for all of them; use `columns`", self.columns))
            }
            (_, _, Driving::LogOde { steps: 0, .. }) => refuse("driving", "a window of 0 steps; at least 1 is needed".into()),
            _ => Ok(()),
        }
    }

    /// The model with weights drawn from `seed`.
    ///
    /// # Errors
    /// If the settings make no sense together.
    pub fn init<B: Backend>(&self, device: &B::Device, seed: u64) -> Result<LinearNcde<B>, Error> {
        self.init_from(device, &Stream::new(seed, 0))
    }

    /// As [`init`](Self::init), as part of a larger model.
    ///
    /// # Errors
    /// As for [`init`](Self::init).
    pub fn init_from<B: Backend>(&self, device: &B::Device, stream: &Stream) -> Result<LinearNcde<B>, Error> {
        self.check()?;
        let (hidden, columns, inputs) = (self.hidden, self.columns, self.inputs());
        let added = inputs.columns(self.omega);
        let field = self.structure.field(hidden, self.omega, &stream.child(0))?;
        let values = self.init.draw(&self.structure, &field, &stream.child(1))?;
        let depth = match self.driving {
            Driving::Increments => 1,
            Driving::LogOde { depth, .. } => depth,
        };
        let plan = ncde_runtime::plan(&field, inputs, depth, self.bracket_bytes)?;
        let transform = Arc::new(Signature::log(self.omega + inputs.joined(), depth, plan.basis())?);
        let recurrence = Recurrence::new(plan.field().clone())
            .with_transition(self.transition)
            .with_affine(self.affine)
            .with_chunk(self.chunk)
            .with_contraction(plan.contraction())?
            .with_mode(self.mode)?;
        let states = columns * hidden;
        let (first, bound) = match self.initial {
            Initial::Learned => (0, None),
            Initial::FromFirst { channels: 0 } => {
                return Err(Error::Setting { setting: "initial", problem: "an observation of 0 channels; use `learned`".into() });
            }
            Initial::FromFirst { channels } => {
                (channels, matches!(self.init, Init::Scaled { .. }).then(|| 1.0 / (channels as f64).sqrt()))
            }
        };
        // As a linear layer where it is one, and standard normal where the theorem or the absence of an input asks for that.
        let draw = |i: u64, count: usize| match bound {
            Some(bound) => uniform(&stream.child(i), count, bound),
            None => normal(&stream.child(i), count, 1.0),
        };
        let bound = 1.0 / (added.max(1) as f64).sqrt();
        Ok(LinearNcde {
            a: parameter(values, [field.parameters()], device),
            b: (added > 0).then(|| parameter(uniform(&stream.child(5), added * hidden, bound), [added, hidden], device)),
            start: parameter(draw(2, states), [columns, hidden], device),
            first: (first > 0).then(|| parameter(draw(3, first * states), [first, states], device)),
            parts: Arc::new(Parts { config: self.clone(), field, plan, transform, recurrence: Arc::new(recurrence) }),
        })
    }
}
