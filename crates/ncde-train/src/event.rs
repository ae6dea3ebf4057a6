//! What is seen of a run from outside: what happens meanwhile, what it leaves.

use std::ops::ControlFlow;

use ncde_report::RunRecord;
use ncde_report::record::{Best, Point, Recovery};

/// What happens while a run goes on.
#[derive(Debug)]
pub enum Event<'a> {
    /// Training begins, or goes on after `done` steps.
    Started {
        /// Steps already done.
        done: usize,
        /// Steps in all.
        steps: usize,
        /// Weights that are trained.
        parameters: usize,
    },
    /// A step is done.
    Step {
        /// How many are done.
        step: usize,
        /// Its loss.
        loss: f64,
    },
    /// A step diverged; it is taken again from earlier weights, at a lower learning rate.
    Recovered {
        /// What happened.
        recovery: &'a Recovery,
        /// How often it has happened.
        count: usize,
        /// How often it may.
        most: usize,
    },
    /// The validation part was evaluated.
    Evaluated {
        /// What was seen.
        point: &'a Point,
        /// The best so far.
        best: Option<&'a Best>,
    },
    /// The readout of a reservoir is solved for.
    Solved {
        /// The features that were chosen, in words.
        chosen: &'a str,
        /// The mean square of leave-out errors.
        error: f64,
    },
    /// The weights are there, and are being tested.
    Testing,
    /// Cases on which states overflow: they have no prediction, and count as wrong.
    Overflowed {
        /// Of which part.
        part: &'a str,
        /// Their names.
        cases: &'a [String],
    },
}

/// What a run leaves.
#[derive(Debug)]
pub struct Outcome {
    /// All that was seen.
    pub record: RunRecord,
    /// Whether it was already finished, and nothing was done.
    pub already: bool,
}

/// Lets a run go on, whatever is seen of it.
///
/// ```
/// use ncde_train::{Config, Event, Run, TrainRequest, demo::turns, watching};
/// let directory = std::env::temp_dir().join("ncde-watching");
/// # let _ = std::fs::remove_dir_all(&directory);
/// let run = Run::new(&Config::from_toml("[model]\nname = \"signature\"\n[train]\nsteps = 20\n")?, turns(0), None)?;
/// let mut steps = 0;
/// run.train(&TrainRequest::new(&directory), &mut watching(|event| steps += usize::from(matches!(event, Event::Step { .. }))))?;
/// assert_eq!(steps, 20);
/// # Ok::<(), ncde_train::Error>(())
/// ```
pub fn watching(mut see: impl FnMut(Event<'_>)) -> impl FnMut(Event<'_>) -> ControlFlow<()> {
    move |event| {
        see(event);
        ControlFlow::Continue(())
    }
}

/// Lets a run go on unseen.
pub fn ignore(_: Event<'_>) -> ControlFlow<()> {
    ControlFlow::Continue(())
}
