//! Linear fields as flags ask for them, with random parameters as the peers draw them.

use ncde_kernels::{Bound, Field, Float};
use ncde_runtime::layer::{Init, Scale, StructureSpec, Weight};
use ncde_runtime::random::Stream;

use crate::args::FieldArgs;
use crate::error::Failure;

/// Seeds of the streams of random numbers.
pub(super) const PARAMETERS: u64 = 0;
pub(super) const COEFFICIENTS: u64 = 1;
pub(super) const INITIAL: u64 = 2;
const MASK: u64 = 3;

/// Entries of A have this deviation, divided by the square root of the size of a block.
const DEVIATION: f64 = 0.25;

/// Sparse matrices have `hidden^(1 + EPSILON)` entries.
const EPSILON: f64 = 0.5;

/// The answer to `--dtype f64`: kernels of models are compiled for it where tests compute in it, not for the program, which trains and predicts
/// in `f32`.
pub(super) fn not_here() -> Failure {
    Failure::Refused("models compute in f32, and this program holds no f64 kernels of theirs; use `--dtype f32`".into())
}

pub(super) fn refused(what: &'static str) -> impl Fn(ncde_kernels::Error) -> Failure {
    move |source| Failure::Refused(format!("{what}: {source}"))
}

impl FieldArgs {
    fn structure(&self) -> Result<StructureSpec, Failure> {
        Ok(self.structure.spec(self.block, self.rank, EPSILON, Bound::None)?)
    }

    pub(super) fn field(&self, what: &'static str) -> Result<Field, Failure> {
        let structure = self.structure()?;
        let size = self.hidden * self.hidden;
        let mask: Option<Vec<f32>> = structure.entries(self.hidden)?.map(|entries| {
            let of_channel = |k: u64| {
                let mut indices = Stream::new(MASK, k).permutation(size);
                indices.truncate(entries);
                indices.sort_unstable();
                indices.into_iter().map(|index| index as f32)
            };
            (0..self.channels as u64).flat_map(of_channel).collect()
        });
        structure.field(self.hidden, self.channels, mask.as_deref()).map_err(|e| Failure::Refused(format!("{what}: {e}")))
    }

    /// Parameters as the thesis draws them in practice.
    pub(super) fn parameters<T: Float>(&self, field: &Field) -> Result<Vec<T>, Failure> {
        let init = self.structure()?.init(Scale::Scaled { deviation: DEVIATION }, field)?;
        let all = (0..field.channels()).flat_map(|_| init.iter().cloned()).collect();
        let weight = Weight::trained("a", [field.parameters()], Init::Pieces(all));
        Ok(weight.draw(&Stream::new(PARAMETERS, 0)).into_iter().map(|x| T::from_f64(f64::from(x))).collect())
    }
}
