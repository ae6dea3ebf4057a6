//! Broken copies of good files, for the tests of readers: whatever the bytes are, a reader gives something sound or an error.
//!
//! By default the mutants are a function of a seed, so that a failure comes back. With `FUZZ_SECONDS=600` they go on for so
//! long, from another seed each time, and mutants that a reader takes are mutated again, so that changes add up. The mutant at
//! which a test fails is printed as a Rust literal, to become a test of its own.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A counter, mixed: the generator `SplitMix64`.
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

/// Pieces that mean something to one format or another.
const PIECES: &[&[u8]] = &[
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

/// A copy with one to four changes: cut, dropped, put in, put over, doubled or flipped.
pub fn mutated(seed: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    for _ in 0..=random.below(4) {
        let at = random.below(bytes.len());
        let end = (at + random.below(12)).min(bytes.len());
        match random.below(7) {
            0 => bytes.truncate(at),
            1 => drop(bytes.drain(at..end)),
            2 => drop(bytes.splice(at..at, PIECES[random.below(PIECES.len())].iter().copied())),
            3 => drop(bytes.splice(at..end, PIECES[random.below(PIECES.len())].iter().copied())),
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

/// How long to go on, if the environment says.
fn asked() -> Option<Duration> {
    std::env::var("FUZZ_SECONDS").ok()?.parse().ok().map(Duration::from_secs)
}

/// A mutant may take so much time of a processor: more is a reader that does not end.
const LONGEST: Duration = Duration::from_secs(10);

/// How long this thread has run, where Linux says so: other programs may keep it waiting for as long as they like.
fn on_a_processor() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
}

/// The most mutants that are mutated again, and how large they may be.
const KEPT: usize = 1 << 12;
const LARGEST: usize = 1 << 12;

/// Calls `takes` with mutants of the seeds: `rounds` of each, or for as long as `FUZZ_SECONDS` says. It returns whether the
/// mutant was taken; how many were, and how many were not.
///
/// ```
/// let (good, bad) = ncde_fuzz::mutants(&[b"12,34".to_vec()], 100, |text| text.iter().all(u8::is_ascii));
/// assert!(good > 0 && bad > 0);
/// ```
///
/// # Panics
/// If a mutant takes more than 10 seconds of a processor.
#[allow(clippy::print_stderr, reason = "the mutant at which a test fails is what the test is for")]
pub fn mutants(seeds: &[Vec<u8>], rounds: usize, mut takes: impl FnMut(&[u8]) -> bool) -> (u64, u64) {
    let mut count = (0, 0);
    let mut shown = |bytes: &[u8]| {
        let guard = Shown(bytes);
        let begun = (Instant::now(), on_a_processor());
        let taken = takes(bytes);
        let spent = begun.1.zip(on_a_processor()).map_or_else(|| begun.0.elapsed(), |(begun, end)| end.saturating_sub(begun));
        assert!(spent < LONGEST, "a mutant took {spent:?}");
        std::mem::forget(guard);
        *(if taken { &mut count.0 } else { &mut count.1 }) += 1;
        taken
    };
    match asked() {
        None => {
            let mut random = Random(7);
            for seed in seeds {
                for _ in 0..rounds {
                    shown(&mutated(seed, &mut random));
                }
            }
        }
        Some(time) => {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            let mut random = Random(now.as_nanos() as u64);
            let mut kept = seeds.to_vec();
            let begun = Instant::now();
            while begun.elapsed() < time {
                let parent = random.below(kept.len());
                let mut mutant = mutated(&kept[parent], &mut random);
                if random.below(16) == 0 {
                    // The end of another.
                    let other = &kept[random.below(kept.len())];
                    let (at, from) = (random.below(mutant.len()), random.below(other.len()));
                    mutant.truncate(at);
                    mutant.extend_from_slice(&other[from..]);
                }
                if shown(&mutant) && mutant.len() <= LARGEST {
                    if kept.len() < KEPT {
                        kept.push(mutant);
                    } else {
                        let place = seeds.len() + random.below(kept.len() - seeds.len());
                        kept[place] = mutant;
                    }
                }
            }
            eprintln!("{} mutants taken, {} refused in {:.0} s", count.0, count.1, begun.elapsed().as_secs_f64());
        }
    }
    count
}

/// Bytes that are printed where a panic passes.
struct Shown<'a>(&'a [u8]);

impl Drop for Shown<'_> {
    #[allow(clippy::print_stderr, reason = "the mutant at which a test fails is what the test is for")]
    fn drop(&mut self) {
        eprintln!("the mutant: b\"{}\"", self.0.escape_ascii());
    }
}
