//! Metrics of forecasts, for each horizon and channel, beside those of naive forecasts.
//!
//! ```text
//! mse = mean (f - y)^2,   mae = mean |f - y|,   mase = mae / scale,   r2 = 1 - sum (f - y)^2 / sum (y - mean y)^2,   coverage = share of |f - y| <= width
//! ```
//!
//! `scale` is the mean size of the error of a naive forecast on the training part: with `mase` below 1 a forecast is better than that, whatever the unit of a
//! channel. Over several channels, `mase` and `r2` are means of those of each horizon and channel: pooled numbers would be those of the channel with the largest values.

use serde::{Deserialize, Serialize};

use crate::number;

/// How good forecasts are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Forecast {
    /// How many series were forecast; without any, all metrics are zero and mean nothing.
    pub cases: usize,
    /// How many numbers were compared.
    pub numbers: usize,
    /// Mean square of the error, over all numbers.
    #[serde(with = "number")]
    pub mse: f64,
    /// Mean size of the error, over all numbers.
    #[serde(with = "number")]
    pub mae: f64,
    /// Mean of the scaled errors of horizons and channels.
    pub mase: Option<f64>,
    /// Mean over horizons and channels of the share of the variance that is explained.
    pub r2: Option<f64>,
    /// The share of numbers that lie in their intervals.
    pub coverage: Option<f64>,
    /// The share that should.
    pub level: Option<f64>,
    /// After how many observations things repeat, if they do.
    pub period: Option<usize>,
    /// The names of the channels.
    pub channels: Vec<String>,
    /// For each horizon, and in it for each channel.
    pub scores: Vec<Score>,
    /// The same of forecasts that need no model.
    pub naive: Vec<Naive>,
    /// The series that are forecast worst, the worst first, at most [`Forecast::MAX_SERIES`] of them; empty of a single one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub series: Vec<SeriesScore>,
}

/// How good the forecasts of one series are, over all horizons and channels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SeriesScore {
    /// The name of the series.
    pub id: String,
    /// Of the forecast, then of each naive one.
    pub errors: Vec<Errors>,
}

/// How good the forecasts of one horizon and channel are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// How many observations ahead.
    pub horizon: usize,
    /// Which channel, from 0.
    pub channel: usize,
    /// How far off they are.
    #[serde(flatten)]
    pub errors: Errors,
}

/// How far off some forecasts are: of one horizon and channel, or of several.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Errors {
    /// How many numbers were compared.
    pub numbers: usize,
    /// Mean square of the error.
    #[serde(with = "number")]
    pub mse: f64,
    /// Mean size of the error.
    #[serde(with = "number")]
    pub mae: f64,
    /// The same, scaled; `None` if no channel moved in training. The mean over horizons and channels.
    pub mase: Option<f64>,
    /// Share of the variance that is explained; `None` if the truth does not vary. The mean over horizons and channels.
    pub r2: Option<f64>,
    /// The share of numbers that lie in their intervals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coverage: Option<f64>,
}

impl Errors {
    /// Of several together.
    fn over<'a>(scores: impl Iterator<Item = &'a Score> + Clone) -> Self {
        let all = scores.map(|score| &score.errors);
        let numbers: usize = all.clone().map(|errors| errors.numbers).sum();
        let pooled = |value: fn(&Self) -> f64| {
            let sum: f64 =
                all.clone().filter(|errors| errors.numbers > 0).map(|errors| errors.numbers as f64 * value(errors)).sum();
            sum / numbers.max(1) as f64
        };
        let mean = |value: fn(&Self) -> Option<f64>| super::classification::mean(all.clone().filter_map(value));
        let has_intervals = all.clone().any(|errors| errors.coverage.is_some());
        Self {
            numbers,
            mse: pooled(|errors| errors.mse),
            mae: pooled(|errors| errors.mae),
            mase: mean(|errors| errors.mase),
            r2: mean(|errors| errors.r2),
            coverage: has_intervals.then(|| pooled(|errors| errors.coverage.unwrap_or(0.0))),
        }
    }
}

