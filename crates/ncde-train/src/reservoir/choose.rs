//! Chooses blocks of features and the ridge penalty by their leave-one-out error.
//!
//! ```text
//! K = sum_b w_b K_b,   sum_b w_b = 1          for every mix w on a list, the best penalty; the mix with the least error
//! ```
//!
//! Which blocks help differs from data set to data set. The list of mixes is short and fixed, so that there is little to overfit: first families and ways of pooling, then
//! summaries together with the best of those.

use std::ops::Range;

use ncde_reservoir::Pooling;
use ncde_reservoir::matrix::products;
use ncde_reservoir::ridge::{Fit, fit};
use ncde_runtime::layer::Block;
use rayon::prelude::*;

use super::down_the_valley;
use super::table::Table;

/// Families that are taken together, and ways of pooling.
const TOGETHER: [&[usize]; 6] = [&[0], &[2], &[0, 2], &[0, 1], &[0, 1, 2], &[1, 2]];
const POOLED: [&[Pooling]; 9] = {
    use Pooling::{Competing, Height, Late, Longest, Mean, Place, Share};
    [
        &[Share],
        &[Share, Competing],
        &[Share, Longest, Competing],
        &[Share, Place],
        &[Share, Mean, Longest, Place],
        &[Share, Mean, Longest, Place, Competing],
        &[Share, Height],
        &[Share, Late],
        &[Share, Height, Late],
    ]
};
/// How many of the best mixes of responses are tried together with summaries.
const FINALISTS: usize = 4;
/// Of the readout, `PRIOR / (rows + PRIOR)` is that of a mix that helps nearly always: on few cases the best by leave-one-out error is partly chosen by chance.
const PRIOR: f64 = 100.0;
const USUAL: [Pooling; 3] = [Pooling::Share, Pooling::Longest, Pooling::Competing];
/// The positions of the blocks of windows and of words of the signature among the summaries. They have so many features that some correlate with the target by chance, so
/// the error of a mix with one must be below this share of the best without.
const WINDOWS: usize = 3;
const WORDS: usize = 4;
const WORTH: f64 = 0.98;
/// Penalties are powers of this, as shares of the number of rows, between these.
pub(super) const STEP: f64 = 3.162_277_660_168_379_5;
const PENALTIES: std::ops::RangeInclusive<i32> = -10..=4;
const MIDDLE: i32 = -6;

/// A fit of one mix.
#[derive(Debug)]
pub(super) struct Member {
    /// The weight of each block; they sum to 1.
    pub(super) mix: Vec<f64>,
    pub(super) lambda: f64,
    pub(super) fit: Fit,
}

/// Fits that are averaged, the best mix first, with the share of each.
#[derive(Debug)]
pub(super) struct Choice(pub(super) Vec<(f64, Member)>);

impl Choice {
    /// Of the best mix alone.
    pub(super) fn best(mut self) -> Self {
        self.0.truncate(1);
        Self(self.0.into_iter().map(|(_, member)| (1.0, member)).collect())
    }

    /// The weight of each block; 0 if it is not in any mix.
    pub(super) fn mix(&self) -> Vec<f64> {
        self.average(|member| &member.mix)
    }

    /// The predictions of rows that are left out.
    pub(super) fn left_out(&self) -> Vec<f64> {
        self.average(|member| &member.fit.left_out)
    }

    /// Their mean squared error, with the weights of rows.
    pub(super) fn error(&self, table: &Table) -> f64 {
        let (outputs, scores) = (table.means.len().max(1), self.left_out());
        let rows = scores.chunks_exact(outputs).zip(table.targets.chunks_exact(outputs)).zip(&table.roots);
        let errors =
            rows.flat_map(|((scores, targets), root)| scores.iter().zip(targets).map(move |(s, y)| (root * s - y).powi(2)));
        errors.sum::<f64>() / (table.roots.iter().map(|root| root * root).sum::<f64>() * outputs as f64).max(f64::MIN_POSITIVE)
    }

