//! What a model is fed, computed once for every case: the first knot with the statics, and one row for each window.
//!
//! ```text
//! first = (knot_0, statics),   row_k = log S^N of the path over window k,   beside_k = (s * row_{k-1}, knot at its end, 1)   (slice)
//!                              row_k = (first, S^N of the path up to place k)                                        (signature)
//! ```
//!
//! The 1 is for the bias of the head's first layer: a sum over rows is cheaper in the matrix product than by itself.

use std::sync::Arc;

use burn::tensor::backend::Backend;
use burn::tensor::{Tensor, TensorData};
use ncde_data::Dataset;
use ncde_runtime::{Architecture, At, Preparation, Skip, SliceSpec};
use ncde_signature::{Interval, Online, Paths, Signature};

use super::Error;

/// Log-signatures are computed for so many knots at a time.
const KNOTS: usize = 1 << 18;

/// What a model is fed.
#[derive(Debug, Clone)]
pub(super) struct Features {
    /// Numbers in a first row, and in a row.
    pub(super) widths: [usize; 2],
    /// `s`: what coordinates are multiplied with on their way to the head.
    pub(super) skip: Vec<f32>,
    cases: Vec<Fed>,
}

#[derive(Debug, Clone, Default)]
struct Fed {
    first: Vec<f32>,
    rows: Vec<f32>,
    /// `[rows + 1, coordinates and knot and 1]`; before [`Features::look`] the knots alone.
    beside: Vec<f32>,
}

/// A batch of them.
#[derive(Debug, Clone)]
pub(super) struct Batch<B: Backend> {
    /// `[batch, first]`.
    pub(super) first: Tensor<B, 2>,
    /// `[batch, rows, width]`, padded.
    pub(super) rows: Tensor<B, 3>,
    /// `[batch, rows + 1, beside]`, padded with zeros.
    pub(super) beside: Tensor<B, 3>,
    /// `[batch, 1, rows + 1]`: `1 / (rows + 1)` for the places of a series, 0 for padding.
    pub(super) shares: Tensor<B, 3>,
    /// How many rows each series has; may be 0.
    pub(super) lengths: Arc<[usize]>,
}

impl Features {
    /// Of every case.
    pub(super) fn new(data: &Dataset, preparation: &Preparation, model: &Architecture, at: At) -> Result<Self, Error> {
        let (width, statics) = (preparation.width(), data.statics.len());
        let knots = |i: usize| -> Result<(Vec<f64>, Vec<f64>), Error> {
            let case = &data.cases[i];
            let mut track = preparation.start();
            let mut knots = Vec::with_capacity(case.len() * width);
            for (t, &time) in case.times.iter().enumerate() {
                let named = |e| Error::Unfit(format!("case `{}`: {e}", case.id));
                preparation.push(&mut track, time, case.row(t, data.channels.len())).map_err(named)?;
                knots.extend_from_slice(&track.knot);
            }
            let mut first = knots[..width].to_vec();
            first.extend(preparation.statics(&case.statics)?);
            Ok((first, knots))
        };
        match model {
            Architecture::Slice(slice) => {
                let (plan, transform) = slice.plan(width)?;
                let mut cases = vec![Fed::default(); data.cases.len()];
                let mut next = 0;
                while next < cases.len() {
                    let (mut all, mut lengths, start) = (Vec::new(), Vec::new(), next);
                    while next < cases.len() && (next == start || all.len() < KNOTS * width) {
                        let (first, knots) = knots(next)?;
                        cases[next].first = narrow(&first);
                        lengths.push(knots.len() / width);
                        all.extend(knots.chunks_exact(width).flat_map(|knot| slice.joint(knot)));
                        next += 1;
                    }
                    windows(&all, &lengths, width, slice, &transform, &mut cases[start..next])?;
                }
                Ok(Self { widths: [width + statics, plan.coordinates()], skip: Vec::new(), cases })
            }
            Architecture::Signature(signature) => {
                let transform = Arc::new(Signature::new(width, signature.depth)?);
                let mut online = Online::new(&transform);
                let mut cases = Vec::with_capacity(data.cases.len());
                for i in 0..data.cases.len() {
                    let (first, knots) = knots(i)?;
                    let (first, mut rows) = (narrow(&first), Vec::new());
                    online.clear();
                    let last = knots.len() / width - 1;
                    for (t, knot) in knots.chunks_exact(width).enumerate() {
                        online.push(knot)?;
                        if t == last || at == At::Steps {
                            rows.extend_from_slice(&first);
                            rows.extend(narrow(&online.value()?));
                        }
                    }
                    cases.push(Fed { first, rows, beside: Vec::new() });
                }
                Ok(Self { widths: [width + statics, width + statics + transform.len()], skip: Vec::new(), cases })
            }
        }
    }

