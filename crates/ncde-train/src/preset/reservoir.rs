//! `reservoir`: fixed Linear NCDEs that remember, pooled responses to what they remember, and a readout that is solved for.
//!
//! Spans go from a few observations to most of a series; the horizon is the longest series of the training part. Where
//! every observation is predicted at, memories of changes and random functions of them take the place of pools: a few hundred numbers that stay bounded.

use ncde_reservoir::{CUTS, Family, LANES, Pooling, Shape, SummaryShape};
use ncde_runtime::LayerSpec;
use ncde_runtime::layer::{Linear, Memory, Over, Pool, RandomFeatures, Reservoir, Standardise};

use super::signature::usual_depth;
use super::{Built, ClosedForm, Facts, Method, Preset};
use crate::Error;
use crate::config::{Keys, table};
use crate::names::MemoryName;
use crate::settings::{at_least, refuse};

/// Families of responses: contrasts, their slopes, Gaussian ones.
const FAMILIES: usize = 3;
/// Ways of pooling that add up with the weights of the readout, and those that each response has to remember for itself.
const SMALL: [Pooling; 3] = [Pooling::Share, Pooling::Height, Pooling::Late];
const FULL: [Pooling; 5] = [Pooling::Share, Pooling::Mean, Pooling::Longest, Pooling::Place, Pooling::Competing];
/// The shortest span, in observations, and the longest, as a share of a usual series.
const SHORTEST: f64 = 6.0;
const LONGEST: f64 = 0.8;
/// The most channels that signed areas are taken of.
const MAX_AREAS: usize = 24;
/// The most windows of the horizon that increments are taken over, the fewest, and the most numbers of all channels.
const MAX_WINDOWS: usize = 128;
const MIN_WINDOWS: usize = 16;
const MAX_INCREMENTS: usize = 4096;
/// About how many features a case has by default.
const FEATURES: usize = 96_000;
/// The most numbers of all features of the cases that are chosen on.
const NUMBERS: usize = 1 << 26;

table! {
    /// The keys of `reservoir`.
    pub(crate) ReservoirKeys {
        /// How many spans of memory there are, from a few observations to most of a series.
        spans: usize,
        /// How many groups of 16 responses each span has, for each of three families, where a series is predicted as a whole.
        groups: usize,
        /// The order of the memory: how many numbers it keeps of a span, up to 12.
        order: usize,
        /// What is remembered of a series that is predicted as a whole: `full`, a hundred kilobytes and more, as each response has its longest run, mean height and mean time above thresholds (the default), or `small`, a few kilobytes, for streams of very many series.
        memory: MemoryName,
        /// Whether responses are also read on a clock between observations that are far apart, where a series is predicted as a whole; by default if gaps between observations differ.
        ticks: bool,
        /// How many random functions of memories there are, where every observation is predicted at; 600 by default.
        random: usize,
    }
}

/// Where every observation is predicted at: the shortest span and the longest, in observations, and the share of a series that it may be.
const RECENT: f64 = 4.0;
const LONG_AGO: f64 = 512.0;
const OF_SERIES: f64 = 0.5;
/// There, the most memories, and how many random functions there are by default.
const MAX_MEMORIES: usize = 1200;
const RANDOM: usize = 600;

/// Harmonics of a season that are followed, over how many of its periods, and the most numbers that are kept of them.
const HARMONICS: usize = 6;
const PERIODS: [f64; 2] = [4.0, 16.0];
const MAX_TURNS: usize = 600;

/// Decays and frequencies of what turns with a season: its harmonics, over a few periods and over many, as far as series reach.
fn turns(period: f64, facts: &Facts) -> Vec<[f64; 2]> {
    let most = (MAX_TURNS / (2 * facts.width().max(1))).max(1);
    let harmonics = ((0.5 * period / facts.clock.gap.max(f64::MIN_POSITIVE)) as usize).min(HARMONICS);
    let over = PERIODS.into_iter().filter(|count| count * period <= OF_SERIES * facts.clock.usual);
    let all =
        over.flat_map(|count| (1..=harmonics).map(move |k| [1.0 / (count * period), std::f64::consts::TAU * k as f64 / period]));
    all.take(most).collect()
}

