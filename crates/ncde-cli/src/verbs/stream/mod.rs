//! `ncde stream`: one observation a line in, one prediction a line out.
//!
//! Constant memory for each series. Output is flushed before the program waits for input, so that a prediction is seen as soon as it
//! is known and a fast sender is not slowed down.

mod line;
mod state;
mod write;

use std::collections::HashMap;
use std::io::{BufRead, BufReader, BufWriter, Read, Write, stdin, stdout};

use ncde_runtime::{Model, Prediction, Series};

use crate::args::{BadLine, StreamArgs};
use crate::error::Failure;
use crate::output;
use line::{Observation, Reader, When};
use write::Writer;

/// Longer lines are not observations.
const LONGEST: u64 = 1 << 24;

pub(crate) fn run(args: &StreamArgs) -> Result<(), Failure> {
    let mut model = Model::load(&args.model)?;
    let spec = model.spec().clone();
    let mut series: HashMap<String, Series> = match &args.state {
        Some(path) => state::load(path, &model)?,
        None => HashMap::new(),
    };
    let mut input = BufReader::with_capacity(1 << 16, stdin().lock());
    let mut out = BufWriter::with_capacity(1 << 16, stdout().lock());
    let (mut reader, mut writer) = (Reader::new(&spec), None);
    let (mut text, mut number, mut bad) = (Vec::new(), 0_u64, 0_u64);
    loop {
        if input.buffer().is_empty() {
            out.flush().map_err(Failure::Stdout)?;
        }
        text.clear();
        let read = input.by_ref().take(LONGEST).read_until(b'\n', &mut text).map_err(|e| read_failure(&e))?;
        if read == 0 {
            break;
        }
        number += 1;
        let long = read as u64 == LONGEST && text.last() != Some(&b'\n');
        if long {
            skip_line(&mut input).map_err(|e| read_failure(&e))?;
        }
        let parsed = if long { Err(format!("longer than {LONGEST} bytes")) } else { reader.read(&text) };
        let result = match parsed {
            Ok(None) => Ok(None),
            Ok(Some(observation)) => take(&mut model, &mut series, &observation)
                .map(|taken| taken.map(|(time, prediction)| (observation.id, time, prediction))),
            Err(problem) => Err(problem),
        };
        match result {
            Ok(None) => {}
            Ok(Some((id, time, prediction))) => {
                let writer = writer.get_or_insert_with(|| Writer::new(&spec, reader.is_csv()));
                writer.write(&mut out, &id, time, &prediction).map_err(Failure::Stdout)?;
            }
            Err(problem) => {
                bad += 1;
                let message = format!("line {number}: {problem}");
                if args.bad == BadLine::Stop {
                    out.flush().map_err(Failure::Stdout)?;
                    return Err(Failure::Refused(message));
                }
                output::talk(&message);
            }
        }
    }
    out.flush().map_err(Failure::Stdout)?;
    if bad > 0 {
        output::talk(&format!("{bad} of {number} lines were skipped"));
    }
    match &args.state {
        Some(path) => state::save(path, &model, &series),
        None => Ok(()),
    }
}

/// Takes one observation; its time and the prediction after it, or none if the line only ends a series.
fn take(model: &mut Model, all: &mut HashMap<String, Series>, line: &Observation) -> Result<Option<(f64, Prediction)>, String> {
    let words = |e: ncde_runtime::Error| e.to_string();
    let time = match line.time {
        When::At(time) => time,
        When::Next => all.get(&line.id).map_or(0.0, |series| series.observations() as f64),
        When::Never => {
            return all.remove(&line.id).map(|_| None).ok_or_else(|| format!("there is no series `{}` to end", line.id));
        }
    };
    let prediction = match all.get_mut(&line.id) {
        Some(series) => {
            model.push(series, time, &line.values).map_err(words)?;
            model.predict(series).map_err(words)?
        }
        None => {
            let missing = vec![f64::NAN; model.spec().statics.len()];
            let mut series = model.start(line.statics.as_deref().unwrap_or(&missing)).map_err(words)?;
            model.push(&mut series, time, &line.values).map_err(words)?;
            let prediction = model.predict(&series).map_err(words)?;
            all.insert(line.id.clone(), series);
            prediction
        }
    };
    if line.end {
        all.remove(&line.id);
    }
    Ok(Some((time, prediction)))
}

fn skip_line(input: &mut impl BufRead) -> std::io::Result<()> {
    loop {
        let piece = input.fill_buf()?;
        let (used, found) = match piece.iter().position(|&b| b == b'\n') {
            Some(i) => (i + 1, true),
            None => (piece.len(), piece.is_empty()),
        };
        input.consume(used);
        if found {
            return Ok(());
        }
    }
}

fn read_failure(e: &std::io::Error) -> Failure {
    Failure::Refused(format!("cannot read standard input: {e}"))
}
