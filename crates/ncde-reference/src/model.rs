//! Fields of every structure, their matrices written out in full, and random input for them.

use std::sync::Arc;

use ncde_kernels::{Bound, Error, Field, Float, Gradients, Input, Pattern, Recurrence, Structure};

use super::{narrow, scaled, uniform, wide};

/// A field, and the places of its entries if it is sparse.
#[derive(Debug, Clone)]
pub struct Model {
    pub field: Field,
    masks: Vec<Vec<(usize, usize)>>,
}

impl Model {
    pub fn new(structure: Structure, channels: usize) -> Self {
        Self { field: Field::new(structure, channels).unwrap(), masks: Vec::new() }
    }

    /// Another mask for each channel; about every third entry.
    pub fn sparse(hidden: usize, channels: usize, seed: u64) -> Self {
        let u = uniform(seed, channels * hidden * hidden);
        let mask = |k: usize| {
            let mut mask: Vec<(usize, usize)> = Vec::new();
            for i in 0..hidden * hidden {
                if u[k * hidden * hidden + i] < -0.17 {
                    mask.push((i / hidden, i % hidden));
                }
            }
            // The order of the list is the caller's.
            mask.rotate_left(k % 3);
            mask
        };
        let masks: Vec<_> = (0..channels).map(mask).collect();
        Self::with_masks(hidden, masks)
    }

    pub fn with_masks(hidden: usize, masks: Vec<Vec<(usize, usize)>>) -> Self {
        let pattern = Arc::new(Pattern::new(hidden, &masks).unwrap());
        Self { field: Field::new(Structure::Sparse { pattern }, masks.len()).unwrap(), masks }
    }

    pub fn hidden(&self) -> usize {
        self.field.hidden()
    }

    pub fn name(&self) -> String {
        format!("{} of {} states and {} channels", self.field.structure().name(), self.hidden(), self.field.channels())
    }

    /// Parameters that keep the norm of each matrix near 1.
    pub fn parameters(&self, seed: u64) -> Vec<f64> {
        let mut a = uniform(seed, self.field.parameters());
        let hidden = self.hidden();
        if let Some(sizes) = self.field.structure().sizes() {
            for k in 0..self.field.channels() {
                let mut at = self.field.channel(k).start;
                for &b in &sizes {
                    a[at..at + b * b].iter_mut().for_each(|x| *x *= 1.7 / (b as f64).sqrt());
                    at += b * b;
                }
            }
            return a;
        }
        match self.field.structure() {
            Structure::Dplr { .. } => {
                for k in 0..self.field.channels() {
                    a[self.field.channel(k)][hidden..].iter_mut().for_each(|x| *x *= 2.0 / (hidden as f64).sqrt());
                }
                a
            }
            Structure::Sparse { .. } => scaled(&a, 3.0 / (hidden as f64).sqrt()),
            _ => scaled(&a, 2.0),
        }
    }

    /// `A^1, ..., A^d` in full.
    pub fn matrices(&self, a: &[f64]) -> Vec<Vec<f64>> {
        let n = self.hidden();
        let matrix = |k: usize| {
            let parameters = &a[self.field.channel(k)];
            let mut m = vec![0.0; n * n];
            match self.field.structure() {
                Structure::Dplr { rank, .. } => {
                    let (d, uv) = parameters.split_at(n);
                    let (u, v) = uv.split_at(n * rank);
                    for r in 0..n {
                        m[r * n + r] += d[r];
                        for c in 0..n {
                            m[r * n + c] += (0..*rank).map(|j| u[j * n + r] * v[j * n + c]).sum::<f64>();
                        }
                    }
                }
                Structure::Sparse { .. } => {
                    for (&(r, c), &x) in self.masks[k].iter().zip(parameters) {
                        m[r * n + c] = x;
                    }
                }
                Structure::WalshHadamard { bound, .. } => {
                    for i in 0..n * n {
                        let x = parameters[i % n];
                        m[i] = sylvester(n, i) * if *bound == Bound::Tanh { x.tanh() } else { x };
                    }
                }
                _ => {
                    for (i, place) in block_places(&self.field).into_iter().enumerate() {
                        m[place] = parameters[i];
                    }
                }
            }
            m
        };
        (0..self.field.channels()).map(matrix).collect()
    }

