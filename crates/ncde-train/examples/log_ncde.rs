//! Which way does a noisy loop turn? A Log-NCDE of depth 2 tells from a single window, one of depth 1 cannot.
//!
//! ```text
//! depth 1: dh/dt = sum_i lambda_i f_i(h)                     lambda_i = X^i_1 - X^i_0, which is nothing but noise for a loop
//! depth 2: dh/dt = ... + lambda_[1,2] [f_1, f_2](h)           lambda_[1,2] = the area it encloses, with its sign
//! ```
//!
//! Each loop is observed 20 to 40 times, at times of its own.
#![allow(clippy::print_stdout, reason = "an example shows its result")]

use std::error::Error;

use burn_flex::Flex;
use burn_tensor::backend::Backend;
use burn_tensor::{Tensor, TensorData};
use ncde_layers::dense::activation;
use ncde_layers::layer::{Context, Network, Places, Rows};
use ncde_layers::neural::Activation;
use ncde_runtime::LayerSpec;
use ncde_runtime::layer::{Function, Signal};
use ncde_runtime::random::Stream;
use ncde_train::{OptimizerName, Trainee, Update};
use serde_json::json;

const STEPS: u64 = 200;
const BATCH: usize = 32;
const LONGEST: usize = 40;

/// Loops that start anywhere on the circle, and their directions.
fn data<B: Backend>(seed: u64, count: usize) -> (Rows<B>, Vec<f64>) {
    let (mut values, mut times, mut lengths, mut signs) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for case in 0..count {
        let draw = Stream::new(seed, case as u64);
        let sign = if draw.uniform(0) < 0.5 { 1.0 } else { -1.0 };
        let length = 20 + (draw.uniform(1) * 21.0) as usize;
        for i in 0..length {
            // The ends of each loop, and between them a time in each piece.
            let time = match i {
                0 => 0.0,
                i if i + 1 == length => 1.0,
                i => (i as f64 + 0.5 * draw.uniform(100 + i as u64)) / length as f64,
            };
            let angle = std::f64::consts::TAU * (draw.uniform(2) + sign * time);
            let noise = |k: usize| 0.1 * draw.normal((200 + 2 * i + k) as u64);
            values.extend([angle.cos() + noise(0), angle.sin() + noise(1)]);
            times.push(time);
        }
        values.resize((case + 1) * LONGEST * 2, 0.0);
        times.resize((case + 1) * LONGEST, 1.0);
        lengths.push(length);
        signs.push(sign);
    }
    let values = Tensor::from_data(TensorData::new(values, [count, LONGEST, 2]), &Default::default());
    let places = Places { lengths, trunk: LONGEST, times, branches: None };
    (Rows { values, places: places.into() }, signs)
}

fn train(depth: usize) -> Result<Network<Flex>, Box<dyn Error>> {
    let layers: Vec<LayerSpec> = serde_json::from_value(json!([
        {"layer": "windows", "window": LONGEST, "form": {"kind": "log-signature", "depth": depth, "basis": "lyndon"}},
        {"layer": "neural-cde", "kind": "log-ncde", "hidden": 8, "width": 16, "layers": 2, "activation": "silu",
            "before_last": "silu", "last": "tanh", "solver": "heun", "steps": 10, "init": 1.0},
        {"layer": "pool", "over": "last"},
        {"layer": "linear", "outputs": 1}
    ]))?;
    let mut model = Trainee::<Flex>::new(&layers, &Signal::values(2), 0, OptimizerName::Adam.optimizer(), &Default::default())?;
    for step in 0..STEPS {
        let (loops, signs) = data(1000 + step, BATCH);
        let signs = Tensor::from_data(TensorData::new(signs, [BATCH, 1, 1]), &Default::default());
        // A little of the penalty that keeps the field smooth; the logistic loss is ln(1 + e^-margin).
        let update = Update { penalty: 1e-4, ..Update::rate(0.02) };
        model.step(update, (loops, Context::predict()), |out| {
            Ok(activation(Function::Each(Activation::Softplus), (out.values * signs).neg())?.mean())
        })?;
    }
    Ok(model.network)
}

/// The share of new loops that are classified right.
fn accuracy(model: &Network<Flex>) -> Result<f64, Box<dyn Error>> {
    let cases = 500;
    let (loops, signs) = data(1, cases);
    let outputs: Vec<f64> = model.forward(loops, &Context::predict())?.values.into_data().iter().collect();
    Ok(outputs.iter().zip(&signs).filter(|(output, sign)| *output * *sign > 0.0).count() as f64 / cases as f64)
}

fn main() -> Result<(), Box<dyn Error>> {
    let [one, two] = [accuracy(&train(1)?)?, accuracy(&train(2)?)?];
    println!("accuracy on new loops, one window each: depth 1 {:5.1} %, depth 2 {:5.1} %", 100.0 * one, 100.0 * two);
    assert!(two > 0.95 && one < 0.7, "the direction is in the area, not in the increment");
    Ok(())
}
