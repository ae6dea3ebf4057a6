//! What the system says about memory. Linux says it in `/proc`; elsewhere nothing is known.

use std::fs;

use ncde_experiment::memory::field;
pub(crate) use ncde_experiment::memory::peak;

const MIB: f64 = (1_u64 << 20) as f64;

/// Bytes as MiB.
pub(crate) fn mib(bytes: u64) -> f64 {
    bytes as f64 / MIB
}

/// How many bytes can still be had without swapping.
fn available() -> Option<u64> {
    field(&fs::read_to_string("/proc/meminfo").ok()?, "MemAvailable")
}

/// Says what is short if so many bytes are more than can be had.
pub(crate) fn shortage(bytes: u128) -> Option<String> {
    let available = available().map(u128::from)?;
    (bytes > available).then(|| format!("{} are needed, but {} of memory are available", words(bytes), words(available)))
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
