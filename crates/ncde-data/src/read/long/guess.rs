//! What each column of a table is for: as the caller says, else as names and cells together suggest.
//!
//! A guess that could be wrong is a [`Warning`] which names the flag that decides it; where two readings are as likely and
//! one of them would be a silent mistake, it is a question, an [`Error::Question`].

use std::path::Path;

use super::super::ReadOptions;
use super::facts::Facts;
use super::form::Change;
use super::names;
use super::overrides::{Override, Overrides};
use crate::Error;
use crate::error::{at_line, listed, shown};
use crate::schema::{Column, Role, Warning};
use crate::shape::Shape;
use crate::text::formats::Found;
use crate::text::marks::Evidence;

/// What kind of file it is.
#[derive(Debug, Clone, Copy)]
pub(in super::super) enum FileKind<'a> {
    Series,
    /// One case of a folder: its name is its id.
    OfFolder,
    /// A file of labels: it has no times.
    Labels,
    /// Series whose labels are in this other file.
    SeriesOnly(&'a Path),
}

impl<'a> FileKind<'a> {
    pub(in super::super) fn of_series(options: &'a ReadOptions) -> Self {
        options.labels.as_deref().map_or(Self::Series, Self::SeriesOnly)
    }
}

/// A column of any name that counts this many rows is no quantity.
pub(super) const COUNTED_ROWS: u64 = 10;

/// A table of which all cells were seen once.
pub(in super::super) struct Seen<'a> {
    pub(in super::super) file: &'a str,
    pub(in super::super) names: &'a [String],
    pub(in super::super) facts: &'a [Facts],
    pub(in super::super) rows: u64,
    pub(in super::super) kind: FileKind<'a>,
    pub(in super::super) options: &'a ReadOptions,
    /// How rows became observations.
    pub(in super::super) shape: Shape,
    /// The columns of dates and of their times of day.
    pub(in super::super) clock: Option<[usize; 2]>,
}

/// What was found.
pub(super) enum Guessed {
    Columns(Vec<Column>, Vec<Warning>),
    /// The table is of another form, in which it is to be looked at again; what is to be told.
    Change(Change, Option<Warning>),
}

/// Which of some columns rise from row to row in each series, by the columns of ids.
type Rises<'a> = &'a dyn Fn(&[usize], &[usize]) -> Result<Vec<bool>, Error>;

/// The columns of a table, texts and statics not told apart yet.
pub(super) fn columns(seen: &Seen<'_>, rises: Rises<'_>) -> Result<Guessed, Error> {
    let is_labels = matches!(seen.kind, FileKind::Labels);
    let mut overrides = Overrides::of(seen.file, seen.names, seen.options, seen.kind, false)?;
    if let Some([date, clock]) = seen.clock.filter(|_| overrides.time == Override::Unset) {
        overrides.time = Override::Column(date);
        (overrides.roles[date], overrides.roles[clock]) = (Some(Role::Time), Some(Role::Ignored));
    }
    let mut guess = Guess { seen, overrides, warnings: vec![] };
    let label = guess.label()?;
    let id = guess.id(label, rises)?;
    if !is_labels && let Some((change, warning)) = guess.clock(id, label) {
        return Ok(Guessed::Change(change, Some(warning)));
    }
    let time = if is_labels { None } else { guess.time(id, label, rises)? };
    if let Some((change, warning)) = guess.melted(id, time, label)?.or(guess.wide(id, time)?) {
        return Ok(Guessed::Change(change, warning));
    }
    let file_marks = guess.file_marks();
    let mut columns = Vec::with_capacity(seen.names.len());
    for i in 0..seen.names.len() {
        let role = match Some(i) {
            this if this == id => Role::Id,
            this if this == time => Role::Time,
            this if this == label => Role::Label,
            _ => guess.value(i, id)?,
        };
        let cells = guess.cells(i, role, file_marks)?;
        columns.push(Column { name: seen.names[i].clone(), role, cells });
    }
    if !is_labels && !columns.iter().any(|column| column.role.is_value()) {
        guess.keep_counters(&mut columns, file_marks)?;
    }
    Ok(Guessed::Columns(columns, guess.warnings))
}

