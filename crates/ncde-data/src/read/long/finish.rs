//! From gathered rows to a dataset: which columns are static, categories to channels or tokens.
//!
//! A column is static if, in every case, its values do not differ and stand on the first row only (of all cases) or on all
//! rows (of all cases); if cases differ in it; and if some case with two rows or more has it. If that would leave no channel,
//! none is static. If one channel is left and it holds text, its texts are tokens.

use super::super::{Loaded, ReadOptions};
use super::cell::{Kind, Value};
use super::table::{Policy, Raw, Table};
use crate::error::shown;
use crate::schema::{Cells, Column, Layout, Role, Warning};
use crate::text::number::{self, Cell};
use crate::{Case, Dataset, Error};

/// Different texts are no categories if there are more than this, and they are most of all texts.
const MAX_CATEGORY_TEXTS: usize = 20;

/// One column of the dataset: a number as it is, or whether a category is this one.
struct Output<'a> {
    from: usize,
    column: &'a Value,
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

impl Value {
    /// A number that is the same for all that is the same: texts count as their categories.
    pub(super) fn same(&self, x: f64) -> f64 {
        match &self.kind {
            Kind::Texts(texts) => texts.category(x) as f64,
            Kind::Numbers(..) | Kind::Categories(_) | Kind::Tokens(_) => x,
        }
    }

    /// The words it can hold, in order, each with the number it has here; none of numbers.
    fn words(&self) -> Result<Option<Vec<(usize, String)>>, Error> {
        match &self.kind {
            Kind::Numbers(..) | Kind::Tokens(_) => Ok(None),
            Kind::Categories(words) => Ok(Some(words.words.iter().cloned().enumerate().collect())),
            Kind::Texts(texts) => {
                let mut words: Vec<(usize, String)> = texts.categories()?.iter().cloned().enumerate().collect();
                words.sort_by(|(_, a), (_, b)| by_number_or_name(a, b));
                Ok(Some(words))
            }
        }
    }

    /// Writes the words it was found to hold into the column of a layout.
    fn describe(&self, column: &mut Column) -> Result<(), Error> {
        if let Some(words) = self.words()? {
            column.cells = Cells::Category { words: words.into_iter().map(|(_, word)| word).collect() };
        }
        Ok(())
    }
}

/// The columns that these become, categories in order.
fn outputs(columns: &[Value], which: impl Fn(usize) -> bool) -> Result<Vec<Output<'_>>, Error> {
    let mut outputs = Vec::new();
    for (from, column) in columns.iter().enumerate().filter(|(i, _)| which(*i)) {
        match column.words()? {
            None => outputs.push(Output { from, column, name: column.name.clone(), category: None }),
            Some(words) => {
                let name = |word: &str| format!("{}={word}", column.name);
                let output =
                    |(category, word): (usize, String)| Output { from, column, name: name(&word), category: Some(category) };
                outputs.extend(words.into_iter().map(output));
            }
        }
    }
    Ok(outputs)
}

/// Words of a column that are most likely one.
fn alike(column: &Column) -> Option<Warning> {
    let Cells::Category { words } = &column.cells else { return None };
    twins(&column.name, words, "category")
}

/// A word that is a missing value among numbers, and may be one here.
fn placeholder(column: &Column) -> Option<Warning> {
    let Cells::Category { words } = &column.cells else { return None };
    let word = words.iter().find(|word| number::is_placeholder(word.as_bytes()))?;
    let seen = format!("column `{}` has the category `{}`", shown(&column.name), shown(word));
    Some(Warning::new(seen, format!("say `--missing {}` if such cells are missing", shown(word))))
}

/// Two of the words that differ in capitals alone.
pub(super) fn twins(column: &str, words: &[String], of: &str) -> Option<Warning> {
    let twin = |i: usize| words[..i].iter().find(|other| other.to_lowercase() == words[i].to_lowercase());
    let (word, other) = (1..words.len()).find_map(|i| twin(i).map(|other| (&words[i], other)))?;
    let seen = format!("column `{}` has both `{}` and `{}`", shown(column), shown(other), shown(word));
    Some(Warning::new(seen, format!("write a {of} in one way")))
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
    let outputs = outputs(&table.values, |_| true)?;
    let of = |case: &Raw| outputs.iter().map(|output| output.of(&case.values)).collect();
    let numbers = table.cases.iter().map(of).collect();
    Ok((outputs.into_iter().map(|output| output.name).collect(), numbers))
}

