//! How a call is cut: a pure function of shapes and of what the device is.
//!
//! | piece | what | why |
//! | --- | --- | --- |
//! | tile | last letters that a unit has in registers | a unit has the words `p a` of a prefix `p`, and all prefixes of `p` |
//! | chunk | steps of a whole path that are worked through one after the other | chunks of one path are worked on at once and joined by Chen's identity |
//! | cube | units that share a window in reverse | sums over the last letters of words go from unit to unit |

use crate::plan::Limits;

/// Words of up to `depth` of `channels` letters, by length, then lexicographically: `d + d^2 + ... + d^N` of them.
///
/// The word at place `f`, followed by letter `a`, is at `d (f + 1) + a`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Words {
    pub(crate) channels: usize,
    pub(crate) depth: usize,
}

impl Words {
    /// Words of `k` letters; as many as can be counted where there are more.
    pub(crate) fn level(&self, k: usize) -> usize {
        self.channels.saturating_pow(k as u32)
    }

    /// The first word of `k` letters.
    pub(crate) fn start(&self, k: usize) -> usize {
        (1..k).fold(0, |sum: usize, j| sum.saturating_add(self.level(j)))
    }

    /// Words of up to `k` letters.
    pub(crate) fn upto(&self, k: usize) -> usize {
        self.start(k + 1)
    }

    /// All words.
    pub(crate) fn len(&self) -> usize {
        self.upto(self.depth)
    }

    /// Words that are not of the last level.
    pub(crate) fn below(&self) -> usize {
        self.upto(self.depth - 1)
    }

    /// The same without the last level; none at depth 1.
    pub(crate) fn lower(&self) -> Option<Self> {
        (self.depth > 1).then(|| Self { depth: self.depth - 1, ..*self })
    }

    /// Where the contraction with `q >= 1` increments begins in the reverse pass: it has words of up to `N - q` letters.
    pub(crate) fn contraction(&self, q: usize) -> usize {
        (1..q).map(|j| self.upto(self.depth - j)).sum()
    }

    /// Where the factors of the contraction with `q` increments begin: they have words of up to `N - 1 - q` letters.
    pub(crate) fn factor(&self, q: usize) -> usize {
        (0..q).map(|j| self.upto(self.depth - 1 - j)).sum()
    }

    /// Where the derivatives of a logarithm at words of `t` letters begin, `t + 1` for each word.
    pub(crate) fn slope(&self, t: usize) -> usize {
        (1..t).map(|s| (s + 1) * self.level(s)).sum()
    }

    /// None if there are too many words for a device.
    pub(crate) fn new(channels: usize, depth: usize) -> Option<Self> {
        let fits = |count: &usize| *count <= MAX_WORDS;
        let mut level = 1_usize;
        for _ in 0..depth {
            level = level.checked_mul(channels).filter(fits)?;
        }
        (channels > 0 && (1..=DEEPEST).contains(&depth)).then_some(Self { channels, depth })
    }
}

/// Beyond these the host is the better place: a unit would have too many registers, or its loops too many turns.
const DEEPEST: usize = 12;
const MAX_WORDS: usize = 1 << 24;

/// The most turns of a loop: Mesa's software Vulkan stops a unit after 65535.
const MAX_TURNS: usize = 1 << 15;

/// The most last letters of a unit.
const TILE: usize = 8;

/// The most units of a window in reverse.
const UNITS: usize = 256;

/// A chunk is not shorter than this.
const SHORTEST: usize = 16;

/// Which parts of paths results are taken over, see [`super::Over`]: windows of `size` steps, each from nothing or all from one start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pieces {
    /// Steps of a path.
    pub(crate) steps: usize,
    /// Steps of a piece; the last of a path may have fewer.
    pub(crate) size: usize,
    /// Pieces of a path.
    pub(crate) count: usize,
}

impl Pieces {
    /// Of so many steps each.
    pub(crate) fn new(steps: usize, size: usize) -> Self {
        let size = size.clamp(1, steps);
        Self { steps, size, count: steps.div_ceil(size) }
    }

    /// A path in as many chunks as keep the device busy, where each has `units` of its own; joining them is one after the other, so there are no
    /// more of them than each has steps.
    pub(crate) fn chunks(steps: usize, batch: usize, units: usize, limits: Limits) -> Self {
        let wanted = limits.units.div_ceil((batch * units).max(1)).max(1);
        let shortest = (steps.isqrt() + 1).max(SHORTEST);
        Self::new(steps, steps.div_ceil(wanted).max(shortest).min(MAX_TURNS))
    }
}

/// See above.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Cut {
    /// Units of a window in reverse.
    pub(crate) units: usize,
    /// So many units share a channel there.
    pub(crate) parts: usize,
}