    fn average(&self, of: impl Fn(&Member) -> &Vec<f64>) -> Vec<f64> {
        let mut sum = vec![0.0; self.0.first().map_or(0, |(_, member)| of(member).len())];
        for (share, member) in &self.0 {
            sum.iter_mut().zip(of(member)).for_each(|(sum, x)| *sum += share * x);
        }
        sum
    }
}

impl Member {
    /// The fit of one mix, with the best penalty near one that is a share of the rows; none if no fit is possible.
    pub(super) fn of_mix(table: &Table, mix: Vec<f64>, per_row: f64) -> Option<Self> {
        let mut k = vec![0.0; table.rows * table.rows];
        for (block, &w) in table.blocks.iter().zip(&mix).filter(|(_, w)| **w > 0.0) {
            k.iter_mut().zip(products(block, table.rows)).for_each(|(k, x)| *k += w * x);
        }
        let near = (per_row.ln() / STEP.ln()).round() as i32;
        let (lambda, fit) = best_penalty_near(near, &k, &table.targets, &table.groups, &table.roots)?;
        Some(Self { mix, lambda, fit })
    }
}

/// The best mix and the usual one, where each family has these pools; none if no fit is possible.
pub(super) fn choose(table: &Table, blocks: &[Block], pools: &[Pooling]) -> Option<Choice> {
    let kernels: Vec<Vec<f64>> = table.blocks.iter().map(|block| products(block, table.rows)).collect();
    let place = |pool: &Pooling| pools.iter().position(|other| other == pool);
    let pooled: Vec<Vec<usize>> = POOLED.iter().filter_map(|list| list.iter().map(place).collect()).collect();
    let of = |families: &[usize], pools: &[usize]| mix(blocks, |f, p| families.contains(&f) && pools.contains(&p), [0.0; 5]);
    let responses: Vec<Vec<f64>> = TOGETHER
        .iter()
        .flat_map(|families| pooled.iter().map(move |pools| of(families, pools)))
        .filter(|mix| mix.iter().any(|&w| w > 0.0))
        .collect();
    let mut tried: Vec<Member> = responses.par_iter().filter_map(|mix| best_of(table, &kernels, mix)).collect();
    tried.sort_by(|a, b| a.fit.error.total_cmp(&b.fit.error));
    let rest = blocks.iter().take_while(|block| block.pool.is_some()).count();
    let has_words = blocks.get(rest + WORDS).is_some_and(|block| block.features > 0);
    let alone = [
        [1.0, 1.0, 0.0, 0.0, 0.0],
        [0.0, 1.0, 0.0, 0.0, 0.0],
        [0.0, 0.0, 1.0, 0.0, 0.0],
        [0.0, 1.0, 1.0, 0.0, 0.0],
        [0.0, 0.0, 0.0, 1.0, 0.0],
        [0.0, 1.0, 0.0, 1.0, 0.0],
        [0.0, 0.0, 0.0, 0.0, 1.0],
        [0.0, 0.0, 1.0, 0.0, 1.0],
        [0.0, 1.0, 1.0, 0.0, 1.0],
    ];
    let is_there = |rest: &[f64; 5]| has_words || rest[WORDS] == 0.0;
    let mut beside: Vec<Vec<f64>> = alone.into_iter().filter(is_there).map(|rest| mix(blocks, |_, _| false, rest)).collect();
    for choice in tried.iter().take(FINALISTS) {
        let own = |f, p| blocks.iter().zip(&choice.mix).any(|(block, &w)| block.pool == Some((f, p)) && w > 0.0);
        // Summaries with half the weight of all responses together, the same, twice or four times as much.
        let count = blocks.iter().filter(|block| block.pool.is_some_and(|(f, p)| own(f, p))).count() as f64;
        let say = (count / 2.0).max(1.0);
        let half = say / 2.0;
        let rests = [
            [0.0, say, 0.0, 0.0, 0.0],
            [half, half, 0.0, 0.0, 0.0],
            [2.0 * say, 2.0 * say, 0.0, 0.0, 0.0],
            [0.0, 0.0, say, 0.0, 0.0],
            [0.0, half, half, 0.0, 0.0],
            [0.0, 0.0, 0.0, say, 0.0],
            [0.0, half, 0.0, half, 0.0],
            [0.0, 0.0, 0.0, 4.0 * say, 0.0],
            [0.0, 0.0, 0.0, 0.0, say],
            [0.0, 0.0, half, 0.0, half],
            [0.0, 0.0, say, 0.0, say],
            [0.0, half, half, 0.0, half],
        ];
        beside.extend(rests.into_iter().filter(is_there).map(|rest| mix(blocks, own, rest)));
    }
    beside.retain(|mix| mix.iter().any(|&w| w > 0.0));
    tried.extend(beside.par_iter().filter_map(|mix| best_of(table, &kernels, mix)).collect::<Vec<_>>());
    let is_large = |choice: &Member| [WINDOWS, WORDS].iter().any(|block| choice.mix[rest + block] > 0.0);
    let judged = |choice: &Member| choice.fit.error / if is_large(choice) { WORTH } else { 1.0 };
    let best = tried.into_iter().min_by(|a, b| judged(a).total_cmp(&judged(b)))?;
    let usual = best_of(table, &kernels, &mix(blocks, |_, p| pools.get(p).is_some_and(|pool| USUAL.contains(pool)), [0.0; 5]));
    let share = PRIOR / (table.rows as f64 + PRIOR);
    Some(match usual {
        Some(usual) => Choice(vec![(1.0 - share, best), (share, usual)]),
        None => Choice(vec![(1.0, best)]),
    })
}

