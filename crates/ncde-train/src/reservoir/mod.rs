//! A reservoir, fitted in closed form: nothing is trained but the readout, and that is solved for. Where every observation is predicted at, that is in `steps`.
//!
//! ```text
//! draw mixtures and functionals -> thresholds -> features of training cases -> mix of blocks and penalty by leave-out error -> ridge -> calibration
//! ```
//!
//! | file | what it holds |
//! | --- | --- |
//! | `draw` | random mixtures and functionals, thresholds |
//! | `rows` | what is learned from: rows, observations, targets |
//! | `table` | features in blocks, standardised |
//! | `choose` | which blocks, which penalty |
//! | `calibrate` | from scores to probabilities |
//! | `steps` | a readout at every observation: many rows of few features |
//! | `beside` | how much of a readout is added to the smoothing of forecasts |
//! | `folds` | which of these features, which penalty |
//! | `readout` | from features to outputs |

mod beside;
mod calibrate;
mod choose;
mod draw;
mod folds;
mod readout;
mod rows;
mod steps;
mod table;

use std::ops::ControlFlow;
use std::time::Instant;

use ncde_report::record::StopReason;
use ncde_reservoir::{CUTS, Family, LANES};
use ncde_runtime::layer::{Block, Reservoir};
use ncde_runtime::{LayerSpec, ModelSpec, NamedWeight, Task, Threshold};

use super::checkpoint::Progress;
use super::directory::CONFIG;
use super::preset::ClosedForm;
use super::run::{tell_overflows, write_record};
use super::store::{save_model, write_whole};
use super::threshold::Wanted;
use super::{Error, Event, Outcome, Run, TrainRequest};
pub(super) use calibrate::HeldOut;
pub(super) use choose::best_penalty;
use choose::{Choice, Member, choose};
use ncde_runtime::random::Stream;
use readout::Readout;
use rows::{CaseRows, Wanted as Rows, thinned, wanted};
use table::{Computer, Table};

/// Blocks are chosen on so many rows.
const CHOSEN_ON: usize = 800;
/// The most rows that products of all pairs are taken of for the readout; with more, those of all pairs of features are summed, of which there are no more than this then.
const MAX_PAIRED: usize = 6000;
const MAX_FEATURES: usize = 4096;
/// Of one series, at least so many observations where there are more rows than are taken.
const EACH: usize = 25;
/// A model that is fitted.
#[derive(Debug)]
struct Solved {
    spec: ModelSpec,
    weights: Vec<NamedWeight>,
    /// Numbers of the readout.
    parameters: usize,
    /// Which features were chosen, in words.
    chosen: String,
    error: f64,
}