impl Cut {
    /// None where a cube has no room for the words below the last level, or loops would have too many turns. `turns`: steps of the longest piece;
    /// the last two: units and bytes of a cube.
    pub(crate) fn new(of: Words, turns: usize, units: usize, shared: usize) -> Option<Self> {
        let cut = Self::of(of, units);
        let fits = turns <= MAX_TURNS && of.level(of.depth - 1) <= MAX_TURNS && cut.bytes(of) <= shared;
        fits.then_some(cut)
    }

    pub(super) fn of(of: Words, units: usize) -> Self {
        let units = of.below().max(of.channels).next_power_of_two().clamp(32, UNITS).min(units).max(1);
        Self { units, parts: (units / of.channels).max(1) }
    }

    /// Bytes of shared memory: adjoints, contractions, factors, an increment, sums.
    pub(crate) fn bytes(&self, of: Words) -> usize {
        let words = of.below() + of.contraction(of.depth) + of.factor(of.depth - 1);
        (words + of.channels * (1 + self.parts)) * size_of::<f32>()
    }
}

/// Last letters of a unit: as few units as there can be, with about as many letters each.
pub(crate) fn tile(channels: usize) -> usize {
    channels.div_ceil(channels.div_ceil(TILE))
}

/// Units of a piece on the way forwards.
pub(crate) fn units(of: Words) -> usize {
    of.level(of.depth - 1) * of.channels.div_ceil(tile(of.channels))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CUBE: (usize, usize) = (1024, 48 << 10);

    fn cut(channels: usize, depth: usize) -> Option<Cut> {
        Cut::new(Words::new(channels, depth)?, 100, CUBE.0, CUBE.1)
    }

    #[test]
    fn words_lie_by_length_and_below_their_prefix() {
        let of = Words::new(3, 4).unwrap();
        assert_eq!([of.start(1), of.start(2), of.start(3), of.len(), of.below()], [0, 3, 12, 120, 39]);
        // The word (2, 1, 3) of letters 1, 2, 3 is (2, 1) and then a letter.
        let [two, three] = [of.start(2) + 3, of.start(3) + 3 * 3 + 2];
        assert_eq!(three, 3 * (two + 1) + 2);
        assert_eq!([of.contraction(1), of.contraction(2), of.contraction(4)], [0, 39, 39 + 12 + 3]);
        assert_eq!([of.factor(0), of.factor(1), of.factor(3)], [0, 39, 39 + 12 + 3]);
        assert_eq!([of.slope(1), of.slope(2), of.slope(4)], [0, 6, 6 + 27 + 4 * 27]);
    }

    #[test]
    fn every_step_is_in_one_piece() {
        for steps in [1, 2, 16, 49, 1000, 17_983, 200_000] {
            for (batch, units) in [(1, 1), (3, 216), (4096, 6)] {
                let limits = Limits { units: 132 << 11, slab: 1 << 28 };
                let Pieces { size, count, .. } = Pieces::chunks(steps, batch, units, limits);
                assert!(size * count >= steps && size * (count - 1) < steps && size <= MAX_TURNS, "{steps}: {size} x {count}");
                assert!(count <= size.max(steps.div_ceil(MAX_TURNS)), "{steps}: {size} x {count}");
            }
            assert_eq!(Pieces::new(steps, usize::MAX).count, 1);
        }
        assert_eq!(Pieces::new(49, 12), Pieces { steps: 49, size: 12, count: 5 });
    }

    #[test]
    fn paths_are_cut_only_where_the_device_would_idle() {
        let limits = Limits { units: 132 << 11, slab: 1 << 28 };
        assert_eq!(Pieces::chunks(1500, 4096, 256, limits).count, 1);
        assert!(Pieces::chunks(1500, 32, 36, limits).count > 30);
    }

    #[test]
    fn usual_sizes_fit_and_others_do_not() {
        for depth in 1..=4 {
            assert!((1..=15).all(|channels| cut(channels, depth).is_some()), "{depth}");
        }
        assert!(cut(7, 5).is_some() && cut(60, 3).is_some() && cut(1000, 2).is_some());
        // Too many words below the last level for a cube; too many words to count; loops of too many turns.
        assert!(cut(20, 4).is_none() && cut(1000, 12).is_none());
        assert!(Cut::new(Words::new(2, 2).unwrap(), 1 << 20, CUBE.0, CUBE.1).is_none());
        assert!(Words::new(0, 2).is_none() && Words::new(2, 0).is_none());
    }

    #[test]
    fn units_follow_words_and_the_device() {
        assert_eq!(cut(3, 2), Some(Cut { units: 32, parts: 10 }));
        assert_eq!(cut(6, 4), Some(Cut { units: 256, parts: 42 }));
        assert_eq!(Cut::new(Words::new(6, 4).unwrap(), 1, 64, CUBE.1), Some(Cut { units: 64, parts: 10 }));
        assert_eq!([tile(1), tile(8), tile(9), tile(17)], [1, 8, 5, 6]);
    }
}
