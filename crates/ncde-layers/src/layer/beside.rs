//! Layers, with what they were given beside what they make of it; see [`ncde_runtime::layer::Beside`].

use std::ops::Range;

use burn_tensor::Tensor;
use ncde_runtime::layer::{Beside, Signal};

use super::standardise::unpadded_rows;
use super::{Batch, Context, Error, Fitting, LayerBackend, LayerWeights, Rows};
use crate::dense;

/// A coordinate this much smaller than the largest is rounding.
const NOISE: f64 = 1e-10;

#[derive(Debug)]
pub(super) struct BesideBatch {
    /// How many coordinates are handed on.
    coordinates: usize,
    /// Where the channels of the knot lie that are handed on.
    knot: Range<usize>,
}

impl BesideBatch {
    pub(super) fn new(spec: &Beside, input: &Signal) -> Result<Self, Error> {
        let (channels, start, ..) = input.windows("beside")?;
        let knot = spec.of_knot(channels);
        Ok(Self { coordinates: spec.coordinates, knot: start + knot.start..start + knot.end })
    }
}

impl<B: LayerBackend> Batch<B> for BesideBatch {
    fn forward(&self, rows: Rows<B>, weights: &LayerWeights<'_, B>, context: &Context<B>) -> Result<Rows<B>, Error> {
        let mut all = Vec::with_capacity(3);
        if self.coordinates > 0 {
            let window = rows.values.clone().narrow(2, 0, self.coordinates);
            all.push(dense::scale_columns(window, None, weights.weight("scale")?)?);
        }
        if !self.knot.is_empty() {
            all.push(rows.values.clone().narrow(2, self.knot.start, self.knot.len()));
        }
        let y = weights.inside(rows, context)?;
        all.insert(0, y.values.clone());
        Ok(y.with(Tensor::cat(all, 2)))
    }

    fn fitting(&self) -> Option<Box<dyn Fitting<B>>> {
        (self.coordinates > 0).then(|| Box::new(MeanSquares { count: 0.0, squares: vec![0.0; self.coordinates] }) as _)
    }
}

/// The mean square of each coordinate over all windows.
#[derive(Debug)]
struct MeanSquares {
    count: f64,
    squares: Vec<f64>,
}

impl<B: LayerBackend> Fitting<B> for MeanSquares {
    fn add(&mut self, rows: &Rows<B>) {
        // The first row of a series is no window; all its coordinates are 0.
        self.count -= rows.places.lengths.len() as f64;
        for row in unpadded_rows(rows) {
            self.count += 1.0;
            self.squares.iter_mut().zip(row).for_each(|(sum, x)| *sum += x * x);
        }
    }

    fn finish(&self) -> Vec<(&'static str, Vec<f32>)> {
        // Some coordinates vanish but for rounding, such as words of one letter in an expanded logarithm: these must not be blown up.
        let noise = NOISE * NOISE * self.squares.iter().copied().fold(0.0, f64::max);
        let factor = |&sum: &f64| if sum > noise { (self.count.max(1.0) / sum).sqrt() as f32 } else { 0.0 };
        vec![("scale", self.squares.iter().map(factor).collect())]
    }
}
