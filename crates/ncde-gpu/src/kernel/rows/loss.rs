//! The loss of classes, and its gradient.
//!
//! ```text
//! p = softmax(z),   loss = -share sum_k w_k ln(p_k + e),   dz_j = -share (w_j q_j - p_j sum_k w_k q_k),   q_k = p_k / (p_k + e)
//! ```

use cubecl::prelude::*;

/// Units: one for each row.
#[cube(launch_unchecked)]
pub(crate) fn classes(
    z: &Array<f32>,
    weights: &Array<f32>,
    losses: &mut Array<f32>,
    gradient: &mut Array<f32>,
    width: usize,
    floor: f32,
    share: f32,
    units: usize,
) {
    let unit = ABSOLUTE_POS;
    if unit >= units {
        terminate!();
    }
    let first = unit * width;
    let mut most = z[first];
    for k in 1..width {
        most = max(most, z[first + k]);
    }
    let mut sum = f32::new(0.0);
    for k in 0..width {
        sum += f32::exp(z[first + k] - most);
    }
    let mut loss = f32::new(0.0);
    let mut along = f32::new(0.0);
    for k in 0..width {
        let p = f32::exp(z[first + k] - most) / sum;
        loss -= weights[first + k] * f32::ln(p + floor);
        along += weights[first + k] * p / (p + floor);
    }
    for k in 0..width {
        let p = f32::exp(z[first + k] - most) / sum;
        gradient[first + k] = share * (p * along - weights[first + k] * p / (p + floor));
    }
    losses[unit] = share * loss;
}
