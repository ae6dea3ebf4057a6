//! Layers on tensors: the batch form of the specs in [`ncde_runtime::layer`], with gradients.
//!
//! A batch holds series of different lengths, padded; what lies past the end of a series changes nothing of it. One file a layer, named as the
//! spec's; `batch` in this file is the registry.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `rows` | [`Rows`]: the rows of a batch of series, and where they lie |
//! | `network` | [`Network`]: a list of layers with its weights |
//! | the others | a layer each |

mod activation;
mod attention;
mod beside;
mod convolution;
mod delta_net;
mod dropout;
mod embedding;
mod foreign;
mod gru;
mod gru_d;
mod layer_norm;
mod linear;
mod linear_cde;
mod lstm;
mod mamba2;
mod mamba3;
mod matrix_state;
mod mlstm;
mod network;
mod neural_cde;
mod oscillators;
mod parallel;
mod permutation_diagonal;
mod pool;
mod product;
mod random_features;
mod recurrent;
mod residual;
mod rows;
mod rowwise;
mod rwkv;
mod selective;
mod signature;
mod slstm;
mod spread;
mod standardise;
mod state_space;
mod stepped;
mod windows;

use std::fmt::Debug;

use burn_autodiff::Autodiff;
use burn_tensor::Tensor;
use burn_tensor::backend::Backend;
use ncde_runtime::LayerSpec;
use ncde_runtime::layer::{Signal, Values};

pub use dropout::Phase;
pub use foreign::{MakeBatch, register_batch};
#[doc(hidden)]
pub use network::check_gradient_flow;
pub use network::{LayerWeights, Network, Visit};
pub use rows::{Branches, Places, Rows};

use crate::dense::DenseOps;
use crate::hosted::HostedOps;
use crate::linear::LinearOps;
use crate::neural::NeuralOps;
use crate::operation;
use crate::permutation::PermutationOps;
use crate::signature::SignatureOps;

/// A backend that layers run on: one with all our operations.
///
/// Layers are compiled in this crate, once for each backend and once for the same with gradients, and not in every crate that trains or predicts: hence a trait for
/// backends by name.
pub trait LayerBackend: DenseOps + HostedOps + LinearOps + NeuralOps + PermutationOps + SignatureOps {
    /// [`batch`] on this backend.
    ///
    /// # Errors
    /// If the settings make no sense.
    #[doc(hidden)]
    fn batch(spec: &LayerSpec, input: &Signal, fixed: &mut Values) -> Result<Box<dyn Batch<Self>>, Error>;

    /// The same with gradients.
    ///
    /// # Errors
    /// As for [`batch`](Self::batch), and on a backend that has gradients already.
    #[doc(hidden)]
    fn batch_with_gradients(
        spec: &LayerSpec,
        input: &Signal,
        fixed: &mut Values,
    ) -> Result<Box<dyn Batch<Autodiff<Self>>>, Error>;
}

macro_rules! compiled_for {
    ($backend:ty) => {
        impl LayerBackend for $backend {
            fn batch(spec: &LayerSpec, input: &Signal, fixed: &mut Values) -> Result<Box<dyn Batch<Self>>, Error> {
                batch(spec, input, fixed)
            }

            fn batch_with_gradients(
                spec: &LayerSpec,
                input: &Signal,
                fixed: &mut Values,
            ) -> Result<Box<dyn Batch<Autodiff<Self>>>, Error> {
                batch(spec, input, fixed)
            }
        }
    };
}
compiled_for!(burn_flex::Flex);
#[cfg(feature = "cuda")]
compiled_for!(crate::gpu::Cuda);
#[cfg(feature = "wgpu")]
compiled_for!(crate::gpu::Wgpu);

impl<B: LayerBackend> LayerBackend for Autodiff<B> {
    fn batch(spec: &LayerSpec, input: &Signal, fixed: &mut Values) -> Result<Box<dyn Batch<Self>>, Error> {
        B::batch_with_gradients(spec, input, fixed)
    }

    fn batch_with_gradients(_: &LayerSpec, _: &Signal, _: &mut Values) -> Result<Box<dyn Batch<Autodiff<Self>>>, Error> {
        Err(operation::Error::SecondOrder.into())
    }
}

