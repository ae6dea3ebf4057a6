//! `docs/model-format.md`, read by other eyes: whole series, full matrices, `f64`. Nothing of the library is called.

use std::collections::HashMap;

use serde_json::Value;

use super::algebra::{self, Element, Matrix};
use super::attention::attention;
use super::delta_net::delta_net;
use super::gru::{gru, gru_d};
use super::linear::linear_cde;
use super::lstm::lstm;
use super::mamba2::mamba2;
use super::mamba3::mamba3;
use super::neural::{self, Field};
use super::oscillators::oscillators;
use super::permutation::permutation_diagonal;
use super::reservoir::{memory, reservoir};
use super::rwkv::rwkv;
use super::selective::selective;
use super::state_space::state_space;
use super::xlstm::{mlstm, slstm};

/// Weights by name.
pub(crate) type Weights = HashMap<String, Vec<f64>>;

/// A time and its values; none is a missing one.
pub(crate) type Observation = (f64, Vec<Option<f64>>);

/// The rows of a series between two layers.
#[derive(Debug, Clone)]
pub(crate) struct Rows {
    pub(crate) times: Vec<f64>,
    pub(crate) values: Vec<Vec<f64>>,
    /// How many numbers of a row come before the knot, and the form they have; none if rows are not windows.
    pub(crate) windows: Option<(usize, Value)>,
    pub(crate) statics: Vec<f64>,
}

impl Rows {
    fn with(&self, values: Vec<Vec<f64>>) -> Self {
        Self { values, windows: None, ..self.clone() }
    }

    fn each(&self, f: impl Fn(&[f64]) -> Vec<f64>) -> Self {
        self.with(self.values.iter().map(|x| f(x)).collect())
    }
}

/// The weights of one layer.
pub(crate) struct Own<'a> {
    pub(crate) weights: &'a Weights,
    pub(crate) place: String,
}

impl Own<'_> {
    pub(crate) fn get(&self, name: &str) -> &[f64] {
        let name = format!("{}.{name}", self.place);
        self.weights.get(&name).unwrap_or_else(|| panic!("no weight {name}"))
    }
}

pub(crate) fn count(value: &Value) -> usize {
    value.as_u64().unwrap() as usize
}

pub(crate) fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

pub(crate) fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

fn scale(scaling: &Value, x: f64) -> f64 {
    number(&scaling["factor"]) * (x - number(&scaling["shift"]))
}

fn unscale(scaling: &Value, y: f64) -> f64 {
    y / number(&scaling["factor"]) + number(&scaling["shift"])
}

/// What the model predicts after each observation: probabilities, a value, or values and the widths around them.
pub(crate) fn predictions(json: &str, weights: &Weights, statics: &[Option<f64>], series: &[Observation]) -> Vec<Vec<f64>> {
    let model: Value = serde_json::from_str(json).unwrap();
    // A prediction is that of the series cut there, so it is computed from the series cut there.
    (1..=series.len()).map(|n| prediction(&model, &outputs(&model, weights, statics, &series[..n]), &series[..n])).collect()
}

fn outputs(model: &Value, weights: &Weights, statics: &[Option<f64>], series: &[Observation]) -> Vec<f64> {
    let rows = prepare(&model["preparation"], statics, series);
    let rows = chain(&model["layers"], "layers", weights, &rows);
    rows.values.last().unwrap().clone()
}

