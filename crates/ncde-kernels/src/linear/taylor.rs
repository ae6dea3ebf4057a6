//! How many terms of the exponential series are enough.
//!
//! ```text
//! exp(Omega) h = exp(Omega / s) ... exp(Omega / s) h,   exp(X) h ~ sum_{j <= m} X^j h / j!
//! ```
//!
//! With `alpha = ||X||` the terms left out sum to at most `alpha^(m+1) / (m+1)! / (1 - alpha / (m+2))` times `||h||`. `m` is the smallest
//! that brings this below half a rounding unit of the number type, `s` the one that makes `s m`, the products with Omega, smallest
//! while `alpha` stays small enough (`LARGEST`) that terms of different signs do not cancel more than two digits.
//! `phi_1` loses a power to the exponential, and derivatives lose another: a term more for each.
//! The first-order transition `I + Omega` is the same series with `m = 1`, `s = 1`.

use std::sync::OnceLock;

use ncde_simd::Float;

/// A piece of the series: `stages` times `terms` products.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Series {
    pub(crate) stages: usize,
    pub(crate) terms: usize,
}

impl Series {
    /// `I + Omega`.
    pub(crate) const EULER: Self = Self { stages: 1, terms: 1 };

    /// For generators so large that nothing right can come of it: the state becomes NaN, which is noticed.
    const HOPELESS: Self = Self { stages: 0, terms: 1 };

    pub(crate) fn is_hopeless(self) -> bool {
        self == Self::HOPELESS
    }
}

/// What a series must be exact for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Need {
    /// Derivatives, not only values.
    pub(crate) derivatives: bool,
    /// `phi_1`, not only the exponential.
    pub(crate) affine: bool,
}

/// The largest norm of `Omega / s`.
const LARGEST: f64 = 3.3;

/// The largest norm of `Omega`: beyond, a state has overflowed, or has turned so often that no digit is right.
const MOST: f64 = 4096.0;

/// So few terms are never worth another stage.
pub(crate) const FEW: usize = 8;

/// The most terms that are ever needed.
pub(crate) const MOST_TERMS: usize = 30;

/// `1 / k`, as far as there are terms: a division takes as long as a product with a small block.
pub(crate) const INVERSE: [f64; MOST_TERMS + 4] = {
    let mut table = [0.0; MOST_TERMS + 4];
    let mut k = 1;
    while k < table.len() {
        table[k] = 1.0 / k as f64;
        k += 1;
    }
    table
};

/// For each number of terms the largest norm that they serve.
#[derive(Debug, Clone)]
pub(crate) struct Degrees {
    reach: [f64; MOST_TERMS + 1],
}

impl Degrees {
    /// Those of a number type.
    pub(crate) fn of<T: Float>() -> &'static Self {
        static TABLES: OnceLock<[Degrees; 2]> = OnceLock::new();
        let [single, double] = TABLES.get_or_init(|| [Self::new::<f32>(), Self::new::<f64>()]);
        if size_of::<T>() == size_of::<f32>() { single } else { double }
    }

    fn new<T: Float>() -> Self {
        // Half a rounding unit: the smallest power of two that 1 still notices, halved.
        let mut unit = T::ONE;
        let half = T::from_f64(0.5);
        while T::ONE + unit * half > T::ONE {
            unit *= half;
        }
        let target = unit.to_f64() / 2.0;
        let mut reach = [0.0; MOST_TERMS + 1];
        for (m, reach) in reach.iter_mut().enumerate().skip(1) {
            // The remainder grows with alpha: bisect.
            let (mut low, mut high) = (0.0, LARGEST);
            for _ in 0..60 {
                let alpha = 0.5 * (low + high);
                if remainder(alpha, m) <= target { low = alpha } else { high = alpha }
            }
            *reach = low;
        }
        Self { reach }
    }

    /// For a generator of this norm.
    #[inline]
    pub(crate) fn series(&self, norm: f64, need: Need) -> Series {
        if norm > MOST {
            return Series::HOPELESS;
        }
        let Series { stages, terms } = self.values(norm);
        Series { stages, terms: terms + usize::from(need.derivatives) + usize::from(need.affine) }
    }

    #[inline]
    fn values(&self, norm: f64) -> Series {
        if let Some(terms) = (1..=FEW).find(|&m| norm <= self.reach[m]) {
            return Series { stages: 1, terms };
        }
        let mut stages = (norm / LARGEST).ceil().max(1.0);
        // One stage more may save terms in each.
        let terms = |stages: f64| self.reach.partition_point(|&reach| reach < norm / stages).clamp(1, MOST_TERMS);
        let mut m = terms(stages);
        while stages < 4.0 && terms(stages + 1.0) as f64 * (stages + 1.0) < m as f64 * stages {
            stages += 1.0;
            m = terms(stages);
        }
        Series { stages: stages as usize, terms: m }
    }
}

/// A bound on `sum_{j > m} alpha^j / j!`.
fn remainder(alpha: f64, m: usize) -> f64 {
    let first = (1..=m + 1).fold(1.0, |product, j| product * alpha / j as f64);
    first / (1.0 - alpha / (m + 2) as f64).max(f64::MIN_POSITIVE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn enough_terms_and_not_many_more() {
        for (degrees, unit) in [(Degrees::new::<f32>(), 1.2e-7), (Degrees::new::<f64>(), 2.3e-16)] {
            for norm in [1e-9_f64, 1e-6, 1e-3, 0.05, 0.1, 0.5, 1.0, 2.0, 5.0, 20.0, 50.0] {
                let Series { stages, terms } = degrees.values(norm);
                let alpha = norm / stages as f64;
                assert!(remainder(alpha, terms) <= unit, "{norm}: {stages} stages of {terms} terms");
                assert!(terms == 1 || remainder(alpha, terms - 1) > unit / 8.0, "{norm}: {stages} stages of {terms} terms");
            }
        }
        let (values, all) = (Need { derivatives: false, affine: false }, Need { derivatives: true, affine: true });
        assert_eq!(Degrees::new::<f32>().series(0.0, values), Series::EULER);
        assert_eq!(Degrees::new::<f32>().series(0.0, all), Series { stages: 1, terms: 3 });
        assert!(Degrees::new::<f64>().series(1e300, values).is_hopeless());
    }
}
