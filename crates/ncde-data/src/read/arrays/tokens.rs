//! The tokens of an array: one integer or text for each observation.

use std::collections::BTreeSet;

use super::super::ReadOptions;
use super::series::Series;
use super::{Arrays, check_distinct, place, wrong, wrong_entry, wrong_shape};
use crate::Error;
use crate::npy::Data;
use crate::vocabulary::{NO_TOKEN, Seen, Words};

/// Whether the values are tokens: the caller says so, the file names a vocabulary, or they are text.
pub(super) fn are_meant(arrays: &Arrays, series: &Series, options: &ReadOptions) -> bool {
    let is_text = matches!(arrays.values.1.data, Data::Text(_));
    options.columns.tokens.is_some() || arrays.vocabulary.is_some() || (is_text && series.channels == 1)
}

/// The numbers of tokens of each case, and the vocabulary.
pub(super) fn numbers(arrays: &Arrays, series: &Series) -> Result<(Vec<Vec<f64>>, Vec<String>), Error> {
    let (name, array) = &arrays.values;
    if series.channels != 1 {
        let wanted = "[cases, length] or [cases, length, 1], as each observation is one token";
        return Err(wrong_shape(&arrays.file, name, &array.shape, wanted));
    }
    if let Some(vocabulary) = &arrays.vocabulary {
        check_distinct(&arrays.file, "vocabulary", vocabulary, "tokens that differ")?;
    }
    let entries_of = Entries { arrays, series };
    match (&array.data, &arrays.vocabulary) {
        (Data::Int(entries), Some(vocabulary)) => Ok((entries_of.counted(entries, vocabulary.len())?, vocabulary.clone())),
        (Data::Int(entries), None) => Ok(entries_of.integers(entries)),
        (Data::Text(entries), Some(vocabulary)) => {
            let tokens = Words::tokens(vocabulary);
            let at = || place(&arrays.file, name);
            let numbers = entries_of.texts(entries, |text, case, step| tokens.token(text, at, &series.ids[case], step))?;
            Ok((numbers, vocabulary.clone()))
        }
        (Data::Text(entries), None) => {
            let mut seen = Seen::default();
            let mut numbers = entries_of.texts(entries, |text, _, _| Ok(seen.number(text)))?;
            let (vocabulary, places) = seen.vocabulary();
            for x in numbers.iter_mut().flatten() {
                *x = places[*x as usize] as f64;
            }
            Ok((numbers, vocabulary))
        }
        (Data::F32(_) | Data::F64(_), _) => {
            let wanted = "integers or text, as tokens are: save it with `.astype(\"int64\")`";
            Err(wrong(&arrays.file, name, "it holds floats", wanted))
        }
    }
}

/// Where the entries of each case are; what is beyond its length is padding.
struct Entries<'a> {
    arrays: &'a Arrays,
    series: &'a Series,
}

impl Entries<'_> {
    fn cases<'e, T>(&self, entries: &'e [T]) -> impl Iterator<Item = &'e [T]> {
        let length = self.series.length;
        self.series.lengths.iter().enumerate().map(move |(case, &of_case)| &entries[case * length..case * length + of_case])
    }

    /// Integers that count a vocabulary.
    fn counted(&self, entries: &[i64], size: usize) -> Result<Vec<Vec<f64>>, Error> {
        let number = |case: usize, step: usize, entry: i64| match usize::try_from(entry) {
            Ok(number) if number < size => Ok(number as f64),
            _ => {
                let wanted = format!("a token from 0 to below {size}, as `vocabulary` names so many");
                Err(wrong_entry(&self.arrays.file, &self.arrays.values.0, [case, step], entry, wanted))
            }
        };
        let of = |(case, of_case): (usize, &[i64])| of_case.iter().enumerate().map(|(step, &x)| number(case, step, x)).collect();
        self.cases(entries).enumerate().map(of).collect()
    }

    /// Integers that are tokens themselves.
    fn integers(&self, entries: &[i64]) -> (Vec<Vec<f64>>, Vec<String>) {
        let distinct: BTreeSet<i64> = self.cases(entries).flatten().copied().collect();
        let distinct: Vec<i64> = distinct.into_iter().collect();
        let number = |x: &i64| distinct.partition_point(|known| known < x) as f64;
        let numbers = self.cases(entries).map(|of_case| of_case.iter().map(number).collect()).collect();
        (numbers, distinct.iter().map(i64::to_string).collect())
    }

    fn texts(
        &self,
        entries: &[String],
        mut number: impl FnMut(&str, usize, usize) -> Result<usize, Error>,
    ) -> Result<Vec<Vec<f64>>, Error> {
        let mut checked = |case: usize, step: usize, text: &str| {
            if text.is_empty() {
                let at = place(&self.arrays.file, &self.arrays.values.0);
                return Err(Error::no_token(at, step, &self.series.ids[case], NO_TOKEN));
            }
            number(text, case, step).map(|number| number as f64)
        };
        let cases = self.cases(entries).enumerate();
        cases.map(|(case, texts)| texts.iter().enumerate().map(|(step, text)| checked(case, step, text)).collect()).collect()
    }
}
