//! `sum_i |W^i| + |b^i|`, root sums of squares: added to a loss, times a small number, it keeps the terms of the layer bounds small.
//!
//! (Thesis, the weight penalty of Log-NCDEs.)

use crate::field::{Network, VectorField};
use crate::scalar::Scalar;

/// The penalty, in any number type: a tape gives its gradient. `parameters` are all those of the network.
///
/// ```
/// use ncde_solve::field::{Activation, Network};
/// let network = Network::new(1, 2, 1, 0, Activation::Silu, Activation::Identity)?;
/// assert_eq!(ncde_solve::lip::weight_penalty(&network, &[3.0, 4.0, 0.0, 2.0])?, 5.0 + 2.0);
/// # Ok::<(), ncde_solve::Error>(())
/// ```
///
/// # Errors
/// If there are more or fewer parameters than the network has.
pub fn weight_penalty<N: Scalar>(network: &Network, parameters: &[N]) -> Result<N, crate::Error> {
    crate::error::check("weight penalty", "the list of parameters", parameters.len(), network.parameters())?;
    let mut sum = N::zero();
    for layer in 0..network.layers().len() {
        let (weights, biases) = network.parameter_ranges(layer);
        for part in [&parameters[weights], &parameters[biases]] {
            let square = N::zero().accumulate(part.len(), |i| (part[i], part[i]));
            // The root has no derivative at 0, where the penalty has its minimum.
            if square.value() > N::zero().value() {
                sum += square.sqrt();
            }
        }
    }
    Ok(sum)
}
