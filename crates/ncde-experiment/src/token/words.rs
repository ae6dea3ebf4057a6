//! Words with their answers.

/// A word and what is asked of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    /// Its tokens.
    pub tokens: Vec<u8>,
    /// An answer after every token, or one alone after the last.
    pub answers: Vec<u8>,
}

/// Where words come from: a pure function of a step, so that nothing need be kept.
pub trait WordSource {
    /// How many tokens there are.
    fn vocabulary(&self) -> usize;

    /// How many answers there are.
    fn classes(&self) -> usize;

    /// Whether there is an answer after every token.
    fn tags(&self) -> bool;

    /// The words of a step of training in groups: the loss is the sum of the means over the answers of each.
    fn batch(&self, step: usize) -> Vec<Vec<Word>>;

    /// Word `i` of those to validate on.
    fn held_out(&self, i: usize) -> Word;
}
