//! Signatures of paths that grow, one observation at a time: of all so far, of the last ones, of any interval.

use std::sync::{Mutex, MutexGuard};

use ncde_signature::{Error, Index as Intervals, OnlineSignature, Rolling as Window};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;

use crate::array::{Numbers, Scalar, shaped};
use crate::error::Raised;
use crate::threads::compute;
use crate::transform::{basis, transform};

/// One observation after the other, `[channels]` or `[observations, channels]`.
fn push(channels: usize, observations: &Bound<'_, PyAny>, mut take: impl FnMut(&[f64]) -> Result<(), Error>) -> PyResult<()> {
    let numbers = Numbers::of(observations, "an observation")?;
    if !matches!(numbers.shape().len(), 1 | 2) || numbers.shape().last() != Some(&channels) {
        let text =
            format!("an observation has the shape {:?}, wanted [{channels}], or [observations, {channels}]", numbers.shape());
        return Err(PyValueError::new_err(text));
    }
    f64::of(&numbers)?.chunks_exact(channels).try_for_each(|row| take(row).map_err(Raised::raised))
}

/// The lock of an object, which one thread at a time uses.
fn locked<T>(own: &Mutex<T>) -> PyResult<MutexGuard<'_, T>> {
    own.try_lock().map_err(|_| PyRuntimeError::new_err("another thread uses this object now; give each thread one of its own"))
}

fn array(py: Python<'_>, values: Vec<f64>) -> PyResult<Py<PyAny>> {
    let len = values.len();
    shaped(py, values, &[len])
}

/// The signature (or with a basis the log-signature) of all observations so far, in constant memory.
#[pyclass(frozen, module = "ncde")]
pub(crate) struct Online {
    channels: usize,
    own: Mutex<OnlineSignature<f64>>,
}

#[pymethods]
impl Online {
    #[new]
    #[pyo3(signature = (channels, depth, basis_name=None))]
    fn new(channels: usize, depth: usize, basis_name: Option<&str>) -> PyResult<Self> {
        let transform = transform(channels, depth, basis(basis_name)?)?;
        Ok(Self { channels, own: Mutex::new(OnlineSignature::new(&transform)) })
    }

    fn push(&self, observations: &Bound<'_, PyAny>) -> PyResult<()> {
        let mut own = locked(&self.own)?;
        push(self.channels, observations, |row| own.push(row))
    }

    fn value(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let own = &mut *locked(&self.own)?;
        array(py, compute(py, 0, 0, || own.value())?.map_err(Raised::raised)?)
    }

    fn restart(&self) -> PyResult<()> {
        locked(&self.own)?.restart();
        Ok(())
    }
}

/// The same over the last `window` increments.
#[pyclass(frozen, module = "ncde")]
pub(crate) struct Rolling {
    channels: usize,
    own: Mutex<Window<f64>>,
}

#[pymethods]
impl Rolling {
    #[new]
    #[pyo3(signature = (channels, depth, window, basis_name=None))]
    fn new(channels: usize, depth: usize, window: usize, basis_name: Option<&str>) -> PyResult<Self> {
        let transform = transform(channels, depth, basis(basis_name)?)?;
        Ok(Self { channels, own: Mutex::new(Window::new(&transform, window).map_err(Raised::raised)?) })
    }

    fn push(&self, observations: &Bound<'_, PyAny>) -> PyResult<()> {
        let mut own = locked(&self.own)?;
        push(self.channels, observations, |row| own.push(row))
    }

    fn value(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let own = &mut *locked(&self.own)?;
        array(py, compute(py, 0, 0, || own.value())?.map_err(Raised::raised)?)
    }

    fn drop_oldest(&self) -> PyResult<()> {
        locked(&self.own)?.drop_oldest();
        Ok(())
    }

    fn __len__(&self) -> PyResult<usize> {
        Ok(locked(&self.own)?.steps())
    }
}

/// A growing path that gives its signature over any interval.
#[pyclass(frozen, module = "ncde")]
pub(crate) struct Index {
    channels: usize,
    own: Mutex<Intervals<f64>>,
}

#[pymethods]
impl Index {
    #[new]
    #[pyo3(signature = (channels, depth, basis_name=None))]
    fn new(channels: usize, depth: usize, basis_name: Option<&str>) -> PyResult<Self> {
        let transform = transform(channels, depth, basis(basis_name)?)?;
        Ok(Self { channels, own: Mutex::new(Intervals::new(&transform)) })
    }

    fn push(&self, times: &Bound<'_, PyAny>, observations: &Bound<'_, PyAny>) -> PyResult<()> {
        let times = f64::of(&Numbers::of(times, "times")?)?.into_owned();
        let numbers = Numbers::of(observations, "an observation")?;
        let rows = if numbers.shape().len() == 1 { 1 } else { numbers.shape().first().copied().unwrap_or(0) };
        if rows != times.len() {
            return Err(PyValueError::new_err(format!("{} times for {rows} observations", times.len())));
        }
        let (mut own, mut times) = (locked(&self.own)?, times.into_iter());
        push(self.channels, observations, |row| own.push(times.next().unwrap_or(f64::NAN), row))
    }

    /// From one time to another, or with whole numbers of observations.
    fn between(&self, py: Python<'_>, from: f64, to: f64) -> PyResult<Py<PyAny>> {
        let own = &*locked(&self.own)?;
        array(py, compute(py, 0, 0, || own.between(from, to))?.map_err(Raised::raised)?)
    }

    fn observations(&self, py: Python<'_>, first: usize, last: usize) -> PyResult<Py<PyAny>> {
        let own = &*locked(&self.own)?;
        array(py, compute(py, 0, 0, || own.observations(first, last))?.map_err(Raised::raised)?)
    }

    fn __len__(&self) -> PyResult<usize> {
        Ok(locked(&self.own)?.len())
    }
}
