//! Normal numbers that depend only on a seed and a place: splitmix64 at that place, then Box-Muller.

/// The `i`-th of a stream of standard normal numbers.
pub(super) fn normal(seed: u64, i: u64) -> f64 {
    let radius = (-2.0 * uniform(seed, 2 * i).ln()).sqrt();
    radius * (std::f64::consts::TAU * uniform(seed, 2 * i + 1)).cos()
}

/// Uniform on (0, 1]: its logarithm is finite.
pub(super) fn uniform(seed: u64, i: u64) -> f64 {
    ((splitmix64(seed, i) >> 11) + 1) as f64 / (1_u64 << 53) as f64
}

/// The `i`-th output of splitmix64 (Steele, Lea, Flood 2014).
fn splitmix64(seed: u64, i: u64) -> u64 {
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
    fn the_first_moments_are_normal() {
        let n = 100_000;
        let moment = |p: i32| (0..n).map(|i| normal(0, i).powi(p)).sum::<f64>() / n as f64;
        let [mean, variance, skew, kurtosis] = [1, 2, 3, 4].map(moment);
        assert!(mean.abs() < 0.02 && (variance - 1.0).abs() < 0.02, "{mean} {variance}");
        assert!(skew.abs() < 0.05 && (kurtosis - 3.0).abs() < 0.1, "{skew} {kurtosis}");
    }
}
