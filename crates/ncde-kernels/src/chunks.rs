//! What scans over chunks of time have in common. Each is in three phases:
//!
//! ```text
//! 1. for every chunk its flow: Phi = Phi_n ... Phi_1 and v with h_end = Phi h_start + v
//! 2. the carry: h_{c+1} = Phi_c h_c + v_c, chunk after chunk
//! 3. for every chunk its states, from the state it starts with
//! ```
//!
//! The reverse pass is the same on transposes, from the last chunk to the first.

use ncde_simd::Float;

/// Steps `first..end` of series `b`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Chunk {
    pub(crate) b: usize,
    pub(crate) first: usize,
    pub(crate) end: usize,
}

/// The chunks of all series, in order, each of `size` steps or of what is left.
pub(crate) fn chunks(batch: usize, size: usize, steps: impl Fn(usize) -> usize) -> Vec<Chunk> {
    let of_series = |b: usize| {
        let steps = steps(b);
        (0..steps).step_by(size).map(move |first| Chunk { b, first, end: steps.min(first + size) })
    };
    (0..batch).flat_map(of_series).collect()
}

/// The value each chunk starts with: `start(series)` for the first of a series, and after chunk `i` what `next(i, value)` makes of its own.
pub(crate) fn carry<V: Default>(
    chunks: &[Chunk],
    order: impl Iterator<Item = usize>,
    start: impl Fn(usize) -> V,
    next: impl Fn(usize, &V) -> V,
) -> Vec<V> {
    let mut carried: Vec<V> = chunks.iter().map(|_| V::default()).collect();
    let mut before: Option<usize> = None;
    for i in order {
        let b = chunks[i].b;
        carried[i] = match before {
            Some(last) if chunks[last].b == b => next(last, &carried[last]),
            _ => start(b),
        };
        before = Some(i);
    }
    carried
}

/// The parts of an array, `[batch, length, width]`, that belong to the chunks of `size` steps. Past the end of a series it becomes zero.
pub(crate) fn cut_mut<T: Float>(
    values: &mut [T],
    [length, width]: [usize; 2],
    size: usize,
    steps: impl Fn(usize) -> usize,
) -> impl Iterator<Item = &mut [T]> {
    let series = values.chunks_exact_mut((length * width).max(1)).enumerate();
    series.flat_map(move |(b, row)| without_tail(row, steps(b) * width).chunks_mut(size * width))
}

/// The first numbers of a row; the rest becomes zero.
pub(crate) fn without_tail<T: Float>(row: &mut [T], length: usize) -> &mut [T] {
    let (head, tail) = row.split_at_mut(length);
    tail.fill(T::ZERO);
    head
}

/// Repeats the last state of each series past its end; states are `[batch, length, width]`.
pub(crate) fn repeat_last<T: Float>(states: &mut [T], [length, width]: [usize; 2], steps: impl Fn(usize) -> usize) {
    for (b, row) in states.chunks_exact_mut(length * width).enumerate() {
        let (known, rest) = row.split_at_mut(steps(b) * width);
        rest.chunks_exact_mut(width).for_each(|row| row.copy_from_slice(&known[known.len() - width..]));
    }
}

/// `x += y`.
pub(crate) fn add<T: Float>(x: &mut [T], y: &[T]) {
    x.iter_mut().zip(y).for_each(|(x, &y)| *x += y);
}

/// The sum of rows of `width` numbers.
pub(crate) fn sum_rows<T: Float>(rows: &[T], width: usize) -> Vec<T> {
    let mut sum = vec![T::ZERO; width];
    rows.chunks_exact(width).for_each(|row| add(&mut sum, row));
    sum
}
