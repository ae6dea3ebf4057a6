//! Layers of other families are Linear NCDEs: each against a recurrence of `ncde-kernels` with the drive and the structure that make it one.
//!
//! ```text
//! dh = sum_i A^i h domega^i + dxi
//! ```
//!
//! | layer | omega | xi | `A^i` | flow |
//! | --- | --- | --- | --- | --- |
//! | `state-space` with `per_channel` (S4D) | time | `int B x dt`, rows held | blocks of two, as states are complex | exact |
//! | `selective` (S6) | `int d_e dt`, for each number `e` of rows | `d x b` after each step | diagonal, with the states of number `e` | exact |
//! | `delta-net` | `int log(1 - beta) k k^T`, or `- beta k k^T` by first-order steps | `beta v k^T` after each step | one entry each, dense | exact, or first order |
//!
//! Thesis, sections "SSMs are Linear NCDEs" and "Structured Linear NCDEs".

use burn_flex::Flex;
use ncde_kernels::{Affine, Field, Input, Recurrence, Structure, Transition};
use ncde_layers::layer::Network;
use serde_json::{Value, json};

use crate::common::difference;
use crate::identities::{double, rows, weight};
use crate::samples::{numbers, sample};

const WIDTH: usize = 3;
const GAP: f64 = 0.4;

/// The rows of a series, and how many gaps lie before each.
struct Series<'a> {
    rows: Vec<&'a [f64]>,
    dt: Vec<f64>,
}

