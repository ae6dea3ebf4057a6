//! What a model is fed, computed once for every case: the first knot with the statics, and one row for each window.
//!
//! ```text
//! first = (knot_0, statics),   row_k = log S^N of the path over window k,   beside_k = (s * row_{k-1}, knot at its end, 1)
//!                              row_k = the increments of window k, where its log-signature would be far larger
//!                              row_k = (m, x), an increment and the one before it                                    (ncde)
//!                              row_k = (first, S^N of the path up to place k)                                        (signature)
//! ```
//!
//! The 1 is for the bias of the head's first layer: a sum over rows is cheaper in the matrix product than by itself.

use std::sync::Arc;

use burn::tensor::backend::Backend;
use burn::tensor::{Tensor, TensorData};
use ncde_data::Dataset;
use ncde_runtime::{Architecture, At, NeuralKind, NeuralSpec, Preparation, ReadSpec, Skip, SliceSpec};
use ncde_signature::{Interval, Online, Paths, Signature};
use rayon::prelude::*;

use super::Error;
use super::goal::ends;
use crate::model::short_windows_apply;
use crate::neural::{Outputs, Schedule};
use crate::random::Stream;

/// Log-signatures are computed for so many knots at a time.
const KNOTS: usize = 1 << 18;

/// A coordinate this much smaller than the largest is rounding.
const NOISE: f64 = 1e-10;

/// What a model is fed.
#[derive(Debug, Clone)]
pub(super) struct Features {
    /// Numbers in a first row, and in a row.
    pub(super) widths: [usize; 2],
    /// `s`: what coordinates are multiplied with on their way to the head.
    pub(super) skip: Vec<f32>,
    /// Where rows are the increments of windows.
    short: Option<Short>,
    /// Of a model whose rows become controls of a solver.
    neural: Option<NeuralSpec>,
    cases: Vec<Fed>,
}

#[derive(Debug, Clone, Default)]
struct Fed {
    first: Vec<f32>,
    rows: Vec<f32>,
    /// `[rows + 1, coordinates and knot and 1]`; before [`Features::look`] the knots alone.
    beside: Vec<f32>,
}

/// Rows that are the increments of windows.
#[derive(Debug, Clone, Copy)]
pub(super) struct Short {
    /// How many in each.
    pub(super) window: usize,
    /// What they are multiplied with.
    pub(super) scale: f64,
}

