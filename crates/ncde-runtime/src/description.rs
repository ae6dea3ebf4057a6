//! Reading `model.json`: text, then the format, then everything else.

use std::path::Path;

use serde::Deserialize;

use crate::Error;
use crate::spec::{FORMAT, ModelSpec};

/// The largest `model.json`: 32 MiB. Names and tokens are the most of a large one.
const MAX_BYTES: u64 = 1 << 25;

impl ModelSpec {
    /// Reads `model.json`.
    ///
    /// # Errors
    /// If it cannot be read, or is not the description of a model of the format that is known here.
    pub(crate) fn read(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        parse(path, &crate::weights::read(path, |bytes| check_size(path, bytes))?)
    }

    /// From the contents of `model.json`. Whether layers fit together is not looked at: see [`check`](Self::check).
    ///
    /// # Errors
    /// If it is not the description of a model of the format that is known here.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        parse(crate::SPEC.as_ref(), bytes)
    }
}

fn check_size(path: &Path, bytes: u64) -> Result<(), Error> {
    if bytes <= MAX_BYTES {
        return Ok(());
    }
    let problem = format!("{bytes} bytes; the description of a model has at most {MAX_BYTES}");
    Err(Error::Corrupt { path: path.into(), problem })
}

/// The format is looked at first: another one may hold anything else.
fn parse(path: &Path, bytes: &[u8]) -> Result<ModelSpec, Error> {
    #[derive(Deserialize)]
    struct Head {
        format: u32,
        #[serde(default)]
        ncde: String,
    }
    check_size(path, bytes.len() as u64)?;
    let corrupt = |problem: String| Error::Corrupt { path: path.into(), problem };
    let text = std::str::from_utf8(bytes).map_err(|e| corrupt(format!("not UTF-8 text: {e}")))?;
    let unread = |e: serde_json::Error| corrupt(format!("not the description of a model: {e}"));
    // Serde takes a list for an object, value by value; a description has objects by name alone.
    let no_object =
        |place: &str| corrupt(format!("not the description of a model: {place} is a list or a value, but an object is wanted"));
    let value: serde_json::Value = serde_json::from_str(text).map_err(unread)?;
    if !value.is_object() {
        return Err(no_object("it"));
    }
    let head = Head::deserialize(&value).map_err(unread)?;
    if head.format != FORMAT {
        return Err(Error::Format { path: path.into(), seen: head.format, known: FORMAT, writer: head.ncde });
    }
    let spec: ModelSpec = serde_json::from_str(text).map_err(unread)?;
    match serde_json::to_value(&spec).ok().and_then(|again| list_for_object(&value, &again)) {
        None => Ok(spec),
        Some(place) => Err(no_object(&format!("`{}`", place.trim_end_matches('/')))),
    }
}

/// Where a list stands in `read` that is an object in `wanted`.
fn list_for_object(read: &serde_json::Value, wanted: &serde_json::Value) -> Option<String> {
    use serde_json::Value::{Array, Object};
    let below = |key: String, read, wanted| list_for_object(read, wanted).map(|rest| format!("{key}/{rest}"));
    match (read, wanted) {
        (Array(_), Object(_)) => Some(String::new()),
        (Array(read), Array(wanted)) => read.iter().zip(wanted).enumerate().find_map(|(i, (r, w))| below(i.to_string(), r, w)),
        (Object(read), Object(wanted)) => read.iter().find_map(|(key, r)| below(key.clone(), r, wanted.get(key)?)),
        _ => None,
    }
}