fn prediction(model: &Value, y: &[f64], series: &[Observation]) -> Vec<f64> {
    let task = &model["task"];
    let last = model["layers"].as_array().unwrap().last().unwrap();
    let members = if last["layer"] == "parallel" { last["layers"].as_array().unwrap().len() } else { 1 };
    let outputs = y.len() / members;
    let mean = |of: &dyn Fn(&[f64]) -> Vec<f64>| -> Vec<f64> {
        let each: Vec<Vec<f64>> = (0..members).map(|m| of(&y[m * outputs..(m + 1) * outputs])).collect();
        (0..outputs).map(|k| each.iter().map(|own| own[k]).sum::<f64>() / members as f64).collect()
    };
    if text(&task["kind"]) == "classification" {
        return mean(&|y| {
            // Logits of thousands have exponentials beyond `f64`, but only their differences count.
            let most = y.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let sum: f64 = y.iter().map(|y| (y - most).exp()).sum();
            y.iter().map(|y| (y - most).exp() / sum).collect()
        });
    }
    let y = mean(&|y| y.to_vec());
    match text(&task["kind"]) {
        "regression" => vec![unscale(&task["scaling"], y[0])],
        "forecast" => {
            let scalings = model["preparation"]["channels"].as_array().unwrap();
            let targets = targets(task, scalings.len());
            let (width, from) = (targets.len(), task["from"].as_u64().unwrap_or(count(&task["horizon"]) as u64) as usize);
            let of = |i: usize| crate::smoothing::forecast(task, i % width, from + i / width, series, scalings.len());
            let value = |(i, y): (usize, &f64)| {
                let c = targets[i % width];
                let last = series.iter().rev().find_map(|(_, values)| values[c]).map_or(0.0, |x| scale(&scalings[c], x));
                if !task["smoothing"].is_null() {
                    let value = of(i)[0] + y / number(&scalings[c]["factor"]);
                    return if task["nonnegative"][i % width] == true { value.max(0.0) } else { value };
                }
                unscale(&scalings[c], if task["relative"] == true { last + y } else { *y })
            };
            let values = y.iter().enumerate().map(value);
            let around = |(i, width): (usize, &Value)| number(width) * if task["smoothing"].is_null() { 1.0 } else { of(i)[1] };
            let widths = task["intervals"]["widths"].as_array().into_iter().flatten();
            values.chain(widths.flat_map(|row| row.as_array().unwrap()).enumerate().map(around)).collect()
        }
        other => panic!("no task {other}"),
    }
}

/// The channels that are forecast.
pub(crate) fn targets(task: &Value, channels: usize) -> Vec<usize> {
    task["targets"].as_array().map_or_else(|| (0..channels).collect(), |all| all.iter().map(count).collect())
}

/// Knots: time, channels, counts.
fn prepare(preparation: &Value, statics: &[Option<f64>], series: &[Observation]) -> Rows {
    let channels = preparation["channels"].as_array().unwrap();
    let time = &preparation["time"];
    let (mut last, mut seen) = (vec![0.0; channels.len()], vec![0.0; channels.len()]);
    let (mut times, mut values) = (Vec::new(), Vec::new());
    for (t, x) in series {
        let since = t - series[0].0;
        for (i, x) in x.iter().enumerate() {
            if let Some(x) = x {
                last[i] = scale(&channels[i], *x);
                seen[i] += 1.0;
            }
        }
        let mut knot = Vec::new();
        if !time.is_null() {
            knot.push(scale(time, since));
        }
        knot.extend(&last);
        if text(&preparation["missing"]["kind"]) == "counts" {
            knot.extend(seen.iter().enumerate().map(|(i, n)| number(&preparation["missing"]["factors"][i]) * n));
        }
        times.push(if time.is_null() { since } else { since * number(&time["factor"]) });
        values.push(knot);
    }
    let scalings = preparation["statics"].as_array().unwrap();
    let statics = statics.iter().zip(scalings).map(|(x, scaling)| x.map_or(0.0, |x| scale(scaling, x))).collect();
    Rows { times, values, windows: None, statics }
}

/// One layer after the other.
fn chain(layers: &Value, place: &str, weights: &Weights, rows: &Rows) -> Rows {
    layers.as_array().unwrap().iter().enumerate().fold(rows.clone(), |rows, (i, spec)| {
        let own = Own { weights, place: format!("{place}.{i}") };
        layer(spec, &own, &rows)
    })
}