/// The weights of blocks: 1 for pools that are `taken`, these for memories, moments, areas, windows and words, 1 for statics; scaled to sum to 1.
fn mix(blocks: &[Block], taken: impl Fn(usize, usize) -> bool, beside: [f64; 5]) -> Vec<f64> {
    let rest = blocks.iter().take_while(|block| block.pool.is_some()).count();
    let weight = |(i, block): (usize, &Block)| match block.pool {
        _ if block.features == 0 => 0.0,
        Some((f, p)) => f64::from(u8::from(taken(f, p))),
        None => *beside.get(i - rest).unwrap_or(&1.0),
    };
    let weights: Vec<f64> = blocks.iter().enumerate().map(weight).collect();
    let sum: f64 = weights.iter().sum();
    if sum > 0.0 { weights.iter().map(|w| w / sum).collect() } else { weights }
}

/// The penalty with the least leave-out error, of a mix.
fn best_of(table: &Table, kernels: &[Vec<f64>], mix: &[f64]) -> Option<Member> {
    let n = table.rows;
    let mut k = vec![0.0; n * n];
    for (kernel, &w) in kernels.iter().zip(mix).filter(|(_, w)| **w > 0.0) {
        k.iter_mut().zip(kernel).for_each(|(k, x)| *k += w * x);
    }
    let (lambda, fit) = best_penalty(&k, &table.targets, &table.groups, &table.roots)?;
    Some(Member { mix: mix.to_vec(), lambda, fit })
}

/// The penalty with the least leave-out error and its fit, of products of all pairs of rows with these square roots of weights.
pub(crate) fn best_penalty(k: &[f64], targets: &[f64], groups: &[Range<usize>], roots: &[f64]) -> Option<(f64, Fit)> {
    best_penalty_near(MIDDLE, k, targets, groups, roots)
}

/// The same, from this power down the valley.
fn best_penalty_near(near: i32, k: &[f64], targets: &[f64], groups: &[Range<usize>], roots: &[f64]) -> Option<(f64, Fit)> {
    let rows = groups.last().map_or(0, |last| last.end);
    let at = |power: i32| {
        let lambda = rows as f64 * STEP.powi(power);
        let fit = PENALTIES.contains(&power).then(|| fit(k, targets, groups, roots, lambda)).flatten()?;
        Some((lambda, fit))
    };
    down_the_valley(near, at, |(_, fit)| fit.error)
}
