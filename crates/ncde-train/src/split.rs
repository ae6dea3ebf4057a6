//! Which case is for training, validation or testing: a pure function of the seed, the settings and the classes.
//!
//! ```text
//! order = permutation(seed),   test = its first n_test,   validation = the next n_validation,   training = the rest
//! ```
//!
//! Stratified: the same within each class, so that each part has its share of it. The thesis's own parts are cut from its own order, at its own places:
//!
//! ```text
//! training = the first [(1 - v - t) n],   validation = up to [(1 - t) n],   test = the rest
//! ```

use super::threefry::Threefry;
use ncde_runtime::random::Stream;

/// The sizes of the parts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Split {
    /// The share of cases to validate on.
    pub validation: f64,
    /// The share of cases to test on.
    pub test: f64,
    /// Fold `k` of `n` is tested on instead.
    pub fold: Option<(usize, usize)>,
    /// How the thesis's code draws its parts for this seed, if they are these.
    pub thesis: Option<Threefry>,
    /// The seed.
    pub seed: u64,
}

/// Indices of cases, in ascending order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Parts {
    /// To train on.
    pub train: Vec<usize>,
    /// To choose the best weights by.
    pub validation: Vec<usize>,
    /// To report.
    pub test: Vec<usize>,
}

impl Parts {
    pub(super) fn sorted(mut self) -> Self {
        for part in [&mut self.train, &mut self.validation, &mut self.test] {
            part.sort_unstable();
        }
        self
    }
}

impl Split {
    /// Cuts `cases` cases; with their classes given, each class by itself.
    pub fn parts(&self, cases: usize, classes: Option<&[usize]>) -> Parts {
        let mut parts = Parts::default();
        if let Some(threefry) = self.thesis {
            let order = threefry.permutation(self.seed, cases);
            let bound = |share: f64| (share * cases as f64) as usize;
            let [first, second] = [bound(1.0 - self.validation - self.test), bound(1.0 - self.test)];
            parts.train.extend(&order[..first]);
            parts.validation.extend(&order[first..second]);
            parts.test.extend(&order[second..]);
            return parts.sorted();
        }
        let order = Stream::new(self.seed, 1).permutation(cases);
        match classes {
            None => self.cut(&order, &mut parts),
            Some(classes) => {
                let most = classes.iter().copied().max().unwrap_or(0);
                for class in 0..=most {
                    let own: Vec<usize> = order.iter().copied().filter(|&i| classes[i] == class).collect();
                    self.cut(&own, &mut parts);
                }
            }
        }
        parts.sorted()
    }

    /// The same where cases of one group stay together: shares are of groups, and a group counts as of its most frequent class.
    pub fn parts_of_groups(&self, groups: &[usize], classes: Option<&[usize]>) -> Parts {
        if self.thesis.is_some() {
            return self.parts(groups.len(), classes);
        }
        let count = groups.iter().max().map_or(0, |most| most + 1);
        let class_of = |group: usize, classes: &[usize]| {
            let mut counts = std::collections::BTreeMap::new();
            let own = groups.iter().zip(classes).filter(|(other, _)| **other == group);
            own.for_each(|(_, class)| *counts.entry(*class).or_insert(0) += 1);
            // Of several the first.
            counts.into_iter().rev().max_by_key(|(_, count)| *count).map_or(0, |(class, _)| class)
        };
        let classes: Option<Vec<usize>> = classes.map(|classes| (0..count).map(|group| class_of(group, classes)).collect());
        let mut parts = self.parts(count, classes.as_deref());
        // Few groups of each class leave none to test on, though all of them together have one to spare.
        if parts.test.is_empty() && self.test > 0.0 && self.fold.is_none() && parts.train.len() > 2 {
            let place = Stream::new(self.seed, 1).permutation(parts.train.len())[0];
            parts.test.push(parts.train.remove(place));
        }
        let of = |part: Vec<usize>| -> Vec<usize> {
            let is_in: std::collections::HashSet<usize> = part.into_iter().collect();
            (0..groups.len()).filter(|&i| is_in.contains(&groups[i])).collect()
        };
        Parts { train: of(parts.train), validation: of(parts.validation), test: of(parts.test) }
    }

