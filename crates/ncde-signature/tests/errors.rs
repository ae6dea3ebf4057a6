//! What a caller gets wrong, and what they are told.
#![allow(clippy::unwrap_used, reason = "a test")]

use ncde_signature::{Basis, Error, Interval, Paths, Rolling, Signature};

#[track_caller]
fn says<T: std::fmt::Debug>(result: Result<T, Error>, parts: &[&str]) {
    let message = result.unwrap_err().to_string();
    for part in parts {
        assert!(message.contains(part), "`{message}` does not say `{part}`");
    }
}

#[test]
fn sizes() {
    says(Signature::new(0, 2), &["at least one channel"]);
    says(Signature::new(2, 0), &["depth 0"]);
    says(Signature::new(10, 30), &["10 channels", "depth 30", "1111111111111111111111111111110 coordinates"]);
    says(Signature::log(50, 40, Basis::Lyndon), &["coordinates"]);
    says(Paths::new(&[0.0; 5], 1, 2, 3), &["5 entries", "wanted 6"]);
    says(Paths::ragged(&[0.0; 4], &[2, 0], 2), &["empty"]);
    says(Paths::<f64>::single(&[], 2), &["empty"]);
    // Addressable, but more than any machine has.
    let transform = Signature::new(8, 14).unwrap();
    says(transform.of(&Paths::new(&[0.0_f64; 16], 1, 2, 8).unwrap()), &["1 x 5026338869832", "8 channels at depth 14"]);
}

#[test]
fn values() {
    let transform = Signature::new(2, 2).unwrap();
    let mut x = vec![0.0; 2 * 3 * 2];
    says(transform.of(&Paths::new(&x[..4], 2, 1, 2).unwrap()), &["series 0", "one observation"]);
    says(transform.of(&Paths::single(&x[..3], 3).unwrap()), &["one observation"]);
    says(transform.of(&Paths::single(&x[..6], 3).unwrap()), &["3", "wanted 2"]);
    x[9] = f64::NAN;
    let paths = Paths::new(&x, 2, 3, 2).unwrap();
    says(transform.of(&paths), &["series 1, observation 1", "channel 1", "NaN"]);
    says(transform.stream(&paths), &["series 1, observation 1"]);
    says(transform.of_backward(&paths, &[1.0; 12]), &["series 1, observation 1", "NaN"]);
    x[9] = f64::INFINITY;
    says(transform.of(&Paths::new(&x, 2, 3, 2).unwrap()), &["inf"]);
    let good = [0.0, 1.0, 2.0, 3.0];
    let paths = Paths::single(&good, 2).unwrap();
    let mut gradient = [1.0; 6];
    gradient[4] = f64::NAN;
    says(transform.of_backward(&paths, &gradient), &["entry 4 of the gradient is NaN"]);
    says(transform.stream_backward(&paths, &gradient), &["entry 4 of the gradient"]);
    let huge = [0.0_f32, 0.0, 1e30, 1e30];
    says(transform.of(&Paths::single(&huge, 2).unwrap()), &["overflows", "1.00"]);
}

#[test]
fn intervals_and_windows() {
    let transform = Signature::new(1, 2).unwrap();
    let x = [0.0, 1.0, 2.0];
    let paths = Paths::single(&x, 1).unwrap();
    for (start, end) in [(1, 1), (2, 1), (0, 3)] {
        says(transform.intervals(&paths, &[Interval { path: 0, start, end }]), &["not inside [0, 2]"]);
    }
    says(transform.intervals(&paths, &[Interval { path: 1, start: 0, end: 1 }]), &["the path of an interval"]);
    says(paths.windows(0), &["at least one increment"]);
    says(transform.of_backward(&paths, &[1.0]), &["gradient", "1 entries", "wanted 2"]);
    says(transform.stream_backward(&paths, &[1.0]), &["wanted 4"]);
    assert_eq!(transform.intervals(&paths, &[]).unwrap(), Vec::<f64>::new());
    says(Rolling::<f64>::new(&std::sync::Arc::new(transform), 0).map(|_| ()), &["at least one increment"]);
}
