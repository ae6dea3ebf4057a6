//! The targets of forecasts. They are computed on demand, as there are `horizons` times as many of them as values.
//!
//! ```text
//! target_{t,k,c} = s_c(x_{slot t + k, c}) - base of the targets c,     base = 0, or if outputs are relative the last known s_c(x_{., c}) up to t,
//!                                                     or s_c of what smoothing forecasts after t
//! ```

use ncde_data::Case;
use ncde_runtime::{Forecast, ModelSpec, Track};

use super::known::KnownAhead;
use super::slots::Slots;

/// One series, scaled.
#[derive(Debug, Clone)]
pub(super) struct Ahead {
    slots: Slots,
    channels: usize,
    /// `[length, channels]`; NaN where a value is missing.
    values: Vec<f32>,
    /// For each value the observation with the last known value of its channel up to there, and that with the first from there on; [`NONE`] if there is none.
    known: Vec<[u32; 2]>,
}

/// What outputs are added to, from one observation of a case to a later one.
pub(super) struct Bases<'a> {
    spec: &'a ModelSpec,
    case: &'a Case,
    track: Track,
    known: KnownAhead<'a>,
}

impl<'a> Bases<'a> {
    pub(super) fn new(spec: &'a ModelSpec, case: &'a Case) -> Self {
        Self { spec, case, track: spec.track(), known: KnownAhead::new(spec, case) }
    }

    /// What smoothing forecasts after an observation that is not before the last one asked for, scaled: `[horizons, targets]`.
    pub(super) fn at(&mut self, t: usize) -> Option<Vec<f32>> {
        let (forecast, scalings) = (self.spec.task.forecast()?, &self.spec.preparation.channels);
        forecast.smoothing.as_ref()?;
        for i in self.track.observations..=t {
            // What cannot be taken is refused where the rows of the case are computed.
            self.spec.follow(&mut self.track, self.case.times[i], self.case.row(i, scalings.len())).ok()?;
        }
        self.track.ahead = self.known.at(t);
        let base = forecast.base(&self.track)?;
        Some(base.iter().zip(forecast.of_targets(scalings).cycle()).map(|([x, _], scaling)| scaling.apply(*x) as f32).collect())
    }
}

const NONE: u32 = u32::MAX;

impl Ahead {
    pub(super) fn new(case: &Case, forecast: &Forecast, preparation: &ncde_runtime::Preparation) -> Self {
        let channels = preparation.channels.len();
        let scaled = |(i, &x): (usize, &f64)| preparation.channels[i % channels].apply(x) as f32;
        let values: Vec<f32> = case.values.iter().enumerate().map(scaled).collect();
        let mut known = vec![[NONE; 2]; values.len()];
        for c in 0..channels {
            let places = || (0..values.len() / channels).map(|t| t * channels + c);
            let (mut before, mut after) = (NONE, NONE);
            for i in places() {
                before = if values[i].is_nan() { before } else { (i / channels) as u32 };
                known[i][0] = before;
            }
            for i in places().rev() {
                after = if values[i].is_nan() { after } else { (i / channels) as u32 };
                known[i][1] = after;
            }
        }
        Self { slots: Slots::new(&case.times, forecast), channels, values, known }
    }

    /// The targets at an observation, `[horizons, targets]`, less the `smoothed`; NaN where a value is missing. With `fill_gaps`, values between two known ones are interpolated linearly.
    pub(super) fn targets(&self, t: usize, forecast: &Forecast, smoothed: Option<&[f32]>, fill_gaps: bool) -> Vec<f32> {
        let slot = self.slots.slot(t);
        let targets: Vec<usize> = (0..forecast.width(self.channels)).map(|target| forecast.channel(target)).collect();
        let base: Vec<f32> = targets
            .iter()
            .map(|&c| if forecast.relative { self.known(t, c, BEFORE).map_or(0.0, |(_, x)| x) } else { 0.0 })
            .collect();
        let mut all = Vec::with_capacity(forecast.outputs(self.channels));
        for (i, k) in forecast.horizons().enumerate() {
            let observation = self.slots.find(slot + k);
            all.extend(targets.iter().enumerate().map(|(target, &c)| {
                let seen = observation.map_or(f32::NAN, |j| self.values[j * self.channels + c]);
                let value = if fill_gaps && seen.is_nan() { self.between(t, slot + k, c) } else { seen };
                value - smoothed.map_or(base[target], |smoothed| smoothed[i * targets.len() + target])
            }));
        }
        all
    }

    /// The last known value of a channel up to an observation (`BEFORE`) or the first from there on (`AFTER`), and its observation.
    fn known(&self, t: usize, c: usize, side: usize) -> Option<(usize, f32)> {
        let place = self.known.get(t * self.channels + c).map(|sides| sides[side]).filter(|&place| place != NONE)? as usize;
        Some((place, self.values[place * self.channels + c]))
    }

    /// The value of a channel in a slot after observation `t`, interpolated linearly between the known ones on both sides.
    fn between(&self, t: usize, slot: usize, c: usize) -> f32 {
        let next = self.slots.next(t, slot);
        let Some((after, high)) = self.known(next, c, AFTER) else { return f32::NAN };
        let Some((before, low)) = self.known(next - 1, c, BEFORE) else { return high };
        let [from, to] = [self.slots.slot(before), self.slots.slot(after)].map(|slot| slot as f32);
        low + (high - low) * (slot as f32 - from) / (to - from)
    }
}

const BEFORE: usize = 0;
const AFTER: usize = 1;

#[cfg(test)]
mod tests {
    use super::*;
    use ncde_runtime::{Missing, Preparation, Scaling};

    #[test]
    fn targets_are_later_values_and_gaps_are_bridged_if_asked() {
        let nan = f64::NAN;
        let case =
            Case { id: "a".into(), times: vec![0.0, 1.0, 2.0, 4.0, 5.0], values: vec![1.0, 3.0, nan, 5.0, nan], statics: vec![] };
        let preparation = Preparation {
            channels: vec![Scaling { shift: 1.0, factor: 2.0 }],
            statics: vec![],
            time: None,
            missing: Missing::Forward {},
        };
        let of =
            |forecast: &Forecast, t, fill_gaps| Ahead::new(&case, forecast, &preparation).targets(t, forecast, None, fill_gaps);
        let text = |values: Vec<f32>| format!("{values:?}");
        let counted = Forecast { from: Some(1), ..Forecast::one(3) };
        assert_eq!(text(of(&counted, 0, false)), "[4.0, NaN, 8.0]");
        assert_eq!(text(of(&counted, 0, true)), "[4.0, 6.0, 8.0]");
        assert_eq!(text(of(&counted, 1, true)), "[6.0, 8.0, NaN]");
        let relative = Forecast { relative: true, ..counted };
        assert_eq!(text(of(&relative, 1, false)), "[NaN, 4.0, NaN]");
        assert_eq!(text(of(&relative, 2, false)), "[4.0, NaN, NaN]");
        // The observation at time 3 is left out.
        let grid = Forecast { step: Some(1.0), grid: true, ..relative };
        assert_eq!(text(of(&grid, 1, false)), "[NaN, NaN, 4.0]");
        assert!(of(&grid, 1, true).iter().zip([4.0 / 3.0, 8.0 / 3.0, 4.0]).all(|(a, b): (&f32, f32)| (a - b).abs() < 1e-6));
    }
}
