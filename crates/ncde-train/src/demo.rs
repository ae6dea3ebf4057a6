//! Series to try things on: a point that walks on a plane and turns left, right, or not at all.
//!
//! ```text
//! angle <- angle + turn dt + noise,   (x, y) <- (x, y) + (cos angle, sin angle) dt,   turn = w, -w or 0, with w drawn for each series
//! ```
//!
//! Times are irregular, lengths differ, one value in ten is missing. What tells the classes apart is the signed area of the path, the
//! first thing that a log-signature adds to its increments.

use ncde_data::{Case, Clock, Dataset, Targets};

use ncde_runtime::random::Stream;

/// How many series.
const CASES: usize = 300;

/// The series; another seed gives others.
pub fn turns(seed: u64) -> Dataset {
    let names = ["left", "right", "straight"];
    let all = Stream::new(seed, 100);
    let of: Vec<usize> = (0..CASES).map(|i| i % names.len()).collect();
    let cases = of.iter().enumerate().map(|(i, &class)| case(i, class, &all.child(i as u64))).collect();
    Dataset {
        name: "turns".into(),
        channels: vec!["x".into(), "y".into()],
        statics: Vec::new(),
        times: Clock::Numbers,
        cases,
        targets: Targets::Classes { names: names.map(String::from).to_vec(), of },
        vocabulary: None,
        groups: None,
    }
}

fn case(i: usize, class: usize, stream: &Stream) -> Case {
    let [scalars, steps, noise, gaps] = [0, 1, 2, 3].map(|part| stream.child(part));
    let length = 40 + (40.0 * scalars.uniform(0)) as usize;
    let turn = (0.4 + 0.6 * scalars.uniform(1)) * [1.0, -1.0, 0.0][class];
    let mut angle = std::f64::consts::TAU * scalars.uniform(2);
    let (mut time, mut place) = (0.0, [3.0 * scalars.normal(3), 3.0 * scalars.normal(4)]);
    let (mut times, mut values) = (Vec::new(), Vec::new());
    for t in 0..length as u64 {
        let dt = 0.02 + 0.18 * steps.uniform(t);
        angle += turn * dt + 0.5 * dt.sqrt() * noise.normal(3 * t);
        place = [place[0] + dt * angle.cos(), place[1] + dt * angle.sin()];
        time += dt;
        times.push((time * 1e4).round() / 1e4);
        for (k, x) in place.iter().enumerate() {
            let seen = x + 0.02 * noise.normal(3 * t + 1 + k as u64);
            // The first observation is whole.
            let missing = t > 0 && gaps.uniform(2 * t + k as u64) < 0.1;
            values.push(if missing { f64::NAN } else { (seen * 1e4).round() / 1e4 });
        }
    }
    Case { id: format!("walk-{}", i + 1), times, values, statics: Vec::new() }
}
