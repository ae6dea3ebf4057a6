//! Recordings that are drawn, at the rates of the archive's, for those who do not have it.
//!
//! ```text
//! heart rate  r_j = 75 + 25 sin(2 pi j / 150 + phase) + noise, every 2 s
//! pulse       sin(phi) + sin(2 phi) / 3 + motion + noise,   phi' = 2 pi r / 60
//! motion      bursts of the accelerometer, which the pulse takes on
//! ```

use std::f64::consts::TAU;

use ncde_runtime::random::Stream;

use super::recording::{RATE, Recording, Signals};

const RECORDINGS: u64 = 51;

pub(super) fn drawn(person: u64, seconds: usize, seed: u64) -> Recording {
    let stream = Stream::new(seed, RECORDINGS).child(person);
    let noise = |kind: u64, place: usize| stream.child(kind).normal(place as u64);
    let phase = TAU * stream.uniform(0);
    let rate = |second: f64| 75.0 + 25.0 * (TAU * second / 300.0 + phase).sin() + 5.0 * (TAU * second / 47.0 + 2.0 * phase).sin();
    // Every other minute is one of motion.
    let moving = |second: f64| if (second / 60.0) as usize % 2 == 1 { 1.0 } else { 0.1 };
    let axis = |place: usize, k: usize| {
        let second = place as f64 / 32.0;
        moving(second) * (TAU * 1.7 * second + k as f64).sin() + 0.05 * noise(1 + k as u64, place)
    };
    let acc = (0..seconds * 32).flat_map(|place| [0, 1, 2].map(|k| axis(place, k))).collect();
    let mut angle = 0.0_f64;
    let mut pulse = |place: usize| {
        let second = place as f64 / RATE as f64;
        angle += TAU * rate(second) / 60.0 / RATE as f64;
        let motion = 0.5 * moving(second) * (TAU * 1.7 * second).sin();
        angle.sin() + (2.0 * angle).sin() / 3.0 + motion + 0.1 * noise(4, place)
    };
    let bvp = (0..seconds * RATE).map(&mut pulse).collect();
    let slow = |kind: u64, level: f64| (0..seconds * 4).map(|place| level + 0.02 * noise(kind, place)).collect();
    let signals = Signals { acc, bvp, eda: slow(5, 0.5), temp: slow(6, 33.0) };
    // The mean over 8 s, every 2 s.
    let label = |j: usize| (0..8).map(|k| rate((2 * j + k) as f64 + 0.5)).sum::<f64>() / 8.0;
    let labels: Vec<f64> = (0..(seconds / 2).saturating_sub(3)).map(label).collect();
    signals.joined(&format!("drawn-{person}"), &labels)
}
