//! Layers against their equations: plain matrices, one step at a time, in f64.

use burn_flex::Flex;
use burn_tensor::{DType, FloatDType, Tensor};
use ncde_kernels::Transition;
use ncde_layers::layer::{Context, FieldNorm, Network, Phase};
use ncde_runtime::LayerSpec;
use ncde_runtime::layer::{Drive, Initial, InputTerm, LinearCde};
use ncde_runtime::random::Stream;
use serde_json::{Value, json};

use crate::common::{B, apply, difference, exponential, numbers};
use crate::run::{Data, own_rows, tensor};
use crate::samples::{Sample, cde, drives, form, function, linear, log, numbers as signal, sample, structures};

/// A network in f64, some of its weights others than drawn.
pub(crate) fn double(sample: &Sample, others: &[(&str, Vec<f64>)]) -> Network<Flex> {
    let mut network = sample.network::<Flex>();
    let names: Vec<String> = network.weights().iter().map(|weight| weight.name.clone()).collect();
    for (own, name) in network.tensors.iter_mut().zip(&names) {
        *own = match others.iter().find(|(other, _)| other == name) {
            Some((_, values)) => tensor(values.clone(), own.dims(), DType::F64),
            None => own.clone().cast(FloatDType::F64),
        };
    }
    network
}

pub(crate) fn weight(network: &Network<Flex>, name: &str) -> Vec<f64> {
    let place = network.weights().iter().position(|weight| weight.name == name).unwrap_or_else(|| panic!("no weight {name}"));
    numbers(network.tensors[place].clone())
}

/// The rows that come out for each series.
pub(crate) fn rows(network: &Network<Flex>, data: &Data) -> Vec<Vec<Vec<f64>>> {
    own_rows(&network.forward(data.batch(data.longest(), 0.0, DType::F64), &data.context(DType::F64)).unwrap())
}

/// `h_{k+1} = exp(Omega) h_k + phi_1(Omega) beta`, with full matrices.
fn naive(spec: &LinearCde, sample: &Sample, network: &Network<Flex>, data: &Data, series: usize) -> Vec<Vec<f64>> {
    let has = |name: &str| network.weights().iter().any(|weight| weight.name == name);
    let mask = has("layers.0.mask").then(|| weight(network, "layers.0.mask").iter().map(|&x| x as f32).collect::<Vec<_>>());
    let dense = spec.prepare(&sample.input, mask.as_deref()).unwrap().field.densify(&weight(network, "layers.0.a")).unwrap();
    let (h, x, times) = (spec.hidden, data.rows[series].chunks(data.width).collect::<Vec<_>>(), &data.times[series]);
    let b = if spec.input == InputTerm::None { Vec::new() } else { weight(network, "layers.0.b") };
    let combine = |map: &[f64], by: &[f64], i: usize| by.iter().enumerate().map(|(k, x)| x * map[k * h + i]).sum::<f64>();
    let mut state = weight(network, "layers.0.start");
    if spec.initial == Initial::First {
        let (first, inputs) = (weight(network, "layers.0.first"), [x[0], &data.statics[series][..]].concat());
        (0..h).for_each(|i| state[i] += combine(&first, &inputs, i));
    }
    let mut all = Vec::new();
    for k in 0..x.len() {
        let tokens = spec.drive == (Drive::Tokens {});
        if k > 0 || (tokens && spec.initial == Initial::Learned) {
            let dt = if k > 0 { times[k] - times[k - 1] } else { 0.0 };
            let slow = || x[k - 1].iter().map(|x| x * dt).collect::<Vec<f64>>();
            let with = |time: bool, own: Vec<f64>| if time { [vec![dt], own].concat() } else { own };
            let omega: Vec<f64> = match spec.drive {
                Drive::Tokens {} => [&[1.0][..], x[k]].concat(),
                Drive::Increments { time } => with(time, x[k].iter().zip(x[k - 1]).map(|(new, old)| new - old).collect()),
                Drive::Values { time } => with(time, slow()),
                Drive::Time {} => vec![dt],
                Drive::Windows {} => unreachable!("rows drive"),
            };
            let omega: Vec<f64> = omega.iter().map(|x| spec.scale * x).collect();
            let xi = match spec.input {
                InputTerm::None => Vec::new(),
                InputTerm::Path => omega.clone(),
                InputTerm::Values => slow(),
            };
            let wide = h + 1;
            let mut generator = vec![0.0; wide * wide];
            for r in 0..h {
                for c in 0..h {
                    generator[r * wide + c] = omega.iter().enumerate().map(|(k, x)| x * dense[(k * h + r) * h + c]).sum();
                }
                generator[r * wide + h] = combine(&b, &xi, r);
            }
            let flow = match spec.transition {
                Transition::Exp => exponential(&generator, wide),
                Transition::Euler => (0..wide * wide).map(|i| generator[i] + f64::from(u8::from(i % (wide + 1) == 0))).collect(),
            };
            state.push(1.0);
            state = apply(&flow, &state);
            state.truncate(h);
        }
        all.push(state.clone());
    }
    all
}

