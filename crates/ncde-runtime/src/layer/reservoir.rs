//! A reservoir: `row_t = (pools of responses to memories of mixtures of channels, memories and moments of channels, statics)`.
//!
//! ```text
//! u = W^T x,    m' = (A m + B u) / theta,    r = taps (m, u),    features = shares of time at which r lies above thresholds, ...
//! ```
//!
//! The equations are in `ncde-reservoir`. Weights, none of them trained: `mix` `W`, `[spans, channels, groups]`; `taps` `[spans, groups, q + 1, 16]`; `cuts`, the
//! thresholds, `[spans, groups, 4, 16]`. Times are in units of the horizon, beyond which what is old fades.

use ncde_reservoir::{CUTS, Family, LANES, Responses, Scratch, Shape, Summary, SummaryScratch, SummaryShape, Ticked, legendre};
use serde::{Deserialize, Serialize};

use super::signal::{MAX_NUMBERS, MAX_SIZE, product, refuse};
use super::state_memory::widen;
use super::{Columns, Cost, Init, Layer, Role, Row, Share, Signal, Size, Step, StepChain, Values, Weight};
use crate::Error;

/// A reservoir.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reservoir {
    /// The time over which is pooled; the unit of all times below.
    pub horizon: f64,
    /// The time between rows of the clock, which lie between observations that are farther apart; none: there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tick: Option<f64>,
    /// What is remembered and pooled.
    pub responses: Shape,
    /// What is said of channels as they are.
    pub summary: SummaryShape,
}

/// Rows whose memories are worked on at once, and a few more.
const AT_ONCE: usize = 34;

/// The most channels that areas are taken of, and the most windows.
const MAX_AREAS: usize = 512;
const MAX_WINDOWS: usize = 1 << 12;
/// The largest depth of a signature.
const MAX_DEPTH: usize = 8;

/// The most ways of pooling of a family.
const MAX_POOLS: usize = 7;

/// A block of features.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// The family of responses, from 0, and the place of its way of pooling in the list; none for a block that is no pool.
    pub pool: Option<(usize, usize)>,
    /// How many features it has.
    pub features: usize,
}

impl Reservoir {
    /// The features in blocks: each way of pooling of each family, then memories, moments, areas, windows, words and statics.
    pub fn blocks(&self, input: &Signal) -> Vec<Block> {
        let size = self.responses.spans.len() * CUTS * LANES;
        let mut blocks = Vec::new();
        for (f, Family { groups, pools }) in self.responses.families.iter().enumerate() {
            blocks.extend((0..pools.len()).map(|p| Block { pool: Some((f, p)), features: size * groups }));
        }
        let rest = self.summary.features(input.width()).into_iter().chain([input.statics]);
        blocks.extend(rest.map(|features| Block { pool: None, features }));
        blocks
    }

    /// How many features there are.
    pub fn features(&self, input: &Signal) -> usize {
        self.blocks(input).iter().map(|block| block.features).sum()
    }

    /// How many numbers are worked on: memories of both kinds, pools, mixtures, features.
    fn sizes(&self, input: &Signal) -> [usize; 5] {
        let (spans, groups, width) = (self.responses.spans.len(), self.responses.groups(), input.width());
        let memories = |order: usize, signals: usize, spans: usize| {
            (order + 1).saturating_mul(signals.next_multiple_of(LANES)).saturating_mul(spans + AT_ONCE)
        };
        [
            memories(self.responses.order, groups, spans),
            memories(self.summary.order, width, self.summary.spans.len()),
            groups.saturating_mul(spans).saturating_mul(LANES * CUTS * 6),
            groups.saturating_mul(spans).saturating_mul(width),
            self.features(input),
        ]
    }

