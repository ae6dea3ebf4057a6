//! One observation at a time: the states of the batch, for every preset, structure and window; saved and resumed anywhere.
#![allow(clippy::unwrap_used, reason = "a test")]

mod common;

use burn::module::Param;
use burn::tensor::FloatDType;
use common::{B, difference, numbers, tensor, values};
use ncde::model::{
    Driving, First, Gates, GatesConfig, Init, Initial, InputTerm, LinearNcde, LinearNcdeConfig, LinearNcdeStream, Observations,
    Preset, Route, StreamState, StructureConfig, TimeChannel, Times, cast,
};
use ncde::random::Stream;
use ncde_kernels::{Affine, Bound, Transition};

const CHANNELS: usize = 2;
const LENGTH: usize = 11;
const HIDDEN: usize = 4;

/// Irregular times from 3.5 on, and values.
fn series() -> (Vec<f64>, Vec<f64>) {
    let mut time = 3.5;
    let times = values(LENGTH, 0.45, 7).into_iter().map(|gap| {
        time += 0.5 + gap;
        time
    });
    (times.collect(), values(LENGTH * CHANNELS, 1.0, 8))
}

fn presets() -> Vec<GatesConfig> {
    use TimeChannel::{Absent, Present};
    vec![
        GatesConfig::Values { time: Present },
        GatesConfig::Values { time: Absent },
        GatesConfig::Increments { time: Present },
        GatesConfig::Increments { time: Absent },
        GatesConfig::Tokens { scale: 0.3, first: First::Drives },
        GatesConfig::Tokens { scale: 0.3, first: First::Starts },
        GatesConfig::TimeSquared,
        GatesConfig::S4,
        GatesConfig::Mamba,
        GatesConfig::Ids4,
    ]
}

/// The gates, and the settings of a layer that they can drive.
fn pair(gates: GatesConfig, structure: StructureConfig) -> (Preset<B>, LinearNcdeConfig) {
    let gates = cast(gates.init::<B>(CHANNELS, &Default::default(), &Stream::new(5, 0)), FloatDType::F64);
    let [omega, xi] = gates.channels(CHANNELS);
    let config = LinearNcdeConfig::new(HIDDEN, omega)
        .with_structure(structure)
        .with_init(Init::Scaled { std: 0.8 })
        .with_initial(Initial::FromFirst { channels: CHANNELS })
        .with_input(if xi > 0 { InputTerm::Vector { channels: xi } } else { InputTerm::None });
    (gates, config)
}

fn layer(config: &LinearNcdeConfig) -> LinearNcde<B> {
    cast(config.init::<B>(&Default::default(), 3).unwrap(), FloatDType::F64)
}

/// The last state of the batch on the first `length` observations.
fn batch(layer: &LinearNcde<B>, gates: &Preset<B>, length: usize) -> Vec<f64> {
    let (times, x) = series();
    let first = tensor(x[..CHANNELS].to_vec(), [1, CHANNELS]);
    let observations = Observations {
        values: tensor(x[..length * CHANNELS].to_vec(), [1, length, CHANNELS]),
        times: Times::Steps(tensor(times[..length].windows(2).map(|pair| pair[1] - pair[0]).collect(), [1, length - 1])),
        lengths: None,
    };
    // One observation is no path: nothing has happened yet.
    let drives = matches!(gates, Preset::Tokens(tokens) if tokens.first == First::Drives);
    if length == 1 && !drives {
        return numbers(layer.initial(&first).unwrap());
    }
    let states = layer.forward(&gates.drive(observations).unwrap()).unwrap();
    let steps = states.dims()[1];
    numbers(states.narrow(1, steps - 1, 1))
}

/// Every state of a stream.
fn streamed(stream: &mut LinearNcdeStream<f64>) -> Vec<Vec<f64>> {
    let (times, x) = series();
    times.iter().zip(x.chunks(CHANNELS)).map(|(&time, x)| stream.push(time, x).unwrap().to_vec()).collect()
}

