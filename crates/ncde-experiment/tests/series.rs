//! Walks, terms of signatures, least squares, random features.

use ncde_experiment::series::{LeastSquares, Walks, term};
use ncde_layers::expressive::features;
use ncde_runtime::random::Stream;
use ncde_signature::{Paths, Signature};

#[test]
fn terms_are_coordinates_of_the_signature() {
    let walks = Walks { channels: 3, length: 12, seed: 4 };
    let walk = walks.walk(0);
    let paths = Paths::new(&walk, 1, 12, 3).unwrap();
    let all = Signature::new(3, 4).unwrap().of(&paths).unwrap();
    let mut place = 0;
    for length in 1..=4_u32 {
        for number in 0..3_usize.pow(length) {
            let word: Vec<usize> = (0..length).rev().map(|k| number / 3_usize.pow(k) % 3).collect();
            let (seen, wanted) = (term(&walk, 3, &word), all[place]);
            assert!((seen - wanted).abs() <= 1e-9 * wanted.abs().max(1.0), "{word:?}: {seen} {wanted}");
            place += 1;
        }
    }
    assert_eq!(place, all.len());
}

#[test]
fn steps_of_walks_are_rounded_normal_numbers() {
    let walks = Walks { channels: 2, length: 400, seed: 9 };
    let mut counts = [0.0_f64; 3];
    for i in 0..50 {
        let walk = walks.walk(i);
        for k in 2..walk.len() {
            let step = walk[k] - walk[k - 2];
            assert_eq!(step.fract(), 0.0);
            if step.abs() < 2.0 {
                counts[(step + 1.0) as usize] += 1.0;
            }
        }
    }
    let all = 50.0 * 798.0;
    // P(|N| < 1/2) and P(1/2 < N < 3/2).
    for (count, wanted) in counts.iter().zip([0.24173, 0.38292, 0.24173]) {
        assert!((count / all - wanted).abs() < 0.01, "{count} {wanted}");
    }
}

#[test]
fn least_squares_leaves_a_residual_that_features_do_not_see() {
    let stream = Stream::new(1, 0);
    let (rows, features) = (50, 6);
    let x: Vec<f32> = (0..rows * features).map(|i| stream.normal(i as u64) as f32).collect();
    let y: Vec<f64> = (0..rows).map(|i| stream.child(0).normal(i as u64)).collect();
    let fitted = LeastSquares::fit(&x, features, &y);
    let rest: Vec<f64> = x.chunks_exact(features).zip(&y).map(|(row, y)| y - fitted.predict(row)).collect();
    assert!(rest.iter().sum::<f64>().abs() < 1e-10);
    for j in 0..features {
        let dot: f64 = rest.iter().enumerate().map(|(i, r)| r * f64::from(x[i * features + j])).sum();
        assert!(dot.abs() < 1e-10, "{dot}");
    }
    // A feature that is there twice changes nothing.
    let twice: Vec<f32> = x.chunks_exact(features).flat_map(|row| [row, &row[..1]].concat()).collect();
    let again = LeastSquares::fit(&twice, features + 1, &y);
    let row = &x[..features];
    assert!((again.predict(&[row, &row[..1]].concat()) - fitted.predict(row)).abs() < 1e-9);
}

#[test]
fn a_linear_readout_of_a_random_linear_ncde_is_an_area() {
    let (length, count, hidden) = (20, 400, 64);
    let walks = Walks { channels: 2, length, seed: 2 };
    let all: Vec<Vec<f64>> = (0..count).map(|i| walks.walk(i)).collect();
    let most = all.iter().flatten().fold(0.0_f64, |most, x| most.max(x.abs()));
    let labels: Vec<f64> = all.iter().map(|walk| term(walk, 2, &[0, 1]) / (most * most)).collect();
    let values: Vec<f32> = all.concat().iter().map(|x| (x / most) as f32).collect();
    let states = features(&values, [length, 2], hidden, 3).unwrap();
    assert_eq!(states.len(), count as usize * hidden);
    assert!(
        states == features(&values, [length, 2], hidden, 3).unwrap()
            && states != features(&values, [length, 2], hidden, 4).unwrap()
    );
    let (train, test) = states.split_at(300 * hidden);
    let fitted = LeastSquares::fit(train, hidden, &labels[..300]);
    let error = |states: &[f32], labels: &[f64]| -> f64 {
        let squares = states.chunks_exact(hidden).zip(labels).map(|(row, y)| (fitted.predict(row) - y).powi(2));
        (squares.sum::<f64>() / labels.len() as f64).sqrt()
    };
    let spread = (labels.iter().map(|y| y * y).sum::<f64>() / labels.len() as f64).sqrt();
    assert!(error(test, &labels[300..]) < 0.1 * spread, "{} {spread}", error(test, &labels[300..]));
}
