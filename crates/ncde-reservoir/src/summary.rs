//! A summary of a series: the memories of each channel at its end, and running means, deviations and extremes.
//!
//! ```text
//! features = ( m of each channel and span, x;  mean m of the longest span,  mean x,  deviation of x,  sum |dx| / W,  max x,  min x,  time since the start;
//!              x - x_0,  A_ij for i < j;  increments over windows of the horizon;  words of the signature )          A_ij <- rho A_ij + ((x_i - x_0i) dx_j - (x_j - x_0j) dx_i) / 2
//! ```
//!
//! Increments and signed areas are the log-signature of depth 2 of the path so far.
//!
//! Means are over time and fade beyond the horizon as pooled responses do; extremes then move back to the mean at the same rate.

use serde::{Deserialize, Serialize};

use crate::legendre::Legendre;
use crate::memory::{CHUNK, MemoryScratch, padded};
use crate::pool::{RowWeight, row_weight};
use crate::responses::Rows;
use crate::{windows, words};

/// The memories and the features of a summary. Times are in units of the horizon.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SummaryShape {
    /// The order of the memories, `q`.
    pub order: usize,
    /// The spans, the longest last.
    pub spans: Vec<f64>,
    /// Whether the memories at the end are features.
    pub memories: bool,
    /// Whether means, deviations and extremes are features.
    pub moments: bool,
    /// The number of leading channels whose increments and signed areas are features.
    #[serde(default)]
    pub areas: usize,
    /// The number of windows of the horizon whose increments are features; 0 for none.
    #[serde(default)]
    pub windows: usize,
    /// The depth of the signature whose words are features; 0 for none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub depth: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde asks for")]
fn is_zero(depth: &usize) -> bool {
    *depth == 0
}

impl SummaryShape {
    /// The numbers of features of memories, of moments, of areas, of windows and of words.
    pub fn features(&self, channels: usize) -> [usize; 5] {
        let memories = self.order * channels;
        [
            if self.memories { self.spans.len() * memories + channels } else { 0 },
            if self.moments { memories + 5 * channels + 1 } else { 0 },
            self.areas + pairs(self.areas),
            windows::features(self.windows) * channels,
            words::count(channels, self.depth),
        ]
    }
}

/// The number of pairs of channels.
fn pairs(channels: usize) -> usize {
    channels.saturating_mul(channels.saturating_sub(1)) / 2
}

/// The memories and moments of channels.
#[derive(Debug, Clone)]
pub struct Summary {
    shape: SummaryShape,
    channels: usize,
    legendre: Legendre,
}

/// Working memory of one thread.
#[derive(Debug, Clone, Default)]
pub struct SummaryScratch {
    memory: MemoryScratch,
    moved: Vec<f32>,
}

/// Moments: mean, sum of squares about it, variation, maximum, minimum, the last value.
const MOMENTS: usize = 6;

impl Summary {
    /// For rows of `channels` numbers.
    pub fn new(shape: SummaryShape, channels: usize) -> Self {
        Self { legendre: Legendre::new(shape.order), shape, channels }
    }

    /// The numbers of the memories of a span.
    fn size(&self) -> usize {
        (self.legendre.order() + 1) * self.channels
    }

    /// The size of the state of a series: the time since the start and the weight of all rows, memories, their mean, moments, areas, increments, words.
    pub fn state(&self) -> usize {
        if self.is_empty() {
            return 0;
        }
        let areas = self.shape.areas + pairs(self.shape.areas);
        let others = areas + self.shape.windows * self.channels + words::count(self.channels, self.shape.depth);
        2 + (self.shape.spans.len() + 1) * self.size() + MOMENTS * self.channels + others
    }

    /// Whether there are no features, so that no state is needed.
    fn is_empty(&self) -> bool {
        self.shape.features(self.channels) == [0; 5]
    }

