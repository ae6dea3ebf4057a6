//! Broken copies of good files, for the tests of readers: for any bytes a reader returns valid data or an error.
//!
//! By default the mutants follow from a fixed seed, so that a failure can be repeated. With `FUZZ_SECONDS=600` the test runs for that
//! time with a new seed, and accepted mutants are mutated again, so that changes accumulate. The mutant at which a test fails is
//! printed as a Rust literal, to become a test of its own.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The counter-based generator `SplitMix64`.
#[derive(Debug)]
pub struct Random(pub u64);

impl Random {
    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    /// A number below a bound; 0 if that is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.bits() % bound.max(1) as u64) as usize
    }
}

/// Byte strings that have a meaning in one of the file formats.
const TOKENS: &[&[u8]] = &[
    b",",
    b":",
    b"\n",
    b"\r\n",
    b"\"",
    b"'",
    b"?",
    b"(",
    b")",
    b"NaN",
    b"inf",
    b"-",
    b"1e999",
    b"@data",
    b"@timeStamps true\n",
    b"@dimensions 99999999999\n",
    b"\\n",
    b"{",
    b"}",
    b"\xff",
    b"\0",
    b"2020-01-01T00:00:00Z",
    b"id",
    b"9223372036854775808",
    b"=",
    b"\xef\xbb\xbf",
    b"(1000000000000, 1, 1)",
    b"'<U9'",
    b"%",
    b"#",
    b"99999999999999999999999999999999999999.5e-10",
    b"[",
    b"]",
    b"null",
    b"1e308",
    b"\xff\xff\xff\xff",
    b"\x00\x00\x00\x80",
    b"\\u0000",
    b"-0",
    b"9999-12-31",
    b"\xe2\x80\xa8",
];

/// A copy with one to four changes: truncation, deletion, insertion, replacement, duplication, or one changed byte.
pub fn mutated(seed: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    for _ in 0..=random.below(4) {
        let at = random.below(bytes.len());
        let end = (at + random.below(12)).min(bytes.len());
        match random.below(7) {
            0 => bytes.truncate(at),
            1 => drop(bytes.drain(at..end)),
            2 => drop(bytes.splice(at..at, TOKENS[random.below(TOKENS.len())].iter().copied())),
            3 => drop(bytes.splice(at..end, TOKENS[random.below(TOKENS.len())].iter().copied())),
            4 => {
                let copy = bytes[at..end].to_vec();
                let to = random.below(bytes.len());
                bytes.splice(to..to, copy);
            }
            _ if !bytes.is_empty() => bytes[at] = random.bits() as u8,
            _ => {}
        }
    }
    bytes
}

/// The time to run for, from the environment variable `FUZZ_SECONDS`.
fn requested_time() -> Option<Duration> {
    std::env::var("FUZZ_SECONDS").ok()?.parse().ok().map(Duration::from_secs)
}

/// The most processor time that one mutant may take; beyond it the reader is taken not to end.
const MAX_TIME: Duration = Duration::from_secs(10);

/// The processor time of this thread, where Linux reports it: wall time would count waiting for other programs.
fn processor_time() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
}

/// The most accepted mutants that are mutated again, and the most bytes of each.
const MAX_PARENTS: usize = 1 << 12;
const MAX_PARENT_BYTES: usize = 1 << 12;

/// Calls `accepts` with mutants of the seeds, `rounds` of each or for `FUZZ_SECONDS`, and counts those accepted and those refused.
///
/// ```
/// let (good, bad) = ncde_reference::mutation::mutants(&[b"12,34".to_vec()], 100, |text| text.iter().all(u8::is_ascii));
/// assert!(good > 0 && bad > 0);
/// ```
///
/// # Panics
/// If a mutant takes more than 10 seconds of a processor.
#[allow(clippy::print_stderr, reason = "the mutant at which a test fails is what the test is for")]
pub fn mutants(seeds: &[Vec<u8>], rounds: usize, mut accepts: impl FnMut(&[u8]) -> bool) -> (u64, u64) {
    let mut count = (0, 0);
    let mut test = |bytes: &[u8]| {
        let guard = PrintOnPanic(bytes);
        let start = (Instant::now(), processor_time());
        let accepted = accepts(bytes);
        let spent = start.1.zip(processor_time()).map_or_else(|| start.0.elapsed(), |(start, end)| end.saturating_sub(start));
        assert!(spent < MAX_TIME, "a mutant took {spent:?}");
        std::mem::forget(guard);
        *(if accepted { &mut count.0 } else { &mut count.1 }) += 1;
        accepted
    };
    match requested_time() {
        None => {
            let mut random = Random(7);
            for seed in seeds {
                for _ in 0..rounds {
                    test(&mutated(seed, &mut random));
                }
            }
        }
        Some(time) => {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            let mut random = Random(now.as_nanos() as u64);
            let mut parents = seeds.to_vec();
            let start = Instant::now();
            while start.elapsed() < time {
                let parent = random.below(parents.len());
                let mut mutant = mutated(&parents[parent], &mut random);
                if random.below(16) == 0 {
                    // Crossover: the end of another parent.
                    let other = &parents[random.below(parents.len())];
                    let (at, from) = (random.below(mutant.len()), random.below(other.len()));
                    mutant.truncate(at);
                    mutant.extend_from_slice(&other[from..]);
                }
                if test(&mutant) && mutant.len() <= MAX_PARENT_BYTES {
                    if parents.len() < MAX_PARENTS {
                        parents.push(mutant);
                    } else {
                        let replaced = seeds.len() + random.below(parents.len() - seeds.len());
                        parents[replaced] = mutant;
                    }
                }
            }
            eprintln!("{} mutants accepted, {} refused in {:.0} s", count.0, count.1, start.elapsed().as_secs_f64());
        }
    }
    count
}

/// Prints the mutant when the test panics.
struct PrintOnPanic<'a>(&'a [u8]);

impl Drop for PrintOnPanic<'_> {
    #[allow(clippy::print_stderr, reason = "the mutant at which a test fails is what the test is for")]
    fn drop(&mut self) {
        eprintln!("the mutant: b\"{}\"", self.0.escape_ascii());
    }
}
