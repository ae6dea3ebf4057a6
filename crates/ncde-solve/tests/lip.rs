//! Lip(gamma): constants, bounds above measured norms, the example that nearly reaches the composition bound.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::common;

use common::{assert_close, differences, normal, uniform};
use ncde_solve::Error;
use ncde_solve::field::{Activation, Layer, Network, VectorField, activate};
use ncde_solve::lip::{self, Jets, Smoothness, bound, measure, operator_norm, optimal};
use ncde_solve::scalar::{Dual, Tape};

const SMOOTH: [Activation; 4] = [Activation::Silu, Activation::Tanh, Activation::ShiftedSoftplus, Activation::Identity];

/// `s'(x)` and `s''(x)`.
fn derivatives(activation: Activation, x: f64) -> (f64, f64) {
    let y = activate(activation, Dual::new(Dual::new(x, 1.0), Dual::fixed(1.0)));
    (y.value.tangent, y.tangent.tangent)
}

#[test]
fn constants_are_the_suprema_rounded_up() {
    for activation in SMOOTH {
        let Smoothness { slope, bend } = Smoothness::of(activation, 2.0).unwrap();
        let (mut largest, mut second) = (0.0_f64, 0.0_f64);
        for i in -100_000..=100_000_i32 {
            let x = f64::from(i) * 1e-4;
            let (s1, s2) = derivatives(activation, x);
            largest = largest.max(s1.abs());
            second = second.max(s2.abs());
            assert!(activate(activation, x).abs() <= x.abs() * (1.0 + 1e-12), "{activation:?} at {x}");
        }
        assert!(largest <= slope && slope < largest + 1e-4, "{activation:?}: {largest} {slope}");
        assert!(second <= bend && bend < second + 1e-6, "{activation:?}: {second} {bend}");
    }
}

#[test]
fn constants_bound_the_derivative_at_every_gamma() {
    let points: Vec<f64> = (-120..=120).map(|i| f64::from(i) * 0.1).collect();
    for activation in SMOOTH {
        for gamma in [1.05, 1.3, 1.5, 1.8, 2.0] {
            let bend = Smoothness::of(activation, gamma).unwrap().bend;
            let mut largest = 0.0_f64;
            for &x in &points {
                for &y in points.iter().filter(|&&y| y != x) {
                    let difference = derivatives(activation, x).0 - derivatives(activation, y).0;
                    largest = largest.max(difference.abs() / (x - y).abs().powf(gamma - 1.0));
                }
            }
            assert!(largest <= bend, "{activation:?}, {gamma}: {largest} {bend}");
            assert!(largest > 0.5 * bend || bend == 0.0, "{activation:?}, {gamma}: {largest} {bend} is far off");
        }
    }
}

#[test]
fn activations_without_a_bound_are_refused() {
    let error = Smoothness::of(Activation::Relu, 1.5).unwrap_err();
    assert!(matches!(error, Error::NoBound { activation: "relu", .. }));
    assert!(error.to_string().contains("its derivative jumps at 0"), "{error}");
    let error = Smoothness::of(Activation::Softplus, 1.5).unwrap_err();
    assert!(error.to_string().contains("use `shifted-softplus`"), "{error}");
    for gamma in [1.0, 2.1, f64::NAN] {
        let error = Smoothness::of(Activation::Silu, gamma).unwrap_err();
        assert!(error.to_string().starts_with("gamma must be more than 1 and at most 2"), "{error}");
    }
    let network = Network::new(2, 1, 3, 1, Activation::Relu, Activation::Tanh).unwrap();
    assert!(bound(&network, &vec![0.0; network.parameters()], 1.0, 2.0).is_err());
    let network = Network::new(2, 1, 3, 1, Activation::Silu, Activation::Tanh).unwrap();
    let error = bound(&network, &vec![0.0; network.parameters()], -1.0, 2.0).unwrap_err();
    assert!(error.to_string().contains("the radius of the ball"), "{error}");
}

#[test]
fn operator_norms_come_from_above() {
    for (seed, (rows, columns)) in [(1, 1), (1, 5), (5, 1), (4, 4), (3, 7), (20, 6), (6, 20), (40, 40)].into_iter().enumerate() {
        let matrix = normal(seed as u64, rows * columns);
        // Power iteration, from below.
        let mut v = uniform(9, columns);
        let mut below = 0.0;
        for _ in 0..3000 {
            let w: Vec<f64> = (0..rows).map(|i| (0..columns).map(|j| matrix[i * columns + j] * v[j]).sum()).collect();
            let back: Vec<f64> = (0..columns).map(|j| (0..rows).map(|i| matrix[i * columns + j] * w[i]).sum()).collect();
            let (size, length) = (back.iter().map(|x| x * x).sum::<f64>().sqrt(), v.iter().map(|x| x * x).sum::<f64>().sqrt());
            below = (size / length).sqrt();
            v = back.iter().map(|x| x / size).collect();
        }
        let norm = operator_norm(&matrix, rows, columns);
        assert!(norm >= below * (1.0 - 1e-12) && norm <= below * (1.0 + 1e-6), "{rows} x {columns}: {norm} {below}");
    }
    assert_eq!(operator_norm(&[0.0; 6], 2, 3), 0.0);
    // Equal singular values, and numbers whose squares are out of range.
    assert_close(&[operator_norm(&[1e200, 0.0, 0.0, 1e200], 2, 2) / 1e200], &[1.0], 1e-9);
}

