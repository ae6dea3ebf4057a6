//! Working memory that is reused between calls, which saves requests to the operating system for the same pages.

use std::any::Any;
use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, PoisonError};

/// The values that are not in use.
static IDLE: Mutex<Vec<Box<dyn Any + Send>>> = Mutex::new(Vec::new());

/// A borrowed value; it returns to the pool when dropped.
#[derive(Debug)]
pub(crate) struct Loan<V: Any + Send + Default>(V);

/// Takes an idle value from the pool, or makes a new one.
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
