//! From scores to maps, and the reverse pass through the soft-max of lines (columns or rows: a dictionary holds its matrices line by line):
//!
//! ```text
//! s = softmax(q),   M = sum_k s_k M_k,   at(j) = argmax_i M[line j, i],   S = softmax(M) by lines
//! dM = S * (dP - sum_i S dP),   dM_k += s_k dM,   ds_k = <M_k, dM>,   dq = s * (ds - sum_k s ds)
//! ```
//!
//! Of equal entries the first is chosen.
//!
//! All sums over the dictionary are products of matrices, of several maps or steps at once: `M` of maps is `[maps, K] [K, H^2]`, `ds` of steps `[steps, H^2] [H^2, K]`, the gradient of the dictionary
//! `[K, maps] [maps, H^2]`. With one map at a time, each would read the whole dictionary.

use std::collections::HashMap;

use ncde_simd::{Float, Kernel, Number, Simd, dispatch_for};
use rayon::prelude::*;

use super::{Input, PermutationDiagonal};
use crate::chunks::add;
use crate::neural::product::{Outer, Panels, Rows, RowsMut, Sum};
use crate::pool::{Loan, borrow};

/// The most numbers of matrices that are computed together, so that they stay in the second-level cache with the dictionary.
const MAX_NUMBERS: usize = 1 << 17;

/// `n` numbers in whole registers.
fn whole<T: Float>(n: usize) -> usize {
    n.next_multiple_of(T::Register::WIDTH)
}

/// The maps of all steps.
#[derive(Debug)]
pub(super) struct Choices {
    /// The map of each step, `[batch, length]`; entries of padding are not read.
    pub(super) map_of_step: Vec<u32>,
    /// A step with each map.
    pub(super) steps: Vec<usize>,
    /// Where lines have their entry, `[maps, H]`.
    pub(super) at: Vec<u32>,
}

impl Choices {
    /// Finds the maps of all steps; equal rows of scores share a map.
    pub(super) fn new<T: Float>(spec: &PermutationDiagonal, input: &Input<'_, T>) -> Self {
        let (matrices, columns) = (spec.matrices, spec.columns());
        let mut map_of_scores: HashMap<Vec<u64>, u32> = HashMap::new();
        let (mut map_of_step, mut steps) = (vec![0; input.batch * input.length], Vec::new());
        let mut key = Vec::with_capacity(matrices);
        for (b, maps) in map_of_step.chunks_exact_mut(input.length).enumerate() {
            for (t, map) in maps.iter_mut().enumerate().take(input.steps(b)) {
                let row = b * input.length + t;
                key.clear();
                key.extend(input.control[row * columns..][..matrices].iter().map(|q| q.to_f64().to_bits()));
                *map = map_of_scores.get(&key).copied().unwrap_or_else(|| {
                    let next = steps.len() as u32;
                    map_of_scores.insert(key.clone(), next);
                    steps.push(row);
                    next
                });
            }
        }
        let mut at = vec![0; steps.len() * spec.hidden];
        let mixing = Mixing::new(spec, input.dictionary);
        let together = mixing.together();
        at.par_chunks_mut(together * spec.hidden).zip(steps.par_chunks(together)).for_each(|(at, steps)| {
            let scores: Vec<&[T]> = steps.iter().map(|row| &input.control[row * columns..][..matrices]).collect();
            mixing.choose(&scores, &mut borrow::<Workspace<T>>(), at);
        });
        Self { map_of_step, steps, at }
    }
}

/// The dictionary as rows of all numbers of a matrix, packed for products.
#[derive(Debug, Clone)]
pub(super) struct Mixing<T: Float> {
    panels: Panels<T::Register>,
    matrices: usize,
    hidden: usize,
    /// `H^2`, and that in whole registers.
    entries: usize,
    stride: usize,
}

impl<T: Float> Mixing<T> {
    pub(super) fn new(spec: &PermutationDiagonal, dictionary: &[T]) -> Self {
        let (matrices, entries) = (spec.matrices, spec.hidden * spec.hidden);
        let mut panels = Panels::default();
        panels.rows(matrices, entries, Rows { values: dictionary, stride: entries });
        Self { panels, matrices, hidden: spec.hidden, entries, stride: whole::<T>(entries) }
    }

    /// The number of matrices that are computed together.
    fn together(&self) -> usize {
        (MAX_NUMBERS / self.stride).clamp(1, 32)
    }

    /// Where lines have their entry, `[maps, H]`, from the scores of each map.
    pub(super) fn choose(&self, scores: &[&[T]], workspace: &mut Workspace<T>, at: &mut [u32]) {
        dispatch_for::<T, _>(Choose { mixing: self, scores, workspace, at });
    }

