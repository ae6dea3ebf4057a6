//! Layers of other crates on a batch; see [`ncde_runtime::layer::Foreign`].
//!
//! A batch form is registered for a layer by its name and for each backend it runs on (training needs it on `Autodiff` as well). A layer without one
//! that has nothing to train runs by its steps.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::{LazyLock, PoisonError, RwLock};

use ncde_runtime::layer::{Foreign, Signal, Values, Weight};

use super::stepped::BySteps;
use super::{Batch, Error, LayerBackend};

/// Makes the batch form of a layer that is given rows like these; the values are those of its weights that are not trained.
pub type MakeBatch<B> = fn(&Foreign, &Signal, &mut Values) -> Result<Box<dyn Batch<B>>, Error>;

/// By the name of the layer, then by the backend: a [`MakeBatch`] of that backend.
type Registered = HashMap<String, HashMap<TypeId, Box<dyn Any + Send + Sync>>>;

static REGISTERED: LazyLock<RwLock<Registered>> = LazyLock::new(RwLock::default);

/// Makes the batch form of a layer of another crate known on a backend, in the whole process; one that was registered before is replaced.
pub fn register_batch<B: LayerBackend>(name: &str, make: MakeBatch<B>) {
    let mut all = REGISTERED.write().unwrap_or_else(PoisonError::into_inner);
    all.entry(name.to_owned()).or_default().insert(TypeId::of::<B>(), Box::new(make));
}

/// Whether gradients come through a layer: if it has a batch form, and does not deny it.
pub(super) fn is_differentiable(layer: &Foreign) -> bool {
    layer.layer().is_differentiable() && REGISTERED.read().unwrap_or_else(PoisonError::into_inner).contains_key(layer.name())
}

/// The batch form of a layer.
///
/// # Errors
/// If none is registered for the backend and the layer has something to train, or its settings make no sense.
pub(super) fn batch<B: LayerBackend>(layer: &Foreign, input: &Signal, fixed: &mut Values) -> Result<Box<dyn Batch<B>>, Error> {
    let make = {
        let all = REGISTERED.read().unwrap_or_else(PoisonError::into_inner);
        let made = all.get(layer.name()).and_then(|backends| backends.get(&TypeId::of::<B>()));
        made.and_then(|make| make.downcast_ref::<MakeBatch<B>>()).copied()
    };
    if let Some(make) = make {
        return make(layer, input, fixed);
    }
    if layer.layer().weights(input)?.iter().any(Weight::is_trained) {
        let problem = "it has weights to train, but no batch form is registered for this backend; call `register_batch`";
        return Err(ncde_runtime::Error::Layer { layer: layer.name().into(), problem: problem.into() }.into());
    }
    Ok(Box::new(BySteps::new(layer.layer(), input, fixed)?))
}
