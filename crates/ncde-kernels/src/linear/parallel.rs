//! The chunked scan, see `chunks`: the thesis's associative scan with one level of its tree. The reverse pass is the same on transposes:
//! `g_{c-1} = Phi_c^T g_c + u_c`, with `u_c` the gradient that the chunk's own states send to its start.
//! Cost: `1 + b` recurrences for blocks of `b`. Worth it when there are more cores than series.

use ncde_simd::{Float, dispatch_for};
use rayon::prelude::*;

use super::closed::{Buffers, Past, Piece, Prepared, Run, RunBack, Sums, Transposed, total, zeros};
use super::{Controls, Gradients, Input, Recurrence};
use crate::chunks::{Chunk, add, carry, chunks, cut_mut, repeat_last, sum_rows};
use crate::pool::{self, Loan};
use crate::shards::shards;
use crate::structure::Field;

/// The arguments of all phases.
struct Scan<'a, 'i, T: Float> {
    recurrence: &'a Recurrence,
    input: &'a Input<'i, T>,
    prepared: Prepared<T::Register>,
    chunks: Vec<Chunk>,
}

impl<'i, T: Float> Scan<'_, 'i, T> {
    fn field(&self) -> &Field {
        self.recurrence.field()
    }

    /// The numbers of a state with all its columns.
    fn state_len(&self) -> usize {
        self.input.columns * self.field().hidden()
    }

    fn piece(&self, chunk: Chunk) -> Piece<'i, T> {
        Piece::new(self.input, self.recurrence.coefficients(), self.field().hidden(), chunk.b, chunk.first, chunk.end)
    }

    /// `Phi` of a chunk: for each `c` column `c` of all blocks, `[largest block, H]`.
    fn flow(&self, chunk: Chunk, buffers: &mut Buffers<T::Register>) -> Vec<T> {
        let hidden = self.field().hidden();
        let largest = self.field().blocks().iter().map(|block| block.b).max().unwrap_or(1);
        let mut phi = vec![T::ZERO; largest * hidden];
        for block in self.field().blocks() {
            for c in 0..block.b {
                phi[c * hidden + block.at + c] = T::ONE;
            }
        }
        let piece = Piece { columns: largest, beta: None, ..self.piece(chunk) };
        dispatch_for::<T, _>(Run { prepared: &self.prepared, piece, buffers, state: &mut phi, states: None });
        phi
    }
}

/// `out = Phi x` or `Phi^T x`, for all columns of `x`, block by block.
fn apply<T: Float>(field: &Field, phi: &[T], x: &[T], transposed: bool) -> Vec<T> {
    let hidden = field.hidden();
    let mut out = vec![T::ZERO; x.len()];
    for (x, out) in x.chunks_exact(hidden).zip(out.chunks_exact_mut(hidden)) {
        for block in field.blocks() {
            for c in 0..block.b {
                let column = &phi[c * hidden + block.at..][..block.b];
                for (r, &entry) in column.iter().enumerate() {
                    let (to, from) = if transposed { (c, r) } else { (r, c) };
                    out[block.at + to] += entry * x[block.at + from];
                }
            }
        }
    }
    out
}

/// The states after each step: whether they are finite.
pub(crate) fn forward<T: Float>(recurrence: &Recurrence, input: &Input<'_, T>, states: &mut [T]) -> bool {
    let prepared = Prepared::new(recurrence, input.a);
    let chunks = chunks(input.batch, recurrence.chunk(), |b| input.steps(b));
    let scan = Scan { recurrence, input, prepared, chunks };
    let state_len = scan.state_len();
    let flows: Vec<(Vec<T>, Vec<T>)> = scan
        .chunks
        .par_iter()
        .map(|&chunk| {
            let buffers = &mut *pool::borrow::<Buffers<T::Register>>();
            let mut v = vec![T::ZERO; state_len];
            if input.affine.is_some() {
                let piece = scan.piece(chunk);
                dispatch_for::<T, _>(Run { prepared: &scan.prepared, piece, buffers, state: &mut v, states: None });
            }
            (scan.flow(chunk, buffers), v)
        })
        .collect();
    let initial = |b: usize| input.initial[b * state_len..(b + 1) * state_len].to_vec();
    let starts = carry(&scan.chunks, 0..scan.chunks.len(), initial, |i, h| {
        let mut next = apply(scan.field(), &flows[i].0, h, false);
        add(&mut next, &flows[i].1);
        next
    });
    let outputs: Vec<_> = cut_mut(states, [input.length, state_len], recurrence.chunk(), |b| input.steps(b)).collect();
    let work = outputs.into_par_iter().zip(&scan.chunks).zip(&starts);
    let replay = |((states, &chunk), start): ((&mut [T], &Chunk), &Vec<T>)| {
        let buffers = &mut *pool::borrow::<Buffers<T::Register>>();
        let (piece, mut state) = (scan.piece(chunk), start.clone());
        dispatch_for::<T, _>(Run { prepared: &scan.prepared, piece, buffers, state: &mut state, states: Some(states) })
    };
    let finite = work.map(replay).reduce(|| true, |a, b| a & b);
    repeat_last(states, [input.length, state_len], |b| input.steps(b));
    finite
}

