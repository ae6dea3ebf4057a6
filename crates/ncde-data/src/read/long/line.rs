//! One row at a time, of a stream: the same cells, times and categories as in files.

use super::super::ReadOptions;
use super::cell::Value;
use super::guess::FileKind;
use super::header::Header;
use super::table::Policy;
use super::{by_names, known, table};
use crate::error::{Location, at_field, at_line, hint, listed, shown};
use crate::schema::{Cells, Column, Role};
use crate::text::marks::Marks;
use crate::text::missing::Missing;
use crate::text::time::TimeFormat;
use crate::text::zone::Zone;
use crate::vocabulary::Words;
use crate::{Clock, Error, Schema, Warning};

/// What stands for one value where values are not cells, as in JSON.
#[derive(Debug, Clone, PartialEq)]
pub enum Given {
    /// Nothing.
    Missing,
    /// A number.
    Number(f64),
    /// A text, read as a cell is.
    Text(String),
}

/// One observation.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// The series it belongs to; `None` if rows do not say it.
    pub id: Option<String>,
    /// When it was made; `None` if rows do not say it.
    pub time: Option<f64>,
    /// A number for each channel of the schema, NaN where it is missing.
    pub values: Vec<f64>,
    /// A number for each static covariate of the schema, NaN where it is missing.
    pub statics: Vec<f64>,
    /// Whether the series ends here: a column `end` of the stream that the model does not know says so. Then there may be no time.
    pub end: bool,
}

/// Reads observations for a model: rows of a table below a header, or values by name.
///
/// ```
/// use ncde_data::{Columns, LineReader, ReadOptions, load_bytes};
/// let train = b"patient;zeit;temp;label\na;01.02.2021;36,5;ok\na;14.02.2021;37,0;ok\nb;01.02.2021;39,5;ill\n";
/// let options = ReadOptions { columns: Columns { time: Some("zeit".into()), ..Columns::default() }, ..ReadOptions::default() };
/// let train = load_bytes("train.csv", train, &options)?;
/// let mut lines = LineReader::new(train.schema(), ReadOptions::default());
/// lines.header(b"zeit;patient;temp")?;
/// let line = lines.row(b"15.02.2021;a;36,9")?;
/// assert_eq!((line.id.as_deref(), line.time, line.values), (Some("a"), Some(1_613_347_200.0), vec![36.9]));
/// # Ok::<(), ncde_data::Error>(())
/// ```
#[derive(Debug)]
pub struct LineReader {
    schema: Schema,
    options: ReadOptions,
    /// Where values go that are given by name.
    named: Vec<Target>,
    time: Column,
    missing: Missing,
    time_zone: Option<String>,
    /// None if there is no such zone, which is told when a time is read.
    zone: Option<Zone>,
    table: Option<Table>,
}

/// The columns below a header.
#[derive(Debug)]
struct Table {
    header: Header,
    columns: Vec<Column>,
    /// Those that name a series, in the order in which their cells are joined.
    ids: Vec<usize>,
    /// For each column with values, by its place: where they go.
    targets: Vec<Option<Target>>,
    /// The column that says where a series ends.
    end: Option<usize>,
}

/// A column of values, and the places of what it becomes.
#[derive(Debug)]
struct Target {
    value: Value,
    /// In the channels or in the statics of the schema; `None` of what the model does not know.
    places: Vec<Option<usize>>,
}

impl LineReader {
    /// For a model of this schema; what the options say goes before what its layout does.
    pub fn new(schema: Schema, options: ReadOptions) -> Self {
        let mut columns = match &schema.table {
            Some(layout) => layout.columns.clone(),
            None => {
                let stem = |name: &String| name.split_once('=').map_or(name.clone(), |(stem, _)| stem.to_string());
                let mut names: Vec<String> = schema.channels.iter().chain(&schema.statics).map(stem).collect();
                let mut seen = std::collections::HashSet::new();
                names.retain(|name| seen.insert(name.clone()));
                by_names(&names, &schema)
            }
        };
        columns.iter_mut().for_each(|column| known::override_cells(&mut column.cells, &options));
        let Policy { unknown, missing, time_zone, .. } = Policy::of(&options.columns, schema.table.as_ref());
        let missing = Missing::new(&missing);
        let named = columns.iter().filter_map(|column| Target::of(column, &schema, unknown)).collect();
        let plain =
            Cells::Time { format: options.columns.time_format.unwrap_or(TimeFormat::Number), marks: Marks::PLAIN, offset: false };
        let time = columns.into_iter().find(|column| column.role == Role::Time);
        let time = time.unwrap_or(Column { name: "time".into(), role: Role::Time, cells: plain });
        let zone = time_zone.as_deref().and_then(|name| Zone::new(name, "").ok());
        Self { schema, options, named, time, missing, time_zone, zone, table: None }
    }

