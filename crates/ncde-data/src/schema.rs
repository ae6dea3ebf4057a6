//! What a model was trained on: the names of what it sees, and how the columns of a table become that.
//!
//! A [`Layout`] is decided once, when a training file is read, and obeyed by everything that reads for the model later: other
//! files, and lines of a stream.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error::shown;
use crate::shape::Shape;
use crate::text::marks::Marks;
use crate::text::time::TimeFormat;

/// What a model was trained on: the names, in order. Another file is brought into this form by
/// [`Dataset::aligned`](crate::Dataset::aligned).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schema {
    /// The names of the channels.
    pub channels: Vec<String>,
    /// The names of the static covariates.
    pub statics: Vec<String>,
    /// The names of the classes; none if the model predicts numbers.
    pub classes: Vec<String>,
    /// The tokens, if series are of tokens.
    #[serde(default)]
    pub vocabulary: Option<Vec<String>>,
    /// How the columns of a table are read, if the data came from one.
    #[serde(default)]
    pub table: Option<Layout>,
}

/// How a table is read: what each of its columns is for, and what its cells hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Layout {
    /// What stands between two cells.
    pub separator: char,
    /// The columns, in the order of the file.
    pub columns: Vec<Column>,
    /// Whether rows are sorted by time; else times that decrease are refused.
    #[serde(default)]
    pub sort: bool,
    /// What happens to several rows of one time.
    #[serde(default)]
    pub duplicates: Duplicates,
    /// Whether a category that training did not see is none of those it saw; else it is refused.
    #[serde(default)]
    pub unknown: bool,
    /// What stands for a missing cell beside the usual texts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// How the file held its series; the columns are those of the long form.
    #[serde(default, skip_serializing_if = "Shape::is_long")]
    pub shape: Shape,
    /// The column with the times of day that belong to the dates in the column of times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<String>,
    /// The zone of dates without an offset; without it they are UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_zone: Option<String>,
}

/// One column of a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub role: Role,
    /// What its cells hold.
    pub cells: Cells,
}

/// What a column is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Names the series that a row belongs to.
    Id,
    /// When the observation was made.
    Time,
    /// What is to be predicted.
    Label,
    /// Names what several series belong to; no input.
    Group,
    /// A covariate of the whole series.
    Static,
    /// Observed again and again.
    Channel,
    /// The one channel of a series of tokens.
    Token,
    /// Not read.
    Ignored,
}

impl Role {
    /// What it is called.
    pub fn name(self) -> &'static str {
        self.words()[0]
    }

    /// What columns of this role hold, in messages.
    pub(crate) fn plural(self) -> &'static str {
        self.words()[1]
    }

    fn words(self) -> [&'static str; 2] {
        match self {
            Self::Id => ["id", "ids"],
            Self::Time => ["time", "times"],
            Self::Label => ["label", "labels"],
            Self::Group => ["group", "groups"],
            Self::Static => ["static", "statics"],
            Self::Channel => ["channel", "channels"],
            Self::Token => ["tokens", "tokens"],
            Self::Ignored => ["ignored", "columns to ignore"],
        }
    }

    /// Whether a column of this role becomes values of the dataset.
    pub(crate) fn is_value(self) -> bool {
        matches!(self, Self::Channel | Self::Static | Self::Token)
    }
}

/// What the cells of a column hold. `marks` are those in its numbers, or in times that are numbers.
#[expect(missing_docs, reason = "the fields are described above and at the variants")]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
pub enum Cells {
    /// Text as it stands.
    Text,
    /// Numbers, with a unit beside them such as `€` or `kg`; empty if there is none.
    Number {
        marks: Marks,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        unit: String,
    },
    /// One of some words: numbers by size, then texts in order. The column becomes a channel or static `name=word` for each.
    Category { words: Vec<String> },
    /// Times in a format. With `offset` each says how far it is from UTC; else they are taken as UTC.
    Time {
        format: TimeFormat,
        marks: Marks,
        #[serde(default)]
        offset: bool,
    },
}

impl Cells {
    /// Times as numbers.
    pub(crate) const PLAIN_TIME: Self = Self::Time { format: TimeFormat::Number, marks: Marks::PLAIN, offset: false };
}

/// What happens to several rows of one series with one time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Duplicates {
    /// They are an error.
    #[default]
    Refuse,
    /// The first row counts.
    First,
    /// The last row counts.
    Last,
    /// Numbers are averaged; texts and labels must agree.
    Mean,
}

