//! Panics of the libraries below, as errors.
//!
//! `CubeCL` panics where a driver is missing or memory runs out. Without memory its server thread panics with the size of the buffer and goes on; what uses the missing buffer panics later, in the
//! thread that waits for it. The size is therefore stored, whichever thread panics, and later panics are not printed.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Once;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use cubecl::Runtime;

use crate::{Error, Gpu};

/// Threads that search for a device: panics meanwhile are not printed.
static SEARCHING: AtomicUsize = AtomicUsize::new(0);
/// Threads that work on a device.
static AT_WORK: AtomicUsize = AtomicUsize::new(0);
/// Bytes of the buffer that could not be allocated during work; 0 if all could.
static REFUSED: AtomicU64 = AtomicU64::new(0);

/// Installs a panic hook at the first call. The hook before it still prints all other panics; it is never restored, as two threads that swap hooks may leave the wrong one.
fn listen() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if let Some(bytes) = info.payload_as_str().and_then(refused_bytes).filter(|_| AT_WORK.load(Ordering::SeqCst) > 0) {
                REFUSED.store(bytes, Ordering::SeqCst);
            }
            if REFUSED.load(Ordering::SeqCst) == 0 && SEARCHING.load(Ordering::SeqCst) == 0 {
                before(info);
            }
        }));
    });
}

/// The bytes of the buffer that could not be allocated, if that is what the panic is about.
fn refused_bytes(text: &str) -> Option<u64> {
    let (_, rest) = text.split_once("can't allocate buffer of size: ")?;
    rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok().filter(|&bytes| bytes > 0)
}

/// The device that `find` returns; none if it panics, which is not printed.
pub(crate) fn search<T>(find: impl FnOnce() -> T) -> Option<T> {
    listen();
    SEARCHING.fetch_add(1, Ordering::SeqCst);
    let found = catch_unwind(AssertUnwindSafe(find));
    SEARCHING.fetch_sub(1, Ordering::SeqCst);
    found.ok()
}

/// Does work on a device. Panics for another reason than memory are resumed.
///
/// # Errors
/// If memory runs out; the device then says how much it has.
pub fn guarded<R: Runtime, T>(device: impl FnOnce() -> Result<Gpu<R>, Error>, work: impl FnOnce() -> T) -> Result<T, Error> {
    listen();
    AT_WORK.fetch_add(1, Ordering::SeqCst);
    let done = catch_unwind(AssertUnwindSafe(work));
    AT_WORK.fetch_sub(1, Ordering::SeqCst);
    match (REFUSED.swap(0, Ordering::SeqCst), done) {
        (0, Ok(done)) => Ok(done),
        (0, Err(panic)) => resume_unwind(panic),
        (asked, _) => {
            let gpu = device()?;
            Err(Error::Memory { asked, taken: gpu.memory().unwrap_or(0), most: gpu.client().properties().memory.max_page_size })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_of_a_refused_buffer_is_read_from_the_message() {
        let message =
            "called `Result::unwrap()` on an `Err` value: can't allocate buffer of size: 8589934592\nNo backtrace available";
        assert_eq!(refused_bytes(message), Some(8_589_934_592));
        assert_eq!(refused_bytes("can't allocate buffer of size: many"), None);
        assert_eq!(refused_bytes("index out of bounds: the len is 3 but the index is 3"), None);
    }

    #[test]
    fn a_search_for_a_device_may_panic() {
        assert_eq!(search(|| 3), Some(3));
        assert_eq!(search(|| panic!("no driver")), None::<()>);
    }
}
