//! Words over `1..=d`: their places, the Lyndon words among them, and products of them.
//!
//! - place of `w = (i_1, ..., i_k)` inside its level: `sum_m (i_m - 1) d^(k - m)`;
//! - Witt's formula: level `k` of the free Lie algebra has `(1/k) sum_{m | k} mu(m) d^(k/m)` dimensions;
//! - a Lyndon word is strictly smaller than all its proper suffixes; there are as many of length `k` as Witt says;
//! - shuffle: `ua ⧢ vb = (u ⧢ vb) a + (ua ⧢ v) b`.

use std::collections::BTreeMap;

use crate::{Error, algebra::Shape};

/// A word: letters from 1 to `d`.
pub type Word = Vec<usize>;

/// The place of a non-empty word among the coordinates of `shape`.
///
/// ```
/// use ncde_signature::algebra::{Shape, words};
/// assert_eq!(words::index(&Shape::new(2, 3)?, &[2, 1])?, 2 + 2);
/// # Ok::<(), ncde_signature::Error>(())
/// ```
///
/// # Errors
/// If a letter is not in the alphabet, or the word is empty or longer than the depth.
pub fn index(shape: &Shape, word: &[usize]) -> Result<usize, Error> {
    if word.is_empty() {
        return Err(Error::BadParameter { what: "the number of letters of a word", wanted: "at least 1", seen: "0".into() });
    }
    if word.len() > shape.depth() {
        let (operation, what) = ("index of a word", "the word".into());
        return Err(Error::Size { operation, what, seen: word.len(), wanted: shape.depth() });
    }
    let d = shape.width();
    let mut offset = 0;
    for &letter in word {
        if letter == 0 || letter > d {
            return Err(Error::BadLetter { letter, width: d });
        }
        offset = offset * d + letter - 1;
    }
    Ok(shape.level(word.len()).start + offset)
}

/// The word at a place; the inverse of [`index`].
///
/// # Errors
/// If there is no such place.
pub fn word(shape: &Shape, index: usize) -> Result<Word, Error> {
    let Some(k) = (1..=shape.depth()).find(|&k| shape.level(k).contains(&index)) else {
        let (operation, what) = ("word at an index", "the index".into());
        return Err(Error::Size { operation, what, seen: index, wanted: shape.len() - 1 });
    };
    let d = shape.width();
    let mut offset = index - shape.level(k).start;
    let mut word = vec![0; k];
    for letter in word.iter_mut().rev() {
        *letter = offset % d + 1;
        offset /= d;
    }
    Ok(word)
}

/// All words of length 1 to `depth`, in the order of the coordinates.
pub fn all(shape: &Shape) -> impl Iterator<Item = Word> + '_ {
    (0..shape.len()).filter_map(|i| word(shape, i).ok())
}

/// A word as people write it, `(1,2,2)`.
pub fn label(word: &[usize]) -> String {
    let letters: Vec<String> = word.iter().map(ToString::to_string).collect();
    format!("({})", letters.join(","))
}

/// The dimension of level `k` of the free Lie algebra on `width` letters (Witt), if it fits a `u128`.
pub fn witt(width: usize, k: usize) -> Option<u128> {
    let mut sum = 0_i128;
    let mut add = |m: usize| {
        let power = (width as i128).checked_pow(u32::try_from(k / m).ok()?)?;
        sum = sum.checked_add(mobius(m).checked_mul(power)?)?;
        Some(())
    };
    for m in (1..=k.isqrt()).filter(|m| k.is_multiple_of(*m)) {
        add(m)?;
        if m != k / m {
            add(k / m)?;
        }
    }
    u128::try_from(sum / k as i128).ok()
}

/// The number of coordinates of a log-signature: the sum of [`witt`] over levels 1 to `depth`, if it fits.
///
/// ```
/// assert_eq!(ncde_signature::algebra::words::lie_dimension(4, 6), Some(964));
/// ```
pub fn lie_dimension(width: usize, depth: usize) -> Option<u128> {
    if width == 1 {
        // A letter has no bracket with itself, however deep.
        return Some(u128::from(depth > 0));
    }
    (1..=depth).try_fold(0_u128, |sum, k| sum.checked_add(witt(width, k)?))
}

