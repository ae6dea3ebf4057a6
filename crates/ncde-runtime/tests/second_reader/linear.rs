//! `linear-cde` with full matrices.

use serde_json::Value;

use super::algebra::{self, Element, Matrix};
use super::reader::{Own, Rows, count, elements, initial, matrix, one, text};

/// The full matrix that the parameters of a channel stand for.
fn full(structure: &Value, h: usize, a: &[f64], mask: &[f64]) -> Matrix {
    let mut out = algebra::zeros(h);
    let blocks = |out: &mut Matrix, sizes: &[usize]| {
        assert_eq!((sizes.iter().sum::<usize>(), sizes.iter().map(|b| b * b).sum::<usize>()), (h, a.len()));
        let (mut state, mut place) = (0, 0);
        for &b in sizes {
            (0..b * b).for_each(|i| out[state + i / b][state + i % b] = a[place + i]);
            (state, place) = (state + b, place + b * b);
        }
    };
    match text(&structure["kind"]) {
        "dense" => blocks(&mut out, &[h]),
        "diagonal" => blocks(&mut out, &vec![1; h]),
        "block" => {
            let b = count(&structure["block"]);
            blocks(&mut out, &vec![b; h / b]);
        }
        "blocks" => blocks(&mut out, &structure["sizes"].as_array().unwrap().iter().map(count).collect::<Vec<_>>()),
        "diagonal-dense" => {
            let b = count(&structure["block"]);
            blocks(&mut out, &[vec![1; h - b], vec![b]].concat());
        }
        "dplr" => {
            let r = count(&structure["rank"]);
            assert_eq!(a.len(), h * (1 + 2 * r));
            for i in 0..h {
                out[i][i] += a[i];
                for j in 0..h {
                    out[i][j] += (0..r).map(|c| a[h + c * h + i] * a[h + r * h + c * h + j]).sum::<f64>();
                }
            }
        }
        "sparse" => {
            assert_eq!(a.len(), mask.len());
            for (&a, &place) in a.iter().zip(mask) {
                out[place as usize / h][place as usize % h] = a;
            }
        }
        "walsh-hadamard" => {
            let bounded = structure.get("bound").is_none_or(|bound| bound == "tanh");
            for i in 0..h {
                for j in 0..h {
                    let sign = if (i & j).count_ones() % 2 == 0 { 1.0 } else { -1.0 };
                    out[i][j] = sign / (h as f64).sqrt() * if bounded { a[j].tanh() } else { a[j] };
                }
            }
        }
        other => panic!("no structure {other}"),
    }
    out
}

/// The matrix that never expands, of channel `k`: the structure keeps to its blocks, so full matrices do.
fn contracted(m: &Matrix, k: usize, rate: f64) -> Matrix {
    let h = m.len();
    let entry = |i: usize, j: usize| {
        if k > 0 {
            return (m[i][j] - m[j][i]) / 2.0;
        }
        let upper = |i: usize, j: usize| if i < j { m[i][j] } else { 0.0 };
        let shrink: f64 = (0..=i.min(j)).map(|l| m[i][l] * m[j][l]).sum();
        upper(i, j) - upper(j, i) - shrink - if i == j { rate } else { 0.0 }
    };
    (0..h).map(|i| (0..h).map(|j| entry(i, j)).collect()).collect()
}

/// `(A, c)` of one element: a matrix and a vector, as one matrix that acts on `(h, 1)`.
fn affine(a: &Matrix, c: &[f64]) -> Matrix {
    let mut out: Matrix = a.iter().zip(c).map(|(row, c)| row.iter().copied().chain([*c]).collect()).collect();
    out.push(vec![0.0; c.len() + 1]);
    out
}

/// `sum_P lambda_P (A_P, c_P)`, `[P, Q]` with `A_Q A_P - A_P A_Q`.
fn brackets(letters: &[Matrix], elements: &[Element], lambda: &[f64]) -> Matrix {
    let mut all: Vec<Matrix> = Vec::new();
    for element in elements {
        all.push(match *element {
            Element::Letter(i) => letters[i].clone(),
            Element::Bracket(p, q) => {
                let mut out = algebra::product(&all[q], &all[p]);
                algebra::accumulate(&mut out, -1.0, &algebra::product(&all[p], &all[q]));
                out
            }
        });
    }
    let mut sum = algebra::zeros(letters[0].len());
    all.iter().zip(lambda).for_each(|(m, &lambda)| algebra::accumulate(&mut sum, lambda, m));
    sum
}

