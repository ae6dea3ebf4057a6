//! `M_1 >= sup |s'|` and `M_2 >= sup |s'(x) - s'(y)| / |x - y|^(gamma-1)` of activations.
//!
//! | `s` | largest slope | range of slopes | largest second derivative |
//! | --- | --- | --- | --- |
//! | identity | 1 | 0 | 0 |
//! | silu | 1.0998 | 1.1997 | 0.5 |
//! | tanh | 1 | 1 | 4 / (3 sqrt 3) = 0.7698 |
//! | softplus - ln 2 | 1 | 1 | 0.25 |
//!
//! For `gamma < 2`, `|s'(x) - s'(y)|` is at most the range `osc` and at most `sup|s''| |x - y|`, hence at most
//! `osc^(2-gamma) (sup|s''| |x - y|)^(gamma-1)`. Bounds also need `|s(x)| <= |x|`, so softplus must be shifted.

use super::check_gamma;
use crate::Error;
use crate::field::Activation;

/// How smooth an activation is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Smoothness {
    /// `M_1`.
    pub slope: f64,
    /// `M_2`, for the `gamma` asked for.
    pub bend: f64,
}

impl Smoothness {
    /// The constants of an activation.
    ///
    /// ```
    /// use ncde_solve::{field::Activation, lip::Smoothness};
    /// let silu = Smoothness::of(Activation::Silu, 2.0)?;
    /// assert!((silu.slope - 1.0998).abs() < 1e-4 && silu.bend == 0.5);
    /// assert!(Smoothness::of(Activation::Relu, 2.0).is_err());
    /// # Ok::<(), ncde_solve::Error>(())
    /// ```
    ///
    /// # Errors
    /// For `Relu`, whose derivative jumps; for `Softplus`, which is not 0 at 0; if `gamma` is not in `(1, 2]`.
    pub fn of(activation: Activation, gamma: f64) -> Result<Self, Error> {
        check_gamma(gamma)?;
        // Each rounded up.
        let (slope, oscillation, second) = match activation {
            Activation::Identity => (1.0, 0.0, 0.0),
            Activation::Silu => (1.099_839_33, 1.199_678_65, 0.5),
            Activation::Tanh => (1.0, 1.0, 0.769_800_36),
            Activation::ShiftedSoftplus => (1.0, 1.0, 0.25),
            Activation::Relu => {
                let problem = "its derivative jumps at 0, so no gamma above 1 will do; use `silu`, `tanh` or `shifted-softplus`";
                return Err(Error::NoBound { activation: "relu", problem });
            }
            Activation::Softplus => {
                let problem = "it is ln 2 at 0, and the bound needs |s(x)| <= |x|; use `shifted-softplus`";
                return Err(Error::NoBound { activation: "softplus", problem });
            }
        };
        let bend = if gamma == 2.0 { second } else { f64::powf(oscillation, 2.0 - gamma) * f64::powf(second, gamma - 1.0) };
        Ok(Self { slope, bend })
    }
}