fn mobius(mut n: usize) -> i128 {
    let mut sign = 1;
    let mut p = 2;
    while n > 1 {
        if p * p > n {
            return -sign;
        }
        if n.is_multiple_of(p) {
            n /= p;
            if n.is_multiple_of(p) {
                return 0;
            }
            sign = -sign;
        }
        p += 1;
    }
    sign
}

/// The Lyndon words of length 1 to `depth`, by length, then lexicographically (Duval's generation, then a stable sort).
pub fn lyndon(width: usize, depth: usize) -> Vec<Word> {
    let mut words = Vec::new();
    let mut w: Word = vec![1];
    loop {
        words.push(w.clone());
        // The next one: repeat w up to the depth, drop trailing largest letters, raise the last letter.
        let period = w.len();
        for i in period..depth {
            w.push(w[i - period]);
        }
        while w.last() == Some(&width) {
            w.pop();
        }
        let Some(last) = w.last_mut() else { break };
        *last += 1;
    }
    words.sort_by_key(Vec::len);
    words
}

/// Whether `w` is strictly smaller than each of its proper suffixes.
pub fn is_lyndon(w: &[usize]) -> bool {
    !w.is_empty() && (1..w.len()).all(|i| w < &w[i..])
}

/// Where the standard factorisation cuts a Lyndon word of two letters or more: `w = uv`, `v` its longest proper Lyndon suffix.
///
/// ```
/// assert_eq!(ncde_signature::algebra::words::standard_factorisation(&[1, 1, 2]), 1);
/// assert_eq!(ncde_signature::algebra::words::standard_factorisation(&[1, 2, 2]), 2);
/// ```
pub fn standard_factorisation(w: &[usize]) -> usize {
    (1..w.len()).find(|&i| is_lyndon(&w[i..])).unwrap_or(0)
}

/// The shuffle product of two words: every interleaving with its multiplicity.
///
/// ```
/// let product = ncde_signature::algebra::words::shuffle(&[1], &[2, 1]);
/// assert_eq!(product[&vec![1, 2, 1]], 1);
/// assert_eq!(product[&vec![2, 1, 1]], 2);
/// ```
pub fn shuffle(u: &[usize], v: &[usize]) -> BTreeMap<Word, u64> {
    // table[j] = u[..i] ⧢ v[..j], row by row over i.
    let mut table: Vec<BTreeMap<Word, u64>> = (0..=v.len()).map(|j| BTreeMap::from([(v[..j].to_vec(), 1)])).collect();
    for i in 1..=u.len() {
        table[0] = BTreeMap::from([(u[..i].to_vec(), 1)]);
        for j in 1..=v.len() {
            let mut sum = BTreeMap::new();
            for (terms, letter) in [(&table[j], u[i - 1]), (&table[j - 1], v[j - 1])] {
                for (word, count) in terms {
                    let mut longer = word.clone();
                    longer.push(letter);
                    *sum.entry(longer).or_insert(0) += count;
                }
            }
            table[j] = sum;
        }
    }
    table.swap_remove(v.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lyndon_words_are_lyndon_and_as_many_as_witt_says() {
        for (d, n) in [(1, 4), (2, 9), (3, 6), (5, 4)] {
            let words = lyndon(d, n);
            assert!(words.iter().all(|w| is_lyndon(w)));
            assert!(words.is_sorted_by(|a, b| (a.len(), a) < (b.len(), b)));
            for k in 1..=n {
                assert_eq!(words.iter().filter(|w| w.len() == k).count() as u128, witt(d, k).unwrap(), "d {d} k {k}");
            }
        }
    }

    #[test]
    fn words_and_places_are_inverse() {
        let shape = Shape::new(3, 4).unwrap();
        for (i, w) in all(&shape).enumerate() {
            assert_eq!(index(&shape, &w).unwrap(), i);
        }
        assert!(index(&shape, &[4]).is_err());
        assert!(index(&shape, &[]).is_err());
        assert!(word(&shape, shape.len()).is_err());
    }

    #[test]
    fn shuffle_counts_interleavings() {
        let total: u64 = shuffle(&[1, 2, 3], &[4, 5]).values().sum();
        assert_eq!(total, 10);
        assert_eq!(shuffle(&[1, 2], &[1, 2])[&vec![1, 1, 2, 2]], 4);
        assert_eq!(shuffle(&[], &[1, 2]), BTreeMap::from([(vec![1, 2], 1)]));
    }
}
