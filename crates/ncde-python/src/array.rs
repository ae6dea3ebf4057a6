//! Arrays in and out: numbers of any layout and type as slices of `f32` or `f64`, without a copy where they already are.

use std::borrow::Cow;

use ncde_signature::Float;
use numpy::{Element, PyArray, PyArrayDyn, PyArrayMethods, PyReadonlyArrayDyn, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyList, PyTuple};

/// A number that arrays have.
pub(crate) trait Scalar: Float + Element {
    /// The numbers of an array, copied only if they are of the other kind.
    fn of<'a>(numbers: &'a Numbers<'_>) -> PyResult<Cow<'a, [Self]>>;
}

impl Scalar for f32 {
    fn of<'a>(numbers: &'a Numbers<'_>) -> PyResult<Cow<'a, [Self]>> {
        Ok(match numbers {
            Numbers::Single(array) => slice(array)?.into(),
            Numbers::Double(array) => slice(array)?.iter().map(|&x| x as f32).collect(),
        })
    }
}

impl Scalar for f64 {
    fn of<'a>(numbers: &'a Numbers<'_>) -> PyResult<Cow<'a, [Self]>> {
        Ok(match numbers {
            Numbers::Single(array) => slice(array)?.iter().map(|&x| f64::from(x)).collect(),
            Numbers::Double(array) => slice(array)?.into(),
        })
    }
}

