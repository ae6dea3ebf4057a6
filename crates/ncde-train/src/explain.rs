//! The configuration for people: TOML with the meaning of every key above it.
//!
//! ```toml
//! [model]
//! # The number of hidden states.
//! hidden = 64
//! # Not set: `rank`. The rank of the low-rank part of `dplr`.
//! ```

use super::config::{Config, tables};
use super::preset;

/// What can be set, for programs that offer it under names of their own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    /// The table that has it.
    pub table: &'static str,
    /// Its name there.
    pub name: &'static str,
    /// What it means, in a sentence or two.
    pub meaning: &'static str,
    /// The type of its values, as Rust has it.
    pub kind: &'static str,
    /// Of a key of `[model]`, the models that have it.
    pub models: Vec<&'static str>,
}

impl Config {
    /// Every key there is.
    pub fn keys() -> Vec<Key> {
        let models = |table, name| if table == "model" { preset::having(name) } else { Vec::new() };
        let of = |(table, keys): (&'static str, Vec<_>)| {
            let key = move |(name, meaning, kind): (&'static str, &'static str, &'static str)| Key {
                table,
                name,
                meaning: meaning.trim(),
                kind,
                models: models(table, name),
            };
            keys.into_iter().map(key)
        };
        tables(None).into_iter().flat_map(of).collect()
    }

    /// As TOML with comments: what each key means, and those that are not set behind them.
    pub fn explained(&self) -> String {
        let text = self.to_toml();
        let mut out = String::new();
        let preset = if self.model.layers.is_empty() { self.model.name.as_deref() } else { Some("layers") };
        for (table, keys) in tables(preset) {
            let own = section(&text, table);
            out.push_str(&format!("{}[{table}]\n", if out.is_empty() { "" } else { "\n" }));
            let line = |key: &str| own.iter().find(|line| line.split_once(" = ").is_some_and(|(seen, _)| seen == key));
            for (key, meaning, _) in &keys {
                if let Some(line) = line(key) {
                    out.push_str(&format!("#{meaning}\n{line}\n"));
                }
            }
            for (key, meaning, _) in keys.iter().filter(|(key, ..)| line(key).is_none()) {
                out.push_str(&format!("# Not set: `{key}`.{meaning}\n"));
            }
            if table == "model" {
                out.push_str(&own_layers(&text));
            }
        }
        out
    }
}

/// The tables of a model's own layers, as they are.
fn own_layers(text: &str) -> String {
    let own = text
        .lines()
        .skip_while(|line| !line.starts_with("[[model.layers"))
        .take_while(|line| !line.starts_with('[') || line.starts_with("[[model.layers") || line.starts_with("[model.layers"));
    own.map(|line| format!("{line}\n")).collect()
}

/// The lines of a table.
fn section<'a>(text: &'a str, table: &str) -> Vec<&'a str> {
    let head = format!("[{table}]");
    text.lines().skip_while(|line| *line != head).skip(1).take_while(|line| !line.starts_with('[')).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_explained_and_nothing_is_lost() {
        let mut config = Config::default();
        for assignment in ["hidden=32", "rate=0.001", "train=\"a = b.csv\"", "statics=[\"a\", \"b\"]", "structure=dplr"] {
            config.set(assignment).unwrap();
        }
        let text = config.explained();
        assert_eq!(Config::from_toml(&text).unwrap(), config);
        assert!(text.contains("\n# The number of hidden states; 64 by default.\nhidden = 32\n"), "{text}");
        assert!(text.contains("\n# Not set: `rank`. The rank"), "{text}");
        for (key, meaning, _) in tables(None).iter().flat_map(|(_, keys)| keys) {
            assert!(meaning.starts_with(' ') && meaning.ends_with('.'), "{key}: {meaning:?}");
            assert!(text.contains(&format!("\n{key} = ")) || text.contains(&format!("\n# Not set: `{key}`. ")), "{key}");
        }
    }

    /// A name that a key can have stands in its meaning.
    #[test]
    fn every_name_is_told() {
        let mut told = 0;
        for (table, keys) in tables(None) {
            for (key, meaning, _) in keys {
                let error = Config::default().set(&format!("{table}.{key}=no-such-name")).err().map(|e| e.to_string());
                let Some(wanted) = error.as_deref().and_then(|e| e.split_once("unknown variant `no-such-name`, expected "))
                else {
                    continue;
                };
                for name in wanted.1.lines().next().unwrap_or_default().split('`').skip(1).step_by(2) {
                    assert!(meaning.contains(&format!("`{name}`")), "`{key}` can be `{name}`, but its meaning is: {meaning}");
                    told += 1;
                }
            }
        }
        assert!(told > 15, "{told}");
    }
}
