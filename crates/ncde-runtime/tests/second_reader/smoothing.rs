//! Exponential smoothing, as docs/model-format.md has it: every time from the beginning, over all slots.

use serde_json::Value;

use crate::draw::ahead;
use crate::reader::{Observation, number, targets};

struct Expert<'a> {
    of: &'a Value,
    seasons: Vec<usize>,
    /// `l`, `b`, `e`.
    state: [f64; 3],
    s: Vec<Vec<f64>>,
    errors: Vec<f64>,
    made: Made,
}

/// Forecasts for each slot and lag.
type Made = Vec<Vec<Option<f64>>>;

fn share(of: &Value, key: &str) -> f64 {
    of[key].as_f64().unwrap_or(if key == "damping" { 1.0 } else { 0.0 })
}

fn whole(value: &Value) -> Vec<usize> {
    value.as_array().map_or_else(Vec::new, |all| all.iter().map(|x| x.as_u64().unwrap() as usize).collect())
}

fn cycles(period: usize) -> usize {
    if period <= 24 { 3 } else { 2 }
}

/// What smoothing says of target `c` at horizon `k`, and the width around it, with the effect of what is known ahead.
pub(crate) fn forecast(task: &Value, c: usize, k: usize, series: &[Observation], channels: usize) -> [f64; 2] {
    let known = &task["known"];
    let effect = |at: &dyn Fn(usize, usize) -> Option<f64>| -> f64 {
        let inputs = whole(&known["channels"]).into_iter().enumerate();
        inputs
            .map(|(i, c_i)| at(i, c_i).map_or(0.0, |u| number(&known["effects"][c][i]) * (u - number(&known["means"][i]))))
            .sum()
    };
    let is_log = task["smoothing"]["log"][c] == true;
    let without = |(time, values): &Observation| {
        let e = effect(&|_, channel| values[channel]);
        let y = values[targets(task, channels)[c]];
        (*time, vec![y.map(|y| if is_log { y * (-e).clamp(-20.0, 20.0).exp() } else { y - e })])
    };
    let series: Vec<Observation> = series.iter().map(without).collect();
    let [value, width] = smoothed(task, c, k, &series);
    let e = effect(&|i, _| ahead(k, i));
    let factor = if is_log { e.clamp(-20.0, 20.0).exp() } else { 1.0 };
    if is_log { [value * factor, width * factor] } else { [value + e, width] }
}

