//! Words with their answers.

/// A word and what is asked of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    /// Its tokens.
    pub tokens: Vec<u8>,
    /// An answer after every token, or one alone after the last.
    pub answers: Vec<u8>,
}

/// Words of a step.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Batch {
    /// Groups of words: the loss is the sum of the means over the answers of each.
    pub groups: Vec<Vec<Word>>,
}

impl Batch {
    /// One group.
    pub fn of(words: Vec<Word>) -> Self {
        Self { groups: vec![words] }
    }

    /// All words, in order.
    pub fn words(&self) -> impl Iterator<Item = &Word> {
        self.groups.iter().flatten()
    }
}

/// Where words come from: a pure function of a step, so that nothing need be kept.
pub trait WordSource {
    /// How many tokens there are.
    fn vocabulary(&self) -> usize;

    /// How many answers there are.
    fn classes(&self) -> usize;

    /// Whether there is an answer after every token.
    fn tags(&self) -> bool;

    /// The words of a step of training.
    fn batch(&self, step: usize) -> Batch;

    /// Word `i` of those to validate on.
    fn held_out(&self, i: usize) -> Word;
}
