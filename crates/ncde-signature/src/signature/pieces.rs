//! Long intervals cut into pieces, so that one long path uses all lanes and threads: `S = S_1 S_2 ... S_K` (Chen).
//!
//! How an interval is cut depends on its length alone, so results depend neither on threads nor on the batch. The reverse pass
//! goes back through the products, `P_k = P_{k-1} S_k`, and then through all pieces at once. Memory is a few times `K |S|`, and `K`
//! is bounded.

use rayon::prelude::*;

use crate::signature::transform::finite;
use crate::signature::{Interval, Paths, Signature, stream};
use crate::{Error, Float};

/// Intervals of more increments than this are cut.
const MIN_STEPS_TO_CUT: usize = 4096;

/// The least increments of a piece, except the last of its interval: shorter pieces would spend too much time on joining.
const MIN_PIECE_STEPS: usize = 1024;

/// The most pieces of an interval: enough for the lanes of several threads.
const MAX_PIECES: usize = 64;

/// Whether any interval is long enough to be cut.
pub(crate) fn any_long(intervals: &[Interval]) -> bool {
    intervals.iter().any(|interval| interval.steps() > MIN_STEPS_TO_CUT)
}

/// The pieces of all intervals, and the number of pieces of each.
fn cut(intervals: &[Interval]) -> (Vec<Interval>, Vec<usize>) {
    let mut pieces = Vec::new();
    let mut counts = Vec::with_capacity(intervals.len());
    for &Interval { path, start, end } in intervals {
        let steps = end - start;
        let size = if steps > MIN_STEPS_TO_CUT { steps.div_ceil(MAX_PIECES).max(MIN_PIECE_STEPS) } else { steps };
        let before = pieces.len();
        pieces.extend((start..end).step_by(size).map(|start| Interval { path, start, end: end.min(start + size) }));
        counts.push(pieces.len() - before);
    }
    (pieces, counts)
}

/// The results of intervals of which some are long.
pub(crate) fn forward<T: Float>(signature: &Signature, paths: &Paths<'_, T>, intervals: &[Interval]) -> Result<Vec<T>, Error> {
    let len = signature.shape().len();
    let (pieces, counts) = cut(intervals);
    let signatures = signature.plain().intervals_of(paths, &pieces)?;
    let mut whole = signature.shape().zeros(intervals.len(), len, "the signatures")?;
    let parts = stream::split(&signatures, counts.iter().map(|count| count * len));
    parts.par_iter().zip(whole.par_chunks_exact_mut(len)).for_each(|(part, whole)| {
        let last = prefixes(signature, part);
        whole.copy_from_slice(&last[last.len() - len..]);
    });
    finite(paths, signature.from_signature(&whole)?)
}

/// `P_1, ..., P_K`: the products of the first pieces.
fn prefixes<T: Float>(signature: &Signature, pieces: &[T]) -> Vec<T> {
    let len = signature.shape().len();
    let mut products = pieces.to_vec();
    for k in 1..pieces.len() / len {
        let (before, rest) = products.split_at_mut(k * len);
        T::join(signature.shape(), &before[(k - 1) * len..], &pieces[k * len..][..len], &mut rest[..len]);
    }
    products
}

/// The reverse pass of [`forward`].
pub(crate) fn backward<T: Float>(
    signature: &Signature,
    paths: &Paths<'_, T>,
    intervals: &[Interval],
    gradient: &[T],
) -> Result<Vec<T>, Error> {
    let len = signature.shape().len();
    let (pieces, counts) = cut(intervals);
    let signatures = signature.plain().intervals_of(paths, &pieces)?;
    let parts = stream::split(&signatures, counts.iter().map(|count| count * len));
    let backward_one = |(part, gradient): (&&[T], &[T])| -> Result<Vec<T>, Error> {
        let products = prefixes(signature, part);
        let mut adjoint = signature.from_signature_backward(&products[products.len() - len..], gradient)?;
        let mut out = vec![T::ZERO; part.len()];
        for k in (1..part.len() / len).rev() {
            let mut before = vec![T::ZERO; len];
            let (product, piece) = (&products[(k - 1) * len..][..len], &part[k * len..][..len]);
            T::join_backward(signature.shape(), product, piece, &adjoint, &mut before, &mut out[k * len..][..len]);
            adjoint = before;
        }
        out[..len].copy_from_slice(&adjoint);
        Ok(out)
    };
    let gradients: Vec<Vec<T>> =
        parts.par_iter().zip(gradient.par_chunks_exact(signature.len())).map(backward_one).collect::<Result<_, _>>()?;
    signature.plain().intervals_backward_of(paths, &pieces, &gradients.concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_cover_their_interval_and_depend_on_its_length_alone() {
        let long = Interval { path: 1, start: 3, end: 100_003 };
        let short = Interval { path: 0, start: 0, end: MIN_STEPS_TO_CUT };
        let (pieces, counts) = cut(&[short, long]);
        assert_eq!(counts, [1, 64]);
        assert_eq!(pieces[0], short);
        assert!(pieces[1..].windows(2).all(|pair| pair[0].end == pair[1].start));
        assert_eq!((pieces[1].start, pieces[64].end), (3, 100_003));
        let (alone, _) = cut(&[Interval { path: 0, start: 0, end: 100_000 }]);
        assert!(alone.iter().zip(&pieces[1..]).all(|(a, b)| a.steps() == b.steps()));
    }
}
