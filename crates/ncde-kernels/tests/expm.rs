//! The exponential of small matrices: closed forms, identities, finite differences, and an independent series.
#![allow(clippy::unwrap_used, reason = "a test")]

mod common;

use common::matrix::{self, identity, multiply, transposed};
use common::{assert_close, assert_gradient, distance, dot, narrow, scaled, uniform, wide};
use ncde_kernels::expm::{self, Error};

const NORMS: [f64; 9] = [1e-12, 1e-6, 1e-3, 0.03, 0.2, 1.0, 5.0, 20.0, 50.0];
const SIZES: [usize; 10] = [1, 2, 3, 4, 5, 7, 8, 9, 17, 33];

/// A random matrix of this 2-norm.
fn random(seed: u64, n: usize, norm: f64) -> Vec<f64> {
    let x = uniform(seed, n * n);
    let x = scaled(&x, norm / matrix::norm_2(n, &x));
    x.into_iter().map(|x| f64::from(x as f32)).collect()
}

#[test]
fn rotations() {
    for angle in [1e-6, 0.1, 1.0, 3.0, 10.0, 50.0, 1000.0_f64] {
        let (sin, cos) = angle.sin_cos();
        let tolerance = 1e-15 * (1.0 + angle);
        assert_close("a turn", &expm::exp(2, &[0.0, -angle, angle, 0.0]).unwrap(), &[cos, -sin, sin, cos], tolerance);
    }
    // Axis (1, 2, 2) / 3 by Rodrigues' formula.
    let axis = [1.0 / 3.0, 2.0 / 3.0, 2.0 / 3.0];
    let k = [0.0, -axis[2], axis[1], axis[2], 0.0, -axis[0], -axis[1], axis[0], 0.0];
    let square = multiply(3, &k, &k);
    for angle in [1e-3_f64, 0.5, 2.0, 20.0] {
        let right: Vec<f64> = (0..9).map(|i| identity(3)[i] + angle.sin() * k[i] + (1.0 - angle.cos()) * square[i]).collect();
        assert_close("a turn about an axis", &expm::exp(3, &scaled(&k, angle)).unwrap(), &right, 1e-15 * (1.0 + angle));
    }
}

#[test]
fn nilpotent_matrices_are_polynomials() {
    // Ones above the diagonal: the k-th diagonal of the exponential is x^k / k!.
    for x in [1e-6, 1e-3, 0.5, 3.0, 50.0, 1e5_f64] {
        let n = 4;
        let shift: Vec<f64> = (0..n * n).map(|i| if i % n == i / n + 1 { x } else { 0.0 }).collect();
        let entry = |i: usize| match (i % n).checked_sub(i / n) {
            Some(k) => (1..=k).fold(1.0, |product, j| product * x / j as f64),
            None => 0.0,
        };
        let (seen, right) = (expm::exp(n, &shift).unwrap(), (0..n * n).map(entry).collect::<Vec<_>>());
        for (seen, right) in seen.iter().zip(&right) {
            assert!((seen - right).abs() <= 1e-14 * right.abs(), "{x}: {seen} for {right}");
        }
    }
}

#[test]
fn diagonal_matrices_entry_by_entry() {
    let d = [-700.0, -50.0, -1.0, -1e-3, 0.0, 1e-9, 0.7, 20.0, 300.0_f64];
    let n = d.len();
    let seen = expm::exp(n, &(0..n * n).map(|i| if i / n == i % n { d[i / n] } else { 0.0 }).collect::<Vec<_>>()).unwrap();
    for i in 0..n * n {
        let right = if i / n == i % n { d[i / n].exp() } else { 0.0 };
        assert!((seen[i] - right).abs() <= 4e-13 * right, "{}: {} for {right}", d[i / n], seen[i]);
    }
}