/// What smoothing says of the values of one target, at the place `c` in the list of logarithms.
fn smoothed(task: &Value, c: usize, k: usize, series: &[Observation]) -> [f64; 2] {
    let of = &task["smoothing"];
    let lags = whole(&of["lags"]);
    // The slots of the channel, from its first value on.
    let mut slots: Vec<Option<f64>> = Vec::new();
    let mut before: Option<f64> = None;
    for (time, values) in series {
        let steps = match (before, task["grid"] == true) {
            (Some(before), true) => ((time - before) / number(&task["step"])).round().max(1.0) as usize,
            _ => 1,
        };
        before = Some(*time);
        if !slots.is_empty() {
            slots.extend(std::iter::repeat_n(None, steps - 1));
        }
        if !slots.is_empty() || values[0].is_some() {
            slots.push(values[0]);
        }
    }
    let Some(&Some(first)) = slots.first() else { return [0.0; 2] };
    let experts: Vec<&Value> =
        of["experts"].as_array().unwrap().iter().filter(|e| e["log"] != true || of["log"][c] == true).collect();
    let every: Vec<usize> = of["experts"].as_array().unwrap().iter().flat_map(|e| whole(&e["seasons"])).collect();
    let f = every.iter().map(|&p| cycles(p) * p).max().unwrap_or(0).max(10);
    let starts: Vec<usize> =
        [2, 4, 10].into_iter().chain(every.iter().flat_map(|&p| (2..=cycles(p)).map(move |j| j * p))).collect();
    let Some(t) = starts.into_iter().filter(|&n| n <= slots.len().min(f)).max() else { return [first, 0.0] };
    // What was empty in the slots that states are fitted to is the last value.
    for i in 1..t {
        if slots[i].is_none() {
            slots[i] = slots[i - 1];
        }
    }
    let beginning: Vec<f64> = slots[..t].iter().map(|y| y.unwrap()).collect();
    let mut all: Vec<Expert<'_>> = experts.iter().filter_map(|of| fitted(of, &beginning, lags.len())).collect();
    let from = every.iter().copied().min().unwrap_or(1).max(4);
    let mut count = 0.0;
    let powers = [2, 8];
    let mut widths: Vec<f64> = vec![0.724; lags.len()];
    let mut mixtures: Vec<Vec<Option<[f64; 2]>>> = Vec::new();
    let mut pools: Vec<(Vec<f64>, Made)> = powers.iter().map(|_| (vec![0.0; lags.len()], Vec::new())).collect();
    for (slot, y) in slots.iter().enumerate() {
        if let Some(y) = y.filter(|_| slot >= from) {
            count = 0.995 * count + 1.0;
            let learn = |errors: &mut [f64], made: &Made| {
                for (j, &lag) in lags.iter().enumerate() {
                    let off = slot.checked_sub(lag).and_then(|then| made[then][j]).map_or(0.0, |f| (f - y).abs());
                    errors[j] = 0.995 * errors[j] + off.min(1e150);
                }
            };
            all.iter_mut().for_each(|e| learn(&mut e.errors, &e.made));
            pools.iter_mut().for_each(|(errors, made)| learn(errors, made));
            for (j, &lag) in lags.iter().enumerate() {
                if let Some([f, size]) = slot.checked_sub(lag).and_then(|then| mixtures[then][j]) {
                    let is_beyond = (f - y).abs() > size * widths[j].exp();
                    widths[j] = (widths[j] + 0.025 * (if is_beyond { 0.9 } else { -0.1 })).clamp(-5.0, 5.0);
                }
            }
        }
        all.iter_mut().for_each(|e| e.step(slot, *y));
        let promise = |f: f64| Some(f).filter(|f| f.is_finite() && y.is_some());
        for e in &mut all {
            let made = lags.iter().map(|&lag| promise(e.ahead(slot, lag))).collect();
            e.made.push(made);
        }
        for ((_, made), power) in pools.iter_mut().zip(powers) {
            made.push(lags.iter().map(|&lag| promise(pooled(&all, &lags, slot, lag, power))).collect());
        }
        let mix =
            |&lag: &usize| Some(mixture(&all, &lags, &pools, count, slot, lag)).filter(|[f, _]| f.is_finite() && y.is_some());
        mixtures.push(lags.iter().map(mix).collect());
    }
    let [value, size] = mixture(&all, &lags, &pools, count, slots.len() - 1, k);
    [value, size * mixed(&lags, k, |j| widths[j]).exp()]
}

