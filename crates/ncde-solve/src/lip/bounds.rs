//! Bounds of Lip(gamma) norms, layer by layer:
//!
//! ```text
//! |L^i| <= max{Gamma^i, M_1 |W^i|, M_2 |W^i|^gamma},   Gamma^i = |W^i| Gamma^{i-1} + |b^i|,   Gamma^0 = C >= |h|
//! |g o f| <= (1 + 2^gamma) |g| max{1, |f|^gamma}
//! |L^m o ... o L^1| <= (1 + 2^gamma)^((gamma^(m-1) - 1) / (gamma - 1)) prod_i max{1, |L^i|^(gamma^(m-i))}
//! ```
//!
//! The last grows doubly exponentially with `m` and soon leaves the range of a number: it is given as its logarithm.

use super::{Smoothness, check_gamma, operator_norm};
use crate::Error;
use crate::error::check;
use crate::field::{Network, VectorField};
use crate::scalar::Real;

/// `1 + 2^gamma`, the constant of a composition.
pub fn constant(gamma: f64) -> f64 {
    1.0 + gamma.exp2()
}

/// The bound of a composition from the norms of its parts.
///
/// ```
/// assert_eq!(ncde_solve::lip::compose(2.0, 3.0, 2.0)?, 5.0 * 2.0 * 9.0);
/// # Ok::<(), ncde_solve::Error>(())
/// ```
///
/// # Errors
/// If `gamma` is not in `(1, 2]`.
pub fn compose(outer: f64, inner: f64, gamma: f64) -> Result<f64, Error> {
    check_gamma(gamma)?;
    Ok(constant(gamma) * outer * inner.powf(gamma).max(1.0))
}

/// Bounds of a network's Lip(gamma) norm on a ball.
#[derive(Debug, Clone, PartialEq)]
pub struct Bound {
    /// `|L^i|`, a bound for each layer alone.
    pub layers: Vec<f64>,
    /// The logarithm, base 10, of the bound of the first 1, 2, ..., `m` layers together.
    pub log10: Vec<f64>,
}

impl Bound {
    /// The logarithm, base 10, of the bound of the whole network.
    pub fn whole(&self) -> f64 {
        self.log10[self.log10.len() - 1]
    }
}

/// Bounds a network as a map from `|h| <= radius` to all its outputs.
///
/// ```
/// use ncde_solve::field::{Activation, Network};
/// use ncde_solve::lip;
/// // tanh(0.5 h) twice, on |h| <= 1.
/// let network = Network::new(1, 1, 1, 1, Activation::Tanh, Activation::Tanh)?;
/// let bound = lip::bound(&network, &[0.5, 0.0, 0.5, 0.0], 1.0, 2.0)?;
/// assert_eq!(bound.layers, [0.5, 0.5]);
/// assert!((bound.whole() - 5.0_f64.log10()).abs() < 1e-12); // 1 + 2^2
/// # Ok::<(), ncde_solve::Error>(())
/// ```
///
/// # Errors
/// If an activation is not smooth enough, `gamma` is not in `(1, 2]`, `radius` is negative, or the sizes do not fit.
pub fn bound<T: Real>(network: &Network, parameters: &[T], radius: f64, gamma: f64) -> Result<Bound, Error> {
    check_gamma(gamma)?;
    check("bound", "the list of parameters", parameters.len(), network.parameters())?;
    if !(radius >= 0.0 && radius.is_finite()) {
        let seen = radius.to_string();
        return Err(Error::BadParameter { what: "the radius of the ball of states", wanted: "finite and not negative", seen });
    }
    let wide = |range: std::ops::Range<usize>| parameters[range].iter().map(|x| x.to_f64()).collect::<Vec<f64>>();
    let (mut layers, mut log10, mut size): (Vec<f64>, Vec<f64>, f64) = (Vec::new(), Vec::new(), radius);
    for (l, layer) in network.layers().iter().enumerate() {
        let Smoothness { slope, bend } = Smoothness::of(layer.activation, gamma)?;
        let (weights, biases) = network.parameter_ranges(l);
        let norm = operator_norm(&wide(weights), network.fan_in(l), layer.width);
        size = norm * size + wide(biases).iter().map(|b| b * b).sum::<f64>().sqrt();
        let bound = size.max(slope * norm).max(bend * norm.powf(gamma));
        // (1 + 2^gamma) |L| B^gamma, where the bound B of the layers before is 1 or more.
        let before = log10.last().map_or(0.0, |before| constant(gamma).log10() + gamma * before);
        log10.push(before + bound.log10().max(0.0));
        layers.push(bound);
    }
    Ok(Bound { layers, log10 })
}