    /// `s` and `M` of some maps: rows of `K` numbers and of matrices.
    #[inline(always)]
    fn mix<S: Simd>(&self, simd: S, scores: &[&[T]], weights: &mut [T], mixed: &mut [T]) {
        for (weights, scores) in weights.chunks_exact_mut(self.matrices).zip(scores) {
            weights.copy_from_slice(scores);
            softmax(weights);
        }
        let (a, c) = (Rows { values: weights, stride: self.matrices }, RowsMut { values: mixed, stride: self.stride });
        self.panels.multiply(simd, scores.len(), a, c);
    }
}

/// [`Mixing::choose`].
struct Choose<'a, T: Float> {
    mixing: &'a Mixing<T>,
    scores: &'a [&'a [T]],
    workspace: &'a mut Workspace<T>,
    at: &'a mut [u32],
}

impl<T: Float> Kernel for Choose<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Self { mixing, scores, workspace: Workspace { weights, soft: mixed, .. }, at } = self;
        weights.resize(scores.len() * mixing.matrices, T::ZERO);
        mixed.resize(scores.len() * mixing.stride, T::ZERO);
        mixing.mix(simd, scores, weights, mixed);
        for (at, matrix) in at.chunks_exact_mut(mixing.hidden).zip(mixed.chunks_exact(mixing.stride)) {
            largest(matrix, at);
        }
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

/// Where each line of a matrix has its largest entry.
#[inline(always)]
fn largest<T: Float>(matrix: &[T], at: &mut [u32]) {
    let hidden = at.len();
    for (at, line) in at.iter_mut().zip(matrix.chunks_exact(hidden)) {
        let mut best = 0;
        for (i, x) in line.iter().enumerate() {
            if *x > line[best] {
                best = i;
            }
        }
        *at = best as u32;
    }
}

/// Packs the dictionary as columns, for products with gradients.
struct Pack<'a, T: Float> {
    dictionary: &'a [T],
    matrices: usize,
}

impl<T: Float> Kernel for Pack<'_, T> {
    type Output = Panels<T::Register>;
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> Panels<T::Register> {
        let mut panels = Panels::default();
        let entries = self.dictionary.len() / self.matrices;
        panels.transpose(simd, entries, self.matrices, Rows { values: self.dictionary, stride: entries });
        panels
    }
}

/// The packed dictionary for the reverse pass of all choices of a call.
pub(super) struct ReverseChoices<T: Float> {
    mixing: Mixing<T>,
    columns: Panels<T::Register>,
}

/// The two factors of `dP` of a step: for its entries and for its lines; real parts, then imaginary parts.
type Factors<'a, T> = (&'a [T], &'a [T]);

/// One map, and its steps.
pub(super) struct Chosen<'a, T> {
    pub(super) scores: &'a [T],
    pub(super) steps: Vec<Factors<'a, T>>,
}

impl<T: Float> ReverseChoices<T> {
    pub(super) fn new(spec: &PermutationDiagonal, dictionary: &[T]) -> Self {
        let columns = dispatch_for::<T, _>(Pack { dictionary, matrices: spec.matrices });
        Self { mixing: Mixing::new(spec, dictionary), columns }
    }

