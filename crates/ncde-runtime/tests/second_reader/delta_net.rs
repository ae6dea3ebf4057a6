//! `delta-net`, number by number.

use serde_json::Value;

use super::neural::plain;
use super::reader::{Own, Rows, affine, count};

fn square(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum()
}

/// What is read from the matrices after each row.
pub(crate) fn delta_net(spec: &Value, own: &Own<'_>, rows: &Rows) -> Vec<Vec<f64>> {
    let or = |key: &str, default: usize| spec.get(key).map_or(default, count);
    let (heads, key, value) = (count(&spec["heads"]), count(&spec["key"]), count(&spec["value"]));
    let (products, back) = (or("products", 1), or("convolution", 4));
    let is = |key: &str| spec[key] == true;
    // Where q, k, v, b, a and g begin, and where they end.
    let sizes = [
        heads * key,
        products * heads * key,
        products * heads * value,
        if is("sum") { 0 } else { products * heads },
        if is("decay") { heads } else { 0 },
        if is("gate") { heads * value } else { 0 },
    ];
    let start = |part: usize| sizes[..part].iter().sum::<usize>();
    let convolved = start(3);
    let all: Vec<Vec<f64>> = rows.values.iter().map(|x| affine(x, own.get("input"), &vec![0.0; start(6)])).collect();
    let mut matrices = vec![vec![vec![0.0; key]; value]; heads];
    let row = |t: usize| {
        let mut columns = all[t].clone();
        for (i, number) in columns[..convolved].iter_mut().enumerate() {
            let seen = (0..back.min(t + 1)).map(|j| own.get("convolution")[j * convolved + i] * all[t - j][i]);
            *number = plain("silu", seen.sum());
        }
        let part = |which: usize, place: usize, size: usize| &columns[start(which) + place * size..][..size];
        let mut read = Vec::new();
        for (head, m) in matrices.iter_mut().enumerate() {
            let q = part(0, head, key);
            let length = ((square(q) + 1e-6) * key as f64).sqrt();
            if is("decay") {
                let rate = own.get("decay")[head].exp() * plain("softplus", part(4, head, 1)[0] + own.get("decay_bias")[head]);
                m.iter_mut().flatten().for_each(|m| *m *= (-rate).exp());
            }
            for p in 0..products {
                let (k, v) = (part(1, p * heads + head, key), part(2, p * heads + head, value));
                let k: Vec<f64> = k.iter().map(|x| x / (square(k) + 1e-6).sqrt()).collect();
                for (m, v) in m.iter_mut().zip(v) {
                    let stored: f64 = m.iter().zip(&k).map(|(m, k)| m * k).sum();
                    let added = if is("sum") {
                        *v
                    } else {
                        let beta = 1.0 / (1.0 + (-part(3, p * heads + head, 1)[0]).exp());
                        if is("negative") { 2.0 * beta * (v - stored) } else { beta * (v - stored) }
                    };
                    m.iter_mut().zip(&k).for_each(|(m, k)| *m += added * k);
                }
            }
            let o: Vec<f64> = m.iter().map(|m| m.iter().zip(q).map(|(m, q)| m * q / length).sum()).collect();
            let root = (square(&o) / value as f64 + 1e-5).sqrt();
            for (i, o) in o.iter().enumerate() {
                let gate = if is("gate") { plain("silu", part(5, head, value)[i]) } else { 1.0 };
                read.push(own.get("norm")[i] * o / root * gate);
            }
        }
        affine(&read, own.get("output"), &vec![0.0; rows.values[0].len()])
    };
    (0..rows.values.len()).map(row).collect()
}
