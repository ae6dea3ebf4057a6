//! The flow of a linear controlled differential equation as a series in the signature `S` of its driving path, truncated.
//!
//! ```text
//! Phi^N h = h + sum_{1 <= |w| <= N} S_w A^{w_n} ... A^{w_1} h
//!         = h + sum_j A^j sum_{|u| < N} S_{u j} X_u,   X_() = h,   X_{u i} = A^i X_u
//! ```
//!
//! Thesis, theorem "Linear CDE solution". With `L = sum_k ||A^k|| int |domega^k|`, what is left out of the flow has norm at most
//! `L^(N+1) / (N+1)! exp(L)`.
//!
//! Words `u` are visited depth first. Cost: `d + (d + ... + d^(N-1))` products with one `A^k`, and `N + d` vectors of memory.

use ncde_simd::{Float, Number, Scalar};

use super::Field;
use crate::Error;
use crate::error::{finite, row_is_finite, want};

const OPERATION: &str = "the series of the flow";

impl Field {
    /// `Phi^N h`: the state after a path with this signature, from the words of up to `depth` letters. The words come by length,
    /// then lexicographically, without the empty one.
    ///
    /// ```
    /// use ncde_kernels::{Field, Structure};
    /// // dh^2 = h^1 domega^1 and dh^3 = h^2 domega^2, so that h^3 counts the word (1,2).
    /// let field = Field::new(Structure::Dense { hidden: 3 }, 2)?;
    /// let mut a = [0.0; 18];
    /// a[3] = 1.0;
    /// a[9 + 7] = 1.0;
    /// let right_then_up = [1.0, 1.0, 0.5, 1.0, 0.0, 0.5];
    /// let up_then_right = [1.0, 1.0, 0.5, 0.0, 1.0, 0.5];
    /// assert_eq!(field.series(&a, &right_then_up, 2, &[1.0, 0.0, 0.0])?, [1.0, 1.0, 1.0]);
    /// assert_eq!(field.series(&a, &up_then_right, 2, &[1.0, 0.0, 0.0])?, [1.0, 1.0, 0.0]);
    /// # Ok::<(), ncde_kernels::Error>(())
    /// ```
    ///
    /// # Errors
    /// If an array has the wrong size or holds a number that is not finite, if there are more words than can be counted, or if
    /// the state overflows.
    pub fn series<T: Float>(&self, a: &[T], signature: &[T], depth: usize, h: &[T]) -> Result<Vec<T>, Error> {
        self.check_series(a, signature, depth, h)?;
        let (hidden, d, simd) = (self.hidden(), self.channels, Scalar::new());
        let effective = self.effective(a);
        let mut scratch = vec![T::ZERO; hidden];
        // X of the current word and of all its prefixes, and for each letter j the sum of S_{u j} X_u.
        let mut x = vec![T::ZERO; depth.max(1) * hidden];
        let mut sums = vec![T::ZERO; d * hidden];
        x[..hidden].copy_from_slice(h);
        // Those prefixes: the place of each among all words, the empty one at 0, and the letter to follow it with next.
        let mut prefixes = Vec::with_capacity(depth);
        if depth > 0 {
            prefixes.push((0, 0));
        }
        while let Some((u, next)) = prefixes.pop() {
            let letters = prefixes.len();
            let (parents, children) = x.split_at_mut((letters + 1) * hidden);
            let x_u = &parents[letters * hidden..];
            if next == 0 {
                for (sum, &s) in sums.chunks_exact_mut(hidden).zip(&signature[u * d..(u + 1) * d]) {
                    T::axpy(simd, sum, s, x_u);
                }
            }
            if next < d && letters + 1 < depth {
                let child = &mut children[..hidden];
                child.fill(T::ZERO);
                self.apply::<T, _, false>(simd, &effective, next, x_u, child, &mut scratch);
                prefixes.push((u, next + 1));
                prefixes.push((u * d + next + 1, 0));
            }
        }
        let mut out = h.to_vec();
        for (j, sum) in sums.chunks_exact(hidden).enumerate() {
            self.apply::<T, _, false>(simd, &effective, j, sum, &mut out, &mut scratch);
        }
        if row_is_finite(&out) {
            return Ok(out);
        }
        let problem = "the state overflows; scale the path or A down, or compute in f64";
        Err(Error::Unsupported { operation: OPERATION, problem: problem.into() })
    }

    fn check_series<T: Float>(&self, a: &[T], signature: &[T], depth: usize, h: &[T]) -> Result<(), Error> {
        let (channels, hidden) = (self.channels, self.hidden());
        let Some(words) = words(channels, depth) else {
            let problem = format!("the words of up to {depth} letters over {channels} channels are too many; lower the depth");
            return Err(Error::Unsupported { operation: OPERATION, problem });
        };
        want(OPERATION, "A", a.len(), self.parameters(), || format!("the parameters of {channels} channels"))?;
        want(OPERATION, "the signature", signature.len(), words, || {
            format!("the words of 1 to {depth} letters over {channels} channels")
        })?;
        want(OPERATION, "the state", h.len(), hidden, || "the states of the field".into())?;
        for (what, name, values) in [("A", "parameter", a), ("the signature", "word", signature), ("the state", "state", h)] {
            finite(OPERATION, what, values, |place| format!("{name} {place}"))?;
        }
        Ok(())
    }
}

/// How many words have 1 to `depth` letters, if they can be counted.
pub(crate) fn words(channels: usize, depth: usize) -> Option<usize> {
    if channels == 1 {
        return Some(depth);
    }
    let (mut all, mut level) = (0_usize, 1_usize);
    for _ in 0..depth {
        level = level.checked_mul(channels)?;
        all = all.checked_add(level)?;
    }
    Some(all)
}
