//! How much memory a request needs, before any of it is asked for.

use ncde_signature::algebra::{Shape, words};
use ncde_signature::{Basis, Float};

use super::check::Observations;
use super::request::{Kind, Parts, Request};
use crate::error::Failure;
use crate::{memory, output};

/// Work that takes a second or more is announced.
const LONG_WORK: u128 = 1 << 33;

/// Numbers of one element of the tensor algebra that a thread works with.
const STATES: u128 = 3;

/// Refuses what cannot fit, and says what is coming if it will take a while.
pub(super) fn check<T: Float>(request: &Request, observations: &Observations<'_, T>) -> Result<(), Failure> {
    let channels = request.channels(observations.channels);
    let depth = request.depth;
    let refused = |source: ncde_signature::Error| Failure::Refused(format!("`{}`: {source}", observations.name));
    let Some(tensor) = coordinates(channels, depth) else {
        // Beyond counting: the library says how far.
        return Shape::new(channels, depth).map(drop).map_err(refused);
    };
    let wanted = match request.kind {
        Kind::Signature | Kind::Log(Basis::Expanded) => tensor,
        Kind::Log(_) if channels == 1 => 1,
        Kind::Log(_) => words::lie_dimension(channels, depth).unwrap_or(tensor),
    };
    let increments = (request.length(observations.length) - 1) as u128;
    let pieces = request.curve.pieces() as u128;
    let batch = observations.batch.unwrap_or(1) as u128;
    let rows = batch.saturating_mul(match request.parts {
        Parts::Whole => 1,
        Parts::Windows(size) => increments.div_ceil(size as u128),
        Parts::Prefixes => increments.saturating_mul(pieces),
    });
    let threads = rayon::current_num_threads() as u128;
    let steps = batch.saturating_mul(increments).saturating_mul(pieces);
    let numbers = rows
        .saturating_mul(wanted)
        .saturating_add(tensor.saturating_mul(STATES * threads))
        .saturating_add(steps.saturating_mul(channels as u128));
    let bytes = numbers.saturating_mul(size_of::<T>() as u128);
    let hint = match request.parts {
        Parts::Whole => "lower `--depth` or drop channels",
        Parts::Windows(_) => "lower `--depth` or widen `--window`",
        Parts::Prefixes => "lower `--depth` or leave out `--stream`",
    };
    let name = observations.name;
    memory::check(bytes, |shortage| {
        format!("`{name}`: {channels} channels at depth {depth} make {rows} x {wanted} coordinates: {shortage}; {hint}")
    })?;
    if steps.saturating_mul(tensor) > LONG_WORK {
        output::hint(&format!("computing {rows} results of {wanted} coordinates each"));
    }
    Ok(())
}

/// `d + d^2 + ... + d^N`, if it can be counted.
fn coordinates(channels: usize, depth: usize) -> Option<u128> {
    if channels == 1 {
        return Some(depth as u128);
    }
    (0..depth).try_fold(0_u128, |sum, _| sum.checked_add(1)?.checked_mul(channels as u128))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_are_counted() {
        assert_eq!(coordinates(4, 6), Some(5460));
        assert_eq!(coordinates(1, usize::MAX), Some(usize::MAX as u128));
        assert_eq!(coordinates(2, usize::MAX), None);
    }
}
