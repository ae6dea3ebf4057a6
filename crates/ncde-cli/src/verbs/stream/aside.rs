//! Series that are not in memory: where each of them lies, in the state file or in a file of those put aside since that was written.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ncde_runtime::Series;

use super::live::Said;

/// Where the text of a series lies.
#[derive(Debug, Clone)]
pub(super) struct Place {
    pub(super) file: Arc<File>,
    pub(super) at: u64,
    pub(super) length: usize,
    pub(super) said: Said,
}

impl Place {
    pub(super) fn read(&self) -> io::Result<Vec<u8>> {
        let mut text = vec![0; self.length];
        self.file.read_exact_at(&mut text, self.at)?;
        Ok(text)
    }

    fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.file, &other.file) && self.at == other.at
    }
}

/// Series by id that are in files.
#[derive(Debug, Default)]
pub(super) struct Aside {
    places: HashMap<Arc<str>, Place>,
    /// The state file; none if series cannot be put aside.
    state: Option<PathBuf>,
    /// What was put aside since the last snapshot, and how long that is. The file has no name: it is gone with the program.
    log: Option<(Arc<File>, u64)>,
}

impl Aside {
    /// For the series of a state file.
    pub(super) fn beside(state: &Path) -> Self {
        Self { state: Some(state.into()), ..Self::default() }
    }

    /// Whether series can be put aside.
    pub(super) fn is_possible(&self) -> bool {
        self.state.is_some()
    }

    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    pub(super) fn insert(&mut self, id: Arc<str>, place: Place) {
        self.places.insert(id, place);
    }

    /// Puts a series aside; only if there is a state file.
    pub(super) fn put(&mut self, id: Arc<str>, series: &Series, said: Said) -> io::Result<()> {
        let Some(state) = &self.state else { return Ok(()) };
        let text = serde_json::to_vec(series)?;
        let (file, end) = match &mut self.log {
            Some(log) => log,
            empty => empty.insert((Arc::new(nameless(state)?), 0)),
        };
        file.write_all_at(&text, *end)?;
        self.places.insert(id, Place { file: file.clone(), at: *end, length: text.len(), said });
        *end += text.len() as u64;
        Ok(())
    }

    /// Takes a series back, if it is here.
    pub(super) fn take(&mut self, id: &str) -> Result<Option<(Arc<str>, Series, Said)>, String> {
        let Some((id, place)) = self.places.remove_entry(id) else { return Ok(None) };
        let text = place.read().map_err(|e| e.to_string());
        let series = text.and_then(|text| serde_json::from_slice(&text).map_err(|e| e.to_string()));
        series.map(|series| Some((id, series, place.said)))
    }

    /// Leaves a series out for ever; whether it was here.
    pub(super) fn forget(&mut self, id: &str) -> bool {
        self.places.remove(id).is_some()
    }

    /// All of them, to be written to a new state file.
    pub(super) fn snapshot(&mut self) -> Vec<(Arc<str>, Place)> {
        self.log = None;
        self.places.iter().map(|(id, place)| (id.clone(), place.clone())).collect()
    }

    /// Series were written to another place, and are there now if they were not taken back meanwhile.
    pub(super) fn moved(&mut self, moved: Vec<(Arc<str>, Place, Place)>) {
        for (id, new, old) in moved {
            if let Some(place) = self.places.get_mut(&id).filter(|place| place.is(&old)) {
                *place = new;
            }
        }
    }
}

/// A file beside the state file that has no name any more.
fn nameless(state: &Path) -> io::Result<File> {
    let mut name = std::ffi::OsString::from(".");
    name.push(state.file_name().unwrap_or_default());
    name.push(format!(".{}.aside", std::process::id()));
    let path = state.with_file_name(name);
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(&path)?;
    std::fs::remove_file(&path)?;
    Ok(file)
}
