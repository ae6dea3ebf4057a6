//! What the system says about the memory of this process. Linux says it in `/proc`; elsewhere nothing is known.

use std::fs;

/// The largest number of bytes that this process has held at once, since it began or since [`Watch::begin`].
pub fn peak() -> Option<u64> {
    field(&fs::read_to_string("/proc/self/status").ok()?, "VmHWM")
}

/// A line `name:   123 kB`, in bytes.
///
/// ```
/// use ncde_experiment::memory::field;
/// let text = "MemFree:  1 kB\nMemAvailable:   20 kB\nVmHWM: x kB\n";
/// assert_eq!([field(text, "MemAvailable"), field(text, "Mem"), field(text, "VmHWM")], [Some(20 * 1024), None, None]);
/// ```
pub fn field(text: &str, name: &str) -> Option<u64> {
    let lines = text.lines().filter_map(|line| line.split_once(':'));
    let (_, value) = lines.into_iter().find(|(key, _)| *key == name)?;
    let kib: u64 = value.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

/// The peak of a stretch of time, all that was held before it included.
#[derive(Debug)]
pub struct Watch {
    begun: bool,
}

impl Watch {
    /// Begins: the peak falls to what is held now.
    pub fn begin() -> Self {
        Self { begun: fs::write("/proc/self/clear_refs", "5").is_ok() }
    }

    /// The peak since then in MiB, where the system could begin anew.
    pub fn mebibytes(&self) -> Option<f64> {
        peak().filter(|_| self.begun).map(|bytes| bytes as f64 / f64::from(1 << 20))
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_watch_sees_what_is_held_while_it_goes_on() {
        let hold = |mebibytes: usize| std::hint::black_box(vec![1_u8; mebibytes << 20]).len();
        hold(200);
        let Some(before) = Watch::begin().mebibytes() else { return };
        let watch = Watch::begin();
        hold(50);
        let seen = watch.mebibytes().unwrap();
        // Other tests run beside this one, so that only what is small and what is there can be told.
        assert!(seen >= before.min(50.0) && seen >= 50.0, "{before} {seen}");
    }
}