#[test]
fn a_triangular_matrix_of_very_different_entries() {
    // exp [[a, c], [0, b]] has c (e^a - e^b) / (a - b) in its corner: scaling by the norm alone would lose ten digits.
    for c in [1e3, 1e6, 1e10] {
        let (a, b) = (1.0_f64, -1.0_f64);
        let seen = expm::exp(2, &[a, c, 0.0, b]).unwrap();
        let right = [a.exp(), c * (a.exp() - b.exp()) / (a - b), 0.0, b.exp()];
        for (seen, right) in seen.iter().zip(right) {
            assert!((seen - right).abs() <= 4e-15 * right.abs(), "{c}: {seen} for {right}");
        }
    }
}

#[test]
fn the_independent_series() {
    for (i, norm) in NORMS.into_iter().enumerate() {
        for n in SIZES {
            let x = random(i as u64, n, norm);
            let right = matrix::exponential(n, &x);
            assert_close(&format!("f64, size {n}, norm {norm}"), &expm::exp(n, &x).unwrap(), &right, 1e-14 * (1.0 + norm));
            let single = wide(&expm::exp(n, &narrow::<f32>(&x)).unwrap());
            assert_close(&format!("f32, size {n}, norm {norm}"), &single, &right, 2e-6 * (1.0 + norm));
        }
    }
}

#[test]
fn cancellation_between_powers() {
    // X^2 = 0 only because large numbers cancel; what is left of it in rounding must not be believed.
    let n = 4;
    let (u, v) = ([1.0, 0.3, -0.7, 1.1], [0.3, -1.0, 1.1, 0.7]);
    for size in [10.0, 300.0] {
        let x: Vec<f64> = (0..n * n).map(|i| size * u[i / n] * v[i % n] + if i / n == i % n { 0.5 } else { 0.0 }).collect();
        // exp(u v^T + 1/2) = e^(1/2) (1 + u v^T (e^c - 1) / c), c = v . u.
        let c = size * dot(&u, &v);
        let factor = if c == 0.0 { 1.0 } else { c.exp_m1() / c };
        let right: Vec<f64> =
            (0..n * n).map(|i| 0.5_f64.exp() * (identity(n)[i] + factor * size * u[i / n] * v[i % n])).collect();
        assert_close(&format!("size {size}"), &expm::exp(n, &x).unwrap(), &right, 1e-13 * size);
    }
}

#[test]
fn the_inverse_is_the_exponential_of_the_negative() {
    for (i, norm) in NORMS.into_iter().enumerate() {
        for n in SIZES {
            let x = random(20 + i as u64, n, norm);
            let (there, back) = (expm::exp(n, &x).unwrap(), expm::exp(n, &scaled(&x, -1.0)).unwrap());
            let size = matrix::norm(n, &there) * matrix::norm(n, &back);
            assert_close(&format!("size {n}, norm {norm}"), &multiply(n, &there, &back), &identity(n), 1e-14 * size);
        }
    }
}

#[test]
fn the_determinant_is_the_exponential_of_the_trace() {
    for (i, norm) in NORMS.into_iter().enumerate() {
        for n in [1, 2, 3, 5] {
            let x = random(40 + i as u64, n, norm.min(3.0));
            let trace: f64 = (0..n).map(|r| x[r * n + r]).sum();
            let seen = determinant(n, expm::exp(n, &x).unwrap());
            assert!((seen - trace.exp()).abs() < 1e-11 * trace.exp(), "size {n}, norm {norm}: {seen} for {}", trace.exp());
        }
    }
}

/// By elimination with the largest pivot.
fn determinant(n: usize, mut m: Vec<f64>) -> f64 {
    let mut product = 1.0;
    for k in 0..n {
        let pivot = (k..n).max_by(|&r, &s| m[r * n + k].abs().total_cmp(&m[s * n + k].abs())).unwrap();
        if pivot != k {
            (0..n).for_each(|c| m.swap(k * n + c, pivot * n + c));
            product = -product;
        }
        product *= m[k * n + k];
        for r in k + 1..n {
            let factor = m[r * n + k] / m[k * n + k];
            (k..n).for_each(|c| m[r * n + c] -= factor * m[k * n + c]);
        }
    }
    product
}

