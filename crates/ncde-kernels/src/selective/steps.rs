//! Kernels over the steps of one series; a state is `[N, E]`, and registers run along channels.

use ncde_simd::{Float, Kernel, Number, Simd, dispatch_for};
use rayon::prelude::*;

use super::{Gradients, Input, Outputs, Selective};

/// From every so manieth state the reverse pass computes those behind it again.
pub(super) const PART: usize = 32;

/// The rows of one series.
#[derive(Clone, Copy)]
struct Series<'a, T> {
    step: &'a [T],
    u: &'a [T],
    a: &'a [T],
    b: &'a [T],
    c: &'a [T],
    aside: Option<&'a [bool]>,
    channels: usize,
    states: usize,
}

impl<'a, T: Float> Series<'a, T> {
    fn of(spec: &Selective, input: &Input<'a, T>, series: usize) -> Self {
        let rows = |values: &'a [T], width: usize| &values[series * input.length * width..][..input.length * width];
        let &Selective { channels, states } = spec;
        Self {
            step: rows(input.step, channels),
            u: rows(input.u, channels),
            a: input.a,
            b: rows(input.b, states),
            c: rows(input.c, states),
            aside: input.aside.map(|aside| &aside[series * input.length..][..input.length]),
            channels,
            states,
        }
    }

    fn stands_aside(&self, t: usize) -> bool {
        self.aside.is_some_and(|aside| aside[t])
    }

    /// Step and input of row `t`, `[E]`.
    fn channels_at(&self, t: usize) -> [&'a [T]; 2] {
        [self.step, self.u].map(|rows| &rows[t * self.channels..][..self.channels])
    }

    /// `b` and `c` of row `t`, `[N]`.
    fn states_at(&self, t: usize) -> [&'a [T]; 2] {
        [self.b, self.c].map(|rows| &rows[t * self.states..][..self.states])
    }
}

/// `driven = d u`; `next = exp(d a) h + driven b`, `y = sum_n c next`, with the decays if they are asked for.
#[inline(always)]
fn advance<T: Float>(
    a: &[T],
    h: &[T],
    [step, driven]: [&[T]; 2],
    [b, c]: [&[T]; 2],
    next: &mut [T],
    decays: Option<&mut [T]>,
    y: &mut [T],
) {
    let width = y.len();
    y.fill(T::ZERO);
    let mut decays = decays.map(|decays| decays.chunks_exact_mut(width));
    let states = a.chunks_exact(width).zip(h.chunks_exact(width)).zip(next.chunks_exact_mut(width)).zip(b.iter().zip(c));
    for (((a, h), next), (&b, &c)) in states {
        if let Some(decay) = decays.as_mut().and_then(Iterator::next) {
            decay.iter_mut().zip(step.iter().zip(a)).for_each(|(decay, (&d, &a))| *decay = Float::exp(d * a));
            for ((next, &decay), (&h, &driven)) in next.iter_mut().zip(&*decay).zip(h.iter().zip(driven)) {
                *next = decay * h + driven * b;
            }
        } else {
            for ((next, (&d, &a)), (&h, &driven)) in next.iter_mut().zip(step.iter().zip(a)).zip(h.iter().zip(driven)) {
                *next = Float::exp(d * a) * h + driven * b;
            }
        }
        y.iter_mut().zip(&*next).for_each(|(y, &next)| *y += c * next);
    }
}

#[inline(always)]
fn product<T: Float>(x: &[T], y: &[T], out: &mut [T]) {
    out.iter_mut().zip(x.iter().zip(y)).for_each(|(out, (&x, &y))| *out = x * y);
}

struct Forward<'a, T> {
    series: Series<'a, T>,
    y: &'a mut [T],
    starts: &'a mut [T],
}

