//! The increment of each channel over each window of the horizon: it tells where in a series something happens.
//!
//! ```text
//! d_w = x(t_{w+1}) - x(t_w),   t_w = w / n,   w < n            features: d of n windows, of n / 2, ..., of MIN_WINDOWS
//! ```
//!
//! The path is linear between observations, so an increment is divided among the windows it crosses in proportion to time, and irregular
//! observations need no special case. Beyond the horizon nothing is added. Windows of doubled lengths are features too, so that the readout
//! can choose the length.

/// The least number of windows of a level.
const MIN_WINDOWS: usize = 16;

/// The number of features of each channel.
pub(crate) fn features(windows: usize) -> usize {
    levels(windows).sum()
}

/// The numbers of windows of all levels, the largest first.
fn levels(windows: usize) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(windows).filter(|&n| n > 0), |&n| (n % 2 == 0 && n / 2 >= MIN_WINDOWS).then_some(n / 2))
}

/// Adds the increments from one row to the next to `increments`, `[channels, windows]`. Times are since the start, in units of the horizon.
pub(crate) fn add(increments: &mut [f32], windows: usize, [from, to]: [f64; 2], moved: impl Iterator<Item = f32>) {
    let count = windows as f64;
    let (begin, end) = (from * count, to * count);
    if begin >= count {
        return;
    }
    let first = begin.max(0.0) as usize;
    let last = (end.ceil().max(1.0) as usize - 1).clamp(first, windows - 1);
    for (channel, moved) in increments.chunks_exact_mut(windows).zip(moved) {
        if first == last && end <= count {
            channel[first] += moved;
            continue;
        }
        for (w, increment) in channel[first..=last].iter_mut().enumerate() {
            let w = (first + w) as f64;
            *increment += moved * ((end.min(w + 1.0) - begin.max(w)) / (end - begin)) as f32;
        }
    }
}

/// Appends the features to `out`: all levels of the first channel, then of the next.
pub(crate) fn read(increments: &[f32], windows: usize, out: &mut Vec<f32>) {
    for channel in increments.chunks_exact(windows.max(1)) {
        let mut before = out.len();
        out.extend(channel);
        for level in levels(windows).skip(1) {
            let here = out.len();
            for w in 0..level {
                out.push(out[before + 2 * w] + out[before + 2 * w + 1]);
            }
            before = here;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn increments_are_those_of_the_path() {
        // Rows that skip windows, share a time, and end beyond the horizon.
        let (times, values) = ([0.0, 0.1, 0.1, 0.13, 0.55, 0.8, 1.4], [1.0, 2.0, 2.5, 1.0, 4.0, -1.0, 5.0]);
        let at = |t: f64| {
            let k = times.iter().rposition(|&time| time <= t).unwrap();
            if k + 1 == times.len() {
                values[k]
            } else {
                values[k] + (values[k + 1] - values[k]) * (t - times[k]) / (times[k + 1] - times[k])
            }
        };
        let windows = 32;
        let mut increments = vec![0.0; 2 * windows];
        for k in 1..times.len() {
            let moved = (values[k] - values[k - 1]) as f32;
            add(&mut increments, windows, [times[k - 1], times[k]], [moved, -2.0 * moved].into_iter());
        }
        let mut features = Vec::new();
        read(&increments, windows, &mut features);
        assert_eq!(features.len(), 2 * super::features(windows));
        let mut place = 0;
        for factor in [1.0, -2.0] {
            for level in [32, 16] {
                for w in 0..level {
                    let edge = |w: i32| f64::from(w) / f64::from(level);
                    let wanted = factor * (at(edge(w + 1)) - at(edge(w)));
                    assert!((f64::from(features[place]) - wanted).abs() < 1e-5, "{level} {w}: {} {wanted}", features[place]);
                    place += 1;
                }
            }
        }
    }

    #[test]
    fn levels_end_where_they_are_few_or_odd() {
        assert_eq!(levels(128).collect::<Vec<_>>(), [128, 64, 32, 16]);
        assert_eq!(levels(60).collect::<Vec<_>>(), [60, 30]);
        assert_eq!(levels(5).collect::<Vec<_>>(), [5]);
        assert_eq!(features(0), 0);
    }
}
