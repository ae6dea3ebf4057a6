//! What is seen of a run from outside: what happens meanwhile, what it leaves.

use std::ops::ControlFlow;

use ncde_report::RunRecord;
use ncde_report::record::{Best, Point, Recovery};

/// What happens while a run goes on.
#[expect(missing_docs, reason = "the variants say what their fields are")]
#[derive(Debug)]
pub enum Event<'a> {
    /// Training begins, or goes on after the steps that are `done`, with so many trained weights (`parameters`).
    Started { done: usize, steps: usize, parameters: usize },
    /// So many steps are done; the loss is that of the last.
    Step { step: usize, loss: f64 },
    /// A step diverged, for the `count`-th of at `most` so many times; it is taken again from earlier weights, at a lower learning rate.
    Recovered { recovery: &'a Recovery, count: usize, most: usize },
    /// The validation part was evaluated; the best evaluation so far.
    Evaluated { point: &'a Point, best: Option<&'a Best> },
    /// The readout of a reservoir is solved for: the features that were chosen, in words, and the mean square of leave-out errors.
    Solved { chosen: &'a str, error: f64 },
    /// The weights are there, and are being tested.
    Testing,
    /// Cases of a part, by their ids, on which states overflow: they have no prediction, and count as wrong.
    Overflowed { part: &'a str, cases: &'a [String] },
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