/// A batch of them.
#[derive(Debug, Clone)]
pub(super) struct Batch<B: Backend> {
    /// `[batch, first]`.
    pub(super) first: Tensor<B, 2>,
    /// `[batch, rows, width]`, padded; for a neural model the controls that are made of them.
    pub(super) rows: Tensor<B, 3>,
    /// Where rows are the increments of windows.
    pub(super) short: Option<Short>,
    /// The steps of the solver that read these controls.
    pub(super) schedule: Option<Arc<Schedule>>,
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
        let knots = |i: usize| -> Result<Knots, Error> {
            let case = &data.cases[i];
            let mut track = preparation.start();
            let mut knots = Vec::with_capacity(case.len() * width);
            for (t, &time) in case.times.iter().enumerate() {
                let named = |source| Error::Case { id: case.id.clone(), source };
                preparation.push(&mut track, time, case.row(t, data.channels.len())).map_err(named)?;
                knots.extend_from_slice(&track.knot);
            }
            let mut first = knots[..width].to_vec();
            first.extend(preparation.statics(&case.statics)?);
            Ok((first, knots))
        };
        let of = |numbers: usize, cases: Vec<Fed>| Self {
            widths: [width + statics, numbers],
            skip: Vec::new(),
            short: None,
            neural: if let Architecture::Neural(neural) = model { Some(neural.clone()) } else { None },
            cases,
        };
        match model {
            Architecture::Slice(slice) if short(slice, width)? => {
                let increments = |i: usize| {
                    let (first, knots) = knots(i)?;
                    Ok(short_windows(&first, &knots, width, slice))
                };
                let cases = (0..data.cases.len()).map(increments).collect::<Result<_, Error>>()?;
                let short = Some(Short { window: slice.window, scale: slice.scale });
                Ok(Self { short, ..of(slice.window * width, cases) })
            }
            Architecture::Slice(slice) => {
                let (plan, transform) = slice.plan(width)?;
                let cut = Cut { width, window: slice.window, scale: slice.scale, transform, read: &slice.read };
                Ok(of(plan.coordinates(), cut.all(data.cases.len(), knots)?))
            }
            Architecture::Neural(neural) if neural.kind == NeuralKind::Ncde => {
                let increments = |i: usize| {
                    let (first, knots) = knots(i)?;
                    Ok(increments(&first, &knots, &data.cases[i].times, width, neural.read.skip))
                };
                Ok(of(2 * width, (0..data.cases.len()).map(increments).collect::<Result<_, Error>>()?))
            }
            Architecture::Neural(neural) => {
                let transform = Arc::new(neural.log_signature(width)?);
                let numbers = transform.len();
                let cut = Cut { width, window: neural.window, scale: 1.0, transform, read: &neural.read };
                Ok(of(numbers, cut.all(data.cases.len(), knots)?))
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
                Ok(of(width + statics + transform.len(), cases))
            }
        }
    }

    /// Makes what the head sees beside a state, where it sees something: the coordinates at `places`, scaled by their size in these cases.
    pub(super) fn look(&mut self, train: &[usize], places: &[usize]) {
        let (mut count, mut squares) = (0.0, vec![0.0; places.len()]);
        for row in train.iter().flat_map(|&i| self.cases[i].rows.chunks_exact(self.widths[1])) {
            count += 1.0;
            squares.iter_mut().zip(places).for_each(|(sum, &place)| *sum += f64::from(self.at(row, place)).powi(2));
        }
        // Some coordinates vanish but for rounding, such as words of one letter in an expanded logarithm: these must not be blown up.
        let noise = NOISE * NOISE * squares.iter().copied().fold(0.0, f64::max);
        let factor = |sum: f64| if sum > noise { (f64::max(count, 1.0) / sum).sqrt() as f32 } else { 0.0 };
        let skip: Vec<f32> = squares.into_iter().map(factor).collect();
        let (width, increments) = (self.widths[1], self.increments());
        let at = |row: &[f32], place: usize| coordinate(&row[..width], increments, place);
        for case in &mut self.cases {
            let places_of = case.rows.len() / width + 1;
            let knot = case.beside.len() / places_of;
            let knots = std::mem::take(&mut case.beside);
            for k in 0..places_of {
                let row = k.checked_sub(1).map(|k| &case.rows[k * width..]);
                let scaled = places.iter().zip(&skip).map(|(&place, s)| row.map_or(0.0, |row| s * at(row, place)));
                case.beside.extend(scaled);
                case.beside.extend_from_slice(&knots[k * knot..(k + 1) * knot]);
                case.beside.push(1.0);
            }
        }
        self.skip = skip;
    }

    /// A coordinate of a window.
    fn at(&self, row: &[f32], place: usize) -> f32 {
        coordinate(row, self.increments(), place)
    }

    /// How many parts a row is the sum of.
    fn increments(&self) -> usize {
        self.short.map_or(1, |short| short.window)
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
        // Log-signatures of many channels are tens of megabytes: all cores copy.
        let mut rows = vec![0.0_f32; cases.len() * longest * width];
        rows.par_chunks_exact_mut(longest * width).zip(cases).for_each(|(out, &i)| {
            let own = &self.cases[i].rows;
            out[..own.len()].copy_from_slice(own);
        });
        let mut beside = Vec::with_capacity(cases.len() * (longest + 1) * each);
        let mut shares = vec![0.0_f32; cases.len() * (longest + 1)];
        for (b, &i) in cases.iter().enumerate() {
            first.extend_from_slice(&self.cases[i].first);
            beside.extend_from_slice(&self.cases[i].beside);
            beside.resize((b + 1) * (longest + 1) * each, 0.0);
            let own = lengths[b] + 1;
            shares[b * (longest + 1)..][..own].fill(1.0 / own as f32);
        }
        let batch = cases.len();
        let (rows, each_row, width, schedule) = match &self.neural {
            None => (rows, 1, width, None),
            Some(neural) => {
                let mut controls = Vec::with_capacity(rows.len() / width * neural.rows() * width);
                rows.chunks_exact(width).for_each(|numbers| neural.control(numbers, &mut controls));
                let width = controls.len() / (batch * longest * neural.rows());
                (controls, neural.rows(), width, Some(Arc::new(schedule(neural, &lengths, longest))))
            }
        };
        Batch {
            first: Tensor::from_data(TensorData::new(first, [batch, first_width]), device),
            rows: Tensor::from_data(TensorData::new(rows, [batch, longest * each_row, width]), device),
            short: self.short,
            schedule,
            beside: Tensor::from_data(TensorData::new(beside, [batch, longest + 1, each]), device),
            shares: Tensor::from_data(TensorData::new(shares, [batch, 1, longest + 1]), device),
            lengths,
        }
    }
}

/// The first row of a case, and its knots one after the other.
type Knots = (Vec<f64>, Vec<f64>);

/// How paths are cut into windows.
struct Cut<'a> {
    width: usize,
    window: usize,
    scale: f64,
    transform: Arc<Signature>,
    read: &'a ReadSpec,
}

