//! Steps of a series forwards and backwards, and the scan over chunks.

use std::ops::Range;

use ncde_simd::{Float, Kernel, Simd, dispatch_for};
use rayon::prelude::*;

use super::choice::{Choices, Chosen, ReverseChoices};
use super::{Diagonal, Gradients, Input, OneHot, PermutationDiagonal};
use crate::chunks::{self, Chunk, add, carry, chunks, cut_mut, sum_rows};

/// The most parts in which the gradient of the dictionary is summed; they are added in order, so results do not depend on threads.
const MAX_SHARDS: usize = 16;
/// The least steps of a part: each part has a gradient as large as the dictionary.
const LEAST_STEPS: usize = 64;

/// The maps and diagonals of all steps.
struct Walk<'a, T> {
    spec: &'a PermutationDiagonal,
    input: &'a Input<'a, T>,
    choices: Choices,
    /// `D`, `[batch, length, width]`.
    scale: Vec<T>,
}

/// `D` of the steps of one series.
struct Scales<'a, T> {
    spec: &'a PermutationDiagonal,
    input: &'a Input<'a, T>,
    series: usize,
    out: &'a mut [T],
}

impl<T: Float> Kernel for Scales<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        let Self { spec, input, series, out } = self;
        for (t, out) in out.chunks_exact_mut(spec.width()).enumerate().take(input.steps(series)) {
            let row = series * input.length + t;
            spec.diagonal.scale(spec.raw(input, row), input.span(row), out);
        }
    }
}

/// The gradient of what `D` of the steps of one series is made from, in place of that of `D`; both have as many numbers.
struct ScalesBack<'a, T> {
    walk: &'a Walk<'a, T>,
    series: usize,
    d_scale: &'a [T],
    d_control: &'a mut [T],
}

impl<T: Float> Kernel for ScalesBack<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        let Self { walk: Walk { spec, input, scale, .. }, series, d_scale, d_control } = self;
        let (width, columns, raw) = (spec.width(), spec.columns(), spec.diagonal.raw(spec.hidden));
        for t in 0..input.steps(series) {
            let row = series * input.length + t;
            let (d_scale_row, out) = (&d_scale[t * width..][..width], &mut d_control[t * columns + spec.matrices..][..raw]);
            spec.diagonal.scale_back(spec.raw(input, row), input.span(row), [&scale[row * width..][..width], d_scale_row], out);
        }
    }
}

impl PermutationDiagonal {
    /// The numbers of the diagonal of a step.
    fn raw<'a, T>(&self, input: &Input<'a, T>, row: usize) -> &'a [T] {
        &input.control[row * self.columns() + self.matrices..][..self.diagonal.raw(self.hidden)]
    }

    /// The input of a step.
    fn affine<'a, T>(&self, input: &Input<'a, T>, row: usize) -> Option<&'a [T]> {
        self.input.then(|| &input.control[(row + 1) * self.columns() - self.width()..][..self.width()])
    }
}

/// The product of the matrices of a chunk, and its end from zero.
#[derive(Clone)]
struct Product<T> {
    at: Vec<u32>,
    scale: Vec<T>,
    end: Vec<T>,
}

impl<T: Float> Product<T> {
    fn identity(spec: &PermutationDiagonal) -> Self {
        let mut scale = vec![T::ZERO; spec.width()];
        scale[..spec.hidden].fill(T::ONE);
        Self { at: (0..spec.hidden as u32).collect(), scale, end: vec![T::ZERO; spec.width()] }
    }
}

impl<'a, T: Float> Walk<'a, T> {
    fn new(spec: &'a PermutationDiagonal, input: &'a Input<'a, T>) -> Self {
        let series = input.length * spec.width();
        let mut scale = vec![T::ZERO; input.batch * series];
        scale.par_chunks_exact_mut(series).enumerate().for_each(|(series, out)| {
            dispatch_for::<T, _>(Scales { spec, input, series, out });
        });
        Self { spec, input, choices: Choices::new(spec, input), scale }
    }

    /// The matrix of a step.
    fn map(&self, row: usize) -> (&[u32], &[T]) {
        let (hidden, width) = (self.spec.hidden, self.spec.width());
        (&self.choices.at[self.choices.map_of_step[row] as usize * hidden..][..hidden], &self.scale[row * width..][..width])
    }

    /// `out = A h + b`.
    fn step(&self, row: usize, h: &[T], out: &mut [T]) {
        match self.spec.affine(self.input, row) {
            Some(b) => out.copy_from_slice(b),
            None => out.fill(T::ZERO),
        }
        self.spec.kind().apply(self.map(row), h, out);
    }

    /// The rows of a chunk's steps, of all steps in order.
    fn rows(&self, chunk: Chunk) -> Range<usize> {
        let row = chunk.b * self.input.length;
        row + chunk.first..row + chunk.end
    }

    /// The states after the steps of a chunk.
    fn run(&self, chunk: Chunk, start: &[T], states: &mut [T]) {
        let mut before = start;
        for (row, state) in self.rows(chunk).zip(states.chunks_exact_mut(start.len())) {
            self.step(row, before, state);
            before = state;
        }
    }

