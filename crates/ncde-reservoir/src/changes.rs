//! Legendre memories relative to the present value of a signal.
//!
//! ```text
//! z = m - x e_0,      z <- e^{gA} z + (g phi_2(gA) B - e_0) (x_1 - x_0)
//! ```
//!
//! A constant signal `x` has the memory `m = x e_0`, so `z` does not depend on the level: it is a Linear NCDE driven by the increments of
//! `(t, x)`. It starts at 0, forgets what is older than its span, and stays small for a signal that drifts far.

use ncde_simd::kernel;

use crate::legendre::{Flow, Legendre};
use crate::memory::{FlowCache, padded};

/// Memories of several channels over several spans.
#[derive(Debug, Clone)]
pub struct Changes {
    legendre: Legendre,
    spans: Vec<f64>,
    channels: usize,
}

/// Working memory of one thread.
#[derive(Debug, Clone, Default)]
pub struct ChangesScratch {
    flows: Vec<FlowCache>,
    moved: Vec<f32>,
    next: Vec<f32>,
}

impl Changes {
    /// Memories of this order over these spans.
    pub fn new(order: usize, spans: Vec<f64>, channels: usize) -> Self {
        Self { legendre: Legendre::new(order), spans, channels }
    }

    /// The size of the state.
    pub fn state(&self) -> usize {
        self.spans.len() * self.size()
    }

    /// The number of features: `[spans, order, channels]`.
    pub fn features(&self) -> usize {
        self.spans.len() * self.legendre.order() * self.channels
    }

    fn size(&self) -> usize {
        self.legendre.order() * padded(self.channels)
    }

    /// Updates the state with the change of each channel over a gap of time.
    pub fn push(&self, state: &mut [f32], gap: f64, changes: impl Iterator<Item = f32>, scratch: &mut ChangesScratch) {
        let ChangesScratch { flows, moved, next } = scratch;
        flows.resize_with(self.spans.len(), FlowCache::default);
        moved.clear();
        moved.extend(changes);
        moved.resize(padded(self.channels), 0.0);
        next.resize(self.size(), 0.0);
        for ((memory, span), cache) in state.chunks_exact_mut(self.size().max(1)).zip(&self.spans).zip(flows) {
            update(cache.over(&self.legendre, gap / span), memory, moved, next);
            memory.copy_from_slice(next);
        }
    }

    /// Appends the features to `out`.
    pub fn read(&self, state: &[f32], out: &mut Vec<f32>) {
        let width = padded(self.channels);
        state.chunks_exact(width.max(1)).for_each(|row| out.extend(&row[..self.channels]));
    }
}

kernel! {
    /// The update of one span, `[order, width]`.
    dispatch fn update<'a, S: Simd>(simd: S, flow: &'a Flow, from: &'a [f32], moved: &'a [f32], to: &'a mut [f32]) {
        let q = flow.change.len();
        let (from, _) = S::as_simd_f32s(from);
        let (moved, _) = S::as_simd_f32s(moved);
        let (to, _) = S::as_mut_simd_f32s(to);
        let width = moved.len();
        for (l, &dx) in moved.iter().enumerate() {
            for i in 0..q {
                let present = if i == 0 { 1.0 } else { 0.0 };
                let mut sum = simd.mul_f32s(simd.splat_f32s(flow.change[i] - present), dx);
                for (j, &entry) in flow.state[i * q..(i + 1) * q].iter().enumerate() {
                    sum = simd.mul_add_e_f32s(simd.splat_f32s(entry), from[j * width + l], sum);
                }
                to[i * width + l] = sum;
            }
        }
    }
}