impl Duplicates {
    /// All of them, with what each is called.
    pub const ALL: [(&'static str, Self); 4] =
        [("refuse", Self::Refuse), ("first", Self::First), ("last", Self::Last), ("mean", Self::Mean)];
}

impl Default for Layout {
    fn default() -> Self {
        Self {
            separator: ',',
            columns: vec![],
            sort: false,
            duplicates: Duplicates::Refuse,
            unknown: false,
            missing: vec![],
            shape: Shape::Long,
            clock: None,
            time_zone: None,
        }
    }
}

impl Layout {
    /// The columns with this role.
    pub fn with(&self, role: Role) -> impl Iterator<Item = &Column> {
        self.columns.iter().filter(move |column| column.role == role)
    }
}

impl Column {
    /// The names of the numbers that the column becomes: its own, or one for each word.
    pub fn outputs(&self) -> Vec<String> {
        match &self.cells {
            Cells::Category { words } => words.iter().map(|word| format!("{}={word}", self.name)).collect(),
            _ => vec![self.name.clone()],
        }
    }

    /// What is seen of it beside its role, in words.
    pub fn detail(&self) -> String {
        if matches!(self.role, Role::Ignored | Role::Id | Role::Group) {
            return String::new();
        }
        match &self.cells {
            Cells::Category { words } => format!("category of {}", words.len()),
            Cells::Number { marks, unit } => {
                let decimal = (*marks != Marks::PLAIN).then(|| format!("decimal `{}`", marks.decimal));
                let thousands = marks.thousands.map(|mark| format!("thousands `{mark}`"));
                let unit = (!unit.is_empty()).then(|| format!("unit `{unit}`"));
                [decimal, thousands, unit].into_iter().flatten().collect::<Vec<_>>().join(", ")
            }
            Cells::Time { format, marks, offset } => {
                let zone = match (format, offset) {
                    (TimeFormat::Number | TimeFormat::Clock, _) => "",
                    (TimeFormat::Iso, true) => ", with offsets",
                    _ => ", UTC",
                };
                let marks = if marks.decimal == ',' { ", decimal `,`" } else { "" };
                format!("{format}{zone}{marks}")
            }
            Cells::Text => String::new(),
        }
    }
}

/// Names of columns of one kind that are shown; of more the first and the last.
const MAX_NAMES: usize = 6;

impl fmt::Display for Layout {
    /// `patient_id -> id, timestamp -> time (ISO, UTC), sex -> static (category of 2), row -> ignored`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut kinds: Vec<(Role, String, Vec<&str>)> = Vec::new();
        for role in [Role::Id, Role::Group, Role::Time, Role::Label, Role::Static, Role::Channel, Role::Token, Role::Ignored] {
            for column in self.with(role) {
                let mut detail = column.detail();
                if self.time_zone.is_some() {
                    detail = detail.replace(", UTC", "");
                }
                match kinds.iter_mut().find(|(other, also, _)| *other == role && *also == detail) {
                    Some((_, _, names)) => names.push(&column.name),
                    None => kinds.push((role, detail, vec![&column.name])),
                }
            }
        }
        for (i, (role, detail, names)) in kinds.iter().enumerate() {
            let name = |name: &&str| if name.is_empty() { "(unnamed)".to_string() } else { shown(name) };
            let names: Vec<String> = match names[..] {
                [first, .., last] if names.len() > MAX_NAMES => {
                    vec![format!("{} ... {} ({})", name(&first), name(&last), names.len())]
                }
                _ => names.iter().map(name).collect(),
            };
            let role = role.name();
            let comma = if i == 0 { "" } else { ", " };
            let detail = if detail.is_empty() { String::new() } else { format!(" ({detail})") };
            write!(f, "{comma}{} -> {role}{detail}", names.join(", "))?;
        }
        if let Some(zone) = &self.time_zone {
            write!(f, ", zone {}", shown(zone))?;
        }
        if let Some(clock) = &self.clock {
            write!(f, ", times of day in `{}`", shown(clock))?;
        }
        if self.with(Role::Time).next().is_none() {
            write!(f, ", times are counted")?;
        }
        Ok(())
    }
}

/// A guess that could be wrong, and what decides it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Warning {
    /// What was seen and what it was taken for.
    pub seen: String,
    /// What to say if that is wrong, or to make it certain.
    pub fix: String,
}

impl Warning {
    pub(crate) fn new(seen: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { seen: seen.into(), fix: fix.into() }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.seen, self.fix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(name: &str, role: Role, cells: Cells) -> Column {
        Column { name: name.into(), role, cells }
    }

    #[test]
    fn a_layout_reads_as_one_line() {
        let number = |decimal| Cells::Number { marks: Marks { decimal, thousands: None }, unit: String::new() };
        let words = Cells::Category { words: vec!["f".into(), "m".into()] };
        let time = Cells::Time { format: TimeFormat::Iso, marks: Marks::PLAIN, offset: false };
        let mut columns = vec![
            column("row", Role::Ignored, number('.')),
            column("patient_id", Role::Id, Cells::Text),
            column("timestamp", Role::Time, time),
            column("sex", Role::Static, words),
            column("a", Role::Channel, number(',')),
            column("b", Role::Channel, number(',')),
        ];
        let layout = |columns| Layout { columns, ..Layout::default() };
        let wanted = "patient_id -> id, timestamp -> time (ISO, UTC), sex -> static (category of 2), a, b -> channel (decimal `,`), \
                      row -> ignored";
        assert_eq!(layout(columns.clone()).to_string(), wanted);
        columns.drain(..4);
        columns.extend((1..=7).map(|i| column(&format!("x{i}"), Role::Channel, number('.'))));
        assert_eq!(layout(columns).to_string(), "a, b -> channel (decimal `,`), x1 ... x7 (7) -> channel, times are counted");
    }

    #[test]
    fn a_layout_is_kept_as_json() {
        let columns = vec![
            column("t", Role::Time, Cells::Time { format: TimeFormat::UnixMs, marks: Marks::PLAIN, offset: false }),
            column("x", Role::Channel, Cells::Number { marks: Marks { decimal: ',', thousands: Some('.') }, unit: "€".into() }),
        ];
        let layout = Layout { separator: ';', columns, sort: true, duplicates: Duplicates::Mean, ..Layout::default() };
        let text = serde_json::to_string(&layout).unwrap();
        assert!(text.contains(r#""format":"unix-ms""#) && text.contains(r#""duplicates":"mean""#), "{text}");
        assert_eq!(serde_json::from_str::<Layout>(&text).unwrap(), layout);
    }
}
