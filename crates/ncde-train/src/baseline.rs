//! What a model should beat: a guess that looks at nothing, and a linear model of signatures.
//!
//! ```text
//! guess: the shares of classes, or the mean, of the training part;   linear: ridge on (first knot, statics, S^N of the path with time)
//! ```
//!
//! The linear model is solved for in closed form, where that costs about a second at most.

use ncde_data::{Case, Dataset, Targets};
use ncde_report::record::Baseline;
use ncde_reservoir::matrix::products;
use ncde_runtime::{At, Prediction, Task, softmax};
use ncde_signature::{Paths, Signature};

use super::preset::usual_depth;
use super::reservoir::{HeldOut, best_penalty};
use super::score::{PredictedRange, score, score_ranges};
use super::{Error, Run};

/// The most training cases of the linear model: products of all pairs are taken.
const MAX_CASES: usize = 1000;
/// The most numbers that are computed for its features: observations times coordinates.
const MAX_WORK: usize = 300_000_000;

impl Run {
    /// The metrics of simple predictions on these cases.
    pub(super) fn baselines(&self, cases: &[usize]) -> Result<Vec<Baseline>, Error> {
        let part = self.data.subset(cases);
        let scored = |name: &str, note: String, predictions: &[Vec<Prediction>]| {
            score(&self.spec.task, &part, predictions).map(|metrics| Baseline { name: name.into(), note, metrics })
        };
        let mut all = Vec::new();
        if let Some((name, note, guess)) = self.guess() {
            let times = |case: &Case| if self.spec.task.at() == At::End { 1 } else { case.len() };
            let predictions: Vec<_> = part.cases.iter().map(|case| vec![guess.clone(); times(case)]).collect();
            all.extend(scored(name, note, &predictions));
        }
        if let Some(predictions) = self.linear(&part)? {
            all.extend(scored("linear on signatures", String::new(), &predictions));
        }
        Ok(all)
    }

    /// The metrics of a guess at the same observations of series that are split by time.
    pub(super) fn guessed(&self, data: &Dataset, ranges: &[PredictedRange]) -> Vec<Baseline> {
        let Some((name, note, guess)) = self.guess() else { return Vec::new() };
        let instead: Vec<PredictedRange> = ranges
            .iter()
            .map(|range| PredictedRange { predictions: vec![guess.clone(); range.predictions.len()], ..range.clone() })
            .collect();
        let metrics = score_ranges(&self.spec.task, data, &instead);
        metrics.map(|metrics| Baseline { name: name.into(), note, metrics }).into_iter().collect()
    }

    /// The best that can be said without looking at a series, in the training part.
    fn guess(&self) -> Option<(&'static str, String, Prediction)> {
        let train = &self.parts.train;
        let classes = |of: Vec<usize>, names: &[String]| {
            let mut shares = vec![0.0; names.len()];
            of.iter().for_each(|&class| shares[class] += 1.0 / of.len() as f64);
            let most = (0..shares.len()).fold(0, |best, i| if shares[i] > shares[best] { i } else { best });
            (!of.is_empty()).then(|| {
                ("majority class", format!("always `{}`", names[most]), Prediction::Class { class: most, probabilities: shares })
            })
        };
        let mean = |of: Vec<f64>| {
            let known: Vec<f64> = of.into_iter().filter(|y| !y.is_nan()).collect();
            let mean = known.iter().sum::<f64>() / known.len() as f64;
            (!known.is_empty()).then(|| ("mean", "of the training cases".to_owned(), Prediction::Value(mean)))
        };
        match (&self.spec.task, &self.data.targets) {
            (Task::Classification { classes: names, .. }, Targets::Classes { of, .. }) => {
                classes(train.iter().map(|&i| of[i]).collect(), names)
            }
            (Task::Classification { classes: names, .. }, Targets::ClassSteps { of, .. }) => {
                classes(train.iter().flat_map(|&i| of[i].iter().flatten().copied()).collect(), names)
            }
            (Task::Regression { .. }, Targets::Values { of, .. }) => mean(train.iter().map(|&i| of[i]).collect()),
            (Task::Regression { .. }, Targets::ValueSteps { of, .. }) => {
                mean(train.iter().flat_map(|&i| of[i].iter().copied()).collect())
            }
            _ => None,
        }
    }

