//! `mamba2`, number by number.

use serde_json::Value;

use super::neural::plain;
use super::reader::{Own, Rows, affine, count};
use super::state_space::steps;

/// What is read from the matrices after each row.
pub(crate) fn mamba2(spec: &Value, own: &Own<'_>, rows: &Rows) -> Vec<Vec<f64>> {
    let (heads, head, states) = (count(&spec["heads"]), count(&spec["head"]), count(&spec["states"]));
    let back = spec.get("convolution").map_or(4, count);
    let (inner, convolved) = (heads * head, heads * head + 2 * states);
    let columns = vec![0.0; inner + convolved + heads];
    let all: Vec<Vec<f64>> = rows.values.iter().map(|u| affine(u, own.get("input"), &columns)).collect();
    let mut matrices = vec![vec![0.0; states]; inner];
    let row = |t: usize| {
        let seen = |i: usize| {
            let sum = (0..back.min(t + 1)).map(|j| own.get("convolution")[j * convolved + i] * all[t - j][inner + i]);
            plain("silu", own.get("convolution_bias")[i] + sum.sum::<f64>())
        };
        let seen: Vec<f64> = (0..convolved).map(seen).collect();
        let mut g = Vec::new();
        for (i, m) in matrices.iter_mut().enumerate() {
            let h = i / head;
            let d = plain("softplus", all[t][inner + convolved + h] + own.get("step_bias")[h]) * steps(spec, rows, t);
            let mut o = own.get("skip")[h] * seen[i];
            for (s, m) in m.iter_mut().enumerate() {
                *m = (-d * own.get("decay")[h].exp()).exp() * *m + d * seen[i] * seen[inner + s];
                o += *m * seen[inner + states + s];
            }
            g.push(o * plain("silu", all[t][i]));
        }
        let root = (g.iter().map(|g| g * g).sum::<f64>() / inner as f64 + 1e-5).sqrt();
        let normed: Vec<f64> = g.iter().zip(own.get("norm")).map(|(g, norm)| norm * g / root).collect();
        affine(&normed, own.get("output"), &vec![0.0; rows.values[0].len()])
    };
    (0..rows.values.len()).map(row).collect()
}
