//! The columns of a table for a model that is there: as its [`Layout`] says, but for what the caller says.

use super::super::ReadOptions;
use super::guess::FileKind;
use super::names;
use super::overrides::{Override, Overrides};
use crate::Error;
use crate::error::{at_line, listed, shown};
use crate::schema::{Cells, Column, Layout, Role, Warning};
use crate::text::marks::Marks;

/// What to say if a column may hold ids.
const WHICH_ID: &str = "say which names series (`--id`), or `--id none` if all rows are one series";

/// The columns of a file, by the names of its header.
pub(in super::super) fn columns(
    file: &str,
    names: &[String],
    kind: FileKind<'_>,
    layout: &Layout,
    options: &ReadOptions,
) -> Result<(Vec<Column>, Vec<Warning>), Error> {
    let is_series_only = matches!(kind, FileKind::SeriesOnly(_));
    let overrides = Overrides::of(file, names, options, kind, true)?;
    let replaced: Vec<Role> = [(Role::Id, overrides.id), (Role::Time, overrides.time), (Role::Label, overrides.label)]
        .into_iter()
        .filter(|(_, requested)| *requested != Override::Unset)
        .map(|(role, _)| role)
        .collect();
    let mut warnings = Vec::new();
    let mut strangers = Vec::new();
    let mut columns = Vec::with_capacity(names.len());
    for (i, name) in names.iter().enumerate() {
        let trained = find(layout, name, names);
        let role = overrides.roles[i].or_else(|| trained.map(|trained| trained.role).filter(|role| !replaced.contains(role)));
        // What belongs together matters in training alone.
        let role = role.map(|role| if role == Role::Group && overrides.roles[i].is_none() { Role::Ignored } else { role });
        let role = match role {
            Some(role) => role,
            None => {
                if trained.is_none() && !name.is_empty() {
                    strangers.push(name);
                }
                Role::Ignored
            }
        };
        let role =
            if role == Role::Label && (is_series_only || overrides.label == Override::None) { Role::Ignored } else { role };
        let mut cells = match (role, trained) {
            (_, Some(trained)) if trained.role == role || trained.role.is_value() && role.is_value() => trained.cells.clone(),
            // Another column, but of the kind that the model's own is.
            (Role::Time | Role::Label, _) => {
                let known = layout.with(role).next().map(|trained| trained.cells.clone());
                known.unwrap_or(if role == Role::Time { Cells::PLAIN_TIME } else { Cells::Text })
            }
            (Role::Id | Role::Group | Role::Ignored | Role::Token, _) => Cells::Text,
            (Role::Static | Role::Channel, _) => {
                let (name, plural) = (shown(name), role.plural());
                let seen = format!("column `{name}` is named as one of {plural}, but the model was not trained on it");
                return Err(Error::header(at_line(file, 0), seen, "leave it out"));
            }
        };
        override_cells(&mut cells, options);
        let name = trained.filter(|trained| trained.role == role).map_or(name, |trained| &trained.name);
        columns.push(Column { name: name.clone(), role, cells });
    }
    check_once(file, &columns)?;
    if overrides.id == Override::Unset {
        check_ids(file, layout, &columns)?;
    }
    check_time(file, names, layout, &overrides, &columns)?;
    if overrides.id == Override::Unset && !matches!(kind, FileKind::OfFolder) {
        if layout.with(Role::Id).next().is_none() {
            new_ids(file, &strangers, &mut columns)?;
            strangers.retain(|name| !names::is_id(name));
        } else if !columns.iter().any(|column| column.role == Role::Id) {
            one_series(file, names, layout, &columns, &mut warnings)?;
        }
    }
    if !strangers.is_empty() {
        let seen = format!("columns {} are not known to the model, and are ignored", listed(&strangers));
        warnings.push(Warning::new(seen, "say so with `--ignore`"));
    }
    Ok((columns, warnings))
}

/// The column of the layout with this name; in any case of letters, if that is clear.
pub(super) fn find<'a>(layout: &'a Layout, name: &str, names: &[String]) -> Option<&'a Column> {
    let exact = layout.columns.iter().find(|column| column.name == name);
    exact.or_else(|| {
        let mut close = layout.columns.iter().filter(|column| column.name.eq_ignore_ascii_case(name));
        let found = close.next().filter(|_| close.next().is_none())?;
        (!names.contains(&found.name)).then_some(found)
    })
}

