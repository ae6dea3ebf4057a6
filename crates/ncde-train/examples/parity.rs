//! Is the number of ones odd? A one-layer block `SLiCE` learns it; a positive diagonal cannot, it only counts.
//!
//! ```text
//! h_{j+1} = exp(x_j A) h_j,   x_j in {0, 1}:   with 2 x 2 blocks a one can be half a turn, exp(A) = -I, a diagonal exp(a) is positive
//! ```
//!
//! Trained on the parity of every prefix of sequences of up to 40 bits, tested on the last bit of longer ones.
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
use serde_json::{Value, json};

const STEPS: u64 = 400;
const BATCH: usize = 16;

/// Bits, and before each of them, and after the last, the parity of those so far: 1 if even, -1 if odd; `[batch, length + 1, 1]`.
///
/// A bit is the speed of omega until the next row, so there is one row more than there are bits.
fn data<B: Backend>(batch: usize, length: usize, stream: &Stream) -> (Rows<B>, Vec<f64>) {
    let (mut bits, mut signs) = (Vec::new(), Vec::new());
    for case in 0..batch {
        let mut sign = 1.0;
        for j in 0..=length {
            let bit = f64::from(u8::from(j < length && stream.uniform((case * length + j) as u64) < 0.5));
            bits.push(bit);
            signs.push(sign);
            sign *= 1.0 - 2.0 * bit;
        }
    }
    let values = Tensor::from_data(TensorData::new(bits, [batch, length + 1, 1]), &Default::default());
    (Rows { values, places: Places::regular(&vec![length + 1; batch]).into() }, signs)
}

fn train(structure: &Value) -> Result<Network<Flex>, Box<dyn Error>> {
    let layers: Vec<LayerSpec> = serde_json::from_value(json!([
        {"layer": "linear-cde", "hidden": 8, "structure": structure, "drive": {"kind": "values"}, "initial": "learned",
            "init": {"kind": "scaled", "deviation": 0.5}},
        {"layer": "linear", "outputs": 1}
    ]))?;
    let mut model = Trainee::<Flex>::new(&layers, &Signal::values(1), 2, OptimizerName::Adam.optimizer(), &Default::default())?;
    for step in 0..STEPS {
        let length = [4, 8, 16, 40][[150, 230, 310].iter().filter(|&&end| step >= end).count()];
        let (bits, signs) = data(BATCH, length, &Stream::new(1, step));
        let signs = Tensor::from_data(TensorData::new(signs, [BATCH, length + 1, 1]), &Default::default());
        let rate = 0.03 * (1.0 - step as f64 / STEPS as f64);
        // The logistic loss: ln(1 + e^-margin).
        model.step(Update::rate(rate), (bits, Context::predict()), |out| {
            Ok(activation(Function::Each(Activation::Softplus), (out.values * signs).neg())?.mean())
        })?;
    }
    Ok(model.network)
}

/// The share of new sequences whose last prefix is classified right.
fn accuracy(model: &Network<Flex>, length: usize) -> Result<f64, Box<dyn Error>> {
    let cases = 200;
    let (bits, signs) = data(cases, length, &Stream::new(2, 0));
    let outputs: Vec<f64> = model.forward(bits, &Context::predict())?.values.into_data().iter().collect();
    let last = (1..=cases).map(|case| case * (length + 1) - 1);
    Ok(last.filter(|&i| outputs[i] * signs[i] > 0.0).count() as f64 / cases as f64)
}

fn main() -> Result<(), Box<dyn Error>> {
    let block = train(&json!({"kind": "block", "block": 2}))?;
    let diagonal = train(&json!({"kind": "diagonal"}))?;
    println!("accuracy on new sequences, trained on up to 40 bits");
    for length in [10, 40, 80] {
        let (block, diagonal) = (accuracy(&block, length)?, accuracy(&diagonal, length)?);
        println!("  {length:3} bits: blocks of 2 {:5.1} %, positive diagonal {:5.1} %", 100.0 * block, 100.0 * diagonal);
        if length == 40 {
            assert!(block > 0.95 && diagonal < 0.7, "a turn can be learned, counting is not parity");
        }
    }
    Ok(())
}