/// The group of each case, if they have one.
pub(in super::super) fn groups<'a>(cases: impl IntoIterator<Item = &'a Raw>, file: &str) -> Result<Option<Vec<String>>, Error> {
    let (mut groups, mut without) = (Vec::new(), None);
    for case in cases {
        match &case.group {
            Some(group) => groups.push(group.clone()),
            None => without = Some(&case.id),
        }
    }
    match without {
        Some(id) if !groups.is_empty() => {
            let seen = format!("series `{}` has no group, but others have one", shown(id));
            Err(Error::question(file, seen, "give every series the group that it belongs to"))
        }
        without => Ok(without.is_none().then_some(groups)),
    }
}

impl Table {
    /// The dataset of all cases, and how its columns were read.
    pub(in super::super) fn finish(
        mut self,
        name: &str,
        options: &ReadOptions,
        separator: char,
        mut warnings: Vec<Warning>,
    ) -> Result<Loaded, Error> {
        self.arrange()?;
        self.leave_out_unlabelled(options, &mut warnings);
        let targets = self.targets(options, &mut warnings)?;
        let is_static = self.statics(options, &mut warnings)?;
        let tokens = self.token_column(&is_static)?;
        let is_dropped = self.dropped(&is_static, tokens, options, &mut warnings);
        let vocabulary = tokens.map(|column| self.number_tokens(column)).transpose()?;
        let layout = self.layout(separator, &is_static, &is_dropped, tokens)?;
        if options.layout.is_none() {
            warnings.extend(layout.columns.iter().filter_map(alike));
            warnings.extend(layout.columns.iter().filter_map(placeholder));
        }
        let channels = outputs(&self.values, |i| !is_static[i] && !is_dropped[i])?;
        let statics = outputs(&self.values, |i| is_static[i])?;
        let is_plain = channels.len() == self.values.len() && channels.iter().all(|output| output.category.is_none());
        let width = self.values.len();
        let groups = groups(&self.cases, name)?;
        let mut cases = Vec::with_capacity(self.cases.len());
        for raw in std::mem::take(&mut self.cases) {
            let of_first = |output: &Output<'_>| {
                let first = present(&raw, output.from, width).next();
                first.map_or(f64::NAN, |(i, _)| output.of(&raw.values[i * width..(i + 1) * width]))
            };
            let statics = statics.iter().map(of_first).collect();
            let values = if is_plain {
                raw.values
            } else {
                let rows = raw.values.chunks_exact(width);
                rows.flat_map(|row| channels.iter().map(|output| output.of(row))).collect()
            };
            cases.push(Case { id: raw.id, times: raw.times, values, statics });
        }
        let data = Dataset {
            name: name.into(),
            channels: channels.into_iter().map(|output| output.name).collect(),
            statics: statics.into_iter().map(|output| output.name).collect(),
            times: self.clock,
            cases,
            targets,
            vocabulary,
            groups,
        };
        Ok(Loaded { data, layout: Some(layout), warnings })
    }

    /// How the columns were read, with what was found out on the way.
    fn layout(&self, separator: char, is_static: &[bool], is_dropped: &[bool], tokens: Option<usize>) -> Result<Layout, Error> {
        let mut columns = self.columns.clone();
        let mut k = 0;
        for column in &mut columns {
            if !column.role.is_value() {
                continue;
            }
            if tokens == Some(k) {
                (column.role, column.cells) = (Role::Token, Cells::Text);
            } else if is_dropped[k] {
                (column.role, column.cells) = (Role::Ignored, Cells::Text);
            } else {
                column.role = if is_static[k] { Role::Static } else { Role::Channel };
                self.values[k].describe(column)?;
            }
            k += 1;
        }
        let Policy { sort, duplicates, unknown, missing, time_zone, shape, clock } = self.policy.clone();
        Ok(Layout { separator, columns, sort, duplicates, unknown, missing, shape, clock, time_zone })
    }

    /// The static columns of a table with one row a case, with the words they hold.
    pub(in super::super) fn statics_found(&self) -> Result<Vec<Column>, Error> {
        let mut columns: Vec<Column> = self.columns.iter().filter(|column| column.role == Role::Static).cloned().collect();
        for (column, value) in columns.iter_mut().zip(&self.values) {
            value.describe(column)?;
        }
        Ok(columns)
    }

    /// Which columns are static: as is said, else those that look it.
    fn statics(&self, options: &ReadOptions, warnings: &mut Vec<Warning>) -> Result<Vec<bool>, Error> {
        let is_set = options.columns.statics.is_some() || options.columns.channels.is_some() || options.layout.is_some();
        let is_static: Vec<bool> = self.values.iter().map(|value| value.role == Role::Static).collect();
        if !is_set {
            let found = self.found();
            let names: Vec<String> = (0..found.len()).filter(|&i| found[i]).map(|i| shown(&self.values[i].name)).collect();
            if !names.is_empty() {
                let names = names.join(",");
                let seen = format!("`{names}` never change within a series, and are taken for static covariates");
                let fix = format!("say so with `--static {names}`, or name all channels with `--channels`");
                warnings.push(Warning { seen, fix });
            }
            return Ok(found);
        }
        let width = self.values.len();
        for (i, value) in self.values.iter().enumerate().filter(|(i, _)| is_static[*i]) {
            for case in &self.cases {
                let mut present = present(case, i, width).map(|(_, x)| value.same(x));
                if let Some(first) = present.next()
                    && let Some(second) = present.find(|x| *x != first)
                {
                    return Err(Error::NotStatic { column: value.name.clone(), case: case.id.clone(), first, second });
                }
            }
        }
        Ok(is_static)
    }

    /// Columns of which nearly every text is another: no categories, unless the caller says so.
    fn dropped(
        &self,
        is_static: &[bool],
        tokens: Option<usize>,
        options: &ReadOptions,
        warnings: &mut Vec<Warning>,
    ) -> Vec<bool> {
        let width = self.values.len();
        let is_set = |name: &String| options.columns.channels.as_ref().is_some_and(|names| names.contains(name));
        let drop = |(i, value): (usize, &Value)| {
            let Kind::Texts(texts) = &value.kind else { return false };
            let count: usize = self.cases.iter().map(|case| present(case, i, width).count()).sum();
            let is_dropped = !is_static[i]
                && tokens != Some(i)
                && !is_set(&value.name)
                && texts.count() > MAX_CATEGORY_TEXTS
                && 2 * texts.count() > count;
            if is_dropped {
                let name = shown(&value.name);
                let seen = format!("column `{name}` has {} different texts on {count} rows, and is ignored", texts.count());
                let otherwise = "if it names series, or `--channels` with it if they are categories";
                warnings.push(Warning::new(seen, format!("say so with `--ignore {name}`, `--id {name}` {otherwise}")));
            }
            is_dropped
        };
        self.values.iter().enumerate().map(drop).collect()
    }

    fn found(&self) -> Vec<bool> {
        let width = self.values.len();
        let is_static: Vec<bool> = (0..width).map(|i| self.values[i].role != Role::Token && self.looks_static(i)).collect();
        if is_static.iter().all(|&is_static| is_static) { vec![false; width] } else { is_static }
    }

    fn looks_static(&self, column: usize) -> bool {
        let (mut on_first, mut on_all, mut is_series, mut differs) = (true, true, false, false);
        let mut value = None;
        for case in &self.cases {
            let mut first = None;
            let mut count = 0;
            for (i, x) in present(case, column, self.values.len()) {
                let x = self.values[column].same(x);
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
}

/// The rows at which a column is not missing.
fn present(case: &Raw, column: usize, width: usize) -> impl Iterator<Item = (usize, f64)> {
    case.values[column.min(case.values.len())..].iter().step_by(width).copied().enumerate().filter(|(_, x)| !x.is_nan())
}