/// `sum_w lambda_w A^{w_n} ... A^{w_1}`.
fn words(letters: &[Matrix], depth: usize, lambda: &[f64]) -> Matrix {
    let mut sum = algebra::zeros(letters[0].len());
    let all = (1..=depth).flat_map(|n| algebra::words(letters.len(), n));
    for (word, &lambda) in all.zip(lambda) {
        let (first, rest) = word.split_first().unwrap();
        let m = rest.iter().fold(letters[*first].clone(), |m, &i| algebra::product(&letters[i], &m));
        algebra::accumulate(&mut sum, lambda, &m);
    }
    sum
}

/// The generator of window row `x`, which acts on `(h, 1)`.
fn window(letters: &[Matrix], form: &Value, x: &[f64]) -> Matrix {
    let d = letters.len();
    match text(&form["kind"]) {
        "log-signature" if text(&form["basis"]) == "expanded" => words(letters, count(&form["depth"]), x),
        "log-signature" => brackets(letters, &elements(form, d), x),
        "increments" => {
            // The log-signature of depth 2 of those increments; zeros at the end change nothing.
            let signature = algebra::signature(&matrix(&x[d..], d), d, 2);
            words(letters, 2, &algebra::flat(&algebra::logarithm(&signature)))
        }
        other => panic!("no form {other} here"),
    }
}

/// The state after each row.
pub(crate) fn linear_cde(spec: &Value, own: &Own<'_>, rows: &Rows) -> Vec<Vec<f64>> {
    let (hidden, drive, input) = (count(&spec["hidden"]), &spec["drive"], spec.get("input").map_or("none", text));
    let kind = text(&drive["kind"]);
    let timed = drive.get("time").is_some_and(|time| time == true);
    let scale = spec.get("scale").map_or(1.0, |scale| scale.as_f64().unwrap());
    let width = rows.values[0].len();
    let windows = rows.windows.as_ref().filter(|_| kind == "windows");
    let d = match kind {
        "windows" => width - windows.unwrap().0,
        "tokens" => width + 1,
        "time" => 1,
        _ => width + usize::from(timed),
    };
    let a = own.get("a");
    let each = a.len() / d;
    let mask = if spec["structure"]["kind"] == "sparse" { own.get("mask") } else { &[] };
    let b = if input == "none" { Vec::new() } else { matrix(own.get("b"), hidden) };
    // Matrices that act on (h, 1); their last column is B where the path is the input.
    let letter = |k: usize| {
        let own_mask = mask.get(k * each..(k + 1) * each).unwrap_or(&[]);
        let zero = vec![0.0; hidden];
        let column = if input == "path" { &b[k] } else { &zero };
        let matrix = full(&spec["structure"], hidden, &a[k * each..(k + 1) * each], own_mask);
        match spec.get("stability").filter(|own| own["kind"] == "contractive") {
            Some(own) => affine(&contracted(&matrix, k, own["rate"].as_f64().unwrap()), column),
            None => affine(&matrix, column),
        }
    };
    let letters: Vec<Matrix> = (0..d).map(letter).collect();

    let first = text(&spec["initial"]) == "first";
    let numbers = windows.map_or(0, |(coordinates, _)| *coordinates);
    let mut h = match text(&spec["initial"]) {
        "first" => initial(&rows.values[0][numbers..], own, rows),
        "learned" => own.get("start").to_vec(),
        _ => one(hidden),
    };
    let mut states = Vec::new();
    for (k, x) in rows.values.iter().enumerate() {
        if k > 0 || (kind == "tokens" && !first) {
            let last = &rows.values[k.saturating_sub(1)];
            let dt = rows.times[k] - rows.times[k.saturating_sub(1)];
            let leading = if timed { vec![dt] } else { Vec::new() };
            let mut generator = match kind {
                "windows" => window(&letters, &windows.unwrap().1, &x[..numbers]),
                _ => {
                    let omega: Vec<f64> = match kind {
                        "tokens" => [1.0].iter().chain(x).copied().collect(),
                        "increments" => leading.into_iter().chain(x.iter().zip(last).map(|(x, last)| x - last)).collect(),
                        "values" => leading.into_iter().chain(last.iter().map(|x| dt * x)).collect(),
                        "time" => vec![dt],
                        other => panic!("no drive {other}"),
                    };
                    brackets(&letters, &algebra::lyndon(d, 1), &omega)
                }
            };
            generator.iter_mut().flatten().for_each(|x| *x *= scale);
            if input == "values" {
                for i in 0..hidden {
                    generator[i][hidden] = last.iter().zip(&b).map(|(x, b)| dt * x * b[i]).sum();
                }
            }
            let flow = match spec.get("transition").map_or("exp", text) {
                "exp" => algebra::exponential(&generator),
                "euler" => {
                    (0..=hidden).for_each(|i| generator[i][i] += 1.0);
                    generator
                }
                other => panic!("no transition {other}"),
            };
            h.push(1.0);
            h = algebra::apply(&flow, &h);
            h.truncate(hidden);
        }
        states.push(h.clone());
    }
    states
}
