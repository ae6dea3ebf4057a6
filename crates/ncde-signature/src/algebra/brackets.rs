//! Tables of brackets: expansions into words, `[P, Q] = PQ - QP`, and products in the Hall basis by the Jacobi identity,
//! `[h, [a, b]] = [[h, a], b] + [a, [h, b]]`. Integers throughout; refused when they grow too large.

use std::collections::HashMap;

use crate::Error;
use crate::algebra::tree::{self, Tree};
use crate::algebra::{Shape, words};

/// A row of a sparse integer matrix: `(column, entry)`, sorted.
pub(crate) type Row = Vec<(usize, i64)>;

/// A sparse integer matrix by rows.
pub(crate) type Sparse = Vec<Row>;

/// The most entries a table may have (about 1 GiB): beyond, a basis is refused rather than the machine exhausted.
pub(crate) const MAX_ENTRIES: usize = 1 << 26;

pub(crate) fn too_large(shape: &Shape) -> Error {
    Error::TooManyBrackets {
        channels: shape.width(),
        depth: shape.depth(),
        coordinates: words::lie_dimension(shape.width(), shape.depth()).map_or("more than 1e38".into(), |n| n.to_string()),
    }
}

/// Calls `visit(i, expansion)` with each element as a combination of words. It is an error if `visit` returns `false`, or if the stored
/// expansions below the last level are too large.
pub(crate) fn expand(shape: &Shape, trees: &[Tree], mut visit: impl FnMut(usize, &[(usize, i64)]) -> bool) -> Result<(), Error> {
    let degrees = tree::degrees(trees);
    let start = |k: usize| shape.level(k).start;
    let mut lower: Sparse = Vec::new();
    let mut entries = 0;
    for (i, tree) in trees.iter().enumerate() {
        let terms = match *tree {
            Tree::Letter(letter) => vec![(letter - 1, 1)],
            Tree::Bracket(p, q) => {
                let (m, n) = (degrees[p], degrees[q]);
                let mut terms = Vec::with_capacity(2 * lower[p].len() * lower[q].len());
                for &(u, x) in &lower[p] {
                    for &(v, y) in &lower[q] {
                        let (u, v) = (u - start(m), v - start(n));
                        terms.push((start(m + n) + u * shape.level_len(n) + v, x * y));
                        terms.push((start(m + n) + v * shape.level_len(m) + u, -x * y));
                    }
                }
                merged(terms)
            }
        };
        let stop = !visit(i, &terms);
        if degrees[i] < shape.depth() {
            entries += terms.len();
            lower.push(terms);
        }
        if stop || entries > MAX_ENTRIES {
            return Err(too_large(shape));
        }
    }
    Ok(())
}

/// Each Lyndon bracket in Hall coordinates; `None` if the tables grow too large.
pub(crate) fn lyndon_in_hall(lyndon: &[Tree], hall: &[Tree]) -> Option<Sparse> {
    let mut products = HallProducts::new(hall);
    let mut rows: Sparse = Vec::with_capacity(lyndon.len());
    let mut entries = 0;
    for tree in lyndon {
        let row = match *tree {
            Tree::Letter(letter) => vec![(letter - 1, 1)],
            Tree::Bracket(p, q) => products.bracket_sums(&rows[p], &rows[q])?,
        };
        entries += row.len();
        if entries > MAX_ENTRIES {
            return None;
        }
        rows.push(row);
    }
    Some(rows)
}

/// Brackets of Hall elements in Hall coordinates, each computed once.
struct HallProducts<'a> {
    trees: &'a [Tree],
    index: HashMap<Tree, usize>,
    known: HashMap<(usize, usize), Row>,
    /// The number of terms that may still be added: a limit on time and memory.
    room: usize,
}

impl<'a> HallProducts<'a> {
    fn new(trees: &'a [Tree]) -> Self {
        let index = trees.iter().enumerate().map(|(i, &tree)| (tree, i)).collect();
        Self { trees, index, known: HashMap::new(), room: 4 * MAX_ENTRIES }
    }

    fn bracket_sums(&mut self, p: &[(usize, i64)], q: &[(usize, i64)]) -> Option<Row> {
        let mut terms = Vec::new();
        for &(h, x) in p {
            for &(k, y) in q {
                terms.extend(self.bracket(h, k)?.into_iter().map(|(element, c)| (element, x * y * c)));
            }
        }
        self.room = self.room.checked_sub(terms.len())?;
        Some(merged(terms))
    }

    fn bracket(&mut self, h: usize, k: usize) -> Option<Row> {
        if h == k {
            return Some(Vec::new());
        }
        if h > k {
            return Some(self.bracket(k, h)?.into_iter().map(|(element, c)| (element, -c)).collect());
        }
        if let Some(&element) = self.index.get(&Tree::Bracket(h, k)) {
            return Some(vec![(element, 1)]);
        }
        if let Some(known) = self.known.get(&(h, k)) {
            return Some(known.clone());
        }
        // Not a Hall pair, so k = [a, b] with h < a.
        let Tree::Bracket(a, b) = self.trees[k] else { return Some(Vec::new()) };
        let (ha, hb) = (self.bracket(h, a)?, self.bracket(h, b)?);
        let mut terms = self.bracket_sums(&ha, &[(b, 1)])?;
        terms.extend(self.bracket_sums(&[(a, 1)], &hb)?);
        let sum = merged(terms);
        self.known.insert((h, k), sum.clone());
        Some(sum)
    }
}

/// Terms of the same column added up, zeros dropped, sorted.
pub(crate) fn merged(mut terms: Row) -> Row {
    terms.sort_unstable_by_key(|&(column, _)| column);
    terms.dedup_by(|next, first| {
        let same = next.0 == first.0;
        if same {
            first.1 += next.1;
        }
        same
    });
    terms.retain(|&(_, c)| c != 0);
    terms
}
