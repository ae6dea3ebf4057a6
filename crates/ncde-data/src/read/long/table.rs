//! Rows of a csv file, gathered by case as they are read.
//!
//! What the cells of a column hold is known by now. Texts of which the words are not known are kept as numbers `0, 1, ...` as
//! they come, until the end. In a column that is asked for as tokens every cell is text, and only a blank one is missing.

use std::borrow::Cow;
use std::collections::HashMap;

use super::super::{Input, ReadOptions};
use super::cell::{Kind, Value};
use super::header::Header;
use crate::Error;
use crate::dataset::Clock;
use crate::error::{Location, at_line, listed, shown};
use crate::label::{Label, Labels};
use crate::schema::{Cells, Column, Duplicates, Layout, Role};
use crate::shape::Shape;
use crate::text::lines::utf8;
use crate::text::missing::Missing;
use crate::text::zone::{Zone, is_set_back};

/// What happens to rows that are not in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) struct Policy {
    pub(in super::super) sort: bool,
    pub(in super::super) duplicates: Duplicates,
    /// Whether categories that are not known are none of those that are.
    pub(in super::super) unknown: bool,
    /// What stands for a missing cell beside the usual texts.
    pub(in super::super) missing: Vec<String>,
    /// The zone of dates without an offset.
    pub(in super::super) time_zone: Option<String>,
    /// How files hold their series.
    pub(in super::super) shape: Shape,
    /// The column with the times of day of dates.
    pub(in super::super) clock: Option<String>,
}

/// A case, so far.
#[derive(Debug)]
pub(in super::super) struct Raw {
    pub(in super::super) id: String,
    pub(in super::super) times: Vec<f64>,
    /// `[rows, columns]`; a text is its number.
    pub(in super::super) values: Vec<f64>,
    pub(in super::super) labels: Vec<Label>,
    /// What it belongs to.
    pub(in super::super) group: Option<String>,
    /// The file and the line of its first row.
    pub(in super::super) file: usize,
    pub(in super::super) line: u64,
}

/// All cases, so far.
pub(in super::super) struct Table {
    /// Whether a case may have one row only, as in a file of labels and statics.
    is_one_row: bool,
    pub(super) policy: Policy,
    missing: Missing,
    pub(super) zone: Option<Zone>,
    pub(in super::super) files: Vec<String>,
    /// The names in the header of the first file.
    first: Vec<String>,
    /// All columns, in the order of the first file.
    pub(super) columns: Vec<Column>,
    /// Those with values.
    pub(in super::super) values: Vec<Value>,
    pub(in super::super) cases: Vec<Raw>,
    pub(in super::super) labels: Option<Labels>,
    pub(in super::super) clock: Clock,
    by_id: HashMap<String, usize>,
    current: usize,
    options: ReadOptions,
    /// The columns of the file that is being read which name a case, and that of its group.
    ids: Vec<usize>,
    group: Option<usize>,
}

impl Table {
    pub(in super::super) fn new(columns: Vec<Column>, is_one_row: bool, policy: Policy, options: &ReadOptions) -> Self {
        let values = columns.iter().filter(|column| column.role.is_value());
        let values = values.map(|column| Value::new(column, policy.unknown)).collect();
        let time = columns.iter().find(|column| column.role == Role::Time);
        let clock = match time.map(|column| &column.cells) {
            Some(Cells::Time { format, .. }) => format.clock(),
            Some(_) => Clock::Numbers,
            None => Clock::Index,
        };
        let label = columns.iter().find(|column| column.role == Role::Label);
        let labels = label.map(|column| match &column.cells {
            Cells::Number { marks, unit } => Labels::new(&column.name).with_marks(*marks, unit),
            _ => Labels::new(&column.name),
        });
        let (files, first, cases) = (vec![], vec![], vec![]);
        Self {
            is_one_row,
            missing: Missing::new(&policy.missing),
            zone: None,
            policy,
            files,
            first,
            values,
            cases,
            labels,
            clock,
            columns,
            by_id: HashMap::new(),
            current: 0,
            options: options.clone(),
            ids: vec![],
            group: None,
        }
    }

