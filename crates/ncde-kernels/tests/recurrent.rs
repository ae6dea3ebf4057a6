//! Recurrent cells: number by number, finite differences, steps aside, one step at a time, batch, threads and messages.
#![allow(clippy::unwrap_used, reason = "a test")]

use ncde_kernels::recurrent::{Cell, Gradients, Input, Recurrent};
use ncde_kernels::{Error, Float};
use ncde_reference::{assert_close, assert_gradient, dot, narrow, on_threads, scaled, uniform, wide};

const CELLS: [Cell; 3] = [Cell::Lstm, Cell::Gru, Cell::Slstm];

#[derive(Clone)]
struct Case {
    spec: Recurrent,
    shape: [usize; 2],
    /// `x`, `W` and `U`.
    arrays: [Vec<f64>; 3],
    aside: Option<Vec<bool>>,
    weights: Vec<f64>,
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

impl Case {
    fn new(seed: u64, cell: Cell, [batch, length, inputs, heads, size]: [usize; 5]) -> Self {
        let drawn = |i: u64, count: usize| {
            scaled(&uniform(seed + i, count), 3.0).into_iter().map(|x| f64::from(x as f32)).collect::<Vec<_>>()
        };
        let (rows, hidden) = (batch * length, heads * size);
        let gates = cell.gates() * hidden;
        let arrays = [
            drawn(0, rows * cell.parts() * inputs),
            drawn(3, (inputs + 1) * gates),
            drawn(1, (size + usize::from(cell == Cell::Gru)) * gates),
        ];
        let spec = Recurrent { cell, inputs, heads, size };
        Self { spec, shape: [batch, length], arrays, aside: None, weights: drawn(2, rows * hidden) }
    }

    fn with_aside(mut self) -> Self {
        self.aside = Some((0..self.shape[0] * self.shape[1]).map(|i| i % 3 == 1 || i % 7 == 0).collect());
        self
    }

    fn input<'a, T>(&'a self, [x, w, u]: &'a [Vec<T>; 3]) -> Input<'a, T> {
        Input { batch: self.shape[0], length: self.shape[1], x, w, u, aside: self.aside.as_deref() }
    }

    fn run<T: Float>(&self) -> (Vec<f64>, [Vec<f64>; 3]) {
        let arrays = self.arrays.each_ref().map(|array| narrow::<T>(array));
        let outputs = self.spec.forward(&self.input(&arrays)).unwrap();
        let weights = narrow::<T>(&self.weights);
        let Gradients { x, w, u } = self.spec.backward(&self.input(&arrays), &outputs.stored, &weights).unwrap();
        (wide(&outputs.h), [x, w, u].map(|array| wide(&array)))
    }

    /// What the state `h` of head `head` brings to gate `gate` of number `j`.
    fn brought(&self, h: &[f64], head: usize, gate: usize, j: usize) -> f64 {
        let Recurrent { cell, size, .. } = self.spec;
        let bias = cell == Cell::Gru;
        let weight = |l: usize| self.arrays[2][((head * (size + usize::from(bias)) + l) * cell.gates() + gate) * size + j];
        (0..size).map(|l| h[head * size + l] * weight(l)).sum::<f64>() + if bias { weight(size) } else { 0.0 }
    }

    /// What a row brings to gate `gate` of number `k`.
    fn of_row(&self, row: usize, gate: usize, k: usize) -> f64 {
        let (Recurrent { cell, inputs, .. }, hidden) = (self.spec, self.spec.hidden());
        let part = gate * cell.parts() / cell.gates();
        let weight = |l: usize| self.arrays[1][(l * cell.gates() + gate) * hidden + k];
        (0..inputs).map(|l| self.arrays[0][(row * cell.parts() + part) * inputs + l] * weight(l)).sum::<f64>() + weight(inputs)
    }