/// Compares a layer in f64 with what is computed from its weights.
fn check(layer: Value, right: impl Fn(&dyn Fn(&str) -> Vec<f64>, &Series<'_>) -> Vec<f64>) {
    let sample = sample(layer.to_string(), numbers(WIDTH, 0), json!([layer]));
    let (network, data): (Network<Flex>, _) = (double(&sample, &[]), sample.data());
    let own = |name: &str| weight(&network, &format!("layers.0.{name}"));
    for (b, seen) in rows(&network, &data).iter().enumerate() {
        let times = &data.times[b];
        let dt = (0..times.len()).map(|k| if k == 0 { 1.0 } else { (times[k] - times[k - 1]) / GAP }).collect();
        let series = Series { rows: data.rows[b].chunks(WIDTH).collect(), dt };
        let error = difference(&seen.concat(), &right(&own, &series));
        assert!(error < 1e-11, "{}: {error}", sample.name);
    }
}

/// The states of a Linear NCDE that begins at 0, `[steps, columns, H]`.
fn states(recurrence: &Recurrence, columns: usize, a: &[f64], omega: &[f64], xi: &[f64]) -> Vec<f64> {
    let length = omega.len() / recurrence.coefficients();
    let initial = vec![0.0; xi.len() / length];
    let (coefficients, affine) = (omega, Some(xi));
    recurrence.forward(&Input { batch: 1, length, columns, a, coefficients, initial: &initial, affine, lengths: None }).unwrap()
}

/// `W^T x`.
fn map(x: &[f64], w: &[f64]) -> Vec<f64> {
    let outputs = w.len() / x.len();
    (0..outputs).map(|j| x.iter().enumerate().map(|(i, x)| x * w[i * outputs + j]).sum()).collect()
}

fn softplus(x: f64) -> f64 {
    x.exp().ln_1p()
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

#[test]
fn s4d_is_driven_by_time() {
    let layer =
        json!({"layer": "state-space", "states": 2, "per_channel": true, "discretisation": "zero-order-hold", "gap": GAP});
    check(layer, |own, series| {
        let (decay, turn, step, input, output) = (own("decay"), own("turn"), own("step"), own("input"), own("output"));
        let (skip, count) = (own("skip"), decay.len());
        let number = |j: usize| j * WIDTH / count;
        let block = |j: usize| [-decay[j].exp(), -turn[j], turn[j], -decay[j].exp()].map(|x| step[j].exp() * x);
        let a: Vec<f64> = (0..count).flat_map(block).collect();
        let mut xi = Vec::new();
        for (x, dt) in series.rows.iter().zip(&series.dt) {
            xi.extend((0..count).flat_map(|j| [input[j], input[count + j]].map(|b| dt * step[j].exp() * b * x[number(j)])));
        }
        let recurrence = Recurrence::new(Field::new(Structure::blocks(2 * count, 2).unwrap(), 1).unwrap());
        let h = states(&recurrence, 1, &a, &series.dt, &xi);
        let row = |(x, h): (&&[f64], &[f64])| {
            let mut y: Vec<f64> = x.iter().zip(&skip).map(|(x, skip)| x * skip).collect();
            (0..count).for_each(|j| y[number(j)] += output[j] * h[2 * j] + output[count + j] * h[2 * j + 1]);
            y
        };
        series.rows.iter().zip(h.chunks(2 * count)).flat_map(row).collect()
    });
}

#[test]
fn s6_is_driven_by_gates() {
    const STATES: usize = 2;
    check(json!({"layer": "selective", "states": STATES, "rank": 1, "gap": GAP}), |own, series| {
        let (decay, skip) = (own("decay"), own("skip"));
        let hidden = WIDTH * STATES;
        let mut a = vec![0.0; WIDTH * hidden];
        for e in 0..WIDTH {
            (0..STATES).for_each(|s| a[e * hidden + e * STATES + s] = -decay[s * WIDTH + e].exp());
        }
        let (mut omega, mut xi, mut c) = (Vec::new(), Vec::new(), Vec::new());
        for (x, dt) in series.rows.iter().zip(&series.dt) {
            let projected = map(x, &own("project"));
            let d = map(&projected[..1], &own("step"));
            let d: Vec<f64> = d.iter().zip(own("step_bias")).map(|(d, bias)| dt * softplus(d + bias)).collect();
            xi.extend((0..hidden).map(|i| d[i / STATES] * x[i / STATES] * projected[1 + i % STATES]));
            omega.extend(d);
            c.push(projected[1 + STATES..].to_vec());
        }
        let field = Field::new(Structure::Diagonal { hidden }, WIDTH).unwrap();
        let h = states(&Recurrence::new(field).with_affine(Affine::Approximate), 1, &a, &omega, &xi);
        let number = |k: usize, e: usize| skip[e] * series.rows[k][e] + dot(&c[k], &h[k * hidden + e * STATES..][..STATES]);
        (0..series.rows.len()).flat_map(|k| (0..WIDTH).map(move |e| (k, e))).map(|(k, e)| number(k, e)).collect()
    });
}

#[test]
fn delta_net_is_driven_by_keys() {
    const KEY: usize = 3;
    const VALUE: usize = 2;
    let layer = json!({"layer": "delta-net", "heads": 1, "key": KEY, "value": VALUE, "convolution": 1});
    // With `negative` a factor turns its key around, which no exponential of a symmetric matrix does: there, only first-order steps are the layer.
    for (transition, negative) in [(Transition::Exp, false), (Transition::Euler, false), (Transition::Euler, true)] {
        let mut layer = layer.clone();
        layer["negative"] = negative.into();
        check(layer, |own, series| {
            // Every row of a state `[VALUE, KEY]` is a column here, as all of them share the flow.
            let field = Field::new(Structure::Dense { hidden: KEY }, KEY * KEY).unwrap();
            let a: Vec<f64> = (0..KEY.pow(4)).map(|i| if i % (KEY * KEY + 1) == 0 { 1.0 } else { 0.0 }).collect();
            let (mut omega, mut xi, mut queries) = (Vec::new(), Vec::new(), Vec::new());
            for x in &series.rows {
                let mut columns = map(x, &own("input"));
                columns.iter_mut().zip(own("convolution")).for_each(|(x, w)| *x = w * *x * sigmoid(w * *x));
                let long = |x: &[f64]| (dot(x, x) + 1e-6).sqrt();
                let (q, k, v) = (&columns[..KEY], &columns[KEY..2 * KEY], &columns[2 * KEY..][..VALUE]);
                queries.push(q.iter().map(|x| x / long(q) / (KEY as f64).sqrt()).collect::<Vec<f64>>());
                let k: Vec<f64> = k.iter().map(|x| x / long(k)).collect();
                let beta = if negative { 2.0 } else { 1.0 } * sigmoid(columns[2 * KEY + VALUE]);
                let rate = match transition {
                    Transition::Euler => -beta,
                    _ => (1.0 - beta * dot(&k, &k)).ln() / dot(&k, &k),
                };
                omega.extend((0..KEY * KEY).map(|i| rate * k[i / KEY] * k[i % KEY]));
                xi.extend((0..VALUE * KEY).map(|i| beta * v[i / KEY] * k[i % KEY]));
            }
            let recurrence = Recurrence::new(field).with_transition(transition).with_affine(Affine::Approximate);
            let h = states(&recurrence, VALUE, &a, &omega, &xi);
            let row = |(h, q): (&[f64], &Vec<f64>)| {
                let o: Vec<f64> = h.chunks(KEY).map(|h| dot(h, q)).collect();
                let root = (dot(&o, &o) / VALUE as f64 + 1e-5).sqrt();
                let normed: Vec<f64> = o.iter().zip(own("norm")).map(|(o, norm)| norm * o / root).collect();
                map(&normed, &own("output"))
            };
            h.chunks(VALUE * KEY).zip(&queries).flat_map(row).collect()
        });
    }
}
