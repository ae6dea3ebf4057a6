//! A matrix with one entry a line, times a diagonal. Its lines are its columns or its rows, and `at` says where each has its entry.
//!
//! ```text
//! columns: A = P D,  (A h)[i] = sum over at[j] = i of scale[j] h[j],   (A^H g)[j] = conj(scale[j]) g[at[j]]
//! rows:    A = D P,  (A h)[i] = scale[i] h[at[i]],                     (A^H g)[j] = sum over at[i] = j of conj(scale[i]) g[i]
//! A B:     columns at = at_A[at_B[j]], scale = scale_A[at_B[j]] scale_B[j];   rows at = at_B[at_A[i]], scale = scale_A[i] scale_B[at_A[i]]
//! ```
//!
//! Each form is the transpose of the other, so two loops serve both: one sends numbers to the entries, one fetches them. Complex rows hold their real parts, then their
//! imaginary parts.

use ncde_simd::Float;

use super::NAME;
use crate::Error;
use crate::error::want;
use crate::scan::Numbers;

/// Which lines of a matrix have one entry each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OneHot {
    /// Every state goes to one state; some may be reached by several, which are added, or by none.
    #[default]
    Columns,
    /// Every state comes from one state; some may be copied to several, or be lost.
    Rows,
}

/// A matrix that is one-hot by lines, times a diagonal.
///
/// ```
/// use ncde_kernels::permutation::{OneHot, OneHotMap};
/// use ncde_kernels::scan::Numbers;
/// let merge = OneHotMap::new(OneHot::Columns, Numbers::Real, vec![1, 1, 0], vec![2.0, 0.5, 1.0])?;
/// assert_eq!(merge.apply(&[1.0, 4.0, 3.0])?, [3.0, 4.0, 0.0]);
/// let copy = OneHotMap::new(OneHot::Rows, Numbers::Real, vec![1, 1, 0], vec![2.0, 0.5, 1.0])?;
/// assert_eq!(copy.apply(&[1.0, 4.0, 3.0])?, [8.0, 2.0, 1.0]);
/// let twice = copy.after(&copy)?;
/// assert_eq!(twice.apply(&[1.0, 4.0, 3.0])?, copy.apply(&copy.apply(&[1.0, 4.0, 3.0])?)?);
/// # Ok::<(), ncde_kernels::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct OneHotMap<T> {
    kind: Kind,
    at: Vec<u32>,
    scale: Vec<T>,
}

impl<T: Float> OneHotMap<T> {
    /// Line `j` has its entry at `at[j]`, times number `j` of `scale`.
    ///
    /// # Errors
    /// If there are not as many numbers as lines, or an entry lies beyond the last place.
    pub fn new(one_hot: OneHot, numbers: Numbers, at: Vec<u32>, scale: Vec<T>) -> Result<Self, Error> {
        let (hidden, kind) = (at.len(), Kind { one_hot, numbers });
        want(NAME, "the diagonal", scale.len(), numbers.parts() * hidden, || {
            format!("{hidden} {} x {} parts", kind.lines(), numbers.parts())
        })?;
        match at.iter().position(|&at| at as usize >= hidden) {
            None => Ok(Self { kind, at, scale }),
            Some(line) => {
                let (line_name, entry_name) = match one_hot {
                    OneHot::Columns => ("column", "row"),
                    OneHot::Rows => ("row", "column"),
                };
                let problem = format!(
                    "{line_name} {line} has its entry in {entry_name} {}, but there are {hidden}, counted from 0",
                    at[line]
                );
                Err(Error::Structure { structure: NAME, problem })
            }
        }
    }

    /// For each line the index of its entry.
    pub fn at(&self) -> &[u32] {
        &self.at
    }

    /// The diagonal.
    pub fn scale(&self) -> &[T] {
        &self.scale
    }

    /// The product `self first` of the matrices: `O(H)`.
    ///
    /// # Errors
    /// If their sizes, lines or numbers differ.
    pub fn after(&self, first: &Self) -> Result<Self, Error> {
        if self.at.len() != first.at.len() || self.kind != first.kind {
            let of = |map: &Self| format!("{} {:?} {}", map.at.len(), map.kind.numbers, map.kind.lines()).to_lowercase();
            let problem = format!("a product of {} and {}; both must be the same", of(self), of(first));
            return Err(Error::Structure { structure: NAME, problem });
        }
        let mut product = self.clone();
        self.kind.product((&self.at, &self.scale), (&first.at, &first.scale), (&mut product.at, &mut product.scale));
        Ok(product)
    }

    /// `A h`.
    ///
    /// # Errors
    /// If the state has another size.
    pub fn apply(&self, state: &[T]) -> Result<Vec<T>, Error> {
        want(NAME, "the state", state.len(), self.scale.len(), || {
            format!("{} {} x {} parts", self.at.len(), self.kind.lines(), self.kind.numbers.parts())
        })?;
        let mut out = vec![T::ZERO; state.len()];
        self.kind.apply((&self.at, &self.scale), state, &mut out);
        Ok(out)
    }
}

/// The properties shared by all matrices of a recurrence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Kind {
    pub(super) one_hot: OneHot,
    pub(super) numbers: Numbers,
}

/// Where entries are, and the diagonal.
type Map<'a, T> = (&'a [u32], &'a [T]);

