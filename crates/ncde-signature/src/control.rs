//! From a path to what drives a model: one row a window of time, `r_0 < r_1 < ... < r_m`.
//!
//! Increments `X_{r_{k+1}} - X_{r_k}`, or log-signatures (or signatures) of the path over `[r_k, r_{k+1}]`. Neighbouring windows
//! share an end point and nothing else; a row depends on its own window alone.

use crate::path::{Path, Windows};
use crate::{Error, Float, Paths, Signature};

/// Windows of a path with one row of numbers each.
///
/// ```
/// use ncde_signature::path::{Linear, Series, Windows};
/// use ncde_signature::{Basis, Control, Signature};
/// let corner = Series::new(vec![0.0, 1.0, 4.0], vec![0.0, 0.0, 1.0, 0.0, 1.0, 1.0], 2)?;
/// let path = Linear::new(&corner.complete()?)?;
/// let log = Signature::log(2, 2, Basis::Lyndon)?;
/// let control = Control::signatures(&path, &Windows::Duration(2.0), &log, 1)?;
/// assert_eq!(control.ends(), [0.0, 2.0, 4.0]);
/// // To the right, then up a third of the way: the area under the corner is a sixth.
/// let [x, y, area] = control.row(0) else { unreachable!() };
/// assert!((x - 1.0_f64).abs() + (y - 1.0 / 3.0).abs() + (area - 1.0 / 6.0).abs() < 1e-12);
/// # Ok::<(), ncde_signature::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Control<T> {
    ends: Vec<f64>,
    width: usize,
    values: Vec<T>,
}

impl<T: Float> Control<T> {
    /// The increment of every window.
    ///
    /// # Errors
    /// If the windows do not fit the path.
    pub fn increments<P: Path<T>>(path: &P, windows: &Windows) -> Result<Self, Error> {
        let ends = windows.ends(path.knots())?;
        let width = path.channels();
        let mut values = vec![T::ZERO; (ends.len() - 1) * width];
        for (row, window) in values.chunks_exact_mut(width).zip(ends.windows(2)) {
            path.increment(window[0], window[1], row)?;
        }
        Ok(Self { ends, width, values })
    }

    /// The signature or log-signature of every window. A cubic is taken as the polygon through `refinement` points an interval
    /// between observations; the other paths are polygons already.
    ///
    /// # Errors
    /// If the windows do not fit the path, or as for [`Signature::of`].
    pub fn signatures<P: Path<T>>(path: &P, windows: &Windows, signature: &Signature, refinement: usize) -> Result<Self, Error> {
        let ends = windows.ends(path.knots())?;
        let (mut vertices, mut lengths, mut polyline) = (Vec::new(), Vec::new(), Vec::new());
        for window in ends.windows(2) {
            path.polyline(window[0], window[1], refinement, &mut polyline)?;
            lengths.push(polyline.len() / path.channels());
            vertices.extend_from_slice(&polyline);
        }
        let values = signature.of(&Paths::ragged(&vertices, &lengths, path.channels())?)?;
        Ok(Self { ends, width: signature.len(), values })
    }

    /// `r_0, ..., r_m`.
    pub fn ends(&self) -> &[f64] {
        &self.ends
    }

    /// The numbers in a row.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The row of window `k`, from 0.
    pub fn row(&self, k: usize) -> &[T] {
        &self.values[k * self.width..(k + 1) * self.width]
    }

    /// All rows, `[m, width]`.
    pub fn values(&self) -> &[T] {
        &self.values
    }
}