/// A forecast that needs no model; its metrics are as in [`Forecast`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "metrics are as in `Forecast`")]
pub struct Naive {
    /// What it says: `last value`, `seasonal`, `mean`.
    pub name: String,
    #[serde(with = "number")]
    pub mse: f64,
    #[serde(with = "number")]
    pub mae: f64,
    pub mase: Option<f64>,
    pub r2: Option<f64>,
    /// For each horizon, and in it for each channel.
    pub scores: Vec<Score>,
}

impl Naive {
    /// A metric by its name, as [`Metrics::get`](crate::Metrics::get) has it.
    pub fn get(&self, name: &str) -> Option<f64> {
        match name {
            "mse" => Some(self.mse),
            "mae" => Some(self.mae),
            "mase" => self.mase,
            "r2" => self.r2,
            _ => None,
        }
    }
}

/// Sums that the metrics of one horizon and channel are made of.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    count: usize,
    square: f64,
    size: f64,
    covered: usize,
    /// Mean and squared distances of the truth.
    mean: f64,
    spread: f64,
}

impl Sums {
    fn push(&mut self, truth: f64, forecast: f64, width: Option<f64>) {
        let error = forecast - truth;
        self.count += 1;
        self.square += error * error;
        self.size += error.abs();
        self.covered += usize::from(width.is_some_and(|width| error.abs() <= width));
        let step = truth - self.mean;
        self.mean += step / self.count as f64;
        self.spread += step * (truth - self.mean);
    }

    fn score(&self, horizon: usize, channel: usize, scale: f64, intervals: bool) -> Score {
        let n = self.count.max(1) as f64;
        let (mae, varies) = (self.size / n, self.spread > 1e-20 * n * self.mean * self.mean);
        let mase = (scale > 0.0 && self.count > 0).then_some(mae / scale).filter(|x| x.is_finite());
        let r2 = varies.then_some(1.0 - self.square / self.spread).filter(|x| x.is_finite());
        let coverage = (intervals && self.count > 0).then_some(self.covered as f64 / n);
        Score { horizon, channel, errors: Errors { numbers: self.count, mse: self.square / n, mae, mase, r2, coverage } }
    }
}

/// Takes forecasts one number at a time.
#[derive(Debug, Clone)]
pub struct Tally {
    horizons: Vec<usize>,
    channels: Vec<String>,
    scales: Vec<f64>,
    level: Option<f64>,
    period: Option<usize>,
    model: Vec<Sums>,
    naive: Vec<(String, Vec<Sums>)>,
    /// The series that is compared now: the sums of the forecast and of each naive one.
    current: Option<(String, Vec<Vec<Sums>>)>,
    series: Vec<SeriesScore>,
}

impl Tally {
    /// For these horizons and channels, each with its scale (0 if it is not known), intervals of a level, and naive forecasts by name.
    pub fn new(horizons: &[usize], channels: &[String], scales: &[f64], level: Option<f64>, naive: &[&str]) -> Self {
        let sums = vec![Sums::default(); horizons.len() * channels.len()];
        Self {
            horizons: horizons.to_vec(),
            channels: channels.to_vec(),
            scales: scales.to_vec(),
            level,
            period: None,
            naive: naive.iter().map(|name| ((*name).to_owned(), sums.clone())).collect(),
            model: sums,
            current: None,
            series: Vec::new(),
        }
    }

    /// The same with a period that is known.
    #[must_use]
    pub fn with_period(self, period: Option<usize>) -> Self {
        Self { period, ..self }
    }

    /// What is pushed from now on is of this series.
    pub fn begin(&mut self, id: &str) {
        self.end();
        let sums = vec![vec![Sums::default(); self.model.len()]; 1 + self.naive.len()];
        self.current = Some((id.to_owned(), sums));
    }

    fn end(&mut self) {
        if let Some((id, sums)) = self.current.take() {
            let of = |(at, sums): (usize, &Vec<Sums>)| Errors::over(self.scores(sums, at == 0 && self.level.is_some()).iter());
            let errors: Vec<Errors> = sums.iter().enumerate().map(of).collect();
            self.series.extend((errors[0].numbers > 0).then_some(SeriesScore { id, errors }));
            // Of very many series only the worst are ever held.
            if self.series.len() > 4 * Forecast::MAX_SERIES {
                self.keep_worst();
            }
        }
    }

