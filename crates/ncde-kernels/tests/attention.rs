//! Attention: number by number, finite differences, rows aside, a window of rows, threads and messages.
#![allow(clippy::unwrap_used, reason = "a test")]

use ncde_kernels::attention::{Attention, Input};
use ncde_kernels::{Error, Float};
use ncde_reference::{assert_close, assert_gradient, dot, narrow, on_threads, scaled, uniform, wide};

#[derive(Clone)]
struct Case {
    spec: Attention,
    shape: [usize; 2],
    rows: Vec<f64>,
    times: Vec<f64>,
    rates: Vec<f64>,
    aside: Option<Vec<bool>>,
    weights: Vec<f64>,
}

impl Case {
    fn new(seed: u64, [batch, length, heads, size, context]: [usize; 5]) -> Self {
        let drawn = |i: u64, count: usize| {
            scaled(&uniform(seed + i, count), 3.0).into_iter().map(|x| f64::from(x as f32)).collect::<Vec<_>>()
        };
        let count = batch * length;
        Self {
            spec: Attention { heads, size, context },
            shape: [batch, length],
            rows: drawn(0, count * 3 * heads * size),
            times: (0..count).map(|i| (i % length) as f64 + uniform(seed, count)[i]).collect(),
            rates: (0..size / 2).map(|c| 0.5_f64.powi(c as i32)).collect(),
            aside: None,
            weights: drawn(1, count * heads * size),
        }
    }

    fn with_aside(mut self) -> Self {
        self.aside = Some((0..self.shape[0] * self.shape[1]).map(|i| i % 3 == 1 || i % 7 == 0).collect());
        self
    }

    fn input<'a, T>(&'a self, rows: &'a [T]) -> Input<'a, T> {
        let Self { shape: [batch, length], times, rates, aside, .. } = self;
        Input { batch: *batch, length: *length, rows, times, rates, aside: aside.as_deref() }
    }

    fn run<T: Float>(&self) -> [Vec<f64>; 2] {
        let rows = narrow::<T>(&self.rows);
        let outputs = self.spec.forward(&self.input(&rows)).unwrap();
        let gradient = self.spec.backward(&self.input(&rows), &outputs.stored, &narrow::<T>(&self.weights)).unwrap();
        [wide(&outputs.y), wide(&gradient)]
    }

    fn is_aside(&self, row: usize) -> bool {
        self.aside.as_ref().is_some_and(|aside| aside[row])
    }

    /// Number by number.
    fn reference(&self) -> Vec<f64> {
        let ([batch, length], Attention { heads, size, context }) = (self.shape, self.spec);
        let number = |row: usize, part: usize, head: usize, c: usize| self.rows[((row * 3 + part) * heads + head) * size + c];
        let turned = |row: usize, part: usize, head: usize, c: usize| {
            let (half, angle) = (size / 2, self.times[row] * self.rates[c % (size / 2)]);
            let x = |c: usize| number(row, part, head, c);
            if c < half { angle.cos() * x(c) - angle.sin() * x(c + half) } else { angle.sin() * x(c - half) + angle.cos() * x(c) }
        };
        let mut y = Vec::new();
        for (i, head) in (0..batch * length).flat_map(|i| (0..heads).map(move |head| (i, head))) {
            let first = i / length * length;
            let mut rows: Vec<usize> = (first..i).filter(|&j| !self.is_aside(j)).collect();
            rows.push(i);
            let rows = &rows[rows.len().saturating_sub(context)..];
            let score =
                |j: usize| (0..size).map(|c| turned(i, 0, head, c) * turned(j, 1, head, c)).sum::<f64>() / (size as f64).sqrt();
            let raised: Vec<f64> = rows.iter().map(|&j| score(j).exp()).collect();
            let sum: f64 = raised.iter().sum();
            y.extend((0..size).map(|c| rows.iter().zip(&raised).map(|(&j, p)| p / sum * number(j, 2, head, c)).sum::<f64>()));
        }
        y
    }
}

fn cases(seed: u64, shapes: &[[usize; 5]]) -> impl Iterator<Item = Case> {
    shapes.iter().flat_map(move |&shape| [Case::new(seed, shape), Case::new(seed, shape).with_aside()])
}

#[test]
fn rows_number_by_number() {
    for case in cases(
        1,
        &[[1, 1, 1, 2, 1], [2, 5, 2, 4, 9], [1, 70, 1, 18, 300], [1, 200, 1, 6, 20], [2, 131, 2, 32, 64], [1, 64, 1, 2, 1]],
    ) {
        let (name, right) = (format!("{:?} {:?}", case.spec, case.shape), case.reference());
        assert_close(&format!("f64, {name}"), &case.run::<f64>()[0], &right, 1e-13);
        assert_close(&format!("f32, {name}"), &case.run::<f32>()[0], &right, 2e-5);
    }
}

#[test]
fn gradients_are_finite_differences() {
    for case in cases(2, &[[1, 1, 1, 2, 1], [2, 5, 2, 4, 3], [1, 70, 1, 2, 40]]) {
        let [_, gradient] = case.run::<f64>();
        assert_gradient(&format!("{:?} {:?}", case.spec, case.shape), &case.rows, &gradient, |rows| {
            dot(&case.spec.forward(&case.input(rows)).unwrap().y, &case.weights)
        });
        assert_close(&format!("f32, {:?}", case.spec), &case.run::<f32>()[1], &gradient, 1e-4);
    }
}

#[test]
fn bits_do_not_depend_on_threads() {
    let case = Case::new(3, [3, 90, 2, 6, 50]).with_aside();
    let [one, four] = [1, 4].map(|threads| on_threads(threads, || case.run::<f32>()));
    assert_eq!(one, four);
}

#[test]
fn errors_say_what_and_where() {
    let case = Case::new(4, [2, 3, 1, 2, 9]);
    let mut wrong = case.rows.clone();
    wrong[19] = f64::NAN;
    let error = case.spec.forward(&case.input(&wrong)).unwrap_err().to_string();
    assert!(error.contains("series 1, row 0, number 1"), "{error}");
    let error = case.spec.forward(&case.input(&wrong[1..])).unwrap_err().to_string();
    assert!(error.contains("batch 2 x length 3 x 3 parts"), "{error}");
    assert!(matches!(Attention { context: 0, ..case.spec }.forward(&case.input(&case.rows)), Err(Error::Empty { .. })));
}
