//! The series of a stream, and what happens to them: an observation is taken whole, prediction included, or not at all.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ncde_runtime::{Beyond, Error, Model, Prediction, Series};

use super::aside::Aside;
use super::line::{Observation, When};
use super::metrics::Counts;
use super::state::Snapshot;

pub(super) struct Live {
    model: Model,
    series: HashMap<Arc<str>, SeriesState>,
    pub(super) aside: Aside,
    limits: Limits,
    /// Series by the turn of their last line.
    turns: BTreeMap<u64, Arc<str>>,
    turn: u64,
    /// The present, as of the last [`tick`](Self::tick).
    now: Instant,
    pub(super) counts: Counts,
    /// Whether something happened since the series were last saved.
    pub(super) changed: bool,
}

/// Which series are held, and which lines are taken.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Limits {
    /// A series without a line for so long is let go.
    pub(super) idle: Option<Duration>,
    /// Of more series than so many that without a line for the longest is let go.
    pub(super) most: Option<usize>,
    /// A line that is farther ahead of the one before is refused.
    pub(super) max_gap: Option<f64>,
}

/// One series, and what was said of it.
struct SeriesState {
    /// Shared with a snapshot that is being written, until it changes.
    series: Arc<Series>,
    turn: u64,
    seen: Instant,
    said: Said,
    /// That the last line was refused as a state would have overflowed.
    overflowed: bool,
}

/// What a person was told of a series.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Said {
    /// That it is longer than those of training.
    long: bool,
    /// That a value lies outside of the range of training.
    outside: bool,
    /// That it began anew.
    reset: bool,
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
    pub(super) fn new(model: Model, aside: Aside, limits: Limits) -> Self {
        let counts = Counts::new(model.spec().channels.len());
        Self {
            model,
            series: HashMap::new(),
            aside,
            limits,
            turns: BTreeMap::new(),
            turn: 0,
            now: Instant::now(),
            counts,
            changed: false,
        }
    }

    pub(super) fn model(&self) -> &Model {
        &self.model
    }

    /// All series as they are now, without copying their states.
    pub(super) fn snapshot(&mut self) -> Snapshot {
        let series = self.series.iter().map(|(id, state)| (id.clone(), state.series.clone())).collect();
        Snapshot { series, aside: self.aside.snapshot() }
    }

    /// The metrics as text.
    pub(super) fn metrics(&self) -> String {
        self.counts.text(&self.model.spec().channels, [self.series.len(), self.aside.len()])
    }

    /// Lines have come: lets series go that were idle until now.
    pub(super) fn tick(&mut self, now: Instant) -> std::io::Result<()> {
        self.now = now;
        let Some(idle) = self.limits.idle else { return Ok(()) };
        while let Some((_, id)) = self.turns.first_key_value()
            && self.series.get(id).is_some_and(|state| now.duration_since(state.seen) > idle)
        {
            self.let_go()?;
        }
        Ok(())
    }

    /// Lets the series go whose last line is the longest ago: into a file, where there is one.
    fn let_go(&mut self) -> std::io::Result<()> {
        let Some((_, id)) = self.turns.pop_first() else { return Ok(()) };
        let Some(state) = self.series.remove(&id) else { return Ok(()) };
        self.changed = true;
        if self.aside.is_possible() {
            self.counts.aside += 1;
            return self.aside.put(id, &state.series, state.said);
        }
        self.counts.dropped += 1;
        Ok(())
    }

    /// The time of the last observation of the series of a line.
    fn last(&mut self, id: &str) -> Result<Option<f64>, String> {
        self.wake(id)?;
        Ok(self.series.get(id).and_then(|state| state.series.time()))
    }

    /// Takes a series back that was put aside.
    fn wake(&mut self, id: &str) -> Result<(), String> {
        let back = self.aside.take(id).map_err(|e| format!("series `{id}` cannot be read back: {e}; it begins anew"))?;
        if let Some((id, series, said)) = back {
            self.model.check(&series).map_err(|e| format!("series `{id}`: {e}; it begins anew"))?;
            self.hold(id, series, said);
        }
        Ok(())
    }

    fn hold(&mut self, id: Arc<str>, series: Series, said: Said) {
        self.turn += 1;
        self.turns.insert(self.turn, id.clone());
        self.series
            .insert(id, SeriesState { series: Arc::new(series), turn: self.turn, seen: self.now, said, overflowed: false });
    }

    /// Forgets a series; whether there was one.
    fn end(&mut self, id: &str) -> bool {
        let held = self.series.remove(id);
        if let Some(state) = &held {
            self.turns.remove(&state.turn);
        }
        self.aside.forget(id) || held.is_some()
    }

    /// How a line comes after the last one of its series.
    pub(super) fn order(&mut self, line: &Observation) -> Result<Order, String> {
        let When::At(time) = line.time else { return Ok(Order::After) };
        Ok(match self.last(&line.id)? {
            Some(last) if time == last && !line.end => Order::Same,
            Some(last) if time <= last => Order::Before,
            _ => Order::After,
        })
    }

    /// Takes one observation; nothing is said if the line only ends a series. A line that is refused changes nothing.
    pub(super) fn take(&mut self, line: &Observation) -> Result<Option<Reply>, String> {
        let last = self.last(&line.id)?;
        let time = match line.time {
            When::At(time) => time,
            When::Next => self.series.get(&*line.id).map_or(0.0, |state| state.series.observations() as f64),
            When::Never => {
                self.changed = true;
                return if self.end(&line.id) { Ok(None) } else { Err(format!("there is no series `{}` to end", line.id)) };
            }
        };
        if let (Some(last), Some(most)) = (last, self.limits.max_gap)
            && time - last > most
        {
            let gap = time - last;
            return Err(format!(
                "its time is {gap} after the last one of its series, and `--max-gap` allows {most}; a line that ends the series lets it begin anew"
            ));
        }
        let (prediction, mut warnings) = self.step(line, time)?;
        self.changed = true;
        let Some(state) = self.series.get_mut(&*line.id) else { return Ok(None) };
        state.seen = self.now;
        if let Some(id) = self.turns.remove(&state.turn) {
            self.turn += 1;
            state.turn = self.turn;
            self.turns.insert(self.turn, id);
        }
        let beyond = self.model.beyond(&state.series, &line.values);
        for (counts, value) in self.counts.values.iter_mut().zip(&line.values) {
            counts[0] += u64::from(!value.is_nan());
        }
        beyond.channels.iter().for_each(|&i| self.counts.values[i][1] += 1);
        let mut names_beyond = Vec::new();
        if !beyond.is_none() {
            names_beyond = names(&self.model, &beyond);
            warnings.extend(state.warn(&self.model, &line.id, &beyond));
        }
        if line.end {
            self.end(&line.id);
        }
        while self.limits.most.is_some_and(|most| self.series.len() > most) {
            self.let_go().map_err(|e| format!("a series cannot be put aside: {e}"))?;
        }
        let warning = (!warnings.is_empty()).then(|| warnings.join("\n"));
        Ok(Some(Reply { time, prediction, beyond: names_beyond, warning }))
    }

    /// What a line says of the channels that the model knows ahead.
    fn known_ahead(&self, line: &Observation) -> Result<Vec<f64>, String> {
        if line.ahead.is_empty() {
            return Ok(Vec::new());
        }
        let known = self.model.spec().task.forecast().and_then(|forecast| forecast.known.as_ref());
        let known = known.ok_or("`ahead` is for a model that was trained with `--known COLUMN`, and this one was not")?;
        Ok(line.ahead.iter().flat_map(|row| known.channels.iter().map(|&c| row[c])).collect())
    }

    /// The prediction after one more observation of a series, which is begun if it is new, and what there is to say of that.
    fn step(&mut self, line: &Observation, time: f64) -> Result<(Prediction, Vec<String>), String> {
        let words = |e: Error| e.to_string();
        let ahead = self.known_ahead(line)?;
        let Some(state) = self.series.get_mut(&*line.id) else {
            let statics = &self.model.spec().statics;
            let missing = vec![f64::NAN; statics.len()];
            let mut series = self.model.start(line.statics.as_deref().unwrap_or(&missing)).map_err(words)?;
            let prediction = self.model.step_knowing(&mut series, time, &line.values, &ahead).map_err(words)?;
            let is_unsaid = line.statics.is_none() && !statics.is_empty();
            let unsaid =
                is_unsaid.then(|| format!("warning: series `{}` begins without statics; they are taken as missing", line.id));
            self.hold(line.id.as_str().into(), series, Said::default());
            return Ok((prediction, unsaid.into_iter().collect()));
        };
        let error = match self.model.step_knowing(Arc::make_mut(&mut state.series), time, &line.values, &ahead) {
            Ok(prediction) => {
                state.overflowed = false;
                return Ok((prediction, Vec::new()));
            }
            Err(error) => error,
        };
        // One line may be wild, and the next is taken. If that overflows too, it is the state that has grown too large.
        if !error.is_overflow() || !std::mem::replace(&mut state.overflowed, true) {
            return Err(words(error));
        }
        let mut anew = self.model.begin_again(&state.series);
        let prediction = self.model.step_knowing(&mut anew, time, &line.values, &ahead).map_err(words)?;
        state.overflowed = false;
        let count = state.series.observations();
        state.series = Arc::new(anew);
        self.counts.resets += 1;
        let first = !std::mem::replace(&mut state.said.reset, true);
        let say = || format!("warning: {}: its state overflowed after {count} observations, so it begins anew", shown(&line.id));
        Ok((prediction, first.then(say).into_iter().collect()))
    }
}

