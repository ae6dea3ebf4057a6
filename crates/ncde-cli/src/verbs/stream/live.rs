//! The series of a stream, and what happens to them: an observation is taken whole, prediction included, or not at all.

use std::collections::HashMap;

use ncde_runtime::{Beyond, Model, Prediction, Series};

use super::line::{Observation, When};

pub(super) struct Live {
    model: Model,
    series: HashMap<String, SeriesState>,
    /// Whether something happened since the series were last saved.
    pub(super) changed: bool,
}

/// One series, and what was said of it.
struct SeriesState {
    series: Series,
    /// That it is longer than those of training.
    said_long: bool,
    /// That a value lies outside of the range of training.
    said_outside: bool,
}

/// What there is to say after an observation.
pub(super) struct Reply {
    pub(super) time: f64,
    pub(super) prediction: Prediction,
    /// Where the series lies beyond what was seen in training: `length`, `duration`, or a channel.
    pub(super) beyond: Vec<String>,
    /// What a person should know, once for each series.
    pub(super) warning: Option<String>,
}

impl Live {
    pub(super) fn new(model: Model, saved: HashMap<String, Series>) -> Self {
        Self { model, series: saved.into_iter().map(|(id, series)| (id, SeriesState::new(series))).collect(), changed: false }
    }

    pub(super) fn model(&self) -> &Model {
        &self.model
    }

    /// All series by id, to be saved.
    pub(super) fn all(&self) -> impl Iterator<Item = (&String, &Series)> {
        self.series.iter().map(|(id, state)| (id, &state.series))
    }

    /// Whether the series has an observation of this time, its last one.
    pub(super) fn has(&self, line: &Observation) -> bool {
        let last = self.series.get(&line.id).and_then(|state| state.series.time());
        matches!(line.time, When::At(time) if last == Some(time)) && !line.end
    }

    /// Takes one observation; nothing is said if the line only ends a series. A line that is refused changes nothing.
    pub(super) fn take(&mut self, line: &Observation) -> Result<Option<Reply>, String> {
        let words = |e: ncde_runtime::Error| e.to_string();
        let time = match line.time {
            When::At(time) => time,
            When::Next => self.series.get(&line.id).map_or(0.0, |state| state.series.observations() as f64),
            When::Never => {
                self.series.remove(&line.id).ok_or_else(|| format!("there is no series `{}` to end", line.id))?;
                self.changed = true;
                return Ok(None);
            }
        };
        let unsaid = line.statics.is_none() && !self.model.spec().statics.is_empty() && !self.series.contains_key(&line.id);
        let (state, prediction) = match self.series.get_mut(&line.id) {
            Some(state) => {
                let prediction = self.model.step(&mut state.series, time, &line.values).map_err(words)?;
                (state, prediction)
            }
            None => {
                let missing = vec![f64::NAN; self.model.spec().statics.len()];
                let mut series = self.model.start(line.statics.as_deref().unwrap_or(&missing)).map_err(words)?;
                let prediction = self.model.step(&mut series, time, &line.values).map_err(words)?;
                (self.series.entry(line.id.clone()).or_insert(SeriesState::new(series)), prediction)
            }
        };
        self.changed = true;
        let beyond = self.model.beyond(&state.series, &line.values);
        let (names, warning) = if beyond.is_none() {
            (Vec::new(), None)
        } else {
            (names(&self.model, &beyond), state.warn(&self.model, &line.id, &beyond))
        };
        if line.end {
            self.series.remove(&line.id);
        }
        let unsaid = unsaid.then(|| format!("warning: series `{}` begins without statics; they are taken as missing", line.id));
        let warning = match (unsaid, warning) {
            (Some(one), Some(other)) => Some(format!("{one}\n{other}")),
            (one, other) => one.or(other),
        };
        Ok(Some(Reply { time, prediction, beyond: names, warning }))
    }
}

/// `length`, `duration`, and the names of channels.
fn names(model: &Model, beyond: &Beyond) -> Vec<String> {
    let ways = [(beyond.length, "length"), (beyond.duration, "duration")];
    let ways = ways.into_iter().filter(|(is, _)| *is).map(|(_, name)| name.to_owned());
    ways.chain(beyond.channels.iter().map(|&i| model.spec().channels[i].clone())).collect()
}

impl SeriesState {
    fn new(series: Series) -> Self {
        Self { series, said_long: false, said_outside: false }
    }

    /// What a person should know that was not said of this series yet.
    fn warn(&mut self, model: &Model, id: &str, beyond: &Beyond) -> Option<String> {
        let trained = model.spec().trained.as_ref()?;
        let long = (beyond.length || beyond.duration) && !self.said_long;
        let outside = beyond.channels.first().filter(|_| !self.said_outside);
        let mut parts = Vec::new();
        if long {
            self.said_long = true;
            parts.push(match beyond.length {
                true => format!("it is longer than any of training ({} observations)", trained.length),
                false => format!("it lasts longer than any of training ({})", trained.duration),
            });
        }
        if let Some(&i) = outside {
            self.said_outside = true;
            let name = &model.spec().channels[i];
            parts.push(format!("`{name}` lies outside of its range in training, {} to {}", trained.low[i], trained.high[i]));
        }
        let series = if id.is_empty() { "the series".to_owned() } else { format!("series `{id}`") };
        let observation = self.series.observations();
        (!parts.is_empty()).then(|| format!("warning: {series}, observation {observation}: {}", parts.join("; ")))
    }
}
