//! A pool of so many threads.

use crate::error::Failure;

pub(crate) fn on<R: Send>(threads: usize, work: impl FnOnce() -> Result<R, Failure> + Send) -> Result<R, Failure> {
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .map_err(|e| Failure::Failed(format!("cannot start {threads} threads: {e}; ask for fewer with `--threads`")))?
        .install(work)
}
