//! Banks of complex one-pole filters, one bank for each channel: the state-space model S4D; forward and reverse.
//!
//! ```text
//! h_t[n, e] = a[n, e] h_{t-1}[n, e] + u_t[e],   y_t[e] = sum_n (c_re[n, e] Re h_t[n, e] + c_im[n, e] Im h_t[n, e]),   h_0 = 0
//! ```
//!
//! `a` and `h` are complex, `u`, `c` and `y` real. (A. Gu and others, "On the Parameterization and Initialization of Diagonal State Space Models", 2022; what multiplies `u`
//! there is part of `c` here.) A step that stands *aside* makes its `y` from the state that it would lead to, but the step behind it goes on from the state before it.
//!
//! Reverse, from the gradient `w_t` of `y_t`, with `g_t = w_t (c_re + i c_im) + conj(a) g_{t+1}`:
//!
//! ```text
//! dc_t = w_t h_t (by parts),   du_t[e] = sum_n Re g_t[n, e],   da[n, e] = sum_t g_t conj(h_{t-1})
//! ```
//!
//! States are computed again from every 32nd, so that memory is that of the arrays. Cost: `8 E N` operations a step forward, three times as many in reverse. Series run in parallel.

use ncde_simd::{Float as Number, Kernel, Simd, dispatch_for};
use rayon::prelude::*;

use crate::error::{finite, finite_gradients, finite_states, want, want_some};
use crate::{Error, Float};

/// In messages.
const NAME: &str = "filters";
/// The steps between two states that are stored.
const PART: usize = 32;

/// The arrays of one call, the last index running fastest; complex arrays hold their real parts, then their imaginary ones.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a, T> {
    /// How many series.
    pub batch: usize,
    /// How many steps.
    pub length: usize,
    /// How many channels, `E`.
    pub channels: usize,
    /// `[batch, length, E]`.
    pub u: &'a [T],
    /// `[2, N, E]`.
    pub a: &'a [T],
    /// `[2, N, E]`.
    pub c: &'a [T],
    /// Which steps stand aside, `[batch, length]`; none without it.
    pub aside: Option<&'a [bool]>,
}

/// The gradient of a loss in each array of an [`Input`].
#[derive(Debug, Clone, PartialEq)]
pub struct Gradients<T> {
    /// In `u`.
    pub u: Vec<T>,
    /// In `a`.
    pub a: Vec<T>,
    /// In `c`.
    pub c: Vec<T>,
}

impl<'a, T: Number> Input<'a, T> {
    /// The numbers of the state of a series.
    fn size(&self) -> usize {
        self.a.len()
    }

    fn parts(&self) -> usize {
        self.length.div_ceil(PART)
    }

