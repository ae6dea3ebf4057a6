//! `selective`, number by number.

use serde_json::Value;

use super::neural::plain;
use super::reader::{Own, Rows, affine, count};
use super::state_space::steps;

/// What is read from the states after each row.
pub(crate) fn selective(spec: &Value, own: &Own<'_>, rows: &Rows) -> Vec<Vec<f64>> {
    let (states, rank, n) = (count(&spec["states"]), count(&spec["rank"]), rows.values[0].len());
    let mut h = vec![vec![0.0; n]; states];
    let row = |(k, x): (usize, &Vec<f64>)| {
        let projected = affine(x, own.get("project"), &vec![0.0; rank + 2 * states]);
        let (r, b, c) = (&projected[..rank], &projected[rank..rank + states], &projected[rank + states..]);
        let d = affine(r, own.get("step"), own.get("step_bias"));
        let y = |e: usize| {
            let d = plain("softplus", d[e]) * steps(spec, rows, k);
            let mut y = own.get("skip")[e] * x[e];
            for s in 0..states {
                let kept = (-d * own.get("decay")[s * n + e].exp()).exp();
                h[s][e] = kept * h[s][e] + d * x[e] * b[s];
                y += c[s] * h[s][e];
            }
            y
        };
        (0..n).map(y).collect()
    };
    rows.values.iter().enumerate().map(row).collect()
}