/// How a line comes after the last one of its series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    After,
    Same,
    Before,
}

fn shown(id: &str) -> String {
    if id.is_empty() { "the series".to_owned() } else { format!("series `{id}`") }
}

/// `length`, `duration`, and the names of channels.
fn names(model: &Model, beyond: &Beyond) -> Vec<String> {
    let ways = [(beyond.length, "length"), (beyond.duration, "duration")];
    let ways = ways.into_iter().filter(|(is, _)| *is).map(|(_, name)| name.to_owned());
    ways.chain(beyond.channels.iter().map(|&i| model.spec().channels[i].clone())).collect()
}

impl SeriesState {
    /// What a person should know that was not said of this series yet.
    fn warn(&mut self, model: &Model, id: &str, beyond: &Beyond) -> Option<String> {
        let trained = model.spec().trained.as_ref()?;
        let long = (beyond.length || beyond.duration) && !self.said.long;
        let outside = beyond.channels.first().filter(|_| !self.said.outside);
        let mut parts = Vec::new();
        if long {
            self.said.long = true;
            parts.push(match beyond.length {
                true => format!("it is longer than any of training ({} observations)", trained.length),
                false => format!("it lasts longer than any of training ({})", trained.duration),
            });
        }
        if let Some(&i) = outside {
            self.said.outside = true;
            let name = &model.spec().channels[i];
            parts.push(format!("`{name}` lies outside of its range in training, {} to {}", trained.low[i], trained.high[i]));
        }
        let observation = self.series.observations();
        (!parts.is_empty()).then(|| format!("warning: {}, observation {observation}: {}", shown(id), parts.join("; ")))
    }
}
