//! One person's recording, as in the archive of PPG-DaLiA, on one grid of 64 observations a second.
//!
//! ```text
//! S1/S1.pkl: {"signal": {"wrist": {"ACC": [32 Hz, 3], "BVP": [64 Hz, 1], "EDA": [4 Hz, 1], "TEMP": [4 Hz, 1]}, "chest": ...}, "label": [one every 2 s], ...}
//! observation t:  ACC[t / 2] (x, y, z), BVP[t], EDA[t / 16], TEMP[t / 16]
//! label j, the heart rate of the 8 s from 2 j on, belongs to observation 128 (j + 4) - 1: the last of those
//! ```
//!
//! Slower signals are repeated until their next reading, as in the published code. The first label
//! stands for the three before it as well.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use super::array::{Array, array};
use super::pickle::Pickle;
use crate::Error;

/// The channels, in the order of the published code.
pub(super) const CHANNELS: [&str; 6] = ["acc_x", "acc_y", "acc_z", "bvp", "eda", "temp"];
/// Observations a second.
pub(super) const RATE: usize = 64;
/// Observations from one label to the next.
pub(super) const STEP: usize = 2 * RATE;
/// How many copies of the first label come before it.
const BEFORE: usize = 3;
/// Signals at the wrist take 8 MB at most; those at the chest 50 MB and more.
const LONGEST: usize = 32 << 20;

/// A recording.
#[derive(Debug, Clone, PartialEq)]
pub struct Recording {
    pub(super) name: String,
    /// Observations row by row, six channels each.
    pub(super) values: Vec<f64>,
    /// Heart rates; that at `k` belongs to the observations from `128 k` to before `128 (k + 1)`.
    pub(super) rates: Vec<f64>,
}

impl Recording {
    /// The file of a person.
    ///
    /// # Errors
    /// If it cannot be read, or does not hold what those of the archive hold.
    pub(super) fn read(name: &str, path: &Path) -> Result<Self, Error> {
        let failed = |problem: String| Error::File { path: path.into(), problem };
        let file = File::open(path).map_err(|e| failed(e.to_string()))?;
        let pickle =
            Pickle::read(BufReader::with_capacity(1 << 16, file), LONGEST).map_err(|e| failed(format!("the pickle {e}")))?;
        Self::of(name, &pickle).map_err(failed)
    }

    /// From what a file holds.
    pub(super) fn of(name: &str, pickle: &Pickle) -> Result<Self, String> {
        let get = |keys: &[&str]| -> Result<Array, String> {
            let place = keys.iter().map(|key| format!("[\"{key}\"]")).collect::<String>();
            let id = keys.iter().try_fold(pickle.root(), |id, key| pickle.entry(id, key));
            let id = id.ok_or_else(|| format!("there is no {place}; wanted a file of PPG-DaLiA's archive, such as S1/S1.pkl"))?;
            array(pickle, id).map_err(|problem| format!("{place} {problem}"))
        };
        let wrist = |key: &str, width: usize| {
            let own = get(&["signal", "wrist", key])?;
            match own.shape.as_slice() {
                [_, columns] if *columns == width => Ok(own.values),
                [_] if width == 1 => Ok(own.values),
                seen => Err(format!("[\"signal\"][\"wrist\"][\"{key}\"] has the shape {seen:?}; wanted {width} columns")),
            }
        };
        let signals = Signals { acc: wrist("ACC", 3)?, bvp: wrist("BVP", 1)?, eda: wrist("EDA", 1)?, temp: wrist("TEMP", 1)? };
        let labels = get(&["label"])?.values;
        let all = [&signals.acc, &signals.bvp, &signals.eda, &signals.temp, &labels];
        if all.iter().any(|own| own.is_empty() || own.iter().any(|x| !x.is_finite())) {
            return Err("a signal or the labels are empty, or hold what is no number".into());
        }
        Ok(signals.joined(name, &labels))
    }
}

/// Signals of the wrist at their own rates.
#[derive(Debug)]
pub(super) struct Signals {
    /// Three numbers 32 times a second.
    pub(super) acc: Vec<f64>,
    /// 64 times a second.
    pub(super) bvp: Vec<f64>,
    /// 4 times a second.
    pub(super) eda: Vec<f64>,
    /// 4 times a second.
    pub(super) temp: Vec<f64>,
}

impl Signals {
    /// On one grid, as far as all signals and labels go.
    pub(super) fn joined(&self, name: &str, labels: &[f64]) -> Recording {
        let first = labels.first().copied().unwrap_or(0.0);
        let mut rates: Vec<f64> = std::iter::repeat_n(first, BEFORE).chain(labels.iter().copied()).collect();
        let ends = [self.acc.len() / 3 * 2, self.bvp.len(), self.eda.len() * 16, self.temp.len() * 16, rates.len() * STEP];
        let length = ends.into_iter().min().unwrap_or(0) / STEP * STEP;
        rates.truncate(length / STEP);
        let row = |t: usize| {
            let acc = &self.acc[3 * (t / 2)..][..3];
            [acc[0], acc[1], acc[2], self.bvp[t], self.eda[t / 16], self.temp[t / 16]]
        };
        Recording { name: name.into(), values: (0..length).flat_map(row).collect(), rates }
    }
}