fn layer(spec: &Value, own: &Own<'_>, rows: &Rows) -> Rows {
    let inside = || chain(&spec["layers"], &format!("{}.layers", own.place), own.weights, rows);
    match text(&spec["layer"]) {
        "windows" => windows(spec, rows),
        "linear-cde" => rows.with(linear_cde(spec, own, rows)),
        "permutation-diagonal" => rows.with(permutation_diagonal(spec, own, rows)),
        "neural-cde" => rows.with(neural_cde(spec, own, rows)),
        "reservoir" => rows.with(reservoir(spec, own, rows)),
        "memory" => rows.with(memory(spec, rows)),
        "lstm" => rows.with(lstm(spec, own, rows)),
        "gru" => rows.with(gru(spec, own, rows)),
        "gru-d" => rows.with(gru_d(spec, own, rows)),
        "state-space" => rows.with(state_space(spec, own, rows)),
        "oscillators" => rows.with(oscillators(spec, own, rows)),
        "selective" => rows.with(selective(spec, own, rows)),
        "delta-net" => rows.with(delta_net(spec, own, rows)),
        "mamba2" => rows.with(mamba2(spec, own, rows)),
        "mamba3" => rows.with(mamba3(spec, own, rows)),
        "slstm" => rows.with(slstm(spec, own, rows)),
        "mlstm" => rows.with(mlstm(spec, own, rows)),
        "rwkv" => rows.with(rwkv(spec, own, rows)),
        "attention" => rows.with(attention(spec, own, rows)),
        "random-features" => rows.each(|x| {
            let random = affine(x, own.get("weight"), own.get("bias")).into_iter().map(f64::tanh);
            x.iter().copied().chain(random).collect()
        }),
        "signature" => signature(count(&spec["depth"]), rows),
        "embedding" => {
            let width = count(&spec["width"]);
            rows.each(|x| own.get("weight")[x[0] as usize * width..][..width].to_vec())
        }
        "linear" => rows.each(|x| affine(x, own.get("weight"), own.get("bias"))),
        "activation" if text(&spec["function"]) == "glu" => rows.each(|x| {
            let n = x.len() / 2;
            (0..n).map(|i| x[i] / (1.0 + (-x[n + i]).exp())).collect()
        }),
        "activation" => rows.each(|x| x.iter().map(|&x| neural::plain(text(&spec["function"]), x)).collect()),
        "layer-norm" => {
            let affine = spec.get("affine").is_some_and(|affine| affine == true);
            rows.each(|x| {
                let n = x.len() as f64;
                let mean = x.iter().sum::<f64>() / n;
                let variance = x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n;
                let norm = |(i, x): (usize, &f64)| {
                    let y = (x - mean) / (variance + 1e-5).sqrt();
                    if affine { own.get("gain")[i] * y + own.get("offset")[i] } else { y }
                };
                x.iter().enumerate().map(norm).collect()
            })
        }
        "standardise" => {
            rows.each(|x| x.iter().enumerate().map(|(i, x)| own.get("factor")[i] * (x - own.get("shift")[i])).collect())
        }
        "dropout" => rows.each(<[f64]>::to_vec),
        "residual" => {
            let f = inside();
            let sum = |(x, y): (&Vec<f64>, &Vec<f64>)| x.iter().zip(y).map(|(x, y)| x + y).collect();
            rows.with(rows.values.iter().zip(&f.values).map(sum).collect())
        }
        "parallel" => {
            let all = lists(spec, own, rows);
            let row = |t: usize| all.iter().flat_map(|list| list.values[t].iter().copied()).collect();
            all[0].with((0..all[0].values.len()).map(row).collect())
        }
        "product" => {
            let all = lists(spec, own, rows);
            let row =
                |t: usize| (0..all[0].values[t].len()).map(|i| all.iter().map(|list| list.values[t][i]).product()).collect();
            rows.with((0..rows.values.len()).map(row).collect())
        }
        "beside" => {
            let (f, coordinates) = (inside(), rows.windows.as_ref().unwrap().0);
            let seen = count(&spec["coordinates"]);
            let knot = match &spec["knot"] {
                Value::Null => coordinates..rows.values[0].len(),
                some => coordinates + count(&some[0])..coordinates + count(&some[1]),
            };
            let row = |(x, y): (&Vec<f64>, &Vec<f64>)| {
                let scaled = x[..seen].iter().zip(own.get("scale")).map(|(x, s)| x * s);
                y.iter().copied().chain(scaled).chain(x[knot.clone()].iter().copied()).collect()
            };
            rows.with(rows.values.iter().zip(&f.values).map(row).collect())
        }
        "convolution" => {
            let (bias, weight) = (own.get("bias"), own.get("weight"));
            let width = bias.len();
            let row = |t: usize| {
                let seen = |i: usize| {
                    let back = 0..count(&spec["size"]).min(t + 1);
                    bias[i] + back.map(|j| weight[j * width + i] * rows.values[t - j][i]).sum::<f64>()
                };
                (0..width).map(seen).collect()
            };
            rows.with((0..rows.values.len()).map(row).collect())
        }
        "pool" => {
            let n = rows.values.len();
            let last = rows.values[n - 1].clone();
            let mean = || (0..last.len()).map(|i| rows.values.iter().map(|x| x[i]).sum::<f64>() / n as f64).collect();
            let row = if text(&spec["over"]) == "mean" { mean() } else { last.clone() };
            Rows { times: vec![rows.times[n - 1]], ..rows.with(vec![row]) }
        }
        other => panic!("no layer {other}"),
    }
}

