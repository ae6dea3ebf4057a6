//! Signatures and log-signatures of batches of paths, and their reverse passes.

use std::borrow::Cow;

use ncde_signature::path::{Linear, Path, Series, Start, Windows};
use ncde_signature::{Error, Paths as Batch, Signature};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyInt, PyList};

use crate::array::{Numbers, Paths, Scalar, shaped};
use crate::error::Raised;
use crate::threads::{compute, jobs};
use crate::transform::{basis, transform};

/// Of which intervals.
enum Over {
    Whole,
    /// Every prefix.
    Stream,
    /// So many increments each.
    Windows(usize),
    /// Of time.
    Times(Windows),
}

/// What to do with NaN.
#[derive(Clone, Copy, PartialEq)]
enum Missing {
    Refuse,
    Forward,
    Linear,
}

/// Where observations lie in time, and how the path goes between them.
struct Times {
    /// For each path; none for 0, 1, 2, ...
    times: Option<Vec<Vec<f64>>>,
    missing: Missing,
}

/// Results, the number of rows of each path, and whether a row is one of several of its path.
type Rows<T> = (Vec<T>, Vec<usize>, bool);

/// The signature, or with a basis the log-signature, of paths.
#[pyfunction]
#[pyo3(signature = (paths, depth, basis_name=None, stream=false, windows=None, times=None, missing="refuse", n_jobs=None))]
#[expect(clippy::too_many_arguments, reason = "keywords of Python")]
pub(crate) fn signature(
    py: Python<'_>,
    paths: &Bound<'_, PyAny>,
    depth: usize,
    basis_name: Option<&str>,
    stream: bool,
    windows: Option<&Bound<'_, PyAny>>,
    times: Option<&Bound<'_, PyAny>>,
    missing: &str,
    n_jobs: Option<isize>,
) -> PyResult<Py<PyAny>> {
    let paths = Paths::of(paths)?;
    let transform = transform(paths.channels(), depth, basis(basis_name)?)?;
    let over = over(stream, windows)?;
    let missing = match missing {
        "refuse" => Missing::Refuse,
        "forward" => Missing::Forward,
        "linear" => Missing::Linear,
        other => {
            let text = format!("there is no `missing=\"{other}\"`; there are `refuse`, `forward` and `linear`");
            return Err(PyValueError::new_err(text));
        }
    };
    let times = times.map(|times| of_times(times, &paths)).transpose()?;
    let times =
        (times.is_some() || missing != Missing::Refuse || matches!(over, Over::Times(_))).then_some(Times { times, missing });
    let call = Call { transform: &transform, over, times, threads: jobs(n_jobs) };
    if paths.is_single() { call.run::<f32>(py, &paths) } else { call.run::<f64>(py, &paths) }
}

/// The gradient of a loss in the paths, from that in their signatures; both in `[batch, ...]` as they are given and returned.
#[pyfunction]
#[pyo3(signature = (paths, gradient, depth, basis_name=None, stream=false, windows=None, n_jobs=None))]
#[expect(clippy::too_many_arguments, reason = "keywords of Python")]
pub(crate) fn signature_backward(
    py: Python<'_>,
    paths: &Bound<'_, PyAny>,
    gradient: &Bound<'_, PyAny>,
    depth: usize,
    basis_name: Option<&str>,
    stream: bool,
    windows: Option<&Bound<'_, PyAny>>,
    n_jobs: Option<isize>,
) -> PyResult<Py<PyAny>> {
    let paths = Paths::of(paths)?;
    let (lengths, transform) = (paths.lengths(), transform(paths.channels(), depth, basis(basis_name)?)?);
    let Paths::Dense(values) = paths else {
        return Err(PyTypeError::new_err(
            "gradients are of one array of paths; pad paths of different lengths with their last observation",
        ));
    };
    let over = over(stream, windows)?;
    if matches!(over, Over::Times(_)) {
        return Err(PyValueError::new_err("gradients are of windows of so many increments; give `windows` as a whole number"));
    }
    let gradient = Numbers::of(gradient, "the gradient")?;
    let call = Call { transform: &transform, over, times: None, threads: jobs(n_jobs) };
    if values.is_single() {
        call.backward::<f32>(py, &values, &lengths, &gradient)
    } else {
        call.backward::<f64>(py, &values, &lengths, &gradient)
    }
}

/// The number of coordinates.
#[pyfunction]
pub(crate) fn signature_length(channels: usize, depth: usize, basis_name: Option<&str>) -> PyResult<usize> {
    Ok(transform(channels, depth, basis(basis_name)?)?.len())
}

