//! One graph of gradients at a time in a process.
//!
//! In Burn 0.21 the end of a reverse pass frees what it takes for orphaned steps in the graphs of *all* threads (its issue 5573): where two threads
//! differentiate at once, gradients go missing, or are wrong where part of a graph is lost. So whoever builds a graph and differentiates it does so under this
//! lock, from the first variable to the last gradient that is read. Training does.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::operation::Error;

static GRAPH: Mutex<()> = Mutex::new(());
/// Why a reverse pass failed, the first time since it was looked at.
static ERROR: Mutex<Option<Error>> = Mutex::new(None);

/// Waits until no other thread differentiates; hold it until all gradients are read.
///
/// ```
/// use burn_autodiff::Autodiff;
/// use burn_flex::Flex;
/// use burn_tensor::Tensor;
/// let _graph = ncde_layers::graph::lock();
/// let x = Tensor::<Autodiff<Flex>, 1>::from_data([3.0], &Default::default()).require_grad();
/// let gradients = x.clone().square().sum().backward();
/// assert_eq!(x.grad(&gradients).unwrap().into_scalar(), 6.0);
/// ```
#[must_use = "the lock is held as long as this lives"]
pub fn lock() -> MutexGuard<'static, ()> {
    // A thread that panicked under the lock left no graph that others look at.
    let lock = GRAPH.lock().unwrap_or_else(PoisonError::into_inner);
    take_error();
    lock
}

/// Why gradients that were computed under the [`lock`] are NaN, if an operation refused; Burn's reverse pass itself cannot say so.
/// [`Network::gradients`](crate::layer::Network::gradients) returns it.
pub fn take_error() -> Option<Error> {
    ERROR.lock().unwrap_or_else(PoisonError::into_inner).take()
}

pub(crate) fn keep_error(error: Error) {
    ERROR.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
}
