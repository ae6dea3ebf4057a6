//! Forced oscillators, one step after the other, forward and reverse: the recurrence of LinOSS.
//!
//! ```text
//! z_t = p_t (z_{t-1} + d_t (f_t - k y_{t-1})),   y_t = y_{t-1} + d_t z_t,   y_0 = z_0 = 0
//! ```
//!
//! `y` and `z` are the places and speeds of `width` oscillators of stiffness `k`, each in two copies (the real and the imaginary parts): `f` and `y` are `[batch, length, 2 width]`.
//! With `p = 1 / (1 + d^2 k)` a step is implicit, with `p = 1` explicit and symplectic, with `p = 1 / (1 + d g)` damped (T. K. Rusch, D. Rus, 2025; J. Boyer and others, 2025).
//! A step that stands *aside* makes its `y` from the state that it would lead to, but the step behind it goes on from the state before it.
//!
//! Reverse, from the gradient `w_t` of `y_t`: `Gy = w_t + gy`, `Gz = gz + d Gy`, `s = p Gz`; then `df = d s`, `gz = s`, `gy = Gy - d k s`. States are stored between the passes.

use ncde_simd::{Float as Number, Kernel, Simd, dispatch_for};
use rayon::prelude::*;

use crate::error::{finite, finite_gradients, finite_states, want, want_some};
use crate::{Error, Float};

/// In messages.
const NAME: &str = "oscillators";

/// The arrays of one call, the last index running fastest.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a, T> {
    /// How many series.
    pub batch: usize,
    /// How many steps.
    pub length: usize,
    /// `p`: `[width]`, or one row for each step, `[batch, length, width]`.
    pub p: &'a [T],
    /// `d`, shaped as `p`.
    pub step: &'a [T],
    /// `k`: `[width]`.
    pub stiffness: &'a [T],
    /// `f`: `[batch, length, 2 width]`.
    pub force: &'a [T],
    /// Which steps stand aside, `[batch, length]`; none without it.
    pub aside: Option<&'a [bool]>,
}

/// The gradient of a loss in each array of an [`Input`].
#[derive(Debug, Clone, PartialEq)]
pub struct Gradients<T> {
    /// In `p`.
    pub p: Vec<T>,
    /// In `d`.
    pub step: Vec<T>,
    /// In `k`.
    pub stiffness: Vec<T>,
    /// In `f`.
    pub force: Vec<T>,
}

impl<'a, T: Number> Input<'a, T> {
    fn width(&self) -> usize {
        self.stiffness.len()
    }

    /// `p` and `d` of a step.
    fn rates(&self, row: usize) -> [&'a [T]; 2] {
        let (width, rows) = (self.width(), self.p.len() / self.width());
        [self.p, self.step].map(|array| &array[row % rows * width..][..width])
    }

    fn check(&self, operation: &'static str) -> Result<(), Error> {
        let &Self { batch, length, p, step, stiffness, force, aside } = self;
        let (width, rows) = (self.width(), batch * length);
        want_some(operation, &[("size", batch), ("length", length), ("number of oscillators", width)])?;
        let each = if p.len() == width { width } else { rows * width };
        want(operation, "p", p.len(), each, || format!("{width} oscillators, or those of {rows} steps"))?;
        want(operation, "the steps", step.len(), p.len(), || "as many as of p".into())?;
        want(operation, "the force", force.len(), rows * 2 * width, || format!("batch {batch} x length {length} x 2 x {width}"))?;
        want(operation, "the list of steps aside", aside.map_or(rows, <[bool]>::len), rows, || "batch x length".into())?;
        for (what, array, numbers) in
            [("p", p, width), ("the steps", step, width), ("k", stiffness, width), ("the force", force, 2 * width)]
        {
            finite(operation, what, array, |i| format!("row {}, number {}", i / numbers, i % numbers))?;
        }
        Ok(())
    }
}

