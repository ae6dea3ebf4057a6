//! A readout at every observation, solved for in closed form. Its features are memories of changes, values, and random functions of both.
//!
//! ```text
//! u = standardised (z of every span, x),     y = W^T (u, tanh(V^T u + c)) + b
//! rows, streamed -> sums of products for each stretch -> features and penalty by cross-validation over stretches -> ridge -> calibration
//! ```
//!
//! Rows are streamed and not stored, so memory does not grow with the length of a series. All features except `x` itself are bounded, and `z` does not depend on levels; in a forecast
//! half of the random functions see `z` alone. Which features a readout has is chosen by its error on stretches that were left out.

use std::ops::Range;

use rayon::prelude::*;

use burn_flex::Flex;
use burn_tensor::{Tensor, TensorData};
use ncde_reservoir::sums::Sums;
use ncde_runtime::layer::{Layer, Memory, RandomFeatures, Row, StateMemory, Step, Values};
use ncde_runtime::{LayerSpec, NamedWeight, Task, Threshold};

use super::folds::{Choice, alike, choose};
use super::{HeldOut, Readout, Solved};
use crate::ahead::Bases;
use crate::{Error, Run};
use ncde_layers::dense;
use ncde_runtime::random::Stream;

/// The number of stretches for cross-validation.
const FOLDS: usize = 5;
/// Rows that are worked on at once.
const AT_ONCE: usize = 2048;
/// The most products that are summed; with more, some of the rows are taken, evenly spaced.
const MAX_PRODUCTS: f64 = 1.5e11;
/// The most numbers of all targets together; with more, some of the rows are taken as well.
const MAX_TARGETS: f64 = 3e7;
/// Rows that scores are calibrated on.
const CALIBRATED_ON: usize = 4000;
/// The range of the standard deviations of the arguments of random functions.
const STEEPNESS: [f64; 2] = [0.5, 2.0];

/// Levels come back if the deviation of their means between stretches is at most this share of that within one.
const DRIFTS: f64 = 0.3;

/// How many features of each kind a row has, in their order.
#[derive(Debug, Clone, Copy)]
struct Counts {
    /// Memories of changes.
    memories: usize,
    /// Values and static covariates.
    values: usize,
    /// Random functions of memories alone.
    blind: usize,
    /// Random functions of memories and values.
    seeing: usize,
}

impl Counts {
    fn inputs(self) -> usize {
        self.memories + self.values
    }

    fn all(self) -> usize {
        self.inputs() + self.random()
    }

    fn random(self) -> usize {
        self.blind + self.seeing
    }
}

/// Standardisation of the inputs, and random functions of them.
#[derive(Debug)]
struct Expansion {
    shift: Vec<f32>,
    factor: Vec<f32>,
    /// `[inputs, random]`.
    weight: Vec<f32>,
    bias: Vec<f32>,
}

/// Called with the stretch, the inputs and the targets of some rows.
type OnRows<'a> = &'a mut dyn FnMut(usize, &[f32], &[f64]);

/// A row on which scores are calibrated: its stretch, features and targets.
type Sampled = (usize, Vec<f32>, Vec<f64>);

