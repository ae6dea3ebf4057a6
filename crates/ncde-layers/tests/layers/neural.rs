//! Neural CDEs against the generic solver, and against each other.

use burn_flex::Flex;
use burn_tensor::Tensor;
use ncde_layers::layer::FieldNorm;
use ncde_runtime::LayerSpec;
use ncde_runtime::layer::generic_field;
use ncde_signature::path::{AtObservations, Cubic, Linear, Series, Windows};
use ncde_solve::lip::weight_penalty;
use ncde_solve::solve::{Along, Drive, LogOde, Method, Save, Solver, Steps, Term};
use serde_json::{Value, json};

use crate::common::{B, difference, numbers};
use crate::identities::{double, rows, weight};
use crate::run::Data;
use crate::samples::{Sample, form, log, neural, numbers as signal, sample};

const H: usize = 3;

/// A network of two hidden layers of their own kind, solved so finely that the method does not matter.
fn fine(windows: &Value, kind: &str) -> Sample {
    let more = json!({"solver": "rk4", "steps": 24, "layers": 2, "activation": "silu", "before_last": "tanh"});
    sample(format!("{kind} over {windows}"), signal(2, 0), json!([windows, neural(kind, more)]))
}

fn series(data: &Data) -> Series<f64> {
    Series::new(data.times[0].clone(), data.rows[0].clone(), 2).unwrap()
}

/// The states of the same model by `ncde-solve`, at the ends of its windows.
fn generic<D: Drive<f64>>(sample: &Sample, data: &Data, drive: &D) -> Vec<f64> {
    let LayerSpec::NeuralCde(spec) = &sample.layers[1] else { unreachable!("that is what was asked for") };
    let network = double(sample, &[]);
    let field = generic_field(&spec.network(&sample.layers[0].layer().output(&sample.input, &[]).unwrap()).unwrap()).unwrap();
    let (first, mut start) = (weight(&network, "layers.1.first"), weight(&network, "layers.1.start"));
    (0..H).for_each(|i| start[i] += data.rows[0][0] * first[i] + data.rows[0][1] * first[H + i]);
    let term = Term { field: &field, drive };
    let solver = Solver { method: Method::Rk4, steps: Steps::Shared(400) };
    solver.solve(&term, &weight(&network, "layers.1.field"), &start, &Save::Knots).unwrap().states
}

#[test]
fn a_log_ncde_is_that_of_the_generic_solver() {
    for depth in 1..=3 {
        let sample = fine(&log(4, depth, "lyndon"), "log-ncde");
        let data = Data::new(&sample.input, &[11], 1);
        let path: Linear<f64, AtObservations> = Linear::new(&series(&data).complete().unwrap()).unwrap();
        let drive = LogOde::new(&path, &Windows::Observations(4), depth, 1).unwrap();
        let error = difference(&rows(&double(&sample, &[]), &data)[0].concat(), &generic(&sample, &data, &drive));
        assert!(error < 1e-6, "depth {depth}: {error}");
    }
}

#[test]
fn an_ncde_follows_the_hermite_cubic() {
    let sample = fine(&form(1, "hermite"), "ncde");
    let data = Data::new(&sample.input, &[9], 1);
    let path: Cubic<f64, AtObservations> = Cubic::hermite(&series(&data).complete().unwrap()).unwrap();
    let wanted = generic(&sample, &data, &Along::new::<f64>(&path).unwrap());
    let error = difference(&rows(&double(&sample, &[]), &data)[0].concat(), &wanted);
    assert!(error < 1e-6, "{error}");
}

#[test]
fn at_depth_1_an_nrde_is_a_log_ncde() {
    let [nrde, log] = ["nrde", "log-ncde"].map(|kind| {
        let sample = fine(&log(3, 1, "lyndon"), kind);
        rows(&double(&sample, &[]), &sample.data())
    });
    assert_eq!(nrde, log);
}

