//! A structured Linear NCDE over Log-ODE windows: what its log-signatures multiply.
//!
//! ```text
//! h_{k+1} = exp(Omega_k) h_k (+ phi_1(Omega_k) beta_k)
//! ```

use std::sync::Arc;

use ncde_kernels::Recurrence;
use ncde_signature::Signature;

use crate::Error;
use crate::flow::Flow;
use crate::plan::{Inputs, Plan, plan};
use crate::random::Stream;
use crate::spec::{Input, SliceSpec};
use crate::weights::Weights;

/// What bracket matrices may take.
pub const BRACKET_BYTES: usize = 256 << 20;

impl SliceSpec {
    /// What the coordinates of the log-signatures of `width` channels multiply, and that log-signature.
    ///
    /// # Errors
    /// If the sizes make no sense.
    pub fn plan(&self, width: usize) -> Result<(Plan, Arc<Signature>), Error> {
        if self.window == 0 {
            return Err(Error::Setting { setting: "window", problem: "a window of 0 observations; at least 1 is needed".into() });
        }
        let field = self.structure.field(self.hidden, width, &Stream::from_key(self.masks))?;
        let inputs = match self.input {
            Input::None => Inputs::None,
            Input::Path => Inputs::Path,
        };
        let plan = plan(&field, inputs, self.depth, BRACKET_BYTES)?;
        let transform = Signature::log(width, self.depth, plan.basis())?;
        Ok((plan, Arc::new(transform)))
    }

    /// The flow over a window, with its weights `a` and `b`.
    pub(crate) fn flow(&self, plan: &Plan, width: usize, weights: &mut Weights) -> Result<Flow<f32>, Error> {
        let recurrence =
            Recurrence::new(plan.field().clone()).with_transition(self.transition).with_contraction(plan.contraction())?;
        let field = self.structure.field(self.hidden, width, &Stream::from_key(self.masks))?;
        let a = weights.take("a", &[field.parameters()])?;
        let b = (self.input == Input::Path).then(|| weights.take("b", &[width, self.hidden])).transpose()?;
        Flow::new(plan, &recurrence, a, b, 1)
    }
}
