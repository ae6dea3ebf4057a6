//! Where the numbers of a sparse matrix lie: `k` of a state, row after row of `H`, so that neighbouring units read neighbouring numbers.
//!
//! By rows, the numbers of state `r` are those of row `r`, and a table says which column each belongs to; by columns it is the other way round. Both hold the union of the masks of all channels, so
//! that `Omega` is a product of matrices.

use crate::error::Error;

/// The numbers by rows or by columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Side {
    /// The most numbers of a state.
    pub(crate) deep: usize,
    /// The other state of each number, `[deep, H]`.
    pub(crate) table: Vec<u32>,
    /// The place of each parameter among the matrices of all channels, `[channels, deep, H]`.
    pub(crate) places: Vec<u32>,
}

/// The entries of sparse matrices, one list for each channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entries {
    pub(crate) hidden: usize,
    pub(crate) channels: usize,
    pub(crate) rows: Side,
    pub(crate) columns: Side,
}

impl Entries {
    /// From the `(row, column)` of the parameters of each channel.
    ///
    /// # Errors
    /// If an entry lies outside the matrix or is listed twice, or there are more than kernels can count.
    pub fn new(hidden: usize, channels: &[&[(u32, u32)]]) -> Result<Self, Error> {
        if hidden == 0 || channels.is_empty() {
            return Err(Error::Empty { what: if hidden == 0 { "the number of states" } else { "the number of channels" } });
        }
        let all = || channels.iter().flat_map(|list| list.iter().copied());
        if let Some(seen) = all().map(|(r, c)| r.max(c) as usize).find(|&seen| seen >= hidden) {
            let (what, fix) = ("the row or column of an entry", "count rows and columns from 0");
            return Err(Error::TooLarge { what, seen, most: hidden - 1, fix });
        }
        let rows = Side::new(hidden, channels, |(r, c)| (r as usize, c))?;
        let columns = Side::new(hidden, channels, |(r, c)| (c as usize, r))?;
        let mut places = rows.places.clone();
        places.sort_unstable();
        match places.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => {
                Err(Error::Twice { what: "an entry of a sparse matrix", channel: pair[0] as usize / (rows.deep * hidden) })
            }
            None => Ok(Self { hidden, channels: channels.len(), rows, columns }),
        }
    }

    /// How many parameters there are.
    pub fn parameters(&self) -> usize {
        self.rows.places.len()
    }

    /// The place of each parameter among full matrices, `[channels, H, H]`.
    pub(crate) fn full_places(&self) -> Vec<u32> {
        let (hidden, matrix) = (self.hidden, self.rows.deep * self.hidden);
        let full = |&place: &u32| {
            let (channel, number) = (place as usize / matrix, place as usize % matrix);
            ((channel * hidden + number % hidden) * hidden) as u32 + self.rows.table[number]
        };
        self.rows.places.iter().map(full).collect()
    }
}

impl Side {
    /// `split` has the state of an entry, and the other one.
    fn new(hidden: usize, channels: &[&[(u32, u32)]], split: impl Fn((u32, u32)) -> (usize, u32)) -> Result<Self, Error> {
        let mut others = vec![Vec::new(); hidden];
        for &entry in channels.iter().copied().flatten() {
            let (state, other) = split(entry);
            others[state].push(other);
        }
        for list in &mut others {
            list.sort_unstable();
            list.dedup();
        }
        let deep = others.iter().map(Vec::len).max().unwrap_or(0).max(1);
        let numbers = channels.len() * deep * hidden;
        if numbers > u32::MAX as usize {
            let (what, fix) = ("the number of places of all channels", "take fewer states, or `--device cpu`");
            return Err(Error::TooLarge { what, seen: numbers, most: u32::MAX as usize, fix });
        }
        let mut table = vec![0; deep * hidden];
        for (state, others) in others.iter().enumerate() {
            others.iter().enumerate().for_each(|(k, &other)| table[k * hidden + state] = other);
        }
        let mut places = Vec::with_capacity(channels.iter().map(|list| list.len()).sum());
        for (channel, &entries) in channels.iter().enumerate() {
            for &entry in entries {
                let (state, other) = split(entry);
                let k = others[state].partition_point(|&before| before < other);
                places.push(((channel * deep + k) * hidden + state) as u32);
            }
        }
        Ok(Self { deep, table, places })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_parameter_has_a_place_that_names_its_row_and_column() {
        let channels: [&[(u32, u32)]; 3] = [&[(2, 0), (0, 1), (2, 2)], &[], &[(2, 1), (0, 1)]];
        let entries = Entries::new(3, &channels).unwrap();
        assert_eq!((entries.parameters(), entries.rows.deep, entries.columns.deep), (5, 3, 2));
        let mut at = 0;
        for (channel, list) in channels.iter().enumerate() {
            for &(r, c) in *list {
                for (side, state, other) in [(&entries.rows, r, c), (&entries.columns, c, r)] {
                    let place = side.places[at] as usize;
                    assert_eq!(place / (side.deep * 3), channel);
                    assert_eq!(place % 3, state as usize);
                    assert_eq!(side.table[place % (side.deep * 3)], other);
                }
                assert_eq!(entries.full_places()[at], (channel as u32 * 3 + r) * 3 + c);
                at += 1;
            }
        }
    }

    #[test]
    fn entries_outside_or_twice_are_refused() {
        assert!(matches!(Entries::new(2, &[&[(0, 2)]]), Err(Error::TooLarge { seen: 2, most: 1, .. })));
        assert!(matches!(Entries::new(2, &[&[(0, 1)], &[(1, 1), (1, 1)]]), Err(Error::Twice { channel: 1, .. })));
        assert!(matches!(Entries::new(0, &[&[]]), Err(Error::Empty { .. })));
        assert!(matches!(Entries::new(2, &[]), Err(Error::Empty { .. })));
    }
}
