//! Where the words live: `T^N(R^d)` without its constant has `d + d^2 + ... + d^N` coordinates.
//!
//! Level `k` holds the `d^k` words of length `k`, lexicographically; levels follow each other. The constant (the empty word)
//! is kept apart because a signature's is always 1 and a log-signature's always 0.

use std::ops::Range;

use ncde_simd::Float;

use crate::Error;

/// The dimensions of a truncated tensor algebra.
///
/// ```
/// use ncde_signature::algebra::Shape;
/// let shape = Shape::new(3, 2)?;
/// assert_eq!(shape.len(), 3 + 9);
/// assert_eq!(shape.level(2), 3..12);
/// # Ok::<(), ncde_signature::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shape {
    width: usize,
    /// `levels[k - 1]` is the place of level `k`.
    levels: Vec<Range<usize>>,
}

impl Shape {
    /// `width` letters, words of up to `depth` letters.
    ///
    /// # Errors
    /// If there are no letters, if the depth is 0, or if the coordinates cannot be addressed on this machine.
    pub fn new(width: usize, depth: usize) -> Result<Self, Error> {
        if width == 0 {
            return Err(Error::NoChannels);
        }
        if depth == 0 {
            return Err(Error::DepthZero);
        }
        let too_large =
            || Error::TooLarge { what: "the tensor algebra", channels: width, depth, coordinates: coordinates(width, depth) };
        let mut levels: Vec<Range<usize>> = Vec::new();
        levels.try_reserve_exact(depth).map_err(|_| too_large())?;
        let (mut words, mut end) = (1_usize, 0_usize);
        for _ in 0..depth {
            words = words.checked_mul(width).ok_or_else(too_large)?;
            let start = end;
            end = end.checked_add(words).filter(|&n| n < isize::MAX as usize / 16).ok_or_else(too_large)?;
            levels.push(start..end);
        }
        Ok(Self { width, levels })
    }

    /// The number of letters `d`.
    #[inline(always)]
    pub fn width(&self) -> usize {
        self.width
    }

    /// The truncation depth `N`.
    #[inline(always)]
    pub fn depth(&self) -> usize {
        self.levels.len()
    }

    /// The number of coordinates without the constant.
    #[expect(clippy::len_without_is_empty, reason = "a shape is never empty")]
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.levels.last().map_or(0, |level| level.end)
    }

    /// The place of level `k`, for `1 <= k <= depth`.
    #[inline(always)]
    pub fn level(&self, k: usize) -> Range<usize> {
        self.levels[k - 1].clone()
    }

    /// The number of words of length `k`.
    #[inline(always)]
    pub fn level_len(&self, k: usize) -> usize {
        self.levels[k - 1].len()
    }

    /// The same levels, each starting at a multiple of `multiple`: for working memory, never for results.
    pub(crate) fn aligned(&self, multiple: usize) -> Self {
        let mut start = 0_usize;
        let mut align = |level: &Range<usize>| {
            let aligned = start..start + level.len();
            start = aligned.end.next_multiple_of(multiple);
            aligned
        };
        Self { width: self.width, levels: self.levels.iter().map(&mut align).collect() }
    }

    /// The levels below the last, where they are. (None is left of depth 1.)
    pub(crate) fn lower(&self) -> Self {
        Self { width: self.width, levels: self.levels[..self.depth() - 1].to_vec() }
    }

    /// Copies an element of this layout to consecutive levels.
    #[inline(always)]
    pub(crate) fn compact<E: Copy>(&self, element: &[E], out: &mut [E]) {
        let mut start = 0;
        for level in &self.levels {
            out[start..start + level.len()].copy_from_slice(&element[level.clone()]);
            start += level.len();
        }
    }

    /// The reverse of [`compact`](Self::compact).
    #[inline(always)]
    pub(crate) fn spread<E: Copy>(&self, compact: &[E], out: &mut [E]) {
        let mut start = 0;
        for level in &self.levels {
            out[level.clone()].copy_from_slice(&compact[start..start + level.len()]);
            start += level.len();
        }
    }

    /// `rows` zero elements, refused before the memory is touched if it cannot be had.
    pub(crate) fn zeros<T: Float>(&self, rows: usize, row: usize, what: &'static str) -> Result<Vec<T>, Error> {
        let refuse =
            || Error::TooLarge { what, channels: self.width, depth: self.depth(), coordinates: format!("{rows} x {row}") };
        let n = rows.checked_mul(row).ok_or_else(refuse)?;
        // Ask first: `vec!` aborts the process where `try_reserve` answers.
        Vec::<T>::new().try_reserve_exact(n).map_err(|_| refuse())?;
        Ok(vec![T::ZERO; n])
    }
}

/// How many coordinates `d + ... + d^N` are, exactly while it fits and as a power of ten after that.
fn coordinates(width: usize, depth: usize) -> String {
    let exact = (0..depth).try_fold(0_u128, |sum, _| sum.checked_add(1)?.checked_mul(width as u128));
    match exact {
        Some(n) => n.to_string(),
        None => format!("about 1e{:.0}", depth as f64 * (width as f64).log10()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_large_says_how_many() {
        let message = Shape::new(10, 30).unwrap_err().to_string();
        assert!(message.contains("1111111111111111111111111111110 coordinates"), "{message}");
        let message = Shape::new(1000, 1000).unwrap_err().to_string();
        assert!(message.contains("about 1e3000 coordinates"), "{message}");
        assert!(Shape::new(2, usize::MAX).is_err());
    }
}
