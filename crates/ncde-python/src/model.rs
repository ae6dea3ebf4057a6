//! A trained model: the files of its directory, predictions, and series that it follows.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};

use ncde_data::{Dataset, ReadOptions};
use ncde_report::RunRecord;
use ncde_runtime::{At, Prediction, SPEC, Session, Task, WEIGHTS};
use ncde_train::{CONFIG, Config, options_of, predict_all, schema_of};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::array::{Numbers, Scalar, shaped};
use crate::data::Data;
use crate::error::Raised;
use crate::threads::{compute, jobs};

/// The file with what was done in a run.
const RECORD: &str = "run.json";

/// A model, and the files of its directory by name.
#[pyclass(frozen, module = "ncde._ncde")]
pub(crate) struct Model {
    own: ncde_runtime::Model,
    files: BTreeMap<String, Vec<u8>>,
}

impl Model {
    /// Of a directory, the files that make it what it is: checkpoints and pages aside.
    pub(crate) fn of_directory(directory: &Path) -> PyResult<Self> {
        let own = ncde_runtime::Model::load(directory).map_err(Raised::raised)?;
        let mut files = BTreeMap::new();
        for name in [SPEC, WEIGHTS, CONFIG, RECORD] {
            let path = directory.join(name);
            if path.exists() {
                files.insert(name.to_owned(), std::fs::read(path).map_err(Raised::raised)?);
            }
        }
        Ok(Self { own, files })
    }

    fn record(&self) -> PyResult<RunRecord> {
        let text = self.files.get(RECORD).and_then(|bytes| std::str::from_utf8(bytes).ok());
        let text =
            text.ok_or_else(|| PyValueError::new_err(format!("the model has no `{RECORD}`, of which a report is made")))?;
        RunRecord::from_json(text, Path::new(RECORD)).map_err(Raised::raised)
    }

    /// The dataset in the form of that which the model was trained on.
    fn aligned(&self, data: &Data) -> PyResult<Dataset> {
        let schema = schema_of(self.own.spec()).map_err(Raised::raised)?;
        let set = Dataset { targets: ncde_data::Targets::None, ..(*data.set).clone() };
        set.aligned(&schema).map_err(Raised::raised)
    }

    fn predictions(&self, py: Python<'_>, data: &Data, at: At, n_jobs: Option<isize>) -> PyResult<Vec<Vec<Prediction>>> {
        let set = self.aligned(data)?;
        let answered = compute(py, usize::MAX, jobs(n_jobs), || predict_all(&self.own, &set, at))?.map_err(Raised::raised)?;
        if let Some(&first) = answered.overflowed.first() {
            let (count, all, id) = (answered.overflowed.len(), set.cases.len(), &set.cases[first].id);
            return Err(PyValueError::new_err(format!(
                "{count} of {all} cases have no prediction, as a state overflows: the first is `{id}`"
            )));
        }
        Ok(answered.predictions)
    }
}

#[pymethods]
impl Model {
    #[staticmethod]
    fn load(directory: PathBuf) -> PyResult<Self> {
        Self::of_directory(&directory)
    }

    /// From the files of its directory.
    #[staticmethod]
    fn from_files(files: BTreeMap<String, Vec<u8>>) -> PyResult<Self> {
        let file =
            |name: &str| files.get(name).ok_or_else(|| PyValueError::new_err(format!("there is no `{name}` among the files")));
        let own = ncde_runtime::Model::from_bytes(file(SPEC)?, file(WEIGHTS)?).map_err(Raised::raised)?;
        Ok(Self { own, files })
    }