    /// The steps of one series, of a channel each.
    fn rows(&self, array: &'a [T], series: usize) -> &'a [T] {
        &array[series * self.length * self.channels..][..self.length * self.channels]
    }

    fn stands_aside(&self, series: usize, t: usize) -> bool {
        self.aside.is_some_and(|aside| aside[series * self.length + t])
    }

    fn check(&self, operation: &'static str) -> Result<(), Error> {
        let &Self { batch, length, channels, u, a, c, aside } = self;
        let rows = batch * length;
        want_some(
            operation,
            &[("size", batch), ("length", length), ("number of channels", channels), ("number of states", a.len())],
        )?;
        want(operation, "a", a.len(), a.len() / (2 * channels) * 2 * channels, || format!("2 x states x {channels} channels"))?;
        want(operation, "c", c.len(), a.len(), || "as many as of a".into())?;
        want(operation, "u", u.len(), rows * channels, || format!("batch {batch} x length {length} x {channels}"))?;
        want(operation, "the list of steps aside", aside.map_or(rows, <[bool]>::len), rows, || "batch x length".into())?;
        for (what, array) in [("a", a), ("c", c), ("u", u)] {
            finite(operation, what, array, |i| format!("row {}, channel {}", i / channels, i % channels))?;
        }
        Ok(())
    }
}

/// `y` of all steps, `[batch, length, E]`, and the states that the reverse pass begins with, `[batch, parts, 2, N, E]`.
///
/// ```
/// use ncde_kernels::filters::{Input, forward};
/// // A pole at i turns by a quarter each step: of a push of 1 the real part goes 1, 0, -1.
/// let input = Input { batch: 1, length: 3, channels: 1, u: &[1.0, 0.0, 0.0], a: &[0.0, 1.0], c: &[1.0, 0.0], aside: None };
/// assert_eq!(forward(&input)?.0, [1.0, 0.0, -1.0]);
/// # Ok::<(), ncde_kernels::Error>(())
/// ```
///
/// # Errors
/// If an array has the wrong size or holds a number that is not finite, or if a state overflows.
pub fn forward<T: Float>(input: &Input<'_, T>) -> Result<(Vec<T>, Vec<T>), Error> {
    input.check("filters")?;
    let outputs = T::filters_forward(input);
    finite_states(NAME, &outputs.0, input.length, input.channels)?;
    Ok(outputs)
}

/// The gradients of a loss, from its gradient in `y` and the states that [`forward`] gave.
///
/// # Errors
/// As for [`forward`], or if a gradient overflows.
pub fn backward<T: Float>(input: &Input<'_, T>, starts: &[T], gradient: &[T]) -> Result<Gradients<T>, Error> {
    let operation = "the reverse pass of filters";
    input.check(operation)?;
    want(operation, "the array of states", starts.len(), input.batch * input.parts() * input.size(), || {
        "batch x parts x 2 x N x E".into()
    })?;
    want(operation, "the gradient", gradient.len(), input.u.len(), || "batch x length x E".into())?;
    let gradients = T::filters_backward(input, starts, gradient);
    let Gradients { u, a, c } = &gradients;
    finite_gradients(NAME, input.batch, &[u, a, c])?;
    Ok(gradients)
}

/// The states of a step from those before it, of one row of poles after the other.
#[inline(always)]
fn advance<T: Number>(a: &[T], u: &[T], before: &[T], next: &mut [T]) {
    let (half, width) = (a.len() / 2, u.len());
    let (next_re, next_im) = next.split_at_mut(half);
    for (n, (next_re, next_im)) in next_re.chunks_exact_mut(width).zip(next_im.chunks_exact_mut(width)).enumerate() {
        let [(a_re, a_im), (re, im)] =
            [a, before].map(|array| (&array[n * width..][..width], &array[half + n * width..][..width]));
        for e in 0..width {
            next_re[e] = a_re[e] * re[e] - a_im[e] * im[e] + u[e];
            next_im[e] = a_re[e] * im[e] + a_im[e] * re[e];
        }
    }
}

/// `y = sum_n c h` by parts.
#[inline(always)]
fn read<T: Number>(c: &[T], state: &[T], y: &mut [T]) {
    y.fill(T::ZERO);
    for (c, h) in c.chunks_exact(y.len()).zip(state.chunks_exact(y.len())) {
        y.iter_mut().zip(c.iter().zip(h)).for_each(|(y, (&c, &h))| *y += c * h);
    }
}

struct Forward<'a, T> {
    input: &'a Input<'a, T>,
    series: usize,
    y: &'a mut [T],
    starts: &'a mut [T],
}

impl<T: Number> Kernel for Forward<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        let Self { input, series, y, starts } = self;
        let (size, width) = (input.size(), input.channels);
        let (mut state, mut next) = (vec![T::ZERO; size], vec![T::ZERO; size]);
        let rows = y.chunks_exact_mut(width).zip(input.rows(input.u, series).chunks_exact(width));
        for (t, (y, u)) in rows.enumerate() {
            if t % PART == 0 {
                starts[t / PART * size..][..size].copy_from_slice(&state);
            }
            advance(input.a, u, &state, &mut next);
            read(input.c, &next, y);
            if !input.stands_aside(series, t) {
                std::mem::swap(&mut state, &mut next);
            }
        }
    }
}

struct Backward<'a, T> {
    input: &'a Input<'a, T>,
    series: usize,
    starts: &'a [T],
    gradient: &'a [T],
    du: &'a mut [T],
}

