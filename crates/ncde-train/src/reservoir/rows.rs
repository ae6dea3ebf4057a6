//! What a reservoir is given and what it should say: rows of series, observations that are learned from, targets.

use ncde_reservoir::{Rows, Ticked};
use ncde_runtime::At;
use ncde_runtime::layer::Reservoir;

use crate::goal::Goal;
use ncde_runtime::random::Stream;

/// The rows of one case, with those of a clock between them.
#[derive(Debug, Clone)]
pub(super) struct CaseRows<'a> {
    ticked: Ticked,
    /// For each observation, how many rows there are up to it.
    ends: Vec<usize>,
    pub(super) statics: &'a [f32],
}

impl<'a> CaseRows<'a> {
    pub(super) fn new(values: &[f32], times: &[f64], statics: &'a [f32], reservoir: &Reservoir) -> Self {
        let (mut ticked, mut ends, mut before) = (Ticked::default(), Vec::with_capacity(times.len()), (0.0, None));
        let width = values.len() / times.len().max(1);
        for (&time, row) in times.iter().zip(values.chunks_exact(width.max(1))) {
            ticked.push(before, time, row.iter().copied(), reservoir.horizon, reservoir.tick);
            before = (time, Some(row));
            ends.push(ticked.count());
        }
        Self { ticked, ends, statics }
    }

    pub(super) fn rows(&self) -> Rows<'_> {
        self.part(0, self.ends.len())
    }

    /// The rows of observations from one to another.
    pub(super) fn part(&self, from: usize, to: usize) -> Rows<'_> {
        let end = |observation: usize| observation.checked_sub(1).map_or(0, |last| self.ends[last]);
        self.ticked.rows(end(from), end(to), from == 0)
    }
}

/// Observations of one case, with what should be said there, `[observations, outputs]`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Wanted {
    pub(super) case: usize,
    /// Cases of one group are left out together.
    pub(super) group: usize,
    pub(super) observations: Vec<usize>,
    pub(super) targets: Vec<f64>,
}

/// What should be said of each case, given with its group: at the end, or at labelled observations. Rows of which a number is missing are left out.
pub(super) fn wanted(goal: &Goal, at: At, cases: &[[usize; 2]], last: impl Fn(usize) -> usize) -> Vec<Wanted> {
    let one = |&[case, group]: &[usize; 2]| {
        let asked = goal.numeric_targets(case, 1, None).into_iter().filter(|(_, row)| row.iter().all(|x| x.is_finite()));
        let (observations, targets): (Vec<usize>, Vec<Vec<f64>>) =
            asked.map(|(t, row)| (if at == At::End { last(case) } else { t }, row)).unzip();
        Wanted { case, group, observations, targets: targets.concat() }
    };
    cases.iter().map(one).filter(|wanted| !wanted.observations.is_empty()).collect()
}

/// At most about `rows` rows: of all cases, or of some if that leaves too few of each; observations evenly spaced.
pub(super) fn thinned(all: &[Wanted], rows: usize, each: usize, stream: &Stream) -> Vec<Wanted> {
    let total: usize = all.iter().map(|wanted| wanted.observations.len()).sum();
    if total <= rows {
        return all.to_vec();
    }
    let each = (rows / all.len().max(1)).max(each);
    let (mut chosen, mut count) = (Vec::new(), 0);
    for i in stream.permutation(all.len()) {
        if count >= rows {
            break;
        }
        let step = all[i].observations.len().div_ceil(each).max(1);
        let outputs = all[i].targets.len() / all[i].observations.len().max(1);
        let places = (0..all[i].observations.len()).skip(step / 2).step_by(step);
        let (observations, targets): (Vec<usize>, Vec<&[f64]>) =
            places.map(|p| (all[i].observations[p], &all[i].targets[p * outputs..(p + 1) * outputs])).unzip();
        count += observations.len();
        chosen.push((i, Wanted { case: all[i].case, group: all[i].group, observations, targets: targets.concat() }));
    }
    chosen.sort_by_key(|(i, _)| *i);
    chosen.into_iter().map(|(_, wanted)| wanted).collect()
}
