//! A matrix with one entry a column: state `j` goes to state `to[j]`, times `scale[j]`.
//!
//! ```text
//! (A h)[i] = sum over to[j] = i of scale[j] h[j],   (A^H g)[j] = conj(scale[j]) g[to[j]],   A B: to = to_A[to_B[j]], scale = scale_A[to_B[j]] scale_B[j]
//! ```
//!
//! Complex rows hold their real parts, then their imaginary parts.

use ncde_simd::Float;

use crate::Error;
use crate::error::want;
use crate::scan::Numbers;

/// A matrix that is one-hot by columns, times a diagonal.
///
/// ```
/// use ncde_kernels::permutation::ColumnMap;
/// use ncde_kernels::scan::Numbers;
/// let merge = ColumnMap::new(Numbers::Real, vec![1, 1, 0], vec![2.0, 0.5, 1.0])?;
/// assert_eq!(merge.apply(&[1.0, 4.0, 3.0])?, [3.0, 4.0, 0.0]);
/// let twice = merge.after(&merge)?;
/// assert_eq!(twice.apply(&[1.0, 4.0, 3.0])?, merge.apply(&merge.apply(&[1.0, 4.0, 3.0])?)?);
/// # Ok::<(), ncde_kernels::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnMap<T> {
    numbers: Numbers,
    to: Vec<u32>,
    scale: Vec<T>,
}

const NAME: &str = "permutation-diagonal";

impl<T: Float> ColumnMap<T> {
    /// State `j` goes to `to[j]`, times number `j` of `scale`.
    ///
    /// # Errors
    /// If there are not as many numbers as columns, or a column points beyond the last row.
    pub fn new(numbers: Numbers, to: Vec<u32>, scale: Vec<T>) -> Result<Self, Error> {
        let hidden = to.len();
        want(NAME, "the diagonal", scale.len(), numbers.parts() * hidden, || {
            format!("{hidden} columns x {} parts", numbers.parts())
        })?;
        match to.iter().position(|&to| to as usize >= hidden) {
            None => Ok(Self { numbers, to, scale }),
            Some(column) => {
                let problem = format!("column {column} goes to row {}, but there are {hidden}, counted from 0", to[column]);
                Err(Error::Structure { structure: NAME, problem })
            }
        }
    }

    /// Where each state goes.
    pub fn to(&self) -> &[u32] {
        &self.to
    }

    /// What it is multiplied with.
    pub fn scale(&self) -> &[T] {
        &self.scale
    }

    /// `self first`, the product of the matrices: `O(H)`.
    ///
    /// # Errors
    /// If their sizes or numbers differ.
    pub fn after(&self, first: &Self) -> Result<Self, Error> {
        if self.to.len() != first.to.len() || self.numbers != first.numbers {
            let of = |map: &Self| format!("{} {:?} columns", map.to.len(), map.numbers).to_lowercase();
            let problem = format!("a product of {} and {}; both must be the same", of(self), of(first));
            return Err(Error::Structure { structure: NAME, problem });
        }
        let mut product = first.clone();
        compose(self.numbers, (&self.to, &self.scale), (&mut product.to, &mut product.scale));
        Ok(product)
    }

    /// `A h`.
    ///
    /// # Errors
    /// If the state has another size.
    pub fn apply(&self, state: &[T]) -> Result<Vec<T>, Error> {
        want(NAME, "the state", state.len(), self.scale.len(), || {
            format!("{} columns x {} parts", self.to.len(), self.numbers.parts())
        })?;
        let mut out = vec![T::ZERO; state.len()];
        scatter(self.numbers, &self.to, &self.scale, state, &mut out);
        Ok(out)
    }
}

/// `out += A h`.
#[inline(always)]
pub(super) fn scatter<T: Float>(numbers: Numbers, to: &[u32], scale: &[T], h: &[T], out: &mut [T]) {
    let hidden = to.len();
    match numbers {
        Numbers::Real => {
            for (&to, (&d, &h)) in to.iter().zip(scale.iter().zip(h)) {
                out[to as usize] += d * h;
            }
        }
        Numbers::Complex => {
            let ((re, im), (x, y)) = (scale.split_at(hidden), h.split_at(hidden));
            let (out_re, out_im) = out.split_at_mut(hidden);
            for (j, &to) in to.iter().enumerate() {
                out_re[to as usize] += re[j] * x[j] - im[j] * y[j];
                out_im[to as usize] += re[j] * y[j] + im[j] * x[j];
            }
        }
    }
}

/// `u = D h`.
#[inline(always)]
pub(super) fn scaled<T: Float>(numbers: Numbers, scale: &[T], h: &[T], u: &mut [T]) {
    match numbers {
        Numbers::Real => u.iter_mut().zip(scale.iter().zip(h)).for_each(|(u, (&d, &h))| *u = d * h),
        Numbers::Complex => {
            let hidden = scale.len() / 2;
            for j in 0..hidden {
                let (re, im, x, y) = (scale[j], scale[hidden + j], h[j], h[hidden + j]);
                (u[j], u[hidden + j]) = (re * x - im * y, re * y + im * x);
            }
        }
    }
}

/// `out = A^H g`, and `d_scale = conj(h) (P^T g)`, the gradient of the diagonal.
#[inline(always)]
pub(super) fn gather<T: Float>(
    numbers: Numbers,
    (to, scale): (&[u32], &[T]),
    g: &[T],
    h: Option<(&[T], &mut [T])>,
    out: &mut [T],
) {
    let hidden = to.len();
    match numbers {
        Numbers::Real => {
            if let Some((h, d_scale)) = h {
                d_scale.iter_mut().zip(to.iter().zip(h)).for_each(|(d, (&to, &h))| *d = h * g[to as usize]);
            }
            out.iter_mut().zip(to.iter().zip(scale)).for_each(|(out, (&to, &d))| *out = d * g[to as usize]);
        }
        Numbers::Complex => {
            let (g_re, g_im) = g.split_at(hidden);
            if let Some((h, d_scale)) = h {
                for (j, &to) in to.iter().enumerate() {
                    let (re, im, x, y) = (g_re[to as usize], g_im[to as usize], h[j], h[hidden + j]);
                    (d_scale[j], d_scale[hidden + j]) = (re * x + im * y, im * x - re * y);
                }
            }
            for (j, &to) in to.iter().enumerate() {
                let (re, im, x, y) = (g_re[to as usize], g_im[to as usize], scale[j], scale[hidden + j]);
                (out[j], out[hidden + j]) = (re * x + im * y, im * x - re * y);
            }
        }
    }
}

/// The second map becomes the first after it.
#[inline(always)]
pub(super) fn compose<T: Float>(numbers: Numbers, (to, scale): (&[u32], &[T]), (own, factor): (&mut [u32], &mut [T])) {
    let hidden = to.len();
    for (j, own) in own.iter_mut().enumerate() {
        let via = *own as usize;
        *own = to[via];
        match numbers {
            Numbers::Real => factor[j] *= scale[via],
            Numbers::Complex => {
                let (re, im, x, y) = (scale[via], scale[hidden + via], factor[j], factor[hidden + j]);
                (factor[j], factor[hidden + j]) = (re * x - im * y, re * y + im * x);
            }
        }
    }
}
