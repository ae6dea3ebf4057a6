//! `ncde`, the command line: parse, run, and turn failures into exit codes.
//!
//! A library, so that other programs can hold it: the binary `ncde` and the Python package call [`run`].

mod args;
mod array;
mod bench;
mod error;
mod memory;
mod output;
mod program;
mod schema;
mod signals;
mod table;
mod threads;
mod times;
mod verbs;
mod words;

use std::ffi::OsString;

use clap::Parser;

use crate::args::{Cli, Verb};

/// Runs the command line on these words behind `ncde`, as a process does that has nothing else to do: it listens to signals, and ends the process where
/// words make no sense. `program` is how the same program is started again, for what runs as a process of its own. The result is the exit code.
pub fn run(words: Vec<OsString>, program: Vec<OsString>) -> u8 {
    program::set(program);
    let told: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let cli = Cli::parse_from(std::iter::once("ncde".into()).chain(words));
    output::be_quiet(cli.quiet);
    #[cfg(feature = "parquet")]
    hush_readers();
    #[cfg(feature = "cuda")]
    if let Err(failure) = round(cli.products) {
        output::warn(&format!("error: {failure}"));
        return failure.exit_code();
    }
    let result = match cli.verb {
        Verb::Train(args) => verbs::train::run(&args, &told),
        Verb::Eval(args) => verbs::eval::run(&args),
        Verb::Predict(args) => verbs::predict::run(&args),
        Verb::Stream(args) => verbs::stream::run(&args),
        Verb::Inspect(args) => verbs::inspect::run(&args),
        Verb::Tune(args) => verbs::tune::run(&args),
        Verb::Data(args) => verbs::data::run(&args),
        Verb::Report(args) => verbs::report::run(&args),
        Verb::Experiment(args) => verbs::experiment::run(&args),
        Verb::Signature(args) => verbs::signature::run(&args),
        Verb::Bench(args) => bench::run(&args),
        Verb::Completions(args) => verbs::completions::run(&args),
    };
    match result {
        Ok(()) => 0,
        Err(failure) => {
            if !failure.is_broken_pipe() {
                output::warn(&format!("error: {failure}"));
            }
            failure.exit_code()
        }
    }
}

/// Rounds products of matrices on a GPU, and says how far they are off then.
#[cfg(feature = "cuda")]
fn round(products: ncde_gpu::Rounding) -> Result<(), error::Failure> {
    if products == ncde_gpu::Rounding::None {
        return Ok(());
    }
    let refused = |problem: ncde_gpu::Error| error::Failure::Refused(problem.to_string());
    products.choose();
    let error = ncde_gpu::cuda().and_then(|gpu| gpu.error_of_products()).map_err(refused)?;
    output::info(&format!("products of matrices in {}: off by {error:.1e} of their norm on this GPU", products.name()));
    Ok(())
}

/// The crates that read Parquet and Arrow panic at some broken files. `ncde-data` makes an error of that, which is all there is to say.
#[cfg(feature = "parquet")]
fn hush_readers() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let file = panic.location().map_or("", |place| place.file());
        if !["parquet-", "arrow-", "bytes-"].iter().any(|reader| file.contains(reader)) {
            usual(panic);
        }
    }));
}
