//! What can be typed: clap structures and nothing else.

mod bench;
mod columns;
mod experiment;
mod model;
mod stream;
mod tune;

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use ncde_runtime::layer::StructureName;

pub(crate) use bench::{
    Bench, BenchArgs, BenchLayerArgs, BenchLogNcdeArgs, BenchSignatureArgs, BenchSliceArgs, BenchStreamArgs, BenchTableArgs,
    BenchTrainArgs, Dtype, FieldArgs, LayerOp, Op, TableName, WhereArgs,
};
pub(crate) use columns::ColumnArgs;
pub(crate) use experiment::ExperimentArgs;
pub(crate) use model::{DataArgs, EvalArgs, InspectArgs, PredictArgs, ReportArgs, SettingArgs, TrainArgs, UseArgs};
pub(crate) use stream::{BadLine, LateLine, MetricsTarget, Span, StreamArgs};
pub(crate) use tune::{Engine, TuneArgs};

/// Neural controlled differential equations: from a time-series file to a trained model, a report and live predictions.
#[derive(Debug, Parser)]
#[command(name = "ncde", version, max_term_width = 100)]
pub(crate) struct Cli {
    /// Say nothing on standard error but warnings and errors; `train` also prints no summary
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,

    /// Products of matrices on an NVIDIA GPU: of f32, or rounded to tf32 or bf16 for its tensor cores, which says how far they are off
    #[cfg(feature = "cuda")]
    #[arg(long, global = true, value_name = "NUMBERS", default_value = "f32", value_parser = named(PRODUCTS))]
    pub(crate) products: ncde_gpu::Rounding,

    #[command(subcommand)]
    pub(crate) verb: Verb,
}

/// Numbers that are multiplied with each other.
#[cfg(feature = "cuda")]
const PRODUCTS: &[(&str, ncde_gpu::Rounding)] = {
    use ncde_gpu::Rounding::{Bf16, None, Tf32};
    &[("f32", None), ("tf32", Tf32), ("bf16", Bf16)]
};

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Train a model on a file; without a file, a small demo
    Train(TrainArgs),
    /// Metrics of a saved model on a file
    Eval(EvalArgs),
    /// What a saved model says of the series in a file
    Predict(PredictArgs),
    /// A saved model on standard input: one observation a line, one prediction a line
    Stream(StreamArgs),
    /// What a saved model is
    Inspect(InspectArgs),
    /// Search over settings: many runs, a ranked table, the best settings as a file
    Tune(TuneArgs),
    /// What a file of series holds; other formats
    Data(DataArgs),
    /// Markdown and one HTML page from runs
    Report(ReportArgs),
    /// An experiment of the thesis beside its published values; without a name, a list of them
    Experiment(ExperimentArgs),
    /// Signatures and log-signatures of the paths in a file
    Signature(SignatureArgs),
    /// Timings, one JSON line each
    Bench(BenchArgs),
    /// A script that completes commands on the Tab key
    Completions(CompletionsArgs),
}

const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  ncde completions bash > ~/.local/share/bash-completion/completions/ncde
  ncde completions zsh > ~/.zfunc/_ncde
  ncde completions fish > ~/.config/fish/completions/ncde.fish";

#[derive(Debug, Args)]
#[command(after_help = COMPLETIONS_EXAMPLES)]
pub(crate) struct CompletionsArgs {
    /// Of which shell
    #[arg(value_enum, value_name = "SHELL")]
    pub(crate) shell: clap_complete::Shell,
}

const SIGNATURE_EXAMPLES: &str = "\
Examples:
  ncde signature
      the two-corner example: same ends, opposite signed areas
  ncde signature --input walk.csv --depth 3 --log
      log-signature of the path through the rows of a file
  ncde signature --input batch.npy --depth 4 --output sig.npy
      [batch, length, channels] in, [batch, coordinates] out
  ncde signature --input data.npz:x --depth 2 --log --window 12 --output log.npz
      one array of an archive, cut into windows of 12 increments
  ncde signature --input walk.csv --times t --time --interpolation rectilinear --depth 2
      column `t` holds the times and becomes channel 1
  cut -d, -f2,3 walk.csv | ncde signature --input - --depth 2 --output -
      csv from standard input to standard output

Channels, paths, windows and steps are counted from 1, as in the labels. `--json` prints
one object: labels, shape, and values as one flat list, the last axis running fastest.";

#[derive(Debug, Args)]
#[command(after_help = SIGNATURE_EXAMPLES)]
pub(crate) struct SignatureArgs {
    /// A .csv, .npy or .npz file (FILE.npz:NAME picks an array), `-` for csv from standard input; without it, a small example
    #[arg(long, short, value_name = "FILE", requires = "depth")]
    pub(crate) input: Option<String>,