    /// The gradient of the parameters from that of the full matrices.
    pub fn pull_back(&self, a: &[f64], gradient: &[Vec<f64>]) -> Vec<f64> {
        let n = self.hidden();
        let mut da = vec![0.0; a.len()];
        for (k, g) in gradient.iter().enumerate() {
            let (parameters, da) = (&a[self.field.channel(k)], &mut da[self.field.channel(k)]);
            match self.field.structure() {
                Structure::Dplr { rank, .. } => {
                    let (u, v) = parameters[n..].split_at(n * rank);
                    for r in 0..n {
                        da[r] = g[r * n + r];
                        for c in 0..n {
                            for j in 0..*rank {
                                da[n + j * n + r] += g[r * n + c] * v[j * n + c];
                                da[n + rank * n + j * n + c] += g[r * n + c] * u[j * n + r];
                            }
                        }
                    }
                }
                Structure::Sparse { .. } => {
                    for (&(r, c), da) in self.masks[k].iter().zip(da) {
                        *da = g[r * n + c];
                    }
                }
                Structure::WalshHadamard { bound, .. } => {
                    for i in 0..n * n {
                        let slope = if *bound == Bound::Tanh { 1.0 - parameters[i % n].tanh().powi(2) } else { 1.0 };
                        da[i % n] += g[i] * sylvester(n, i) * slope;
                    }
                }
                _ => {
                    for (da, place) in da.iter_mut().zip(block_places(&self.field)) {
                        *da = g[place];
                    }
                }
            }
        }
        da
    }
}

/// Entry `i` of `H_n / sqrt n`.
fn sylvester(n: usize, i: usize) -> f64 {
    let sign = if ((i / n) & (i % n)).count_ones().is_multiple_of(2) { 1.0 } else { -1.0 };
    sign / (n as f64).sqrt()
}

/// Where the parameters of blocks lie in the full matrix.
fn block_places(field: &Field) -> Vec<usize> {
    let (n, mut at, mut places) = (field.hidden(), 0, Vec::new());
    for b in field.structure().sizes().unwrap() {
        places.extend((0..b * b).map(|i| (at + i / b) * n + at + i % b));
        at += b;
    }
    places
}

/// Every structure, small enough to differentiate number by number.
pub fn small(channels: usize) -> Vec<Model> {
    vec![
        Model::new(Structure::Dense { hidden: 1 }, channels),
        Model::new(Structure::Dense { hidden: 5 }, channels),
        Model::new(Structure::Diagonal { hidden: 7 }, channels),
        Model::new(Structure::Block { sizes: vec![1, 3, 2, 4] }, channels),
        Model::new(Structure::DiagonalDense { hidden: 7, block: 3 }, channels),
        Model::new(Structure::Dplr { hidden: 6, rank: 1 }, channels),
        Model::new(Structure::Dplr { hidden: 7, rank: 3 }, channels),
        Model::sparse(7, channels, 71),
        Model::new(Structure::WalshHadamard { hidden: 8, bound: Bound::None }, channels),
        Model::new(Structure::WalshHadamard { hidden: 4, bound: Bound::Tanh }, channels),
    ]
}

/// Every structure at sizes where whole registers, their rests and the kernels for large blocks are used.
pub fn large(channels: usize) -> Vec<Model> {
    vec![
        Model::new(Structure::Dense { hidden: 33 }, channels),
        Model::new(Structure::Diagonal { hidden: 37 }, channels),
        Model::new(Structure::Block { sizes: vec![1, 2, 3, 4, 5, 7, 9, 17, 33] }, channels),
        Model::new(Structure::Block { sizes: vec![33, 2, 4, 1, 2, 4, 1, 1, 4, 2] }, channels),
        Model::new(Structure::blocks(76, 4).unwrap(), channels),
        Model::new(Structure::blocks(51, 3).unwrap(), channels),
        Model::new(Structure::blocks(48, 8).unwrap(), channels),
        Model::new(Structure::blocks(64, 8).unwrap(), channels),
        Model::new(Structure::DiagonalDense { hidden: 40, block: 19 }, channels),
        Model::new(Structure::DiagonalDense { hidden: 9, block: 9 }, channels),
        Model::new(Structure::Dplr { hidden: 35, rank: 1 }, channels),
        Model::new(Structure::Dplr { hidden: 33, rank: 3 }, channels),
        Model::sparse(29, channels, 72),
        Model::new(Structure::WalshHadamard { hidden: 64, bound: Bound::None }, channels),
        Model::new(Structure::WalshHadamard { hidden: 32, bound: Bound::Tanh }, channels),
    ]
}