impl ReservoirKeys {
    /// Memories of changes, each span about twice as long as the one before, random functions of them, and a readout.
    fn steps(&mut self, facts: &Facts) -> Result<Built, Error> {
        let set = [
            ("model.groups", self.groups.is_some()),
            ("model.memory", self.memory.is_some()),
            ("model.ticks", self.ticks.is_some()),
        ];
        if let Some((key, _)) = set.into_iter().find(|(_, set)| *set) {
            return refuse(key, "set, but there are no pools where every observation is predicted at; leave it out");
        }
        let gap = if facts.clock.gap > 0.0 { facts.clock.gap } else { 1.0 };
        let longest = (LONG_AGO * gap).min(OF_SERIES * facts.clock.usual).max(2.0 * RECENT * gap);
        let width = facts.width().max(1);
        let fits = || ((longest / (RECENT * gap)).log2().round() as usize + 1).min((MAX_MEMORIES / (2 * width)).max(1));
        let spans = at_least("model.spans", *self.spans.get_or_insert_with(fits), 1)?;
        let order = at_least("model.order", *self.order.get_or_insert((MAX_MEMORIES / (spans * width)).clamp(1, 12)), 1)?;
        let random = *self.random.get_or_insert(RANDOM);
        let ratio = (longest / (RECENT * gap)).powf(1.0 / spans.saturating_sub(1).max(1) as f64);
        let spans = (0..spans).map(|i| RECENT * gap * ratio.powi(i as i32)).collect();
        let turns = facts.period.map_or_else(Vec::new, |period| turns(period, facts));
        let memory = Memory { order, spans, turns, values: true };
        let mut layers = vec![LayerSpec::Memory(memory.clone())];
        if random > 0 {
            layers.push(LayerSpec::Standardise(Standardise {}));
            layers.push(LayerSpec::RandomFeatures(RandomFeatures { count: random }));
        }
        layers.extend([LayerSpec::Standardise(Standardise {}), LayerSpec::Linear(Linear { outputs: facts.outputs })]);
        Ok((layers, Method::ClosedForm(ClosedForm::Steps { memory, random })))
    }
}

impl Preset for ReservoirKeys {
    const KEYS: &'static [&'static [Keys]] = &[Self::KEYS];
    const IS_CLOSED_FORM: bool = true;

    fn layers(&mut self, name: &str, facts: &Facts) -> Result<Built, Error> {
        facts.path(name)?;
        if facts.steps() {
            return self.steps(facts);
        }
        if self.random.is_some() {
            return refuse("model.random", "set, but it is for predictions at every observation; leave it out");
        }
        let spans = at_least("model.spans", *self.spans.get_or_insert(10), 1)?;
        let fits = || {
            let features = (NUMBERS / facts.lengths.len().clamp(1, 1000)).min(FEATURES);
            (features / (spans * FAMILIES * FULL.len() * CUTS * LANES)).clamp(2, 10)
        };
        let pools = match self.memory.get_or_insert(MemoryName::Full) {
            MemoryName::Small => SMALL.to_vec(),
            MemoryName::Full => FULL.to_vec(),
        };
        let groups = at_least("model.groups", *self.groups.get_or_insert_with(fits), 1)?;
        let order = at_least("model.order", *self.order.get_or_insert(9), 1)?;
        if order > 12 {
            return refuse("model.order", format!("{order}; it is at most 12"));
        }
        // Series of one observation have no duration; any unit does.
        let horizon = if facts.clock.longest > 0.0 { facts.clock.longest } else { 1.0 };
        // With a clock between observations, what happens from one to the next where they are close is read everywhere.
        let ticks = *self.ticks.get_or_insert(facts.clock.is_uneven);
        let gap = if ticks { facts.clock.short } else { facts.clock.gap };
        let gap = if gap > 0.0 { gap } else { horizon };
        let usual = facts.clock.usual.max(gap);
        let between = |low: f64, high: f64, count: usize| -> Vec<f64> {
            let step = |i: usize| i as f64 / count.saturating_sub(1).max(1) as f64;
            (0..count).map(|i| (low.ln() + step(i) * (high.max(low).ln() - low.ln())).exp() / horizon).collect()
        };
        let responses = Shape {
            order,
            spans: between(SHORTEST * gap, (LONGEST * usual).max(2.0 * SHORTEST * gap), spans),
            delay: 0.5 * usual / horizon,
            families: vec![Family { groups, pools }; FAMILIES],
        };
        let spans = between((usual / 16.0).max(gap), usual, 4);
        // No more windows than the longest series has observations, and fewer where there are many channels.
        let fit = MAX_WINDOWS.min(MAX_INCREMENTS / facts.width().max(1)).min((horizon / gap) as usize);
        let windows = if fit < MIN_WINDOWS { 0 } else { 1 << fit.ilog2() };
        let areas = facts.width().min(MAX_AREAS);
        // Words of two letters are areas already, and those of one channel are powers of its increment.
        let has_words = facts.channels > 1 && usual_depth(facts.width()) > 2;
        let depth = if has_words { usual_depth(facts.width()) } else { 0 };
        let summary = SummaryShape { order: 8, spans, memories: true, moments: true, areas, windows, depth };
        let reservoir = Reservoir { horizon, tick: ticks.then_some(gap / horizon), responses, summary };
        let layers = vec![
            LayerSpec::Reservoir(reservoir.clone()),
            LayerSpec::Pool(Pool { over: Over::Last }),
            LayerSpec::Standardise(Standardise {}),
            LayerSpec::Linear(Linear { outputs: facts.outputs }),
        ];
        Ok((layers, Method::ClosedForm(ClosedForm::Pooled(reservoir))))
    }
}
