//! One step of one small block, in the registers of one unit.
//!
//! ```text
//! x <- exp(M) x + phi_1(M) beta = x + w_1 + w_2 + ...,   w_1 = M x + beta,   w_j = M w_{j-1} / j
//! ```
//!
//! in `s` stages of `M / s` where the norm of `M` is large; `I + M` is the first term alone. In reverse, from `lambda`, the gradient in
//! the new `x`, with the terms `w_j` at hand:
//!
//! ```text
//! v_m = lambda,   dM += v_j w_{j-1}^T / j,   v_{j-1} = lambda + M^T v_j / j,   dbeta = v_1,   dx = v_0
//! ```

use cubecl::prelude::*;

use crate::flow::Flow;
use crate::kernel::unit::{add, copy, fill};

/// The most terms of the series, and the largest norm they serve: with this one, terms left out are below half a unit of rounding, also in
/// derivatives.
pub(crate) const TERMS: usize = 10;
pub(crate) const REACH: f32 = 0.8;
/// Terms are taken until the next is below this.
pub(crate) const SMALL: f32 = 2e-8;
/// The largest norm of a generator: beyond it a state has overflowed. It becomes NaN, which is noticed.
pub(crate) const MAX_NORM: f32 = 256.0;
/// Below this, `phi_1` of a number and its derivative are summed, as on the processor: their closed forms would cancel. At 0.4 that of the derivative has nine times the error of `exp`.
const SERIES: f32 = 1.0;

/// `exp(M) x + phi_1(M) beta` or `(I + M) x + beta` in place.
#[cube]
pub(crate) fn advance(m: &Array<f32>, x: &mut Array<f32>, beta: &Array<f32>, #[comptime] b: usize, #[comptime] flow: Flow) {
    if comptime!(!flow.exact) {
        let mut w = Array::<f32>::new(b);
        copy(x, &mut w, b);
        #[unroll]
        for r in 0..b {
            let mut sum = w[r];
            #[unroll]
            for c in 0..b {
                sum += m[r * b + c] * w[c];
            }
            x[r] = sum;
        }
    } else if comptime!(b == 1) {
        x[0] *= f32::exp(m[0]);
        if comptime!(flow.is_inside()) {
            x[0] += phi(m[0]) * beta[0];
        }
    } else {
        let norm = norm(m, b);
        let stages = stages(norm);
        for _ in 0..stages {
            stage(m, x, beta, 1.0 / f32::cast_from(stages), norm, b, flow);
        }
        x[0] += overflow(norm);
    }
    if comptime!(flow.is_affine() && !flow.is_inside()) {
        add(x, beta, b);
    }
}

/// One stage of the series in place.
#[cube]
fn stage(
    m: &Array<f32>,
    x: &mut Array<f32>,
    beta: &Array<f32>,
    part: f32,
    norm: f32,
    #[comptime] b: usize,
    #[comptime] flow: Flow,
) {
    let mut w = Array::<f32>::new(b);
    let mut next = Array::<f32>::new(b);
    copy(x, &mut w, b);
    let mut left = f32::new(1.0);
    #[unroll]
    for j in 1..comptime!(TERMS + 1) {
        if left > SMALL {
            let factor = part / f32::cast_from(comptime!(j as u32));
            #[unroll]
            for r in 0..b {
                let mut sum = f32::new(0.0);
                #[unroll]
                for c in 0..b {
                    sum += m[r * b + c] * w[c];
                }
                next[r] = factor * sum;
            }
            #[unroll]
            for r in 0..b {
                w[r] = next[r];
                if comptime!(flow.is_inside() && j == 1) {
                    w[r] += part * beta[r];
                }
                x[r] += w[r];
            }
            if comptime!(j > 1 || !flow.is_inside()) {
                left *= factor * norm;
            }
        }
    }
}

/// The gradients of [`advance`]: of `lambda` in place, in `M` and in `beta`. `x` is the state before the step.
#[cube]
pub(crate) fn reverse(
    m: &Array<f32>,
    x: &Array<f32>,
    beta: &Array<f32>,
    lambda: &mut Array<f32>,
    dm: &mut Array<f32>,
    dbeta: &mut Array<f32>,
    #[comptime] b: usize,
    #[comptime] flow: Flow,
) {
    if comptime!(flow.is_affine()) {
        copy(lambda, dbeta, b);
    }
    if comptime!(!flow.exact) {
        let mut v = Array::<f32>::new(b);
        #[unroll]
        for r in 0..b {
            v[r] = lambda[r];
            #[unroll]
            for c in 0..b {
                dm[r * b + c] = lambda[r] * x[c];
            }
        }
        #[unroll]
        for c in 0..b {
            let mut sum = v[c];
            #[unroll]
            for r in 0..b {
                sum += m[r * b + c] * v[r];
            }
            lambda[c] = sum;
        }
    } else if comptime!(b == 1) {
        let e = f32::exp(m[0]);
        dm[0] = lambda[0] * e * x[0];
        if comptime!(flow.is_inside()) {
            dm[0] += lambda[0] * phi_slope(m[0]) * beta[0];
            dbeta[0] = phi(m[0]) * lambda[0];
        }
        lambda[0] *= e;
    } else {
        let norm = norm(m, b);
        let stages = stages(norm);
        let part = 1.0 / f32::cast_from(stages);
        fill(dm, f32::new(0.0), comptime!(b * b));
        if comptime!(flow.is_inside()) {
            fill(dbeta, f32::new(0.0), b);
        }
        let mut h = Array::<f32>::new(b);
        for i in 0..stages {
            copy(x, &mut h, b);
            // The state before this stage. Stages are few, and storing their states would take registers from every step.
            for _ in 0..stages - 1 - i {
                stage(m, &mut h, beta, part, norm, b, flow);
            }
            stage_reverse(m, &h, beta, lambda, dm, dbeta, part, norm, b, flow);
        }
    }
}

