//! Dropout from our own streams: each number stays with probability `1 - p`, scaled by `1 / (1 - p)`.

use burn::tensor::Tensor;
use burn::tensor::backend::Backend;

use super::parameters::constant;
use crate::random::Stream;

/// What a forward pass is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Nothing is dropped.
    Predict,
    /// Masks come from this stream: take another for each step of training.
    Train(Stream),
}

impl Phase {
    /// The phase of part `i` of a model.
    #[must_use]
    pub fn child(self, i: u64) -> Self {
        match self {
            Self::Predict => Self::Predict,
            Self::Train(stream) => Self::Train(stream.child(i)),
        }
    }
}

pub(crate) fn dropout<B: Backend>(x: Tensor<B, 3>, rate: f64, phase: Phase) -> Tensor<B, 3> {
    match phase {
        Phase::Train(stream) if rate > 0.0 => {
            let shape = x.dims();
            let kept = 1.0 / (1.0 - rate);
            let size = shape.iter().product::<usize>() as u64;
            let mask = (0..size).map(|i| if stream.uniform(i) < rate { 0.0 } else { kept }).collect();
            let mask = constant(mask, shape, &x);
            x * mask
        }
        _ => x,
    }
}
