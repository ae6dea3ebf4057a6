//! Melted tables: a row a value, with the name of its channel. `id,time,variable,value`.

use std::collections::HashMap;

use super::super::Input;
use super::super::grid::Grid;
use super::form::Form;
use super::header::Header;
use crate::error::{at_line, listed, shown};
use crate::schema::{Layout, Role};
use crate::text::lines::utf8;
use crate::{Error, Warning};

/// What a melted table calls the column with the names of channels, and that with their values.
const VARIABLES: [&str; 10] =
    ["variable", "parameter", "measurement", "channel", "feature", "signal", "metric", "attribute", "measure", "sensor"];
const VALUES: [&str; 4] = ["value", "val", "values", "reading"];

/// What a column with the unit of a value is called: each channel has its own.
const UNITS: [&str; 4] = ["unit", "units", "uom", "unit_of_measure"];

/// More names than this are no channels.
const MAX_CHANNELS: usize = 256;

pub(super) fn is_variable(name: &str) -> bool {
    VARIABLES.iter().any(|known| name.eq_ignore_ascii_case(known))
}

pub(super) fn is_value(name: &str) -> bool {
    VALUES.iter().any(|known| name.eq_ignore_ascii_case(known))
}

/// The names of the columns that a melted table is made of.
#[derive(Debug, Clone)]
pub(super) struct Melted {
    pub(super) variable: String,
    pub(super) value: String,
    /// The columns that say which observation a value is of.
    pub(super) keys: Vec<String>,
}

/// The columns of a melted table for a model that is there.
pub(super) fn known(names: &[String], layout: Option<&Layout>) -> Option<Melted> {
    let known = |name: &String| layout.into_iter().flat_map(|layout| &layout.columns).any(|column| column.name == *name);
    let strangers: Vec<&String> = names.iter().filter(|name| !known(name)).collect();
    let named = |is: fn(&str) -> bool| strangers.iter().find(|name| is(name)).copied();
    let (variable, value) = match (named(is_variable), named(is_value), &strangers[..]) {
        (Some(variable), Some(value), _) => (variable, value),
        (_, _, &[variable, value]) => (variable, value),
        _ => return None,
    };
    let is_key = |name: &&String| {
        let columns = layout.into_iter().flat_map(|layout| layout.with(Role::Id).chain(layout.with(Role::Time)));
        columns.into_iter().any(|column| column.name == **name)
    };
    let keys = names.iter().filter(is_key).cloned().collect();
    Some(Melted { variable: variable.clone(), value: value.clone(), keys })
}

impl Melted {
    /// Gives a header this form: a row an observation, a column a channel. What is left out is told.
    pub(super) fn pivot(&self, input: &Input<'_>, header: &mut Header) -> Result<Option<Warning>, Error> {
        let place = |wanted: &String| {
            let found = header.names.iter().position(|name| name == wanted);
            found.ok_or_else(|| Error::no_column(input.file(), "melted channels", wanted, &header.names))
        };
        let (variable, value) = (place(&self.variable)?, place(&self.value)?);
        let keys: Vec<usize> = self.keys.iter().map(place).collect::<Result<_, _>>()?;
        let is_unit = |i: usize| UNITS.iter().any(|unit| header.names[i].eq_ignore_ascii_case(unit));
        let clock = header.clock.map(|[_, clock]| clock);
        let is_other = |i: &usize| ![variable, value].contains(i) && !is_unit(*i) && Some(*i) != clock;
        let others: Vec<usize> = (0..header.names.len()).filter(is_other).collect();
        let mut differs = vec![false; others.len()];
        let mut channels: Vec<String> = vec![];
        let mut rows: Vec<Row> = vec![];
        let mut by_key: HashMap<Vec<u8>, usize> = HashMap::new();
        header.rows(input, |line, cells| {
            let name = utf8(&cells[variable], || header.at(input.file(), line, variable))?.trim();
            if name.is_empty() {
                let seen = "the name of the channel is blank";
                return Err(Error::header(header.at(input.file(), line, variable), seen, "name the channel of each value"));
            }
            let channel = channels.iter().position(|other| other == name).unwrap_or_else(|| {
                channels.push(name.to_owned());
                channels.len() - 1
            });
            if channels.len() > MAX_CHANNELS {
                let seen = format!("column `{}` has more than {MAX_CHANNELS} different names of channels", shown(&self.variable));
                return Err(Error::header(at_line(input.file(), line), seen, "if its rows are observations, say `--shape long`"));
            }
            let key = keys.iter().map(|&i| cells[i].trim_ascii()).collect::<Vec<_>>().join(&0);
            let found = by_key.get(&key).copied().filter(|&row| rows[row].values.iter().all(|(other, _)| *other != channel));
            let row = found.unwrap_or_else(|| {
                let others = others.iter().map(|&i| cells[i].to_vec()).collect();
                rows.push(Row { line, others, values: vec![] });
                by_key.insert(key, rows.len() - 1);
                rows.len() - 1
            });
            for ((differs, &i), first) in differs.iter_mut().zip(&others).zip(&rows[row].others) {
                *differs |= *first != *cells[i];
            }
            rows[row].values.push((channel, cells[value].to_vec()));
            Ok(())
        })?;
        let kept: Vec<usize> = (0..others.len()).filter(|&k| !differs[k]).collect();
        let mut names: Vec<String> = kept.iter().map(|&k| header.names[others[k]].clone()).collect();
        let left_out: Vec<&String> = (0..others.len()).filter(|&k| differs[k]).map(|k| &header.names[others[k]]).collect();
        let warning = (!left_out.is_empty()).then(|| {
            let seen = format!("columns {} differ between the channels of one observation, and are left out", listed(&left_out));
            Warning::new(seen, "say so with `--ignore`, or write a row for each observation")
        });
        names.extend(channels.iter().cloned());
        let mut grid = Grid::new(names.clone());
        for row in &rows {
            let mut values: Vec<&[u8]> = vec![b""; channels.len()];
            row.values.iter().for_each(|(channel, value)| values[*channel] = value);
            grid.push(row.line, kept.iter().map(|&k| row.others[k].as_slice()).chain(values));
        }
        let renamed = Header::of_names(input.file(), header.line, names, header.separator)?;
        (header.names, header.clock, header.form) = (renamed.names, None, Form::Melted(grid));
        Ok(warning)
    }
}

/// An observation, so far.
struct Row {
    line: u64,
    others: Vec<Vec<u8>>,
    values: Vec<(usize, Vec<u8>)>,
}
