//! The rows of a batch of series, and where they lie.
//!
//! ```text
//! values[b] = (row_0, ..., row_{n_b - 1}, padding up to the trunk;  branch_0, ..., branch_{m - 1})
//! ```
//!
//! The rows of the *trunk* follow each other. A *branch* is a row that follows a row of the trunk, its parent, but that nothing follows: what is known in
//! the middle of a window, where an output is asked for. Layers that treat every row by itself need not tell them apart.

use std::sync::Arc;

use burn_tensor::backend::Backend;
use burn_tensor::{Bool, Int, Tensor};

use super::Error;
use crate::operation::put;

/// The rows of a batch of series.
#[derive(Debug, Clone)]
pub struct Rows<B: Backend> {
    /// `[batch, trunk + branches, width]`.
    pub values: Tensor<B, 3>,
    /// Where they lie.
    pub places: Arc<Places>,
}

/// Where the rows of a batch lie.
#[derive(Debug, Clone, PartialEq)]
pub struct Places {
    /// How many rows of the trunk each series has, at least 1.
    pub lengths: Vec<usize>,
    /// How many the trunk has with padding.
    pub trunk: usize,
    /// The time of each place, `[batch, trunk + branches]`.
    pub times: Vec<f64>,
    /// The rows beside the trunk.
    pub branches: Option<Branches>,
}

/// Rows that nothing follows, as many for each series; padding follows row 0 and is not read.
#[derive(Debug, Clone, PartialEq)]
pub struct Branches {
    /// How many each series has.
    pub count: usize,
    /// The row of the trunk that each one follows, `[batch, count]`.
    pub parents: Vec<usize>,
}

impl Places {
    /// Series of these lengths at times 0, 1, 2, ...; the trunk is as long as the longest.
    pub fn regular(lengths: &[usize]) -> Self {
        let trunk = lengths.iter().copied().max().unwrap_or(1).max(1);
        let times = lengths.iter().flat_map(|_| (0..trunk).map(|t| t as f64)).collect();
        Self { lengths: lengths.to_vec(), trunk, times, branches: None }
    }

    /// How many series.
    pub fn batch(&self) -> usize {
        self.lengths.len()
    }

    /// How many rows a series has with padding.
    pub fn count(&self) -> usize {
        self.trunk + self.branches.as_ref().map_or(0, |branches| branches.count)
    }

    /// The time since the row before, for the rows of the trunk from the second on and then for branches: `[batch, count - 1]`. Past the end of
    /// a series no time passes.
    pub(super) fn spans(&self) -> Vec<f64> {
        let count = self.count();
        let mut spans = Vec::with_capacity(self.times.len());
        for (b, times) in self.times.chunks_exact(count).enumerate() {
            let length = self.lengths[b];
            spans.extend((1..self.trunk).map(|t| if t < length { times[t] - times[t - 1] } else { 0.0 }));
            if let Some(branches) = &self.branches {
                let parents = &branches.parents[b * branches.count..(b + 1) * branches.count];
                spans.extend(times[self.trunk..].iter().zip(parents).map(|(time, &parent)| time - times[parent]));
            }
        }
        spans
    }
}

/// Rows in the order in which they follow each other, each branch behind its parent.
#[derive(Debug)]
pub(super) struct InOrder {
    /// The place that each comes from, among those of all series.
    from: Vec<i64>,
    /// Where each place went.
    to: Vec<i64>,
    /// Which are branches.
    pub(super) aside: Vec<bool>,
}

impl Places {
    /// None where there are no branches, and rows are in order.
    pub(super) fn in_order(&self) -> Option<InOrder> {
        let branches = self.branches.as_ref()?;
        let (count, mut from) = (self.count(), Vec::with_capacity(self.times.len()));
        for (b, parents) in parents_of(branches, self.batch()).enumerate() {
            let mut of_branches: Vec<usize> = (0..branches.count).collect();
            of_branches.sort_by_key(|&i| parents[i]);
            let mut next = of_branches.into_iter().peekable();
            for t in 0..self.trunk {
                from.push((b * count + t) as i64);
                while let Some(i) = next.next_if(|&i| parents[i] == t) {
                    from.push((b * count + self.trunk + i) as i64);
                }
            }
        }
        let mut to = vec![0; from.len()];
        from.iter().enumerate().for_each(|(place, &from)| to[from as usize] = place as i64);
        let aside = from.iter().map(|&from| from as usize % count >= self.trunk).collect();
        Some(InOrder { from, to, aside })
    }

    /// The place that a place of `[batch, trunk + branches]` follows, if it is not the first of its series.
    pub(super) fn parent(&self, place: usize) -> Option<usize> {
        let (series, row) = (place / self.count(), place % self.count());
        let parent = match &self.branches {
            Some(branches) if row >= self.trunk => branches.parents[series * branches.count + row - self.trunk],
            _ => row.checked_sub(1)?,
        };
        Some(series * self.count() + parent)
    }

