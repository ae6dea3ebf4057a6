//! `mamba3`, number by number.

use std::f64::consts::PI;

use serde_json::Value;

use super::neural::plain;
use super::reader::{Own, Rows, affine, count};
use super::state_space::steps;

/// What is read from the matrices after each row.
pub(crate) fn mamba3(spec: &Value, own: &Own<'_>, rows: &Rows) -> Vec<Vec<f64>> {
    let (heads, head, states) = (count(&spec["heads"]), count(&spec["head"]), count(&spec["states"]));
    let (angles, inner) = (count(&spec["angles"]), heads * head);
    let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
    let sizes = [inner, inner, states, states, heads, heads, heads, angles];
    let (mut matrices, mut theta) = (vec![vec![0.0; states]; inner], vec![0.0; heads * angles]);
    let (mut b_before, mut x_before) = (vec![0.0; heads * states], vec![0.0; inner]);
    let row = |(t, u): (usize, &Vec<f64>)| {
        let columns = affine(u, own.get("input"), &vec![0.0; sizes.iter().sum()]);
        let part = |which: usize| &columns[sizes[..which].iter().sum()..][..sizes[which]];
        let d: Vec<f64> =
            (0..heads).map(|h| plain("softplus", part(4)[h] + own.get("step_bias")[h]) * steps(spec, rows, t)).collect();
        for (j, theta) in theta.iter_mut().enumerate() {
            *theta += PI * part(7)[j % angles].tanh() * d[j / angles];
        }
        let key = |which: usize, norm: &str, bias: &str| -> Vec<f64> {
            let x = part(which);
            let root = (x.iter().map(|x| x * x).sum::<f64>() / states as f64 + 1e-5).sqrt();
            let still: Vec<f64> =
                (0..heads * states).map(|j| own.get(norm)[j % states] * x[j % states] / root + own.get(bias)[j]).collect();
            let turned = |j: usize| {
                let (h, i) = (j / states, j % states);
                let (sin, cos) = theta[h * angles + i % angles].sin_cos();
                match i / angles {
                    0 => cos * still[j] - sin * still[j + angles],
                    1 => sin * still[j - angles] + cos * still[j],
                    _ => still[j],
                }
            };
            (0..heads * states).map(turned).collect()
        };
        let (b, c) = (key(2, "b_norm", "b_bias"), key(3, "c_norm", "c_bias"));
        let mut read = Vec::new();
        for (i, m) in matrices.iter_mut().enumerate() {
            let (h, x) = (i / head, part(1)[i]);
            let alpha = (-plain("softplus", part(5)[h]).max(1e-4) * d[h]).exp();
            let share = sigmoid(part(6)[h]);
            let mut o = own.get("skip")[h] * x;
            for (s, m) in m.iter_mut().enumerate() {
                let (old, new) = (x_before[i] * b_before[h * states + s], x * b[h * states + s]);
                *m = alpha * *m + (1.0 - share) * d[h] * alpha * old + share * d[h] * new;
                o += *m * c[h * states + s];
            }
            read.push(o * plain("silu", part(0)[i]));
        }
        (b_before, x_before) = (b, part(1).to_vec());
        affine(&read, own.get("output"), &vec![0.0; u.len()])
    };
    rows.values.iter().enumerate().map(row).collect()
}
