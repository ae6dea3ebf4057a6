//! Ordinary least squares with a constant, by reflections (Householder 1958): no products of features with each other, which would square their condition.
//!
//! ```text
//! min |X w + c - y|^2,   H_p ... H_1 (1, X, y) = (R, Q^T y),   R w = Q^T y
//! ```

/// A linear readout.
#[derive(Debug, Clone, PartialEq)]
pub struct LeastSquares {
    /// The constant, then a weight for each feature.
    weights: Vec<f64>,
}

/// A pivot smaller than this, relative to the largest, is rounding: its feature is left out.
const SMALL: f64 = 1e-12;

impl LeastSquares {
    /// Fits `y`, a number for each row of `x`, `[rows, features]`.
    ///
    /// ```
    /// use ncde_experiment::series::LeastSquares;
    /// // y = 1 + 2 a - b.
    /// let x = [0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 2.0, 5.0_f32];
    /// let fitted = LeastSquares::fit(&x, 2, &[1.0, 3.0, 0.0, 0.0]);
    /// assert!((fitted.predict(&[10.0, 1.0]) - 20.0).abs() < 1e-12);
    /// ```
    pub fn fit(x: &[f32], features: usize, y: &[f64]) -> Self {
        let (rows, columns) = (y.len(), features + 1);
        // Column by column, the right-hand side last.
        let mut a = vec![1.0; rows];
        for j in 0..features {
            a.extend(x.chunks_exact(features).map(|row| f64::from(row[j])));
        }
        a.extend(y);
        let mut diagonal = vec![0.0; columns];
        let mut largest = 0.0_f64;
        for k in 0..columns.min(rows) {
            let (own, others) = a[k * rows..].split_at_mut(rows);
            let v = &mut own[k..];
            let norm = v.iter().map(|x| x * x).sum::<f64>().sqrt();
            largest = largest.max(norm);
            if norm <= SMALL * largest {
                continue;
            }
            // R_kk = -sign(v_0) |v|, and v becomes the reflection's vector.
            let pivot = if v[0] > 0.0 { -norm } else { norm };
            v[0] -= pivot;
            diagonal[k] = pivot;
            let half = -1.0 / (pivot * v[0]);
            for other in others.chunks_exact_mut(rows) {
                let dot: f64 = v.iter().zip(&other[k..]).map(|(v, x)| v * x).sum();
                other[k..].iter_mut().zip(&*v).for_each(|(x, v)| *x -= half * dot * v);
            }
        }
        let mut weights = vec![0.0; columns];
        for k in (0..columns.min(rows)).rev().filter(|&k| diagonal[k] != 0.0) {
            let known: f64 = (k + 1..columns).map(|j| a[j * rows + k] * weights[j]).sum();
            weights[k] = (a[columns * rows + k] - known) / diagonal[k];
        }
        Self { weights }
    }

    /// What it says of a row of features.
    pub fn predict(&self, row: &[f32]) -> f64 {
        self.weights[0] + self.weights[1..].iter().zip(row).map(|(w, &x)| w * f64::from(x)).sum::<f64>()
    }
}
