//! Brackets against nested finite differences, matrix commutators and the identities of a Lie algebra.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::common;

use common::{assert_close, uniform};
use ncde_signature::Basis;
use ncde_signature::algebra::{LieBasis, Shape, Tree, words};
use ncde_solve::Error;
use ncde_solve::brackets::{MAX_DEPTH, contract, jvp, lie_bracket};
use ncde_solve::field::{Activation, Linear, Network, VectorField};
use ncde_solve::scalar::{Dual, Scalar};

fn network(channels: usize, activation: Activation) -> (Network, Vec<f64>) {
    let network = Network::new(3, channels, 5, 2, activation, Activation::Tanh).unwrap();
    let parameters = uniform(3, network.parameters()).iter().map(|x| 2.0 * x).collect();
    (network, parameters)
}

/// `Dg(h)[v]` by central differences of order six.
fn difference(g: &dyn Fn(&[f64]) -> Vec<f64>, h: &[f64], v: &[f64]) -> Vec<f64> {
    let size = 0.02;
    let mut result = vec![0.0; h.len()];
    for (k, weight) in [(1.0, 0.75), (2.0, -0.15), (3.0, 1.0 / 60.0)] {
        for sign in [1.0, -1.0] {
            let at: Vec<f64> = h.iter().zip(v).map(|(h, v)| h + sign * k * size * v).collect();
            for (result, g) in result.iter_mut().zip(g(&at)) {
                *result += sign * weight * g / size;
            }
        }
    }
    result
}

/// A basis element by nested differences.
fn by_differences<F: VectorField>(field: &F, parameters: &[f64], trees: &[Tree], at: usize, h: &[f64]) -> Vec<f64> {
    match trees[at] {
        Tree::Letter(letter) => {
            let mut out = vec![0.0; h.len()];
            field.eval_channel(letter - 1, parameters, h, &mut out);
            out
        }
        Tree::Bracket(left, right) => {
            let f = |h: &[f64]| by_differences(field, parameters, trees, left, h);
            let g = |h: &[f64]| by_differences(field, parameters, trees, right, h);
            let (dg_f, df_g) = (difference(&g, h, &f(h)), difference(&f, h, &g(h)));
            dg_f.iter().zip(df_g).map(|(a, b)| a - b).collect()
        }
    }
}

#[test]
fn one_channel_is_a_row_of_all() {
    let (network, parameters) = network(4, Activation::Silu);
    let (h, mut all, mut one) = (uniform(5, 3), [0.0; 12], [0.0; 3]);
    network.eval(&parameters, &h, &mut all);
    for j in 0..4 {
        network.eval_channel(j, &parameters, &h, &mut one);
        assert_eq!(one, all[3 * j..3 * j + 3]);
    }
}

#[test]
fn jacobian_vector_products_are_differences() {
    for activation in [Activation::Silu, Activation::Tanh, Activation::Softplus, Activation::ShiftedSoftplus, Activation::Relu] {
        let (network, parameters) = network(2, activation);
        let (h, v, mut out) = (uniform(5, 3), uniform(6, 3), [0.0; 6]);
        jvp(&network, &parameters, &h, &v, &mut out).unwrap();
        let size = 1e-5;
        let at = |s: f64| {
            let (h, mut out): (Vec<f64>, _) = (h.iter().zip(&v).map(|(h, v)| h + s * v).collect(), [0.0; 6]);
            network.eval(&parameters, &h, &mut out);
            out
        };
        let expected: Vec<f64> = at(size).iter().zip(at(-size)).map(|(a, b)| (a - b) / (2.0 * size)).collect();
        assert_close(&out, &expected, 1e-9);
    }
}

