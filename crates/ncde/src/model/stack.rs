//! Blocks on top of each other, behind an embedding of tokens or a linear encoder of values, before a readout.

use std::sync::Arc;

use burn::module::Module;
use burn::nn::{Embedding, Linear};
use burn::tensor::backend::Backend;
use burn::tensor::{Int, Tensor};
use serde::{Deserialize, Serialize};

use super::block::{Block, BlockConfig};
use super::dropout::Phase;
use super::parameters::{linear, normal, parameter};
use super::readout::{Readout, ReadoutConfig};
use super::{Error, ModelBackend};
use crate::random::Stream;

/// What comes before the blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Encoder {
    /// A vector for each token, standard normal at first.
    Tokens {
        /// How many tokens there are.
        vocabulary: usize,
    },
    /// A linear layer.
    Values {
        /// The channels of a value.
        channels: usize,
    },
}

/// The settings of a [`Stack`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StackConfig {
    /// What comes before the blocks.
    pub encoder: Encoder,
    /// Each of the blocks.
    pub block: BlockConfig,
    /// How many there are.
    pub blocks: usize,
    /// What comes after them.
    pub readout: ReadoutConfig,
}

impl StackConfig {
    /// The model with weights drawn from `seed`.
    ///
    /// ```
    /// use burn::backend::Flex;
    /// use burn::tensor::Tensor;
    /// use ncde::model::{BlockConfig, Encoder, Over, Phase, ReadoutConfig, StackConfig};
    /// let config = StackConfig {
    ///     encoder: Encoder::Tokens { vocabulary: 10 },
    ///     block: BlockConfig::new(16),
    ///     blocks: 2,
    ///     readout: ReadoutConfig::new(10).with_over(Over::EveryStep),
    /// };
    /// let model = config.init::<Flex>(&Default::default(), 0)?;
    /// let tokens = Tensor::from_data([[3, 1, 4, 1, 5]], &Default::default());
    /// assert_eq!(model.forward_tokens(tokens, None, Phase::Predict)?.dims(), [1, 5, 10]);
    /// # Ok::<(), ncde::model::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the settings make no sense.
    pub fn init<B: Backend>(&self, device: &B::Device, seed: u64) -> Result<Stack<B>, Error> {
        let stream = Stream::new(seed, 0);
        let dim = self.block.dim;
        let (mut embedding, mut encoder) = (None, None);
        match self.encoder {
            Encoder::Tokens { vocabulary } => {
                let weight = parameter(normal(&stream.child(0), vocabulary * dim, 1.0), [vocabulary, dim], device);
                embedding = Some(Embedding { weight });
            }
            Encoder::Values { channels } => encoder = Some(linear(&stream.child(0), [channels, dim], device)),
        }
        let blocks = (0..self.blocks as u64).map(|i| self.block.init(device, &stream.child(2 + i)));
        Ok(Stack {
            embedding,
            encoder,
            blocks: blocks.collect::<Result<_, _>>()?,
            readout: self.readout.init(dim, device, &stream.child(1)),
        })
    }
}

/// A stack of `SLiCE` blocks.
#[derive(Module, Debug)]
pub struct Stack<B: Backend> {
    /// Of tokens.
    pub embedding: Option<Embedding<B>>,
    /// Of values.
    pub encoder: Option<Linear<B>>,
    /// The blocks.
    pub blocks: Vec<Block<B>>,
    /// The readout.
    pub readout: Readout<B>,
}

impl<B: ModelBackend> Stack<B> {
    /// Outputs for tokens, numbered from 0.
    ///
    /// # Shapes
    /// `tokens`: `[batch, length]`, to the shape of [`Readout::forward`].
    ///
    /// # Errors
    /// If the stack was made for values, a token is not in the vocabulary (as far as the backend checks it), or a block fails.
    pub fn forward_tokens(
        &self,
        tokens: Tensor<B, 2, Int>,
        lengths: Option<&Arc<[usize]>>,
        phase: Phase,
    ) -> Result<Tensor<B, 3>, Error> {
        let Some(embedding) = &self.embedding else {
            return Err(Error::Setting {
                setting: "encoder",
                problem: "it takes values, not tokens; call `forward_values`".into(),
            });
        };
        self.forward(embedding.forward(tokens), lengths, phase)
    }

    /// Outputs for values.
    ///
    /// # Shapes
    /// `values`: `[batch, length, channels]`, to the shape of [`Readout::forward`].
    ///
    /// # Errors
    /// If the stack was made for tokens, the channels are others, or a block fails.
    pub fn forward_values(
        &self,
        values: Tensor<B, 3>,
        lengths: Option<&Arc<[usize]>>,
        phase: Phase,
    ) -> Result<Tensor<B, 3>, Error> {
        let Some(encoder) = &self.encoder else {
            return Err(Error::Setting {
                setting: "encoder",
                problem: "it takes tokens, not values; call `forward_tokens`".into(),
            });
        };
        let ([.., seen], [wanted, _]) = (values.dims(), encoder.weight.dims());
        if seen != wanted {
            let (seen, wanted) = (format!("{seen} channels"), wanted.to_string());
            return Err(Error::Shape { operation: "stack", what: "the series", seen, wanted });
        }
        self.forward(encoder.forward(values), lengths, phase)
    }

    fn forward(&self, mut x: Tensor<B, 3>, lengths: Option<&Arc<[usize]>>, phase: Phase) -> Result<Tensor<B, 3>, Error> {
        for (i, block) in self.blocks.iter().enumerate() {
            x = block.forward(x, lengths, phase.child(i as u64))?;
        }
        self.readout.forward(x, lengths.map(AsRef::as_ref))
    }

    /// The sum of the blocks' penalties on `A`; none without blocks.
    pub fn penalty(&self) -> Option<Tensor<B, 1>> {
        self.blocks.iter().map(|block| block.recurrence.penalty()).reduce(|sum, own| sum + own)
    }
}
