//! The chunked scan: time is cut into chunks that are worked on at once.
//!
//! ```text
//! 1. for every chunk its flow: Phi = Phi_n ... Phi_1 and v with h_end = Phi h_start + v
//! 2. the carry: h_{c+1} = Phi_c h_c + v_c, chunk after chunk
//! 3. for every chunk its states, from the state it starts with
//! ```
//!
//! This is the thesis's associative scan with one level of its tree. The reverse pass is the same on transposes:
//! `g_{c-1} = Phi_c^T g_c + u_c`, with `u_c` the gradient that the chunk's own states send to its start.
//! Cost: `1 + b` recurrences for blocks of `b`. Worth it when there are more cores than series.

use ncde_simd::{Float, dispatch_for};
use rayon::prelude::*;

use super::closed::{Buffers, Past, Piece, Prepared, Run, RunBack, Sums, Transposed, total, zeros};
use super::plan::without_tail;
use super::{Controls, Gradients, Input, Recurrence};
use crate::pool::{self, Loan};
use crate::shards::shards;
use crate::structure::Field;

/// Steps `first..end` of series `b`.
#[derive(Debug, Clone, Copy)]
struct Task {
    b: usize,
    first: usize,
    end: usize,
}

/// The chunks of all series, in order.
fn tasks<T>(recurrence: &Recurrence, input: &Input<'_, T>) -> Vec<Task> {
    let chunk = recurrence.chunk();
    let of_series = |b: usize| {
        let steps = input.steps(b);
        (0..steps).step_by(chunk).map(move |first| Task { b, first, end: steps.min(first + chunk) })
    };
    (0..input.batch).flat_map(of_series).collect()
}

/// The arguments of all phases.
struct Scan<'a, 'i, T: Float> {
    recurrence: &'a Recurrence,
    input: &'a Input<'i, T>,
    prepared: Prepared<T::Register>,
    tasks: Vec<Task>,
}

