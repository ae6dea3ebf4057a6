//! How a batch is cut into pieces: by its shapes alone, so that results do not depend on the number of threads.

use std::ops::Range;

use ncde_simd::Float;
use rayon::prelude::*;

use super::{Contraction, Gradients, Input, Mode, Recurrence};
use crate::chunks::without_tail;

/// The kernel that computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Path {
    /// Products with a generator that is never formed.
    Action,
    /// Block-diagonal generators, step after step.
    Blocks,
    /// Block-diagonal generators, chunks of time in parallel.
    Scan,
}

/// From this length on, [`Mode::Auto`] scans a single series of a diagonal structure, for which a scan costs twice the work of a recurrence.
const MIN_SCAN_LENGTH: usize = 1 << 14;

/// The kernel for these shapes.
pub(crate) fn path(recurrence: &Recurrence, batch: usize, length: usize) -> Path {
    let sizes = recurrence.field().structure().sizes();
    match (recurrence.contraction(), sizes, recurrence.mode()) {
        (Contraction::Words { .. }, ..) | (_, None, _) => Path::Action,
        (_, _, Mode::Recurrent) => Path::Blocks,
        (_, _, Mode::Parallel) => Path::Scan,
        (_, Some(sizes), Mode::Auto) => {
            let diagonal = sizes.iter().all(|&b| b == 1);
            if batch == 1 && length >= MIN_SCAN_LENGTH && diagonal { Path::Scan } else { Path::Blocks }
        }
    }
}

/// The parts of the gradients that belong to one series.
pub(crate) struct Rows<'a, T> {
    /// Unless they are constant.
    pub(crate) coefficients: Option<&'a mut [T]>,
    pub(crate) initial: &'a mut [T],
    pub(crate) affine: Option<&'a mut [T]>,
}

/// What one shard writes to.
pub(crate) struct Shard<'a, T> {
    pub(crate) first: usize,
    pub(crate) rows: Vec<Rows<'a, T>>,
}

/// Runs `work` on every shard and returns their sums in order. Gradients past the end of a series are set to zero.
pub(crate) fn rows<T: Float, A: Send>(
    recurrence: &Recurrence,
    input: &Input<'_, T>,
    shards: &[Range<usize>],
    gradients: &mut Gradients<T>,
    work: &(dyn Fn(Shard<'_, T>) -> A + Sync),
) -> Vec<A> {
    let (width, state_len) = (recurrence.coefficients(), input.columns * recurrence.field().hidden());
    let mut affine = gradients.affine.as_mut().map(|affine| affine.chunks_exact_mut(input.length * state_len));
    let mut coefficients = gradients.coefficients.chunks_exact_mut(input.length * width);
    let mut rows = gradients.initial.chunks_exact_mut(state_len).enumerate();
    let mut items = Vec::with_capacity(shards.len());
    for shard in shards {
        let rows_of_shard = rows.by_ref().take(shard.len());
        let rows_of_shard = rows_of_shard.map(|(b, initial)| {
            let affine = affine.as_mut().and_then(Iterator::next);
            let steps = input.steps(b);
            let mut coefficients = coefficients.next();
            if let Some(coefficients) = &mut coefficients {
                coefficients[steps * width..].fill(T::ZERO);
            }
            Rows { coefficients, initial, affine: affine.map(|affine| without_tail(affine, steps * state_len)) }
        });
        items.push(Shard { first: shard.start, rows: rows_of_shard.collect() });
    }
    items.into_par_iter().map(work).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Field, Structure, Transition};

    #[test]
    fn the_plan_follows_the_shapes() {
        let recurrence = |structure| Field::new(structure, 3).map(Recurrence::new).unwrap();
        let diagonal = recurrence(Structure::Diagonal { hidden: 8 });
        assert_eq!(path(&diagonal, 4, 100_000), Path::Blocks);
        assert_eq!(path(&diagonal, 1, 100), Path::Blocks);
        assert_eq!(path(&diagonal, 1, 100_000), Path::Scan);
        assert_eq!(path(&diagonal.clone().with_mode(Mode::Recurrent).unwrap(), 1, 100_000), Path::Blocks);
        let dense = recurrence(Structure::Dense { hidden: 8 }).with_transition(Transition::Euler);
        assert_eq!(path(&dense, 1, 100_000), Path::Blocks);
        assert_eq!(path(&dense.clone().with_mode(Mode::Parallel).unwrap(), 9, 2), Path::Scan);
        assert_eq!(path(&dense.with_contraction(Contraction::Words { depth: 2 }).unwrap(), 1, 9), Path::Action);
        assert_eq!(path(&recurrence(Structure::Dplr { hidden: 8, rank: 2 }), 1, 100_000), Path::Action);
    }
}
