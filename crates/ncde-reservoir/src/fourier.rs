//! Sliding Fourier coefficients of a signal's increments: a fixed Linear NCDE of one complex number for each frequency, driven by `(t, x)`.
//!
//! ```text
//! r' = lambda r + x',   lambda = -a + i w,        r <- e^{lambda h} r + phi_1(lambda h) (x_1 - x_0),   phi_1(z) = (e^z - 1) / z
//! ```
//!
//! The update is exact over a gap `h` in which `x` is linear. A Legendre memory describes the shape of one span; a coefficient collects many
//! periods of a season, of which the last `1 / a` weigh most. As in `changes`, the state depends on increments alone, starts at 0 and stays bounded.

/// The sliding Fourier coefficients of several channels at several rates.
#[derive(Debug, Clone)]
pub struct SlidingFourier {
    /// Decay `a` and frequency `w`.
    rates: Vec<[f64; 2]>,
    channels: usize,
}

/// The flows over the last gap, reused while the gap is the same.
#[derive(Debug, Clone, Default)]
pub struct FourierScratch {
    gap: f64,
    /// `e^{lambda h}` and `phi_1(lambda h)`.
    flows: Vec<[[f64; 2]; 2]>,
}

impl SlidingFourier {
    /// Coefficients with these pairs of decay and frequency, each per unit of time.
    pub fn new(rates: Vec<[f64; 2]>, channels: usize) -> Self {
        Self { rates, channels }
    }

    /// The size of the state, which is also the features: `[rates, 2, channels]`, real parts first.
    pub fn state(&self) -> usize {
        2 * self.rates.len() * self.channels
    }

    /// Updates the state with the change of each channel over a gap of time.
    pub fn push(&self, state: &mut [f32], gap: f64, changes: &(impl Iterator<Item = f32> + Clone), scratch: &mut FourierScratch) {
        if gap != scratch.gap || scratch.flows.len() != self.rates.len() {
            *scratch = FourierScratch { gap, flows: self.rates.iter().map(|&rate| flow(rate, gap)).collect() };
        }
        for (coefficients, [e, phi]) in state.chunks_exact_mut((2 * self.channels).max(1)).zip(&scratch.flows) {
            let (real, imaginary) = coefficients.split_at_mut(self.channels);
            for ((re, im), dx) in real.iter_mut().zip(imaginary).zip(changes.clone().map(f64::from)) {
                let [x, y] = [f64::from(*re), f64::from(*im)];
                *re = (e[0] * x - e[1] * y + phi[0] * dx) as f32;
                *im = (e[0] * y + e[1] * x + phi[1] * dx) as f32;
            }
        }
    }
}

/// `e^{lambda h}` and `phi_1(lambda h)`.
fn flow([a, w]: [f64; 2], gap: f64) -> [[f64; 2]; 2] {
    let z = [-a * gap, w * gap];
    let size = z[0].exp();
    let e = [size * z[1].cos(), size * z[1].sin()];
    let square = z[0] * z[0] + z[1] * z[1];
    // For a small z the difference below would be rounding error.
    if square < 1e-10 {
        return [e, [1.0 + 0.5 * z[0], 0.5 * z[1]]];
    }
    let [x, y] = [e[0] - 1.0, e[1]];
    [e, [(x * z[0] + y * z[1]) / square, (y * z[0] - x * z[1]) / square]]
}