    /// The time before each row in gaps, `[batch, trunk + branches]`; 1 before the first, and without `gap` before all.
    pub(super) fn steps(&self, gap: impl Into<Option<f64>>) -> Vec<f64> {
        let Some(gap) = gap.into() else { return vec![1.0; self.times.len()] };
        let (spans, later) = (self.spans(), self.count() - 1);
        let series = |b: usize| std::iter::once(1.0).chain(spans[b * later..][..later].iter().map(move |span| span / gap));
        (0..self.batch()).flat_map(series).collect()
    }
}

fn parents_of(branches: &Branches, batch: usize) -> impl Iterator<Item = &[usize]> {
    (0..batch).map(|b| &branches.parents[b * branches.count..][..branches.count])
}

impl InOrder {
    /// Rows, `[batch, rows, width]`, in order.
    pub(super) fn sorted<B: Backend>(&self, rows: Tensor<B, 3>) -> Tensor<B, 3> {
        picked(rows, &self.from)
    }

    /// One number of each row, `[batch, rows]`, in order.
    pub(super) fn sorted_numbers(&self, numbers: &[f64]) -> Vec<f64> {
        self.from.iter().map(|&from| numbers[from as usize]).collect()
    }

    /// The way back.
    pub(super) fn unsorted<B: Backend>(&self, rows: Tensor<B, 3>) -> Tensor<B, 3> {
        picked(rows, &self.to)
    }
}

fn picked<B: Backend>(rows: Tensor<B, 3>, from: &[i64]) -> Tensor<B, 3> {
    let ([batch, count, width], device) = (rows.dims(), rows.device());
    rows.reshape([batch * count, width]).select(0, integers(from.to_vec(), &device)).reshape([batch, count, width])
}

impl<B: Backend> Rows<B> {
    /// Other values at the same places.
    #[must_use]
    pub fn with(&self, values: Tensor<B, 3>) -> Self {
        Self { values, places: self.places.clone() }
    }

    /// The rows of the trunk.
    pub fn trunk(&self) -> Tensor<B, 3> {
        if self.places.branches.is_none() { self.values.clone() } else { self.values.clone().narrow(1, 0, self.places.trunk) }
    }

    /// The branches, and for each series the rows of the trunk among `of`, `[batch, trunk, width]`, that they follow.
    pub fn branches(&self, of: &Tensor<B, 3>) -> Option<(Tensor<B, 3>, Tensor<B, 3>)> {
        let branches = self.places.branches.as_ref()?;
        let rows = self.values.clone().narrow(1, self.places.trunk, branches.count);
        let [batch, trunk, width] = of.dims();
        let parents = branches.parents.iter().enumerate().map(|(i, parent)| (i / branches.count * trunk + parent) as i64);
        let parents: Tensor<B, 1, Int> = integers(parents.collect(), &of.device());
        let before = of.clone().reshape([batch * trunk, width]).select(0, parents);
        Some((rows, before.reshape([batch, branches.count, width])))
    }

    /// A constant of the same number type and on the same device.
    pub(super) fn constant<const D: usize>(&self, values: Vec<f64>, shape: [usize; D]) -> Tensor<B, D> {
        put(values, shape, (&self.values.device(), self.values.dtype()))
    }

    /// Refuses places that are not those of the values.
    pub(super) fn check(&self) -> Result<(), Error> {
        let ([batch, count, _], places) = (self.values.dims(), &*self.places);
        let wanted = [places.batch(), places.count()];
        let lengths = places.lengths.iter().all(|length| (1..=places.trunk).contains(length));
        let parents = places.branches.as_ref().is_none_or(|branches| {
            branches.parents.len() == batch * branches.count && branches.parents.iter().all(|&parent| parent < places.trunk)
        });
        if [batch, count] == wanted && lengths && parents && places.times.len() == batch * count {
            return Ok(());
        }
        let wanted = format!(
            "[{}, {}] of them and of times, every length from 1 to {}, and a row of the trunk before each branch",
            wanted[0], wanted[1], places.trunk
        );
        Err(Error::Shape { operation: "layers", what: "the batch of rows", seen: format!("[{batch}, {count}] rows"), wanted })
    }
}

/// Some places along an axis. All of them are the tensor itself: the reverse pass of a part fills zeros in around it.
pub(super) fn part<B: Backend>(x: Tensor<B, 3>, axis: usize, start: usize, count: usize) -> Tensor<B, 3> {
    if x.dims()[axis] == count { x } else { x.narrow(axis, start, count) }
}

/// A tensor of whole numbers.
pub(super) fn integers<B: Backend>(values: Vec<i64>, device: &B::Device) -> Tensor<B, 1, Int> {
    let count = values.len();
    put(values, [count], device)
}

/// Sets everything after the length of each series to 0, up to the end of the trunk, `[batch, steps, channels]`; also what is not a number.
pub(super) fn clear_padding<B: Backend>(values: Tensor<B, 3>, lengths: &[usize], trunk: usize) -> Tensor<B, 3> {
    let [batch, steps, channels] = values.dims();
    if lengths.iter().all(|&length| length >= trunk) {
        return values;
    }
    let past: Vec<bool> = lengths.iter().flat_map(|&length| (0..steps).map(move |t| t >= length && t < trunk)).collect();
    let past = put::<B, Bool, _, 3>(past, [batch, steps, 1], &values.device());
    values.mask_fill(past.expand([batch, steps, channels]), 0.0)
}
