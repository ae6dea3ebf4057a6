//! The jobs of a plan, one after the other. A finished one is never done again.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use ncde_files::Lock;
use ncde_train::Device;

use crate::Error;
use crate::plan::{Budget, Control, Job, Plan};
use crate::record::{self, RESULT, Record};

/// What happens while an experiment goes on.
#[expect(missing_docs, reason = "the variants say what their fields are")]
#[derive(Debug)]
pub enum Event<'a> {
    /// A run begins; so many of all are done, or not needed.
    Started { job: &'a Job, done: usize, all: usize },
    /// A run goes on: what it has seen, and which share of it is done.
    Working { words: &'a str, share: f64 },
    /// A run is finished, now or before (`already`).
    Finished { record: &'a Record, already: bool },
}

/// Runs a plan in a directory, training on a device; `name` is that of the experiment.
///
/// # Errors
/// If the directory holds runs and none are to be resumed, another process writes to it, it is asked to stop, a run fails, or a file cannot be written.
pub fn run(
    (name, budget, device): (&str, Budget, Device),
    plan: &Plan,
    directory: &Path,
    resume: bool,
    stop: &Arc<AtomicBool>,
    on: &mut dyn FnMut(Event<'_>),
) -> Result<Vec<Record>, Error> {
    let _lock = claim(directory, plan, resume)?;
    let mut records: Vec<Record> = Vec::new();
    let all = plan.jobs.len();
    for (done, job) in plan.jobs.iter().enumerate() {
        if let Some(record) = record::finished(directory, job)? {
            on(Event::Finished { record: &record, already: true });
            records.push(record);
            continue;
        }
        if job.spare.as_ref().is_some_and(|spare| spare(&records)) {
            continue;
        }
        on(Event::Started { job, done, all });
        let begun = Instant::now();
        let mut say = |words: &str, share: f64| on(Event::Working { words, share });
        let place = record::place(directory, job);
        let mut control = Control { device, stop, directory: &place, say: &mut say };
        let measured = match (job.work)(&mut control) {
            Ok(Some(measured)) => measured,
            Ok(None) => return Err(Error::Interrupted { done, all }),
            Err(source) => return Err(Error::Run { run: job.title(), source: Box::new(source) }),
        };
        // Steps that were taken before an interruption are not repeated, and belong to its time.
        let seconds = begun.elapsed().as_secs_f64().max(measured.training_seconds());
        let record = Record {
            experiment: name.into(),
            budget,
            model: job.model.clone(),
            task: job.task.clone(),
            seed: job.seed,
            settings: job.settings.clone(),
            measured,
            seconds,
        };
        record::keep(directory, job, &record)?;
        on(Event::Finished { record: &record, already: false });
        records.push(record);
    }
    Ok(records)
}

/// Takes the directory, until the lock is dropped.
fn claim(directory: &Path, plan: &Plan, resume: bool) -> Result<Lock, Error> {
    let refused = |problem: String| Error::Directory { path: directory.into(), problem };
    let failed = |e: std::io::Error| Error::File { path: directory.into(), problem: e.to_string() };
    if directory.exists() && !directory.is_dir() {
        return Err(refused("is a file; name a directory (`--out DIR`)".into()));
    }
    std::fs::create_dir_all(directory).map_err(failed)?;
    let Some(lock) = Lock::take(directory).map_err(failed)? else {
        return Err(refused("is being written to by another experiment; wait for it, or name another (`--out DIR`)".into()));
    };
    let begun = plan.jobs.iter().filter(|job| record::place(directory, job).join(RESULT).exists()).count();
    if begun > 0 && !resume {
        let all = plan.jobs.len();
        return Err(refused(format!("holds {begun} of these {all} runs; go on with `--resume`, or name another (`--out DIR`)")));
    }
    Ok(lock)
}