/// The Log-ODE method over windows of a smooth curve, against the polygon followed side by side.
#[test]
fn more_depth_is_closer_to_a_fine_solution() {
    let end = |window: usize, depth: usize| {
        let sample = fine(&log(window, depth, "lyndon"), "log-ncde");
        let mut data = Data::new(&sample.input, &[65], 1);
        let t = |i: usize| i as f64 / 64.0;
        data.rows[0] = (0..65).map(t).flat_map(|t| [(3.0 * t).sin() + t * t, (2.0 * t).cos() - 0.5 * (5.0 * t).sin()]).collect();
        rows(&double(&sample, &[]), &data)[0].last().unwrap().clone()
    };
    let fine = end(1, 1);
    let errors = [1, 2, 3].map(|depth| difference(&end(16, depth), &fine));
    assert!(errors[1] < 0.5 * errors[0] && errors[2] < 0.5 * errors[1], "{errors:?}");
    assert!(errors[2] > 1e-9, "{errors:?}: nothing is told apart");
}

#[test]
fn a_field_that_explodes_is_a_typed_error() {
    let field = |last: &str| {
        let more = json!({"layers": 0, "last": last, "steps": 3});
        let sample = sample(last, signal(2, 0), json!([log(1, 1, "lyndon"), neural("log-ncde", more)]));
        let mut network = sample.network::<Flex>();
        let place = network.weights().iter().position(|weight| weight.name == "layers.1.field").unwrap();
        network.tensors[place] = Tensor::ones(network.tensors[place].dims(), &Default::default()) * 1e15;
        let data = sample.data();
        network.forward(data.batch(8, 0.0, burn_tensor::DType::F32), &data.context(burn_tensor::DType::F32))
    };
    let error = field("linear").unwrap_err();
    assert!(error.to_string().contains("bound the field with a last tanh"), "{error}");
    assert!(error.is_overflow(), "{error}");
    // The same field, bounded, is solved.
    assert!(numbers(field("tanh").unwrap().values).iter().all(|x| x.is_finite()));
}

#[test]
fn the_penalty_is_that_of_the_generic_network() {
    let _graph = ncde_layers::graph::lock();
    let sample = fine(&log(4, 2, "lyndon"), "log-ncde");
    let LayerSpec::NeuralCde(spec) = &sample.layers[1] else { unreachable!("that is what was asked for") };
    let field = generic_field(&spec.network(&sample.layers[0].layer().output(&sample.input, &[]).unwrap()).unwrap()).unwrap();
    let network = double(&sample, &[]);
    let wanted = weight_penalty(&field, &weight(&network, "layers.1.field")).unwrap();
    let seen = numbers(network.penalty(FieldNorm::Channels).unwrap())[0];
    assert!((seen - wanted).abs() < 1e-12 * wanted, "{seen} {wanted}");
    // Its slope at 0 is a number.
    let mut zero = sample.network::<B>();
    zero.tensors.iter_mut().for_each(|own| *own = Tensor::zeros(own.dims(), &Default::default()).require_grad());
    let gradients = zero.penalty(FieldNorm::Channels).unwrap().backward();
    assert!(numbers(zero.tensors[0].grad(&gradients).unwrap()).iter().all(|&x| x == 0.0));
}

#[test]
fn the_radius_is_the_largest_state() {
    let sample = fine(&log(4, 2, "lyndon"), "log-ncde");
    let (mut network, data) = (sample.network::<Flex>(), sample.data());
    let dtype = burn_tensor::DType::F32;
    network.measure(&mut |each| each(data.batch(8, 0.0, dtype), data.context(dtype))).unwrap();
    let states = crate::run::own_rows(&network.forward(data.batch(8, 0.0, dtype), &data.context(dtype)).unwrap()).concat();
    let largest = states.iter().map(|h| h.iter().map(|x| x * x).sum::<f64>().sqrt()).fold(0.0, f64::max);
    assert!((weight(&network, "layers.1.radius")[0] - largest).abs() < 1e-6 * largest);
}
