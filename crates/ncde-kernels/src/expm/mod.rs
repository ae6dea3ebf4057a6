//! The exponential of small matrices, its derivative and its reverse pass.
//!
//! ```text
//! exp(X) = sum_k X^k / k!,   L(X, E) = d/de exp(X + e E) at e = 0,   phi_1(X) = (exp(X) - 1) / X = sum_k X^k / (k + 1)!
//! ```
//!
//! A loss with gradient `G` in `exp(X)` has gradient `L(X^T, G)` in `X`. `phi_1` is the upper right block of `exp [[X, 1], [0, 0]]`.
//!
//! Arrays are `[count, n, n]`, each matrix row by row; matrices are computed one by one, in parallel. A matrix costs between 1 and 6
//! products for a norm up to 0.6, one more each time the norm doubles; its derivative three times as much, `phi_1` eight times as much.

mod error;
mod product;
mod series;

pub use error::Error;

use ncde_simd::{Kernel, Simd, dispatch_for};
use rayon::prelude::*;

use crate::Float;
use series::Workspace;

/// `exp(X)` for each matrix.
///
/// ```
/// use ncde_kernels::expm;
/// // A quarter turn.
/// let quarter = std::f64::consts::FRAC_PI_2;
/// let turned = expm::exp(2, &[0.0, -quarter, quarter, 0.0])?;
/// assert!(turned.iter().zip([0.0, -1.0, 1.0, 0.0]).all(|(x, y)| (x - y).abs() < 1e-15));
/// # Ok::<(), expm::Error>(())
/// ```
///
/// # Shapes
/// `x` and the result are `[count, n, n]`.
///
/// # Errors
/// If `x` does not hold whole matrices or holds a number that is not finite, or if a result overflows.
pub fn exp<T: Float>(n: usize, x: &[T]) -> Result<Vec<T>, Error> {
    let operation = "exp";
    check(operation, n, x)?;
    let result = T::matrix_exp(n, x);
    check_result(operation, n, x, result)
}

/// `L(X, E)`, the derivative of the exponential at each `X` along its `E`.
///
/// ```
/// use ncde_kernels::expm;
/// // Of one number: exp(x) e.
/// let derivative = expm::derivative(1, &[1.0_f64], &[2.0])?;
/// assert!((derivative[0] - 2.0 * 1.0_f64.exp()).abs() < 1e-14);
/// # Ok::<(), expm::Error>(())
/// ```
///
/// # Shapes
/// `x`, `e` and the result are `[count, n, n]`.
///
/// # Errors
/// As for [`exp`], or if `e` has another length than `x`.
pub fn derivative<T: Float>(n: usize, x: &[T], e: &[T]) -> Result<Vec<T>, Error> {
    let operation = "the derivative of exp";
    check(operation, n, x)?;
    check_along(operation, "the direction", n, x, e)?;
    check_result(operation, n, x, T::matrix_exp_derivative(n, x, e))
}

/// The gradient of `X` from the gradient `G` of `exp(X)`: `L(X^T, G)`.
///
/// ```
/// use ncde_kernels::expm;
/// // exp [[0, x], [0, 0]] = [[1, x], [0, 1]], and the sum of its numbers grows with x as x does.
/// let gradient = expm::exp_backward(2, &[0.0_f64, 3.0, 0.0, 0.0], &[1.0; 4])?;
/// assert!((gradient[1] - 1.0).abs() < 1e-15);
/// # Ok::<(), expm::Error>(())
/// ```
///
/// # Shapes
/// `x`, `gradient` and the result are `[count, n, n]`.
///
/// # Errors
/// As for [`exp`], or if `gradient` has another length than `x`.
pub fn exp_backward<T: Float>(n: usize, x: &[T], gradient: &[T]) -> Result<Vec<T>, Error> {
    let operation = "the reverse pass of exp";
    check(operation, n, x)?;
    check_along(operation, "the gradient", n, x, gradient)?;
    check_result(operation, n, x, T::matrix_exp_derivative(n, &transposed(n, x), gradient))
}

/// `phi_1(X) = (exp(X) - 1) / X` for each matrix, singular ones too.
///
/// ```
/// use ncde_kernels::expm;
/// assert_eq!(expm::phi_1(1, &[0.0_f64])?, [1.0]);
/// assert!((expm::phi_1(1, &[2.0_f64])?[0] - (2.0_f64.exp() - 1.0) / 2.0).abs() < 1e-14);
/// # Ok::<(), expm::Error>(())
/// ```
///
/// # Shapes
/// `x` and the result are `[count, n, n]`.
///
/// # Errors
/// As for [`exp`].
pub fn phi_1<T: Float>(n: usize, x: &[T]) -> Result<Vec<T>, Error> {
    let operation = "phi_1";
    check(operation, n, x)?;
    let result = T::matrix_exp(2 * n, &augmented(n, x));
    check_result(operation, n, x, block(n, &result, Block::Right))
}

