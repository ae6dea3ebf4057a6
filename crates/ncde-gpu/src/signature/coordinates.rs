//! Coordinates of a log-signature as sums over words, in the layout that kernels read.
//!
//! ```text
//! lambda_j = sum_w Q_jw log S (w),   integers Q_jw, all words w of row j of one length
//! ```

use super::cut::Words;
use crate::error::Error;

/// `Q`, by rows and by columns. Made once; every call sends it to the device.
#[derive(Debug, Clone, PartialEq)]
pub struct Coordinates {
    of: Words,
    len: usize,
    /// Where the coordinates of each degree begin and end among `places`.
    pub(super) degrees: Vec<(usize, usize)>,
    /// Coordinates by degree: which, its first entry, the end of its entries.
    pub(super) places: Vec<u32>,
    /// Words of entries, as places within their level.
    pub(super) words: Vec<u32>,
    pub(super) factors: Vec<f32>,
    /// The entries of each word by its place among all, and the end of all.
    pub(super) starts: Vec<u32>,
    pub(super) coordinates: Vec<u32>,
    pub(super) back_factors: Vec<f32>,
}

impl Coordinates {
    /// A row for each coordinate: places of words among all of them, and factors.
    ///
    /// # Errors
    /// If a row is empty, has words of several lengths, or one that is not there.
    pub fn new(channels: usize, depth: usize, rows: &[Vec<(usize, i64)>]) -> Result<Self, Error> {
        let Some(of) = Words::new(channels, depth) else { return Err(Error::Empty { what: "the number of words" }) };
        let mut by_degree: Vec<Vec<usize>> = vec![Vec::new(); depth];
        let mut columns: Vec<Vec<(u32, f32)>> = vec![Vec::new(); of.len()];
        for (j, row) in rows.iter().enumerate() {
            let Some(&(first, _)) = row.first() else { return Err(Error::Empty { what: "the number of words of a coordinate" }) };
            let degree = (1..=depth).find(|&k| first < of.upto(k)).unwrap_or(depth);
            let level = of.start(degree)..of.upto(degree);
            if let Some(&(word, _)) = row.iter().find(|(word, _)| !level.contains(word)) {
                return Err(Error::NoRow { what: "of the words of one length", row: word, rows: level.end });
            }
            by_degree[degree - 1].push(j);
            for &(word, factor) in row {
                columns[word].push((j as u32, factor as f32));
            }
        }
        let (mut degrees, mut places, mut words, mut factors) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (k, coordinates) in by_degree.iter().enumerate() {
            let first = places.len() / 3;
            for &j in coordinates {
                let entry = words.len() as u32;
                words.extend(rows[j].iter().map(|&(word, _)| (word - of.start(k + 1)) as u32));
                factors.extend(rows[j].iter().map(|&(_, factor)| factor as f32));
                places.extend([j as u32, entry, words.len() as u32]);
            }
            degrees.push((first, places.len() / 3));
        }
        let mut starts = vec![0];
        for column in &columns {
            starts.push(starts[starts.len() - 1] + column.len() as u32);
        }
        let (coordinates, back_factors) = columns.concat().into_iter().unzip();
        Ok(Self { of, len: rows.len(), degrees, places, words, factors, starts, coordinates, back_factors })
    }

    /// How many.
    #[expect(clippy::len_without_is_empty, reason = "there is always a level 1")]
    pub fn len(&self) -> usize {
        self.len
    }

    /// That they are coordinates of these words.
    pub(super) fn check(&self, of: Words) -> Result<(), Error> {
        let [seen, wanted] = [self.of, of].map(|of| (of.len() * size_of::<f32>()) as u64);
        if self.of == of { Ok(()) } else { Err(Error::Size { what: "the list of words of coordinates", seen, wanted }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of two letters at depth 2: the letters, and `[1, 2]` at the word `(1, 2)`.
    #[test]
    fn rows_and_columns_are_the_same_matrix() {
        let rows = [vec![(0, 1)], vec![(3, 2), (4, -1)], vec![(1, 1)]];
        let seen = Coordinates::new(2, 2, &rows).unwrap();
        assert_eq!(seen.degrees, [(0, 2), (2, 3)]);
        assert_eq!(seen.places, [0, 0, 1, 2, 1, 2, 1, 2, 4]);
        assert_eq!((seen.words, seen.factors), (vec![0, 1, 1, 2], vec![1.0, 1.0, 2.0, -1.0]));
        assert_eq!(seen.starts, [0, 1, 2, 2, 3, 4, 4]);
        assert_eq!((seen.coordinates, seen.back_factors), (vec![0, 2, 1, 1], vec![1.0, 1.0, 2.0, -1.0]));
    }

    #[test]
    fn rows_that_make_no_sense_are_refused() {
        assert!(matches!(Coordinates::new(2, 2, &[vec![(0, 1), (2, 1)]]), Err(Error::NoRow { row: 2, .. })));
        assert!(matches!(Coordinates::new(2, 2, &[vec![(6, 1)]]), Err(Error::NoRow { row: 6, .. })));
        assert!(matches!(Coordinates::new(2, 2, &[vec![]]), Err(Error::Empty { .. })));
    }
}