    #[getter]
    fn files<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let all = PyDict::new(py);
        self.files.iter().try_for_each(|(name, bytes)| all.set_item(name, PyBytes::new(py, bytes)))?;
        Ok(all)
    }

    /// Writes the directory, with its report if there is a record.
    fn save(&self, py: Python<'_>, directory: PathBuf) -> PyResult<()> {
        let mut files: Vec<(&str, &[u8])> = self.files.iter().map(|(name, bytes)| (name.as_str(), &bytes[..])).collect();
        let record = self.record().ok().map(|record| [RunRecord { directory: directory.display().to_string(), ..record }]);
        let pages = record.map(|record| {
            [("html", ncde_report::html(&record)), ("md", ncde_report::markdown(&record)), ("json", ncde_report::json(&record))]
        });
        let pages: Vec<_> = pages.iter().flatten().map(|(ending, text)| (format!("report.{ending}"), text)).collect();
        files.extend(pages.iter().map(|(name, text)| (name.as_str(), text.as_bytes())));
        py.detach(|| {
            std::fs::create_dir_all(&directory)?;
            files.iter().try_for_each(|(name, bytes)| ncde_files::write_whole(directory.join(name), bytes))
        })
        .map_err(Raised::raised)
    }

    /// What the model is, as JSON.
    #[getter]
    fn spec(&self) -> PyResult<String> {
        serde_json::to_string(self.own.spec()).map_err(|e| PyValueError::new_err(e.to_string()))
    }

    /// The configuration of the run: full keys, with their values as JSON.
    #[getter]
    fn settings(&self) -> PyResult<BTreeMap<String, String>> {
        let text = self.files.get(CONFIG).and_then(|bytes| std::str::from_utf8(bytes).ok()).unwrap_or_default();
        let config = Config::from_toml(text).map_err(Raised::raised)?;
        let tables = serde_json::to_value(config).map_err(|e| PyValueError::new_err(e.to_string()))?;
        let keys = tables.as_object().into_iter().flatten().flat_map(|(table, keys)| {
            keys.as_object().into_iter().flatten().map(move |(key, value)| (format!("{table}.{key}"), value.to_string()))
        });
        Ok(keys.collect())
    }

    /// The page of the run.
    fn report(&self) -> PyResult<String> {
        Ok(ncde_report::html(&[self.record()?]))
    }

    /// The run in plain text.
    fn summary(&self) -> PyResult<String> {
        Ok(ncde_report::terminal(&self.record()?, 80, ncde_report::Glyphs::Unicode))
    }

    /// A file, read as that which the model was trained on.
    fn read(&self, py: Python<'_>, path: PathBuf) -> PyResult<Data> {
        let spec = self.own.spec();
        let schema = schema_of(spec).map_err(Raised::raised)?;
        let options = ReadOptions { without_labels: true, ..options_of(spec, &schema) };
        py.detach(|| Data::load(&path, &options))
    }

    /// `[cases, outputs]` at the ends of series, or `[observations, outputs]`; of classes, probabilities, then the class that the model decides for as a last column.
    #[pyo3(signature = (data, *, steps=false, n_jobs=None))]
    fn predict(&self, py: Python<'_>, data: &Data, steps: bool, n_jobs: Option<isize>) -> PyResult<Py<PyAny>> {
        let predictions = self.predictions(py, data, if steps { At::Steps } else { At::End }, n_jobs)?;
        let mut values = Vec::new();
        let mut rows = 0;
        for prediction in predictions.iter().flatten() {
            rows += 1;
            numbers(prediction, &mut values);
        }
        shaped(py, values, &[rows, self.outputs()])
    }

    /// How many numbers a prediction has; of a forecast the values, then the widths of their intervals.
    #[getter]
    fn outputs(&self) -> usize {
        let outputs = self.own.spec().task.outputs(self.own.spec().channels.len());
        match &self.own.spec().task {
            Task::Classification { .. } => outputs + 1,
            Task::Regression { .. } => outputs,
            Task::Forecast(_) => 2 * outputs,
        }
    }

    /// A series that the model follows.
    fn start(&self, statics: Vec<f64>) -> PyResult<Stream> {
        Ok(Stream { own: Mutex::new(self.own.session(&statics).map_err(Raised::raised)?) })
    }

    /// A series that it goes on with, from the bytes of its state.
    fn resume(&self, state: &[u8]) -> PyResult<Stream> {
        let state =
            serde_json::from_slice(state).map_err(|e| PyValueError::new_err(format!("not the state of a series: {e}")))?;
        Ok(Stream { own: Mutex::new(self.own.resume(state).map_err(Raised::raised)?) })
    }
}

/// Appends the numbers of a prediction.
fn numbers(prediction: &Prediction, to: &mut Vec<f64>) {
    match prediction {
        Prediction::Class { class, probabilities } => {
            to.extend(probabilities);
            to.push(*class as f64);
        }
        Prediction::Value(value) => to.push(*value),
        Prediction::Values(forecasts) => {
            to.extend(&forecasts.values);
            to.extend(&forecasts.widths);
        }
    }
}

/// A model and one series that it follows.
#[pyclass(frozen, module = "ncde._ncde")]
pub(crate) struct Stream {
    own: Mutex<Session>,
}

impl Stream {
    fn locked(&self) -> PyResult<MutexGuard<'_, Session>> {
        self.own
            .try_lock()
            .map_err(|_| PyRuntimeError::new_err("another thread uses this stream now; give each thread one of its own"))
    }
}

#[pymethods]
impl Stream {
    /// Takes one observation, `[channels]`, or several, `[observations, channels]` with as many times.
    fn push(&self, py: Python<'_>, times: &Bound<'_, PyAny>, values: &Bound<'_, PyAny>) -> PyResult<()> {
        let (times, values) = (Numbers::of(times, "times")?, Numbers::of(values, "values")?);
        let (times, values) = (f64::of(&times)?, f64::of(&values)?);
        let session = &mut *self.locked()?;
        let work = if times.len() == 1 { 0 } else { usize::MAX };
        compute(py, work, 1, || match &times[..] {
            [time] => session.push(*time, &values),
            times => session.push_all(times, &values),
        })?
        .map_err(Raised::raised)
    }

    /// What is known of later times, `[steps ahead, known channels]`.
    fn know_ahead(&self, values: &Bound<'_, PyAny>) -> PyResult<()> {
        self.locked()?.know_ahead(&f64::of(&Numbers::of(values, "values")?)?).map_err(Raised::raised)
    }

    /// The numbers of a prediction, as those of a row of [`Model::predict`].
    fn predict(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let session = &*self.locked()?;
        let prediction = compute(py, 0, 1, || session.predict())?.map_err(Raised::raised)?;
        let mut values = Vec::new();
        numbers(&prediction, &mut values);
        let len = values.len();
        shaped(py, values, &[len])
    }

    /// The state, as portable bytes.
    fn state<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = serde_json::to_vec(self.locked()?.state()).map_err(|e| PyValueError::new_err(e.to_string()))?;
        Ok(PyBytes::new(py, &bytes))
    }

    #[getter]
    fn observations(&self) -> PyResult<usize> {
        Ok(self.locked()?.state().observations())
    }

    #[getter]
    fn time(&self) -> PyResult<Option<f64>> {
        Ok(self.locked()?.state().time())
    }
}
