//! Training on words that are drawn step by step:
//!
//! ```text
//! loss_n = sum_groups mean_answers -ln p(answer) + lambda sum_blocks |A|_F,   theta <- AdamW(rate_n),   rate_n: linear warm-up, then a cosine
//! ```
//!
//! The logarithm is of one softmax. Every `look` steps the accuracy on words that are held out is measured, over all answers. The loop is that of [`ncde_train::fit`].

use ncde_layers::layer::{Error, FieldNorm};
use ncde_report::record::{Point, StopReason};
use ncde_runtime::random::Stream;
use ncde_train::{
    Evaluation, Event, FitRequest, Fitted, OptimizerName, Padded, Plan, Predictor, Schedule, Shape, Source, Targets, watching,
};
use serde::{Deserialize, Serialize};

use super::words::{Word, WordSource};

const DROPOUT: u64 = 20;
/// The most tokens of a pass that measures.
const MAX_TOKENS: usize = 1 << 15;

/// How the learning rate goes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rates {
    /// The largest.
    pub peak: f64,
    /// The last.
    pub floor: f64,
    /// The share of steps that it takes to the largest.
    pub warmup: f64,
}

/// How a model is trained.
#[expect(missing_docs, reason = "the names say what the fields are")]
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fit {
    pub steps: usize,
    pub rates: Rates,
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
    pub seed: u64,
}

impl Fit {
    /// As the training loop takes it.
    pub fn plan(&self) -> Plan {
        let Rates { peak, floor, warmup } = self.rates;
        Plan {
            optimizer: OptimizerName::Adamw.optimizer(),
            schedule: Schedule { peak, floor, warmup: warmup * self.steps as f64, shape: Shape::Cosine },
            decay: self.decay,
            clip: self.clip,
            penalty: self.penalty,
            norm: FieldNorm::Frobenius,
            evaluate_every: self.look,
            target: Some(self.enough),
            metric: "accuracy".into(),
            higher_is_better: true,
            keep_best: false,
            recoveries: 0,
            seed: self.seed,
            masks: Stream::new(self.seed, DROPOUT),
            ..Plan::new(self.steps, peak)
        }
    }
}

/// Steps and the accuracy after each look.
pub fn curve(fitted: &Fitted) -> Vec<[f64; 2]> {
    fitted.history.iter().filter_map(|point| Some([point.step as f64, point.metric?])).collect()
}

/// Trains on words, or goes on where a run with this request stood; `on` is shown steps that were taken, the loss, and the accuracy where there was a look.
///
/// # Errors
/// If the layers do not fit together, a step fails, or a file cannot be written.
pub fn fit(
    request: &FitRequest<'_>,
    source: &dyn WordSource,
    held_out: usize,
    on: &mut dyn FnMut(usize, f64, Option<f64>),
) -> Result<Fitted, crate::Error> {
    let mut words = Words { source, held_out: (0..held_out).map(|i| source.held_out(i)).collect() };
    let mut watch = watching(|event| match event {
        Event::Step { step, loss } => on(step, loss, None),
        Event::Evaluated { point, .. } => on(point.step, point.loss, point.metric),
        _ => {}
    });
    let mut fitted = ncde_train::fit(request, &mut words, &mut watch)?;
    if fitted.reason == Some(StopReason::Diverged) {
        // What there is to see of the weights before it diverged.
        let metric = Some(accuracy(&*fitted.network, &words.held_out)?);
        let (step, seconds) = (fitted.steps, fitted.seconds);
        fitted.history.push(Point { step, seconds, loss: f64::NAN, rate: f64::NAN, validation: None, metric });
    }
    Ok(fitted)
}

/// Words of a source as batches.
struct Words<'a> {
    source: &'a dyn WordSource,
    held_out: Vec<Word>,
}

impl Source for Words<'_> {
    fn batch(&mut self, step: usize) -> (Padded, Targets) {
        let groups = self.source.batch(step);
        (rows(groups.iter().flatten()), answers(&groups))
    }

    fn evaluate(&mut self, model: &dyn Predictor) -> Result<Option<Evaluation>, Error> {
        Ok(Some(Evaluation { loss: None, metric: Some(accuracy(model, &self.held_out)?) }))
    }
}

/// Words as rows of tokens, padded.
fn rows<'a>(words: impl Iterator<Item = &'a Word>) -> Padded {
    let words: Vec<Vec<f32>> = words.map(|word| word.tokens.iter().map(|&token| f32::from(token)).collect()).collect();
    Padded::of(words.iter().map(Vec::as_slice), 1)
}

/// The answers to each word, and what the `-ln p` of each counts: the mean over the answers of a group, the sum over groups.
fn answers(groups: &[Vec<Word>]) -> Targets {
    let mut all = Vec::new();
    for group in groups {
        let answers: usize = group.iter().map(|word| word.answers.len()).sum();
        let share = 1.0 / answers.max(1) as f32;
        all.extend(group.iter().map(|word| word.answers.iter().map(|&answer| (usize::from(answer), share)).collect()));
    }
    Targets::Classes(all)
}

/// The share of answers that are right. Words whose states overflow are wrong.
///
/// # Errors
/// If a layer fails for another reason.
pub fn accuracy(network: &dyn Predictor, words: &[Word]) -> Result<f64, Error> {
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
