//! `state-space`, number by number.

use serde_json::Value;

use super::reader::{Own, Rows, count, number, text};

/// Real and imaginary part.
type Complex = [f64; 2];

fn times(a: Complex, b: Complex) -> Complex {
    [a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]]
}

fn over(a: Complex, b: Complex) -> Complex {
    let square = b[0] * b[0] + b[1] * b[1];
    times(a, [b[0] / square, -b[1] / square])
}

fn exponential(z: Complex) -> Complex {
    [z[0].exp() * z[1].cos(), z[0].exp() * z[1].sin()]
}

/// How many steps row `k` brings.
pub(crate) fn steps(spec: &Value, rows: &Rows, k: usize) -> f64 {
    if spec["gap"].is_null() || k == 0 { 1.0 } else { (rows.times[k] - rows.times[k - 1]) / number(&spec["gap"]) }
}

/// `a` and `g` of a state.
fn step(rule: &str, own: &Own<'_>, j: usize, dt: f64) -> [Complex; 2] {
    let (decay, turn) = (own.get("decay")[j].exp(), own.get("turn")[j]);
    if rule == "powers" {
        return [exponential([-dt * decay, dt * turn.exp()]), [own.get("gain")[j].exp(), 0.0]];
    }
    let (lambda, step) = ([-decay, turn], own.get("step")[j].exp() * dt);
    let z = [lambda[0] * step, lambda[1] * step];
    let below = [1.0 - z[0] / 2.0, -z[1] / 2.0];
    match rule {
        "zero-order-hold" => {
            let a = exponential(z);
            [a, over([a[0] - 1.0, a[1]], lambda)]
        }
        "bilinear" => [over([1.0 + z[0] / 2.0, z[1] / 2.0], below), over([step, 0.0], below)],
        other => panic!("no discretisation {other}"),
    }
}

/// What is read from the states after each row.
pub(crate) fn state_space(spec: &Value, own: &Own<'_>, rows: &Rows) -> Vec<Vec<f64>> {
    let (states, rule) = (count(&spec["states"]), text(&spec["discretisation"]));
    let per_channel = spec["per_channel"] == true;
    let (input, output) = (own.get("input"), own.get("output"));
    let n = rows.values[0].len();
    let all = if per_channel { n * states } else { states };
    let mut h = vec![[0.0; 2]; all];
    let row = |(k, x): (usize, &Vec<f64>)| {
        let dt = steps(spec, rows, k);
        for (j, h) in h.iter_mut().enumerate() {
            let from = |place: usize| (0..n).map(|m| input[m * 2 * states + place] * x[m]).sum::<f64>();
            let u = match per_channel {
                true => [input[j] * x[j / states], input[all + j] * x[j / states]],
                false => [from(j), from(states + j)],
            };
            let [a, g] = step(rule, own, j, dt);
            let (old, new) = (times(a, *h), times(g, u));
            *h = [old[0] + new[0], old[1] + new[1]];
        }
        let mut y: Vec<f64> = x.iter().zip(own.get("skip")).map(|(x, skip)| x * skip).collect();
        for (j, [re, im]) in h.iter().enumerate() {
            if per_channel {
                y[j / states] += output[j] * re + output[all + j] * im;
            } else {
                (0..n).for_each(|m| y[m] += output[j * n + m] * re + output[(states + j) * n + m] * im);
            }
        }
        y
    };
    rows.values.iter().enumerate().map(row).collect()
}
