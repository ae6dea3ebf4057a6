//! A random order of `n` things of which any place can be asked for, in constant memory:
//!
//! ```text
//! x = (l, r) in Z_a x Z_b, a b >= n:   l <- l + F_1(r),   r <- r + F_2(l),   ...   again until x < n
//! ```
//!
//! Each addition can be undone, so the whole is a bijection of `Z_a x Z_b` (an unbalanced Feistel network, Luby and Rackoff 1988), and taking it again where it
//! leaves the numbers below `n` is one of those (Black and Rogaway, "Ciphers with arbitrary finite domains", 2002). So a million *distinct* words
//! need no list of a million words.

use ncde_runtime::random::Stream;

/// Additions in all; four make an order that cannot be told from a random one by looking at few of its places.
const ROUNDS: u64 = 8;

/// A random order of the numbers below `n`.
///
/// ```
/// use ncde_runtime::random::Stream;
/// use ncde_experiment::Shuffle;
/// let order = Shuffle::new(10, Stream::new(7, 0));
/// let mut seen: Vec<u128> = (0..10).map(|i| order.at(i)).collect();
/// assert_ne!(seen, (0..10).collect::<Vec<_>>());
/// seen.sort();
/// assert_eq!(seen, (0..10).collect::<Vec<_>>());
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Shuffle {
    n: u128,
    a: u64,
    b: u64,
    stream: Stream,
}

impl Shuffle {
    /// Of so many things, at most `2^126`.
    pub fn new(n: u128, stream: Stream) -> Self {
        let n = n.clamp(1, 1 << 126);
        let mut a = n.isqrt();
        a += u128::from(a * a < n);
        // Both fit: the root of n is at most 2^63.
        let (a, b) = (a as u64, n.div_ceil(a) as u64);
        Self { n, a, b, stream }
    }

    /// What is at place `i`, counted modulo `n`.
    pub fn at(&self, i: u128) -> u128 {
        let mut x = i % self.n;
        loop {
            x = self.once(x);
            if x < self.n {
                return x;
            }
        }
    }

    fn once(&self, x: u128) -> u128 {
        let (a, b) = (u128::from(self.a), u128::from(self.b));
        let (mut l, mut r) = (x / b, x % b);
        for round in 0..ROUNDS {
            let stream = self.stream.child(round);
            if round % 2 == 0 {
                l = (l + u128::from(stream.bits(r as u64))) % a;
            } else {
                r = (r + u128::from(stream.bits(l as u64))) % b;
            }
        }
        l * b + r
    }
}