impl Run {
    /// Fits a readout of these memories to the training part.
    pub(super) fn solve_steps(&self, memory: &Memory, random: usize) -> Result<Solved, Error> {
        let signal = self.spec.signal();
        let values = if memory.values { signal.width() + signal.statics } else { 0 };
        // A forecast series may drift, so half of its random functions do not see levels. Labels do not have that problem.
        let blind = if matches!(self.spec.task, Task::Forecast { .. }) { random / 2 } else { 0 };
        let counts = Counts { memories: memory.output(&signal, &[])?.width() - values, values, blind, seeing: random - blind };
        let outputs = self.goal.outputs;
        let train = self.train_by_group();
        let places: usize = train.iter().map(|&i| self.goal.places(i)).sum();
        let products = places as f64 * ((counts.all() + outputs) as f64).powi(2);
        let every = (products / MAX_PRODUCTS).max((places * outputs) as f64 / MAX_TARGETS).ceil().max(1.0) as usize;
        let targets = |&i: &usize| self.goal.numeric_targets(i, every, Some(Bases::new(&self.spec, &self.data.cases[i])));
        let requested = known(train.par_iter().map(targets).collect(), outputs);
        let total: usize = requested.iter().map(Vec::len).sum();
        if total < 2 {
            return Err(Error::Unfit(format!("{total} observations to learn from; at least 2 are needed")));
        }

        let mut inputs = Sums::new(counts.inputs(), 0);
        self.pass(memory, &requested, &mut |_, rows, _| inputs.add(rows, &vec![1.0; rows.len() / counts.inputs().max(1)]))?;
        let stream = Stream::new(self.settings.plan.seed, 8);
        let expansion = Expansion::drawn(memory, signal.width(), counts, &inputs, &stream);
        drop(inputs);

        let mut folds = vec![Sums::new(counts.all(), outputs); FOLDS.min(total)];
        let mut sample: Vec<Sampled> = Vec::new();
        let calibrated = matches!(self.spec.task, Task::Classification { .. });
        let apart = total.div_ceil(CALIBRATED_ON);
        let mut seen = 0;
        self.pass(memory, &requested, &mut |fold, rows, targets| {
            let features = expansion.features(rows, counts);
            let both = features.chunks_exact(counts.all()).zip(targets.chunks_exact(outputs));
            for (row, targets) in both.clone().filter(|_| calibrated) {
                if seen % apart == 0 {
                    sample.push((fold, row.to_vec(), targets.to_vec()));
                }
                seen += 1;
            }
            let weights: Vec<f64> = targets.chunks_exact(outputs).map(|targets| self.goal.row_weight(targets)).collect();
            let columns = both.flat_map(|(row, y)| row.iter().copied().chain(y.iter().map(|&y| y as f32)));
            folds[fold].add(&columns.collect::<Vec<_>>(), &weights);
        })?;
        let choice = choose(&folds, self.lists(counts, &folds), &expansion.sizes(signal.width(), counts))
            .ok_or_else(|| Error::Unfit("nothing varies over the training cases: there is nothing to learn from".into()))?;
        let (temperature, threshold) = self.calibrated_steps(&choice, &sample)?;
        let mut solved = self.trimmed_steps(memory, counts, &expansion, &choice, temperature);
        solved.spec.threshold = threshold;
        Ok(solved)
    }

    /// Lists of features to choose from, smaller ones first. A forecast has levels only together with everything else, and only of series whose levels come back.
    fn lists(&self, counts: Counts, folds: &[Sums]) -> Vec<Vec<usize>> {
        let (memories, inputs) = (counts.memories, counts.inputs());
        let all = (0..counts.all()).collect();
        if !matches!(self.spec.task, Task::Forecast { .. }) {
            return vec![(0..inputs).collect(), all];
        }
        let mut lists = vec![(0..memories).collect(), (0..memories).chain(inputs..inputs + counts.blind).collect()];
        lists.extend(comes_back(folds, memories..inputs).then_some(all));
        lists
    }