    /// Which array of an .npz file
    #[arg(long, value_name = "NAME", requires = "input")]
    pub(crate) array: Option<String>,

    /// A .csv, .npy or .npz file to write, or `-` for csv on standard output
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Truncation depth, 1 or more; 2 for the example
    #[arg(long, short, value_name = "N", value_parser = depth)]
    pub(crate) depth: Option<usize>,

    /// Log-signatures instead of signatures
    #[arg(long)]
    pub(crate) log: bool,

    /// Coordinates of log-signatures
    #[arg(long, value_enum, value_name = "BASIS", default_value = "lyndon", requires = "log")]
    pub(crate) basis: BasisName,

    /// One result for every K increments; the last window may be shorter
    #[arg(long, value_name = "K", value_parser = positive, conflicts_with = "stream")]
    pub(crate) window: Option<usize>,

    /// One result for every prefix of a path
    #[arg(long)]
    pub(crate) stream: bool,

    /// The time becomes channel 1: 0, 1, 2, ... or what `--times` says
    #[arg(long)]
    pub(crate) time: bool,

    /// The csv column (name or number) or channel (number) that holds the times; it stays a channel only with `--time`
    #[arg(long, value_name = "COLUMN")]
    pub(crate) times: Option<String>,

    /// Start each path with an observation of zeros, one time step before the first
    #[arg(long)]
    pub(crate) basepoint: bool,

    /// What happens between observations; `rectilinear` needs `--time`
    #[arg(long, value_enum, value_name = "KIND", default_value = "linear")]
    pub(crate) interpolation: Interpolation,

    /// Straight pieces for each interval of a cubic
    #[arg(long, value_name = "R", default_value = "8", value_parser = refinement)]
    pub(crate) refinement: usize,

    /// Fill missing values (empty cells, NA, NaN): by the last value, or along the interpolation; without it they are an error
    #[arg(long, value_enum, value_name = "HOW")]
    pub(crate) missing: Option<Missing>,

    /// How many threads compute; all by default
    #[arg(long, value_name = "N", value_parser = positive)]
    pub(crate) threads: Option<usize>,

    /// Print one JSON object
    #[arg(long, conflicts_with_all = ["output", "table"])]
    pub(crate) json: bool,

    /// Print a table even if standard output is not a terminal
    #[arg(long, conflicts_with = "output")]
    pub(crate) table: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum BasisName {
    /// Brackets of Lyndon words
    Lyndon,
    /// The Hall basis
    Hall,
    /// Every word of the tensor algebra
    Expanded,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Interpolation {
    /// Straight lines
    Linear,
    /// Hold, then jump
    Rectilinear,
    /// The natural cubic spline
    Cubic,
    /// Cubic pieces with backward differences
    Hermite,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Missing {
    /// The last value observed
    Forward,
    /// Along the interpolation, which looks ahead
    Interpolate,
}

/// One of some names, and what it stands for.
fn named<T: Copy + Send + Sync + 'static>(names: &'static [(&'static str, T)]) -> impl TypedValueParser<Value = T> {
    let known = PossibleValuesParser::new(names.iter().map(|(name, _)| *name));
    known.map(move |seen| names.iter().find(|(name, _)| *name == seen).map_or(names[0].1, |(_, value)| *value))
}

/// The structures of linear fields.
pub(crate) fn structures() -> impl TypedValueParser<Value = StructureName> {
    named(StructureName::ALL)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Device {
    /// The processor
    Cpu,
    /// An NVIDIA GPU
    Cuda,
    /// A GPU through WebGPU
    Wgpu,
}

impl std::fmt::Display for Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Cpu => "cpu",
            Self::Cuda => "cuda",
            Self::Wgpu => "wgpu",
        })
    }
}

fn positive(text: &str) -> Result<usize, String> {
    at_least(1, text, "wanted 1 or more")
}

/// More pieces than this change nothing but the time it takes.
const MAX_PIECES: usize = 1 << 16;

fn refinement(text: &str) -> Result<usize, String> {
    match positive(text)? {
        pieces if pieces <= MAX_PIECES => Ok(pieces),
        _ => Err(format!("wanted 1 to {MAX_PIECES}")),
    }
}

fn depth(text: &str) -> Result<usize, String> {
    at_least(1, text, "depth 0 keeps only the constant 1; ask for 1 or more")
}

fn at_least(least: usize, text: &str, why: &str) -> Result<usize, String> {
    let number: usize = text.parse().map_err(|_| "wanted a whole number".to_string())?;
    if number < least { Err(why.into()) } else { Ok(number) }
}