#[test]
fn basis_brackets_are_nested_differences_at_depths_two_to_four() {
    for (channels, depth) in [(3, 3), (2, 4)] {
        let (network, parameters) = network(channels, Activation::Silu);
        let h = uniform(8, 3);
        for basis in [Basis::Lyndon, Basis::Hall] {
            let basis = LieBasis::new(&Shape::new(channels, depth).unwrap(), basis).unwrap();
            for k in 0..basis.len() {
                let mut out = vec![0.0; 3];
                lie_bracket(&network, &parameters, &basis, k, &h, &mut out).unwrap();
                let expected = by_differences(&network, &parameters, basis.trees(), k, &h);
                assert_close(&out, &expected, 1e-8);
                assert!(out.iter().any(|x| x.abs() > 1e-5), "a bracket that vanishes shows nothing: {}", basis.labels()[k]);
            }
        }
    }
}

#[test]
fn the_contraction_is_the_sum_over_a_basis() {
    for (channels, depth) in [(1, 3), (3, 2), (3, 3), (2, 4), (2, 5), (2, 6)] {
        let (network, parameters) = network(channels, Activation::Silu);
        let h = uniform(9, 3);
        for basis in [Basis::Lyndon, Basis::Hall] {
            let basis = LieBasis::new(&Shape::new(channels, depth).unwrap(), basis).unwrap();
            let lambda = uniform(10, basis.len());
            let (mut sum, mut one, mut whole) = (vec![0.0; 3], vec![0.0; 3], vec![0.0; 3]);
            for (k, &l) in lambda.iter().enumerate() {
                lie_bracket(&network, &parameters, &basis, k, &h, &mut one).unwrap();
                for (sum, x) in sum.iter_mut().zip(&one) {
                    *sum += l * x;
                }
            }
            contract(&network, &parameters, depth, &basis.expand(&lambda).unwrap(), &h, &mut whole).unwrap();
            assert_close(&sum, &whole, 1e-12);
        }
    }
}

#[test]
fn depth_two_is_one_derivative_a_channel() {
    // sum_j Df_j . v_j with v_j = sum_i Lambda_ij f_i, Lambda antisymmetric.
    let (d, (network, parameters)) = (3, network(3, Activation::Silu));
    let (h, u) = (uniform(11, 3), uniform(12, d * d));
    let area = |i: usize, j: usize| u[i * d + j] - u[j * d + i];
    let row: Vec<f64> = [0.0; 3].into_iter().chain((0..d * d).map(|k| area(k / d, k % d))).collect();
    let (mut f, mut df, mut expected, mut out) = ([0.0; 9], [0.0; 9], [0.0; 3], [0.0; 3]);
    network.eval(&parameters, &h, &mut f);
    for j in 0..d {
        let v: Vec<f64> = (0..3).map(|a| (0..d).map(|i| area(i, j) * f[i * 3 + a]).sum()).collect();
        jvp(&network, &parameters, &h, &v, &mut df).unwrap();
        for a in 0..3 {
            expected[a] += df[j * 3 + a];
        }
    }
    contract(&network, &parameters, 2, &row, &h, &mut out).unwrap();
    assert_close(&out, &expected, 1e-13);
}

fn times(a: &[f64], b: &[f64], n: usize) -> Vec<f64> {
    (0..n * n).map(|k| (0..n).map(|l| a[k / n * n + l] * b[l * n + k % n]).sum()).collect()
}

#[test]
fn linear_fields_have_commutators_with_the_later_letter_left() {
    let (n, d) = (3, 2);
    let field = Linear { hidden: n, channels: d };
    let (a, h) = (uniform(13, d * n * n), uniform(14, n));
    let (first, second) = a.split_at(n * n);
    let mut out = [0.0; 3];
    // [e_1, e_2] = e_1 e_2 - e_2 e_1.
    contract(&field, &a, 2, &[0.0, 0.0, 0.0, 1.0, -1.0, 0.0], &h, &mut out).unwrap();
    let commutator: Vec<f64> = times(second, first, n).iter().zip(times(first, second, n)).map(|(x, y)| x - y).collect();
    let expected: Vec<f64> = (0..n).map(|i| (0..n).map(|j| commutator[i * n + j] * h[j]).sum()).collect();
    assert_close(&out, &expected, 1e-15);
}

