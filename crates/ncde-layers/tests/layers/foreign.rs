//! A layer of another crate: it is saved and loaded by its name, and streams. (That it trains is tested in the crate `ncde`.)

use std::sync::Arc;

use burn_autodiff::Autodiff;
use burn_flex::Flex;
use burn_tensor::{DType, Tensor};
use ncde_layers::layer::{Batch, Context, Error as BatchError, LayerBackend, LayerWeights, Network, Rows, register_batch};
use ncde_runtime::layer::{Init, Layer, Row, Share, Signal, Size, Step, StepChain, Values, Weight, register};
use ncde_runtime::{Error, LayerSpec, Model, ModelSpec, Prediction, SPEC, WEIGHTS, to_bytes};
use serde_json::{Value, json};

use crate::run::{Data, own_rows};

/// `y_t = rate y_{t-1} + gain x_t`.
#[derive(Debug, Clone)]
struct Leaky {
    rate: f64,
    /// Whether the gain is a weight; else it is 1.
    trained: bool,
}

impl Leaky {
    fn read(settings: &Value) -> Result<Arc<dyn Layer>, Error> {
        Ok(Arc::new(Self::new(settings["rate"].as_f64(), settings["trained"] == true)?))
    }

    fn new(rate: Option<f64>, trained: bool) -> Result<Self, Error> {
        let wrong = || Error::Setting { setting: "rate", problem: "missing; it is a number".into() };
        Ok(Self { rate: rate.ok_or_else(wrong)?, trained })
    }
}

impl Layer for Leaky {
    fn describe(&self) -> String {
        format!("what is left of the past at {} a row", self.rate)
    }

    fn output(&self, input: &Signal, _: &[Signal]) -> Result<Signal, Error> {
        Ok(input.with_width(input.sequence("leaky")?))
    }

    fn weights(&self, input: &Signal) -> Result<Vec<Weight>, Error> {
        Ok(self.trained.then(|| Weight::trained("gain", [input.width()], Init::Uniform(1.0))).into_iter().collect())
    }

    fn step(&self, input: &Signal, weights: &mut Values, _: Vec<StepChain>) -> Result<Box<dyn Step>, Error> {
        let gain = if self.trained { weights.take("gain")? } else { vec![1.0; input.width()] };
        Ok(Box::new(LeakyStep { rate: self.rate, gain }))
    }
}

#[derive(Debug)]
struct LeakyStep {
    rate: f64,
    gain: Vec<f32>,
}

impl Step for LeakyStep {
    fn memory(&self) -> Size {
        Size::wide(self.gain.len())
    }

    fn push(&mut self, memory: Share<'_>, row: Row<'_>, out: &mut Vec<f64>) -> Result<bool, Error> {
        for (y, (x, gain)) in memory.wide.iter_mut().zip(row.values.iter().zip(&self.gain)) {
            *y = self.rate * *y + f64::from(*gain) * x;
        }
        out.clear();
        out.extend_from_slice(memory.wide);
        Ok(true)
    }
}

#[derive(Debug)]
struct LeakyBatch(f64);

impl<B: LayerBackend> Batch<B> for LeakyBatch {
    fn forward(&self, rows: Rows<B>, weights: &LayerWeights<'_, B>, _: &Context<B>) -> Result<Rows<B>, BatchError> {
        let (trunk, gain) = (rows.trunk(), weights.weight::<1>("gain")?);
        let [batch, length, width] = trunk.dims();
        let gain: Tensor<B, 3> = gain.reshape([1, 1, width]).repeat_dim(0, batch);
        let mut states = vec![trunk.clone().narrow(1, 0, 1) * gain.clone()];
        for t in 1..length {
            states.push(states[t - 1].clone() * self.0 + trunk.clone().narrow(1, t, 1) * gain.clone());
        }
        Ok(rows.with(Tensor::cat(states, 1)))
    }
}

fn layers(text: &str) -> Result<Vec<LayerSpec>, serde_json::Error> {
    serde_json::from_str(text)
}

fn spec(layers: &[LayerSpec]) -> ModelSpec {
    let identity = json!({"shift": 0.0, "factor": 1.0});
    let spec = json!({
        "format": 2, "ncde": "0.1.0", "name": "layers", "weights": {"bytes": 0, "crc32": 0}, "channels": ["x", "y"], "statics": [],
        "task": {"kind": "regression", "target": "z", "at": "steps", "scaling": identity},
        "preparation": {"channels": [identity, identity], "statics": [], "time": null, "missing": {"kind": "refuse"}},
        "layers": layers,
    });
    serde_json::from_value(spec).unwrap()
}

