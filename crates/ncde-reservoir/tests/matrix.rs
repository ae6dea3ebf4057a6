//! Products and factors in blocks against plain loops, at sizes around those of tiles, blocks and panels.

use ncde_reservoir::matrix::{factor, invert, products};

use crate::common::noise;

const SIZES: [usize; 10] = [0, 1, 5, 6, 47, 48, 49, 97, 250, 301];

/// `X X^T`, which is positive definite with as many columns as rows and a bit on the diagonal.
fn gram(x: &[f64], n: usize) -> Vec<f64> {
    let depth = x.len() / n.max(1);
    let row = |i: usize| &x[i * depth..(i + 1) * depth];
    (0..n * n).map(|p| row(p / n).iter().zip(row(p % n)).map(|(a, b)| a * b).sum::<f64>()).collect()
}

#[test]
fn products_are_those_of_all_pairs_of_rows() {
    for (n, depth) in SIZES.into_iter().zip([3, 0, 17, 255, 256, 257, 700, 40, 9, 31]) {
        let x: Vec<f32> = noise(n as u64, n * depth).iter().map(|&x| x as f32).collect();
        let wanted = gram(&x.iter().map(|&x| f64::from(x)).collect::<Vec<_>>(), n);
        let seen = products(&x, n);
        assert_eq!(seen.len(), n * n);
        for (i, (a, b)) in seen.iter().zip(&wanted).enumerate() {
            assert!((a - b).abs() < 2e-5 * (1.0 + depth as f64).sqrt(), "{n} x {depth}, {i}: {a} {b}");
        }
    }
}

#[test]
fn factors_multiply_to_the_matrix_and_inverses_undo_them() {
    for n in SIZES {
        let mut a = gram(&noise(7, n * n), n);
        (0..n).for_each(|i| a[i * n + i] += n as f64);
        let (mut lower, mut inverse) = (a.clone(), a.clone());
        // The upper half is not read.
        (0..n)
            .for_each(|i| (i + 1..n).for_each(|j| [&mut lower, &mut inverse].into_iter().for_each(|m| m[i * n + j] = f64::NAN)));
        assert!(factor(&mut lower, n) && invert(&mut inverse, n));
        let entry = |m: &[f64], i: usize, j: usize| if j <= i { m[i * n + j] } else { 0.0 };
        for i in (0..n).step_by(7) {
            for j in (0..n).step_by(5) {
                let back: f64 = (0..n).map(|k| entry(&lower, i, k) * entry(&lower, j, k)).sum();
                assert!((back - a[i * n + j]).abs() < 1e-9 * (1.0 + n as f64), "{n}: {i} {j}");
                let one: f64 = (0..n).map(|k| inverse[i * n + k] * entry(&lower, k, j)).sum();
                assert!((one - f64::from(u8::from(i == j))).abs() < 1e-9, "{n}: {i} {j}: {one}");
            }
        }
    }
    let mut singular = vec![1.0; 100 * 100];
    assert!(!factor(&mut singular, 100));
    assert!(!invert(&mut [f64::NAN; 4], 2));
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let x: Vec<f32> = noise(3, 301 * 40).iter().map(|&x| x as f32).collect();
    let solve = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut a = products(&x, 301);
            (0..301).for_each(|i| a[i * 301 + i] += 1.0);
            assert!(invert(&mut a, 301));
            a
        })
    };
    assert_eq!(solve(1), solve(3));
}
