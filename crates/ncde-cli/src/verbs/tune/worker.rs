//! One run in this process: `ncde train`, once.
//!
//! The claim is a lock of the operating system. It is gone with the process that holds it, so a run whose process was killed can be done by another; and one that
//! is being done elsewhere is waited for, so that no engine takes it for done before it is.

use std::io::Read;

use clap::Parser;
use ncde_tune::{Run, Sweep};

use super::folder::{Folder, State};
use crate::args::{Cli, TuneArgs, Verb};
use crate::error::{Failure, refuse};
use crate::output;
use crate::verbs::train;

pub(super) fn only(folder: &Folder, name: &str, args: &TuneArgs) -> Result<(), Failure> {
    let sweep = folder.sweep()?;
    let Some(run) = sweep.find(name) else {
        refuse!(
            "there is no run `{name}` in `{}`; there are {} to {}",
            folder.path.display(),
            sweep.runs().next().map(Sweep::name).unwrap_or_default(),
            sweep.runs().last().map(Sweep::name).unwrap_or_default(),
        );
    };
    if args.held {
        follow_input();
    }
    let steps = args.settings.steps;
    let waits = || output::info(&format!("`{name}` is being done by another process: waiting for it"));
    let _claim = folder.claim_run(run, waits)?;
    match folder.state(run, steps)? {
        State::Finished(_) => {
            output::info(&format!("`{name}` is already finished: nothing to do"));
            return Ok(());
        }
        State::Failed(reason) => return Err(Failure::Failed(format!("`{name}` failed before: {reason}"))),
        State::Open => {}
    }
    let words = words(folder, &sweep, run, args.threads.unwrap_or(1), steps);
    let parsed = Cli::try_parse_from(std::iter::once("ncde".to_owned()).chain(words.iter().cloned()));
    let Ok(Cli { verb: Verb::Train(asked), .. }) = parsed else {
        refuse!("`ncde {}` cannot be run", words.join(" "));
    };
    folder.note(run, "started")?;
    match train::train(&asked, &words) {
        Ok(_) => folder.note(run, "finished"),
        Err(error @ Failure::Interrupted(_)) => {
            folder.note(run, "interrupted")?;
            Err(error)
        }
        // What was good before it went wrong is kept, and counts.
        Err(_) if matches!(folder.state(run, steps)?, State::Finished(_)) => folder.note(run, "finished"),
        Err(error) => {
            folder.fail(run, &error.to_string())?;
            folder.note(run, "failed")?;
            Err(error)
        }
    }
}

/// A run as it is typed behind `ncde`.
fn words(folder: &Folder, sweep: &Sweep, run: Run, threads: usize, steps: Option<usize>) -> Vec<String> {
    let mut words = vec!["train".to_owned(), "--config".into(), folder.base().display().to_string()];
    let folds = sweep.folds.zip(run.fold).map(|(folds, fold)| [format!("data.folds={folds}"), format!("data.fold={fold}")]);
    for assignment in sweep.trials[run.trial].assignments().into_iter().chain(folds.into_iter().flatten()) {
        words.extend(["--set".into(), assignment]);
    }
    if let Some(steps) = steps {
        words.extend(["--steps".into(), steps.to_string()]);
    }
    words.extend(["--seed".into(), run.seed.to_string(), "--threads".into(), threads.to_string()]);
    words.extend([
        "--device".into(),
        sweep.device.clone(),
        "--out".into(),
        folder.run(run).display().to_string(),
        "--resume".into(),
    ]);
    words
}

/// At the end of standard input this process gets the signal by which it saves what it has, and ends.
fn follow_input() {
    std::thread::spawn(|| {
        let mut input = std::io::stdin().lock();
        let mut bytes = [0; 64];
        while matches!(input.read(&mut bytes), Ok(1..)) {}
        let _ = signal_hook::low_level::raise(signal_hook::consts::SIGTERM);
    });
}
