//! `factor x`, number by number.

use cubecl::prelude::*;

/// Units: one for each `N` numbers.
#[cube(launch_unchecked)]
pub(crate) fn scale<N: Size>(x: &Array<Vector<f32, N>>, out: &mut Array<Vector<f32, N>>, factor: f32, units: usize) {
    if ABSOLUTE_POS < units {
        out[ABSOLUTE_POS] = x[ABSOLUTE_POS] * Vector::new(factor);
    }
}
