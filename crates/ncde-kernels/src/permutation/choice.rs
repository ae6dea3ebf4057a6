//! From scores to maps, and the reverse pass through the soft-max of lines (columns or rows: a dictionary holds its matrices line by line):
//!
//! ```text
//! s = softmax(q),   M = sum_k s_k M_k,   at(j) = argmax_i M[line j, i],   S = softmax(M) by lines
//! dM = S * (dP - sum_i S dP),   dM_k += s_k dM,   ds_k = <M_k, dM>,   dq = s * (ds - sum_k s ds)
//! ```
//!
//! Of equal entries the first is chosen.

use std::collections::HashMap;

use ncde_simd::{Float, Kernel, Number, Simd, dispatch_for};
use rayon::prelude::*;

use super::{Input, PermutationDiagonal};

/// The maps of all steps.
#[derive(Debug)]
pub(super) struct Choices {
    /// Which map each step has, `[batch, length]`; that of padding is not read.
    pub(super) of: Vec<u32>,
    /// A step with each map.
    pub(super) steps: Vec<usize>,
    /// Where lines have their entry, `[maps, H]`.
    pub(super) at: Vec<u32>,
}

impl Choices {
    /// Equal rows of scores have one map.
    pub(super) fn new<T: Float>(spec: &PermutationDiagonal, input: &Input<'_, T>) -> Self {
        let (matrices, columns) = (spec.matrices, spec.columns());
        let mut seen: HashMap<Vec<u64>, u32> = HashMap::new();
        let (mut of, mut steps) = (vec![0; input.batch * input.length], Vec::new());
        let mut key = Vec::with_capacity(matrices);
        for (b, own) in of.chunks_exact_mut(input.length).enumerate() {
            for (t, own) in own.iter_mut().enumerate().take(input.steps(b)) {
                let row = b * input.length + t;
                key.clear();
                key.extend(input.control[row * columns..][..matrices].iter().map(|q| q.to_f64().to_bits()));
                *own = seen.get(&key).copied().unwrap_or_else(|| {
                    let next = steps.len() as u32;
                    seen.insert(key.clone(), next);
                    steps.push(row);
                    next
                });
            }
        }
        let mut at = vec![0; steps.len() * spec.hidden];
        at.par_chunks_exact_mut(spec.hidden).zip(&steps).for_each(|(at, &row)| {
            let scores = &input.control[row * columns..][..matrices];
            let mut room = Room::new(spec);
            dispatch_for::<T, _>(Choose { dictionary: input.dictionary, scores, room: &mut room, at });
        });
        Self { of, steps, at }
    }
}

/// Working memory of one choice.
#[derive(Debug, Clone)]
pub(super) struct Room<T> {
    /// `s`, `[K]`.
    weights: Vec<T>,
    /// `M`, then `S`, `[H, H]`.
    matrix: Vec<T>,
}

impl<T: Float> Room<T> {
    pub(super) fn new(spec: &PermutationDiagonal) -> Self {
        Self { weights: vec![T::ZERO; spec.matrices], matrix: vec![T::ZERO; spec.hidden * spec.hidden] }
    }
}

/// `s` and `M`.
#[inline(always)]
fn mix<T: Float, S: Simd>(simd: S, dictionary: &[T], scores: &[T], room: &mut Room<T>) {
    room.weights.copy_from_slice(scores);
    softmax(&mut room.weights);
    room.matrix.fill(T::ZERO);
    for (&weight, own) in room.weights.iter().zip(dictionary.chunks_exact(room.matrix.len())) {
        T::axpy(simd, &mut room.matrix, weight, own);
    }
}

/// `x <- softmax(x)`.
#[inline(always)]
fn softmax<T: Float>(x: &mut [T]) {
    let most = x.iter().fold(x[0], |most, &x| if x > most { x } else { most });
    x.iter_mut().for_each(|x| *x = (*x - most).exp());
    let sum: T = x.iter().copied().sum();
    let factor = T::ONE / sum;
    x.iter_mut().for_each(|x| *x *= factor);
}

/// Where lines have their entry.
pub(super) struct Choose<'a, T> {
    pub(super) dictionary: &'a [T],
    pub(super) scores: &'a [T],
    pub(super) room: &'a mut Room<T>,
    pub(super) at: &'a mut [u32],
}

impl<T: Float> Kernel for Choose<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Self { dictionary, scores, room, at } = self;
        mix(simd, dictionary, scores, room);
        let hidden = at.len();
        for (at, line) in at.iter_mut().zip(room.matrix.chunks_exact(hidden)) {
            let mut best = 0;
            for (i, x) in line.iter().enumerate() {
                if *x > line[best] {
                    best = i;
                }
            }
            *at = best as u32;
        }
    }
}

/// The reverse pass of all steps with one map.
pub(super) struct Unchoose<'a, T> {
    pub(super) dictionary: &'a [T],
    pub(super) scores: &'a [T],
    pub(super) room: &'a mut Room<T>,
    /// What `dP` of each step is made from: of its entries, and of its lines; a part after the other.
    pub(super) steps: &'a [(&'a [T], &'a [T])],
    /// `dM` of a step and of all, `[H, H]`.
    pub(super) own: &'a mut [T],
    pub(super) sum: &'a mut [T],
    /// What is added to the gradient of the dictionary, `[K, H, H]`.
    pub(super) d_dictionary: &'a mut [T],
    /// The gradients of the scores, `[steps, K]`.
    pub(super) d_scores: &'a mut [T],
}

impl<T: Float> Kernel for Unchoose<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Self { dictionary, scores, room, steps, own, sum, d_dictionary, d_scores } = self;
        mix(simd, dictionary, scores, room);
        let (matrices, entries) = (scores.len(), own.len());
        let hidden = entries.isqrt();
        room.matrix.chunks_exact_mut(hidden).for_each(softmax);
        sum.fill(T::ZERO);
        for (&(entries_of, lines_of), d_scores) in steps.iter().zip(d_scores.chunks_exact_mut(matrices)) {
            for (j, (own, soft)) in own.chunks_exact_mut(hidden).zip(room.matrix.chunks_exact(hidden)).enumerate() {
                own.fill(T::ZERO);
                for (of_entries, of_lines) in entries_of.chunks_exact(hidden).zip(lines_of.chunks_exact(hidden)) {
                    T::axpy(simd, own, of_lines[j], of_entries);
                }
                let mean = T::dot(simd, own, soft);
                own.iter_mut().zip(soft).for_each(|(own, &soft)| *own = soft * (*own - mean));
            }
            T::axpy(simd, sum, T::ONE, own);
            for (d, matrix) in d_scores.iter_mut().zip(dictionary.chunks_exact(entries)) {
                *d = T::dot(simd, matrix, own);
            }
            let mean = T::dot(simd, d_scores, &room.weights);
            d_scores.iter_mut().zip(&room.weights).for_each(|(d, &s)| *d = s * (*d - mean));
        }
        for (&weight, own) in room.weights.iter().zip(d_dictionary.chunks_exact_mut(entries)) {
            T::axpy(simd, own, weight, sum);
        }
    }
}