/// A name for each coordinate.
#[pyfunction]
pub(crate) fn signature_labels(channels: usize, depth: usize, basis_name: Option<&str>) -> PyResult<Vec<String>> {
    Ok(transform(channels, depth, basis(basis_name)?)?.labels())
}

fn over(stream: bool, windows: Option<&Bound<'_, PyAny>>) -> PyResult<Over> {
    let Some(windows) = windows else { return Ok(if stream { Over::Stream } else { Over::Whole }) };
    if stream {
        return Err(PyValueError::new_err("`stream` and `windows` are two things; leave one of them out"));
    }
    if windows.cast::<PyInt>().is_ok() {
        return Ok(Over::Windows(windows.extract()?));
    }
    if windows.cast::<PyFloat>().is_ok() {
        return Ok(Over::Times(Windows::Duration(windows.extract()?)));
    }
    Ok(Over::Times(Windows::Times(f64::of(&Numbers::of(windows, "`windows`")?)?.into_owned())))
}

/// The times of each path: the same of all, a row of each, or a list.
fn of_times(times: &Bound<'_, PyAny>, paths: &Paths<'_>) -> PyResult<Vec<Vec<f64>>> {
    let lengths = paths.lengths();
    let wrong = |seen: String| PyValueError::new_err(format!("times {seen}, but the paths have {lengths:?} observations"));
    if paths.is_ragged() {
        let list = times.cast::<PyList>().map_err(|_| PyTypeError::new_err("times of a list of paths are a list of arrays"))?;
        let times =
            list.iter().map(|own| f64::of(&Numbers::of(&own, "times")?).map(Cow::into_owned)).collect::<PyResult<Vec<_>>>()?;
        if times.iter().map(Vec::len).ne(lengths.iter().copied()) {
            return Err(wrong(format!("have {:?} numbers", times.iter().map(Vec::len).collect::<Vec<_>>())));
        }
        return Ok(times);
    }
    let numbers = Numbers::of(times, "times")?;
    let (batch, length) = (lengths.len(), lengths.first().copied().unwrap_or(0));
    let own = f64::of(&numbers)?.into_owned();
    match numbers.shape() {
        [seen] if *seen == length => Ok(vec![own; batch]),
        [rows, seen] if *rows == batch && *seen == length => Ok(own.chunks(length.max(1)).map(<[f64]>::to_vec).collect()),
        other => Err(wrong(format!("have the shape {other:?}"))),
    }
}

struct Call<'a> {
    transform: &'a Signature,
    over: Over,
    times: Option<Times>,
    threads: usize,
}

