//! What is solved, and by which code: the fused kernel where it applies, the generic solver elsewhere.
//!
//! | depth of brackets | route | cost of an evaluation |
//! | --- | --- | --- |
//! | 1, 2 | fused: `ncde-kernels`, matrix products over samples and tangents | `d` products with the hidden layers |
//! | 3 to 6 | generic: `ncde-solve`, one sample at a time on each thread | `d^(N-1)` evaluations, in numbers of `2^(N-1)` parts |
//!
//! Both take the same steps, and both reverse passes are exact for them.

use ncde_kernels::neural::{self as kernel, Controls, Depth, Method, Network};
use ncde_runtime::layer::generic_field;
use ncde_solve::field as generic;
use ncde_solve::solve::RowSteps;

use super::Error;

/// Which code solves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Route {
    /// The kernel of `ncde-kernels`: brackets of depth 1 and 2.
    Fused,
    /// The steps of `ncde-solve`: any depth it has brackets for, more slowly.
    Generic,
}

/// The solve of `dh/dt = F(h, c(t))` by fixed steps.
///
/// ```
/// use ncde_layers::neural::{Network, Route, Solve};
/// let solve = |depth| Solve::new(Network::new(4, 3, &[8])?).with_depth(depth);
/// // Three channels: 3 letters, 3 brackets of two and 8 of three.
/// assert_eq!((solve(2)?.coefficients(), solve(2)?.route()), (6, Route::Fused));
/// assert_eq!((solve(3)?.coefficients(), solve(3)?.route()), (14, Route::Generic));
/// assert!(solve(7).is_err());
/// # Ok::<(), ncde_layers::neural::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Solve {
    kernel: kernel::Solve,
    generic: Option<Generic>,
}

/// The same field and steps for `ncde-solve`.
#[derive(Debug, Clone)]
pub(super) struct Generic {
    pub(super) field: generic::Network,
    pub(super) steps: RowSteps,
}

impl Solve {
    /// Heun's method, no brackets.
    pub fn new(network: Network) -> Self {
        Self { kernel: kernel::Solve::new(network), generic: None }
    }

    /// Brackets of up to `depth` letters, by the kernel where it has them.
    ///
    /// # Errors
    /// If the depth is 0, or more than there is code for, or its log-signature is too large.
    pub fn with_depth(self, depth: usize) -> Result<Self, Error> {
        let fused = |depth| Self { kernel: self.kernel.clone().with_depth(depth), generic: None };
        match depth {
            1 => Ok(fused(Depth::One)),
            2 => Ok(fused(Depth::Two)),
            _ => fused(Depth::One).through_generic(depth),
        }
    }

    /// Another method.
    #[must_use]
    pub fn with_method(self, method: Method) -> Self {
        let generic = self.generic.map(|Generic { field, steps }| Generic { field, steps: steps.with_method(method) });
        Self { kernel: self.kernel.with_method(method), generic }
    }

    /// The generic solver at any depth, to hold the kernel against. Nothing else needs to ask for a route.
    ///
    /// # Errors
    /// As for [`with_depth`](Self::with_depth).
    pub fn by_generic(self) -> Result<Self, Error> {
        let depth = self.depth();
        self.through_generic(depth)
    }

    fn through_generic(self, depth: usize) -> Result<Self, Error> {
        let network = self.kernel.network();
        let steps = RowSteps::new(network.channels(), depth, self.kernel.method())?;
        let generic = Generic { field: generic_field(network)?, steps };
        Ok(Self { generic: Some(generic), ..self })
    }

    /// The field.
    pub fn network(&self) -> &Network {
        self.kernel.network()
    }

    /// The method.
    pub fn method(&self) -> Method {
        self.kernel.method()
    }

    /// The most letters in a bracket.
    pub fn depth(&self) -> usize {
        match (&self.generic, self.kernel.depth()) {
            (Some(generic), _) => generic.steps.depth(),
            (None, Depth::One) => 1,
            (None, Depth::Two) => 2,
        }
    }

    /// Which code solves.
    pub fn route(&self) -> Route {
        if self.generic.is_some() { Route::Generic } else { Route::Fused }
    }

    /// How many coefficients a row of the control has.
    pub fn coefficients(&self) -> usize {
        self.generic.as_ref().map_or_else(|| self.kernel.coefficients(), |generic| generic.steps.coordinates())
    }

    pub(super) fn kernel(&self) -> &kernel::Solve {
        &self.kernel
    }

    pub(super) fn generic(&self) -> Option<&Generic> {
        self.generic.as_ref()
    }

    pub(super) fn with_controls(self, controls: Controls) -> Self {
        Self { kernel: self.kernel.with_controls(controls), ..self }
    }
}
