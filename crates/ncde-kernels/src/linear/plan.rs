//! How a batch is cut into pieces: by its shapes alone, so that results do not depend on the number of threads.

use std::ops::Range;

use ncde_simd::Float;
use rayon::prelude::*;

use super::{Gradients, Input, Recurrence};

/// The most pieces a batch is cut into, and the most memory for what each of them sums up on its own.
const MOST_SHARDS: usize = 16;
const MOST_BYTES: usize = 1 << 28;

/// Consecutive series that share one sum of `dA`, whose parts hold `bytes` each.
pub(crate) fn shards(batch: usize, bytes: usize) -> Vec<Range<usize>> {
    let count = (MOST_BYTES / bytes.max(1)).clamp(1, MOST_SHARDS).min(batch);
    (0..count).map(|i| batch * i / count..batch * (i + 1) / count).collect()
}

/// The parts of the gradients that belong to one series.
pub(crate) struct Rows<'a, T> {
    pub(crate) coefficients: &'a mut [T],
    pub(crate) initial: &'a mut [T],
    pub(crate) affine: Option<&'a mut [T]>,
}

/// What one shard writes to.
pub(crate) struct Shard<'a, T> {
    pub(crate) first: usize,
    pub(crate) rows: Vec<Rows<'a, T>>,
    pub(crate) da: &'a mut [T],
}

/// Runs `work` on every shard, then adds their `dA`, of `parameters` numbers each, in order.
pub(crate) fn gradients<T: Float>(
    recurrence: &Recurrence,
    input: &Input<'_, T>,
    shards: &[Range<usize>],
    parameters: usize,
    work: impl Fn(Shard<'_, T>) + Send + Sync,
) -> Gradients<T> {
    let &Input { batch, length, columns, .. } = input;
    let (width, each) = (recurrence.coefficients(), columns * recurrence.field().hidden());
    let mut coefficients = vec![T::ZERO; batch * length * width];
    let mut initial = vec![T::ZERO; batch * each];
    let mut affine = input.affine.map(|affine| vec![T::ZERO; affine.len()]);
    let mut sums = vec![T::ZERO; shards.len() * parameters];
    {
        let mut affine = affine.as_mut().map(|affine| affine.chunks_exact_mut(length * each));
        let mut rows = coefficients.chunks_exact_mut(length * width).zip(initial.chunks_exact_mut(each));
        let mut work_items = Vec::with_capacity(shards.len());
        for (shard, da) in shards.iter().zip(sums.chunks_exact_mut(parameters.max(1))) {
            let own = rows.by_ref().take(shard.len());
            let own = own.map(|(coefficients, initial)| {
                let affine = affine.as_mut().and_then(Iterator::next);
                Rows { coefficients, initial, affine }
            });
            work_items.push(Shard { first: shard.start, rows: own.collect(), da });
        }
        work_items.into_par_iter().for_each(work);
    }
    let mut parts = sums.chunks_exact(parameters.max(1));
    let mut a = parts.next().map(<[T]>::to_vec).unwrap_or_default();
    for part in parts {
        for (a, &part) in a.iter_mut().zip(part) {
            *a += part;
        }
    }
    Gradients { a, coefficients, initial, affine }
}