    /// Makes what the head sees beside a state, where it sees something: the coordinates at `places`, scaled by their size in these cases.
    pub(super) fn look(&mut self, train: &[usize], places: &[usize]) {
        let (mut count, mut squares) = (0.0, vec![0.0; places.len()]);
        for row in train.iter().flat_map(|&i| self.cases[i].rows.chunks_exact(self.widths[1])) {
            count += 1.0;
            squares.iter_mut().zip(places).for_each(|(sum, &place)| *sum += f64::from(row[place]) * f64::from(row[place]));
        }
        let factor = |sum: f64| if sum > 0.0 { (f64::max(count, 1.0) / sum).sqrt() as f32 } else { 1.0 };
        self.skip = squares.into_iter().map(factor).collect();
        for case in &mut self.cases {
            let places_of = case.rows.len() / self.widths[1] + 1;
            let knot = case.beside.len() / places_of;
            let knots = std::mem::take(&mut case.beside);
            for k in 0..places_of {
                let row = k.checked_sub(1).map(|k| &case.rows[k * self.widths[1]..]);
                let scaled = places.iter().zip(&self.skip).map(|(&place, s)| row.map_or(0.0, |row| s * row[place]));
                case.beside.extend(scaled);
                case.beside.extend_from_slice(&knots[k * knot..(k + 1) * knot]);
                case.beside.push(1.0);
            }
        }
    }

    /// How many rows a case has.
    pub(super) fn rows(&self, case: usize) -> usize {
        self.cases[case].rows.len() / self.widths[1]
    }

    /// The most rows of a case.
    pub(super) fn longest(&self) -> usize {
        (0..self.cases.len()).map(|case| self.rows(case)).max().unwrap_or(0)
    }

    /// All rows of these cases.
    pub(super) fn rows_of(&self, cases: &[usize]) -> impl Iterator<Item = &[f32]> {
        cases.iter().flat_map(|&i| self.cases[i].rows.chunks_exact(self.widths[1]))
    }

    /// A batch.
    pub(super) fn batch<B: Backend>(&self, cases: &[usize], device: &B::Device) -> Batch<B> {
        let [first_width, width] = self.widths;
        let lengths: Arc<[usize]> = cases.iter().map(|&i| self.rows(i)).collect();
        // A tensor has at least one row: a series without any takes one of zeros that is not read.
        let longest = lengths.iter().copied().max().unwrap_or(0).max(1);
        let each = cases.first().map_or(0, |&i| self.cases[i].beside.len() / (self.rows(i) + 1));
        let mut first = Vec::with_capacity(cases.len() * first_width);
        let mut rows = Vec::with_capacity(cases.len() * longest * width);
        let mut beside = Vec::with_capacity(cases.len() * (longest + 1) * each);
        let mut shares = vec![0.0_f32; cases.len() * (longest + 1)];
        for (b, &i) in cases.iter().enumerate() {
            first.extend_from_slice(&self.cases[i].first);
            rows.extend_from_slice(&self.cases[i].rows);
            rows.resize((b + 1) * longest * width, 0.0);
            beside.extend_from_slice(&self.cases[i].beside);
            beside.resize((b + 1) * (longest + 1) * each, 0.0);
            let own = lengths[b] + 1;
            shares[b * (longest + 1)..][..own].fill(1.0 / own as f32);
        }
        let batch = cases.len();
        Batch {
            first: Tensor::from_data(TensorData::new(first, [batch, first_width]), device),
            rows: Tensor::from_data(TensorData::new(rows, [batch, longest, width]), device),
            beside: Tensor::from_data(TensorData::new(beside, [batch, longest + 1, each]), device),
            shares: Tensor::from_data(TensorData::new(shares, [batch, 1, longest + 1]), device),
            lengths,
        }
    }
}

/// The log-signatures of the windows of some paths, which lie one after the other.
fn windows(
    knots: &[f64],
    lengths: &[usize],
    width: usize,
    slice: &SliceSpec,
    transform: &Signature,
    out: &mut [Fed],
) -> Result<(), Error> {
    let joint = width + slice.inputs(width);
    let paths = Paths::ragged(knots, lengths, joint)?;
    let mut intervals = Vec::new();
    for (path, &length) in lengths.iter().enumerate() {
        let starts = (0..length - 1).step_by(slice.window);
        intervals.extend(starts.map(|start| Interval { path, start, end: (start + slice.window).min(length - 1) }));
    }
    if slice.skip != Skip::None {
        for (path, own) in out.iter_mut().enumerate() {
            own.beside.extend(narrow(&paths.path(path)[..width]));
        }
    }
    if intervals.is_empty() {
        return Ok(());
    }
    let values = transform.intervals(&paths, &intervals)?;
    for (interval, row) in intervals.iter().zip(values.chunks_exact(transform.len())) {
        let own = &mut out[interval.path];
        own.rows.extend(row.iter().map(|&x| x as f32));
        if slice.skip != Skip::None {
            own.beside.extend(narrow(&paths.path(interval.path)[interval.end * joint..][..width]));
        }
    }
    Ok(())
}

fn narrow(values: &[f64]) -> Vec<f32> {
    values.iter().map(|&x| x as f32).collect()
}