pub(super) struct Guess<'a> {
    pub(super) seen: &'a Seen<'a>,
    pub(super) overrides: Overrides,
    warnings: Vec<Warning>,
}

impl Guess<'_> {
    pub(super) fn name(&self, column: usize) -> String {
        shown(&self.seen.names[column])
    }

    pub(super) fn warn(&mut self, seen: impl Into<String>, fix: impl Into<String>) {
        self.warnings.push(Warning::new(seen, fix));
    }

    pub(super) fn question(&self, seen: impl Into<String>, fix: impl Into<String>) -> Error {
        Error::question(self.seen.file, seen, fix)
    }

    /// Columns of which nothing is said and that are as asked.
    pub(super) fn free(&self, is: impl Fn(usize) -> bool) -> Vec<usize> {
        (0..self.seen.names.len()).filter(|&i| !self.overrides.is_set(i) && is(i)).collect()
    }

    fn only(&self, found: &[usize], role: Role) -> Result<Option<usize>, Error> {
        if found.len() < 2 {
            return Ok(found.first().copied());
        }
        let names: Vec<&str> = found.iter().map(|&i| self.seen.names[i].as_str()).collect();
        let flag = match role {
            Role::Id => "--id",
            Role::Time => "--time",
            _ => "--label",
        };
        Err(Error::SeveralColumns { file: self.seen.file.into(), role: role.plural(), names: listed(&names), flag })
    }

    fn label(&mut self) -> Result<Option<usize>, Error> {
        let known = self.free(|i| names::is_label(&self.seen.names[i]));
        match (self.overrides.label, self.seen.kind) {
            (Override::Column(i), _) => Ok(Some(i)),
            (_, FileKind::SeriesOnly(labels)) if !known.is_empty() => {
                Err(Error::LabelsTwice { file: self.seen.file.into(), labels: labels.display().to_string() })
            }
            (Override::None, _) => Ok(None),
            (Override::Unset, FileKind::Labels) if known.is_empty() => {
                // The id comes first, unless another column is called that.
                let id = self
                    .overrides
                    .id
                    .column()
                    .or_else(|| self.seen.names.iter().position(|name| names::is_id(name)))
                    .unwrap_or(0);
                match self.seen.names.len() {
                    2 => Ok(Some(1 - id)),
                    _ => {
                        let wanted = format!("wanted one called {}, or named (`--label`)", listed(names::LABEL_NAMES));
                        Err(Error::wanted_column(self.seen.file, "labels", wanted, "", self.seen.names))
                    }
                }
            }
            (Override::Unset, _) => self.only(&known, Role::Label),
        }
    }

    fn id(&mut self, label: Option<usize>, rises: Rises<'_>) -> Result<Option<usize>, Error> {
        let known = self.free(|i| Some(i) != label && names::is_id(&self.seen.names[i]));
        match (self.overrides.id, self.seen.kind) {
            (Override::Column(i), FileKind::OfFolder) => return Err(self.id_in_folder(i)),
            (Override::Column(i), _) => return Ok(Some(i)),
            (_, FileKind::OfFolder) => return known.first().map_or(Ok(None), |&i| Err(self.id_in_folder(i))),
            (Override::None, _) => return Ok(None),
            (Override::Unset, FileKind::Labels) => {
                return Ok(self.only(&known, Role::Id)?.or((label != Some(0)).then_some(0)).or(Some(1)));
            }
            (Override::Unset, _) => {}
        }
        let facts = self.seen.facts;
        let suggested = self.free(|i| Some(i) != label && self.suggests_owner(i));
        if let Some(id) = self.only(&known, Role::Id)? {
            if !facts[id].counts_rows() {
                return Ok(Some(id));
            }
            // A number for each row: of a row, not of a series, if the rows go on as those of a series do.
            if suggested.is_empty() {
                let times = self.free(|i| names::is_time(&self.seen.names[i]));
                let goes_on = times.is_empty() || rises(&times, &[])?.contains(&true);
                if !goes_on || self.seen.rows < 3 {
                    return Ok(Some(id));
                }
            }
            let name = self.name(id);
            self.overrides.roles[id] = Some(Role::Ignored);
            let seen = format!("column `{name}` counts the rows, and is ignored");
            self.warn(seen, format!("if it names series, say `--id {name}`"));
        }
        let id = self.only(&suggested, Role::Id)?;
        if let Some(id) = id {
            let name = self.name(id);
            let seen = format!("column `{name}` is taken for the id of series: {} of them", facts[id].different().unwrap_or(0));
            self.warn(seen, format!("say so with `--id {name}`, or `--id none` if all rows are one series"));
        }
        Ok(id)
    }

    /// Whether a column seems to name what rows belong to: by its name, and with several rows of each.
    fn suggests_owner(&self, i: usize) -> bool {
        let (name, facts) = (&self.seen.names[i], &self.seen.facts[i]);
        let repeats = facts.different().is_some_and(|count| (count as u64) < self.seen.rows);
        let numbered =
            || facts.texts == 0 || facts.example.as_ref().is_some_and(|text| text.contains(|c: char| c.is_ascii_digit()));
        !names::is_id(name)
            && names::suggests_id(name)
            && repeats
            && !facts.has_fractions
            && (!names::needs_numbers(name) || numbered())
    }

    /// All columns that name series, where this is the first.
    pub(super) fn ids(&self, id: Option<usize>) -> Vec<usize> {
        let is_id = |i: &usize| Some(*i) == id || self.overrides.roles[*i] == Some(Role::Id);
        (0..self.seen.names.len()).filter(is_id).collect()
    }

    fn id_in_folder(&self, column: usize) -> Error {
        let name = self.name(column);
        let seen = format!("there is a column `{name}`, but in a folder the name of a file is the id of its case");
        let fix = "remove the column or leave it out (`--ignore`), or join all files into one csv";
        Error::header(at_line(self.seen.file, 1), seen, fix)
    }

    fn time(&mut self, id: Option<usize>, label: Option<usize>, rises: Rises<'_>) -> Result<Option<usize>, Error> {
        match self.overrides.time {
            Override::Column(i) => return Ok(Some(i)),
            Override::None => return Ok(None),
            Override::Unset => {}
        }
        let is_free = |i: usize| Some(i) != id && Some(i) != label;
        let known = self.free(|i| is_free(i) && names::is_time(&self.seen.names[i]));
        if !known.is_empty() {
            return self.only(&known, Role::Time);
        }
        let times = |i: usize| self.seen.facts[i].times;
        let dates = self.free(|i| {
            let is_called =
                names::suggests_time(&self.seen.names[i]) && times(i).found() != Found::None && self.seen.facts[i].texts == 0;
            is_free(i) && self.seen.facts[i].cells() == self.seen.rows && (times(i).are_dates() || is_called)
        });
        let found = self.only(&dates, Role::Time)?;
        let found = match found {
            Some(found) => Some(found),
            None => {
                let elapsed =
                    self.free(|i| is_free(i) && self.seen.facts[i].texts == 0 && names::suggests_elapsed(&self.seen.names[i]));
                let rising = if elapsed.is_empty() { vec![] } else { rises(&elapsed, &self.ids(id))? };
                let rising: Vec<usize> = elapsed.into_iter().zip(rising).filter(|(_, rises)| *rises).map(|(i, _)| i).collect();
                self.only(&rising, Role::Time)?
            }
        };
        if let Some(time) = found {
            let name = self.name(time);
            let seen = format!("column `{name}` is taken for the time");
            self.warn(seen, format!("say so with `--time {name}`, or `--time none` if rows are to be counted"));
        }
        Ok(found)
    }

    /// What a column is for that is not id, time or label.
    fn value(&mut self, column: usize, id: Option<usize>) -> Result<Role, Error> {
        if let Some(role) = self.overrides.roles[column] {
            return Ok(role);
        }
        if matches!(self.seen.kind, FileKind::Labels) {
            return Ok(Role::Static);
        }
        let (name, facts) = (self.name(column), &self.seen.facts[column]);
        if self.seen.names[column].is_empty() {
            if facts.cells() == 0 || facts.counts_rows() || self.overrides.all_channels {
                return Ok(Role::Ignored);
            }
            let fix = "name it, or remove it (pandas: `to_csv(..., index=False)`)";
            return Err(Error::header(at_line(self.seen.file, 1), format!("column {} has no name", column + 1), fix));
        }
        if self.overrides.all_channels {
            return Ok(Role::Ignored);
        }
        let (seen, otherwise) = if let Some(what) = self.called(column) {
            let seen = format!("is called as columns of {what} are, but is not that one");
            (seen, "`--channels` with it if it is a quantity".into())
        } else if facts.counts_rows() && (names::suggests_counter(&name) || self.seen.rows >= COUNTED_ROWS) {
            let otherwise = format!("`--channels` if it is a quantity, `--time {name}` if it is the time");
            ("counts the rows".into(), otherwise)
        } else if id.is_some() && self.suggests_owner(column) {
            let otherwise =
                format!("`--group {name}` if its series stay together in every split, or `--static {name}` if it matters");
            ("names what series belong to".into(), otherwise)
        } else if names::ends_as_id(&name) && !facts.has_fractions {
            let role = if id.is_none() {
                format!("`--id {name}` if it names series")
            } else {
                format!("`--static {name}` if it matters")
            };
            ("is an id by its name".into(), role)
        } else if facts.texts > 0 && facts.times.are_dates() {
            ("holds dates but is not the time".into(), format!("`--time {name}`"))
        } else {
            return Ok(Role::Channel);
        };
        self.warn(format!("column `{name}` {seen}, and is ignored"), format!("say so with `--ignore {name}`, or {otherwise}"));
        Ok(Role::Ignored)
    }

    /// What a column is called after where another column, or none, was said to be that: labels and times leak.
    fn called(&self, column: usize) -> Option<&'static str> {
        let name = &self.seen.names[column];
        let is_folder = matches!(self.seen.kind, FileKind::OfFolder);
        [
            (Role::Label, self.overrides.label != Override::Unset && names::is_label(name)),
            (Role::Time, self.overrides.time != Override::Unset && names::is_time(name)),
            (Role::Id, self.overrides.id != Override::Unset && !is_folder && names::is_id(name)),
        ]
        .into_iter()
        .find(|(_, is_called)| *is_called)
        .map(|(role, _)| role.plural())
    }

    /// If nothing is left but columns that count rows, they are quantities after all.
    fn keep_counters(&mut self, columns: &mut [Column], file_marks: Evidence) -> Result<(), Error> {
        for i in 0..columns.len() {
            let is_counter = columns[i].role == Role::Ignored && !self.overrides.is_set(i) && !columns[i].name.is_empty();
            if is_counter && self.seen.facts[i].counts_rows() {
                columns[i].role = Role::Channel;
                columns[i].cells = self.cells(i, Role::Channel, file_marks)?;
                let about = format!("column `{}` counts", self.name(i));
                self.warnings.retain(|warning| !warning.seen.starts_with(&about));
            }
        }
        if columns.iter().any(|column| column.role.is_value()) {
            return Ok(());
        }
        Err(Error::wanted_column(self.seen.file, "values", "wanted at least one channel".into(), "", self.seen.names))
    }
}
