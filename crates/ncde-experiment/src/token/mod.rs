//! Tasks on words of tokens: their words, the models, and the training on words that are drawn step by step.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `words` | [`Word`]: words with their answers |
//! | `group` | the group `A5` |
//! | `a5` | its word problem |
//! | `formal` | four regular languages |
//! | `model` | `SLiCE` blocks by structure and size |
//! | `fit` | words as batches for the trainer, the accuracy on words that are held out |

mod a5;
mod fit;
mod formal;
mod group;
mod model;
mod words;

pub use a5::{A5, Lengths};
pub use fit::{Fit, Rates, accuracy, curve, fit};
pub use formal::{Formal, Language};
pub use group::{Element, Group};
pub(crate) use model::WALSH_HADAMARD;
pub use model::{Around, Flow, Matrices, Row, Slice};
pub use words::{Word, WordSource};
