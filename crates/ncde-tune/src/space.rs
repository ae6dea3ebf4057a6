//! The space of a search: axes, each a list or a range of what one key can be, or several keys that are tied together.
//!
//! ```toml
//! [model]                                                       # what all runs share, as in any file of settings
//! name = "log-ncde"
//! [vary]
//! "train.rate" = [1e-3, 1e-4, 1e-5]                             # a list
//! "train.penalty" = { from = 1e-6, to = 1e-3, log = true }      # a range, drawn from; with `points = 4` also for a grid
//! "model.field_layers, model.field_width" = [[2, 32], [3, 64]]  # keys that are tied together
//! ```
//!
//! The same on a command line: `rate=1e-3,1e-4,1e-5`, `penalty=log:1e-6..1e-3`, `field_layers,field_width=2:32,3:64`.

use toml::{Table, Value};

use crate::Error;

/// The table of varied keys in a file of settings.
const VARY: &str = "vary";

/// The values of one key, or of several keys that are tied together.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// The keys.
    pub keys: Vec<String>,
    /// Their values.
    pub values: Values,
}

/// The values of an axis.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// Rows with one value for each key.
    List(Vec<Vec<Value>>),
    /// For a single key, all values between two numbers.
    Range {
        /// The smallest.
        from: f64,
        /// The largest.
        to: f64,
        /// Whether it is the logarithm that is spread evenly.
        log: bool,
        /// Whether numbers are whole.
        whole: bool,
        /// How many of them a grid has.
        points: Option<usize>,
    },
}

/// A space of settings.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Space {
    /// The settings of all runs.
    pub base: Table,
    /// The varied keys.
    pub axes: Vec<Axis>,
}

impl Space {
    /// Reads a file.
    ///
    /// # Errors
    /// If it is not TOML, or an axis is not valid.
    pub fn from_toml(text: &str) -> Result<Self, Error> {
        let mut base: Table = text.parse().map_err(|e: toml::de::Error| Error::Toml(e.to_string().trim_end().to_owned()))?;
        let mut axes = Vec::new();
        match base.remove(VARY) {
            None => {}
            Some(Value::Table(varied)) => read(&varied, "", &mut axes)?,
            Some(_) => return Err(Error::Toml(format!("`{VARY}` is a table: write `[{VARY}]` and its keys below"))),
        }
        Ok(Self { base, axes })
    }

    /// Adds an axis from the command line.
    ///
    /// # Errors
    /// If it is not valid.
    pub fn vary(&mut self, text: &str) -> Result<(), Error> {
        self.axes.push(typed(text).map_err(|problem| Error::Vary { text: text.into(), problem })?);
        Ok(())
    }

    /// Gives keys their full names, by which they can be compared.
    ///
    /// # Errors
    /// The error of `full` for a key.
    pub fn resolve<E>(&mut self, full: impl Fn(&str) -> Result<String, E>) -> Result<(), E> {
        for key in self.axes.iter_mut().flat_map(|axis| &mut axis.keys) {
            *key = full(key)?;
        }
        Ok(())
    }

    /// Adds the axes of another, each in place of those here that have no other keys; keys have their full names.
    ///
    /// # Errors
    /// If a key is varied twice, or none is.
    pub fn join(&mut self, other: Self) -> Result<(), Error> {
        let replaced = |old: &Axis| other.axes.iter().any(|axis| old.keys.iter().all(|key| axis.keys.contains(key)));
        self.axes.retain(|axis| !replaced(axis));
        self.axes.extend(other.axes);
        let keys: Vec<&str> = self.keys().collect();
        if let Some((_, key)) = keys.iter().enumerate().find(|(i, key)| keys[..*i].contains(key)) {
            return Err(Error::Twice((*key).into()));
        }
        if keys.is_empty() { Err(Error::Nothing) } else { Ok(()) }
    }

    /// All keys that are varied.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.axes.iter().flat_map(|axis| axis.keys.iter().map(String::as_str))
    }
}

/// The keys of a name: `a.b, a.c` are two.
fn names(text: &str) -> Vec<String> {
    text.split(',').map(|name| name.trim().to_owned()).collect()
}

