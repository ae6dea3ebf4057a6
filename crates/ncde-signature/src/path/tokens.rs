//! Tokens as a series: `x_i = E[token_i]`, row `token_i` of an embedding table `E` of shape `[rows, width]`.
//!
//! O(length x width).

use super::Series;
use super::grid::check_times;
use super::series::{regular_times, whole_rows};
use crate::{Error, Float};

/// Tokens at strictly increasing, finite times; at least one.
#[derive(Debug, Clone, PartialEq)]
pub struct TokenSeries {
    times: Vec<f64>,
    tokens: Vec<u32>,
}

impl TokenSeries {
    /// Tokens at given times.
    ///
    /// # Errors
    ///
    /// [`Error::EmptySeries`], [`Error::TimeNotFinite`], [`Error::TimesNotIncreasing`], or [`Error::Size`]
    /// if there are not as many tokens as times.
    pub fn new(times: Vec<f64>, tokens: Vec<u32>) -> Result<Self, Error> {
        check_times(&times)?;
        if tokens.len() != times.len() {
            return Err(Error::Size {
                operation: "token series",
                what: "`tokens` (one for each time)".into(),
                seen: tokens.len(),
                wanted: times.len(),
            });
        }
        Ok(Self { times, tokens })
    }

    /// Tokens at times 0, 1, 2, ...
    ///
    /// # Errors
    ///
    /// [`Error::EmptySeries`].
    pub fn regular(tokens: Vec<u32>) -> Result<Self, Error> {
        Self::new(regular_times(tokens.len()), tokens)
    }

    /// The times.
    pub fn times(&self) -> &[f64] {
        &self.times
    }

    /// The tokens.
    pub fn tokens(&self) -> &[u32] {
        &self.tokens
    }

    /// The number of tokens, at least one.
    pub fn length(&self) -> usize {
        self.tokens.len()
    }

    /// The rows of `table`, `[rows, width]`, that belong to the tokens.
    ///
    /// ```
    /// use ncde_signature::path::TokenSeries;
    /// let table = [0.0, 0.1, 1.0, 1.1, 2.0, 2.1];
    /// let series = TokenSeries::regular(vec![2, 0])?.embed(&table, 2)?;
    /// assert_eq!(series.values(), [2.0, 2.1, 0.0, 0.1]);
    /// # Ok::<(), ncde_signature::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NoChannels`] if the width is 0, [`Error::Size`] if the last row is not whole,
    /// [`Error::UnknownToken`] for a token without a row, or [`Error::NotFinite`] if a row used is not finite.
    pub fn embed<T: Float>(&self, table: &[T], width: usize) -> Result<Series<T>, Error> {
        let rows = whole_rows("embed", table.len(), width)?;
        let mut values = Vec::with_capacity(self.length().saturating_mul(width));
        for (index, &token) in self.tokens.iter().enumerate() {
            // A token that is no `usize` has no row either.
            let row = usize::try_from(token).ok().filter(|&row| row < rows);
            let row = row.ok_or(Error::UnknownToken { index, token, rows })?;
            values.extend_from_slice(&table[row * width..][..width]);
        }
        Series::new(self.times.clone(), values, width)
    }

    /// The same with a function that writes the row of a token, all zeros before, instead of a table.
    ///
    /// ```
    /// use ncde_signature::path::TokenSeries;
    /// let one_hot = |token: u32, row: &mut [f32]| row[token as usize] = 1.0;
    /// let series = TokenSeries::regular(vec![2, 0])?.embed_with(3, one_hot)?;
    /// assert_eq!(series.values(), [0.0, 0.0, 1.0, 1.0, 0.0, 0.0]);
    /// # Ok::<(), ncde_signature::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NoChannels`] if the width is 0, or [`Error::NotFinite`] if a row is not finite.
    pub fn embed_with<T: Float>(&self, width: usize, mut embed: impl FnMut(u32, &mut [T])) -> Result<Series<T>, Error> {
        if width == 0 {
            return Err(Error::NoChannels);
        }
        let mut values = vec![T::ZERO; self.length().saturating_mul(width)];
        for (&token, row) in self.tokens.iter().zip(values.chunks_exact_mut(width)) {
            embed(token, row);
        }
        Series::new(self.times.clone(), values, width)
    }
}
