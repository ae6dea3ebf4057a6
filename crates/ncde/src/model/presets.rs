//! The gates that have a name; their equations are in the table of [`gates`](super::GatesConfig).

use std::sync::Arc;

use burn::module::{Module, Param};
use burn::tensor::Tensor;
use burn::tensor::activation::relu;
use burn::tensor::backend::Backend;

use super::Error;
use super::gates::{Drive, First, Gates, Observations, TimeChannel, Times};
use super::parameters::{check_lengths, parameter, uniform};
use crate::random::Stream;

/// Any of the presets.
#[allow(clippy::large_enum_variant, reason = "a model has one of them")]
#[derive(Module, Debug)]
pub enum Preset<B: Backend> {
    /// A fixed function of the path.
    Path(PathGates),
    /// Tokens.
    Tokens(TokenGates),
    /// Mamba's.
    Mamba(MambaGates<B>),
}

impl<B: Backend> Gates<B> for Preset<B> {
    fn channels(&self, channels: usize) -> [usize; 2] {
        match self {
            Self::Path(gates) => Gates::<B>::channels(gates, channels),
            Self::Tokens(gates) => Gates::<B>::channels(gates, channels),
            Self::Mamba(gates) => gates.channels(channels),
        }
    }

    fn drive(&self, observations: Observations<B>) -> Result<Drive<B>, Error> {
        match self {
            Self::Path(gates) => gates.drive(observations),
            Self::Tokens(gates) => gates.drive(observations),
            Self::Mamba(gates) => gates.drive(observations),
        }
    }
}

/// A fixed function of the path.
#[derive(Module, Debug, Clone)]
pub struct PathGates {
    /// Which one.
    #[module(skip)]
    pub kind: PathKind,
}

/// Fixed functions of the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathKind {
    /// `dt X_j`, with time or not.
    Values(TimeChannel),
    /// `X_{j+1} - X_j`, with time or not.
    Increments(TimeChannel),
    /// Increments with time and its square.
    TimeSquared,
    /// Time for every channel; the path is added.
    S4,
    /// `dt X_j` drives and is added.
    Ids4,
}

/// The tokens themselves, with a constant channel.
#[derive(Module, Debug, Clone)]
pub struct TokenGates {
    /// The length of a step.
    pub scale: f64,
    /// What the first token is for.
    #[module(skip)]
    pub first: First,
}

/// Time that runs at a learned speed, for each channel its own.
#[derive(Module, Debug)]
pub struct MambaGates<B: Backend> {
    /// `[channels, channels]`; column `k` is `alpha^k`.
    pub alpha: Param<Tensor<B, 2>>,
    /// `[channels]`.
    pub beta: Param<Tensor<B, 1>>,
}

impl<B: Backend> Gates<B> for PathGates {
    fn channels(&self, channels: usize) -> [usize; 2] {
        match self.kind {
            PathKind::Values(time) | PathKind::Increments(time) => [channels + usize::from(time == TimeChannel::Present), 0],
            PathKind::TimeSquared => [channels + 2, 0],
            PathKind::S4 | PathKind::Ids4 => [channels, channels],
        }
    }

    fn drive(&self, observations: Observations<B>) -> Result<Drive<B>, Error> {
        let Steps { first, x, dx, dt, lengths } = steps(observations)?;
        let channels = x.dims()[2];
        let (omega, xi) = match self.kind {
            PathKind::Values(TimeChannel::Absent) => (x * dt, None),
            PathKind::Values(TimeChannel::Present) => (Tensor::cat(vec![dt.clone(), x * dt], 2), None),
            PathKind::Increments(TimeChannel::Absent) => (dx, None),
            PathKind::Increments(TimeChannel::Present) => (Tensor::cat(vec![dt, dx], 2), None),
            PathKind::TimeSquared => {
                let end = dt.clone().cumsum(1);
                let squares = dt.clone() * (end * 2.0 - dt.clone());
                (Tensor::cat(vec![dt, squares, dx], 2), None)
            }
            PathKind::S4 => (dt.clone().repeat_dim(2, channels), Some(x * dt)),
            PathKind::Ids4 => {
                let omega = x * dt;
                (omega.clone(), Some(omega))
            }
        };
        Ok(Drive { first, omega, xi, lengths })
    }
}

