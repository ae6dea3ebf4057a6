//! Random recurrences of matrix-valued states and an obviously right one: number by number in `f64`.

use ncde_kernels::Float;
use ncde_kernels::matrix_state::{Decay, Gradients, Input, MatrixState};

use super::{assert_close, dot, narrow, scaled, uniform, wide};

#[derive(Clone)]
pub struct Case {
    pub spec: MatrixState,
    pub batch: usize,
    pub length: usize,
    /// `w, a, c, k, q, v` and the initial state.
    pub arrays: [Vec<f64>; 7],
    /// The gradients in the outputs and in the last state.
    pub weights: [Vec<f64>; 2],
}

/// Outputs, last state and gradients.
pub type Results = (Vec<f64>, Vec<f64>, Gradients<f64>);

pub fn input<T>(batch: usize, length: usize, arrays: &[Vec<T>; 7]) -> Input<'_, T> {
    let [w, a, c, k, q, v, initial] = arrays;
    Input { batch, length, w, a, c, k, q, v, initial }
}

impl Case {
    /// Of numbers that `f32` holds exactly.
    pub fn new(seed: u64, spec: MatrixState, [batch, length]: [usize; 2]) -> Self {
        let MatrixState { heads, keys, values, decay, delta } = spec;
        let rows = batch * length * heads;
        let drawn = |seed: u64, count: usize, factor: f64, shift: f64| {
            let numbers = scaled(&uniform(seed, count), factor);
            numbers.into_iter().map(|x| f64::from((x + shift) as f32)).collect::<Vec<_>>()
        };
        let size = 2.0 / (keys as f64).sqrt();
        let of_delta = if delta { rows * keys } else { 0 };
        let arrays = [
            drawn(seed, rows * decay.numbers(keys), 0.5, 0.7),
            drawn(seed + 1, of_delta, size, 0.0),
            drawn(seed + 2, of_delta, size, 0.0),
            drawn(seed + 3, rows * keys, size, 0.0),
            drawn(seed + 4, rows * keys, size, 0.0),
            drawn(seed + 5, rows * values, 2.0, 0.0),
            drawn(seed + 6, batch * spec.state(), 2.0, 0.0),
        ];
        let weights = [drawn(seed + 7, rows * values, 2.0, 0.0), drawn(seed + 8, batch * spec.state(), 2.0, 0.0)];
        Self { spec, batch, length, arrays, weights }
    }

    pub fn input(&self) -> Input<'_, f64> {
        input(self.batch, self.length, &self.arrays)
    }

    pub fn run<T: Float>(&self) -> Results {
        let arrays = self.arrays.each_ref().map(|array| narrow::<T>(array));
        let input = input(self.batch, self.length, &arrays);
        let outputs = self.spec.forward(&input).unwrap();
        let [weights, last] = self.weights.each_ref().map(|array| narrow::<T>(array));
        let Gradients { w, a, c, k, q, v, initial } = self.spec.backward(&input, &outputs.checkpoints, &weights, &last).unwrap();
        let [w, a, c, k, q, v, initial] = [w, a, c, k, q, v, initial].map(|array| wide(&array));
        (wide(&outputs.outputs), wide(&outputs.last), Gradients { w, a, c, k, q, v, initial })
    }

    /// Number by number: outputs and the last state.
    pub fn reference(&self) -> [Vec<f64>; 2] {
        let MatrixState { heads, keys, values, decay, delta } = self.spec;
        let [w, a, c, k, q, v, initial] = &self.arrays;
        let (mut outputs, mut last) = (vec![0.0; v.len()], initial.clone());
        for b in 0..self.batch {
            for h in 0..heads {
                let state = &mut last[(b * heads + h) * values * keys..][..values * keys];
                for t in 0..self.length {
                    let row = (b * self.length + t) * heads + h;
                    let at = |array: &[f64], j: usize| array[row * keys + j];
                    // The transition matrix in full.
                    let m = |i: usize, j: usize| {
                        let w = match decay {
                            Decay::None => 1.0,
                            Decay::Scalar => w[row],
                            Decay::Vector => at(w, j),
                        };
                        (if i == j { w } else { 0.0 }) + if delta { at(a, i) * at(c, j) } else { 0.0 }
                    };
                    for (s, v) in state.chunks_mut(keys).zip(&v[row * values..]) {
                        let before = s.to_vec();
                        for (j, s) in s.iter_mut().enumerate() {
                            *s = before.iter().enumerate().map(|(i, s)| s * m(i, j)).sum::<f64>() + v * at(k, j);
                        }
                    }
                    for (o, s) in outputs[row * values..].iter_mut().zip(state.chunks(keys)) {
                        *o = dot(s, &q[row * keys..][..keys]);
                    }
                }
            }
        }
        [outputs, last]
    }

    pub fn loss(&self) -> f64 {
        self.reference().iter().zip(&self.weights).map(|(x, w)| dot(x, w)).sum()
    }

    pub fn name(&self) -> String {
        format!("{:?}, batch {}, length {}", self.spec, self.batch, self.length)
    }
}

/// Names and gradients in the order of [`Case::arrays`].
pub fn named(gradients: &Gradients<f64>) -> [(&'static str, &[f64]); 7] {
    let Gradients { w, a, c, k, q, v, initial } = gradients;
    [("w", w), ("a", a), ("c", c), ("k", k), ("q", q), ("v", v), ("initial", initial)]
}

#[track_caller]
pub fn compare(name: &str, seen: &Results, right: &Results, tolerance: f64) {
    assert_close(&format!("{name}: outputs"), &seen.0, &right.0, tolerance);
    assert_close(&format!("{name}: last state"), &seen.1, &right.1, tolerance);
    for ((what, seen), (_, right)) in named(&seen.2).iter().zip(named(&right.2)) {
        assert_close(&format!("{name}: gradient of {what}"), seen, right, tolerance);
    }
}

/// Every combination of decay and delta.
pub fn specs(heads: usize, keys: usize, values: usize) -> Vec<MatrixState> {
    let decays = [Decay::None, Decay::Scalar, Decay::Vector];
    let with = |decay| [false, true].map(|delta| MatrixState { decay, delta, ..MatrixState::new(heads, keys, values) });
    decays.into_iter().flat_map(with).collect()
}
