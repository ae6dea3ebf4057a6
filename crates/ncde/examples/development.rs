//! The development of a path in the rotations of space stays a rotation; in all matrices it does not.
//!
//! ```text
//! H_{j+1} = exp(sum_i A^i dx^i_j) H_j,   A^i in so(3)   =>   H^T H = I
//! ```
#![allow(clippy::print_stdout, reason = "an example shows its result")]

use burn::backend::Flex;
use burn::tensor::{DType, FloatDType, Tensor, TensorData};
use ncde::model::{Algebra, DevelopmentConfig, Error, cast};
use ncde::random::Stream;

const CHANNELS: usize = 2;
const STEPS: usize = 5_000;

fn main() -> Result<(), Error> {
    let device = Default::default();
    let noise = Stream::new(0, 0);
    let forth: Vec<f64> = (0..(STEPS * CHANNELS) as u64).map(|i| 0.1 * noise.normal(i)).collect();
    // The same way back: the development of a path followed by its reverse is the identity.
    let back = forth.chunks_exact(CHANNELS).rev().flat_map(|dx| dx.iter().map(|x| -x));
    let loops: Vec<f64> = forth.iter().copied().chain(back).collect();
    let increments = Tensor::<Flex, 3>::from_data(TensorData::new(loops, [1, 2 * STEPS, CHANNELS]), (&device, DType::F64));

    let mut worst = Vec::new();
    for algebra in [Algebra::SpecialOrthogonal { size: 3 }, Algebra::GeneralLinear { size: 3 }] {
        let layer = cast(DevelopmentConfig::new(algebra, CHANNELS).with_std(1.0).init::<Flex>(&device, 0)?, FloatDType::F64);
        let states: Vec<f64> = layer.forward(increments.clone(), None)?.into_data().iter().collect();
        let matrices: Vec<&[f64]> = states.chunks_exact(9).collect();
        let orthogonal = matrices.iter().map(|h| off_identity(h, h)).fold(0.0, f64::max);
        let identity = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];
        let returned = off_identity(&identity, matrices[2 * STEPS - 1]);
        println!("{algebra:?}");
        println!("  largest |H^T H - I| over {} steps: {orthogonal:.1e}", 2 * STEPS);
        println!("  half way: H = {:+.3?}", matrices[STEPS - 1]);
        println!("  |H - I| after the way back: {returned:.1e}");
        worst.push([orthogonal, returned]);
    }
    assert!(worst[0].iter().all(|&far| far < 1e-10), "rotations stay rotations, and the way back undoes the way there");
    assert!(worst[1][0] > 1.0, "general matrices do not stay orthogonal");
    Ok(())
}

/// The largest entry of `A^T B - I`, 3 x 3.
fn off_identity(a: &[f64], b: &[f64]) -> f64 {
    let entry = |i: usize, j: usize| (0..3).map(|k| a[3 * k + i] * b[3 * k + j]).sum::<f64>() - f64::from(u8::from(i == j));
    (0..9).map(|ij| entry(ij / 3, ij % 3).abs()).fold(0.0, f64::max)
}
