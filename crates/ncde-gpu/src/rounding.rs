//! Tensor cores: products of matrices from numbers of fewer digits, added in `f32`.
//!
//! A choice for the whole process, as it is one of how far a device may be off and not of what is computed; it is no part of a model.

use std::sync::atomic::{AtomicU8, Ordering};

use cubecl::features::MmaConfig;
use cubecl::ir::{ElemType, FloatKind};
use cubecl::prelude::*;

use crate::device::Gpu;
use crate::error::Error;
use crate::kernel::tensor::PLANE;
use crate::product::Matrix;

/// How numbers are rounded before they are multiplied with each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum Rounding {
    /// Not at all: 24 digits of a mantissa.
    #[default]
    None,
    /// To 11 digits, with the exponents of `f32`.
    Tf32,
    /// To 8 digits, with the exponents of `f32`.
    Bf16,
}

/// What was chosen.
static CHOSEN: AtomicU8 = AtomicU8::new(Rounding::None as u8);

impl Rounding {
    /// That of this process.
    pub(crate) fn chosen() -> Self {
        match CHOSEN.load(Ordering::Relaxed) {
            1 => Self::Tf32,
            2 => Self::Bf16,
            _ => Self::None,
        }
    }

    /// Makes it that of all devices that this process asks for from now on.
    pub fn choose(self) {
        CHOSEN.store(self as u8, Ordering::Relaxed);
    }

    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "f32",
            Self::Tf32 => "tf32",
            Self::Bf16 => "bf16",
        }
    }

    /// Steps of a sum that tensor cores take at once.
    pub(crate) fn step(self) -> usize {
        if self == Self::Bf16 { 16 } else { 8 }
    }

    /// What a device must be able to do.
    fn wanted(self) -> Option<MmaConfig> {
        let kind = match self {
            Self::None => return None,
            Self::Tf32 => FloatKind::TF32,
            Self::Bf16 => FloatKind::BF16,
        };
        let input = ElemType::Float(kind).into();
        let cd_type = ElemType::Float(FloatKind::F32).into();
        Some(MmaConfig { a_type: input, b_type: input, cd_type, m: 16, n: 16, k: self.step() as u32 })
    }
}

/// Rows and columns of the matrices of which the error is measured.
const SIDE: usize = 256;

impl<R: Runtime> Gpu<R> {
    /// The same device with products of rounded numbers, whatever was chosen for this process.
    ///
    /// # Errors
    /// If it has no tensor cores for such numbers.
    pub fn with_rounding(self, rounding: Rounding) -> Result<Self, Error> {
        let hardware = &self.client().properties().hardware;
        let planes = [hardware.plane_size_min, hardware.plane_size_max].iter().all(|&size| size as usize == PLANE);
        let can = |wanted: &MmaConfig| planes && self.client().features().matmul.cmma.contains(wanted);
        if rounding.wanted().is_some_and(|wanted| !can(&wanted)) {
            return Err(Error::NoTensorCores { rounding: rounding.name() });
        }
        Ok(self.rounded(rounding))
    }

    /// How far a product of matrices is off: the norm of the difference by the norm, of 256 x 256 numbers between -1 and 1.
    ///
    /// # Errors
    /// If the device fails.
    pub fn error_of_products(&self) -> Result<f64, Error> {
        // Numbers without a pattern that sums of them would have.
        let draw = |i: usize| f64::from((i as u32).wrapping_mul(2_654_435_761) >> 8) / f64::from(1 << 23) - 1.0;
        let numbers: Vec<f32> = (0..SIDE * SIDE).map(|i| draw(i) as f32).collect();
        let handle = self.put(&numbers);
        let matrix = Matrix::new(&handle, SIDE, SIDE);
        let seen = self.get(&self.product(matrix, matrix, None)?)?;
        let exact = |at: usize| -> f64 {
            let (row, column) = (at / SIDE * SIDE, at % SIDE);
            (0..SIDE).map(|k| f64::from(numbers[row + k]) * f64::from(numbers[k * SIDE + column])).sum()
        };
        let (mut difference, mut norm) = (0.0, 0.0);
        for (at, &seen) in seen.iter().enumerate() {
            let exact = exact(at);
            difference += (f64::from(seen) - exact).powi(2);
            norm += exact.powi(2);
        }
        Ok((difference / norm).sqrt())
    }
}
