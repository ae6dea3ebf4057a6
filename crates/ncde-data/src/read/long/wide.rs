//! Wide tables: a row a series, a column a time step. `id,label,t0,t1,...`, `x_1,...,x_n,y_1,...,y_n`, or dates as names.

use std::borrow::Cow;

use super::super::ReadOptions;
use super::form::Form;
use super::header::Header;
use super::names;
use crate::Error;
use crate::text::formats::{Formats, Found};
use crate::text::marks::Marks;
use crate::text::number;

/// Columns numbered one after the other, from so many on, may be times of a series on one line.
const MIN_STEPS: usize = 8;

/// What stands before the number of a time step, and is no name of a channel.
const STEPS: [&str; 16] =
    ["", "t", "time", "step", "day", "hour", "minute", "second", "week", "month", "year", "d", "h", "m", "w", "y"];

/// Which columns of a table hold series.
#[derive(Debug, Clone)]
pub(in super::super) struct Wide {
    /// The columns that hold something of the whole series.
    others: Vec<usize>,
    channels: Vec<String>,
    steps: Vec<Step>,
    /// Whether rows are counted, as nothing names them.
    counts: bool,
    /// Whether the names can only be times: dates, numbers, or `t0`, `t1` and so on.
    pub(super) is_clear: bool,
}

/// One time step.
#[derive(Debug, Clone)]
struct Step {
    time: String,
    /// The column of each channel.
    columns: Vec<usize>,
}

impl Wide {
    /// By the names of columns, but for those that are said to be something else; `ids` name series.
    pub(super) fn of(names: &[String], ids: &[String], options: &ReadOptions) -> Option<Self> {
        let said = &options.columns;
        let mut set: Vec<&String> = ids.iter().chain(&said.label).chain(&said.group).collect();
        set.extend(said.statics.iter().chain(&said.ignore).flatten());
        let free: Vec<usize> = (0..names.len()).filter(|&i| !set.contains(&&names[i])).collect();
        let (channels, steps, is_clear) =
            dated(names, &free).or_else(|| counted(names, &free)).or_else(|| numbered(names, &free))?;
        let is_step = |i: &usize| steps.iter().any(|step| step.columns.contains(i));
        let others: Vec<usize> = (0..names.len()).filter(|i| !is_step(i)).collect();
        let is_id = |name: &String| match ids {
            [] => names::is_id(name) || names::suggests_id(name),
            ids => ids.contains(name),
        };
        let counts = !others.iter().any(|&i| is_id(&names[i]));
        Some(Self { others, channels, steps, counts, is_clear })
    }

    /// The same, with rows that are counted or not.
    pub(super) fn counting(self, counts: bool) -> Self {
        Self { counts, ..self }
    }

    /// The columns of its steps.
    pub(super) fn columns(&self) -> impl Iterator<Item = usize> {
        self.steps.iter().flat_map(|step| step.columns.iter().copied())
    }

    /// The first and the last time step.
    pub(super) fn ends(&self) -> Option<[usize; 2]> {
        Some([*self.steps.first()?.columns.first()?, *self.steps.last()?.columns.last()?])
    }

    /// Gives a header this form: its names are those of the long table.
    pub(super) fn widen(self, header: &mut Header, file: &str) -> Result<(), Error> {
        let of_others: Vec<String> = self.others.iter().map(|&i| header.names[i].clone()).collect();
        let free = |wanted: [&str; 2]| wanted[usize::from(of_others.iter().any(|name| name == wanted[0]))].to_owned();
        let mut names = if self.counts { vec![free(["id", "case"])] } else { vec![] };
        names.extend(of_others.clone());
        names.push(free(["time", "step"]));
        names.extend(self.channels.iter().cloned());
        let renamed = Header::of_names(file, header.line, names, header.separator)?;
        header.names = renamed.names;
        header.form = Form::Wide(self);
        Ok(())
    }

