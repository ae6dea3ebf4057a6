//! Ridge regression against fits that leave cases out one after the other.

use ncde_reservoir::ridge::{descend, fit, products};

fn noise(seed: u64, count: usize) -> Vec<f64> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64 - 0.5
    };
    (0..count).map(|_| next() + next() + next()).collect()
}

/// Centred columns, `[n, width]`.
fn centred(mut x: Vec<f64>, width: usize) -> Vec<f64> {
    let n = x.len() / width;
    for c in 0..width {
        let mean = x.iter().skip(c).step_by(width).sum::<f64>() / n as f64;
        x.iter_mut().skip(c).step_by(width).for_each(|x| *x -= mean);
    }
    x
}

/// The weights and the constant of a ridge fit of some rows, by Gaussian elimination.
fn plainly(x: &[f64], y: &[f64], rows: &[usize], width: usize, lambda: f64) -> Vec<f64> {
    let size = width + 1;
    let mut a = vec![vec![0.0; size + 1]; size];
    for &i in rows {
        let row: Vec<f64> = x[i * width..(i + 1) * width].iter().copied().chain([1.0]).collect();
        for p in 0..size {
            (0..size).for_each(|q| a[p][q] += row[p] * row[q]);
            a[p][size] += row[p] * y[i];
        }
    }
    (0..width).for_each(|p| a[p][p] += lambda);
    for p in 0..size {
        let pivot = (p..size).max_by(|&i, &j| a[i][p].abs().total_cmp(&a[j][p].abs())).unwrap();
        a.swap(p, pivot);
        for i in 0..size {
            if i != p {
                let factor = a[i][p] / a[p][p];
                (p..=size).for_each(|q| a[i][q] -= factor * a[p][q]);
            }
        }
    }
    (0..size).map(|p| a[p][size] / a[p][p]).collect()
}

/// Leaving out rows one at a time, or several together, equals fits without them.
#[test]
fn what_is_left_out_is_predicted_as_by_a_fit_without_it() {
    let (n, width) = (13, 5);
    let x = centred(noise(1, n * width), width);
    let y = centred(noise(2, n), 1);
    let row = |i: usize| &x[i * width..(i + 1) * width];
    let k: Vec<f64> = (0..n * n).map(|p| row(p / n).iter().zip(row(p % n)).map(|(x, y)| x * y).sum()).collect();
    let narrow: Vec<f32> = x.iter().map(|&x| x as f32).collect();
    assert!(products(&narrow, n).iter().zip(&k).all(|(a, b)| (a - b).abs() < 1e-6));
    let singles: Vec<_> = (0..n).map(|i| i..i + 1).collect();
    let uneven = vec![0..3, 3..4, 4..8, 8..10, 10..13];
    for lambda in [0.01, 0.3, 5.0] {
        for groups in [&singles, &uneven] {
            let fit = fit(&k, &y, groups, lambda).unwrap();
            for group in groups {
                let rest: Vec<usize> = (0..n).filter(|i| !group.contains(i)).collect();
                let w = plainly(&x, &y, &rest, width, lambda);
                for i in group.clone() {
                    let wanted: f64 = x[i * width..(i + 1) * width].iter().zip(&w).map(|(x, w)| x * w).sum::<f64>() + w[width];
                    assert!((fit.left_out[i] - wanted).abs() < 1e-10, "{lambda} {group:?}: {} {wanted}", fit.left_out[i]);
                }
            }
        }
    }
}

#[test]
fn conjugate_gradients_find_the_same_weights_with_any_threads() {
    let (n, width, outputs) = (57, 9, 3);
    let x: Vec<f32> = centred(noise(3, n * width), width).iter().map(|&x| x as f32).collect();
    let y = centred(noise(4, n * outputs), outputs);
    let groups: Vec<_> = (0..n).map(|i| i..i + 1).collect();
    let alpha = fit(&products(&x, n), &y, &groups, 0.7).unwrap().alpha;
    let ours = descend(&x, &y, n, 0.7);
    for f in 0..width {
        for o in 0..outputs {
            let wanted: f64 = (0..n).map(|i| f64::from(x[i * width + f]) * alpha[i * outputs + o]).sum();
            assert!((ours[f * outputs + o] - wanted).abs() < 1e-4, "{f} {o}: {} {wanted}", ours[f * outputs + o]);
        }
    }
    let pool = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    assert_eq!(pool(1).install(|| descend(&x, &y, n, 0.7)), pool(3).install(|| descend(&x, &y, n, 0.7)));
}
