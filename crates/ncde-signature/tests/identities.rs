//! The properties of the thesis's chapter on signatures, on random paths.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::common;

use common::{assert_close, dot, walk};
use ncde_signature::algebra::{LieBasis, Shape, Tensor, words};
use ncde_signature::path::p_variation;
use ncde_signature::{Basis, Paths, Signature};
use proptest::prelude::*;

fn signature(x: &[f64], channels: usize, depth: usize) -> Vec<f64> {
    Signature::new(channels, depth).unwrap().of(&Paths::single(x, channels).unwrap()).unwrap()
}

fn tensor(shape: &Shape, x: &[f64]) -> Tensor<f64> {
    Tensor::from_levels(shape, 1.0, &signature(x, shape.width(), shape.depth())).unwrap()
}

fn factorial(n: usize) -> f64 {
    (1..=n).map(|i| i as f64).product()
}

#[test]
fn the_time_path_gives_scaled_monomials() {
    let (a, b) = (0.7_f64, 2.9_f64);
    let path: Vec<f64> = (0..=20).map(|i| a + (b - a) * f64::from(i) / 20.0).collect();
    let expected: Vec<f64> = (1..=8).map(|k| (b - a).powi(k) / factorial(k as usize)).collect();
    assert_close(&signature(&path, 1, 8), &expected, 1e-13);
}

#[test]
fn two_corners_have_the_same_end_and_opposite_areas() {
    let (x, y) = ([0.0, 0.0, 1.0, 0.0, 1.0, 1.0], [0.0, 0.0, 0.0, 1.0, 1.0, 1.0]);
    let (s, t) = (signature(&x, 2, 2), signature(&y, 2, 2));
    assert_eq!(s[..2], t[..2]);
    let area = |s: &[f64]| (s[3] - s[4]) / 2.0;
    assert_eq!((area(&s), area(&t)), (0.5, -0.5));
}

