//! The linear recurrence `h_{t+1} = Phi_t h_t + b_t`, forward and reverse, on arrays.
//!
//! What it is comes as JSON, so that frameworks can hold it as the attribute of an operation:
//! `{"structure": "block", "hidden": 128, "block": 4, "channels": 7, "transition": "exp"}`.

use std::sync::{Arc, Mutex};

use ncde_kernels::{
    Affine, Bound as Range, Controls, Field, Float, Gradients, Input, Pattern, Recurrence, Structure, Transition,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde::Deserialize;

use crate::array::{Numbers, Scalar, shaped};
use crate::threads::{compute, jobs};

#[derive(Deserialize)]
struct Spec {
    #[serde(flatten)]
    structure: Shape,
    channels: usize,
    #[serde(default)]
    transition: Transition,
    /// Whether `beta` itself is added, and not `phi_1(Omega) beta`.
    #[serde(default)]
    approximate: bool,
}

#[derive(Deserialize)]
#[serde(tag = "structure", rename_all = "kebab-case")]
enum Shape {
    Dense {
        hidden: usize,
    },
    Diagonal {
        hidden: usize,
    },
    Block {
        hidden: usize,
        block: usize,
    },
    DiagonalDense {
        hidden: usize,
        block: usize,
    },
    Dplr {
        hidden: usize,
        rank: usize,
    },
    /// Of each channel, the places `[row, column]` of entries.
    Sparse {
        hidden: usize,
        pattern: Vec<Vec<(usize, usize)>>,
    },
    WalshHadamard {
        hidden: usize,
        bound: Range,
    },
}

fn refused(problem: impl ToString) -> PyErr {
    PyValueError::new_err(problem.to_string())
}

impl Shape {
    fn structure(self) -> PyResult<Structure> {
        Ok(match self {
            Self::Dense { hidden } => Structure::Dense { hidden },
            Self::Diagonal { hidden } => Structure::Diagonal { hidden },
            Self::Block { hidden, block } => Structure::blocks(hidden, block).map_err(refused)?,
            Self::DiagonalDense { hidden, block } => Structure::DiagonalDense { hidden, block },
            Self::Dplr { hidden, rank } => Structure::Dplr { hidden, rank },
            Self::Sparse { hidden, pattern } => {
                Structure::Sparse { pattern: Arc::new(Pattern::new(hidden, &pattern).map_err(refused)?) }
            }
            Self::WalshHadamard { hidden, bound } => Structure::WalshHadamard { hidden, bound },
        })
    }
}

/// The last one that was asked for, as a layer is called many times.
static LAST: Mutex<Option<(String, Arc<Recurrence>)>> = Mutex::new(None);

fn recurrence(spec: &str) -> PyResult<Arc<Recurrence>> {
    if let Ok(last) = LAST.try_lock()
        && let Some((_, known)) = last.as_ref().filter(|(known, _)| known == spec)
    {
        return Ok(known.clone());
    }
    let Spec { structure, channels, transition, approximate } = serde_json::from_str(spec).map_err(refused)?;
    let field = Field::new(structure.structure()?, channels).map_err(refused)?;
    let affine = if approximate { Affine::Approximate } else { Affine::Exact };
    let new = Arc::new(Recurrence::new(field).with_transition(transition).with_affine(affine));
    if let Ok(mut last) = LAST.try_lock() {
        *last = Some((spec.to_owned(), new.clone()));
    }
    Ok(new)
}

/// The number of parameters of all matrices.
#[pyfunction]
pub(crate) fn recurrence_parameters(spec: &str) -> PyResult<usize> {
    Ok(recurrence(spec)?.field().parameters())
}

/// The arrays of a call.
struct Arrays<'py> {
    a: Numbers<'py>,
    coefficients: Numbers<'py>,
    initial: Numbers<'py>,
    affine: Option<Numbers<'py>>,
    lengths: Option<Vec<usize>>,
}

