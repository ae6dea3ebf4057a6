//! Vector fields `f = (f_1, ..., f_d)` of `dh = sum_j f_j(h) dX^j`.
//!
//! A field is written once, over the numbers of [`crate::scalar`]; its derivatives, brackets and gradients follow. It does not see time:
//! time is a channel of the control, or a coordinate of the state.
//!
//! | field | `f_j(h)` | parameters |
//! | --- | --- | --- |
//! | [`Network`] | block `j` of a fully connected network's output | weights and biases, layer by layer |
//! | [`Linear`] | `A^j h` | the matrices, one after the other |
//! | yours | implement [`VectorField`] | any |
//!
//! [`Reversible`] is for fields with a reverse pass of their own, which needs no tape: [`Network`] has one.

mod activation;
mod linear;
mod network;
mod reverse;

pub use activation::activate;
pub use linear::Linear;
pub use ncde_kernels::neural::Activation;
pub use network::{Layer, Network};

use std::ops::Range;

use crate::scalar::{Jet, Scalar};

/// `d` vector fields on `R^H`.
///
/// ```
/// use ncde_solve::brackets;
/// use ncde_solve::field::VectorField;
/// use ncde_solve::scalar::Scalar;
///
/// /// `f_1 = (1, 0)`, `f_2 = (0, c x)`: the bracket `[f_1, f_2]` is `(0, c)`.
/// struct Shear;
/// impl VectorField for Shear {
///     fn channels(&self) -> usize { 2 }
///     fn hidden(&self) -> usize { 2 }
///     fn parameters(&self) -> usize { 1 }
///     fn eval<N: Scalar>(&self, c: &[N], h: &[N], out: &mut [N]) {
///         out.copy_from_slice(&[N::of(1.0), N::zero(), N::zero(), c[0] * h[0]]);
///     }
/// }
/// let mut out = [0.0; 2];
/// // Coefficients of the words 1, 2, 11, 12, 21, 22: the Lie element [e_1, e_2].
/// brackets::contract(&Shear, &[3.0], 2, &[0.0, 0.0, 0.0, 1.0, -1.0, 0.0], &[0.5, 0.0], &mut out)?;
/// assert_eq!(out, [0.0, 3.0]);
/// # Ok::<(), ncde_solve::Error>(())
/// ```
pub trait VectorField {
    /// `d`, the number of channels of the control.
    fn channels(&self) -> usize;

    /// `H`, the dimension of the state.
    fn hidden(&self) -> usize;

    /// The number of parameters.
    fn parameters(&self) -> usize;

    /// Writes `f(h)` to `out`.
    ///
    /// # Shapes
    /// `parameters`: as many as [`parameters`](VectorField::parameters); `h`: `[H]`; `out`: `[d, H]`, one row for each channel.
    fn eval<N: Scalar>(&self, parameters: &[N], h: &[N], out: &mut [N]);

    /// Writes `f_j(h)` alone to `out`, `[H]`; `j` counts from 0. Worth writing where one channel is cheaper than all.
    fn eval_channel<N: Scalar>(&self, j: usize, parameters: &[N], h: &[N], out: &mut [N]) {
        let hidden = self.hidden();
        let mut all = vec![N::zero(); self.channels() * hidden];
        self.eval(parameters, h, &mut all);
        out.copy_from_slice(&all[j * hidden..(j + 1) * hidden]);
    }
}

/// A field whose parameters stay what they are while states carry derivatives, with a hand-written reverse pass.
///
/// The gradients are those of [`crate::scalar::Jet`]: from `y'` with `<y', dy>`, to `h'` with `<h', dh>` and a real for each parameter.
pub trait Reversible: VectorField {
    /// Writes the channels `channels` of `f(h)` to `out`, `[channels, H]`.
    fn eval_fixed<N: Jet>(&self, channels: Range<usize>, parameters: &[N::Real], h: &[N], out: &mut [N]);

    /// From the gradient in those channels, `[channels, H]`, adds to the gradients in the state, `[H]`, and in the parameters.
    fn reverse<N: Jet>(
        &self,
        channels: Range<usize>,
        parameters: &[N::Real],
        h: &[N],
        gradient: &[N],
        d_h: &mut [N],
        d_parameters: &mut [N::Real],
    );
}
