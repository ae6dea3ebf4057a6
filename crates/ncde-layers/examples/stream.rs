//! A model in service: observations one by one, each with its own time, saved to text and resumed, compared with the batch.
//!
//! ```text
//! h_{k+1} = exp(sum_P lambda^k_P A_P) h_k,   lambda^k: the log-signature of window k, here of 8 observations
//! ```
#![allow(clippy::print_stdout, reason = "an example shows its result")]

use std::error::Error;
use std::time::Instant;

use burn_flex::Flex;
use burn_tensor::{Tensor, TensorData};
use ncde_layers::layer::{Context, Network, Places, Rows};
use ncde_runtime::random::Stream;
use ncde_runtime::{Forecast, Model, ModelSpec, Prediction, Series, Task, Weights};
use serde_json::{Value, json};

const CHANNELS: usize = 3;
const LENGTH: usize = 2_000;

/// A model that forecasts all channels from the layers before its last.
fn spec(layers: &[Value]) -> Result<ModelSpec, Box<dyn Error>> {
    let last = json!({"layer": "linear", "outputs": CHANNELS});
    let layers = layers.iter().cloned().chain([last]).map(serde_json::from_value).collect::<Result<_, _>>()?;
    let channels = (0..CHANNELS).map(|i| format!("channel {i}"));
    Ok(ModelSpec::new(channels, Task::Forecast(Forecast::one(1)), layers))
}

fn main() -> Result<(), Box<dyn Error>> {
    // Irregular times, and values that wander about 0.
    let noise = Stream::new(1, 0);
    let step = |time: &mut f64, j: u64| {
        let now = *time;
        *time += 0.002 + 0.016 * noise.child(0).uniform(j);
        Some(now)
    };
    let times: Vec<f64> = (0..LENGTH as u64).scan(0.0, step).collect();
    let values: Vec<f32> = (0..(LENGTH * CHANNELS) as u64).map(|i| (0.3 * noise.child(1).normal(i)) as f32).collect();

    let cde = |drive: Value| json!({"layer": "linear-cde", "hidden": 32, "structure": {"kind": "block", "block": 4}, "drive": drive, "initial": "first"});
    let windows = json!({"layer": "windows", "window": 8, "form": {"kind": "log-signature", "depth": 2, "basis": "lyndon"}});
    for (name, layers) in [
        ("increments", vec![cde(json!({"kind": "increments", "time": true}))]),
        ("windows of 8", vec![windows, cde(json!({"kind": "windows"}))]),
    ] {
        let spec = spec(&layers)?;
        let network = Network::<Flex>::drawn(&spec.layers, &spec.signal(), 0, &Default::default())?;

        // All at once.
        let places = Places { lengths: vec![LENGTH], trunk: LENGTH, times: times.clone(), branches: None };
        let all = Tensor::from_data(TensorData::new(values.clone(), [1, LENGTH, CHANNELS]), &Default::default());
        let outputs = network.forward(Rows { values: all, places: places.into() }, &Context::predict())?.values;
        let outputs: Vec<f64> = outputs.into_data().iter().collect();
        let expected = &outputs[outputs.len() - CHANNELS..];

        // One by one, with a break in the middle.
        let model = Model::new(spec, Weights::of(network.values()))?;
        let mut series = model.start(&[])?;
        let rows = values.chunks_exact(CHANNELS).map(|row| row.iter().map(|&x| f64::from(x)).collect::<Vec<_>>());
        let mut observations = times.iter().zip(rows);
        for (&time, x) in observations.by_ref().take(LENGTH / 2 + 3) {
            model.push(&mut series, time, &x)?;
        }
        let text = serde_json::to_string(&series)?;
        let mut resumed: Series = serde_json::from_str(&text)?;
        model.check(&resumed)?;
        let (left, began) = (observations.len(), Instant::now());
        for (&time, x) in observations {
            model.push(&mut resumed, time, &x)?;
        }
        let micros = 1e6 * began.elapsed().as_secs_f64() / left as f64;

        let Prediction::Values(seen) = model.predict(&resumed)? else { return Err("a forecast has values".into()) };
        let size = expected.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
        let far = seen.values.iter().zip(expected).fold(0.0, |most: f64, (a, b)| most.max((a - b).abs())) / size;
        println!("{name}");
        println!("  saved after {} observations: {} bytes of text", series.observations(), text.len());
        println!("  {micros:.2} microseconds an observation, relative difference to the batch {far:.1e}");
        assert!(far < 1e-3);
    }
    Ok(())
}
