//! Lines of the mixed matrix, a row of control a unit: which entry is chosen, and the reverse pass through the soft-max.
//!
//! ```text
//! M = sum_k s_k M_k,   at(j) = argmax_i M[line j, i],   S = softmax(M) by lines
//! dM[j, i] = S[j, i] l_j (e_i - sum_i S[j, i] e_i),   ds_k = <M_k, dM>
//! ```
//!
//! `dP[j, i] = l_j e_i` is the product of two vectors, so that the mean of a line is one of `e`. It is taken from its first entry on: a line whose `e` are all equal, and so every line of one entry, has exactly no
//! gradient, however products and sums are fused.
//!
//! `M` and `dM` are never in memory. A cube has a line of all matrices in shared memory, or a span of it, and every unit mixes it with its own weights, four entries at a time: nothing is summed over units.

use cubecl::prelude::*;

use crate::permutation::PermutationDiagonal;

/// Units of a cube, a row each.
pub(crate) const ROWS: usize = 128;

/// Fours of a dictionary that a cube has in shared memory at once, or one for each matrix.
const ROOM: usize = 1024;

/// Up to so many matrices, weights are in registers.
pub(super) const MOST: usize = 64;

/// Fours of a line of one matrix that are in shared memory at once.
fn span(of: PermutationDiagonal) -> usize {
    (ROOM / of.matrices).clamp(1, of.hidden.div_ceil(4))
}

/// How many times shared memory is filled for a line.
fn spans(of: PermutationDiagonal) -> usize {
    of.hidden.div_ceil(4 * span(of))
}

/// Bytes of shared memory of a cube.
pub(crate) fn bytes(of: PermutationDiagonal) -> usize {
    4 * size_of::<f32>() * of.matrices * span(of)
}

/// A span of a line of all matrices to shared memory; zeros beyond the line.
#[cube]
fn fill<N: Size>(
    dictionary: &Array<f32>,
    tile: &mut SharedMemory<Vector<f32, N>>,
    line: usize,
    first: usize,
    #[comptime] of: PermutationDiagonal,
) {
    sync_cube();
    let all = comptime!(of.matrices * span(of));
    for turn in 0..comptime!(all.div_ceil(ROWS)) {
        let e = turn * ROWS + UNIT_POS as usize;
        if e < all {
            let k = e / comptime!(span(of));
            let i = first + e % comptime!(span(of)) * 4;
            let mut four = Vector::<f32, N>::new(0.0);
            #[unroll]
            for c in 0..4usize {
                if i + c < comptime!(of.hidden) {
                    four[c] = dictionary[(k * comptime!(of.hidden) + line) * comptime!(of.hidden) + i + c];
                }
            }
            tile[e] = four;
        }
    }
    sync_cube();
}

/// Four entries of `M`.
#[cube]
fn mix<N: Size>(
    tile: &SharedMemory<Vector<f32, N>>,
    s: &Array<f32>,
    four: usize,
    #[comptime] of: PermutationDiagonal,
) -> Vector<f32, N> {
    let mut sum = Vector::<f32, N>::new(0.0);
    #[unroll(of.matrices <= MOST)]
    for k in 0..comptime!(of.matrices) {
        sum += tile[k * comptime!(span(of)) + four] * Vector::<f32, N>::new(s[k]);
    }
    sum
}

/// The weights of a row.
#[cube]
fn own_weights(weights: &Array<f32>, row: usize, rows: usize, s: &mut Array<f32>, #[comptime] of: PermutationDiagonal) {
    #[unroll(of.matrices <= MOST)]
    for k in 0..comptime!(of.matrices) {
        s[k] = weights[k * rows + row];
    }
}

/// Where lines have their entry, `[rows, H]`, and if asked for their largest number, `[H, rows]`. Of equal entries the first is chosen.
///
/// Cubes: `[groups of lines, rows / 128]`.
#[cube(launch_unchecked)]
pub(crate) fn choose<N: Size>(
    weights: &Array<f32>,
    dictionary: &Array<f32>,
    at: &mut Array<u32>,
    tops: &mut Array<f32>,
    rows: usize,
    each: usize,
    #[comptime] of: PermutationDiagonal,
    #[comptime] keep: bool,
) {
    let cube = CUBE_POS_Y as usize * CUBE_COUNT_X as usize + CUBE_POS_X as usize;
    let tiles = (rows + comptime!(ROWS - 1)) / ROWS;
    let first = cube / tiles * each;
    let end = min(first + each, comptime!(of.hidden));
    let row = cube % tiles * ROWS + UNIT_POS as usize;
    let is_there = row < rows;
    let row = min(row, rows - 1);
    let mut s = Array::<f32>::new(comptime!(of.matrices));
    own_weights(weights, row, rows, &mut s, of);
    let mut tile = SharedMemory::<Vector<f32, N>>::new(comptime!(of.matrices * span(of)));
    for line in first..end {
        let mut best = f32::new(0.0);
        let mut place = 0usize;
        for turn in 0..comptime!(spans(of)) {
            let from = turn * comptime!(4 * span(of));
            fill(dictionary, &mut tile, line, from, of);
            for four in 0..comptime!(span(of)) {
                let mixed = mix(&tile, &s, four, of);
                #[unroll]
                for c in 0..4usize {
                    let i = from + four * 4 + c;
                    if i < comptime!(of.hidden) && (i == 0 || mixed[c] > best) {
                        best = mixed[c];
                        place = i;
                    }
                }
            }
        }
        if is_there {
            at[row * comptime!(of.hidden) + line] = place as u32;
            if comptime!(keep) {
                tops[line * rows + row] = best;
            }
        }
    }
}

