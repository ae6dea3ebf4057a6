//! What is asked for, checked once: below it, only combinations that make sense.

use ncde_signature::Basis;

use crate::args::{BasisName, Interpolation, Missing, SignatureArgs};
use crate::error::{Failure, refuse};

#[derive(Debug, Clone)]
pub(super) struct Request {
    pub(super) depth: usize,
    pub(super) kind: Kind,
    pub(super) parts: Parts,
    /// Whether the time is a channel.
    pub(super) time: bool,
    /// Whether an observation of zeros is put in front.
    pub(super) basepoint: bool,
    pub(super) curve: Curve,
    pub(super) missing: Option<Missing>,
    /// The column or channel that holds the times.
    pub(super) times_column: Option<String>,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    Signature,
    Log(Basis),
}

/// Of which parts of a path.
#[derive(Debug, Clone, Copy)]
pub(super) enum Parts {
    Whole,
    /// Consecutive stretches of so many increments.
    Windows(usize),
    /// From the start to each later observation.
    Prefixes,
}

/// What happens between observations.
#[derive(Debug, Clone, Copy)]
pub(super) enum Curve {
    Linear,
    Rectilinear,
    /// Cubics, in so many straight pieces an interval.
    Natural(usize),
    Hermite(usize),
}

impl Curve {
    /// How many straight pieces there are between two observations.
    pub(super) fn pieces(self) -> usize {
        match self {
            Self::Linear => 1,
            Self::Rectilinear => 2,
            Self::Natural(pieces) | Self::Hermite(pieces) => pieces,
        }
    }
}

impl Request {
    pub(super) fn of(args: &SignatureArgs) -> Result<Self, Failure> {
        let curve = match args.interpolation {
            Interpolation::Linear => Curve::Linear,
            Interpolation::Rectilinear => Curve::Rectilinear,
            Interpolation::Cubic => Curve::Natural(args.refinement),
            Interpolation::Hermite => Curve::Hermite(args.refinement),
        };
        if matches!(curve, Curve::Rectilinear) {
            if !args.time {
                refuse!(
                    "`--interpolation rectilinear` holds each value while the time moves on, so the time must be a channel; add `--time`"
                );
            }
            if args.missing == Some(Missing::Interpolate) {
                refuse!("`--interpolation rectilinear` never looks ahead, `--missing interpolate` does; use `--missing forward`");
            }
        }
        Ok(Self {
            depth: args.depth.unwrap_or(2),
            kind: if args.log { Kind::Log(basis(args.basis)) } else { Kind::Signature },
            parts: match args.window {
                Some(increments) => Parts::Windows(increments),
                None if args.stream => Parts::Prefixes,
                None => Parts::Whole,
            },
            time: args.time,
            basepoint: args.basepoint,
            curve,
            missing: args.missing,
            times_column: args.times.clone(),
        })
    }

    /// How many channels the path has if the observations have so many.
    pub(super) fn channels(&self, observed: usize) -> usize {
        observed + usize::from(self.time)
    }

    /// How many observations the path goes through if so many were made.
    pub(super) fn length(&self, observed: usize) -> usize {
        observed + usize::from(self.basepoint)
    }
}

fn basis(name: BasisName) -> Basis {
    match name {
        BasisName::Lyndon => Basis::Lyndon,
        BasisName::Hall => Basis::Hall,
        BasisName::Expanded => Basis::Expanded,
    }
}
