//! What is computed of paths: signatures or log-signatures of some channels to some depth, made once and shared.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use ncde_signature::{Basis, Signature};
use pyo3::PyResult;
use pyo3::exceptions::PyValueError;

use crate::error::Raised;

/// Channels, depth, and the basis of a log-signature.
type Key = (usize, usize, Option<u8>);

static MADE: Mutex<Option<HashMap<Key, Arc<Signature>>>> = Mutex::new(None);

/// More than this many are begun anew.
const MOST: usize = 64;
/// Larger ones are made each time, so that no memory is held for them.
const LARGE: usize = 1 << 16;

/// A basis by its name; none for signatures.
pub(crate) fn basis(name: Option<&str>) -> PyResult<Option<Basis>> {
    Ok(Some(match name {
        None => return Ok(None),
        Some("lyndon") => Basis::Lyndon,
        Some("hall") => Basis::Hall,
        Some("expanded") => Basis::Expanded,
        Some(other) => {
            let text = format!("there is no basis `{other}`; there are `lyndon`, `hall` and `expanded`");
            return Err(PyValueError::new_err(text));
        }
    }))
}

pub(crate) fn transform(channels: usize, depth: usize, basis: Option<Basis>) -> PyResult<Arc<Signature>> {
    let key = (channels, depth, basis.map(|basis| basis as u8));
    // Where another thread holds the lock, or did when this process was forked, it is made anew.
    if let Ok(made) = MADE.try_lock()
        && let Some(signature) = made.as_ref().and_then(|made| made.get(&key))
    {
        return Ok(signature.clone());
    }
    let new = match basis {
        None => Signature::new(channels, depth),
        Some(basis) => Signature::log(channels, depth, basis),
    };
    let new = Arc::new(new.map_err(Raised::raised)?);
    if new.shape().len() <= LARGE
        && let Ok(mut made) = MADE.try_lock()
    {
        let made = made.get_or_insert_default();
        if made.len() >= MOST {
            made.clear();
        }
        made.insert(key, new.clone());
    }
    Ok(new)
}
