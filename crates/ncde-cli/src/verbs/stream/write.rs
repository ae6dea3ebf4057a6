//! A prediction as a line: JSON where JSON came in, CSV where CSV did.

use std::io::{self, Write};

use ncde_runtime::{ModelSpec, Prediction, Task};

use super::live::Reply;
use crate::times::Times;
use crate::verbs::ahead::{self, Row};
use crate::verbs::predict::columns;

pub(super) struct Writer {
    spec: ModelSpec,
    times: Times,
    csv: bool,
    begun: bool,
}

impl Writer {
    pub(super) fn new(spec: &ModelSpec, times: Times, csv: bool) -> Self {
        Self { spec: spec.clone(), times, csv, begun: false }
    }

    pub(super) fn write(&mut self, out: &mut impl Write, id: &str, reply: &Reply) -> io::Result<()> {
        let Reply { time, prediction, beyond, .. } = reply;
        if !self.csv {
            let id = (!id.is_empty()).then_some(id);
            let (time, times, max_horizon) = (*time, &self.times, usize::MAX);
            let row = Row { spec: &self.spec, id, time, is_timed: true, times, prediction, max_horizon, beyond };
            serde_json::to_writer(&mut *out, &row)?;
            return out.write_all(b"\n");
        }
        if !self.begun {
            self.begun = true;
            out.write_all(b"id,time")?;
            columns(&self.spec).iter().try_for_each(|name| cell(out, name))?;
            out.write_all(b"\n")?;
        }
        if let (Prediction::Values(values), Some(forecast)) = (prediction, self.spec.task.forecast()) {
            for ahead in ahead::horizons(&self.spec, forecast, (*time, &self.times), values) {
                quoted(out, id)?;
                cell(out, &self.times.text(*time))?;
                ahead.cells().iter().try_for_each(|text| cell(out, text))?;
                out.write_all(b"\n")?;
            }
            return Ok(());
        }
        quoted(out, id)?;
        cell(out, &self.times.text(*time))?;
        match prediction {
            Prediction::Class { class, probabilities } => {
                let Task::Classification { classes, .. } = &self.spec.task else { return out.write_all(b"\n") };
                cell(out, &classes[*class])?;
                probabilities.iter().try_for_each(|&p| probability(out, p))?;
            }
            Prediction::Value(value) => write!(out, ",{value}")?,
            Prediction::Values(_) => {}
        }
        out.write_all(b"\n")
    }
}

/// The next cell of a line. A CSV writer is made for whole files: to make one for each line takes as long as to predict.
fn cell(out: &mut impl Write, text: &str) -> io::Result<()> {
    out.write_all(b",")?;
    quoted(out, text)
}

/// The next cell, `{p:.6}`, in a fraction of the time that writing any number takes.
fn probability(out: &mut impl Write, p: f64) -> io::Result<()> {
    let millionths = p * 1e6;
    let nearest = millionths.round();
    // The product is rounded too: near the middle between two numbers it does not say which.
    if p.is_sign_negative() || !(0.0..=1e6).contains(&millionths) || (millionths - nearest).abs() > 0.499 {
        return write!(out, ",{p:.6}");
    }
    let (mut text, mut rest) = (*b",0.000000", nearest as u32);
    for digit in [8, 7, 6, 5, 4, 3, 1] {
        text[digit] = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    out.write_all(&text)
}

/// A text, in quotes where CSV needs them.
fn quoted(out: &mut impl Write, text: &str) -> io::Result<()> {
    if text.contains([',', '"', '\n', '\r']) {
        return write!(out, "\"{}\"", text.replace('"', "\"\""));
    }
    out.write_all(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probabilities_are_written_as_in_general() {
        let edges = [
            0.0,
            -0.0,
            1.0,
            0.5,
            5e-7,
            1.5e-6,
            4.999_999_999e-7,
            0.999_999_5,
            1.0 - f64::EPSILON,
            1.5,
            -0.25,
            f64::NAN,
            f64::INFINITY,
        ];
        let halves = (0..2000).map(|i| (f64::from(i) + 0.5) * 1e-6);
        let others = (0..20_000).map(|i| (f64::from(i) * 0.618_033_988_749_894_9).fract().powi(1 + i % 7));
        for p in edges.into_iter().chain(halves).chain(others) {
            let mut text = Vec::new();
            probability(&mut text, p).unwrap();
            assert_eq!(String::from_utf8(text).unwrap(), format!(",{p:.6}"));
        }
    }
}
