//! Signatures of the parts of paths that were asked for.

use ncde_signature::algebra::LieBasis;
use ncde_signature::{Basis, Error, Float, Paths, Signature};

use super::check::Observations;
use super::request::{Kind, Parts, Request};
use super::{path, size};
use crate::array::{Array, Data, Rows};
use crate::error::Failure;

/// The results and what they are coordinates of.
pub(super) struct Answer {
    pub(super) signature: Signature,
    pub(super) rows: Rows,
}

pub(super) fn answer<T: Float>(request: &Request, observations: &Observations<'_, T>) -> Result<Answer, Failure>
where
    Data: From<Vec<T>>,
{
    size::check(request, observations)?;
    compute(request, observations).map_err(|source| Failure::Refused(format!("`{}`: {source}", observations.name)))
}

fn compute<T: Float>(request: &Request, observations: &Observations<'_, T>) -> Result<Answer, Error>
where
    Data: From<Vec<T>>,
{
    let channels = request.channels(observations.channels);
    let signature = match request.kind {
        Kind::Signature => Signature::new(channels, request.depth)?,
        Kind::Log(basis) => Signature::log(channels, request.depth, basis)?,
    };
    let vertices = path::vertices(request, observations)?;
    let batch = observations.batch.unwrap_or(1);
    let pieces = request.curve.pieces();
    let increments = request.length(observations.length) - 1;
    let paths = Paths::new(&vertices, batch, increments * pieces + 1, channels)?;
    let (values, axis) = match request.parts {
        Parts::Whole => (signature.of(&paths)?, None),
        Parts::Windows(size) => {
            let windows = paths.windows(size.saturating_mul(pieces))?;
            (signature.intervals(&paths, &windows)?, Some(("window", increments.div_ceil(size))))
        }
        Parts::Prefixes => {
            let rows = signature.stream(&paths)?;
            (every(pieces, rows, signature.len()), Some(("step", increments)))
        }
    };
    let path = observations.batch.map(|batch| ("path", batch));
    let (axes, mut shape): (Vec<_>, Vec<_>) = path.into_iter().chain(axis).unzip();
    shape.push(signature.len());
    let array = Array { shape, data: values.into() };
    Ok(Answer { signature, rows: Rows { array, axes } })
}

/// Every `pieces`-th row: those that end at an observation.
fn every<T: Float>(pieces: usize, rows: Vec<T>, width: usize) -> Vec<T> {
    if pieces == 1 {
        return rows;
    }
    rows.chunks_exact(width).skip(pieces - 1).step_by(pieces).flatten().copied().collect()
}

impl Answer {
    /// What the coordinates are, in words.
    pub(super) fn title(&self) -> String {
        let depth = self.signature.shape().depth();
        match self.signature.basis().map(LieBasis::basis) {
            None => format!("signature, depth {depth}"),
            Some(Basis::Lyndon) => format!("log-signature, depth {depth}, Lyndon brackets"),
            Some(Basis::Hall) => format!("log-signature, depth {depth}, Hall basis"),
            Some(Basis::Expanded) => format!("log-signature, depth {depth}, as a tensor"),
        }
    }

    /// How many coordinates each level has.
    pub(super) fn levels(&self) -> Vec<usize> {
        let shape = self.signature.shape();
        match self.signature.basis() {
            None => (1..=shape.depth()).map(|k| shape.level_len(k)).collect(),
            Some(basis) => {
                let mut levels = vec![0; shape.depth()];
                for degree in basis.degrees() {
                    levels[degree - 1] += 1;
                }
                levels
            }
        }
    }
}
