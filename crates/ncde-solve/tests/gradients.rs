//! Both ways back against finite differences.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::common;

use common::{assert_close, differences, polygon, uniform};
use ncde_signature::path::{Cubic, Series, Windows};
use ncde_solve::field::{Activation, Linear, Network, VectorField};
use ncde_solve::gradient::{Gradient, adjoint};
use ncde_solve::solve::{Along, Drive, LogOde, Method, Save, Solver, Steps, Term, Time};

/// `sum_i w_i h_i + h_i^2 / 2` over all saved states, and its derivative.
fn loss(states: &[f64]) -> f64 {
    states.iter().zip(uniform(77, states.len())).map(|(h, w)| w * h + 0.5 * h * h).sum()
}

fn weights(states: &[f64]) -> Vec<f64> {
    states.iter().zip(uniform(77, states.len())).map(|(h, w)| w + h).collect()
}

/// The gradients in parameters and initial state by differences.
fn expected<F: VectorField, D: Drive<f64>>(
    solver: &Solver,
    term: &Term<'_, F, D>,
    parameters: &[f64],
    h: &[f64],
    save: &Save,
) -> (Vec<f64>, Vec<f64>) {
    let value = |p: &[f64], h: &[f64]| loss(&solver.solve(term, p, h, save).unwrap().states);
    (differences(parameters, |p| value(p, h)), differences(h, |h| value(parameters, h)))
}

fn through_steps<F: VectorField, D: Drive<f64>>(
    solver: &Solver,
    term: &Term<'_, F, D>,
    parameters: &[f64],
    h: &[f64],
    save: &Save,
) -> Gradient<f64> {
    let recorded = solver.record(term, parameters, h, save).unwrap();
    assert_eq!(recorded.solution, solver.solve(term, parameters, h, save).unwrap());
    recorded.backward(&weights(&recorded.solution.states)).unwrap()
}

fn by_adjoint<F: VectorField, D: Drive<f64>>(
    solver: &Solver,
    term: &Term<'_, F, D>,
    parameters: &[f64],
    h: &[f64],
    save: &Save,
) -> Gradient<f64> {
    let solution = solver.solve(term, parameters, h, save).unwrap();
    adjoint(solver, term, parameters, &solution, &weights(&solution.states)).unwrap()
}

fn network(channels: usize) -> (Network, Vec<f64>, Vec<f64>) {
    let network = Network::new(3, channels, 4, 2, Activation::Silu, Activation::Tanh).unwrap();
    let parameters = uniform(1, network.parameters()).iter().map(|x| 2.0 * x).collect();
    (network, parameters, uniform(2, 3))
}

#[test]
fn through_the_steps_of_every_method() {
    let (network, parameters, h) = network(2);
    let path = polygon(uniform(3, 5 * 2).iter().map(|x| 3.0 * x).collect(), 2, 2.0);
    let drive = Along::new(&path).unwrap();
    let term = Term { field: &network, drive: &drive };
    for method in Method::ALL {
        for save in [Save::End, Save::Knots, Save::Times(vec![0.3, 0.5, 1.1])] {
            let solver = Solver { method, steps: Steps::AtMost(0.17) };
            let gradient = through_steps(&solver, &term, &parameters, &h, &save);
            let (of_parameters, of_h) = expected(&solver, &term, &parameters, &h, &save);
            assert_close(&gradient.parameters, &of_parameters, 1e-8);
            assert_close(&gradient.initial, &of_h, 1e-8);
            assert!(gradient.control.is_empty());
        }
    }
}

#[test]
fn through_the_steps_of_the_log_ode_at_every_depth() {
    for (depth, channels) in [(1, 2), (2, 1), (2, 3), (3, 2), (4, 2)] {
        let (network, parameters, h) = network(channels);
        let path = polygon(uniform(3, 8 * channels).iter().map(|x| 2.0 * x).collect(), channels, 2.0);
        let drive = LogOde::new(&path, &Windows::Observations(3), depth, 1).unwrap();
        let solver = Solver { method: Method::Heun, steps: Steps::Shared(7) };
        let term = Term { field: &network, drive: &drive };
        let gradient = through_steps(&solver, &term, &parameters, &h, &Save::Knots);
        let (of_parameters, of_h) = expected(&solver, &term, &parameters, &h, &Save::Knots);
        assert_close(&gradient.parameters, &of_parameters, 1e-8);
        assert_close(&gradient.initial, &of_h, 1e-8);
        let of_rows = differences(drive.rows(), |rows| {
            let drive = LogOde::from_rows(Drive::<f64>::knots(&drive).to_vec(), rows.to_vec(), channels, depth).unwrap();
            loss(&solver.solve(&Term { field: &network, drive: &drive }, &parameters, &h, &Save::Knots).unwrap().states)
        });
        assert_close(&gradient.control, &of_rows, 1e-8);
    }
}

