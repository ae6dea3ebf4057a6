//! Ridge regression against fits that leave cases out one after the other.

use ncde_reservoir::matrix::products;
use ncde_reservoir::ridge::fit;
use ncde_reservoir::sums::Sums;

use crate::common::noise;

/// The weights and the constant of a ridge fit of some rows with these weights, by Gaussian elimination.
fn plainly(x: &[f64], y: &[f64], rows: &[usize], weights: &[f64], width: usize, lambda: f64) -> Vec<f64> {
    let size = width + 1;
    let mut a = vec![vec![0.0; size + 1]; size];
    for &i in rows {
        let row: Vec<f64> = x[i * width..(i + 1) * width].iter().copied().chain([1.0]).collect();
        for p in 0..size {
            (0..size).for_each(|q| a[p][q] += weights[i] * row[p] * row[q]);
            a[p][size] += weights[i] * row[p] * y[i];
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

/// Leaving out rows one at a time, or several together, equals fits without them; so it does where some rows count more.
#[test]
fn what_is_left_out_is_predicted_as_by_a_fit_without_it() {
    let (n, width) = (13, 5);
    let (x, y) = (noise(1, n * width), noise(2, n));
    let singles: Vec<_> = (0..n).map(|i| i..i + 1).collect();
    let uneven = vec![0..3, 3..4, 4..8, 8..10, 10..13];
    for weights in [vec![1.0; n], (0..n).map(|i| 0.25 + (i % 4) as f64).collect()] {
        let roots: Vec<f64> = weights.iter().map(|weight: &f64| weight.sqrt()).collect();
        // Columns of weighted mean 0, multiplied with the roots; what they were before is `shift` more.
        let scaled = |x: &[f64], width: usize| -> (Vec<f64>, Vec<f64>) {
            let mean = |c: usize| x.iter().skip(c).step_by(width).zip(&weights).map(|(x, w)| x * w).sum::<f64>();
            let means: Vec<f64> = (0..width).map(|c| mean(c) / weights.iter().sum::<f64>()).collect();
            (x.iter().enumerate().map(|(i, x)| (x - means[i % width]) * roots[i / width]).collect(), means)
        };
        let ((rows, _), (targets, means)) = (scaled(&x, width), scaled(&y, 1));
        let row = |i: usize| &rows[i * width..(i + 1) * width];
        let k: Vec<f64> = (0..n * n).map(|p| row(p / n).iter().zip(row(p % n)).map(|(x, y)| x * y).sum()).collect();
        let narrow: Vec<f32> = rows.iter().map(|&x| x as f32).collect();
        assert!(products(&narrow, n).iter().zip(&k).all(|(a, b)| (a - b).abs() < 1e-5));
        for (lambda, groups) in [0.01, 0.3, 5.0].into_iter().flat_map(|lambda| [(lambda, &singles), (lambda, &uneven)]) {
            let fit = fit(&k, &targets, groups, &roots, lambda).unwrap();
            let mut error = 0.0;
            for group in groups {
                let rest: Vec<usize> = (0..n).filter(|i| !group.contains(i)).collect();
                let w = plainly(&x, &y, &rest, &weights, width, lambda);
                for i in group.clone() {
                    let wanted: f64 = x[i * width..(i + 1) * width].iter().zip(&w).map(|(x, w)| x * w).sum::<f64>() + w[width];
                    let seen = fit.left_out[i] + means[0];
                    assert!((seen - wanted).abs() < 1e-10, "{lambda} {group:?}: {seen} {wanted}");
                    error += weights[i] * (y[i] - wanted).powi(2) / weights.iter().sum::<f64>();
                }
            }
            assert!((fit.error - error).abs() < 1e-10, "{} {error}", fit.error);
        }
    }
}

/// From sums alone: the fit of some rows, and its error on others.
#[test]
fn sums_of_products_give_the_fit_and_its_error_on_other_rows() {
    let (n, width, lambda) = (40, 5, 0.3);
    let scale: Vec<f64> = (0..width).map(|i| 0.5 + i as f64).collect();
    let x: Vec<f64> = noise(3, n * width).iter().map(|x| f64::from((x + 1.0) as f32)).collect();
    let y: Vec<f64> = noise(4, 2 * n).iter().map(|y| f64::from((y - 2.0) as f32)).collect();
    let rows = |which: std::ops::Range<usize>| -> Sums {
        let mut sums = Sums::new(width, 2);
        let rows: Vec<f32> = which
            .flat_map(|i| x[i * width..(i + 1) * width].iter().chain(&y[2 * i..2 * i + 2]).map(|&x| x as f32).collect::<Vec<_>>())
            .collect();
        // In two pieces.
        let (first, second) = rows.split_at(3 * (width + 2));
        sums.add(first, &[1.0; 3]);
        sums.add(second, &vec![1.0; second.len() / (width + 2)]);
        sums
    };
    // A row that counts three times is three rows.
    let one: Vec<f32> = (0..width + 2).map(|i| 0.3 + i as f32).collect();
    let [mut thrice, mut three] = [(); 2].map(|()| rows(0..n));
    thrice.add(&one, &[3.0]);
    three.add(&one.repeat(3), &[1.0; 3]);
    let [a, b] = [&thrice, &three].map(|sums| sums.fit(&scale, lambda).unwrap());
    assert!(thrice.rows() == three.rows() && a.weight.iter().zip(&b.weight).all(|(a, b)| (a - b).abs() < 1e-5));
    let (whole, out) = (rows(0..n), rows(25..n));
    let line = whole.minus(&out).fit(&scale, lambda).unwrap();
    let again = rows(0..25).fit(&scale, lambda).unwrap();
    for (a, b) in line.weight.iter().zip(&again.weight) {
        assert!((a - b).abs() < 1e-5, "{a} {b}");
    }
    // A penalty of lambda n on weights over their scales, as of features that are scaled.
    let scaled: Vec<f64> = x.iter().enumerate().map(|(i, x)| x * scale[i % width]).collect();
    let errors = out.errors(&line);
    for o in 0..2 {
        let targets: Vec<f64> = y.iter().skip(o).step_by(2).copied().collect();
        let wanted = plainly(&scaled, &targets, &(0..25).collect::<Vec<_>>(), &vec![1.0; n], width, lambda * 25.0);
        for i in 0..width {
            assert!((line.weight[o * width + i] - wanted[i] * scale[i]).abs() < 1e-5, "{line:?} {wanted:?}");
        }
        assert!((line.bias[o] - wanted[width]).abs() < 1e-5);
        let predicted = |t: usize| wanted[width] + (0..width).map(|i| wanted[i] * scaled[t * width + i]).sum::<f64>();
        let error: f64 = (25..n).map(|t| (targets[t] - predicted(t)).powi(2)).sum();
        assert!((errors[o] - error).abs() < 1e-4 * error, "{} {error}", errors[o]);
        let mean = targets.iter().sum::<f64>() / n as f64;
        let spread: f64 = targets.iter().map(|y| (y - mean).powi(2)).sum();
        assert!((whole.spread()[o] - spread).abs() < 1e-4 * spread);
    }
}
