//! The keys of the configuration, from which the signatures of estimators are made.

use ncde_train::{Config, presets};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::error::Raised;

/// Table, name, meaning, type in Rust, and the models that have it.
type Key = (&'static str, &'static str, &'static str, &'static str, Vec<&'static str>);

/// Every key.
#[pyfunction]
pub(crate) fn config_keys() -> Vec<Key> {
    Config::keys().into_iter().map(|key| (key.table, key.name, key.meaning, key.kind, key.models)).collect()
}

/// Models by name, with what each is.
#[pyfunction]
pub(crate) fn models() -> Vec<(&'static str, &'static str)> {
    presets().collect()
}

/// Whether a key can have a value, given as JSON; an error says why not.
#[pyfunction]
pub(crate) fn check_key(key: &str, json: &str) -> PyResult<()> {
    put(&mut Config::default(), key, json)
}

/// Sets a key to a value, given as JSON.
pub(crate) fn put(config: &mut Config, key: &str, json: &str) -> PyResult<()> {
    let value = serde_json::from_str(json).map_err(|e| PyValueError::new_err(format!("`{key}`: {e}")))?;
    config.put(key, value).map_err(Raised::raised)
}
