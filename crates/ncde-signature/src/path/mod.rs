//! From observations to a control path: `X: [t_0, t_n] -> R^d` with `X(t_i) = x_i`.
//!
//! A [`Series`] holds what was observed, gaps included. Filling its gaps causally gives an [`Observed`]
//! series, and an interpolation of that is a [`Path`]:
//!
//! | path | between observations | causality |
//! |---|---|---|
//! | [`Rectilinear::new`] | holds, then jumps | [`Causal`] |
//! | [`Linear::new`] | straight | [`AtObservations`] |
//! | [`Cubic::hermite`] | cubic, backward differences | [`AtObservations`] |
//! | [`Linear::across_gaps`], [`Cubic::hermite_across_gaps`] | the same, each channel through its own observations | [`Acausal`] |
//! | [`Cubic::natural`] | smoothest cubic spline | [`Acausal`] |
//!
//! Times are `f64`, whatever the type of the values.
//!
//! ```
//! use ncde_signature::path::{Path, Rectilinear, Series, Start, TimeChannel};
//!
//! let series = Series::with_missing(vec![0.0, 1.0, 3.0], vec![5.0, f64::NAN, 7.0], 1)?;
//! let observed = series.with_time()?.fill_forward(&Start::Required)?;
//! let path = Rectilinear::new(&observed, TimeChannel::First)?;
//! let mut x = [0.0; 2];
//! path.evaluate(2.0, &mut x)?;
//! assert_eq!(x, [2.0, 5.0]);
//! # Ok::<(), ncde_signature::Error>(())
//! ```

mod augment;
mod causality;
mod cubic;
mod gaps;
mod grid;
mod hermite;
mod linear;
mod natural;
mod rectilinear;
mod series;
mod variation;
mod windows;

pub use causality::{Acausal, AtObservations, Causal, Causality};
pub use cubic::Cubic;
pub use gaps::{Observed, Start};
pub use linear::Linear;
pub use rectilinear::{Rectilinear, TimeChannel};
pub use series::Series;
pub use variation::{optimal_partition, p_variation};
pub use windows::Windows;

use crate::{Error, Float};

/// A path on a closed interval of time, known through its values.
///
/// Every `out` has one entry per channel.
pub trait Path<T: Float> {
    /// How much of the future the values depend on.
    type Causality: Causality;

    /// The number of channels `d`.
    fn channels(&self) -> usize;

    /// The observation times `t_0 < ... < t_n`, between which the path is smooth. There are at least two.
    fn knots(&self) -> &[f64];

    /// The interval `[t_0, t_n]` on which the path is defined.
    fn domain(&self) -> (f64, f64) {
        let knots = self.knots();
        (knots[0], knots[knots.len() - 1])
    }

    /// Writes `X_t` to `out`. Where the path jumps, this is the value after the jump.
    ///
    /// # Errors
    /// [`Error::OutsideDomain`], or [`Error::Size`] if `out` has not one entry per channel.
    fn evaluate(&self, t: f64, out: &mut [T]) -> Result<(), Error>;

    /// Writes `dX/dt` at `t` to `out`: from the right, and at the end of the domain from the left.
    ///
    /// A jump has no derivative: a path that jumps is driven by its [`increment`](Path::increment)s or
    /// its [`polyline`](Path::polyline), not by this.
    ///
    /// # Errors
    /// As for [`evaluate`](Path::evaluate).
    fn derivative(&self, t: f64, out: &mut [T]) -> Result<(), Error>;

    /// Writes `X_t - X_s` to `out`, for `s <= t`. A jump at `t` belongs to it, a jump at `s` does not.
    ///
    /// # Errors
    /// As for [`evaluate`](Path::evaluate), and [`Error::Reversed`] if `t < s`.
    fn increment(&self, s: f64, t: f64, out: &mut [T]) -> Result<(), Error>;

    /// Replaces `vertices` by those, `[vertex, channel]`, of the piecewise linear path whose signature
    /// stands for that of the path on `[s, t]`.
    ///
    /// The first vertex is `X_s` and the last is `X_t`; there are always two or more, and the same one
    /// twice if nothing moves. A path with straight pieces is its own polyline. A curved one is cut at `s`, at
    /// `t`, and at the points that cut each knot interval into `refinement` equal pieces, so that polylines on
    /// neighbouring intervals with ends at knots join up to the polyline on their union.
    ///
    /// # Errors
    /// [`Error::OutsideDomain`], [`Error::Reversed`] if `t < s`, or [`Error::BadParameter`] if
    /// `refinement` is 0.
    fn polyline(&self, s: f64, t: f64, refinement: usize, vertices: &mut Vec<T>) -> Result<(), Error>;
}
