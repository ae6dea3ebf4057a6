//! The Linear NCDE, and with a structure for `A` the SLiCE.
//!
//! ```text
//! h_t = h_{t_0} + ∫ sum_i A^i h_s domega^i_s + ∫ B dxi_s                            vector-valued, with B dxi or without
//! H_t = H_{t_0} + ∫ (sum_i A^i domega^i_s) H_s + ∫ B diag(dxi_s)                     matrix-valued: m columns that share flows
//! ```
//!
//! Thesis, sections "Linear NCDEs" and "Structured Linear NCDEs" (eq. `matrix_slice`). On a piece where omega and xi are linear, or over a
//! Log-ODE window, `h_{t+1} = exp(Omega_t) h_t + phi_1(Omega_t) beta_t`; both terms are exact by default.
//!
//! Cost: that of the recurrence in `ncde-kernels`. Memory: `O(batch x steps x columns x H)`.

use std::sync::Arc;

use burn::module::{Module, Param};
use burn::nn::Linear;
use burn::tensor::Tensor;
use burn::tensor::backend::Backend;
use ncde_kernels::{Affine, Field, Mode, Recurrence, Structure, Transition};
use ncde_signature::Signature;
use serde::{Deserialize, Serialize};

use super::gates::Drive;
use super::log_ode::{self, Plan};
use super::parameters::{clear_padding, linear, normal, parameter, uniform};
use super::structure::{Init, StructureConfig};
use super::{Error, ModelBackend};
use crate::linear::{Arguments, recurrence};
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
    #[serde(with = "TransitionName")]
    pub transition: Transition,
    #[serde(with = "AffineName")]
    pub affine: Affine,
    #[serde(with = "ModeName")]
    pub mode: Mode,
    pub chunk: usize,
    pub bracket_bytes: usize,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Transition", rename_all = "kebab-case")]
pub(crate) enum TransitionName {
    Exp,
    Euler,
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

    /// How many channels xi has.
    pub fn inputs(&self) -> usize {
        match self.input {
            InputTerm::None => 0,
            InputTerm::Vector { channels } => channels,
            InputTerm::Columns => self.columns,
        }
    }