/// What makes `dM` of each line: the logarithm of the sum of its exponentials and the mean of `e`, `[1 + parts, H, rows]`; and the part of a group of lines of `ds`, `[groups, K, rows]`. `kept` are `e` and `l`,
/// `[2 width, rows]`.
///
/// Cubes: `[groups of lines, rows / 128]`.
#[cube(launch_unchecked)]
pub(crate) fn soften<N: Size>(
    weights: &Array<f32>,
    dictionary: &Array<f32>,
    tops: &Array<f32>,
    kept: &Array<f32>,
    stats: &mut Array<f32>,
    d_weights: &mut Array<f32>,
    rows: usize,
    each: usize,
    #[comptime] of: PermutationDiagonal,
) {
    let cube = CUBE_POS_Y as usize * CUBE_COUNT_X as usize + CUBE_POS_X as usize;
    let tiles = (rows + comptime!(ROWS - 1)) / ROWS;
    let group = cube / tiles;
    let first = group * each;
    let end = min(first + each, comptime!(of.hidden));
    let row = cube % tiles * ROWS + UNIT_POS as usize;
    let is_there = row < rows && first < comptime!(of.hidden);
    let row = min(row, rows - 1);
    let complex = comptime!(of.parts() == 2);
    let imaginary = comptime!(of.hidden) * rows;
    let mut s = Array::<f32>::new(comptime!(of.matrices));
    let mut ds = Array::<f32>::new(comptime!(of.matrices));
    own_weights(weights, row, rows, &mut s, of);
    #[unroll(of.matrices <= MOST)]
    for k in 0..comptime!(of.matrices) {
        ds[k] = f32::new(0.0);
    }
    let mut tile = SharedMemory::<Vector<f32, N>>::new(comptime!(of.matrices * span(of)));
    let re_0 = kept[row];
    let mut im_0 = f32::new(0.0);
    if comptime!(complex) {
        im_0 = kept[imaginary + row];
    }
    for line in first..end {
        let top = tops[line * rows + row];
        let mut sum = f32::new(0.0);
        let mut re = f32::new(0.0);
        let mut im = f32::new(0.0);
        for turn in 0..comptime!(spans(of)) {
            let from = turn * comptime!(4 * span(of));
            fill(dictionary, &mut tile, line, from, of);
            for four in 0..comptime!(span(of)) {
                let mixed = mix(&tile, &s, four, of);
                #[unroll]
                for c in 0..4usize {
                    let i = from + four * 4 + c;
                    if i < comptime!(of.hidden) {
                        let e = f32::exp(mixed[c] - top);
                        sum += e;
                        re += e * (kept[i * rows + row] - re_0);
                        if comptime!(complex) {
                            im += e * (kept[imaginary + i * rows + row] - im_0);
                        }
                    }
                }
            }
        }
        let all = top + f32::ln(sum);
        let mean_re = re_0 + re / sum;
        let mean_im = im_0 + im / sum;
        let l = comptime!(of.width()) * rows + line * rows + row;
        let l_re = kept[l];
        let mut l_im = f32::new(0.0);
        if comptime!(complex) {
            l_im = kept[l + imaginary];
        }
        if is_there {
            stats[line * rows + row] = all;
            stats[imaginary + line * rows + row] = mean_re;
            if comptime!(complex) {
                stats[2 * imaginary + line * rows + row] = mean_im;
            }
        }
        for turn in 0..comptime!(spans(of)) {
            let from = turn * comptime!(4 * span(of));
            if comptime!(spans(of) > 1) {
                fill(dictionary, &mut tile, line, from, of);
            }
            for four in 0..comptime!(span(of)) {
                let mixed = mix(&tile, &s, four, of);
                let mut dm = Array::<f32>::new(4usize);
                #[unroll]
                for c in 0..4usize {
                    let i = from + four * 4 + c;
                    dm[c] = f32::new(0.0);
                    if i < comptime!(of.hidden) {
                        let mut slope = l_re * (kept[i * rows + row] - mean_re);
                        if comptime!(complex) {
                            slope += l_im * (kept[imaginary + i * rows + row] - mean_im);
                        }
                        dm[c] = f32::exp(mixed[c] - all) * slope;
                    }
                }
                #[unroll(of.matrices <= MOST)]
                for k in 0..comptime!(of.matrices) {
                    let entries = tile[k * comptime!(span(of)) + four];
                    #[unroll]
                    for c in 0..4usize {
                        ds[k] += entries[c] * dm[c];
                    }
                }
            }
        }
    }
    if is_there {
        #[unroll(of.matrices <= MOST)]
        for k in 0..comptime!(of.matrices) {
            d_weights[(group * comptime!(of.matrices) + k) * rows + row] = ds[k];
        }
    }
}