impl<T: Float> Kernel for Forward<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        let Self { series, y, starts } = self;
        let size = series.a.len();
        let (mut state, mut next, mut driven) = (vec![T::ZERO; size], vec![T::ZERO; size], vec![T::ZERO; series.channels]);
        for (t, y) in y.chunks_exact_mut(series.channels).enumerate() {
            if t % PART == 0 {
                starts[t / PART * size..][..size].copy_from_slice(&state);
            }
            let [step, u] = series.channels_at(t);
            product(step, u, &mut driven);
            advance(series.a, &state, [step, &driven], series.states_at(t), &mut next, None, y);
            if !series.stands_aside(t) {
                std::mem::swap(&mut state, &mut next);
            }
        }
    }
}

struct Push<'a, T> {
    a: &'a [T],
    state: &'a mut [T],
    of_channels: [&'a [T]; 2],
    of_states: [&'a [T]; 2],
    y: &'a mut [T],
}

impl<T: Float> Kernel for Push<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        let Self { a, state, of_channels: [step, u], of_states: [b, c], y } = self;
        let width = y.len();
        y.fill(T::ZERO);
        for ((a, h), (&b, &c)) in a.chunks_exact(width).zip(state.chunks_exact_mut(width)).zip(b.iter().zip(c)) {
            for ((h, (&d, &a)), (&u, y)) in h.iter_mut().zip(step.iter().zip(a)).zip(u.iter().zip(&mut *y)) {
                *h = Float::exp(d * a) * *h + d * u * b;
                *y += c * *h;
            }
        }
    }
}

struct Backward<'a, T> {
    series: Series<'a, T>,
    starts: &'a [T],
    gradient: &'a [T],
    dstep: &'a mut [T],
    du: &'a mut [T],
    db: &'a mut [T],
    dc: &'a mut [T],
}

impl<T: Float> Kernel for Backward<'_, T> {
    /// The gradient in `a`.
    type Output = Vec<T>;
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> Vec<T> {
        let Self { series, starts, gradient, dstep, du, db, dc } = self;
        let (width, size, length) = (series.channels, series.a.len(), series.u.len() / series.channels);
        let zeros = |count: usize| vec![T::ZERO; count];
        // The state before each step of a part, that behind it, and its decays.
        let (mut before, mut next, mut decays) = (zeros(PART * size), zeros(PART * size), zeros(PART * size));
        let (mut driven, mut unread, mut of_driven, mut g) = (zeros(PART * width), zeros(width), zeros(width), zeros(width));
        let (mut da, mut carried) = (zeros(size), zeros(size));
        for (part, start) in starts.chunks_exact(size).enumerate().rev() {
            let (first, count) = (part * PART, PART.min(length - part * PART));
            before[..size].copy_from_slice(start);
            for i in 0..count {
                let ([step, u], row) = (series.channels_at(first + i), i * size..(i + 1) * size);
                let driven = &mut driven[i * width..][..width];
                product(step, u, driven);
                let decays = Some(&mut decays[row.clone()]);
                let states = series.states_at(first + i);
                advance(series.a, &before[row.clone()], [step, driven], states, &mut next[row.clone()], decays, &mut unread);
                if i + 1 < count {
                    let from = if series.stands_aside(first + i) { &mut before[..] } else { &mut next[..] };
                    let state = from[row.clone()].to_vec();
                    before[row.end..][..size].copy_from_slice(&state);
                }
            }
            for i in (0..count).rev() {
                let t = first + i;
                let ([step, u], [b, c], aside) = (series.channels_at(t), series.states_at(t), series.stands_aside(t));
                let (w, driven) = (&gradient[t * width..][..width], &driven[i * width..][..width]);
                let dd = &mut dstep[t * width..][..width];
                of_driven.fill(T::ZERO);
                for n in 0..series.states {
                    let (of_state, of_part) = (n * width..(n + 1) * width, i * size + n * width..i * size + (n + 1) * width);
                    let (before, decay, a) = (&before[of_part.clone()], &decays[of_part.clone()], &series.a[of_state.clone()]);
                    let carried = &mut carried[of_state.clone()];
                    let (kept, c_n, b_n) = (if aside { T::ZERO } else { T::ONE }, c[n], b[n]);
                    g.iter_mut().zip(w.iter().zip(&*carried)).for_each(|(g, (&w, &carried))| *g = w * c_n + kept * carried);
                    dc[t * series.states + n] = T::dot(simd, w, &next[of_part]);
                    db[t * series.states + n] = T::dot(simd, &g, driven);
                    for ((carried, &g), &decay) in carried.iter_mut().zip(&g).zip(decay) {
                        *carried = g * decay + (T::ONE - kept) * *carried;
                    }
                    of_driven.iter_mut().zip(&g).for_each(|(of_driven, &g)| *of_driven += g * b_n);
                    // What comes to the exponent.
                    g.iter_mut().zip(decay.iter().zip(before)).for_each(|(g, (&decay, &h))| *g = *g * decay * h);
                    dd.iter_mut().zip(g.iter().zip(a)).for_each(|(dd, (&s, &a))| *dd += s * a);
                    da[of_state].iter_mut().zip(g.iter().zip(step)).for_each(|(da, (&s, &d))| *da += s * d);
                }
                dd.iter_mut().zip(of_driven.iter().zip(u)).for_each(|(dd, (&of, &u))| *dd += of * u);
                product(&of_driven, step, &mut du[t * width..][..width]);
            }
        }
        da
    }
}

