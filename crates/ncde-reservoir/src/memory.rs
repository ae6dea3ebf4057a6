//! Legendre memories of several signals in vector registers, a few rows at a time.
//!
//! A row advances `m` over its gap (see [`Legendre`]). A series starts as if its first value had always been there: `m = x e_0`.

use ncde_simd::kernel;

use crate::legendre::{Flow, Legendre};
use crate::responses::Rows;

/// The number of signals in a group.
pub(crate) const LANES: usize = 16;

/// The number of rows whose memories are computed before they are pooled, so that they stay in the first-level cache.
pub(crate) const CHUNK: usize = 32;

/// The order for which the loops are unrolled: that of most models.
pub(crate) const UNROLLED_ORDER: usize = 9;

/// The number of signals rounded up to whole groups.
pub(crate) fn padded(signals: usize) -> usize {
    signals.next_multiple_of(LANES)
}

/// Rounds a gap to about six digits, so that nearly regular times share a flow. It depends on the gap alone: otherwise a result would depend on
/// earlier rows.
pub(crate) fn rounded(gap: f64) -> f64 {
    f64::from_bits((gap.to_bits() + (1 << 31)) & !((1 << 32) - 1))
}

/// The last flow of one span: most series are regular, so the next gap usually needs it again.
#[derive(Debug, Clone, Default)]
pub(crate) struct FlowCache {
    gap: f64,
    flow: Flow,
}

impl FlowCache {
    /// The flow over a gap of time, for a span.
    pub(crate) fn over(&mut self, legendre: &Legendre, gap: f64) -> &Flow {
        let gap = rounded(gap);
        if gap != self.gap || self.flow.state.is_empty() {
            *self = Self { gap, flow: legendre.flow(gap) };
        }
        &self.flow
    }
}

kernel! {
    /// Advances memories `[q + 1, width]`, whose last row is the signals themselves, over a gap to new signals.
    call fn advance<'a, S: Simd>(simd: S, flow: &'a Flow, from: &'a [f32], signals: &'a [f32], to: &'a mut [f32]) {
        let (q, width) = (flow.value.len(), signals.len());
        let (from, _) = S::as_simd_f32s(from);
        let (signals, _) = S::as_simd_f32s(signals);
        let (to, _) = S::as_mut_simd_f32s(to);
        let width = width / S::F32_LANES;
        for l in 0..width {
            let (x0, x1) = (from[q * width + l], signals[l]);
            let change = simd.sub_f32s(x1, x0);
            let start = |i: usize| {
                let held = simd.mul_f32s(simd.splat_f32s(flow.value[i]), x0);
                simd.mul_add_e_f32s(simd.splat_f32s(flow.change[i]), change, held)
            };
            let entries = flow.state.chunks_exact(q.max(1));
            if q == UNROLLED_ORDER {
                // The memory fits the registers, and the loop is unrolled.
                let memory: [S::f32s; UNROLLED_ORDER] = std::array::from_fn(|j| from[j * width + l]);
                for (i, entries) in entries.enumerate() {
                    let mut sum = start(i);
                    for j in 0..UNROLLED_ORDER {
                        sum = simd.mul_add_e_f32s(simd.splat_f32s(entries[j]), memory[j], sum);
                    }
                    to[i * width + l] = sum;
                }
            } else {
                for (i, entries) in entries.enumerate() {
                    let terms = entries.iter().zip(from[l..].iter().step_by(width));
                    let sum = terms.fold(start(i), |sum, (&entry, &m)| simd.mul_add_e_f32s(simd.splat_f32s(entry), m, sum));
                    to[i * width + l] = sum;
                }
            }
            to[q * width + l] = x1;
        }
    }
}

kernel! {
    /// `y = W^T x`: signals from the channels of one row, with `W` `[channels, width]`.
    call fn mix<'a, S: Simd>(simd: S, weights: &'a [f32], row: &'a [f32], signals: &'a mut [f32]) {
        let (signals, _) = S::as_mut_simd_f32s(signals);
        let (weights, _) = S::as_simd_f32s(weights);
        let width = signals.len();
        for (l, signal) in signals.iter_mut().enumerate() {
            let mut sum = simd.splat_f32s(0.0);
            for (c, &x) in row.iter().enumerate() {
                sum = simd.mul_add_e_f32s(simd.splat_f32s(x), weights[c * width + l], sum);
            }
            *signal = sum;
        }
    }
}

