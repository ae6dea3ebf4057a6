//! What a model is given, computed once for every case: the rows of its first layer where that has no weights, else the knots themselves.
//!
//! ```text
//! rows = (row_0, row_1, ...) of the trunk,   branches: rows in the middle of windows, where an output is asked for
//! ```
//!
//! Everything is computed in f64, as a prediction computes it, and kept in f32.

use std::sync::Arc;

use burn_tensor::backend::{AutodiffBackend, Backend};
use burn_tensor::{Int, Tensor};
use ncde_data::Dataset;
use ncde_runtime::layer::{Form, Layer, Signal, StateMemory, Windows, ends, is_end};
use ncde_runtime::{LayerSpec, Preparation};
use ncde_signature::{Interval, OnlineSignature, Paths, Signature};
use rayon::prelude::*;

use super::Error;
use ncde_layers::layer::{Branches, Context, Phase, Places, Rows};
use ncde_layers::operation::put;

/// Log-signatures are computed for so many knots at a time.
const KNOTS: usize = 1 << 18;
/// The most numbers of a batch that nothing is learned from.
const AT_ONCE: usize = 1 << 22;
/// The most bytes of rows that are kept on a device.
const MAX_RESIDENT: usize = 4 << 30;

/// What a model is given.
#[derive(Debug, Clone)]
pub(super) struct Features {
    /// How many layers of the model are computed here: 0 or 1.
    pub(super) first: usize,
    pub(super) signal: Signal,
    /// How many observations a window has; 1 where rows are observations.
    pub(super) window: usize,
    cases: Vec<CaseRows>,
}

/// The rows of one case.
#[derive(Debug, Clone, Default)]
struct CaseRows {
    statics: Vec<f32>,
    rows: Vec<f32>,
    times: Vec<f64>,
    branches: Vec<f32>,
    branch_times: Vec<f64>,
    /// The row of the trunk that each branch follows.
    parents: Vec<usize>,
}

/// The rows of all cases on a device, so that a batch is a list of places there.
#[derive(Debug, Clone)]
pub(super) struct Resident<B: Backend> {
    /// `[rows, width]`: one for padding, then case after case the trunk and the branches.
    rows: Tensor<B, 2>,
    /// Where the rows of each case begin.
    first: Vec<usize>,
}

impl<B: Backend> Resident<B> {
    /// The same where gradients are.
    pub(super) fn tracked<A: AutodiffBackend<InnerBackend = B>>(&self) -> Resident<A> {
        Resident { rows: Tensor::from_inner(self.rows.clone()), first: self.first.clone() }
    }
}

struct Knots {
    values: Vec<f64>,
    times: Vec<f64>,
}

impl Features {
    /// Of every case; `wanted(i)` are the observations of case `i` at which an output is asked for, beside the last of each window.
    pub(super) fn new(
        data: &Dataset,
        preparation: &Preparation,
        layers: &[LayerSpec],
        input: &Signal,
        wanted: impl Fn(usize) -> Vec<usize> + Sync,
    ) -> Result<Self, Error> {
        let knots = |i: usize| -> Result<Knots, Error> {
            let case = &data.cases[i];
            let mut track = preparation.start();
            let mut knots = Knots { values: Vec::with_capacity(case.len() * preparation.width()), times: Vec::new() };
            for (t, &time) in case.times.iter().enumerate() {
                let named = |source| Error::Case { id: case.id.clone(), source };
                preparation.push(&mut track, time, case.row(t, data.channels.len())).map_err(named)?;
                knots.values.extend_from_slice(&track.knot);
                knots.times.push(preparation.clock(&track));
            }
            Ok(knots)
        };
        let count = data.cases.len();
        let (first, signal, mut cases) = match layers.first() {
            Some(LayerSpec::Windows(windows)) => {
                let cut = Cut { windows, width: input.width(), signal: windows.output(input, &[])? };
                (1, cut.signal.clone(), cut.all(count, &knots, &wanted)?)
            }
            Some(LayerSpec::Signature(features)) => {
                let transform = features.transform(input)?;
                let of = |i: usize| {
                    let (knots, statics) = (knots(i)?, preparation.statics(&data.cases[i].statics)?);
                    signatures(&transform, knots, &statics, input.width())
                };
                (1, features.output(input, &[])?, (0..count).into_par_iter().map(of).collect::<Result<_, Error>>()?)
            }
            _ => {
                let of = |i: usize| {
                    let Knots { values, times } = knots(i)?;
                    Ok(CaseRows { rows: narrow(&values), times, ..CaseRows::default() })
                };
                (0, input.clone(), (0..count).map(of).collect::<Result<_, Error>>()?)
            }
        };
        for (case, own) in data.cases.iter().zip(&mut cases) {
            own.statics = narrow(&preparation.statics(&case.statics)?);
        }
        let window = if let Some(LayerSpec::Windows(Windows { window, .. })) = layers.first() { *window } else { 1 };
        Ok(Self { first, signal, window, cases })
    }

