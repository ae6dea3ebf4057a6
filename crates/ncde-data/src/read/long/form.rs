//! From the rows of a file to rows that are observations: of a wide or a melted table, and of dates with their clock elsewhere.

use std::borrow::Cow;

use super::super::{Input, ReadOptions};
use super::guess::FileKind;
use super::header::Header;
use super::melted::{self, Melted};
use super::table::Policy;
use super::wide::Wide;
use crate::error::{at_line, listed};
use crate::schema::{Layout, Role};
use crate::shape::Shape;
use crate::text::number;
use crate::{Error, Warning};

use super::super::grid::Grid;

/// How the rows of a file become observations.
#[derive(Debug, Clone, Default)]
pub(in super::super) enum Form {
    /// They are.
    #[default]
    Long,
    Wide(Wide),
    /// All of them, with a column for each channel.
    Melted(Grid),
}

impl Form {
    pub(super) fn shape(&self) -> Shape {
        match self {
            Self::Long => Shape::Long,
            Self::Wide(_) => Shape::Wide,
            Self::Melted(_) => Shape::Melted,
        }
    }
}

/// Another form than the rows of a file have.
#[derive(Debug, Clone)]
pub(super) enum Change {
    /// Dates and times of day in two columns.
    Clock([usize; 2]),
    Wide(Wide),
    Melted(Melted),
}

impl Change {
    /// Brings files into the form; what is to be told.
    pub(super) fn apply(self, inputs: &[&Input<'_>], headers: &mut [Header], policy: &mut Policy) -> Result<Vec<Warning>, Error> {
        let mut warnings = vec![];
        match self {
            Self::Clock([date, clock]) => {
                let Some(first) = headers.first() else { return Ok(warnings) };
                let names = [first.names[date].clone(), first.names[clock].clone()];
                for header in headers {
                    header.clock = place(&names, &header.names);
                }
                policy.clock = Some(names[1].clone());
            }
            Self::Wide(wide) => {
                for (input, header) in inputs.iter().zip(headers) {
                    wide.clone().widen(header, input.file())?;
                }
                policy.shape = Shape::Wide;
            }
            Self::Melted(melted) => {
                for (input, header) in inputs.iter().zip(headers) {
                    warnings.extend(melted.pivot(input, header)?);
                }
                // Names of channels may come in blocks, each with its times.
                (policy.shape, policy.sort) = (Shape::Melted, true);
            }
        }
        Ok(warnings)
    }
}

/// The places of two columns.
fn place(wanted: &[String; 2], names: &[String]) -> Option<[usize; 2]> {
    let of = |wanted: &String| names.iter().position(|name| name == wanted);
    Some([of(&wanted[0])?, of(&wanted[1])?])
}

/// The columns of dates and of times of day that the caller names, `date,clock`.
pub(super) fn stated_clock(options: &ReadOptions, names: &[String]) -> Option<[String; 2]> {
    let stated = options.columns.time.as_ref().filter(|stated| !names.contains(stated))?;
    let (date, clock) = stated.split_once(',')?;
    Some([date.trim().to_owned(), clock.trim().to_owned()])
}

/// What is said of the form of files, or what the layout of a model remembers.
pub(super) fn stated(
    inputs: &[&Input<'_>],
    headers: &mut [Header],
    policy: &mut Policy,
    kind: FileKind<'_>,
    options: &ReadOptions,
    layout: Option<&Layout>,
) -> Result<(), Error> {
    let Some(first) = headers.first().filter(|_| !matches!(kind, FileKind::Labels)) else { return Ok(()) };
    let file = inputs[0].file();
    let (names, line) = (first.names.clone(), first.line);
    for column in stated_clock(options, &names).iter().flatten() {
        if !names.contains(column) {
            return Err(Error::no_column(file, Role::Time.plural(), column, &names));
        }
    }
    for header in headers.iter_mut() {
        header.join_clock(options, layout);
        policy.clock = header.clock.map(|[_, clock]| header.names[clock].clone());
    }
    let is_trained = |layout: &Layout| {
        let mut values = layout.columns.iter().filter(|column| column.role.is_value());
        values.any(|column| names.contains(&column.name)) && layout.with(Role::Time).all(|time| names.contains(&time.name))
    };
    // A file for a model of wide tables may as well be long.
    let remembered = layout.filter(|layout| !is_trained(layout)).map(|layout| layout.shape);
    let ids = match options.columns.ids(&names) {
        ids if ids.is_empty() => layout.into_iter().flat_map(|layout| layout.with(Role::Id)).map(|id| id.name.clone()).collect(),
        ids => ids,
    };
    let change = match options.columns.shape.or(remembered) {
        Some(Shape::Wide) => Wide::of(&names, &ids, options).map(Change::Wide).ok_or("columns that are numbered or dated"),
        Some(Shape::Melted) if layout.is_some() => {
            melted::known(&names, layout).map(Change::Melted).ok_or("columns with names of channels and with their values")
        }
        // The melted form of a table is found out from its cells.
        _ => return Ok(()),
    };
    match change {
        Ok(change) => change.apply(inputs, headers, policy).map(drop),
        Err(wanted) => {
            if let Some(layout) = layout.filter(|_| options.columns.shape.is_none()) {
                let values = layout.columns.iter().filter(|column| column.role.is_value()).map(|column| column.name.clone());
                let seen = format!(
                    "it has {}, but neither {wanted} nor, as a row an observation, {}",
                    listed(&names),
                    listed(&values.collect::<Vec<_>>())
                );
                return Err(Error::header(
                    at_line(file, line),
                    seen,
                    "name its columns like those of the file that the model was trained on",
                ));
            }
            let seen = format!("the table is to be of another shape, but it has no {wanted}: it has {}", listed(&names));
            Err(Error::header(at_line(file, line), seen, "say which shape it has: `--shape long`, `wide` or `melted`"))
        }
    }
}

impl Header {
    /// Joins dates with their times of day, as the caller or the layout of a model says.
    pub(super) fn join_clock(&mut self, options: &ReadOptions, layout: Option<&Layout>) {
        let of_layout = || {
            let time = layout?.with(Role::Time).next()?;
            Some([time.name.clone(), layout?.clock.clone()?])
        };
        let columns = stated_clock(options, &self.names).or_else(|| of_layout().filter(|_| options.columns.time.is_none()));
        self.clock = columns.and_then(|columns| place(&columns, &self.names));
    }

    /// The cells of a row, dates with their times of day.
    pub(super) fn dated<'a>(&self, mut cells: Vec<Cow<'a, [u8]>>) -> Vec<Cow<'a, [u8]>> {
        if let Some([date, clock]) = self.clock {
            let is_whole = ![date, clock].iter().any(|&i| number::is_missing(&cells[i]));
            let parts = [cells[date].trim_ascii(), cells[clock].trim_ascii()];
            cells[date] = Cow::Owned(if is_whole { parts.join(&b' ') } else { vec![] });
        }
        cells
    }

    /// Calls `each` with every observation that a row of the file holds.
    pub(super) fn observations(
        &self,
        line: u64,
        cells: Vec<Cow<'_, [u8]>>,
        row: u64,
        each: &mut impl FnMut(u64, &[Cow<'_, [u8]>]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        match &self.form {
            Form::Long | Form::Melted(_) => each(line, &self.dated(cells)),
            Form::Wide(wide) => wide.each(line, &cells, row, each),
        }
    }
}