#[test]
fn derivatives() {
    for (i, norm) in NORMS.into_iter().enumerate() {
        for n in [1, 2, 3, 4, 5, 9, 17] {
            let (x, e) = (random(60 + i as u64, n, norm), random(70 + i as u64, n, 1.0));
            let name = format!("size {n}, norm {norm}");
            let right = matrix::derivative(n, &x, &e);
            let seen = expm::derivative(n, &x, &e).unwrap();
            assert_close(&format!("f64, {name}"), &seen, &right, 1e-14 * (1.0 + norm));
            let single = wide(&expm::derivative::<f32>(n, &narrow(&x), &narrow(&e)).unwrap());
            assert_close(&format!("f32, {name}"), &single, &right, 4e-6 * (1.0 + norm));
            // Reverse: <G, L(X, E)> = <L(X^T, G), E>.
            let g = random(80 + i as u64, n, 1.0);
            let back = expm::exp_backward(n, &x, &g).unwrap();
            let size = matrix::norm(n, &seen) * n as f64;
            assert!((dot(&g, &seen) - dot(&back, &e)).abs() < 1e-13 * (1.0 + norm) * size, "{name}");
            assert_close(&name, &back, &matrix::derivative(n, &transposed(n, &x), &g), 1e-14 * (1.0 + norm));
        }
    }
}

#[test]
fn reverse_passes_are_finite_differences() {
    for (i, n) in [1, 2, 3, 5, 7].into_iter().enumerate() {
        for norm in [1e-6, 0.1, 1.0, 4.0] {
            let (x, g) = (random(90 + i as u64, n, norm), uniform(91, n * n));
            let name = format!("size {n}, norm {norm}");
            let gradient = expm::exp_backward(n, &x, &g).unwrap();
            assert_gradient(&format!("exp, {name}"), &x, &gradient, |x| dot(&expm::exp(n, x).unwrap(), &g));
            let gradient = expm::phi_1_backward(n, &x, &g).unwrap();
            assert_gradient(&format!("phi_1, {name}"), &x, &gradient, |x| dot(&expm::phi_1(n, x).unwrap(), &g));
        }
    }
}

#[test]
fn phi_1() {
    for (i, norm) in NORMS.into_iter().enumerate() {
        for n in [1, 2, 3, 5, 9] {
            let x = random(100 + i as u64, n, norm);
            let phi = expm::phi_1(n, &x).unwrap();
            let name = format!("size {n}, norm {norm}");
            // 1 + X phi_1(X) = exp(X).
            let difference: Vec<f64> = matrix::exponential(n, &x).iter().zip(identity(n)).map(|(x, y)| x - y).collect();
            assert_close(&name, &multiply(n, &x, &phi), &difference, (1e-14 * (1.0 + norm)).max(1e-15 / norm));
            if norm < 1.0 {
                // The series, one term after another.
                let (mut right, mut term) = (identity(n), identity(n));
                for k in 1..20 {
                    term = scaled(&multiply(n, &term, &x), 1.0 / f64::from(k + 1));
                    right.iter_mut().zip(&term).for_each(|(x, y)| *x += y);
                }
                assert_close(&name, &phi, &right, 1e-15);
                let single = wide(&expm::phi_1(n, &narrow::<f32>(&x)).unwrap());
                assert_close(&format!("f32, {name}"), &single, &right, 1e-6);
            }
        }
    }
    assert_eq!(expm::phi_1(2, &[0.0; 4]).unwrap(), identity(2));
}

