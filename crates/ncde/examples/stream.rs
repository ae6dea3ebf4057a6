//! A layer in service: observations one by one, each with its own time, saved to text and resumed, compared with the batch.
//!
//! ```text
//! h_{t_{l+1}} = exp(sum_P lambda^l_P A_P) h_{t_l},   lambda^l: the log-signature of window l, here of 8 observations
//! ```
#![allow(clippy::print_stdout, reason = "an example shows its result")]

use std::error::Error;
use std::time::Instant;

use burn::backend::Flex;
use burn::tensor::{Tensor, TensorData};
use ncde::model::{Driving, Gates, GatesConfig, Initial, LinearNcdeConfig, Observations, StreamState, TimeChannel, Times};
use ncde::random::Stream;

const CHANNELS: usize = 3;
const LENGTH: usize = 2_000;

fn main() -> Result<(), Box<dyn Error>> {
    let device = Default::default();
    let gates = GatesConfig::Increments { time: TimeChannel::Present }.init::<Flex>(CHANNELS, &device, &Stream::new(0, 1));
    let config = LinearNcdeConfig::new(32, CHANNELS + 1).with_initial(Initial::FromFirst { channels: CHANNELS });

    // Irregular times, and values that wander about 0.
    let noise = Stream::new(1, 0);
    let mut time = 0.0;
    let times: Vec<f64> = (0..LENGTH as u64)
        .map(|j| {
            time += 0.002 + 0.016 * noise.child(0).uniform(j);
            time
        })
        .collect();
    let values: Vec<f32> = (0..(LENGTH * CHANNELS) as u64).map(|i| (0.3 * noise.child(1).normal(i)) as f32).collect();

    for driving in [Driving::Increments, Driving::LogOde { depth: 2, steps: 8 }] {
        let layer = config.clone().with_driving(driving).init::<Flex>(&device, 0)?;

        // All at once.
        let steps: Vec<f32> = times.windows(2).map(|pair| (pair[1] - pair[0]) as f32).collect();
        let drive = gates.drive(Observations {
            values: Tensor::from_data(TensorData::new(values.clone(), [1, LENGTH, CHANNELS]), &device),
            times: Times::Steps(Tensor::from_data(TensorData::new(steps, [1, LENGTH - 1]), &device)),
            lengths: None,
        })?;
        let states: Vec<f32> = layer.forward(&drive)?.into_data().iter().collect();
        let expected = &states[states.len() - 32..];

        // One by one, with a break in the middle.
        let mut stream = layer.stream::<f32>(&gates)?;
        let mut observations = times.iter().zip(values.chunks_exact(CHANNELS));
        for (&time, x) in observations.by_ref().take(LENGTH / 2 + 3) {
            stream.push(time, x)?;
        }
        let text = serde_json::to_string(&stream.save()?)?;
        let saved: StreamState<f32> = serde_json::from_str(&text)?;
        let mut resumed = layer.stream::<f32>(&gates)?;
        resumed.resume(&saved)?;
        let (left, began) = (observations.len(), Instant::now());
        for (&time, x) in observations {
            resumed.push(time, x)?;
        }
        let micros = 1e6 * began.elapsed().as_secs_f64() / left as f64;

        let (state, size) = (resumed.state()?, expected.iter().fold(0.0, |m: f32, x| m.max(x.abs())));
        let far = state.iter().zip(expected).fold(0.0, |m: f32, (a, b)| m.max((a - b).abs())) / size;
        println!("{driving:?}");
        println!("  saved after {} observations: {} bytes of text", saved.observations, text.len());
        println!("  {micros:.2} microseconds an observation, relative difference to the batch {far:.1e}");
        assert!(far < 1e-3);
    }
    Ok(())
}
