//! Contractive flows: no state grows, whatever the weights, and input over rate bounds those that are added to.

use burn_tensor::DType;
use ncde_runtime::layer::{Resolved, Row, StateMemory, StepChain};
use ncde_runtime::random::Stream;
use ncde_runtime::{NamedWeight, Weights};
use serde_json::{Value, json};

use crate::run::{Data, own_rows};
use crate::samples::{Sample, cde, numbers, sample};

fn structures() -> [(usize, Value); 5] {
    [
        (5, json!({"kind": "dense"})),
        (5, json!({"kind": "diagonal"})),
        (6, json!({"kind": "block", "block": 3})),
        (6, json!({"kind": "blocks", "sizes": [1, 3, 2]})),
        (6, json!({"kind": "diagonal-dense", "block": 4})),
    ]
}

fn contractive(hidden: usize, structure: Value, rate: f64, input: &str, deviation: f64) -> Sample {
    let more = json!({
        "drive": {"kind": "increments", "time": true}, "input": input, "initial": "first",
        "init": {"kind": "scaled", "deviation": deviation}, "stability": {"kind": "contractive", "rate": rate},
    });
    sample(format!("{structure}, {input}"), numbers(3, 0), json!([cde(hidden, structure, more)]))
}

fn size(h: &[f64]) -> f64 {
    h.iter().map(|x| x * x).sum::<f64>().sqrt()
}

#[test]
fn no_state_grows_while_time_goes_forward() {
    for (hidden, structure) in structures() {
        for deviation in [0.1, 1.0, 4.0] {
            let rate = 0.2;
            let own = contractive(hidden, structure.clone(), rate, "none", deviation);
            let data = Data::new(&own.input, &[40, 17], 3);
            let network = own.network::<burn_flex::Flex>();
            let rows = network.forward(data.batch(40, 0.0, DType::F32), &data.context(DType::F32)).unwrap();
            for (states, times) in own_rows(&rows).iter().zip(&data.times) {
                for k in 1..times.len() {
                    let most = size(&states[k - 1]) * (-rate * (times[k] - times[k - 1])).exp();
                    assert!(size(&states[k]) <= most * (1.0 + 1e-4) + 1e-20, "{}: row {k}", own.name);
                }
            }
        }
    }
}

/// A hundred thousand rows of stationary noise: the state stays below what the bound of `stability` says.
#[test]
fn a_state_stays_bounded_over_a_stream_without_end() {
    for (hidden, structure) in structures() {
        let (rate, dt) = (0.5, 0.1);
        let own = contractive(hidden, structure, rate, "path", 1.0);
        let weights: Vec<NamedWeight> = own.weights();
        let b = &weights.iter().find(|weight| weight.name == "layers.0.b").unwrap().values;
        let norm = b.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>().sqrt();
        let mut chain = StepChain::new(&Resolved::new(&own.layers, &own.input).unwrap(), &mut Weights::of(weights)).unwrap();
        let (mut memory, stream) = (StateMemory::new(chain.memory()), Stream::new(4, 1));
        let (mut last, mut start, mut most) = (vec![0.0; 3], 0.0, 0.0_f64);
        for k in 0..100_000_u64 {
            let values: Vec<f64> = (0..3).map(|i| 2.0 * stream.uniform(3 * k + i) - 1.0).collect();
            chain.push(0, memory.share(), Row { values: &values, time: dt * k as f64, statics: &[] }).unwrap();
            let h = size(chain.last());
            assert!(h.is_finite());
            if k == 0 {
                start = h;
            } else {
                let moved: Vec<f64> = values.iter().zip(&last).map(|(x, last)| x - last).collect();
                most = most.max(size(&[&[dt], &moved[..]].concat()) * norm);
            }
            assert!(h <= start + most / (1.0 - (-rate * dt).exp()), "{}: {h} after row {k}", own.name);
            last = values;
        }
    }
}
