//! Steps from rows, and the reverse pass without a tape: against the general contraction, the general solver, and differences.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::common;

use common::{assert_close, differences, polygon, uniform};
use ncde_signature::path::Windows;
use ncde_signature::{Basis, Control, Signature};
use ncde_solve::Error;
use ncde_solve::brackets::{contract, contract_fixed, words};
use ncde_solve::field::{Activation, Layer, Network, Reversible, VectorField};
use ncde_solve::scalar::{Dual, Jet, Scalar, Tape};
use ncde_solve::solve::{LogOde, Method, RowGradients, RowSteps, Save, Solver, Steps, Term};

/// Two hidden layers of different widths and functions.
fn network(hidden: usize, channels: usize) -> (Network, Vec<f64>) {
    let layers = [(5, Activation::Silu), (3, Activation::Tanh), (hidden * channels, Activation::Softplus)];
    let layers = layers.map(|(width, activation)| Layer { width, activation }).to_vec();
    let network = Network::from_layers(hidden, channels, layers).unwrap();
    let parameters = uniform(1, network.parameters()).iter().map(|x| 2.0 * x).collect();
    (network, parameters)
}

#[test]
fn real_parameters_change_nothing() {
    for (hidden, channels, depth) in [(3, 2, 1), (2, 3, 2), (3, 2, 3), (2, 2, 4), (1, 2, 5), (2, 2, 6), (4, 1, 3)] {
        let (network, parameters) = network(hidden, channels);
        let (row, h) = (uniform(3, words(channels, depth)), uniform(4, hidden));
        let (mut seen, mut wanted) = (vec![0.0; hidden], vec![0.0; hidden]);
        contract_fixed(&network, &parameters, depth, &row, &h, &mut seen).unwrap();
        contract(&network, &parameters, depth, &row, &h, &mut wanted).unwrap();
        assert_close(&seen, &wanted, 1e-13);
    }
}

#[test]
fn the_last_hidden_layer_may_have_a_function_of_its_own() {
    let functions = |depth| {
        let network = Network::new(2, 1, 3, depth, Activation::Relu, Activation::Identity).unwrap();
        network.with_before_last(Activation::Tanh).layers().iter().map(|layer| layer.activation).collect::<Vec<_>>()
    };
    assert_eq!(functions(3), [Activation::Relu, Activation::Relu, Activation::Tanh, Activation::Identity]);
    assert_eq!(functions(0), [Activation::Identity]);
}

#[test]
fn one_channel_is_its_part_of_all() {
    let (network, parameters) = network(3, 4);
    let h: Vec<Dual<f64>> = uniform(4, 3).into_iter().zip(uniform(5, 3)).map(|(h, v)| Dual::new(h, v)).collect();
    let mut all = vec![Dual::fixed(0.0); 12];
    network.eval_fixed(0..4, &parameters, &h, &mut all);
    let mut one = vec![Dual::fixed(0.0); 3];
    network.eval_fixed(2..3, &parameters, &h, &mut one);
    assert_eq!(one, all[6..9]);
}

/// `<a, b>` is the last coefficient of the product, and the way back through a function multiplies by its slope.
#[test]
fn nested_duals_are_their_own_dual() {
    let nested = |seed: u64| {
        let x = uniform(seed, 4);
        Dual::new(Dual::new(x[0], x[1]), Dual::new(x[2], x[3]))
    };
    let (a, b) = (nested(1), nested(2));
    assert!((a.pair(b) - (a * b).tangent.tangent).abs() < 1e-15);
    // The derivative of <a, tanh(b)> in each part of b: <slope a, unit>.
    let slope = Dual::new(b, Scalar::of(1.0)).tanh().tangent;
    let parts = [b.value.value, b.value.tangent, b.tangent.value, b.tangent.tangent];
    let made = |x: &[f64]| Dual::new(Dual::new(x[0], x[1]), Dual::new(x[2], x[3]));
    let wanted = differences(&parts, |x| a.pair(made(x).tanh()));
    let seen: Vec<f64> = (0..4)
        .map(|i| {
            let mut unit = [0.0; 4];
            unit[i] = 1.0;
            (slope * a).pair(made(&unit))
        })
        .collect();
    assert_close(&seen, &wanted, 1e-9);
}

/// One Euler step of length 1 is `h + F(h)`: its way back against that of a tape.
#[test]
fn the_reverse_pass_is_that_of_a_tape() {
    for (hidden, channels, depth) in [(3, 2, 1), (2, 3, 2), (3, 2, 3), (2, 3, 3), (2, 2, 4), (1, 2, 5), (4, 1, 3)] {
        let (network, parameters) = network(hidden, channels);
        let steps = RowSteps::new(channels, depth, Method::Euler).unwrap();
        let (row, h, seed) = (uniform(3, steps.coordinates()), uniform(4, hidden), uniform(5, hidden));
        let expanded = steps.expand(&row).unwrap();

        let tape = Tape::new();
        let [p, l, x] = [&parameters, &expanded, &h].map(|values| tape.variables(values));
        let mut out = tape.variables(&vec![0.0; hidden]);
        contract(&network, &p, depth, &l, &x, &mut out).unwrap();
        let seeds: Vec<_> = out.into_iter().zip(seed.iter().copied()).collect();
        let wanted = tape.backward(&seeds);
        let of = |variables: &[_]| variables.iter().map(|&x| wanted.of(x)).collect::<Vec<f64>>();
        let shape = ncde_signature::algebra::Shape::new(channels, depth).unwrap();
        let basis = ncde_signature::algebra::LieBasis::new(&shape, Basis::Lyndon).unwrap();

        let (mut a, mut of_parameters, mut of_row) = (seed.clone(), vec![0.0; parameters.len()], vec![0.0; row.len()]);
        let gradients = RowGradients { parameters: &mut of_parameters, rows: &mut of_row };
        steps.step_backward(&network, (&parameters, &[&expanded], 1.0), &h, &mut a, gradients).unwrap();
        assert_close(&of_parameters, &of(&p), 1e-12);
        assert_close(&of_row, &basis.expand_backward(&of(&l)).unwrap(), 1e-12);
        let state: Vec<f64> = of(&x).iter().zip(&seed).map(|(x, seed)| x + seed).collect();
        assert_close(&a, &state, 1e-12);
    }
}

