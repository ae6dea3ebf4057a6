//! Dropout from our own streams: each number stays with probability `1 - p`, scaled by `1 / (1 - p)`.

use super::{Batch, Context, Error, LayerBackend, LayerWeights, Rows};
use crate::dense;
use ncde_runtime::random::Stream;

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

#[derive(Debug)]
pub(super) struct DropoutBatch {
    pub(super) rate: f64,
}

impl<B: LayerBackend> Batch<B> for DropoutBatch {
    fn forward(&self, rows: Rows<B>, _: &LayerWeights<'_, B>, context: &Context<B>) -> Result<Rows<B>, Error> {
        let Phase::Train(stream) = context.phase else { return Ok(rows) };
        if self.rate == 0.0 {
            return Ok(rows);
        }
        Ok(rows.with(dense::dropout(rows.values.clone(), stream, self.rate)?))
    }
}
