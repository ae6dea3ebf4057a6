//! What a dataset holds, at a glance: for people as a table of at most 80 columns, for programs as JSON.

use std::fmt::{self, Formatter};

use serde::Serialize;

use crate::error::shown;
use crate::join::first_of_equals;
use crate::text::time::written;
use crate::{Clock, Dataset, Targets};

/// Tokens that are shown.
const MAX_TOKENS: usize = 10;

/// Rows of a table that are shown; the rest is counted.
const MAX_ROWS: usize = 40;

/// Times that take more than this are shown as numbers.
const MAX_TIME_LENGTH: usize = 30;

/// The smallest, the middle and the largest of some numbers; of an even number, the lower of the two in the middle.
#[expect(missing_docs, reason = "as the line above says")]
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Spread {
    pub min: f64,
    pub median: f64,
    pub max: f64,
}

impl Spread {
    /// `None` of no numbers.
    fn of(mut numbers: Vec<f64>) -> Option<Self> {
        let middle = numbers.len().checked_sub(1)? / 2;
        let (_, &mut median, _) = numbers.select_nth_unstable_by(middle, f64::total_cmp);
        let min = numbers.iter().copied().fold(f64::INFINITY, f64::min);
        let max = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        Some(Self { min, median, max })
    }
}

/// One channel or static covariate.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Which share of its values is missing, from 0 to 1.
    pub missing: f64,
    /// The smallest value; `None` if all are missing.
    pub min: Option<f64>,
    /// The mean of the values that are there.
    pub mean: Option<f64>,
    /// The largest value.
    pub max: Option<f64>,
}

/// What is known of a column so far.
#[derive(Clone, Copy)]
struct Tally {
    all: u64,
    count: u64,
    sum: f64,
    min: f64,
    max: f64,
}

impl Tally {
    const NONE: Self = Self { all: 0, count: 0, sum: 0.0, min: f64::INFINITY, max: f64::NEG_INFINITY };

    fn add(&mut self, x: f64) {
        self.all += 1;
        if !x.is_nan() {
            self.count += 1;
            self.sum += x;
            (self.min, self.max) = (self.min.min(x), self.max.max(x));
        }
    }

    fn column(self, name: &str) -> Column {
        let known = |x: f64| (self.count > 0).then_some(x);
        let missing = (self.all - self.count) as f64 / self.all.max(1) as f64;
        let mean = known(self.sum / self.count as f64);
        Column { name: name.into(), missing, min: known(self.min), mean, max: known(self.max) }
    }
}

impl Column {
    fn of(name: &str, values: impl Iterator<Item = f64>) -> Self {
        let mut tally = Tally::NONE;
        values.for_each(|x| tally.add(x));
        tally.column(name)
    }
}

/// All columns of rows that lie one after the other.
fn columns<'a>(names: &[String], rows: impl Iterator<Item = &'a [f64]>) -> Vec<Column> {
    let mut tallies = vec![Tally::NONE; names.len()];
    for row in rows {
        for (tally, &x) in tallies.iter_mut().zip(row) {
            tally.add(x);
        }
    }
    tallies.iter().zip(names).map(|(tally, name)| tally.column(name)).collect()
}

/// The tokens of series of tokens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Tokens {
    /// How many entries the vocabulary has.
    pub vocabulary: usize,
    /// How many of them are there.
    pub seen: usize,
    /// How many observations there are, a token each.
    pub observations: usize,
    /// The commonest ones, with the number of observations of each.
    pub commonest: Vec<(String, usize)>,
}

impl Tokens {
    fn of(vocabulary: &[String], values: impl Iterator<Item = f64>) -> Self {
        let mut counts = vec![0; vocabulary.len()];
        for x in values.filter(|x| !x.is_nan()) {
            if let Some(count) = counts.get_mut(x as usize) {
                *count += 1;
            }
        }
        let mut order: Vec<usize> = (0..counts.len()).filter(|&i| counts[i] > 0).collect();
        order.sort_by_key(|&i| std::cmp::Reverse(counts[i]));
        let commonest = order.iter().take(MAX_TOKENS).map(|&i| (vocabulary[i].clone(), counts[i])).collect();
        Self { vocabulary: vocabulary.len(), seen: order.len(), observations: counts.iter().sum(), commonest }
    }
}

/// What is to be predicted: classes, each with how many have it, or numbers.
#[expect(missing_docs, reason = "as the comments of the variants say")]
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
#[non_exhaustive]
pub enum Target {
    /// Nothing.
    None,
    /// A class for each case.
    Classes { classes: Vec<(String, usize)> },
    /// A number for each case.
    Values { column: Column },
    /// A class for each observation, but for those without a label.
    ClassSteps { classes: Vec<(String, usize)>, unlabelled: usize },
    /// A number for each observation.
    ValueSteps { column: Column },
}

