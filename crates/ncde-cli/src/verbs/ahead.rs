//! Forecasts as rows: one for each horizon, with the time it is for and an interval for each target where there is one.

use ncde_runtime::{Forecast, Forecasts, ModelSpec, Prediction, Task};
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use crate::times::Times;

/// The forecast of one horizon.
pub(crate) struct Ahead<'a> {
    names: Vec<&'a String>,
    /// How many observations ahead.
    pub(crate) horizon: usize,
    /// What it is for; none if the usual step from one observation to the next is not known.
    time: Option<f64>,
    times: &'a Times,
    /// One for each target.
    values: &'a [f64],
    /// The ends of an interval for each target.
    intervals: Option<Vec<[f64; 2]>>,
}

/// The columns behind id and time.
pub(crate) fn columns(spec: &ModelSpec, forecast: &Forecast) -> Vec<String> {
    let mut all = vec!["horizon".to_owned(), "forecast_time".to_owned()];
    for name in forecast.of_targets(&spec.channels) {
        all.push(name.clone());
        if forecast.intervals.is_some() {
            all.extend(["low", "high"].map(|side| format!("{name}_{side}")));
        }
    }
    all
}

/// The forecasts after an observation, `[horizons, targets]`, one horizon at a time.
pub(crate) fn horizons<'a>(
    spec: &'a ModelSpec,
    forecast: &'a Forecast,
    (time, times): (f64, &'a Times),
    forecasts: &'a Forecasts,
) -> impl Iterator<Item = Ahead<'a>> {
    let targets = forecast.width(spec.channels.len()).max(1);
    let rows = forecasts.values.chunks_exact(targets).zip(forecasts.widths.chunks_exact(targets));
    let interval = |(c, (value, width)): (usize, (&f64, &f64))| forecast.interval(c, *value, *width);
    forecast.horizons().zip(rows).map(move |(horizon, (values, widths))| Ahead {
        names: forecast.of_targets(&spec.channels).collect(),
        horizon,
        time: forecast.time(time, horizon),
        times,
        values,
        intervals: forecast.intervals.is_some().then(|| values.iter().zip(widths).enumerate().map(interval).collect()),
    })
}

impl Ahead<'_> {
    /// The cells below [`columns`].
    pub(crate) fn cells(&self) -> Vec<String> {
        let mut all = vec![self.horizon.to_string(), self.time.map_or(String::new(), |time| self.times.text(time))];
        for (c, value) in self.values.iter().enumerate() {
            all.push(value.to_string());
            if let Some(intervals) = &self.intervals {
                all.extend(intervals[c].map(|end| end.to_string()));
            }
        }
        all
    }

    /// One end of the intervals, by name.
    fn ends<'b>(&'b self, intervals: &[[f64; 2]], end: usize) -> Named<'b, &'b String> {
        Named(&self.names, intervals.iter().map(|ends| ends[end]).collect())
    }
}

impl Serialize for Ahead<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("horizon", &self.horizon)?;
        if let Some(time) = self.time {
            map.serialize_entry("time", &self.times.value(time))?;
        }
        map.serialize_entry("values", &Named(&self.names, self.values.to_vec()))?;
        if let Some(intervals) = &self.intervals {
            map.serialize_entry("low", &self.ends(intervals, 0))?;
            map.serialize_entry("high", &self.ends(intervals, 1))?;
        }
        map.end()
    }
}

struct Named<'a, N>(&'a [N], Vec<f64>);

impl<N: Serialize> Serialize for Named<'_, N> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().zip(&self.1))
    }
}

/// A prediction as a JSON object.
pub(crate) struct Row<'a> {
    pub(crate) spec: &'a ModelSpec,
    pub(crate) id: Option<&'a str>,
    /// The time of the observation that it follows, and whether that is written.
    pub(crate) time: f64,
    pub(crate) is_timed: bool,
    pub(crate) times: &'a Times,
    pub(crate) prediction: &'a Prediction,
    /// Forecasts of larger horizons are left out.
    pub(crate) max_horizon: usize,
    /// Where the series lies beyond what was seen in training.
    pub(crate) beyond: &'a [String],
}

impl Serialize for Row<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if let Some(id) = self.id {
            map.serialize_entry("id", id)?;
        }
        if self.is_timed {
            map.serialize_entry("time", &self.times.value(self.time))?;
        }
        match (self.prediction, &self.spec.task) {
            (Prediction::Class { class, probabilities }, Task::Classification { classes, .. }) => {
                map.serialize_entry("prediction", &classes[*class])?;
                map.serialize_entry("probabilities", &Named(classes, probabilities.to_vec()))?;
            }
            (Prediction::Value(value), _) => map.serialize_entry("prediction", value)?,
            (Prediction::Values(values), Task::Forecast(forecast)) => {
                let all = horizons(self.spec, forecast, (self.time, self.times), values)
                    .filter(|ahead| ahead.horizon <= self.max_horizon);
                map.serialize_entry("forecast", &all.collect::<Vec<_>>())?;
            }
            (Prediction::Class { .. } | Prediction::Values(_), _) => {}
        }
        if !self.beyond.is_empty() {
            map.serialize_entry("beyond", self.beyond)?;
        }
        map.end()
    }
}
