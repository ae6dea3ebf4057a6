//! Paths, signatures and log-signatures: exact, differentiable, streaming.
//!
//! # The path
//!
//! Observations `(t_0, x_0), ..., (t_n, x_n)` with `x_i` in `R^d` become a path `X` by interpolation. A [`path::Series`] holds the
//! observations, missing ones included; a [`path::Path`] is what an interpolation makes of them; the [`path`] module has a table of
//! the interpolations and of how much of the future each one uses. If the observations already are the path, linear in between,
//! their values alone are enough: [`Paths`] is a batch of those, of equal or different lengths. [`Control`] goes from a path of any
//! kind to what drives a model: one increment or log-signature for each window of time.
//!
//! # The signature
//!
//! The signature of `X` over `[a, b]` is one number for each word `i_1 ... i_k` over the channels `1, ..., d`,
//!
//! ```text
//! S(X)_(i_1 ... i_k) = ∫_{a < u_1 < ... < u_k < b} dX^{i_1}_{u_1} ... dX^{i_k}_{u_k},
//! ```
//!
//! truncated at words of `N` letters, the depth. Level 1 is the increment `X_b - X_a`. Level 2 holds signed areas. [`Signature`]
//! is the transform for given `d` and `N`. Words come by length, then in lexicographic order, and the empty word, whose
//! coefficient is always 1, is left out:
//!
//! ```
//! use ncde_signature::{Paths, Signature};
//! let signature = Signature::new(2, 2)?;
//! assert_eq!(signature.labels(), ["(1)", "(2)", "(1,1)", "(1,2)", "(2,1)", "(2,2)"]);
//! let right_then_up = [0.0, 0.0, 1.0, 0.0, 1.0, 1.0];
//! assert_eq!(signature.of(&Paths::single(&right_then_up, 2)?)?, [1.0, 1.0, 0.5, 1.0, 0.0, 0.5]);
//! # Ok::<(), ncde_signature::Error>(())
//! ```
//!
//! # Chen's identity
//!
//! The signature of one path followed by another is the tensor product of theirs, `S_[a,c] = S_[a,b] S_[b,c]`, and that of a straight
//! line with increment `x` is `exp(x) = 1 + x + x ⊗ x / 2 + ...`. So the signature of a piecewise linear path is exactly
//! `exp(x_1) ... exp(x_m)`: nothing is approximated but by rounding. [`Signature::join`] is the product,
//! [`algebra::Tensor`] the algebra around it. Windows share their end points, so that they join up to the whole:
//!
//! ```
//! use ncde_signature::{Paths, Signature};
//! let signature = Signature::new(1, 2)?;
//! let x = [0.0, 1.0, 3.0, 2.0, 6.0];
//! let paths = Paths::single(&x, 1)?;
//! let windows = signature.intervals(&paths, &paths.windows(2)?)?; // 0 to 3, then 3 to 6
//! assert_eq!(windows, [3.0, 4.5, 3.0, 4.5]);
//! assert_eq!(signature.join(&windows[..2], &windows[2..])?, signature.of(&paths)?);
//! # Ok::<(), ncde_signature::Error>(())
//! ```
//!
//! # The log-signature
//!
//! Not every tensor is a signature: products of coordinates are sums of others (the shuffle identity, [`algebra::Tensor::shuffle`]).
//! The logarithm removes this redundancy. `log S` lies in the free Lie algebra, which is spanned by brackets
//! `[x, y] = xy - yx` of letters, and has far fewer coordinates: 964 instead of 5460 for 4 channels at depth 6. Three sets
//! of coordinates are there, see [`Basis`].
//!
//! ```
//! use ncde_signature::{Basis, Paths, Signature};
//! let log = Signature::log(2, 3, Basis::Lyndon)?;
//! assert_eq!(log.labels(), ["1", "2", "[1,2]", "[1,[1,2]]", "[[1,2],2]"]);
//! let batch = [0.0, 0.0, 1.0, 0.0, 1.0, 1.0, /* second path */ 0.0, 0.0, 0.0, 1.0, 1.0, 1.0];
//! let values = log.of(&Paths::new(&batch, 2, 3, 2)?)?;
//! assert_eq!((values[2], values[5 + 2]), (0.5, -0.5)); // signed areas
//! # Ok::<(), ncde_signature::Error>(())
//! ```
//!
//! # Gradients
//!
//! Every batched operation has a reverse pass, named with `_backward`: from the gradient of a loss in the results to its gradient in
//! the values of the path. It recomputes what it needs, in memory that grows with the square root of the length.
//!
//! ```
//! use ncde_signature::{Basis, Paths, Signature};
//! let log = Signature::log(2, 2, Basis::Lyndon)?;
//! let corner = [0.0, 0.0, 1.0, 0.0, 1.0, 1.0];
//! // The area 1/2 of the corner grows by 1/2 per unit as its middle vertex moves right, and as it moves down.
//! let gradient = log.of_backward(&Paths::single(&corner, 2)?, &[0.0, 0.0, 1.0])?;
//! assert_eq!(gradient[2..4], [0.5, -0.5]);
//! # Ok::<(), ncde_signature::Error>(())
//! ```
//!
//! # Paths that grow
//!
//! [`Signature::stream`] gives every prefix at once. [`OnlineSignature`] takes one observation at a time in constant memory,
//! [`Rolling`] does so over a moving window, and [`Index`] keeps a growing path and answers for any interval of it:
//!
//! ```
//! use std::sync::Arc;
//! use ncde_signature::{Index, OnlineSignature, Rolling, Signature};
//! let signature = Arc::new(Signature::new(1, 2)?);
//! let (mut online, mut rolling) = (OnlineSignature::new(&signature), Rolling::new(&signature, 2)?);
//! let mut index = Index::new(&signature);
//! for (t, x) in [(0.0, 0.0), (0.1, 10.0), (0.5, 11.0), (2.0, 13.0)] {
//!     online.push(&[x])?;
//!     rolling.push(&[x])?;
//!     index.push(t, &[x])?;
//! }
//! assert_eq!(online.value()?, [13.0, 84.5]); // from 0 to 13
//! assert_eq!(rolling.value()?, [3.0, 4.5]); // the last two increments, from 10 to 13
//! assert_eq!(index.between(0.5, 1.25)?, [1.0, 0.5]); // linear between observations, from 11 to 12
//! # Ok::<(), ncde_signature::Error>(())
//! ```
//!
//! # What else holds
//!
//! Everything works in `f32` and in `f64` ([`Float`]). Results do not depend on the number of threads. The instruction set is chosen
//! when the program runs. Input that makes no sense is an [`Error`] that says what was seen and what to try; so is a result
//! that overflows: no result is ever NaN.
//!
//! With the feature `precompiled`, which is on by default, every kernel is compiled in this crate, once. Without it only [`OnlineSignature`] in
//! `f64` is; any other kernel is then compiled in the crate that calls it. Nothing else depends on it.

pub mod algebra;
mod control;
mod engine;
mod error;
mod float;
pub mod path;
mod signature;
pub use algebra::Basis;
pub use control::Control;
pub use error::Error;
pub use float::Float;
pub use signature::{Index, Interval, OnlineSignature, Paths, Rolling, SeriesState, Signature};