#[test]
fn through_adaptive_steps() {
    let (network, parameters, h) = network(2);
    let times = vec![0.0, 0.5, 1.3, 2.0];
    let series = Series::new(times, uniform(3, 8), 2).unwrap().complete().unwrap();
    let path = Cubic::hermite(&series).unwrap();
    let drive = Along::new(&path).unwrap();
    let term = Term { field: &network, drive: &drive };
    let solver = Solver { method: Method::Tsitouras, steps: Steps::adaptive(1e-11, 1e-11) };
    let gradient = through_steps(&solver, &term, &parameters, &h, &Save::Knots);
    let (of_parameters, of_h) = expected(&solver, &term, &parameters, &h, &Save::Knots);
    // The sizes of the steps are taken as given, and the error of that is the solver's.
    assert_close(&gradient.parameters, &of_parameters, 1e-7);
    assert_close(&gradient.initial, &of_h, 1e-7);
}

#[test]
fn the_adjoint_agrees_to_its_tolerance() {
    for depth in [1, 2, 3] {
        let (network, parameters, h) = network(2);
        let path = polygon(uniform(3, 8 * 2).iter().map(|x| 2.0 * x).collect(), 2, 2.0);
        let drive = LogOde::new(&path, &Windows::Observations(3), depth, 1).unwrap();
        let term = Term { field: &network, drive: &drive };
        let fine = Solver { method: Method::DormandPrince, steps: Steps::adaptive(1e-11, 1e-11) };
        for save in [Save::End, Save::Knots, Save::Times(vec![0.0, path_time(&drive, 1)])] {
            let exact = through_steps(&fine, &term, &parameters, &h, &save);
            let (of_parameters, of_h) = expected(&fine, &term, &parameters, &h, &save);
            let mut errors = Vec::new();
            for tolerance in [1e-4, 1e-9] {
                let solver = Solver { method: Method::Tsitouras, steps: Steps::adaptive(tolerance, tolerance) };
                let gradient = by_adjoint(&solver, &term, &parameters, &h, &save);
                assert_close(&gradient.parameters, &of_parameters, 1e-7 + 10.0 * tolerance);
                assert_close(&gradient.initial, &of_h, 1e-7 + 10.0 * tolerance);
                assert_close(&gradient.control, &exact.control, 1e-7 + 10.0 * tolerance);
                errors.push(common::distance(&gradient.parameters, &exact.parameters));
            }
            assert!(errors[1] < 1e-7 && errors[1] < errors[0], "{errors:?}");
        }
    }
}

fn path_time(drive: &LogOde<f64>, k: usize) -> f64 {
    Drive::<f64>::knots(drive)[k]
}

#[test]
fn the_adjoint_of_fixed_steps_converges_to_them() {
    // The two are derivatives of different numbers that meet as steps become small.
    let field = Linear { hidden: 2, channels: 1 };
    let (a, h) = (uniform(5, 4), uniform(6, 2));
    let time = Time::new(0.0, 1.0).unwrap();
    let term = Term { field: &field, drive: &time };
    let distance = |n: usize| {
        let solver = Solver { method: Method::Heun, steps: Steps::Shared(n) };
        let (one, other) = (through_steps(&solver, &term, &a, &h, &Save::End), by_adjoint(&solver, &term, &a, &h, &Save::End));
        common::distance(&one.parameters, &other.parameters)
    };
    let order = (distance(10) / distance(20)).log2();
    assert!(order > 1.8, "{order}");
}

