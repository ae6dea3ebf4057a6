//! Series of discrete tokens: each observation is an entry of a vocabulary `v_0, v_1, ...`.
//!
//! The only channel holds the number `k` of a token `v_k`. Integers come first, by size, then words in lexicographic order, so
//! that a vocabulary does not depend on the order of rows. Tokens are texts as they stand: `7` and `007` are two. A vocabulary
//! with the entry `<unknown>` takes every token that it does not have for that one.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

use crate::error::{Location, at_line, closest, listed, shown};
use crate::{Dataset, Error, Schema};

/// The entry of a vocabulary that stands for every token it does not have.
pub const UNKNOWN: &str = "<unknown>";

/// What to try if a token is missing.
pub(crate) const NO_TOKEN: &str = "write one, or remove the observation";

/// Texts, numbered as they are first seen.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    texts: Vec<String>,
    by_text: HashMap<String, usize>,
}

impl Seen {
    pub(crate) fn number(&mut self, text: &str) -> usize {
        if let Some(&number) = self.by_text.get(text) {
            return number;
        }
        self.by_text.insert(text.into(), self.texts.len());
        self.texts.push(text.into());
        self.texts.len() - 1
    }

    pub(crate) fn text(&self, number: usize) -> &str {
        &self.texts[number]
    }

    /// All of them, by their numbers.
    pub(crate) fn texts(&self) -> &[String] {
        &self.texts
    }

    /// The vocabulary, and by the number that a text had the one it has there.
    pub(crate) fn vocabulary(self) -> (Vec<String>, Vec<usize>) {
        let mut vocabulary = self.texts.clone();
        vocabulary.sort_by(|a, b| order(a, b));
        let mut places = vec![0; vocabulary.len()];
        for (place, text) in vocabulary.iter().enumerate() {
            places[self.by_text[text]] = place;
        }
        (vocabulary, places)
    }
}

/// Integers by size, then words.
fn order(a: &str, b: &str) -> Ordering {
    match (a.parse::<i128>(), b.parse::<i128>()) {
        (Ok(x), Ok(y)) => x.cmp(&y).then_with(|| a.cmp(b)),
        (Ok(_), Err(_)) => Ordering::Less,
        (Err(_), Ok(_)) => Ordering::Greater,
        (Err(_), Err(_)) => a.cmp(b),
    }
}

/// Words that are known, with their numbers.
#[derive(Debug)]
pub(crate) struct Words {
    pub(crate) words: Vec<String>,
    by_word: HashMap<String, usize>,
    /// The number of words that are not known, if they are allowed.
    unknown: Option<usize>,
}

impl Words {
    pub(crate) fn new(words: &[String], unknown: Option<usize>) -> Self {
        let by_word = words.iter().enumerate().map(|(i, word)| (word.clone(), i)).collect();
        Self { words: words.to_vec(), by_word, unknown }
    }

    /// The tokens of a vocabulary.
    pub(crate) fn tokens(vocabulary: &[String]) -> Self {
        Self::new(vocabulary, vocabulary.iter().position(|token| token == UNKNOWN))
    }

    pub(crate) fn find(&self, word: &str) -> Option<usize> {
        self.by_word.get(word).copied().or(self.unknown)
    }

    /// What to try with a word that is not known: the word that is most like it, else what is given.
    pub(crate) fn fix(&self, word: &str, otherwise: String) -> String {
        closest(word, &self.words).map_or(otherwise, |close| format!("did you mean `{}`?", shown(close)))
    }

    /// The number of a token; `step` is its observation, counted from 0.
    pub(crate) fn token(&self, text: &str, at: impl FnOnce() -> Location, case: &str, step: usize) -> Result<usize, Error> {
        self.find(text).ok_or_else(|| Error::UnknownToken {
            at: at(),
            seen: shown(text),
            observation: step + 1,
            case: shown(case),
            known: listed(&self.words),
            fix: self.fix(text, format!("correct it, or train with the entry `{UNKNOWN}` in the vocabulary")),
        })
    }
}

impl Schema {
    /// The number of a token, as a value of the only channel: that of `<unknown>` if the vocabulary has this entry but not the
    /// token. `None` of a token that is not known, and if there is no vocabulary. It looks through the vocabulary.
    ///
    /// ```
    /// use ncde_data::{ReadOptions, read_bytes};
    /// let data = read_bytes("x.csv", b"id,time,word\na,0,the\na,1,cat\n", &ReadOptions::default())?;
    /// assert_eq!(data.schema().token("the"), Some(1));
    /// assert_eq!(data.schema().token("dog"), None);
    /// assert_eq!(data.with_unknown().schema().token("dog"), Some(2));
    /// # Ok::<(), ncde_data::Error>(())
    /// ```
    pub fn token(&self, text: &str) -> Option<usize> {
        let vocabulary = self.vocabulary.as_ref()?;
        let place = |wanted: &str| vocabulary.iter().position(|token| token == wanted);
        place(text).or_else(|| place(UNKNOWN))
    }
}

impl Dataset {
    /// The dataset with `<unknown>` as the last entry of its vocabulary, so that a model takes tokens that it was not trained
    /// on. Nothing changes if that is there, or if there is no vocabulary.
    #[must_use]
    pub fn with_unknown(mut self) -> Self {
        if let Some(vocabulary) = &mut self.vocabulary
            && !vocabulary.iter().any(|token| token == UNKNOWN)
        {
            vocabulary.push(UNKNOWN.into());
        }
        self
    }

    /// The token that a value stands for.
    pub(crate) fn token(&self, value: f64) -> Option<&str> {
        let is_number = value >= 0.0 && value.fract() == 0.0;
        self.vocabulary.as_ref().filter(|_| is_number)?.get(value as usize).map(String::as_str)
    }

    /// Values become numbers of tokens of this vocabulary. Without one of its own, numbers are tokens as they are written.
    /// After an error no case is left.
    pub(crate) fn translate(&mut self, wanted: &[String]) -> Result<(), Error> {
        if self.vocabulary.as_deref() == Some(wanted) {
            return Ok(());
        }
        let tokens = Words::tokens(wanted);
        let mut known: HashMap<u64, f64> = HashMap::new();
        let mut cases = std::mem::take(&mut self.cases);
        for case in &mut cases {
            for (step, x) in case.values.iter_mut().enumerate() {
                let at = || at_line(&self.name, 0);
                if x.is_nan() {
                    return Err(Error::no_token(at(), step, &case.id, NO_TOKEN));
                }
                *x = match known.entry(x.to_bits()) {
                    Entry::Occupied(number) => *number.get(),
                    Entry::Vacant(entry) => {
                        let written = (*x + 0.0).to_string();
                        let number = tokens.token(self.token(*x).unwrap_or(&written), at, &case.id, step)?;
                        *entry.insert(number as f64)
                    }
                };
            }
        }
        self.cases = cases;
        self.vocabulary = Some(wanted.to_vec());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_come_first_and_by_size() {
        let mut seen = Seen::default();
        let texts = ["the", "10", "9", "B", "-3", "a", "007", "7", "9.5", "10"];
        let numbers: Vec<usize> = texts.iter().map(|text| seen.number(text)).collect();
        assert_eq!(numbers, [0, 1, 2, 3, 4, 5, 6, 7, 8, 1]);
        let (vocabulary, places) = seen.vocabulary();
        assert_eq!(vocabulary, ["-3", "007", "7", "9", "10", "9.5", "B", "a", "the"]);
        assert!(texts.iter().zip(&numbers).all(|(text, &number)| vocabulary[places[number]] == *text));
    }
}