/// The gradients of [`stage`], added to `dm` and `dbeta`.
#[cube]
fn stage_reverse(
    m: &Array<f32>,
    x: &Array<f32>,
    beta: &Array<f32>,
    lambda: &mut Array<f32>,
    dm: &mut Array<f32>,
    dbeta: &mut Array<f32>,
    part: f32,
    norm: f32,
    #[comptime] b: usize,
    #[comptime] flow: Flow,
) {
    // w_0, ..., w_{m-1}.
    let mut w = Array::<f32>::new(comptime!(TERMS * b));
    copy(x, &mut w, b);
    let mut terms = 1u32;
    let mut left = part * norm;
    #[unroll]
    for j in 1..TERMS {
        // A derivative loses a power, and so does phi_1.
        if left > SMALL || comptime!(j == 1 || (j == 2 && flow.is_inside())) {
            let factor = part / f32::cast_from(comptime!(j as u32));
            #[unroll]
            for r in 0..b {
                let mut sum = f32::new(0.0);
                #[unroll]
                for c in 0..b {
                    sum += m[r * b + c] * w[(j - 1) * b + c];
                }
                let mut value = factor * sum;
                if comptime!(flow.is_inside() && j == 1) {
                    value += part * beta[r];
                }
                w[j * b + r] = value;
            }
            terms = comptime!(j as u32 + 1);
            if comptime!(j > 1) {
                left *= factor * norm;
            }
        }
    }
    let mut v = Array::<f32>::new(b);
    let mut next = Array::<f32>::new(b);
    copy(lambda, &mut v, b);
    #[unroll]
    for k in 0..TERMS {
        let j = comptime!(TERMS - k);
        if terms >= comptime!(j as u32) {
            let factor = part / f32::cast_from(comptime!(j as u32));
            #[unroll]
            for c in 0..b {
                let mut sum = f32::new(0.0);
                #[unroll]
                for r in 0..b {
                    sum += m[r * b + c] * v[r];
                    dm[r * b + c] += factor * v[r] * w[comptime!((j - 1) * b) + c];
                }
                next[c] = lambda[c] + factor * sum;
            }
            if comptime!(j == 1 && flow.is_inside()) {
                #[unroll]
                for r in 0..b {
                    dbeta[r] += part * v[r];
                }
            }
            copy(&next, &mut v, b);
        }
    }
    copy(&v, lambda, b);
}

/// The largest sum of absolute values in a row or, if that is less, in a column.
#[cube]
fn norm(m: &Array<f32>, #[comptime] b: usize) -> f32 {
    let mut rows = f32::new(0.0);
    let mut columns = f32::new(0.0);
    #[unroll]
    for i in 0..b {
        let mut row = f32::new(0.0);
        let mut column = f32::new(0.0);
        #[unroll]
        for k in 0..b {
            row += f32::abs(m[i * b + k]);
            column += f32::abs(m[k * b + i]);
        }
        rows = max(rows, row);
        columns = max(columns, column);
    }
    // Both bound the powers that occur, of the matrix and of its transpose.
    max(rows, columns)
}

/// How many stages a norm takes. None beyond [`MAX_NORM`].
#[cube]
fn stages(norm: f32) -> u32 {
    let mut stages = u32::cast_from(norm / REACH) + 1u32;
    if norm > MAX_NORM {
        stages = 0u32;
    }
    stages
}

/// NaN where the norm is beyond [`MAX_NORM`], else 0.
#[cube]
pub(crate) fn overflow(norm: f32) -> f32 {
    let mut value = f32::new(0.0);
    if norm > MAX_NORM {
        value = f32::new(0.0) / (norm - norm);
    }
    value
}

/// What is left of the series after a term. `phi_1` loses a power to the exponential: its first term leaves as much as there was.
#[cube]
pub(crate) fn shrunk(left: f32, factor: f32, is_first: bool, #[comptime] inside: bool) -> f32 {
    let mut next = left * factor;
    if comptime!(inside) {
        if is_first {
            next = left;
        }
    }
    next
}

/// `phi_1(x) = (exp(x) - 1) / x`.
#[cube]
fn phi(x: f32) -> f32 {
    // Horner: 1 + x/2 (1 + x/3 (1 + ...)).
    let mut value = f32::new(1.0);
    #[unroll]
    for k in 0..11usize {
        value = 1.0 + value * x / f32::cast_from(comptime!(12 - k as u32));
    }
    if f32::abs(x) >= SERIES {
        value = (f32::exp(x) - 1.0) / x;
    }
    value
}

/// The derivative of `phi_1`, `(exp(x) - phi_1(x)) / x = sum_k x^k / (k! (k + 2))`.
#[cube]
fn phi_slope(x: f32) -> f32 {
    let mut value = f32::new(0.0);
    if f32::abs(x) < SERIES {
        let mut power = f32::new(1.0);
        #[unroll]
        for k in 0..12usize {
            value += power / f32::cast_from(comptime!(k as u32 + 2));
            power *= x / f32::cast_from(comptime!(k as u32 + 1));
        }
    } else {
        value = (f32::exp(x) - phi(x)) / x;
    }
    value
}