/// `y` of all steps, `[batch, length, 2 width]`, and the states before each, `[batch, length, 2, 2 width]`: places, then speeds.
///
/// ```
/// use ncde_kernels::oscillator::{Input, forward};
/// // Without stiffness a push of 1 for one step of 0.5 gives the speed 0.5, and places 0.25 and 0.5.
/// let input = Input { batch: 1, length: 2, p: &[1.0], step: &[0.5], stiffness: &[0.0], force: &[1.0, 0.0, 0.0, 0.0], aside: None };
/// assert_eq!(forward(&input)?.0, [0.25, 0.0, 0.5, 0.0]);
/// # Ok::<(), ncde_kernels::Error>(())
/// ```
///
/// # Errors
/// If an array has the wrong size or holds a number that is not finite, or if a state overflows.
pub fn forward<T: Float>(input: &Input<'_, T>) -> Result<(Vec<T>, Vec<T>), Error> {
    input.check("the recurrence of oscillators")?;
    let outputs = T::oscillator_forward(input);
    finite_states(NAME, &outputs.0, input.length, 2 * input.width())?;
    Ok(outputs)
}

/// The gradients of a loss, from its gradient in `y` and the states that [`forward`] gave.
///
/// # Errors
/// As for [`forward`], or if a gradient overflows.
pub fn backward<T: Float>(input: &Input<'_, T>, states: &[T], gradient: &[T]) -> Result<Gradients<T>, Error> {
    let operation = "the reverse pass of oscillators";
    input.check(operation)?;
    want(operation, "the array of states", states.len(), 2 * input.force.len(), || "batch x length x 2 x 2 width".into())?;
    want(operation, "the gradient", gradient.len(), input.force.len(), || "batch x length x 2 width".into())?;
    let gradients = T::oscillator_backward(input, states, gradient);
    let Gradients { p, step, stiffness, force } = &gradients;
    finite_gradients(NAME, input.batch, &[p, step, stiffness, force])?;
    Ok(gradients)
}

struct Forward<'a, T> {
    input: &'a Input<'a, T>,
    series: usize,
    places: &'a mut [T],
    states: &'a mut [T],
}

impl<T: Number> Kernel for Forward<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        let Self { input, series, places, states } = self;
        let width = input.width();
        let (mut y, mut z) = (vec![T::ZERO; 2 * width], vec![T::ZERO; 2 * width]);
        let rows = places.chunks_exact_mut(2 * width).zip(states.chunks_exact_mut(4 * width)).enumerate();
        for (t, (place, before)) in rows {
            let row = series * input.length + t;
            let ([p, d], force) = (input.rates(row), &input.force[row * 2 * width..][..2 * width]);
            before[..2 * width].copy_from_slice(&y);
            before[2 * width..].copy_from_slice(&z);
            let stands_aside = input.aside.is_some_and(|aside| aside[row]);
            for part in 0..2 {
                let of = part * width..(part + 1) * width;
                let (y, z) = (&mut y[of.clone()], &mut z[of.clone()]);
                let given = force[of.clone()].iter().zip(p).zip(d).zip(input.stiffness);
                for ((place, (y, z)), (((&f, &p), &d), &k)) in place[of].iter_mut().zip(y.iter_mut().zip(z)).zip(given) {
                    let speed = p * (*z + d * (f - k * *y));
                    *place = *y + d * speed;
                    if !stands_aside {
                        (*y, *z) = (*place, speed);
                    }
                }
            }
        }
    }
}

struct Backward<'a, T> {
    input: &'a Input<'a, T>,
    series: usize,
    states: &'a [T],
    gradient: &'a [T],
    force: &'a mut [T],
    /// Where each step has rates of its own.
    rates: [&'a mut [T]; 2],
}

