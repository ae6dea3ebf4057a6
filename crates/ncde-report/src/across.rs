//! Several models on several data sets: those that have runs on all of them are ranked and tested over data sets.
//!
//! A model is the same on two data sets if its name and settings are; where that leaves fewer than three models, if its name alone is and only one
//! of that name is on each. Scores are means over seeds. What has no score on some data set is left out.

use crate::compare::{Board, Entry};
use crate::format::metric;
use crate::metrics::higher_is_better;
use crate::statistics::{Better, Comparison};

/// Models over data sets that are judged by the same metric.
pub(crate) struct Across<'a> {
    pub(crate) metric: &'static str,
    pub(crate) sets: Vec<&'a str>,
    pub(crate) models: Vec<String>,
    /// Their scores, `[model][data set]`.
    pub(crate) scores: Vec<Vec<f64>>,
    pub(crate) comparison: Comparison,
}

impl Across<'_> {
    /// A row for each model, the best first: name, scores, average rank.
    pub(crate) fn rows(&self) -> Vec<Vec<String>> {
        let row = |&model: &usize| {
            let scores = self.scores[model].iter().map(|score| metric(self.metric, *score));
            let rank = format!("{:.2}", self.comparison.ranks[model]);
            std::iter::once(self.models[model].clone()).chain(scores).chain([rank]).collect()
        };
        self.comparison.order.iter().map(row).collect()
    }

    /// The names of models, as the comparison takes them.
    pub(crate) fn names(&self) -> Vec<&str> {
        self.models.iter().map(String::as_str).collect()
    }
}

/// A comparison for each metric that enough models and data sets share.
pub(crate) fn across<'a>(boards: &[Board<'a>]) -> Vec<Across<'a>> {
    let mut metrics: Vec<&'static str> = Vec::new();
    for board in boards {
        if !metrics.contains(&board.metric) {
            metrics.push(board.metric);
        }
    }
    let one = |metric: &'static str| {
        let boards: Vec<&Board<'a>> = boards.iter().filter(|board| board.metric == metric).collect();
        compared(metric, &boards, &|entry| entry.name())
            .or_else(|| compared(metric, &boards, &|entry| entry.first().model.name.clone()))
    };
    metrics.into_iter().filter_map(one).collect()
}

/// The models of which each board has exactly one of that name, with a score.
fn compared<'a>(metric: &'static str, boards: &[&Board<'a>], name: &dyn Fn(&Entry<'_>) -> String) -> Option<Across<'a>> {
    let score = |board: &Board<'_>, model: &str| {
        let mut namesakes = board.entries.iter().filter(|entry| name(entry) == model);
        namesakes.next().filter(|_| namesakes.next().is_none())?.score.map(|score| score.mean)
    };
    let (mut models, mut scores) = (Vec::new(), Vec::new());
    for model in boards.first()?.entries.iter().map(name) {
        let row: Option<Vec<f64>> = boards.iter().map(|board| score(board, &model)).collect();
        if let Some(row) = row.filter(|_| !models.contains(&model)) {
            models.push(model);
            scores.push(row);
        }
    }
    let better = if higher_is_better(metric) { Better::More } else { Better::Less };
    // Too few models or data sets to test are not compared.
    let comparison = Comparison::of(&scores, better).ok()?;
    Some(Across { metric, sets: boards.iter().map(|board| board.data).collect(), models, scores, comparison })
}
