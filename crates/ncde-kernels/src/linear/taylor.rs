//! The number of terms of the exponential series.
//!
//! ```text
//! exp(Omega) h = exp(Omega / s) ... exp(Omega / s) h,   exp(X) h ~ sum_{j <= m} X^j h / j!
//! ```
//!
//! With `alpha = ||X||` the terms left out sum to at most `alpha^(m+1) / (m+1)! / (1 - alpha / (m+2))` times `||h||`. `m` is the smallest
//! that brings this below half a rounding unit of the number type, `s` the one that makes `s m`, the products with Omega, smallest
//! while `alpha` stays small enough (`LARGEST`) that terms of different signs do not cancel more than two digits.
//! `phi_1` loses a power to the exponential, and derivatives lose another: a term more for each.
//!
//! If the square is known, with `alpha = ||Omega||` and `rho = ||Omega^2||^(1/2)`, even powers are at most `rho^2j` and odd ones `alpha
//! rho^2j`. A derivative of the series holds products of two powers, and at most both are odd: from the sixth power on all of that is
//! below the powers of `(alpha rho^2)^(1/3)`. For blocks drawn at random this is a fifth less than `alpha`; for nilpotent ones it is zero.
//!
//! The first-order transition `I + Omega` is the same series with `m = 1`, `s = 1`.

use std::sync::OnceLock;

use ncde_simd::Float;

use super::grams::Norms;

/// A piece of the series: `stages` times `terms` products.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Series {
    pub(crate) stages: usize,
    pub(crate) terms: usize,
}

impl Series {
    /// `I + Omega`.
    pub(crate) const EULER: Self = Self { stages: 1, terms: 1 };

    /// For generators too large for any correct digit: the state becomes NaN, which is reported.
    const HOPELESS: Self = Self { stages: 0, terms: 1 };

    pub(crate) fn is_hopeless(self) -> bool {
        self == Self::HOPELESS
    }

    /// `1 / s`.
    #[inline(always)]
    pub(crate) fn part(self) -> f64 {
        if self.stages == 1 { 1.0 } else { 1.0 / self.stages as f64 }
    }

    /// Whether products saved by summing two powers at a time make up for the `b` products that the square of a block costs.
    #[inline(always)]
    pub(crate) fn is_worth_a_square(self, b: usize) -> bool {
        self.stages * self.terms > 2 * (b + self.stages)
    }
}

/// What a series is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Need {
    /// Derivatives, not only values.
    pub(crate) derivatives: bool,
    /// `phi_1`, not only the exponential.
    pub(crate) affine: bool,
}

impl Need {
    /// The terms beyond those of the exponential.
    #[inline(always)]
    fn extra(self) -> usize {
        usize::from(self.derivatives) + usize::from(self.affine)
    }
}

/// The largest norm of `Omega / s`.
const LARGEST: f64 = 3.3;

/// The largest norm of `Omega`: beyond it a state has overflowed, or rounding errors leave no correct digit.
const MAX_NORM: f64 = 4096.0;

/// Up to this many terms, one stage is always cheaper than two.
pub(crate) const SINGLE_STAGE_TERMS: usize = 8;

/// The least terms of a series that is summed two powers at a time, without the extra terms for derivatives and `phi_1`.
const MIN_EVEN_TERMS: usize = 6;

/// For those series norms are compared by their sixth power, so that no root is needed.
const SIXTH: f64 = 6.0;

/// The most stages of a series in the tables.
const MAX_STAGES: usize = 6;

/// The most terms that are ever needed.
pub(crate) const MAX_TERMS: usize = 30;

/// `1 / k`, as far as there are terms: a division takes as long as a product with a small block.
pub(crate) const INVERSE: [f64; MAX_TERMS + 4] = {
    let mut table = [0.0; MAX_TERMS + 4];
    let mut k = 1;
    while k < table.len() {
        table[k] = 1.0 / k as f64;
        k += 1;
    }
    table
};

/// Series in the order of their costs, each with the largest norm that it serves.
#[derive(Debug, Clone)]
struct Table {
    reach: Vec<f64>,
    series: Vec<Series>,
}

