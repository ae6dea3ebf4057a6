//! What can be typed after `tune`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use ncde_experiment::Seeds;
use ncde_tune::Method;

use super::{Device, SettingArgs, named, positive};

const EXAMPLES: &str = "\
Examples:
  ncde tune --vary rate=1e-2,1e-3 --vary hidden=16,32 --steps 200
      a grid of four on the demo's data
  ncde tune --data Vowels_TRAIN.ts --grid docs/grids/slice.toml --jobs 2 --out sweeps/vowels
      lists and ranges in a file, two runs at a time
  ncde tune --data walks.csv --vary rate=log:1e-4..1e-1 --vary structure=block,dense --method random --trials 20
      draws; `..` is a range, `log:` spreads its logarithm evenly
  ncde tune --data walks.csv --grid space.toml --method halving --trials 27 --steps 2700
      27 for 100 steps, the best 9 to 300, 3 to 900, 1 to the end
  ncde tune --data walks.csv --vary field_layers,field_width=2:32,3:64 --model log-ncde --seeds 3
      keys that are tied together; each trial is the mean over three seeds
  ncde tune --resume sweeps/vowels
      go on with a search that was interrupted; a finished run is never done again
  ncde tune --data walks.csv --grid space.toml --out sweeps/walks --emit slurm
      an array script for Slurm (or `hyperqueue`: a job file), nothing is run here
  ncde tune --collect sweeps/walks
      the table and the best settings of what an engine has done

Runs are compared by the validation part, in the metric `train.metric`; what they reach on the test part
is told of the best alone. The directory holds a folder for each run (`runs/NAME`, as `ncde train` leaves
it), `table.md`, and `best.toml`, for `ncde train --config`. In a file, `[vary]` says what is varied and
other tables what all runs share:

  [model]
  name = \"slice\"
  [vary]
  \"train.rate\" = [1e-3, 1e-4]
  \"train.penalty\" = { from = 1e-6, to = 1e-3, log = true }
  \"model.depth, model.window\" = [[1, 1], [2, 4], [2, 8]]";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct TuneArgs {
    /// A TOML file: settings that all runs share, and a table `[vary]` of what differs
    #[arg(long, value_name = "FILE", visible_alias = "space")]
    pub(crate) grid: Option<PathBuf>,

    /// What is varied: `key=value,value`, a range `key=1..9` or `key=log:1e-4..1e-1`, or tied keys `a,b=1:2,3:4`; may be given often
    #[arg(long, value_name = "KEY=VALUES")]
    pub(crate) vary: Vec<String>,

    /// How trials are found; `random` where only `--trials` is given
    #[arg(long, value_name = "METHOD", value_parser = named(Method::ALL))]
    pub(crate) method: Option<Method>,

    /// How many trials are drawn (with the seed `--seed`); of `halving`, all of the grid without it
    #[arg(long, value_name = "N", value_parser = positive)]
    pub(crate) trials: Option<usize>,

    /// Of `halving`: one trial in so many goes on, to so many times the steps
    #[arg(long, value_name = "N", default_value = "3", value_parser = positive)]
    pub(crate) factor: usize,

    /// How many seeds each trial is the mean of (3), or which (1234,1235; one alone: 7,)
    #[arg(long, value_name = "SEEDS")]
    pub(crate) seeds: Option<Seeds>,

    /// Each trial is the mean over so many folds, each tested on once
    #[arg(long, value_name = "K", value_parser = positive)]
    pub(crate) folds: Option<usize>,

    /// How many runs there are at a time, each a process
    #[arg(long, short, value_name = "N", value_parser = positive)]
    pub(crate) jobs: Option<usize>,

    /// The directory of the search; `sweeps/NAME` by default
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,

    /// Go on with a search that was interrupted, or add trials or seeds to it. What it does is in its directory: none of it need be repeated
    #[arg(long, value_name = "DIR", num_args = 0..=1)]
    pub(crate) resume: Option<Option<PathBuf>>,

    /// Do runs that have failed again
    #[arg(long, requires = "resume")]
    pub(crate) retry: bool,

    /// Write a job for an engine in place of running anything here
    #[arg(long, value_enum, value_name = "ENGINE", conflicts_with = "retry")]
    pub(crate) emit: Option<Engine>,

    /// The table and the best settings of the runs in a directory
    #[arg(long, value_name = "DIR", conflicts_with_all = ["grid", "vary", "out", "resume", "emit", "only"])]
    pub(crate) collect: Option<PathBuf>,

    /// Do one run of the search in `--out` alone: what engines call. It waits for another process that is at it, and then has nothing to do
    #[arg(long, value_name = "RUN", requires = "out", conflicts_with_all = ["grid", "vary", "resume", "emit", "jobs"])]
    pub(crate) only: Option<String>,

    /// Stop when standard input ends: whoever started this run is gone, or wants it to
    #[arg(long, hide = true, requires = "only")]
    pub(crate) held: bool,

    /// Where runs compute
    #[arg(long, value_enum, default_value = "cpu")]
    pub(crate) device: Device,

    /// How many threads compute, shared out among the runs at a time, all by default; with `--emit`, and `--only`, those of one run (1)
    #[arg(long, value_name = "N", value_parser = positive)]
    pub(crate) threads: Option<usize>,

    /// Print a JSON line for each run that ends, each trial by rank, and the best
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) settings: SettingArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Engine {
    /// A job definition file: `hq job submit-file FILE`
    Hyperqueue,
    /// An array script: `sbatch FILE`
    Slurm,
}