    /// Reads the header of a table; what was guessed.
    ///
    /// # Errors
    /// If a channel or a static covariate of the model is not there, or something is said of a column that is not there.
    pub fn header(&mut self, text: &[u8]) -> Result<Vec<Warning>, Error> {
        let separator = match &self.schema.table {
            Some(layout) if text.contains(&(layout.separator as u8)) => layout.separator as u8,
            _ => Header::separator_of(text),
        };
        let mut header = Header::from_line("", 0, text, separator)?;
        header.join_clock(&self.options, self.schema.table.as_ref());
        let unknown = Policy::of(&self.options.columns, self.schema.table.as_ref()).unknown;
        let is_known = |layout: &crate::Layout| layout.columns.iter().any(|column| column.name == END);
        let is_named = self.schema.channels.iter().chain(&self.schema.statics).any(|name| name == END);
        let mut options = self.options.clone();
        let ignored = options.columns.ignore.get_or_insert_default();
        let is_free = !is_named && !self.schema.table.as_ref().is_some_and(is_known) && !ignored.iter().any(|name| name == END);
        let end = header.names.iter().position(|name| name == END).filter(|_| is_free);
        ignored.extend(end.map(|_| END.to_owned()));
        let options = if end.is_some() { &options } else { &self.options };
        let (columns, warnings) = match &self.schema.table {
            Some(layout) => known::columns("the header", &header.names, FileKind::Series, layout, options)?,
            None => {
                let columns = by_names(&header.names, &self.schema);
                let layout = crate::Layout { columns, unknown, ..crate::Layout::default() };
                let (columns, _) = known::columns("the header", &header.names, FileKind::Series, &layout, options)?;
                let read = crate::Layout { columns: columns.clone(), ..layout };
                let seen = "the model was trained on a file that has no columns, so these are taken by their names";
                let fix = "if that is wrong, say what they are (`--id`, `--time`)";
                let warning = Warning::new(format!("{seen}: {read}"), fix);
                (columns, vec![warning])
            }
        };
        let targets: Vec<Option<Target>> = columns.iter().map(|column| Target::of(column, &self.schema, unknown)).collect();
        for (what, role, wanted) in
            [("channel", Role::Channel, &self.schema.channels), ("static covariate", Role::Static, &self.schema.statics)]
        {
            let mut is_there = vec![false; wanted.len()];
            let of_role = targets.iter().flatten().filter(|target| target.is_of(role));
            of_role.flat_map(|target| &target.places).flatten().for_each(|&place| is_there[place] = true);
            if let Some(i) = is_there.iter().position(|is_there| !is_there) {
                return Err(Error::Missing {
                    name: "the header".into(),
                    what,
                    missing: shown(&wanted[i]),
                    seen: listed(&header.names),
                    hint: hint(&wanted[i], &header.names),
                });
            }
        }
        let ids =
            table::id_columns(columns.iter().map(|column| column.role), &header.names, &self.options, self.schema.table.as_ref());
        self.table = Some(Table { header, columns, ids, targets, end });
        Ok(warnings)
    }

