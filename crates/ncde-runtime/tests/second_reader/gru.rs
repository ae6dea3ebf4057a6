//! `gru`, number by number.

use serde_json::Value;

use super::reader::{Own, Rows, affine, count};

/// The state after each row.
pub(crate) fn gru(spec: &Value, own: &Own<'_>, rows: &Rows) -> Vec<Vec<f64>> {
    let n = count(&spec["hidden"]);
    let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
    let mut h = vec![0.0; n];
    let mut states = Vec::new();
    for x in &rows.values {
        let a = affine(x, own.get("input"), own.get("bias"));
        let s = affine(&h, own.get("recurrent"), &vec![0.0; 3 * n]);
        for j in 0..n {
            let (reset, keep) = (sigmoid(a[j] + s[j]), sigmoid(a[n + j] + s[n + j]));
            let new = (a[2 * n + j] + reset * (s[2 * n + j] + own.get("recurrent_bias")[j])).tanh();
            h[j] = (1.0 - keep) * new + keep * h[j];
        }
        states.push(h.clone());
    }
    states
}