#[test]
fn a_linear_cde_is_its_equation() {
    let mut all: Vec<Value> = Vec::new();
    for (hidden, structure, _) in structures() {
        for transition in ["exp", "euler"] {
            let more = json!({"drive": {"kind": "increments", "time": true}, "input": "path", "transition": transition});
            all.push(cde(hidden, structure.clone(), more));
        }
    }
    for drive in drives() {
        for (input, initial) in [("none", "first"), ("path", "learned"), ("values", "first"), ("path", "first")] {
            if input == "values" && drive["kind"] == "tokens" {
                continue;
            }
            let more = json!({"drive": drive, "input": input, "initial": initial, "scale": 0.7});
            all.push(cde(3, json!({"kind": "dense"}), more));
        }
    }
    for layer in all {
        let sample = sample(layer.to_string(), signal(2, 1), json!([layer]));
        let LayerSpec::LinearCde(spec) = &sample.layers[0] else { unreachable!("that is what was asked for") };
        let (network, data) = (double(&sample, &[]), sample.data());
        for (series, seen) in rows(&network, &data).iter().enumerate() {
            let error = difference(&seen.concat(), &naive(spec, &sample, &network, &data, series).concat());
            assert!(error < 1e-12, "{}: {error}", sample.name);
        }
    }
}

/// The states after one window of 4 steps at this depth, and after 4 windows of one step, which are exact.
fn window_error(structure: (usize, Value, &str), input: &str, depth: usize, size: f64) -> f64 {
    let (hidden, structure, basis) = structure;
    let layer =
        cde(hidden, structure, json!({"input": input, "initial": "learned", "init": {"kind": "scaled", "deviation": 1.0}}));
    let [window, exact] = [log(4, depth, basis), log(1, 1, basis)].map(|windows| {
        let sample = sample("window", signal(3, 0), json!([windows, layer]));
        // Of several paths, or the leading term may vanish by chance.
        let mut data = Data::new(&sample.input, &[5; 6], 4);
        data.rows.iter_mut().flatten().for_each(|x| *x *= size);
        rows(&double(&sample, &[]), &data).iter().flat_map(|own| own[own.len() - 1].clone()).collect::<Vec<f64>>()
    });
    window.iter().zip(&exact).fold(0.0, |most, (a, b)| most.max((a - b).abs()))
}