/// Axes of a table; tables in it that are no ranges are those of a file of settings.
fn read(table: &Table, before: &str, axes: &mut Vec<Axis>) -> Result<(), Error> {
    for (name, value) in table {
        let keys: Vec<String> = names(name).into_iter().map(|key| format!("{before}{key}")).collect();
        let key = format!("{before}{name}");
        let wrong = |problem: String| Error::Axis { key: key.clone(), problem };
        let values = match value {
            Value::Array(all) => list(all, keys.len()).map_err(wrong)?,
            Value::Table(range) if range.contains_key("from") || range.contains_key("to") => {
                self::range(range, keys.len()).map_err(wrong)?
            }
            Value::Table(inner) => {
                read(inner, &format!("{key}."), axes)?;
                continue;
            }
            other => return Err(wrong(format!("{other} is one value; write a list, [{other}], or set it outside of `[vary]`"))),
        };
        axes.push(Axis { keys, values });
    }
    Ok(())
}

fn list(all: &[Value], keys: usize) -> Result<Values, String> {
    if all.is_empty() {
        return Err("the list is empty; give at least one value".into());
    }
    let row = |value: &Value| match value {
        Value::Array(row) if keys > 1 && row.len() == keys => Ok(row.clone()),
        other if keys > 1 => Err(format!("{keys} keys are tied together, but {other} is not a list of {keys} values")),
        other => Ok(vec![other.clone()]),
    };
    let rows = all.iter().map(row).collect::<Result<Vec<_>, _>>()?;
    if let Some(twice) = rows.iter().enumerate().find(|(i, row)| rows[..*i].contains(row)) {
        return Err(format!("{} stands there twice", twice.1.iter().map(Value::to_string).collect::<Vec<_>>().join(", ")));
    }
    Ok(Values::List(rows))
}

fn number(value: &Value) -> Option<f64> {
    value.as_float().or_else(|| value.as_integer().map(|whole| whole as f64))
}

fn range(table: &Table, keys: usize) -> Result<Values, String> {
    const KNOWN: [&str; 4] = ["from", "to", "log", "points"];
    if let Some(unknown) = table.keys().find(|key| !KNOWN.contains(&key.as_str())) {
        return Err(format!("a range has no `{unknown}`; it has `from`, `to`, `log` and `points`"));
    }
    let end = |key: &str| table.get(key).ok_or_else(|| format!("the range has no `{key}`"));
    let flag = |value: &Value| value.as_bool().ok_or_else(|| format!("`log` is {value}; it is true or false"));
    let count = |value: &Value| {
        let points = value.as_integer().and_then(|points| usize::try_from(points).ok()).filter(|&points| points > 1);
        points.ok_or_else(|| format!("`points` is {value}; it is 2 or more"))
    };
    let log = table.get("log").map(flag).transpose()?.unwrap_or(false);
    let points = table.get("points").map(count).transpose()?;
    between(end("from")?, end("to")?, log, points, keys)
}

/// A range, if it is one.
fn between(from: &Value, to: &Value, log: bool, points: Option<usize>, keys: usize) -> Result<Values, String> {
    if keys > 1 {
        return Err("keys that are tied together have a list of values, not a range".into());
    }
    let (Some(low), Some(high)) = (number(from), number(to)) else {
        return Err(format!("a range is between two numbers, not {from} and {to}"));
    };
    if !(low.is_finite() && high.is_finite() && low < high) {
        return Err(format!("a range is from a smaller number to a larger one, not from {from} to {to}"));
    }
    if log && low <= 0.0 {
        return Err(format!("a range of logarithms begins above 0, not at {from}"));
    }
    Ok(Values::Range { from: low, to: high, log, whole: from.is_integer() && to.is_integer(), points })
}

/// A value as it is typed: what is no TOML is a text.
fn value(text: &str) -> Value {
    let parsed = format!("x = {text}").parse::<Table>().ok().and_then(|mut table| table.remove("x"));
    parsed.unwrap_or_else(|| Value::String(text.into()))
}