impl Table {
    /// Of those given, the cheapest for each norm.
    fn new(mut all: Vec<(f64, Series)>, cost: impl Fn(Series) -> usize) -> Self {
        // Cheap ones first, and of those the one with the longest reach.
        all.sort_by(|&(a, x), &(b, y)| cost(x).cmp(&cost(y)).then(b.total_cmp(&a)));
        let mut table = Self { reach: Vec::new(), series: Vec::new() };
        for (reach, series) in all {
            if table.reach.last().is_none_or(|&last| reach > last) {
                table.reach.push(reach);
                table.series.push(series);
            }
        }
        table
    }

    /// The first series that reaches `norm`. Counting those that do not avoids the mispredicted branches of a search.
    #[inline(always)]
    fn find(&self, norm: f64) -> Option<Series> {
        self.series.get(self.reach.iter().map(|&reach| usize::from(reach < norm)).sum::<usize>()).copied()
    }
}

/// The series for each norm.
#[derive(Debug, Clone)]
pub(crate) struct Degrees {
    /// For each number of terms the largest norm that they serve.
    reach: [f64; MAX_TERMS + 1],
    plain: Table,
    /// Even numbers of terms, of which none, one or two are for derivatives and `phi_1`; the reach to the sixth power.
    even: [Table; 3],
}

