//! PPG-DaLiA: heart rates of fifteen people from what they wore at the wrist, from the files of the original archive.
//!
//! ```text
//! PPG_FieldStudy/S1/S1.pkl -> Recording: six channels at 64 Hz, a heart rate every 2 s -> parts, windows -> Dataset
//! ```
//!
//! | file | what it holds |
//! | --- | --- |
//! | `pickle`, `bytes` | a restricted reader of pickles, which runs nothing; the strings and numbers they are made of |
//! | `array` | numpy arrays in them |
//! | `recording` | one person's signals on one grid |
//! | `windows` | [`Cut`]: parts by time, windows, scaling |
//! | `synthetic` | recordings that are drawn |
//!
//! A. Reiss, I. Indlekofer, P. Schmidt and K. Van Laerhoven, *Deep PPG: large-scale heart rate estimation with convolutional neural networks*, Sensors 19 (2019).

mod array;
mod bytes;
mod pickle;
mod recording;
mod synthetic;
mod windows;

use std::path::{Path, PathBuf};

use crate::Error;
pub use recording::Recording;
pub use windows::{Cut, Windows};

/// How many people there are.
const PEOPLE: usize = 15;

/// Where recordings come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// Files of people, each with its name.
    Files(Vec<(String, PathBuf)>),
    /// So many people, each of so many seconds, are drawn.
    #[expect(missing_docs, reason = "as the line above says")]
    Drawn { people: usize, seconds: usize, seed: u64 },
}

impl Source {
    /// The files of the people whose files are in a directory, of the first so many at most.
    ///
    /// # Errors
    /// If there are none; the error says where to get them.
    pub fn files(directory: &Path, most: usize) -> Result<Self, Error> {
        let file = |person: usize| {
            let (name, inner) = (format!("S{person}"), format!("S{person}/S{person}.pkl"));
            let places =
                [directory.join(&inner), directory.join("PPG_FieldStudy").join(&inner), directory.join(format!("S{person}.pkl"))];
            places.into_iter().find(|path| path.is_file()).map(|path| (name, path))
        };
        let found: Vec<(String, PathBuf)> = (1..=PEOPLE).filter_map(file).take(most).collect();
        if found.is_empty() {
            return Err(missing(&format!("`{}` holds no file S1/S1.pkl to S{PEOPLE}/S{PEOPLE}.pkl", directory.display())));
        }
        Ok(Self::Files(found))
    }

    /// The recordings.
    ///
    /// # Errors
    /// If a file cannot be read, or does not hold what those of the archive hold.
    pub fn recordings(&self) -> Result<Vec<Recording>, Error> {
        match self {
            Self::Files(files) => files.iter().map(|(name, path)| Recording::read(name, path)).collect(),
            &Self::Drawn { people, seconds, seed } => {
                Ok((0..people as u64).map(|person| synthetic::drawn(person, seconds, seed)).collect())
            }
        }
    }

    /// The names of the people.
    pub fn people(&self) -> Vec<String> {
        match self {
            Self::Files(files) => files.iter().map(|(name, _)| name.clone()).collect(),
            Self::Drawn { people, .. } => (0..*people).map(|own| format!("drawn-{own}")).collect(),
        }
    }
}

/// That data are missing, where to get them, and the layout that is expected.
pub(crate) fn missing(problem: &str) -> Error {
    Error::Data {
        problem: problem.into(),
        help: "Give it with `--data DIR`. Expected: DIR/S1/S1.pkl to DIR/S15/S15.pkl (or DIR/PPG_FieldStudy/S1/S1.pkl), as unpacked from the archive PPG-DaLiA of \
               https://archive.ics.uci.edu/dataset/495/ppg+dalia (ppg+dalia.zip, 3 GB; data.zip in it). One person is enough."
            .into(),
    }
}

#[cfg(test)]
mod tests;
