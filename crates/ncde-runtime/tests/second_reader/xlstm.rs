//! `slstm` and `mlstm`, number by number.

use serde_json::Value;

use super::neural::plain;
use super::reader::{Own, Rows, affine, count};

/// Row `t` and those before it, as the first gates see them.
fn convolved(spec: &Value, own: &Own<'_>, rows: &Rows, t: usize) -> Vec<f64> {
    let (back, n) = (spec.get("convolution").map_or(4, count), rows.values[0].len());
    let number = |i: usize| {
        let seen = (0..back.min(t + 1)).map(|j| own.get("convolution")[j * n + i] * rows.values[t - j][i]);
        plain("silu", own.get("convolution_bias")[i] + seen.sum::<f64>())
    };
    (0..n).map(number).collect()
}

/// `ln sigmoid(x)`.
fn log_sigmoid(x: f64) -> f64 {
    -plain("softplus", -x)
}

/// The numbers of each head with mean 0 and variance 1, times the weight `norm`.
fn normalised(y: &[f64], d: usize, own: &Own<'_>) -> Vec<f64> {
    let head = |(y, norm): (&[f64], &[f64])| {
        let mean = y.iter().sum::<f64>() / d as f64;
        let variance = y.iter().map(|y| (y - mean).powi(2)).sum::<f64>() / d as f64;
        y.iter().zip(norm).map(|(y, norm)| norm * (y - mean) / (variance + 1e-5).sqrt()).collect::<Vec<f64>>()
    };
    y.chunks(d).zip(own.get("norm").chunks(d)).flat_map(head).collect()
}

/// The states of each row, by head of mean 0 and variance 1.
pub(crate) fn slstm(spec: &Value, own: &Own<'_>, rows: &Rows) -> Vec<Vec<f64>> {
    let hidden = count(&spec["hidden"]);
    let d = hidden / count(&spec["heads"]);
    let (mut y, mut c, mut n, mut m) = (vec![0.0; hidden], vec![0.0; hidden], vec![0.0; hidden], vec![0.0; hidden]);
    let row = |t: usize| {
        let (x, u, before) = (&rows.values[t], convolved(spec, own, rows, t), y.clone());
        for s in 0..hidden {
            let (head, number) = (s / d, s % d);
            let gate = |which: usize, seen: &[f64]| {
                let place = which * hidden + s;
                let of_row = seen.iter().enumerate().map(|(m, x)| own.get("input")[m * 4 * hidden + place] * x).sum::<f64>();
                let recurrent =
                    |e: usize| own.get("recurrent")[(head * d + e) * 4 * d + which * d + number] * before[head * d + e];
                of_row + (0..d).map(recurrent).sum::<f64>() + own.get("bias")[place]
            };
            let (i, f, z, o) = (gate(0, &u), gate(1, &u), gate(2, x), gate(3, x));
            if t == 0 {
                (m[s], c[s], n[s]) = (i, z.tanh(), 1.0);
            } else {
                let kept = log_sigmoid(f) + m[s];
                let most = kept.max(i);
                c[s] = (kept - most).exp() * c[s] + (i - most).exp() * z.tanh();
                n[s] = (kept - most).exp() * n[s] + (i - most).exp();
                m[s] = most;
            }
            y[s] = c[s] / n[s] / (1.0 + (-o).exp());
        }
        normalised(&y, d, own)
    };
    (0..rows.values.len()).map(row).collect()
}

/// What is read from the matrices after each row.
pub(crate) fn mlstm(spec: &Value, own: &Own<'_>, rows: &Rows) -> Vec<Vec<f64>> {
    let (heads, block, n) = (count(&spec["heads"]), spec.get("block").map_or(4, count), rows.values[0].len());
    let d = n / heads;
    let mixed = |name: &str, x: &[f64]| -> Vec<f64> {
        let number = |i: usize| {
            let (b, c) = (i / block, i % block);
            (0..block).map(|e| own.get(name)[(b * block + e) * block + c] * x[b * block + e]).sum()
        };
        (0..n).map(number).collect()
    };
    let mut states = vec![(0.0, vec![vec![0.0; d]; d], vec![0.0; d]); heads];
    let row = |t: usize| {
        let (x, u) = (&rows.values[t], convolved(spec, own, rows, t));
        let (q, k, v) = (mixed("query", &u), mixed("key", &u), mixed("value", x));
        let gates = affine(&[q.clone(), k.clone(), v.clone()].concat(), own.get("gates"), own.get("gates_bias"));
        let mut y = Vec::new();
        for (head, (m, matrix, sum)) in states.iter_mut().enumerate() {
            let part = |all: &[f64]| all[head * d..][..d].to_vec();
            let (q, v) = (part(&q), part(&v));
            let k: Vec<f64> = part(&k).iter().map(|k| k / (d as f64).sqrt()).collect();
            let (i, kept) = (gates[head], log_sigmoid(gates[heads + head]) + *m);
            let most = if t == 0 { i } else { kept.max(i) };
            let (keep, fill) = (if t == 0 { 0.0 } else { (kept - most).exp() }, (i - most).exp());
            *m = most;
            for (row, v) in matrix.iter_mut().zip(&v) {
                row.iter_mut().zip(&k).for_each(|(entry, k)| *entry = keep * *entry + fill * v * k);
            }
            sum.iter_mut().zip(&k).for_each(|(entry, k)| *entry = keep * *entry + fill * k);
            let inner = |x: &[f64]| x.iter().zip(&q).map(|(x, q)| x * q).sum::<f64>();
            let below = inner(sum).abs().max((-most).exp()) + 1e-9;
            y.extend(matrix.iter().map(|row| inner(row) / below));
        }
        normalised(&y, d, own).iter().zip(own.get("skip")).zip(&u).map(|((y, skip), u)| y + skip * u).collect()
    };
    (0..rows.values.len()).map(row).collect()
}
