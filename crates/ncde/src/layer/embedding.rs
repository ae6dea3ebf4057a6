//! A vector for each token; see [`ncde_runtime::layer::Embedding`].

use super::rows::integers;
use super::{Batch, Context, Error, LayerBackend, Own, Rows};

#[derive(Debug)]
pub(super) struct EmbeddingBatch;

impl<B: LayerBackend> Batch<B> for EmbeddingBatch {
    fn forward(&self, rows: Rows<B>, own: &Own<'_, B>, _: &Context<B>) -> Result<Rows<B>, Error> {
        let [batch, places, _] = rows.values.dims();
        let weight = own.weight::<2>("weight")?;
        let [vocabulary, width] = weight.dims();
        let tokens: Vec<i64> = rows.values.to_data().iter::<f64>().map(|token| token as i64).collect();
        if let Some(token) = tokens.iter().find(|&&token| token < 0 || token >= vocabulary as i64) {
            let wanted = format!("a number below {vocabulary}");
            return Err(Error::Shape {
                operation: "embedding",
                what: "the batch of tokens",
                seen: format!("token {token}"),
                wanted,
            });
        }
        let y = weight.select(0, integers(tokens, &rows.values.device())).reshape([batch, places, width]);
        Ok(rows.with(y))
    }
}
