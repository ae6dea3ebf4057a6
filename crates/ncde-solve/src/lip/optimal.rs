//! How good the composition bound is: functions on two points that nearly reach it.
//!
//! `f` on `{0, a}` with values 0, 1 and `g` on `{0, 1}` with values -1, 1; slopes `c` and 1. With `c = 1 / (a + a^gamma) >= 1`,
//!
//! ```text
//! |f| = 1 / (a + a^gamma),   |g| = 1,   |g o f| = 1 / (a + a^gamma) + a^(-gamma),   |g o f| / |f|^gamma -> 1  as a -> 0,
//! ```
//!
//! so no power of `|f|` below `gamma` will do. At `a + a^gamma = 1` both norms are 1 and `|g o f| = 1 + a^(-gamma)`: the constant
//! `C_gamma` lies between that and `1 + 2^gamma`, and both tend to 3 as `gamma -> 1`. (Thesis, section on optimality.)

use super::check_gamma;
use crate::Error;

/// Norms of two functions and of their composition.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Example {
    /// `|f|`.
    pub inner: f64,
    /// `|g|`.
    pub outer: f64,
    /// `|g o f|`.
    pub composed: f64,
}

/// The example for a distance `a` in `(0, 1)`.
///
/// ```
/// let example = ncde_solve::lip::optimal::example(0.5, 2.0)?;
/// assert_eq!((example.inner, example.outer), (1.0 / 0.75, 1.0));
/// assert!((example.composed - (1.0 / 0.75 + 4.0)).abs() < 1e-12);
/// # Ok::<(), ncde_solve::Error>(())
/// ```
///
/// # Errors
/// If `a` is not in `(0, 1)` or `gamma` is not in `(1, 2]`.
pub fn example(a: f64, gamma: f64) -> Result<Example, Error> {
    check_gamma(gamma)?;
    if !(a > 0.0 && a < 1.0) {
        return Err(Error::BadParameter { what: "the distance `a`", wanted: "between 0 and 1", seen: a.to_string() });
    }
    let power = a.powf(gamma);
    // The slope that makes |f| smallest, and what is left of 1 and of 2 after it: written so that nothing cancels.
    let (slope, rest) = if a + power <= 1.0 { (1.0 / (a + power), power / (a + power)) } else { (1.0, 1.0 - a) };
    let inner = slope.max(rest / power);
    Ok(Example { inner, outer: 1.0, composed: inner.max((1.0 + rest) / power) })
}

/// `1 + a^(-gamma)` where `a + a^gamma = 1`: no constant of the composition bound is smaller.
///
/// ```
/// let golden = ncde_solve::lip::optimal::smallest_constant(2.0)?; // a = 0.618...
/// assert!((golden - 3.618_033_988_7).abs() < 1e-9);
/// # Ok::<(), ncde_solve::Error>(())
/// ```
///
/// # Errors
/// If `gamma` is not in `(1, 2]`.
pub fn smallest_constant(gamma: f64) -> Result<f64, Error> {
    check_gamma(gamma)?;
    // a + a^gamma increases: cut the interval in two as often as a number has digits.
    let (mut low, mut high) = (0.5, 1.0);
    for _ in 0..60 {
        let a: f64 = 0.5 * (low + high);
        if a + a.powf(gamma) < 1.0 { low = a } else { high = a }
    }
    Ok(1.0 + low.powf(-gamma))
}