/// Streaming = batch after every observation, and saving anywhere changes nothing.
fn check(layer: &LinearNcde<B>, gates: &Preset<B>, what: &str) {
    let mut stream = layer.stream::<f64>(gates).unwrap();
    let (times, x) = series();
    let states = streamed(&mut stream);
    for (j, state) in states.iter().enumerate() {
        let error = difference(state, &batch(layer, gates, j + 1));
        assert!(error < 1e-13, "{what}, observation {j}: {error}");
    }
    assert!(difference(&states[1], &states[LENGTH - 1]) > 1e-2, "{what}: the state does not move");
    for middle in 0..LENGTH {
        stream.clear();
        for j in 0..middle {
            stream.push(times[j], &x[j * CHANNELS..(j + 1) * CHANNELS]).unwrap();
        }
        let text = serde_json::to_string(&stream.save().unwrap()).unwrap();
        let saved: StreamState<f64> = serde_json::from_str(&text).unwrap();
        let mut resumed = layer.stream::<f64>(gates).unwrap();
        resumed.resume(&saved).unwrap();
        assert_eq!((resumed.observations(), resumed.time()), (middle, middle.checked_sub(1).map(|j| times[j])));
        for j in middle..LENGTH {
            let error = difference(resumed.push(times[j], &x[j * CHANNELS..(j + 1) * CHANNELS]).unwrap(), &states[j]);
            assert!(error < 1e-13, "{what}, saved after {middle}, observation {j}: {error}");
        }
    }
}

fn structures() -> Vec<StructureConfig> {
    vec![
        StructureConfig::Dense,
        StructureConfig::Diagonal,
        StructureConfig::Block { block: 2 },
        StructureConfig::Blocks { sizes: vec![3, 1] },
        StructureConfig::DiagonalDense { block: 2 },
        StructureConfig::Dplr { rank: 2 },
        StructureConfig::Sparse { epsilon: 0.5 },
        StructureConfig::WalshHadamard { bound: Bound::Tanh },
    ]
}

#[test]
fn every_preset_is_its_batch() {
    for gates in presets() {
        let (preset, config) = pair(gates, StructureConfig::Block { block: 2 });
        check(&layer(&config), &preset, &format!("{gates:?}"));
        let learned = config.with_initial(Initial::Learned);
        check(&layer(&learned), &preset, &format!("{gates:?}, learned start"));
    }
}

#[test]
fn every_structure_is_its_batch() {
    for structure in structures() {
        for gates in [GatesConfig::Increments { time: TimeChannel::Present }, GatesConfig::Ids4] {
            let (preset, config) = pair(gates, structure.clone());
            check(&layer(&config), &preset, &format!("{structure:?}, {gates:?}"));
            let euler = config.clone().with_transition(Transition::Euler);
            check(&layer(&euler), &preset, &format!("{structure:?}, {gates:?}, euler"));
            let plain = LinearNcdeConfig { affine: Affine::Approximate, ..config };
            check(&layer(&plain), &preset, &format!("{structure:?}, {gates:?}, approximate"));
        }
    }
}

#[test]
fn every_preset_is_its_batch_over_windows() {
    for gates in presets() {
        for (depth, steps) in [(1, 1), (1, 4), (2, 3), (3, 4), (3, 20)] {
            let (preset, config) = pair(gates, StructureConfig::Block { block: 2 });
            let config = config.with_driving(Driving::LogOde { depth, steps });
            check(&layer(&config), &preset, &format!("{gates:?}, depth {depth}, {steps} steps"));
        }
    }
}

#[test]
fn every_structure_is_its_batch_over_windows() {
    let mut routes = Vec::new();
    for structure in structures() {
        for gates in [GatesConfig::Increments { time: TimeChannel::Present }, GatesConfig::S4] {
            for depth in [1, 2, 3] {
                let (preset, config) = pair(gates, structure.clone());
                let layer = layer(&config.with_driving(Driving::LogOde { depth, steps: 3 }));
                routes.push(layer.plan().route());
                check(&layer, &preset, &format!("{structure:?}, {gates:?}, depth {depth}"));
            }
        }
    }
    assert!([Route::Brackets, Route::Words, Route::Letters].iter().all(|route| routes.contains(route)));
}

#[test]
fn matrix_valued_states_are_their_batch() {
    for driving in [Driving::Increments, Driving::LogOde { depth: 2, steps: 3 }] {
        for structure in [StructureConfig::Block { block: 2 }, StructureConfig::Dplr { rank: 1 }] {
            let (preset, config) = pair(GatesConfig::S4, structure.clone());
            let config = config.with_columns(CHANNELS).with_input(InputTerm::Columns).with_driving(driving);
            check(&layer(&config), &preset, &format!("{structure:?}, {driving:?}"));
        }
    }
}

#[test]
fn single_precision_is_close() {
    for driving in [Driving::Increments, Driving::LogOde { depth: 2, steps: 3 }] {
        for gates in presets() {
            let (preset, config) = pair(gates, StructureConfig::Block { block: 2 });
            let layer = layer(&config.with_driving(driving));
            let (mut single, mut double) = (layer.stream::<f32>(&preset).unwrap(), layer.stream::<f64>(&preset).unwrap());
            let (times, x) = series();
            for (&time, x) in times.iter().zip(x.chunks(CHANNELS)) {
                let x32: Vec<f32> = x.iter().map(|&x| x as f32).collect();
                let state: Vec<f64> = single.push(time, &x32).unwrap().iter().copied().map(f64::from).collect();
                let error = difference(&state, double.push(time, x).unwrap());
                assert!(error < 1e-5, "{gates:?}: {error}");
            }
        }
    }
}

