//! Ctrl-C while a model is trained: the first one asks, so that a checkpoint is written; the second one ends the program.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use crate::error::Failure;

/// What an interrupted program ends with in a shell.
const CODE: i32 = 130;

/// A flag that is set by the first signal.
pub(super) fn flag() -> Result<Arc<AtomicBool>, Failure> {
    let flag = Arc::new(AtomicBool::new(false));
    let failed = |e: std::io::Error| Failure::Refused(format!("cannot listen to signals: {e}"));
    for signal in [SIGINT, SIGTERM] {
        // In this order: the flag that the second signal finds is set by the first one.
        flag::register_conditional_shutdown(signal, CODE, flag.clone()).map_err(failed)?;
        flag::register(signal, flag.clone()).map_err(failed)?;
    }
    Ok(flag)
}
