//! What a model is fed, computed once for every case: the first knot with the statics, and one row for each window.
//!
//! ```text
//! first = (knot_0, statics),   row_k = log S^N of the path over window k        (slice)
//!                              row_k = (first, S^N of the path up to place k)   (signature)
//! ```

use std::sync::Arc;

use burn::tensor::backend::Backend;
use burn::tensor::{Tensor, TensorData};
use ncde_data::Dataset;
use ncde_runtime::{Architecture, At, Preparation};
use ncde_signature::{Interval, Online, Paths, Signature};

use super::Error;

/// Log-signatures are computed for so many knots at a time.
const KNOTS: usize = 1 << 18;

/// What a model is fed.
#[derive(Debug, Clone)]
pub(super) struct Features {
    /// Numbers in a first row, and in a row.
    pub(super) widths: [usize; 2],
    cases: Vec<Fed>,
}

#[derive(Debug, Clone, Default)]
struct Fed {
    first: Vec<f32>,
    rows: Vec<f32>,
}

/// A batch of them.
#[derive(Debug, Clone)]
pub(super) struct Batch<B: Backend> {
    /// `[batch, first]`.
    pub(super) first: Tensor<B, 2>,
    /// `[batch, rows, width]`, padded.
    pub(super) rows: Tensor<B, 3>,
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
                    while next < cases.len() && (next == start || all.len() / width < KNOTS) {
                        let (first, knots) = knots(next)?;
                        cases[next].first = narrow(&first);
                        lengths.push(knots.len() / width);
                        all.extend(knots);
                        next += 1;
                    }
                    windows(&all, &lengths, width, slice.window, &transform, &mut cases[start..next])?;
                }
                Ok(Self { widths: [width + statics, plan.coordinates()], cases })
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
                    cases.push(Fed { first, rows });
                }
                Ok(Self { widths: [width + statics, width + statics + transform.len()], cases })
            }
        }
    }

    /// How many rows a case has.
    pub(super) fn rows(&self, case: usize) -> usize {
        self.cases[case].rows.len() / self.widths[1]
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
        let mut first = Vec::with_capacity(cases.len() * first_width);
        let mut rows = Vec::with_capacity(cases.len() * longest * width);
        for (b, &i) in cases.iter().enumerate() {
            first.extend_from_slice(&self.cases[i].first);
            rows.extend_from_slice(&self.cases[i].rows);
            rows.resize((b + 1) * longest * width, 0.0);
        }
        Batch {
            first: Tensor::from_data(TensorData::new(first, [cases.len(), first_width]), device),
            rows: Tensor::from_data(TensorData::new(rows, [cases.len(), longest, width]), device),
            lengths,
        }
    }
}

/// The log-signatures of the windows of some paths, which lie one after the other.
fn windows(
    knots: &[f64],
    lengths: &[usize],
    width: usize,
    window: usize,
    transform: &Signature,
    out: &mut [Fed],
) -> Result<(), Error> {
    let paths = Paths::ragged(knots, lengths, width)?;
    let mut intervals = Vec::new();
    for (path, &length) in lengths.iter().enumerate() {
        let starts = (0..length - 1).step_by(window);
        intervals.extend(starts.map(|start| Interval { path, start, end: (start + window).min(length - 1) }));
    }
    if intervals.is_empty() {
        return Ok(());
    }
    let values = transform.intervals(&paths, &intervals)?;
    for (interval, row) in intervals.iter().zip(values.chunks_exact(transform.len())) {
        out[interval.path].rows.extend(row.iter().map(|&x| x as f32));
    }
    Ok(())
}

fn narrow(values: &[f64]) -> Vec<f32> {
    values.iter().map(|&x| x as f32).collect()
}