impl Run {
    /// Solves for the readout, and writes everything to a directory.
    pub(super) fn solve_in(
        &self,
        closed_form: &ClosedForm,
        request: &TrainRequest<'_>,
        on: &mut dyn FnMut(Event<'_>) -> ControlFlow<()>,
    ) -> Result<Outcome, Error> {
        let directory = request.directory;
        if let Some(record) = self.finished(directory).filter(|_| request.resume).transpose()? {
            return Ok(Outcome { record, already: true });
        }
        if let (Some(groups), Some(&first)) = (&self.data.groups, self.parts.train.first())
            && self.parts.train.iter().all(|&case| groups[case] == groups[first])
        {
            return Err(Error::Unfit(format!(
                "all {} training cases are of the group `{}`, so that none can be left out to judge by; at least 2 groups are needed",
                self.parts.train.len(),
                groups[first]
            )));
        }
        write_whole(&directory.join(CONFIG), self.config.to_toml().as_bytes())?;
        let begun = Instant::now();
        let solved = match closed_form {
            ClosedForm::Pooled(reservoir) => self.solve(reservoir)?,
            ClosedForm::Steps { memory, random } => self.beside_smoothing(self.solve_steps(memory, *random)?)?,
        };
        let progress = Progress { seconds: begun.elapsed().as_secs_f64(), ..self.beginning() };
        for event in [Event::Solved { chosen: &solved.chosen, error: solved.error }, Event::Testing] {
            // Nothing is left that could be broken off.
            let _ = on(event);
        }
        save_model(directory, solved.spec, &solved.weights)?;
        let record = self.record(&progress, request, StopReason::Solved, solved.parameters)?;
        write_record(directory, &record)?;
        tell_overflows(&record, on);
        Ok(Outcome { record, already: false })
    }

    /// Fits a reservoir to the training part.
    fn solve(&self, full: &Reservoir) -> Result<Solved, Error> {
        let (signal, task) = (self.spec.signal(), &self.spec.task);
        let (width, outputs) = (signal.width(), task.outputs(self.spec.channels.len()));
        let stream = Stream::new(self.settings.plan.seed, 7);
        let cases: Vec<CaseRows<'_>> = (0..self.data.cases.len())
            .map(|i| {
                let (values, times, statics) = self.features.case(i);
                CaseRows::new(values, times, statics, full)
            })
            .collect();
        // Channels of time and counts go into summaries, not into mixtures.
        let first = usize::from(self.spec.preparation.time.is_some());
        let mut mix =
            draw::mixtures(&full.responses, width - first, self.spec.channels.len().max(1).min(width - first), &stream.child(0));
        if first > 0 {
            mix = behind(&mix, full.responses.spans.len(), width, full.responses.groups());
        }
        let taps = draw::functionals(&full.responses, &stream.child(1));
        let computer = Computer::new(full, width, [&mix, &taps, &[]]);
        let seen: Vec<CaseRows<'_>> = self.parts.train.iter().map(|&i| cases[i].clone()).collect();
        let cuts = draw::thresholds(&computer.responses, &seen, &stream.child(2));
        let computer = Computer { responses: computer.responses.with_cuts(cuts.clone()), ..computer };

        let train: Vec<[usize; 2]> = self.train_by_group().into_iter().map(|case| [case, self.group(case)]).collect();
        let all = wanted(&self.goal, task.at(), &train, |i| self.data.cases[i].len() - 1);
        let count: usize = all.iter().map(|wanted| wanted.observations.len()).sum();
        if count < 2 {
            return Err(Error::Unfit(format!("{count} labelled observations to train on; at least 2 are needed")));
        }
        let some = thinned(&all, CHOSEN_ON, EACH, &stream.child(3));
        let blocks = full.blocks(&signal);
        let table = Table::new(&computer, &cases, &some, &blocks, &self.goal);
        let pools = full.responses.families.first().map_or(&[][..], |family| &family.pools);
        let choice = choose(&table, &blocks, pools)
            .ok_or_else(|| Error::Unfit("no features vary over the training cases: there is nothing to learn from".into()))?;

        let is_whole = count <= table.rows;
        let choice = if is_whole { choice } else { choice.best() };
        let mix_of = choice.mix();
        let is_large = count > MAX_PAIRED;
        let most = if is_large { MAX_FEATURES } else { usize::MAX };
        let (kept, weights) = trimmed(full, &blocks, &mix_of, [&mix, &taps, &cuts], (width, most));
        let chosen = words(full, &blocks, &mix_of);
        let calibrated = |table: &Table, choice: &Choice| {
            let (scores, targets, means, roots) = (&choice.left_out(), &table.targets, &table.means, &table.roots);
            self.calibrated(HeldOut { scores, targets, means, roots })
        };
        let (mut calibration, mut error) = (calibrated(&table, &choice)?, choice.error(&table));
        let readout = if is_whole {
            Readout::paired(&table, &choice)
        } else {
            drop(table);
            let [mix, taps, cuts] = [&weights[0].values[..], &weights[1].values, &weights[2].values];
            let left = kept.blocks(&signal);
            let mut own = mix_of.iter().copied().filter(|w| *w > 0.0);
            let mix_kept: Vec<f64> =
                left.iter().map(|block| if block.features > 0 { own.next().unwrap_or(0.0) } else { 0.0 }).collect();
            let computer = Computer::new(&kept, width, [mix, taps, cuts]);
            let table_of = |some: &[Rows]| Table::new(&computer, &cases, some, &left, &self.goal);
            // The penalty is a share of the number of rows.
            let per_row = choice.0.first().map_or(0.0, |(_, best)| best.lambda * outputs as f64 / best.fit.alpha.len() as f64);
            let singular =
                || Error::Unfit("the features of the training cases have no readout: their products are singular".into());
            if is_large {
                let weights = self.goal.class_weights_of_rows();
                let fit =
                    Readout::summed(&computer, &cases, &all, table_of(&some), [&mix_kept, weights], per_row, &stream.child(4));
                let (readout, held_out) = fit.ok_or_else(singular)?;
                error = held_out;
                readout
            } else {
                let table = table_of(&all);
                let choice = Choice(vec![(1.0, Member::of_mix(&table, mix_kept, per_row).ok_or_else(singular)?)]);
                (calibration, error) = (calibrated(&table, &choice)?, choice.error(&table));
                Readout::paired(&table, &choice)
            }
        };
        let (temperature, threshold) = calibration;
        let mut spec = ModelSpec { threshold, ..self.spec.clone() };
        spec.layers[0] = LayerSpec::Reservoir(kept);
        let parameters = readout.weight.len() + outputs;
        let weights = weights.into_iter().chain(readout.named(spec.layers.len(), temperature)).collect();
        Ok(Solved { spec, weights, parameters, chosen, error })
    }
}

impl Run {
    /// From scores of held-out rows: what the scores of classes are multiplied with, and the threshold that is asked for.
    fn calibrated(&self, held_out: HeldOut<'_>) -> Result<(f64, Option<Threshold>), Error> {
        let Task::Classification { classes, .. } = &self.spec.task else { return Ok((1.0, None)) };
        let tau = held_out.temperature();
        let best = |wanted: &Wanted| wanted.best(&held_out.probabilities(tau), classes.len(), &held_out.truth());
        Ok((tau, self.settings.threshold.as_ref().map(best).transpose()?))
    }
}

/// The fit with the least error among penalties by their powers, from the one in the middle down the valley; `at` has no fit for a power that is too small or too large.
fn down_the_valley<T>(middle: i32, at: impl Fn(i32) -> Option<T>, error: impl Fn(&T) -> f64) -> Option<T> {
    let mut best = at(middle)?;
    for direction in [1, -1] {
        let mut power = middle + direction;
        while let Some(next) = at(power).filter(|next| error(next) < error(&best)) {
            best = next;
            power += direction;
        }
        if power != middle + direction {
            break;
        }
    }
    Some(best)
}

/// The same mixtures `[spans, width - 1, groups]` for rows that begin with time: `[spans, width, groups]`.
fn behind(mix: &[f32], spans: usize, width: usize, groups: usize) -> Vec<f32> {
    let mut moved = Vec::with_capacity(spans * width * groups);
    for own in mix.chunks_exact(((width - 1) * groups).max(1)) {
        moved.extend(std::iter::repeat_n(0.0, groups));
        moved.extend(own);
    }
    moved
}

/// The reservoir with what is chosen alone, and its weights; of responses about so many features at most.
fn trimmed(
    full: &Reservoir,
    blocks: &[Block],
    mix: &[f64],
    [w, taps, cuts]: [&[f32]; 3],
    (width, most): (usize, usize),
) -> (Reservoir, Vec<NamedWeight>) {
    let taken = |pool: Option<(usize, usize)>| blocks.iter().zip(mix).any(|(block, &w)| block.pool == pool && w > 0.0);
    let features: usize =
        blocks.iter().zip(mix).filter(|(block, w)| **w > 0.0 && block.pool.is_some()).map(|(block, _)| block.features).sum();
    let share = (most as f64 / features.max(1) as f64).min(1.0);
    let mut kept = full.clone();
    let mut groups = Vec::new();
    let mut first = 0;
    kept.responses.families.clear();
    for (f, family) in full.responses.families.iter().enumerate() {
        let pools: Vec<_> =
            family.pools.iter().enumerate().filter(|&(p, _)| taken(Some((f, p)))).map(|(_, &pool)| pool).collect();
        if !pools.is_empty() {
            let count = (family.groups as f64 * share).max(1.0) as usize;
            groups.extend(first..first + count);
            kept.responses.families.push(Family { groups: count, pools });
        }
        first += family.groups;
    }
    let rest = blocks.iter().take_while(|block| block.pool.is_some()).count();
    [kept.summary.memories, kept.summary.moments] = [mix[rest] > 0.0, mix[rest + 1] > 0.0];
    if mix[rest + 2] == 0.0 {
        kept.summary.areas = 0;
    }
    if mix[rest + 3] == 0.0 {
        kept.summary.windows = 0;
    }
    if mix[rest + 4] == 0.0 {
        kept.summary.depth = 0;
    }
    if !(kept.summary.memories || kept.summary.moments) {
        kept.summary.spans.clear();
    }
    if groups.is_empty() {
        kept.responses.spans.clear();
    }
    let (spans, all, order) = (kept.responses.spans.len(), full.responses.groups(), full.responses.order + 1);
    let pick = |values: &[f32], outer: usize, inner: usize| -> Vec<f32> {
        (0..outer)
            .flat_map(|o| groups.iter().flat_map(move |g| values[(o * all + g) * inner..][..inner].iter().copied()))
            .collect()
    };
    let named = |name: &str, shape: Vec<usize>, values| NamedWeight { name: format!("layers.0.{name}"), shape, values };
    let weights = vec![
        named("mix", vec![spans, width, groups.len()], pick(w, spans * width, 1)),
        named("taps", vec![spans, groups.len(), order, LANES], pick(taps, spans, order * LANES)),
        named("cuts", vec![spans, groups.len(), CUTS, LANES], pick(cuts, spans, CUTS * LANES)),
    ];
    (kept, weights)
}

/// What was chosen: `contrast (share, place), gaussian (share), moments`.
fn words(full: &Reservoir, blocks: &[Block], mix: &[f64]) -> String {
    let taken: Vec<bool> = mix.iter().map(|&w| w > 0.0).collect();
    let mut parts = Vec::new();
    for (f, family) in full.responses.families.iter().enumerate() {
        let own = |p: usize| blocks.iter().zip(&taken).any(|(block, &taken)| taken && block.pool == Some((f, p)));
        let pools: Vec<String> = family
            .pools
            .iter()
            .enumerate()
            .filter(|&(p, _)| own(p))
            .map(|(_, pool)| format!("{pool:?}").to_lowercase())
            .collect();
        if !pools.is_empty() {
            parts.push(format!("{} ({})", draw::FAMILIES.get(f).unwrap_or(&"responses"), pools.join(", ")));
        }
    }
    let rest = blocks.iter().take_while(|block| block.pool.is_some()).count();
    parts.extend(
        ["memories", "moments", "areas", "windows", "signature", "statics"]
            .iter()
            .zip(&taken[rest..])
            .filter(|(_, taken)| **taken)
            .map(|(name, _)| (*name).into()),
    );
    parts.join(", ")
}
