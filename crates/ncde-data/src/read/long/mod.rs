//! Long csv: a row an observation, `id,time,channels...,label`.
//!
//! Rows are gathered by id, and times must increase within a case unless the caller says what to do. Without an id column there
//! is one case, without times observations are counted. A text column becomes one channel `name=value` for each of its values,
//! 1 where it has that value; if it is the only channel, its texts are tokens. A label that is the same on all rows of each
//! case, or stands on its first or last row only, is one of the whole case; any other is one of observations.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `top`, `header` | what stands above the rows; separator, names, and the rows below them |
//! | `facts`, `names`, `overrides`, `guess`, `contents` | what a column is for: all its cells, its name, what the caller says, and the decision; what it holds |
//! | `guess_form`, `form`, `wide`, `melted` | tables that are not a row an observation, and how they become it |
//! | `known` | the same for a model that is there: its layout decides |
//! | `cell`, `texts`, `tokens` | one cell; texts that are not known yet; those that are tokens |
//! | `table`, `order`, `labels`, `finish` | rows by case; in order of time; what is to be predicted; the dataset |
//! | `line` | one row at a time, of a stream |

mod cell;
mod contents;
mod facts;
mod finish;
mod form;
mod guess;
mod guess_form;
mod header;
mod known;
mod labels;
mod line;
mod melted;
mod names;
mod order;
mod overrides;
mod table;
mod texts;
mod tokens;
mod top;
mod wide;

pub(super) use finish::{expand, groups};
pub(super) use guess::FileKind;
pub(super) use header::Header;
pub use line::{Given, Line, LineReader};
pub(super) use names::{is_id, is_label};
pub(super) use table::Table;

use std::collections::HashMap;

use super::{Input, Loaded, ReadOptions};
use crate::schema::{Cells, Column, Layout, Role, Schema, Warning};
use crate::text::marks::{Evidence, Marks};
use crate::text::missing::Missing;
use crate::text::time::TimeFormat;
use crate::text::zone::Zone;
use crate::{Columns, Error};
use facts::Facts;
use guess::Guessed;
use table::Policy;

pub(super) fn read(input: &Input<'_>, name: &str, options: &ReadOptions) -> Result<Loaded, Error> {
    let mut header = [Header::of(input)?];
    let (mut table, warnings) = begin(&[input], &mut header, FileKind::of_series(options), options)?;
    let [header] = header;
    table.take(input, &header, None)?;
    table.finish(name, options, char::from(header.separator), warnings)
}

