//! `attention`, row by row, all sums anew for each.

use serde_json::Value;

use super::reader::{Own, Rows, affine, count, number};

/// Numbers of a head, turned as the clock says.
fn turned(x: &[f64], time: f64, gap: f64) -> Vec<f64> {
    let d = x.len();
    let angle = |i: usize| time * 10000_f64.powf(-2.0 * i as f64 / d as f64) / gap;
    let turn = |i: usize| match i < d / 2 {
        true => x[i] * angle(i).cos() - x[i + d / 2] * angle(i).sin(),
        false => x[i - d / 2] * angle(i - d / 2).sin() + x[i] * angle(i - d / 2).cos(),
    };
    (0..d).map(turn).collect()
}

/// What each row sees of those before it.
pub(crate) fn attention(spec: &Value, own: &Own<'_>, rows: &Rows) -> Vec<Vec<f64>> {
    let (heads, d, context) = (count(&spec["heads"]), count(&spec["head"]), count(&spec["context"]));
    let (gap, w) = (number(&spec["gap"]), heads * d);
    let of_rows: Vec<Vec<f64>> = rows.values.iter().map(|x| affine(x, own.get("input"), &vec![0.0; 3 * w])).collect();
    let part = |row: usize, which: usize, head: usize| &of_rows[row][which * w + head * d..][..d];
    let row = |k: usize| {
        let mut seen = Vec::new();
        for head in 0..heads {
            let query = turned(part(k, 0, head), rows.times[k], gap);
            let behind: Vec<usize> = ((k + 1).saturating_sub(context)..=k).collect();
            let score = |&j: &usize| {
                let key = turned(part(j, 1, head), rows.times[j], gap);
                query.iter().zip(key).map(|(q, k)| q * k).sum::<f64>() / (d as f64).sqrt()
            };
            let scores: Vec<f64> = behind.iter().map(score).collect();
            // Only the differences of scores count.
            let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let shares: Vec<f64> = scores.iter().map(|score| (score - most).exp()).collect();
            let sum: f64 = shares.iter().sum();
            seen.extend((0..d).map(|i| behind.iter().zip(&shares).map(|(&j, p)| p / sum * part(j, 2, head)[i]).sum::<f64>()));
        }
        affine(&seen, own.get("output"), own.get("bias"))
    };
    (0..rows.values.len()).map(row).collect()
}
