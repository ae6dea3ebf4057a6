//! The batched transform: paths in, signatures or log-signatures out, and back.

use std::ops::Range;

use rayon::prelude::*;

use crate::algebra::basis::want;
use crate::algebra::{Basis, LieBasis, Shape, words};
use crate::signature::emit::Output;
use crate::signature::flow::Checkpoints;
use crate::signature::group::{self, Scratch};
use crate::signature::mirror::Mirror;
use crate::signature::plan::{self, Layout};
use crate::signature::{Interval, Paths, pieces, stream};
use crate::{Error, Float};
use ncde_simd::{CACHE_LINE, Number};

/// The most numbers of increment gradients that are stored before they are added to the path's gradient.
const GRADIENT_BLOCK: usize = 1 << 21;

/// The signature of depth `N` of paths with `d` channels, or their log-signature.
///
/// Coordinates are ordered by length, then lexicographically; a signature's leading 1 is left out.
///
/// ```
/// use ncde_signature::{Basis, Paths, Signature};
/// // The two corners of the thesis: the same end points, opposite signed areas.
/// let right_then_up = [0.0, 0.0, 1.0, 0.0, 1.0, 1.0];
/// let up_then_right = [0.0, 0.0, 0.0, 1.0, 1.0, 1.0];
/// let log = Signature::log(2, 2, Basis::Lyndon)?;
/// assert_eq!(log.labels(), ["1", "2", "[1,2]"]);
/// assert_eq!(log.of(&Paths::single(&right_then_up, 2)?)?, [1.0, 1.0, 0.5]);
/// assert_eq!(log.of(&Paths::single(&up_then_right, 2)?)?, [1.0, 1.0, -0.5]);
/// # Ok::<(), ncde_signature::Error>(())
/// ```
#[derive(Debug)]
pub struct Signature {
    output: Output,
    mirror: Mirror,
}

impl Signature {
    /// Signatures of `channels`-dimensional paths, truncated at `depth`.
    ///
    /// # Errors
    /// If there are no channels, if the depth is 0, or if the result could not be addressed.
    pub fn new(channels: usize, depth: usize) -> Result<Self, Error> {
        let shape = Shape::new(channels, depth)?;
        Ok(Self { mirror: Mirror::new(&shape), output: Output { shape, log: None } })
    }

    /// Log-signatures of `channels`-dimensional paths, truncated at `depth`, in the coordinates of `basis`.
    ///
    /// # Errors
    /// As for [`new`](Self::new).
    pub fn log(channels: usize, depth: usize, basis: Basis) -> Result<Self, Error> {
        let mut signature = Self::new(channels, depth)?;
        signature.output.log = Some(LieBasis::new(&signature.output.shape, basis)?);
        Ok(signature)
    }

    /// The number of coordinates of one result.
    #[expect(clippy::len_without_is_empty, reason = "there is always a level 1")]
    pub fn len(&self) -> usize {
        self.output.len()
    }

    /// The tensor algebra in which results are computed.
    pub fn shape(&self) -> &Shape {
        &self.output.shape
    }

    /// The basis of log-signatures; none for signatures.
    pub fn basis(&self) -> Option<&LieBasis> {
        self.output.log.as_ref()
    }

    /// A readable name for each coordinate: words for signatures, brackets for log-signatures.
    pub fn labels(&self) -> Vec<String> {
        match &self.output.log {
            Some(basis) => basis.labels(),
            None => words::all(&self.output.shape).map(|w| words::label(&w)).collect(),
        }
    }

    /// The transform to signatures (not logarithms) in the same algebra.
    pub(crate) fn plain(&self) -> Self {
        Self { output: Output { shape: self.output.shape.clone(), log: None }, mirror: self.mirror.clone() }
    }

    pub(crate) fn output(&self) -> &Output {
        &self.output
    }

    pub(crate) fn mirror(&self) -> &Mirror {
        &self.mirror
    }

    /// The results for whole paths, `[batch, len]`.
    ///
    /// # Errors
    /// If the channels are not those of this transform, a path has one observation only, a value is not finite, the result
    /// overflows, or the memory cannot be had.
    pub fn of<T: Float>(&self, paths: &Paths<'_, T>) -> Result<Vec<T>, Error> {
        self.intervals(paths, &paths.whole()?)
    }