    /// Streams all rows of the training part and calls `on` with the requested ones, some at a time.
    fn pass(&self, memory: &Memory, requested: &[Requested], on: OnRows<'_>) -> Result<(), Error> {
        let (signal, total) = (self.spec.signal(), requested.iter().map(Vec::len).sum::<usize>());
        let mut step: Box<dyn Step> = memory.step(&signal, &mut Values::default(), Vec::new())?;
        let (mut rows, mut wanted, mut fold, mut seen, mut out) = (Vec::new(), Vec::new(), 0, 0_usize, Vec::new());
        let mut group = None;
        for (case, requested) in self.train_by_group().into_iter().zip(requested) {
            let (values, times, statics) = self.features.case(case);
            let statics: Vec<f64> = statics.iter().map(|&x| f64::from(x)).collect();
            let mut remembered = StateMemory::new(step.memory());
            let mut requested = requested.iter().peekable();
            // A group is in one stretch.
            let fold_of_group = if group == Some(self.group(case)) { fold } else { seen * FOLDS.min(total) / total };
            group = Some(self.group(case));
            for (t, &time) in times.iter().enumerate() {
                let Some((next, targets)) = requested.peek() else { break };
                let row: Vec<f64> = values[t * signal.width()..(t + 1) * signal.width()].iter().map(|&x| f64::from(x)).collect();
                step.push(remembered.share(), Row { time, values: &row, statics: &statics }, &mut out)?;
                if *next != t {
                    continue;
                }
                let own = if self.is_grouped() { fold_of_group } else { seen * FOLDS.min(total) / total };
                if own != fold || rows.len() >= AT_ONCE * out.len() {
                    on(fold, &rows, &wanted);
                    rows.clear();
                    wanted.clear();
                    fold = own;
                }
                rows.extend(out.iter().map(|&x| x as f32));
                wanted.extend(targets);
                seen += 1;
                requested.next();
            }
        }
        on(fold, &rows, &wanted);
        Ok(())
    }

    /// The temperature of scores and the threshold, from predictions for each sampled row by the fit without its stretch.
    fn calibrated_steps(&self, choice: &Choice, sample: &[Sampled]) -> Result<(f64, Option<Threshold>), Error> {
        let (mut scores, mut wanted, mut roots) = (Vec::new(), Vec::new(), Vec::new());
        for (fold, row, targets) in sample {
            let line = &choice.without[*fold];
            for (weight, bias) in line.weight.chunks_exact(choice.kept.len()).zip(&line.bias) {
                scores.push(bias + choice.kept.iter().zip(weight).map(|(&i, w)| w * f64::from(row[i])).sum::<f64>());
            }
            let root = self.goal.row_weight(targets).sqrt();
            wanted.extend(targets.iter().map(|y| y * root));
            roots.push(root);
        }
        self.calibrated(HeldOut { scores: &scores, targets: &wanted, means: &vec![0.0; self.goal.outputs], roots: &roots })
    }

    /// The model with only the features that were chosen.
    fn trimmed_steps(&self, memory: &Memory, counts: Counts, expansion: &Expansion, choice: &Choice, temperature: f64) -> Solved {
        let inputs = if choice.kept.iter().any(|i| (counts.memories..counts.inputs()).contains(i)) {
            counts.inputs()
        } else {
            counts.memories
        };
        let random = choice.kept.iter().filter(|&&i| i >= counts.inputs()).count();
        let mut readout = readout(choice);
        let (features, outputs) = (readout.shift.len(), readout.bias.len());
        let mut spec = self.spec.clone();
        let mut layers = vec![LayerSpec::Memory(Memory { values: inputs > counts.memories, ..memory.clone() })];
        let mut weights = Vec::new();
        if random > 0 {
            let named =
                |name: &str, shape: Vec<usize>, values: Vec<f32>| NamedWeight { name: format!("layers.{name}"), shape, values };
            let columns = counts.random();
            let weight =
                expansion.weight.chunks_exact(columns).take(inputs).flat_map(|row| row[..random].iter().copied()).collect();
            weights.push(named("1.shift", vec![inputs], expansion.shift[..inputs].to_vec()));
            weights.push(named("1.factor", vec![inputs], expansion.factor[..inputs].to_vec()));
            weights.push(named("2.weight", vec![inputs, random], weight));
            weights.push(named("2.bias", vec![random], expansion.bias[..random].to_vec()));
            layers.push(LayerSpec::Standardise(ncde_runtime::layer::Standardise {}));
            layers.push(LayerSpec::RandomFeatures(RandomFeatures { count: random }));
        }
        if random == 0 {
            // The readout standardises once: `((x - m) s - m') s' = (x - m - m' / s) s s'`.
            for (i, &place) in choice.kept.iter().enumerate() {
                let (m, s) = (expansion.shift[place], expansion.factor[place]);
                readout.shift[i] = if s > 0.0 { m + readout.shift[i] / s } else { m };
                readout.factor[i] *= s;
            }
        }
        layers.extend_from_slice(&self.spec.layers[self.spec.layers.len() - 2..]);
        weights.extend(readout.named(layers.len(), temperature));
        spec.layers = layers;
        let parts = [("memories", true), ("values", inputs > counts.memories), ("random functions", random > 0)];
        let chosen = parts.iter().filter(|(_, is)| *is).map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
        Solved { spec, weights, parameters: (features + 1) * outputs, chosen, error: choice.error }
    }
}