/// What all layers of a pass share.
#[derive(Debug, Clone)]
pub struct Context<B: Backend> {
    /// The static covariates of the series, scaled: `[batch, statics]`; none if there are none.
    pub statics: Option<Tensor<B, 2>>,
    /// What the pass is for.
    pub phase: Phase,
}

impl<B: Backend> Context<B> {
    /// A prediction of series without static covariates.
    pub fn predict() -> Self {
        Self { statics: None, phase: Phase::Predict }
    }

    /// That of part `i` of a model, which draws its own random numbers.
    fn child(&self, i: usize) -> Self {
        Self { statics: self.statics.clone(), phase: self.phase.child(i as u64) }
    }
}

/// Which norm of the matrices of a linear field is penalised. (That of a network has one norm alone.)
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FieldNorm {
    /// The mean over channels of the Euclidean norm of the channel's parameters, as the thesis's code on series has it.
    #[default]
    Channels,
    /// The Euclidean norm of all parameters together, as its code on tokens has it.
    Frobenius,
}

impl FieldNorm {
    /// The norm of a field from the sums of squares of its channels.
    fn of_squares<B: Backend>(self, channels: Tensor<B, 1>) -> Tensor<B, 1> {
        let squares = if self == Self::Frobenius { channels.sum() } else { channels };
        // The square root has no slope at 0; a number that f32 still holds gives it one.
        (squares + 1e-30).sqrt().mean()
    }
}

