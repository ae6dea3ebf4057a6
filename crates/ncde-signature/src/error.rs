//! The errors of this crate: what was found, what was expected and what to try.

/// The error of every fallible function of this crate.
#[expect(missing_docs, reason = "the messages say what fields are")]
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A series without observations.
    #[error("the series is empty; a path needs at least two observations")]
    EmptySeries,

    /// One observation does not make a path.
    #[error("{what} has one observation; a path needs at least two (a basepoint would give a second one)")]
    OneObservation { what: String },

    /// Times must strictly increase.
    #[error(
        "times must increase: observation {index} has time {time}, but observation {before} already has {previous}; \
         sort the observations and merge repeated times",
        before = index - 1
    )]
    TimesNotIncreasing { index: usize, previous: f64, time: f64 },

    /// A time stamp that is NaN or infinite.
    #[error("the time of observation {index} is {time}; times must be finite")]
    TimeNotFinite { index: usize, time: f64 },

    /// A value that is NaN where no gaps were declared, or infinite anywhere.
    #[error("the value of {location}, channel {channel}, is {value}; {hint}")]
    NotFinite { location: String, channel: usize, value: f64, hint: &'static str },

    /// Finite input whose signature is too large for the number type.
    #[error("the result overflows: numbers as large as {largest:.2e} are too large at this depth; rescale the path or use f64")]
    Overflow { largest: f64 },

    /// A gradient that was already broken when it was handed to a reverse pass.
    #[error("entry {index} of the gradient is {value}; it was not finite before this reverse pass")]
    GradientNotFinite { index: usize, value: f64 },

    /// A channel with no observation at all cannot be filled.
    #[error("channel {channel} has no observation at all; drop it or give it a starting value")]
    NeverObserved { channel: usize },

    /// A channel whose first observations are missing cannot be filled forward without a starting value.
    #[error(
        "channel {channel} is first observed at observation {first}; filling forward needs a value before it: \
         give a starting value"
    )]
    MissingStart { channel: usize, first: usize },

    /// Two sizes that should agree do not.
    #[error("{operation}: {what} has {seen} entries, wanted {wanted}")]
    Size { operation: &'static str, what: String, seen: usize, wanted: usize },

    /// No channels.
    #[error("a path needs at least one channel")]
    NoChannels,

    /// Depth zero carries no information.
    #[error("depth 0 keeps only the constant 1; ask for depth 1 or more")]
    DepthZero,

    /// More coordinates than can be addressed or allocated.
    #[error(
        "{what} of {channels} channels at depth {depth} has {coordinates} coordinates, more than fit in memory; \
         lower the depth or the number of channels"
    )]
    TooLarge { what: &'static str, channels: usize, depth: usize, coordinates: String },

    /// Tables of Lie brackets that would be too large to build.
    #[error(
        "a log-signature of {channels} channels at depth {depth} has {coordinates} bracket coordinates, and the tables to compute \
         them are too large; lower the depth, or ask for the expanded form, which needs none"
    )]
    TooManyBrackets { channels: usize, depth: usize, coordinates: String },

    /// A time outside the interval on which a path is defined.
    #[error("time {time} is outside the path's domain [{start}, {end}]")]
    OutsideDomain { time: f64, start: f64, end: f64 },

    /// An interval that is empty, reversed or outside its path.
    #[error("the interval from {start} to {end} is not inside [0, {last}] with start < end")]
    BadInterval { start: usize, end: usize, last: usize },

    /// An interval of time that ends before it starts.
    #[error("the interval from time {start} to time {end} runs backwards; swap its ends")]
    Reversed { start: f64, end: f64 },

    /// A token without a row in the embedding table.
    #[error(
        "observation {index} is token {token}, but the embedding table has {rows} rows (tokens count from 0); \
         enlarge the table or map rare tokens to one that it has"
    )]
    UnknownToken { index: usize, token: u32, rows: usize },

    /// A parameter outside its range.
    #[error("{what} must be {wanted}, not {seen}")]
    BadParameter { what: &'static str, wanted: &'static str, seen: String },

    /// A word with a letter outside the alphabet.
    #[error("letter {letter} is not in 1..={width}")]
    BadLetter { letter: usize, width: usize },
}