/// The outputs; the input has been checked.
pub(crate) fn forward<T: Float>(spec: &Selective, input: &Input<'_, T>) -> Outputs<T> {
    let of_series = input.length.div_ceil(PART) * spec.size();
    let (mut y, mut starts) = (vec![T::ZERO; input.u.len()], vec![T::ZERO; input.batch * of_series]);
    let rows = y.par_chunks_exact_mut(input.length * spec.channels).zip(starts.par_chunks_exact_mut(of_series));
    rows.enumerate().for_each(|(i, (y, starts))| dispatch_for::<T, _>(Forward { series: Series::of(spec, input, i), y, starts }));
    Outputs { y, starts }
}

/// One step; sizes have been checked.
pub(crate) fn push<T: Float>(a: &[T], state: &mut [T], of_channels: [&[T]; 2], of_states: [&[T]; 2], y: &mut [T]) {
    dispatch_for::<T, _>(Push { a, state, of_channels, of_states, y });
}

/// The gradients; the input has been checked.
pub(crate) fn backward<T: Float>(spec: &Selective, input: &Input<'_, T>, starts: &[T], gradient: &[T]) -> Gradients<T> {
    let (of_channels, of_states) = (input.length * spec.channels, input.length * spec.states);
    let zeros = |like: &[T]| vec![T::ZERO; like.len()];
    let (mut step, mut u, mut b, mut c) = (zeros(input.step), zeros(input.u), zeros(input.b), zeros(input.c));
    let rows = step.par_chunks_exact_mut(of_channels).zip(u.par_chunks_exact_mut(of_channels));
    let rows = rows.zip(b.par_chunks_exact_mut(of_states)).zip(c.par_chunks_exact_mut(of_states)).enumerate();
    let of_each: Vec<Vec<T>> = rows
        .map(|(i, (((dstep, du), db), dc))| {
            let starts = &starts[i * starts.len() / input.batch..][..starts.len() / input.batch];
            let gradient = &gradient[i * of_channels..][..of_channels];
            dispatch_for::<T, _>(Backward { series: Series::of(spec, input, i), starts, gradient, dstep, du, db, dc })
        })
        .collect();
    // Series are added in their order, whatever the number of threads.
    let mut a = zeros(input.a);
    of_each.iter().for_each(|own| a.iter_mut().zip(own).for_each(|(a, &own)| *a += own));
    Gradients { step, u, a, b, c }
}
