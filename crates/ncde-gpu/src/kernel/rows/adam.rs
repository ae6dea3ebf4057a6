//! One update of a weight.
//!
//! ```text
//! m <- b1 m + (1 - b1) g,   v <- b2 v + (1 - b2) g^2,   w <- keep w - rate (c1 m) / (sqrt(c2 v) + e)
//! ```

use cubecl::prelude::*;

/// The constants of an update.
#[derive(CubeType, CubeLaunch, Clone, Copy)]
pub(crate) struct Constants {
    pub(crate) beta_one: f32,
    pub(crate) beta_two: f32,
    /// The learning rate, with the correction of the first mean.
    pub(crate) rate: f32,
    /// The correction of the second.
    pub(crate) correction: f32,
    /// What decay leaves of a weight.
    pub(crate) keep: f32,
    pub(crate) epsilon: f32,
}

/// Where weights begin in the new buffers: at multiples of so many numbers, as devices want parts of buffers to.
pub(crate) const ALIGNED: usize = 64;

/// Several weights at once, to one buffer: all weights one after the other, then all means, then all squares. The first number of `limit` is what gradients are multiplied with; below 0 everything stays as it is.
///
/// Cubes: in x as many as the largest weight needs, in y one for each weight.
#[cube(launch_unchecked)]
pub(crate) fn update(
    weights: &Sequence<Array<f32>>,
    means: &Sequence<Array<f32>>,
    squares: &Sequence<Array<f32>>,
    gradients: &Sequence<Array<f32>>,
    limit: &Array<f32>,
    out: &mut Array<f32>,
    all: usize,
    with: &Constants,
    #[comptime] count: usize,
) {
    let which = CUBE_POS_Y as usize;
    let unit = ABSOLUTE_POS_X as usize;
    let mut first = 0usize.runtime();
    #[unroll]
    for i in 0..count {
        let gradient = gradients.index(i);
        let numbers = gradient.len();
        if which == i && unit < numbers {
            let factor = limit[0];
            let mut m = means.index(i)[unit];
            let mut v = squares.index(i)[unit];
            let mut w = weights.index(i)[unit];
            if factor >= 0.0 {
                let g = gradient[unit] * factor;
                m = with.beta_one * m + (1.0 - with.beta_one) * g;
                v = with.beta_two * v + (1.0 - with.beta_two) * g * g;
                w = with.keep * w - with.rate * m / (f32::sqrt(with.correction * v) + with.epsilon);
            }
            out[first + unit] = w;
            out[all + first + unit] = m;
            out[2 * all + first + unit] = v;
        }
        first += (numbers + comptime!(ALIGNED - 1)) / ALIGNED * ALIGNED;
    }
}
