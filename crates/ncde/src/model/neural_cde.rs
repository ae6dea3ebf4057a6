//! The NCDE, the NRDE and the Log-NCDE: a network as the vector field, solved in one call.
//!
//! ```text
//! NCDE       dh = sum_i f_i(h) dX^i
//! NRDE       dh/dt = sum_P lambda_P g_P(h) / length                      in each window, a column of the network for each coordinate
//! Log-NCDE   dh/dt = (sum_i lambda_i f_i + sum_{i<j} lambda_[i,j] [f_i, f_j] + ...)(h) / length,   [f, g] = Dg f - Df g
//! ```
//!
//! Thesis, chapter "Neural Controlled Differential Equations". What a Log-NCDE computes from its fields, their brackets, an NRDE must
//! learn, in a last layer that grows with the log-signature.
//!
//! Cost: that of the solve in `ncde-kernels`; of a Log-NCDE of depth 3 or more that of `ncde-solve`, much higher. Memory: `O(batch x steps x H)` in training, `O(batch x windows x H)` else.

use std::sync::Arc;

use burn::module::{Module, Param};
use burn::nn::Linear;
use burn::tensor::Tensor;
use burn::tensor::backend::Backend;

use super::neural_config::NeuralCdeConfig;
use super::neural_drive::NeuralDrive;
use super::{Error, ModelBackend};
use crate::neural::{Arguments, Solve, solve};

/// An NCDE, an NRDE or a Log-NCDE.
///
/// ```
/// use burn::backend::Flex;
/// use burn::tensor::Tensor;
/// use ncde::model::{NeuralCdeConfig, NeuralKind, StepRule};
/// let device = Default::default();
/// let config = NeuralCdeConfig::new(NeuralKind::LogNcde { depth: 2 }, 8, 3).with_steps(StepRule::EachWindow(4));
/// let model = config.init::<Flex>(&device, 0)?;
/// // Log-signatures of 5 windows, each a tenth long, of 2 series in 3 channels.
/// let logs = Tensor::ones([2, 5, config.coordinates()?], &device);
/// let drive = config.windows(Tensor::zeros([2, 3], &device), logs, &[0.1; 10], Some(&[5, 3]))?;
/// let states = model.forward(&drive)?;
/// assert_eq!(states.dims(), [2, 5, 8]);
/// assert_eq!(model.forward_with_start(&drive)?.dims(), [2, 6, 8]);
/// # Ok::<(), ncde::model::Error>(())
/// ```
#[derive(Module, Debug)]
pub struct NeuralCde<B: Backend> {
    /// The parameters of the network, as [`Network`](crate::neural::Network) lays them out.
    pub field: Param<Tensor<B, 1>>,
    /// The map from the first observation and the statics to the initial state.
    pub first: Linear<B>,
    #[module(skip)]
    pub(super) parts: Arc<Parts>,
}

/// What is not learned.
#[derive(Debug)]
pub(super) struct Parts {
    pub(super) config: NeuralCdeConfig,
    pub(super) solve: Arc<Solve>,
}

impl<B: Backend> NeuralCde<B> {
    /// The settings it was made with.
    pub fn config(&self) -> &NeuralCdeConfig {
        &self.parts.config
    }

    /// The solve, and in it the network.
    pub fn solve(&self) -> &Arc<Solve> {
        &self.parts.solve
    }

    /// The thesis's weight penalty: the sum over the layers of the field of the Euclidean norms of weight and bias. Times a small
    /// number and added to a loss, it keeps the field's Lip norm small.
    pub fn penalty(&self) -> Tensor<B, 1> {
        let (field, network) = (self.field.val(), self.parts.solve.network());
        let parts = (0..network.layers()).flat_map(|l| {
            let layer = network.layer(l);
            [layer.weight, layer.bias]
        });
        // The square root has no slope at 0; a number that f32 still holds gives it one.
        let norms = parts.map(|part| (field.clone().slice([part]).square().sum() + 1e-30).sqrt());
        Tensor::cat(norms.collect(), 0).sum()
    }

    /// `h_{t_0} = L (X_{t_0}, statics) + c`.
    ///
    /// # Shapes
    /// `first`: `[batch, channels + statics]`, to `[batch, H]`.
    ///
    /// # Errors
    /// If there are other channels and statics than the model has, or another number type.
    pub fn initial(&self, first: &Tensor<B, 2>) -> Result<Tensor<B, 2>, Error> {
        let ([_, seen], &NeuralCdeConfig { channels, statics, .. }) = (first.dims(), self.config());
        if seen != channels + statics {
            let wanted = if statics == 0 { format!("{channels}") } else { format!("{channels} and {statics} statics") };
            let (operation, what) = ("neural CDE", "the first observation");
            return Err(Error::Shape { operation, what, seen: format!("{seen} channels"), wanted });
        }
        let (seen, wanted) = (first.dtype(), self.first.weight.val().dtype());
        if seen != wanted {
            return Err(crate::neural::Error::Mixed { what: "the first observation", seen, wanted }.into());
        }
        Ok(self.first.forward(first.clone()))
    }
}

impl<B: ModelBackend> NeuralCde<B> {
    /// The states at the ends of windows, or at observations after the first.
    ///
    /// # Shapes
    /// To `[batch, windows, H]`. Past the length of a series its last state is repeated.
    ///
    /// # Errors
    /// If the drive was made for other settings, a number is not finite, or a state overflows.
    pub fn forward(&self, drive: &NeuralDrive<B>) -> Result<Tensor<B, 3>, Error> {
        self.forward_from(self.initial(&drive.first)?, drive)
    }

    /// As [`forward`](Self::forward), from initial states of any origin; the drive's first observations are not read.
    ///
    /// # Shapes
    /// `initial`: `[batch, H]`, to `[batch, windows, H]`.
    ///
    /// # Errors
    /// As for [`forward`](Self::forward).
    pub fn forward_from(&self, initial: Tensor<B, 2>, drive: &NeuralDrive<B>) -> Result<Tensor<B, 3>, Error> {
        let arguments = Arguments {
            parameters: self.field.val(),
            coefficients: drive.rates.clone(),
            initial,
            schedule: drive.schedule.clone(),
        };
        Ok(solve(&self.parts.solve, arguments)?)
    }

    /// As [`forward`](Self::forward), with `h_{t_0}` in front.
    ///
    /// # Shapes
    /// To `[batch, 1 + windows, H]`.
    ///
    /// # Errors
    /// As for [`forward`](Self::forward).
    pub fn forward_with_start(&self, drive: &NeuralDrive<B>) -> Result<Tensor<B, 3>, Error> {
        let start = self.initial(&drive.first)?;
        let states = self.forward_from(start.clone(), drive)?;
        Ok(Tensor::cat(vec![start.unsqueeze_dim(1), states], 1))
    }
}
