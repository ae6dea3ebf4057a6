//! `A^1, ..., A^d` as full matrices, for tests and for inspecting a model.

use ncde_simd::{Float, Scalar};

use super::Field;
use crate::Error;
use crate::error::want;

impl Field {
    /// `A^1, ..., A^d`, `[d, H, H]` row by row.
    ///
    /// ```
    /// use ncde_kernels::{Field, Structure};
    /// let field = Field::new(Structure::Dplr { hidden: 2, rank: 1 }, 1)?;
    /// // D = diag(1, 2), u = (3, 4), v = (5, 6).
    /// assert_eq!(field.densify(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])?, [1.0 + 15.0, 18.0, 20.0, 2.0 + 24.0]);
    /// # Ok::<(), ncde_kernels::Error>(())
    /// ```
    ///
    /// # Errors
    /// If there are not as many parameters as [`parameters`](Self::parameters) says.
    pub fn densify<T: Float>(&self, a: &[T]) -> Result<Vec<T>, Error> {
        want("densify", "A", a.len(), self.parameters(), || format!("the parameters of {} channels", self.channels))?;
        let (hidden, simd) = (self.hidden(), Scalar::new());
        let effective = self.effective(a);
        let mut dense = vec![T::ZERO; self.channels * hidden * hidden];
        let (mut column, mut unit, mut scratch) = (vec![T::ZERO; hidden], vec![T::ZERO; hidden], vec![T::ZERO; hidden]);
        for (k, matrix) in dense.chunks_exact_mut(hidden * hidden).enumerate() {
            for c in 0..hidden {
                unit.fill(T::ZERO);
                unit[c] = T::ONE;
                column.fill(T::ZERO);
                self.apply::<T, _, false>(simd, &effective, k, &unit, &mut column, &mut scratch);
                for (r, &x) in column.iter().enumerate() {
                    matrix[r * hidden + c] = x;
                }
            }
        }
        Ok(dense)
    }
}