    /// The product of a chunk and its end from zero.
    fn product(&self, chunk: Chunk) -> Product<T> {
        let mut product = Product::identity(self.spec);
        let mut next = product.clone();
        for row in self.rows(chunk) {
            self.spec.kind().product(self.map(row), (&product.at, &product.scale), (&mut next.at, &mut next.scale));
            self.step(row, &product.end, &mut next.end);
            std::mem::swap(&mut product, &mut next);
        }
        product
    }

    /// The product of a chunk, and the gradient of its first state if that of the state after it is zero.
    fn product_back(&self, chunk: Chunk, gradient: &[T]) -> Product<T> {
        let (width, kind) = (self.spec.width(), self.spec.kind());
        let mut product = Product::identity(self.spec);
        let mut next = product.clone();
        for row in self.rows(chunk).rev() {
            kind.product((&product.at, &product.scale), self.map(row), (&mut next.at, &mut next.scale));
            std::mem::swap(&mut product.at, &mut next.at);
            std::mem::swap(&mut product.scale, &mut next.scale);
            let w = &gradient[row * width..][..width];
            next.end.iter_mut().zip(w.iter().zip(&product.end)).for_each(|(g, (&w, &r))| *g = w + r);
            kind.adjoint(self.map(row), &next.end, &mut product.end);
        }
        product
    }
}

/// The states after each step; the input has been checked.
pub(crate) fn forward<T: Float>(spec: &PermutationDiagonal, input: &Input<'_, T>) -> Vec<T> {
    let (walk, width) = (Walk::new(spec, input), spec.width());
    let (size, steps) = (spec.plan(input.batch, input.length), |b| input.steps(b));
    let chunks = chunks(input.batch, size, steps);
    let initial = |b: usize| input.initial[b * width..][..width].to_vec();
    let starts: Vec<Vec<T>> = if size >= input.length {
        (0..input.batch).map(initial).collect()
    } else {
        let products: Vec<Product<T>> = chunks.par_iter().map(|&chunk| walk.product(chunk)).collect();
        carry(&chunks, 0..chunks.len(), initial, |i, h| {
            let Product { at, scale, end } = &products[i];
            let mut next = end.clone();
            spec.kind().apply((at, scale), h, &mut next);
            next
        })
    };
    let mut states = vec![T::ZERO; input.batch * input.length * width];
    let parts: Vec<_> = cut_mut(&mut states, [input.length, width], size, steps).collect();
    parts.into_par_iter().zip(&chunks).zip(&starts).for_each(|((states, &chunk), start)| walk.run(chunk, start, states));
    chunks::repeat_last(&mut states, [input.length, width], steps);
    states
}

/// The outputs of the reverse pass of a chunk.
struct Filled<'a, T> {
    /// `g_t`, what the lines of `dP_t` have in front and the gradient of `D_t`, `[steps, width]`.
    g: &'a mut [T],
    lines: &'a mut [T],
    d_scale: &'a mut [T],
}

/// The gradients; the input has been checked.
pub(crate) fn backward<T: Float>(spec: &PermutationDiagonal, input: &Input<'_, T>, states: &[T], gradient: &[T]) -> Gradients<T> {
    let (walk, width) = (Walk::new(spec, input), spec.width());
    let (size, steps) = (spec.plan(input.batch, input.length), |b| input.steps(b));
    let (chunks, series) = (chunks(input.batch, size, steps), input.length * width);
    // Past the end of a series its last state is repeated, so those gradients belong to it.
    let last = |b: usize| sum_rows(&gradient[b * series + input.steps(b) * width..(b + 1) * series], width);
    let mut carries: Vec<Vec<T>> = if size >= input.length {
        (0..input.batch).into_par_iter().map(last).collect()
    } else {
        let products: Vec<Product<T>> = chunks.par_iter().map(|&chunk| walk.product_back(chunk, gradient)).collect();
        carry(&chunks, (0..chunks.len()).rev(), last, |i, g| {
            let Product { at, scale, end } = &products[i];
            let mut next = vec![T::ZERO; width];
            spec.kind().adjoint((at, scale), g, &mut next);
            add(&mut next, end);
            next
        })
    };
    let zeros = || vec![T::ZERO; input.batch * series];
    let (mut g, mut lines, mut d_scale) = (zeros(), zeros(), zeros());
    let [gs, ls, ds] =
        [&mut g, &mut lines, &mut d_scale].map(|values| cut_mut(values, [input.length, width], size, steps).collect::<Vec<_>>());
    let all = gs.into_par_iter().zip(ls).zip(ds).zip(&mut carries).zip(&chunks);
    all.for_each(|((((g, lines), d_scale), r), &chunk)| {
        walk.reverse(chunk, states, gradient, r, &mut Filled { g, lines, d_scale });
    });
    let firsts = chunks.iter().zip(carries).filter(|(chunk, _)| chunk.first == 0);
    let initial = firsts.flat_map(|(_, carry)| carry).collect();
    let mut control = vec![T::ZERO; input.control.len()];
    let rows = control.par_chunks_exact_mut(input.length * spec.columns()).zip(d_scale.par_chunks_exact(series));
    rows.zip(g.par_chunks_exact(series)).enumerate().for_each(|(series, ((d_control, d_scale), g))| {
        if spec.diagonal != Diagonal::One {
            dispatch_for::<T, _>(ScalesBack { walk: &walk, series, d_scale, d_control });
        }
        if spec.input {
            for (g, row) in g.chunks_exact(width).zip(d_control.chunks_exact_mut(spec.columns())) {
                row[spec.columns() - width..].copy_from_slice(g);
            }
        }
    });
    let dictionary = match spec.one_hot {
        OneHot::Columns => walk.choices_backward(|row| &g[row * width..][..width], &lines, &mut control),
        OneHot::Rows => walk.choices_backward(|row| walk.before(states, row), &lines, &mut control),
    };
    Gradients { dictionary, control, initial }
}

