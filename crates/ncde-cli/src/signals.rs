//! SIGINT, SIGTERM and SIGHUP: something is saved first, then the process ends.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::{flag, low_level};

use crate::error::Failure;

const ALL: [i32; 3] = [SIGINT, SIGTERM, SIGHUP];

/// A flag that the first of these signals raises, for whoever looks at it now and then. A second signal does not wait.
pub(crate) fn flag() -> Result<Arc<AtomicBool>, Failure> {
    raised().map_err(|e| Failure::Refused(format!("cannot listen to signals: {e}")))
}

fn raised() -> io::Result<Arc<AtomicBool>> {
    let raised = Arc::new(AtomicBool::new(false));
    for signal in ALL {
        // In this order: the first signal finds the flag down, and raises it.
        flag::register_conditional_default(signal, raised.clone())?;
        flag::register(signal, raised.clone())?;
    }
    Ok(raised)
}

/// At the first of these signals, calls `act` in a thread of its own, then ends the process the way the signal does. A second one does not wait.
pub(crate) fn before_end(act: impl FnOnce() + Send + 'static) -> io::Result<()> {
    raised()?;
    let mut signals = Signals::new(ALL)?;
    thread::spawn(move || {
        if let Some(signal) = signals.forever().next() {
            act();
            // It does not come back from any of these.
            let _ = low_level::emulate_default_handler(signal);
        }
    });
    Ok(())
}
