//! Controlled differential equations with any field: solved, differentiated, and bounded.
//!
//! # The equation
//!
//! `dh_t = sum_j f_j(h_t) dX^j_t`: a state `h` in `R^H`, driven by a path `X` in `R^d` through `d` vector fields. Three numerical
//! forms of it share one loop ([`solve`]): along the derivative of an interpolated path, as an ordinary differential equation in each
//! window of the Log-ODE method, or with time alone as the control.
//!
//! ```
//! use ncde_signature::path::{Linear, Series, Windows};
//! use ncde_solve::field::{Activation, Network, VectorField};
//! use ncde_solve::solve::{LogOde, Method, Save, Solver, Steps, Term};
//!
//! // Eight observations of a path in the plane, in windows of four increments.
//! let values = (0..8).flat_map(|i| [f64::from(i).sin(), f64::from(i).cos()]).collect();
//! let path = Linear::new(&Series::new((0..8).map(f64::from).collect(), values, 2)?.complete()?)?;
//! let drive = LogOde::new(&path, &Windows::Observations(4), 2, 1)?;
//!
//! // A network with one hidden layer; any numbers in [0, 1) make its weights.
//! let network = Network::new(3, 2, 16, 1, Activation::Silu, Activation::Tanh)?;
//! let mut seed = 0.0;
//! let weights = network.init(|| { seed = (seed + 0.618_034) % 1.0; seed });
//!
//! let term = Term { field: &network, drive: &drive };
//! let solver = Solver { method: Method::Heun, steps: Steps::Shared(50) };
//! let recorded = solver.record(&term, &weights, &[0.1, 0.2, 0.3], &Save::Knots)?;
//! assert_eq!(recorded.solution.times, [0.0, 4.0, 7.0]);
//! assert_eq!(recorded.solution.statistics.evaluations, 100);
//!
//! // From the derivatives of a loss in the three states to those in the weights.
//! let gradient = recorded.backward(&[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0])?;
//! assert_eq!(gradient.parameters.len(), network.parameters());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What is where
//!
//! | module | what it has |
//! | --- | --- |
//! | [`scalar`] | what fields are written in: reals, duals, variables of a tape; a dual that is its own dual |
//! | [`field`] | the traits [`field::VectorField`] and [`field::Reversible`], networks, linear fields |
//! | [`brackets`] | Jacobian-vector products; Lie brackets contracted with a log-signature, to depth 6 |
//! | [`solve`] | methods, steps, controls; states at given times; steps from rows of a log-signature, with their reverse pass |
//! | [`gradient`] | through the solver's own steps, or by the continuous adjoint |
//! | [`lip`] | Lip(gamma) norms of networks: bounds, measurements |
//!
//! A field is written once and works with all of it. Nothing here is batched or fused: this crate is the plain and exact way,
//! for every field and depth, that faster kernels for particular fields are held against.

pub mod brackets;
mod error;
pub mod field;
pub mod gradient;
pub mod lip;
pub mod scalar;
pub mod solve;

pub use error::Error;
