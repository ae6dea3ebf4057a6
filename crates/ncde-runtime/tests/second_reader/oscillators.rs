//! `oscillators`, number by number.

use serde_json::Value;

use super::reader::{Own, Rows, affine, count, text};
use super::state_space::steps;

/// What is read from the places after each row.
pub(crate) fn oscillators(spec: &Value, own: &Own<'_>, rows: &Rows) -> Vec<Vec<f64>> {
    let (states, scheme) = (count(&spec["states"]), text(&spec["scheme"]));
    // Real parts, then imaginary ones.
    let (mut places, mut speeds) = (vec![0.0; 2 * states], vec![0.0; 2 * states]);
    let row = |(k, x): (usize, &Vec<f64>)| {
        let force = affine(x, own.get("input"), &vec![0.0; 2 * states]);
        for at in 0..2 * states {
            let (j, stiffness) = (at % states, own.get("stiffness")[at % states]);
            let d = steps(spec, rows, k) / (1.0 + (-own.get("step")[j]).exp());
            let (p, a) = match scheme {
                "implicit" => (1.0 / (1.0 + d * d * stiffness.max(0.0)), stiffness.max(0.0)),
                "explicit" => (1.0, stiffness.max(0.0)),
                "damped" => {
                    let damped = d * own.get("damping")[j].max(0.0);
                    let root = 2.0 * (1.0 + damped).sqrt();
                    let [least, most] = [-root, root].map(|root| (2.0 + damped + root) / (d * d));
                    (1.0 / (1.0 + damped), stiffness.max(least).min(most))
                }
                other => panic!("no scheme {other}"),
            };
            speeds[at] = p * (speeds[at] + d * (force[at] - a * places[at]));
            places[at] += d * speeds[at];
        }
        let skipped: Vec<f64> = x.iter().zip(own.get("skip")).map(|(x, skip)| x * skip).collect();
        affine(&places, own.get("output"), &skipped)
    };
    rows.values.iter().enumerate().map(row).collect()
}
