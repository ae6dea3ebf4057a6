//! What the rows between two layers are: how many numbers, and what they mean.

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

/// Refuses a signature that is too large to compute, before anything is made for it: `channels + channels^2 + ... + channels^depth` words.
pub(crate) fn check_depth(layer: &'static str, channels: usize, depth: usize) -> Result<(), Error> {
    if depth > MAX_DEPTH {
        return refuse("depth", format!("{depth}; at most {MAX_DEPTH} is possible"));
    }
    let mut words = 0_u128;
    for level in 1..=depth as u32 {
        words = words.saturating_add((channels as u128).saturating_pow(level));
    }
    if words > MAX_WORDS {
        let brackets = ncde_signature::algebra::words::lie_dimension(channels, depth);
        let brackets = brackets.map_or(String::new(), |count| format!(", and a log-signature {count} coordinates"));
        let problem = format!(
            "a signature of {channels} channels to depth {depth} has {words} coordinates{brackets}; at most {MAX_WORDS} are possible: \
             lower the depth, or the number of channels"
        );
        return Err(misplaced(layer, problem));
    }
    Ok(())
}

/// How many weights there may be.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Room {
    left: usize,
    /// How many a file holds, if they are in one.
    in_file: Option<usize>,
}

/// A few too many are told by name and shape, when they are looked for in the file.
const FEW: usize = 1 << 20;

impl Room {
    /// The most weights of a model: 1 GiB.
    pub(crate) const MAX: Self = Self { left: 1 << 28, in_file: None };

    /// What a file with so many numbers has.
    pub(crate) fn in_file(numbers: usize) -> Self {
        Self { left: numbers.saturating_mul(2).max(FEW), in_file: Some(numbers) }
    }

    /// Takes so many, if there are as many.
    pub(crate) fn take(&mut self, weights: usize) -> Result<(), Error> {
        match self.left.checked_sub(weights) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => {
                let count = if weights == usize::MAX {
                    "more weights than can be counted".to_owned()
                } else {
                    format!("{weights} weights")
                };
                let room = match self.in_file {
                    Some(all) => {
                        format!("`{}` holds {all} in all: the files of the model do not belong together", crate::WEIGHTS)
                    }
                    None => format!("at most {} are possible", self.left),
                };
                Err(misplaced("", format!("its settings ask for {count}, but {room}")))
            }
        }
    }
}

/// A product of sizes; as large as can be where it is larger.
pub(crate) fn product(sizes: &[usize]) -> usize {
    sizes.iter().fold(1, |product, &size| product.saturating_mul(size))
}

/// Sizes of a layer, which are at least 1.
pub(crate) fn at_least_one(sizes: &[(&'static str, usize)]) -> Result<(), Error> {
    match sizes.iter().find(|(_, size)| !(1..=MAX_SIZE).contains(size)) {
        Some((setting, 0)) => refuse(setting, "0; at least 1 is needed"),
        Some((setting, size)) => refuse(setting, format!("{size}; at most {MAX_SIZE} is possible")),
        None => Ok(()),
    }
}