#[test]
fn the_way_back_of_a_step_is_differences() {
    for (method, depth) in [(Method::Heun, 3), (Method::Rk4, 3), (Method::Midpoint, 2), (Method::BogackiShampine, 4)] {
        let (network, parameters) = network(3, 2);
        let steps = RowSteps::new(2, depth, method).unwrap();
        let (width, stages) = (steps.coordinates(), steps.stages());
        // A row of its own for each stage.
        let (rows, h, seed) = (uniform(3, stages * width), uniform(4, 3), uniform(5, 3));
        let value = |parameters: &[f64], rows: &[f64], h: &[f64]| {
            let expanded: Vec<Vec<f64>> = rows.chunks(width).map(|row| steps.expand(row).unwrap()).collect();
            let mut h = h.to_vec();
            steps.step(&network, parameters, &expanded.iter().map(Vec::as_slice).collect::<Vec<_>>(), 0.3, &mut h).unwrap();
            h.iter().zip(&seed).map(|(h, w)| h * w).sum()
        };
        let expanded: Vec<Vec<f64>> = rows.chunks(width).map(|row| steps.expand(row).unwrap()).collect();
        let expanded: Vec<&[f64]> = expanded.iter().map(Vec::as_slice).collect();
        let (mut a, mut of_parameters, mut of_rows) = (seed.clone(), vec![0.0; parameters.len()], vec![0.0; rows.len()]);
        let gradients = RowGradients { parameters: &mut of_parameters, rows: &mut of_rows };
        steps.step_backward(&network, (&parameters, &expanded, 0.3), &h, &mut a, gradients).unwrap();
        assert_close(&of_parameters, &differences(&parameters, |p| value(p, &rows, &h)), 1e-9);
        assert_close(&of_rows, &differences(&rows, |rows| value(&parameters, rows, &h)), 1e-9);
        assert_close(&a, &differences(&h, |h| value(&parameters, &rows, h)), 1e-9);
    }
}

/// Lyndon coordinates as `Signature::log` orders them, divided by the length of the window.
#[test]
fn windows_are_those_of_the_general_solver() {
    let (network, parameters) = network(3, 2);
    let path = polygon(uniform(8, 2 * 9), 2, 4.0);
    for (depth, method) in [(2, Method::Heun), (3, Method::Rk4), (4, Method::Tsitouras)] {
        let (windows, h) = (Windows::Observations(4), uniform(4, 3));
        let drive = LogOde::new(&path, &windows, depth, 1).unwrap();
        let solver = Solver { method, steps: Steps::AtMost(0.5) };
        let wanted = solver.solve(&Term { field: &network, drive: &drive }, &parameters, &h, &Save::End).unwrap();
        let log = Signature::log(2, depth, Basis::Lyndon).unwrap();
        let control = Control::signatures(&path, &windows, &log, 1).unwrap();
        let (steps, mut seen) = (RowSteps::new(2, depth, method).unwrap(), h);
        for (row, ends) in control.values().chunks(log.len()).zip(control.ends().windows(2)) {
            let length = ends[1] - ends[0];
            let rate: Vec<f64> = row.iter().map(|x| x / length).collect();
            steps.window(&network, &parameters, &rate, (4, length / 4.0), &mut seen).unwrap();
        }
        assert_close(&seen, wanted.last(), 1e-12);
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let (network, parameters) = network(3, 2);
    for depth in [0, 7] {
        let error = RowSteps::new(2, depth, Method::Heun).unwrap_err();
        assert_eq!(error, Error::Depth { depth, most: 6 });
        assert!(error.to_string().contains("depths 1 to 6 are there"), "{error}");
    }
    let steps = RowSteps::new(2, 3, Method::Heun).unwrap();
    assert_eq!((steps.coordinates(), steps.stages(), steps.depth(), steps.method()), (5, 2, 3, Method::Heun));
    let error = steps.window(&network, &parameters, &[0.0; 4], (1, 0.1), &mut [0.0; 3]).unwrap_err();
    assert_eq!(error.to_string(), "log-ode step: the row of the control (one for each bracket) has 4 entries, wanted 5");
    let row = steps.expand(&[0.0; 5]).unwrap();
    let error = steps.step(&network, &parameters, &[&row], 0.1, &mut [0.0; 3]).unwrap_err();
    assert!(error.to_string().contains("the list of rows (one for each stage) has 1 entries, wanted 2"), "{error}");
    let error = steps.window(&network, &parameters, &[0.0; 5], (1, 0.1), &mut [0.0; 2]).unwrap_err();
    assert!(error.to_string().contains("the state has 2 entries, wanted 3"), "{error}");
    // Softplus of large weights doubles and doubles.
    let large: Vec<f64> = parameters.iter().map(|x| 1e300 * x.abs()).collect();
    let error = steps.window(&network, &large, &[1.0, 1.0, 0.0, 0.0, 0.0], (3, 1.0), &mut [1.0; 3]).unwrap_err();
    assert!(matches!(error, Error::NotFinite { .. }), "{error}");
}
