//! Linear fields as flags ask for them, with random parameters as the peers draw them.

use std::sync::Arc;

use ncde_kernels::{Bound, Field, Float, Pattern, Structure, Transition};

use super::random::{normal, uniform};
use crate::args::{FieldArgs, StructureName, TransitionName};
use crate::error::Failure;

/// Seeds of the streams of random numbers.
pub(super) const PARAMETERS: u64 = 0;
pub(super) const COEFFICIENTS: u64 = 1;
pub(super) const INITIAL: u64 = 2;
const MASK: u64 = 3;

/// Entries of A have this deviation, divided by the square root of the size of a block.
const DEVIATION: f64 = 0.25;

/// Sparse matrices have `hidden^(1 + EPSILON)` entries.
const EPSILON: f64 = 0.5;

/// A kernel's refusal.
pub(super) fn refused(what: &'static str) -> impl Fn(ncde_kernels::Error) -> Failure {
    move |source| Failure::Kernel { what: what.into(), source }
}

impl FieldArgs {
    /// The field.
    pub(super) fn field(&self, what: &'static str) -> Result<Field, Failure> {
        let hidden = self.hidden;
        let structure = match self.structure {
            StructureName::Dense => Structure::Dense { hidden },
            StructureName::Diagonal => Structure::Diagonal { hidden },
            StructureName::Block => Structure::blocks(hidden, self.block).map_err(refused(what))?,
            StructureName::DiagonalDense => Structure::DiagonalDense { hidden, block: self.block },
            StructureName::Dplr => Structure::Dplr { hidden, rank: self.rank },
            StructureName::Sparse => {
                let mask = |i| uniform(MASK, i);
                let pattern = Pattern::bernoulli(hidden, self.channels, EPSILON, mask).map_err(refused(what))?;
                Structure::Sparse { pattern: Arc::new(pattern) }
            }
            StructureName::WalshHadamard => Structure::WalshHadamard { hidden, bound: Bound::None },
        };
        Field::new(structure, self.channels).map_err(refused(what))
    }

    /// How a generator becomes a flow.
    pub(super) fn transition(&self) -> Transition {
        match self.transition {
            TransitionName::Exp => Transition::Exp,
            TransitionName::Euler => Transition::Euler,
        }
    }

    /// Parameters as the thesis draws them in practice.
    pub(super) fn parameters<T: Float>(&self, field: &Field) -> Vec<T> {
        let hidden = self.hidden;
        let each = field.channel(0).len();
        let deviation = |i: usize| {
            let size = match self.structure {
                StructureName::Dense | StructureName::Sparse => hidden,
                StructureName::Block => self.block,
                StructureName::DiagonalDense if i % each >= hidden - self.block => self.block,
                StructureName::Dplr if i % each >= hidden => self.rank,
                _ => 1,
            };
            DEVIATION / (size as f64).sqrt()
        };
        (0..field.parameters()).map(|i| T::from_f64(deviation(i) * normal(PARAMETERS, i as u64))).collect()
    }
}