#[test]
fn windows_have_the_order_of_their_depth() {
    for structure in [
        (3, json!({"kind": "dense"}), "lyndon"),
        (3, json!({"kind": "dense"}), "expanded"),
        (4, json!({"kind": "diagonal-dense", "block": 3}), "lyndon"),
        (4, json!({"kind": "dplr", "rank": 1}), "expanded"),
    ] {
        for (input, depth) in [("none", 1), ("none", 2), ("none", 3), ("path", 1), ("path", 2), ("path", 3)] {
            let [large, small] = [0.08, 0.04].map(|size| window_error(structure.clone(), input, depth, size));
            let order = (large / small).log2();
            assert!((order - (depth + 1) as f64).abs() < 0.4, "{structure:?} {input}, depth {depth}: order {order}");
        }
    }
    // Diagonal matrices commute: without an input one window is exact at any depth.
    let diagonal = (5, json!({"kind": "diagonal"}), "lyndon");
    assert!(window_error(diagonal.clone(), "none", 1, 1.0) < 1e-11);
    let order = (window_error(diagonal.clone(), "path", 2, 0.08) / window_error(diagonal, "path", 2, 0.04)).log2();
    assert!((order - 3.0).abs() < 0.4, "{order}");
}

/// Brackets formed ahead, nested products, and increments without a log-signature: the same generator.
#[test]
fn the_routes_agree() {
    for structure in [json!({"kind": "dense"}), json!({"kind": "block", "block": 2})] {
        for (input, depth, scale) in [("none", 2, 1.0), ("path", 2, 0.3), ("none", 3, 1.0), ("path", 3, 0.3)] {
            let by = |windows: Value| {
                let layer = cde(4, structure.clone(), json!({"input": input, "scale": scale}));
                let sample = sample("route", signal(3, 0), json!([windows, layer]));
                rows(&double(&sample, &[]), &sample.data()).concat().concat()
            };
            let brackets = by(log(3, depth, "lyndon"));
            let error = difference(&by(log(3, depth, "expanded")), &brackets);
            assert!(error < 1e-12, "{structure} {input}, depth {depth}: {error}");
            if depth == 2 {
                let error = difference(&by(form(3, "increments")), &brackets);
                assert!(error < 1e-12, "{structure} {input}, increments: {error}");
            }
        }
    }
}

/// `dh = A h domega + B domega` is `d(h, 1) = [[A, B], [0, 0]] (h, 1) domega`.
#[test]
fn an_input_of_the_path_is_an_augmented_matrix() {
    let h = 3;
    let cases = [
        (Some(log(3, 2, "lyndon")), json!({"kind": "windows"})),
        (Some(log(3, 3, "lyndon")), json!({"kind": "windows"})),
        (Some(log(3, 3, "expanded")), json!({"kind": "windows"})),
        (Some(form(3, "increments")), json!({"kind": "windows"})),
        (None, json!({"kind": "tokens"})),
        (None, json!({"kind": "values", "time": true})),
    ];
    for (windows, drive) in cases {
        let place = windows.iter().len();
        let made = |hidden: usize, input: &str| {
            let layer = cde(hidden, json!({"kind": "dense"}), json!({"drive": drive, "input": input, "initial": "learned"}));
            let layers: Vec<Value> = windows.iter().cloned().chain([layer]).collect();
            sample("augmented", signal(2, 0), json!(layers))
        };
        let affine = double(&made(h, "path"), &[]);
        let name = |what: &str| format!("layers.{place}.{what}");
        let (a, b, mut start) = (weight(&affine, &name("a")), weight(&affine, &name("b")), weight(&affine, &name("start")));
        let mut wide = Vec::new();
        for (a, b) in a.chunks(h * h).zip(b.chunks(h)) {
            a.chunks(h).zip(b).for_each(|(row, b)| wide.extend(row.iter().chain([b])));
            wide.extend(vec![0.0; h + 1]);
        }
        start.push(1.0);
        let sample = made(h + 1, "none");
        let linear = double(&sample, &[(name("a").as_str(), wide), (name("start").as_str(), start)]);
        let data = sample.data();
        for (affine, linear) in rows(&affine, &data).concat().iter().zip(rows(&linear, &data).concat()) {
            let error = difference(affine, &linear[..h]);
            assert!(error < 1e-12 && (linear[h] - 1.0).abs() < 1e-14, "{windows:?} {drive}: {error}");
        }
    }
}