    /// Updates the state with a few rows.
    pub fn push(&self, state: &mut [f32], rows: Rows<'_>, scratch: &mut SummaryScratch) {
        if self.is_empty() {
            return;
        }
        let (n, c, size) = (rows.gaps.len(), self.channels, self.size());
        let wide = (self.legendre.order() + 1) * padded(c);
        for from in (0..n).step_by(CHUNK) {
            let to = n.min(from + CHUNK);
            let part = rows.part(from, to, c);
            let (head, rest) = state.split_at_mut(2);
            let (memories, rest) = rest.split_at_mut(self.shape.spans.len() * size);
            for (s, memory) in memories.chunks_exact_mut(size).enumerate() {
                scratch.memory.advance(&self.legendre, (&self.shape.spans, s), None, part, memory);
            }
            // `scratch.memory` still holds the memories of the last span, the longest, after each row.
            let (mean, rest) = rest.split_at_mut(size);
            let (moments, areas) = rest.split_at_mut(MOMENTS * c);
            let (origin, areas) = areas.split_at_mut(self.shape.areas);
            let (areas, increments) = areas.split_at_mut(pairs(self.shape.areas));
            let (increments, words) = increments.split_at_mut(self.shape.windows * c);
            for k in from..to {
                let row = &rows.values[k * c..(k + 1) * c];
                let first = rows.first && k == 0;
                let before = head[1];
                let RowWeight { weight, fade } = row_weight(&mut head[1], if first { 0.0 } else { rows.gaps[k] });
                // The update of a weighted mean and of the squares about it (West, 1979): the difference of mean squares would be mostly rounding
                // error where a channel hardly moves.
                let share = if head[1] > 0.0 { weight / head[1] } else { 1.0 };
                let older = before * fade;
                head[0] = rows.since[k].min(1.0) as f32;
                if first {
                    origin.copy_from_slice(&row[..origin.len()]);
                }
                // The moments still hold the last values.
                let last = |i: usize| if first { row[i] } else { moments[i * MOMENTS + MOMENTS - 1] };
                let mut pair = 0;
                for i in 0..origin.len() {
                    let (at, moved) = (last(i) - origin[i], row[i] - last(i));
                    for j in i + 1..origin.len() {
                        let swept = at * (row[j] - last(j)) - (last(j) - origin[j]) * moved;
                        areas[pair] = areas[pair] * fade + 0.5 * swept;
                        pair += 1;
                    }
                }
                if self.shape.windows > 0 && !first {
                    let passed = [rows.since[k] - rows.gaps[k], rows.since[k]];
                    windows::add(increments, self.shape.windows, passed, (0..c).map(|i| row[i] - last(i)));
                }
                if self.shape.depth > 0 {
                    scratch.moved.clear();
                    scratch.moved.extend((0..c).map(|i| row[i] - last(i)));
                    words::push(words, &scratch.moved, self.shape.depth, fade);
                }
                // Without spans there are no memories, and their mean stays 0.
                let after = if self.shape.spans.is_empty() { 0..0 } else { (k - from + 1) * wide..(k - from + 2) * wide };
                let memory = scratch.memory.memories[after].chunks_exact(padded(c).max(1)).flat_map(|row| &row[..c]);
                mean.iter_mut().zip(memory).for_each(|(mean, m)| *mean = *mean * fade + weight * m);
                for (channel, &x) in moments.chunks_exact_mut(MOMENTS).zip(row) {
                    let [mean, squares, variation, most, least, last] = channel else { continue };
                    if first {
                        (*mean, *most, *least, *last) = (x, x, x, x);
                    }
                    let away = x - *mean;
                    *mean += share * away;
                    *squares = *squares * fade + older * share * away * away;
                    *variation = *variation * fade + (x - *last).abs();
                    *last = x;
                    if fade < 1.0 {
                        *most = *mean + (*most - *mean) * fade;
                        *least = *mean + (*least - *mean) * fade;
                    }
                    *most = most.max(x);
                    *least = least.min(x);
                }
            }
        }
    }

    /// Appends the features of a series to `out`: memories, moments, areas, windows, words.
    pub fn read(&self, state: &[f32], out: &mut Vec<f32>) {
        if self.is_empty() {
            return;
        }
        let (c, q, size) = (self.channels, self.legendre.order(), self.size());
        let (head, rest) = state.split_at(2);
        let (memories, rest) = rest.split_at(self.shape.spans.len() * size);
        let (mean, moments) = rest.split_at(size);
        let total = head[1];
        for memory in memories.chunks_exact(size).filter(|_| self.shape.memories) {
            out.extend(&memory[..q * c]);
        }
        if self.shape.memories {
            out.extend(&memories[q * c..(q + 1) * c]);
        }
        if self.shape.moments {
            let per = |x: f32, otherwise: f32| if total > 0.0 { x / total } else { otherwise };
            let longest = &memories[memories.len().saturating_sub(size)..];
            out.extend(mean.iter().zip(longest).take(q * c).map(|(&mean, &last)| per(mean, last)));
            for channel in moments.chunks_exact(MOMENTS).take(c) {
                let &[mean, squares, variation, most, least, _] = channel else { continue };
                out.extend([mean, per(squares, 0.0).sqrt(), per(variation, 0.0), most, least]);
            }
            out.push(head[0]);
        }
        let (moments, areas) = moments.split_at(MOMENTS * c);
        let (origin, areas) = areas.split_at(self.shape.areas);
        out.extend(origin.iter().zip(moments.chunks_exact(MOMENTS)).map(|(origin, channel)| channel[MOMENTS - 1] - origin));
        let (areas, increments) = areas.split_at(pairs(self.shape.areas));
        out.extend(areas);
        let (increments, words) = increments.split_at(self.shape.windows * c);
        windows::read(increments, self.shape.windows, out);
        out.extend(words);
    }
}
