//! What the system says about memory. Linux says it in `/proc`; elsewhere nothing is known.

use std::fs;

use ncde_experiment::memory::field;
pub(crate) use ncde_experiment::memory::peak;

use crate::error::Failure;

const MIB: f64 = (1_u64 << 20) as f64;

pub(crate) fn mib(bytes: u64) -> f64 {
    bytes as f64 / MIB
}

/// How many bytes can still be had without swapping.
fn available() -> Option<u64> {
    field(&fs::read_to_string("/proc/meminfo").ok()?, "MemAvailable")
}

/// Refuses work that needs more bytes than can be had; `problem` makes a message of what is short.
pub(crate) fn check(bytes: u128, problem: impl FnOnce(String) -> String) -> Result<(), Failure> {
    match available().map(u128::from) {
        Some(available) if bytes > available => {
            let shortage = format!("{} are needed, but {} of memory are available", words(bytes), words(available));
            Err(Failure::Refused(problem(shortage)))
        }
        _ => Ok(()),
    }
}

/// Bytes as people write them.
fn words(bytes: u128) -> String {
    const UNITS: [&str; 7] = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 || value >= 1e6 { format!("{value:.0} {}", UNITS[unit]) } else { format!("{value:.1} {}", UNITS[unit]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_read_well() {
        assert_eq!(words(12), "12 bytes");
        assert_eq!(words(1536), "1.5 KiB");
        assert_eq!(words(3 << 30), "3.0 GiB");
    }
}
