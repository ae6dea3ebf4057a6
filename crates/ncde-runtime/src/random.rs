//! Random numbers that depend only on a seed, a stream and a place: no state, no order, the same on every machine.
//!
//! ```text
//! key(seed, stream) = s(seed, stream),   bits(place) = s(key, place),   s(k, i) = the i-th output of splitmix64 seeded with k
//! ```
//!
//! Steele, Lea, Flood, "Fast splittable pseudorandom number generators" (2014). All initial weights, masks, splits,
//! shuffles and dropout are drawn from here.

/// A stream of random numbers that can be asked for any of its places.
///
/// ```
/// use ncde_runtime::random::Stream;
/// let weights = Stream::new(7, 0);
/// assert_eq!(weights.uniform(1000), Stream::new(7, 0).uniform(1000));
/// assert_ne!(weights.uniform(1000), Stream::new(7, 1).uniform(1000));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stream {
    key: u64,
}

impl Stream {
    /// Stream `stream` of a seed.
    pub fn new(seed: u64, stream: u64) -> Self {
        Self { key: splitmix64(seed, stream) }
    }

    /// The stream with this [`key`](Self::key).
    pub fn from_key(key: u64) -> Self {
        Self { key }
    }

    /// The number that tells this stream from others.
    pub fn key(&self) -> u64 {
        self.key
    }

    /// A stream of its own for part `i` of what this one is for.
    #[must_use]
    pub fn child(&self, i: u64) -> Self {
        // Children live where no place is asked for: far from the start of the parent, under another key.
        Self { key: splitmix64(!self.key, i) }
    }

    /// 64 random bits.
    pub fn bits(&self, place: u64) -> u64 {
        splitmix64(self.key, place)
    }

    /// Uniform on [0, 1), in steps of 2^-53.
    pub fn uniform(&self, place: u64) -> f64 {
        (self.bits(place) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// The numbers below `n` in random order (Fisher and Yates).
    pub fn permutation(&self, n: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..n).collect();
        for i in (1..n).rev() {
            // Below 2^32 entries the bias of this multiplication is below 2^-32.
            let j = ((u128::from(self.bits(i as u64)) * (i as u128 + 1)) >> 64) as usize;
            order.swap(i, j);
        }
        order
    }

    /// Standard normal, by Box and Muller's transform of uniform numbers at places `2 place` and `2 place + 1`.
    pub fn normal(&self, place: u64) -> f64 {
        // 1 - u is never 0, so the logarithm is finite.
        let radius = (-2.0 * (1.0 - self.uniform(2 * place)).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform(2 * place + 1)).cos()
    }
}

/// The `i`-th output of splitmix64 with this seed.
pub fn splitmix64(seed: u64, i: u64) -> u64 {
    let mut z = seed.wrapping_add(i.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splitmix64_gives_its_published_stream() {
        // The first outputs for seed 1234567, as listed with the reference implementation.
        let stream: Vec<u64> = (0..3).map(|i| splitmix64(1_234_567, i)).collect();
        assert_eq!(stream, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    #[test]
    fn the_first_moments_are_right() {
        let n = 100_000;
        for stream in [Stream::new(0, 0), Stream::new(0, 1), Stream::new(0, 0).child(3)] {
            let moment = |p: i32| (0..n).map(|i| stream.normal(i).powi(p)).sum::<f64>() / n as f64;
            let [mean, variance, skew, kurtosis] = [1, 2, 3, 4].map(moment);
            assert!(mean.abs() < 0.02 && (variance - 1.0).abs() < 0.02, "{mean} {variance}");
            assert!(skew.abs() < 0.05 && (kurtosis - 3.0).abs() < 0.1, "{skew} {kurtosis}");
            let uniform = (0..n).map(|i| stream.uniform(i)).sum::<f64>() / n as f64;
            assert!((uniform - 0.5).abs() < 0.01, "{uniform}");
        }
    }

    #[test]
    fn permutations_hold_every_number_once_and_are_fair() {
        let n = 5;
        let mut places = vec![[0_usize; 5]; n];
        for seed in 0..10_000 {
            let order = Stream::new(seed, 3).permutation(n);
            let mut sorted = order.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, [0, 1, 2, 3, 4]);
            order.iter().enumerate().for_each(|(place, &i)| places[i][place] += 1);
        }
        assert!(places.iter().flatten().all(|&count| (1800..2200).contains(&count)), "{places:?}");
    }

    #[test]
    fn streams_do_not_resemble_each_other() {
        let n = 10_000;
        let parent = Stream::new(5, 0);
        for other in [Stream::new(5, 1), Stream::new(6, 0), parent.child(0), parent.child(1)] {
            let correlation = (0..n).map(|i| parent.normal(i) * other.normal(i)).sum::<f64>() / n as f64;
            assert!(correlation.abs() < 0.05, "{correlation}");
        }
    }
}
