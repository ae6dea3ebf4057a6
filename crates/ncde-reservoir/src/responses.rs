//! Pooled responses: random functionals of the memories of random mixtures of channels, pooled over time.
//!
//! ```text
//! u = W^T x,    m' = (A m + B u) / theta,    r = taps (m, u),    features = pools of r over time above thresholds
//! ```

use ncde_simd::dispatch;
use serde::{Deserialize, Serialize};

use crate::fold::{Fold, FoldRows, is_linear};
use crate::legendre::Legendre;
use crate::memory::{CHUNK, MemoryScratch, mix_memories, padded};
use crate::pool::{CUTS, LANES, PoolAll, Pooling, RowWeight, StoredSums, read_pool, respond, row_weight};

/// Responses whose functionals are drawn in the same way; a group is 16 responses on one signal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Family {
    /// The number of groups for each span.
    pub groups: usize,
    /// The pools of each response.
    pub pools: Vec<Pooling>,
}

/// The sizes of pooled responses. Times are in units of the horizon.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shape {
    /// The order of the memory, `q`.
    pub order: usize,
    /// The spans.
    pub spans: Vec<f64>,
    /// Every other group of a family starts pooling only after its span, or after this time if that is less.
    pub delay: f64,
    /// The families of responses.
    pub families: Vec<Family>,
}

impl Shape {
    /// The number of groups of a span.
    pub fn groups(&self) -> usize {
        self.families.iter().map(|family| family.groups).sum()
    }

    /// The number of features.
    pub fn features(&self) -> usize {
        let per_span = |family: &Family| family.groups * family.pools.len();
        self.spans.len() * self.families.iter().map(per_span).sum::<usize>() * CUTS * LANES
    }

    /// When pooling starts, for groups without a delay (0) and with one (1).
    fn delay(&self, span: usize, delayed: usize) -> f64 {
        if delayed == 0 { 0.0 } else { self.spans[span].min(self.delay) }
    }
}

/// The weights of pooled responses: mixtures, functionals and thresholds.
#[derive(Debug, Clone)]
pub struct Responses {
    shape: Shape,
    channels: usize,
    legendre: Legendre,
    /// `[spans, channels, width]`, where width is the number of groups of a span, rounded up to whole registers.
    mix: Vec<f32>,
    taps: Vec<f32>,
    cuts: Vec<f32>,
    /// For each group of a span whether its pooling is delayed (1).
    delayed: Vec<usize>,
    /// The sums that each group stores.
    stored: Vec<StoredSums>,
    /// What adds them up instead, if only what a readout makes of them is wanted.
    fold: Option<Fold>,
}

/// The memory of a mixture is the mixture of memories: of fewer channels than this, their memories are stored, and mixed at each row.
const MAX_STORED_CHANNELS: usize = 9;

/// A few rows of a series.
#[derive(Debug, Clone, Copy)]
pub struct Rows<'a> {
    /// The time between each row and the one before it; ignored for the first row of a series.
    pub gaps: &'a [f64],
    /// The time since the first row of the series.
    pub since: &'a [f64],
    /// `[rows, channels]`.
    pub values: &'a [f32],
    /// Whether the first of these is the first row of the series.
    pub first: bool,
}

impl Rows<'_> {
    /// The rows from `from` to `to`.
    pub(crate) fn part(&self, from: usize, to: usize, channels: usize) -> Self {
        Self {
            gaps: &self.gaps[from..to],
            since: &self.since[from..to],
            values: &self.values[from * channels..to * channels],
            first: self.first && from == 0,
        }
    }
}

/// Working memory of one thread.
#[derive(Debug, Clone, Default)]
pub struct Scratch {
    memory: MemoryScratch,
    mixed: Vec<f32>,
    row_weights: [Vec<RowWeight>; 2],
    sums: Vec<f32>,
}

