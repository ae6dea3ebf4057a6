//! Several runs side by side: runs that differ by their seed only are one entry, and entries are compared on the
//! same data.
//!
//! An entry is on the Pareto frontier if no other is both faster and at least as good, or as fast and better.

use crate::RunRecord;
use crate::format::{MISSING, count, duration, is_share, metric, number};
use crate::metrics::{Interval, Spread, spread};
use crate::record::StopReason;
use crate::summary::cost;

/// The runs on the same data, judged by the same metric.
pub(crate) struct Board<'a> {
    pub(crate) data: &'a str,
    /// The metric that all entries have.
    pub(crate) metric: &'static str,
    /// In the order in which their first runs came.
    pub(crate) entries: Vec<Entry<'a>>,
}

/// Runs that differ by their seed only.
pub(crate) struct Entry<'a> {
    /// `A`, `B`, ...: what it is called in tables and plots.
    pub(crate) letter: String,
    /// At least one run, each with its place in the report.
    pub(crate) runs: Vec<(usize, &'a RunRecord)>,
    /// The metric over the runs that have it.
    pub(crate) score: Option<Spread>,
    /// Mean time a step.
    pub(crate) seconds: f64,
    /// Whether nothing is better at no more time.
    pub(crate) frontier: bool,
}

impl<'a> Entry<'a> {
    /// One run of the entry; what is said of it holds for all.
    pub(crate) fn first(&self) -> &'a RunRecord {
        self.runs[0].1
    }

    /// A row for each run: letter, run, directory, seed, metric, interval, best step, steps, time, why it stopped.
    pub(crate) fn rows(&self, metric: &str) -> impl Iterator<Item = Vec<String>> {
        self.runs.iter().map(move |(place, run)| {
            let [score, interval] = run.outcome_text(metric);
            vec![
                self.letter.clone(),
                (place + 1).to_string(),
                run.directory.clone(),
                run.seed.to_string(),
                score,
                interval,
                run.best.as_ref().map_or(String::new(), |best| count(best.step)),
                count(run.steps),
                duration(run.seconds),
                run.stopped.name().into(),
            ]
        })
    }

    /// Where its first run lies, and how many others there are; the table of runs has them all.
    pub(crate) fn directories(&self) -> String {
        match (self.first().directory.as_str(), self.runs.len() - 1) {
            ("", _) => String::new(),
            (first, 0) => first.into(),
            (first, more) => format!("{first} and {} more", count(more)),
        }
    }

    /// The 95 % interval of its score, by the spread of several runs, or by the cases of one.
    fn interval(&self, name: &str) -> Option<Interval> {
        match self.runs.as_slice() {
            [(_, run)] => run.interval(name),
            _ => self.score.and_then(|score| Some(Interval { low: score.mean - score.half?, high: score.mean + score.half? })),
        }
    }

    /// Model and detail in one line.
    pub(crate) fn name(&self) -> String {
        let model = &self.first().model;
        if model.detail.is_empty() { model.name.clone() } else { format!("{}: {}", model.name, model.detail) }
    }

    /// The mean over the runs and how sure it is: by the spread of several runs, or by the cases of one.
    pub(crate) fn score_text(&self, name: &str) -> [String; 2] {
        match (self.score, self.runs.as_slice()) {
            (None, _) => [MISSING.into(), String::new()],
            (Some(_), [(_, run)]) => run.outcome_text(name),
            (Some(score), _) => {
                let half = score.half.map(|half| if is_share(name) { format!("{:.1}", 100.0 * half) } else { number(half) });
                [metric(name, score.mean), half.map_or(String::new(), |half| format!("± {half}"))]
            }
        }
    }

    /// The point of the entry on a plot of metric against time.
    pub(crate) fn point(&self) -> Option<[f64; 2]> {
        let score = self.score?;
        (self.seconds.is_finite() && self.seconds > 0.0).then_some([self.seconds, score.mean])
    }
}

impl<'a> Board<'a> {
    /// How an entry stands to the best one: whether their intervals overlap; empty where that is not known.
    pub(crate) fn verdict(&self, entry: &Entry<'_>) -> &'static str {
        let Some(best) = self.ranked().into_iter().next().filter(|_| self.entries.len() > 1) else { return "" };
        if best.letter == entry.letter {
            return "best";
        }
        match (best.interval(self.metric), entry.interval(self.metric)) {
            (Some(a), Some(b)) if a.low <= b.high && b.low <= a.high => "intervals overlap",
            (Some(_), Some(_)) => "apart",
            _ => "",
        }
    }

    /// The entries, the best first.
    pub(crate) fn ranked(&self) -> Vec<&Entry<'a>> {
        let cost = |entry: &Entry<'_>| entry.score.map_or(f64::INFINITY, |score| cost(self.metric, score.mean));
        let mut entries: Vec<_> = self.entries.iter().collect();
        entries.sort_by(|a, b| cost(a).total_cmp(&cost(b)));
        entries
    }
}