    /// The column that is asked for as tokens, among those with values.
    pub(super) fn tokens(&self) -> Option<usize> {
        self.values.iter().position(|value| value.role == Role::Token)
    }

    /// Reads all rows of a file. `id` is the case they belong to where there is no column of ids.
    pub(in super::super) fn take(&mut self, input: &Input<'_>, header: &Header, id: Option<&str>) -> Result<(), Error> {
        self.files.push(input.file().to_string());
        let roles = self.roles(header)?;
        let of_row = roles.iter().map(|(role, _)| *role);
        self.ids = id_columns(of_row, &header.names, &self.options, self.options.layout.as_ref());
        self.group = header.names.iter().position(|name| Some(name) == self.options.columns.group.as_ref());
        if self.ids.is_empty() {
            self.enter(id.unwrap_or("1"), 1)?;
        }
        header.rows(input, |line, cells| self.push(header, &roles, line, cells)).map(drop)
    }

    /// What the columns of a file are for, which may come in another order than in the first; of those with values also the index
    /// among them.
    fn roles(&mut self, header: &Header) -> Result<Vec<(Role, usize)>, Error> {
        let mut values = 0;
        let of_first = self.columns.iter().map(|column| {
            values += usize::from(column.role.is_value());
            (column.role, values.saturating_sub(1))
        });
        let of_first: Vec<(Role, usize)> = of_first.collect();
        if self.files.len() == 1 {
            self.first.clone_from(&header.names);
            return Ok(of_first);
        }
        let place = |name: &String| self.first.iter().position(|other| other == name);
        let roles: Option<Vec<_>> = header.names.iter().map(|name| place(name).map(|i| of_first[i])).collect();
        roles.filter(|_| header.names.len() == self.first.len()).ok_or_else(|| {
            let (names, first) = (listed(&header.names), listed(&self.first));
            let seen = format!("the columns are {names}, but {first} in `{}`", self.files[0]);
            Error::header(at_line(self.file(), 1), seen, "give all files of a folder the same columns")
        })
    }

    /// The file that is being read, or the last one.
    pub(super) fn file(&self) -> &str {
        self.files.last().map_or("", String::as_str)
    }

