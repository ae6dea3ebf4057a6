//! `permutation-diagonal` with full matrices, entry by entry.

use serde_json::Value;

use super::reader::{Own, Rows, affine, count, initial, one, text};

/// `e^x_i / sum_j e^x_j`.
fn softmax(x: &[f64]) -> Vec<f64> {
    let sum: f64 = x.iter().map(|x| x.exp()).sum();
    x.iter().map(|x| x.exp() / sum).collect()
}

/// The state after each row.
pub(crate) fn permutation_diagonal(spec: &Value, own: &Own<'_>, rows: &Rows) -> Vec<Vec<f64>> {
    let (n, k) = (count(&spec["hidden"]), count(&spec["matrices"]));
    let diagonal = spec.get("diagonal").map_or("complex", text);
    let is = |key: &str| spec.get(key).is_some_and(|value| value == true);
    let parts = if diagonal == "complex" { 2 } else { 1 };
    let first = text(&spec["initial"]) == "first";
    let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
    let mut h = match text(&spec["initial"]) {
        "first" => initial(&rows.values[0], own, rows),
        "learned" => own.get("start").to_vec(),
        _ => one(parts * n),
    };
    let mut states = Vec::new();
    for (t, x) in rows.values.iter().enumerate() {
        if t > 0 || !first {
            let dt = match (is("time"), t) {
                (false, _) => 1.0,
                (true, 0) => 0.0,
                (true, _) => rows.times[t] - rows.times[t - 1],
            };
            let s = softmax(&affine(x, own.get("select"), &vec![0.0; k]));
            let rates = if diagonal == "one" { Vec::new() } else { affine(x, own.get("rate"), own.get("rate_bias")) };
            let mut next = if is("input") { affine(x, own.get("b"), &vec![0.0; parts * n]) } else { vec![0.0; parts * n] };
            let rows = spec.get("one_hot").is_some_and(|value| value == "rows");
            for j in 0..n {
                let mixed = |i: usize| (0..k).map(|m| s[m] * own.get("dictionary")[(m * n + j) * n + i]).sum::<f64>();
                let best = (1..n).fold(0, |best, i| if mixed(i) > mixed(best) { i } else { best });
                let (from, to) = if rows { (best, j) } else { (j, best) };
                let modulus = if diagonal == "one" { 1.0 } else { sigmoid(rates[j]).powf(dt) };
                if diagonal == "complex" {
                    let angle = std::f64::consts::TAU * sigmoid(rates[n + j]) * dt;
                    let (re, im) = (modulus * angle.cos(), modulus * angle.sin());
                    next[to] += re * h[from] - im * h[n + from];
                    next[n + to] += re * h[n + from] + im * h[from];
                } else {
                    next[to] += modulus * h[from];
                }
            }
            h = next;
        }
        states.push(h.clone());
    }
    states
}
