//! The masks of sparse matrices: one list of places for each channel, and their union.
//!
//! `Omega = sum_k lambda_k A^k` lives on the union of the masks, so that one step forms it in as many operations as there are
//! parameters and applies it in as many as the union has places.

use ncde_simd::Float;

use crate::Error;

/// The masks of sparse matrices `A^1, ..., A^d`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    hidden: usize,
    /// Where each channel's parameters begin; one more at the end.
    offsets: Vec<usize>,
    /// For each parameter, its row and column, and its place in the union.
    entries: Vec<(u32, u32)>,
    slots: Vec<u32>,
    /// For each row, where its places in the union begin; one more at the end.
    rows: Vec<usize>,
    /// The column of each place.
    columns: Vec<u32>,
}

impl Pattern {
    /// From the entries `(row, column)` of each channel.
    ///
    /// # Errors
    /// If an entry lies outside the matrix or occurs twice, or there are no channels.
    pub fn new(hidden: usize, channels: &[Vec<(usize, usize)>]) -> Result<Self, Error> {
        let refuse = |problem: String| Err(Error::Structure { structure: "sparse", problem });
        if hidden == 0 || channels.is_empty() {
            return refuse(format!("{hidden} states and {} channels; at least 1 of each is needed", channels.len()));
        }
        let mut places = Vec::new();
        for (k, entries) in channels.iter().enumerate() {
            let mut sorted = entries.clone();
            sorted.sort_unstable();
            if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
                return refuse(format!("entry {:?} of channel {k} is listed twice", pair[0]));
            }
            if let Some(entry) = sorted.iter().find(|(r, c)| *r >= hidden || *c >= hidden) {
                return refuse(format!("entry {entry:?} of channel {k} lies outside a {hidden} x {hidden} matrix"));
            }
            places.append(&mut sorted);
        }
        places.sort_unstable();
        places.dedup();
        let mut rows = vec![0; hidden + 1];
        for &(r, _) in &places {
            rows[r + 1] += 1;
        }
        for r in 0..hidden {
            rows[r + 1] += rows[r];
        }
        let (mut offsets, mut slots, mut all) = (vec![0], Vec::new(), Vec::new());
        for entries in channels {
            for entry in entries {
                all.push((entry.0 as u32, entry.1 as u32));
                slots.push(places.partition_point(|place| place < entry) as u32);
            }
            offsets.push(slots.len());
        }
        let columns = places.iter().map(|&(_, c)| c as u32).collect();
        Ok(Self { hidden, offsets, entries: all, slots, rows, columns })
    }

    /// Independent masks: every entry of every channel is there with probability `hidden^epsilon / hidden`, which is
    /// `hidden^(1 + epsilon)` entries a channel on average. `uniform(i)` is the `i`-th number of a stream on [0, 1).
    ///
    /// # Errors
    /// If `epsilon` is not between 0 and 1.
    pub fn bernoulli(hidden: usize, channels: usize, epsilon: f64, uniform: impl Fn(u64) -> f64) -> Result<Self, Error> {
        if !(0.0..=1.0).contains(&epsilon) {
            let problem = format!("epsilon is {epsilon}; there are hidden^(1 + epsilon) entries, with epsilon between 0 and 1");
            return Err(Error::Structure { structure: "sparse", problem });
        }
        let keep = (hidden as f64).powf(epsilon - 1.0);
        let size = hidden * hidden;
        let mask = |k: usize| {
            let indices = (0..size).filter(|i| uniform((k * size + i) as u64) < keep);
            indices.map(|i| (i / hidden, i % hidden)).collect()
        };
        Self::new(hidden, &(0..channels).map(mask).collect::<Vec<_>>())
    }

    /// The number of states `H`.
    pub fn hidden(&self) -> usize {
        self.hidden
    }

    /// The number of channels `d`.
    pub fn channels(&self) -> usize {
        self.offsets.len() - 1
    }

    /// The number of places of the union.
    pub fn places(&self) -> usize {
        self.columns.len()
    }

    /// The parameters of channel `k`: where they are, and the place of each in the union.
    pub(crate) fn channel(&self, k: usize) -> (std::ops::Range<usize>, &[u32]) {
        let range = self.offsets[k]..self.offsets[k + 1];
        (range.clone(), &self.slots[range])
    }

    /// How many parameters there are.
    pub(crate) fn parameters(&self) -> usize {
        self.slots.len()
    }

    /// The places of row `r` in the union, and their columns.
    pub(crate) fn row(&self, r: usize) -> (std::ops::Range<usize>, &[u32]) {
        let range = self.rows[r]..self.rows[r + 1];
        (range.clone(), &self.columns[range])
    }

    /// `(row, column)` of the parameters of channel `k`.
    pub fn channel_entries(&self, k: usize) -> &[(u32, u32)] {
        &self.entries[self.offsets[k]..self.offsets[k + 1]]
    }

    /// `sqrt(||M||_1 ||M||_inf)`, a bound on the 2-norm of the matrix with these values at the places of the union.
    pub(crate) fn norm<T: Float>(&self, values: &[T]) -> f64 {
        let mut columns = vec![0.0; self.hidden];
        let mut widest = 0.0_f64;
        for r in 0..self.hidden {
            let (places, at) = self.row(r);
            let mut row = 0.0;
            for (x, &c) in values[places].iter().zip(at) {
                row += x.to_f64().abs();
                columns[c as usize] += x.to_f64().abs();
            }
            widest = widest.max(row);
        }
        (widest * columns.into_iter().fold(0.0, f64::max)).sqrt()
    }
}