    /// The predictions of the linear model for these cases; none where it would take long, or makes no sense.
    fn linear(&self, part: &Dataset) -> Result<Option<Vec<Vec<Prediction>>>, Error> {
        let train: Vec<usize> = self.train_by_group().into_iter().filter(|&i| self.target(i).is_some()).collect();
        let width = self.spec.preparation.width() + usize::from(self.spec.preparation.time.is_none());
        let depth = usual_depth(width);
        let observations: usize = train.iter().map(|&i| &self.data.cases[i]).chain(&part.cases).map(Case::len).sum();
        let coordinates = (1..=depth as u32).map(|level| width.saturating_pow(level)).fold(0, usize::saturating_add);
        let possible = self.spec.task.at() == At::End && self.spec.vocabulary.is_none() && self.spec.name != "signature";
        if !possible || train.len() < 4 || train.len() > MAX_CASES || observations.saturating_mul(coordinates) > MAX_WORK {
            return Ok(None);
        }
        let signature = Signature::new(width, depth)?;
        let longest = train.iter().map(|&i| duration(&self.data.cases[i])).fold(0.0, f64::max);
        let unit = if longest > 0.0 { 1.0 / longest } else { 1.0 };
        let features = |case: &Case| self.signature_of(case, &signature, unit);
        let mut rows = train.iter().map(|&i| features(&self.data.cases[i])).collect::<Result<Vec<_>, Error>>()?;
        let mut evaluated = part.cases.iter().map(features).collect::<Result<Vec<_>, Error>>()?;
        standardise(&mut rows, &mut evaluated);

        let targets: Vec<Vec<f64>> = train.iter().filter_map(|&i| self.target(i)).collect();
        let (n, outputs) = (rows.len(), targets[0].len());
        let means: Vec<f64> = (0..outputs).map(|o| targets.iter().map(|row| row[o]).sum::<f64>() / n as f64).collect();
        let centred: Vec<f64> = targets.iter().flat_map(|row| row.iter().zip(&means).map(|(y, mean)| y - mean)).collect();
        let roots = vec![1.0; n];
        let groups = train.chunk_by(|&a, &b| self.group(a) == self.group(b)).scan(0, |start, group| {
            let from = *start;
            *start += group.len();
            Some(from..*start)
        });
        let groups: Vec<_> = groups.collect();
        let Some((_, fit)) = best_penalty(&products(&rows.concat(), n), &centred, &groups, &roots) else { return Ok(None) };
        let tau = if outputs > 1 {
            HeldOut { scores: &fit.left_out, targets: &centred, means: &means, roots: &roots }.temperature()
        } else {
            1.0
        };
        let predict = |row: &Vec<f32>| {
            let mut scores = means.clone();
            for (own, alpha) in rows.iter().zip(fit.alpha.chunks_exact(outputs)) {
                let product: f64 = own.iter().zip(row).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
                scores.iter_mut().zip(alpha).for_each(|(score, alpha)| *score += product * alpha);
            }
            if outputs == 1 {
                return vec![Prediction::Value(scores[0])];
            }
            let class = (0..outputs).fold(0, |best, i| if scores[i] > scores[best] { i } else { best });
            let logits: Vec<f64> = scores.iter().map(|score| tau * score).collect();
            vec![Prediction::Class { class, probabilities: softmax(&logits) }]
        };
        Ok(Some(evaluated.iter().map(predict).collect()))
    }

    /// What is to be predicted of a case as a whole: of classes, 1 for the right one and 0 for the others.
    fn target(&self, case: usize) -> Option<Vec<f64>> {
        match (&self.spec.task, &self.data.targets) {
            (Task::Classification { classes, .. }, Targets::Classes { of, .. }) => {
                Some((0..classes.len()).map(|class| f64::from(u8::from(class == of[case]))).collect())
            }
            (Task::Regression { .. }, Targets::Values { of, .. }) => Some(vec![of[case]]).filter(|y| !y[0].is_nan()),
            _ => None,
        }
    }

    /// First knot, statics, signature of the path.
    fn signature_of(&self, case: &Case, signature: &Signature, unit: f64) -> Result<Vec<f32>, Error> {
        let named = |source| Error::Case { id: case.id.clone(), source };
        let preparation = &self.spec.preparation;
        let (mut track, mut path) = (preparation.start(), Vec::new());
        for (i, &time) in case.times.iter().enumerate() {
            preparation.push(&mut track, time, case.row(i, self.data.channels.len())).map_err(named)?;
            path.extend(preparation.time.is_none().then(|| unit * (time - case.times[0])));
            path.extend_from_slice(&track.knot);
        }
        let width = path.len() / case.len().max(1);
        let words = if case.len() < 2 { vec![0.0; signature.len()] } else { signature.of(&Paths::single(&path, width)?)? };
        let statics = preparation.statics(&case.statics).map_err(named)?;
        Ok(path.iter().take(width).chain(&statics).chain(&words).map(|&x| x as f32).collect())
    }
}

fn duration(case: &Case) -> f64 {
    case.times.last().zip(case.times.first()).map_or(0.0, |(last, first)| last - first)
}

/// Mean 0 and deviation `1 / sqrt(features)` over the first rows, the same for the others; features that do not vary are left out.
fn standardise(rows: &mut [Vec<f32>], others: &mut [Vec<f32>]) {
    let (n, features) = (rows.len() as f64, rows.first().map_or(0, Vec::len));
    for k in 0..features {
        let mean = rows.iter().map(|row| f64::from(row[k])).sum::<f64>() / n;
        let square = rows.iter().map(|row| (f64::from(row[k]) - mean).powi(2)).sum::<f64>() / n;
        let factor = if square > 1e-12 * mean * mean { 1.0 / (square * features as f64).sqrt() } else { 0.0 };
        rows.iter_mut().chain(others.iter_mut()).for_each(|row| row[k] = ((f64::from(row[k]) - mean) * factor) as f32);
    }
}