#[test]
fn what_is_shown_in_a_window_is_not_stored() {
    let (gates, config) = pair(GatesConfig::Increments { time: TimeChannel::Present }, StructureConfig::Dense);
    let layer = layer(&config.with_driving(Driving::LogOde { depth: 2, steps: 3 }));
    let (mut shown, mut silent) = (layer.stream::<f64>(&gates).unwrap(), layer.stream::<f64>(&gates).unwrap());
    let (times, x) = series();
    let mut ends = Vec::new();
    for (j, (&time, x)) in times.iter().zip(x.chunks(CHANNELS)).enumerate() {
        let state = shown.push(time, x).unwrap().to_vec();
        silent.absorb(time, x).unwrap();
        assert_eq!(shown.stored(), silent.stored());
        assert_eq!(silent.state().unwrap(), state);
        if j % 3 == 0 {
            ends.push(state.clone());
        }
        assert_eq!(shown.stored(), ends[j / 3], "observation {j}");
        assert_eq!(state == ends[j / 3], j % 3 == 0);
        let window = shown.save().unwrap().window;
        assert_eq!(window.map_or(0, |window| window.steps), j % 3);
    }
}

#[test]
fn series_can_share_a_stream() {
    let (gates, config) = pair(GatesConfig::TimeSquared, StructureConfig::Block { block: 2 });
    let layer = layer(&config.with_driving(Driving::LogOde { depth: 2, steps: 4 }));
    let mut stream = layer.stream::<f64>(&gates).unwrap();
    let alone = streamed(&mut stream);
    stream.clear();
    let (times, x) = series();
    let mut states = [stream.save().unwrap(), stream.save().unwrap()];
    for (j, (&time, x)) in times.iter().zip(x.chunks(CHANNELS)).enumerate() {
        // The second series starts a day later and is the first one with its channels swapped.
        stream.resume(&states[0]).unwrap();
        assert!(difference(stream.push(time, x).unwrap(), &alone[j]) < 1e-13);
        states[0] = stream.save().unwrap();
        stream.resume(&states[1]).unwrap();
        stream.push(time + 86_400.0, &[x[1], x[0]]).unwrap();
        states[1] = stream.save().unwrap();
    }
    assert_eq!(states[1].observations, LENGTH);
    assert!(difference(&states[0].state, &states[1].state) > 1e-2);
}

#[test]
fn gates_know_their_channels() {
    for gates in presets() {
        let (preset, config) = pair(gates, StructureConfig::Block { block: 2 });
        assert_eq!(layer(&config).stream::<f64>(&preset).unwrap().channels(), CHANNELS, "{gates:?}");
    }
}

#[test]
fn a_refused_observation_changes_nothing() {
    for driving in [Driving::Increments, Driving::LogOde { depth: 2, steps: 2 }] {
        let (gates, config) = pair(GatesConfig::Increments { time: TimeChannel::Present }, StructureConfig::Dense);
        let mut stream = layer(&config.with_driving(driving)).stream::<f64>(&gates).unwrap();
        let refused = |stream: &mut LinearNcdeStream<f64>, time: f64, values: &[f64]| {
            let before = stream.save().unwrap();
            let message = stream.push(time, values).unwrap_err().to_string();
            assert_eq!(stream.save().unwrap(), before);
            message
        };
        assert_eq!(refused(&mut stream, f64::NAN, &[1.0, 2.0]), "the time of observation 0 is NaN; times must be finite");
        stream.push(1.0, &[1.0, 2.0]).unwrap();
        stream.push(2.0, &[1.5, 2.0]).unwrap();
        let back = refused(&mut stream, 1.5, &[1.0, 2.0]);
        assert!(back.starts_with("times must increase: observation 2 has time 1.5, but observation 1 already has 2"), "{back}");
        assert!(refused(&mut stream, 2.0, &[1.0, 2.0]).starts_with("times must increase"));
        let gap = refused(&mut stream, 3.0, &[1.0, f64::NAN]);
        assert_eq!(gap, "the value of observation 2, channel 1, is NaN; fill missing values before pushing");
        assert!(refused(&mut stream, 3.0, &[f64::INFINITY, 1.0]).contains("channel 0, is inf"));
        let wide = refused(&mut stream, 3.0, &[1.0, 2.0, 3.0]);
        assert_eq!(wide, "Linear NCDE stream: the observation has 3 channels, but 2 is needed");
        assert!(stream.push(3.0, &[1.0, 2.0]).is_ok());
    }
}