impl Responses {
    /// For rows of `channels` numbers. `mix` is `[spans, channels, groups]`, `taps` `[spans, groups, q + 1, 16]`, `cuts` `[spans, groups, 4, 16]`; missing
    /// numbers are 0.
    pub fn new(shape: Shape, channels: usize, mix: &[f32], mut taps: Vec<f32>, mut cuts: Vec<f32>) -> Self {
        let (groups, spans) = (shape.groups(), shape.spans.len());
        let legendre = Legendre::new(shape.order);
        let width = padded(groups);
        let mut wide = vec![0.0; spans * channels * width];
        if groups > 0 {
            wide.chunks_exact_mut(width).zip(mix.chunks_exact(groups)).for_each(|(to, from)| to[..groups].copy_from_slice(from));
        }
        taps.resize(spans * groups * (legendre.order() + 1) * LANES, 0.0);
        cuts.resize(spans * groups * CUTS * LANES, 0.0);
        let delayed = shape.families.iter().flat_map(|family| (0..family.groups).map(|g| g % 2)).collect();
        let stored =
            shape.families.iter().flat_map(|family| std::iter::repeat_n(StoredSums::of(&family.pools), family.groups)).collect();
        Self { shape, channels, legendre, mix: wide, taps, cuts, delayed, stored, fold: None }
    }

    /// The sizes.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Replaces the thresholds.
    #[must_use]
    pub fn with_cuts(self, cuts: Vec<f32>) -> Self {
        Self { cuts, ..self }
    }

    /// The signals of a span, rounded up to whole registers.
    fn width(&self) -> usize {
        padded(self.shape.groups())
    }

    /// The same with a linear readout of the features, `columns` its weights for each output: [`read_out`](Self::read_out) takes the place of [`read`](Self::read), and the
    /// state is a fraction. Without it where a pool is not linear in what is stored.
    pub fn fold(&mut self, columns: &[Vec<f32>]) -> bool {
        self.fold = Fold::new(&self.shape, columns);
        self.fold.is_some()
    }

    /// The signals whose memories are stored: of few channels themselves, where sums may be folded. With other pools sums are most of the state.
    fn signals(&self) -> usize {
        let is_small = self.shape.families.iter().all(|family| is_linear(&family.pools));
        let groups = self.shape.groups();
        if is_small && self.channels < MAX_STORED_CHANNELS.min(groups) { self.channels } else { groups }
    }

    /// The numbers of the memories of one span.
    fn memories(&self) -> usize {
        (self.legendre.order() + 1) * self.signals()
    }

    /// The size of the state of one span: the weights of all rows and of those after the delay, memories and signals, sums.
    fn span_state(&self) -> usize {
        let stored = || self.stored.iter().map(|stored| stored.numbers()).sum();
        2 + self.memories() + self.fold.as_ref().map_or_else(stored, Fold::state)
    }

    /// The size of the state of a series.
    pub fn state(&self) -> usize {
        self.shape.spans.len() * self.span_state()
    }

    /// Updates the state with a few rows.
    pub fn push(&self, state: &mut [f32], rows: Rows<'_>, scratch: &mut Scratch) {
        let n = rows.gaps.len();
        for from in (0..n).step_by(CHUNK) {
            let part = rows.part(from, n.min(from + CHUNK), self.channels);
            for (s, state) in state.chunks_exact_mut(self.span_state()).enumerate() {
                self.push_span(s, state, part, scratch);
            }
        }
    }

    fn push_span(&self, s: usize, state: &mut [f32], rows: Rows<'_>, scratch: &mut Scratch) {
        let (totals, rest) = state.split_at_mut(2);
        let (memory, sums) = rest.split_at_mut(self.memories());
        self.advance(s, memory, rows, scratch);
        let row_weights = &mut scratch.row_weights;
        for (delayed, row_weights) in row_weights.iter_mut().enumerate() {
            let delay = self.shape.delay(s, delayed);
            row_weights.clear();
            row_weights.extend(rows.gaps.iter().zip(rows.since).enumerate().map(|(k, (&gap, &since))| {
                // The part of the gap that lies after the delay; nothing comes before the first row.
                let gap = if rows.first && k == 0 { 0.0 } else { gap.min((since - delay).max(0.0)) };
                row_weight(&mut totals[delayed], gap)
            }));
        }
        let (taps, cuts) = (self.taps.len() / self.shape.spans.len(), self.cuts.len() / self.shape.spans.len());
        let (taps, cuts) = (&self.taps[s * taps..(s + 1) * taps], &self.cuts[s * cuts..(s + 1) * cuts]);
        let (memories, width, delayed) = (&scratch.mixed, self.width(), &self.delayed[..]);
        match &self.fold {
            Some(fold) => {
                let rows = FoldRows { taps, cuts, memories, width, delayed };
                fold.push(sums, s, rows, row_weights, &mut scratch.sums);
            }
            None => dispatch(PoolAll { taps, cuts, memories, width, row_weights, delayed, stored: &self.stored, sums }),
        }
    }

