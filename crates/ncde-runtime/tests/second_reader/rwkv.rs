//! `rwkv`, number by number.

use serde_json::Value;

use super::reader::{Own, Rows, affine, count};

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// What is read from the matrices after each row.
pub(crate) fn rwkv(spec: &Value, own: &Own<'_>, rows: &Rows) -> Vec<Vec<f64>> {
    let (heads, rank, n) = (count(&spec["heads"]), count(&spec["rank"]), rows.values[0].len());
    let d = n / heads;
    let (zeros, none) = (vec![0.0; n], vec![0.0; rank]);
    let mut matrices = vec![vec![vec![0.0; d]; d]; heads];
    let row = |t: usize| {
        let (x, before) = (&rows.values[t], if t == 0 { &zeros } else { &rows.values[t - 1] });
        let mu = |j: usize| (0..n).map(|i| x[i] + own.get("mix")[j * n + i] * (before[i] - x[i])).collect::<Vec<f64>>();
        let through = |j: usize, down: &str, f: fn(f64) -> f64, up: &str, base: &[f64]| {
            let inside: Vec<f64> = affine(&mu(j), own.get(down), &none).into_iter().map(f).collect();
            affine(&inside, own.get(up), base)
        };
        let [r, mut k, v] = [(0, "receptance"), (2, "key"), (3, "value")].map(|(j, name)| affine(&mu(j), own.get(name), &zeros));
        let w = through(1, "decay_down", f64::tanh, "decay_up", own.get("decay"));
        let w: Vec<f64> = w.into_iter().map(|w| (-0.606_531 * sigmoid(w)).exp()).collect();
        let a = through(4, "rate_down", |x| x, "rate_up", own.get("rate"));
        let a: Vec<f64> = a.into_iter().map(sigmoid).collect();
        let g = through(5, "gate_down", sigmoid, "gate_up", &zeros);
        let mut c: Vec<f64> = k.iter().zip(own.get("scale")).map(|(k, s)| k * s).collect();
        for c in c.chunks_mut(d) {
            let length = c.iter().map(|c| c * c).sum::<f64>().sqrt().max(1e-12);
            c.iter_mut().for_each(|c| *c /= length);
        }
        for (i, k) in k.iter_mut().enumerate() {
            *k *= 1.0 + (a[i] - 1.0) * own.get("unwritten")[i];
        }
        let mut y = Vec::new();
        for (head, m) in matrices.iter_mut().enumerate() {
            let first = head * d;
            for (i, m) in m.iter_mut().enumerate() {
                let stored: f64 = (0..d).map(|j| m[j] * c[first + j]).sum();
                for (j, m) in m.iter_mut().enumerate() {
                    let at = first + j;
                    *m = *m * w[at] - stored * a[at] * c[at] + v[first + i] * k[at];
                }
            }
            let o: Vec<f64> = m.iter().map(|m| (0..d).map(|j| m[j] * r[first + j]).sum()).collect();
            let mean = o.iter().sum::<f64>() / d as f64;
            let variance = o.iter().map(|o| (o - mean).powi(2)).sum::<f64>() / d as f64;
            let seen: f64 = (first..first + d).map(|i| r[i] * k[i] * own.get("bonus")[i]).sum();
            for (i, o) in (first..).zip(o) {
                let read = own.get("norm")[i] * (o - mean) / (variance + 6.4e-4).sqrt() + own.get("offset")[i];
                y.push(g[i] * (read + seen * v[i]));
            }
        }
        affine(&y, own.get("output"), &zeros)
    };
    (0..rows.values.len()).map(row).collect()
}