impl<B: Backend> Gates<B> for TokenGates {
    fn channels(&self, channels: usize) -> [usize; 2] {
        [channels + 1, 0]
    }

    fn drive(&self, observations: Observations<B>) -> Result<Drive<B>, Error> {
        let Observations { values, lengths, .. } = observations;
        let [batch, length, channels] = values.dims();
        check_lengths("gates", lengths.as_deref(), batch, [1, length])?;
        let skipped = usize::from(self.first == First::Starts);
        if length <= skipped {
            return Err(shape("the sequence of tokens", [batch, length, channels], format!("a length above {skipped}")));
        }
        let first = values.clone().narrow(1, 0, 1).squeeze_dim::<2>(1);
        let one = Tensor::ones([batch, length - skipped, 1], (&values.device(), values.dtype()));
        let tokens = values.narrow(1, skipped, length - skipped);
        let lengths = lengths.map(|lengths| lengths.iter().map(|&own| own - skipped).collect());
        Ok(Drive { first, omega: Tensor::cat(vec![one, tokens], 2) * self.scale, xi: None, lengths })
    }
}

impl<B: Backend> MambaGates<B> {
    pub(super) fn new(channels: usize, device: &B::Device, stream: &Stream) -> Self {
        let bound = 1.0 / (channels as f64).sqrt();
        Self {
            alpha: parameter(uniform(&stream.child(0), channels * channels, bound), [channels, channels], device),
            beta: parameter(uniform(&stream.child(1), channels, bound), [channels], device),
        }
    }
}

impl<B: Backend> Gates<B> for MambaGates<B> {
    fn channels(&self, channels: usize) -> [usize; 2] {
        [channels, channels * channels]
    }

    fn drive(&self, observations: Observations<B>) -> Result<Drive<B>, Error> {
        let Steps { first, x, dt, lengths, .. } = steps(observations)?;
        let [batch, steps, channels] = x.dims();
        let z = x.clone().matmul(self.alpha.val().unsqueeze()) + self.beta.val().unsqueeze();
        // softplus(z) = log(1 + e^z), without overflow.
        let omega = (relu(z.clone()) + z.abs().neg().exp().log1p()) * dt;
        // [batch, steps, k, i]: speed^k X^k X^i.
        let own: Tensor<B, 4> = (omega.clone() * x.clone()).unsqueeze_dim(3);
        let xi = (own * x.unsqueeze_dim::<4>(2)).reshape([batch, steps, channels * channels]);
        Ok(Drive { first, omega, xi: Some(xi), lengths })
    }
}

/// The path, step by step.
struct Steps<B: Backend> {
    first: Tensor<B, 2>,
    /// `X_j`: `[batch, steps, channels]`.
    x: Tensor<B, 3>,
    /// `X_{j+1} - X_j`.
    dx: Tensor<B, 3>,
    /// `t_{j+1} - t_j`: `[batch, steps, 1]`.
    dt: Tensor<B, 3>,
    lengths: Option<Arc<[usize]>>,
}

fn steps<B: Backend>(observations: Observations<B>) -> Result<Steps<B>, Error> {
    let Observations { values, times, lengths } = observations;
    let [batch, length, channels] = values.dims();
    check_lengths("gates", lengths.as_deref(), batch, [1, length])?;
    if length < 2 {
        return Err(shape("the path", [batch, length, channels], "a length of at least 2".into()));
    }
    let steps = length - 1;
    let dt = match times {
        Times::Regular(step) => Tensor::full([batch, steps, 1], step, (&values.device(), values.dtype())),
        Times::Steps(dt) if dt.dims() == [batch, steps] => dt.unsqueeze_dim(2),
        Times::Steps(dt) => return Err(shape("the list of time steps", dt.dims(), format!("[{batch}, {steps}]"))),
    };
    let x = values.clone().narrow(1, 0, steps);
    Ok(Steps {
        first: values.clone().narrow(1, 0, 1).squeeze_dim(1),
        dx: values.narrow(1, 1, steps) - x.clone(),
        x,
        dt,
        lengths: lengths.map(|lengths| lengths.iter().map(|&own| own - 1).collect()),
    })
}

fn shape<const D: usize>(what: &'static str, seen: [usize; D], wanted: String) -> Error {
    Error::Shape { operation: "gates", what, seen: format!("shape {seen:?}"), wanted }
}
