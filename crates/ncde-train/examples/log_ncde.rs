//! Which way does a noisy loop turn? A Log-NCDE of depth 2 tells from a single window, one of depth 1 cannot.
//!
//! ```text
//! depth 1: dh/dt = sum_i lambda_i f_i(h)                     lambda_i = X^i_1 - X^i_0, which is nothing but noise for a loop
//! depth 2: dh/dt = ... + lambda_[1,2] [f_1, f_2](h)           lambda_[1,2] = the area it encloses, with its sign
//! ```
//!
//! Each loop is observed 20 to 40 times, at places of its own; a log-signature does not depend on how fast a path is run through.
#![allow(clippy::print_stdout, reason = "an example shows its result")]

use std::error::Error;

use ncde_runtime::LayerSpec;
use ncde_runtime::layer::Signal;
use ncde_runtime::random::Stream;
use ncde_train::{FitRequest, Padded, Plan, Predictor, Source, Targets, fit, ignore};
use serde_json::json;

const STEPS: usize = 200;
const BATCH: usize = 32;
const LONGEST: usize = 40;

/// Loops that start anywhere on the circle, and their directions: 1 to the left, 0 to the right.
fn data(seed: u64, count: usize) -> (Padded, Vec<usize>) {
    let (mut loops, mut directions) = (Vec::new(), Vec::new());
    for case in 0..count {
        let draw = Stream::new(seed, case as u64);
        let direction = usize::from(draw.uniform(0) < 0.5);
        let length = 20 + (draw.uniform(1) * 21.0) as usize;
        let point = |i: usize| {
            // The ends of each loop, and between them a place in each piece.
            let share = match i {
                0 => 0.0,
                i if i + 1 == length => 1.0,
                i => (i as f64 + 0.5 * draw.uniform(100 + i as u64)) / length as f64,
            };
            let turned = if direction == 1 { share } else { -share };
            let angle = std::f64::consts::TAU * (draw.uniform(2) + turned);
            let noise = |k: usize| 0.1 * draw.normal((200 + 2 * i + k) as u64);
            [(angle.cos() + noise(0)) as f32, (angle.sin() + noise(1)) as f32]
        };
        loops.push((0..length).flat_map(point).collect::<Vec<f32>>());
        directions.push(direction);
    }
    (Padded::of(loops.iter().map(Vec::as_slice), 2), directions)
}

/// New loops in every step.
struct Loops;

impl Source for Loops {
    fn batch(&mut self, step: usize) -> (Padded, Targets) {
        let (loops, directions) = data(1000 + step as u64, BATCH);
        (loops, Targets::classes(directions))
    }
}

fn train(depth: usize) -> Result<Box<dyn Predictor>, Box<dyn Error>> {
    let layers: Vec<LayerSpec> = serde_json::from_value(json!([
        {"layer": "windows", "window": LONGEST, "form": {"kind": "log-signature", "depth": depth, "basis": "lyndon"}},
        {"layer": "neural-cde", "kind": "log-ncde", "hidden": 8, "width": 16, "layers": 2, "activation": "silu",
            "before_last": "silu", "last": "tanh", "solver": "heun", "steps": 10, "init": 1.0},
        {"layer": "pool", "over": "last"},
        {"layer": "linear", "outputs": 2}
    ]))?;
    // A little of the penalty that keeps the field smooth.
    let plan = Plan { penalty: 1e-4, ..Plan::new(STEPS, 0.02) };
    Ok(fit(&FitRequest::new(&layers, &Signal::values(2), &plan), &mut Loops, &mut ignore)?.network)
}

/// The share of new loops that are classified right.
fn accuracy(model: &dyn Predictor) -> Result<f64, Box<dyn Error>> {
    let (loops, directions) = data(1, 500);
    let (outputs, [cases, ..]) = model.outputs(&loops)?;
    let right = outputs.chunks_exact(2).zip(&directions).filter(|(own, direction)| usize::from(own[1] > own[0]) == **direction);
    Ok(right.count() as f64 / cases as f64)
}

fn main() -> Result<(), Box<dyn Error>> {
    let [one, two] = [accuracy(&*train(1)?)?, accuracy(&*train(2)?)?];
    println!("accuracy on new loops, one window each: depth 1 {:5.1} %, depth 2 {:5.1} %", 100.0 * one, 100.0 * two);
    assert!(two > 0.95 && one < 0.7, "the direction is in the area, not in the increment");
    Ok(())
}
