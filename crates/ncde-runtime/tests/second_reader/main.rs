//! A second reader of `docs/model-format.md`, with naive loops in `f64`, against the library on random models.
//!
//! The reader knows the text and nothing else: signatures are products of tensor exponentials, flows are Taylor series of full matrices, brackets of
//! networks come from numbers that carry derivatives, and every prediction is computed anew from the series cut there.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "a test that cannot go on stops")]

mod algebra;
mod attention;
mod calendar;
mod delta_net;
mod dice;
mod draw;
mod gru;
mod linear;
mod lstm;
mod mamba2;
mod mamba3;
mod memories;
mod neural;
mod oscillators;
mod permutation;
mod reader;
mod reservoir;
mod rwkv;
mod selective;
mod smoothing;
mod state_space;
mod states;
mod xlstm;

use std::collections::BTreeMap;

use dice::Dice;
use ncde_runtime::layer::{Init, Role};
use ncde_runtime::random::Stream;
use ncde_runtime::{Forecasts, LayerSpec, Model, ModelSpec, NamedWeight, Prediction, Weights};
use reader::Observation;
use serde_json::Value;

const MODELS: u64 = 1000;

/// Names that change no prediction, and are not drawn.
const WITHOUT_EFFECT: [&str; 1] = ["kind maximally-expressive"];

/// Whether first values are not drawn at random.
fn is_constant(init: &Init) -> bool {
    match init {
        Init::Constant(_) => true,
        Init::Pieces(pieces) => pieces.iter().all(|(_, init)| is_constant(init)),
        _ => false,
    }
}

/// The weights of a model, as they are drawn; those that would be fitted or begin as constants are moved, or errors in them would not show.
fn weights(spec: &ModelSpec, seed: u64, dice: &mut Dice) -> Vec<NamedWeight> {
    let stream = Stream::new(seed, 2);
    let all = spec.all_weights().unwrap().into_iter().enumerate();
    let draw = |(i, weight): (usize, ncde_runtime::layer::Weight)| {
        let mut values = weight.draw(&stream.child(i as u64));
        if matches!(weight.role, Role::Fitted | Role::Undecayed) || is_constant(&weight.init) {
            // Far enough for the bounds of oscillators.
            let deviation = if weight.name.ends_with(".stiffness") { 3.0 } else { 0.3 };
            values.iter_mut().for_each(|x| *x += (deviation * dice.normal()) as f32);
        }
        if weight.name.ends_with(".query") {
            // Far enough that reads of an `mlstm` are divided by keys that were met.
            values.iter_mut().for_each(|x| *x *= 8.0);
        }
        if weight.name.ends_with(".mask") {
            // The entries of a mask may come in any order.
            values.chunks_mut(weight.shape[1]).for_each(<[f32]>::reverse);
        }
        NamedWeight { name: weight.name, shape: weight.shape, values }
    };
    all.map(draw).collect()
}

/// What the library predicts after each observation.
fn library(model: &Model, statics: &[Option<f64>], series: &[Observation]) -> Vec<Vec<f64>> {
    let plain = |values: &[Option<f64>]| values.iter().map(|x| x.unwrap_or(f64::NAN)).collect::<Vec<_>>();
    let mut state = model.start(&plain(statics)).unwrap();
    let mut all = Vec::new();
    for (time, values) in series {
        match model.push(&mut state, *time, &plain(values)) {
            Err(error) if error.is_overflow() => break,
            pushed => pushed.unwrap(),
        }
        if let Some(known) = model.spec().task.forecast().and_then(|forecast| forecast.known.as_ref()) {
            let rows = (1..5).flat_map(|k| (0..known.channels.len()).map(move |i| draw::ahead(k, i).unwrap_or(f64::NAN)));
            model.know_ahead(&mut state, &rows.collect::<Vec<_>>()).unwrap();
        }
        let has_widths = model.spec().task.forecast().is_some_and(|forecast| forecast.intervals.is_some());
        all.push(match model.predict(&state).unwrap() {
            Prediction::Class { probabilities, .. } => probabilities,
            Prediction::Value(value) => vec![value],
            Prediction::Values(Forecasts { mut values, widths }) => {
                values.extend(widths.into_iter().filter(|_| has_widths));
                values
            }
        });
    }
    all
}