/// An axis as it is typed.
fn typed(text: &str) -> Result<Axis, String> {
    let example = "wanted `key=value,value`, for example `rate=1e-3,1e-4`";
    let (keys, right) = text.split_once('=').ok_or(example)?;
    let (keys, right) = (names(keys), right.trim());
    if keys.iter().any(String::is_empty) || right.is_empty() {
        return Err(example.into());
    }
    if let Value::Array(all) = value(right) {
        return Ok(Axis { values: list(&all, keys.len())?, keys });
    }
    let (log, ends) = right.strip_prefix("log:").map_or((false, right), |ends| (true, ends));
    if let Some((from, to)) = ends.split_once("..") {
        return Ok(Axis { values: between(&value(from), &value(to), log, None, keys.len())?, keys });
    }
    let cell = |text: &str| -> Value {
        if keys.len() == 1 { value(text.trim()) } else { Value::Array(text.split(':').map(|part| value(part.trim())).collect()) }
    };
    let all: Vec<Value> = right.split(',').map(cell).collect();
    Ok(Axis { values: list(&all, keys.len())?, keys })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(text: &str) -> Axis {
        let mut space = Space::default();
        space.vary(text).unwrap();
        space.axes.remove(0)
    }

    #[test]
    fn a_file_and_a_command_line_say_the_same() {
        let file = "[vary]\nrate = [1e-3, 0.5]\n\"depth, window\" = [[1, 1], [2, 8]]\n[vary.model]\nhidden = { from = 8, to = 128 }\n\
                    penalty = { from = 1e-6, to = 1e-3, log = true }\nstructure = [\"block\", \"dense\"]\n";
        let mut read = Space::from_toml(file).unwrap().axes;
        let typed = [
            "depth,window=1:1,2:8",
            "model.hidden=8..128",
            "model.penalty=log:1e-6..1e-3",
            "model.structure=block,dense",
            "rate=1e-3,0.5",
        ];
        read.sort_by(|a, b| a.keys.cmp(&b.keys));
        assert_eq!(read, typed.map(one));
        let wanted = Values::Range { from: 8.0, to: 128.0, log: false, whole: true, points: None };
        assert_eq!(one("hidden=8..128").values, wanted);
        // Lists of lists are typed as TOML.
        assert_eq!(one("ignore=[['a'],['b','c']]").values, Values::List(vec![vec![value("['a']")], vec![value("['b','c']")]]));
    }

    #[test]
    fn what_makes_no_sense_is_said() {
        let cases = [
            ("rate = 1e-3", "is one value; write a list"),
            ("rate = []", "the list is empty"),
            ("rate = [1, 2, 1]", "1 stands there twice"),
            ("\"a, b\" = [[1, 2], [3]]", "2 keys are tied together, but [3] is not a list of 2 values"),
            ("\"a, b\" = { from = 1, to = 2 }", "not a range"),
            ("rate = { from = 0.0, to = 1.0, log = true }", "begins above 0"),
            ("rate = { from = 2, to = 1 }", "from a smaller number"),
            ("rate = { from = 1 }", "no `to`"),
            ("rate = { from = 1, to = 2, step = 1 }", "no `step`"),
            ("rate = { from = 1, to = 2, points = 1 }", "2 or more"),
        ];
        for (line, part) in cases {
            let error = Space::from_toml(&format!("[vary]\n{line}\n")).unwrap_err().to_string();
            assert!(error.contains(part), "{line}: {error}");
        }
        for text in ["rate", "rate=", "=1,2", "a,b=1:2,3"] {
            assert!(Space::default().vary(text).is_err(), "{text}");
        }
    }

    #[test]
    fn keys_have_one_name_each() {
        let full = |key: &str| match key {
            "rate" | "train.rate" => Ok("train.rate".to_owned()),
            "a" | "b" | "c" => Ok(key.to_owned()),
            other => Err(Error::Toml(format!("no {other}"))),
        };
        let space = |all: &[&str]| {
            let mut space = Space::default();
            all.iter().for_each(|text| space.vary(text).unwrap());
            space.resolve(full).map(|()| space)
        };
        assert_eq!(space(&["hidden=1"]), Err(Error::Toml("no hidden".into())));
        let both = |file: &[&str], typed: &[&str]| {
            let mut file = space(file).unwrap();
            file.join(space(typed).unwrap()).map(|()| file.keys().collect::<Vec<_>>().join(" "))
        };
        assert_eq!(both(&[], &["rate=1,2", "train.rate=3,4"]), Err(Error::Twice("train.rate".into())));
        assert_eq!(both(&[], &[]), Err(Error::Nothing));
        // An axis of the command line replaces one of the file and may add keys, but it cannot separate tied keys.
        assert_eq!(both(&["rate=1,2"], &["rate=3"]), Ok("train.rate".into()));
        assert_eq!(both(&["a,b=1:2", "rate=1"], &["b,a,c=1:2:3"]), Ok("train.rate b a c".into()));
        assert_eq!(both(&["a,b=1:2"], &["b=3"]), Err(Error::Twice("b".into())));
    }
}
