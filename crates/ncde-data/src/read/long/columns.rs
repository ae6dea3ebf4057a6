//! The header of a csv file: what each column is for.

use std::path::Path;

use super::super::ReadOptions;
use super::table::QUOTES;
use crate::Error;
use crate::error::{Place, hint, listed, shown};
use crate::text::cells::cells;
use crate::text::lines::{Lines, utf8};
use crate::text::number::{self, Cell};

const IDS: [&str; 4] = ["id", "case", "case_id", "series_id"];
const TIMES: [&str; 5] = ["time", "t", "timestamp", "date", "datetime"];
// Not `y`: beside an `x` that is a place more often than an answer.
const LABELS: [&str; 3] = ["label", "class", "target"];

/// Whether a column of this name holds labels.
pub(in super::super) fn is_label(name: &str) -> bool {
    is_one_of(name, &LABELS)
}

/// Long names in any case; a single letter as it is, since `T` may well be a quantity.
fn is_one_of(name: &str, names: &[&str]) -> bool {
    names.iter().any(|known| if known.len() == 1 { name == *known } else { name.eq_ignore_ascii_case(known) })
}

/// What a column is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Role {
    Id,
    Time,
    Label,
    /// A number or text of its own: the index among these.
    Value(usize),
}

/// Which columns are looked for, by the names the caller gave.
pub(in super::super) struct Wanted<'a> {
    id: Option<&'a str>,
    time: Option<&'a str>,
    label: Option<&'a str>,
    tokens: Option<&'a str>,
    kind: Kind<'a>,
}

/// What kind of file it is.
enum Kind<'a> {
    Series,
    /// One case of a folder: its name is its id.
    OfFolder,
    /// A file of labels: it has no times.
    Labels,
    /// Series whose labels are in this other file.
    SeriesOnly(&'a Path),
}

impl<'a> Wanted<'a> {
    pub(in super::super) fn series(options: &'a ReadOptions) -> Self {
        let kind = options.labels.as_deref().map_or(Kind::Series, Kind::SeriesOnly);
        Self {
            id: options.id.as_deref(),
            time: options.time.as_deref(),
            label: options.label.as_deref(),
            tokens: options.tokens.as_deref(),
            kind,
        }
    }

    pub(in super::super) fn of_folder(options: &'a ReadOptions) -> Self {
        Self { kind: Kind::OfFolder, ..Self::series(options) }
    }

    pub(in super::super) fn labels(options: &'a ReadOptions) -> Self {
        Self { id: options.id.as_deref(), time: None, label: options.label.as_deref(), tokens: None, kind: Kind::Labels }
    }
}

/// The columns of a file.
#[derive(Debug)]
pub(in super::super) struct Columns {
    pub(in super::super) separator: u8,
    pub(in super::super) names: Vec<String>,
    pub(in super::super) roles: Vec<Role>,
    /// The column that is asked for as tokens: the index among those with values.
    pub(in super::super) tokens: Option<usize>,
}

impl Columns {
    /// The column with this role.
    pub(in super::super) fn of(&self, role: Role) -> Option<&str> {
        self.roles.iter().position(|&other| other == role).map(|i| self.names[i].as_str())
    }

    /// The names of columns with values, in order.
    pub(in super::super) fn values(&self) -> Vec<String> {
        let values = self.names.iter().zip(&self.roles).filter(|(_, role)| matches!(role, Role::Value(_)));
        values.map(|(name, _)| name.clone()).collect()
    }
}

/// Reads the header line.
pub(in super::super) fn read(lines: &mut Lines<'_>, wanted: &Wanted<'_>) -> Result<Columns, Error> {
    let file = lines.file().to_string();
    loop {
        let Some(line) = lines.next()? else {
            return Err(Error::Empty {
                file,
                seen: "holds blank lines only",
                wanted: "a header `id,time,...` and rows below it",
            });
        };
        if line.text.trim_ascii().is_empty() {
            continue;
        }
        let at = || Place::line(&file, line.number);
        let separator = separator(line.text);
        let found = cells(line.text, separator).map_err(|seen| Error::Quotes { at: at(), seen, fix: QUOTES })?;
        let mut names: Vec<String> = Vec::with_capacity(found.len());
        for cell in &found {
            names.push(utf8(cell, at)?.trim().to_string());
        }
        check(&names, at)?;
        let roles = roles(&file, &names, wanted)?;
        let named = wanted.tokens.and_then(|tokens| names.iter().position(|name| name == tokens));
        let tokens = named.and_then(|i| if let Role::Value(k) = roles[i] { Some(k) } else { None });
        return Ok(Columns { separator, names, roles, tokens });
    }
}

/// A comma, unless the header has none but tabs or semicolons.
fn separator(header: &[u8]) -> u8 {
    [b',', b'\t', b';'].into_iter().find(|separator| header.contains(separator)).unwrap_or(b',')
}

fn check(names: &[String], at: impl Fn() -> Box<Place>) -> Result<(), Error> {
    let is_number = |name: &String| matches!(number::cell(name.as_bytes()), Cell::Number(_));
    if names.iter().all(is_number) {
        return Err(Error::Header {
            at: at(),
            seen: "the first line holds numbers".into(),
            fix: "wanted a header that names the columns, such as `id,time,x,label`".into(),
        });
    }
    for (i, name) in names.iter().enumerate() {
        if name.is_empty() {
            return Err(Error::Header {
                at: at(),
                seen: format!("column {} has no name", i + 1),
                fix: "name it, or remove it (pandas: `to_csv(..., index=False)`)".into(),
            });
        }
        if let Some(before) = names[..i].iter().position(|other| other == name) {
            return Err(Error::Header {
                at: at(),
                seen: format!("columns {} and {} are both called `{}`", before + 1, i + 1, shown(name.as_bytes())),
                fix: "names must differ".into(),
            });
        }
    }
    Ok(())
}

