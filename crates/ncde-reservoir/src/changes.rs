//! Memories of how a signal came to its present value: those of [`Legendre`] about that value.
//!
//! ```text
//! z = m - x e_0,      z <- e^{gA} z + (g phi_2(gA) B - e_0) (x_1 - x_0)
//! ```
//!
//! As `m = x e_0` for a signal that was always `x`, the level drops out: `z` is a Linear NCDE driven by `(t, x)` that sees increments alone. It is 0 in the beginning, forgets
//! what is older than its span, and does not know whether a signal that drifts has moved by one deviation or by a million.

use ncde_simd::{Kernel, Simd, dispatch};

use crate::legendre::Legendre;
use crate::memory::{Flows, padded};

/// Memories of some spans, for signals side by side.
#[derive(Debug, Clone)]
pub struct Changes {
    legendre: Legendre,
    spans: Vec<f64>,
    channels: usize,
}

/// Working memory of one thread.
#[derive(Debug, Clone, Default)]
pub struct ChangesScratch {
    flows: Vec<Flows>,
    moved: Vec<f32>,
    next: Vec<f32>,
}

impl Changes {
    /// Of this order, over these spans, for so many channels.
    pub fn new(order: usize, spans: Vec<f64>, channels: usize) -> Self {
        Self { legendre: Legendre::new(order), spans, channels }
    }

    /// How many numbers are kept.
    pub fn state(&self) -> usize {
        self.spans.len() * self.size()
    }

    /// How many features there are: `[spans, order, channels]`.
    pub fn features(&self) -> usize {
        self.spans.len() * self.legendre.order() * self.channels
    }

    fn size(&self) -> usize {
        self.legendre.order() * padded(self.channels)
    }

    /// Takes what each channel changed by over a gap of time.
    pub fn push(&self, state: &mut [f32], gap: f64, changes: impl Iterator<Item = f32>, scratch: &mut ChangesScratch) {
        let ChangesScratch { flows, moved, next } = scratch;
        flows.resize_with(self.spans.len(), Flows::default);
        moved.clear();
        moved.extend(changes);
        moved.resize(padded(self.channels), 0.0);
        next.resize(self.size(), 0.0);
        for ((own, span), flows) in state.chunks_exact_mut(self.size().max(1)).zip(&self.spans).zip(flows) {
            let flow = flows.over(&self.legendre, gap / span);
            dispatch(Change { state: &flow.state, change: &flow.change, from: own, moved, to: next });
            own.copy_from_slice(next);
        }
    }

    /// The features.
    pub fn read(&self, state: &[f32], out: &mut Vec<f32>) {
        let width = padded(self.channels);
        state.chunks_exact(width.max(1)).for_each(|row| out.extend(&row[..self.channels]));
    }
}

/// One row of one span: `[order, width]` from and to.
struct Change<'a> {
    state: &'a [f32],
    change: &'a [f32],
    from: &'a [f32],
    moved: &'a [f32],
    to: &'a mut [f32],
}

impl Kernel for Change<'_> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let q = self.change.len();
        let (from, _) = S::as_simd_f32s(self.from);
        let (moved, _) = S::as_simd_f32s(self.moved);
        let (to, _) = S::as_mut_simd_f32s(self.to);
        let width = moved.len();
        for (l, &dx) in moved.iter().enumerate() {
            for i in 0..q {
                let present = if i == 0 { 1.0 } else { 0.0 };
                let mut sum = simd.mul_f32s(simd.splat_f32s(self.change[i] - present), dx);
                for (j, &entry) in self.state[i * q..(i + 1) * q].iter().enumerate() {
                    sum = simd.mul_add_e_f32s(simd.splat_f32s(entry), from[j * width + l], sum);
                }
                to[i * width + l] = sum;
            }
        }
    }
}
