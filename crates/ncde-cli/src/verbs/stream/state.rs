//! All series in a file, to go on with later. It is written at the end, every so often, and before a signal ends the program.

use std::collections::{BTreeMap, HashMap};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use ncde_files::Whole;
use ncde_runtime::{Model, Series};
use serde::{Deserialize, Serialize};

use super::live::Live;
use crate::error::Failure;
use crate::{output, signals};

#[derive(Serialize, Deserialize)]
struct Saved<S> {
    /// The checksum of the weights they belong to.
    model: u32,
    series: S,
}

/// The series in a file; none if there is no file yet.
pub(super) fn load(path: &Path, model: &Model) -> Result<HashMap<String, Series>, Failure> {
    let refuse = |problem: String| Failure::Refused(format!("`{}`: {problem}", path.display()));
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(HashMap::new()),
        Err(e) => return Err(refuse(e.to_string())),
    };
    let saved: Saved<HashMap<String, Series>> =
        serde_json::from_str(&text).map_err(|e| refuse(format!("not the state of a stream: {e}")))?;
    if saved.model != model.spec().weights.crc32 {
        return Err(refuse("it was saved with another model; remove it to begin anew".into()));
    }
    for (id, series) in &saved.series {
        model.check(series).map_err(|e| refuse(format!("series `{id}`: {e}")))?;
    }
    Ok(saved.series)
}

/// A file, and the series that are saved there.
#[derive(Clone)]
pub(super) struct Keeper {
    path: PathBuf,
    live: Arc<Mutex<Live>>,
    /// Held while the file is written: two writers would overtake each other.
    writing: Arc<Mutex<()>>,
}

impl Keeper {
    /// Saves the series `every` so often and before a signal ends the program.
    ///
    /// # Errors
    /// If nothing can be written there: better now than after a day.
    pub(super) fn start(path: &Path, live: &Arc<Mutex<Live>>, every: Duration) -> Result<Self, Failure> {
        let keeper = Self { path: path.into(), live: live.clone(), writing: Arc::new(Mutex::new(())) };
        keeper.temporary()?;
        let last = keeper.clone();
        let ended = signals::before_end(move || last.save_or_report());
        ended.map_err(|e| Failure::Refused(format!("cannot wait for signals: {e}")))?;
        let periodic = keeper.clone();
        thread::spawn(move || {
            loop {
                thread::sleep(every);
                periodic.save_or_report();
            }
        });
        Ok(keeper)
    }

    fn save_or_report(&self) {
        if let Err(failure) = self.save() {
            output::info(&format!("error: {failure}"));
        }
    }

    /// Writes the series beside the file, then renames it: at no moment is there half a file. Nothing is written if nothing has happened.
    pub(super) fn save(&self) -> Result<(), Failure> {
        let _only = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = {
            let mut live = self.live.lock().unwrap_or_else(PoisonError::into_inner);
            if !live.changed && self.path.exists() {
                return Ok(());
            }
            live.changed = false;
            let series: BTreeMap<&String, &Series> = live.all().collect();
            serde_json::to_vec(&Saved { model: live.model().spec().weights.crc32, series }).map_err(|e| self.failed(e.into()))?
        };
        let mut file = self.temporary()?;
        file.write_all(&bytes).and_then(|()| file.finish()).map_err(|e| self.failed(e))
    }

    /// A file in the same folder, gone if it is not finished.
    fn temporary(&self) -> Result<Whole, Failure> {
        Whole::create(&self.path).map_err(|e| self.failed(e))
    }

    fn failed(&self, source: std::io::Error) -> Failure {
        Failure::Write { path: self.path.clone(), source }
    }
}