/// A random network whose sizes, activations and weights depend on a seed.
fn random_network(seed: u64) -> (Network, Vec<f64>, f64) {
    let u = uniform(seed, 8);
    let pick = |i: usize, n: usize| ((u[i] + 0.5) * n as f64) as usize;
    let hidden = 1 + pick(0, 3);
    let channels = 1 + pick(1, 2);
    let mut layers: Vec<Layer> =
        (0..pick(2, 4)).map(|l| Layer { width: 1 + pick(3, 6) + l, activation: SMOOTH[pick(4, 3)] }).collect();
    layers.push(Layer { width: hidden * channels, activation: SMOOTH[pick(5, 4)] });
    let network = Network::from_layers(hidden, channels, layers).unwrap();
    let size = 4.0 * (u[6] + 0.55);
    let parameters = normal(seed + 1000, network.parameters()).iter().map(|x| size * x / (hidden as f64).sqrt()).collect();
    (network, parameters, 0.2 + 3.0 * (u[7] + 0.5))
}

/// Points in a ball, some of them close to each other, some on its surface.
fn ball(seed: u64, dimension: usize, radius: f64) -> Vec<f64> {
    let mut points = normal(seed, 24 * dimension);
    for (k, point) in points.chunks_exact_mut(dimension).enumerate() {
        let length = point.iter().map(|x| x * x).sum::<f64>().sqrt();
        let wanted = if k % 3 == 0 { radius } else { radius * (k as f64 / 24.0) };
        point.iter_mut().for_each(|x| *x *= wanted / length);
    }
    let near: Vec<f64> = points[..6 * dimension].iter().map(|x| 0.999 * x).collect();
    points.extend(near);
    points
}

#[test]
fn bounds_are_above_measured_norms_on_many_networks() {
    for seed in 0..300 {
        let (network, parameters, radius) = random_network(seed);
        let points = ball(seed + 5000, network.hidden(), radius);
        for gamma in [1.1, 1.5, 2.0] {
            let measured = measure(&network, &parameters, &points, gamma).unwrap().norm();
            let bound = bound(&network, &parameters, radius, gamma).unwrap();
            assert!(measured.log10() <= bound.whole(), "seed {seed}, gamma {gamma}: {measured} above 10^{}", bound.whole());
        }
    }
}

#[test]
fn layer_bounds_are_above_measured_norms_and_can_be_sharp() {
    let mut closest = 0.0_f64;
    for seed in 0..300 {
        let u = uniform(seed, 2);
        let (hidden, activation) = (1 + (seed as usize % 4), SMOOTH[seed as usize % 4]);
        let network = Network::new(hidden, 2, 1, 0, Activation::Silu, activation).unwrap();
        let parameters: Vec<f64> = normal(seed, network.parameters()).iter().map(|x| x * (0.2 + 6.0 * (u[0] + 0.5))).collect();
        let radius = 0.1 + 2.0 * (u[1] + 0.5);
        let points = ball(seed + 9000, hidden, radius);
        for gamma in [1.1, 1.5, 2.0] {
            let measured = measure(&network, &parameters, &points, gamma).unwrap().norm();
            let bound = bound(&network, &parameters, radius, gamma).unwrap();
            assert!(measured <= bound.layers[0], "seed {seed}, gamma {gamma}: {measured} above {}", bound.layers[0]);
            closest = closest.max(measured / bound.layers[0]);
        }
    }
    assert!(closest > 0.8, "a bound that is never near says little: {closest}");
    // tanh(3 x) bends most where the bound says: 0.7698 * 9.
    let network = Network::new(1, 1, 1, 0, Activation::Silu, Activation::Tanh).unwrap();
    let points: Vec<f64> = (-500..=500).map(|i| f64::from(i) * 1e-3).collect();
    let (measured, bound) =
        (measure(&network, &[3.0, 0.0], &points, 2.0).unwrap(), bound(&network, &[3.0, 0.0], 0.5, 2.0).unwrap());
    assert!(measured.bend > 0.999 * bound.layers[0] && bound.layers[0] < 6.9283, "{measured:?} {bound:?}");
}

#[test]
fn the_bound_of_a_network_is_the_formula() {
    // m layers with norms N_i: (1 + 2^g)^((g^(m-1) - 1) / (g - 1)) prod max(1, N_i)^(g^(m-i)).
    for gamma in [1.2, 2.0_f64] {
        let (network, parameters, radius) = random_network(7);
        let network = Network::from_layers(network.hidden(), network.channels(), network.layers().to_vec()).unwrap();
        let bound = bound(&network, &parameters, radius, gamma).unwrap();
        for m in 1..=bound.layers.len() {
            let exponent = (gamma.powi(m as i32 - 1) - 1.0) / (gamma - 1.0);
            let mut log = exponent * (1.0 + 2.0_f64.powf(gamma)).log10();
            for (i, layer) in bound.layers[..m].iter().enumerate() {
                log += gamma.powi((m - i - 1) as i32) * layer.max(1.0).log10();
            }
            assert_close(&[bound.log10[m - 1]], &[log], 1e-12);
        }
    }
}

