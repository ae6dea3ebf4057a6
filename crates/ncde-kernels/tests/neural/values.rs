//! Values: the reference, other number types, threads, padding, and fields whose brackets are known.

use ncde_kernels::neural::{Activation, Depth, Last, Method, Outputs};

use ncde_reference::neural::case::{Case, Shape, cases, numbers};
use ncde_reference::{assert_close, narrow, on_threads, wide};

#[test]
fn every_solve_is_the_reference() {
    for case in cases() {
        assert_close(&case.name, &case.forward(), &case.reference(), 1e-13);
    }
}

#[test]
fn single_precision_is_close() {
    for case in cases() {
        let weights = numbers(77, case.forward().len());
        let single = case.to::<f32>();
        assert_close(&case.name, &wide(&single.forward()), &case.forward(), 2e-5);
        let (seen, right) = (single.gradients(&narrow(&weights)), case.gradients(&weights));
        assert_close(&case.name, &wide(&seen.parameters), &right.parameters, 5e-5);
        assert_close(&case.name, &wide(&seen.initial), &right.initial, 5e-5);
    }
}

/// Zero hidden layers and nothing at the end: `f_i(h) = A_i h`, and `[f_i, f_j]` goes with `A_j A_i - A_i A_j`.
#[test]
fn linear_fields_have_matrix_commutators() {
    let (n, d) = (3, 3);
    let shape: Shape<'_> = ((n, d, &[]), [1, 1, 1]);
    let mut case = Case::new(5, shape, (Activation::Silu, Last::Linear), Depth::Two, Method::Euler);
    let layer = case.solve.network().layer(0);
    case.parameters[layer.bias].fill(0.0);
    case.dt = vec![1.0];
    // Row r of A_i h is sum_k W[k, i n + r] h_k.
    let a = |i: usize, r: usize, k: usize| case.parameters[k * d * n + i * n + r];
    let mut omega = vec![0.0; n * n];
    let mut brackets = case.coefficients[d..].iter();
    for i in 0..d {
        (0..n * n).for_each(|at| omega[at] += case.coefficients[i] * a(i, at / n, at % n));
    }
    for i in 0..d {
        for j in i + 1..d {
            let c = brackets.next().unwrap();
            for (r, k) in (0..n * n).map(|at| (at / n, at % n)) {
                omega[r * n + k] += c * (0..n).map(|m| a(j, r, m) * a(i, m, k) - a(i, r, m) * a(j, m, k)).sum::<f64>();
            }
        }
    }
    let h = &case.initial;
    let right: Vec<f64> = (0..n).map(|r| h[r] + (0..n).map(|k| omega[r * n + k] * h[k]).sum::<f64>()).collect();
    assert_close("commutators", &case.forward(), &right, 1e-14);
}

/// One depth-2 step over a path with two edges against the exact flow: the sign of the bracket decides the order.
#[test]
fn brackets_raise_the_order_of_the_log_ode() {
    let shape: Shape<'_> = ((2, 2, &[4]), [1, 64, 2]);
    let size = 0.2;
    let error = |bracket: f64| {
        let mut exact = Case::new(9, shape, (Activation::Tanh, Last::Tanh), Depth::One, Method::Rk4);
        exact.dt = vec![1.0 / 32.0; 64];
        exact.coefficients = vec![size, 0.0, 0.0, size];
        exact.rows = (0..256).map(|i| usize::from(i >= 128)).collect();
        let mut log = Case::new(9, shape, (Activation::Tanh, Last::Tanh), Depth::Two, Method::Rk4);
        log.dt = vec![1.0 / 64.0; 64];
        // Increments (size, size) and area size^2 / 2, over the unit interval.
        log.coefficients = [size, size, bracket * size * size / 2.0].repeat(2);
        log.rows = vec![0; 256];
        let (seen, right) = (log.forward(), exact.forward());
        (0..2).map(|i| (seen[126 + i] - right[126 + i]).abs()).fold(0.0, f64::max)
    };
    assert!(error(1.0) < 0.1 * error(0.0) && error(0.0) < 0.6 * error(-1.0), "{} {} {}", error(1.0), error(0.0), error(-1.0));
}

#[test]
fn results_do_not_depend_on_threads() {
    for depth in [Depth::One, Depth::Two] {
        let shape: Shape<'_> = ((6, 3, &[9, 8]), [41, 4, 3]);
        let case = Case::new(3, shape, (Activation::Silu, Last::Tanh), depth, Method::Heun).to::<f32>();
        let weights = vec![1.0; 41 * 4 * 6];
        let run = |threads| on_threads(threads, || (case.forward(), case.gradients(&weights)));
        let one = run(1);
        assert!(run(2) == one && run(5) == one, "{depth:?}");
    }
}

#[test]
fn steps_of_length_zero_do_nothing() {
    for depth in [Depth::One, Depth::Two] {
        let shape: Shape<'_> = ((3, 2, &[4]), [2, 6, 2]);
        let mut case = Case::new(4, shape, (Activation::Softplus, Last::Linear), depth, Method::Rk4);
        case.dt = [[0.1, 0.2, 0.3, 0.0, 0.0, 0.0], [0.1, 0.0, 0.2, 0.0, 0.3, 0.0]].concat();
        let stages = case.rows.split_at_mut(24);
        for (i, step) in [0, 2, 4].into_iter().enumerate() {
            stages.1[4 * step..][..4].copy_from_slice(&stages.0[4 * i..][..4]);
        }
        let (rows, initial) = (case.coefficients.len() / 2, case.initial.clone());
        case.coefficients.copy_within(..rows, rows);
        case.initial[3..].copy_from_slice(&initial[..3]);
        let h = case.forward();
        let state = |b: usize, step: usize| &h[(b * 6 + step) * 3..][..3];
        assert_eq!(state(0, 2), state(0, 5));
        assert_eq!(state(0, 2), state(1, 5));
        assert_eq!((state(1, 0), state(1, 2)), (state(1, 1), state(1, 3)));
        // The gradient of the last state is the same whether the pauses come in between or at the end.
        let mut weights = vec![0.0; h.len()];
        weights[15..18].fill(1.0);
        weights[33..].fill(1.0);
        let gradients = case.gradients(&weights);
        assert_eq!(gradients.initial[..3], gradients.initial[3..]);
    }
}

#[test]
fn some_outputs_are_those_of_all() {
    let case = &cases()[8];
    let (n, h) = (case.solve.network().hidden(), case.forward());
    let at: Vec<usize> = (0..case.batch).flat_map(|b| [b % 2, 1, 3, 3, case.steps - 1]).collect();
    let seen = case.solve.forward_at(&case.input(), &at).unwrap();
    let mut weights = vec![0.0; h.len()];
    let gradient = numbers(8, seen.len());
    for (i, step) in at.iter().enumerate() {
        let place = (i / 5 * case.steps + step) * n;
        assert_eq!(seen[i * n..(i + 1) * n], h[place..place + n]);
        (0..n).for_each(|k| weights[place + k] += gradient[i * n + k]);
    }
    let gradients = case.solve.backward(&case.input(), &h, Outputs::At(&at), &gradient).unwrap();
    let all = case.gradients(&weights);
    assert_close("parameters", &gradients.parameters, &all.parameters, 1e-14);
    assert_close("initial", &gradients.initial, &all.initial, 1e-14);
}
