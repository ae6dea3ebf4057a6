//! Windows of time: their rows join to the whole, and no row sees beyond its window.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::common;

use common::{assert_close, walk};
use ncde_signature::path::{Cubic, Linear, Path, Rectilinear, Series, TimeChannel, Windows};
use ncde_signature::{Basis, Control, Paths, Signature};

fn series(seed: u64) -> Series<f64> {
    let times: Vec<f64> = (0..24).scan(0.0, |t, i| Some(std::mem::replace(t, *t + 0.3 + 0.1 * f64::from(i % 4)))).collect();
    Series::new(times, walk(seed, 24, 2), 2).unwrap().with_time().unwrap()
}

/// A polygon may be cut anywhere; a cubic's polygon only at observations, for it has a new corner at every cut.
fn check<P: Path<f64>>(path: &P, log: &Signature, windows: &[Windows]) {
    let (start, end) = path.domain();
    let mut whole = Vec::new();
    path.polyline(start, end, 4, &mut whole).unwrap();
    let direct = log.of(&Paths::single(&whole, 3).unwrap()).unwrap();
    for windows in windows {
        let control = Control::signatures(path, windows, log, 4).unwrap();
        let rows = control.values().chunks_exact(control.width());
        assert_eq!(rows.len() + 1, control.ends().len());
        let joined = rows.map(<[f64]>::to_vec).reduce(|a, b| log.join(&a, &b).unwrap()).unwrap();
        let increments = Control::increments(path, windows).unwrap();
        for k in 0..increments.ends().len() - 1 {
            assert_close(increments.row(k), &control.row(k)[..3], 1e-12);
        }
        assert_close(&joined, &direct, 1e-12);
    }
}

#[test]
fn windows_join_to_the_whole() {
    let observed = series(1).complete().unwrap();
    let log = Signature::log(3, 3, Basis::Lyndon).unwrap();
    let end = observed.times()[23];
    let all = [Windows::Observations(5), Windows::Duration(1.7), Windows::Times(vec![0.0, 2.0, 2.5, end])];
    check(&Linear::new(&observed).unwrap(), &log, &all);
    check(&Rectilinear::new(&observed, TimeChannel::First).unwrap(), &log, &all);
    check(&Cubic::hermite(&observed).unwrap(), &log, &all[..1]);
    check(&Cubic::natural(&observed).unwrap(), &log, &all[..1]);
}

#[test]
fn a_window_does_not_see_what_comes_after_it() {
    let (a, b) = (series(1), series(1));
    let mut values = b.values().to_vec();
    values[20 * 3 + 1] += 5.0;
    let changed = Series::new(a.times().to_vec(), values, 3).unwrap();
    let log = Signature::log(3, 3, Basis::Lyndon).unwrap();
    let rows = |series: Series<f64>| {
        let path = Linear::new(&series.complete().unwrap()).unwrap();
        Control::signatures(&path, &Windows::Observations(4), &log, 1).unwrap()
    };
    let (a, b) = (rows(a), rows(changed));
    // Observation 20 ends window 4 and starts window 5.
    for k in 0..4 {
        assert_eq!(a.row(k), b.row(k));
    }
    assert_ne!(a.row(4), b.row(4));
}