#[test]
fn growth_with_depth_is_that_of_layers_of_norm_one() {
    // Layers of norm at most 1: only the constant is left, 5^(2^(m-1) - 1) at gamma = 2.
    let network = Network::new(2, 1, 2, 6, Activation::Tanh, Activation::Tanh).unwrap();
    let bound = bound(&network, &vec![0.1; network.parameters()], 0.5, 2.0).unwrap();
    for (m, log) in bound.log10.iter().enumerate() {
        assert_close(&[*log], &[(2.0_f64.powi(m as i32) - 1.0) * 5.0_f64.log10()], 1e-12);
    }
}

#[test]
fn the_example_has_the_norms_of_the_definition() {
    for gamma in [1.2, 1.5, 2.0_f64] {
        for a in [0.01_f64, 0.1, 0.4, 0.6, 0.7, 0.9] {
            let norm = |points: [f64; 2], values: [f64; 2], slope: f64| {
                let (points, values) = (points.to_vec(), values.to_vec());
                Jets { inputs: 1, outputs: 1, points, values, derivatives: vec![slope; 2] }.norm(gamma).unwrap().norm()
            };
            let slope = (1.0 / (a + a.powf(gamma))).max(1.0);
            let example = optimal::example(a, gamma).unwrap();
            assert_close(&[example.inner], &[norm([0.0, a], [0.0, 1.0], slope)], 1e-10);
            assert_close(&[example.outer], &[norm([0.0, 1.0], [-1.0, 1.0], 1.0)], 1e-10);
            assert_close(&[example.composed], &[norm([0.0, a], [-1.0, 1.0], slope)], 1e-10);
            // No other slope makes |f| smaller.
            for other in [0.9, 0.99, 1.01, 1.1] {
                assert!(norm([0.0, a], [0.0, 1.0], other * slope) >= example.inner * (1.0 - 1e-12));
            }
        }
    }
}

#[test]
fn the_power_gamma_is_needed() {
    for gamma in [1.2, 1.5, 2.0_f64] {
        let ratio = |a: f64, power: f64| {
            let example = optimal::example(a, gamma).unwrap();
            assert_close(&[example.inner, example.outer], &[1.0 / (a + a.powf(gamma)), 1.0], 1e-12);
            assert_close(&[example.composed * a.powf(gamma)], &[a.powf(gamma) / (a + a.powf(gamma)) + 1.0], 1e-12);
            assert!(example.composed <= lip::compose(example.outer, example.inner, gamma).unwrap());
            example.composed / example.inner.powf(power)
        };
        // To 1 with the power gamma; to infinity with less, to 0 with more.
        let error = |a: f64| (ratio(a, gamma) - 1.0).abs();
        assert!(
            error(1e-12) < 0.05 && error(1e-12) < error(1e-6) && error(1e-6) < error(1e-3),
            "gamma {gamma}: {}",
            error(1e-12)
        );
        assert!(ratio(1e-12, gamma - 0.1) > 10.0 && ratio(1e-12, gamma + 0.1) < 0.1);
    }
}

#[test]
fn the_constant_lies_between_two_curves_that_meet_at_three() {
    for i in 1..=100 {
        let gamma = 1.0 + f64::from(i) * 0.01;
        let (low, high) = (optimal::smallest_constant(gamma).unwrap(), lip::constant(gamma));
        assert!(3.0 < low && low < high, "{gamma}: {low} {high}");
        // At the corner of the example both parts have norm 1.
        let a = (low - 1.0).powf(-1.0 / gamma);
        let example = optimal::example(a, gamma).unwrap();
        assert_close(&[example.inner, example.outer, example.composed], &[1.0, 1.0, low], 1e-9);
    }
    let close = 1.0 + 1e-9;
    assert_close(&[optimal::smallest_constant(close).unwrap(), lip::constant(close)], &[3.0, 3.0], 1e-8);
    assert!(optimal::example(1.0, 1.5).is_err());
}

#[test]
fn the_weight_penalty_has_its_gradient() {
    let network = Network::new(2, 2, 3, 1, Activation::Silu, Activation::Tanh).unwrap();
    let parameters = uniform(3, network.parameters());
    let tape = Tape::new();
    let variables = tape.variables(&parameters);
    let gradient = tape.backward(&[(lip::weight_penalty(&network, &variables).unwrap(), 1.0)]);
    let gradient: Vec<f64> = variables.iter().map(|&x| gradient.of(x)).collect();
    assert_close(&gradient, &differences(&parameters, |p| lip::weight_penalty(&network, p).unwrap()), 1e-9);
    assert_eq!(lip::weight_penalty(&network, &vec![0.0; network.parameters()]).unwrap(), 0.0);
}