impl<T: Float> Walk<'_, T> {
    /// The state before a step.
    fn before<'a>(&'a self, states: &'a [T], row: usize) -> &'a [T] {
        let (width, length) = (self.spec.width(), self.input.length);
        match row % length {
            0 => &self.input.initial[row / length * width..][..width],
            _ => &states[(row - 1) * width..][..width],
        }
    }

    /// The reverse pass of a chunk; `r` goes from the gradient of the state after it to that of the state before it.
    fn reverse(&self, chunk: Chunk, states: &[T], gradient: &[T], r: &mut [T], filled: &mut Filled<'_, T>) {
        let (width, kind) = (self.spec.width(), self.spec.kind());
        for (i, row) in self.rows(chunk).enumerate().rev() {
            let numbers = i * width..(i + 1) * width;
            let before = self.before(states, row);
            let (g, w) = (&mut filled.g[numbers.clone()], &gradient[row * width..][..width]);
            g.iter_mut().zip(w.iter().zip(&*r)).for_each(|(g, (&w, &r))| *g = w + r);
            let (at, scale) = self.map(row);
            kind.of_lines(scale, g, before, &mut filled.lines[numbers.clone()]);
            kind.of_scale(at, g, before, &mut filled.d_scale[numbers]);
            kind.adjoint((at, scale), g, r);
        }
    }

    /// The gradient of the dictionary; those of scores go to their places in that of the control.
    fn choices_backward<'a>(&self, entries: impl Fn(usize) -> &'a [T] + Sync, lines: &[T], control: &mut [T]) -> Vec<T> {
        let (spec, input, width) = (self.spec, self.input, self.spec.width());
        let (matrices, columns) = (spec.matrices, spec.columns());
        let mut rows = vec![Vec::new(); self.choices.steps.len()];
        for b in 0..input.batch {
            for row in b * input.length..b * input.length + input.steps(b) {
                rows[self.choices.map_of_step[row] as usize].push(row);
            }
        }
        let shards = shards(&rows.iter().map(|rows| rows.len() + 1).collect::<Vec<_>>());
        let reverse_choices = ReverseChoices::new(spec, input.dictionary);
        let work = |shard: Range<usize>| {
            let chosen = shard.map(|map| Chosen {
                scores: &input.control[self.choices.steps[map] * columns..][..matrices],
                steps: rows[map].iter().map(|&row| (entries(row), &lines[row * width..][..width])).collect(),
            });
            reverse_choices.gradients(&chosen.collect::<Vec<_>>())
        };
        let done: Vec<_> = shards.clone().into_par_iter().map(work).collect();
        let mut dictionary = vec![T::ZERO; spec.dictionary()];
        for (shard, (part, scores)) in shards.into_iter().zip(done) {
            reverse_choices.add(&part, &mut dictionary);
            for (row, scores) in rows[shard].iter().flatten().zip(scores.chunks_exact(matrices)) {
                control[row * columns..][..matrices].copy_from_slice(scores);
            }
        }
        dictionary
    }
}

/// At most [`MAX_SHARDS`] consecutive ranges of about the same work.
fn shards(work: &[usize]) -> Vec<Range<usize>> {
    let share = work.iter().sum::<usize>().div_ceil(MAX_SHARDS).max(LEAST_STEPS);
    let (mut all, mut start, mut sum) = (Vec::new(), 0, 0);
    for (i, work) in work.iter().enumerate() {
        sum += work;
        if sum >= share {
            all.push(start..i + 1);
            (start, sum) = (i + 1, 0);
        }
    }
    if start < work.len() {
        all.push(start..work.len());
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_are_all_and_few() {
        for work in [vec![], vec![1], vec![5; 3], vec![1; 100], vec![90, 1, 1, 1, 90, 2], (1..200).collect()] {
            let all = shards(&work);
            assert!(all.len() <= MAX_SHARDS, "{all:?}");
            assert!(all.into_iter().flatten().eq(0..work.len()));
        }
    }
}