/// What each of several lists of layers hands on for the same rows.
fn lists(spec: &Value, own: &Own<'_>, rows: &Rows) -> Vec<Rows> {
    let lists = spec["layers"].as_array().unwrap();
    let place = |l: usize| match lists.len() {
        1 => format!("{}.layers", own.place),
        _ => format!("{}.layers.{l}", own.place),
    };
    lists.iter().enumerate().map(|(l, list)| chain(list, &place(l), own.weights, rows)).collect()
}

/// `W^T x + b`, `W` of shape `[inputs, outputs]`.
pub(crate) fn affine(x: &[f64], weight: &[f64], bias: &[f64]) -> Vec<f64> {
    let n = bias.len();
    assert_eq!(weight.len(), x.len() * n);
    (0..n).map(|j| bias[j] + x.iter().enumerate().map(|(i, x)| x * weight[i * n + j]).sum::<f64>()).collect()
}

/// `h_0 = L^T (x_0, statics) + c`.
pub(crate) fn initial(first: &[f64], own: &Own<'_>, rows: &Rows) -> Vec<f64> {
    let x: Vec<f64> = first.iter().chain(&rows.statics).copied().collect();
    affine(&x, own.get("first"), own.get("start"))
}

/// `h_0 = (1, 0, ..., 0)`.
pub(crate) fn one(states: usize) -> Vec<f64> {
    let mut h = vec![0.0; states];
    h[0] = 1.0;
    h
}

fn differences(rows: &[Vec<f64>]) -> Vec<Vec<f64>> {
    rows.windows(2).map(|pair| pair[1].iter().zip(&pair[0]).map(|(b, a)| b - a).collect()).collect()
}

/// One row for the first knot, then one for each window; the last may be shorter.
fn windows(spec: &Value, rows: &Rows) -> Rows {
    let (window, form, d, n) = (count(&spec["window"]), &spec["form"], rows.values[0].len(), rows.values.len());
    let (mut times, mut values, mut coordinates) = (Vec::new(), Vec::new(), 0);
    let mut start = 0;
    loop {
        // Row 0 is that of a path that stands still, with zeros for all coordinates.
        let end = if values.is_empty() { 0 } else { n.min(start + window + 1) - 1 };
        let knots = &rows.values[start..=end];
        let mut row = match text(&form["kind"]) {
            "log-signature" => log_signature(&differences(knots), d, form),
            "increments" => {
                let increments = differences(knots);
                let mut row: Vec<f64> = (0..d).map(|i| increments.iter().map(|x| x[i]).sum()).collect();
                row.extend(increments.concat());
                row.resize((1 + window) * d, 0.0);
                row
            }
            "hermite" => hermite(rows, start, end),
            other => panic!("no form {other}"),
        };
        coordinates = coordinates.max(row.len());
        row.extend(&rows.values[end]);
        times.push(rows.times[end]);
        values.push(row);
        if end == n - 1 {
            return Rows { times, values, windows: Some((coordinates, form.clone())), statics: rows.statics.clone() };
        }
        start = end;
    }
}

