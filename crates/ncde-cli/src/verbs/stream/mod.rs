//! `ncde stream`: one observation a line in, one prediction a line out.
//!
//! Constant memory for each series. One thread reads and parses lines, another takes what is there and predicts: of a fast sender many at a time.
//! Output is flushed before the program waits for input, so that a prediction is seen as soon as it is known.

mod aside;
mod line;
mod live;
mod metrics;
mod state;
mod write;

use std::io::{BufRead, BufReader, BufWriter, Read, Write, stdin, stdout};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ncde_runtime::Model;

use crate::args::{BadLine, LateLine, StreamArgs};
use crate::error::Failure;
use crate::output;
use crate::times::Times;
use aside::Aside;
use line::{Observation, Reader};
use live::{Limits, Live, Order, Reply};
use metrics::{Counts, Metrics};
use state::Keeper;
use write::Writer;

/// Longer lines are not observations.
const LONGEST: u64 = 1 << 24;

/// The most lines that are handed over at once, and how often that is done ahead of the model.
const MAX_LINES: usize = 256;
const AHEAD: usize = 4;

pub(crate) fn run(args: &StreamArgs) -> Result<(), Failure> {
    let model = Model::load(&args.model)?;
    let spec = model.spec().clone();
    let known = ncde_train::schema_of(&spec)?;
    let options = args.columns.over(ncde_train::options_of(&spec, &known));
    let layout = known.table.clone();
    let reader = Reader::new(known, options);
    let step = spec.task.forecast().and_then(|forecast| forecast.step).unwrap_or(f64::NAN);
    let times = Times::new(layout.as_ref(), reader.clock(), std::iter::once(step));
    let limits = Limits {
        idle: args.idle.map(|idle| Duration::from_secs_f64(idle.amount)),
        most: args.most,
        max_gap: args.max_gap.map(|gap| reader.gap(gap)).transpose().map_err(Failure::Refused)?,
    };
    let _lock = args.state.as_ref().map(|path| state::claim(path)).transpose()?;
    let aside = args.state.as_ref().map_or_else(|| Ok(Aside::default()), |path| state::load(path, &model))?;
    let live = Arc::new(Mutex::new(Live::new(model, aside, limits)));
    let every = Duration::from_secs(args.save_every.get());
    let keeper = args.state.as_ref().map(|path| Keeper::start(path, &live, every)).transpose()?;
    let metrics = args.metrics.as_ref().map(|target| Metrics::start(target, &live)).transpose()?;
    let streamed = stream(args, reader, &times, &live);
    // Whatever ended the stream: the series are what they are.
    let saved = keeper.map_or(Ok(()), |keeper| keeper.save());
    let written = metrics.map_or(Ok(()), |metrics| metrics.write());
    streamed.and(saved).and(written)
}

/// What became of the lines that were there, in order. Headers and empty lines are counted, and say nothing.
struct Lines {
    parsed: Vec<Result<Option<Observation>, String>>,
    is_csv: bool,
    /// When the first of them had been read.
    read: Instant,
}

fn stream(args: &StreamArgs, reader: Reader, times: &Times, live: &Mutex<Live>) -> Result<(), Failure> {
    let lock = || live.lock().unwrap_or_else(PoisonError::into_inner);
    let spec = lock().model().spec().clone();
    let mut out = BufWriter::with_capacity(1 << 16, stdout().lock());
    let mut writer = None;
    let policy = Policy { leaves_out: reader.leaves_out(), late: args.late };
    let aside_failed = |source| Failure::Failed(format!("a series cannot be put aside: {source}"));
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
        lock().tick(Instant::now()).map_err(aside_failed)?;
        for parsed in next.parsed {
            let (number, result) = {
                let mut live = lock();
                live.counts.lines += 1;
                let result = parsed.and_then(|line| line.map_or(Ok(None), |line| policy.take(&mut live, line)));
                match &result {
                    Ok(Some(_)) => live.counts.predicted(next.read.elapsed()),
                    Ok(None) => {}
                    Err(_) => live.counts.refused += 1,
                }
                (live.counts.lines, result)
            };
            match result {
                Ok(None) => {}
                Ok(Some((id, reply))) => {
                    let writer = writer.get_or_insert_with(|| Writer::new(&spec, times.clone(), next.is_csv));
                    writer.write(&mut out, &id, &reply).map_err(Failure::Stdout)?;
                    if let Some(warning) = reply.warning {
                        output::info(&warning);
                    }
                }
                Err(problem) => {
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
    summary(&lock().counts)
}

/// Says what did not go well, and fails where nobody would see it, or nothing else happened.
fn summary(counts: &Counts) -> Result<(), Failure> {
    let Counts { lines, late, refused, dropped, resets, .. } = counts;
    if *late > 0 {
        output::info(&format!("{late} of {lines} lines came late and were left out"));
    }
    if *dropped > 0 {
        output::info(&format!(
            "{dropped} series were dropped (`--idle`, `--most`) and begin anew if they come back; `--state FILE` keeps them"
        ));
    }
    let skipped = format!("{refused} of {lines} lines were skipped");
    if *resets > 0 {
        let skipped = if *refused > 0 { format!("; {skipped}") } else { String::new() };
        return Err(Failure::Failed(format!(
            "{resets} times the state of a series overflowed and it began anew{skipped}; a model trained with `--set stability=contractive` cannot overflow so"
        )));
    }
    if *refused > 0 && (output::is_quiet() || counts.predictions() == 0) {
        return Err(Failure::Failed(skipped));
    }
    if *refused > 0 {
        output::info(&skipped);
    }
    Ok(())
}

/// What happens to lines that do not come after the last one of their series.
struct Policy {
    /// Of the same time: whether it is left out, or why that cannot be.
    leaves_out: Result<bool, String>,
    /// Of an earlier time, or of the same that is not left out.
    late: LateLine,
}

impl Policy {
    /// Takes an observation, unless it is left out, or the reason why that cannot be.
    fn take(&self, live: &mut Live, observation: Observation) -> Result<Option<(String, Reply)>, String> {
        let order = live.order(&observation)?;
        if order == Order::Same && self.leaves_out.clone()? {
            return Ok(None);
        }
        if order != Order::After && self.late == LateLine::Skip {
            live.counts.late += 1;
            return Ok(None);
        }
        let late = |e| if order == Order::After { e } else { format!("{e}; a line that ends the series lets it begin anew") };
        Ok(live.take(&observation).map_err(late)?.map(|reply| (observation.id, reply)))
    }
}

/// Reads and parses until the input ends, or nobody wants to know. What is parsed is handed over before the next line is waited for.
fn parse(mut reader: Reader, sender: &SyncSender<Lines>) -> std::io::Result<()> {
    let mut input = BufReader::with_capacity(1 << 16, stdin().lock());
    let (mut text, mut parsed, mut first) = (Vec::new(), Vec::new(), Instant::now());
    loop {
        let is_waiting = parsed.len() < MAX_LINES && input.buffer().contains(&b'\n');
        if !parsed.is_empty() && !is_waiting {
            let lines = Lines { parsed: std::mem::take(&mut parsed), is_csv: reader.is_csv(), read: first };
            if sender.send(lines).is_err() {
                return Ok(());
            }
        }
        text.clear();
        let read = input.by_ref().take(LONGEST).read_until(b'\n', &mut text)?;
        if read == 0 {
            return Ok(());
        }
        if parsed.is_empty() {
            first = Instant::now();
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
