//! What the caller says of columns: each name once, and every one of them there.

use super::super::ReadOptions;
use super::form::stated_clock;
use super::guess::FileKind;
use crate::Error;
use crate::error::{at_line, shown};
use crate::schema::Role;

/// What is said of a role that one column can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Override {
    /// Nothing is said.
    Unset,
    /// No column has the role.
    None,
    /// This column has it.
    Column(usize),
}

impl Override {
    pub(super) fn column(self) -> Option<usize> {
        if let Self::Column(i) = self { Some(i) } else { None }
    }
}

/// What is said of the columns of a file.
#[derive(Debug)]
pub(super) struct Overrides {
    pub(super) id: Override,
    pub(super) time: Override,
    pub(super) label: Override,
    /// The role of each column, if that is said.
    pub(super) roles: Vec<Option<Role>>,
    /// Whether all channels are named, so that others are ignored.
    pub(super) all_channels: bool,
}

/// The word that says that no column has a role.
const NONE: &str = "none";

impl Overrides {
    /// With a file of labels, a name may be of that one or of this one; `is_known` of a file that a layout is there for.
    pub(super) fn of(
        file: &str,
        names: &[String],
        options: &ReadOptions,
        kind: FileKind<'_>,
        is_known: bool,
    ) -> Result<Self, Error> {
        let (is_labels, is_series_only) = (matches!(kind, FileKind::Labels), matches!(kind, FileKind::SeriesOnly(_)));
        let may_be_elsewhere = is_known || is_labels || is_series_only;
        let ids = options.columns.ids(names);
        let is_id_here = !(is_labels || is_series_only) || ids.iter().any(|name| names.contains(name));
        let mut roles: Vec<Option<Role>> = vec![None; names.len()];
        let mut set = |i: usize, role: Role| -> Result<(), Error> {
            if let Some(before) = roles[i].replace(role).filter(|before| *before != role) {
                let (name, before) = (shown(&names[i]), before.plural());
                let seen = format!("column `{name}` is to hold both {before} and {}", role.plural());
                return Err(Error::header(at_line(file, 0), seen, "name two columns"));
            }
            Ok(())
        };
        let find = |role: Role, stated: &str| {
            names.iter().position(|name| name == stated).ok_or_else(|| Error::no_column(file, role.plural(), stated, names))
        };
        let tokens =
            options.columns.tokens.as_deref().filter(|_| !is_labels).map(|stated| find(Role::Token, stated)).transpose()?;
        if let Some(i) = tokens {
            set(i, Role::Token)?;
        }
        let mut one = |role: Role, stated: Option<&String>, counts: bool| -> Result<Override, Error> {
            match stated.filter(|_| counts) {
                None => Ok(Override::Unset),
                Some(stated) if stated == NONE && !names.contains(stated) => Ok(Override::None),
                Some(stated) => {
                    let i = find(role, stated)?;
                    set(i, role)?;
                    Ok(Override::Column(i))
                }
            }
        };
        let id = one(Role::Id, ids.first(), is_id_here)?;
        for other in ids.iter().skip(1) {
            one(Role::Id, Some(other), is_id_here)?;
        }
        let time = match stated_clock(options, names).filter(|_| !is_labels) {
            Some([date, clock]) => {
                one(Role::Ignored, Some(&clock), true)?;
                one(Role::Time, Some(&date), true)?
            }
            None => one(Role::Time, options.columns.time.as_ref(), !is_labels)?,
        };
        let id_columns: Vec<usize> = ids.iter().filter_map(|id| names.iter().position(|name| name == id)).collect();
        if let Some(stated) = options.columns.label.as_ref().filter(|stated| stated.contains(',') && !names.contains(*stated)) {
            let seen = format!("`{}` names several columns of labels", shown(stated));
            let fix = "a model predicts one: train a model for each, with the other labels left out (`--label a --ignore b`)";
            return Err(Error::header(at_line(file, 0), seen, fix));
        }
        let label = one(Role::Label, options.columns.label.as_ref(), !is_series_only)?;
        let mut many = |role: Role, stated: &[String]| -> Result<(), Error> {
            for stated in stated {
                let of_category = |name: &String| stated.strip_prefix(name.as_str()).is_some_and(|rest| rest.starts_with('='));
                let found = find(role, stated).or_else(|error| names.iter().position(of_category).ok_or(error));
                match found {
                    Ok(i) => set(i, role)?,
                    Err(_) if may_be_elsewhere => {}
                    Err(error) => return Err(error),
                }
            }
            Ok(())
        };
        if let Some(group) = &options.columns.group {
            match names.iter().position(|name| name == group) {
                // It may be a part of the id as well.
                Some(i) if id_columns.contains(&i) => {}
                _ => many(Role::Group, std::slice::from_ref(group))?,
            }
        }
        many(Role::Ignored, options.columns.ignore.as_deref().unwrap_or(&[]))?;
        many(Role::Static, options.columns.statics.as_deref().unwrap_or(&[]))?;
        many(Role::Channel, options.columns.channels.as_deref().unwrap_or(&[]))?;
        Ok(Self { id, time, label, roles, all_channels: options.columns.channels.is_some() })
    }

    /// Whether anything is said of a column.
    pub(super) fn is_set(&self, column: usize) -> bool {
        self.roles[column].is_some()
    }
}