#[test]
fn many_matrices_are_one_by_one_with_any_number_of_threads() {
    for (n, count) in [(1, 100), (2, 5000), (5, 37), (20, 7)] {
        let x = uniform(3, count * n * n);
        let g = uniform(4, count * n * n);
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| (expm::exp(n, &x).unwrap(), expm::exp_backward(n, &x, &g).unwrap()))
        };
        let one = run(1);
        assert_eq!(one, run(2));
        assert_eq!(one, run(5));
        for i in [0, count / 2, count - 1] {
            let own = i * n * n..(i + 1) * n * n;
            assert_eq!(expm::exp(n, &x[own.clone()]).unwrap(), one.0[own.clone()]);
            assert_eq!(expm::exp_backward(n, &x[own.clone()], &g[own.clone()]).unwrap(), one.1[own]);
        }
    }
    assert_eq!(expm::exp::<f64>(3, &[]).unwrap(), []);
}

#[test]
fn large_norms_that_decay_or_turn() {
    let n = 3;
    let turn = [0.0, -1.0, 0.2, 1.0, 0.0, 0.4, -0.2, -0.4, 0.0];
    for size in [1e3, 1e6, 1e12, 1e100, 1e300] {
        let decay: Vec<f64> = scaled(&identity(n), -size);
        assert_eq!(expm::exp(n, &decay).unwrap(), vec![0.0; n * n], "{size}");
        let seen = expm::exp(n, &scaled(&turn, size.min(1e6))).unwrap();
        assert_close("orthogonal", &multiply(n, &seen, &transposed(n, &seen)), &identity(n), 1e-15 * size.min(1e6));
    }
    let decay: Vec<f32> = narrow(&scaled(&identity(n), -1e38));
    assert_eq!(expm::exp(n, &decay).unwrap(), vec![0.0; n * n]);
}

#[test]
fn errors() {
    assert_eq!(expm::exp::<f64>(0, &[]).unwrap_err().to_string(), "exp: the matrices have size 0; at least 1 is needed");
    assert_eq!(
        expm::exp(2, &[0.0; 6]).unwrap_err().to_string(),
        "exp: the array of matrices holds 6 numbers, which is no whole number of 2 x 2 matrices"
    );
    assert_eq!(
        expm::derivative(2, &[0.0; 8], &[0.0; 4]).unwrap_err().to_string(),
        "the derivative of exp: the direction holds 4 numbers, but the matrices hold 8; one is needed for each"
    );
    assert!(matches!(expm::exp_backward(1, &[0.0], &[]), Err(Error::Mismatch { what: "the gradient", seen: 0, wanted: 1, .. })));
    assert!(matches!(expm::phi_1_backward(1, &[0.0], &[]), Err(Error::Mismatch { what: "the gradient", .. })));
    let mut x = [0.0; 12];
    x[4 + 4 + 2] = f64::NAN;
    assert_eq!(
        expm::phi_1(2, &x).unwrap_err().to_string(),
        "phi_1: the array of matrices holds NaN at matrix 2, row 1, column 0; remove or fill such values first"
    );
    let error = expm::exp_backward(2, &[0.0; 12], &x).unwrap_err();
    assert!(matches!(error, Error::NotFinite { what: "the gradient", matrix: 2, row: 1, column: 0, .. }), "{error}");
    assert_eq!(
        expm::exp(1, &[1.0, 710.0]).unwrap_err().to_string(),
        "exp: the result for matrix 1, of norm 7.100e2, overflows; scale it down, or compute in f64"
    );
    assert!(expm::exp(1, &[709.0]).unwrap()[0] > 8e307);
    for huge in [1e4, 1e30, 1e300, f64::MAX] {
        assert!(matches!(expm::exp(2, &[huge, 1.0, 1.0, 0.0]), Err(Error::Overflow { matrix: 0, .. })), "{huge}");
        assert!(matches!(expm::derivative(1, &[huge], &[1.0]), Err(Error::Overflow { matrix: 0, .. })), "{huge}");
    }
    assert!(matches!(expm::exp(1, &[89.0_f32]), Err(Error::Overflow { .. })));
    assert!(distance(&wide(&expm::exp(1, &[88.0_f32]).unwrap()), &[88.0_f64.exp()]) < 1e-4);
}
