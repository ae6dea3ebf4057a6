//! Series with their targets, from arrays or from a file.

use std::path::PathBuf;
use std::sync::Arc;

use ncde_data::{Case, Clock, Columns, Dataset, ReadOptions, Targets, TaskName};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::array::{Numbers, Scalar, shaped};
use crate::error::Raised;

/// Series with times, static covariates, targets and groups, and how the columns of their file were read.
#[pyclass(frozen, module = "ncde._ncde")]
pub(crate) struct Data {
    pub(crate) set: Arc<Dataset>,
    pub(crate) layout: Option<serde_json::Value>,
    #[pyo3(get)]
    warnings: Vec<String>,
}

#[pymethods]
impl Data {
    /// `values` are `[sum of lengths, channels]`, one series after the other; `times` and targets of observations lie the same way.
    #[new]
    #[pyo3(signature = (values, lengths, channels=None, *, times=None, statics=None, static_names=None, ids=None, groups=None, name="arrays"))]
    #[expect(clippy::too_many_arguments, reason = "keywords of Python")]
    fn new(
        values: &Bound<'_, PyAny>,
        lengths: Vec<usize>,
        channels: Option<Vec<String>>,
        times: Option<&Bound<'_, PyAny>>,
        statics: Option<&Bound<'_, PyAny>>,
        static_names: Option<Vec<String>>,
        ids: Option<Vec<String>>,
        groups: Option<Vec<String>>,
        name: &str,
    ) -> PyResult<Self> {
        let numbers = Numbers::of(values, "the values of series")?;
        let [rows, width] = *numbers.shape() else {
            return Err(PyValueError::new_err(format!(
                "values have the shape {:?}, wanted [observations, channels]",
                numbers.shape()
            )));
        };
        let total = lengths.iter().fold(0_usize, |sum, &length| sum.saturating_add(length));
        let times = times.map(|times| Numbers::of(times, "times")).transpose()?;
        let times = times.as_ref().map(f64::of).transpose()?;
        if rows != total || times.as_ref().is_some_and(|times| times.len() != total) {
            let seen = times.map_or(rows, |times| times.len());
            return Err(PyValueError::new_err(format!(
                "{seen} observations or times, but the lengths of the series add up to {total}"
            )));
        }
        let statics = statics.map(|statics| Numbers::of(statics, "statics")).transpose()?;
        let covariates = statics.as_ref().map_or(0, |statics| statics.shape().get(1).copied().unwrap_or(0));
        if let Some(seen) = statics.as_ref().filter(|statics| statics.shape() != [lengths.len(), covariates]) {
            let text = format!(
                "statics have the shape {:?}, wanted [{}, covariates]: a row for each series",
                seen.shape(),
                lengths.len()
            );
            return Err(PyValueError::new_err(text));
        }
        let statics = statics.as_ref().map(f64::of).transpose()?;
        let ids = ids.unwrap_or_else(|| (1..=lengths.len()).map(|i| i.to_string()).collect());
        if ids.len() != lengths.len() {
            return Err(PyValueError::new_err(format!("{} ids for {} series", ids.len(), lengths.len())));
        }
        let values = f64::of(&numbers)?;
        let mut cases = Vec::with_capacity(lengths.len());
        let mut start = 0;
        for (i, (id, length)) in ids.into_iter().zip(lengths).enumerate() {
            let end = start + length;
            cases.push(Case {
                id,
                times: times.as_ref().map_or_else(|| (0..length).map(|t| t as f64).collect(), |times| times[start..end].to_vec()),
                values: values[start * width..end * width].to_vec(),
                statics: statics.as_ref().map_or_else(Vec::new, |statics| statics[i * covariates..(i + 1) * covariates].to_vec()),
            });
            start = end;
        }
        let named = |prefix: &str, count: usize| (1..=count).map(|i| format!("{prefix}_{i}")).collect::<Vec<_>>();
        let set = Dataset {
            name: name.into(),
            channels: channels.unwrap_or_else(|| named("channel", width)),
            statics: static_names.unwrap_or_else(|| named("static", covariates)),
            times: if times.is_some() { Clock::Numbers } else { Clock::Index },
            cases,
            targets: Targets::None,
            vocabulary: None,
            groups,
        };
        if (set.channels.len(), set.statics.len()) != (width, covariates) {
            let text = format!(
                "{} names of channels and {} of statics, but there are {width} and {covariates}",
                set.channels.len(),
                set.statics.len()
            );
            return Err(PyValueError::new_err(text));
        }
        set.check().map_err(Raised::raised)?;
        Ok(Self { set: Arc::new(set), layout: None, warnings: Vec::new() })
    }

    /// A file of any format that the command line reads. `columns` says what columns are for, by the keys of the configuration.
    #[staticmethod]
    #[pyo3(signature = (path, *, labels=None, task=None, columns=None))]
    fn read(
        py: Python<'_>,
        path: PathBuf,
        labels: Option<PathBuf>,
        task: Option<&str>,
        columns: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let columns = match columns {
            None => Columns::default(),
            Some(columns) => {
                let text: String = py.import("json")?.call_method1("dumps", (columns,))?.extract()?;
                serde_json::from_str(&text).map_err(|e| PyValueError::new_err(e.to_string()))?
            }
        };
        let options = ReadOptions { labels, columns, task: task.map(task_name).transpose()?, ..ReadOptions::default() };
        py.detach(|| Self::load(&path, &options))
    }

