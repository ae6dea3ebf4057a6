//! `x -> (H_n / sqrt n) x` in shared memory, Sylvester's order: two levels of butterflies at a time, so that units wait half as often.

use cubecl::prelude::*;

/// In place, without the factor `1 / sqrt n`. What other units have written to `x` is waited for, and what they compute as well.
#[cube]
pub(super) fn transform(x: &mut SharedMemory<f32>, #[comptime] hidden: usize, #[comptime] units: usize) {
    let unit = UNIT_POS as usize;
    #[unroll]
    for level in 0..comptime!(hidden.ilog2() as usize / 2) {
        let near = comptime!(1usize << (2 * level));
        sync_cube();
        #[unroll]
        for i in 0..comptime!((hidden / 4).div_ceil(units)) {
            let four = unit + comptime!(i * units);
            if four < comptime!(hidden / 4) {
                let at = four / near * comptime!(4 * near) + four % near;
                let (a, b) = (x[at], x[at + near]);
                let (c, d) = (x[at + comptime!(2 * near)], x[at + comptime!(3 * near)]);
                x[at] = (a + b) + (c + d);
                x[at + near] = (a - b) + (c - d);
                x[at + comptime!(2 * near)] = (a + b) - (c + d);
                x[at + comptime!(3 * near)] = (a - b) - (c - d);
            }
        }
    }
    sync_cube();
    if comptime!(hidden.ilog2() % 2 == 1) {
        #[unroll]
        for i in 0..comptime!((hidden / 2).div_ceil(units)) {
            let two = unit + comptime!(i * units);
            if two < comptime!(hidden / 2) {
                let (a, b) = (x[two], x[two + comptime!(hidden / 2)]);
                x[two] = a + b;
                x[two + comptime!(hidden / 2)] = a - b;
            }
        }
        sync_cube();
    }
}