impl<'py> Arrays<'py> {
    fn of(arrays: [&Bound<'py, PyAny>; 3], affine: Option<&Bound<'py, PyAny>>, lengths: Option<Vec<usize>>) -> PyResult<Self> {
        let [a, coefficients, initial] = arrays;
        Ok(Self {
            a: Numbers::of(a, "the parameters")?,
            coefficients: Numbers::of(coefficients, "the coefficients")?,
            initial: Numbers::of(initial, "the initial state")?,
            affine: affine.map(|affine| Numbers::of(affine, "the affine input")).transpose()?,
            lengths,
        })
    }

    /// Batch and length.
    fn sizes(&self) -> PyResult<[usize; 2]> {
        match *self.coefficients.shape() {
            [batch, length, _] => Ok([batch, length]),
            ref other => Err(refused(format!("coefficients have the shape {other:?}, wanted [batch, length, channels]"))),
        }
    }

    fn with<T: Scalar, R>(&self, run: impl FnOnce(&Input<'_, T>) -> R) -> PyResult<R> {
        let (a, coefficients, initial) = (T::of(&self.a)?, T::of(&self.coefficients)?, T::of(&self.initial)?);
        let (affine, [batch, length]) = (self.affine.as_ref().map(T::of).transpose()?, self.sizes()?);
        let (affine, lengths) = (affine.as_deref(), self.lengths.as_deref());
        Ok(run(&Input { batch, length, columns: 1, a: &a, coefficients: &coefficients, initial: &initial, affine, lengths }))
    }

    fn work(&self, own: &Recurrence) -> PyResult<usize> {
        let [batch, length] = self.sizes()?;
        Ok(batch
            .saturating_mul(length)
            .saturating_mul(own.field().parameters() / own.field().channels().max(1) + own.field().hidden()))
    }
}

/// The states after each step, `[batch, length, hidden]`.
#[pyfunction]
#[pyo3(signature = (spec, a, coefficients, initial, affine=None, lengths=None, n_jobs=None))]
#[expect(clippy::too_many_arguments, reason = "keywords of Python")]
pub(crate) fn recurrence_forward(
    py: Python<'_>,
    spec: &str,
    a: &Bound<'_, PyAny>,
    coefficients: &Bound<'_, PyAny>,
    initial: &Bound<'_, PyAny>,
    affine: Option<&Bound<'_, PyAny>>,
    lengths: Option<Vec<usize>>,
    n_jobs: Option<isize>,
) -> PyResult<Py<PyAny>> {
    let (own, arrays) = (recurrence(spec)?, Arrays::of([a, coefficients, initial], affine, lengths)?);
    if arrays.a.is_single() { forward::<f32>(py, &own, &arrays, n_jobs) } else { forward::<f64>(py, &own, &arrays, n_jobs) }
}

fn forward<T: Scalar + Float>(
    py: Python<'_>,
    own: &Recurrence,
    arrays: &Arrays<'_>,
    n_jobs: Option<isize>,
) -> PyResult<Py<PyAny>> {
    let work = arrays.work(own)?;
    let states = arrays.with::<T, _>(|input| compute(py, work, jobs(n_jobs), || own.forward(input)))??.map_err(refused)?;
    let [batch, length] = arrays.sizes()?;
    shaped(py, states, &[batch, length, own.field().hidden()])
}

/// The gradients in the parameters, coefficients, initial state and affine input, from that in the states; none in the coefficients unless they are `driven`.
#[pyfunction]
#[pyo3(signature = (spec, a, coefficients, initial, states, gradient, affine=None, lengths=None, driven=true, n_jobs=None))]
#[expect(clippy::too_many_arguments, reason = "keywords of Python")]
pub(crate) fn recurrence_backward(
    py: Python<'_>,
    spec: &str,
    a: &Bound<'_, PyAny>,
    coefficients: &Bound<'_, PyAny>,
    initial: &Bound<'_, PyAny>,
    states: &Bound<'_, PyAny>,
    gradient: &Bound<'_, PyAny>,
    affine: Option<&Bound<'_, PyAny>>,
    lengths: Option<Vec<usize>>,
    driven: bool,
    n_jobs: Option<isize>,
) -> PyResult<Vec<Option<Py<PyAny>>>> {
    let arrays = Arrays::of([a, coefficients, initial], affine, lengths)?;
    let controls = if driven { Controls::Variable } else { Controls::Constant };
    let own = Recurrence::clone(&*recurrence(spec)?).with_controls(controls);
    let given = [Numbers::of(states, "the states")?, Numbers::of(gradient, "the gradient")?];
    if arrays.a.is_single() {
        backward::<f32>(py, &own, &arrays, &given, n_jobs)
    } else {
        backward::<f64>(py, &own, &arrays, &given, n_jobs)
    }
}

fn backward<T: Scalar + Float>(
    py: Python<'_>,
    own: &Recurrence,
    arrays: &Arrays<'_>,
    [states, gradient]: &[Numbers<'_>; 2],
    n_jobs: Option<isize>,
) -> PyResult<Vec<Option<Py<PyAny>>>> {
    let (states, gradient, work) = (T::of(states)?, T::of(gradient)?, arrays.work(own)?);
    let reverse = |input: &Input<'_, T>| compute(py, 4 * work, jobs(n_jobs), || own.backward(input, &states, &gradient));
    let Gradients { a, coefficients, initial, affine } = arrays.with(reverse)??.map_err(refused)?;
    let array = |values: Vec<T>, like: &Numbers<'_>| shaped(py, values, like.shape()).map(Some);
    let affine = match (affine, &arrays.affine) {
        (Some(values), Some(like)) => array(values, like)?,
        _ => None,
    };
    let coefficients = if own.controls() == Controls::Variable { array(coefficients, &arrays.coefficients)? } else { None };
    Ok(vec![array(a, &arrays.a)?, coefficients, array(initial, &arrays.initial)?, affine])
}