    /// Calls `each` with the observations of a row: up to the last that is not blank.
    pub(super) fn each(
        &self,
        line: u64,
        cells: &[Cow<'_, [u8]>],
        row: u64,
        each: &mut impl FnMut(u64, &[Cow<'_, [u8]>]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let is_there = |step: &Step| step.columns.iter().any(|&i| !number::is_missing(&cells[i]));
        let count = self.steps.iter().rposition(is_there).map_or(1, |last| last + 1);
        let mut long: Vec<Cow<'_, [u8]>> = vec![];
        if self.counts {
            long.push(Cow::Owned(row.to_string().into_bytes()));
        }
        long.extend(self.others.iter().map(|&i| Cow::Borrowed(&*cells[i])));
        let start = long.len();
        for step in &self.steps[..count] {
            long.truncate(start);
            long.push(Cow::Borrowed(step.time.as_bytes()));
            long.extend(step.columns.iter().map(|&i| Cow::Borrowed(&*cells[i])));
            each(line, &long)?;
        }
        Ok(())
    }
}

/// Channels, time steps, and whether their names can be nothing else.
type Steps = (Vec<String>, Vec<Step>, bool);

fn single(names: &[String], columns: Vec<usize>) -> Steps {
    let step = |i: usize| Step { time: names[i].trim().to_owned(), columns: vec![i] };
    (vec!["value".into()], columns.into_iter().map(step).collect(), true)
}

/// Dates as names, all in one way.
fn dated(names: &[String], free: &[usize]) -> Option<Steps> {
    let is_date = |&i: &usize| {
        let mut formats = Formats::default();
        formats.add(names[i].as_bytes(), names::is_number(&names[i]));
        formats.are_dates() || formats.are_clocks()
    };
    let columns: Vec<usize> = free.iter().copied().filter(is_date).collect();
    let mut formats = Formats::default();
    columns.iter().for_each(|&i| formats.add(names[i].as_bytes(), false));
    let is_one = match formats.found() {
        Found::One(format) => columns.iter().all(|&i| format.time(names[i].as_bytes(), Marks::PLAIN).is_some()),
        Found::MonthOrDay => true,
        Found::None => false,
    };
    (columns.len() >= MIN_STEPS && is_one).then(|| single(names, columns))
}

/// Numbers as names, rising.
fn counted(names: &[String], free: &[usize]) -> Option<Steps> {
    let number = |i: usize| number::cell(names[i].as_bytes()).number();
    let columns: Vec<usize> = free.iter().copied().filter(|&i| number(i).is_some()).collect();
    let is_rising = columns.windows(2).all(|two| number(two[0]) < number(two[1]));
    (columns.len() >= MIN_STEPS && is_rising).then(|| single(names, columns))
}

/// `t0`, `t1`, ..., or `x_1`, `y_1`, `x_2`, `y_2`, ...: the channels with most steps, all of the same.
fn numbered(names: &[String], free: &[usize]) -> Option<Steps> {
    let mut channels: Vec<(&str, Vec<(u64, usize)>)> = vec![];
    for &i in free {
        let Some((stem, number)) = names::numbered(&names[i]) else { continue };
        match channels.iter_mut().find(|(other, _)| *other == stem) {
            Some((_, steps)) => steps.push((number, i)),
            None => channels.push((stem, vec![(number, i)])),
        }
    }
    channels.retain(|(_, steps)| steps.windows(2).all(|two| two[0].0.checked_add(1) == Some(two[1].0)));
    let longest = channels.iter().map(|(_, steps)| steps.len()).max().filter(|&longest| longest >= MIN_STEPS)?;
    let numbers = |steps: &[(u64, usize)]| steps.iter().map(|(number, _)| *number).collect::<Vec<u64>>();
    let wanted = channels.iter().find(|(_, steps)| steps.len() == longest).map(|(_, steps)| numbers(steps))?;
    channels.retain(|(_, steps)| numbers(steps) == wanted);
    let step = |(k, number): (usize, u64)| Step {
        time: number.to_string(),
        columns: channels.iter().map(|(_, steps)| steps[k].1).collect(),
    };
    let steps = wanted.into_iter().enumerate().map(step).collect();
    let stems = channels.iter().map(|(stem, _)| stem.trim_end_matches(['_', '-', '.', ' ']));
    let is_step = |stem: &str| STEPS.iter().any(|known| stem.eq_ignore_ascii_case(known));
    let is_clear = channels.len() == 1 && stems.clone().all(is_step);
    let names = if is_clear { vec!["value".into()] } else { stems.map(str::to_owned).collect() };
    Some((names, steps, is_clear))
}
