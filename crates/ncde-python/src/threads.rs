//! Threads that compute, where a process may be forked at any time and a call may take a microsecond.
//!
//! A forked process has none of the threads of its parent: whoever waits for them waits for ever. So there is one pool a process, made when it is first needed
//! and known by the number of the process. Small work is done by the thread that asks, without handing it on.

use std::any::Any;
use std::cell::OnceCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

use pyo3::PyResult;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

/// Multiply-adds below which handing work to other threads takes longer than doing it.
const SMALL: usize = 1 << 16;

struct Pool {
    process: u32,
    threads: usize,
    pool: Arc<ThreadPool>,
}

static POOL: Mutex<Option<Pool>> = Mutex::new(None);

fn built(threads: usize) -> PyResult<Arc<ThreadPool>> {
    let pool = ThreadPoolBuilder::new().num_threads(threads).build();
    pool.map(Arc::new)
        .map_err(|e| PyRuntimeError::new_err(format!("cannot start {threads} threads: {e}; ask for fewer with `n_jobs`")))
}

fn pool(threads: usize) -> PyResult<Arc<ThreadPool>> {
    // Another thread may hold the lock, or may have held it when this process was forked and be gone: a pool of its own is right in both cases.
    let Ok(mut held) = POOL.try_lock() else { return built(threads) };
    let process = std::process::id();
    if let Some(Pool { pool, .. }) = held.as_ref().filter(|held| held.process == process && held.threads == threads) {
        return Ok(pool.clone());
    }
    let pool = built(threads)?;
    if let Some(old) = held.replace(Pool { process, threads, pool: pool.clone() }).filter(|old| old.process != process) {
        // To end it would be to wake threads that this process does not have.
        std::mem::forget(old);
    }
    Ok(pool)
}

thread_local! {
    /// A pool that is this thread alone, so that what is cut into tasks is done here, one after the other.
    static ALONE: OnceCell<()> = const { OnceCell::new() };
}

fn alone() {
    ALONE.with(|alone| {
        // It fails only in a thread of another pool, where tasks stay in that pool. It lives as long as the thread.
        alone.get_or_init(|| std::mem::forget(ThreadPoolBuilder::new().num_threads(1).use_current_thread().build()));
    });
}

/// Does work of so many multiply-adds without holding the interpreter, on `threads` threads (0: all).
pub(crate) fn compute<R: Send>(py: Python<'_>, work: usize, threads: usize, compute: impl FnOnce() -> R + Send) -> PyResult<R> {
    if work < SMALL {
        alone();
        return caught(compute);
    }
    py.detach(|| on(threads, compute))
}

/// The same for a thread that does not hold the interpreter.
pub(crate) fn on<R: Send>(threads: usize, compute: impl FnOnce() -> R + Send) -> PyResult<R> {
    let pool = pool(threads)?;
    caught(|| pool.install(compute))
}

/// Makes an exception of a panic.
fn caught<R>(compute: impl FnOnce() -> R) -> PyResult<R> {
    catch_unwind(AssertUnwindSafe(compute)).map_err(|panic| PyRuntimeError::new_err(told(&*panic)))
}

fn told(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("an error inside of ncde ({}); please report it with what you called", text.unwrap_or("no message"))
}

/// More threads than any machine has use for.
const MAX_THREADS: usize = 1024;

/// `n_jobs` as scikit-learn has it: none or negative for all.
pub(crate) fn jobs(n_jobs: Option<isize>) -> usize {
    n_jobs.and_then(|n| usize::try_from(n).ok()).unwrap_or(0).min(MAX_THREADS)
}
