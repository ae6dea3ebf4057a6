//! The p-variation of a discrete path, exactly:
//!
//! `||x||_p = (max over 0 = i_0 < ... < i_k = n of sum_j |x_{i_j} - x_{i_{j-1}}|^p)^{1/p}`, Euclidean norm.
//!
//! A dynamic programme: `V_0 = 0` and `V_j = max_{i<j} V_i + |x_j - x_i|^p`. For `p = 1` every point is used
//! (triangle inequality). Else whole blocks of `i` are skipped: `V` does not decrease, so if a block
//! `[a, b)` lies within `radius` of its `centre`, none of its points gives more than
//! `V_{b-1} + (|x_j - centre| + radius)^p`. Blocks are dyadic. Cost: n log n distances to measure the
//! blocks, then about n log n for typical paths, n^2 at worst; memory 2n for the blocks.

use super::series::{check_finite, whole_rows};
use crate::{Error, Float};

/// The p-variation of the path through `values`, `[length, channels]`, computed in `f64`.
///
/// ```
/// use ncde_signature::path::p_variation;
/// // Up 1, down 1, up 2: turning back pays.
/// let x = [0.0, 1.0, 0.0, 2.0];
/// assert!((p_variation(&x, 1, 2.0)? - 6.0_f64.sqrt()).abs() < 1e-15);
/// assert_eq!(p_variation(&x, 1, 1.0)?, 4.0);
/// # Ok::<(), ncde_signature::Error>(())
/// ```
///
/// # Errors
/// [`Error::BadParameter`] if `p` is not a finite number of at least 1, or so large that powers overflow;
/// [`Error::EmptySeries`], [`Error::NoChannels`], [`Error::Size`] if the last observation is not whole, or
/// [`Error::NotFinite`].
pub fn p_variation<T: Float>(values: &[T], channels: usize, p: f64) -> Result<f64, Error> {
    Ok(optimal_partition(values, channels, p)?.0)
}

/// The p-variation, and the observations `0 = i_0 < ... < i_k = n` of a partition that attains it.
///
/// ```
/// use ncde_signature::path::optimal_partition;
/// let x = [0.0, 1.0, 2.0, 1.5];
/// let (variation, partition) = optimal_partition(&x, 1, 2.0)?;
/// assert_eq!(partition, [0, 2, 3]);
/// assert!((variation - 4.25_f64.sqrt()).abs() < 1e-15);
/// # Ok::<(), ncde_signature::Error>(())
/// ```
///
/// # Errors
/// As for [`p_variation`].
pub fn optimal_partition<T: Float>(values: &[T], channels: usize, p: f64) -> Result<(f64, Vec<usize>), Error> {
    if !(p >= 1.0 && p.is_finite()) {
        return Err(bad_power(p, "finite and at least 1"));
    }
    let length = whole_rows("p-variation", values.len(), channels)?;
    if length == 0 {
        return Err(Error::EmptySeries);
    }
    check_finite(values, channels, "fill or drop what is missing first")?;
    let points = Points::new(values, channels);
    let (sum, partition) = if p == 1.0 {
        let sum = (1..length).map(|j| points.distance(j - 1, j)).sum();
        (sum, (0..length).collect())
    } else {
        programme(&points, length, p)
    };
    if f64::is_infinite(sum) {
        return Err(bad_power(p, "small enough for powers of distances to be represented"));
    }
    Ok((points.scale * sum.powf(1.0 / p), partition))
}

fn bad_power(p: f64, wanted: &'static str) -> Error {
    Error::BadParameter { what: "the p of a p-variation", wanted, seen: format!("`{p}`") }
}

/// The points in `f64`, divided by a power of two near their spread so that p-th powers stay in range.
struct Points {
    coordinates: Vec<f64>,
    channels: usize,
    scale: f64,
}

impl Points {
    fn new<T: Float>(values: &[T], channels: usize) -> Self {
        let mut coordinates: Vec<f64> = values.iter().map(|value| value.to_f64()).collect();
        let (first, rest) = coordinates.split_at(channels);
        let spread =
            rest.chunks_exact(channels).flat_map(|point| point.iter().zip(first).map(|(x, y)| (x - y).abs())).fold(0.0, f64::max);
        // Division by a power of two is exact. The largest power of two in `f64` is 2^1023.
        let scale = match spread {
            0.0 => 1.0,
            _ => spread.log2().floor().min(1023.0).exp2(),
        };
        for x in &mut coordinates {
            *x /= scale;
        }
        Self { coordinates, channels, scale }
    }

    fn squared_distance(&self, i: usize, j: usize) -> f64 {
        let [x, y] = [i, j].map(|k| &self.coordinates[k * self.channels..][..self.channels]);
        x.iter().zip(y).map(|(x, y)| (x - y) * (x - y)).sum()
    }

    fn distance(&self, i: usize, j: usize) -> f64 {
        self.squared_distance(i, j).sqrt()
    }
}

/// Radii of the blocks `[b 2^k, (b + 1) 2^k)` around their middle point `b 2^k + 2^(k-1)`, for `k >= 1`.
struct Blocks {
    radii: Vec<Vec<f64>>,
}

impl Blocks {
    fn new(points: &Points, length: usize) -> Self {
        let radii = (1..=length.ilog2())
            .map(|level| {
                (0..length >> level)
                    .map(|block| {
                        let start = block << level;
                        let centre = start + (1 << (level - 1));
                        (start..start + (1 << level)).map(|i| points.squared_distance(centre, i)).fold(0.0, f64::max).sqrt()
                    })
                    .collect()
            })
            .collect();
        Self { radii }
    }

    /// How far `x_j` can be from a point of the block of `2^level` points that ends before `end`.
    fn reach(&self, points: &Points, j: usize, end: usize, level: u32) -> f64 {
        let block = (end >> level) - 1;
        let centre = (block << level) + (1 << (level - 1));
        points.distance(centre, j) + self.radii[level as usize - 1][block]
    }
}

/// `V_n` and the partition that attains it.
fn programme(points: &Points, length: usize, p: f64) -> (f64, Vec<usize>) {
    let blocks = Blocks::new(points, length);
    let power = |i: usize, j: usize| points.squared_distance(i, j).powf(p / 2.0);
    let mut best = vec![0.0; length];
    let mut before = vec![0; length];
    for j in 1..length {
        // The best start for the last point is a good guess for this one, and a good guess skips more blocks.
        let guess = before[j - 1];
        let mut most = best[guess] + power(guess, j);
        let mut from = guess;
        // All of `[end, j)` has been seen or skipped; go on with the 2^level points before `end`.
        let (mut end, mut level) = (j, 0);
        while end > 0 {
            level = level.min(end.trailing_zeros());
            if level == 0 {
                let sum = best[end - 1] + power(end - 1, j);
                if sum > most {
                    (most, from) = (sum, end - 1);
                }
            } else if best[end - 1] + blocks.reach(points, j, end, level).powf(p) > most {
                level -= 1;
                continue;
            }
            end -= 1 << level;
            level += 1;
        }
        best[j] = most;
        before[j] = from;
    }
    let mut partition = vec![length - 1];
    while let Some(&j) = partition.last().filter(|&&j| j > 0) {
        partition.push(before[j]);
    }
    partition.reverse();
    (best[length - 1], partition)
}
