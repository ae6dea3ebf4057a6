//! All series in a file, to go on with later: written at the end, every so often, and before a signal ends the program.
//!
//! The file is one JSON object with a line for each series, so that those put [`aside`](super::aside) are read and written
//! one at a time. It is written by a thread of its own from a snapshot, which shares its series with the stream until they
//! change: the stream does not wait.

use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use ncde_files::{Lock, Whole};
use ncde_runtime::{Model, Series};

use super::aside::{Aside, Place};
use super::live::{Live, Said};
use crate::error::Failure;
use crate::{output, signals};

const LAST: &str = "}}";

/// What comes before the series; the number is the checksum of the weights they belong to.
fn head(model: &Model) -> String {
    format!("{{\"model\":{},\"series\":{{", model.spec().weights.crc32)
}

/// The series in a file, all of them aside; none if there is no file yet.
pub(super) fn load(path: &Path, model: &Model) -> Result<Aside, Failure> {
    let refuse = |problem: String| Failure::Refused(format!("`{}`: {problem}", path.display()));
    let foreign = |problem: &str| refuse(format!("not the state of a stream: {problem}; remove it to begin anew"));
    let mut aside = Aside::beside(path);
    let file = match File::open(path) {
        Ok(file) => Arc::new(file),
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(aside),
        Err(e) => return Err(refuse(e.to_string())),
    };
    let (mut lines, mut line, mut at) = (BufReader::with_capacity(1 << 16, &*file), Vec::new(), 0);
    let mut next = |line: &mut Vec<u8>| -> Result<(u64, usize), Failure> {
        line.clear();
        let read = lines.read_until(b'\n', line).map_err(|e| refuse(e.to_string()))?;
        at += read as u64;
        while line.last().is_some_and(|byte| b",\r\n".contains(byte)) {
            line.pop();
        }
        Ok((at - read as u64, read))
    };
    next(&mut line)?;
    if line != head(model).as_bytes() {
        let is_state = line.starts_with(b"{\"model\":") && line.ends_with(b",\"series\":{");
        return Err(match is_state {
            true => refuse("it was saved with another model; remove it to begin anew".into()),
            false => foreign("its first line is another"),
        });
    }
    loop {
        let (start, read) = next(&mut line)?;
        if line == LAST.as_bytes() {
            return Ok(aside);
        }
        if read == 0 {
            return Err(foreign("its end is missing"));
        }
        let mut texts = serde_json::Deserializer::from_slice(&line).into_iter::<String>();
        let id = texts.next().and_then(Result::ok);
        let from = texts.byte_offset() + 1;
        let (Some(id), Some(text)) = (id, line.get(from..)) else { return Err(foreign("a line without a series")) };
        let series: Series = serde_json::from_slice(text).map_err(|e| foreign(&format!("series `{id}`: {e}")))?;
        model.check(&series).map_err(|e| refuse(format!("series `{id}`: {e}")))?;
        aside.insert(id.into(), Place { file: file.clone(), at: start + from as u64, length: text.len(), said: Said::default() });
    }
}

/// A file, and the series that are saved there.
#[derive(Clone)]
pub(super) struct Keeper {
    path: PathBuf,
    head: Arc<str>,
    live: Arc<Mutex<Live>>,
    /// Held while the file is written: two writers would overtake each other.
    writing: Arc<Mutex<()>>,
}

/// Claims a state file, until the end of the program or of the lock.
///
/// # Errors
/// If another stream has it, or nothing can be written there: better now than after a day.
pub(super) fn claim(path: &Path) -> Result<Lock, Failure> {
    let failed = |source| Failure::Write { path: path.into(), source };
    Whole::create(path).map_err(failed)?;
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(".lock");
    let lock = Lock::on(path.with_file_name(name)).map_err(failed)?;
    lock.ok_or_else(|| {
        Failure::Refused(format!("`{}`: another stream saves its series there; give this one a file of its own", path.display()))
    })
}

impl Keeper {
    /// Saves the series `every` so often and before a signal ends the program.
    pub(super) fn start(path: &Path, live: &Arc<Mutex<Live>>, every: Duration) -> Result<Self, Failure> {
        let head = head(live.lock().unwrap_or_else(PoisonError::into_inner).model()).into();
        let keeper = Self { path: path.into(), head, live: live.clone(), writing: Arc::new(Mutex::new(())) };
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
            output::warn(&format!("error: {failure}"));
        }
    }

    fn live(&self) -> MutexGuard<'_, Live> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes all series, whole or not at all. Nothing is written if nothing has happened.
    pub(super) fn save(&self) -> Result<(), Failure> {
        let _only = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let snapshot = {
            let mut live = self.live();
            if !live.changed && self.path.exists() {
                return Ok(());
            }
            live.changed = false;
            live.snapshot()
        };
        let moved = self.write(snapshot).map_err(|source| {
            self.live().changed = true;
            Failure::Write { path: self.path.clone(), source }
        })?;
        self.live().aside.moved(moved);
        Ok(())
    }

    /// Where each series that is aside is now, and where it was.
    fn write(&self, snapshot: Snapshot) -> io::Result<Vec<(Arc<str>, Place, Place)>> {
        let mut out = Output { file: Whole::create(&self.path)?, at: 0, begun: false };
        out.write_all(self.head.as_bytes())?;
        for (id, series) in snapshot.series {
            out.begin(&id)?;
            serde_json::to_writer(&mut out, &*series)?;
        }
        let mut moved = Vec::with_capacity(snapshot.aside.len());
        for (id, place) in snapshot.aside {
            out.begin(&id)?;
            let at = out.at;
            out.write_all(&place.read()?)?;
            moved.push((id, place, at));
        }
        out.write_all(format!("\n{LAST}\n").as_bytes())?;
        out.file.finish()?;
        let file = Arc::new(File::open(&self.path)?);
        Ok(moved.into_iter().map(|(id, old, at)| (id, Place { file: file.clone(), at, ..old.clone() }, old)).collect())
    }
}

/// All series as they were at one moment.
pub(super) struct Snapshot {
    pub(super) series: Vec<(Arc<str>, Arc<Series>)>,
    pub(super) aside: Vec<(Arc<str>, Place)>,
}

/// The file, and how much of it is written.
struct Output {
    file: Whole,
    at: u64,
    begun: bool,
}

impl Output {
    /// Begins the line of a series.
    fn begin(&mut self, id: &str) -> io::Result<()> {
        let end: &[u8] = if std::mem::replace(&mut self.begun, true) { b",\n" } else { b"\n" };
        self.write_all(end)?;
        serde_json::to_writer(&mut *self, id)?;
        self.write_all(b":")
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.at += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}