#[test]
fn an_overflow_stays_until_the_stream_is_cleared() {
    for driving in [Driving::Increments, Driving::LogOde { depth: 2, steps: 1 }] {
        let (gates, config) = pair(GatesConfig::Increments { time: TimeChannel::Absent }, StructureConfig::Dense);
        let mut stream = layer(&config.with_driving(driving)).stream::<f64>(&gates).unwrap();
        let calm = stream.push(0.0, &[0.0, 0.0]).unwrap().to_vec();
        let message = stream.push(1.0, &[1e9, -1e9]).unwrap_err().to_string();
        assert!(message.contains("overflows"), "{message}");
        assert!(stream.push(2.0, &[1e9, 1e9]).is_err());
        stream.clear();
        assert_eq!((stream.observations(), stream.time()), (0, None));
        assert_eq!(stream.push(-5.0, &[0.0, 0.0]).unwrap(), calm);
    }
    let (gates, config) = pair(GatesConfig::S4, StructureConfig::Dense);
    let mut steep = layer(&config);
    steep.first = Some(Param::from_tensor(tensor(vec![3.0; CHANNELS * HIDDEN], [CHANNELS, HIDDEN])));
    let mut stream = steep.stream::<f32>(&gates).unwrap();
    assert!(stream.push(0.0, &[f32::MAX, f32::MAX]).unwrap_err().to_string().contains("the initial state holds"));
}

#[test]
fn gates_of_another_layer_are_refused() {
    let (_, config) = pair(GatesConfig::S4, StructureConfig::Dense);
    let (increments, _) = pair(GatesConfig::Increments { time: TimeChannel::Present }, StructureConfig::Dense);
    let message = layer(&config).stream::<f64>(&increments).unwrap_err().to_string();
    let expected = "Linear NCDE stream: the increment that the gates make has 2 channels of omega and 0 of xi, \
                    but 2 channels of omega and 2 of xi is needed";
    assert_eq!(message, expected);
    let narrow = LinearNcdeConfig::new(4, 1);
    let (squares, _) = pair(GatesConfig::TimeSquared, StructureConfig::Dense);
    assert!(layer(&narrow).stream::<f64>(&squares).is_err());
    let other = LinearNcdeConfig::new(4, 4).with_initial(Initial::FromFirst { channels: 3 });
    let message = layer(&other).stream::<f64>(&squares).unwrap_err().to_string();
    assert_eq!(message, "Linear NCDE stream: the path of the gates has 2 channels, but 3 is needed");
}

#[test]
fn states_of_another_layer_are_refused() {
    let (gates, config) = pair(GatesConfig::Increments { time: TimeChannel::Present }, StructureConfig::Dense);
    let windows = layer(&config.clone().with_driving(Driving::LogOde { depth: 2, steps: 3 }));
    let mut stream = windows.stream::<f64>(&gates).unwrap();
    stream.push(0.0, &[1.0, 2.0]).unwrap();
    stream.push(1.0, &[2.0, 2.5]).unwrap();
    let good = stream.save().unwrap();
    let mut refused = |saved: &StreamState<f64>| {
        let before = stream.save().unwrap();
        let message = stream.resume(saved).unwrap_err().to_string();
        assert_eq!(stream.save().unwrap(), before);
        message
    };
    let state = refused(&StreamState { state: vec![0.0; 3], ..good.clone() });
    assert_eq!(state, "Linear NCDE stream: the saved state has 3 numbers, but 4 is needed");
    assert!(refused(&StreamState { last: vec![0.0], ..good.clone() }).contains("the last saved observation"));
    let nan = refused(&StreamState { state: vec![0.0, 0.0, 0.0, f64::NAN], ..good.clone() });
    assert!(nan.contains("the saved state holds NaN at place 3"), "{nan}");
    assert!(refused(&StreamState { time: f64::INFINITY, ..good.clone() }).contains("inf"));
    let mut long = good.clone();
    long.window.as_mut().unwrap().steps = 4;
    assert_eq!(refused(&long), "Linear NCDE stream: the saved window has 4 steps, but at most 3 is needed");
    let mut deep = good.clone();
    deep.window.as_mut().unwrap().log.push(0.0);
    assert_eq!(refused(&deep), "Linear NCDE stream: the saved log-signature has 7 numbers, but 6 is needed");
    // A layer without windows.
    assert!(layer(&config).stream::<f64>(&gates).unwrap().resume(&good).is_err());
    assert!(stream.resume(&good).is_ok());
}
