//! Whether a table is in another form than a row an observation: dates with their clock beside them, wide, melted.

use super::form::Change;
use super::guess::{FileKind, Guess};
use super::melted::{self, Melted};
use super::names;
use super::overrides::Override;
use super::wide::Wide;
use crate::schema::Role;
use crate::shape::Shape;
use crate::{Error, Warning};

/// A change, and what is to be told.
type Told = (Change, Option<Warning>);

impl Guess<'_> {
    /// A column of dates, all of them whole days, beside a column of times of day.
    pub(super) fn clock(&self, id: Option<usize>, label: Option<usize>) -> Option<(Change, Warning)> {
        if self.overrides.time != Override::Unset {
            return None;
        }
        let times = |i: usize| self.seen.facts[i].times;
        let is_free = |i: usize| Some(i) != id && Some(i) != label && self.seen.facts[i].numbers == 0;
        let is_named = |i: usize| names::is_time(&self.seen.names[i]) || names::suggests_clock(&self.seen.names[i]);
        let dates = self.free(|i| is_free(i) && times(i).are_dates() && !times(i).has_clock);
        let clocks = self.free(|i| is_free(i) && times(i).are_clocks() && is_named(i));
        let (&[date], &[clock]) = (&dates[..], &clocks[..]) else { return None };
        let (day, hour) = (self.name(date), self.name(clock));
        let seen = format!("columns `{day}` and `{hour}` are taken together for the time");
        let fix = format!("say so with `--time {day},{hour}`, or name the one that is the time");
        Some((Change::Clock([date, clock]), Warning::new(seen, fix)))
    }

    /// A column that names channels beside one with their values.
    pub(super) fn melted(&self, id: Option<usize>, time: Option<usize>, label: Option<usize>) -> Result<Option<Told>, Error> {
        let stated = self.seen.options.columns.shape;
        let is_said = stated == Some(Shape::Melted);
        let is_done = self.seen.shape != Shape::Long || matches!(self.seen.kind, FileKind::Labels);
        if is_done || stated.is_some_and(|shape| shape != Shape::Melted) || (self.overrides.all_channels && !is_said) {
            return Ok(None);
        }
        let is_free = |i: usize| Some(i) != id && Some(i) != time && Some(i) != label;
        let facts = self.seen.facts;
        let mut variable = self.free(|i| is_free(i) && melted::is_variable(&self.seen.names[i]) && facts[i].texts > 0);
        let mut value = self.free(|i| is_free(i) && melted::is_value(&self.seen.names[i]) && facts[i].numbers > 0);
        if is_said && variable.is_empty() {
            variable = self.free(|i| is_free(i) && !facts[i].is_numeric());
        }
        if is_said && value.is_empty() {
            value = self.free(|i| is_free(i) && facts[i].is_numeric() && facts[i].numbers > 0);
        }
        let (&[variable], &[value]) = (&variable[..], &value[..]) else {
            let seen = "the table is to be melted, but which column names channels and which holds their values cannot be told";
            let fix = "call them `variable` and `value`, or leave the others out (`--ignore`)";
            return if is_said { Err(self.question(seen, fix)) } else { Ok(None) };
        };
        let mut keys: Vec<String> = self.ids(id).into_iter().chain(time).map(|i| self.seen.names[i].clone()).collect();
        keys.dedup();
        let name = |i: usize| self.seen.names[i].clone();
        let change = Change::Melted(Melted { variable: name(variable), value: name(value), keys });
        let seen = format!("`{}` is taken to name the channel that `{}` holds", self.name(variable), self.name(value));
        let warning = Warning::new(seen, "say so with `--shape melted`, or `--shape long` if a row is an observation");
        Ok(Some((change, (!is_said).then_some(warning))))
    }

    /// Series on one line each.
    pub(super) fn wide(&self, id: Option<usize>, time: Option<usize>) -> Result<Option<Told>, Error> {
        let is_unique = |&i: &usize| self.seen.facts[i].different().is_some_and(|count| count as u64 == self.seen.rows);
        let is_single = matches!(self.seen.kind, FileKind::OfFolder | FileKind::Labels);
        if self.seen.shape != Shape::Long
            || self.seen.options.columns.shape.is_some()
            || time.is_some()
            || self.overrides.time == Override::None
            || self.overrides.all_channels
            || is_single
            || self.seen.rows < 2
            || !self.ids(id).iter().all(is_unique)
        {
            return Ok(None);
        }
        let ids: Vec<String> = self.ids(id).into_iter().map(|i| self.seen.names[i].clone()).collect();
        let wide = Wide::of(self.seen.names, &ids, self.seen.options);
        let Some(wide) = wide.filter(|wide| wide.columns().all(|i| self.seen.facts[i].texts == 0)) else { return Ok(None) };
        let Some([first, last]) = wide.ends().map(|ends| ends.map(|i| self.name(i))) else { return Ok(None) };
        // An id that counts rows was ignored, as those of observations are.
        let is_ignored = |i: usize| self.seen.options.columns.ignore.iter().flatten().any(|name| *name == self.seen.names[i]);
        let is_owner = |i: usize| match self.overrides.roles[i] {
            None => names::suggests_id(&self.seen.names[i]),
            Some(Role::Ignored) => names::is_id(&self.seen.names[i]) && !is_ignored(i),
            Some(_) => false,
        };
        let owners = (0..self.seen.names.len()).filter(|&i| is_owner(i) && is_unique(&i)).count();
        let is_named = id.is_some() || (owners == 1 && self.overrides.id == Override::Unset);
        if !is_named && !wide.is_clear {
            let seen = format!("columns `{first}` to `{last}` may be the times of a series on one line each, or channels");
            return Err(self.question(seen, "say which: `--shape wide`, or `--shape long` if a row is an observation"));
        }
        let seen = format!("columns `{first}` to `{last}` are taken for the time steps of a series on each line");
        let warning = Warning::new(seen, "say so with `--shape wide`, or `--shape long` if a row is an observation");
        Ok(Some((Change::Wide(wide.counting(!is_named)), Some(warning))))
    }
}