impl<'i, T: Float> Scan<'_, 'i, T> {
    fn field(&self) -> &Field {
        self.recurrence.field()
    }

    /// The numbers of a state with all its columns.
    fn state_len(&self) -> usize {
        self.input.columns * self.field().hidden()
    }

    fn piece(&self, task: Task) -> Piece<'i, T> {
        Piece::new(self.input, self.recurrence.coefficients(), self.field().hidden(), task.b, task.first, task.end)
    }

    /// `Phi` of a chunk: for each `c` column `c` of all blocks, `[largest block, H]`.
    fn flow(&self, task: Task, buffers: &mut Buffers<T::Register>) -> Vec<T> {
        let hidden = self.field().hidden();
        let largest = self.field().blocks().iter().map(|block| block.b).max().unwrap_or(1);
        let mut phi = vec![T::ZERO; largest * hidden];
        for block in self.field().blocks() {
            for c in 0..block.b {
                phi[c * hidden + block.at + c] = T::ONE;
            }
        }
        let piece = Piece { columns: largest, beta: None, ..self.piece(task) };
        dispatch_for::<T, _>(Run { prepared: &self.prepared, piece, buffers, state: &mut phi, states: None });
        phi
    }

    /// The start value of each chunk, from that of the first chunk of its series: `next(task, value)` is the value after a chunk.
    fn carry(
        &self,
        tasks: impl Iterator<Item = usize>,
        start: impl Fn(usize) -> Vec<T>,
        next: impl Fn(usize, &[T]) -> Vec<T>,
    ) -> Vec<Vec<T>> {
        let mut carried = vec![Vec::new(); self.tasks.len()];
        let mut before: Option<usize> = None;
        for i in tasks {
            let b = self.tasks[i].b;
            carried[i] = match before {
                Some(last) if self.tasks[last].b == b => next(last, &carried[last]),
                _ => start(b),
            };
            before = Some(i);
        }
        carried
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

fn add<T: Float>(x: &mut [T], y: &[T]) {
    x.iter_mut().zip(y).for_each(|(x, &y)| *x += y);
}

/// The states after each step: whether they are finite.
pub(crate) fn forward<T: Float>(recurrence: &Recurrence, input: &Input<'_, T>, states: &mut [T]) -> bool {
    let prepared = Prepared::new(recurrence, input.a);
    let scan = Scan { recurrence, input, prepared, tasks: tasks(recurrence, input) };
    let state_len = scan.state_len();
    let flows: Vec<(Vec<T>, Vec<T>)> = scan
        .tasks
        .par_iter()
        .map(|&task| {
            let buffers = &mut *pool::borrow::<Buffers<T::Register>>();
            let mut v = vec![T::ZERO; state_len];
            if input.affine.is_some() {
                let piece = scan.piece(task);
                dispatch_for::<T, _>(Run { prepared: &scan.prepared, piece, buffers, state: &mut v, states: None });
            }
            (scan.flow(task, buffers), v)
        })
        .collect();
    let initial = |b: usize| input.initial[b * state_len..(b + 1) * state_len].to_vec();
    let starts = scan.carry(0..scan.tasks.len(), initial, |i, h| {
        let mut next = apply(scan.field(), &flows[i].0, h, false);
        add(&mut next, &flows[i].1);
        next
    });
    let rows = states.chunks_exact_mut(input.length * state_len).enumerate();
    let outputs: Vec<&mut [T]> =
        rows.flat_map(|(b, row)| row[..input.steps(b) * state_len].chunks_mut(recurrence.chunk() * state_len)).collect();
    let work = outputs.into_par_iter().zip(&scan.tasks).zip(&starts);
    let replay = |((states, &task), start): ((&mut [T], &Task), &Vec<T>)| {
        let buffers = &mut *pool::borrow::<Buffers<T::Register>>();
        let (piece, mut state) = (scan.piece(task), start.clone());
        dispatch_for::<T, _>(Run { prepared: &scan.prepared, piece, buffers, state: &mut state, states: Some(states) })
    };
    let finite = work.map(replay).reduce(|| true, |a, b| a & b);
    for (b, row) in states.chunks_exact_mut(input.length * state_len).enumerate() {
        let (known, rest) = row.split_at_mut(input.steps(b) * state_len);
        rest.chunks_exact_mut(state_len).for_each(|row| row.copy_from_slice(&known[known.len() - state_len..]));
    }
    finite
}

/// The gradients that belong to one chunk.
struct Output<'a, T> {
    lambda: Option<&'a mut [T]>,
    beta: Option<&'a mut [T]>,
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
        let (task, state_len) = (self.tasks[i], self.state_len());
        let row = task.b * self.input.length;
        let rows = (row + task.first) * state_len..(row + task.end) * state_len;
        let before = if task.first == 0 {
            &self.input.initial[task.b * state_len..(task.b + 1) * state_len]
        } else {
            &states[rows.start - state_len..rows.start]
        };
        let past = Past { before, states: &states[rows.clone()], gradient: &gradient[rows] };
        dispatch_for::<T, _>(RunBack {
            prepared: &self.prepared,
            transposed,
            piece: self.piece(task),
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
    let scan = Scan { recurrence, input, prepared, tasks: tasks(recurrence, input) };
    let (field, state_len, width, count) = (scan.field(), scan.state_len(), recurrence.coefficients(), scan.tasks.len());
    let flows: Vec<(Vec<T>, Vec<T>)> = (0..count)
        .into_par_iter()
        .map(|i| {
            let buffers = &mut *pool::borrow::<Buffers<T::Register>>();
            let mut carry = vec![T::ZERO; state_len];
            let sums = Sums { lambda: None, beta: None, da: None };
            scan.back(i, [states, gradient], None, buffers, (&mut carry, sums));
            (scan.flow(scan.tasks[i], buffers), carry)
        })
        .collect();
    // The gradients past the end of a series belong to its last state.
    let last = |b: usize| {
        let mut g = vec![T::ZERO; state_len];
        let held = &gradient[(b * input.length + input.steps(b)) * state_len..(b + 1) * input.length * state_len];
        held.chunks_exact(state_len).for_each(|row| add(&mut g, row));
        g
    };
    let back = |i: usize, g: &[T]| {
        let mut before = apply(field, &flows[i].0, g, true);
        add(&mut before, &flows[i].1);
        before
    };
    let mut ends = scan.carry((0..count).rev(), last, back);
    let Gradients { a, coefficients, initial, affine } = gradients;
    let shards = shards(count, field.parameters() * size_of::<T>());
    let mut sums: Vec<Loan<Vec<T::Register>>> = {
        let chunk = recurrence.chunk();
        let rows = coefficients.chunks_exact_mut(input.length * width).enumerate();
        let mut lambda = rows.flat_map(|(b, row)| without_tail(row, input.steps(b) * width).chunks_mut(chunk * width));
        let mut beta = affine.iter_mut().flat_map(|affine| {
            let rows = affine.chunks_exact_mut(input.length * state_len).enumerate();
            rows.flat_map(|(b, row)| without_tail(row, input.steps(b) * state_len).chunks_mut(chunk * state_len))
        });
        let mut outputs: Vec<Output<'_, T>> = (0..count).map(|_| Output { lambda: lambda.next(), beta: beta.next() }).collect();
        let (mut left, mut carries, mut work) = (&mut outputs[..], &mut ends[..], Vec::new());
        for shard in &shards {
            let (shard_outputs, rest) = std::mem::take(&mut left).split_at_mut(shard.len());
            let (carry, others) = std::mem::take(&mut carries).split_at_mut(shard.len());
            (left, carries) = (rest, others);
            work.push((shard.start, shard_outputs, carry));
        }
        let packed = field.channels() * scan.prepared.layout.packed;
        let sum = |(first, outputs, carries): (usize, &mut [Output<'_, T>], &mut [Vec<T>])| {
            let (mut buffers, mut da) = (pool::borrow::<Buffers<T::Register>>(), zeros::<T::Register>(packed));
            for (i, (output, carry)) in outputs.iter_mut().zip(carries).enumerate() {
                let sums = Sums { lambda: output.lambda.as_deref_mut(), beta: output.beta.as_deref_mut(), da: Some(&mut da) };
                scan.back(first + i, [states, gradient], transposed.as_ref(), &mut buffers, (&mut *carry, sums));
            }
            da
        };
        work.into_par_iter().map(sum).collect()
    };
    for (task, carry) in scan.tasks.iter().zip(&ends).filter(|(task, _)| task.first == 0) {
        initial[task.b * state_len..(task.b + 1) * state_len].copy_from_slice(carry);
    }
    total(&scan.prepared.layout, field, &mut sums, a);
}
