//! Where the observations of a series lie: one after the other, or on a grid of time of which some places are left out.
//!
//! ```text
//! slot_0 = 0,   slot_{i+1} = slot_i + 1                                      observations are counted
//!               slot_{i+1} = slot_i + max(1, round((t_{i+1} - t_i) / step))   on a grid
//! ```
//!
//! What is forecast `k` ahead of an observation is what lies `k` slots later, if there is something.

use ncde_runtime::Forecast;

/// A gap is so many steps if it is no further from that than this share of a step.
const CLOSE: f64 = 0.1;
/// Gaps that must be close to a whole number of steps, as a share of all.
const ON_GRID: f64 = 0.95;
/// The largest share of slots that may be empty: weekends are no gaps in data of working days.
const EMPTY: f64 = 0.2;

/// The slots of one series.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Slots {
    /// `0, 1, 2, ...`.
    Counted(usize),
    Grid(Vec<usize>),
}

impl Slots {
    pub(super) fn new(times: &[f64], forecast: &Forecast) -> Self {
        match forecast.step.filter(|_| forecast.grid) {
            None => Self::Counted(times.len()),
            Some(step) => {
                let mut slots = Vec::with_capacity(times.len());
                let mut slot = 0_usize;
                for (i, time) in times.iter().enumerate() {
                    if i > 0 {
                        slot = slot.saturating_add(((time - times[i - 1]) / step).round().max(1.0) as usize);
                    }
                    slots.push(slot);
                }
                Self::Grid(slots)
            }
        }
    }

    pub(super) fn slot(&self, observation: usize) -> usize {
        match self {
            Self::Counted(_) => observation,
            Self::Grid(slots) => slots[observation],
        }
    }

    /// The first observation in a slot or after it, all of them being after observation `t`; one past the last if there is none.
    pub(super) fn next(&self, t: usize, slot: usize) -> usize {
        match self {
            Self::Counted(length) => slot.min(*length),
            Self::Grid(slots) => t + 1 + slots[t + 1..].partition_point(|own| *own < slot),
        }
    }

    pub(super) fn find(&self, slot: usize) -> Option<usize> {
        match self {
            Self::Counted(length) => (slot < *length).then_some(slot),
            Self::Grid(slots) => slots.binary_search(&slot).ok(),
        }
    }
}

/// The usual step of series, and whether they lie on a grid of it with places left out.
pub(super) fn rhythm(series: &[&[f64]]) -> (Option<f64>, bool) {
    let gaps = || series.iter().flat_map(|times| times.windows(2).map(|w| w[1] - w[0]));
    let mut sorted: Vec<f64> = gaps().collect();
    sorted.sort_by(f64::total_cmp);
    let Some(step) = sorted.get(sorted.len() / 2).copied().filter(|step| *step > 0.0) else { return (None, false) };
    let (mut close, mut count, mut slots) = (0_usize, 0_usize, 0.0);
    for gap in gaps().map(|gap| gap / step) {
        let whole = gap.round().max(1.0);
        close += usize::from((gap - whole).abs() <= CLOSE);
        count += 1;
        slots += whole;
    }
    let empty = slots - count as f64;
    let grid = close as f64 >= ON_GRID * count as f64 && empty > 0.0 && empty <= EMPTY * slots;
    (Some(step), grid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grid_with_places_left_out_is_seen_and_nothing_else_is_one() {
        let of = |times: &[f64]| rhythm(&[times]);
        let hours: Vec<f64> = (0..100).map(|i| 3600.0 * f64::from(i)).collect();
        assert_eq!(of(&hours), (Some(3600.0), false));
        let gappy: Vec<f64> = hours.iter().copied().filter(|t| (t / 3600.0) as usize % 10 != 7).collect();
        assert_eq!(of(&gappy), (Some(3600.0), true));
        // Five days of seven, and times at random.
        let days: Vec<f64> = (0..200).filter(|day| day % 7 < 5).map(f64::from).collect();
        assert_eq!(of(&days), (Some(1.0), false));
        let random: Vec<f64> = (0..100).map(|i| f64::from(i) + 0.45 * f64::from(i).sin()).collect();
        assert!(!of(&random).1);
        assert_eq!(of(&[3.0]), (None, false));
    }

    #[test]
    fn slots_are_found_both_ways() {
        let forecast = Forecast { step: Some(2.0), grid: true, ..Forecast::one(1) };
        let slots = Slots::new(&[10.0, 12.0, 15.9, 16.1, 22.0], &forecast);
        assert_eq!(slots, Slots::Grid(vec![0, 1, 3, 4, 7]));
        assert_eq!([slots.find(3), slots.find(2), slots.find(7)], [Some(2), None, Some(4)]);
        assert_eq!(slots.slot(4), 7);
        let counted = Slots::new(&[10.0, 12.0], &Forecast::one(1));
        assert_eq!([counted.find(1), counted.find(2)], [Some(1), None]);
    }
}
