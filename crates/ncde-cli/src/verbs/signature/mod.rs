//! `ncde signature`: read, check, make a path, compute, deliver.

mod check;
mod compute;
mod demo;
mod path;
mod request;
mod show;
mod size;

use std::path::Path;

use crate::args::SignatureArgs;
use crate::array::{self, Data, Input, Target, write_csv};
use crate::error::Failure;
use crate::{output, threads};
use compute::Answer;
use request::Request;

/// Where the answer goes.
enum Sink {
    File(Target),
    Csv,
    Json,
    Table,
}

pub(crate) fn run(args: &SignatureArgs) -> Result<(), Failure> {
    let request = Request::of(args)?;
    // Before the work, so that a target that cannot be written costs nothing.
    let sink = sink(args)?;
    // 0 lets the pool choose.
    let threads = args.threads.unwrap_or(0);
    let Some(name) = &args.input else {
        let input = demo::input();
        return match sink {
            Sink::Table => threads::on(threads, || demo::show(&request, &input)),
            sink => deliver(sink, threads::on(threads, || answer(&request, &input))?),
        };
    };
    let input = array::open(name, args.array.as_deref())?;
    if let Some(note) = &input.note {
        output::info(&format!("note: {note}"));
    }
    let answer = threads::on(threads, || answer(&request, &input))?;
    deliver(sink, answer)
}

fn sink(args: &SignatureArgs) -> Result<Sink, Failure> {
    Ok(match &args.output {
        Some(path) if path == Path::new("-") => Sink::Csv,
        Some(path) => Sink::File(Target::create(path)?),
        None if args.json => Sink::Json,
        None if args.table || args.input.is_none() || output::is_terminal() => Sink::Table,
        None => Sink::Csv,
    })
}

/// From numbers in a file to signatures, in the type of the numbers.
fn answer(request: &Request, input: &Input) -> Result<Answer, Failure> {
    match &input.array.data {
        Data::F32(values) => compute::answer(request, &check::observations(request, input, values)?),
        Data::F64(values) => compute::answer(request, &check::observations(request, input, values)?),
    }
}

fn deliver(sink: Sink, answer: Answer) -> Result<(), Failure> {
    match sink {
        Sink::File(target) => {
            let path = target.path().display().to_string();
            let array = &answer.rows.array;
            let written = format!("wrote `{path}`: {:?}, {}", array.shape, array.data.dtype());
            target.write("signature", answer.rows, || answer.signature.labels())?;
            output::info(&written);
            Ok(())
        }
        Sink::Csv => {
            let labels = answer.signature.labels();
            output::data(|out| write_csv(&answer.rows, &labels, out))
        }
        Sink::Json => show::json(&answer),
        Sink::Table => show::table(&answer),
    }
}