    /// Reads a row below the header.
    ///
    /// # Errors
    /// If a cell is not what its column holds, or there is no header yet.
    pub fn row(&mut self, text: &[u8]) -> Result<Line, Error> {
        let Some(table) = &mut self.table else {
            return Err(Error::header(at_line("", 0), "there is no header", "give it first"));
        };
        let header = &table.header;
        let cells = header.dated(header.cells("", 0, text)?);
        let mut line = Line {
            id: None,
            time: None,
            values: vec![f64::NAN; self.schema.channels.len()],
            statics: vec![f64::NAN; self.schema.statics.len()],
            end: false,
        };
        if let Some(i) = table.end {
            line.end = is_end(&cells[i], || header.at("", 0, i))?;
        }
        if !table.ids.is_empty() {
            line.id = Some(table::joined_id(&cells, &table.ids, |i| header.at("", 0, i))?.into_owned());
        }
        for (i, cell) in cells.iter().enumerate() {
            let at = || header.at("", 0, i);
            match table.columns[i].role {
                Role::Id => {}
                Role::Time if line.end && cell.trim_ascii().is_empty() => {}
                Role::Time => {
                    let time = table.columns[i].time(cell, at)?;
                    line.time = Some(match (&mut self.zone, &self.time_zone) {
                        (Some(zone), _) if table.columns[i].is_local(cell) => zone.time(time, line.id.as_deref().unwrap_or("")),
                        (None, Some(name)) => return Err(Zone::unknown(name, "")),
                        _ => time,
                    });
                }
                Role::Label | Role::Group | Role::Ignored => {}
                role @ (Role::Channel | Role::Static | Role::Token) => {
                    let Some(target) = &mut table.targets[i] else { continue };
                    let x = target.value.read(self.missing.clean(cell), false, at)?;
                    target.put(x, if role == Role::Static { &mut line.statics } else { &mut line.values });
                }
            }
        }
        Ok(line)
    }

    /// What times are; numbers where the model does not say it.
    pub fn clock(&self) -> Clock {
        match &self.time.cells {
            Cells::Time { format, .. } => format.clock(),
            _ => Clock::Numbers,
        }
    }

    /// A time that is not a cell: text in the format of the model's times, or a number. Of a model of dates a number counts
    /// seconds since 1970, unless its times are numbers themselves. A local time that is there twice is the first of both.
    ///
    /// # Errors
    /// If it is no such time.
    pub fn time(&self, given: &Given) -> Result<f64, Error> {
        let at = || at_field("", 0, "`time`");
        match (given, &self.time.cells) {
            (Given::Number(t), Cells::Time { format: TimeFormat::UnixMs, .. }) => Ok(t / 1000.0),
            (Given::Number(t), _) => Ok(*t),
            (Given::Text(text), _) => {
                let time = self.time.time(text.as_bytes(), at)?;
                match (&self.zone, &self.time_zone) {
                    (Some(zone), _) if self.time.is_local(text.as_bytes()) => Ok(zone.clone().time(time, "")),
                    (None, Some(name)) => Err(Zone::unknown(name, "")),
                    _ => Ok(time),
                }
            }
            (Given::Missing, _) => self.time.time(b"", at),
        }
    }

    /// The channels, or with `statics` the static covariates, from values by name: names of columns, or of what they become.
    /// A name that is not there is missing.
    ///
    /// # Errors
    /// If a name is not known, or a value is not what its column holds.
    pub fn named(&mut self, given: &[(String, Given)], statics: bool) -> Result<Vec<f64>, Error> {
        let (names, role) = if statics { (&self.schema.statics, Role::Static) } else { (&self.schema.channels, Role::Channel) };
        let mut numbers = vec![f64::NAN; names.len()];
        for (name, value) in given {
            let at = || at_field("", 0, format!("`{}`", shown(name)));
            if let Some(target) = self.named.iter_mut().find(|target| target.is_of(role) && target.value.name == *name) {
                target.give(value, &self.missing, at, &mut numbers)?;
            } else if let (Some(place), Given::Number(_) | Given::Missing) = (names.iter().position(|known| known == name), value)
            {
                numbers[place] = self.missing.number(value);
            } else {
                let what = if statics { "static covariate" } else { "channel" };
                let known = self.named.iter().filter(|target| target.is_of(role)).map(|target| target.value.name.clone());
                let known: Vec<String> = known.collect();
                let seen = format!("this is no {what} of the model");
                return Err(Error::header(at(), seen, format!("it has {}{}", listed(&known), hint(name, &known))));
            }
        }
        Ok(numbers)
    }