/// Eq. `sig_cde`: the truncated signature, constant included, solves `dS = sum_i A^i S dX^i` with `A^i_{jk} = 1` at
/// `j = 1 + i + d (k - 1)`. Solved here for a piecewise linear path by the exponential series of each increment's matrix.
#[test]
fn the_signature_solves_its_linear_cde() {
    let (channels, depth, length) = (2, 4, 6);
    let x = walk(3, length, channels);
    let size = 1 + Shape::new(channels, depth).unwrap().len();
    let mut s = vec![0.0; size];
    s[0] = 1.0;
    for (now, next) in x.chunks(channels).zip(x[channels..].chunks(channels)) {
        // (A(dx) v)_j = sum_i dx_i v_k where j = 1 + i + d (k - 1), counting from 1.
        let apply = |v: &[f64]| {
            let mut out = vec![0.0; size];
            for k in 1..=size {
                for i in 1..=channels {
                    let j = 1 + i + channels * (k - 1);
                    if j <= size {
                        out[j - 1] += (next[i - 1] - now[i - 1]) * v[k - 1];
                    }
                }
            }
            out
        };
        let mut term = s.clone();
        for n in 1..=depth {
            term = apply(&term).iter().map(|v| v / n as f64).collect();
            s.iter_mut().zip(&term).for_each(|(s, t)| *s += t);
        }
    }
    assert_close(&signature(&x, channels, depth), &s[1..], 1e-13);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn chen(seed in 0_u64..1000, length in 3_usize..12, channels in 1_usize..4, depth in 1_usize..5, cut in 1_usize..100) {
        let x = walk(seed, length, channels);
        let cut = 1 + cut % (length - 2);
        let shape = Shape::new(channels, depth).unwrap();
        let joined = tensor(&shape, &x[..(cut + 1) * channels]).product(&tensor(&shape, &x[cut * channels..])).unwrap();
        assert_close(&signature(&x, channels, depth), joined.levels(), 1e-13);
    }

    #[test]
    fn the_inverse_is_the_path_run_backwards(seed in 0_u64..1000, length in 2_usize..9, channels in 1_usize..4, depth in 1_usize..5) {
        let x = walk(seed, length, channels);
        let shape = Shape::new(channels, depth).unwrap();
        let backwards: Vec<f64> = x.chunks(channels).rev().flatten().copied().collect();
        let s = tensor(&shape, &x);
        let inverse = s.inverse().unwrap();
        assert_close(inverse.levels(), tensor(&shape, &backwards).levels(), 1e-11);
        // And the antipode: the inverse of a group-like element is its mirror image with signs.
        for (word, &y) in words::all(&shape).zip(inverse.levels()) {
            let sign = if word.len() % 2 == 0 { 1.0 } else { -1.0 };
            let mut reversed = word;
            reversed.reverse();
            prop_assert!((y - sign * s.coefficient(&reversed).unwrap()).abs() < 1e-11);
        }
        let one = s.product(&inverse).unwrap();
        prop_assert!(one.levels().iter().all(|x| x.abs() < 1e-11));
    }

    #[test]
    fn exponential_and_logarithm_are_inverse(seed in 0_u64..1000, channels in 1_usize..4, depth in 1_usize..6) {
        let shape = Shape::new(channels, depth).unwrap();
        let x = Tensor::from_levels(&shape, 0.0, &common::uniform(seed, shape.len())).unwrap();
        assert_close(x.exp().unwrap().log().unwrap().levels(), x.levels(), 1e-12);
        let y = Tensor::from_levels(&shape, 1.0, &common::uniform(seed + 1, shape.len())).unwrap();
        assert_close(y.log().unwrap().exp().unwrap().levels(), y.levels(), 1e-12);
    }

    #[test]
    fn shuffle(seed in 0_u64..1000, length in 2_usize..9, channels in 1_usize..4) {
        let depth = 5;
        let shape = Shape::new(channels, depth).unwrap();
        let s = tensor(&shape, &walk(seed, length, channels));
        // Functionals on words of up to 2 and 3 letters: every product is a functional on words of up to 5.
        let few = |seed, letters: usize| Tensor::from_levels(&shape, 0.3, &common::uniform(seed, shape.level(letters).end)).unwrap();
        let (f, g) = (few(seed, 2), few(seed + 7, 3));
        let product = s.pair(&f).unwrap() * s.pair(&g).unwrap();
        let shuffled = s.pair(&f.shuffle(&g).unwrap()).unwrap();
        prop_assert!((product - shuffled).abs() < 1e-11 * (1.0 + product.abs()), "{product} {shuffled}");
    }

    #[test]
    fn factorial_decay(seed in 0_u64..1000, length in 2_usize..20, channels in 1_usize..4) {
        let x = walk(seed, length, channels);
        let depth = 6;
        let shape = Shape::new(channels, depth).unwrap();
        let s = signature(&x, channels, depth);
        // For p = 1 the constant is 1: |X^n| <= |X|_1^n / n!.
        let variation = p_variation(&x, channels, 1.0).unwrap();
        for n in 1..=depth {
            let level = &s[shape.level(n)];
            let norm = dot(level, level).sqrt();
            prop_assert!(norm <= variation.powi(n as i32) / factorial(n) * (1.0 + 1e-12));
        }
    }

    #[test]
    fn translation_and_reparametrisation_change_nothing(seed in 0_u64..1000, length in 2_usize..9, channels in 1_usize..4, depth in 1_usize..5) {
        let x = walk(seed, length, channels);
        let moved: Vec<f64> = x.iter().enumerate().map(|(i, v)| v + 3.0 * (i % channels) as f64 - 1.0).collect();
        assert_close(&signature(&x, channels, depth), &signature(&moved, channels, depth), 1e-12);
        // The same curve at other speeds: extra points on every segment, some of them twice.
        let mut slower = x[..channels].to_vec();
        for (k, (now, next)) in x.chunks(channels).zip(x[channels..].chunks(channels)).enumerate() {
            for w in [0.1 + 0.2 * (k % 3) as f64, 0.6, 0.6, 1.0] {
                slower.extend(now.iter().zip(next).map(|(a, b)| a + w * (b - a)));
            }
        }
        assert_close(&signature(&x, channels, depth), &signature(&slower, channels, depth), 1e-12);
        // Going there and back is tree-like: it leaves no trace.
        let mut detour = x.clone();
        detour.extend(x.chunks(channels).rev().flatten());
        detour.extend(&x);
        assert_close(&signature(&x, channels, depth), &signature(&detour, channels, depth), 1e-10);
    }

    #[test]
    fn log_signatures_are_lie_and_come_back(seed in 0_u64..1000, length in 2_usize..9, channels in 1_usize..4, depth in 1_usize..6) {
        let x = walk(seed, length, channels);
        let s = signature(&x, channels, depth);
        let paths = Paths::single(&x, channels).unwrap();
        let expanded = Signature::log(channels, depth, Basis::Expanded).unwrap().of(&paths).unwrap();
        for basis in [Basis::Lyndon, Basis::Hall] {
            let log = Signature::log(channels, depth, basis).unwrap();
            let coordinates = log.of(&paths).unwrap();
            prop_assert_eq!(coordinates.len() as u128, words::lie_dimension(channels, depth).unwrap());
            // The whole tensor, not only its Lyndon words: so the logarithm is a Lie element.
            let lie = LieBasis::new(&Shape::new(channels, depth).unwrap(), basis).unwrap();
            assert_close(&lie.expand(&coordinates).unwrap(), &expanded, 1e-11);
            assert_close(&log.to_signature(&coordinates).unwrap(), &s, 1e-11);
            assert_close(&log.from_signature(&s).unwrap(), &coordinates, 1e-11);
        }
    }

    #[test]
    fn a_straight_line_has_only_its_increment(seed in 0_u64..1000, channels in 1_usize..5, depth in 1_usize..5) {
        let v = common::uniform(seed, channels);
        let path: Vec<f64> = (0..7).flat_map(|t| v.iter().map(move |v| v * f64::from(t) / 6.0)).collect();
        for basis in [Basis::Lyndon, Basis::Hall, Basis::Expanded] {
            let log = Signature::log(channels, depth, basis).unwrap().of(&Paths::single(&path, channels).unwrap()).unwrap();
            assert_close(&log[..channels], &v, 1e-13);
            prop_assert!(log[channels..].iter().all(|x| x.abs() < 1e-14));
        }
    }

    #[test]
    fn brackets_are_antisymmetric_and_obey_jacobi(seed in 0_u64..1000, channels in 1_usize..4) {
        let shape = Shape::new(channels, 4).unwrap();
        let random = |k: u64| Tensor::from_levels(&shape, 0.0, &common::uniform(seed + k, shape.len())).unwrap();
        let (a, b, c) = (random(0), random(100), random(200));
        let bracket = |x: &Tensor<f64>, y: &Tensor<f64>| x.bracket(y).unwrap();
        let sum = bracket(&a, &bracket(&b, &c)).combine(1.0, 1.0, &bracket(&b, &bracket(&c, &a))).unwrap();
        let sum = sum.combine(1.0, 1.0, &bracket(&c, &bracket(&a, &b))).unwrap();
        prop_assert!(sum.levels().iter().all(|x| x.abs() < 1e-12));
        let both = bracket(&a, &b).combine(1.0, 1.0, &bracket(&b, &a)).unwrap();
        prop_assert!(both.levels().iter().all(|x| x.abs() < 1e-14));
    }
}

#[test]
fn depth_two_is_increment_and_area() {
    // Lambda_ij = (S^ij - S^ji) / 2 = +lambda_[i,j]: the sign every Log-ODE relies on.
    let x = walk(9, 12, 3);
    let s = signature(&x, 3, 2);
    let log = Signature::log(3, 2, Basis::Lyndon).unwrap();
    let lambda = log.of(&Paths::single(&x, 3).unwrap()).unwrap();
    for (place, (i, j)) in [(0, 1), (0, 2), (1, 2)].into_iter().enumerate() {
        let area = (s[3 + 3 * i + j] - s[3 + 3 * j + i]) / 2.0;
        assert!((lambda[3 + place] - area).abs() < 1e-14);
    }
}
