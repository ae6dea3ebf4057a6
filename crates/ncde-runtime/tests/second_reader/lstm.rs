//! `lstm`, number by number.

use serde_json::Value;

use super::reader::{Own, Rows, affine, count};

/// The state after each row.
pub(crate) fn lstm(spec: &Value, own: &Own<'_>, rows: &Rows) -> Vec<Vec<f64>> {
    let n = count(&spec["hidden"]);
    let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
    let (mut h, mut c) = (vec![0.0; n], vec![0.0; n]);
    let mut states = Vec::new();
    for x in &rows.values {
        let from_row = affine(x, own.get("input"), own.get("bias"));
        let z = affine(&h, own.get("recurrent"), &from_row);
        for j in 0..n {
            c[j] = sigmoid(z[n + j]) * c[j] + sigmoid(z[j]) * z[2 * n + j].tanh();
            h[j] = sigmoid(z[3 * n + j]) * c[j].tanh();
        }
        states.push(h.clone());
    }
    states
}
