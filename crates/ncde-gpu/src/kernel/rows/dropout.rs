//! `y_i = scale x_i` where number `i` of a stream is not below a threshold, else 0.
//!
//! ```text
//! bits(i) = m(key + (i + 1) 0x9e3779b97f4a7c15),   m the mixing function of splitmix64
//! ```
//!
//! The same 64 bits as on the processor, from products of 32: devices need not have longer ones.

use cubecl::prelude::*;

use crate::kernel::unit::unit_below;

/// The product of two numbers of 64 bits, each as its low and its high half, modulo `2^64`.
#[cube]
fn times(low: u32, high: u32, #[comptime] by: u64) -> (u32, u32) {
    let b = comptime!(by as u32).runtime();
    let c = comptime!((by >> 32) as u32).runtime();
    (low * b, u32::mul_hi(low, b) + low * c + high * b)
}

/// `x ^ (x >> by)`.
#[cube]
fn folded(low: u32, high: u32, #[comptime] by: u32) -> (u32, u32) {
    (low ^ ((low >> by) | (high << comptime!(32 - by))), high ^ (high >> by))
}

/// Whether number `i` stays; `key` and `threshold` as low and high half, the latter of 53 bits.
#[cube]
fn stays(i: usize, key_low: u32, key_high: u32, threshold_low: u32, threshold_high: u32) -> bool {
    let (low, high) = times(u32::cast_from(i) + 1, 0u32.runtime(), comptime!(0x9e37_79b9_7f4a_7c15u64));
    let sum = low + key_low;
    let mut carry = 0u32.runtime();
    if sum < low {
        carry = 1u32.runtime();
    }
    let (low, high) = folded(sum, high + key_high + carry, 30u32);
    let (low, high) = times(low, high, comptime!(0xbf58_476d_1ce4_e5b9u64));
    let (low, high) = folded(low, high, 27u32);
    let (low, high) = times(low, high, comptime!(0x94d0_49bb_1331_11ebu64));
    let (low, high) = folded(low, high, 31u32);
    // The upper 53 bits.
    let low53 = (low >> 11u32) | (high << 21u32);
    let high53 = high >> 11u32;
    high53 > threshold_high || (high53 == threshold_high && low53 >= threshold_low)
}

/// Units: one for each number.
#[cube(launch_unchecked)]
pub(crate) fn dropout(
    x: &Array<f32>,
    y: &mut Array<f32>,
    key_low: u32,
    key_high: u32,
    threshold_low: u32,
    threshold_high: u32,
    scale: f32,
    units: usize,
) {
    let unit = unit_below(units);
    let mut value = f32::new(0.0);
    if stays(unit, key_low, key_high, threshold_low, threshold_high) {
        value = x[unit] * scale;
    }
    y[unit] = value;
}
