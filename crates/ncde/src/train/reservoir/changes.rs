//! A forecast that is solved for: a linear readout of memories of how each channel came to its present value.
//!
//! ```text
//! rows once through -> sums of products of five stretches of the rows -> penalty and scales by the error of each stretch without it -> ridge
//! ```
//!
//! Features see increments alone, so that forecasts follow a series wherever it drifts. Rows are not kept, so that a series may be as long as it is. The stretches
//! follow each other in time: neighbouring rows are alike, and rows left out at random would be known already.

use ncde_reservoir::sums::{Line, Sums};
use ncde_runtime::layer::{Layer, Memory, Row, Values};

use super::{Readout, Solved};
use crate::train::{Error, Run};

/// Stretches that are left out one at a time.
const FOLDS: usize = 5;
/// Rows whose products are summed at once.
const AT_ONCE: usize = 2048;
/// The most products that are summed; with more, some of the rows are taken, evenly spaced.
const MOST_PRODUCTS: f64 = 1.5e11;
/// Penalties are powers of this, as shares of the variance of a feature, between these.
const STEP: f64 = 3.162_277_660_168_379_5;
const PENALTIES: std::ops::RangeInclusive<i32> = -14..=4;
const MIDDLE: i32 = -6;

/// A penalty, scales of features, and the error they leave.
struct Choice {
    scale: Vec<f64>,
    lambda: f64,
    /// The share of the variance of the targets that is not explained, of rows left out; the mean over outputs.
    error: f64,
}

impl Run {
    /// Fits a readout of these memories to the training part.
    pub(super) fn solve_changes(&self, memory: &Memory) -> Result<Solved, Error> {
        let folds = self.sums(memory)?;
        let all = folds[1..].iter().fold(folds[0].clone(), |sum, fold| sum.plus(fold));
        if all.rows() < 2.0 {
            return Err(Error::Unfit(format!("{} observations to forecast; at least 2 are needed", all.rows())));
        }
        let deviations = all.deviations();
        let width = self.spec.signal().width().max(1);
        let candidates = [alike(&deviations), by_channel(&deviations, width)].map(|scale| best_penalty(&folds, &all, scale));
        let choice = candidates.into_iter().flatten().min_by(|a, b| a.error.total_cmp(&b.error));
        let fitted = choice.and_then(|choice| Some((all.fit(&choice.scale, choice.lambda)?, choice)));
        let Some((line, choice)) = fitted else {
            return Err(Error::Unfit("no channel changes over the training cases: there is nothing to learn from".into()));
        };
        let readout = readout(&line, &all.means(), &deviations);
        let (features, outputs) = (readout.shift.len(), readout.bias.len());
        let [least, most] = [memory.spans.first(), memory.spans.last()].map(|span| span.copied().unwrap_or(0.0));
        Ok(Solved {
            spec: self.spec.clone(),
            weights: readout.named(self.spec.layers.len(), 1.0),
            parameters: (features + 1) * outputs,
            chosen: format!("memories of changes over spans from {least:.4} to {most:.4}"),
            error: choice.error,
        })
    }

    /// The sums of each stretch of the rows of the training part.
    fn sums(&self, memory: &Memory) -> Result<Vec<Sums>, Error> {
        let signal = self.spec.signal();
        let (features, outputs) = (memory.output(&signal)?.width(), self.goal.outputs);
        let asked: Vec<Vec<(usize, Vec<f64>)>> = self.parts.train.iter().map(|&i| known(self.goal.asked(i), outputs)).collect();
        let total: usize = asked.iter().map(Vec::len).sum();
        let every = (total as f64 * ((features + outputs) as f64).powi(2) / MOST_PRODUCTS).ceil().max(1.0) as usize;
        let mut step = memory.step(&signal, &mut Values::default(), None)?;
        let mut folds = vec![Sums::new(features, outputs); FOLDS];
        let (mut seen, mut buffer, mut fold, mut out) = (0_usize, Vec::new(), 0, Vec::new());
        for (&case, asked) in self.parts.train.iter().zip(&asked) {
            let (values, times, statics) = self.features.case(case);
            let statics: Vec<f64> = statics.iter().map(|&x| f64::from(x)).collect();
            let mut remembered = vec![0.0; step.memory()];
            let mut asked = asked.iter().peekable();
            for (t, &time) in times.iter().enumerate() {
                let Some((next, _)) = asked.peek() else { break };
                let row: Vec<f64> = values[t * signal.width()..(t + 1) * signal.width()].iter().map(|&x| f64::from(x)).collect();
                step.push(&mut remembered, Row { time, values: &row, statics: &statics }, &mut out)?;
                if *next != t {
                    continue;
                }
                let Some((_, targets)) = asked.next() else { break };
                let own = seen * FOLDS / total;
                if own != fold || buffer.len() >= AT_ONCE * (features + outputs) {
                    folds[fold].add(&std::mem::take(&mut buffer));
                    fold = own;
                }
                if seen.is_multiple_of(every) {
                    buffer.extend(out.iter().chain(targets).map(|&x| x as f32));
                }
                seen += 1;
            }
        }
        folds[fold].add(&buffer);
        Ok(folds)
    }
}

