//! How much of the future a path depends on.
//!
//! Write `X` for the path through observations `(t_0, x_0), ..., (t_n, x_n)`.
//!
//! | level | `X` on `[t_0, t]` is a function of the observations up to `t` |
//! |---|---|
//! | [`Causal`] | for every `t` |
//! | [`AtObservations`] | for every observation time `t`, but not between two of them |
//! | [`Acausal`] | in general for no `t` |
//!
//! The level is a type, so a model that must run online can ask for `Path<T, Causality = Causal>` and
//! the compiler refuses the rest. It speaks of the values of the path. A derivative from the right at an
//! observation time may already belong to the next piece.

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Causal {}
    impl Sealed for super::AtObservations {}
    impl Sealed for super::Acausal {}
}

/// One of the three levels.
pub trait Causality: sealed::Sealed {}
impl Causality for Causal {}
impl Causality for AtObservations {}
impl Causality for Acausal {}

/// Nothing after `t` is used, at any `t`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Causal;

/// Nothing after `t` is used if `t` is an observation time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AtObservations;

/// Later observations are used everywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Acausal;
