//! What a reservoir is given and what it should say: rows of series, observations that are learned from, targets.

use ncde_reservoir::Rows;
use ncde_runtime::At;

use crate::goal::Goal;
use ncde_runtime::random::Stream;

/// The rows of one case; times in units of the horizon.
#[derive(Debug, Clone)]
pub(super) struct CaseRows<'a> {
    values: &'a [f32],
    gaps: Vec<f64>,
    since: Vec<f64>,
    pub(super) statics: &'a [f32],
}

impl<'a> CaseRows<'a> {
    pub(super) fn new(values: &'a [f32], times: &[f64], statics: &'a [f32], horizon: f64) -> Self {
        let since: Vec<f64> = times.iter().map(|time| time / horizon).collect();
        // As a prediction computes it: the difference of times first.
        let gaps = times.iter().scan(0.0, |last, &time| Some((time - std::mem::replace(last, time)) / horizon)).collect();
        Self { values, gaps, since, statics }
    }

    pub(super) fn rows(&self) -> Rows<'_> {
        Rows { gaps: &self.gaps, since: &self.since, values: self.values, first: true }
    }

    pub(super) fn part(&self, from: usize, to: usize) -> Rows<'_> {
        let width = self.values.len() / self.gaps.len().max(1);
        Rows {
            gaps: &self.gaps[from..to],
            since: &self.since[from..to],
            values: &self.values[from * width..to * width],
            first: from == 0,
        }
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