/// What a dataset holds.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Summary {
    /// Its name.
    pub name: String,
    /// How many cases there are.
    pub cases: usize,
    /// How many cases are copies of one before them.
    pub duplicates: usize,
    /// How many observations cases have.
    pub lengths: Option<Spread>,
    /// Where times came from.
    pub clock: Clock,
    /// The earliest and the latest time.
    pub times: Option<(f64, f64)>,
    /// The time from one observation to the next.
    pub steps: Option<Spread>,
    /// Which share of all values is missing, from 0 to 1.
    pub missing: f64,
    /// The channels; one of tokens has no least, mean or greatest value.
    pub channels: Vec<Column>,
    /// The tokens, if series are of tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<Tokens>,
    /// The static covariates.
    pub statics: Vec<Column>,
    /// What is to be predicted.
    pub target: Target,
}

impl Dataset {
    /// What the dataset holds.
    ///
    /// ```
    /// use ncde_data::{ReadOptions, read_bytes};
    /// let data = read_bytes("two.csv", b"id,time,x\na,0,1\na,2,\nb,0,3\n", &ReadOptions::default())?;
    /// let summary = data.summary();
    /// assert_eq!(summary.missing, 1.0 / 3.0);
    /// assert_eq!(summary.lengths.map(|lengths| lengths.max), Some(2.0));
    /// # Ok::<(), ncde_data::Error>(())
    /// ```
    pub fn summary(&self) -> Summary {
        let rows = self.cases.iter().flat_map(|case| case.values.chunks_exact(self.channels.len().max(1)));
        let all = self.cases.iter().map(|case| case.values.len()).sum::<usize>().max(1);
        let missing = self.cases.iter().flat_map(|case| &case.values).filter(|x| x.is_nan()).count();
        let steps = self.cases.iter().flat_map(|case| case.times.windows(2).map(|two| two[1] - two[0])).collect();
        let first = self.cases.iter().filter_map(|case| case.times.first().copied()).min_by(f64::total_cmp);
        let last = self.cases.iter().filter_map(|case| case.times.last().copied()).max_by(f64::total_cmp);
        Summary {
            name: self.name.clone(),
            cases: self.cases.len(),
            duplicates: self.cases.len() - first_of_equals(&self.cases).len(),
            lengths: Spread::of(self.cases.iter().map(|case| case.len() as f64).collect()),
            clock: self.times,
            times: first.zip(last),
            steps: Spread::of(steps),
            missing: missing as f64 / all as f64,
            channels: match &self.vocabulary {
                None => columns(&self.channels, rows),
                Some(_) => {
                    let plain = |column| Column { min: None, mean: None, max: None, ..column };
                    columns(&self.channels, rows).into_iter().map(plain).collect()
                }
            },
            tokens: self.vocabulary.as_ref().map(|vocabulary| {
                let values = self.cases.iter().flat_map(|case| case.values.iter().copied());
                Tokens::of(vocabulary, values)
            }),
            statics: columns(&self.statics, self.cases.iter().map(|case| case.statics.as_slice())),
            target: self.target(),
        }
    }

    fn target(&self) -> Target {
        let count = |names: &[String], of: &mut dyn Iterator<Item = usize>| {
            let mut classes: Vec<(String, usize)> = names.iter().map(|name| (name.clone(), 0)).collect();
            of.for_each(|class| classes[class].1 += 1);
            classes
        };
        match &self.targets {
            Targets::None => Target::None,
            Targets::Classes { names, of } => Target::Classes { classes: count(names, &mut of.iter().copied()) },
            Targets::Values { name, of } => Target::Values { column: Column::of(name, of.iter().copied()) },
            Targets::ClassSteps { names, of } => Target::ClassSteps {
                classes: count(names, &mut of.iter().flatten().filter_map(|class| *class)),
                unlabelled: of.iter().flatten().filter(|class| class.is_none()).count(),
            },
            Targets::ValueSteps { name, of } => Target::ValueSteps { column: Column::of(name, of.iter().flatten().copied()) },
        }
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {}, {}", short(&self.name, 40), counted(self.cases, "case"), counted(self.channels.len(), "channel"))?;
        writeln!(f)?;
        match self.lengths {
            Some(Spread { min, max, .. }) if min == max => writeln!(f, "  length       {min}, all the same")?,
            Some(Spread { min, median, max }) => writeln!(f, "  length       {min} to {max}, median {median}")?,
            None => {}
        }
        if let Some((first, last)) = self.times {
            let about = if self.clock == Clock::Index { " (counted)" } else { "" };
            let time =
                |t: f64| Some(written(t, self.clock)).filter(|text| text.len() <= MAX_TIME_LENGTH).unwrap_or_else(|| figure(t));
            writeln!(f, "  time         {} to {}{about}", time(first), time(last))?;
        }
        let unit = if self.clock == Clock::Dates { " s" } else { "" };
        match self.steps {
            Some(Spread { min, max, .. }) if min == max => writeln!(f, "  step         {}{unit}, all the same", figure(min))?,
            Some(Spread { min, median, max }) => {
                writeln!(f, "  step         {} to {}, median {}{unit}", figure(min), figure(max), figure(median))?;
            }
            None => {}
        }
        writeln!(f, "  missing      {} of values", percent(self.missing))?;
        writeln!(f, "  duplicates   {}", if self.duplicates == 0 { "none".into() } else { counted(self.duplicates, "case") })?;
        if let Some(tokens) = &self.tokens {
            writeln!(f, "  tokens       {} in the vocabulary, {} of them seen", tokens.vocabulary, tokens.seen)?;
        }
        self.show_target(f)?;
        match &self.tokens {
            Some(Tokens { commonest, observations, seen, .. }) => {
                shares(f, "commonest token", "observation", commonest, *observations, *seen)?;
            }
            None => table(f, "channel", &self.channels)?,
        }
        table(f, "static covariate", &self.statics)
    }
}

