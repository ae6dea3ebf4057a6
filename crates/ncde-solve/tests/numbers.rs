//! Duals and tapes against finite differences, function by function.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::common;

use common::{assert_close, differences, uniform};
use ncde_solve::scalar::{Dual, Scalar, Tape, Var};

/// Everything a number can do, of three numbers.
fn everything<N: Scalar>(x: &[N]) -> N {
    let (a, b, c) = (x[0], x[1], x[2]);
    let mut y = (a * b - c / (b * b + N::of(2.0))).tanh();
    y += (a + c).exp() * (-b).sigmoid();
    y += (a * a + N::of(1.5)).ln() + (b * b + N::of(0.5)).sqrt();
    y += a.softplus() * c.silu() + (b - a).relu() * c;
    y += (a * b).sin() * c.cos() + (a - c).abs() * b.powi(5) + (c + N::of(2.0)).powi(-3);
    y.accumulate(3, |i| (x[i], x[(i + 1) % 3] * x[i]))
}

#[test]
fn duals_are_directional_derivatives() {
    for seed in 0..20 {
        let (x, v) = (uniform(seed, 3), uniform(seed + 100, 3));
        let moving: Vec<Dual<f64>> = x.iter().zip(&v).map(|(&x, &v)| Dual::new(x, v)).collect();
        let along: f64 = differences(&x, everything).iter().zip(&v).map(|(g, v)| g * v).sum();
        let dual = everything(&moving);
        assert_eq!(dual.value, everything(&x));
        assert_close(&[dual.tangent], &[along], 1e-9);
    }
}

#[test]
fn tapes_are_gradients() {
    for seed in 0..20 {
        let x = uniform(seed, 3);
        let tape = Tape::new();
        let variables = tape.variables(&x);
        let y = everything(&variables);
        let gradient = tape.backward(&[(y, 2.0)]);
        let gradient: Vec<f64> = variables.iter().map(|&x| gradient.of(x) / 2.0).collect();
        assert_eq!(y.value(), everything(&x));
        assert_close(&gradient, &differences(&x, everything), 1e-9);
    }
}

#[test]
fn duals_on_a_tape_are_gradients_of_directional_derivatives() {
    let (x, v) = (uniform(1, 3), uniform(2, 3));
    let along = |x: &[f64]| everything(&x.iter().zip(&v).map(|(&x, &v)| Dual::new(x, v)).collect::<Vec<_>>()).tangent;
    let tape = Tape::new();
    let variables = tape.variables(&x);
    let moving: Vec<Dual<Var<'_, f64>>> = variables.iter().zip(&v).map(|(&x, &v)| Dual::new(x, Var::constant(v))).collect();
    let gradient = tape.backward(&[(everything(&moving).tangent, 1.0)]);
    let gradient: Vec<f64> = variables.iter().map(|&x| gradient.of(x)).collect();
    assert_close(&gradient, &differences(&x, along), 1e-8);
}

#[test]
fn nothing_overflows_that_need_not() {
    for x in [-1e4_f64, -800.0, -40.0, 0.0, 40.0, 800.0, 1e4] {
        for y in [x.sigmoid(), x.softplus(), x.silu(), Dual::new(x, 1.0).softplus().tangent, Dual::new(x, 1.0).silu().tangent] {
            assert!(y.is_finite(), "{x}: {y}");
        }
    }
    assert_eq!((Scalar::softplus(-800.0_f32), Scalar::softplus(800.0_f32)), (0.0, 800.0));
    assert_eq!((1e4_f64.sigmoid(), (-1e4_f64).sigmoid()), (1.0, 0.0));
}

#[test]
fn a_cleared_tape_starts_anew() {
    let mut tape = Tape::new();
    for x in [2.0, 3.0] {
        tape.clear();
        assert!(tape.is_empty());
        let x = tape.variable(x);
        let y = x * x;
        assert_eq!(tape.len(), 2);
        assert_eq!(tape.backward(&[(y, 1.0)]).of(x), 2.0 * x.value());
    }
}
