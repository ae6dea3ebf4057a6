//! What the rows between two layers are: how many numbers, and what they mean.

use ncde_signature::algebra::words;

use crate::Error;

/// Rows between two layers.
#[derive(Debug, Clone, PartialEq)]
pub struct Signal {
    /// What they hold.
    pub rows: Rows,
    /// How many static covariates a series has.
    pub statics: usize,
    /// Whether there is one row for the series as a whole, not one after the other.
    pub pooled: bool,
}

/// What rows hold.
#[derive(Debug, Clone, PartialEq)]
pub enum Rows {
    /// The number of a token.
    Tokens {
        /// How many there are.
        vocabulary: usize,
    },
    /// So many numbers.
    Values(usize),
    /// What is known of a window, level 1 of its log-signature first, then the knot at its end.
    Windows {
        /// The channels of the path, `d`.
        channels: usize,
        /// How many numbers there are before the knot.
        coordinates: usize,
        /// What they are.
        form: super::Form,
        /// The most observations of a window.
        window: usize,
    },
}

impl Signal {
    /// Rows of this many numbers, without statics.
    pub fn values(width: usize) -> Self {
        Self { rows: Rows::Values(width), statics: 0, pooled: false }
    }

    /// How many numbers a row has.
    pub fn width(&self) -> usize {
        match self.rows {
            Rows::Tokens { .. } => 1,
            Rows::Values(width) => width,
            Rows::Windows { channels, coordinates, .. } => channels + coordinates,
        }
    }

    /// The same series with other rows.
    #[must_use]
    pub fn with_width(&self, width: usize) -> Self {
        Self { rows: Rows::Values(width), ..self.clone() }
    }

    /// How many numbers a row has, for a layer that takes plain numbers.
    ///
    /// # Errors
    /// If it holds the number of a token.
    pub fn numbers(&self, layer: &'static str) -> Result<usize, Error> {
        match self.rows {
            Rows::Tokens { .. } => Err(misplaced(layer, "it is given tokens; put an `embedding` before it")),
            Rows::Values(_) | Rows::Windows { .. } => Ok(self.width()),
        }
    }

    /// As [`numbers`](Self::numbers), for a layer that needs rows one after the other.
    ///
    /// # Errors
    /// Also if there is one row for the whole series.
    pub fn sequence(&self, layer: &'static str) -> Result<usize, Error> {
        if self.pooled {
            return Err(misplaced(layer, "it comes after `pool`, where a series has one row; put it before"));
        }
        self.numbers(layer)
    }

    /// The channels of the path, the number of coordinates and the form of rows that are windows.
    ///
    /// # Errors
    /// If they are not.
    pub fn windows(&self, layer: &'static str) -> Result<(usize, usize, &super::Form, usize), Error> {
        self.sequence(layer)?;
        match &self.rows {
            Rows::Windows { channels, coordinates, form, window } => Ok((*channels, *coordinates, form, *window)),
            _ if layer == "linear-cde" => {
                Err(misplaced(layer, "it is driven by windows; put `windows` right before it, or choose another `drive`"))
            }
            _ => Err(misplaced(layer, "it takes windows; put `windows` right before it")),
        }
    }
}

/// A layer that cannot come where it is.
pub(crate) fn misplaced(layer: &'static str, problem: impl Into<String>) -> Error {
    Error::Layer { layer: layer.into(), problem: problem.into() }
}

/// A setting of a layer that makes no sense.
pub(crate) fn refuse<T>(setting: &'static str, problem: impl Into<String>) -> Result<T, Error> {
    Err(Error::Setting { setting, problem: problem.into() })
}

/// A count and what is counted: `1 step`, `3 steps`.
pub(crate) fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// The largest size of a layer. Sizes are looked at before memory is asked for: a damaged file is an error, not the end of the program.
pub(crate) const MAX_SIZE: usize = 1 << 20;

/// The most numbers of a row.
pub(crate) const MAX_NUMBERS: usize = 1 << 24;

/// The most words of a signature that is computed one observation at a time: 32 MiB.
const MAX_WORDS: u128 = 1 << 22;

/// The deepest signature.
const MAX_DEPTH: usize = 32;

/// `channels + channels^2 + ... + channels^depth`.
fn count_words(channels: usize, depth: usize) -> u128 {
    (1..=depth as u32).fold(0, |words, level| words.saturating_add((channels as u128).saturating_pow(level)))
}

/// What signatures and log-signatures of a path need.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SignatureSizes {
    pub(crate) words: usize,
    /// The elements of a basis of brackets.
    pub(crate) brackets: usize,
    /// The most entries of the tables that take words to brackets: an element of `n` letters is a sum of at most `2^(n-1)` words.
    pub(crate) entries: usize,
}

/// The sizes of signatures that are not refused: see [`check_depth`].
pub(crate) fn signature_sizes(channels: usize, depth: usize) -> Option<SignatureSizes> {
    check_depth("", channels, depth).ok()?;
    let brackets = |depth: usize| words::lie_dimension(channels, depth).map_or(usize::MAX, |n| n as usize);
    let level = |n: usize| brackets(n).saturating_sub(brackets(n - 1));
    let entries = (1..=depth).fold(0, |sum: usize, n| sum.saturating_add(level(n).saturating_mul(level(n).min(1 << (n - 1)))));
    Some(SignatureSizes { words: count_words(channels, depth) as usize, brackets: brackets(depth), entries })
}

/// Refuses a signature that is too large to compute, before anything is made for it.
pub(crate) fn check_depth(layer: &'static str, channels: usize, depth: usize) -> Result<(), Error> {
    if depth > MAX_DEPTH {
        return refuse("depth", format!("{depth}; at most {MAX_DEPTH} is possible"));
    }
    let words = count_words(channels, depth);
    if words > MAX_WORDS {
        let brackets = words::lie_dimension(channels, depth);
        let brackets = brackets.map_or(String::new(), |count| format!(", and a log-signature {count} coordinates"));
        let problem = format!(
            "a signature of {channels} channels to depth {depth} has {words} coordinates{brackets}; at most {MAX_WORDS} are possible: \
             lower the depth, or the number of channels"
        );
        return Err(misplaced(layer, problem));
    }
    Ok(())
}

/// A product of sizes; as large as can be where it is larger.
pub(crate) fn product(sizes: &[usize]) -> usize {
    sizes.iter().fold(1, |product, &size| product.saturating_mul(size))
}

/// Numbers of a layer, which are positive.
pub(crate) fn positive(numbers: &[(&'static str, f64)]) -> Result<(), Error> {
    match numbers.iter().find(|(_, number)| !(number.is_finite() && *number > 0.0)) {
        Some((setting, number)) => refuse(setting, format!("{number}; it is a positive number")),
        None => Ok(()),
    }
}

/// Sizes of a layer, which are at least 1.
pub(crate) fn at_least_one(sizes: &[(&'static str, usize)]) -> Result<(), Error> {
    match sizes.iter().find(|(_, size)| !(1..=MAX_SIZE).contains(size)) {
        Some((setting, 0)) => refuse(setting, "0; at least 1 is needed"),
        Some((setting, size)) => refuse(setting, format!("{size}; at most {MAX_SIZE} is possible")),
        None => Ok(()),
    }
}