    /// The rows, times and static covariates of a case, where the first layer is not computed ahead.
    pub(super) fn case(&self, i: usize) -> (&[f32], &[f64], &[f32]) {
        let case = &self.cases[i];
        (&case.rows, &case.times, &case.statics)
    }

    /// How many rows of the trunk a case has.
    pub(super) fn rows(&self, case: usize) -> usize {
        self.cases[case].times.len()
    }

    /// How many numbers a case has in a batch.
    fn numbers(&self, case: usize) -> usize {
        (self.rows(case) + self.cases[case].parents.len()) * self.signal.width()
    }

    /// Some cases in batches that nothing is learned from: the longest first, so that the first batch is the largest in memory.
    pub(super) fn batches(&self, cases: &[usize]) -> Vec<Vec<usize>> {
        let mut order = cases.to_vec();
        order.sort_by_key(|&i| self.rows(i));
        let mut all = Vec::new();
        while let Some(&longest) = order.last() {
            let count = (AT_ONCE / self.numbers(longest).max(1)).clamp(1, order.len());
            all.push(order.split_off(order.len() - count));
        }
        all
    }

    /// The rows of all cases on a device, if they fit there.
    pub(super) fn resident<B: Backend>(&self, device: &B::Device) -> Option<Resident<B>> {
        let width = self.signal.width();
        let count: usize = self.cases.iter().map(|case| case.rows.len() + case.branches.len()).sum();
        if size_of::<f32>() * (count + width) > MAX_RESIDENT {
            return None;
        }
        // The first row is that of padding.
        let (mut all, mut first) = (vec![0.0_f32; width], Vec::with_capacity(self.cases.len()));
        all.reserve(count);
        for case in &self.cases {
            first.push(all.len() / width.max(1));
            all.extend_from_slice(&case.rows);
            all.extend_from_slice(&case.branches);
        }
        let count = all.len() / width.max(1);
        Some(Resident { rows: put(all, [count, width], device), first })
    }

    /// The values of a batch, from the rows that are on the device.
    fn gathered<B: Backend>(&self, from: &Resident<B>, cases: &[usize], trunk: usize, branches: usize) -> Tensor<B, 3> {
        let mut places = vec![0_i32; cases.len() * (trunk + branches)];
        for (out, &i) in places.chunks_exact_mut(trunk + branches).zip(cases) {
            let (case, first) = (&self.cases[i], from.first[i]);
            let own = case.times.len();
            out[..own].iter_mut().zip(first..).for_each(|(out, row)| *out = row as i32);
            out[trunk..][..case.parents.len()].iter_mut().zip(first + own..).for_each(|(out, row)| *out = row as i32);
        }
        let count = places.len();
        let places: Tensor<B, 1, Int> = put(places, [count], &from.rows.device());
        from.rows.clone().select(0, places).reshape([cases.len(), trunk + branches, self.signal.width()])
    }