    fn keep_worst(&mut self) {
        let error = |series: &SeriesScore| series.errors[0].mase.unwrap_or(series.errors[0].mae);
        self.series.sort_by(|a, b| error(b).total_cmp(&error(a)));
        self.series.truncate(Forecast::MAX_SERIES);
    }

    fn scores(&self, sums: &[Sums], intervals: bool) -> Vec<Score> {
        let places = self.horizons.iter().flat_map(|&horizon| (0..self.channels.len()).map(move |c| (horizon, c)));
        places.zip(sums).map(|((k, c), sums)| sums.score(k, c, self.scales[c], intervals)).collect()
    }

    /// A forecast for the horizon and channel at these places, with half its interval and the naive forecasts in their order.
    pub fn push(&mut self, [horizon, channel]: [usize; 2], truth: f64, forecast: f64, width: Option<f64>, naive: &[f64]) {
        let place = horizon * self.channels.len() + channel;
        self.model[place].push(truth, forecast, width);
        for ((_, sums), forecast) in self.naive.iter_mut().zip(naive) {
            sums[place].push(truth, *forecast, None);
        }
        if let Some((_, sums)) = &mut self.current {
            let widths = std::iter::once(width).chain(std::iter::repeat(None));
            for ((sums, forecast), width) in sums.iter_mut().zip(std::iter::once(&forecast).chain(naive)).zip(widths) {
                sums[place].push(truth, *forecast, width);
            }
        }
    }

    /// The metrics, of so many series; `None` if nothing was compared.
    ///
    /// ```
    /// use ncde_report::metrics::Tally;
    /// let mut tally = Tally::new(&[1], &["x".to_owned()], &[2.0], Some(0.9), &["last value"]);
    /// for (truth, forecast, last) in [(1.0, 1.5, 0.0), (3.0, 2.0, 1.0)] {
    ///     tally.push([0, 0], truth, forecast, Some(0.6), &[last]);
    /// }
    /// let metrics = tally.finish(1).unwrap();
    /// assert_eq!((metrics.mae, metrics.mase, metrics.coverage), (0.75, Some(0.375), Some(0.5)));
    /// assert_eq!((metrics.naive[0].mae, metrics.r2), (1.5, Some(1.0 - 1.25 / 2.0)));
    /// ```
    pub fn finish(mut self, cases: usize) -> Option<Forecast> {
        self.end();
        self.keep_worst();
        // A single one is the whole.
        let series = if self.series.len() > 1 { std::mem::take(&mut self.series) } else { Vec::new() };
        let scores = self.scores(&self.model, self.level.is_some());
        let Errors { numbers, mse, mae, mase, r2, coverage } = Errors::over(scores.iter());
        if numbers == 0 {
            return None;
        }
        let naive = self.naive.iter().map(|(name, sums)| {
            let scores = self.scores(sums, false);
            let Errors { mse, mae, mase, r2, .. } = Errors::over(scores.iter());
            Naive { name: name.clone(), mse, mae, mase, r2, scores }
        });
        let (level, period, naive) = (self.level, self.period, naive.collect());
        let channels = self.channels;
        Some(Forecast { cases, numbers, mse, mae, mase, r2, coverage, level, period, channels, scores, naive, series })
    }
}

impl Forecast {
    /// The most series whose own errors are kept.
    pub const MAX_SERIES: usize = 40;

    /// The metrics of each horizon, over all channels: `[the forecast, each naive one]`.
    pub fn by_horizon(&self) -> Vec<(usize, Vec<Errors>)> {
        let mut horizons: Vec<usize> = self.scores.iter().map(|score| score.horizon).collect();
        horizons.dedup();
        horizons.into_iter().map(|k| (k, self.over(|score| score.horizon == k))).collect()
    }

    /// The metrics of each channel, over all horizons: `[the forecast, each naive one]`.
    pub fn by_channel(&self) -> Vec<(&str, Vec<Errors>)> {
        self.channels.iter().enumerate().map(|(c, name)| (name.as_str(), self.over(|score| score.channel == c))).collect()
    }

    fn over(&self, among: impl Fn(&Score) -> bool) -> Vec<Errors> {
        let all = std::iter::once(&self.scores).chain(self.naive.iter().map(|naive| &naive.scores));
        all.map(|scores| Errors::over(scores.iter().filter(|score| among(score)))).collect()
    }
}
