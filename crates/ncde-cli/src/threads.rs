//! A pool of so many threads.

use crate::error::Failure;

/// Runs `work` on `threads` threads.
pub(crate) fn on<R: Send>(threads: usize, work: impl FnOnce() -> Result<R, Failure> + Send) -> Result<R, Failure> {
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .map_err(|source| Failure::Threads { threads, source })?
        .install(work)
}
