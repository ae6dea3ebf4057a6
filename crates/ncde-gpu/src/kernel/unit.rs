//! Which unit or cube this is, and arrays in its registers.

use cubecl::prelude::*;

/// The number of this unit; one without work ends here.
#[cube]
pub(crate) fn unit_below(units: usize) -> usize {
    if ABSOLUTE_POS >= units {
        terminate!();
    }
    ABSOLUTE_POS
}

/// The number of this cube, counted along x, then y.
#[cube]
pub(crate) fn cube_number() -> usize {
    CUBE_POS_Y as usize * CUBE_COUNT_X as usize + CUBE_POS_X as usize
}

/// The number of this cube; one without work ends here.
#[cube]
pub(crate) fn cube_below(cubes: usize) -> usize {
    let cube = cube_number();
    if cube >= cubes {
        terminate!();
    }
    cube
}

/// So many zeros.
#[cube]
pub(crate) fn zeros(#[comptime] count: usize) -> Array<f32> {
    let mut x = Array::<f32>::new(count);
    fill(&mut x, f32::new(0.0), count);
    x
}

/// One value for the first numbers of an array.
#[cube]
pub(crate) fn fill<T: CubePrimitive>(x: &mut Array<T>, value: T, #[comptime] count: usize) {
    #[unroll]
    for i in 0..count {
        x[i] = value;
    }
}

/// The first numbers of an array to another.
#[cube]
pub(crate) fn copy<T: CubePrimitive>(from: &Array<T>, to: &mut Array<T>, #[comptime] count: usize) {
    #[unroll]
    for i in 0..count {
        to[i] = from[i];
    }
}

/// `b` numbers that lie side by side.
#[cube]
pub(crate) fn fetch(from: &Array<f32>, at: usize, to: &mut Array<f32>, #[comptime] b: usize) {
    #[unroll]
    for r in 0..b {
        to[r] = from[at + r];
    }
}

/// The way back.
#[cube]
pub(crate) fn put(from: &Array<f32>, to: &mut Array<f32>, at: usize, #[comptime] b: usize) {
    #[unroll]
    for r in 0..b {
        to[at + r] = from[r];
    }
}

/// `x + y` in the place of `x`.
#[cube]
pub(crate) fn add(x: &mut Array<f32>, y: &Array<f32>, #[comptime] count: usize) {
    #[unroll]
    for i in 0..count {
        x[i] += y[i];
    }
}

/// Numbers that lie `apart`.
#[cube]
pub(crate) fn fetch_apart(from: &Array<f32>, at: usize, apart: usize, to: &mut Array<f32>, #[comptime] count: usize) {
    #[unroll]
    for i in 0..count {
        to[i] = from[at + i * apart];
    }
}

/// The way back.
#[cube]
pub(crate) fn put_apart(from: &Array<f32>, to: &mut Array<f32>, at: usize, apart: usize, #[comptime] count: usize) {
    #[unroll]
    for i in 0..count {
        to[at + i * apart] = from[i];
    }
}

/// A number to its place, or added to what is there.
#[cube]
pub(crate) fn put_sum(value: f32, to: &mut Array<f32>, at: usize, adds: bool) {
    let mut sum = value;
    if adds {
        sum += to[at];
    }
    to[at] = sum;
}

/// Whether a step stands aside: it makes its output from the state that it would lead to, but the step behind it goes on from the state before it.
#[cube]
pub(crate) fn stands_aside(aside: &Array<u32>, row: usize, #[comptime] some: bool) -> bool {
    let mut flag = 0u32;
    if comptime!(some) {
        flag = aside[row];
    }
    flag != 0u32
}