    fn check(&self) -> Result<(), Error> {
        let refuse = |setting, problem: String| Err(Error::Setting { setting, problem });
        match (self.columns, self.input, self.driving) {
            (0, ..) => refuse("columns", "there are 0; a vector-valued state has 1".into()),
            (_, InputTerm::Vector { channels: 0 }, _) => refuse("input", "xi has 0 channels; use `none`".into()),
            (2.., InputTerm::Vector { .. }, _) => {
                refuse("input", format!("`vector` with {} columns would be the same for all of them; use `columns`", self.columns))
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
        let field = self.structure.field(hidden, self.omega, &stream.child(0))?;
        let values = self.init.draw(&self.structure, &field, &stream.child(1))?;
        let (depth, transform) = match self.driving {
            Driving::Increments => (1, None),
            Driving::LogOde { depth, .. } => (depth, Some(())),
        };
        let plan = log_ode::plan(&field, inputs, depth, self.bracket_bytes)?;
        let transform =
            transform.map(|()| Signature::log(self.omega + inputs, depth, plan.basis()).map(Arc::new)).transpose()?;
        let recurrence = Recurrence::new(plan.field().clone())
            .with_transition(self.transition)
            .with_affine(self.affine)
            .with_chunk(self.chunk)
            .with_contraction(plan.contraction())?
            .with_mode(self.mode)?;
        let states = columns * hidden;
        let (mut start, mut first) = (None, None);
        match (self.initial, self.init) {
            (Initial::Learned, _) => {
                start = Some(parameter(normal(&stream.child(2), states, 1.0), [columns, hidden], device));
            }
            (Initial::FromFirst { channels }, Init::Scaled { .. }) => {
                first = Some(linear(&stream.child(3), [channels, states], device));
            }
            (Initial::FromFirst { channels }, Init::MaximallyExpressive) => {
                first = Some(Linear {
                    weight: parameter(normal(&stream.child(3), channels * states, 1.0), [channels, states], device),
                    bias: Some(parameter(normal(&stream.child(4), states, 1.0), [states], device)),
                });
            }
        }
        let bound = 1.0 / (inputs.max(1) as f64).sqrt();
        Ok(LinearNcde {
            a: parameter(values, [field.parameters()], device),
            b: (inputs > 0).then(|| parameter(uniform(&stream.child(5), inputs * hidden, bound), [inputs, hidden], device)),
            start,
            first,
            parts: Arc::new(Parts { config: self.clone(), field, plan, transform, recurrence: Arc::new(recurrence) }),
        })
    }
}

/// A Linear NCDE.
///
/// ```
/// use burn::backend::Flex;
/// use burn::tensor::Tensor;
/// use ncde::model::{Drive, LinearNcdeConfig, StructureConfig};
/// let device = Default::default();
/// let model = LinearNcdeConfig::new(8, 3).with_structure(StructureConfig::Block { block: 2 }).init::<Flex>(&device, 0)?;
/// let drive = Drive {
///     first: Tensor::zeros([4, 2], &device),
///     omega: Tensor::ones([4, 10, 3], &device),
///     xi: None,
///     lengths: None,
/// };
/// assert_eq!(model.forward(&drive)?.dims(), [4, 10, 8]);
/// assert_eq!(model.forward_with_start(&drive)?.dims(), [4, 11, 8]);
/// # Ok::<(), ncde::model::Error>(())
/// ```
#[derive(Module, Debug)]
pub struct LinearNcde<B: Backend> {
    /// The parameters of `A^1, ..., A^{d_omega}`, as [`Field`] lays them out.
    pub a: Param<Tensor<B, 1>>,
    /// The columns of `B`: `[d_xi, H]`.
    pub b: Option<Param<Tensor<B, 2>>>,
    /// A learned initial state: `[columns, H]`.
    pub start: Option<Param<Tensor<B, 2>>>,
    /// The initial state as a function of the first observation.
    pub first: Option<Linear<B>>,
    #[module(skip)]
    parts: Arc<Parts>,
}

/// What is not learned.
#[derive(Debug)]
struct Parts {
    config: LinearNcdeConfig,
    field: Field,
    plan: Plan,
    /// Of Log-ODE windows.
    transform: Option<Arc<Signature>>,
    recurrence: Arc<Recurrence>,
}

impl<B: Backend> LinearNcde<B> {
    /// The settings it was made with.
    pub fn config(&self) -> &LinearNcdeConfig {
        &self.parts.config
    }

    /// The linear vector field.
    pub fn field(&self) -> &Field {
        &self.parts.field
    }

    /// What the coordinates of a log-signature multiply.
    pub fn plan(&self) -> &Plan {
        &self.parts.plan
    }

    /// The penalty on `A`: the mean over channels of the Euclidean norm of the channel's parameters.
    pub fn penalty(&self) -> Tensor<B, 1> {
        // The square root has no slope at 0; a number that f32 still holds gives it one.
        let norm = |squares: Tensor<B, 1>| (squares + 1e-30).sqrt();
        let (a, field) = (self.a.val(), &self.parts.field);
        let channels = field.channels();
        if matches!(field.structure(), Structure::Sparse { .. }) {
            let norms = (0..channels).map(|k| {
                let own = field.channel(k);
                if own.is_empty() { a.clone().narrow(0, 0, 1) * 0.0 } else { norm(a.clone().slice([own]).square().sum()) }
            });
            return Tensor::cat(norms.collect(), 0).mean();
        }
        let squares = a.reshape([channels, field.channel(0).len()]).square().sum_dim(1);
        norm(squares.squeeze_dim(1)).mean()
    }

    /// `h_{t_0}`.
    ///
    /// # Shapes
    /// `first`: `[batch, channels]`, to `[batch, columns, H]`.
    ///
    /// # Errors
    /// If the observation has other channels than the model.
    pub fn initial(&self, first: &Tensor<B, 2>) -> Result<Tensor<B, 3>, Error> {
        let config = self.config();
        let [batch, channels] = first.dims();
        if let Some(map) = &self.first {
            let [wanted, _] = map.weight.dims();
            if channels != wanted {
                return Err(wrong("the first observation", format!("{channels} channels"), format!("{wanted}")));
            }
            return Ok(map.forward(first.clone()).reshape([batch, config.columns, config.hidden]));
        }
        let start = self.start.as_ref().map(Param::val).unwrap_or_else(|| {
            Tensor::zeros([config.columns, config.hidden], (&first.device(), first.dtype()))
        });
        Ok(start.unsqueeze::<3>().expand([batch, config.columns, config.hidden]))
    }
}

impl<B: ModelBackend> LinearNcde<B> {
    /// `h_{t_1}, h_{t_2}, ...`, the columns of a matrix one after the other.
    ///
    /// # Shapes
    /// To `[batch, steps, columns H]`; with Log-ODE windows, one step a window.
    ///
    /// # Errors
    /// If shapes do not fit the settings, a number is not finite, or a state overflows.
    pub fn forward(&self, drive: &Drive<B>) -> Result<Tensor<B, 3>, Error> {
        Ok(self.states(drive)?.flatten(2, 3))
    }

    /// As [`forward`](Self::forward), with `h_{t_0}` in front.
    ///
    /// # Shapes
    /// To `[batch, 1 + steps, columns H]`.
    ///
    /// # Errors
    /// As for [`forward`](Self::forward).
    pub fn forward_with_start(&self, drive: &Drive<B>) -> Result<Tensor<B, 3>, Error> {
        let start: Tensor<B, 4> = self.initial(&drive.first)?.unsqueeze_dim(1);
        Ok(Tensor::cat(vec![start, self.states(drive)?], 1).flatten(2, 3))
    }

    /// As [`forward`](Self::forward), the columns apart.
    ///
    /// # Shapes
    /// To `[batch, steps, columns, H]`.
    ///
    /// # Errors
    /// As for [`forward`](Self::forward).
    pub fn states(&self, drive: &Drive<B>) -> Result<Tensor<B, 4>, Error> {
        self.check(drive)?;
        let initial = self.initial(&drive.first)?;
        match (&self.parts.transform, self.config().driving) {
            (Some(transform), Driving::LogOde { steps, .. }) => {
                let mut joint = vec![drive.omega.clone()];
                joint.extend(drive.xi.clone());
                let joint = Tensor::cat(joint, 2);
                let log = self.parts.plan.windows(transform, joint, drive.lengths.as_deref(), steps)?;
                let lengths = drive.lengths.as_ref().map(|lengths| lengths.iter().map(|own| own.div_ceil(steps)).collect());
                self.over_windows(initial, log, lengths)
            }
            _ => self.run(initial, drive.omega.clone(), drive.xi.clone(), drive.lengths.clone()),
        }
    }

    /// States from log-signatures that are already there: of the joint path (omega, xi), one a window, in the coordinates of
    /// [`Plan::basis`].
    ///
    /// # Shapes
    /// `initial`: `[batch, columns, H]`, `log`: `[batch, windows, coordinates]`, to `[batch, windows, columns, H]`.
    ///
    /// # Errors
    /// As for [`forward`](Self::forward).
    pub fn over_windows(
        &self,
        initial: Tensor<B, 3>,
        log: Tensor<B, 3>,
        lengths: Option<Arc<[usize]>>,
    ) -> Result<Tensor<B, 4>, Error> {
        let (seen, wanted) = (log.dims()[2], self.parts.plan.coordinates());
        if seen != wanted {
            let wanted = format!("{wanted} = depth {} in the basis {:?}", self.plan().depth(), self.plan().basis());
            return Err(wrong("the log-signature", format!("{seen} coordinates"), wanted));
        }
        let (lambda, mu) = self.parts.plan.split(log);
        self.run(initial, lambda, mu, lengths)
    }

    /// The recurrence; `lambda` goes with matrices, `mu` with vectors.
    fn run(
        &self,
        initial: Tensor<B, 3>,
        lambda: Tensor<B, 3>,
        mu: Option<Tensor<B, 3>>,
        lengths: Option<Arc<[usize]>>,
    ) -> Result<Tensor<B, 4>, Error> {
        let plan = &self.parts.plan;
        // A series without steps takes one that does nothing.
        let idle = lengths.as_deref().is_some_and(|lengths| lengths.contains(&0));
        let clear = |values: Tensor<B, 3>| if idle { clear_padding(values, lengths.as_deref()) } else { values };
        let (lambda, mu) = (clear(lambda), mu.map(clear));
        let affine = match (&self.b, mu) {
            (Some(b), Some(mu)) => Some(self.affine(plan.vectors(self.a.val(), b.val())?, mu)),
            _ => None,
        };
        let lengths = if idle { lengths.map(|all| all.iter().map(|&own| own.max(1)).collect()) } else { lengths };
        let arguments = Arguments { a: plan.matrices(self.a.val())?, coefficients: lambda, initial, affine, lengths };
        Ok(recurrence(&self.parts.recurrence, arguments)?)
    }

    /// `beta = sum_P mu_P c_P`, in each column over the elements with that column's letter.
    fn affine(&self, vectors: Tensor<B, 2>, mu: Tensor<B, 3>) -> Tensor<B, 4> {
        let [batch, steps, count] = mu.dims();
        let (columns, hidden) = (self.config().columns, self.config().hidden);
        let each = count / columns;
        let mu = mu.reshape([batch * steps, columns, each]).swap_dims(0, 1);
        let beta = mu.matmul(vectors.reshape([columns, each, hidden]));
        beta.swap_dims(0, 1).reshape([batch, steps, columns, hidden])
    }

    fn check(&self, drive: &Drive<B>) -> Result<(), Error> {
        let config = self.config();
        let [batch, steps, omega] = drive.omega.dims();
        if omega != config.omega {
            return Err(wrong("omega", format!("{omega} channels"), format!("{}", config.omega)));
        }
        let xi = drive.xi.as_ref().map(Tensor::dims);
        let wanted = (config.inputs() > 0).then(|| [batch, steps, config.inputs()]);
        if xi != wanted {
            let name = |dims: Option<[usize; 3]>| dims.map_or("no values".into(), |dims| format!("shape {dims:?}"));
            return Err(wrong("xi", name(xi), name(wanted)));
        }
        Ok(())
    }
}

fn wrong(what: &'static str, seen: String, wanted: String) -> Error {
    Error::Shape { operation: "Linear NCDE", what, seen, wanted }
}
