//! Four regular languages: one answer after the last token.
//!
//! | language | tokens | answer |
//! | --- | --- | --- |
//! | cycle navigation | stay, forward, back | the place on a cycle of 5 after all moves, from 0 |
//! | even pairs | a, b | whether there are as many `ab` as `ba`, which is whether the first token is the last |
//! | modular arithmetic | 0 to 4, `+`, `-`, `*`, `=` | the value modulo 5, `*` before `+` and `-` |
//! | parity | a, b | whether the number of `b` is even |
//!
//! Delétang and others, "Neural networks and the Chomsky hierarchy" (2023), in the form of the thesis's code: words of uniform length 3 to 40 to train on,
//! 40 to 256 to validate; an odd length of an expression is rounded up, so that digits and operators alternate before `=`. Its vocabularies have a token for
//! padding and share one list with the answers; here tokens and answers are numbered by themselves, and padding is no token. Letters are uniform.

use ncde_runtime::random::Stream;

use super::a5::below;
use super::words::{Word, WordSource};

/// Streams of words to train on and held out.
const TRAIN: u64 = 10;
const HELD_OUT: u64 = 11;

/// The modulus of cycles and arithmetic.
const FIVE: usize = 5;
const PLUS: u8 = 5;
const MINUS: u8 = 6;
const TIMES: u8 = 7;
const EQUALS: u8 = 8;

/// A language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// The end of a walk on a cycle.
    CycleNavigation,
    /// Whether the first token is the last.
    EvenPairs,
    /// The value of an expression without brackets.
    ModularArithmetic,
    /// Whether a count is even.
    Parity,
}

impl Language {
    /// All of them, as they are written.
    pub const ALL: [(&'static str, Self); 4] = [
        ("cycle-navigation", Self::CycleNavigation),
        ("even-pairs", Self::EvenPairs),
        ("modular-arithmetic", Self::ModularArithmetic),
        ("parity", Self::Parity),
    ];

    /// A word of about so many tokens, and its answer.
    pub fn word(self, length: usize, stream: &Stream) -> Word {
        let draw = |n: usize, t: usize| below(stream, t as u64, n) as u8;
        let tokens: Vec<u8> = match self {
            Self::CycleNavigation => (0..length).map(|t| draw(3, t)).collect(),
            Self::EvenPairs | Self::Parity => (0..length).map(|t| draw(2, t)).collect(),
            Self::ModularArithmetic => {
                let length = length + length % 2;
                let token = |t: usize| match t {
                    t if t + 1 == length => EQUALS,
                    t if t % 2 == 0 => draw(FIVE, t),
                    t => PLUS + draw(3, t),
                };
                (0..length).map(token).collect()
            }
        };
        let answer = self.answer(&tokens);
        Word { tokens, answers: vec![answer] }
    }

    /// The answer to a word.
    pub fn answer(self, tokens: &[u8]) -> u8 {
        match self {
            Self::CycleNavigation => {
                // Back is four places forward.
                let moves = tokens.iter().map(|token| [0, 1, FIVE - 1][usize::from(*token)]);
                (moves.sum::<usize>() % FIVE) as u8
            }
            Self::EvenPairs => u8::from(tokens.first() == tokens.last()),
            Self::ModularArithmetic => value(tokens),
            Self::Parity => u8::from(tokens.iter().filter(|&&token| token == 1).count() % 2 == 0),
        }
    }

    fn tokens(self) -> usize {
        match self {
            Self::CycleNavigation => 3,
            Self::EvenPairs | Self::Parity => 2,
            Self::ModularArithmetic => 9,
        }
    }

    fn answers(self) -> usize {
        match self {
            Self::CycleNavigation | Self::ModularArithmetic => FIVE,
            Self::EvenPairs | Self::Parity => 2,
        }
    }
}

/// The value of an expression modulo 5, in one pass: the sum of all products before the last, and the last.
fn value(tokens: &[u8]) -> u8 {
    let (mut sum, mut product, mut operator) = (0_usize, 0_usize, PLUS);
    for &token in tokens {
        match token {
            PLUS | MINUS | TIMES | EQUALS => operator = token,
            digit => match operator {
                TIMES => product = product * usize::from(digit) % FIVE,
                MINUS => (sum, product) = (sum + product, (FIVE - usize::from(digit)) % FIVE),
                _ => (sum, product) = (sum + product, usize::from(digit)),
            },
        }
    }
    ((sum + product) % FIVE) as u8
}

/// Words of a language.
#[derive(Debug, Clone, Copy)]
pub struct Formal {
    /// Which.
    pub language: Language,
    /// Words a step.
    pub batch: usize,
    /// The seed of a run; the words that are held out are those of twice the seed, as published.
    pub seed: u64,
    /// The shortest and the longest word to train on.
    pub train: [usize; 2],
    /// The same of words that are held out.
    pub held_out: [usize; 2],
}

impl Formal {
    fn drawn(&self, [from, to]: [usize; 2], stream: &Stream) -> Word {
        self.language.word(from + below(stream, 0, to - from + 1), &stream.child(0))
    }
}

impl WordSource for Formal {
    fn vocabulary(&self) -> usize {
        self.language.tokens()
    }

    fn classes(&self) -> usize {
        self.language.answers()
    }

    fn tags(&self) -> bool {
        false
    }

    fn batch(&self, step: usize) -> Vec<Vec<Word>> {
        let stream = Stream::new(self.seed, TRAIN).child(step as u64);
        vec![(0..self.batch).map(|i| self.drawn(self.train, &stream.child(i as u64))).collect()]
    }

    fn held_out(&self, i: usize) -> Word {
        self.drawn(self.held_out, &Stream::new(2 * self.seed, HELD_OUT).child(i as u64))
    }
}
