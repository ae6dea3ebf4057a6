//! The word problem of `A5`: after every token, the product of all so far.
//!
//! ```text
//! y_k = x_1 x_2 ... x_k
//! ```
//!
//! At one length (Merrill, Petty, Sabharwal, "The illusion of state in state-space models", 2024): all 216,000 words of length 3, or a million distinct
//! ones of a longer length, 80 % to train on and the rest to validate. The published words are a file; here word `i` is the `i`-th of a random order
//! of all words, so that words are distinct and no list of them exists, and the first 80 % of a random order are a random 80 %. Every step of training
//! also has a second group, 25 of the 3,600 words of length 2, with a loss of its own. (However few words of the first group a step has: with six of length 2 their loss is mostly noise, and choices
//! learn five times as slowly.)
//!
//! At many lengths: words of uniform length and uniform letters.

use ncde_runtime::random::Stream;

use super::group::Group;
use super::words::{Word, WordSource};
use crate::Shuffle;

/// Words of length 2 a step.
const PAIRS: u64 = 25;

/// The most distinct words of a length.
const MAX_WORDS: u128 = 1_000_000;

/// Streams: which words there are, in which order epochs see them, the short ones, those of many lengths, and those of them that are held out.
const WORDS: u64 = 0;
const ORDER: u64 = 1;
const SHORT: u64 = 2;
const DRAWN: u64 = 3;
const HELD_OUT: u64 = 4;

/// The lengths of words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lengths {
    /// One length, 3 to 20.
    One(usize),
    /// Uniform, from one to the other, of words to train on and of words that are held out.
    #[expect(missing_docs, reason = "as the line above says")]
    Uniform { train: [usize; 2], held_out: [usize; 2] },
}

/// The word problem.
#[derive(Debug, Clone)]
pub struct A5 {
    group: &'static Group,
    lengths: Lengths,
    batch: usize,
    /// Which words are held out does not depend on the seed of a run.
    split: u64,
    seed: u64,
}

impl A5 {
    /// Words of these lengths, `batch` of them a step.
    pub fn new(lengths: Lengths, batch: usize, split: u64, seed: u64) -> Self {
        Self { group: Group::a5(), lengths, batch, split, seed }
    }

    /// The word with this number, of this length: its letters are the digits to base 60.
    fn word(&self, mut number: u128, length: usize) -> Word {
        let mut tokens = vec![0; length];
        for token in tokens.iter_mut().rev() {
            *token = (number % Group::ORDER as u128) as u8;
            number /= Group::ORDER as u128;
        }
        Word { answers: self.group.prefixes(&tokens), tokens }
    }

    /// A word of uniform letters.
    pub fn drawn(&self, length: usize, stream: &Stream) -> Word {
        let tokens: Vec<u8> = (0..length).map(|t| below(stream, t as u64, Group::ORDER)).map(|x| x as u8).collect();
        Word { answers: self.group.prefixes(&tokens), tokens }
    }

    /// All words of one length in random order, and how many of them there are to use and to train on.
    fn listed(&self, length: usize) -> (Shuffle, u128, u128) {
        let all = (Group::ORDER as u128).pow(length as u32);
        let used = all.min(MAX_WORDS);
        (Shuffle::new(all, Stream::new(self.split, WORDS)), used, used * 4 / 5)
    }

    fn uniform(&self, [from, to]: [usize; 2], stream: &Stream) -> Word {
        self.drawn(from + below(stream, 0, to - from + 1), &stream.child(0))
    }
}

/// A number below `n` at a place of a stream.
pub(super) fn below(stream: &Stream, place: u64, n: usize) -> usize {
    ((u128::from(stream.bits(place)) * n as u128) >> 64) as usize
}

impl WordSource for A5 {
    fn vocabulary(&self) -> usize {
        Group::ORDER
    }

    fn classes(&self) -> usize {
        Group::ORDER
    }

    fn tags(&self) -> bool {
        true
    }

    fn batch(&self, step: usize) -> Vec<Vec<Word>> {
        let main = match self.lengths {
            Lengths::One(length) => {
                let (words, _, train) = self.listed(length);
                let (step, batch) = (step as u128, self.batch as u128);
                let word = |i: u128| {
                    let epoch = Stream::new(self.seed, ORDER).child((i / train) as u64);
                    self.word(words.at(Shuffle::new(train, epoch).at(i % train)), length)
                };
                (step * batch..(step + 1) * batch).map(word).collect()
            }
            Lengths::Uniform { train, .. } => {
                let stream = Stream::new(self.seed, DRAWN).child(step as u64);
                (0..self.batch).map(|i| self.uniform(train, &stream.child(i as u64))).collect()
            }
        };
        let short = Stream::new(self.seed, SHORT).child(step as u64);
        vec![main, (0..PAIRS).map(|i| self.drawn(2, &short.child(i))).collect()]
    }

    fn held_out(&self, i: usize) -> Word {
        match self.lengths {
            Lengths::One(length) => {
                let (words, used, train) = self.listed(length);
                self.word(words.at(train + i as u128 % (used - train)), length)
            }
            Lengths::Uniform { held_out, .. } => self.uniform(held_out, &Stream::new(self.split, HELD_OUT).child(i as u64)),
        }
    }
}
