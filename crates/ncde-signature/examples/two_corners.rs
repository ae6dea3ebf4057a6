//! Two paths with the same ends. The increment cannot tell them apart; the signed area can.
//!
//! `X`: right, then up. `Y`: up, then right. Both go from (0,0) to (1,1). The area between a path and its chord,
//! `(S^(1,2) - S^(2,1)) / 2`, is the coordinate `[1,2]` of the log-signature: +1/2 for `X` and -1/2 for `Y`.
#![allow(clippy::print_stdout, reason = "an example shows its result")]

use ncde_signature::{Basis, Error, Paths, Signature};

fn main() -> Result<(), Error> {
    // [batch, length, channels]: two paths, three observations, two channels.
    let corners = [0.0, 0.0, 1.0, 0.0, 1.0, 1.0, /* Y */ 0.0, 0.0, 0.0, 1.0, 1.0, 1.0];
    let paths = Paths::new(&corners, 2, 3, 2)?;

    let signature = Signature::new(2, 2)?;
    let values = signature.of(&paths)?;
    let (x, y) = values.split_at(signature.len());
    println!("{:>8} {:>6} {:>6}", "word", "X", "Y");
    for ((label, x), y) in signature.labels().iter().zip(x).zip(y) {
        println!("{label:>8} {x:>6} {y:>6}");
    }
    assert_eq!(x[..2], y[..2], "the same increment");
    assert_ne!(x[2..], y[2..], "but not the same path");

    let log = Signature::log(2, 2, Basis::Lyndon)?;
    let values = log.of(&paths)?;
    let (x, y) = values.split_at(log.len());
    println!("{:>8} {:>6} {:>6}", "bracket", "X", "Y");
    for ((label, x), y) in log.labels().iter().zip(x).zip(y) {
        println!("{label:>8} {x:>6} {y:>6}");
    }
    assert_eq!((x[2], y[2]), (0.5, -0.5));

    // Chen: X is "right" joined to "up", and the order of the two decides the sign.
    let right = log.of(&Paths::single(&[0.0, 0.0, 1.0, 0.0], 2)?)?;
    let up = log.of(&Paths::single(&[0.0, 0.0, 0.0, 1.0], 2)?)?;
    assert_eq!(log.join(&right, &up)?, x);
    assert_eq!(log.join(&up, &right)?, y);
    println!("right then up = X, up then right = Y: joining does not commute");
    Ok(())
}
