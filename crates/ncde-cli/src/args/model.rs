//! What can be typed after `train`, `eval`, `predict`, `stream`, `inspect`, `data` and `report`.

use std::path::PathBuf;

use clap::Args;

use super::{ColumnArgs, Device, positive};

const TRAIN_EXAMPLES: &str = "\
Examples:
  ncde train
      a small demo: series that turn left, right or not at all, irregular and with gaps
  ncde train --data Vowels_TRAIN.ts --test Vowels_TEST.ts --out runs/vowels
      a block-diagonal SLiCE with every default decided from the data
  ncde train --model log-ncde --data Vowels_TRAIN.ts --set solver_steps=4
      a Log-NCDE; `--help` lists the others, from `ncde` to `mamba` and `deltanet`
  ncde train --data words.csv --set tokens=word --model stack --set blocks=1
      blocks of SLiCEs on a column of tokens
  ncde train --data stays.csv --labels deaths.csv --set metric=auroc --set hidden=32
      long CSV (id, time, channels...) with labels in a second file
  ncde train --data visits.csv --id patient --time visited --time-format european --static sex,age
      which column is what; it is saved with the model
  ncde train --data walks.csv --set task=forecast --set horizon=5
      the next 5 values of all channels; one long series is split by time
  ncde train --data sales.csv --target sold --known holiday,price --set horizon=14
      two weeks of one channel, told of later holidays and prices
  ncde train --config run.toml --seed 3 --out runs/three
      settings from a file; flags go before it
  ncde train --data walks.csv --print-config > run.toml
      the effective settings, every default said
  ncde train --resume runs/walks
      go on with a run that was interrupted
  ncde train --resume runs/walks --steps 3000
      train a finished run longer

A directory holds the model (`model.json`, `model.safetensors`), what was done (`config.toml`, `run.json`)
and a report (`report.html`, `report.md`, `report.json`). A run that was interrupted (Ctrl-C, or killed) goes on with
`--resume DIR`, to the same weights; with other data or settings it does not. One run writes to a directory
at a time. `state.safetensors` is for training longer, and may be deleted.";

/// What a run is asked to do: data and settings.
#[derive(Debug, Clone, Default, PartialEq, Args)]
pub(crate) struct SettingArgs {
    /// The file to train on (.csv, .json, .ts, .arff, .npz, .npy, .gz of these, .parquet and .arrow if built in, `-` for standard input), a folder with one CSV a case, or with a folder for each class
    #[arg(long, value_name = "FILE")]
    pub(crate) data: Option<PathBuf>,

    /// A file to test on; without it a share of the cases is held back
    #[arg(long, value_name = "FILE")]
    pub(crate) test: Option<PathBuf>,

    /// A CSV file with labels, by id
    #[arg(long, value_name = "FILE")]
    pub(crate) labels: Option<PathBuf>,

    /// The same for the test file
    #[arg(long, value_name = "FILE", requires = "test")]
    pub(crate) test_labels: Option<PathBuf>,

    /// A JSON file that says which cases are validated and tested on, for each seed: `{"SEED": {"val": [...], "test": [...]}}`
    #[arg(long, value_name = "FILE")]
    pub(crate) split: Option<PathBuf>,

    /// A TOML file with settings
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// Which model; by default `stack` for tokens, `reservoir` for numbers, or `slice` if a setting of training is given
    #[arg(long, value_parser = models(), value_name = "NAME")]
    pub(crate) model: Option<String>,

    /// The structure of the matrices of a `slice` or `stack`
    #[arg(long, value_parser = super::structures(), value_name = "NAME")]
    pub(crate) structure: Option<ncde_runtime::layer::StructureName>,

    /// The most steps
    #[arg(long, value_name = "N", value_parser = positive)]
    pub(crate) steps: Option<usize>,

    /// The seed of everything random
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,

    /// Any setting, as in the TOML file: `rate=0.001`, `model.depth=3`; may be given often
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,

    /// The channels to forecast; by default all that are numbers
    #[arg(long, value_name = "COLUMN,...", value_delimiter = ',')]
    pub(crate) target: Option<Vec<String>>,

    /// Channels of a forecast whose later values are known, such as holidays and prices
    #[arg(long, value_name = "COLUMN,...", value_delimiter = ',')]
    pub(crate) known: Option<Vec<String>>,

    #[command(flatten)]
    pub(crate) columns: ColumnArgs,
}

#[derive(Debug, Args)]
#[command(after_help = TRAIN_EXAMPLES)]
pub(crate) struct TrainArgs {
    #[command(flatten)]
    pub(crate) settings: SettingArgs,

    /// Where the model goes; `runs/NAME` by default
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,

    /// Go on with a run that was interrupted, or train a finished one longer (`--steps N`). Its settings are in its directory: none need be repeated
    #[arg(long, value_name = "DIR", num_args = 0..=1)]
    pub(crate) resume: Option<Option<PathBuf>>,

    /// Print the effective settings as TOML, with the meaning of every key, and stop
    #[arg(long)]
    pub(crate) print_config: bool,

    /// Where it runs
    #[arg(long, value_enum, default_value = "cpu")]
    pub(crate) device: Device,

