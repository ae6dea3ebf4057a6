//! Lines of the mixed matrix, a step of a series a unit: which entry is chosen, and the reverse pass through the soft-max.
//!
//! ```text
//! M = sum_k s_k M_k,   at(j) = argmax_i M[line j, i],   S = softmax(M) by lines
//! dM[j, i] = S[j, i] l_j (e_i - sum_i S[j, i] e_i),   ds_k = <M_k, dM>
//! ```
//!
//! `dP[j, i] = l_j e_i` is the product of two vectors, so that the mean of a line is one of `e`. It is taken from its first entry on: a line whose `e` are all equal, and so every line of one entry, has exactly no
//! gradient, however products and sums are fused.
//!
//! `M` and `dM` are never in memory. A cube has some lines of all matrices in shared memory, or a span of them, and every unit mixes them with its own weights, four entries at a time: nothing is summed over units.
//! Lines that a unit has at once share what it reads of `e`, which is what takes the time: once for each line it would be `H` times as much as there is.

use cubecl::prelude::*;

use crate::kernel::unit::cube_number;
use crate::permutation::PermutationDiagonal;

/// Units of a cube, a step each.
pub(crate) const STEPS: usize = 128;

/// Fours of a dictionary that a cube has in shared memory at once, or one for each line of each matrix.
const ROOM: usize = 1024;

/// Up to so many matrices, weights are in registers.
pub(super) const MAX_UNROLLED: usize = 64;

/// Lines that a unit has at once.
pub(crate) fn together(of: PermutationDiagonal) -> usize {
    (MAX_UNROLLED / of.matrices).clamp(1, 4)
}

/// Fours of a line of one matrix that are in shared memory at once.
fn span(of: PermutationDiagonal) -> usize {
    (ROOM / (of.matrices * together(of))).clamp(1, of.hidden.div_ceil(4))
}

/// How many times shared memory is filled for some lines.
fn spans(of: PermutationDiagonal) -> usize {
    of.hidden.div_ceil(4 * span(of))
}

/// Fours of shared memory.
fn fours(of: PermutationDiagonal) -> usize {
    together(of) * of.matrices * span(of)
}

/// Bytes of shared memory of a cube.
pub(crate) fn bytes(of: PermutationDiagonal) -> usize {
    4 * size_of::<f32>() * fours(of)
}

/// The lines and the step of a unit. None of the lines where a cube has no work.
#[derive(CubeType)]
struct Task {
    group: usize,
    first: usize,
    end: usize,
    /// At most the last step.
    step: usize,
    is_there: bool,
}

/// That of this unit, of `[groups of lines, steps]`.
#[cube]
fn task_of(steps: usize, lines_per_group: usize, #[comptime] of: PermutationDiagonal) -> Task {
    let cube = cube_number();
    let tiles = (steps + comptime!(STEPS - 1)) / STEPS;
    let group = cube / tiles;
    let first = group * lines_per_group;
    let end = max(min(first + lines_per_group, comptime!(of.hidden)), first);
    let number = cube % tiles * STEPS + UNIT_POS as usize;
    let is_there = number < steps && first < end;
    let step = min(number, steps - 1);
    Task { group, first, end, step, is_there }
}

/// A span of some lines of all matrices to shared memory; zeros beyond them.
#[cube]
fn fill<N: Size>(
    dictionary: &Array<f32>,
    tile: &mut SharedMemory<Vector<f32, N>>,
    line: usize,
    first: usize,
    #[comptime] of: PermutationDiagonal,
) {
    sync_cube();
    let all = comptime!(fours(of));
    for e in range_stepped(UNIT_POS as usize, all, STEPS) {
        let k = e / comptime!(span(of)) % comptime!(of.matrices);
        let line = line + e / comptime!(span(of) * of.matrices);
        let i = first + e % comptime!(span(of)) * 4;
        let mut four = Vector::<f32, N>::new(0.0);
        #[unroll]
        for c in 0..4usize {
            if i + c < comptime!(of.hidden) && line < comptime!(of.hidden) {
                four[c] = dictionary[(k * comptime!(of.hidden) + line) * comptime!(of.hidden) + i + c];
            }
        }
        tile[e] = four;
    }
    sync_cube();
}

/// Four entries of `M`.
#[cube]
fn mix<N: Size>(
    tile: &SharedMemory<Vector<f32, N>>,
    s: &Array<f32>,
    #[comptime] l: usize,
    four: usize,
    #[comptime] of: PermutationDiagonal,
) -> Vector<f32, N> {
    let mut sum = Vector::<f32, N>::new(0.0);
    #[unroll(of.matrices <= MAX_UNROLLED)]
    for k in 0..comptime!(of.matrices) {
        sum += tile[(comptime!(l * of.matrices) + k) * comptime!(span(of)) + four] * Vector::<f32, N>::new(s[k]);
    }
    sum
}

