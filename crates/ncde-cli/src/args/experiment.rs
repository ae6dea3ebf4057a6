//! What can be typed after `experiment`.

use std::path::PathBuf;

use clap::Args;
use ncde_experiment::{Budget, Seeds};

use super::{Device, named, positive};

const EXAMPLES: &str = "\
Examples:
  ncde experiment
      what there is, and what each needs
  ncde experiment a5
      minutes on two cores; the table says what was cut
  ncde experiment formal --model block-64-8 --task cycle-navigation --seeds 3
      one row of a table, mean and deviation over three seeds
  ncde experiment uea --data archive --task Heartbeat --split splits.json --seeds 2 --out runs/uea
      files that you have, and parts that others have published
  ncde experiment a5 --budget paper --out runs/a5
      as published: days on a processor
  ncde experiment formal --budget paper --steps 20000 --device cuda --out runs/formal
      the published models on a GPU, with a fifth of the steps
  ncde experiment formal --model permutation-diagonal --set recurrence.scores=2 --out runs/scores
      a row with another setting; the table says so
  ncde experiment a5 --budget paper --out runs/a5 --resume
      go on with it; a finished run is never done again

The directory holds one folder for each run (MODEL/TASK/seed-N/result.json), and the tables as
`table.md`, `table.tex` and, with plots, as `report.html`. Deviations are those of the population,
as in the thesis; the best of a column is bold. Three models or more on two tasks or more are also
ranked and tested (Friedman; Wilcoxon with Holm's correction). `--json` prints a line for each
value, each mean, and the tests.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ExperimentArgs {
    /// Which; without it, a list of all
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,

    /// How many seeds (3), or which (1234,1235; one alone: 7,); 1 at `quick`, the published ones at `paper`
    #[arg(long, value_name = "SEEDS")]
    pub(crate) seeds: Option<Seeds>,

    /// Minutes on two cores, or as published
    #[arg(long, value_parser = named(Budget::ALL), default_value = "quick")]
    pub(crate) budget: Budget,

    /// The most steps of training, in place of the budget's; the learning rate falls over as many
    #[arg(long, value_name = "N", value_parser = positive)]
    pub(crate) steps: Option<usize>,

    /// Any setting of its runs, as `result.json` has it: `training.decay=0.1` on words, `train.rate=0.001` on series; may be given often
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,

    /// Only this model; may be given several times
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Vec<String>,

    /// Only this task; may be given several times
    #[arg(long, value_name = "NAME")]
    pub(crate) task: Vec<String>,

    /// Where data sets are, for experiments that need some
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,

    /// A JSON file that says which cases are validated and tested on, for each seed: `{"SEED": {"val": [...], "test": [...]}}`; or a
    /// directory with NAME/splits.json for each data set
    #[arg(long, value_name = "PATH", requires = "data")]
    pub(crate) split: Option<PathBuf>,

    /// The directory of its runs; `experiments/NAME-BUDGET` by default
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,

    /// Go on with an experiment that was interrupted, or add to it
    #[arg(long)]
    pub(crate) resume: bool,

    /// Where it runs
    #[arg(long, value_enum, default_value = "cpu")]
    pub(crate) device: Device,

    /// How many threads compute; all by default
    #[arg(long, value_name = "N", value_parser = positive)]
    pub(crate) threads: Option<usize>,

    /// A JSON object for each value and each mean, and one for the tests, in place of tables
    #[arg(long)]
    pub(crate) json: bool,
}