    fn cut(&self, order: &[usize], parts: &mut Parts) {
        let n = order.len();
        let share = |share: f64| ((share * n as f64).round() as usize).min(n);
        let (test, rest): (Vec<usize>, Vec<usize>) = match self.fold {
            Some((fold, folds)) => {
                let own = fold * n / folds..(fold + 1) * n / folds;
                (order[own.clone()].to_vec(), [&order[..own.start], &order[own.end..]].concat())
            }
            None => {
                let (test, rest) = order.split_at(share(self.test));
                (test.to_vec(), rest.to_vec())
            }
        };
        // A part that is asked for has a case of each class, where there is one to spare.
        let validation =
            share(self.validation).max(usize::from(self.validation > 0.0 && rest.len() > 1)).min(rest.len().saturating_sub(1));
        parts.test.extend(test);
        parts.validation.extend(&rest[..validation]);
        parts.train.extend(&rest[validation..]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPLIT: Split = Split { validation: 0.15, test: 0.15, fold: None, thesis: None, seed: 5 };

    fn all(parts: &Parts) -> Vec<usize> {
        let mut all = [&parts.train[..], &parts.validation, &parts.test].concat();
        all.sort_unstable();
        all
    }

    #[test]
    fn every_case_is_in_one_part() {
        for n in [0, 1, 2, 3, 7, 100, 561] {
            let classes: Vec<usize> = (0..n).map(|i| i % 3).collect();
            for classes in [None, Some(&classes[..])] {
                let parts = SPLIT.parts(n, classes);
                assert_eq!(all(&parts), (0..n).collect::<Vec<_>>());
                assert!(n == 0 || !parts.train.is_empty());
            }
        }
        let parts = SPLIT.parts(561, None);
        assert_eq!([parts.train.len(), parts.validation.len(), parts.test.len()], [393, 84, 84]);
    }

    #[test]
    fn the_thesis_s_parts_have_its_sizes() {
        // De-duplicated sizes of its data sets; cut at int(0.7 n) and int(0.85 n).
        for (n, sizes) in [(409, [286, 61, 62]), (561, [392, 84, 85]), (236, [165, 35, 36])] {
            let parts = Split { thesis: Some(Threefry::Partitionable), ..SPLIT }.parts(n, None);
            assert_eq!([parts.train.len(), parts.validation.len(), parts.test.len()], sizes);
            assert_eq!(all(&parts), (0..n).collect::<Vec<_>>());
        }
        // The last of its order for seed 2345 (see `threefry`) is tested on, the first is trained on.
        let parts = Split { thesis: Some(Threefry::Partitionable), seed: 2345, ..SPLIT }.parts(409, None);
        assert!(parts.test.contains(&85) && parts.train.contains(&220));
    }

    #[test]
    fn stratified_parts_have_their_share_of_each_class() {
        let classes: Vec<usize> = (0..200).map(|i| usize::from(i % 10 == 0)).collect();
        let parts = SPLIT.parts(200, Some(&classes));
        let rare = |part: &[usize]| part.iter().filter(|&&i| classes[i] == 1).count();
        assert_eq!([rare(&parts.train), rare(&parts.validation), rare(&parts.test)], [14, 3, 3]);
    }

    #[test]
    fn a_group_is_in_one_part() {
        let groups: Vec<usize> = (0..120).map(|i| i % 24).collect();
        let classes: Vec<usize> = groups.iter().map(|group| group % 2).collect();
        let part_of = |parts: &Parts, i: usize| [&parts.train, &parts.validation, &parts.test].map(|part| part.contains(&i));
        for classes in [None, Some(&classes[..])] {
            let parts = SPLIT.parts_of_groups(&groups, classes);
            assert_eq!(all(&parts), (0..120).collect::<Vec<_>>());
            assert_eq!([parts.train.len(), parts.validation.len(), parts.test.len()], [80, 20, 20]);
            assert!((0..120).all(|i| part_of(&parts, i) == part_of(&parts, groups[i])));
        }
        // Two groups of each class: one of the four is tested on.
        let few: Vec<usize> = (0..12).map(|i| i % 4).collect();
        let parts =
            Split { validation: 0.0, ..SPLIT }.parts_of_groups(&few, Some(&few.iter().map(|g| g % 2).collect::<Vec<_>>()));
        assert_eq!([parts.train.len(), parts.test.len()], [9, 3]);
    }

    #[test]
    fn folds_cover_everything_once_and_seeds_differ() {
        let mut tested = Vec::new();
        for fold in 0..5 {
            tested.extend(Split { fold: Some((fold, 5)), ..SPLIT }.parts(23, None).test);
        }
        tested.sort_unstable();
        assert_eq!(tested, (0..23).collect::<Vec<_>>());
        assert_ne!(SPLIT.parts(50, None), Split { seed: 6, ..SPLIT }.parts(50, None));
    }
}
