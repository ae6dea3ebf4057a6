//! Panics of the libraries below, as errors.
//!
//! They have no other way to say that a driver is missing or that memory has run out. Of memory, a thread of theirs panics with the size that was asked for and goes on; what uses the missing buffer
//! panics later, in the thread that waits for it. So what is said is kept, whichever thread says it, and what follows from it is not printed.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Once;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use cubecl::Runtime;

use crate::{Error, Gpu};

/// How many are looking for a device: what panics meanwhile is not printed.
static LOOKING: AtomicUsize = AtomicUsize::new(0);
/// How many are at work on a device.
static AT_WORK: AtomicUsize = AtomicUsize::new(0);
/// Bytes for which there was no room, while somebody was at work; 0 if there was.
static ASKED: AtomicU64 = AtomicU64::new(0);

/// Listens to panics, from the first call on. The hook before stays and prints what is none of ours; it is never swapped back, as two threads that swap hooks may leave the wrong one.
fn listen() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if let Some(bytes) = info.payload_as_str().and_then(asked).filter(|_| AT_WORK.load(Ordering::SeqCst) > 0) {
                ASKED.store(bytes, Ordering::SeqCst);
            }
            if ASKED.load(Ordering::SeqCst) == 0 && LOOKING.load(Ordering::SeqCst) == 0 {
                before(info);
            }
        }));
    });
}

/// The bytes of a buffer for which there was no room, if that is what a panic says.
fn asked(text: &str) -> Option<u64> {
    let (_, rest) = text.split_once("can't allocate buffer of size: ")?;
    rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok().filter(|&bytes| bytes > 0)
}

/// What looks for a device; none if it panics, which is not printed.
pub(crate) fn looked_for<T>(find: impl FnOnce() -> T) -> Option<T> {
    listen();
    LOOKING.fetch_add(1, Ordering::SeqCst);
    let found = catch_unwind(AssertUnwindSafe(find));
    LOOKING.fetch_sub(1, Ordering::SeqCst);
    found.ok()
}

/// Does work on a device. What panics in it for another reason than memory goes on panicking.
///
/// # Errors
/// If memory runs out; the device then says how much it has.
pub fn guarded<R: Runtime, T>(device: impl FnOnce() -> Result<Gpu<R>, Error>, work: impl FnOnce() -> T) -> Result<T, Error> {
    listen();
    AT_WORK.fetch_add(1, Ordering::SeqCst);
    let done = catch_unwind(AssertUnwindSafe(work));
    AT_WORK.fetch_sub(1, Ordering::SeqCst);
    match (ASKED.swap(0, Ordering::SeqCst), done) {
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
    fn what_was_asked_for_is_read_from_what_is_said() {
        let said =
            "called `Result::unwrap()` on an `Err` value: can't allocate buffer of size: 8589934592\nNo backtrace available";
        assert_eq!(asked(said), Some(8_589_934_592));
        assert_eq!(asked("can't allocate buffer of size: many"), None);
        assert_eq!(asked("index out of bounds: the len is 3 but the index is 3"), None);
    }

    #[test]
    fn what_looks_for_a_device_may_panic() {
        assert_eq!(looked_for(|| 3), Some(3));
        assert_eq!(looked_for(|| panic!("no driver")), None::<()>);
    }
}