/// The weights of a step.
#[cube]
fn load_weights(weights: &Array<f32>, step: usize, steps: usize, s: &mut Array<f32>, #[comptime] of: PermutationDiagonal) {
    #[unroll(of.matrices <= MAX_UNROLLED)]
    for k in 0..comptime!(of.matrices) {
        s[k] = weights[k * steps + step];
    }
}

/// The argmax index of each line, `[rows, H]`, and with `with_tops` the largest number, `[H, steps]`. Of equal entries the first is chosen.
///
/// Cubes: `[groups of lines, steps / 128]`.
#[cube(launch_unchecked)]
pub(crate) fn choose<N: Size>(
    weights: &Array<f32>,
    dictionary: &Array<f32>,
    places: &Array<u32>,
    at: &mut Array<u32>,
    tops: &mut Array<f32>,
    steps: usize,
    lines_per_group: usize,
    #[comptime] of: PermutationDiagonal,
    #[comptime] with_tops: bool,
) {
    let Task { first, end, step, is_there, .. } = task_of(steps, lines_per_group, of);
    let row = places[step] as usize;
    let lines = comptime!(together(of));
    let mut s = Array::<f32>::new(comptime!(of.matrices));
    load_weights(weights, step, steps, &mut s, of);
    let mut tile = SharedMemory::<Vector<f32, N>>::new(comptime!(fours(of)));
    let mut best = Array::<f32>::new(lines);
    let mut place = Array::<u32>::new(lines);
    for group in 0..(end - first + comptime!(lines - 1)) / lines {
        let line = first + group * lines;
        for turn in 0..comptime!(spans(of)) {
            let from = turn * comptime!(4 * span(of));
            fill(dictionary, &mut tile, line, from, of);
            for four in 0..comptime!(span(of)) {
                #[unroll]
                for l in 0..lines {
                    let mixed = mix(&tile, &s, l, four, of);
                    #[unroll]
                    for c in 0..4usize {
                        let i = from + four * 4 + c;
                        if i < comptime!(of.hidden) && (i == 0 || mixed[c] > best[l]) {
                            best[l] = mixed[c];
                            place[l] = i as u32;
                        }
                    }
                }
            }
        }
        #[unroll]
        for l in 0..lines {
            if is_there && line + l < end {
                at[row * comptime!(of.hidden) + line + l] = place[l];
                if comptime!(with_tops) {
                    tops[(line + l) * steps + step] = best[l];
                }
            }
        }
    }
}

/// Four numbers of `e`, and zeros beyond them: the real parts, then the imaginary parts.
#[cube]
fn four_of(vectors: &Array<f32>, i: usize, step: usize, steps: usize, out: &mut Array<f32>, #[comptime] of: PermutationDiagonal) {
    #[unroll]
    for c in 0..comptime!(4 * of.parts()) {
        let part = comptime!(c / 4 * of.hidden);
        let mut e = f32::new(0.0);
        if i + comptime!(c % 4) < comptime!(of.hidden) {
            e = vectors[(part + i + comptime!(c % 4)) * steps + step];
        }
        out[c] = e;
    }
}