/// The largest difference of two lists of predictions, relative to the largest number of the second (at least 1).
fn distance(ours: &[Vec<f64>], theirs: &[Vec<f64>]) -> f64 {
    assert_eq!(ours.iter().map(Vec::len).collect::<Vec<_>>(), theirs.iter().map(Vec::len).collect::<Vec<_>>());
    let largest = theirs.iter().flatten().fold(1.0_f64, |most, x| most.max(x.abs()));
    let pairs = ours.iter().flatten().zip(theirs.iter().flatten());
    pairs.fold(0.0, |most, (a, b)| if (a - b).abs() / largest <= most { most } else { (a - b).abs() / largest })
}

/// How far predictions move if each weight moves by about the last bit of an `f32`.
fn condition(json: &str, weights: &reader::Weights, statics: &[Option<f64>], series: &[Observation]) -> f64 {
    let still = reader::predictions(json, weights, statics, series);
    let moved = |seed: u64| {
        let dice = &mut Dice::new(seed);
        let mut names: Vec<&String> = weights.keys().collect();
        names.sort();
        let mut shake = |x: &f64| x * (1.0 + 6e-8 * dice.normal());
        let moved = names.into_iter().map(|name| {
            // The places of a mask are no numbers to round.
            let values = &weights[name];
            (name.clone(), if name.ends_with(".mask") { values.clone() } else { values.iter().map(&mut shake).collect() })
        });
        distance(&reader::predictions(json, &moved.collect(), statics, series), &still)
    };
    (0..4).map(moved).fold(0.0, f64::max)
}

/// Every name in layers, of a layer or of a setting: where it stands, its key, and what it is.
fn names(value: &Value, place: &str, key: &str, all: &mut Vec<(String, String, String)>) {
    match value {
        Value::Object(map) => map.iter().for_each(|(key, value)| names(value, &format!("{place}/{key}"), key, all)),
        Value::Array(list) => {
            list.iter().enumerate().for_each(|(i, value)| names(value, &format!("{place}/{i}"), key, all));
        }
        Value::String(text) => all.push((place.into(), key.into(), text.clone())),
        _ => {}
    }
}