    /// The reverse pass of [`of`](Self::of): from the gradient of the results, `[batch, len]`, to that of the path's values, in
    /// their layout. Working memory grows with the square root of the length.
    ///
    /// # Errors
    /// As for [`of`](Self::of), or if the gradient has the wrong size.
    pub fn of_backward<T: Float>(&self, paths: &Paths<'_, T>, gradient: &[T]) -> Result<Vec<T>, Error> {
        self.intervals_backward(paths, &paths.whole()?, gradient)
    }

    /// The results for intervals of the paths, in the order given, `[intervals, len]`.
    ///
    /// # Errors
    /// As for [`of`](Self::of), or if an interval is empty or outside its path.
    pub fn intervals<T: Float>(&self, paths: &Paths<'_, T>, intervals: &[Interval]) -> Result<Vec<T>, Error> {
        T::intervals(self, paths, intervals)
    }

    pub(crate) fn intervals_of<T: Float>(&self, paths: &Paths<'_, T>, intervals: &[Interval]) -> Result<Vec<T>, Error> {
        self.check(paths, intervals)?;
        if pieces::any_long(intervals) {
            return pieces::forward(self, paths, intervals);
        }
        let mut out = self.shape().zeros(intervals.len(), self.len(), "the result")?;
        match plan::forward_layout::<T>(intervals.len(), self.shape().len()) {
            Layout::Words => self.forward::<T>(paths, intervals, &mut out)?,
            Layout::Lanes => self.forward::<T::Register>(paths, intervals, &mut out)?,
        }
        finite(paths, out)
    }

    fn forward<E: Number>(&self, paths: &Paths<'_, E::Real>, intervals: &[Interval], out: &mut [E::Real]) -> Result<(), Error> {
        let steps = intervals.iter().map(Interval::steps).max().unwrap_or(0);
        let task = plan::task(intervals.len(), E::WIDTH, steps, self.shape().len());
        let layout = self.layout::<E>();
        self.check_workspace::<E>(Scratch::<E>::workspace_len(&self.output, &layout))?;
        let tasks = intervals.par_chunks(task).zip(out.par_chunks_mut(task * self.len()));
        tasks.for_each_init(
            || Scratch::<E>::new(&self.output, &layout),
            |scratch, (intervals, out)| group::forward(&self.output, &layout, paths, intervals, scratch, out),
        );
        Ok(())
    }

    /// The reverse pass of [`intervals`](Self::intervals).
    ///
    /// # Errors
    /// As for [`intervals`](Self::intervals), or if the gradient has the wrong size.
    pub fn intervals_backward<T: Float>(
        &self,
        paths: &Paths<'_, T>,
        intervals: &[Interval],
        gradient: &[T],
    ) -> Result<Vec<T>, Error> {
        T::intervals_backward(self, paths, intervals, gradient)
    }

    pub(crate) fn intervals_backward_of<T: Float>(
        &self,
        paths: &Paths<'_, T>,
        intervals: &[Interval],
        gradient: &[T],
    ) -> Result<Vec<T>, Error> {
        self.check(paths, intervals)?;
        want("reverse pass of a signature", "the gradient", gradient.len(), intervals.len() * self.len())?;
        if pieces::any_long(intervals) {
            return pieces::backward(self, paths, intervals, gradient);
        }
        let d = paths.channels();
        let mut out = self.shape().zeros(1, paths.values().len(), "the gradient of the path")?;
        let mut buffer: Vec<T> = Vec::new();
        for block in blocks(intervals, d) {
            let gradient = &gradient[block.start * self.len()..block.end * self.len()];
            let intervals = &intervals[block];
            buffer.clear();
            buffer.resize(intervals.iter().map(Interval::steps).sum::<usize>() * d, T::ZERO);
            match plan::layout::<T>(intervals.len(), self.shape().len()) {
                Layout::Words => self.backward::<T>(paths, intervals, gradient, &mut buffer)?,
                Layout::Lanes => self.backward::<T::Register>(paths, intervals, gradient, &mut buffer)?,
            }
            let parts = stream::split(&buffer, intervals.iter().map(|interval| interval.steps() * d));
            for (interval, dx) in intervals.iter().zip(parts) {
                let start = (paths.rows(interval.path).start + interval.start) * d;
                stream::add_increments(dx, &mut out[start..start + dx.len() + d], d);
            }
        }
        finite_gradient(paths, gradient, out)
    }

