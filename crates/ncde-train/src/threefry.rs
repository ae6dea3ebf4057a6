//! The thesis's permutations: Threefry with keys that are split, as `jax.random` draws them.
//!
//! ```text
//! order(seed) = 0..n sorted by bits(split(k)_1),   k = split(split(k_seed)_0)_0,   again with k <- split(k)_0 for each further 2^32 in n^3,   k_seed = (0, seed),
//! since JAX 0.5:    split(k)_i = E_k(0, i),   bits(k)_i = E_k(0, i)_0 xor E_k(0, i)_1,
//! before:           bits(k) = (E_k(0, m)_0, ..., E_k(m - 1, 2m - 1)_0, E_k(0, m)_1, ...) with m = ceil(n / 2),   split(k)_i = (bits(k)_2i, bits(k)_(2i+1)), where a key is split into n / 2
//! ```
//!
//! `E_k` is Threefry-2x32 with 20 rounds (Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", 2011). The thesis's code cuts this order into its
//! parts, so both can be run on the same ones.

/// Which of JAX's ways to draw: they give different numbers for the same key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Threefry {
    /// That of JAX before 0.5, in which the first half of all numbers is drawn beside the second.
    Original,
    /// The default since JAX 0.5, in which each is drawn by itself.
    Partitionable,
}

/// A key, or a block of two words.
type Words = [u32; 2];

const ROTATIONS: [[u32; 4]; 2] = [[13, 15, 26, 6], [17, 29, 16, 24]];
const PARITY: u32 = 0x1bd1_1bda;

/// `E_k(block)`.
fn encrypt(key: Words, block: Words) -> Words {
    let keys = [key[0], key[1], key[0] ^ key[1] ^ PARITY];
    let [mut x, mut y] = [block[0].wrapping_add(keys[0]), block[1].wrapping_add(keys[1])];
    for group in 0..5_u32 {
        for turn in ROTATIONS[group as usize % 2] {
            x = x.wrapping_add(y);
            y = y.rotate_left(turn) ^ x;
        }
        let next = group as usize + 1;
        x = x.wrapping_add(keys[next % 3]);
        y = y.wrapping_add(keys[(next + 1) % 3]).wrapping_add(group + 1);
    }
    [x, y]
}

fn block(i: usize) -> Words {
    [(i as u64 >> 32) as u32, i as u32]
}

impl Threefry {
    /// `n` numbers.
    fn bits(self, key: Words, n: usize) -> Vec<u32> {
        match self {
            Self::Original => {
                let half = n.div_ceil(2);
                // Without a partner the middle one has 0.
                let pair = |i: usize| encrypt(key, [i as u32, if half + i < n { (half + i) as u32 } else { 0 }]);
                let pairs: Vec<Words> = (0..half).map(pair).collect();
                [0, 1].iter().flat_map(|&side| pairs.iter().map(move |pair| pair[side])).take(n).collect()
            }
            Self::Partitionable => (0..n).map(|i| encrypt(key, block(i))).map(|[x, y]| x ^ y).collect(),
        }
    }

    /// Key `i` of the `keys` that one is split into.
    fn split(self, key: Words, keys: usize, i: usize) -> Words {
        match self {
            Self::Original => {
                let all = self.bits(key, 2 * keys);
                [all[2 * i], all[2 * i + 1]]
            }
            Self::Partitionable => encrypt(key, block(i)),
        }
    }

    /// The numbers below `n`, in the order in which the thesis's code takes them for a seed.
    pub(crate) fn permutation(self, seed: u64, n: usize) -> Vec<usize> {
        // The first of four keys is for the data, and the first of its two for the order.
        let mut key = self.split(self.split(block(seed as usize), 4, 0), 2, 0);
        let rounds = (3.0 * (n.max(1) as f64).ln() / f64::from(u32::MAX).ln()).ceil() as usize;
        let mut order: Vec<usize> = (0..n).collect();
        for _ in 0..rounds {
            let draws = self.split(key, 2, 1);
            key = self.split(key, 2, 0);
            let mut drawn: Vec<(u32, usize)> = self.bits(draws, n).into_iter().zip(order).collect();
            // Stable: two equal draws keep their order.
            drawn.sort_by_key(|&(bits, _)| bits);
            order = drawn.into_iter().map(|(_, i)| i).collect();
        }
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threefry_gives_its_published_vectors() {
        // The known answers of Random123 for threefry2x32, 20 rounds.
        assert_eq!(encrypt([0, 0], [0, 0]), [0x6b20_0159, 0x99ba_4efe]);
        assert_eq!(encrypt([u32::MAX; 2], [u32::MAX; 2]), [0x1cb9_96fc, 0xbb00_2be7]);
        assert_eq!(encrypt([0x1319_8a2e, 0x0370_7344], [0x243f_6a88, 0x85a3_08d3]), [0xc492_3a9c, 0x483d_f7a0]);
    }

    fn ends(threefry: Threefry, seed: u64, n: usize) -> (Vec<usize>, usize) {
        let order = threefry.permutation(seed, n);
        (order[..7].to_vec(), order[n - 1])
    }

    #[test]
    fn orders_are_those_of_jax() {
        // `key = jax.random.split(jax.random.PRNGKey(seed), 4)[0]; jax.random.permutation(jax.random.split(key)[0], n)`, jax 0.10.2.
        let own = Threefry::Partitionable;
        assert_eq!(ends(own, 2345, 409), (vec![220, 366, 200, 170, 296, 102, 305], 85));
        assert_eq!(ends(own, 6789, 7), (vec![2, 1, 4, 3, 5, 0, 6], 6));
        // Beyond 1625 cases JAX sorts twice.
        assert_eq!(ends(own, 2345, 5000), (vec![3227, 2356, 1296, 3296, 1435, 3149, 4327], 2228));
        assert_eq!(own.permutation(1234, 1), [0]);
        assert!(own.permutation(1234, 0).is_empty());
    }

    /// Orders that gave, cut as the thesis's code does, the published parts of 2024 of `SelfRegulationSCP1` (561 cases, an odd number) and `SelfRegulationSCP2` (380) for all five seeds.
    #[test]
    fn orders_are_those_of_the_published_parts_of_2024() {
        let own = Threefry::Original;
        assert_eq!(ends(own, 2345, 561), (vec![96, 129, 318, 480, 232, 439, 326], 209));
        assert_eq!(ends(own, 6789, 561), (vec![526, 546, 473, 357, 474, 170, 376], 364));
        assert_eq!(ends(own, 3456, 380), (vec![47, 218, 138, 65, 19, 235, 370], 5));
        assert_eq!(own.permutation(1234, 1), [0]);
        assert!(own.permutation(1234, 0).is_empty());
    }
}