    fn check(&self, input: &Signal) -> Result<(), Error> {
        let positive = |x: f64| x.is_finite() && x > 0.0;
        if !positive(self.horizon) {
            return refuse("horizon", format!("{}; a positive time is needed", self.horizon));
        }
        if let Some(tick) = self.tick.filter(|tick| !positive(*tick)) {
            return refuse("tick", format!("{tick}; a positive time is needed"));
        }
        for (setting, order) in [("responses.order", self.responses.order), ("summary.order", self.summary.order)] {
            if !(1..=legendre::MAX_ORDER).contains(&order) {
                return refuse(setting, format!("{order}; it is from 1 to {}", legendre::MAX_ORDER));
            }
        }
        let spans = |setting, spans: &[f64]| match spans.iter().find(|&&span| !positive(span)) {
            Some(span) => refuse(setting, format!("a list with {span}; spans are positive")),
            None if spans.len() > 256 => refuse(setting, format!("a list of {}; at most 256 are possible", spans.len())),
            None => Ok(()),
        };
        spans("responses.spans", &self.responses.spans)?;
        spans("summary.spans", &self.summary.spans)?;
        if self.summary.spans.is_empty() && (self.summary.memories || self.summary.moments) {
            return refuse("summary.spans", "empty, but memories or moments are asked for");
        }
        if !(self.responses.delay.is_finite() && self.responses.delay >= 0.0) {
            return refuse("responses.delay", format!("{}; it is 0 or more", self.responses.delay));
        }
        let families = &self.responses.families;
        if families.len() > 256 || families.iter().any(|family| family.groups > MAX_SIZE || family.pools.len() > MAX_POOLS) {
            return refuse("responses.families", "too many families, groups or ways of pooling");
        }
        let width = input.width();
        if self.summary.areas > width.min(MAX_AREAS) {
            return refuse(
                "summary.areas",
                format!("{}; rows have {width} numbers, and at most {MAX_AREAS} are possible", self.summary.areas),
            );
        }
        if self.summary.windows > MAX_WINDOWS {
            return refuse("summary.windows", format!("{}; at most {MAX_WINDOWS} are possible", self.summary.windows));
        }
        if self.summary.depth > MAX_DEPTH {
            return refuse("summary.depth", format!("{}; at most {MAX_DEPTH} is possible", self.summary.depth));
        }
        let words = self.summary.features(width)[4];
        if words > MAX_NUMBERS {
            let depth = self.summary.depth;
            return refuse(
                "summary.depth",
                format!("{depth}, so that {words} numbers are worked on; at most {MAX_NUMBERS} are possible"),
            );
        }
        match self.sizes(input).into_iter().max() {
            Some(most) if most > MAX_NUMBERS => refuse(
                "responses.families",
                format!("so large that {most} numbers are worked on; at most {MAX_NUMBERS} are possible"),
            ),
            _ => Ok(()),
        }
    }
}

impl Layer for Reservoir {
    fn describe(&self) -> String {
        format!(
            "{} fixed responses to what was seen lately (over {} times), pooled over the series",
            16 * self.responses.groups(),
            self.responses.spans.len()
        )
    }

    fn output(&self, input: &Signal, _: &[Signal]) -> Result<Signal, Error> {
        input.sequence("reservoir")?;
        self.check(input)?;
        let features = self.features(input);
        if features == 0 {
            return refuse("responses.families", "empty, and the summary has no features: nothing would come out");
        }
        Ok(input.with_width(features))
    }

    fn demand(&self, input: &Signal) -> usize {
        // What makes no sense is refused elsewhere.
        let groups = self.check(input).map_or(0, |()| self.responses.groups());
        product(&[self.responses.spans.len(), groups, input.width() + LANES * CUTS])
    }

    fn cost(&self, input: &Signal) -> Cost {
        // What makes no sense is refused elsewhere.
        let numbers = self.check(input).map_or(0, |()| self.sizes(input).iter().sum());
        Cost { bytes: 8 * numbers, work: numbers }
    }

    fn weights(&self, input: &Signal) -> Result<Vec<Weight>, Error> {
        let (spans, groups, rows) = (self.responses.spans.len(), self.responses.groups(), self.responses.order + 1);
        let weight = |name, shape: &[usize], init| Weight::trained(name, shape, init).with_role(Role::Fixed);
        Ok(vec![
            weight("mix", &[spans, input.width(), groups], Init::Normal(1.0 / (input.width().max(1) as f64).sqrt())),
            weight("taps", &[spans, groups, rows, LANES], Init::Normal(1.0)),
            weight("cuts", &[spans, groups, CUTS, LANES], Init::Normal(0.5)),
        ])
    }

    fn is_differentiable(&self) -> bool {
        false
    }