/// The two pools as one, after a slot, and the mean error.
fn mixture(all: &[Expert<'_>], lags: &[usize], pools: &[(Vec<f64>, Made)], count: f64, slot: usize, k: usize) -> [f64; 2] {
    let powers = [2, 8];
    let sizes: Vec<f64> = pools.iter().map(|(errors, _)| mixed(lags, k, |j| errors[j]) / f64::max(count, 1e-9)).collect();
    let best = sizes.iter().copied().fold(f64::INFINITY, f64::min).max(1e-300);
    let weights: Vec<f64> = sizes.iter().map(|d| (best / d.max(best)).powi(20)).collect();
    let total = weights.iter().sum::<f64>();
    let value: f64 = weights.iter().zip(powers).map(|(w, power)| w * pooled(all, lags, slot, k, power)).sum();
    let size: f64 = weights.iter().zip(&sizes).map(|(w, size)| w * size).sum();
    [value / total, size / total]
}

/// Between the lags around a horizon.
fn mixed(lags: &[usize], k: usize, at: impl Fn(usize) -> f64) -> f64 {
    let Some(upper) = lags.iter().position(|&lag| lag > k) else { return at(lags.len() - 1) };
    if upper == 0 {
        return at(0);
    }
    let [low, high] = [lags[upper - 1], lags[upper]].map(|lag| lag as f64);
    let u = (k as f64 / low).ln() / (high / low).ln();
    (1.0 - u) * at(upper - 1) + u * at(upper)
}

fn pooled(all: &[Expert<'_>], lags: &[usize], slot: usize, k: usize, power: i32) -> f64 {
    let weights: Vec<Vec<f64>> = (0..lags.len())
        .map(|j| {
            let mut sorted: Vec<f64> = all.iter().map(|e| e.errors[j]).collect();
            sorted.sort_by(f64::total_cmp);
            let (least, half) = (sorted[0].max(1e-300), sorted[(all.len() / 2).max(1) - 1]);
            let own: Vec<f64> = all
                .iter()
                .map(|e| if e.errors[j] <= half { (e.errors[j].max(least) / least).powi(-power) } else { 0.0 })
                .collect();
            let sum: f64 = own.iter().sum();
            own.into_iter().map(|w| w / sum).collect()
        })
        .collect();
    let (mut sum, mut total) = (0.0, 0.0);
    for (i, e) in all.iter().enumerate() {
        let (w, f) = (mixed(lags, k, |j| weights[j][i]), e.ahead(slot, k));
        if w > 0.0 && f.is_finite() {
            sum += w * f;
            total += w;
        }
    }
    sum / total
}

/// The expert with the state before these values; none if it does not take part yet.
fn fitted<'a>(of: &'a Value, y: &[f64], lags: usize) -> Option<Expert<'a>> {
    let seasons = whole(&of["seasons"]);
    let n = match seasons.iter().max() {
        None => y.len().min(10),
        Some(&m) if y.len() >= 2 * m => cycles(m).min(y.len() / m) * m,
        Some(_) => return None,
    };
    let y: Vec<f64> = if of["log"] == true { y[..n].iter().map(|y| y.ln()).collect() } else { y[..n].to_vec() };
    if y.iter().any(|y| !y.is_finite()) {
        return None;
    }
    let has_trend = share(of, "trend") > 0.0;
    let (level, slope, s) = if seasons.is_empty() {
        let (q, a) = ((n as f64 - 1.0) / 2.0, y.iter().sum::<f64>() / n as f64);
        let squares: f64 = (0..n).map(|t| (t as f64 - q).powi(2)).sum();
        let r = (0..n).map(|t| (t as f64 - q) * y[t]).sum::<f64>() / squares.max(1.0);
        let level = if has_trend {
            a - r * (q + 1.0)
        } else if share(of, "level") == 1.0 {
            y[0]
        } else {
            a
        };
        (level, r, Vec::new())
    } else {
        let (a, r, first) = season(&y, seasons[0]);
        let mut s = vec![first];
        if let Some(&second) = seasons.get(1) {
            let rest: Vec<f64> = y.iter().enumerate().map(|(t, y)| y - s[0][t % seasons[0]]).collect();
            s.push(season(&rest, second).2);
        }
        (if has_trend { a - r * (seasons[0] as f64 + 1.0) / 2.0 } else { a }, r, s)
    };
    let state = [level, if has_trend { slope } else { 0.0 }, 0.0];
    Some(Expert { of, seasons, state, s, errors: vec![0.0; lags], made: Vec::new() })
}

/// The mean of the first cycle, the trend, and the season.
fn season(y: &[f64], p: usize) -> (f64, f64, Vec<f64>) {
    let c = y.len() / p;
    let a: Vec<f64> = (0..c).map(|i| y[i * p..(i + 1) * p].iter().sum::<f64>() / p as f64).collect();
    let r = (a[c - 1] - a[0]) / ((c - 1) * p) as f64;
    let mean = |j: usize| (0..c).map(|i| y[i * p + j] - a[i] - r * (j as f64 - (p as f64 - 1.0) / 2.0)).sum::<f64>() / c as f64;
    (a[0], r, (0..p).map(mean).collect())
}

impl Expert<'_> {
    fn seasons_at(&self, slot: usize) -> f64 {
        self.seasons.iter().zip(&self.s).map(|(&m, s)| s[slot % m]).sum()
    }

    fn step(&mut self, slot: usize, y: Option<f64>) {
        let [damping, error] = ["damping", "error"].map(|key| share(self.of, key));
        let y = if self.of["log"] == true { y.filter(|y| *y > 0.0).map(f64::ln) } else { y };
        let [l, b, e] = self.state;
        let d = y.map_or(0.0, |y| y - (l + damping * b + self.seasons_at(slot) + error * e));
        let level = share(self.of, "level");
        self.state = [
            l + damping * b + level * d,
            damping * b + level * share(self.of, "trend") * d,
            if error == 0.0 { 0.0 } else { error * e + d },
        ];
        for (&m, s) in self.seasons.iter().zip(&mut self.s) {
            s[slot % m] += share(self.of, "season") * d;
        }
    }

    fn ahead(&self, slot: usize, k: usize) -> f64 {
        let [damping, error] = ["damping", "error"].map(|key| share(self.of, key));
        let damped: f64 = (1..=k).map(|i| damping.powi(i as i32)).sum();
        let [l, b, e] = self.state;
        let f = l + damped * b + self.seasons_at(slot + k) + error.powi(k as i32) * e;
        if self.of["log"] == true { f.exp() } else { f }
    }
}