    /// The same series with a class for each, an index into `names`.
    fn with_classes(&self, names: Vec<String>, of: Vec<usize>) -> PyResult<Self> {
        self.with(Targets::Classes { names, of })
    }

    /// The same series with a number for each.
    fn with_values(&self, of: Vec<f64>) -> PyResult<Self> {
        self.with(Targets::Values { name: "y".into(), of })
    }

    /// The same series with a class for each observation, one series after the other; -1 where there is none.
    fn with_class_steps(&self, names: Vec<String>, of: Vec<i64>) -> PyResult<Self> {
        let of = self.cut(&of)?.into_iter().map(|own| own.iter().map(|&class| usize::try_from(class).ok()).collect()).collect();
        self.with(Targets::ClassSteps { names, of })
    }

    /// The same series with a number for each observation, one series after the other; NaN where there is none.
    fn with_value_steps(&self, of: Vec<f64>) -> PyResult<Self> {
        let of = self.cut(&of)?.into_iter().map(<[f64]>::to_vec).collect();
        self.with(Targets::ValueSteps { name: "y".into(), of })
    }

    /// The series without their last observations, and these, `[cases, count, channels]`.
    fn split_ends(&self, py: Python<'_>, count: usize) -> PyResult<(Self, Py<PyAny>)> {
        let channels = self.set.channels.len();
        let (mut set, mut ends) = ((*self.set).clone(), Vec::new());
        for case in &mut set.cases {
            let Some(left) = case.len().checked_sub(count).filter(|left| *left > 0) else {
                let text = format!("series `{}` has {} observations, too few to hold {count} of them back", case.id, case.len());
                return Err(PyValueError::new_err(text));
            };
            ends.extend(case.values.drain(left * channels..));
            case.times.truncate(left);
        }
        let shape = [set.cases.len(), count, channels];
        Ok((
            Self { set: Arc::new(Dataset { targets: Targets::None, ..set }), layout: None, warnings: Vec::new() },
            shaped(py, ends, &shape)?,
        ))
    }

    /// The number of series.
    fn __len__(&self) -> usize {
        self.set.cases.len()
    }

    #[getter]
    fn lengths(&self) -> Vec<usize> {
        self.set.cases.iter().map(Case::len).collect()
    }

    /// All observations, `[sum of lengths, channels]`.
    #[getter]
    fn values(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let values: Vec<f64> = self.set.cases.iter().flat_map(|case| case.values.iter().copied()).collect();
        shaped(py, values, &[self.set.cases.iter().map(Case::len).sum(), self.set.channels.len()])
    }

    /// Their times.
    #[getter]
    fn times(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let times: Vec<f64> = self.set.cases.iter().flat_map(|case| case.times.iter().copied()).collect();
        let len = times.len();
        shaped(py, times, &[len])
    }

    #[getter]
    fn ids(&self) -> Vec<String> {
        self.set.cases.iter().map(|case| case.id.clone()).collect()
    }

    #[getter]
    fn channels(&self) -> Vec<String> {
        self.set.channels.clone()
    }

    /// What is to be predicted: `none`, `classes`, `values`, `class-steps` or `value-steps`.
    #[getter]
    fn targets(&self) -> &'static str {
        match &self.set.targets {
            Targets::None => "none",
            Targets::Classes { .. } => "classes",
            Targets::Values { .. } => "values",
            Targets::ClassSteps { .. } => "class-steps",
            Targets::ValueSteps { .. } => "value-steps",
        }
    }

    /// The names of the classes.
    #[getter]
    fn classes(&self) -> Vec<String> {
        self.set.targets.classes().to_vec()
    }

    /// The class or number of each series.
    #[getter]
    fn labels(&self) -> Vec<f64> {
        match &self.set.targets {
            Targets::Classes { of, .. } => of.iter().map(|&class| class as f64).collect(),
            Targets::Values { of, .. } => of.clone(),
            Targets::None | Targets::ClassSteps { .. } | Targets::ValueSteps { .. } => Vec::new(),
        }
    }
}

impl Data {
    pub(crate) fn load(path: &std::path::Path, options: &ReadOptions) -> PyResult<Self> {
        let loaded = ncde_data::load(path, options).map_err(Raised::raised)?;
        let layout = loaded.layout.as_ref().map(serde_json::to_value).transpose();
        let layout = layout.map_err(|e| PyValueError::new_err(e.to_string()))?;
        let warnings = loaded.warnings.iter().map(ToString::to_string).collect();
        Ok(Self { set: Arc::new(loaded.data), layout, warnings })
    }

    /// One piece for each series.
    fn cut<'a, T>(&self, mut of: &'a [T]) -> PyResult<Vec<&'a [T]>> {
        let total: usize = self.set.cases.iter().map(Case::len).sum();
        if of.len() != total {
            return Err(PyValueError::new_err(format!("{} labels for {total} observations", of.len())));
        }
        let piece = |case: &Case| {
            let (own, rest) = of.split_at(case.len());
            of = rest;
            own
        };
        Ok(self.set.cases.iter().map(piece).collect())
    }

    fn with(&self, targets: Targets) -> PyResult<Self> {
        let set = Dataset { targets, ..(*self.set).clone() };
        set.check().map_err(Raised::raised)?;
        Ok(Self { set: Arc::new(set), layout: self.layout.clone(), warnings: self.warnings.clone() })
    }
}

/// A task by its name in the configuration.
pub(crate) fn task_name(name: &str) -> PyResult<TaskName> {
    let value = serde_json::Value::String(name.into());
    serde_json::from_value(value).map_err(|e| PyValueError::new_err(e.to_string()))
}
