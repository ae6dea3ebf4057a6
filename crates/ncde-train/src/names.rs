//! The names that keys of the configuration can have.

use serde::{Deserialize, Serialize};

use super::threefry::Threefry;

/// Declares names that a key can have.
macro_rules! names {
    ($($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident,)* })*) => {$(
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        #[non_exhaustive]
        pub enum $name { $($(#[$doc])* $variant,)* }
    )*};
}

names! {
    /// Who decides what is tested on.
    SplitBy {
        /// The test file.
        Files,
        /// A file of parts (`data.parts`); a test file is joined to the training file first.
        Parts,
        /// Chance; a test file is joined to the training file first.
        Random,
        /// Time: of each series the first observations are trained on, those after them validated on, the last ones tested on; a test file stays as it is.
        Time,
        /// Chance as the thesis's code draws it from the seed with JAX 0.5 or later (partitionable Threefry), so that both can be run on the same
        /// parts. `thesis` is the same.
        #[serde(rename = "thesis-jax-0.5", alias = "thesis")]
        ThesisJax05,
        /// The same with JAX before 0.5 (the original Threefry): the parts of its runs of 2024, which are those of NCDE, NRDE and Log-NCDE.
        #[serde(rename = "thesis-jax-0.4")]
        ThesisJax04,
    }
    /// How channels are scaled.
    Scale {
        /// To mean 0 and deviation 1.
        Standard,
        /// To the range from -1 to 1.
        MinMax,
        /// Not at all.
        None,
    }
    /// What happens to missing values.
    MissingName {
        /// They are an error.
        Refuse,
        /// The last value is taken.
        Forward,
        /// The last value is taken, and how many values were seen is a channel.
        Counts,
    }
    /// What a reservoir remembers of a series.
    MemoryName {
        /// A few kilobytes: pools are linear, and are added up with the weights of the readout.
        Small,
        /// A hundred kilobytes and more: also the longest runs, mean heights and mean times of responses above thresholds.
        Full,
    }
    /// What drives a block of a `stack`.
    BlockDrive {
        /// The constant 1, and rows themselves.
        Tokens,
        /// Time, and differences of rows.
        Increments,
    }
    /// What the first row of a `stack` does.
    FirstRow {
        /// It sets the initial state.
        Starts,
        /// It drives a learned state, as all other rows do.
        Drives,
    }
    /// The function of the mixing layer of a block.
    BlockActivation {
        /// `tanh(W y + c)`.
        Tanh,
        /// `u sigmoid(v)`, `(u, v) = W y + c`.
        Glu,
    }
    /// Whether flows may expand.
    StabilityName {
        /// They may.
        Free,
        /// They never do.
        Contractive,
    }
    /// How much a class counts.
    ClassWeights {
        /// Every case the same.
        None,
        /// Every class the same.
        Balanced,
    }
}

impl SplitBy {
    /// How the thesis's code draws the parts, if they are its own.
    pub(super) fn thesis(self) -> Option<Threefry> {
        match self {
            Self::ThesisJax05 => Some(Threefry::Partitionable),
            Self::ThesisJax04 => Some(Threefry::Original),
            Self::Files | Self::Parts | Self::Random | Self::Time => None,
        }
    }
}
