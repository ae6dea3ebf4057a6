//! What layers remember of a series: numbers in double precision, and numbers that are computed in single precision anyway.

use serde::{Deserialize, Serialize};

/// All that the layers of a model remember of one series.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StateMemory {
    /// In double precision.
    pub wide: Vec<f64>,
    /// In single precision.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub narrow: Vec<f32>,
}

/// How many numbers that is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Size {
    /// In double precision.
    pub wide: usize,
    /// In single precision.
    pub narrow: usize,
}

/// The share of one layer.
#[derive(Debug)]
pub struct Share<'a> {
    /// In double precision.
    pub wide: &'a mut [f64],
    /// In single precision.
    pub narrow: &'a mut [f32],
}

impl Size {
    /// So many numbers in double precision.
    pub fn wide(wide: usize) -> Self {
        Self { wide, narrow: 0 }
    }

    /// The sum of two sizes.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self { wide: self.wide + other.wide, narrow: self.narrow + other.narrow }
    }
}

impl StateMemory {
    /// As many zeros: what is remembered before the first row.
    pub fn new(size: Size) -> Self {
        Self { wide: vec![0.0; size.wide], narrow: vec![0.0; size.narrow] }
    }

    /// How many numbers there are.
    pub fn size(&self) -> Size {
        Size { wide: self.wide.len(), narrow: self.narrow.len() }
    }

    /// All of it.
    pub fn share(&mut self) -> Share<'_> {
        Share { wide: &mut self.wide, narrow: &mut self.narrow }
    }

    /// Takes over the numbers of another of the same size.
    pub fn copy_from(&mut self, other: &Self) {
        self.wide.copy_from_slice(&other.wide);
        self.narrow.copy_from_slice(&other.narrow);
    }

    /// The first number that is not finite, and its place.
    pub fn overflow(&self) -> Option<(usize, f64)> {
        if all_finite(&self.wide, &self.narrow) {
            return None;
        }
        let mut all = self.wide.iter().copied().chain(self.narrow.iter().map(|&x| f64::from(x))).enumerate();
        all.find(|(_, x)| !x.is_finite())
    }
}

ncde_simd::kernel! {
    /// Whether all numbers are finite, without a branch for each.
    dispatch fn all_finite<'a, S: Simd>(_simd: S, wide: &'a [f64], narrow: &'a [f32]) -> bool {
        let wide = wide.iter().fold(true, |all, x| all & x.is_finite());
        narrow.iter().fold(wide, |all, x| all & x.is_finite())
    }
}

ncde_simd::kernel! {
    /// The same numbers in single precision.
    pub(super) dispatch fn narrow<'a, S: Simd>(_simd: S, wide: &'a [f64], narrow: &'a mut [f32]) {
        narrow.iter_mut().zip(wide).for_each(|(narrow, &wide)| *narrow = wide as f32);
    }
}

ncde_simd::kernel! {
    /// The same numbers in double precision.
    pub(super) dispatch fn widen<'a, S: Simd>(_simd: S, narrow: &'a [f32], wide: &'a mut [f64]) {
        wide.iter_mut().zip(narrow).for_each(|(wide, &narrow)| *wide = f64::from(narrow));
    }
}

impl Share<'_> {
    /// What lies between two places.
    pub fn part(&mut self, from: Size, to: Size) -> Share<'_> {
        Share { wide: &mut self.wide[from.wide..to.wide], narrow: &mut self.narrow[from.narrow..to.narrow] }
    }

    /// The same share, for a while.
    pub fn again(&mut self) -> Share<'_> {
        Share { wide: self.wide, narrow: self.narrow }
    }
}
