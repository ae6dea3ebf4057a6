//! Runs as processes of their own, so many at a time.
//!
//! Each is held by its standard input: when that ends, because this process wants it to or is gone, it saves what it has and stops.

use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ncde_tune::{Run, Sweep};

use super::folder::{Folder, State};
use crate::error::{Failure, refuse};
use crate::program;

/// How often processes are looked at.
const PAUSE: Duration = Duration::from_millis(10);

/// So many runs at a time, of so many threads each.
pub(super) struct Pool<'a> {
    pub(super) folder: &'a Folder,
    pub(super) jobs: usize,
    pub(super) threads: usize,
    pub(super) stop: Arc<AtomicBool>,
    pub(super) retry: bool,
}

pub(super) struct Ended {
    pub(super) run: Run,
    pub(super) state: State,
    /// Whether that was so before.
    pub(super) already: bool,
    pub(super) seconds: f64,
}

struct Process {
    run: Run,
    child: Child,
    begun: Instant,
}

impl Pool<'_> {
    /// Does runs, each to so many steps if that is said, and tells of each that ends; false if it was asked to stop before all had.
    pub(super) fn work(
        &self,
        runs: &[Run],
        steps: Option<usize>,
        on: &mut dyn FnMut(Ended) -> Result<(), Failure>,
    ) -> Result<bool, Failure> {
        let mut waiting = runs.iter();
        let mut running: Vec<Process> = Vec::new();
        loop {
            while running.len() < self.jobs && !self.is_over() {
                let Some(&run) = waiting.next() else { break };
                if self.retry {
                    self.folder.forgive(run)?;
                }
                match self.folder.state(run, steps)? {
                    State::Open => running.push(self.start(run, steps)?),
                    state => on(Ended { run, state, already: true, seconds: 0.0 })?,
                }
            }
            if running.is_empty() {
                return Ok(waiting.len() == 0);
            }
            if self.is_over() {
                wind_up(running);
                return Ok(false);
            }
            let mut still = Vec::new();
            for mut process in running {
                match process.child.try_wait() {
                    Ok(None) => still.push(process),
                    Ok(Some(status)) => {
                        let state = match self.folder.state(process.run, steps)? {
                            State::Open => State::Failed(self.lost(process.run, status)),
                            state => state,
                        };
                        let seconds = process.begun.elapsed().as_secs_f64();
                        on(Ended { run: process.run, state, already: false, seconds })?;
                    }
                    Err(e) => refuse!("cannot wait for `{}`: {e}", Sweep::name(process.run)),
                }
            }
            running = still;
            std::thread::sleep(PAUSE);
        }
    }

    fn is_over(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn start(&self, run: Run, steps: Option<usize>) -> Result<Process, Failure> {
        let refused = |problem: String| Failure::Refused(format!("cannot start `{}`: {problem}", Sweep::name(run)));
        let log = self.folder.log(run);
        let file = std::fs::OpenOptions::new().create(true).append(true).open(&log);
        let file = file.map_err(|source| Failure::Write { path: log, source })?;
        let mut command = program::command().map_err(refused)?;
        command.args(["tune", "--only", &Sweep::name(run), "--held", "--threads", &self.threads.to_string(), "--out"]);
        command.arg(&self.folder.path);
        if let Some(steps) = steps {
            command.args(["--steps", &steps.to_string()]);
        }
        // Not of our group: a Ctrl-C at the terminal is for this process, which passes it on once.
        let child = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(file).process_group(0).spawn();
        let child = child.map_err(|e| refused(e.to_string()))?;
        Ok(Process { run, child, begun: Instant::now() })
    }

    /// Why a process left nothing.
    fn lost(&self, run: Run, status: ExitStatus) -> String {
        let log = self.folder.log(run);
        match status.signal() {
            Some(signal) => format!("its process was killed by signal {signal}; it is done again with `--resume`"),
            None => format!("its process ended ({status}) and left nothing; see `{}`", log.display()),
        }
    }
}

/// Lets all go, and waits until each has saved what it has.
fn wind_up(mut running: Vec<Process>) {
    for process in &mut running {
        drop(process.child.stdin.take());
    }
    for process in &mut running {
        // What it has saved is there, whatever this says.
        let _ = process.child.wait();
    }
}
