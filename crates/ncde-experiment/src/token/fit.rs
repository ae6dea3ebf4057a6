//! Training on words that are drawn step by step:
//!
//! ```text
//! loss_t = sum_groups mean_answers -ln p(answer) + lambda sum_blocks |A|_F,   theta <- AdamW(rate_t),   rate_t: linear warm-up, then a cosine
//! ```
//!
//! The logarithm is of one softmax. Every `look` steps the accuracy on words that are held out is measured, over all answers.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use ncde_layers::layer::{Begun, Error, FieldNorm, InFlight, Phase, Update};
use ncde_runtime::LayerSpec;
use ncde_runtime::layer::Signal;
use ncde_runtime::random::Stream;
use ncde_train::{Answers, Device, Learner, Padded, learner};
use serde::{Deserialize, Serialize};

use super::checkpoint::{self, Standing};
use super::words::{Batch, Source, Word};

/// The stream of dropout.
const DROPOUT: u64 = 20;
/// What survives a kill is written this often, in seconds.
const CHECKPOINT_SECONDS: f64 = 60.0;
/// The most tokens of a pass that measures.
const MAX_TOKENS: usize = 1 << 15;

/// How the learning rate goes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rates {
    /// The largest.
    pub most: f64,
    /// The last.
    pub least: f64,
    /// The share of steps that it takes to the largest.
    pub warm_up: f64,
}

impl Rates {
    /// That of a step, from 0, of so many.
    ///
    /// ```
    /// use ncde_experiment::token::Rates;
    /// let rates = Rates { most: 1.0, least: 0.1, warm_up: 0.1 };
    /// let seen = [0, 5, 10, 55, 100].map(|step| rates.at(step, 100));
    /// assert!(seen.iter().zip([0.0, 0.5, 1.0, 0.55, 0.1]).all(|(seen, wanted)| (seen - wanted).abs() < 1e-12), "{seen:?}");
    /// ```
    pub fn at(&self, step: usize, steps: usize) -> f64 {
        let (step, steps) = (step as f64, steps as f64);
        let warm = self.warm_up * steps;
        if step < warm {
            return self.most * step / warm;
        }
        let share = ((step - warm) / (steps - warm).max(1.0)).min(1.0);
        self.least + 0.5 * (self.most - self.least) * (1.0 + (std::f64::consts::PI * share).cos())
    }
}

/// How a model is trained.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fit {
    /// The most steps.
    pub steps: usize,
    /// How the learning rate goes.
    pub rates: Rates,
    /// The decay of weights.
    pub decay: f64,
    /// The largest norm of a gradient; 0 for no limit.
    pub clip: f64,
    /// The factor of the penalty on matrices.
    pub penalty: f64,
    /// Steps between two looks at the words that are held out.
    pub look: usize,
    /// How many words that are.
    pub held_out: usize,
    /// It ends when the accuracy is above this.
    pub enough: f64,
    /// The seed of weights and dropout.
    pub seed: u64,
}

/// What training gave.
#[derive(Debug)]
pub struct Fitted {
    /// The model.
    pub network: Box<dyn Learner>,
    /// Steps and the accuracy after each.
    pub curve: Vec<[f64; 2]>,
    /// The steps that were taken.
    pub steps: usize,
    /// Seconds of these steps alone.
    pub seconds: f64,
    /// Whether training diverged, and it ended there.
    pub exploded: bool,
    /// Whether it was asked to stop.
    pub stopped: bool,
}

impl Fitted {
    /// The last accuracy.
    pub fn accuracy(&self) -> f64 {
        self.curve.last().map_or(f64::NAN, |point| point[1])
    }
}

/// Where a run keeps what survives a kill, and the settings that it belongs to.
#[derive(Debug, Clone, Copy)]
pub struct Kept<'a> {
    /// The directory of the run.
    pub directory: &'a Path,
    /// All that decides what comes out.
    pub settings: &'a str,
}

