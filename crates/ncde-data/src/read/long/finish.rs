//! From gathered rows to a dataset: which columns are static, categories to channels or tokens, labels to targets.
//!
//! A column is static if, in every case, its values do not differ and stand on the first row only (of all cases) or on all
//! rows (of all cases); if cases differ in it; and if some case with two rows or more has it. If that would leave no channel,
//! none is static. If one channel is left and it holds text, its texts are tokens.

use super::super::ReadOptions;
use super::table::{Column, ColumnKind, Raw, Table};
use crate::error::{Place, hint, listed, shown};
use crate::label::{Label, Labels};
use crate::text::number::{self, Cell};
use crate::{Case, Clock, Dataset, Error, Targets};

/// One column of the dataset: a number as it is, or whether a category is this one.
struct Output<'a> {
    from: usize,
    column: &'a Column,
    name: String,
    category: Option<usize>,
}

impl Output<'_> {
    fn of(&self, row: &[f64]) -> f64 {
        let x = row[self.from];
        match self.category {
            Some(_) if x.is_nan() => x,
            Some(category) => f64::from(u8::from(self.column.same(x) == category as f64)),
            None => x,
        }
    }
}

impl Column {
    /// A number that is the same for all that is the same: texts count as their categories.
    fn same(&self, x: f64) -> f64 {
        match &self.kind {
            ColumnKind::Texts(texts) => texts.category(x) as f64,
            ColumnKind::Empty | ColumnKind::Numbers => x,
        }
    }
}

/// The columns that these become, categories in order.
fn outputs(columns: &[Column], which: impl Fn(usize) -> bool) -> Result<Vec<Output<'_>>, Error> {
    let mut outputs = Vec::new();
    for (from, column) in columns.iter().enumerate().filter(|(i, _)| which(*i)) {
        match &column.kind {
            ColumnKind::Empty | ColumnKind::Numbers => {
                outputs.push(Output { from, column, name: column.name.clone(), category: None });
            }
            ColumnKind::Texts(texts) => {
                let names = texts.categories()?;
                let mut order: Vec<usize> = (0..names.len()).collect();
                order.sort_by(|&a, &b| by_number_or_name(&names[a], &names[b]));
                let output = |category: usize| Output {
                    from,
                    column,
                    name: format!("{}={}", column.name, names[category]),
                    category: Some(category),
                };
                outputs.extend(order.into_iter().map(output));
            }
        }
    }
    Ok(outputs)
}

fn by_number_or_name(a: &str, b: &str) -> std::cmp::Ordering {
    match (number::cell(a.as_bytes()), number::cell(b.as_bytes())) {
        (Cell::Number(x), Cell::Number(y)) => x.total_cmp(&y),
        (Cell::Number(_), _) => std::cmp::Ordering::Less,
        (_, Cell::Number(_)) => std::cmp::Ordering::Greater,
        _ => a.cmp(b),
    }
}

/// All columns of a table with one row a case: their names, and the numbers of each case.
pub(in super::super) fn expand(table: &Table) -> Result<(Vec<String>, Vec<Vec<f64>>), Error> {
    let outputs = outputs(&table.columns, |_| true)?;
    let of = |case: &Raw| outputs.iter().map(|output| output.of(&case.values)).collect();
    let numbers = table.cases.iter().map(of).collect();
    Ok((outputs.into_iter().map(|output| output.name).collect(), numbers))
}

impl Table {
    /// The dataset of all cases.
    pub(in super::super) fn finish(mut self, name: &str, options: &ReadOptions) -> Result<Dataset, Error> {
        let targets = self.targets(options)?;
        let is_static = match &options.statics {
            Some(names) => self.named(names, options)?,
            None => self.found(),
        };
        let vocabulary = self.token_column(&is_static)?.map(|column| self.number_tokens(column)).transpose()?;
        let channels = outputs(&self.columns, |i| !is_static[i])?;
        let statics = outputs(&self.columns, |i| is_static[i])?;
        let is_plain = channels.len() == self.columns.len() && channels.iter().all(|output| output.category.is_none());
        let width = self.columns.len();
        let mut cases = Vec::with_capacity(self.cases.len());
        for raw in std::mem::take(&mut self.cases) {
            let statics =
                statics.iter().map(|output| first(&raw, output.from, width).map_or(f64::NAN, |i| output.of(row(&raw, i, width))));
            let statics = statics.collect();
            let values = if is_plain {
                raw.values
            } else {
                let rows = raw.values.chunks_exact(width);
                rows.flat_map(|row| channels.iter().map(|output| output.of(row))).collect()
            };
            cases.push(Case { id: raw.id, times: raw.times, values, statics });
        }
        Ok(Dataset {
            name: name.into(),
            channels: channels.into_iter().map(|output| output.name).collect(),
            statics: statics.into_iter().map(|output| output.name).collect(),
            times: self.clock.unwrap_or(Clock::Index),
            cases,
            targets,
            vocabulary,
        })
    }