    /// How many threads compute; all by default. Results do not depend on it
    #[arg(long, value_name = "N", value_parser = positive)]
    pub(crate) threads: Option<usize>,

    /// Print one JSON line for every evaluation of the validation part, and one at the end
    #[arg(long)]
    pub(crate) json: bool,
}

/// The presets, with what each is.
fn models() -> clap::builder::PossibleValuesParser {
    let one = |(name, about): (&'static str, &'static str)| clap::builder::PossibleValue::new(name).help(about);
    clap::builder::PossibleValuesParser::new(ncde_train::presets().map(one).collect::<Vec<_>>())
}

/// Data for a model that is there.
#[derive(Debug, Args)]
pub(crate) struct UseArgs {
    /// The directory of the model
    #[arg(value_name = "DIR")]
    pub(crate) model: PathBuf,

    /// The file
    #[arg(long, value_name = "FILE")]
    pub(crate) data: PathBuf,

    /// A CSV file with labels, by id
    #[arg(long, value_name = "FILE")]
    pub(crate) labels: Option<PathBuf>,

    /// Where it runs; on a GPU many cases at a time, which says the same up to rounding
    #[arg(long, value_enum, default_value = "cpu")]
    pub(crate) device: Device,

    /// How many threads compute; all by default
    #[arg(long, value_name = "N", value_parser = positive)]
    pub(crate) threads: Option<usize>,

    #[command(flatten)]
    pub(crate) columns: ColumnArgs,
}

const EVAL_EXAMPLES: &str = "\
Example:
  ncde eval runs/vowels --data Vowels_TEST.ts --json";

#[derive(Debug, Args)]
#[command(after_help = EVAL_EXAMPLES)]
pub(crate) struct EvalArgs {
    #[command(flatten)]
    pub(crate) on: UseArgs,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

const PREDICT_EXAMPLES: &str = "\
Examples:
  ncde predict runs/vowels --data Vowels_TEST.ts --output predictions.csv
  ncde predict runs/vowels --data new.csv
  ncde predict runs/power --data power.csv --horizon 24

One row a case: id, prediction, a column per class. A model with an output at every observation
gives one row for each, with its time. A forecast is made from the end of each series (from every
observation with `--every`), one row for each horizon: id, time, horizon, forecast_time, and for
each channel its value, and CHANNEL_low and CHANNEL_high where the model knows intervals.";

#[derive(Debug, Args)]
#[command(after_help = PREDICT_EXAMPLES)]
pub(crate) struct PredictArgs {
    #[command(flatten)]
    pub(crate) on: UseArgs,

    /// A .csv or .json file to write; CSV on standard output without it
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Forecast no further than so many observations ahead
    #[arg(long, value_name = "K", value_parser = positive)]
    pub(crate) horizon: Option<usize>,

    /// Forecast from every observation, not from the end of each series alone
    #[arg(long)]
    pub(crate) every: bool,
}

const INSPECT_EXAMPLES: &str = "\
Example:
  ncde inspect runs/vowels";

#[derive(Debug, Args)]
#[command(after_help = INSPECT_EXAMPLES)]
pub(crate) struct InspectArgs {
    /// The directory of the model
    #[arg(value_name = "DIR")]
    pub(crate) model: PathBuf,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

const DATA_EXAMPLES: &str = "\
Examples:
  ncde data Vowels_TRAIN.ts
      what the file holds: cases, channels, lengths, times, gaps, classes
  ncde data Vowels_TRAIN.ts --output vowels.csv
      in another format (.csv, .ts, .npz)
  ncde data --demo --output demo.csv
      the data of the demo of `ncde train`";

#[derive(Debug, Args)]
#[command(after_help = DATA_EXAMPLES)]
pub(crate) struct DataArgs {
    /// The file, or a folder with one CSV a case
    #[arg(value_name = "FILE", required_unless_present = "demo")]
    pub(crate) file: Option<PathBuf>,

    /// The series that `ncde train` trains on without data
    #[arg(long, conflicts_with = "file")]
    pub(crate) demo: bool,

    /// A CSV file with labels, by id
    #[arg(long, value_name = "FILE")]
    pub(crate) labels: Option<PathBuf>,

    /// A file to write: .csv, .ts or .npz
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,

    /// Read the file as this model does
    #[arg(long, value_name = "DIR")]
    pub(crate) model: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) columns: ColumnArgs,
}

const REPORT_EXAMPLES: &str = "\
Examples:
  ncde report runs/vowels
  ncde report runs/* --output compare.html
  ncde report runs/vowels --output vowels.md

A file that is there is replaced if it is a report of ncde, and only then.";

#[derive(Debug, Args)]
#[command(after_help = REPORT_EXAMPLES)]
pub(crate) struct ReportArgs {
    /// Directories of runs, or their `run.json`
    #[arg(value_name = "RUN", required = true)]
    pub(crate) runs: Vec<PathBuf>,

    /// What to write: a page (.html), with a Markdown file of the same name beside it, or Markdown alone (.md)
    #[arg(long, short, value_name = "FILE", default_value = "report.html")]
    pub(crate) output: PathBuf,
}
