//! From observations to the vertices of a piecewise linear path with so many pieces between two observations.

use std::borrow::Cow;

use ncde_signature::path::{self, Cubic, Linear, Observed, Path, Rectilinear, Series, TimeChannel};
use ncde_signature::{Error, Float};

use super::check::Observations;
use super::request::{Curve, Request};
use crate::args::Missing;

/// `[batch, (length - 1) x pieces + 1, channels]`, one path after the other.
pub(super) fn vertices<'a, T: Float>(request: &Request, observations: &'a Observations<'_, T>) -> Result<Cow<'a, [T]>, Error> {
    let plain = matches!(request.curve, Curve::Linear) && request.missing.is_none();
    if plain && !request.time && !request.basepoint {
        return Ok(Cow::Borrowed(&observations.values));
    }
    let mut all = Vec::new();
    for path in 0..observations.batch.unwrap_or(1) {
        all.append(&mut one(request, &series(request, observations, path)?)?);
    }
    Ok(Cow::Owned(all))
}

fn series<T: Float>(request: &Request, observations: &Observations<'_, T>, path: usize) -> Result<Series<T>, Error> {
    let (length, channels) = (observations.length, observations.channels);
    let rows = path * length..(path + 1) * length;
    let times: Vec<f64> = match &observations.times {
        Some(times) => times[rows.clone()].to_vec(),
        None => (0..length).map(|i| i as f64).collect(),
    };
    let step = times.get(1).map_or(1.0, |second| second - times[0]);
    let before = times[0] - step;
    let values = observations.values[rows.start * channels..rows.end * channels].to_vec();
    let mut series = Series::with_missing(times, values, channels)?;
    if request.basepoint {
        series = series.with_basepoint(before)?;
    }
    if request.time {
        series = series.with_time()?;
    }
    Ok(series)
}

fn one<T: Float>(request: &Request, series: &Series<T>) -> Result<Vec<T>, Error> {
    // `forward` changes nothing where nothing is missing.
    let observed = || -> Result<Observed<T>, Error> { series.fill_forward(&path::Start::Required) };
    let ahead = request.missing == Some(Missing::Interpolate);
    match request.curve {
        Curve::Linear if ahead => polyline(&Linear::across_gaps(series)?, 1),
        Curve::Linear => Ok(observed()?.values().to_vec()),
        Curve::Rectilinear => polyline(&Rectilinear::new(&observed()?, TimeChannel::First)?, 1),
        Curve::Natural(pieces) if ahead => polyline(&Cubic::natural(series)?, pieces),
        Curve::Natural(pieces) => polyline(&Cubic::natural(&observed()?.into_series())?, pieces),
        Curve::Hermite(pieces) if ahead => polyline(&Cubic::hermite_across_gaps(series)?, pieces),
        Curve::Hermite(pieces) => polyline(&Cubic::hermite(&observed()?)?, pieces),
    }
}

fn polyline<T: Float>(path: &impl Path<T>, refinement: usize) -> Result<Vec<T>, Error> {
    let (start, end) = path.domain();
    let mut vertices = Vec::new();
    path.polyline(start, end, refinement, &mut vertices)?;
    Ok(vertices)
}
