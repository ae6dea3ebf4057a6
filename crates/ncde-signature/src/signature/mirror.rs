//! Mirrored words: `M(S)_(i_1, ..., i_k) = S_(i_k, ..., i_1)`.
//!
//! In the mirrored layout appending a letter is what prepending is in the usual one, so `M(S exp(x)) = exp(x) M(S)`: one step
//! kernel serves both directions of time. `mirror(uv) = mirror(v) mirror(u)`, so a table for half the depth is enough.

use crate::algebra::Shape;
use ncde_simd::Number;
use ncde_simd::Simd;

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
            let count = shorter.len();
            halves.push((0..count * d).map(|i| (i % d) * count + shorter[i / d]).collect());
        }
        Self { halves }
    }

    /// `out = M(s)`.
    #[inline(always)]
    pub(crate) fn copy<E: Number>(&self, shape: &Shape, s: &[E], out: &mut [E]) {
        for k in 1..=shape.depth() {
            let (s, out) = (&s[shape.level(k)], &mut out[shape.level(k)]);
            let (heads, tails) = self.split(k);
            for (out, &head) in out.chunks_exact_mut(tails.len()).zip(heads) {
                for (out, &tail) in out.iter_mut().zip(tails) {
                    *out = s[tail * heads.len() + head];
                }
            }
        }
    }

    /// `out += M(s)`.
    #[inline(always)]
    pub(crate) fn add<S: Simd, E: Number>(&self, simd: S, shape: &Shape, s: &[E], out: &mut [E]) {
        for k in 1..=shape.depth() {
            let (s, out) = (&s[shape.level(k)], &mut out[shape.level(k)]);
            let (heads, tails) = self.split(k);
            for (out, &head) in out.chunks_exact_mut(tails.len()).zip(heads) {
                for (out, &tail) in out.iter_mut().zip(tails) {
                    *out = out.plus(simd, s[tail * heads.len() + head]);
                }
            }
        }
    }

    /// Images of the first and of the second half of words of length `k`.
    #[inline(always)]
    fn split(&self, k: usize) -> (&[usize], &[usize]) {
        (&self.halves[k / 2], &self.halves[k - k / 2])
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
            let places: Vec<f64> = (0..shape.len()).map(|i| i as f64).collect();
            let mut images = vec![0.0; shape.len()];
            Mirror::new(&shape).copy(&shape, &places, &mut images);
            for (word, image) in words::all(&shape).zip(images) {
                let mut reversed = word;
                reversed.reverse();
                assert_eq!(words::index(&shape, &reversed).unwrap(), image as usize, "d {d} n {n}");
            }
        }
    }
}