impl Kind {
    fn lines(self) -> &'static str {
        match self.one_hot {
            OneHot::Columns => "columns",
            OneHot::Rows => "rows",
        }
    }

    /// `out += A h`.
    #[inline(always)]
    pub(super) fn apply<T: Float>(self, map: Map<'_, T>, h: &[T], out: &mut [T]) {
        match self.one_hot {
            OneHot::Columns => self.send::<T, false>(map, h, out),
            OneHot::Rows => self.fetch::<T, false>(map, h, out),
        }
    }

    /// `out = A^H g`.
    #[inline(always)]
    pub(super) fn adjoint<T: Float>(self, map: Map<'_, T>, g: &[T], out: &mut [T]) {
        out.fill(T::ZERO);
        match self.one_hot {
            OneHot::Columns => self.fetch::<T, true>(map, g, out),
            OneHot::Rows => self.send::<T, true>(map, g, out),
        }
    }

    /// The gradient of the diagonal from that of the state after a step and the state before it, `conj(h) (P^T g)` or `conj(P h) g`.
    #[inline(always)]
    pub(super) fn of_scale<T: Float>(self, at: &[u32], g: &[T], h: &[T], out: &mut [T]) {
        out.fill(T::ZERO);
        // A product of the line's own number and the one at its entry, the state conjugated.
        match self.one_hot {
            OneHot::Columns => self.fetch::<T, true>((at, h), g, out),
            OneHot::Rows => {
                self.fetch::<T, true>((at, g), h, out);
                // That is conj(g) h.
                if self.numbers == Numbers::Complex {
                    out[at.len()..].iter_mut().for_each(|y| *y = -*y);
                }
            }
        }
    }

    /// The factor of the lines of `dP`: `dP[line, entry] = Re(line conj(entry))`, with `D h` for columns, whose entries are `g`, and `D^H g` for rows, whose entries are `h`.
    #[inline(always)]
    pub(super) fn of_lines<T: Float>(self, scale: &[T], g: &[T], h: &[T], out: &mut [T]) {
        match self.one_hot {
            OneHot::Columns => times::<T, false>(self.numbers, scale, h, out),
            OneHot::Rows => times::<T, true>(self.numbers, scale, g, out),
        }
    }

    /// The product of two matrices.
    #[inline(always)]
    pub(super) fn product<T: Float>(self, left: Map<'_, T>, right: Map<'_, T>, (at, scale): (&mut [u32], &mut [T])) {
        // The entry of each line of the first matrix names the line of the second one that it leads to.
        let ((first, first_scale), (second, second_scale)) = match self.one_hot {
            OneHot::Columns => (right, left),
            OneHot::Rows => (left, right),
        };
        at.iter_mut().zip(first).for_each(|(at, &via)| *at = second[via as usize]);
        scale.fill(T::ZERO);
        self.fetch::<T, false>((first, first_scale), second_scale, scale);
    }

    /// `out[at[j]] += scale[j] x[j]`, or with the diagonal conjugated.
    #[inline(always)]
    fn send<T: Float, const CONJUGATE: bool>(self, (at, scale): Map<'_, T>, x: &[T], out: &mut [T]) {
        let hidden = at.len();
        match self.numbers {
            Numbers::Real => at.iter().zip(scale.iter().zip(x)).for_each(|(&at, (&d, &x))| out[at as usize] += d * x),
            Numbers::Complex => {
                let ((re, im), (x, y)) = (scale.split_at(hidden), x.split_at(hidden));
                let (out_re, out_im) = out.split_at_mut(hidden);
                for (j, &at) in at.iter().enumerate() {
                    let (real, imaginary) = multiplied::<T, CONJUGATE>([re[j], im[j]], [x[j], y[j]]);
                    out_re[at as usize] += real;
                    out_im[at as usize] += imaginary;
                }
            }
        }
    }

    /// `out[j] += scale[j] x[at[j]]`, or with the diagonal conjugated.
    #[inline(always)]
    fn fetch<T: Float, const CONJUGATE: bool>(self, (at, scale): Map<'_, T>, x: &[T], out: &mut [T]) {
        let hidden = at.len();
        match self.numbers {
            Numbers::Real => out.iter_mut().zip(at.iter().zip(scale)).for_each(|(out, (&at, &d))| *out += d * x[at as usize]),
            Numbers::Complex => {
                let ((re, im), (x, y)) = (scale.split_at(hidden), x.split_at(hidden));
                let (out_re, out_im) = out.split_at_mut(hidden);
                for (j, &at) in at.iter().enumerate() {
                    let (real, imaginary) = multiplied::<T, CONJUGATE>([re[j], im[j]], [x[at as usize], y[at as usize]]);
                    out_re[j] += real;
                    out_im[j] += imaginary;
                }
            }
        }
    }
}

/// `d x`, or `conj(d) x`.
#[inline(always)]
fn multiplied<T: Float, const CONJUGATE: bool>([re, im]: [T; 2], [x, y]: [T; 2]) -> (T, T) {
    match CONJUGATE {
        false => (re * x - im * y, re * y + im * x),
        true => (re * x + im * y, re * y - im * x),
    }
}

/// `out = D x`, or `D^H x`.
#[inline(always)]
fn times<T: Float, const CONJUGATE: bool>(numbers: Numbers, scale: &[T], x: &[T], out: &mut [T]) {
    match numbers {
        Numbers::Real => out.iter_mut().zip(scale.iter().zip(x)).for_each(|(out, (&d, &x))| *out = d * x),
        Numbers::Complex => {
            let hidden = scale.len() / 2;
            for j in 0..hidden {
                (out[j], out[hidden + j]) = multiplied::<T, CONJUGATE>([scale[j], scale[hidden + j]], [x[j], x[hidden + j]]);
            }
        }
    }
}