/// An array whose numbers lie one after the other.
pub(crate) enum Numbers<'py> {
    Single(PyReadonlyArrayDyn<'py, f32>),
    Double(PyReadonlyArrayDyn<'py, f64>),
}

impl<'py> Numbers<'py> {
    /// `what` is what the array is called in messages.
    pub(crate) fn of(any: &Bound<'py, PyAny>, what: &str) -> PyResult<Self> {
        if let Some(same) = Self::borrowed(any) {
            return Ok(same);
        }
        let py = any.py();
        let array = numpy(py)?.call_method1("asarray", (any,))?;
        let kind: String = array.getattr("dtype")?.getattr("kind")?.extract()?;
        if !matches!(kind.as_str(), "f" | "i" | "u" | "b" | "O") {
            let dtype = array.getattr("dtype")?;
            return Err(PyTypeError::new_err(format!("{what}: an array of {dtype}, wanted numbers (float32 or float64)")));
        }
        let is_single = kind == "f" && array.getattr("dtype")?.getattr("itemsize")?.extract::<usize>()? <= 4;
        let dtype = if is_single { "float32" } else { "float64" };
        // A copy that nobody else has; of 0 dimensions it stays one of none.
        let copy = array.call_method1("astype", (dtype, "C"))?;
        Self::borrowed(&copy).ok_or_else(|| PyTypeError::new_err(format!("{what}: it cannot be read as an array of numbers")))
    }

    fn borrowed(any: &Bound<'py, PyAny>) -> Option<Self> {
        if let Ok(array) = any.cast::<PyArrayDyn<f64>>() {
            return array.try_readonly().ok().filter(|own| own.is_c_contiguous() && own.as_slice().is_ok()).map(Self::Double);
        }
        let array = any.cast::<PyArrayDyn<f32>>().ok()?;
        array.try_readonly().ok().filter(|own| own.is_c_contiguous() && own.as_slice().is_ok()).map(Self::Single)
    }

    pub(crate) fn shape(&self) -> &[usize] {
        match self {
            Self::Single(array) => array.shape(),
            Self::Double(array) => array.shape(),
        }
    }

    pub(crate) fn is_single(&self) -> bool {
        matches!(self, Self::Single(_))
    }
}

/// The numbers of an array that lie one after the other.
fn slice<'a, T: Element>(array: &'a PyReadonlyArrayDyn<'_, T>) -> PyResult<&'a [T]> {
    array.as_slice().map_err(|e| PyValueError::new_err(e.to_string()))
}

/// Paths: one, a batch of the same length, or a list of any lengths.
pub(crate) enum Paths<'py> {
    /// `[length, channels]` or `[batch, length, channels]`.
    Dense(Numbers<'py>),
    /// Each `[length, channels]`.
    Ragged(Vec<Numbers<'py>>),
}

const SHAPES: &str = "wanted [length, channels], [batch, length, channels], or a list of arrays [length, channels]";

impl<'py> Paths<'py> {
    pub(crate) fn of(any: &Bound<'py, PyAny>) -> PyResult<Self> {
        let items: Option<Vec<Bound<'py, PyAny>>> = match (any.cast::<PyList>(), any.cast::<PyTuple>()) {
            (Ok(list), _) => Some(list.iter().collect()),
            (_, Ok(tuple)) => Some(tuple.iter().collect()),
            _ => None,
        };
        let is_array =
            |item: &Bound<'py, PyAny>| item.cast::<PyUntypedArray>().is_ok() || item.hasattr("__array__").unwrap_or(false);
        if let Some(items) = items.filter(|items| items.first().is_some_and(is_array)) {
            let arrays: Vec<_> = items.iter().map(|item| Numbers::of(item, "a path")).collect::<PyResult<_>>()?;
            let of = |array: &Numbers<'_>| array.shape().get(1).copied().filter(|_| array.shape().len() == 2);
            let channels = arrays.first().and_then(of);
            if let Some(other) = arrays.iter().position(|array| of(array).is_none() || of(array) != channels) {
                let (shape, first) = (arrays[other].shape(), arrays[0].shape());
                return Err(PyValueError::new_err(format!(
                    "path {other} has the shape {shape:?} and path 0 {first:?}; {SHAPES}"
                )));
            }
            return Ok(Self::Ragged(arrays));
        }
        let numbers = Numbers::of(any, "paths")?;
        if !matches!(numbers.shape().len(), 2 | 3) {
            return Err(PyValueError::new_err(format!("paths have the shape {:?}; {SHAPES}", numbers.shape())));
        }
        Ok(Self::Dense(numbers))
    }

    pub(crate) fn is_single(&self) -> bool {
        match self {
            Self::Dense(numbers) => numbers.is_single(),
            Self::Ragged(arrays) => arrays.iter().all(Numbers::is_single),
        }
    }

    pub(crate) fn channels(&self) -> usize {
        match self {
            Self::Dense(numbers) => numbers.shape().last().copied(),
            Self::Ragged(arrays) => arrays.first().and_then(|array| array.shape().last().copied()),
        }
        .unwrap_or(0)
    }

    /// The number of observations of each.
    pub(crate) fn lengths(&self) -> Vec<usize> {
        match self {
            Self::Dense(numbers) => match *numbers.shape() {
                [batch, length, _] => vec![length; batch],
                [length, _] => vec![length],
                _ => Vec::new(),
            },
            Self::Ragged(arrays) => arrays.iter().map(|array| array.shape()[0]).collect(),
        }
    }

    /// Whether it is one path, whose results have no axis of the batch.
    pub(crate) fn is_one(&self) -> bool {
        matches!(self, Self::Dense(numbers) if numbers.shape().len() == 2)
    }

    pub(crate) fn is_ragged(&self) -> bool {
        matches!(self, Self::Ragged(_))
    }
}

/// An array of a shape, without a copy.
pub(crate) fn shaped<T: Scalar>(py: Python<'_>, values: Vec<T>, shape: &[usize]) -> PyResult<Py<PyAny>> {
    Ok(PyArray::from_vec(py, values).reshape(shape)?.into_any().unbind())
}

fn numpy(py: Python<'_>) -> PyResult<&Bound<'_, PyModule>> {
    static NUMPY: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    Ok(NUMPY.get_or_try_init(py, || py.import("numpy").map(Bound::unbind))?.bind(py))
}