/// What the caller says of cells holds for all columns.
pub(super) fn override_cells(cells: &mut Cells, options: &ReadOptions) {
    match cells {
        Cells::Number { marks, .. } => set_decimal(marks, options),
        Cells::Time { format, marks, offset } => {
            set_decimal(marks, options);
            if let Some(requested) = options.columns.time_format {
                *offset &= *format == requested;
                *format = requested;
            }
        }
        Cells::Text | Cells::Category { .. } => {}
    }
}

fn set_decimal(marks: &mut Marks, options: &ReadOptions) {
    if let Some(decimal) = options.columns.decimal {
        let thousands = marks.thousands.filter(|&mark| mark != decimal);
        *marks = Marks { decimal, thousands };
    }
}

/// Of ids, times, labels and tokens there is one column each.
fn check_once(file: &str, columns: &[Column]) -> Result<(), Error> {
    for role in [Role::Time, Role::Label, Role::Token] {
        let names: Vec<&String> = columns.iter().filter(|column| column.role == role).map(|column| &column.name).collect();
        if names.len() > 1 {
            let seen = format!("columns {} hold {}, of which there can be one column", listed(&names), role.plural());
            return Err(Error::question(file, seen, "rename the others, or leave them out (`--ignore`)"));
        }
    }
    Ok(())
}

/// A series has the columns of ids that it had in training: all of them, or none.
fn check_ids(file: &str, layout: &Layout, columns: &[Column]) -> Result<(), Error> {
    let trained: Vec<&String> = layout.with(Role::Id).map(|column| &column.name).collect();
    let seen: Vec<&String> = columns.iter().filter(|column| column.role == Role::Id).map(|column| &column.name).collect();
    if seen.is_empty() || seen.len() == trained.len().max(1) {
        return Ok(());
    }
    let problem = format!("columns {} name series, but {} did in training", listed(&seen), listed(&trained));
    Err(Error::question(file, problem, "give the same columns, or say which name series here (`--id`)"))
}

/// The model was trained on one series, or a file each: here a column may tell series apart.
fn new_ids(file: &str, strangers: &[&String], columns: &mut [Column]) -> Result<(), Error> {
    let known: Vec<&&String> = strangers.iter().filter(|name| names::is_id(name)).collect();
    if let [id] = known[..] {
        columns.iter_mut().filter(|column| column.name == **id).for_each(|column| column.role = Role::Id);
        return Ok(());
    }
    let maybe: Vec<&&String> = strangers.iter().filter(|name| names::is_id(name) || names::suggests_id(name)).collect();
    if maybe.is_empty() {
        return Ok(());
    }
    let seen = format!("the model knows no column of ids, but there are {}", listed(&maybe));
    Err(Error::question(file, seen, WHICH_ID))
}

/// Times that the model was trained with must be there: to count rows instead would be another model.
fn check_time(file: &str, names: &[String], layout: &Layout, overrides: &Overrides, columns: &[Column]) -> Result<(), Error> {
    let Some(time) = layout.with(Role::Time).next() else { return Ok(()) };
    if overrides.time == Override::None || columns.iter().any(|column| column.role == Role::Time) {
        return Ok(());
    }
    let fix = "name the column with `--time`, or say `--time none` if rows are to be counted";
    let wanted = format!("the model was trained with times in `{}`; {fix}", shown(&time.name));
    Err(Error::wanted_column(file, "times", wanted, &time.name, names))
}

/// A file without the column of ids is one series, unless another column looks as if it held them.
fn one_series(
    file: &str,
    names: &[String],
    layout: &Layout,
    columns: &[Column],
    warnings: &mut Vec<Warning>,
) -> Result<(), Error> {
    let name = layout.with(Role::Id).next().map_or("", |id| &id.name);
    let is_free = |i: usize| columns[i].role == Role::Ignored && find(layout, &names[i], names).is_none();
    let others: Vec<&String> = (0..names.len())
        .filter(|&i| is_free(i) && (names::is_id(&names[i]) || names::suggests_id(&names[i])))
        .map(|i| &names[i])
        .collect();
    if !others.is_empty() {
        let (name, others) = (shown(name), listed(&others));
        let seen = format!("there is no column `{name}`, which names series for the model, but there are {others}");
        return Err(Error::question(file, seen, WHICH_ID));
    }
    let seen = format!("there is no column `{}`, so that all rows are one series", shown(name));
    warnings.push(Warning::new(seen, "say so with `--id none`, or name the column with `--id`"));
    Ok(())
}