    /// A batch; its values come from what is on the device, where that is.
    pub(super) fn batch<B: Backend>(
        &self,
        cases: &[usize],
        phase: Phase,
        resident: Option<&Resident<B>>,
    ) -> (Rows<B>, Context<B>) {
        let device = &B::Device::default();
        let (batch, width) = (cases.len(), self.signal.width());
        let most = |count: &dyn Fn(&CaseRows) -> usize| cases.iter().map(|&i| count(&self.cases[i])).max().unwrap_or(0);
        // At least one step: weights that only steps use have gradients then, of 0 if need be.
        let trunk = most(&|case| case.times.len()).max(2);
        let branches = most(&|case| case.parents.len());
        let count = trunk + branches;
        let mut times = vec![0.0_f64; batch * count];
        let mut parents = vec![0; batch * branches];
        let values = match resident {
            Some(from) => self.gathered(from, cases, trunk, branches),
            None => {
                let mut values = vec![0.0_f32; batch * count * width];
                // Log-signatures of many channels are tens of megabytes: all cores copy.
                values.par_chunks_exact_mut(count * width).zip(cases).for_each(|(out, &i)| {
                    let case = &self.cases[i];
                    out[..case.rows.len()].copy_from_slice(&case.rows);
                    out[trunk * width..][..case.branches.len()].copy_from_slice(&case.branches);
                });
                put(values, [batch, count, width], device)
            }
        };
        for (b, &i) in cases.iter().enumerate() {
            let case = &self.cases[i];
            let own = &mut times[b * count..(b + 1) * count];
            own[..case.times.len()].copy_from_slice(&case.times);
            // Past its end a series stands still in steps of 1: no span is 0.
            let last = case.times.last().copied().unwrap_or(0.0);
            own[case.times.len()..trunk].iter_mut().zip(1_u32..).for_each(|(time, k)| *time = last + f64::from(k));
            own[trunk..][..case.branch_times.len()].copy_from_slice(&case.branch_times);
            parents[b * branches..][..case.parents.len()].copy_from_slice(&case.parents);
        }
        let places = Places {
            lengths: cases.iter().map(|&i| self.rows(i)).collect(),
            trunk,
            times,
            branches: (branches > 0).then_some(Branches { count: branches, parents }),
        };
        let statics = (self.signal.statics > 0).then(|| {
            let all: Vec<f32> = cases.iter().flat_map(|&i| self.cases[i].statics.iter().copied()).collect();
            put(all, [batch, self.signal.statics], device)
        });
        (Rows { values, places: Arc::new(places) }, Context { statics, phase })
    }
}

/// How paths are cut into windows.
struct Cut<'a> {
    windows: &'a Windows,
    width: usize,
    signal: Signal,
}

