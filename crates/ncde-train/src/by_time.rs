//! One long series, or a few, as a data set: parts by time, and stretches to train on.
//!
//! ```text
//! observations   0 ... a | gap | ... b | gap | ... n          training, validation, test, in order; a gap is the largest horizon
//! stretches      of L observations, each half of it on from the one before, learned from in their second half; the first one from its beginning
//! ```
//!
//! For the validation and test parts a model is evaluated after it has seen all observations before them. A model in closed form takes the training part of a series as a whole.
//! One that is trained step by step takes stretches, so that the cost of a step does not depend on the length of a series; the first half of a stretch warms up the state.

use std::ops::Range;

use ncde_data::{Case, Dataset, Targets};

use super::fingerprint;
use super::split::Parts;

/// The ranges of observations of one series. A forecast is made from an observation of the range and compared only with values before its end.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Cut {
    /// To train on, from 0.
    pub train: Range<usize>,
    /// To choose the best weights by, and to find how far off forecasts are.
    pub validation: Range<usize>,
    /// To report.
    pub test: Range<usize>,
}

impl Cut {
    /// Of a series of so many observations; shares of validation and test, and a gap before each.
    ///
    /// ```
    /// use ncde_train::Cut;
    /// let cut = Cut::of(100, [0.2, 0.1], 3);
    /// assert_eq!((cut.train, cut.validation, cut.test), (0..70, 73..90, 93..100));
    /// ```
    pub fn of(length: usize, [validation, test]: [f64; 2], gap: usize) -> Self {
        let share = |share: f64| (share * length as f64).round() as usize;
        let b = length - share(test).min(length);
        let a = b - share(validation).min(b);
        let part = |from: usize, to: usize| (from + gap).min(to)..to;
        Self { train: 0..a, validation: part(a, b), test: part(b, length) }
    }
}

/// Series that are cut by time.
#[derive(Debug, Clone)]
pub(super) struct Long {
    /// As they are.
    pub(super) data: Dataset,
    pub(super) cuts: Vec<Cut>,
}

/// What is trained on, made of long series.
#[derive(Debug, Clone)]
pub(super) struct Stretches {
    pub(super) data: Dataset,
    pub(super) parts: Parts,
    /// For each case the observations that are learned from.
    pub(super) learned: Vec<Range<usize>>,
}

impl Long {
    /// Cuts the first `trained` series; the others are tested on as they are.
    pub(super) fn new(data: Dataset, trained: usize, shares: [f64; 2], gap: usize) -> Self {
        let cut = |(i, case): (usize, &Case)| match i < trained {
            true => Cut::of(case.len(), shares, gap),
            false => Cut { test: 0..case.len(), ..Cut::default() },
        };
        Self { cuts: data.cases.iter().enumerate().map(cut).collect(), data }
    }

    /// The fingerprint of the whole series, test parts included, and of their cuts.
    pub(super) fn fingerprint(&self) -> String {
        let mut parts = Parts::default();
        for (i, cut) in self.cuts.iter().enumerate() {
            let own = [(&cut.train, &mut parts.train), (&cut.validation, &mut parts.validation), (&cut.test, &mut parts.test)];
            own.into_iter().filter(|(range, _)| !range.is_empty()).for_each(|(_, part)| part.push(i));
        }
        fingerprint::of(&self.data, &parts)
    }

    pub(super) fn observations(&self) -> [usize; 3] {
        let sum = |part: fn(&Cut) -> &Range<usize>| self.cuts.iter().map(|cut| part(cut).len()).sum();
        [sum(|cut| &cut.train), sum(|cut| &cut.validation), sum(|cut| &cut.test)]
    }

    /// How many series have something of each part.
    pub(super) fn series(&self) -> [usize; 3] {
        let count = |part: fn(&Cut) -> &Range<usize>| self.cuts.iter().filter(|cut| !part(cut).is_empty()).count();
        [count(|cut| &cut.train), count(|cut| &cut.validation), count(|cut| &cut.test)]
    }

    /// The training parts as they are.
    pub(super) fn whole(&self) -> Stretches {
        let train = self.cuts.iter().map(|cut| cut.train.clone()).enumerate();
        let pieces: Vec<(usize, Range<usize>)> = train.filter(|(_, range)| !range.is_empty()).collect();
        let learned = pieces.iter().map(|(_, range)| 0..range.len()).collect();
        let parts = Parts { train: (0..pieces.len()).collect(), ..Parts::default() };
        Stretches { data: pieces_of(&self.data, &pieces), parts, learned }
    }

