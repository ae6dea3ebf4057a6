//! Series at irregular times, reservoirs with random weights, and what they make of a series.
#![allow(dead_code, reason = "each program uses some of it")]

use ncde_reservoir::{Family, Pooling, Responses, Rows, Scratch, Shape, Summary, SummaryScratch, SummaryShape};

pub(crate) const POOLS: [Pooling; 5] = [Pooling::Share, Pooling::Mean, Pooling::Longest, Pooling::Place, Pooling::Competing];

/// Those that can be folded into a readout.
pub(crate) const LINEAR: [Pooling; 3] = [Pooling::Late, Pooling::Share, Pooling::Height];

/// Numbers of mean 0, between -1.5 and 1.5.
pub(crate) fn noise(seed: u64, count: usize) -> Vec<f64> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64 - 0.5
    };
    (0..count).map(|_| next() + next() + next()).collect()
}

fn narrow(x: &[f64]) -> Vec<f32> {
    x.iter().map(|&x| x as f32).collect()
}

/// A series, its times in units of the horizon.
#[derive(Debug, Clone)]
pub(crate) struct Series {
    pub(crate) gaps: Vec<f64>,
    pub(crate) since: Vec<f64>,
    pub(crate) values: Vec<f32>,
    pub(crate) channels: usize,
}

impl Series {
    /// Gaps are up to twice this one, values noise.
    pub(crate) fn new(rows: usize, channels: usize, gap: f64, seed: u64) -> Self {
        let gaps = noise(seed, rows).iter().map(|x| gap * (1.0 + x / 1.6)).collect();
        Self::at(gaps, narrow(&noise(seed + 1, rows * channels)))
    }

    /// The gap before the first row is ignored.
    pub(crate) fn at(mut gaps: Vec<f64>, values: Vec<f32>) -> Self {
        gaps[0] = 0.0;
        let mut time = 0.0;
        let since = gaps.iter().map(|gap| {
            time += gap;
            time
        });
        Self { since: since.collect(), channels: values.len() / gaps.len(), gaps, values }
    }

    pub(crate) fn rows(&self, from: usize, to: usize) -> Rows<'_> {
        Rows {
            gaps: &self.gaps[from..to],
            since: &self.since[from..to],
            values: &self.values[from * self.channels..to * self.channels],
            first: from == 0,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.gaps.len()
    }
}

/// Weights and shapes of both parts.
#[derive(Debug, Clone)]
pub(crate) struct Reservoir {
    pub(crate) shape: Shape,
    pub(crate) summary: SummaryShape,
    pub(crate) channels: usize,
    pub(crate) mix: Vec<f32>,
    pub(crate) taps: Vec<f32>,
    pub(crate) cuts: Vec<f32>,
}

impl Reservoir {
    /// Three families, three spans, all ways of pooling.
    pub(crate) fn new(order: usize, channels: usize, spans: &[f64], seed: u64) -> Self {
        let families = vec![
            Family { groups: 3, pools: POOLS.to_vec() },
            Family { groups: 2, pools: vec![Pooling::Competing, Pooling::Place, Pooling::Share] },
            Family { groups: 2, pools: LINEAR.to_vec() },
        ];
        let shape = Shape { order, spans: spans.to_vec(), delay: 0.3, families };
        let summary =
            SummaryShape { order, spans: spans.to_vec(), memories: true, moments: true, areas: 0, windows: 0, depth: 0 };
        let places = spans.len() * shape.groups();
        Self {
            mix: narrow(&noise(seed, places * channels)),
            taps: narrow(&noise(seed + 1, places * (order + 1) * 16)),
            cuts: noise(seed + 2, places * 64).iter().map(|x| 0.4 * *x as f32).collect(),
            shape,
            summary,
            channels,
        }
    }

    pub(crate) fn parts(&self) -> (Responses, Summary) {
        let responses = Responses::new(self.shape.clone(), self.channels, &self.mix, self.taps.clone(), self.cuts.clone());
        (responses, Summary::new(self.summary.clone(), self.channels))
    }

    /// The features after each of these counts of rows, which are pushed together.
    pub(crate) fn features_after(&self, series: &Series, ends: impl IntoIterator<Item = usize>) -> Vec<Vec<f32>> {
        let (responses, summary) = self.parts();
        let (mut pools, mut rest) = (vec![0.0; responses.state()], vec![0.0; summary.state()]);
        let (mut scratch, mut other) = (Scratch::default(), SummaryScratch::default());
        let mut from = 0;
        let one = |end: usize| {
            let rows = series.rows(from, end);
            responses.push(&mut pools, rows, &mut scratch);
            summary.push(&mut rest, rows, &mut other);
            from = end;
            let mut out = Vec::new();
            responses.read(&pools, &mut out);
            assert_eq!(out.len(), self.shape.features());
            summary.read(&rest, &mut out);
            assert_eq!(out.len(), self.shape.features() + self.summary.features(self.channels).iter().sum::<usize>());
            out
        };
        ends.into_iter().map(one).collect()
    }

    pub(crate) fn features(&self, series: &Series) -> Vec<f32> {
        self.features_after(series, [series.len()]).remove(0)
    }
}
