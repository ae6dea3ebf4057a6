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

/// Mean and squared distances from it, by column (Welford's update, which does not cancel).
#[derive(Debug, Default)]
struct Moments {
    count: f64,
    mean: Vec<f64>,
    squares: Vec<f64>,
}

impl<B: LayerBackend> Fitting<B> for Moments {
    fn add(&mut self, rows: &Rows<B>) {
        let width = rows.values.dims()[2];
        self.mean.resize(width, 0.0);
        self.squares.resize(width, 0.0);
        for row in own_rows(rows) {
            self.count += 1.0;
            for ((mean, squares), x) in self.mean.iter_mut().zip(&mut self.squares).zip(row) {
                let step = x - *mean;
                *mean += step / self.count;
                *squares += step * (x - *mean);
            }
        }
    }

    fn finish(&self) -> Vec<(&'static str, Vec<f32>)> {
        let factor = |(&mean, &squares): (&f64, &f64)| {
            let deviation = (squares / self.count.max(1.0)).sqrt();
            // A feature that does not vary says nothing.
            if deviation > 1e-7 * mean.abs().max(1e-12) { (1.0 / deviation) as f32 } else { 0.0 }
        };
        let factors = self.mean.iter().zip(&self.squares).map(factor).collect();
        vec![("shift", self.mean.iter().map(|&x| x as f32).collect()), ("factor", factors)]
    }
}

/// The rows of the trunk of each series, padding aside.
pub(super) fn own_rows<B: LayerBackend>(rows: &Rows<B>) -> Vec<Vec<f64>> {
    let [_, count, width] = rows.values.dims();
    let values: Vec<f64> = rows.values.to_data().iter().collect();
    let of = |(b, &length): (usize, &usize)| {
        (0..length).map(|t| values[(b * count + t) * width..][..width].to_vec()).collect::<Vec<_>>()
    };
    rows.places.lengths.iter().enumerate().flat_map(of).collect()
}