impl Call<'_> {
    fn work(&self, lengths: &[usize]) -> usize {
        lengths.iter().sum::<usize>().saturating_mul(self.transform.shape().len())
    }

    fn run<T: Scalar>(&self, py: Python<'_>, paths: &Paths<'_>) -> PyResult<Py<PyAny>> {
        let (lengths, channels) = (paths.lengths(), paths.channels());
        let values = match paths {
            Paths::Dense(numbers) => T::of(numbers)?,
            Paths::Ragged(arrays) => arrays.iter().map(T::of).collect::<PyResult<Vec<_>>>()?.concat().into(),
        };
        let result = compute(py, self.work(&lengths), self.threads, || self.rows(&values, &lengths, channels))?;
        let (values, rows, is_many) = result.map_err(Raised::raised)?;
        let len = self.transform.len();
        let same = rows.windows(2).all(|pair| pair[0] == pair[1]);
        match (is_many, paths.is_one()) {
            (false, true) => shaped(py, values, &[len]),
            (false, false) => shaped(py, values, &[rows.len(), len]),
            (true, true) => shaped(py, values, &[rows.first().copied().unwrap_or(0), len]),
            (true, false) if same && !paths.is_ragged() => {
                shaped(py, values, &[rows.len(), rows.first().copied().unwrap_or(0), len])
            }
            (true, false) => {
                let list = PyList::empty(py);
                let mut rest = &values[..];
                for count in rows {
                    let (own, others) = rest.split_at(count * len);
                    rest = others;
                    list.append(shaped(py, own.to_vec(), &[count, len])?)?;
                }
                Ok(list.into_any().unbind())
            }
        }
    }

    fn rows<T: Scalar>(&self, values: &[T], lengths: &[usize], channels: usize) -> Result<Rows<T>, Error> {
        let Some(times) = &self.times else { return self.plain(values, lengths, channels) };
        let Polygons { vertices, lengths, rows } = self.polygons(values, lengths, channels, times)?;
        if let Over::Times(_) = self.over {
            return Ok((self.transform.of(&Batch::ragged(&vertices, &lengths, channels)?)?, rows, true));
        }
        self.plain(&vertices, &lengths, channels)
    }

    fn plain<T: Scalar>(&self, values: &[T], lengths: &[usize], channels: usize) -> Result<Rows<T>, Error> {
        let paths = Batch::ragged(values, lengths, channels)?;
        let rows = |of: &dyn Fn(usize) -> usize| lengths.iter().map(|length| of(length - 1)).collect();
        Ok(match &self.over {
            Over::Stream => (self.transform.stream(&paths)?, rows(&|steps| steps), true),
            Over::Windows(size) => {
                let intervals = paths.windows(*size)?;
                (self.transform.intervals(&paths, &intervals)?, rows(&|steps| steps.div_ceil(*size)), true)
            }
            Over::Whole | Over::Times(_) => (self.transform.of(&paths)?, vec![1; lengths.len()], false),
        })
    }

    /// Of paths with times, or with values that are missing.
    fn polygons<T: Scalar>(
        &self,
        values: &[T],
        lengths: &[usize],
        channels: usize,
        Times { times, missing }: &Times,
    ) -> Result<Polygons<T>, Error> {
        let mut all = Polygons { vertices: Vec::new(), lengths: Vec::new(), rows: Vec::new() };
        let (mut rest, mut polyline) = (values, Vec::new());
        for (i, &length) in lengths.iter().enumerate() {
            let (own, others) = rest.split_at(length * channels);
            rest = others;
            let times = times.as_ref().map_or_else(|| (0..length).map(|t| t as f64).collect(), |times| times[i].clone());
            let path: Box<dyn Polygon<T>> = match missing {
                Missing::Refuse => Box::new(Linear::new(&Series::new(times, own.to_vec(), channels)?.complete()?)?),
                Missing::Forward => {
                    Box::new(Linear::new(&Series::with_missing(times, own.to_vec(), channels)?.fill_forward(&Start::Required)?)?)
                }
                Missing::Linear => Box::new(Linear::across_gaps(&Series::with_missing(times, own.to_vec(), channels)?)?),
            };
            let windows = if let Over::Times(windows) = &self.over { windows } else { &Windows::Times(Vec::new()) };
            let ends = windows.ends(path.knots())?;
            all.rows.push(ends.len() - 1);
            for window in ends.windows(2) {
                path.polygon(window[0], window[1], &mut polyline)?;
                all.lengths.push(polyline.len() / channels);
                all.vertices.extend_from_slice(&polyline);
            }
        }
        Ok(all)
    }

    fn backward<T: Scalar>(
        &self,
        py: Python<'_>,
        values: &Numbers<'_>,
        lengths: &[usize],
        gradient: &Numbers<'_>,
    ) -> PyResult<Py<PyAny>> {
        let (own, gradient, channels) = (T::of(values)?, T::of(gradient)?, values.shape().last().copied().unwrap_or(0));
        let reverse = || -> Result<Vec<T>, Error> {
            let paths = Batch::ragged(&own, lengths, channels)?;
            match &self.over {
                Over::Stream => self.transform.stream_backward(&paths, &gradient),
                Over::Windows(size) => self.transform.intervals_backward(&paths, &paths.windows(*size)?, &gradient),
                Over::Whole | Over::Times(_) => self.transform.of_backward(&paths, &gradient),
            }
        };
        let out = compute(py, 4 * self.work(lengths), self.threads, reverse)?.map_err(Raised::raised)?;
        shaped(py, out, values.shape())
    }
}

/// Paths of straight lines: one for each window of time, else one for each path.
struct Polygons<T> {
    vertices: Vec<T>,
    /// How many vertices each has.
    lengths: Vec<usize>,
    /// How many polygons each path is cut into.
    rows: Vec<usize>,
}

/// A path of straight lines, whatever its causality.
trait Polygon<T> {
    fn knots(&self) -> &[f64];
    fn polygon(&self, from: f64, to: f64, out: &mut Vec<T>) -> Result<(), Error>;
}

impl<T: Scalar, P: Path<T>> Polygon<T> for P {
    fn knots(&self) -> &[f64] {
        Path::knots(self)
    }

    fn polygon(&self, from: f64, to: f64, out: &mut Vec<T>) -> Result<(), Error> {
        self.polyline(from, to, 1, out)
    }
}