/// Sorts runs into boards and entries.
pub(crate) fn boards(records: &[RunRecord]) -> Vec<Board<'_>> {
    let mut boards: Vec<Board<'_>> = Vec::new();
    for (place, record) in records.iter().enumerate() {
        let metric = judged_by(record);
        let board = match boards.iter().position(|board| board.data == record.data.name && board.metric == metric) {
            Some(at) => &mut boards[at],
            None => {
                boards.push(Board { data: &record.data.name, metric, entries: Vec::new() });
                let last = boards.len() - 1;
                &mut boards[last]
            }
        };
        match board.entries.iter_mut().find(|entry| differ_by_seed_only(entry.first(), record)) {
            Some(entry) => entry.runs.push((place, record)),
            None => {
                let letter = letters(board.entries.len());
                let runs = vec![(place, record)];
                board.entries.push(Entry { letter, runs, score: None, seconds: f64::NAN, frontier: false });
            }
        }
    }
    boards.iter_mut().for_each(judge);
    boards
}

fn judged_by(record: &RunRecord) -> &'static str {
    match record.outcome() {
        Some((_, metrics)) => record.headline(metrics).0,
        None if record.data.classes.is_empty() => "mse",
        None => "accuracy",
    }
}

fn judge(board: &mut Board<'_>) {
    for entry in &mut board.entries {
        let scores: Vec<f64> = entry
            .runs
            .iter()
            .filter_map(|(_, run)| run.outcome()?.1.get(board.metric))
            .filter(|score| score.is_finite())
            .collect();
        // What is solved for takes no steps.
        let stepped = entry.runs.iter().filter(|(_, run)| run.stopped != StopReason::Solved);
        let times: Vec<f64> = stepped.map(|(_, run)| run.seconds_per_step).collect();
        entry.score = spread(&scores);
        entry.seconds = spread(&times).map_or(f64::NAN, |times| times.mean);
    }
    let points: Vec<Option<[f64; 2]>> = board.entries.iter().map(Entry::point).collect();
    let flags = frontier(&points, board.metric);
    board.entries.iter_mut().zip(flags).for_each(|(entry, flag)| entry.frontier = flag);
}

/// Which of the points `[time, metric]` no other beats.
fn frontier(points: &[Option<[f64; 2]>], metric: &str) -> Vec<bool> {
    let beats = |[time, score]: [f64; 2], [other_time, other_score]: [f64; 2]| {
        let gain = cost(metric, other_score) - cost(metric, score);
        time <= other_time && gain >= 0.0 && (time < other_time || gain > 0.0)
    };
    let beaten = |point: [f64; 2]| points.iter().flatten().any(|other| beats(*other, point));
    points.iter().map(|point| point.is_some_and(|point| !beaten(point))).collect()
}

/// Whether all but the seed is the same. The number of parameters may differ, as random masks depend on the seed, and so
/// may the sizes of the parts of the data, as long as the whole is as large.
fn differ_by_seed_only(a: &RunRecord, b: &RunRecord) -> bool {
    let model = |run: &RunRecord| (run.model.name.clone(), run.model.detail.clone(), run.version.clone());
    let data = |run: &RunRecord| (run.data.task.clone(), run.data.train + run.data.validation + run.data.test);
    model(a) == model(b)
        && data(a) == data(b)
        && a.data.classes == b.data.classes
        && without_seed(&a.config).eq(without_seed(&b.config))
}

/// The lines of a configuration but those that set the seed or where the run is written.
fn without_seed(config: &str) -> impl Iterator<Item = &str> {
    config.lines().map(str::trim).filter(|line| {
        let key = line.split('=').next().unwrap_or_default().trim();
        !line.is_empty() && !matches!(key, "seed" | "out" | "output")
    })
}

/// `A` to `Z`, then `AA`, `AB`, ...
fn letters(mut index: usize) -> String {
    let mut text = Vec::new();
    loop {
        text.push(char::from(b'A' + (index % 26) as u8));
        if index < 26 {
            return text.iter().rev().collect();
        }
        index = index / 26 - 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_go_on_after_z() {
        assert_eq!([0, 25, 26, 51, 52, 701, 702].map(letters), ["A", "Z", "AA", "AZ", "BA", "ZZ", "AAA"]);
    }

    #[test]
    fn the_frontier_is_what_nothing_beats() {
        let points = [Some([1.0, 0.5]), Some([2.0, 0.7]), Some([3.0, 0.6]), None, Some([2.0, 0.7]), Some([2.5, 0.7])];
        // More is better: the third is slower and worse than the second; equal points stay, a slower equal one does not.
        assert_eq!(frontier(&points, "accuracy"), [true, true, false, false, true, false]);
        // Less is better: the fastest is also the best.
        assert_eq!(frontier(&points, "mse"), [true, false, false, false, false, false]);
    }

    #[test]
    fn seeds_and_folders_do_not_make_a_configuration() {
        let same = |a: &str, b: &str| without_seed(a).eq(without_seed(b));
        assert!(same("seed = 1\nhidden = 64\nout = \"a\"", "seed = 2\nhidden = 64\n\nout = \"b\""));
        assert!(!same("seed = 1\nhidden = 64", "seed = 1\nhidden = 32"));
        assert!(!same("seeds = 1", "seeds = 2"));
    }
}
