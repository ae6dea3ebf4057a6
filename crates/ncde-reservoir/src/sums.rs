//! Ridge regression from sums of products: for many rows of few features, each row read once and not stored.
//!
//! ```text
//! C = X^T X - n m m^T,   c = X^T Y - n m y^T,      w = S (S C S + lambda n I)^-1 S c,   b = y - m w          S = diag(scale), m and y means
//! sum |Y - X w - b|^2   over other rows, from their sums alone
//! ```
//!
//! A row with a weight counts as so many rows. Sums of parts of the rows can be added and subtracted, so that cross-validation does not read the rows again.

use ncde_simd::{Number, kernel};

use crate::matrix::{self, products};

/// Sums over rows of features and targets.
#[derive(Debug, Clone, PartialEq)]
pub struct Sums {
    features: usize,
    outputs: usize,
    rows: f64,
    /// The sum of each feature, then of each target.
    sums: Vec<f64>,
    /// The sums of the products of all pairs of these columns.
    products: Vec<f64>,
}

/// A linear readout.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// `[outputs, features]`.
    pub weight: Vec<f64>,
    /// `[outputs]`.
    pub bias: Vec<f64>,
}

impl Sums {
    /// The sums over no rows.
    pub fn new(features: usize, outputs: usize) -> Self {
        let width = features + outputs;
        Self { features, outputs, rows: 0.0, sums: vec![0.0; width], products: vec![0.0; width * width] }
    }

    /// Adds rows, `[rows, features + outputs]`, each with its weight.
    pub fn add(&mut self, rows: &[f32], weights: &[f64]) {
        let width = self.sums.len();
        let count = rows.len() / width.max(1);
        let mut columns = vec![0.0_f32; count * width];
        for (t, (row, weight)) in rows.chunks_exact(width.max(1)).zip(weights).enumerate() {
            let root = weight.sqrt();
            row.iter().enumerate().for_each(|(i, &x)| columns[i * count + t] = (root * f64::from(x)) as f32);
        }
        self.rows += weights.iter().sum::<f64>();
        for (i, sum) in self.sums.iter_mut().enumerate() {
            *sum += rows.iter().skip(i).step_by(width).zip(weights).map(|(&x, weight)| weight * f64::from(x)).sum::<f64>();
        }
        self.products.iter_mut().zip(products(&columns, width)).for_each(|(sum, product)| *sum += product);
    }

    /// The number of rows, with their weights.
    pub fn rows(&self) -> f64 {
        self.rows
    }

    /// The sums of the features with these indices, and of all targets.
    #[must_use]
    pub fn of(&self, features: &[usize]) -> Self {
        let columns: Vec<usize> = features.iter().copied().chain(self.features..self.sums.len()).collect();
        let row = |&i: &usize| columns.iter().map(move |&j| self.products[i * self.sums.len() + j]);
        Self {
            features: features.len(),
            outputs: self.outputs,
            rows: self.rows,
            sums: columns.iter().map(|&i| self.sums[i]).collect(),
            products: columns.iter().flat_map(row).collect(),
        }
    }

    /// The sums over these rows and those of `other`.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        self.with(other, 1.0)
    }

    /// The sums over these rows without those of `other`.
    #[must_use]
    pub fn minus(&self, other: &Self) -> Self {
        self.with(other, -1.0)
    }

    fn with(&self, other: &Self, sign: f64) -> Self {
        let joined = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a + sign * b).collect();
        Self {
            rows: self.rows + sign * other.rows,
            sums: joined(&self.sums, &other.sums),
            products: joined(&self.products, &other.products),
            ..*self
        }
    }

    fn mean(&self, i: usize) -> f64 {
        self.sums[i] / self.rows.max(1.0)
    }

    /// The covariance of two columns.
    fn covariance(&self, i: usize, j: usize) -> f64 {
        self.products[i * self.sums.len() + j] / self.rows.max(1.0) - self.mean(i) * self.mean(j)
    }

    /// The standard deviation of each feature; 0 for one that does not vary.
    pub fn deviations(&self) -> Vec<f64> {
        let deviation = |i: usize| {
            let (deviation, mean) = (self.covariance(i, i).max(0.0).sqrt(), self.mean(i).abs());
            if deviation > 1e-6 * (1e-3 + mean) { deviation } else { 0.0 }
        };
        (0..self.features).map(deviation).collect()
    }

    /// The mean of each feature.
    pub fn means(&self) -> Vec<f64> {
        (0..self.features).map(|i| self.mean(i)).collect()
    }

    /// The readout with a penalty, where features are multiplied by `scale` first; `None` if the matrix is singular to rounding.
    pub fn fit(&self, scale: &[f64], lambda: f64) -> Option<Line> {
        let (n, width) = (self.features, self.sums.len());
        let mut factor = vec![0.0; n * n];
        for i in 0..n {
            for j in 0..=i {
                factor[i * n + j] = scale[i] * scale[j] * self.covariance(i, j);
            }
            factor[i * n + i] += lambda;
        }
        if !matrix::factor(&mut factor, n) {
            return None;
        }
        let mut line = Line { weight: Vec::with_capacity(self.outputs * n), bias: Vec::with_capacity(self.outputs) };
        for o in n..width {
            let right: Vec<f64> = (0..n).map(|i| scale[i] * self.covariance(o, i)).collect();
            let mut weight = solve(&factor, right);
            weight.iter_mut().zip(scale).for_each(|(w, scale)| *w *= scale);
            line.bias.push(self.mean(o) - weight.iter().enumerate().map(|(i, w)| w * self.mean(i)).sum::<f64>());
            line.weight.extend(weight);
        }
        line.weight.iter().chain(&line.bias).all(|x| x.is_finite()).then_some(line)
    }

    /// For each output the sum of squared errors of a readout on these rows.
    pub fn errors(&self, line: &Line) -> Vec<f64> {
        let (n, width) = (self.features, self.sums.len());
        let error = |o: usize| {
            let (weight, bias) = (&line.weight[o * n..(o + 1) * n], line.bias[o]);
            let row = |i: usize| &self.products[i * width..i * width + n];
            let dot = |row: &[f64]| row.iter().zip(weight).map(|(x, w)| x * w).sum::<f64>();
            let square: f64 = weight.iter().enumerate().map(|(i, w)| w * dot(row(i))).sum();
            let linear = dot(row(n + o)) - bias * dot(&self.sums[..n]);
            let error = self.products[(n + o) * width + n + o] - 2.0 * linear + square - 2.0 * bias * self.sums[n + o];
            (error + self.rows * bias * bias).max(0.0)
        };
        (0..self.outputs).map(error).collect()
    }

    /// For each output the sum of squared deviations of the target from its mean.
    pub fn spread(&self) -> Vec<f64> {
        (self.features..self.sums.len()).map(|o| (self.rows * self.covariance(o, o)).max(0.0)).collect()
    }
}

kernel! {
    /// `L^-T L^-1 b`, `L` given row by row.
    dispatch fn solve<'a, S: Simd>(simd: S, factor: &'a [f64], b: Vec<f64>) -> Vec<f64> {
        let mut x = b;
        let n = x.len();
        let row = |i: usize| &factor[i * n..i * n + i + 1];
        for i in 0..n {
            x[i] = (x[i] - f64::dot(simd, &row(i)[..i], &x[..i])) / row(i)[i];
        }
        for i in (0..n).rev() {
            x[i] /= row(i)[i];
            let (before, rest) = x.split_at_mut(i);
            f64::axpy(simd, before, -rest[0], &row(i)[..i]);
        }
        x
    }
}