/// What makes `dM` of each line: the logarithm of the sum of its exponentials and the mean of `e`, `[1 + parts, H, steps]`; and the part of a group of lines of `ds`, `[groups, K, steps]`. `vectors` are `e` and `l`,
/// `[2 width, steps]`.
///
/// Cubes: `[groups of lines, steps / 128]`.
#[cube(launch_unchecked)]
pub(crate) fn soften<N: Size>(
    weights: &Array<f32>,
    dictionary: &Array<f32>,
    tops: &Array<f32>,
    vectors: &Array<f32>,
    stats: &mut Array<f32>,
    d_weights: &mut Array<f32>,
    steps: usize,
    lines_per_group: usize,
    #[comptime] of: PermutationDiagonal,
) {
    let Task { group, first, end, step, is_there } = task_of(steps, lines_per_group, of);
    let complex = comptime!(of.parts() == 2);
    let lines = comptime!(together(of));
    let imaginary = comptime!(of.hidden) * steps;
    let mut s = Array::<f32>::new(comptime!(of.matrices));
    let mut ds = Array::<f32>::new(comptime!(of.matrices));
    #[unroll(of.matrices <= MAX_UNROLLED)]
    for k in 0..comptime!(of.matrices) {
        ds[k] = f32::new(0.0);
    }
    load_weights(weights, step, steps, &mut s, of);
    let mut tile = SharedMemory::<Vector<f32, N>>::new(comptime!(fours(of)));
    let mut e = Array::<f32>::new(comptime!(4 * of.parts()));
    // Of each line: its largest number, then the logarithm of its sum; its sum; the means of `e`; and `l`.
    let mut top = Array::<f32>::new(lines);
    let mut sum = Array::<f32>::new(lines);
    let mut mean = Array::<f32>::new(comptime!(lines * of.parts()));
    let mut factor = Array::<f32>::new(comptime!(lines * of.parts()));
    let mut e_0 = Array::<f32>::new(comptime!(of.parts()));
    e_0[0] = vectors[step];
    if comptime!(complex) {
        e_0[1] = vectors[imaginary + step];
    }
    for turn_of_lines in 0..(end - first + comptime!(lines - 1)) / lines {
        let line = first + turn_of_lines * lines;
        #[unroll]
        for l in 0..lines {
            top[l] = tops[min(line + l, comptime!(of.hidden - 1)) * steps + step];
            sum[l] = f32::new(0.0);
            #[unroll]
            for part in 0..comptime!(of.parts()) {
                mean[comptime!(part * lines) + l] = f32::new(0.0);
            }
        }
        for turn in 0..comptime!(spans(of)) {
            let from = turn * comptime!(4 * span(of));
            fill(dictionary, &mut tile, line, from, of);
            for four in 0..comptime!(span(of)) {
                let i = from + four * 4;
                four_of(vectors, i, step, steps, &mut e, of);
                #[unroll]
                for l in 0..lines {
                    let mixed = mix(&tile, &s, l, four, of);
                    #[unroll]
                    for c in 0..4usize {
                        if i + c < comptime!(of.hidden) {
                            let weight = f32::exp(mixed[c] - top[l]);
                            sum[l] += weight;
                            mean[l] += weight * (e[c] - e_0[0]);
                            if comptime!(complex) {
                                mean[comptime!(lines + l)] += weight * (e[comptime!(4 + c)] - e_0[1]);
                            }
                        }
                    }
                }
            }
        }
        #[unroll]
        for l in 0..lines {
            let at = min(line + l, comptime!(of.hidden - 1)) * steps + step;
            top[l] += f32::ln(sum[l]);
            #[unroll]
            for part in 0..comptime!(of.parts()) {
                let place = comptime!(part * lines + l);
                mean[place] = e_0[part] + mean[place] / sum[l];
                factor[place] = vectors[comptime!(of.width()) * steps + part * imaginary + at];
                // A line beyond the last has no part in `ds`.
                if line + l >= end {
                    factor[place] = f32::new(0.0);
                }
            }
            if is_there && line + l < end {
                stats[at] = top[l];
                #[unroll]
                for part in 0..comptime!(of.parts()) {
                    stats[(1 + part) * imaginary + at] = mean[comptime!(part * lines + l)];
                }
            }
        }
        for turn in 0..comptime!(spans(of)) {
            let from = turn * comptime!(4 * span(of));
            if comptime!(spans(of) > 1) {
                fill(dictionary, &mut tile, line, from, of);
            }
            for four in 0..comptime!(span(of)) {
                let i = from + four * 4;
                four_of(vectors, i, step, steps, &mut e, of);
                #[unroll]
                for l in 0..lines {
                    let mixed = mix(&tile, &s, l, four, of);
                    let mut dm = Array::<f32>::new(4usize);
                    #[unroll]
                    for c in 0..4usize {
                        dm[c] = f32::new(0.0);
                        if i + c < comptime!(of.hidden) {
                            let mut slope = factor[l] * (e[c] - mean[l]);
                            if comptime!(complex) {
                                slope += factor[comptime!(lines + l)] * (e[comptime!(4 + c)] - mean[comptime!(lines + l)]);
                            }
                            dm[c] = f32::exp(mixed[c] - top[l]) * slope;
                        }
                    }
                    #[unroll(of.matrices <= MAX_UNROLLED)]
                    for k in 0..comptime!(of.matrices) {
                        let entries = tile[(comptime!(l * of.matrices) + k) * comptime!(span(of)) + four];
                        #[unroll]
                        for c in 0..4usize {
                            ds[k] += entries[c] * dm[c];
                        }
                    }
                }
            }
        }
    }
    if is_there {
        #[unroll(of.matrices <= MAX_UNROLLED)]
        for k in 0..comptime!(of.matrices) {
            d_weights[(group * comptime!(of.matrices) + k) * steps + step] = ds[k];
        }
    }
}