impl<T: Number> Kernel for Backward<'_, T> {
    /// The gradients in `p` and `d`, where all steps share them, and in `k`.
    type Output = [Vec<T>; 3];
    #[inline(always)]
    fn run<S: Simd>(self, _: S) -> [Vec<T>; 3] {
        let Self { input, series, states, gradient, force, rates: [of_p, of_d] } = self;
        let width = input.width();
        let zeros = |count: usize| vec![T::ZERO; count];
        let (mut gy, mut gz) = (zeros(2 * width), zeros(2 * width));
        let mut sums = [zeros(width), zeros(width), zeros(width)];
        for t in (0..input.length).rev() {
            let row = series * input.length + t;
            let ([p, d], own) = (input.rates(row), &input.force[row * 2 * width..][..2 * width]);
            let (before, w) = (&states[t * 4 * width..][..4 * width], &gradient[t * 2 * width..][..2 * width]);
            let stands_aside = input.aside.is_some_and(|aside| aside[row]);
            for part in 0..2 {
                for i in 0..width {
                    let (at, k) = (part * width + i, input.stiffness[i]);
                    let (y, z, f) = (before[at], before[2 * width + at], own[at]);
                    let push = f - k * y;
                    let inside = z + d[i] * push;
                    let speed = p[i] * inside;
                    let (in_y, in_z) = if stands_aside { (w[at], T::ZERO) } else { (w[at] + gy[at], gz[at]) };
                    let in_speed = in_z + d[i] * in_y;
                    let s = p[i] * in_speed;
                    let of_rates = [in_speed * inside, in_y * speed + s * push];
                    if of_p.is_empty() {
                        sums[0][i] += of_rates[0];
                        sums[1][i] += of_rates[1];
                    } else {
                        of_p[t * width + i] += of_rates[0];
                        of_d[t * width + i] += of_rates[1];
                    }
                    sums[2][i] -= s * d[i] * y;
                    force[t * 2 * width + at] = s * d[i];
                    let (back_y, back_z) = (in_y - s * d[i] * k, s);
                    (gy[at], gz[at]) = if stands_aside { (gy[at] + back_y, gz[at] + back_z) } else { (back_y, back_z) };
                }
            }
        }
        sums
    }
}

/// The outputs; the input has been checked.
pub(crate) fn forward_all<T: Number>(input: &Input<'_, T>) -> (Vec<T>, Vec<T>) {
    let row = input.length * 2 * input.width();
    let (mut places, mut states) = (vec![T::ZERO; input.force.len()], vec![T::ZERO; 2 * input.force.len()]);
    let rows = places.par_chunks_exact_mut(row).zip(states.par_chunks_exact_mut(2 * row)).enumerate();
    rows.for_each(|(series, (places, states))| dispatch_for::<T, _>(Forward { input, series, places, states }));
    (places, states)
}

/// The gradients; the input has been checked.
pub(crate) fn backward_all<T: Number>(input: &Input<'_, T>, states: &[T], gradient: &[T]) -> Gradients<T> {
    let (width, row) = (input.width(), input.length * 2 * input.width());
    let are_shared = input.p.len() == width;
    let mut rates = [(); 2].map(|()| vec![T::ZERO; if are_shared { 0 } else { input.p.len() }]);
    let mut force = vec![T::ZERO; input.force.len()];
    let [p, d] = &mut rates;
    let work = force.par_chunks_exact_mut(row).zip(of_series(p, input.batch)).zip(of_series(d, input.batch)).enumerate();
    let sums: Vec<[Vec<T>; 3]> = work
        .map(|(series, ((force, p), d))| {
            let (states, gradient) = (&states[series * 2 * row..][..2 * row], &gradient[series * row..][..row]);
            dispatch_for::<T, _>(Backward { input, series, states, gradient, force, rates: [p, d] })
        })
        .collect();
    // Series are added in their order, whatever the number of threads.
    let total = |which: usize| {
        let mut total = vec![T::ZERO; width];
        sums.iter().for_each(|own| total.iter_mut().zip(&own[which]).for_each(|(total, &own)| *total += own));
        total
    };
    let [p, step] = if are_shared { [total(0), total(1)] } else { rates };
    Gradients { p, step, stiffness: total(2), force }
}

/// The part of each series; of nothing, an empty one for each.
fn of_series<T>(array: &mut [T], series: usize) -> Vec<&mut [T]> {
    if array.is_empty() {
        return (0..series).map(|_| Default::default()).collect();
    }
    array.chunks_exact_mut(array.len() / series).collect()
}