    /// The channels, or with `statics` the static covariates, from a list: a number for each of them, or a value for each column
    /// they are made of.
    ///
    /// # Errors
    /// If there are more or fewer, or a value is not what its column holds.
    pub fn listed(&mut self, given: &[Given], statics: bool) -> Result<Vec<f64>, Error> {
        let (count, role) =
            if statics { (self.schema.statics.len(), Role::Static) } else { (self.schema.channels.len(), Role::Channel) };
        let is_text = |value: &Given| matches!(value, Given::Text(_));
        let is_tokens = self.schema.vocabulary.is_some() && !statics;
        if given.len() == count && !is_tokens && !given.iter().any(is_text) {
            return Ok(given.iter().map(|value| self.missing.number(value)).collect());
        }
        let columns = self.named.iter().filter(|target| target.is_of(role)).count();
        if given.len() != columns {
            let what = if statics { "static covariates" } else { "channels" };
            let seen = if given.len() == 1 { "1 value".into() } else { format!("{} values", given.len()) };
            let seen = format!("{seen}, but the model has {count} {what}");
            return Err(Error::header(at_line("", 0), seen, "give one for each, or values by name"));
        }
        let mut numbers = vec![f64::NAN; count];
        let of_role = self.named.iter_mut().filter(|target| target.is_of(role));
        for (target, value) in of_role.zip(given) {
            let name = shown(&target.value.name);
            target.give(value, &self.missing, || at_field("", 0, format!("`{name}`")), &mut numbers)?;
        }
        Ok(numbers)
    }
}

/// The column of a stream that says where a series ends.
const END: &str = "end";

/// Whether a cell of that column says so.
fn is_end(cell: &[u8], at: impl Fn() -> Location) -> Result<bool, Error> {
    match cell.trim_ascii().to_ascii_lowercase().as_slice() {
        b"" | b"0" | b"false" | b"no" => Ok(false),
        b"1" | b"true" | b"yes" => Ok(true),
        _ => {
            Err(Error::header(at(), format!("`{}` does not say whether the series ends", shown(cell)), "write true, or nothing"))
        }
    }
}

impl Missing {
    /// What a channel holds of a value that is a number or nothing.
    fn number(&self, given: &Given) -> f64 {
        match given {
            Given::Number(x) if !self.is_number(*x) => *x,
            _ => f64::NAN,
        }
    }
}

impl Target {
    /// Where the values of a column go; `None` of one that has none, or that the model does not know.
    fn of(column: &Column, schema: &Schema, unknown: bool) -> Option<Self> {
        let names = match column.role {
            Role::Channel | Role::Token => &schema.channels,
            Role::Static => &schema.statics,
            _ => return None,
        };
        let places: Vec<Option<usize>> =
            column.outputs().iter().map(|name| names.iter().position(|other| other == name)).collect();
        let value = match &schema.vocabulary {
            Some(vocabulary) if column.role == Role::Token => {
                let kind = super::cell::Kind::Tokens(Words::tokens(vocabulary));
                Value { kind, ..Value::new(column, unknown) }
            }
            _ => Value::new(column, unknown),
        };
        places.iter().any(Option::is_some).then_some(Self { value, places })
    }

    fn is_of(&self, role: Role) -> bool {
        (self.value.role == Role::Static) == (role == Role::Static)
    }

    /// Puts what a number becomes where it belongs.
    fn put(&self, x: f64, numbers: &mut [f64]) {
        let mut expanded = Vec::with_capacity(self.places.len());
        self.value.expand(x, &mut expanded);
        for (place, x) in self.places.iter().zip(expanded) {
            if let Some(place) = place {
                numbers[*place] = x;
            }
        }
    }

    /// Takes a value that is not a cell.
    fn give(&mut self, given: &Given, missing: &Missing, at: impl Fn() -> Location, numbers: &mut [f64]) -> Result<(), Error> {
        let text = match given {
            Given::Number(x) if missing.is_number(*x) => String::new(),
            Given::Missing => String::new(),
            Given::Number(x) if matches!(self.value.kind, super::cell::Kind::Numbers(..)) => {
                self.put(*x, numbers);
                return Ok(());
            }
            Given::Number(x) => (x + 0.0).to_string(),
            Given::Text(text) => text.clone(),
        };
        let x = self.value.read(missing.clean(text.as_bytes()), false, at)?;
        self.put(x, numbers);
        Ok(())
    }
}