impl Summary {
    fn show_target(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (classes, what) = match &self.target {
            Target::None => return writeln!(f, "  target       none"),
            Target::Values { column } => {
                writeln!(f, "  target       a number for each case")?;
                return table(f, "target", std::slice::from_ref(column));
            }
            Target::ValueSteps { column } => {
                writeln!(f, "  target       a number for each observation")?;
                return table(f, "target", std::slice::from_ref(column));
            }
            Target::Classes { classes } => (classes, "case"),
            Target::ClassSteps { classes, .. } => (classes, "observation"),
        };
        let names = if classes.len() == 1 { "1 class".into() } else { format!("{} classes", classes.len()) };
        writeln!(f, "  target       {names}, one for each {what}")?;
        if let Target::ClassSteps { unlabelled, .. } = self.target {
            writeln!(f, "  unlabelled   {}", counted(unlabelled, "observation"))?;
        }
        let all = classes.iter().map(|(_, count)| count).sum();
        shares(f, "class", what, &classes[..classes.len().min(MAX_ROWS)], all, classes.len())
    }
}

/// The first of `count` names, each with how many of `all` observations or cases it has.
fn shares(f: &mut Formatter<'_>, title: &str, what: &str, names: &[(String, usize)], all: usize, count: usize) -> fmt::Result {
    writeln!(f, "\n  {title:<28}{:>13}{:>10}", format!("{what}s"), "share")?;
    for (name, count) in names {
        writeln!(f, "  {:<28}{count:>13}{:>10}", short(name, 26), percent(*count as f64 / all.max(1) as f64))?;
    }
    more(f, count - names.len())
}

fn table(f: &mut Formatter<'_>, what: &str, columns: &[Column]) -> fmt::Result {
    if columns.is_empty() {
        return Ok(());
    }
    writeln!(f, "\n  {what:<28}{:>10}{:>12}{:>12}{:>12}", "missing", "min", "mean", "max")?;
    for column in columns.iter().take(MAX_ROWS) {
        let [min, mean, max] = [column.min, column.mean, column.max].map(|x| x.map_or_else(|| "-".into(), figure));
        writeln!(f, "  {:<28}{:>10}{min:>12}{mean:>12}{max:>12}", short(&column.name, 26), percent(column.missing))?;
    }
    more(f, columns.len().saturating_sub(MAX_ROWS))
}

/// How many rows are not shown.
fn more(f: &mut Formatter<'_>, rows: usize) -> fmt::Result {
    if rows == 0 { Ok(()) } else { writeln!(f, "  ... and {rows} more") }
}

/// A name that fits into so many columns.
fn short(name: &str, most: usize) -> String {
    let name = shown(name);
    if name.chars().count() <= most { name } else { name.chars().take(most - 3).chain("...".chars()).collect() }
}

fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

/// A number in at most 11 characters.
fn figure(x: f64) -> String {
    let size = x.abs();
    if size != 0.0 && !(1e-4..1e7).contains(&size) {
        return format!("{x:.3e}");
    }
    let digits = if size >= 1000.0 { 1 } else { 4 };
    let text = format!("{x:.digits$}");
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_short() {
        for (x, wanted) in [(0.0, "0"), (1.0, "1"), (-0.25, "-0.25"), (1234.56, "1234.6"), (1e-9, "1.000e-9"), (100.0, "100")] {
            assert_eq!(figure(x), wanted);
        }
        for x in [-1.234_567e-300, -9_999_999.9, f64::MAX] {
            assert!(figure(x).len() <= 11, "{}", figure(x));
        }
    }

    #[test]
    fn spreads() {
        assert_eq!(Spread::of(vec![]), None);
        assert_eq!(Spread::of(vec![3.0, 1.0, 2.0, 9.0]), Some(Spread { min: 1.0, median: 2.0, max: 9.0 }));
    }
}
