//! The directory of a search, and how each of its runs stands.
//!
//! ```text
//! DIR/sweep.json    which runs there are           DIR/runs/NAME/      a run, as `ncde train` leaves it, and
//! DIR/base.toml     the settings they share                .claim          locked by the process that is at it
//! DIR/halving.json  who went on, of `halving`              attempts.jsonl  when it was begun, and how that ended
//! DIR/table.md, DIR/best.toml                              failed.json     why there is no model
//! DIR/logs/NAME.txt what runs said
//! ```

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use ncde_files::Lock;
use ncde_report::RunRecord;
use ncde_train::Config;
use ncde_tune::{Run, Sweep};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::error::{Failure, refuse};
use crate::output;

const SWEEP: &str = "sweep.json";
const BASE: &str = "base.toml";
const FAILED: &str = "failed.json";
const ATTEMPTS: &str = "attempts.jsonl";
const CLAIM: &str = ".claim";
const RECORD: &str = "run.json";

pub(super) struct Folder {
    pub(super) path: PathBuf,
}

pub(super) enum State {
    /// Not done, or not to its end.
    Open,
    Finished(Box<RunRecord>),
    Failed(String),
}

#[derive(Serialize, Deserialize)]
struct Failed {
    reason: String,
}

impl Folder {
    pub(super) fn new(path: &Path) -> Result<Self, Failure> {
        // Processes of engines begin anywhere.
        let path = std::path::absolute(path).map_err(|e| Failure::Refused(format!("`{}`: {e}", path.display())))?;
        Ok(Self { path })
    }

    pub(super) fn sweep(&self) -> Result<Sweep, Failure> {
        let Some(sweep) = self.read::<Sweep>(SWEEP)? else {
            refuse!("`{}` holds no search: there is no `{SWEEP}`", self.path.display())
        };
        if sweep.format > Sweep::FORMAT {
            refuse!(
                "`{}` cannot be read: its format is {}, but this version reads up to {}; update ncde",
                self.path.join(SWEEP).display(),
                sweep.format,
                Sweep::FORMAT
            );
        }
        Ok(sweep)
    }

    /// A JSON file in it; none if it is not there.
    pub(super) fn read<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, Failure> {
        let path = self.path.join(name);
        if !path.exists() {
            return Ok(None);
        }
        let value = ncde_files::read_plain(&path).and_then(|bytes| Ok(serde_json::from_slice(&bytes)?));
        value.map(Some).map_err(|e| Failure::Refused(format!("`{}` cannot be read: {e}", path.display())))
    }

    pub(super) fn holds_search(&self) -> bool {
        self.path.join(SWEEP).exists()
    }

    /// Keeps a search; the settings that its runs share first, so that one that is there is whole.
    pub(super) fn begin(&self, sweep: &Sweep, base: &Config) -> Result<(), Failure> {
        for folder in [self.path.join("runs"), self.path.join("logs")] {
            fs::create_dir_all(&folder).map_err(|source| Failure::Write { path: folder, source })?;
        }
        self.write(BASE, &base.to_toml())?;
        self.write(SWEEP, &(json(sweep)? + "\n"))
    }

    pub(super) fn base(&self) -> PathBuf {
        self.path.join(BASE)
    }

    pub(super) fn write(&self, name: &str, text: &str) -> Result<(), Failure> {
        output::file(&self.path.join(name), text)
    }

    pub(super) fn run(&self, run: Run) -> PathBuf {
        self.path.join("runs").join(Sweep::name(run))
    }

    pub(super) fn log(&self, run: Run) -> PathBuf {
        self.path.join("logs").join(format!("{}.txt", Sweep::name(run)))
    }

    /// The search as a whole is one process's; its runs are anybody's.
    pub(super) fn claim(&self) -> Result<Lock, Failure> {
        let failed = |source| Failure::Write { path: self.path.clone(), source };
        fs::create_dir_all(&self.path).map_err(failed)?;
        Lock::take(&self.path).map_err(failed)?.ok_or_else(|| {
            Failure::Refused(format!(
                "`{}` is being written to by another search; wait for it to end, or name another directory (`--out DIR`)",
                self.path.display()
            ))
        })
    }

    /// Takes a run, after whoever is at it; `told` is called if that has to be waited for.
    pub(super) fn claim_run(&self, run: Run, told: impl FnOnce()) -> Result<Lock, Failure> {
        let directory = self.run(run);
        let failed = |source| Failure::Write { path: directory.clone(), source };
        fs::create_dir_all(&directory).map_err(failed)?;
        let path = directory.join(CLAIM);
        match Lock::on(&path).map_err(failed)? {
            Some(lock) => Ok(lock),
            None => {
                told();
                Lock::wait_on(&path).map_err(failed)
            }
        }
    }

    pub(super) fn is_claimed(&self, run: Run) -> bool {
        let path = self.run(run).join(CLAIM);
        path.exists() && Lock::on(&path).is_ok_and(|lock| lock.is_none())
    }

    /// How a run stands; with `steps`, whether it has got so far.
    pub(super) fn state(&self, run: Run, steps: Option<usize>) -> Result<State, Failure> {
        let directory = self.run(run);
        let path = directory.join(RECORD);
        // The record is the last file of a run that is whole.
        if path.exists() {
            let record = RunRecord::read(&path)?;
            let done = Config::from_toml(&record.config).ok().and_then(|config| config.train.steps);
            if steps.is_none_or(|steps| done.is_some_and(|done| done >= steps)) {
                return Ok(State::Finished(Box::new(record)));
            }
        }
        let path = directory.join(FAILED);
        match ncde_files::read_plain(&path) {
            Ok(bytes) => {
                let reason = serde_json::from_slice::<Failed>(&bytes).map_or_else(|e| e.to_string(), |failed| failed.reason);
                Ok(State::Failed(reason))
            }
            Err(_) => Ok(State::Open),
        }
    }

    pub(super) fn fail(&self, run: Run, reason: &str) -> Result<(), Failure> {
        output::file(&self.run(run).join(FAILED), &json(&Failed { reason: reason.into() })?)
    }

    /// Forgets why a run failed, so that it is done again.
    pub(super) fn forgive(&self, run: Run) -> Result<(), Failure> {
        let path = self.run(run).join(FAILED);
        match fs::remove_file(&path) {
            Err(source) if source.kind() != std::io::ErrorKind::NotFound => Err(Failure::Write { path, source }),
            _ => Ok(()),
        }
    }

    /// Adds a line to what was tried of a run; whoever does has its claim.
    pub(super) fn note(&self, run: Run, event: &str) -> Result<(), Failure> {
        let path = self.run(run).join(ATTEMPTS);
        let line = serde_json::json!({
            "event": event, "time": jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            "process": std::process::id(), "host": fs::read_to_string("/proc/sys/kernel/hostname").ok().map(|name| name.trim().to_owned()),
        });
        let file = fs::OpenOptions::new().create(true).append(true).open(&path);
        file.and_then(|mut file| file.write_all(format!("{line}\n").as_bytes())).map_err(|source| Failure::Write { path, source })
    }
}

/// As JSON that a person can read.
pub(super) fn json(value: &impl Serialize) -> Result<String, Failure> {
    serde_json::to_string_pretty(value).map_err(|e| Failure::Refused(e.to_string()))
}