/// Trains on a device, or goes on where a run stood that is kept; `on` is shown steps that were taken, the loss, and the accuracy where there was a look.
///
/// # Errors
/// If the layers do not fit together, a step fails, or a file cannot be written.
pub fn fit(
    (layers, signal): (&[LayerSpec], &Signal),
    source: &dyn Source,
    how: &Fit,
    (device, stop, kept): (Device, &AtomicBool, Option<Kept<'_>>),
    on: &mut dyn FnMut(usize, f64, Option<f64>),
) -> Result<Fitted, crate::Error> {
    let mut trained = learner(device, layers, signal, how.seed)?;
    let held_out: Vec<Word> = (0..how.held_out).map(|i| source.held_out(i)).collect();
    let begun = kept.and_then(|kept| checkpoint::restore(kept.directory, kept.settings, &mut *trained));
    let settings = kept.map_or_else(String::new, |kept| kept.settings.into());
    let mut now = begun.unwrap_or(Standing { settings, ..Standing::default() });
    let (mut exploded, mut stopped, mut saved, mut clock) = (false, false, Instant::now(), Instant::now());
    let enough = |now: &Standing| now.curve.last().is_some_and(|point| point[1] > how.enough);
    let is_look = |step: usize| step.is_multiple_of(how.look) || step == how.steps;
    let mut flight = InFlight::default();
    while now.step < how.steps && !exploded && !enough(&now) {
        stopped = stop.load(Ordering::Relaxed);
        let saves = kept.filter(|_| stopped || saved.elapsed().as_secs_f64() > CHECKPOINT_SECONDS);
        if flight.count() == 0 {
            if let Some(kept) = saves {
                checkpoint::save(kept.directory, &now, &*trained)?;
                saved = Instant::now();
            }
            if stopped {
                break;
            }
            clock = Instant::now();
        }
        // A device goes on with the next step while this one is looked at, unless the state after this one is asked for.
        let next = now.step + flight.count();
        if flight.count() == 0 || (flight.has_room() && saves.is_none() && !stopped && !is_look(next)) {
            flight.push(begin(&mut *trained, &source.batch(next), how, next));
            continue;
        }
        let taken = match flight.pop() {
            Some(Ok(taken)) => taken.is_finite().then_some(taken.loss),
            Some(Err(error)) if !error.is_overflow() => return Err(error.into()),
            _ => None,
        };
        exploded = taken.is_none();
        now.seconds += clock.elapsed().as_secs_f64();
        now.step += 1;
        let look = is_look(now.step) || exploded;
        let seen = look.then(|| accuracy(&*trained, &held_out)).transpose()?;
        on(now.step, taken.unwrap_or(f64::NAN), seen);
        now.curve.extend(seen.map(|seen| [now.step as f64, seen]));
        clock = Instant::now();
    }
    Ok(Fitted { network: trained, curve: now.curve, steps: now.step, seconds: now.seconds, exploded, stopped })
}

/// Begins a step.
fn begin(trained: &mut dyn Learner, batch: &Batch, how: &Fit, step: usize) -> Result<Begun, Error> {
    let rate = how.rates.at(step + 1, how.steps);
    let update = Update { rate, decay: how.decay, clip: how.clip, penalty: how.penalty, norm: FieldNorm::Frobenius };
    let phase = Phase::Train(Stream::new(how.seed, DROPOUT).child(step as u64));
    trained.begin(update, phase, &rows(batch.words()), Answers::Classes(&|shape| answers(batch, shape)))
}

/// Words as rows of tokens, padded.
fn rows<'a>(words: impl Iterator<Item = &'a Word>) -> Padded {
    let words: Vec<&Word> = words.collect();
    let lengths: Vec<usize> = words.iter().map(|word| word.tokens.len()).collect();
    let longest = lengths.iter().copied().max().unwrap_or(1).max(1);
    let mut values = vec![0.0_f32; words.len() * longest];
    for (word, row) in words.iter().zip(values.chunks_exact_mut(longest)) {
        row.iter_mut().zip(&word.tokens).for_each(|(cell, &token)| *cell = f32::from(token));
    }
    Padded { values, lengths, width: 1 }
}

/// The answer at each place of each word, and what its `-ln p` counts: the mean over the answers of a group, the sum over groups.
fn answers(batch: &Batch, [words, places]: [usize; 2]) -> Vec<(usize, f32)> {
    let mut all = vec![(0, 0.0); words * places];
    let mut word = 0;
    for group in &batch.groups {
        let answers: usize = group.iter().map(|word| word.answers.len()).sum();
        let share = 1.0 / answers.max(1) as f32;
        for own in group {
            let row = all[word * places..].iter_mut().zip(&own.answers);
            row.for_each(|(cell, &answer)| *cell = (usize::from(answer), share));
            word += 1;
        }
    }
    all
}

/// The share of answers that are right. Words whose states overflow are wrong.
///
/// # Errors
/// If a layer fails for another reason.
pub fn accuracy(network: &dyn Learner, words: &[Word]) -> Result<f64, Error> {
    // Words of about the same length share a pass.
    let mut order: Vec<&Word> = words.iter().collect();
    order.sort_by_key(|word| word.tokens.len());
    let (mut right, mut all, mut rest) = (0_usize, 0_usize, &order[..]);
    while let Some(first) = rest.first() {
        let mut count = (MAX_TOKENS / first.tokens.len().max(1)).clamp(1, rest.len());
        while count > 1 && count * rest[count - 1].tokens.len() > MAX_TOKENS {
            count = count * 3 / 4;
        }
        let (own, after) = rest.split_at(count);
        rest = after;
        all += own.iter().map(|word| word.answers.len()).sum::<usize>();
        let (values, [_, places, classes]) = match network.outputs(&rows(own.iter().copied())) {
            Ok(outputs) => outputs,
            Err(error) if error.is_overflow() => continue,
            Err(error) => return Err(error),
        };
        for (word, own) in own.iter().zip(values.chunks_exact(places * classes)) {
            let best = |p: &[f32]| (1..p.len()).fold(0, |best, k| if p[k] > p[best] { k } else { best });
            let said = own.chunks_exact(classes).map(best).zip(&word.answers);
            right += said.filter(|(said, answer)| *said == usize::from(**answer)).count();
        }
    }
    Ok(right as f64 / all.max(1) as f64)
}
