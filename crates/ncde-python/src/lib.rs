//! `ncde._ncde`: what the Python package `ncde` calls.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `threads`, `error`, `array` | threads that survive a fork, errors as exceptions, arrays in and out |
//! | `transform`, `signature`, `growing` | signatures of batches, their reverse passes, and of paths that grow |
//! | `recurrence` | the linear recurrence, for layers of other frameworks |
//! | `data`, `fit`, `model` | series with targets, a run in a thread of its own, what it leaves |
//! | `keys`, `cli` | the configuration, the command line |

#![allow(clippy::needless_pass_by_value, reason = "PyO3 makes arguments from objects of Python, and hands them over")]

mod array;
mod cli;
mod data;
mod error;
mod fit;
mod growing;
mod keys;
mod model;
mod recurrence;
mod signature;
mod threads;
mod transform;

use pyo3::prelude::*;

/// The extension module of `ncde`.
#[pymodule(gil_used = false)]
mod _ncde {
    #[pymodule_export]
    use super::cli::run;
    #[pymodule_export]
    use super::data::Data;
    #[pymodule_export]
    use super::fit::fit;
    #[pymodule_export]
    use super::growing::{Index, Online, Rolling};
    #[pymodule_export]
    use super::keys::{check_key, config_keys, models};
    #[pymodule_export]
    use super::model::{Model, Stream};
    #[pymodule_export]
    use super::recurrence::{recurrence_backward, recurrence_forward, recurrence_parameters};
    #[pymodule_export]
    use super::signature::{signature, signature_backward, signature_labels, signature_length};
}
