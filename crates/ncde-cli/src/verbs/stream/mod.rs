//! `ncde stream`: one observation a line in, one prediction a line out.
//!
//! Constant memory for each series. Output is flushed before the program waits for input, so that a prediction is seen as soon as it
//! is known and a fast sender is not slowed down.

mod line;
mod live;
mod state;
mod write;

use std::collections::HashMap;
use std::io::{BufRead, BufReader, BufWriter, Read, Write, stdin, stdout};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ncde_runtime::Model;

use crate::args::{BadLine, StreamArgs};
use crate::error::Failure;
use crate::{output, schema};
use line::{Observation, Reader};
use live::{Live, Said};
use state::Keeper;
use write::Writer;

/// Longer lines are not observations.
const LONGEST: u64 = 1 << 24;

pub(crate) fn run(args: &StreamArgs) -> Result<(), Failure> {
    let model = Model::load(&args.model)?;
    let saved = args.state.as_ref().map_or_else(|| Ok(HashMap::new()), |path| state::load(path, &model))?;
    let live = Arc::new(Mutex::new(Live::new(model, saved)));
    let every = Duration::from_secs(args.save_every.get());
    let keeper = args.state.as_ref().map(|path| Keeper::start(path, &live, every)).transpose()?;
    let streamed = stream(args, &live);
    // Whatever ended the stream: the series are what they are.
    keeper.map_or(Ok(()), |keeper| keeper.save())?;
    streamed
}

fn stream(args: &StreamArgs, live: &Mutex<Live>) -> Result<(), Failure> {
    let lock = || live.lock().unwrap_or_else(PoisonError::into_inner);
    let spec = lock().model().spec().clone();
    let mut input = BufReader::with_capacity(1 << 16, stdin().lock());
    let mut out = BufWriter::with_capacity(1 << 16, stdout().lock());
    let known = schema::of(&spec)?;
    let options = schema::options(&spec, &known, &args.columns);
    let (mut reader, mut writer) = (Reader::new(known, options), None);
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
        let parsed = if long { Err(format!("longer than {LONGEST} bytes")) } else { reader.read(&text, output::talk) };
        let result = match parsed {
            Ok(None) => Ok(None),
            Ok(Some(observation)) => take(&mut lock(), &reader, observation),
            Err(problem) => Err(problem),
        };
        match result {
            Ok(None) => {}
            Ok(Some((id, said))) => {
                let writer = writer.get_or_insert_with(|| Writer::new(&spec, reader.is_csv()));
                writer.write(&mut out, &id, &said).map_err(Failure::Stdout)?;
                if let Some(warning) = said.warning {
                    output::talk(&warning);
                }
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
    Ok(())
}

/// Takes an observation, unless it repeats the time of the last one and is left out.
fn take(live: &mut Live, reader: &Reader, observation: Observation) -> Result<Option<(String, Said)>, String> {
    if live.has(&observation) && reader.leaves_out()? {
        return Ok(None);
    }
    Ok(live.take(&observation)?.map(|said| (observation.id, said)))
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