impl<'i, T: Float> Scan<'_, 'i, T> {
    /// Steps back through a chunk; `carry` goes from its end to its start.
    fn back(
        &self,
        i: usize,
        [states, gradient]: [&[T]; 2],
        transposed: Option<&Transposed<T::Register>>,
        buffers: &mut Buffers<T::Register>,
        (carry, sums): (&mut [T], Sums<'_, T, T::Register>),
    ) {
        let (chunk, state_len) = (self.chunks[i], self.state_len());
        let row = chunk.b * self.input.length;
        let rows = (row + chunk.first) * state_len..(row + chunk.end) * state_len;
        let before = if chunk.first == 0 {
            &self.input.initial[chunk.b * state_len..(chunk.b + 1) * state_len]
        } else {
            &states[rows.start - state_len..rows.start]
        };
        let past = Past { before, states: &states[rows.clone()], gradient: &gradient[rows] };
        dispatch_for::<T, _>(RunBack {
            prepared: &self.prepared,
            transposed,
            piece: self.piece(chunk),
            past,
            buffers,
            carry,
            sums,
        });
    }
}

/// The gradients.
pub(crate) fn backward<T: Float>(
    recurrence: &Recurrence,
    input: &Input<'_, T>,
    states: &[T],
    gradient: &[T],
    gradients: &mut Gradients<T>,
) {
    let prepared = Prepared::new(recurrence, input.a);
    let transposed = if recurrence.controls() == Controls::Variable { prepared.transposed() } else { None };
    let chunks = chunks(input.batch, recurrence.chunk(), |b| input.steps(b));
    let scan = Scan { recurrence, input, prepared, chunks };
    let (field, state_len, width, count) = (scan.field(), scan.state_len(), recurrence.coefficients(), scan.chunks.len());
    let flows: Vec<(Vec<T>, Vec<T>)> = (0..count)
        .into_par_iter()
        .map(|i| {
            let buffers = &mut *pool::borrow::<Buffers<T::Register>>();
            let mut carry = vec![T::ZERO; state_len];
            let sums = Sums { lambda: None, beta: None, da: None };
            scan.back(i, [states, gradient], None, buffers, (&mut carry, sums));
            (scan.flow(scan.chunks[i], buffers), carry)
        })
        .collect();
    // The gradients past the end of a series belong to its last state.
    let last = |b: usize| {
        let first = b * input.length;
        sum_rows(&gradient[(first + input.steps(b)) * state_len..(first + input.length) * state_len], state_len)
    };
    let back = |i: usize, g: &Vec<T>| {
        let mut before = apply(field, &flows[i].0, g, true);
        add(&mut before, &flows[i].1);
        before
    };
    let mut ends = carry(&scan.chunks, (0..count).rev(), last, back);
    let Gradients { a, coefficients, initial, affine } = gradients;
    let shards = shards(count, field.parameters() * size_of::<T>());
    let mut sums: Vec<Loan<Vec<T::Register>>> = {
        let (size, steps) = (recurrence.chunk(), |b: usize| input.steps(b));
        let mut lambda = cut_mut(coefficients, [input.length, width], size, steps);
        let mut beta = affine.iter_mut().flat_map(|affine| cut_mut(affine, [input.length, state_len], size, steps));
        let mut outputs = ends.iter_mut().map(|carry| (lambda.next(), beta.next(), carry));
        let work: Vec<(usize, Vec<_>)> =
            shards.into_iter().map(|shard| (shard.start, outputs.by_ref().take(shard.len()).collect())).collect();
        let packed = field.channels() * scan.prepared.layout.packed;
        let sum = work.into_par_iter().map(|(first, outputs)| {
            let (mut buffers, mut da) = (pool::borrow::<Buffers<T::Register>>(), zeros::<T::Register>(packed));
            for (i, (lambda, beta, carry)) in outputs.into_iter().enumerate() {
                let sums = Sums { lambda, beta, da: Some(&mut da) };
                scan.back(first + i, [states, gradient], transposed.as_ref(), &mut buffers, (carry, sums));
            }
            da
        });
        sum.collect()
    };
    for (chunk, carry) in scan.chunks.iter().zip(&ends).filter(|(chunk, _)| chunk.first == 0) {
        initial[chunk.b * state_len..(chunk.b + 1) * state_len].copy_from_slice(carry);
    }
    total(&scan.prepared.layout, field, &mut sums, a);
}