    /// Stretches of the training and validation parts; each ends with `ahead` observations that serve only as targets of forecasts.
    pub(super) fn stretches(&self, length: usize, ahead: usize) -> Stretches {
        let half = (length / 2).max(1);
        let (mut pieces, mut learned, mut parts) = (Vec::new(), Vec::new(), Parts::default());
        for (series, cut) in self.cuts.iter().enumerate() {
            for (range, part) in [(&cut.train, &mut parts.train), (&cut.validation, &mut parts.validation)] {
                let mut from = range.start;
                while from < range.end {
                    // The first stretch of a series has nothing before it, and is learned from at once.
                    let begin = from.saturating_sub(half);
                    let to = if from == 0 { (2 * half).min(range.end) } else { (from + half).min(range.end) };
                    part.push(pieces.len());
                    learned.push(from - begin..to - begin);
                    pieces.push((series, begin..(to + ahead).min(range.end)));
                    from = to;
                }
            }
        }
        Stretches { data: pieces_of(&self.data, &pieces), parts, learned }
    }
}

/// Pieces of series as a data set of their own.
fn pieces_of(data: &Dataset, pieces: &[(usize, Range<usize>)]) -> Dataset {
    let channels = data.channels.len();
    let case = |(i, range): &(usize, Range<usize>)| {
        let own = &data.cases[*i];
        let whole = *range == (0..own.len());
        Case {
            id: if whole { own.id.clone() } else { format!("{}[{}..{}]", own.id, range.start, range.end) },
            times: own.times[range.clone()].to_vec(),
            values: own.values[range.start * channels..range.end * channels].to_vec(),
            statics: own.statics.clone(),
        }
    };
    let targets = match &data.targets {
        Targets::ClassSteps { names, of } => Targets::ClassSteps { names: names.clone(), of: cut(of, pieces) },
        Targets::ValueSteps { name, of } => Targets::ValueSteps { name: name.clone(), of: cut(of, pieces) },
        // Labels of whole series are not what is predicted at steps.
        Targets::None | Targets::Classes { .. } | Targets::Values { .. } => Targets::None,
    };
    Dataset {
        name: data.name.clone(),
        channels: data.channels.clone(),
        statics: data.statics.clone(),
        times: data.times,
        cases: pieces.iter().map(case).collect(),
        targets,
        vocabulary: data.vocabulary.clone(),
        groups: None,
    }
}

fn cut<T: Clone>(of: &[Vec<T>], pieces: &[(usize, Range<usize>)]) -> Vec<Vec<T>> {
    pieces.iter().map(|(i, range)| of[*i][range.clone()].to_vec()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn long(length: usize, gap: usize) -> Long {
        let case = Case {
            id: "a".into(),
            times: (0..length).map(|t| t as f64).collect(),
            values: (0..length).map(|t| t as f64).collect(),
            statics: vec![],
        };
        let targets = Targets::ValueSteps { name: "y".into(), of: vec![(0..length).map(|t| 0.5 * t as f64).collect()] };
        let channels = vec!["x".into()];
        let data = Dataset { channels, cases: vec![case], targets, ..crate::demo::turns(0).subset(&[]) };
        Long { data, cuts: vec![Cut::of(length, [0.2, 0.2], gap)] }
    }

    #[test]
    fn every_observation_of_a_part_is_learned_from_once_and_nothing_reaches_into_the_next() {
        for (length, stretch, ahead) in [(1000, 64, 5), (1000, 10_000, 1), (97, 10, 3), (50, 7, 0)] {
            let long = long(length, ahead);
            let all = long.stretches(stretch, ahead);
            for (part, range) in [(&all.parts.train, &long.cuts[0].train), (&all.parts.validation, &long.cuts[0].validation)] {
                let mut seen = Vec::new();
                for &i in part {
                    let case = &all.data.cases[i];
                    assert!(case.len() <= stretch + 1 + ahead && case.times.iter().all(|&t| (t as usize) < range.end));
                    seen.extend(case.times[all.learned[i].clone()].iter().map(|&t| t as usize));
                    // Warm, but for the beginning of the series.
                    assert!(all.learned[i].start >= stretch / 2 || case.times[0] == 0.0);
                    let Targets::ValueSteps { of, .. } = &all.data.targets else { panic!() };
                    assert!(of[i].iter().zip(&case.times).all(|(y, t)| *y == 0.5 * t));
                }
                assert_eq!(seen, range.clone().collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn what_is_only_tested_on_counts_in_the_fingerprint() {
        let (one, mut other) = (long(100, 2), long(100, 2));
        assert_eq!(one.fingerprint(), other.fingerprint());
        other.data.cases[0].values[99] += 1.0;
        assert!(one.cuts[0].test.contains(&99));
        assert_ne!(one.fingerprint(), other.fingerprint());
    }

    #[test]
    fn parts_come_in_order_with_gaps_and_may_be_empty() {
        assert_eq!(Cut::of(100, [0.0, 0.2], 5), Cut { train: 0..80, validation: 80..80, test: 85..100 });
        assert_eq!(Cut::of(10, [0.2, 0.2], 5), Cut { train: 0..6, validation: 8..8, test: 10..10 });
        let whole = long(100, 2).whole();
        assert_eq!((whole.data.cases[0].len(), &whole.learned[0], whole.parts.train), (60, &(0..60), vec![0]));
    }
}
