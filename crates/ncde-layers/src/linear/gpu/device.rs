//! Which kernel of the device a recurrence has.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use burn_cubecl::CubeRuntime;
use cubecl::server::Handle;
use ncde_gpu::action::{Acting, Action, Entries};
use ncde_gpu::{Affine, Arrays, Flow, Gpu, Shapes};
use ncde_kernels::{Bound, Contraction, Pattern, Recurrence, Structure, Transition};

use super::Error;

/// A recurrence on the device.
pub(super) enum DeviceRecurrence {
    /// Blocks along the diagonal.
    Blocks(ncde_gpu::Recurrence),
    /// A structure that is not closed under products.
    Acts(Action),
}

impl DeviceRecurrence {
    /// None where the device has no kernel for a structure, or no room for its state.
    pub(super) fn new<R: CubeRuntime>(gpu: &Gpu<R>, recurrence: &Recurrence, has_input: bool) -> Result<Option<Self>, Error> {
        let affine = match recurrence.affine() {
            _ if !has_input => Affine::None,
            ncde_kernels::Affine::Exact => Affine::Exact,
            ncde_kernels::Affine::Approximate => Affine::Plain,
        };
        let flow = Flow { exact: recurrence.transition() == Transition::Exp, affine };
        let (structure, contraction) = (recurrence.field().structure(), recurrence.contraction());
        if let Some(blocks) = structure.sizes() {
            let kernel = || ncde_gpu::Recurrence::new(blocks, flow).map(Self::Blocks);
            return Ok((contraction == Contraction::Matrices).then(kernel).transpose()?);
        }
        let Some(acting) = acting(structure) else { return Ok(None) };
        let mut action = Action::new(acting, flow)?;
        if let Contraction::Words { depth } = contraction {
            action = action.with_words(recurrence.field().channels(), depth);
        }
        Ok(action.fits(gpu, recurrence.coefficients()).then_some(Self::Acts(action)))
    }

    /// The states, and what the reverse pass can use again, if that is to be kept.
    pub(super) fn forward<R: CubeRuntime>(
        &self,
        gpu: &Gpu<R>,
        shapes: Shapes,
        arrays: &Arrays,
        keep: bool,
    ) -> Result<(Handle, Option<Handle>), Error> {
        Ok(match self {
            Self::Blocks(kernel) if keep => kernel.forward_kept(gpu, shapes, arrays)?,
            Self::Blocks(kernel) => (kernel.forward(gpu, shapes, arrays)?, None),
            Self::Acts(kernel) => (kernel.forward(gpu, shapes, arrays)?, None),
        })
    }

    pub(super) fn backward<R: CubeRuntime>(
        &self,
        gpu: &Gpu<R>,
        shapes: Shapes,
        arrays: &Arrays,
        states: (&Handle, &Handle),
        reusable: Option<&Handle>,
        of_coefficients: bool,
    ) -> Result<ncde_gpu::Gradients, Error> {
        Ok(match self {
            Self::Blocks(kernel) => kernel.backward(gpu, shapes, arrays, states, reusable, of_coefficients)?,
            Self::Acts(kernel) => kernel.backward(gpu, shapes, arrays, states, of_coefficients)?,
        })
    }
}

/// A structure that acts, where the device has it.
fn acting(structure: &Structure) -> Option<Acting> {
    match structure {
        Structure::WalshHadamard { hidden, bound } => {
            Some(Acting::WalshHadamard { hidden: *hidden, bounded: *bound == Bound::Tanh })
        }
        Structure::Sparse { pattern } => entries(pattern).map(Acting::Sparse),
        Structure::Dplr { hidden, rank } => Some(Acting::Dplr { hidden: *hidden, rank: *rank }),
        // Blocks, which do not act.
        Structure::Dense { .. } | Structure::Diagonal { .. } | Structure::Block { .. } | Structure::DiagonalDense { .. } => None,
    }
}

/// Patterns that are in use, with their entries as the device has them: they take longer to sort than a step of training.
static SORTED: Mutex<Vec<(Weak<Pattern>, Arc<Entries>)>> = Mutex::new(Vec::new());

fn entries(pattern: &Arc<Pattern>) -> Option<Arc<Entries>> {
    let mut sorted = SORTED.lock().unwrap_or_else(PoisonError::into_inner);
    sorted.retain(|(pattern, _)| pattern.strong_count() > 0);
    if let Some((_, entries)) = sorted.iter().find(|(known, _)| known.as_ptr() == Arc::as_ptr(pattern)) {
        return Some(entries.clone());
    }
    let channels: Vec<_> = (0..pattern.channels()).map(|k| pattern.channel_entries(k)).collect();
    let entries = Arc::new(Entries::new(pattern.hidden(), &channels).ok()?);
    sorted.push((Arc::downgrade(pattern), entries.clone()));
    Some(entries)
}