/// The gradient of `X` from the gradient of `phi_1(X)`.
///
/// # Shapes
/// `x`, `gradient` and the result are `[count, n, n]`.
///
/// # Errors
/// As for [`exp`], or if `gradient` has another length than `x`.
pub fn phi_1_backward<T: Float>(n: usize, x: &[T], gradient: &[T]) -> Result<Vec<T>, Error> {
    let operation = "the reverse pass of phi_1";
    check(operation, n, x)?;
    check_along(operation, "the gradient", n, x, gradient)?;
    let mut wide = vec![T::ZERO; 4 * gradient.len()];
    for (wide, row) in wide.chunks_exact_mut(4 * n * n).zip(gradient.chunks_exact(n * n)) {
        for (wide, row) in wide.chunks_exact_mut(2 * n).zip(row.chunks_exact(n)) {
            wide[n..].copy_from_slice(row);
        }
    }
    let result = T::matrix_exp_derivative(2 * n, &transposed(2 * n, &augmented(n, x)), &wide);
    check_result(operation, n, x, block(n, &result, Block::Left))
}

/// Upper blocks of a matrix of blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Block {
    Left,
    Right,
}

fn block<T: Float>(n: usize, wide: &[T], block: Block) -> Vec<T> {
    let first = if block == Block::Left { 0 } else { n };
    let mut out = Vec::with_capacity(wide.len() / 4);
    for wide in wide.chunks_exact(4 * n * n) {
        for row in wide.chunks_exact(2 * n).take(n) {
            out.extend_from_slice(&row[first..first + n]);
        }
    }
    out
}

/// `[[X, 1], [0, 0]]`.
fn augmented<T: Float>(n: usize, x: &[T]) -> Vec<T> {
    let mut wide = vec![T::ZERO; 4 * x.len()];
    for (wide, x) in wide.chunks_exact_mut(4 * n * n).zip(x.chunks_exact(n * n)) {
        for (r, (wide, x)) in wide.chunks_exact_mut(2 * n).zip(x.chunks_exact(n)).enumerate() {
            wide[..n].copy_from_slice(x);
            wide[n + r] = T::ONE;
        }
    }
    wide
}

fn transposed<T: Float>(n: usize, x: &[T]) -> Vec<T> {
    let size = n * n;
    (0..x.len()).map(|i| x[i / size * size + i % n * n + i % size / n]).collect()
}

fn check<T: Float>(operation: &'static str, n: usize, x: &[T]) -> Result<(), Error> {
    if n == 0 {
        return Err(Error::Empty { operation });
    }
    if !x.len().is_multiple_of(n * n) {
        return Err(Error::Size { operation, what: "the array of matrices", seen: x.len(), n });
    }
    check_finite(operation, "the array of matrices", n, x)
}

fn check_along<T: Float>(operation: &'static str, what: &'static str, n: usize, x: &[T], along: &[T]) -> Result<(), Error> {
    if along.len() != x.len() {
        return Err(Error::Mismatch { operation, what, seen: along.len(), wanted: x.len() });
    }
    check_finite(operation, what, n, along)
}

fn check_finite<T: Float>(operation: &'static str, what: &'static str, n: usize, x: &[T]) -> Result<(), Error> {
    match x.iter().position(|x| !x.is_finite()) {
        None => Ok(()),
        Some(i) => {
            let (matrix, row, column) = (i / (n * n), i % (n * n) / n, i % n);
            Err(Error::NotFinite { operation, what, value: x[i].to_f64(), matrix, row, column })
        }
    }
}

fn check_result<T: Float>(operation: &'static str, n: usize, x: &[T], result: Vec<T>) -> Result<Vec<T>, Error> {
    match result.iter().position(|x| !x.is_finite()) {
        None => Ok(result),
        Some(i) => {
            let matrix = i / (n * n);
            Err(Error::Overflow { operation, matrix, norm: series::norm(n, &x[matrix * n * n..][..n * n]) })
        }
    }
}

/// One matrix, or one and a direction.
struct One<'a, T> {
    workspace: &'a mut Workspace<T>,
    x: &'a [T],
    out: &'a mut [T],
}

impl<T: ncde_simd::Float> Kernel for One<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let result = self.workspace.exp(simd, self.x);
        self.out.copy_from_slice(&result[result.len() - self.out.len()..]);
    }
}

/// So many matrices of this size at least are one piece of work.
fn piece(n: usize) -> usize {
    (1 << 14) / (n * n * n).min(1 << 14)
}

/// [`exp`] on input that has been checked.
pub(crate) fn exp_unchecked<T: ncde_simd::Float>(n: usize, x: &[T]) -> Vec<T> {
    let mut out = vec![T::ZERO; x.len()];
    let matrices = out.par_chunks_exact_mut(n * n).zip(x.par_chunks_exact(n * n)).with_min_len(piece(n));
    matrices.for_each_init(|| Workspace::new(n, 1), |workspace, (out, x)| dispatch_for::<T, _>(One { workspace, x, out }));
    out
}

/// [`derivative`] on input that has been checked.
pub(crate) fn derivative_unchecked<T: ncde_simd::Float>(n: usize, x: &[T], e: &[T]) -> Vec<T> {
    let mut out = vec![T::ZERO; x.len()];
    let matrices = out.par_chunks_exact_mut(n * n).zip(x.par_chunks_exact(n * n)).zip(e.par_chunks_exact(n * n));
    matrices.with_min_len(piece(n)).for_each_init(
        || (Workspace::new(n, 2), vec![T::ZERO; 2 * n * n]),
        |(workspace, pair), ((out, x), e)| {
            pair[..n * n].copy_from_slice(x);
            pair[n * n..].copy_from_slice(e);
            dispatch_for::<T, _>(One { workspace, x: pair, out });
        },
    );
    out
}
