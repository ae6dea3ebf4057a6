//! The order of the Log-ODE method on a non-linear field, against a fine solution along the same path.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::common;

use common::{normal, polygon, slope, uniform};
use ncde_signature::path::{Cubic, Path, Series, Windows};
use ncde_solve::field::{Activation, Network, VectorField};
use ncde_solve::solve::{Along, LogOde, Method, Save, Solver, Steps, Term};

fn network(channels: usize) -> (Network, Vec<f64>, Vec<f64>) {
    let network = Network::new(4, channels, 8, 1, Activation::Silu, Activation::Tanh).unwrap();
    let parameters = uniform(1, network.parameters()).iter().map(|x| 2.0 * x).collect();
    (network, parameters, uniform(2, 4))
}

fn log_ode<P: Path<f64>>(path: &P, windows: usize, depth: usize, solver: &Solver) -> Vec<f64> {
    let (network, parameters, h) = network(path.channels());
    let (start, end) = path.domain();
    let times = (1..windows).map(|k| start + (end - start) * k as f64 / windows as f64).collect();
    let drive = LogOde::new(path, &Windows::Times(times), depth, 64).unwrap();
    solver.solve(&Term { field: &network, drive: &drive }, &parameters, &h, &Save::End).unwrap().last().to_vec()
}

fn fine<P: Path<f64>>(path: &P, steps: usize) -> Vec<f64> {
    let (network, parameters, h) = network(path.channels());
    let drive = Along::new(path).unwrap();
    let solver = Solver { method: Method::DormandPrince, steps: Steps::Shared(steps) };
    solver.solve(&Term { field: &network, drive: &drive }, &parameters, &h, &Save::End).unwrap().last().to_vec()
}

fn error(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
}

#[test]
fn smooth_drivers_give_orders_two_four_four() {
    // A polygon so fine that its corners do not show; the fine solution is that along the very same polygon.
    let n = 2048;
    let values = (0..=n)
        .flat_map(|i| {
            let t = f64::from(i) / f64::from(n);
            [2.0 * t, (4.0 * t).sin(), 1.5 * (3.0 * t + 0.4).cos()]
        })
        .collect();
    let path = polygon(values, 3, 1.0);
    let exact = fine(&path, 2048);
    let inner = Solver { method: Method::DormandPrince, steps: Steps::AtMost(1.0 / 128.0) };
    let finer = Solver { method: Method::DormandPrince, steps: Steps::AtMost(1.0 / 256.0) };
    for (depth, order) in [(1, 2.0), (2, 4.0), (3, 4.0)] {
        let mut points = Vec::new();
        for windows in [8, 16, 32, 64] {
            let states = log_ode(&path, windows, depth, &inner);
            let error_of_method = error(&states, &exact);
            // The inner solve is a hundred times more accurate than the method it serves.
            assert!(error(&states, &log_ode(&path, windows, depth, &finer)) < 0.01 * error_of_method);
            points.push(((windows as f64).ln(), error_of_method.ln()));
        }
        let measured = -slope(&points);
        assert!((measured - order).abs() < 0.2, "depth {depth}: order {measured}, {points:?}");
    }
}

#[test]
fn rough_drivers_are_better_at_larger_depths() {
    let (paths, steps, channels) = (50, 64, 2);
    let inner = Solver { method: Method::Rk4, steps: Steps::Shared(64) };
    let mut errors = [0.0; 4];
    for seed in 0..paths {
        let mut values = vec![0.0; channels];
        for x in normal(1000 + seed, steps * channels) {
            values.push(values[values.len() - channels] + x / (steps as f64).sqrt());
        }
        let path = polygon(values, channels, 1.0);
        let exact = fine(&path, 4 * steps);
        for (depth, sum) in errors.iter_mut().enumerate() {
            *sum += error(&log_ode(&path, 8, depth + 1, &inner), &exact) / paths as f64;
        }
    }
    assert!(errors.windows(2).all(|pair| pair[1] < 0.6 * pair[0]), "{errors:?}");
}

#[test]
fn a_refined_cubic_converges_to_the_path() {
    // Windows of two observations along a cubic: the log-signature is that of a refinement of it.
    let series = Series::new((0..9).map(f64::from).collect(), uniform(4, 18), 2).unwrap().complete().unwrap();
    let path = Cubic::hermite(&series).unwrap();
    let exact = fine(&path, 2000);
    let inner = Solver { method: Method::DormandPrince, steps: Steps::AtMost(0.05) };
    let errors: Vec<f64> = [8, 32].map(|windows| error(&log_ode(&path, windows, 2, &inner), &exact)).to_vec();
    assert!(errors[1] < 2e-3 && errors[1] < 0.1 * errors[0], "{errors:?}");
}