    /// Number by number.
    fn reference(&self) -> Vec<f64> {
        let ([batch, length], Recurrent { cell, size, .. }, hidden) = (self.shape, self.spec, self.spec.hidden());
        let mut all = Vec::new();
        for series in 0..batch {
            let mut state: Vec<Vec<f64>> = vec![vec![0.0; hidden]; cell.states()];
            // The maximum of no row at all.
            if cell == Cell::Slstm {
                state[3].fill(f64::NEG_INFINITY);
            }
            for t in 0..length {
                let (row, mut next) = (series * length + t, state.clone());
                for k in 0..hidden {
                    let x = |gate: usize| self.of_row(row, gate, k);
                    let u = |gate: usize| self.brought(&state[0], k / size, gate, k % size);
                    let z = |gate: usize| x(gate) + u(gate);
                    match cell {
                        Cell::Lstm => {
                            next[1][k] = sigmoid(z(1)) * state[1][k] + sigmoid(z(0)) * z(2).tanh();
                            next[0][k] = sigmoid(z(3)) * next[1][k].tanh();
                        }
                        Cell::Gru => {
                            let n = (x(2) + sigmoid(z(0)) * u(2)).tanh();
                            next[0][k] = (1.0 - sigmoid(z(1))) * n + sigmoid(z(1)) * state[0][k];
                        }
                        Cell::Slstm => {
                            let stay = sigmoid(z(1)).ln() + state[3][k];
                            let m = stay.max(z(0));
                            let (stay, fill) = ((stay - m).exp(), (z(0) - m).exp());
                            next[1][k] = stay * state[1][k] + fill * z(2).tanh();
                            next[2][k] = stay * state[2][k] + fill;
                            next[3][k] = m;
                            next[0][k] = sigmoid(z(3)) * next[1][k] / next[2][k];
                        }
                    }
                }
                all.extend_from_slice(&next[0]);
                if !self.aside.as_ref().is_some_and(|aside| aside[row]) {
                    state = next;
                }
            }
        }
        all
    }
}

fn cases(seed: u64, shapes: &[[usize; 5]]) -> impl Iterator<Item = Case> {
    let cells = move |&shape: &[usize; 5]| CELLS.into_iter().map(move |cell| Case::new(seed, cell, shape));
    shapes.iter().flat_map(cells).flat_map(|case| [case.clone(), case.with_aside()])
}

#[test]
fn cells_number_by_number() {
    for case in
        cases(1, &[[1, 1, 1, 1, 1], [2, 5, 2, 1, 3], [3, 7, 5, 2, 17], [19, 3, 17, 1, 16], [1, 150, 1, 3, 2], [37, 4, 3, 2, 5]])
    {
        let (name, right) = (format!("{:?} {:?}", case.spec, case.shape), case.reference());
        assert_close(&format!("f64, {name}"), &case.run::<f64>().0, &right, 1e-13);
        assert_close(&format!("f32, {name}"), &case.run::<f32>().0, &right, 2e-5);
    }
}

#[test]
fn gradients_are_finite_differences() {
    // More rows than are computed again at once, too.
    for case in cases(2, &[[1, 1, 1, 1, 1], [2, 5, 2, 1, 3], [5, 4, 3, 2, 2], [1, 131, 1, 1, 2]]) {
        let (_, gradients) = case.run::<f64>();
        for (i, name) in ["x", "W", "U"].into_iter().enumerate() {
            assert_gradient(&format!("{:?} {:?}: {name}", case.spec, case.shape), &case.arrays[i], &gradients[i], |x| {
                let mut moved = case.clone();
                moved.arrays[i] = x.to_vec();
                dot(&moved.spec.forward(&moved.input(&moved.arrays)).unwrap().h, &case.weights)
            });
        }
        let (_, single) = case.run::<f32>();
        for i in 0..3 {
            assert_close(&format!("f32, {:?}, gradient {i}", case.spec), &single[i], &gradients[i], 1e-4);
        }
    }
}

#[test]
fn steps_are_those_of_the_sequence() {
    for cell in CELLS {
        let case = Case::new(3, cell, [1, 12, 3, 2, 19]);
        let (hidden, right) = (case.spec.hidden(), case.reference());
        let (mut state, gates) = (case.spec.first(), cell.gates() * hidden);
        for t in 0..12 {
            let x: Vec<f64> = (0..gates).map(|i| case.of_row(t, i / hidden, i % hidden)).collect();
            let u: Vec<f64> = (0..gates).map(|i| case.brought(&state, i / (gates / 2), i / 19 % cell.gates(), i % 19)).collect();
            case.spec.step(&x, &u, &mut state).unwrap();
            assert_close(&format!("{cell:?}, step {t}"), &state[..hidden], &right[t * hidden..][..hidden], 1e-12);
        }
    }
}

#[test]
fn bits_depend_neither_on_threads_nor_on_other_series() {
    for case in cases(4, &[[21, 9, 3, 2, 20]]) {
        let [one, four] = [1, 4].map(|threads| on_threads(threads, || case.run::<f32>()));
        assert_eq!(one, four);
        // The last series alone, where another number of rows share a product.
        let mut alone = case.clone();
        let last = |array: &[f64]| array[array.len() / 21 * 20..].to_vec();
        alone.shape[0] = 1;
        (alone.arrays[0], alone.weights) = (last(&case.arrays[0]), last(&case.weights));
        alone.aside = case.aside.as_ref().map(|aside| aside[9 * 20..].to_vec());
        let (h, [x, ..]) = alone.run::<f32>();
        assert_eq!((h, x), (last(&one.0), last(&one.1[0])));
    }
}

#[test]
fn errors_say_what_and_where() {
    let case = Case::new(5, Cell::Gru, [2, 3, 2, 1, 4]);
    let error = |arrays: &[Vec<f64>; 3]| case.spec.forward(&case.input(arrays)).unwrap_err();
    let mut short = case.arrays.clone();
    short[2].pop();
    assert!(error(&short).to_string().contains("5 states and a bias"), "{}", error(&short));
    let mut wrong = case.arrays.clone();
    wrong[0][9] = f64::NAN;
    assert!(error(&wrong).to_string().contains("series 1, step 1, number 1"), "{}", error(&wrong));
    let empty = Recurrent { heads: 0, ..case.spec };
    assert!(matches!(empty.forward(&case.input(&case.arrays)), Err(Error::Empty { .. })));
    assert!(case.spec.step(&[0.0; 12], &[0.0; 11], &mut [0.0; 4]).is_err());
}
