//! Mirrored words: `M(S)_(i_1, ..., i_k) = S_(i_k, ..., i_1)`.
//!
//! In the mirrored layout appending a letter is what prepending is in the usual one, so `M(S exp(x)) = exp(x) M(S)`: one step
//! kernel serves both directions of time. `mirror(uv) = mirror(v) mirror(u)`, so a table for half the depth is enough.

use crate::algebra::Shape;
use crate::number::Number;

/// The place of each word's mirror image, split in halves.
#[derive(Debug, Clone)]
pub(crate) struct Mirror {
    /// `halves[k][i]`: the mirror image of the `i`-th word of length `k`, inside its level.
    halves: Vec<Vec<usize>>,
}

impl Mirror {
    pub(crate) fn new(shape: &Shape) -> Self {
        let d = shape.width();
        let mut halves = vec![vec![0]];
        for k in 1..=shape.depth().div_ceil(2) {
            let shorter: &[usize] = &halves[k - 1];
            // The letter that is last in the word comes first in its image.
            let place = shorter.len();
            halves.push((0..place * d).map(|i| (i % d) * place + shorter[i / d]).collect());
        }
        Self { halves }
    }

    /// Calls `copy(word, image)` for every word of the shape, words in order.
    #[inline(always)]
    pub(crate) fn for_each(&self, shape: &Shape, mut copy: impl FnMut(usize, usize)) {
        for k in 1..=shape.depth() {
            let start = shape.level(k).start;
            let (heads, tails) = (&self.halves[k / 2], &self.halves[k - k / 2]);
            let mut word = start;
            for &head in heads {
                for &tail in tails {
                    copy(word, start + tail * heads.len() + head);
                    word += 1;
                }
            }
        }
    }

    /// `out = M(s)`.
    #[inline(always)]
    pub(crate) fn copy<E: Number>(&self, shape: &Shape, s: &[E], out: &mut [E]) {
        self.for_each(shape, |word, image| out[word] = s[image]);
    }

    /// `out += M(s)`.
    #[inline(always)]
    pub(crate) fn add<E: Number>(&self, shape: &Shape, s: &[E], out: &mut [E]) {
        self.for_each(shape, |word, image| out[word] = out[word].add(s[image]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algebra::words;

    #[test]
    fn images_are_reversed_words() {
        for (d, n) in [(1, 5), (2, 5), (3, 4), (7, 2), (4, 1)] {
            let shape = Shape::new(d, n).unwrap();
            let mut seen = 0;
            Mirror::new(&shape).for_each(&shape, |word, image| {
                assert_eq!(word, seen);
                seen += 1;
                let mut reversed = words::word(&shape, word).unwrap();
                reversed.reverse();
                assert_eq!(words::index(&shape, &reversed).unwrap(), image, "d {d} n {n}");
            });
            assert_eq!(seen, shape.len());
        }
    }
}
