//! A whole table: average ranks, Friedman's test, every pair by Wilcoxon with Holm's correction, and cliques.
//!
//! A clique is a run of models that follow each other by average rank, as long as can be, in which no pair differs: what a bar of a critical-difference
//! diagram joins. Pairs are tested by Wilcoxon and Holm, as is done now, and not by Nemenyi's critical difference of ranks: that one depends on which other
//! models are in the table (Benavoli, Corani and Mangili, 2016).
//!
//! With `n` data sets no two-sided p-value is below `2^(1-n)`, and Holm multiplies the smallest by the number of pairs: [`Comparison::can_differ`].

use serde::Serialize;

use super::wilcoxon::{Alternative, Wilcoxon, wilcoxon};
use super::{Better, Error, Friedman, average_ranks, friedman, holm};

/// The level of all tests.
pub const LEVEL: f64 = 0.05;

/// The most pairs that are listed in a sentence.
const LISTED: usize = 10;

/// Two models.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Pair {
    /// Which, the one with the better average rank first.
    pub models: [usize; 2],
    /// Their two-sided test.
    pub test: Wilcoxon,
    /// The p-value after Holm's correction over all pairs.
    pub corrected: f64,
}

impl Pair {
    /// Whether the two differ at [`LEVEL`].
    pub fn differs(&self) -> bool {
        self.corrected <= LEVEL
    }
}

/// Models over data sets.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// How many data sets.
    pub sets: usize,
    /// The average rank of each model; 1 is best.
    pub ranks: Vec<f64>,
    /// The models by average rank, the best first; those that tie in the order in which they came.
    pub order: Vec<usize>,
    /// Whether any differs.
    pub friedman: Friedman,
    /// All pairs, in the order of `order`.
    pub pairs: Vec<Pair>,
    /// Runs `[first, last]` of places in `order` of which no pair differs, of at least two models, none inside another.
    pub cliques: Vec<[usize; 2]>,
}

impl Comparison {
    /// Of scores `[model][data set]`.
    ///
    /// # Errors
    /// With fewer than three models or two data sets, or if a score is missing.
    pub fn of(scores: &[Vec<f64>], better: Better) -> Result<Self, Error> {
        let friedman = friedman(scores)?;
        let ranks = average_ranks(scores, better)?;
        let mut order: Vec<usize> = (0..scores.len()).collect();
        order.sort_by(|&i, &j| ranks[i].total_cmp(&ranks[j]));
        let mut pairs = Vec::new();
        for (place, &i) in order.iter().enumerate() {
            for &j in &order[place + 1..] {
                let test = wilcoxon(&scores[i], &scores[j], Alternative::TwoSided)?;
                pairs.push(Pair { models: [i, j], test, corrected: test.p });
            }
        }
        let corrected = holm(&pairs.iter().map(|pair| pair.test.p).collect::<Vec<_>>());
        pairs.iter_mut().zip(corrected).for_each(|(pair, p)| pair.corrected = p);
        let differ = |i: usize, j: usize| pairs.iter().any(|pair| pair.models == [order[i], order[j]] && pair.differs());
        let cliques = cliques(order.len(), differ);
        Ok(Self { sets: scores[0].len(), ranks, order, friedman, pairs, cliques })
    }

    /// Whether any pair could differ at [`LEVEL`]: with few data sets none can, whatever the scores.
    pub fn can_differ(&self) -> bool {
        self.least() * self.pairs.len() as f64 <= LEVEL
    }

    /// The smallest p-value that a pair can have.
    pub fn least(&self) -> f64 {
        2.0 * 0.5_f64.powi(i32::try_from(self.sets).unwrap_or(i32::MAX))
    }

    /// What it says, in sentences; `names` are those of the models.
    pub fn words(&self, names: &[&str]) -> Vec<String> {
        let name = |model: usize| names.get(model).copied().unwrap_or("?");
        let ranks: Vec<String> = self.order.iter().map(|&model| format!("{} {:.2}", name(model), self.ranks[model])).collect();
        let Friedman { statistic, freedom, p } = self.friedman;
        let verdict = if p <= LEVEL { "some models differ" } else { "no difference is seen" };
        let mut all = vec![
            format!("Average ranks over {} tasks (1 is best, ties averaged): {}.", self.sets, ranks.join(", ")),
            format!(
                "Friedman test, corrected for ties: chi-square = {statistic:.2} with {freedom} degrees of freedom, p = {}: {verdict} at the {LEVEL} level.",
                chance(p)
            ),
        ];
        let differing: Vec<String> = self
            .pairs
            .iter()
            .filter(|pair| pair.differs())
            .map(|pair| format!("{} and {} (p = {})", name(pair.models[0]), name(pair.models[1]), chance(pair.corrected)))
            .collect();
        let how = format!("Wilcoxon signed-rank tests of all {} pairs with Holm's correction", self.pairs.len());
        all.push(if !self.can_differ() {
            format!(
                "{how} cannot tell any pair apart: with {} tasks the smallest p is {}, before it is corrected. It takes more tasks or fewer models.",
                self.sets,
                chance(self.least())
            )
        } else if differing.is_empty() {
            format!("{how}: no pair differs at the {LEVEL} level.")
        } else {
            let more = differing.len().saturating_sub(LISTED);
            let rest = if more > 0 { format!("; and {more} more") } else { String::new() };
            let listed = differing[..differing.len() - more].join("; ");
            format!("{how}: at the {LEVEL} level {} differ: {listed}{rest}.", differing.len())
        });
        all
    }
}

/// A chance, to three digits.
fn chance(p: f64) -> String {
    if p < 1e-4 { format!("{p:.1e}") } else { format!("{p:.4}") }
}

/// The longest runs of `count` places of which no pair differs.
fn cliques(count: usize, differ: impl Fn(usize, usize) -> bool) -> Vec<[usize; 2]> {
    let mut all: Vec<[usize; 2]> = Vec::new();
    for first in 0..count {
        let free = |last: &usize| (first..*last).all(|other| !differ(other, *last));
        let last = (first + 1..count).take_while(free).last().unwrap_or(first);
        if last > first && all.last().is_none_or(|[_, reached]| last > *reached) {
            all.push([first, last]);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::cliques;

    #[test]
    fn cliques_are_the_longest_runs_without_a_pair_that_differs() {
        let pairs = [(0, 3), (0, 4), (1, 4)];
        assert_eq!(cliques(5, |i, j| pairs.contains(&(i, j))), [[0, 2], [1, 3], [2, 4]]);
        // Inside a run any pair counts, not its ends alone.
        assert_eq!(cliques(4, |i, j| (i, j) == (1, 2)), [[0, 1], [2, 3]]);
        assert_eq!(cliques(3, |_, _| true), Vec::<[usize; 2]>::new());
        assert_eq!(cliques(3, |_, _| false), [[0, 2]]);
    }
}