impl<T: Number> Kernel for Backward<'_, T> {
    /// The gradients in `a` and `c`.
    type Output = [Vec<T>; 2];
    #[inline(always)]
    fn run<S: Simd>(self, _: S) -> [Vec<T>; 2] {
        let Self { input, series, starts, gradient, du } = self;
        let (size, width) = (input.size(), input.channels);
        let (half, u) = (size / 2, input.rows(input.u, series));
        let zeros = |count: usize| vec![T::ZERO; count];
        // The state before each step of a part, and that which it leads to.
        let (mut before, mut next) = (zeros(PART * size), zeros(PART * size));
        let (mut da, mut dc, mut carried) = (zeros(size), zeros(size), zeros(size));
        for (part, start) in starts.chunks_exact(size).enumerate().rev() {
            let (first, count) = (part * PART, PART.min(input.length - part * PART));
            before[..size].copy_from_slice(start);
            for i in 0..count {
                let (done, behind) = before.split_at_mut((i + 1) * size);
                let (state, next) = (&done[i * size..], &mut next[i * size..][..size]);
                advance(input.a, &u[(first + i) * width..][..width], state, next);
                if i + 1 < count {
                    let stays = input.stands_aside(series, first + i);
                    behind[..size].copy_from_slice(if stays { state } else { next });
                }
            }
            for i in (0..count).rev() {
                let t = first + i;
                let (w, du) = (&gradient[t * width..][..width], &mut du[t * width..][..width]);
                // What comes from behind goes by a step aside, and only `y` goes through it.
                let (through, by) = if input.stands_aside(series, t) { (T::ZERO, T::ONE) } else { (T::ONE, T::ZERO) };
                for (dc, h) in dc.chunks_exact_mut(width).zip(next[i * size..][..size].chunks_exact(width)) {
                    dc.iter_mut().zip(w.iter().zip(h)).for_each(|(dc, (&w, &h))| *dc += w * h);
                }
                let (before_re, before_im) = before[i * size..][..size].split_at(half);
                let ((da_re, da_im), (carried_re, carried_im)) = (da.split_at_mut(half), carried.split_at_mut(half));
                for n in 0..half / width {
                    let of = n * width..(n + 1) * width;
                    let [(a_re, a_im), (c_re, c_im)] =
                        [input.a, input.c].map(|array| (&array[of.clone()], &array[half..][of.clone()]));
                    let (h_re, h_im) = (&before_re[of.clone()], &before_im[of.clone()]);
                    let (da_re, da_im) = (&mut da_re[of.clone()], &mut da_im[of.clone()]);
                    let (carried_re, carried_im) = (&mut carried_re[of.clone()], &mut carried_im[of.clone()]);
                    for e in 0..width {
                        let (from_re, from_im) = (carried_re[e], carried_im[e]);
                        let (g_re, g_im) = (w[e] * c_re[e] + through * from_re, w[e] * c_im[e] + through * from_im);
                        du[e] += g_re;
                        da_re[e] += g_re * h_re[e] + g_im * h_im[e];
                        da_im[e] += g_im * h_re[e] - g_re * h_im[e];
                        carried_re[e] = a_re[e] * g_re + a_im[e] * g_im + by * from_re;
                        carried_im[e] = a_re[e] * g_im - a_im[e] * g_re + by * from_im;
                    }
                }
            }
        }
        [da, dc]
    }
}

/// The outputs; the input has been checked.
pub(crate) fn forward_all<T: Number>(input: &Input<'_, T>) -> (Vec<T>, Vec<T>) {
    let (row, of_series) = (input.length * input.channels, input.parts() * input.size());
    let (mut y, mut starts) = (vec![T::ZERO; input.u.len()], vec![T::ZERO; input.batch * of_series]);
    let rows = y.par_chunks_exact_mut(row).zip(starts.par_chunks_exact_mut(of_series)).enumerate();
    rows.for_each(|(series, (y, starts))| dispatch_for::<T, _>(Forward { input, series, y, starts }));
    (y, starts)
}

/// The gradients; the input has been checked.
pub(crate) fn backward_all<T: Number>(input: &Input<'_, T>, starts: &[T], gradient: &[T]) -> Gradients<T> {
    let (row, of_series) = (input.length * input.channels, input.parts() * input.size());
    let mut u = vec![T::ZERO; input.u.len()];
    let by_series: Vec<[Vec<T>; 2]> = u
        .par_chunks_exact_mut(row)
        .enumerate()
        .map(|(series, du)| {
            let (starts, gradient) = (&starts[series * of_series..][..of_series], &gradient[series * row..][..row]);
            dispatch_for::<T, _>(Backward { input, series, starts, gradient, du })
        })
        .collect();
    // Series are added in their order, whatever the number of threads.
    let total = |which: usize| {
        let mut total = vec![T::ZERO; input.size()];
        by_series.iter().for_each(|sums| total.iter_mut().zip(&sums[which]).for_each(|(total, &sum)| *total += sum));
        total
    };
    Gradients { u, a: total(0), c: total(1) }
}
