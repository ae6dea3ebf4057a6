//! Working memory that outlives a call: without it every call asks the system for the same pages again.

use std::any::Any;
use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, PoisonError};

/// What is not in use; as many as there have been at once.
static IDLE: Mutex<Vec<Box<dyn Any + Send>>> = Mutex::new(Vec::new());

/// A value on loan; it goes back when it is dropped.
#[derive(Debug)]
pub(crate) struct Loan<V: Any + Send + Default>(V);

/// One that is idle, or a new one.
pub(crate) fn borrow<V: Any + Send + Default>() -> Loan<V> {
    let mut idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner);
    let found = idle.iter().position(|value| value.is::<V>()).map(|i| idle.swap_remove(i));
    drop(idle);
    Loan(found.and_then(|value| value.downcast().ok()).map(|value| *value).unwrap_or_default())
}

impl<V: Any + Send + Default> Deref for Loan<V> {
    type Target = V;
    fn deref(&self) -> &V {
        &self.0
    }
}

impl<V: Any + Send + Default> DerefMut for Loan<V> {
    fn deref_mut(&mut self) -> &mut V {
        &mut self.0
    }
}

impl<V: Any + Send + Default> Drop for Loan<V> {
    fn drop(&mut self) {
        let value = Box::new(std::mem::take(&mut self.0));
        IDLE.lock().unwrap_or_else(PoisonError::into_inner).push(value);
    }
}