impl Cut<'_> {
    /// The windows of all cases.
    fn all(
        &self,
        count: usize,
        knots: &(impl Fn(usize) -> Result<Knots, Error> + Sync),
        wanted: &(impl Fn(usize) -> Vec<usize> + Sync),
    ) -> Result<Vec<CaseRows>, Error> {
        let Form::LogSignature { depth, basis } = self.windows.form else {
            let of = |i: usize| self.increments(&knots(i)?, &wanted(i));
            return (0..count).into_par_iter().map(of).collect();
        };
        let transform = Signature::log(self.width, depth, basis)?;
        let mut cases = Vec::with_capacity(count);
        while cases.len() < count {
            // A good number of them at a time.
            let (mut some, mut all) = (Vec::new(), Vec::new());
            while cases.len() + some.len() < count && all.len() < KNOTS * self.width {
                let own = knots(cases.len() + some.len())?;
                all.extend_from_slice(&own.values);
                some.push(own);
            }
            let first = cases.len();
            cases.extend(self.log_signatures(&transform, &some, &all, |i| wanted(first + i))?);
        }
        Ok(cases)
    }

    /// The log-signatures of the windows of some paths, which lie one after the other in `all`.
    fn log_signatures(
        &self,
        transform: &Signature,
        some: &[Knots],
        all: &[f64],
        wanted: impl Fn(usize) -> Vec<usize>,
    ) -> Result<Vec<CaseRows>, Error> {
        let (width, window) = (self.width, self.windows.window);
        let lengths: Vec<usize> = some.iter().map(|own| own.times.len()).collect();
        let mut intervals = Vec::new();
        let mut inside = Vec::with_capacity(some.len());
        for (path, &length) in lengths.iter().enumerate() {
            let trunk = ends(length, window).skip(1).zip(ends(length, window));
            intervals.extend(trunk.map(|(end, start)| Interval { path, start, end }));
            let own = in_windows(wanted(path), length, window);
            intervals.extend(own.iter().map(|&end| Interval { path, start: end / window * window, end }));
            inside.push(own);
        }
        let values = match intervals.is_empty() {
            true => Vec::new(),
            false => transform.intervals(&Paths::ragged(all, &lengths, width)?, &intervals)?,
        };
        let mut rows = values.chunks_exact(transform.len());
        let mut cases = Vec::with_capacity(some.len());
        for (own, inside) in some.iter().zip(&inside) {
            let knot = |t: usize| &own.values[t * width..(t + 1) * width];
            let mut case = CaseRows::default();
            for (k, end) in ends(own.times.len(), window).enumerate() {
                if k == 0 {
                    case.rows.resize(transform.len(), 0.0);
                } else {
                    case.rows.extend(narrow(rows.next().unwrap_or_default()));
                }
                case.rows.extend(narrow(knot(end)));
                case.times.push(own.times[end]);
            }
            for &end in inside {
                case.branches.extend(narrow(rows.next().unwrap_or_default()));
                case.branches.extend(narrow(knot(end)));
                case.branch_times.push(own.times[end]);
                case.parents.push(end / window);
            }
            cases.push(case);
        }
        Ok(cases)
    }

    /// The increments of windows, or those of a smooth path: one observation at a time, as a prediction computes them.
    fn increments(&self, knots: &Knots, wanted: &[usize]) -> Result<CaseRows, Error> {
        let input = Signal::values(self.width);
        let mut step = self.windows.step(&input, &mut ncde_runtime::layer::Values::default(), Vec::new())?;
        let inside = in_windows(wanted.to_vec(), knots.times.len(), self.windows.window);
        let (mut memory, mut out, mut case) = (StateMemory::new(step.memory()), Vec::new(), CaseRows::default());
        for (t, (&time, values)) in knots.times.iter().zip(knots.values.chunks_exact(self.width)).enumerate() {
            let full = step.push(memory.share(), ncde_runtime::layer::Row { time, values, statics: &[] }, &mut out)?;
            if !full {
                step.open(memory.share(), &mut out)?;
            }
            if full || t + 1 == knots.times.len() {
                case.rows.extend(narrow(&out));
                case.times.push(time);
            } else if inside.contains(&t) {
                case.branches.extend(narrow(&out));
                case.branch_times.push(time);
                case.parents.push(t / self.windows.window);
            }
        }
        Ok(case)
    }
}

/// The observations among these that lie in the middle of a window.
fn in_windows(mut wanted: Vec<usize>, length: usize, window: usize) -> Vec<usize> {
    wanted.retain(|&t| !is_end(t, length, window));
    wanted
}

/// The signature of the path up to each observation.
fn signatures(transform: &Arc<Signature>, knots: Knots, statics: &[f64], width: usize) -> Result<CaseRows, Error> {
    let mut online = OnlineSignature::new(transform);
    let mut case = CaseRows { times: knots.times, ..CaseRows::default() };
    for knot in knots.values.chunks_exact(width) {
        online.push(knot)?;
        case.rows.extend(narrow(&knots.values[..width]));
        case.rows.extend(narrow(statics));
        case.rows.extend(narrow(&online.value()?));
    }
    Ok(case)
}

fn narrow(values: &[f64]) -> Vec<f32> {
    values.iter().map(|&x| x as f32).collect()
}