/// All names that the library knows where one stands: it lists them where it is given one that it does not know.
fn known(layers: &Value, place: &str) -> Vec<String> {
    let mut layers = layers.clone();
    *layers.pointer_mut(place).unwrap() = "no-such-name".into();
    let message = serde_json::from_value::<Vec<LayerSpec>>(layers).unwrap_err().to_string();
    let listed = message.split_once("unknown variant `no-such-name`, expected").unwrap_or_else(|| panic!("{place}: {message}")).1;
    listed.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// What was drawn, and how far predictions are apart.
#[derive(Default)]
struct Drawn {
    /// How often each layer and setting was met; 0 of those that the library knows and that were not.
    seen: BTreeMap<String, usize>,
    /// The distance of each series, with the seed and the text of its model.
    worst: Vec<(f64, u64, String)>,
    /// How many series end early.
    cut: usize,
}

impl Drawn {
    fn and(mut self, other: Self) -> Self {
        other.seen.into_iter().for_each(|(name, count)| *self.seen.entry(name).or_default() += count);
        self.worst.extend(other.worst);
        Self { cut: self.cut + other.cut, ..self }
    }
}

/// Models of these seeds, each on two series.
fn drawn(seeds: impl Iterator<Item = u64>) -> Drawn {
    let Drawn { mut seen, mut worst, mut cut } = Drawn::default();
    for seed in seeds {
        let dice = &mut Dice::new(seed);
        let json = draw::model(dice);
        let text = json.to_string();
        let spec: ModelSpec = serde_json::from_str(&text).unwrap_or_else(|e| panic!("model {seed}: {e}\n{text}"));
        spec.check().unwrap_or_else(|e| panic!("model {seed}: {e}\n{text}"));
        let mut met = Vec::new();
        names(&json["layers"], "", "", &mut met);
        for (place, key, name) in met {
            if !seen.contains_key(&format!("{key} {name}")) {
                for name in known(&json["layers"], &place) {
                    seen.entry(format!("{key} {name}")).or_default();
                }
            }
            *seen.entry(format!("{key} {name}")).or_default() += 1;
        }
        let weights = weights(&spec, seed, dice);
        let wide = |weight: &NamedWeight| (weight.name.clone(), weight.values.iter().map(|&x| f64::from(x)).collect());
        let named: reader::Weights = weights.iter().map(wide).collect();
        let model = Model::new(spec, Weights::of(weights)).unwrap_or_else(|e| panic!("model {seed}: {e}\n{text}"));
        for _ in 0..2 {
            let (statics, series) = draw::series(dice, &json);
            let theirs = reader::predictions(&text, &named, &statics, &series);
            let ours = library(&model, &statics, &series);
            cut += usize::from(ours.len() < theirs.len());
            let distance = distance(&ours, &theirs[..ours.len()]);
            // Where a state explodes, the rounding of a weight moves predictions far; the rounding in between may move them as far.
            if distance.is_nan() || distance > 1e-6 {
                let allowed = 1e-6 + 10.0 * condition(&text, &named, &statics, &series[..ours.len()]);
                assert!(distance < allowed, "model {seed} differs by {distance}, but {allowed} is allowed:\n{text}");
            }
            worst.push((distance, seed, text.clone()));
        }
    }
    Drawn { seen, worst, cut }
}

#[test]
fn random_models_predict_what_a_second_reader_computes() {
    let halves = std::thread::scope(|scope| {
        let other = scope.spawn(|| drawn((0..MODELS).skip(1).step_by(2)));
        drawn((0..MODELS).step_by(2)).and(other.join().unwrap())
    });
    let Drawn { seen, mut worst, cut } = halves;
    worst.sort_by(|a, b| b.0.total_cmp(&a.0));
    let (distance, seed, text) = &worst[0];
    let above = worst.iter().filter(|(distance, ..)| *distance > 1e-6).count();
    println!(
        "{} series, {above} above 1e-6, worst {distance:.1e} (model {seed}), median {:.1e}",
        worst.len(),
        worst[worst.len() / 2].0
    );
    println!("{seen:#?}");
    assert!(*distance < 1e-4, "model {seed} differs by {distance}:\n{text}");
    // Hardly a series ends because a state has overflowed, and every setting of every layer was met.
    assert!(cut * 100 < worst.len(), "{cut} cut");
    let rare: Vec<_> = seen.iter().filter(|(name, n)| **n < 10 && !WITHOUT_EFFECT.contains(&name.as_str())).collect();
    assert!(rare.is_empty(), "met less than 10 times: {rare:?}; `draw` makes models");
}

/// The weights of a safetensors file: the length of its header, the header, numbers.
fn safetensors(bytes: &[u8]) -> reader::Weights {
    let (length, rest) = bytes.split_at(8);
    let (header, numbers) = rest.split_at(u64::from_le_bytes(length.try_into().unwrap()) as usize);
    let header: Value = serde_json::from_slice(header).unwrap();
    let weight = |(name, entry): (&String, &Value)| {
        assert_eq!(entry["dtype"], "F32");
        let place = |i: usize| reader::count(&entry["data_offsets"][i]);
        let number = |four: &[u8]| f64::from(f32::from_le_bytes(four.try_into().unwrap()));
        (name.clone(), numbers[place(0)..place(1)].chunks(4).map(number).collect())
    };
    header.as_object().unwrap().iter().filter(|(name, _)| *name != "__metadata__").map(weight).collect()
}

#[test]
fn fixtures_predict_what_a_second_reader_computes() {
    let mut models = 0;
    for folder in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures")).unwrap() {
        let folder = folder.unwrap().path();
        let Ok(expected) = std::fs::read_to_string(folder.join("expected.json")) else { continue };
        let json = std::fs::read_to_string(folder.join("model.json")).unwrap();
        let weights = safetensors(&std::fs::read(folder.join("model.safetensors")).unwrap());
        let cases: Vec<Value> = serde_json::from_str(&expected).unwrap();
        for case in cases {
            let statics: Vec<Option<f64>> = serde_json::from_value(case["statics"].clone()).unwrap();
            let series: Vec<Observation> = serde_json::from_value(case["observations"].clone()).unwrap();
            let wanted: Vec<Vec<f64>> = serde_json::from_value(case["predictions"].clone()).unwrap();
            let distance = distance(&reader::predictions(&json, &weights, &statics, &series), &wanted);
            assert!(distance < 1e-6, "{}: {distance}", folder.display());
        }
        models += 1;
    }
    assert_eq!(models, 11);
}
