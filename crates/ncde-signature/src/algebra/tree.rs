//! Bracketings: a basis element of the free Lie algebra is a letter or the bracket of two earlier elements.
//!
//! Two families, each listed by degree:
//! - Lyndon: one element per Lyndon word `w = uv` (standard factorisation), `P_w = [P_u, P_v]`, `P_i = e_i`;
//! - Hall, in RoughPy's order: degree by degree, all `[h, k]` with `h < k` (places in this list) where `k` is a letter or the
//!   left child of `k` is not after `h`; pairs ordered by the degree of `h`, then `h`, then `k`.

use std::collections::HashMap;

use crate::algebra::words::{self, Word};

/// A letter (from 1) or a bracket of two elements (places in the list the tree is part of).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Tree {
    /// `e_i`.
    Letter(usize),
    /// `[P, Q]`.
    Bracket(usize, usize),
}

/// The Lyndon words and their standard bracketings, by length, then lexicographically.
pub(crate) fn lyndon(width: usize, depth: usize) -> (Vec<Word>, Vec<Tree>) {
    let words = words::lyndon(width, depth);
    let index: HashMap<&[usize], usize> = words.iter().enumerate().map(|(i, w)| (w.as_slice(), i)).collect();
    let tree = |w: &Word| match w.as_slice() {
        [letter] => Tree::Letter(*letter),
        w => {
            let cut = words::standard_factorisation(w);
            Tree::Bracket(index[&w[..cut]], index[&w[cut..]])
        }
    };
    let trees = words.iter().map(tree).collect();
    (words, trees)
}

/// The Hall set up to `depth`.
pub(crate) fn hall(width: usize, depth: usize) -> Vec<Tree> {
    let mut trees: Vec<Tree> = (1..=width).map(Tree::Letter).collect();
    // degrees[k - 1]..degrees[k]: the elements of degree k.
    let mut degrees = vec![0, width];
    for degree in 2..=depth {
        for left in 1..=degree / 2 {
            for h in degrees[left - 1]..degrees[left] {
                let right = degree - left;
                for k in degrees[right - 1].max(h + 1)..degrees[right] {
                    if is_hall_pair(&trees, h, k) {
                        trees.push(Tree::Bracket(h, k));
                    }
                }
            }
        }
        degrees.push(trees.len());
    }
    trees
}

/// Whether `[h, k]` is itself an element of the Hall set.
pub(crate) fn is_hall_pair(trees: &[Tree], h: usize, k: usize) -> bool {
    h < k && !matches!(trees[k], Tree::Bracket(left, _) if left > h)
}

/// How many letters each element has.
pub(crate) fn degrees(trees: &[Tree]) -> Vec<usize> {
    let mut degrees: Vec<usize> = Vec::with_capacity(trees.len());
    for tree in trees {
        degrees.push(match *tree {
            Tree::Letter(_) => 1,
            Tree::Bracket(left, right) => degrees[left] + degrees[right],
        });
    }
    degrees
}

/// Each element as people write it: `1`, `[1,2]`, `[1,[1,2]]`.
pub(crate) fn labels(trees: &[Tree]) -> Vec<String> {
    let mut labels: Vec<String> = Vec::with_capacity(trees.len());
    for tree in trees {
        labels.push(match *tree {
            Tree::Letter(letter) => letter.to_string(),
            Tree::Bracket(left, right) => format!("[{},{}]", labels[left], labels[right]),
        });
    }
    labels
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hall_sets_have_witts_dimensions() {
        for (d, n) in [(1, 3), (2, 7), (3, 5), (6, 3)] {
            let degrees = degrees(&hall(d, n));
            for k in 1..=n {
                let count = degrees.iter().filter(|&&m| m == k).count();
                assert_eq!(count as u128, words::witt(d, k).unwrap(), "d {d} k {k}");
            }
        }
    }

    #[test]
    fn labels_are_readable() {
        assert_eq!(
            labels(&lyndon(2, 4).1),
            ["1", "2", "[1,2]", "[1,[1,2]]", "[[1,2],2]", "[1,[1,[1,2]]]", "[1,[[1,2],2]]", "[[[1,2],2],2]"]
        );
        // RoughPy 0.3.0: [str(k) for k in roughpy.get_context(2, 4, roughpy.DPReal).lie_basis]
        assert_eq!(
            labels(&hall(2, 4)),
            ["1", "2", "[1,2]", "[1,[1,2]]", "[2,[1,2]]", "[1,[1,[1,2]]]", "[2,[1,[1,2]]]", "[2,[2,[1,2]]]"]
        );
    }
}
