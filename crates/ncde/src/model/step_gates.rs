//! Gates one step at a time, on plain numbers.
//!
//! ```text
//! (X_j, X_{j+1}, dt, t_{j+1} - t_0)  ->  (domega_j, dxi_j)
//! ```
//!
//! The equations are those of the table of [`GatesConfig`](super::GatesConfig). Cost: a few operations for each channel of omega and xi.

use burn::tensor::Tensor;
use burn::tensor::backend::Backend;
use ncde_kernels::Float;

use super::gates::{First, TimeChannel};
use super::presets::{PathKind, Preset};

/// One step of a path.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step<'a, T> {
    /// `X_j`.
    pub(super) from: &'a [T],
    /// `X_{j+1}`; for tokens, the token of this step.
    pub(super) to: &'a [T],
    /// `t_{j+1} - t_j`.
    pub(super) dt: f64,
    /// `t_{j+1} - t_0`.
    pub(super) end: f64,
}

/// A preset with its weights.
#[derive(Debug)]
pub(super) enum StepGates<T> {
    Path(PathKind),
    Tokens {
        scale: T,
        first: First,
    },
    Mamba {
        /// `[channels, channels]`; column `k` is `alpha^k`.
        alpha: Vec<T>,
        beta: Vec<T>,
    },
}

impl<T: Float> StepGates<T> {
    pub(super) fn new<B: Backend>(gates: &Preset<B>) -> Self {
        match gates {
            Preset::Path(path) => Self::Path(path.kind),
            Preset::Tokens(tokens) => Self::Tokens { scale: T::from_f64(tokens.scale), first: tokens.first },
            Preset::Mamba(mamba) => Self::Mamba { alpha: numbers(mamba.alpha.val()), beta: numbers(mamba.beta.val()) },
        }
    }

    /// The channels of a path for which omega has `omega` of them; none if there is no such path.
    pub(super) fn channels(&self, omega: usize) -> Option<usize> {
        match self {
            Self::Path(PathKind::Values(time) | PathKind::Increments(time)) => omega.checked_sub(present(*time)),
            Self::Path(PathKind::TimeSquared) => omega.checked_sub(2),
            Self::Path(PathKind::S4 | PathKind::Ids4) => Some(omega),
            Self::Tokens { .. } => omega.checked_sub(1),
            Self::Mamba { beta, .. } => Some(beta.len()),
        }
    }

    /// Whether the first observation already makes a step.
    pub(super) fn first_drives(&self) -> bool {
        matches!(self, Self::Tokens { first: First::Drives, .. })
    }

    /// The increments of omega, then those of xi.
    pub(super) fn step(&self, step: &Step<'_, T>, out: &mut [T]) {
        let Step { from, to, end, .. } = *step;
        let dt = T::from_f64(step.dt);
        match self {
            Self::Path(PathKind::Values(time)) => {
                let (clock, omega) = out.split_at_mut(present(*time));
                clock.fill(dt);
                scaled(omega, dt, from);
            }
            Self::Path(PathKind::Increments(time)) => {
                let (clock, omega) = out.split_at_mut(present(*time));
                clock.fill(dt);
                difference(omega, to, from);
            }
            Self::Path(PathKind::TimeSquared) => {
                let (clocks, omega) = out.split_at_mut(2);
                clocks.copy_from_slice(&[dt, T::from_f64(step.dt * (2.0 * end - step.dt))]);
                difference(omega, to, from);
            }
            Self::Path(PathKind::S4) => {
                let (omega, xi) = out.split_at_mut(from.len());
                omega.fill(dt);
                scaled(xi, dt, from);
            }
            Self::Path(PathKind::Ids4) => {
                let (omega, xi) = out.split_at_mut(from.len());
                scaled(omega, dt, from);
                xi.copy_from_slice(omega);
            }
            Self::Tokens { scale, .. } => {
                let (constant, omega) = out.split_at_mut(1);
                constant.fill(*scale);
                scaled(omega, *scale, to);
            }
            Self::Mamba { alpha, beta } => {
                let channels = beta.len();
                let (omega, xi) = out.split_at_mut(channels);
                for k in 0..channels {
                    let z = from.iter().zip(alpha.chunks_exact(channels)).fold(beta[k], |z, (&x, row)| z + x * row[k]);
                    omega[k] = T::from_f64(softplus(z.to_f64())) * dt;
                    scaled(&mut xi[k * channels..(k + 1) * channels], omega[k] * from[k], from);
                }
            }
        }
    }
}

/// The numbers of a tensor, in order.
pub(super) fn numbers<B: Backend, T: Float, const D: usize>(tensor: Tensor<B, D>) -> Vec<T> {
    tensor.into_data().iter::<f64>().map(T::from_f64).collect()
}

fn present(time: TimeChannel) -> usize {
    usize::from(time == TimeChannel::Present)
}

fn scaled<T: Float>(out: &mut [T], by: T, x: &[T]) {
    out.iter_mut().zip(x).for_each(|(out, &x)| *out = by * x);
}

fn difference<T: Float>(out: &mut [T], to: &[T], from: &[T]) {
    out.iter_mut().zip(to.iter().zip(from)).for_each(|(out, (&to, &from))| *out = to - from);
}

/// `log(1 + e^z)`, without overflow.
fn softplus(z: f64) -> f64 {
    z.max(0.0) + (-z.abs()).exp().ln_1p()
}