    fn backward<E: Number>(
        &self,
        paths: &Paths<'_, E::Real>,
        intervals: &[Interval],
        gradient: &[E::Real],
        out: &mut [E::Real],
    ) -> Result<(), Error> {
        let steps = intervals.iter().map(Interval::steps).max().unwrap_or(0);
        let task = plan::task(intervals.len(), E::WIDTH, 4 * steps, self.shape().len());
        let layout = self.layout::<E>();
        self.check_workspace::<E>(
            Scratch::<E>::workspace_len(&self.output, &layout).saturating_add(Checkpoints::<E>::workspace_len(&layout, steps)),
        )?;
        let mut out = stream::split_mut(out, intervals, paths.channels());
        let tasks = intervals.par_chunks(task).zip(gradient.par_chunks(task * self.len())).zip(out.par_chunks_mut(task));
        tasks.for_each_init(
            || Scratch::<E>::new(&self.output, &layout),
            |scratch, ((intervals, gradient), out)| {
                group::backward(&self.output, &layout, paths, intervals, scratch, gradient, out);
            },
        );
        Ok(())
    }

    /// The layout of levels in working memory: each level starts on a cache line.
    pub(crate) fn layout<E: Number>(&self) -> Shape {
        self.shape().aligned((CACHE_LINE / size_of::<E>()).max(1))
    }

    pub(crate) fn check<T: Float>(&self, paths: &Paths<'_, T>, intervals: &[Interval]) -> Result<(), Error> {
        self.check_channels(paths)?;
        intervals.iter().try_for_each(|interval| interval.check(paths))
    }

    pub(crate) fn check_channels<T: Float>(&self, paths: &Paths<'_, T>) -> Result<(), Error> {
        want("a signature", "an observation", paths.channels(), self.shape().width())
    }

    /// Allocates the scratch of all threads at once as a test: too large a request is an error here, and would abort a thread later.
    pub(crate) fn check_workspace<E: Number>(&self, numbers: usize) -> Result<(), Error> {
        let all = numbers.saturating_mul(E::WIDTH).saturating_mul(rayon::current_num_threads());
        self.shape().zeros::<E::Real>(1, all, "the working memory").map(drop)
    }
}

/// Consecutive stretches of intervals whose increments fit the block.
fn blocks(intervals: &[Interval], channels: usize) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut start = 0;
    std::iter::from_fn(move || {
        let (mut end, mut size) = (start, 0);
        while end < intervals.len() && (end == start || size < GRADIENT_BLOCK) {
            size += intervals[end].steps() * channels;
            end += 1;
        }
        let block = start..end;
        start = end;
        (!block.is_empty()).then_some(block)
    })
}

/// Returns `out` if it is finite, else an error that names the value of the paths that is not, or their size.
pub(crate) fn finite<T: Float>(paths: &Paths<'_, T>, out: Vec<T>) -> Result<Vec<T>, Error> {
    if all_finite(&out) { Ok(out) } else { Err(paths.not_finite_error()) }
}

/// As [`finite`], for the gradient of the paths' values; the given gradient may also be the cause.
pub(crate) fn finite_gradient<T: Float>(paths: &Paths<'_, T>, gradient: &[T], out: Vec<T>) -> Result<Vec<T>, Error> {
    if all_finite(&out) {
        return Ok(out);
    }
    match gradient.iter().position(|g| !g.is_finite()) {
        None => Err(paths.not_finite_error()),
        Some(index) => Err(Error::GradientNotFinite { index, value: gradient[index].to_f64() }),
    }
}

/// As [`finite`], where `input` is finite, so that the cause is an overflow.
pub(crate) fn no_overflow<T: Float>(input: &[T], out: Vec<T>) -> Result<Vec<T>, Error> {
    if all_finite(&out) { Ok(out) } else { Err(overflow(input)) }
}

/// The error for an overflow, with the largest number of the input.
pub(crate) fn overflow<T: ncde_simd::Float>(input: &[T]) -> Error {
    let largest = input.iter().map(|x| x.to_f64().abs()).filter(|x| x.is_finite()).fold(0.0, f64::max);
    Error::Overflow { largest }
}

fn all_finite<T: Float>(values: &[T]) -> bool {
    // Without a short cut the loop vectorises.
    let row_is_finite = |row: &[T]| row.iter().fold(true, |all, x| all & x.is_finite());
    values.par_chunks(1 << 14).all(row_is_finite)
}