#[test]
fn linear_fields_are_sums_over_words_at_every_depth() {
    let (n, d) = (3, 2);
    let field = Linear { hidden: n, channels: d };
    let (a, h) = (uniform(13, d * n * n), uniform(14, n));
    for depth in 1..=MAX_DEPTH {
        let shape = Shape::new(d, depth).unwrap();
        let basis = LieBasis::new(&shape, Basis::Lyndon).unwrap();
        let row = basis.expand(&uniform(15, basis.len())).unwrap();
        let mut expected = vec![0.0; n];
        for (word, l) in words::all(&shape).zip(&row) {
            let mut x = h.clone();
            for letter in word {
                let matrix = &a[(letter - 1) * n * n..letter * n * n];
                x = (0..n).map(|i| (0..n).map(|j| matrix[i * n + j] * x[j]).sum()).collect();
            }
            for (e, x) in expected.iter_mut().zip(x) {
                *e += l * x;
            }
        }
        let mut out = vec![0.0; n];
        contract(&field, &a, depth, &row, &h, &mut out).unwrap();
        assert_close(&out, &expected, 1e-13);
    }
}

#[test]
fn jacobi() {
    let (network, parameters) = network(3, Activation::Silu);
    let h = uniform(16, 3);
    let shape = Shape::new(3, 3).unwrap();
    let of = |basis: Basis, label: &str| {
        let basis = LieBasis::new(&shape, basis).unwrap();
        let k = basis.labels().iter().position(|l| l == label).unwrap();
        let mut out = vec![0.0; 3];
        lie_bracket(&network, &parameters, &basis, k, &h, &mut out).unwrap();
        out
    };
    // [1,[2,3]] + [2,[3,1]] + [3,[1,2]] = 0.
    let (a, b, c) = (of(Basis::Lyndon, "[1,[2,3]]"), of(Basis::Hall, "[2,[1,3]]"), of(Basis::Hall, "[3,[1,2]]"));
    let size = a.iter().fold(0.0_f64, |m, x| m.max(x.abs()));
    for i in 0..3 {
        assert!((a[i] - b[i] + c[i]).abs() < 1e-14 * size.max(1.0));
    }
    assert!(size > 1e-3);
}

#[test]
fn numbers_nest() {
    // d/dc d/dx of (c x)^3 / (1 + x) at x = 2, c = 3, both by duals of duals.
    fn f<N: Scalar>(x: N, c: N) -> N {
        c * x * c * x * c * x / (N::of(1.0) + x)
    }
    let x = Dual::new(Dual::fixed(2.0), Dual::fixed(1.0));
    let c = Dual::fixed(Dual::new(3.0, 1.0));
    // 3 c^2 x^3 / (1 + x), differentiated: 3 c^2 (3 x^2 (1 + x) - x^3) / (1 + x)^2.
    let expected = 27.0 * (12.0 * 3.0 - 8.0) / 9.0;
    let mixed: f64 = f(x, c).tangent.tangent;
    assert!((mixed - expected).abs() < 1e-12, "{mixed} {expected}");
}

#[test]
fn what_does_not_fit_is_named() {
    let field = Linear { hidden: 2, channels: 2 };
    let mut out = [0.0; 2];
    let error = contract(&field, &[0.0; 8], 7, &[0.0; 254], &[0.0; 2], &mut out).unwrap_err();
    assert!(error.to_string().starts_with("brackets of depth `7`: depths 1 to 6 are there"), "{error}");
    let error = contract(&field, &[0.0; 8], 2, &[0.0; 5], &[0.0; 2], &mut out).unwrap_err();
    assert_eq!(error.to_string(), "contract: the row of coefficients (one for each word) has 5 entries, wanted 6");
    let error = contract(&field, &[0.0; 7], 1, &[0.0; 2], &[0.0; 2], &mut out).unwrap_err();
    assert!(matches!(error, Error::Size { what: "the list of parameters", seen: 7, wanted: 8, .. }));
}
