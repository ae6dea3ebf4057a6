//! The loss of classes, and its gradient.
//!
//! ```text
//! p = softmax(z),   loss = -share w ln(p_y + e),   dz_j = share w q (p_j - [j = y]),   q = p_y / (p_y + e)
//! ```

use cubecl::prelude::*;

use crate::kernel::unit::unit_below;

/// Units: one for each row. Without a floor `e` the logarithm is `z_y - ln sum exp z`: a small probability is not rounded to 0 on the way.
#[cube(launch_unchecked)]
pub(crate) fn classes(
    z: &Array<f32>,
    labels: &Array<f32>,
    weights: &Array<f32>,
    losses: &mut Array<f32>,
    gradient: &mut Array<f32>,
    width: usize,
    floor: f32,
    share: f32,
    units: usize,
) {
    let unit = unit_below(units);
    let first = unit * width;
    let mut most = z[first];
    for k in 1..width {
        most = max(most, z[first + k]);
    }
    let mut sum = f32::new(0.0);
    for k in 0..width {
        sum += f32::exp(z[first + k] - most);
    }
    let given = labels[unit];
    let label = usize::cast_from(max(given, 0.0));
    // No number is 0 / 0; a literal would be folded away by some compilers.
    let mut weight = (given - given) / (given - given);
    let mut score = f32::new(0.0);
    if given >= 0.0 && label < width && f32::cast_from(label) == given {
        weight = weights[unit];
        score = z[first + label] - most;
    }
    let p = f32::exp(score) / sum;
    let mut ln = score - f32::ln(sum);
    let mut along = weight;
    if floor > 0.0 {
        ln = f32::ln(p + floor);
        along = weight * p / (p + floor);
    }
    for k in 0..width {
        let p = f32::exp(z[first + k] - most) / sum;
        let right = f32::cast_from(k == label);
        gradient[first + k] = share * (p * along - right * along);
    }
    losses[unit] = -share * weight * ln;
}