fn roles(file: &str, names: &[String], wanted: &Wanted<'_>) -> Result<Vec<Role>, Error> {
    let tokens = find(file, names, None, "tokens", wanted.tokens, &[])?;
    let find = |role, asked: Option<&str>, known: &[&str]| find(file, names, tokens, role, asked, known);
    let id = match wanted.kind {
        // The option may name a column that only the series have.
        Kind::Labels => find("ids", wanted.id.filter(|id| names.iter().any(|name| name == id)), &IDS)?.or(Some(0)),
        Kind::OfFolder => of_folder(file, names, wanted)?,
        Kind::Series | Kind::SeriesOnly(_) => find("ids", wanted.id, &IDS)?,
    };
    let time = match wanted.kind {
        Kind::Labels => None,
        _ => find("times", wanted.time, &TIMES)?,
    };
    let mut label = match &wanted.kind {
        // The option names the column of the file of labels.
        Kind::SeriesOnly(labels) => match find("labels", None, &LABELS)? {
            None => None,
            Some(_) => {
                let labels = labels.display().to_string();
                return Err(Error::LabelsTwice { file: file.into(), labels });
            }
        },
        _ => find("labels", wanted.label, &LABELS)?,
    };
    if let (Kind::Labels, None) = (&wanted.kind, label) {
        if names.len() != 2 {
            return Err(Error::NoColumn {
                file: file.into(),
                role: "labels",
                wanted: format!("wanted one called {}", listed(&LABELS)),
                seen: listed(names),
                hint: String::new(),
            });
        }
        label = (0..2).find(|&i| Some(i) != id);
    }
    let mut values = 0;
    let role = |i: usize| match Some(i) {
        i if i == id => Role::Id,
        i if i == time => Role::Time,
        i if i == label => Role::Label,
        _ => {
            values += 1;
            Role::Value(values - 1)
        }
    };
    let roles: Vec<Role> = (0..names.len()).map(role).collect();
    if values == 0 && !matches!(wanted.kind, Kind::Labels) {
        return Err(Error::NoColumn {
            file: file.into(),
            role: "values",
            wanted: "wanted at least one channel".into(),
            seen: listed(names),
            hint: String::new(),
        });
    }
    Ok(roles)
}

/// A file of a folder is one case, so a column of ids contradicts its name.
fn of_folder(file: &str, names: &[String], wanted: &Wanted<'_>) -> Result<Option<usize>, Error> {
    match names.iter().find(|name| is_one_of(name, &IDS) || Some(name.as_str()) == wanted.id) {
        None => Ok(None),
        Some(name) => Err(Error::Header {
            at: Place::line(file, 1),
            seen: format!("there is a column `{name}`, but in a folder the name of a file is the id of its case"),
            fix: "remove the column, or join all files into one csv".into(),
        }),
    }
}

/// The column that is asked for, or the only one that is called as such columns are; never that of tokens.
fn find(
    file: &str,
    names: &[String],
    tokens: Option<usize>,
    role: &'static str,
    asked: Option<&str>,
    known: &[&str],
) -> Result<Option<usize>, Error> {
    if let Some(asked) = asked {
        if let Some(i) = tokens.filter(|&i| names[i] == asked) {
            return Err(Error::Header {
                at: Place::line(file, 0),
                seen: format!("column `{}` is to hold both tokens and {role}", shown(names[i].as_bytes())),
                fix: "name two columns".into(),
            });
        }
        let found = names.iter().position(|name| name == asked);
        return found.map(Some).ok_or_else(|| Error::NoColumn {
            file: file.into(),
            role,
            wanted: format!("`{}` was named", shown(asked.as_bytes())),
            seen: listed(names),
            hint: hint(asked, names),
        });
    }
    let found: Vec<usize> = (0..names.len()).filter(|&i| Some(i) != tokens && is_one_of(&names[i], known)).collect();
    if found.len() > 1 {
        let names: Vec<&str> = found.iter().map(|&i| names[i].as_str()).collect();
        return Err(Error::SeveralColumns { file: file.into(), role, names: listed(&names) });
    }
    Ok(found.first().copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(header: &[&str], options: &ReadOptions) -> Result<Vec<Role>, Error> {
        let names: Vec<String> = header.iter().map(|&name| name.into()).collect();
        roles("test", &names, &Wanted::series(options))
    }

    #[test]
    fn names_say_what_columns_are_for() {
        let options = ReadOptions::default();
        let roles = found(&["ID", "x", "Timestamp", "T", "Y", "class"], &options).unwrap();
        assert_eq!(roles, [Role::Id, Role::Value(0), Role::Time, Role::Value(1), Role::Value(2), Role::Label]);
        assert_eq!(found(&["t", "x", "label"], &options).unwrap(), [Role::Time, Role::Value(0), Role::Label]);
    }

    #[test]
    fn the_caller_may_say_it() {
        let options = ReadOptions { label: Some("died".into()), time: Some("hour".into()), ..ReadOptions::default() };
        let roles = found(&["hour", "y", "died"], &options).unwrap();
        assert_eq!(roles, [Role::Time, Role::Value(0), Role::Label]);
        let error = found(&["hours", "y", "died"], &options).unwrap_err().to_string();
        let wanted =
            "`test` has no column for times: `hour` was named; its columns are `hours`, `y`, `died`; did you mean `hours`?";
        assert_eq!(error, wanted);
    }
}
