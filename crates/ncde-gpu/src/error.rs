//! What can go wrong before a kernel is launched.

/// An error of this crate. What goes wrong on the device itself, an overflow, is in the numbers: NaN is handed on.
#[expect(missing_docs, reason = "the messages say what fields are")]
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no such device, or its driver is missing.
    #[error("there is no {kind} GPU here, or {needs} cannot be loaded; use `--device cpu`")]
    NoDevice { kind: &'static str, needs: &'static str },

    /// A buffer of another size.
    #[error("{what} has {seen} bytes on the device, but {wanted} are needed")]
    Size { what: &'static str, seen: u64, wanted: u64 },

    /// Lengths of series that do not fit.
    #[error("series {series} has {length} steps, but between 1 and {longest} are possible")]
    Length { series: usize, length: usize, longest: usize },

    /// A row that is not there.
    #[error("row {row} {what} is requested, but there are {rows}")]
    NoRow { what: &'static str, row: usize, rows: usize },

    /// More than kernels can count, or a block larger than they can hold.
    #[error("{what} is {seen}, but at most {most} is possible on a GPU; {fix}")]
    TooLarge { what: &'static str, seen: usize, most: usize, fix: &'static str },

    /// There is no room for a buffer.
    #[error(
        "the GPU has no room for another {}: {} are taken, and one buffer can have {} at most; with about {} % of the batch, or of the length of the series, it would fit",
        bytes(.asked), bytes(.taken), bytes(.most), percent(.asked, .taken, .most)
    )]
    Memory { asked: u64, taken: u64, most: u64 },

    /// Something that may be listed once.
    #[error("{what} is listed twice in channel {channel}; leave one out")]
    Twice { what: &'static str, channel: usize },

    /// Another number of states than Hadamard matrices of ours have.
    #[error("there are {seen} states, but a Hadamard matrix of ours has a power of two; the next is {}", seen.next_power_of_two())]
    NoPowerOfTwo { seen: usize },

    /// No tensor cores for such numbers.
    #[error("this GPU has no tensor cores for products in {rounding}; leave `--products` out")]
    NoTensorCores { rounding: &'static str },

    /// The device failed after kernels were launched.
    #[error("the device failed: {problem}")]
    Failed { problem: String },

    /// Nothing to compute.
    #[error("{what} is 0; there is nothing to compute")]
    Empty { what: &'static str },
}

/// Bytes for people.
fn bytes(count: &u64) -> String {
    let count = *count as f64;
    let units = [("GiB", 30), ("MiB", 20), ("KiB", 10)];
    let unit = units.into_iter().find(|&(_, power)| count >= f64::from(1_u32 << power));
    unit.map_or(format!("{count} bytes"), |(name, power)| format!("{:.1} {name}", count / f64::from(1_u32 << power)))
}

/// About how much of the request fits: as much as one buffer can hold, or as is taken already, rounded down to tens where that leaves something.
fn percent(asked: &u64, taken: &u64, most: &u64) -> u64 {
    let one = |part: u64, whole: u64| 100.0 * part as f64 / whole.max(1) as f64;
    let share = one(*most, *asked).min(one(*taken, taken.saturating_add(*asked)).max(1.0)).min(90.0) as u64;
    if share >= 10 { share / 10 * 10 } else { share.max(1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_runs_out_says_what_was_asked_for_and_what_fits() {
        let text = Error::Memory { asked: 3 << 30, taken: 5 << 30, most: 4 << 30 }.to_string();
        assert!(
            text.contains("another 3.0 GiB: 5.0 GiB are taken") && text.contains("4.0 GiB at most; with about 60 %"),
            "{text}"
        );
        let large = Error::Memory { asked: 100 << 30, taken: 60 << 30, most: 4 << 30 }.to_string();
        assert!(large.contains("about 4 % of the batch"), "{large}");
    }
}