impl Degrees {
    /// The tables of a number type.
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
        let mut reach = [0.0; MAX_TERMS + 1];
        for (m, reach) in reach.iter_mut().enumerate().skip(1) {
            // The remainder grows with alpha: bisect.
            let (mut low, mut high) = (0.0, LARGEST);
            for _ in 0..60 {
                let alpha = 0.5 * (low + high);
                if remainder(alpha, m) <= target { low = alpha } else { high = alpha }
            }
            *reach = low;
        }
        let stages = |terms: usize| (1..=MAX_STAGES).map(move |stages| Series { stages, terms });
        let plain = (1..=MAX_TERMS).flat_map(stages).map(|series| (series.stages as f64 * reach[series.terms], series));
        let even = [0, 1, 2].map(|extra| {
            let all = (MIN_EVEN_TERMS..=MAX_TERMS - extra).filter(|terms| (terms + extra) % 2 == 0).flat_map(stages);
            let all = all.map(|Series { stages, terms }| {
                ((stages as f64 * reach[terms]).powf(SIXTH), Series { stages, terms: terms + extra })
            });
            Table::new(all.collect(), |Series { stages, terms }| stages * (terms / 2 + 1))
        });
        // Up to `SINGLE_STAGE_TERMS` terms, one stage is always cheaper than two.
        let cost = |Series { stages, terms }: Series| {
            if stages == 1 && terms <= SINGLE_STAGE_TERMS { terms } else { SINGLE_STAGE_TERMS + stages * terms }
        };
        Self { plain: Table::new(plain.collect(), cost), even, reach }
    }

    /// For a generator of this norm.
    #[inline(always)]
    pub(crate) fn series(&self, norm: f64, need: Need) -> Series {
        if norm > MAX_NORM {
            return Series::HOPELESS;
        }
        let Series { stages, terms } = self.values(norm);
        Series { stages, terms: terms + need.extra() }
    }

    #[inline(always)]
    fn values(&self, norm: f64) -> Series {
        match self.plain.find(norm) {
            Some(series) => series,
            None => self.beyond(norm, 0),
        }
    }

    /// The fewest stages for this norm and their terms, where `extra` terms will be added.
    #[cold]
    fn beyond(&self, norm: f64, extra: usize) -> Series {
        let most = MAX_TERMS - extra;
        let stages = (norm / self.reach[most]).ceil();
        let terms = self.reach[..most].partition_point(|&reach| reach < norm / stages);
        Series { stages: stages as usize, terms }
    }

    /// For a generator with these bounds on its norm and that of its square.
    pub(crate) fn of_powers(&self, norms: Norms, need: Need) -> Series {
        let root = norms.second.sqrt();
        // Of two powers that are multiplied both may be odd.
        let excess = (norms.first / root).powi(if need.derivatives { 2 } else { 1 });
        if !(1.0..f64::INFINITY).contains(&excess) || norms.first > MAX_NORM {
            return self.series(norms.first, need);
        }
        // Term `m + 1` is the first one missing, and the excess is spread over its powers.
        let spread = |terms: usize| root * excess.powf(1.0 / (terms + 1) as f64);
        let Series { stages, mut terms } = self.values(spread(SINGLE_STAGE_TERMS));
        let enough = |terms: usize| spread(terms) <= stages as f64 * self.reach[terms];
        while terms < MAX_TERMS && !enough(terms) {
            terms += 1;
        }
        while terms > 1 && enough(terms - 1) {
            terms -= 1;
        }
        Series { stages, terms: terms + need.extra() }
    }

    /// An even number of terms for a generator of this norm, or with this `||Omega||^2 ||Omega^2||^2`, whichever says less.
    #[inline(always)]
    pub(crate) fn even(&self, norm: f64, product: f64, need: Need) -> Series {
        let (third, table) = (norm * norm * norm, &self.even[need.extra()]);
        let sixth = product.min(third * third);
        match table.find(sixth) {
            Some(series) => series,
            None if sixth > MAX_NORM.powf(SIXTH) => Series::HOPELESS,
            None => {
                let Series { stages, terms } = self.beyond(sixth.powf(1.0 / SIXTH), need.extra());
                Series { stages, terms: (terms + need.extra()).next_multiple_of(2) }
            }
        }
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

    /// The terms that are missing of the derivative of a series, where powers are at most `alpha rho^2j` and `rho^2j`.
    fn missing(first: f64, root: f64, Series { stages, terms }: Series) -> f64 {
        let (first, root) = (first / stages as f64, root / stages as f64);
        let power = |j: usize| if j % 2 == 1 { first * root.powi(j as i32 - 1) } else { root.powi(j as i32) };
        let mut inverse = 1.0;
        let mut sum = 0.0;
        for j in 1..=terms + 40 {
            inverse /= j as f64;
            if j > terms {
                sum += inverse * (0..j).map(|a| power(a) * power(j - 1 - a)).sum::<f64>();
            }
        }
        sum
    }

    #[test]
    fn a_small_square_takes_fewer_terms_and_still_enough() {
        let need = Need { derivatives: true, affine: false };
        for (degrees, unit) in [(Degrees::new::<f32>(), 1.2e-7), (Degrees::new::<f64>(), 2.3e-16)] {
            for first in [1e-3_f64, 0.1, 0.7, 2.0, 5.0, 9.0, 20.0, 50.0] {
                for ratio in [1.0, 0.8, 0.5, 0.1, 1e-3] {
                    let root: f64 = ratio * first;
                    let plain = degrees.series(first, need);
                    let powers = degrees.of_powers(Norms { first, second: root * root }, need);
                    let even = degrees.even(first, first * first * root.powi(4), need);
                    for series in [powers, even] {
                        assert!(missing(first, root, series) <= unit, "{first} {root}: {series:?}");
                        assert!(first / series.stages as f64 <= LARGEST / ratio, "{first} {root}: {series:?}");
                    }
                    assert!(powers.stages * powers.terms <= plain.stages * plain.terms, "{first} {root}: {powers:?} {plain:?}");
                    assert!(even.terms % 2 == 0 && even.terms <= MAX_TERMS, "{even:?}");
                    if first >= 5.0 && ratio <= 0.5 {
                        assert!(even.stages * (even.terms / 2 + 1) < plain.stages * plain.terms / 2, "{even:?} {plain:?}");
                    }
                }
            }
            assert!(degrees.even(5000.0, f64::INFINITY, need).is_hopeless());
            assert!(degrees.of_powers(Norms { first: 5000.0, second: 1.0 }, need).is_hopeless());
            assert_eq!(degrees.of_powers(Norms { first: 0.0, second: 0.0 }, need), degrees.series(0.0, need));
        }
    }
}
