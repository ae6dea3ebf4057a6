//! Irregular times and missing values: from observations to paths, and from paths to log-signatures of windows of time.
//!
//! Two channels measured at their own times. Filling forward looks at nothing later; interpolating across gaps does. A Log-ODE
//! method takes one log-signature for each window `[r_k, r_{k+1}]` of time; windows need not end at observations.
#![allow(clippy::print_stdout, reason = "an example shows its result")]

use ncde_signature::path::{Linear, Path, Rectilinear, Series, Start, TimeChannel, Windows, p_variation};
use ncde_signature::{Basis, Control, Error, Signature};

fn main() -> Result<(), Error> {
    let gap = f64::NAN;
    let times = vec![0.0, 0.3, 1.1, 1.2, 2.5, 4.0];
    let values = vec![1.0, 0.0, 1.5, gap, gap, 1.0, 2.0, gap, gap, gap, 0.5, -1.0];
    let series = Series::with_missing(times, values, 2)?;
    println!("{} observations, {} values missing", series.length(), series.missing());

    // Time is channel 0 of both paths.
    let timed = series.with_time()?;
    let online = Rectilinear::new(&timed.fill_forward(&Start::Required)?, TimeChannel::First)?;
    let across = Linear::across_gaps(&timed)?;
    let (mut held, mut drawn) = ([0.0; 3], [0.0; 3]);
    online.evaluate(3.25, &mut held)?;
    across.evaluate(3.25, &mut drawn)?;
    println!("at time 3.25: held {held:?}, across the gap {drawn:?}");
    assert_eq!(held[1..], [2.0, 1.0], "the last values seen");
    assert!(drawn[1] < 2.0 && drawn[2] < 1.0, "on the way to what comes at time 4");

    let log = Signature::log(3, 2, Basis::Lyndon)?;
    let control = Control::signatures(&online, &Windows::Duration(1.5), &log, 1)?;
    assert_eq!(control.ends(), [0.0, 1.5, 3.0, 4.0], "the last window is shorter");
    println!("{:>12} {}", "window", log.labels().join("  "));
    for (k, ends) in control.ends().windows(2).enumerate() {
        println!("{:>12} {:.2?}", format!("[{}, {}]", ends[0], ends[1]), control.row(k));
    }
    // Chen: the windows join to the whole path.
    let mut later = 1..control.ends().len() - 1;
    let joined = later.try_fold(control.row(0).to_vec(), |joined, k| log.join(&joined, control.row(k)))?;
    let whole = Control::signatures(&online, &Windows::Times(vec![]), &log, 1)?;
    assert!(joined.iter().zip(whole.row(0)).all(|(a, b)| (a - b).abs() < 1e-12));

    let x: Vec<f64> = series.fill_forward(&Start::Required)?.values().to_vec();
    let [length, two] = [p_variation(&x, 2, 1.0)?, p_variation(&x, 2, 2.0)?];
    println!("1-variation {length:.3}, 2-variation {two:.3}");
    assert!(two <= length);
    Ok(())
}