impl Expansion {
    /// Draws random functions of standardised inputs: low orders of short memories weigh most, as they carry most of a signal.
    fn drawn(memory: &Memory, width: usize, counts: Counts, inputs: &Sums, stream: &Stream) -> Self {
        let (columns, legendre) = (counts.random(), memory.order * memory.spans.len() * width);
        let weigh = |i: usize| {
            let (span, order) = (i / (memory.order * width), i / width % memory.order);
            if i < legendre { 1.0 / ((1 + order) as f64 * ((1 + span) as f64).sqrt()) } else { 1.0 }
        };
        let weights: Vec<f64> = (0..counts.inputs()).map(weigh).collect();
        let size = |to: usize| weights[..to].iter().map(|w| w * w).sum::<f64>().sqrt();
        let sizes = [size(counts.memories), size(counts.inputs())];
        let [low, high] = STEEPNESS.map(f64::ln);
        let mut weight = vec![0.0; counts.inputs() * columns];
        for k in 0..columns {
            let (own, sees_values) = (stream.child(k as u64), usize::from(k >= counts.blind));
            let steepness = (low + own.uniform(0) * (high - low)).exp() / sizes[sees_values].max(1e-30);
            for i in 0..[counts.memories, counts.inputs()][sees_values] {
                weight[i * columns + k] = (own.normal(2 + i as u64) * weights[i] * steepness) as f32;
            }
        }
        let bias = (0..columns).map(|k| (2.0 * stream.child(k as u64).uniform(1) - 1.0) as f32).collect();
        let narrow = |x: Vec<f64>| x.into_iter().map(|x| x as f32).collect();
        Self { shift: narrow(inputs.means()), factor: narrow(alike(&inputs.deviations())), weight, bias }
    }

    /// The weight of each feature if memories of a channel keep their relative sizes: memories of noise are then smaller than those of a season.
    fn sizes(&self, width: usize, counts: Counts) -> Vec<f64> {
        let deviation = |i: usize| if self.factor[i] > 0.0 { 1.0 / f64::from(self.factor[i]) } else { 0.0 };
        let mean = |channel: usize| {
            let own = (channel..counts.memories).step_by(width.max(1)).map(deviation);
            (own.clone().map(|d| d * d).sum::<f64>() / own.count().max(1) as f64).sqrt().max(f64::MIN_POSITIVE)
        };
        let means: Vec<f64> = (0..width).map(mean).collect();
        let size = |i: usize| if i < counts.memories { deviation(i) / means[i % width] } else { 1.0 };
        (0..counts.all()).map(size).collect()
    }