    fn push(&mut self, header: &Header, roles: &[(Role, usize)], line: u64, cells: &[Cow<'_, [u8]>]) -> Result<(), Error> {
        let file = self.file().to_string();
        let at = |i: usize| header.at(&file, line, i);
        if !self.ids.is_empty() {
            self.enter(&joined_id(cells, &self.ids, at)?, line)?;
        }
        if let Some(i) = self.group {
            let group = utf8(&cells[i], || at(i))?.trim();
            let case = &mut self.cases[self.current];
            match &case.group {
                _ if group.is_empty() => {}
                Some(before) if before != group => {
                    let seen =
                        format!("series `{}` is of group `{}` and of group `{}`", shown(&case.id), shown(before), shown(group));
                    return Err(Error::header(
                        at(i),
                        seen,
                        "a series belongs to one group: name the column of ids (`--id`), or another group",
                    ));
                }
                Some(_) => {}
                None => case.group = Some(group.into()),
            }
        }
        if self.clock == Clock::Index {
            let case = &mut self.cases[self.current];
            case.times.push(case.times.len() as f64);
        }
        let width = self.values.len();
        let start = self.cases[self.current].values.len();
        self.cases[self.current].values.resize(start + width, f64::NAN);
        for (i, cell) in cells.iter().enumerate() {
            match roles[i] {
                (Role::Id | Role::Group | Role::Ignored, _) => {}
                (Role::Time, _) => self.time(cell, || at(i))?,
                (Role::Label, _) => {
                    if let Some(labels) = &mut self.labels {
                        let label = labels.label(self.missing.clean(cell), || at(i))?;
                        self.cases[self.current].labels.push(label);
                    }
                }
                (Role::Channel | Role::Static | Role::Token, k) => {
                    let x = self.values[k].read(self.missing.clean(cell), width == 1, || at(i))?;
                    self.cases[self.current].values[start + k] = x;
                }
            }
        }
        Ok(())
    }

    /// Makes the case with this id the one that rows go to.
    fn enter(&mut self, id: &str, line: u64) -> Result<(), Error> {
        let is_current = self.cases.get(self.current).is_some_and(|case| case.id == id);
        let found = if is_current { Some(self.current) } else { self.by_id.get(id).copied() };
        if let Some(found) = found {
            if self.is_one_row {
                let before = format!("line {}", self.cases[found].line);
                let id = shown(id);
                return Err(Error::RepeatedId { at: at_line(self.file(), line), id, before });
            }
            self.current = found;
            return Ok(());
        }
        self.current = self.cases.len();
        self.by_id.insert(id.into(), self.current);
        let file = self.files.len() - 1;
        self.cases.push(Raw { id: id.into(), times: vec![], values: vec![], labels: vec![], group: None, file, line });
        Ok(())
    }

    fn time(&mut self, cell: &[u8], at: impl Fn() -> Location) -> Result<(), Error> {
        let column = self.columns.iter().find(|column| column.role == Role::Time);
        let Some(column) = column else { return Ok(()) };
        let mut t = column.time(cell, &at)?;
        let case = &self.cases[self.current];
        if let Some(zone) = self.zone.as_mut().filter(|_| column.is_local(cell)) {
            t = zone.time(t, &case.id);
        }
        let before = case.times.last().copied().unwrap_or(f64::NEG_INFINITY);
        let is_wrong = (before > t && !self.policy.sort) || (before == t && self.policy.duplicates == Duplicates::Refuse);
        if is_wrong {
            let fix = match before == t {
                _ if self.clock == Clock::Dates && self.zone.is_none() && is_set_back(before, t) => SET_BACK,
                true => DUPLICATE,
                false => UNSORTED,
            };
            return Err(Error::time_order(at(), Some(&case.id), [before, t], self.clock, fix));
        }
        self.cases[self.current].times.push(t);
        Ok(())
    }
}

/// The columns that name a case, in the order in which they are said, or in which the model knows them.
pub(super) fn id_columns(
    roles: impl Iterator<Item = Role>,
    names: &[String],
    options: &ReadOptions,
    layout: Option<&Layout>,
) -> Vec<usize> {
    let mut order = options.columns.ids(names);
    if order.is_empty() {
        order.extend(layout.into_iter().flat_map(|layout| layout.with(Role::Id)).map(|column| column.name.clone()));
    }
    let mut columns: Vec<usize> = roles.enumerate().filter(|(_, role)| *role == Role::Id).map(|(i, _)| i).collect();
    columns.sort_by_key(|&i| order.iter().position(|name| name.eq_ignore_ascii_case(&names[i])));
    columns
}

/// The id of a series, `a/b` of several columns.
pub(super) fn joined_id<'a>(
    cells: &'a [Cow<'_, [u8]>],
    columns: &[usize],
    at: impl Fn(usize) -> Location,
) -> Result<Cow<'a, str>, Error> {
    if let &[column] = columns {
        return id(&cells[column], || at(column)).map(Cow::Borrowed);
    }
    let parts = columns.iter().map(|&column| id(&cells[column], || at(column)));
    Ok(Cow::Owned(parts.collect::<Result<Vec<&str>, Error>>()?.join("/")))
}

/// The id of a series in a cell.
fn id(cell: &[u8], at: impl Fn() -> Location) -> Result<&str, Error> {
    match utf8(cell, &at)?.trim() {
        "" => Err(Error::header(at(), "the id is blank", "give every row the id of its case")),
        id => Ok(id),
    }
}

/// What to try if two rows have one time.
pub(super) const DUPLICATE: &str = "a time may stand once in a case: say which row counts (`--duplicates first`, `last` or `mean`), or \
                                    give another series another id (`--id`)";
/// What to try if clocks seem to be set back.
pub(super) const SET_BACK: &str = "if clocks were set back then, say where (`--time-zone Europe/Berlin`); else sort the rows (`--sort`), or \
                                   say which row of a time counts (`--duplicates first`, `last` or `mean`)";
/// What to try if times decrease.
const UNSORTED: &str = "sort the rows of a case by time (`--sort`), or give another series another id (`--id`)";

impl Value {
    pub(super) fn is_text(&self) -> bool {
        matches!(self.kind, Kind::Texts(_) | Kind::Categories(_))
    }
}