#[test]
fn half_a_turn_a_bit_is_parity() {
    let turn = cde(2, json!({"kind": "dense"}), json!({"drive": {"kind": "tokens"}, "initial": "learned"}));
    let (sample, pi) = (sample("parity", signal(1, 0), json!([turn])), std::f64::consts::PI);
    let turns = vec![0.0, 0.0, 0.0, 0.0, 0.0, -pi, pi, 0.0];
    let network = double(&sample, &[("layers.0.a", turns), ("layers.0.start", vec![1.0, 0.0])]);
    let mut data = Data::new(&sample.input, &[200], 1);
    data.rows[0].iter_mut().for_each(|x| *x = f64::from(u8::from(*x > 0.0)));
    let mut sign = 1.0;
    for (state, bit) in rows(&network, &data)[0].iter().zip(&data.rows[0]) {
        sign *= 1.0 - 2.0 * bit;
        assert!((state[0] - sign).abs() < 1e-12 && state[1].abs() < 1e-12);
    }
}

#[test]
fn dense_layers_are_their_equations() {
    type Function = fn(f64) -> f64;
    let functions: [(&str, Function); 4] =
        [("silu", |x| x / (1.0 + (-x).exp())), ("relu", |x| x.max(0.0)), ("tanh", f64::tanh), ("softplus", |x| x.exp().ln_1p())];
    for (name, f) in functions {
        let residual = json!({"layer": "residual", "layers": [linear(3), function(name)]});
        let sample = sample(name, signal(3, 0), json!([residual, {"layer": "layer-norm", "affine": true}]));
        let (network, data) = (double(&sample, &[]), sample.data());
        let [map, bias] = ["weight", "bias"].map(|of| weight(&network, &format!("layers.0.layers.0.{of}")));
        let [gain, offset] = ["gain", "offset"].map(|of| weight(&network, &format!("layers.1.{of}")));
        let all = data.rows.concat();
        let wanted = all.chunks(3).flat_map(|x| {
            let z: Vec<f64> = (0..3).map(|i| x[i] + f(bias[i] + (0..3).map(|j| x[j] * map[j * 3 + i]).sum::<f64>())).collect();
            let mean = z.iter().sum::<f64>() / 3.0;
            let variance = z.iter().map(|z| (z - mean) * (z - mean)).sum::<f64>() / 3.0;
            (0..3).map(|i| gain[i] * (z[i] - mean) / (variance + 1e-5).sqrt() + offset[i]).collect::<Vec<_>>()
        });
        let error = difference(&rows(&network, &data).concat().concat(), &wanted.collect::<Vec<_>>());
        assert!(error < 1e-14, "{name}: {error}");
    }
}

#[test]
fn dropout_drops_and_scales() {
    let sample = sample("dropout", signal(4, 0), json!([{"layer": "dropout", "rate": 0.5}]));
    let (network, data) = (sample.network::<Flex>(), Data::new(&sample.input, &[50; 8], 1));
    let run = |phase| {
        let context = Context { statics: None, phase };
        numbers(network.forward(data.batch(50, 0.0, DType::F32), &context).unwrap().values)
    };
    let kept = run(Phase::Predict);
    assert_eq!(kept, data.rows.concat());
    let stream = Stream::new(9, 0);
    let dropped = run(Phase::Train(stream));
    assert_eq!(dropped, run(Phase::Train(stream)));
    assert_ne!(dropped, run(Phase::Train(stream.child(1))));
    let zeros = dropped.iter().filter(|&&x| x == 0.0).count() as f64 / dropped.len() as f64;
    assert!((zeros - 0.5).abs() < 0.06, "{zeros}");
    assert!(dropped.iter().zip(&kept).all(|(d, k)| *d == 0.0 || (d - 2.0 * k).abs() < 1e-6));
}