/// A recurrence with its input.
#[derive(Debug, Clone)]
pub struct Case {
    pub model: Model,
    pub recurrence: Recurrence,
    pub batch: usize,
    pub length: usize,
    pub columns: usize,
    pub a: Vec<f64>,
    pub coefficients: Vec<f64>,
    pub initial: Vec<f64>,
    pub affine: Option<Vec<f64>>,
    pub lengths: Option<Vec<usize>>,
    /// The gradient of the loss in every state.
    pub weights: Vec<f64>,
}

impl Case {
    /// Random input.
    pub fn new(seed: u64, model: &Model, recurrence: Recurrence, [batch, length, columns]: [usize; 3]) -> Self {
        let (width, state) = (recurrence.coefficients(), columns * model.hidden());
        Self {
            batch,
            length,
            columns,
            a: model.parameters(seed),
            coefficients: scaled(&uniform(seed + 1, batch * length * width), 2.0 / (width as f64).sqrt()),
            initial: uniform(seed + 2, batch * state),
            affine: Some(uniform(seed + 3, batch * length * state)),
            lengths: None,
            weights: uniform(seed + 4, batch * length * state),
            model: model.clone(),
            recurrence,
        }
    }

    pub fn without_affine(self) -> Self {
        Self { affine: None, ..self }
    }

    /// Series of different lengths: the first of half the length, the last of all of it, the second of 1 if it is neither.
    pub fn ragged(self) -> Self {
        let length = |b: usize| match b {
            0 => self.length.div_ceil(2),
            b if b + 1 == self.batch => self.length,
            b => (7 * b - 7) % self.length + 1,
        };
        let lengths = (0..self.batch).map(length).collect();
        Self { lengths: Some(lengths), ..self }
    }

    pub fn name(&self) -> String {
        format!(
            "{} ({:?}), batch {}, length {}, {} columns, {:?}, affine {}, {:?}, lengths {:?}",
            self.model.name(),
            self.model.field.structure().sizes().filter(|sizes| sizes.len() < 12),
            self.batch,
            self.length,
            self.columns,
            self.recurrence.transition(),
            if self.affine.is_some() { format!("{:?}", self.recurrence.affine()) } else { "none".into() },
            self.recurrence.contraction(),
            self.lengths
        )
    }

    /// All numbers as `f32` would hold them.
    pub fn rounded(self) -> Self {
        let round = |x: Vec<f64>| x.into_iter().map(|x| f64::from(x as f32)).collect::<Vec<_>>();
        Self {
            a: round(self.a),
            coefficients: round(self.coefficients),
            initial: round(self.initial),
            affine: self.affine.map(round),
            weights: round(self.weights),
            ..self
        }
    }

    pub fn forward(&self) -> Result<Vec<f64>, Error> {
        self.recurrence.forward(&self.input())
    }

    pub fn input(&self) -> Input<'_, f64> {
        Input {
            batch: self.batch,
            length: self.length,
            columns: self.columns,
            a: &self.a,
            coefficients: &self.coefficients,
            initial: &self.initial,
            affine: self.affine.as_deref(),
            lengths: self.lengths.as_deref(),
        }
    }

    /// States and gradients, computed in `T`.
    pub fn run<T: Float>(&self) -> (Vec<f64>, Gradients<f64>) {
        let (a, coefficients): (Vec<T>, Vec<T>) = (narrow(&self.a), narrow(&self.coefficients));
        let (initial, affine): (Vec<T>, Option<Vec<T>>) = (narrow(&self.initial), self.affine.as_deref().map(narrow));
        let Input { batch, length, columns, lengths, .. } = self.input();
        let (a, coefficients, initial, affine) = (&a, &coefficients, &initial, affine.as_deref());
        let input = Input { batch, length, columns, a, coefficients, initial, affine, lengths };
        let states = self.recurrence.forward(&input).unwrap();
        let gradients = self.recurrence.backward(&input, &states, &narrow::<T>(&self.weights)).unwrap();
        let gradients = Gradients {
            a: wide(&gradients.a),
            coefficients: wide(&gradients.coefficients),
            initial: wide(&gradients.initial),
            affine: gradients.affine.as_deref().map(wide),
        };
        (wide(&states), gradients)
    }
}
