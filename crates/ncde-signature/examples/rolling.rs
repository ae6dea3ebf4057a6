//! A stream that never ends: the log-signature of all observations so far, and of the last ten increments.
//!
//! `OnlineSignature` keeps one state. `Rolling` keeps one state for each increment of its window; an observation costs a constant number
//! of steps, averaged over many. Neither divides anything out, so neither drifts.
#![allow(clippy::print_stdout, reason = "an example shows its result")]

use std::sync::Arc;

use ncde_signature::{Basis, Error, OnlineSignature, Paths, Rolling, Signature};

const WINDOW: usize = 10;

fn main() -> Result<(), Error> {
    let log = Arc::new(Signature::log(2, 3, Basis::Lyndon)?);
    let mut online = OnlineSignature::new(&log);
    let mut rolling = Rolling::new(&log, WINDOW)?;

    // A circle run counter-clockwise, then clockwise, with a little drift.
    let observation = |i: u32| {
        let turned = f64::from(i.min(500)) - f64::from(i.saturating_sub(500));
        let angle = turned * 0.2;
        [angle.cos() + 0.001 * f64::from(i), angle.sin()]
    };
    let mut history = Vec::new();
    for i in 0..=1000 {
        let x = observation(i);
        online.push(&x)?;
        rolling.push(&x)?;
        history.extend(x);
        if i % 250 == 125 {
            println!("after {i:4}: area so far {:8.3}, area of the window {:6.3}", online.value()?[2], rolling.value()?[2]);
        }
    }
    assert_eq!(rolling.steps(), WINDOW);

    // The same from the whole history at once.
    let paths = Paths::single(&history, 2)?;
    let whole = log.of(&paths)?;
    let last = &history[history.len() - (WINDOW + 1) * 2..];
    let window = log.of(&Paths::single(last, 2)?)?;
    let far = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    let (of_online, of_rolling) = (far(&online.value()?, &whole), far(&rolling.value()?, &window));
    println!("difference to recomputation: {of_online:.1e} (online), {of_rolling:.1e} (rolling)");
    assert!(of_online < 1e-9 && of_rolling < 1e-12);
    assert!(window[2] < 0.0, "the window sees clockwise turning only");
    Ok(())
}