impl Cut<'_> {
    /// The log-signatures of all cases, a good number of them at a time.
    fn all(&self, count: usize, knots: impl Fn(usize) -> Result<Knots, Error>) -> Result<Vec<Fed>, Error> {
        let mut cases = vec![Fed::default(); count];
        let mut next = 0;
        while next < cases.len() {
            let (mut all, mut lengths, start) = (Vec::new(), Vec::new(), next);
            while next < cases.len() && (next == start || all.len() < KNOTS * self.width) {
                let (first, knots) = knots(next)?;
                cases[next].first = narrow(&first);
                lengths.push(knots.len() / self.width);
                all.extend_from_slice(&knots);
                next += 1;
            }
            self.windows(&all, &lengths, &mut cases[start..next])?;
        }
        Ok(cases)
    }

    /// The log-signatures of the windows of some paths, which lie one after the other.
    fn windows(&self, knots: &[f64], lengths: &[usize], out: &mut [Fed]) -> Result<(), Error> {
        let width = self.width;
        let paths = Paths::ragged(knots, lengths, width)?;
        let mut intervals = Vec::new();
        for (path, &length) in lengths.iter().enumerate() {
            let starts = (0..length - 1).step_by(self.window);
            intervals.extend(starts.map(|start| Interval { path, start, end: (start + self.window).min(length - 1) }));
        }
        let look = self.read.skip != Skip::None;
        if look {
            for (path, own) in out.iter_mut().enumerate() {
                own.beside.extend(narrow(&paths.path(path)[..width]));
            }
        }
        if intervals.is_empty() {
            return Ok(());
        }
        let values = self.transform.intervals(&paths, &intervals)?;
        for (interval, row) in intervals.iter().zip(values.chunks_exact(self.transform.len())) {
            let own = &mut out[interval.path];
            own.rows.extend(row.iter().map(|&x| (x * self.scale) as f32));
            if look {
                own.beside.extend(narrow(&paths.path(interval.path)[interval.end * width..][..width]));
            }
        }
        Ok(())
    }
}

/// A coordinate of a window: of its log-signature, or of the sum of its increments.
fn coordinate(row: &[f32], increments: usize, place: usize) -> f32 {
    row.chunks_exact(row.len() / increments).map(|part| part[place]).sum()
}

/// Whether the windows of a model are fed as increments, and the head sees no more than their sum.
pub(super) fn short(slice: &SliceSpec, width: usize) -> Result<bool, Error> {
    let field = slice.structure.field(slice.hidden, width, &Stream::from_key(slice.masks))?;
    let seen = if let Skip::Window { coordinates } = slice.read.skip { coordinates } else { 0 };
    Ok(short_windows_apply(slice, &field) && seen <= width)
}

/// The increments of each window, the last one filled up with zeros.
fn short_windows(first: &[f64], knots: &[f64], width: usize, slice: &SliceSpec) -> Fed {
    let pairs = knots.chunks_exact(width).zip(knots[width..].chunks_exact(width));
    let mut rows: Vec<f32> =
        pairs.flat_map(|(from, to)| to.iter().zip(from).map(|(to, from)| (slice.scale * (to - from)) as f32)).collect();
    rows.resize(rows.len().next_multiple_of(slice.window * width), 0.0);
    let mut beside = Vec::new();
    if slice.read.skip != Skip::None {
        let last = knots.len() / width - 1;
        beside.extend(ends(last + 1, slice.window).flat_map(|t| narrow(&knots[t * width..(t + 1) * width])));
    }
    Fed { first: narrow(first), rows, beside }
}

/// Each increment, after the one before it stretched to the same time.
fn increments(first: &[f64], knots: &[f64], times: &[f64], width: usize, skip: Skip) -> Fed {
    let mut rows = Vec::with_capacity(2 * knots.len());
    let mut slope: Option<Vec<f64>> = None;
    let pairs = knots.chunks_exact(width).zip(knots[width..].chunks_exact(width));
    for ((from, to), times) in pairs.zip(times.windows(2)) {
        let span = times[1] - times[0];
        let x: Vec<f64> = to.iter().zip(from).map(|(to, from)| to - from).collect();
        let m = slope.map_or_else(|| x.clone(), |slope| slope.iter().map(|slope| slope * span).collect());
        rows.extend(narrow(&m));
        rows.extend(narrow(&x));
        slope = Some(x.iter().map(|x| x / span).collect());
    }
    Fed { first: narrow(first), rows, beside: if skip == Skip::None { Vec::new() } else { narrow(knots) } }
}

/// The steps of a batch: as many in each window, states at the ends of windows. A shorter series stands still after its end.
fn schedule(neural: &NeuralSpec, lengths: &[usize], longest: usize) -> Schedule {
    let (steps, reads) = (neural.steps, neural.reads());
    let (mut dt, mut rows, mut at) = (Vec::new(), Vec::new(), Vec::new());
    for (b, &own) in lengths.iter().enumerate() {
        dt.resize(b * longest * steps + own * steps, 1.0 / steps as f64);
        dt.resize((b + 1) * longest * steps, 0.0);
        rows.extend((0..longest).flat_map(|k| reads.iter().map(move |read| k * neural.rows() + read)));
        at.extend((0..longest).map(|k| (k + 1) * steps - 1));
    }
    Schedule { steps: longest * steps, dt, rows, outputs: Outputs::At(at) }
}

fn narrow(values: &[f64]) -> Vec<f32> {
    values.iter().map(|&x| x as f32).collect()
}
