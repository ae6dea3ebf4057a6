//! The Linear NCDE, and with a structure for `A` the `SLiCE`.
//!
//! ```text
//! h_t = h_{t_0} + ∫ sum_i A^i h_s domega^i_s + ∫ B dxi_s                            vector-valued, with B dxi or without
//! H_t = H_{t_0} + ∫ (sum_i A^i domega^i_s) H_s + ∫ B diag(dxi_s)                     matrix-valued: m columns that share flows
//! ```
//!
//! Thesis, sections "Linear NCDEs" and "Structured Linear NCDEs" (eq. `matrix_slice`). On a piece where omega and xi are linear,
//! or over a Log-ODE window, `h_{t+1} = exp(Omega_t) h_t + phi_1(Omega_t) beta_t`; both terms are exact by default.
//!
//! Cost: that of the recurrence in `ncde-kernels`. Memory: `O(batch x steps x columns x H)`.

use std::sync::Arc;

use burn::module::{Module, Param};
use burn::tensor::Tensor;
use burn::tensor::backend::Backend;
use ncde_kernels::{Field, Recurrence, Structure};
use ncde_runtime::{Inputs, Plan};
use ncde_signature::Signature;

use super::gates::Drive;
use super::linear_config::{Driving, LinearNcdeConfig};
use super::parameters::{check_lengths, clear_padding};
use super::{Error, ModelBackend, log_ode};
use crate::linear::{Arguments, recurrence};

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
    /// The initial state, or the bias of the map to it: `[columns, H]`.
    pub start: Param<Tensor<B, 2>>,
    /// The linear map `L` from the first observation to the initial state: `[channels, columns H]`.
    pub first: Option<Param<Tensor<B, 2>>>,
    #[module(skip)]
    pub(super) parts: Arc<Parts>,
}

/// What is not learned.
#[derive(Debug)]
pub(super) struct Parts {
    pub(super) config: LinearNcdeConfig,
    pub(super) field: Field,
    pub(super) plan: Plan,
    /// The log-signature of the joint path.
    pub(super) transform: Arc<Signature>,
    pub(super) recurrence: Arc<Recurrence>,
}

