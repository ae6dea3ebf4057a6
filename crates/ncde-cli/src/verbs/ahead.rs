//! Forecasts as rows: one for each horizon, with the time it is for and an interval for each channel where there is one.

use ncde_runtime::{Forecast, ModelSpec};
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

/// The forecast of one horizon.
pub(crate) struct Ahead<'a> {
    names: &'a [String],
    horizon: usize,
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
    /// How many observations ahead.
    pub(crate) fn horizon(&self) -> usize {
        self.horizon
    }

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

/// Numbers by name.
struct Named<'a>(&'a [String], Vec<f64>);

impl Serialize for Named<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().zip(&self.1))
    }
}
