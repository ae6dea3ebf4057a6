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
}

/// One of the three levels, as a type.
pub trait Causality: sealed::Sealed {
    /// The level as a value.
    const LEVEL: CausalityLevel;
}

/// One of the three levels, as a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CausalityLevel {
    /// Nothing after `t` is used, at any `t`.
    Causal,
    /// Nothing after `t` is used if `t` is an observation time.
    AtObservations,
    /// Later observations are used everywhere.
    Acausal,
}

/// Nothing after `t` is used, at any `t`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Causal;

/// Nothing after `t` is used if `t` is an observation time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AtObservations;

/// Later observations are used everywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Acausal;

macro_rules! level {
    ($level:ident) => {
        impl sealed::Sealed for $level {}
        impl Causality for $level {
            const LEVEL: CausalityLevel = CausalityLevel::$level;
        }
    };
}

level!(Causal);
level!(AtObservations);
level!(Acausal);