#[test]
fn a_layer_of_another_crate_is_saved_loaded_and_streams() {
    let text = r#"[{"layer": "leaky", "rate": 0.5, "trained": true}, {"layer": "linear", "outputs": 1}]"#;
    let message = layers(text).unwrap_err().to_string();
    assert!(message.contains("unknown variant `leaky`, expected one of `windows`, `linear-cde`"), "{message}");

    register("leaky", Leaky::read).unwrap();
    let all = layers(text).unwrap();
    assert_eq!((all[0].name(), all[0].layer().describe().as_str()), ("leaky", "what is left of the past at 0.5 a row"));
    assert_eq!(layers(&serde_json::to_string(&all).unwrap()).unwrap(), all);
    let message = layers(r#"[{"layer": "leaky"}]"#).unwrap_err().to_string();
    assert!(message.contains("layer `leaky`: setting `rate`: missing"), "{message}");

    let (input, device) = (Signal::values(2), Default::default());
    let message = Network::<Flex>::drawn(&all, &input, 3, &device).unwrap_err().to_string();
    assert!(message.contains("call `register_batch`"), "{message}");
    register_batch::<Flex>("leaky", |layer, _, _| Ok(Box::new(LeakyBatch(layer.settings()["rate"].as_f64().unwrap()))));
    register_batch::<Autodiff<Flex>>("leaky", |layer, _, _| Ok(Box::new(LeakyBatch(layer.settings()["rate"].as_f64().unwrap()))));

    let network = Network::<Flex>::drawn(&all, &input, 3, &device).unwrap();
    assert!(Network::<Autodiff<Flex>>::with_values(&all, &input, &network.values(), &device).is_ok());
    let data = Data::new(&input, &[6, 6, 6, 6], 1);
    let folder = tempfile::tempdir().unwrap();
    let (bytes, remembered) = to_bytes(&network.values()).unwrap();
    let spec = ModelSpec { weights: remembered, ..spec(&all) };
    std::fs::write(folder.path().join(WEIGHTS), bytes).unwrap();
    std::fs::write(folder.path().join(SPEC), serde_json::to_string(&spec).unwrap()).unwrap();
    let saved = Model::load(folder.path()).unwrap();
    assert_eq!(saved.spec(), &spec);
    let wanted = own_rows(&network.forward(data.batch::<Flex>(6, 0.0, DType::F32), &Context::predict()).unwrap());
    let mut series = saved.start(&[]).unwrap();
    for (n, row) in data.rows[2].chunks(2).enumerate() {
        saved.push(&mut series, data.times[2][n], row).unwrap();
        let Prediction::Value(seen) = saved.predict(&series).unwrap() else { panic!("a number is predicted") };
        assert!((seen - wanted[2][n][0]).abs() < 1e-5, "{seen} but {}", wanted[2][n][0]);
    }
}

#[test]
fn a_layer_without_a_batch_form_runs_by_its_steps() {
    register("leaky-steps", Leaky::read).unwrap();
    let all = layers(r#"[{"layer": "leaky-steps", "rate": 0.5}, {"layer": "linear", "outputs": 1}]"#).unwrap();
    let (input, device) = (Signal::values(2), Default::default());
    let network = Network::<Flex>::drawn(&all[..1], &input, 0, &device).unwrap();
    let data = Data::new(&input, &[3], 1);
    let rows = own_rows(&network.forward(data.batch::<Flex>(3, 0.0, DType::F32), &Context::predict()).unwrap());
    let wanted = data.rows[0][4] + 0.5 * data.rows[0][2] + 0.25 * data.rows[0][0];
    assert!((rows[0][2][0] - wanted).abs() < 1e-6);
    assert!(Network::<Flex>::drawn(&all, &input, 0, &device).is_ok());
    // No gradient comes through steps.
    let behind = [all[1].clone(), all[0].clone()];
    let message = Network::<Flex>::drawn(&behind, &input, 0, &device).unwrap_err().to_string();
    assert!(message.starts_with("`layers.1 (leaky-steps)`: no gradient comes through it"), "{message}");
}

#[test]
fn the_names_of_our_own_layers_are_taken() {
    let message = register("linear", Leaky::read).unwrap_err().to_string();
    assert!(message.contains("the name of a layer of ncde"), "{message}");
}