#[test]
fn memory_grows_with_the_square_root_of_the_steps() {
    let field = Linear { hidden: 1, channels: 1 };
    let time = Time::new(0.0, 1.0).unwrap();
    let term = Term { field: &field, drive: &time };
    for n in [1, 100, 10_000] {
        let solver = Solver { method: Method::Euler, steps: Steps::Shared(n) };
        let recorded = solver.record(&term, &[1.0], &[1.0], &Save::End).unwrap();
        assert!(recorded.checkpoints() as f64 <= (8.0 * n as f64).sqrt() + 2.0, "{n}: {}", recorded.checkpoints());
        // d/da (1 + a / n)^n = (1 + a / n)^(n - 1).
        let gradient = recorded.backward(&[1.0]).unwrap();
        let exact = (1.0 + 1.0 / n as f64).powi(n as i32 - 1);
        assert!((gradient.parameters[0] - exact).abs() < 1e-11, "{n}");
    }
}

#[test]
fn nothing_to_go_through() {
    // Only the initial state is saved: the gradient is the loss's own.
    let (network, parameters, h) = network(1);
    let time = Time::new(0.0, 1.0).unwrap();
    let (term, save) = (Term { field: &network, drive: &time }, Save::Times(vec![0.0]));
    let solver = Solver { method: Method::Heun, steps: Steps::Shared(3) };
    for gradient in [through_steps(&solver, &term, &parameters, &h, &save), by_adjoint(&solver, &term, &parameters, &h, &save)] {
        assert_eq!(gradient.initial, weights(&h));
        assert!(gradient.parameters.iter().all(|&g| g == 0.0));
    }
    let recorded = solver.record(&term, &parameters, &h, &save).unwrap();
    let error = recorded.backward(&[0.0; 2]).unwrap_err();
    assert_eq!(error.to_string(), "backward: the gradient in the states has 2 entries, wanted 3");
}

#[test]
fn a_batch_is_the_sum_of_its_samples() {
    let (network, parameters, _) = network(2);
    let h = uniform(8, 4 * 3);
    let drives: Vec<LogOde<f64>> = (0..4_usize)
        .map(|i| {
            let path = polygon(uniform(20 + i as u64, (4 + i) * 2), 2, 1.0);
            LogOde::new(&path, &Windows::Observations(2), 2, 1).unwrap()
        })
        .collect();
    let solver = Solver { method: Method::Heun, steps: Steps::Shared(5) };
    let solutions = solver.solve_batch(&network, &drives, &parameters, &h, &Save::Knots).unwrap();
    let seeds: Vec<Vec<f64>> = solutions.iter().map(|solution| weights(&solution.states)).collect();
    let batch = solver.batch_backward(&network, &drives, &parameters, &h, &Save::Knots, &seeds).unwrap();
    let mut sum = vec![0.0; parameters.len()];
    for (i, drive) in drives.iter().enumerate() {
        let term = Term { field: &network, drive };
        let gradient = through_steps(&solver, &term, &parameters, &h[3 * i..3 * i + 3], &Save::Knots);
        assert_eq!(batch.initial[3 * i..3 * i + 3], gradient.initial);
        assert_eq!(batch.controls[i], gradient.control);
        sum.iter_mut().zip(gradient.parameters).for_each(|(sum, g)| *sum += g);
    }
    assert_eq!(batch.parameters, sum);
}

#[test]
fn single_precision_has_the_same_gradient() {
    let (network, parameters, h) = network(2);
    let path = polygon(uniform(3, 8 * 2), 2, 2.0);
    let drive = LogOde::new(&path, &Windows::Observations(3), 2, 1).unwrap();
    let narrow = |x: &[f64]| x.iter().map(|&x| x as f32).collect::<Vec<f32>>();
    let drive_single = LogOde::from_rows(Drive::<f64>::knots(&drive).to_vec(), narrow(drive.rows()), 2, 2).unwrap();
    let solver = Solver { method: Method::Heun, steps: Steps::Shared(20) };
    let double = through_steps(&solver, &Term { field: &network, drive: &drive }, &parameters, &h, &Save::End);
    let (parameters, h, term) = (narrow(&parameters), narrow(&h), Term { field: &network, drive: &drive_single });
    let recorded = solver.record(&term, &parameters, &h, &Save::End).unwrap();
    let states: Vec<f64> = recorded.solution.states.iter().map(|&x| f64::from(x)).collect();
    let single = recorded.backward(&narrow(&weights(&states))).unwrap();
    let wide: Vec<f64> = single.parameters.iter().map(|&x| f64::from(x)).collect();
    assert_close(&wide, &double.parameters, 1e-5);
}
