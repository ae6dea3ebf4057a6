//! The fast Walsh-Hadamard transform `x -> (H_n / sqrt n) x`, Sylvester's order, in place: `n log2 n` additions.
//!
//! `H_1 = 1`, `H_2n = [[H_n, H_n], [H_n, -H_n]]`. The matrix is symmetric and orthogonal, so it is its own inverse and transpose.

use ncde_simd::{Float, Number, Simd};

/// The numbers of a tile: stages within a tile are computed in registers.
const TILE: usize = 16;

/// `x = (H_n / sqrt n) x`; the length is a power of two.
#[inline(always)]
pub(crate) fn transform<T: Float, S: Simd>(simd: S, x: &mut [T]) {
    let n = x.len();
    let scale = T::from_f64(1.0 / (n as f64).sqrt());
    let (tiles, rest) = x.as_chunks_mut::<TILE>();
    for tile in tiles {
        tile_stage::<T, 1>(tile);
        tile_stage::<T, 2>(tile);
        tile_stage::<T, 4>(tile);
        tile_stage::<T, 8>(tile);
        for x in tile {
            *x *= scale;
        }
    }
    // Only transforms shorter than a tile have a rest.
    let mut half = 1;
    while half < rest.len() {
        stage(simd, rest, half);
        half *= 2;
    }
    for x in rest {
        *x *= scale;
    }
    let mut half = TILE;
    while half < n {
        stage(simd, x, half);
        half *= 2;
    }
}

#[inline(always)]
fn tile_stage<T: Float, const HALF: usize>(x: &mut [T; TILE]) {
    let old = *x;
    for i in 0..TILE {
        x[i] = if i & HALF == 0 { old[i] + old[i + HALF] } else { old[i - HALF] - old[i] };
    }
}

#[inline(always)]
fn stage<T: Float, S: Simd>(simd: S, x: &mut [T], half: usize) {
    for pair in x.chunks_exact_mut(2 * half) {
        let (a, b) = pair.split_at_mut(half);
        if half >= TILE {
            let ((a, _), (b, _)) = (a.as_chunks_mut::<TILE>(), b.as_chunks_mut::<TILE>());
            for (a, b) in a.iter_mut().zip(b) {
                for i in 0..TILE {
                    (a[i], b[i]) = (a[i] + b[i], a[i] - b[i]);
                }
            }
        } else {
            for (a, b) in a.iter_mut().zip(b) {
                (*a, *b) = (a.plus(simd, *b), a.plus(simd, -*b));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ncde_simd::Scalar;

    #[test]
    fn the_transform_is_the_matrix() {
        for n in [1_usize, 2, 8, 16, 64, 256] {
            let x: Vec<f64> = (0..n).map(|i| (i as f64 * 0.7).sin()).collect();
            let mut fast = x.clone();
            transform(Scalar::new(), &mut fast);
            for r in 0..n {
                let sign = |c: usize| if (r & c).count_ones().is_multiple_of(2) { 1.0 } else { -1.0 };
                let slow: f64 = (0..n).map(|c| sign(c) * x[c]).sum::<f64>() / (n as f64).sqrt();
                assert!((slow - fast[r]).abs() < 1e-13, "{n} {r}");
            }
        }
    }
}