/// Targets with those that are missing between the ones that are known before and after; rows of a case without any are left out.
fn known(mut asked: Vec<(usize, Vec<f64>)>, outputs: usize) -> Vec<(usize, Vec<f64>)> {
    for o in 0..outputs {
        let there: Vec<usize> = (0..asked.len()).filter(|&i| asked[i].1[o].is_finite()).collect();
        let (Some(&first), Some(&last)) = (there.first(), there.last()) else { return Vec::new() };
        let [start, end] = [asked[first].1[o], asked[last].1[o]];
        asked[..first].iter_mut().for_each(|(_, row)| row[o] = start);
        asked[last..].iter_mut().for_each(|(_, row)| row[o] = end);
        for pair in there.windows(2) {
            let [a, b] = [pair[0], pair[1]];
            let [from, to] = [asked[a].1[o], asked[b].1[o]];
            for i in a + 1..b {
                asked[i].1[o] = from + (to - from) * (i - a) as f64 / (b - a) as f64;
            }
        }
    }
    asked
}

/// Every feature with deviation 1.
fn alike(deviations: &[f64]) -> Vec<f64> {
    deviations.iter().map(|&d| if d > 0.0 { 1.0 / d } else { 0.0 }).collect()
}

/// Every channel with deviation 1 in the mean over its features, which keep their sizes: those of fast changes are small.
fn by_channel(deviations: &[f64], width: usize) -> Vec<f64> {
    let mean = |channel: usize| {
        let own = deviations.iter().skip(channel).step_by(width);
        (own.clone().map(|d| d * d).sum::<f64>() / own.count().max(1) as f64).sqrt()
    };
    let means: Vec<f64> = (0..width).map(mean).collect();
    let scale = |(i, &d): (usize, &f64)| if d > 0.0 { 1.0 / means[i % width] } else { 0.0 };
    deviations.iter().enumerate().map(scale).collect()
}

/// The penalty with the least error on stretches left out: from the middle down the valley.
fn best_penalty(folds: &[Sums], all: &Sums, scale: Vec<f64>) -> Option<Choice> {
    let spread = all.spread();
    let varied: Vec<usize> = (0..spread.len()).filter(|&o| spread[o] > 0.0).collect();
    let without: Vec<(&Sums, Sums)> = folds
        .iter()
        .filter(|fold| fold.rows() > 0.0)
        .map(|fold| (fold, all.minus(fold)))
        .filter(|(_, rest)| rest.rows() > 1.0)
        .collect();
    let at = |power: i32| -> Option<f64> {
        let lambda = PENALTIES.contains(&power).then(|| STEP.powi(power))?;
        let mut errors = vec![0.0; spread.len()];
        for (fold, rest) in &without {
            let own = fold.errors(&rest.fit(&scale, lambda)?);
            errors.iter_mut().zip(own).for_each(|(sum, error)| *sum += error);
        }
        Some(varied.iter().map(|&o| errors[o] / spread[o]).sum::<f64>() / varied.len().max(1) as f64)
    };
    if varied.is_empty() || without.is_empty() {
        return None;
    }
    let mut best = (MIDDLE, at(MIDDLE)?);
    for direction in [1, -1] {
        let mut power = MIDDLE + direction;
        while let Some(error) = at(power).filter(|&error| error < best.1) {
            best = (power, error);
            power += direction;
        }
        if best.0 != MIDDLE {
            break;
        }
    }
    Some(Choice { scale, lambda: STEP.powi(best.0), error: best.1 })
}

/// As standardised features and their weights, so that the numbers in a file are of one size.
fn readout(line: &Line, means: &[f64], deviations: &[f64]) -> Readout {
    let (features, outputs) = (means.len(), line.bias.len());
    let mut weight = vec![0.0; features * outputs];
    let mut bias = line.bias.clone();
    for (o, own) in line.weight.chunks_exact(features.max(1)).enumerate() {
        for (f, w) in own.iter().enumerate() {
            weight[f * outputs + o] = w * deviations[f];
            bias[o] += w * means[f];
        }
    }
    Readout {
        shift: means.iter().map(|&x| x as f32).collect(),
        factor: alike(deviations).into_iter().map(|x| x as f32).collect(),
        weight,
        bias,
    }
}