/// The increment, then the slope of the one before it times the time of this one.
fn hermite(rows: &Rows, start: usize, end: usize) -> Vec<f64> {
    let (x, t) = (&rows.values, &rows.times);
    let d = x[0].len();
    if start == end {
        return vec![0.0; 2 * d];
    }
    let increment = |i: usize| x[end][i] - x[start][i];
    let before = |i: usize| match start {
        0 => increment(i),
        _ => (x[start][i] - x[start - 1][i]) / (t[start] - t[start - 1]) * (t[end] - t[start]),
    };
    (0..d).map(increment).chain((0..d).map(before)).collect()
}

pub(crate) fn elements(form: &Value, d: usize) -> Vec<Element> {
    let depth = count(&form["depth"]);
    if text(&form["basis"]) == "hall" { algebra::hall(d, depth) } else { algebra::lyndon(d, depth) }
}

fn log_signature(increments: &[Vec<f64>], d: usize, form: &Value) -> Vec<f64> {
    let log = algebra::logarithm(&algebra::signature(increments, d, count(&form["depth"])));
    match text(&form["basis"]) {
        "expanded" => algebra::flat(&log),
        _ => algebra::coordinates(&log, &elements(form, d)),
    }
}

/// The first knot, the statics, and the signature of the path so far.
fn signature(depth: usize, rows: &Rows) -> Rows {
    let d = rows.values[0].len();
    let row = |n: usize| {
        let signature = algebra::signature(&differences(&rows.values[..=n]), d, depth);
        [rows.values[0].clone(), rows.statics.clone(), algebra::flat(&signature)].concat()
    };
    rows.with((0..rows.values.len()).map(row).collect())
}

fn neural_cde(spec: &Value, own: &Own<'_>, rows: &Rows) -> Vec<Vec<f64>> {
    let (coordinates, form) = rows.windows.as_ref().unwrap();
    let (kind, hidden) = (text(&spec["kind"]), count(&spec["hidden"]));
    let d = rows.values[0].len() - coordinates;
    let (columns, elements) = match kind {
        "ncde" => (d, algebra::lyndon(d, 1)),
        "nrde" => (*coordinates, (0..*coordinates).map(Element::Letter).collect()),
        "log-ncde" => (d, elements(form, d)),
        other => panic!("no kind {other}"),
    };
    let field = Field { hidden, columns, spec, parameters: own.get("field") };
    let mut states = vec![initial(&rows.values[0][*coordinates..], own, rows)];
    for row in &rows.values[1..] {
        let control = |u: f64| -> Vec<f64> {
            if kind == "ncde" {
                let (x, m) = (&row[..d], &row[d..2 * d]);
                return (0..d).map(|i| m[i] + (4.0 * u - 3.0 * u * u) * (x[i] - m[i])).collect();
            }
            row[..*coordinates].to_vec()
        };
        let rate = |u: f64, h: &[f64]| field.rate(&elements, &control(u), h);
        let h = neural::solve(text(&spec["solver"]), count(&spec["steps"]), states.last().unwrap(), &rate);
        states.push(h);
    }
    states
}

/// `[rows, columns]`.
pub(crate) fn matrix(numbers: &[f64], columns: usize) -> Matrix {
    numbers.chunks(columns).map(<[f64]>::to_vec).collect()
}