    fn step(&self, input: &Signal, weights: &mut Values, _: Vec<StepChain>) -> Result<Box<dyn Step>, Error> {
        let [mix, taps, cuts] = [weights.take("mix")?, weights.take("taps")?, weights.take("cuts")?];
        Ok(Box::new(Engine {
            responses: Responses::new(self.responses.clone(), input.width(), &mix, taps, cuts),
            summary: Summary::new(self.summary.clone(), input.width()),
            horizon: self.horizon,
            tick: self.tick,
            width: input.width(),
            readout: None,
            folded: Vec::new(),
            scratch: Default::default(),
        }))
    }
}

/// A reservoir with its weights and its working memory.
#[derive(Debug)]
struct Engine {
    responses: Responses,
    summary: Summary,
    horizon: f64,
    tick: Option<f64>,
    /// Numbers of a row.
    width: usize,
    /// What reads the features, if they are not handed on themselves.
    readout: Option<Columns>,
    /// Where responses are folded into it: what it adds where all of them are 0.
    folded: Vec<f64>,
    scratch: EngineScratch,
}

#[derive(Debug, Default)]
struct EngineScratch {
    responses: Scratch,
    summary: SummaryScratch,
    ticked: Ticked,
    features: Vec<f32>,
}

/// Numbers beside the state: how many rows there were (0 or 1), the time of the last.
const HEAD: usize = 2;

impl Engine {
    /// Takes some rows, `[rows, channels]`, at times since the start of the series. A number that is not finite stays in the state, where whoever keeps it looks.
    fn take<'r>(&mut self, memory: Share<'_>, rows: impl Iterator<Item = &'r Row<'r>>) {
        let Share { wide: [started, last], narrow: state } = memory else { return };
        let EngineScratch { responses, summary, ticked, .. } = &mut self.scratch;
        let first = *started == 0.0;
        let (state, values) = state.split_at_mut(self.responses.state() + self.summary.state());
        ticked.clear();
        for row in rows {
            let before = (*last, (*started != 0.0).then_some(&*values));
            ticked.push(before, row.time, row.values.iter().map(|&x| x as f32), self.horizon, self.tick);
            (*started, *last) = (1.0, row.time);
            values.iter_mut().zip(row.values).for_each(|(last, &x)| *last = x as f32);
        }
        let rows = ticked.rows(0, ticked.count(), first);
        let (pools, rest) = state.split_at_mut(self.responses.state());
        self.responses.push(pools, rows, responses);
        self.summary.push(rest, rows, summary);
    }

    /// The features of the series as it is, statics last, or what is read from them.
    fn read(&mut self, state: &[f32], statics: &[f64], out: &mut Vec<f64>) {
        let features = &mut self.scratch.features;
        let (pools, rest) = state.split_at(self.responses.state());
        let rest = &rest[..self.summary.state()];
        features.clear();
        self.responses.read(pools, features);
        self.summary.read(rest, features);
        features.extend(statics.iter().map(|&x| x as f32));
        match &self.readout {
            Some(readout) => {
                readout.read(features, out);
                out.iter_mut().zip(&self.folded).for_each(|(y, constant)| *y += constant);
                self.responses.read_out(pools, out);
            }
            None => {
                out.resize(features.len(), 0.0);
                widen(features, out);
            }
        }
    }
}

impl Step for Engine {
    fn memory(&self) -> Size {
        // With a clock the last row is remembered as well.
        let last = if self.tick.is_some() { self.width } else { 0 };
        Size { wide: HEAD, narrow: self.responses.state() + self.summary.state() + last }
    }

    fn read_by(&mut self, mut readout: Columns) -> Option<Columns> {
        if self.readout.is_some() {
            return Some(readout);
        }
        let inputs = self.responses.shape().features();
        let (columns, constants) = readout.of_first(inputs);
        if self.responses.fold(&columns) {
            readout.skip_first(inputs);
            self.folded = constants;
        }
        self.readout = Some(readout);
        None
    }

    fn push(&mut self, mut memory: Share<'_>, row: Row<'_>, out: &mut Vec<f64>) -> Result<bool, Error> {
        self.take(memory.again(), std::iter::once(&row));
        self.read(memory.narrow, row.statics, out);
        Ok(true)
    }

    fn pass(&mut self, memory: Share<'_>, rows: &[Row<'_>]) -> Result<(), Error> {
        self.take(memory, rows.iter());
        Ok(())
    }
}
