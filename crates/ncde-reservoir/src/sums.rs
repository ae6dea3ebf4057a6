//! Ridge regression from sums of products: for many rows of a few features, seen once and not kept.
//!
//! ```text
//! C = X^T X - n m m^T,   c = X^T Y - n m y^T,      w = S (S C S + lambda n I)^-1 S c,   b = y - m w          S = diag(scale), m and y means
//! sum |Y - X w - b|^2   of other rows, from their sums alone
//! ```
//!
//! Sums of parts of the rows are added and taken away, so that a fit without a part, and its error on that part, cost no look at the rows.

use ncde_simd::{Kernel, Number, Simd, dispatch};

use crate::ridge::{Factor, products};

/// Sums over rows of features and targets.
#[derive(Debug, Clone, PartialEq)]
pub struct Sums {
    features: usize,
    outputs: usize,
    rows: f64,
    /// Of each feature, then of each target.
    sums: Vec<f64>,
    /// Of all pairs of them.
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
    /// Of no rows.
    pub fn new(features: usize, outputs: usize) -> Self {
        let width = features + outputs;
        Self { features, outputs, rows: 0.0, sums: vec![0.0; width], products: vec![0.0; width * width] }
    }

    /// Adds rows, `[rows, features + outputs]`.
    pub fn add(&mut self, rows: &[f32]) {
        let width = self.sums.len();
        let count = rows.len() / width.max(1);
        let mut columns = vec![0.0_f32; count * width];
        for (t, row) in rows.chunks_exact(width.max(1)).enumerate() {
            row.iter().enumerate().for_each(|(i, &x)| columns[i * count + t] = x);
        }
        self.rows += count as f64;
        for (sum, column) in self.sums.iter_mut().zip(columns.chunks_exact(count.max(1))) {
            *sum += column.iter().map(|&x| f64::from(x)).sum::<f64>();
        }
        self.products.iter_mut().zip(products(&columns, width)).for_each(|(sum, own)| *sum += own);
    }

    /// How many rows there are.
    pub fn rows(&self) -> f64 {
        self.rows
    }

    /// Of some features alone, by their places, and of all targets.
    #[must_use]
    pub fn of(&self, kept: &[usize]) -> Self {
        let places: Vec<usize> = kept.iter().copied().chain(self.features..self.sums.len()).collect();
        let row = |&i: &usize| places.iter().map(move |&j| self.products[i * self.sums.len() + j]);
        Self {
            features: kept.len(),
            outputs: self.outputs,
            rows: self.rows,
            sums: places.iter().map(|&i| self.sums[i]).collect(),
            products: places.iter().flat_map(row).collect(),
        }
    }

    /// With those of another part.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        self.with(other, 1.0)
    }

    /// Without those of a part.
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

    /// The mean product of two columns about their means.
    fn covariance(&self, i: usize, j: usize) -> f64 {
        self.products[i * self.sums.len() + j] / self.rows.max(1.0) - self.mean(i) * self.mean(j)
    }

    /// The deviation of each feature; 0 of one that does not vary.
    pub fn deviations(&self) -> Vec<f64> {
        let deviation = |i: usize| {
            let (deviation, mean) = (self.covariance(i, i).max(0.0).sqrt(), self.mean(i).abs());
            if deviation > 1e-6 * (1e-3 + mean) { deviation } else { 0.0 }
        };
        (0..self.features).map(deviation).collect()
    }

    /// The means of features.
    pub fn means(&self) -> Vec<f64> {
        (0..self.features).map(|i| self.mean(i)).collect()
    }

    /// The readout under a penalty, features multiplied with `scale` first; none if the matrix is singular to rounding.
    pub fn fit(&self, scale: &[f64], lambda: f64) -> Option<Line> {
        let (n, width) = (self.features, self.sums.len());
        let mut factor = vec![0.0; n * n];
        for i in 0..n {
            for j in 0..=i {
                factor[i * n + j] = scale[i] * scale[j] * self.covariance(i, j);
            }
            factor[i * n + i] += lambda;
        }
        if !dispatch(Factor { a: &mut factor, n }) {
            return None;
        }
        let mut own = Line { weight: Vec::with_capacity(self.outputs * n), bias: Vec::with_capacity(self.outputs) };
        for o in n..width {
            let right: Vec<f64> = (0..n).map(|i| scale[i] * self.covariance(o, i)).collect();
            let mut weight = dispatch(Solve { factor: &factor, right });
            weight.iter_mut().zip(scale).for_each(|(w, scale)| *w *= scale);
            own.bias.push(self.mean(o) - weight.iter().enumerate().map(|(i, w)| w * self.mean(i)).sum::<f64>());
            own.weight.extend(weight);
        }
        own.weight.iter().chain(&own.bias).all(|x| x.is_finite()).then_some(own)
    }

    /// The sum of the squared errors of a readout on these rows, for each output.
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

    /// The sum of the squares of the targets about their means, for each output.
    pub fn spread(&self) -> Vec<f64> {
        (self.features..self.sums.len()).map(|o| (self.rows * self.covariance(o, o)).max(0.0)).collect()
    }
}

/// `L^-T L^-1 b`, `L` given row by row.
struct Solve<'a> {
    factor: &'a [f64],
    right: Vec<f64>,
}

impl Kernel for Solve<'_> {
    type Output = Vec<f64>;
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> Vec<f64> {
        let mut x = self.right;
        let n = x.len();
        let row = |i: usize| &self.factor[i * n..i * n + i + 1];
        for i in 0..n {
            x[i] = (x[i] - f64::dot(simd, &row(i)[..i], &x[..i])) / row(i)[i];
        }
        for i in (0..n).rev() {
            x[i] /= row(i)[i];
            let (before, own) = x.split_at_mut(i);
            f64::axpy(simd, before, -own[0], &row(i)[..i]);
        }
        x
    }
}