/// A layer on a batch of series.
pub trait Batch<B: LayerBackend>: Debug + Send + Sync {
    /// The rows it hands on.
    ///
    /// # Errors
    /// If shapes do not fit, a number is not finite, or a state overflows.
    fn forward(&self, rows: Rows<B>, weights: &LayerWeights<'_, B>, context: &Context<B>) -> Result<Rows<B>, Error>;

    /// The penalty on its vector field, where it has one.
    fn penalty(&self, _weights: &LayerWeights<'_, B>, _norm: FieldNorm) -> Option<Tensor<B, 1>> {
        None
    }

    /// What fits its weights to the rows it is given, before training.
    fn fitting(&self) -> Option<Box<dyn Fitting<B>>> {
        None
    }

    /// A weight that becomes, once the layer is trained, the largest size of the rows it hands on.
    fn measured(&self) -> Option<Measure<B>> {
        None
    }
}

/// The name of a weight, and how the size of rows is measured whose largest it becomes.
pub type Measure<B> = (&'static str, fn(&Rows<B>) -> f64);

/// Fits weights to rows, one batch after the other.
pub trait Fitting<B: Backend> {
    /// Looks at the rows of a batch.
    fn add(&mut self, rows: &Rows<B>);

    /// The weights, by name.
    fn finish(&self) -> Vec<(&'static str, Vec<f32>)>;
}

/// The registry: the batch form of a layer that is given rows like these; `fixed` are the values of its weights, of which it may keep those that
/// are not trained.
///
/// # Errors
/// If the settings make no sense.
fn batch<B: LayerBackend>(spec: &LayerSpec, input: &Signal, fixed: &mut Values) -> Result<Box<dyn Batch<B>>, Error> {
    Ok(match spec {
        LayerSpec::Windows(layer) => Box::new(windows::WindowsBatch::new(layer, input)?),
        LayerSpec::LinearCde(layer) => Box::new(linear_cde::LinearCdeBatch::new(layer, input, fixed)?),
        LayerSpec::PermutationDiagonal(layer) => Box::new(permutation_diagonal::PermutationBatch::new(layer, input)?),
        LayerSpec::NeuralCde(layer) => Box::new(neural_cde::NeuralCdeBatch::new(layer, input)?),
        LayerSpec::Reservoir(layer) => Box::new(stepped::BySteps::new(layer, input, fixed)?),
        LayerSpec::RandomFeatures(_) => Box::new(random_features::RandomFeaturesBatch),
        LayerSpec::Memory(layer) => Box::new(stepped::BySteps::new(layer, input, fixed)?),
        LayerSpec::Signature(layer) => Box::new(signature::SignatureBatch::new(layer, input)?),
        LayerSpec::Embedding(_) => Box::new(embedding::EmbeddingBatch),
        LayerSpec::Linear(_) => Box::new(linear::LinearBatch),
        LayerSpec::Activation(layer) => Box::new(activation::ActivationBatch { function: layer.function }),
        LayerSpec::LayerNorm(layer) => Box::new(layer_norm::LayerNormBatch { affine: layer.affine }),
        LayerSpec::Standardise(_) => Box::new(standardise::StandardiseBatch),
        LayerSpec::Dropout(layer) => Box::new(dropout::DropoutBatch { rate: layer.rate }),
        LayerSpec::Residual(_) => Box::new(residual::ResidualBatch),
        LayerSpec::Beside(layer) => Box::new(beside::BesideBatch::new(layer, input)?),
        LayerSpec::Parallel(_) => Box::new(parallel::ParallelBatch),
        LayerSpec::Convolution(_) => Box::new(convolution::ConvolutionBatch),
        LayerSpec::DeltaNet(layer) => Box::new(delta_net::DeltaNetBatch { spec: layer.clone() }),
        LayerSpec::Mamba2(layer) => Box::new(mamba2::Mamba2Batch { spec: *layer }),
        LayerSpec::Mamba3(layer) => Box::new(mamba3::Mamba3Batch { spec: *layer }),
        LayerSpec::Lstm(layer) => Box::new(lstm::LstmBatch { hidden: layer.hidden }),
        LayerSpec::Gru(layer) => Box::new(gru::GruBatch { hidden: layer.hidden }),
        LayerSpec::GruD(layer) => Box::new(gru_d::GruDBatch { spec: layer.clone() }),
        LayerSpec::StateSpace(layer) => Box::new(state_space::StateSpaceBatch { spec: layer.clone() }),
        LayerSpec::Selective(layer) => Box::new(selective::SelectiveBatch { spec: layer.clone() }),
        LayerSpec::Product(_) => Box::new(product::ProductBatch),
        LayerSpec::Attention(layer) => Box::new(attention::AttentionBatch { spec: layer.clone() }),
        LayerSpec::Slstm(layer) => Box::new(slstm::SlstmBatch { spec: layer.clone() }),
        LayerSpec::Mlstm(layer) => Box::new(mlstm::MlstmBatch { spec: layer.clone() }),
        LayerSpec::Oscillators(layer) => Box::new(oscillators::OscillatorsBatch { spec: layer.clone() }),
        LayerSpec::Rwkv(layer) => Box::new(rwkv::RwkvBatch { spec: layer.clone() }),
        LayerSpec::Pool(layer) => Box::new(pool::PoolBatch { over: layer.over }),
        LayerSpec::Foreign(layer) => foreign::batch(layer, input, fixed)?,
    })
}

/// What can go wrong.
#[expect(missing_docs, reason = "the message says what each field is")]
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An operation failed.
    #[error(transparent)]
    Operation(#[from] operation::Error),

    /// The spec of a model.
    #[error(transparent)]
    Runtime(#[from] ncde_runtime::Error),

    /// A tensor of the wrong shape.
    #[error("{operation}: {what} has {seen}, but {wanted} is needed")]
    Shape { operation: &'static str, what: &'static str, seen: String, wanted: String },

    /// A trained weight to which no gradient came.
    #[error(
        "weight `{name}` has no gradient: another thread differentiates at the same time, or the layer does not use it; take `ncde_layers::graph::lock` \
         around each pass forward and back"
    )]
    NoGradient { name: String },
}

impl Error {
    /// Whether a state or a gradient overflowed.
    pub fn is_overflow(&self) -> bool {
        match self {
            Self::Operation(operation::Error::Kernel(kernel)) => ncde_runtime::Error::Kernel(kernel.clone()).is_overflow(),
            Self::Operation(operation::Error::Generic(solve)) => ncde_runtime::Error::Solve(solve.clone()).is_overflow(),
            Self::Runtime(runtime) => runtime.is_overflow(),
            _ => false,
        }
    }
}
