//! Features of many rows in blocks, standardised: every block has the same say, whatever its size.
//!
//! ```text
//! z = sqrt(c) (x - mean) / (deviation sqrt(features of the block that vary))          so a block has |z|^2 = 1 in the mean
//! ```
//!
//! The deviation of a pool is at least a share of the median one of its block: on few cases one that hardly varies by chance would count a thousandfold elsewhere.
//!
//! `c` is the weight of a row, 1 in the mean; means and deviations are weighted as well.

use std::ops::Range;

use ncde_reservoir::{Responses, Scratch, Summary, SummaryScratch};
use ncde_runtime::layer::{Block, Reservoir};
use rayon::prelude::*;

use super::rows::{CaseRows, Wanted};
use crate::goal::Goal;

/// The least deviation of a pool, as a share of the median one of its block.
const LEAST: f64 = 0.1;

/// What computes features.
#[derive(Debug)]
pub(super) struct Computer {
    pub(super) responses: Responses,
    pub(super) summary: Summary,
}

impl Computer {
    pub(super) fn new(spec: &Reservoir, width: usize, [mix, taps, cuts]: [&[f32]; 3]) -> Self {
        let responses = Responses::new(spec.responses.clone(), width, mix, taps.to_vec(), cuts.to_vec());
        Self { responses, summary: Summary::new(spec.summary.clone(), width) }
    }

    /// The features of a case at some observations, one after the other.
    pub(super) fn features(
        &self,
        case: &CaseRows<'_>,
        observations: &[usize],
        scratch: &mut (Scratch, SummaryScratch),
    ) -> Vec<f32> {
        let (mut pools, mut rest) = (vec![0.0; self.responses.state()], vec![0.0; self.summary.state()]);
        let (mut out, mut from) = (Vec::new(), 0);
        for &t in observations {
            let rows = case.part(from, t + 1);
            self.responses.push(&mut pools, rows, &mut scratch.0);
            self.summary.push(&mut rest, rows, &mut scratch.1);
            self.responses.read(&pools, &mut out);
            self.summary.read(&rest, &mut out);
            out.extend(case.statics);
            from = t + 1;
        }
        out
    }
}

/// Features of rows, `[rows, features of the block]` for each block.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) blocks: Vec<Vec<f32>>,
    /// Mean and factor of each feature.
    pub(super) shift: Vec<f32>,
    pub(super) factor: Vec<f32>,
    /// Rows of the same series or group, which are left out together.
    pub(super) groups: Vec<Range<usize>>,
    /// `[rows, outputs]`, columns of weighted mean 0, multiplied with `roots`.
    pub(super) targets: Vec<f64>,
    /// The square root of the weight of each row.
    pub(super) roots: Vec<f64>,
    pub(super) means: Vec<f64>,
    pub(super) rows: usize,
}