    /// Which columns the caller calls static; it may also name statics of a file of labels.
    fn named(&self, names: &[String], options: &ReadOptions) -> Result<Vec<bool>, Error> {
        let columns: Vec<&str> = self.columns.iter().map(|column| column.name.as_str()).collect();
        let mut is_static = vec![false; columns.len()];
        for name in names {
            let found = columns.iter().position(|column| column == name);
            let found = found.or_else(|| {
                columns.iter().position(|column| name.strip_prefix(column).is_some_and(|rest| rest.starts_with('=')))
            });
            match found {
                Some(i) if self.tokens == Some(i) => {
                    return Err(Error::Header {
                        at: Place::line(self.file(), 0),
                        seen: format!("column `{}` is to hold tokens and to be static", shown(columns[i].as_bytes())),
                        fix: "leave it out of the statics".into(),
                    });
                }
                Some(i) => is_static[i] = true,
                None if options.labels.is_some() => {}
                None => {
                    return Err(Error::NoColumn {
                        file: self.files.first().cloned().unwrap_or_default(),
                        role: "statics",
                        wanted: format!("`{name}` was named"),
                        seen: listed(&columns),
                        hint: hint(name, &columns),
                    });
                }
            }
        }
        for (i, column) in columns.iter().enumerate().filter(|(i, _)| is_static[*i]) {
            for case in &self.cases {
                let mut present = present(case, i, columns.len()).map(|(_, x)| self.columns[i].same(x));
                if let Some(first) = present.next()
                    && let Some(second) = present.find(|x| *x != first)
                {
                    return Err(Error::NotStatic { column: (*column).into(), case: case.id.clone(), first, second });
                }
            }
        }
        Ok(is_static)
    }

    /// Which columns look static.
    fn found(&self) -> Vec<bool> {
        let width = self.columns.len();
        let is_static: Vec<bool> = (0..width).map(|i| self.tokens != Some(i) && self.looks_static(i)).collect();
        if is_static.iter().all(|&is_static| is_static) { vec![false; width] } else { is_static }
    }

    fn looks_static(&self, column: usize) -> bool {
        let (mut on_first, mut on_all, mut is_series, mut differs) = (true, true, false, false);
        let mut value = None;
        for case in &self.cases {
            let mut first = None;
            let mut count = 0;
            for (i, x) in present(case, column, self.columns.len()) {
                let x = self.columns[column].same(x);
                if *first.get_or_insert(x) != x {
                    return false;
                }
                on_first &= i == 0;
                count += 1;
            }
            let Some(first) = first else { continue };
            on_all &= count == case.times.len();
            if !on_first && !on_all {
                return false;
            }
            is_series |= case.times.len() > 1;
            differs |= *value.get_or_insert(first) != first;
        }
        is_series && differs
    }

    fn targets(&self, options: &ReadOptions) -> Result<Targets, Error> {
        let Some(labels) = &self.labels else {
            return Ok(Targets::None);
        };
        let id = |i: usize| self.cases[i].id.clone();
        let place = |i: usize| {
            let case = &self.cases[i];
            Place::field(&self.files[case.file], case.line, format!("column `{}`", labels.name))
        };
        match self.whole_case_labels() {
            Some(whole) => labels.of_cases(&whole, options.task, id, place),
            None => self.steps(labels, options),
        }
    }

    fn steps(&self, labels: &Labels, options: &ReadOptions) -> Result<Targets, Error> {
        let all: Vec<&[Label]> = self.cases.iter().map(|case| case.labels.as_slice()).collect();
        let place = |i: usize, t: usize| {
            let case = &self.cases[i];
            let field = format!("column `{}`, observation {} of case `{}`", labels.name, t + 1, case.id);
            Place::field(&self.files[case.file], 0, field)
        };
        labels.of_steps(&all, options.task, |i| self.cases[i].id.clone(), place)
    }

    /// One label a case, if each case has but one and it stands on all rows, on the first only, or on the last only.
    fn whole_case_labels(&self) -> Option<Vec<Label>> {
        let (mut on_all, mut on_first, mut on_last) = (true, true, true);
        let mut whole = Vec::with_capacity(self.cases.len());
        for case in &self.cases {
            let mut label = Label::Missing;
            let mut count = 0;
            for (i, &seen) in case.labels.iter().enumerate().filter(|(_, label)| **label != Label::Missing) {
                if count > 0 && seen != label {
                    return None;
                }
                label = seen;
                count += 1;
                on_first &= i == 0;
                on_last &= i + 1 == case.labels.len();
            }
            on_all &= count == 0 || count == case.labels.len();
            whole.push(label);
        }
        (on_all || on_first || on_last).then_some(whole)
    }
}

/// The rows at which a column is not missing.
fn present(case: &Raw, column: usize, width: usize) -> impl Iterator<Item = (usize, f64)> {
    case.values[column.min(case.values.len())..].iter().step_by(width).copied().enumerate().filter(|(_, x)| !x.is_nan())
}

fn first(case: &Raw, column: usize, width: usize) -> Option<usize> {
    present(case, column, width).next().map(|(i, _)| i)
}

fn row(case: &Raw, i: usize, width: usize) -> &[f64] {
    &case.values[i * width..(i + 1) * width]
}