kernel! {
    /// Memories of mixtures, `[rows, width]`, from those of `channels`, `[rows, registers of channels]`, with `W` `[channels, width]`.
    pub(crate) dispatch fn mix_memories<'a, S: Simd>(
        simd: S,
        weights: &'a [f32],
        memories: &'a [f32],
        channels: usize,
        out: &'a mut [f32],
    ) {
        let (from, to) = (padded(channels).max(1), (weights.len() / channels.max(1)).max(1));
        for (memory, out) in memories.chunks_exact(from).zip(out.chunks_exact_mut(to)) {
            mix(simd, weights, &memory[..channels], out);
        }
    }
}

/// Working memory of one thread for the memories of a series.
#[derive(Debug, Clone, Default)]
pub(crate) struct MemoryScratch {
    flows: Vec<FlowCache>,
    gaps: Vec<f64>,
    signals: Vec<f32>,
    /// The memories before and after each of the last rows, `[rows + 1, q + 1, width]`.
    pub(crate) memories: Vec<f32>,
}

impl MemoryScratch {
    /// Advances the memories of span `s`, `[q + 1, signals]`, over a few rows; those after each are in `memories`. With `weights`, `[channels, width]`, signals are mixtures
    /// of channels; without, each channel is a signal.
    pub(crate) fn advance(
        &mut self,
        legendre: &Legendre,
        (spans, s): (&[f64], usize),
        weights: Option<&[f32]>,
        rows: Rows<'_>,
        memory: &mut [f32],
    ) {
        let (n, orders) = (rows.gaps.len(), legendre.order() + 1);
        let count = memory.len() / orders;
        let width = padded(count);
        let size = orders * width;
        self.flows.resize_with(spans.len().max(self.flows.len()), FlowCache::default);
        self.signals.clear();
        self.signals.resize(width, 0.0);
        self.memories.resize((CHUNK.max(n) + 1) * size, 0.0);
        // In between memories are in whole registers, whose rest is 0.
        let stored = || memory.chunks_exact(count.max(1));
        self.memories[..size].fill(0.0);
        self.memories.chunks_exact_mut(width.max(1)).zip(stored()).for_each(|(wide, row)| wide[..count].copy_from_slice(row));
        self.gaps.clear();
        self.gaps.extend(rows.gaps.iter().map(|gap| gap / spans[s]));
        let Self { flows, gaps, signals, memories } = self;
        update_memories(legendre, gaps, &mut flows[s], weights, rows, signals, memories);
        let last = memories[n * size..].chunks_exact(width.max(1));
        memory.chunks_exact_mut(count.max(1)).zip(last).for_each(|(row, wide)| row.copy_from_slice(&wide[..count]));
    }
}

kernel! {
    /// The memories after each of a few rows, with gaps in units of the span: `out` is `[rows + 1, q + 1, width]`, and its first entry holds the
    /// initial memories.
    dispatch fn update_memories<'a, S: Simd>(
        simd: S,
        legendre: &'a Legendre,
        gaps: &'a [f64],
        flows: &'a mut FlowCache,
        weights: Option<&'a [f32]>,
        rows: Rows<'a>,
        signals: &'a mut [f32],
        out: &'a mut [f32],
    ) {
        let (q, width) = (legendre.order(), signals.len());
        let size = (q + 1) * width;
        let channels = rows.values.len() / gaps.len().max(1);
        for (k, &gap) in gaps.iter().enumerate() {
            let row = &rows.values[k * channels..(k + 1) * channels];
            match weights {
                Some(weights) => mix(simd, weights, row, signals),
                None => signals[..channels].copy_from_slice(row),
            }
            let (from, to) = out[k * size..(k + 2) * size].split_at_mut(size);
            if rows.first && k == 0 {
                to.fill(0.0);
                to[..width].copy_from_slice(signals);
                to[q * width..].copy_from_slice(signals);
            } else {
                advance(simd, flows.over(legendre, gap), from, signals, to);
            }
        }
    }
}