/// The table that the rows of these files go to, every column decided, and the headers in the form that rows are read in.
pub(super) fn begin(
    inputs: &[&Input<'_>],
    headers: &mut [Header],
    kind: FileKind<'_>,
    options: &ReadOptions,
) -> Result<(Table, Vec<Warning>), Error> {
    let is_labels = matches!(kind, FileKind::Labels);
    let mut policy = Policy::of(&options.columns, options.layout.as_ref());
    let layout = options.layout.as_ref().filter(|_| !is_labels);
    let (Some(first), Some(header)) = (inputs.first(), headers.first()) else {
        return Ok((Table::new(vec![], is_labels, policy, options), vec![]));
    };
    let mut zone = policy.time_zone.as_deref().map(|name| Zone::new(name, first.file())).transpose()?;
    let mut told = if layout.is_none() { header.warnings.clone() } else { vec![] };
    form::stated(inputs, headers, &mut policy, kind, options, layout)?;
    let (columns, warnings) = loop {
        let header = &headers[0];
        if let Some(layout) = layout {
            break known::columns(first.file(), &header.names, kind, layout, options)?;
        }
        let files: Vec<(&Input<'_>, &Header)> = inputs.iter().copied().zip(&*headers).collect();
        let (facts, rows) = facts_of(&files, &Missing::new(&policy.missing))?;
        let (names, shape, clock) = (&header.names, header.form.shape(), header.clock);
        let seen = guess::Seen { file: first.file(), names, facts: &facts, rows, kind, options, shape, clock };
        match guess::columns(&seen, &|columns, ids| rises(&files, &facts, columns, ids))? {
            Guessed::Columns(columns, warnings) => {
                let time = columns.iter().position(|column| column.role == Role::Time);
                // A day is a day in every zone.
                if time.is_none_or(|time| !facts[time].times.has_clock) {
                    zone = None;
                    policy.time_zone = None;
                }
                break (columns, warnings);
            }
            Guessed::Change(change, warning) => {
                told.extend(warning);
                told.extend(change.apply(inputs, headers, &mut policy)?);
            }
        }
    };
    told.extend(warnings);
    let mut table = Table::new(columns, is_labels, policy, options);
    table.zone = zone;
    Ok((table, told))
}

impl Policy {
    /// As the caller says, else as the layout does.
    fn of(columns: &Columns, layout: Option<&Layout>) -> Self {
        Self {
            sort: columns.sort.or(layout.map(|layout| layout.sort)).unwrap_or(false),
            duplicates: columns.duplicates.or(layout.map(|layout| layout.duplicates)).unwrap_or_default(),
            unknown: columns.unknown.or(layout.map(|layout| layout.unknown)).unwrap_or(false),
            missing: columns.missing.clone().or(layout.map(|layout| layout.missing.clone())).unwrap_or_default(),
            time_zone: columns.time_zone.clone().or(layout.and_then(|layout| layout.time_zone.clone())),
            shape: layout.map(|layout| layout.shape).unwrap_or_default(),
            clock: layout.and_then(|layout| layout.clock.clone()),
        }
    }
}

/// What all cells of some files say, and how many rows there are.
fn facts_of(files: &[(&Input<'_>, &Header)], missing: &Missing) -> Result<(Vec<Facts>, u64), Error> {
    let names = files.first().map_or(&[][..], |(_, header)| &header.names[..]);
    let mut facts: Vec<Facts> = names.iter().map(|name| Facts::new(name)).collect();
    let mut rows = 0;
    for (input, header) in files {
        facts.iter_mut().for_each(Facts::next_file);
        let place: Vec<Option<usize>> = header.names.iter().map(|name| names.iter().position(|other| other == name)).collect();
        rows += header.rows(input, |line, cells| {
            for (k, (cell, place)) in cells.iter().zip(&place).enumerate() {
                if let Some(i) = place
                    && !facts[*i].add(cell, missing)
                {
                    return Err(Error::NotUtf8 { at: header.at(input.file(), line, k) });
                }
            }
            Ok(())
        })?;
    }
    facts.iter_mut().for_each(Facts::settle);
    Ok((facts, rows))
}

/// Which of these columns rise from row to row in each series of the first file.
fn rises(files: &[(&Input<'_>, &Header)], facts: &[Facts], columns: &[usize], ids: &[usize]) -> Result<Vec<bool>, Error> {
    let mut rising = vec![true; columns.len()];
    let Some((input, header)) = files.first() else { return Ok(rising) };
    let all = facts.iter().fold(Evidence::default(), |all, facts| all.and(facts.marks));
    let read = |column: usize, cell: &[u8]| {
        let marks = facts[column].marks.marks(all, None).unwrap_or(Marks::PLAIN);
        let formats = TimeFormat::ALL.into_iter().map(|(_, format)| format);
        let is_number = facts[column].texts == 0;
        formats.filter(|format| is_number == (*format == TimeFormat::Number)).find_map(|format| format.time(cell, marks))
    };
    let mut last: HashMap<Vec<u8>, Vec<f64>> = HashMap::new();
    header.rows(input, |_, cells| {
        let key = ids.iter().map(|&id| &cells[id][..]).collect::<Vec<_>>().join(&b'/');
        let before = last.entry(key).or_insert_with(|| vec![f64::NEG_INFINITY; columns.len()]);
        for (k, &column) in columns.iter().enumerate() {
            let t = read(column, &cells[column]).unwrap_or(f64::NEG_INFINITY);
            rising[k] &= t > before[k];
            before[k] = t;
        }
        Ok(())
    })?;
    Ok(rising)
}

/// Columns of which nothing is known but their names: for a model that was trained on another kind of file.
pub(super) fn by_names(columns: &[String], schema: &Schema) -> Vec<Column> {
    let words = |names: &[String], column: &str| -> Vec<String> {
        let word = |name: &String| name.strip_prefix(column).and_then(|rest| rest.strip_prefix('=')).map(Into::into);
        names.iter().filter_map(word).collect()
    };
    let of_model = |name: &String| {
        for (role, known) in [(Role::Channel, &schema.channels), (Role::Static, &schema.statics)] {
            if known.contains(name) {
                let is_token = schema.vocabulary.is_some() && role == Role::Channel;
                let cells = if is_token { Cells::Text } else { Cells::Number { marks: Marks::PLAIN, unit: String::new() } };
                return Some((if is_token { Role::Token } else { role }, cells));
            }
            let words = words(known, name);
            if !words.is_empty() {
                return Some((role, Cells::Category { words }));
            }
        }
        None
    };
    let column = |name: &String| {
        let (role, cells) = of_model(name).unwrap_or_else(|| match name {
            name if names::is_id(name) => (Role::Id, Cells::Text),
            name if names::is_time(name) => (Role::Time, Cells::PLAIN_TIME),
            _ => (Role::Ignored, Cells::Text),
        });
        Column { name: name.clone(), role, cells }
    };
    columns.iter().map(column).collect()
}