#[test]
fn the_penalty_of_a_linear_cde_is_the_mean_norm_of_channels() {
    let _graph = ncde_layers::graph::lock();
    let layer = cde(4, json!({"kind": "block", "block": 2}), json!({"drive": {"kind": "tokens"}}));
    let sample = sample("penalty", signal(2, 0), json!([{"layer": "residual", "layers": [linear(2)]}, layer.clone(), layer]));
    let network = double(&sample, &[]);
    let norms = |name: &str| weight(&network, name).chunks(8).map(|a| a.iter().map(|x| x * x).sum::<f64>().sqrt()).sum::<f64>();
    let wanted = norms("layers.1.a") / 3.0 + norms("layers.2.a") / 5.0;
    let seen = numbers(network.penalty(FieldNorm::Channels).unwrap())[0];
    assert!((seen - wanted).abs() < 1e-12 * wanted, "{seen} {wanted}");
    // Or of all channels together, layer by layer.
    let whole = |name: &str| weight(&network, name).iter().map(|x| x * x).sum::<f64>().sqrt();
    let (seen, wanted) = (numbers(network.penalty(FieldNorm::Frobenius).unwrap())[0], whole("layers.1.a") + whole("layers.2.a"));
    assert!((seen - wanted).abs() < 1e-12 * wanted, "{seen} {wanted}");
    // Its slope at 0 is a number.
    let mut zero = sample.network::<B>();
    zero.tensors.iter_mut().for_each(|own| *own = Tensor::zeros(own.dims(), &Default::default()).require_grad());
    let gradients = zero.penalty(FieldNorm::Channels).unwrap().backward();
    let slopes = zero.tensors.iter().filter_map(|own| own.grad(&gradients)).flat_map(numbers);
    let slopes: Vec<f64> = slopes.collect();
    assert!(slopes.len() == 24 + 40 && slopes.iter().all(|&x| x == 0.0), "{slopes:?}");
}

#[test]
fn fitted_layers_see_the_training_data() {
    let features = json!([{"layer": "signature", "depth": 2}, {"layer": "standardise"}]);
    fitted(&sample("fit", signal(2, 1), features));
    // Also inside another layer.
    let inside = json!([{"layer": "residual", "layers": [{"layer": "standardise"}]}, {"layer": "standardise"}]);
    let (network, data) = fitted(&sample("fit inside", signal(2, 0), inside));
    let all = data.rows.concat();
    for (i, shift) in weight(&network, "layers.0.layers.0.shift").into_iter().enumerate() {
        let mean = all.iter().skip(i).step_by(2).sum::<f64>() / (all.len() / 2) as f64;
        assert!((shift - mean).abs() < 1e-6, "{shift} {mean}");
    }
}

/// A network fitted to series one by one; features of all of them have mean 0 and variance 1 then.
fn fitted(sample: &Sample) -> (Network<Flex>, Data) {
    let (mut network, data) = (sample.network::<Flex>(), Data::new(&sample.input, &[7, 9, 4], 1));
    let batch = |data: &Data| (data.batch(9, 1e6, DType::F32), data.context(DType::F32));
    network
        .fit(&mut |each| {
            for b in 0..3 {
                let (rows, context) = batch(&data.pick(&[(b, data.lengths()[b])]));
                each(rows, context)?;
            }
            Ok(())
        })
        .unwrap();
    let (rows, context) = batch(&data);
    let out = own_rows(&network.forward(rows, &context).unwrap()).concat();
    for i in 0..out[0].len() {
        let mean = out.iter().map(|row| row[i]).sum::<f64>() / out.len() as f64;
        let square = out.iter().map(|row| row[i] * row[i]).sum::<f64>() / out.len() as f64;
        assert!(mean.abs() < 1e-5 && (square - 1.0).abs() < 1e-4, "feature {i}: {mean} {square}");
    }
    (network, data)
}