    fn taps_of(&self, group: usize) -> &[f32] {
        let size = (self.legendre.order() + 1) * LANES;
        &self.taps[group * size..(group + 1) * size]
    }

    /// Advances the memories of span `s` over a few rows; those of the mixtures after each row are in `scratch.mixed`, `[rows, q + 1, width]`.
    fn advance(&self, s: usize, memory: &mut [f32], rows: Rows<'_>, scratch: &mut Scratch) {
        let (size, signals, width) = (self.channels * self.width(), self.signals(), self.width());
        let mix = &self.mix[s * size..(s + 1) * size];
        let is_mixed = signals == self.shape.groups();
        scratch.memory.advance(&self.legendre, (&self.shape.spans, s), is_mixed.then_some(mix), rows, memory);
        let after = (self.legendre.order() + 1) * padded(signals);
        let memories = &scratch.memory.memories[after..(rows.gaps.len() + 1) * after];
        scratch.mixed.clear();
        match is_mixed {
            true => scratch.mixed.extend_from_slice(memories),
            false => {
                scratch.mixed.resize(memories.len() / padded(signals) * width, 0.0);
                mix_memories(mix, memories, signals, &mut scratch.mixed);
            }
        }
    }

    /// Adds to each output what the readout of a [folded](Self::fold) series says.
    pub fn read_out(&self, state: &[f32], out: &mut [f64]) {
        let Some(fold) = &self.fold else { return };
        for state in state.chunks_exact(self.span_state()) {
            fold.read(&state[2 + self.memories()..], [state[0], state[1]], out);
        }
    }

    /// Appends the features of a series to `out`: family after family, pool after pool; nothing if they are [folded](Self::fold).
    pub fn read(&self, state: &[f32], out: &mut Vec<f32>) {
        if self.fold.is_some() {
            return;
        }
        let before = out.len();
        out.resize(before + self.shape.features(), 0.0);
        let mut out = &mut out[before..];
        let mut first = 0;
        for family in &self.shape.families {
            let groups = first..first + family.groups;
            first = groups.end;
            let numbers = |groups: &[StoredSums]| groups.iter().map(|stored| stored.numbers()).sum::<usize>();
            let Some(&stored) = self.stored.get(groups.start) else { continue };
            let from = 2 + self.memories() + numbers(&self.stored[..groups.start]);
            let to = from + numbers(&self.stored[groups.clone()]);
            for &pool in &family.pools {
                for state in state.chunks_exact(self.span_state()) {
                    let (features, after) = out.split_at_mut(family.groups * CUTS * LANES);
                    out = after;
                    let (totals, delayed) = ([state[0], state[1]], &self.delayed[groups.clone()]);
                    read_pool(&state[from..to], totals, delayed, pool, stored, features);
                }
            }
        }
    }

    /// The responses of span `s` to a whole series, for each group those after its delay: thresholds are chosen from them.
    pub fn responses(&self, s: usize, rows: Rows<'_>, scratch: &mut Scratch) -> Vec<Vec<[f32; LANES]>> {
        let size = (self.legendre.order() + 1) * self.width();
        self.advance(s, &mut vec![0.0; self.memories()], rows, scratch);
        let all = (0..self.shape.groups()).map(|g| {
            let delay = self.shape.delay(s, self.delayed[g]);
            let from = rows.since.partition_point(|&since| since < delay).min(rows.since.len().saturating_sub(1));
            let mut out = Vec::new();
            let memories = &scratch.mixed[from * size..rows.gaps.len() * size];
            respond(self.taps_of(s * self.shape.groups() + g), memories, self.width(), g, &mut out);
            out
        });
        all.collect()
    }
}
