//! `gru` and `gru-d`, number by number.

use serde_json::Value;

use super::reader::{Own, Rows, affine, count};
use super::state_space::steps;

/// The state after a row from that before it.
fn cell(own: &Own<'_>, x: &[f64], h: &[f64]) -> Vec<f64> {
    let n = h.len();
    let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
    let a = affine(x, own.get("input"), own.get("bias"));
    let s = affine(h, own.get("recurrent"), &vec![0.0; 3 * n]);
    let state = |j: usize| {
        let (reset, keep) = (sigmoid(a[j] + s[j]), sigmoid(a[n + j] + s[n + j]));
        let new = (a[2 * n + j] + reset * (s[2 * n + j] + own.get("recurrent_bias")[j])).tanh();
        (1.0 - keep) * new + keep * h[j]
    };
    (0..n).map(state).collect()
}

/// The state after each row.
pub(crate) fn gru(spec: &Value, own: &Own<'_>, rows: &Rows) -> Vec<Vec<f64>> {
    let mut h = vec![0.0; count(&spec["hidden"])];
    let next = |x: &Vec<f64>| {
        h = cell(own, x, &h);
        h.clone()
    };
    rows.values.iter().map(next).collect()
}

/// The state after each row, with fading in between.
pub(crate) fn gru_d(spec: &Value, own: &Own<'_>, rows: &Rows) -> Vec<Vec<f64>> {
    let mut h = vec![0.0; count(&spec["hidden"])];
    let (from, to) = (count(&spec["values"][0]), count(&spec["values"][1]));
    let fade = |x: f64| (-x.max(0.0)).exp();
    let mut last_seen = vec![0; to - from];
    let mut states = Vec::new();
    for (k, row) in rows.values.iter().enumerate() {
        let (mut x, mut m, mut delta) = (Vec::new(), Vec::new(), Vec::new());
        for (i, last_seen) in last_seen.iter_mut().enumerate() {
            // Row 0 counts as the last one, where there is none yet.
            delta.push((*last_seen + 1..=k).map(|j| steps(spec, rows, j)).sum::<f64>());
            let risen = |first: usize| row[first + i] > if k == 0 { 0.0 } else { rows.values[k - 1][first + i] };
            let seen = spec.get("counts").is_none_or(Value::is_null) || risen(count(&spec["counts"]));
            if seen {
                *last_seen = k;
            }
            m.push(f64::from(u8::from(seen)));
            let kept = if seen { 1.0 } else { fade(own.get("decay_input")[i] * delta[i] + own.get("decay_input_bias")[i]) };
            x.push(kept * row[from + i]);
        }
        let faded = affine(&delta, own.get("decay_state"), own.get("decay_state_bias"));
        let before: Vec<f64> = h.iter().zip(faded).map(|(h, x)| h * fade(x)).collect();
        if !spec.get("counts").is_none_or(Value::is_null) {
            x.extend(m);
        }
        h = cell(own, &x, &before);
        states.push(h.clone());
    }
    states
}
