//! p-variation against brute force and against the plain programme.

use ncde_signature::Error;
use ncde_signature::path::{optimal_partition, p_variation};
use proptest::prelude::*;

fn distance(values: &[f64], channels: usize, i: usize, j: usize) -> f64 {
    let point = |k: usize| &values[k * channels..][..channels];
    let squares = point(i).iter().zip(point(j)).map(|(x, y)| (x - y).powi(2));
    squares.sum::<f64>().sqrt()
}

fn over(partition: &[usize], values: &[f64], channels: usize, p: f64) -> f64 {
    let steps = partition.windows(2).map(|pair| distance(values, channels, pair[0], pair[1]));
    steps.map(|step| step.powf(p)).sum::<f64>().powf(1.0 / p)
}

/// The best of all partitions.
fn brute_force(values: &[f64], channels: usize, p: f64) -> f64 {
    let last = values.len() / channels - 1;
    let inner = last.saturating_sub(1);
    let partitions = (0..1_usize << inner).map(|mask| {
        let chosen = (1..last).filter(|i| mask >> (i - 1) & 1 == 1);
        let partition: Vec<usize> = std::iter::once(0).chain(chosen).chain((last > 0).then_some(last)).collect();
        over(&partition, values, channels, p)
    });
    partitions.fold(0.0, f64::max)
}

/// The programme without skipping.
fn plain(values: &[f64], channels: usize, p: f64) -> f64 {
    let length = values.len() / channels;
    let mut best = vec![0.0; length];
    for j in 1..length {
        let sums = (0..j).map(|i| best[i] + distance(values, channels, i, j).powf(p));
        best[j] = sums.fold(0.0, f64::max);
    }
    best[length - 1].powf(1.0 / p)
}

fn walk(steps: &[f64], channels: usize) -> Vec<f64> {
    let mut values = vec![0.0; channels];
    for step in steps.chunks_exact(channels) {
        let last = values.len() - channels;
        for (channel, step) in step.iter().enumerate() {
            values.push(values[last + channel] + step);
        }
    }
    values
}

fn agree(x: f64, y: f64) -> bool {
    (x - y).abs() <= 1e-12 * (1.0 + x.abs())
}

proptest! {
    #[test]
    fn equals_brute_force(values in prop::collection::vec(-3.0..3.0, 2..=24), channels in 1..3_usize, p in 1.0..5.0) {
        let values = &values[..(values.len() / channels).min(12) * channels];
        let (variation, partition) = optimal_partition(values, channels, p).unwrap();
        prop_assert!(agree(variation, brute_force(values, channels, p)));
        prop_assert!(agree(variation, over(&partition, values, channels, p)));
        prop_assert_eq!(partition[0], 0);
        prop_assert_eq!(partition[partition.len() - 1], values.len() / channels - 1);
        prop_assert!(partition.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn equals_the_plain_programme(
        steps in prop::collection::vec(-1.0..1.0, 3..600),
        channels in 1..4_usize,
        p in prop::sample::select(vec![1.0, 1.1, 1.5, 2.0, 2.7, 6.0]),
        drift in 0.0..0.5,
    ) {
        let drifting: Vec<f64> = steps.iter().map(|step| step + drift).collect();
        let values = walk(&drifting, channels);
        let variation = p_variation(&values, channels, p).unwrap();
        prop_assert!(agree(variation, plain(&values, channels, p)));
        // It falls with p and bounds the whole increment.
        prop_assert!(p_variation(&values, channels, p + 0.5).unwrap() <= variation * (1.0 + 1e-12));
        prop_assert!(distance(&values, channels, 0, values.len() / channels - 1) <= variation * (1.0 + 1e-12));
    }

    #[test]
    fn scales_like_a_norm(steps in prop::collection::vec(-1.0..1.0, 3..100), exponent in -200..200_i32) {
        // Squares and powers of such numbers would leave the range of `f64`.
        let scale = 10_f64.powi(exponent);
        let values = walk(&steps, 1);
        let scaled: Vec<f64> = values.iter().map(|x| x * scale).collect();
        let (x, y) = (p_variation(&values, 1, 3.0).unwrap(), p_variation(&scaled, 1, 3.0).unwrap());
        prop_assert!(agree(y / scale, x));
    }
}

#[test]
fn simple_paths_have_known_variation() {
    let line: Vec<f64> = (0..=8).map(f64::from).collect();
    for p in [1.0, 1.5, 2.0, 100.0] {
        assert!(agree(p_variation(&line, 1, p).unwrap(), 8.0));
    }
    assert_eq!(optimal_partition(&line, 1, 2.0).unwrap().1, [0, 8]);
    // A zigzag uses every corner, and only corners.
    let zigzag = [0.0, 1.0, 0.5, 0.0, 1.0, 0.0];
    let (variation, partition) = optimal_partition(&zigzag, 1, 2.0).unwrap();
    assert_eq!(partition, [0, 1, 3, 4, 5]);
    assert!(agree(variation, 2.0));
    // Three unit steps along different axes: distances 1, sqrt 2, sqrt 3, so at p = 2 all partitions tie.
    let stairs = [0.0_f32, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0];
    assert!(agree(p_variation(&stairs, 3, 2.0).unwrap(), 3_f64.sqrt()));
    assert!(agree(p_variation(&stairs, 3, 4.0).unwrap(), 3_f64.sqrt()));
    assert!(agree(p_variation(&stairs, 3, 1.0).unwrap(), 3.0));
}

#[test]
fn paths_that_do_not_move_have_none() {
    assert_eq!(optimal_partition(&[7.0], 1, 2.0).unwrap(), (0.0, vec![0]));
    assert_eq!(optimal_partition(&[7.0], 1, 1.0).unwrap(), (0.0, vec![0]));
    assert_eq!(p_variation(&[7.0; 10], 2, 2.0).unwrap(), 0.0);
}

#[test]
fn arguments_are_checked() {
    let x = [0.0, 1.0, 0.0];
    for p in [0.5, 0.0, -1.0, f64::NAN, f64::INFINITY] {
        let error = p_variation(&x, 1, p).unwrap_err();
        assert!(matches!(error, Error::BadParameter { .. }), "{p}: {error}");
    }
    assert!(matches!(p_variation(&[-1.5, 0.0, 1.5], 1, 1e9).unwrap_err(), Error::BadParameter { .. }));
    assert_eq!(p_variation::<f64>(&[], 1, 2.0).unwrap_err(), Error::EmptySeries);
    assert_eq!(p_variation(&x, 0, 2.0).unwrap_err(), Error::NoChannels);
    assert!(matches!(p_variation(&x, 2, 2.0).unwrap_err(), Error::Size { seen: 1, wanted: 2, .. }));
    let error = p_variation(&[0.0, 1.0, f64::NAN, 0.0], 2, 2.0).unwrap_err();
    assert!(matches!(&error, Error::NotFinite { location, channel: 0, .. } if location == "observation 1"));
}