    /// Standardised inputs, and random functions of them, `[rows, all]`.
    fn features(&self, rows: &[f32], counts: Counts) -> Vec<f32> {
        let (inputs, columns) = (counts.inputs(), self.bias.len());
        let own = rows
            .chunks_exact(inputs)
            .flat_map(|row| row.iter().zip(self.shift.iter().zip(&self.factor)).map(|(x, (m, s))| (x - m) * s));
        let own: Vec<f32> = own.collect();
        let count = own.len() / inputs.max(1);
        if count == 0 || columns == 0 {
            return own;
        }
        let device = Default::default();
        let x = Tensor::<Flex, 3>::from_data(TensorData::new(own.clone(), [1, count, inputs]), &device);
        let weight = Tensor::<Flex, 2>::from_data(TensorData::new(self.weight.clone(), [inputs, columns]), &device);
        let bias = Tensor::<Flex, 1>::from_data(TensorData::new(self.bias.clone(), [columns]), &device);
        let random: Vec<f32> = match dense::affine(x, weight, bias) {
            Ok(y) => y.tanh().to_data().iter().collect(),
            // It is refused only for other types of numbers.
            Err(_) => vec![0.0; count * columns],
        };
        let both = own.chunks_exact(inputs).zip(random.chunks_exact(columns));
        both.flat_map(|(own, random)| own.iter().chain(random).copied()).collect()
    }
}

/// The rows of a case that are learned from, with their targets.
type Requested = Vec<(usize, Vec<f64>)>;

/// Fills missing targets by linear interpolation between the known ones before and after. An output that no case knows is 0; a case without a known value of an output that
/// other cases know is left out.
fn known(mut all: Vec<Requested>, outputs: usize) -> Vec<Requested> {
    let unknown: Vec<bool> = (0..outputs).map(|o| all.iter().flatten().all(|(_, targets)| !targets[o].is_finite())).collect();
    all.iter_mut().for_each(|requested| bridge(requested, &unknown));
    all
}

/// Fills the missing targets of one case.
fn bridge(requested: &mut Requested, unknown: &[bool]) {
    for (o, &unknown) in unknown.iter().enumerate() {
        if unknown {
            requested.iter_mut().for_each(|(_, row)| row[o] = 0.0);
            continue;
        }
        let there: Vec<usize> = (0..requested.len()).filter(|&i| requested[i].1[o].is_finite()).collect();
        let (Some(&first), Some(&last)) = (there.first(), there.last()) else { return requested.clear() };
        let [start, end] = [requested[first].1[o], requested[last].1[o]];
        requested[..first].iter_mut().for_each(|(_, row)| row[o] = start);
        requested[last..].iter_mut().for_each(|(_, row)| row[o] = end);
        for pair in there.windows(2) {
            let (a, b) = (pair[0], pair[1]);
            let [from, to] = [requested[a].1[o], requested[b].1[o]];
            for i in a + 1..b {
                requested[i].1[o] = from + (to - from) * (i - a) as f64 / (b - a) as f64;
            }
        }
    }
}

/// Whether levels come back: the means of these features must vary little between stretches compared with their deviation within one.
fn comes_back(folds: &[Sums], levels: Range<usize>) -> bool {
    let known: Vec<(Vec<f64>, Vec<f64>)> =
        folds.iter().filter(|fold| fold.rows() > 0.0).map(|fold| (fold.means(), fold.deviations())).collect();
    let n = known.len().max(1) as f64;
    levels.into_iter().all(|i| {
        let mean = known.iter().map(|(means, _)| means[i]).sum::<f64>() / n;
        let between = known.iter().map(|(means, _)| (means[i] - mean).powi(2)).sum::<f64>() / n;
        let within = known.iter().map(|(_, deviations)| deviations[i].powi(2)).sum::<f64>() / n;
        between <= DRIFTS * DRIFTS * within
    })
}

/// The readout on standardised features, so that the numbers in a file are of similar size.
fn readout(choice: &Choice) -> Readout {
    let Choice { line, means, deviations, .. } = choice;
    let (features, outputs) = (means.len(), line.bias.len());
    let mut weight = vec![0.0; features * outputs];
    let mut bias = line.bias.clone();
    for (o, own) in line.weight.chunks_exact(features.max(1)).enumerate() {
        for (f, w) in own.iter().enumerate() {
            weight[f * outputs + o] = w * deviations[f];
            bias[o] += w * means[f];
        }
    }
    let narrow = |x: Vec<f64>| x.into_iter().map(|x| x as f32).collect();
    Readout { shift: narrow(means.clone()), factor: narrow(alike(deviations)), weight, bias }
}
