//! Signatures and log-signatures through time, and back.
//!
//! A word's coordinate after a step depends on those of its prefixes alone, and its coordinate of a product or a logarithm on those of its subwords. So a
//! unit that has a word computes all it needs from that word's letters, and nothing goes from unit to unit; in reverse, where sums over all ways to
//! go on with a word are needed, a cube has a window.

pub(crate) mod back;
pub(crate) mod chain;
pub(crate) mod log;
pub(crate) mod steps;

use cubecl::prelude::*;

use crate::signature::cut::Words;

/// The place of letters `from..to` of the word at place `word` of level `letters`.
#[cube]
pub(super) fn part(
    word: usize,
    #[comptime] from: usize,
    #[comptime] to: usize,
    #[comptime] letters: usize,
    #[comptime] of: Words,
) -> usize {
    comptime!(of.start(to - from)) + word / comptime!(of.level(letters - to)) % comptime!(of.level(to - from))
}

/// `base^k`, computed on the device: compilers unroll loops whose turns they can count, and take minutes for those over all words of a level.
#[cube]
pub(super) fn power(base: usize, #[comptime] k: usize) -> usize {
    let mut all = base;
    #[unroll]
    for _ in 1..k {
        all *= base;
    }
    all
}
