//! Whole transforms with every instruction set of the machine, not just its widest: others run the plainer ones. The choice is that of
//! the process, so that this test has one of its own.
#![allow(clippy::unwrap_used, reason = "a test")]

use ncde_signature::{Basis, Float, Paths, Signature};
use ncde_simd::with_each;

/// Signatures of series of the given lengths, and the gradient of the sum of all their coordinates.
fn both<T: Float>(transform: &Signature, lengths: &[usize], channels: usize) -> [Vec<f64>; 2] {
    let total: usize = lengths.iter().sum();
    let x: Vec<T> = (0..total * channels).map(|i| T::from_f64((i as f64 * 0.7).sin())).collect();
    let paths = Paths::ragged(&x, lengths, channels).unwrap();
    let ones = vec![T::from_f64(1.0); lengths.len() * transform.len()];
    [transform.of(&paths).unwrap(), transform.of_backward(&paths, &ones).unwrap()]
        .map(|values| values.into_iter().map(T::to_f64).collect())
}

fn agree<T: Float>(transform: &Signature, lengths: &[usize], channels: usize, [values, gradients]: [f64; 2]) {
    let sets = with_each(|set| (set, both::<T>(transform, lengths, channels)));
    let (_, plain) = &sets[0];
    for (set, seen) in &sets[1..] {
        for ((seen, plain), tolerance) in seen.iter().zip(plain).zip([values, gradients]) {
            let scale = plain.iter().fold(1.0_f64, |most, x| most.max(x.abs()));
            for (place, (a, b)) in seen.iter().zip(plain).enumerate() {
                let depth = transform.shape().depth();
                assert!((a - b).abs() <= tolerance * scale, "{set:?}, {channels} channels, depth {depth}, {place}: {a} {b}");
            }
        }
    }
}

/// Odd numbers of channels leave registers part full. Three series go one at a time, thirteen side by side in lanes, of which some stay empty; their lengths differ.
#[test]
fn every_instruction_set_gives_the_same() {
    for (d, depth) in [(1, 3), (2, 5), (3, 4), (4, 4), (5, 3), (9, 2), (17, 2), (3, 1)] {
        for transform in [Signature::new(d, depth).unwrap(), Signature::log(d, depth, Basis::Lyndon).unwrap()] {
            for lengths in [&[5, 2, 9][..], &[5, 2, 9, 3, 9, 4, 2, 7, 5, 5, 3, 8, 6]] {
                agree::<f64>(&transform, lengths, d, [1e-13, 1e-12]);
                agree::<f32>(&transform, lengths, d, [1e-5, 1e-4]);
            }
        }
    }
}
