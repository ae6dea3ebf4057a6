//! Recordings cut into parts and windows: series with a heart rate every two seconds.
//!
//! ```text
//! parts:    the labels of a person in a row, 70 %, 15 % and 15 % of them, in one of the six orders of training, validation and test
//! windows:  length and stride in observations, both multiples of 128; inside one part alone
//! scaling:  inputs (x - low) / (high - low) 2 - 1, low and high those of the person's training part, the three axes of the accelerometer together
//!           heart rates the same with low and high of the whole recording: the unit in which errors were published
//! ```
//!
//! The order of the parts is drawn for each person from a seed of the data, and the same for all runs; the published one was not seeded. Published inputs are scaled by
//! the whole recording, test part and all.

use std::ops::Range;

use ncde_data::{Case, Clock, Dataset, Targets};
use ncde_runtime::random::Stream;

use super::recording::{CHANNELS, RATE, Recording, STEP};

const ORDERS: u64 = 50;
/// Names of parts, as they are in ids.
const NAMES: [&str; 3] = ["train", "val", "test"];
/// Orders in which the parts follow each other.
const ALL: [[usize; 3]; 6] = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];

/// How recordings are cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    /// Observations of a window.
    pub length: usize,
    /// From one window to the next.
    pub stride: usize,
    /// Of the order of parts.
    pub seed: u64,
}

/// Series of all persons, and which of them are validated and tested on, by id.
#[expect(missing_docs, reason = "as the line above says")]
#[derive(Debug, Clone, PartialEq)]
pub struct Windows {
    pub data: Dataset,
    pub validation: Vec<String>,
    pub test: Vec<String>,
}

impl Cut {
    /// The windows of recordings.
    pub fn windows(&self, recordings: &[Recording]) -> Windows {
        let (mut cases, mut of): (Vec<Case>, Vec<Vec<f64>>) = Default::default();
        let mut ids: [Vec<String>; 3] = Default::default();
        for (person, own) in recordings.iter().enumerate() {
            let parts = self.parts(person as u64, own.rates.len());
            let values = scaled(&own.values, &parts[0]);
            let rates = unit(&own.rates, range(own.rates.iter().copied()));
            for (part, labels) in parts.iter().enumerate() {
                for (place, first) in self.starts(labels).enumerate() {
                    let id = format!("{}-{}-{place:03}", own.name, NAMES[part]);
                    let rows = first * STEP..first * STEP + self.length;
                    let times = (0..self.length).map(|t| t as f64 / RATE as f64).collect();
                    let values = values[rows.start * CHANNELS.len()..rows.end * CHANNELS.len()].to_vec();
                    cases.push(Case { id: id.clone(), times, values, statics: Vec::new() });
                    // Each at the last of its observations, which is when it is known.
                    let label = |t: usize| if (t + 1).is_multiple_of(STEP) { rates[first + t / STEP] } else { f64::NAN };
                    of.push((0..self.length).map(label).collect());
                    ids[part].push(id);
                }
            }
        }
        let [_, validation, test] = ids;
        let data = Dataset {
            name: "PPG-DaLiA".into(),
            channels: CHANNELS.map(String::from).to_vec(),
            statics: Vec::new(),
            times: Clock::Numbers,
            cases,
            targets: Targets::ValueSteps { name: "heart_rate".into(), of },
            vocabulary: None,
            groups: None,
        };
        Windows { data, validation, test }
    }

    /// The labels of the training, validation and test part of a person.
    fn parts(&self, person: u64, labels: usize) -> [Range<usize>; 3] {
        let held_out = labels * 15 / 100;
        let sizes = [labels - 2 * held_out, held_out, held_out];
        let drawn = (Stream::new(self.seed, ORDERS).bits(person) % ALL.len() as u64) as usize;
        let mut parts: [Range<usize>; 3] = Default::default();
        let mut from = 0;
        for part in ALL[drawn] {
            parts[part] = from..from + sizes[part];
            from += sizes[part];
        }
        parts
    }

    /// The labels at which windows begin.
    fn starts(&self, labels: &Range<usize>) -> impl Iterator<Item = usize> + use<> {
        let (length, end) = (self.length / STEP, labels.end);
        (labels.start..end).step_by(self.stride / STEP).take_while(move |first| first + length <= end)
    }
}

/// The smallest and the largest.
fn range(values: impl Iterator<Item = f64>) -> [f64; 2] {
    values.fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], x| [low.min(x), high.max(x)])
}

/// From -1 to 1; 0 where all are equal.
fn unit(values: &[f64], [low, high]: [f64; 2]) -> Vec<f64> {
    let place = |x: f64| if high > low { 2.0 * (x - low) / (high - low) - 1.0 } else { 0.0 };
    values.iter().map(|&x| place(x)).collect()
}

/// Inputs scaled by the rows of the training part, whose labels these are.
fn scaled(values: &[f64], train: &Range<usize>) -> Vec<f64> {
    let width = CHANNELS.len();
    let rows = || values[train.start * STEP * width..train.end * STEP * width].chunks_exact(width);
    let acc = range(rows().flat_map(|row| row[..3].iter().copied()));
    let ranges: Vec<[f64; 2]> = (0..width).map(|k| if k < 3 { acc } else { range(rows().map(|row| row[k])) }).collect();
    let row = |row: &[f64]| row.iter().zip(&ranges).flat_map(|(&x, own)| unit(&[x], *own)).collect::<Vec<_>>();
    values.chunks_exact(width).flat_map(row).collect()
}
