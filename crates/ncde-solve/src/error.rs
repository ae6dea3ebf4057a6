//! The errors of this crate: what was found, what was expected and what to try.

/// The error of every fallible function of this crate.
#[expect(missing_docs, reason = "the messages say what fields are")]
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Two sizes that should agree do not.
    #[error("{operation}: {what} has {seen} entries, wanted {wanted}")]
    Size { operation: &'static str, what: &'static str, seen: usize, wanted: usize },

    /// A parameter outside its range.
    #[error("{what} must be {wanted}, not `{seen}`")]
    BadParameter { what: &'static str, wanted: &'static str, seen: String },

    /// Brackets of a depth for which no code was compiled.
    #[error(
        "brackets of depth `{depth}`: depths 1 to {most} are there, and one more costs as many evaluations again as there are \
         channels; lower the depth and take shorter windows"
    )]
    Depth { depth: usize, most: usize },

    /// A state that overflowed or is not a number.
    #[error(
        "the state is not finite after the step from time `{time}` of size `{step}` (step {index}); take smaller steps, scale the \
         control or the initial weights down, or end the field in `tanh`"
    )]
    NotFinite { time: f64, step: f64, index: usize },

    /// An adaptive solve that asks for steps below the resolution of time.
    #[error(
        "at time `{time}` the error asks for a step of `{step}`, below the smallest of `{smallest}`; the state grows without bound \
         or the field jumps: loosen the tolerances, bound the field with `tanh`, or put a knot where it jumps"
    )]
    StepTooSmall { time: f64, step: f64, smallest: f64 },

    /// An adaptive solve that does not end.
    #[error(
        "after `{most}` steps the solve is only at time `{time}` of `{end}`, with steps of `{step}`; the field is stiff or the \
         tolerance tight: allow more steps, loosen the tolerances, or scale the field down"
    )]
    TooManySteps { most: usize, time: f64, end: f64, step: f64 },

    /// Adaptive steps with a method that does not know its error.
    #[error("`{method}` has no error estimate, so its steps cannot adapt; take fixed steps, or `{instead}`")]
    NoErrorEstimate { method: &'static str, instead: &'static str },

    /// A state asked for inside a window of the Log-ODE method.
    #[error(
        "time `{time}` lies inside the window from `{start}` to `{end}`, where the state depends on the whole window; ask for \
         window ends, or cut the windows there"
    )]
    InsideWindow { time: f64, start: f64, end: f64 },

    /// A time outside of the control's domain.
    #[error("time `{time}` is outside of the control's domain from `{start}` to `{end}`")]
    OutsideDomain { time: f64, start: f64, end: f64 },

    /// A path that jumps has no derivative to be driven by.
    #[error(
        "the path jumps by `{size}` at time `{time}` (channel {channel}), and a derivative does not see a jump; use the log-signatures of \
         its windows (`LogOde`), or interpolate in another way"
    )]
    Jump { time: f64, channel: usize, size: f64 },

    /// An activation that is not smooth enough for a bound, or does not vanish at zero.
    #[error("no Lip(gamma) bound with the activation `{activation}`: {problem}")]
    NoBound { activation: &'static str, problem: &'static str },

    /// An error of `ncde-signature`.
    #[error(transparent)]
    Signature(#[from] ncde_signature::Error),
}

/// Checks one size.
pub(crate) fn check(operation: &'static str, what: &'static str, seen: usize, wanted: usize) -> Result<(), Error> {
    if seen == wanted { Ok(()) } else { Err(Error::Size { operation, what, seen, wanted }) }
}
