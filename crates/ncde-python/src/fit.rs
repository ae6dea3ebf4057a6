//! From series and settings to a model, in a thread of its own: the thread of the interpreter listens to Ctrl-C meanwhile, and tells what happens.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

use ncde_train::{Config, Event, Run, TrainRequest};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::data::Data;
use crate::error::Raised;
use crate::keys;
use crate::model::Model;
use crate::threads::{jobs, on};

/// How often signals are looked at.
const PAUSE: Duration = Duration::from_millis(50);

/// Runs that take steps now, and the process that they are of.
static RUNNING: AtomicUsize = AtomicUsize::new(0);
static PROCESS: AtomicU32 = AtomicU32::new(0);

/// Counts a run as long as it lives.
struct Running;

impl Running {
    /// Refused in a process that was forked while another thread took steps: that thread held the lock of gradients, and is not there to give it back.
    fn begin() -> PyResult<Self> {
        let process = std::process::id();
        if RUNNING.load(Ordering::SeqCst) > 0 && PROCESS.load(Ordering::SeqCst) != process {
            return Err(PyRuntimeError::new_err(
                "this process was forked while a model was trained in another thread; start it by `spawn` or `forkserver`",
            ));
        }
        PROCESS.store(process, Ordering::SeqCst);
        RUNNING.fetch_add(1, Ordering::SeqCst);
        Ok(Self)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        RUNNING.fetch_sub(1, Ordering::SeqCst);
    }
}

/// What a run tells.
enum Told {
    Line(String),
    Over(PyResult<Model>),
}

/// Trains a model on all series, validation aside. `settings` are keys of the configuration and JSON values; `directory` is empty, and for this run alone. `tell` is called with
/// a line for each thing that happens. After Ctrl-C the best weights so far are returned with `True`.
#[pyfunction]
#[pyo3(signature = (data, settings, directory, *, command="", started="", tell=None, n_jobs=None))]
#[expect(clippy::too_many_arguments, reason = "keywords of Python")]
pub(crate) fn fit(
    py: Python<'_>,
    data: &Data,
    settings: Vec<(String, String)>,
    directory: PathBuf,
    command: &str,
    started: &str,
    tell: Option<Py<PyAny>>,
    n_jobs: Option<isize>,
) -> PyResult<(Model, bool)> {
    let mut config = Config::default();
    for (key, json) in settings {
        keys::put(&mut config, &key, &json)?;
    }
    let (set, layout, stop) = (data.set.clone(), data.layout.clone(), Arc::new(AtomicBool::new(false)));
    let (sender, mut receiver) = channel();
    let (command, started, threads) = (command.to_owned(), started.to_owned(), jobs(n_jobs));
    let flag = stop.clone();
    let work = move || {
        let result = on(threads, || {
            let run = Run::new(&config, (*set).clone(), None).map_err(Raised::raised)?.with_schema(layout);
            let _running = if run.settings().is_closed_form() { None } else { Some(Running::begin()?) };
            run.warnings().iter().for_each(|warning| say(&sender, &format!("warning: {warning}")));
            let request = TrainRequest { directory: &directory, resume: false, command: &command, started: &started };
            let steps = run.settings().plan.steps;
            run.train(&request, &mut |event| watched(&event, steps, &sender, &flag)).map_err(Raised::raised)?;
            Model::of_directory(&directory)
        });
        // Nobody waits if the process ends meanwhile.
        let _ = sender.send(Told::Over(result.and_then(|model| model)));
    };
    let thread = std::thread::Builder::new().name("ncde fit".into()).stack_size(STACK).spawn(work);
    thread.map_err(Raised::raised)?;
    loop {
        let receiver = &mut receiver;
        match py.detach(move || receiver.recv_timeout(PAUSE)) {
            Ok(Told::Over(model)) => return Ok((model?, stop.load(Ordering::Relaxed))),
            Ok(Told::Line(line)) => {
                if let Some(tell) = &tell {
                    tell.call1(py, (line,))?;
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                return Err(PyRuntimeError::new_err("the thread of the fit ended without a result"));
            }
        }
        if let Err(signal) = py.check_signals() {
            // The second does not wait.
            if stop.swap(true, Ordering::Relaxed) {
                return Err(signal);
            }
        }
    }
}

/// The stack of a thread of Python is as large as this on most machines.
const STACK: usize = 8 << 20;

fn say(sender: &Sender<Told>, line: &str) {
    let _ = sender.send(Told::Line(line.into()));
}

/// Tells what happens, and breaks off if that is wanted.
fn watched(event: &Event<'_>, steps: usize, sender: &Sender<Told>, stop: &AtomicBool) -> ControlFlow<()> {
    match event {
        Event::Started { parameters, .. } => say(sender, &format!("{parameters} weights, {steps} steps")),
        Event::Recovered { recovery, .. } => {
            say(sender, &format!("step {}: {}; back to step {}", recovery.step, recovery.reason, recovery.from));
        }
        Event::Evaluated { point, best } => {
            let seen = point.metric.map_or_else(String::new, |value| format!(", validation {value:.4}"));
            let best = best.map_or_else(String::new, |best| format!(" (best {:.4} at step {})", best.value, best.step));
            say(sender, &format!("step {} of {steps}: training loss {:.4}{seen}{best}", point.step, point.loss));
        }
        Event::Solved { chosen, error } => say(sender, &format!("chosen by leave-out error ({error:.4}): {chosen}")),
        Event::Overflowed { part, cases } => say(sender, &format!("warning: states overflow on {} cases of {part}", cases.len())),
        Event::Step { .. } | Event::Testing => {}
    }
    if stop.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}
