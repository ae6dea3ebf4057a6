//! What can go wrong before a kernel is launched.

/// An error of this crate. What goes wrong on the device itself, an overflow, is in the numbers: NaN is handed on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no such device, or its driver is missing.
    #[error("there is no {kind} GPU here, or {needs} cannot be loaded; use `--device cpu`")]
    NoDevice {
        /// Which kind.
        kind: &'static str,
        /// What has to be installed.
        needs: &'static str,
    },

    /// A buffer of another size.
    #[error("{what} has {seen} bytes on the device, but {wanted} are needed")]
    Size {
        /// Which buffer.
        what: &'static str,
        /// Its size.
        seen: u64,
        /// The size it should have.
        wanted: u64,
    },

    /// Lengths of series that do not fit.
    #[error("series {series} has {length} steps, but between 1 and {longest} are possible")]
    Length {
        /// Which series.
        series: usize,
        /// Its length.
        length: usize,
        /// The length of the batch.
        longest: usize,
    },

    /// More than kernels can count, or a block larger than they can hold.
    #[error("{what} is {seen}, but at most {most} is possible on a GPU; {fix}")]
    TooLarge {
        /// What is too large.
        what: &'static str,
        /// How large it is.
        seen: usize,
        /// How large it may be.
        most: usize,
        /// What to do about it.
        fix: &'static str,
    },

    /// Something that may be listed once.
    #[error("{what} is listed twice in channel {channel}; leave one out")]
    Twice {
        /// What it is.
        what: &'static str,
        /// Where.
        channel: usize,
    },

    /// Another number of states than Hadamard matrices of ours have.
    #[error("there are {seen} states, but a Hadamard matrix of ours has a power of two; the next is {}", seen.next_power_of_two())]
    NoPowerOfTwo {
        /// How many there are.
        seen: usize,
    },

    /// The device failed after kernels were launched: out of memory, most of the time.
    #[error("the device failed: {problem}; take a smaller batch or shorter series if its memory is full")]
    Failed {
        /// What the driver said.
        problem: String,
    },

    /// Nothing to compute.
    #[error("{what} is 0; there is nothing to compute")]
    Empty {
        /// What there is none of.
        what: &'static str,
    },
}