    /// The gradients of the dictionary, `[K, H^2]` in whole registers, and, step by step of map after map, of the scores.
    pub(super) fn gradients(&self, maps: &[Chosen<'_, T>]) -> (Loan<Vec<T>>, Vec<T>) {
        let Mixing { matrices, stride, .. } = self.mixing;
        let (together, mut workspace) = (self.mixing.together(), borrow::<Workspace<T>>());
        let Workspace { weights, soft, sums, d_matrices, scores } = &mut *workspace;
        for (numbers, width) in
            [(weights, matrices), (soft, stride), (sums, stride), (d_matrices, stride), (scores, whole::<T>(matrices))]
        {
            numbers.resize(together * width, T::ZERO);
        }
        let mut dictionary = borrow::<Vec<T>>();
        dictionary.clear();
        dictionary.resize(matrices * stride, T::ZERO);
        let mut scores = vec![T::ZERO; maps.iter().map(|map| map.steps.len()).sum::<usize>() * matrices];
        let mut rest = &mut scores[..];
        for maps in maps.chunks(together) {
            let count: usize = maps.iter().map(|map| map.steps.len()).sum();
            let (d_scores, after) = rest.split_at_mut(count * matrices);
            rest = after;
            let d_dictionary = &mut dictionary[..];
            dispatch_for::<T, _>(ChoiceBackward { choices: self, maps, workspace: &mut workspace, d_dictionary, d_scores });
        }
        (dictionary, scores)
    }

    /// Adds what [`gradients`](Self::gradients) gave to the gradient of the dictionary.
    pub(super) fn add(&self, part: &[T], dictionary: &mut [T]) {
        let Mixing { entries, stride, .. } = self.mixing;
        for (sum, part) in dictionary.chunks_exact_mut(entries).zip(part.chunks_exact(stride)) {
            add(sum, part);
        }
    }
}

/// Working memory for several maps, in rows of `K` numbers or of matrices.
#[derive(Debug, Clone, Default)]
pub(super) struct Workspace<T> {
    /// `s` and `S` of maps, and the sums of `dM` over their steps.
    weights: Vec<T>,
    soft: Vec<T>,
    sums: Vec<T>,
    /// `dM` and `ds` of steps.
    d_matrices: Vec<T>,
    scores: Vec<T>,
}

/// The reverse pass of all steps of several maps.
struct ChoiceBackward<'a, T: Float> {
    choices: &'a ReverseChoices<T>,
    maps: &'a [Chosen<'a, T>],
    workspace: &'a mut Workspace<T>,
    /// The gradient of the dictionary, added to, `[K, H^2]` in whole registers.
    d_dictionary: &'a mut [T],
    /// The gradients of the scores, `[steps, K]`.
    d_scores: &'a mut [T],
}

impl<T: Float> Kernel for ChoiceBackward<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Self { choices: ReverseChoices { mixing, columns }, maps, workspace, d_dictionary, d_scores } = self;
        let &Mixing { matrices, hidden, entries, stride, .. } = mixing;
        let wide = whole::<T>(matrices);
        let scores: Vec<&[T]> = maps.iter().map(|map| map.scores).collect();
        mixing.mix(simd, &scores, &mut workspace.weights, &mut workspace.soft);
        for soft in workspace.soft.chunks_exact_mut(stride).take(maps.len()) {
            soft[..entries].chunks_exact_mut(hidden).for_each(softmax);
        }
        workspace.sums.fill(T::ZERO);
        // Steps of all maps, as many at once as the workspace holds.
        let all: Vec<(usize, Factors<'_, T>)> =
            maps.iter().enumerate().flat_map(|(i, map)| map.steps.iter().map(move |&step| (i, step))).collect();
        let most = workspace.d_matrices.len() / stride;
        for (steps, d_scores) in all.chunks(most).zip(d_scores.chunks_mut(most * matrices)) {
            for ((map, (entries_of, lines_of)), d_matrix) in steps.iter().zip(workspace.d_matrices.chunks_exact_mut(stride)) {
                let (soft, sum) = (&workspace.soft[map * stride..][..entries], &mut workspace.sums[map * stride..][..entries]);
                let lines = d_matrix[..entries].chunks_exact_mut(hidden).zip(soft.chunks_exact(hidden));
                for (j, ((line, soft), sum)) in lines.zip(sum.chunks_exact_mut(hidden)).enumerate() {
                    line.fill(T::ZERO);
                    for (of_entries, of_lines) in entries_of.chunks_exact(hidden).zip(lines_of.chunks_exact(hidden)) {
                        T::axpy(simd, line, of_lines[j], of_entries);
                    }
                    let mean = T::dot(simd, line, soft);
                    for ((x, &soft), sum) in line.iter_mut().zip(soft).zip(sum) {
                        *x = soft * (*x - mean);
                        *sum += *x;
                    }
                }
            }
            let (a, c) =
                (Rows { values: &workspace.d_matrices, stride }, RowsMut { values: &mut workspace.scores, stride: wide });
            columns.multiply(simd, steps.len(), a, c);
            for (((map, _), d_weights), d) in
                steps.iter().zip(workspace.scores.chunks_exact(wide)).zip(d_scores.chunks_exact_mut(matrices))
            {
                let (weights, d_weights) = (&workspace.weights[map * matrices..][..matrices], &d_weights[..matrices]);
                let mean = T::dot(simd, d_weights, weights);
                d.iter_mut().zip(d_weights.iter().zip(weights)).for_each(|(d, (&ds, &s))| *d = s * (ds - mean));
            }
        }
        Outer {
            a: Rows { values: &workspace.weights, stride: matrices },
            b: Rows { values: &workspace.sums, stride },
            starts: &[(0, 0)],
            count: maps.len(),
            shape: [matrices, stride / T::Register::WIDTH],
            sum: Sum::Add,
            c: RowsMut { values: d_dictionary, stride },
        }
        .run(simd);
    }
}
