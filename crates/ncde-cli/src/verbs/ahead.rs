//! Forecasts as rows: one for each horizon, with the time it is for and an interval for each channel where there is one.

use ncde_runtime::{Forecast, ModelSpec, Prediction, Task};
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

/// The forecast of one horizon.
pub(crate) struct Ahead<'a> {
    names: &'a [String],
    /// How many observations ahead.
    pub(crate) horizon: usize,
    /// What it is for; none if the usual step from one observation to the next is not known.
    time: Option<f64>,
    /// One for each channel.
    values: &'a [f64],
    /// Half of an interval, for each channel.
    widths: Option<&'a [f64]>,
}

/// The columns behind id and time.
pub(crate) fn columns(spec: &ModelSpec, forecast: &Forecast) -> Vec<String> {
    let mut all = vec!["horizon".to_owned(), "forecast_time".to_owned()];
    for name in &spec.channels {
        all.push(name.clone());
        if forecast.intervals.is_some() {
            all.extend(["low", "high"].map(|side| format!("{name}_{side}")));
        }
    }
    all
}

/// The forecasts after an observation, `[horizons, channels]`, one horizon at a time.
pub(crate) fn horizons<'a>(
    spec: &'a ModelSpec,
    forecast: &'a Forecast,
    time: f64,
    values: &'a [f64],
) -> impl Iterator<Item = Ahead<'a>> {
    let rows = values.chunks_exact(spec.channels.len().max(1));
    forecast.horizons().zip(rows).enumerate().map(move |(i, (horizon, values))| Ahead {
        names: &spec.channels,
        horizon,
        time: forecast.time(time, horizon),
        values,
        widths: forecast.intervals.as_ref().map(|intervals| &intervals.widths[i][..]),
    })
}

impl Ahead<'_> {
    /// The cells below [`columns`].
    pub(crate) fn cells(&self) -> Vec<String> {
        let mut all = vec![self.horizon.to_string(), self.time.map_or(String::new(), |time| time.to_string())];
        for (c, value) in self.values.iter().enumerate() {
            all.push(value.to_string());
            if let Some(widths) = self.widths {
                all.extend([value - widths[c], value + widths[c]].map(|end| end.to_string()));
            }
        }
        all
    }

    /// Values, each with something of its channel added, by name.
    fn named(&self, add: impl Fn(usize) -> f64) -> Named<'_> {
        Named(self.names, self.values.iter().enumerate().map(|(c, value)| value + add(c)).collect())
    }
}

impl Serialize for Ahead<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("horizon", &self.horizon)?;
        if let Some(time) = self.time {
            map.serialize_entry("time", &time)?;
        }
        map.serialize_entry("values", &self.named(|_| 0.0))?;
        if let Some(widths) = self.widths {
            map.serialize_entry("low", &self.named(|c| -widths[c]))?;
            map.serialize_entry("high", &self.named(|c| widths[c]))?;
        }
        map.end()
    }
}

struct Named<'a>(&'a [String], Vec<f64>);

impl Serialize for Named<'_> {
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
            map.serialize_entry("time", &self.time)?;
        }
        match (self.prediction, &self.spec.task) {
            (Prediction::Class { class, probabilities }, Task::Classification { classes, .. }) => {
                map.serialize_entry("prediction", &classes[*class])?;
                map.serialize_entry("probabilities", &Named(classes, probabilities.to_vec()))?;
            }
            (Prediction::Value(value), _) => map.serialize_entry("prediction", value)?,
            (Prediction::Values(values), Task::Forecast(forecast)) => {
                let all = horizons(self.spec, forecast, self.time, values).filter(|ahead| ahead.horizon <= self.max_horizon);
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
