//! Features of mean 0 and variance 1 over the training data; see [`ncde_runtime::layer::Standardise`].

use super::{Batch, Context, Error, Fitting, LayerBackend, LayerWeights, Rows};
use crate::dense;

#[derive(Debug)]
pub(super) struct StandardiseBatch;

impl<B: LayerBackend> Batch<B> for StandardiseBatch {
    fn forward(&self, rows: Rows<B>, weights: &LayerWeights<'_, B>, _: &Context<B>) -> Result<Rows<B>, Error> {
        let y = dense::scale_columns(rows.values.clone(), Some(weights.weight("shift")?), weights.weight("factor")?)?;
        Ok(rows.with(y))
    }

    fn fitting(&self) -> Option<Box<dyn Fitting<B>>> {
        Some(Box::<Moments>::default())
    }
}

/// A deviation below this share of the largest magnitude of any feature is rounding: the bracket of two channels that are
/// equal, such as the counts of channels that are missing together, is 0 but for that.
const ROUNDING: f64 = 1e-15;

/// Mean and squared distances from it, by column (Welford's update, which does not cancel).
#[derive(Debug, Default)]
struct Moments {
    count: f64,
    mean: Vec<f64>,
    squares: Vec<f64>,
    /// The largest magnitude of any feature.
    largest: f64,
}

impl Moments {
    fn push(&mut self, row: &[f64]) {
        self.mean.resize(row.len(), 0.0);
        self.squares.resize(row.len(), 0.0);
        self.count += 1.0;
        for ((mean, squares), x) in self.mean.iter_mut().zip(&mut self.squares).zip(row) {
            let step = x - *mean;
            *mean += step / self.count;
            *squares += step * (x - *mean);
            self.largest = self.largest.max(x.abs());
        }
    }

    fn factors(&self) -> Vec<f32> {
        let factor = |(&mean, &squares): (&f64, &f64)| {
            let deviation = (squares / self.count.max(1.0)).sqrt();
            // A feature that does not vary says nothing.
            let varies = deviation > 1e-7 * mean.abs().max(1e-12) && deviation > ROUNDING * self.largest;
            if varies { (1.0 / deviation) as f32 } else { 0.0 }
        };
        self.mean.iter().zip(&self.squares).map(factor).collect()
    }
}

impl<B: LayerBackend> Fitting<B> for Moments {
    fn add(&mut self, rows: &Rows<B>) {
        unpadded_rows(rows).iter().for_each(|row| self.push(row));
    }

    fn finish(&self) -> Vec<(&'static str, Vec<f32>)> {
        vec![("shift", self.mean.iter().map(|&x| x as f32).collect()), ("factor", self.factors())]
    }
}

/// The rows of the trunk of each series, padding aside.
pub(super) fn unpadded_rows<B: LayerBackend>(rows: &Rows<B>) -> Vec<Vec<f64>> {
    let [_, count, width] = rows.values.dims();
    let values: Vec<f64> = rows.values.to_data().iter().collect();
    let series = |(b, &length): (usize, &usize)| {
        (0..length).map(|t| values[(b * count + t) * width..][..width].to_vec()).collect::<Vec<_>>()
    };
    rows.places.lengths.iter().enumerate().flat_map(series).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_is_no_variation() {
        let mut moments = Moments::default();
        for i in 0..100 {
            let x = f64::from(i % 7) - 3.0;
            // A feature, its bracket with its copy (0 but for rounding), a constant, a small one that does vary.
            moments.push(&[x, x * 1e-17, 4.0, x * 1e-9]);
        }
        let factors = moments.factors();
        assert_eq!([factors[1], factors[2]], [0.0, 0.0], "{factors:?}");
        assert!((factors[0] - 0.5).abs() < 0.02 && (factors[3] * 1e-9 - factors[0]).abs() < 1e-3, "{factors:?}");
    }
}