/// What one run over the steps takes.
pub(super) struct Run<'a, B: Backend> {
    pub(super) recurrence: &'a Arc<Recurrence>,
    /// Its parameters.
    pub(super) a: Tensor<B, 1>,
    pub(super) initial: Tensor<B, 3>,
    /// What goes with matrices: `[batch, steps, coefficients]`.
    pub(super) lambda: Tensor<B, 3>,
    /// What is added: `[batch, steps, columns, H]`.
    pub(super) affine: Option<Tensor<B, 4>>,
    pub(super) lengths: Option<Arc<[usize]>>,
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
        let shape = [batch, config.columns, config.hidden];
        let start = self.start.val().unsqueeze::<3>().expand(shape);
        let Some(map) = &self.first else {
            return Ok(start);
        };
        let [wanted, _] = map.dims();
        if channels != wanted {
            return Err(wrong("the first observation", format!("{channels} channels"), format!("{wanted}")));
        }
        Ok(start + first.clone().matmul(map.val()).reshape(shape))
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
        match self.config().driving {
            Driving::LogOde { steps, .. } => {
                let mut joint = vec![drive.omega.clone()];
                joint.extend(drive.xi.clone());
                let joint = Tensor::cat(joint, 2);
                let log = log_ode::windows(&self.parts.transform, joint, drive.lengths.as_deref(), steps)?;
                let lengths = drive.lengths.as_ref().map(|lengths| lengths.iter().map(|own| own.div_ceil(steps)).collect());
                self.over_windows(initial, log, lengths)
            }
            Driving::Increments => {
                let path = self.config().inputs() == Inputs::Path;
                let xi = if path { Some(drive.omega.clone()) } else { drive.xi.clone() };
                self.run(Run {
                    recurrence: &self.parts.recurrence,
                    a: log_ode::matrices(&self.parts.plan, self.a.val())?,
                    initial,
                    lambda: drive.omega.clone(),
                    affine: self.affine(xi)?,
                    lengths: drive.lengths.clone(),
                })
            }
        }
    }

    /// States from log-signatures that are already there: of the joint path (omega, xi), or of omega alone where that is also xi, one a window, in the coordinates of
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
        let [batch, windows, _] = log.dims();
        check_lengths("Linear NCDE", lengths.as_deref(), batch, [0, windows])?;
        let (lambda, mu) = log_ode::split(&self.parts.plan, log);
        let a = log_ode::matrices(&self.parts.plan, self.a.val())?;
        self.run(Run { recurrence: &self.parts.recurrence, a, initial, lambda, affine: self.affine(mu)?, lengths })
    }

    /// The recurrence.
    pub(super) fn run(&self, run: Run<'_, B>) -> Result<Tensor<B, 4>, Error> {
        let Run { recurrence: flow, a, initial, lambda, affine, lengths } = run;
        // A series without steps takes one that does nothing.
        let idle = lengths.as_deref().is_some_and(|lengths| lengths.contains(&0));
        let clear = |values: Tensor<B, 3>| if idle { clear_padding(values, lengths.as_deref()) } else { values };
        let affine = affine.map(|affine| {
            let dims = affine.dims();
            clear(affine.flatten(2, 3)).reshape(dims)
        });
        let lambda = clear(lambda);
        let lengths = if idle { lengths.map(|all| all.iter().map(|&own| own.max(1)).collect()) } else { lengths };
        Ok(recurrence(flow, Arguments { a, coefficients: lambda, initial, affine, lengths })?)
    }

    /// `beta = sum_P mu_P c_P`, in each column over the elements with that column's letter.
    fn affine(&self, mu: Option<Tensor<B, 3>>) -> Result<Option<Tensor<B, 4>>, Error> {
        let (Some(b), Some(mu)) = (&self.b, mu) else { return Ok(None) };
        let vectors = log_ode::vectors(&self.parts.plan, self.a.val(), b.val())?;
        let [batch, steps, count] = mu.dims();
        let (columns, hidden) = (self.config().columns, self.config().hidden);
        let each = count / columns;
        let mu = mu.reshape([batch * steps, columns, each]).swap_dims(0, 1);
        let beta = mu.matmul(vectors.reshape([columns, each, hidden]));
        Ok(Some(beta.swap_dims(0, 1).reshape([batch, steps, columns, hidden])))
    }

    fn check(&self, drive: &Drive<B>) -> Result<(), Error> {
        let config = self.config();
        let [batch, steps, omega] = drive.omega.dims();
        if omega != config.omega {
            return Err(wrong("omega", format!("{omega} channels"), format!("{}", config.omega)));
        }
        if steps == 0 {
            return Err(wrong("omega", "0 steps".into(), "at least 1".into()));
        }
        let xi = drive.xi.as_ref().map(Tensor::dims);
        let inputs = config.inputs().joined();
        let wanted = (inputs > 0).then_some([batch, steps, inputs]);
        if xi != wanted {
            let name = |dims: Option<[usize; 3]>| dims.map_or("no values".into(), |dims| format!("shape {dims:?}"));
            return Err(wrong("xi", name(xi), name(wanted)));
        }
        check_lengths("Linear NCDE", drive.lengths.as_deref(), batch, [0, steps])?;
        let types = [("omega", Some(drive.omega.dtype())), ("xi", drive.xi.as_ref().map(Tensor::dtype))];
        let first = self.first.as_ref().map(|_| drive.first.dtype());
        let wanted = self.a.val().dtype();
        for (what, seen) in types.into_iter().chain([("the first observation", first)]) {
            if let Some(seen) = seen.filter(|&seen| seen != wanted) {
                return Err(crate::linear::Error::Mixed { what, seen, wanted }.into());
            }
        }
        Ok(())
    }
}

fn wrong(what: &'static str, seen: String, wanted: String) -> Error {
    Error::Shape { operation: "Linear NCDE", what, seen, wanted }
}
