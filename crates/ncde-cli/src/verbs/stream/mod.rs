//! `ncde stream`: one observation a line in, one prediction a line out.
//!
//! Constant memory for each series. One thread reads and parses lines, another takes what is there and predicts: of a fast sender many at a time.
//! Output is flushed before the program waits for input, so that a prediction is seen as soon as it is known.

mod line;
mod live;
mod state;
mod write;

use std::collections::HashMap;
use std::io::{BufRead, BufReader, BufWriter, Read, Write, stdin, stdout};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ncde_runtime::Model;

use crate::args::{BadLine, StreamArgs};
use crate::error::Failure;
use crate::{output, schema};
use line::{Observation, Reader};
use live::{Live, Reply};
use state::Keeper;
use write::Writer;

/// Longer lines are not observations.
const LONGEST: u64 = 1 << 24;

/// The most lines that are handed over at once, and how often that is done ahead of the model.
const MAX_LINES: usize = 256;
const AHEAD: usize = 4;

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

/// What became of the lines that were there, in order. Headers and empty lines are counted, and say nothing.
struct Lines {
    parsed: Vec<Result<Option<Observation>, String>>,
    is_csv: bool,
}

fn stream(args: &StreamArgs, live: &Mutex<Live>) -> Result<(), Failure> {
    let lock = || live.lock().unwrap_or_else(PoisonError::into_inner);
    let spec = lock().model().spec().clone();
    let mut out = BufWriter::with_capacity(1 << 16, stdout().lock());
    let known = schema::of(&spec)?;
    let options = schema::options(&spec, &known, &args.columns);
    let (reader, mut writer) = (Reader::new(known, options), None);
    let leaves_out = reader.leaves_out();
    let (mut number, mut bad) = (0_u64, 0_u64);
    let (sender, lines) = sync_channel(AHEAD);
    let parser = std::thread::Builder::new().spawn(move || parse(reader, &sender)).map_err(|e| read_failure(&e))?;
    loop {
        let next = match lines.try_recv() {
            Ok(next) => next,
            Err(_) => {
                out.flush().map_err(Failure::Stdout)?;
                let Ok(next) = lines.recv() else { break };
                next
            }
        };
        for parsed in next.parsed {
            number += 1;
            let result = match parsed {
                Ok(None) => Ok(None),
                Ok(Some(observation)) => take(&mut lock(), &leaves_out, observation),
                Err(problem) => Err(problem),
            };
            match result {
                Ok(None) => {}
                Ok(Some((id, reply))) => {
                    let writer = writer.get_or_insert_with(|| Writer::new(&spec, next.is_csv));
                    writer.write(&mut out, &id, &reply).map_err(Failure::Stdout)?;
                    if let Some(warning) = reply.warning {
                        output::info(&warning);
                    }
                }
                Err(problem) => {
                    bad += 1;
                    let message = format!("line {number}: {problem}");
                    if args.bad == BadLine::Stop {
                        out.flush().map_err(Failure::Stdout)?;
                        return Err(Failure::Refused(message));
                    }
                    output::info(&message);
                }
            }
        }
    }
    parser.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)).map_err(|e| read_failure(&e))?;
    out.flush().map_err(Failure::Stdout)?;
    if bad > 0 {
        output::info(&format!("{bad} of {number} lines were skipped"));
    }
    Ok(())
}

/// Takes an observation, unless it repeats the time of the last one and is left out, or the reason why that cannot be.
fn take(live: &mut Live, leaves_out: &Result<bool, String>, observation: Observation) -> Result<Option<(String, Reply)>, String> {
    if live.has(&observation) && leaves_out.clone()? {
        return Ok(None);
    }
    Ok(live.take(&observation)?.map(|reply| (observation.id, reply)))
}

/// Reads and parses until the input ends, or nobody wants to know. What is parsed is handed over before the next line is waited for.
fn parse(mut reader: Reader, sender: &SyncSender<Lines>) -> std::io::Result<()> {
    let mut input = BufReader::with_capacity(1 << 16, stdin().lock());
    let (mut text, mut parsed) = (Vec::new(), Vec::new());
    loop {
        let is_waiting = parsed.len() < MAX_LINES && input.buffer().contains(&b'\n');
        if !parsed.is_empty() && !is_waiting {
            let lines = Lines { parsed: std::mem::take(&mut parsed), is_csv: reader.is_csv() };
            if sender.send(lines).is_err() {
                return Ok(());
            }
        }
        text.clear();
        let read = input.by_ref().take(LONGEST).read_until(b'\n', &mut text)?;
        if read == 0 {
            return Ok(());
        }
        let long = read as u64 == LONGEST && text.last() != Some(&b'\n');
        if long {
            skip_line(&mut input)?;
        }
        parsed.push(if long { Err(format!("longer than {LONGEST} bytes")) } else { reader.read(&text, output::info) });
    }
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
