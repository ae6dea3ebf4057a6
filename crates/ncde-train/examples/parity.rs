//! Is the number of ones odd? A one-layer block `SLiCE` learns it; a positive diagonal cannot, it only counts.
//!
//! ```text
//! h_{j+1} = exp(x_j A) h_j,   x_j in {0, 1}:   with 2 x 2 blocks a one can be half a turn, exp(A) = -I, a diagonal exp(a) is positive
//! ```
//!
//! Trained on the parity of every prefix of sequences of up to 40 bits, tested on the last bit of longer ones.
#![allow(clippy::print_stdout, reason = "an example shows its result")]

use std::error::Error;

use ncde_runtime::LayerSpec;
use ncde_runtime::layer::Signal;
use ncde_runtime::random::Stream;
use ncde_train::{FitRequest, Padded, Plan, Predictor, Schedule, Shape, Source, Targets, fit, ignore};
use serde_json::{Value, json};

const STEPS: usize = 400;
const BATCH: usize = 16;

/// Bits, and before each of them, and after the last, the parity of those so far: class 0 if even, 1 if odd.
///
/// A bit is the speed of omega until the next row, so there is one row more than there are bits.
fn data(batch: usize, length: usize, stream: &Stream) -> (Padded, Vec<Vec<usize>>) {
    let (mut bits, mut parities) = (Vec::new(), Vec::new());
    for case in 0..batch {
        let bit = |j: usize| usize::from(j < length && stream.uniform((case * length + j) as u64) < 0.5);
        bits.push((0..=length).map(|j| bit(j) as f32).collect::<Vec<f32>>());
        parities.push((0..=length).map(|j| (0..j).map(bit).sum::<usize>() % 2).collect());
    }
    (Padded::of(bits.iter().map(Vec::as_slice), 1), parities)
}

/// Sequences that grow longer as training goes on.
struct Prefixes;

impl Source for Prefixes {
    fn batch(&mut self, step: usize) -> (Padded, Targets) {
        let length = [4, 8, 16, 40][[150, 230, 310].iter().filter(|&&end| step >= end).count()];
        let (bits, parities) = data(BATCH, length, &Stream::new(1, step as u64));
        let share = 1.0 / (BATCH * (length + 1)) as f32;
        (bits, Targets::Classes(parities.iter().map(|own| own.iter().map(|&class| (class, share)).collect()).collect()))
    }
}

fn train(structure: &Value) -> Result<Box<dyn Predictor>, Box<dyn Error>> {
    let layers: Vec<LayerSpec> = serde_json::from_value(json!([
        {"layer": "linear-cde", "hidden": 8, "structure": structure, "drive": {"kind": "values"}, "initial": "learned",
            "init": {"kind": "scaled", "deviation": 0.5}},
        {"layer": "linear", "outputs": 2}
    ]))?;
    let schedule = Schedule { peak: 0.03, floor: 0.0, warmup: 0.0, shape: Shape::Linear };
    let plan = Plan { schedule, seed: 2, ..Plan::new(STEPS, 0.03) };
    Ok(fit(&FitRequest::new(&layers, &Signal::values(1), &plan), &mut Prefixes, &mut ignore)?.network)
}

/// The share of new sequences whose last prefix is classified right.
fn accuracy(model: &dyn Predictor, length: usize) -> Result<f64, Box<dyn Error>> {
    let (bits, parities) = data(200, length, &Stream::new(2, 0));
    let (outputs, [cases, rows, classes]) = model.outputs(&bits)?;
    let right = outputs.chunks_exact(rows * classes).zip(&parities).filter(|(own, parities)| {
        let [even, odd] = [own[length * classes], own[length * classes + 1]];
        usize::from(odd > even) == parities[length]
    });
    Ok(right.count() as f64 / cases as f64)
}

fn main() -> Result<(), Box<dyn Error>> {
    let block = train(&json!({"kind": "block", "block": 2}))?;
    let diagonal = train(&json!({"kind": "diagonal"}))?;
    println!("accuracy on new sequences, trained on up to 40 bits");
    for length in [10, 40, 80] {
        let (block, diagonal) = (accuracy(&*block, length)?, accuracy(&*diagonal, length)?);
        println!("  {length:3} bits: blocks of 2 {:5.1} %, positive diagonal {:5.1} %", 100.0 * block, 100.0 * diagonal);
        if length == 40 {
            assert!(block > 0.95 && diagonal < 0.7, "a turn can be learned, counting is not parity");
        }
    }
    Ok(())
}
