//! `KEY=VALUE`: one setting from outside, wherever settings are kept.
//!
//! ```text
//! train.rate=0.001      rate=0.001      structure=walsh-hadamard      statics=["age"]
//! ```
//!
//! A value is TOML; what is no TOML is text, so that a command line needs no quotes.

use serde_json::{Map, Value};

use crate::Error;

/// Sets one key; `full_key` finds its whole name, with dots, from the name that was given.
///
/// # Errors
/// If it is not `KEY=VALUE`, there is no such key, or something that is no table stands in its way.
pub fn assign(settings: &mut Value, assignment: &str, full_key: impl FnOnce(&str) -> Result<String, Error>) -> Result<(), Error> {
    let Some((key, text)) = assignment.split_once('=').map(|(key, text)| (key.trim(), text.trim())) else {
        return Err(Error::Config(format!("`{assignment}` is not `key=value`, for example `train.rate=0.001`")));
    };
    let parsed = format!("x = {text}").parse::<toml::Table>().ok().and_then(|mut parsed| parsed.remove("x"));
    let value = parsed.and_then(|value| serde_json::to_value(value).ok()).unwrap_or_else(|| Value::String(text.into()));
    put(settings, key, value, full_key)
}

/// Sets one key to a value.
///
/// # Errors
/// If there is no such key, or something that is no table stands in its way.
pub(crate) fn put(
    settings: &mut Value,
    key: &str,
    value: Value,
    full_key: impl FnOnce(&str) -> Result<String, Error>,
) -> Result<(), Error> {
    let full = full_key(key)?;
    let (mut place, mut rest) = (settings, full.as_str());
    loop {
        let table = place.as_object_mut().ok_or_else(|| Error::Config(format!("`{key}`: there is no such table")))?;
        match rest.split_once('.') {
            Some((head, tail)) => {
                place = table.entry(head).or_insert_with(|| Map::new().into());
                rest = tail;
            }
            None => {
                table.insert(rest.into(), value);
                return Ok(());
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test")]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_toml_or_text() {
        let mut settings = json!({"train": {"rate": 1.0}});
        for assignment in ["train.rate = 0.5", "train.names=[\"a\", \"b\"]", "model.structure=walsh-hadamard", "x=true"] {
            assign(&mut settings, assignment, |key| Ok(key.into())).unwrap();
        }
        let wanted = json!({"train": {"rate": 0.5, "names": ["a", "b"]}, "model": {"structure": "walsh-hadamard"}, "x": true});
        assert_eq!(settings, wanted);
        for wrong in ["rate", "train.rate.more=1"] {
            assert!(
                assign(&mut settings, wrong, |key| Ok(key.into()))
                    .unwrap_err()
                    .to_string()
                    .contains(wrong.split('=').next().unwrap())
            );
        }
    }
}
