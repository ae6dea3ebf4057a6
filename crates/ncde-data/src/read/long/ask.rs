//! What the caller says of columns: each name once, and every one of them there.

use super::super::ReadOptions;
use super::guess::Kind;
use crate::Error;
use crate::error::{Place, shown};
use crate::schema::Role;

/// What is said of a role that one column can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    /// Nothing.
    No,
    /// That no column has it.
    Nothing,
    /// That this column has it.
    Column(usize),
}

impl Asked {
    pub(super) fn column(self) -> Option<usize> {
        if let Self::Column(i) = self { Some(i) } else { None }
    }
}

/// What is said of the columns of a file.
#[derive(Debug)]
pub(super) struct Said {
    pub(super) id: Asked,
    pub(super) time: Asked,
    pub(super) label: Asked,
    /// The role of each column, if that is said.
    pub(super) roles: Vec<Option<Role>>,
    /// Whether all channels are named, so that others are ignored.
    pub(super) all_channels: bool,
}

/// The word that says that no column has a role.
const NONE: &str = "none";

impl Said {
    /// With a file of labels, a name may be of that one or of this one; `is_known` of a file that a layout is there for.
    pub(super) fn of(file: &str, names: &[String], options: &ReadOptions, kind: Kind<'_>, is_known: bool) -> Result<Self, Error> {
        let (is_labels, is_series_only) = (matches!(kind, Kind::Labels), matches!(kind, Kind::SeriesOnly(_)));
        let may_be_elsewhere = is_known || is_labels || is_series_only;
        let is_id_here = !(is_labels || is_series_only) || options.columns.id.as_ref().is_some_and(|name| names.contains(name));
        let mut roles: Vec<Option<Role>> = vec![None; names.len()];
        let mut set = |i: usize, role: Role| -> Result<(), Error> {
            match roles[i].replace(role) {
                Some(before) if before != role => Err(Error::header(
                    Place::line(file, 0),
                    format!("column `{}` is to hold both {} and {}", shown(&names[i]), before.plural(), role.plural()),
                    "name two columns",
                )),
                _ => Ok(()),
            }
        };
        let find = |role: Role, asked: &str| {
            names.iter().position(|name| name == asked).ok_or_else(|| Error::no_column(file, role.plural(), asked, names))
        };
        let tokens =
            options.columns.tokens.as_deref().filter(|_| !is_labels).map(|asked| find(Role::Token, asked)).transpose()?;
        if let Some(i) = tokens {
            set(i, Role::Token)?;
        }
        let mut one = |role: Role, asked: Option<&String>, counts: bool| -> Result<Asked, Error> {
            match asked.filter(|_| counts) {
                None => Ok(Asked::No),
                Some(asked) if asked == NONE && !names.contains(asked) => Ok(Asked::Nothing),
                Some(asked) => {
                    let i = find(role, asked)?;
                    set(i, role)?;
                    Ok(Asked::Column(i))
                }
            }
        };
        let id = one(Role::Id, options.columns.id.as_ref(), is_id_here)?;
        let time = one(Role::Time, options.columns.time.as_ref(), !is_labels)?;
        let label = one(Role::Label, options.columns.label.as_ref(), !is_series_only)?;
        let mut many = |role: Role, asked: &[String]| -> Result<(), Error> {
            for asked in asked {
                let of_category = |name: &String| asked.strip_prefix(name.as_str()).is_some_and(|rest| rest.starts_with('='));
                let found = find(role, asked).or_else(|error| names.iter().position(of_category).ok_or(error));
                match found {
                    Ok(i) => set(i, role)?,
                    Err(_) if may_be_elsewhere => {}
                    Err(error) => return Err(error),
                }
            }
            Ok(())
        };
        many(Role::Ignored, options.columns.ignore.as_deref().unwrap_or(&[]))?;
        many(Role::Static, options.columns.statics.as_deref().unwrap_or(&[]))?;
        many(Role::Channel, options.columns.channels.as_deref().unwrap_or(&[]))?;
        Ok(Self { id, time, label, roles, all_channels: options.columns.channels.is_some() })
    }

    /// Whether anything is said of a column.
    pub(super) fn is_said(&self, column: usize) -> bool {
        self.roles[column].is_some()
    }
}
