//! A vector for each token; see [`ncde_runtime::layer::Embedding`].

use super::rows::integers;
use super::{Batch, Context, Error, LayerBackend, LayerWeights, Rows};

#[derive(Debug)]
pub(super) struct EmbeddingBatch;

impl<B: LayerBackend> Batch<B> for EmbeddingBatch {
    fn forward(&self, rows: Rows<B>, weights: &LayerWeights<'_, B>, _: &Context<B>) -> Result<Rows<B>, Error> {
        let [batch, places, _] = rows.values.dims();
        let weight = weights.weight::<2>("weight")?;
        let [vocabulary, width] = weight.dims();
        let mut tokens: Vec<f64> = rows.values.to_data().iter().collect();
        // Whatever padding holds, it stands for token 0.
        for (own, &length) in tokens.chunks_exact_mut(places).zip(&rows.places.lengths) {
            own[length..rows.places.trunk].fill(0.0);
        }
        if let Some(token) = tokens.iter().find(|&&token| !(token >= 0.0 && token < vocabulary as f64 && token.fract() == 0.0)) {
            let (seen, wanted) = (format!("token {token}"), format!("a whole number below {vocabulary}"));
            return Err(Error::Shape { operation: "embedding", what: "the batch of tokens", seen, wanted });
        }
        let tokens = tokens.into_iter().map(|token| token as i64).collect();
        let y = weight.select(0, integers(tokens, &rows.values.device())).reshape([batch, places, width]);
        Ok(rows.with(y))
    }
}