impl Table {
    /// Of rows of cases, in these blocks.
    pub(super) fn new(computer: &Computer, cases: &[CaseRows<'_>], all: &[Wanted], layout: &[Block], goal: &Goal) -> Self {
        let of = |scratch: &mut (Scratch, SummaryScratch), wanted: &Wanted| {
            computer.features(&cases[wanted.case], &wanted.observations, scratch)
        };
        let features: Vec<Vec<f32>> = all.par_iter().map_init(Default::default, of).collect();
        let width: usize = layout.iter().map(|block| block.features).sum();
        let rows: Vec<&[f32]> = features.iter().flat_map(|own| own.chunks_exact(width.max(1))).collect();
        let (n, outputs) = (rows.len(), goal.outputs);
        let mut targets: Vec<f64> = all.iter().flat_map(|wanted| wanted.targets.iter().copied()).collect();
        let mut weights: Vec<f64> = targets.chunks_exact(outputs).map(|row| goal.row_weight(row)).collect();
        let usual = weights.iter().sum::<f64>() / n.max(1) as f64;
        weights.iter_mut().for_each(|weight| *weight /= usual);
        let starts: Vec<usize> =
            layout.iter().scan(0, |start, block| Some(std::mem::replace(start, *start + block.features))).collect();
        let made: Vec<(Vec<f32>, Vec<f32>, Vec<f32>)> =
            starts.par_iter().zip(layout).map(|(&start, block)| standardised(&rows, &weights, start, block)).collect();
        let (mut blocks, mut shift, mut factor) = (Vec::new(), Vec::new(), Vec::new());
        for (block, own_shift, own_factor) in made {
            blocks.push(block);
            shift.extend(own_shift);
            factor.extend(own_factor);
        }
        let groups = all.chunk_by(|a, b| a.group == b.group).scan(0, |start, group| {
            let own = *start..*start + group.iter().map(|wanted| wanted.observations.len()).sum::<usize>();
            *start = own.end;
            Some(own)
        });
        let column = |o: usize| targets.iter().skip(o).step_by(outputs).zip(&weights);
        let means: Vec<f64> =
            (0..outputs).map(|o| column(o).map(|(y, weight)| weight * y).sum::<f64>() / n.max(1) as f64).collect();
        let roots: Vec<f64> = weights.iter().map(|weight| weight.sqrt()).collect();
        targets.iter_mut().enumerate().for_each(|(i, y)| *y = (*y - means[i % outputs]) * roots[i / outputs]);
        Self { blocks, shift, factor, groups: groups.collect(), targets, roots, means, rows: n }
    }
}

/// One block of features of rows with weights, with means and factors.
fn standardised(rows: &[&[f32]], weights: &[f64], start: usize, block: &Block) -> (Vec<f32>, Vec<f32>, Vec<f32>) {
    let (n, size) = (rows.len().max(1) as f64, block.features);
    let (mut mean, mut square) = (vec![0.0_f64; size], vec![0.0_f64; size]);
    for (row, weight) in rows.iter().zip(weights) {
        mean.iter_mut().zip(&row[start..start + size]).for_each(|(mean, &x)| *mean += weight * f64::from(x) / n);
    }
    for (row, weight) in rows.iter().zip(weights) {
        for ((square, mean), &x) in square.iter_mut().zip(&mean).zip(&row[start..start + size]) {
            *square += weight * (f64::from(x) - mean).powi(2) / n;
        }
    }
    // A feature that does not vary says nothing.
    let varies = |(mean, square): (&f64, &f64)| square.sqrt() > 1e-6 * (1e-3 + mean.abs());
    let mut live: Vec<f64> = mean.iter().zip(&square).filter(|&pair| varies(pair)).map(|(_, square)| square.sqrt()).collect();
    let share = 1.0 / (live.len().max(1) as f64).sqrt();
    live.sort_by(f64::total_cmp);
    let least = if block.pool.is_some() { LEAST * live.get(live.len() / 2).copied().unwrap_or(0.0) } else { 0.0 };
    let factor: Vec<f32> = mean
        .iter()
        .zip(&square)
        .map(|(mean, square)| if varies((mean, square)) { (share / square.sqrt().max(least)) as f32 } else { 0.0 })
        .collect();
    let shift: Vec<f32> = mean.iter().map(|&x| x as f32).collect();
    let mut block = Vec::with_capacity(rows.len() * size);
    for (row, weight) in rows.iter().zip(weights) {
        let root = weight.sqrt() as f32;
        block.extend(row[start..start + size].iter().zip(shift.iter().zip(&factor)).map(|(x, (m, s))| (x - m) * s * root));
    }
    (block, shift, factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// On four rows one pool hardly varies: elsewhere it may, and must not count for more than all others.
    #[test]
    fn what_hardly_varies_does_not_count_a_thousandfold() {
        let rows: Vec<Vec<f32>> =
            (0..4).map(|i| (0..9).map(|f| if f == 4 { 0.5 + 1e-5 * i as f32 } else { (i * f) as f32 }).collect()).collect();
        let rows: Vec<&[f32]> = rows.iter().map(Vec::as_slice).collect();
        let factor = |pool| {
            let (_, _, factor) = standardised(&rows, &[1.0; 4], 0, &Block { pool, features: 9 });
            factor[4] / factor[5]
        };
        assert!(factor(Some((0, 0))) < 15.0 && factor(None) > 1e4, "{} {}", factor(Some((0, 0))), factor(None));
    }
}
