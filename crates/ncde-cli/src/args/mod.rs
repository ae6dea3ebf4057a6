//! What can be typed: clap structures and nothing else.

mod columns;
mod model;

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use ncde_kernels::{Mode, Transition};
use ncde_runtime::layer::StructureName;

pub(crate) use columns::ColumnArgs;
pub(crate) use model::{BadLine, DataArgs, EvalArgs, InspectArgs, PredictArgs, ReportArgs, StreamArgs, TrainArgs, UseArgs};

/// Neural controlled differential equations: from a time-series file to a trained model, a report and live predictions.
#[derive(Debug, Parser)]
#[command(name = "ncde", version, max_term_width = 100)]
pub(crate) struct Cli {
    /// Say nothing on standard error but warnings and errors; `train` also prints no summary
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,

    #[command(subcommand)]
    pub(crate) verb: Verb,
}

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
    /// What a file of series holds; other formats
    Data(DataArgs),
    /// Markdown and one HTML page from runs
    Report(ReportArgs),
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

#[derive(Debug, Args)]
pub(crate) struct BenchArgs {
    #[command(subcommand)]
    pub(crate) bench: Bench,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Bench {
    /// Signatures and log-signatures of random walks, and their reverse passes
    Signature(BenchSignatureArgs),
    /// One forward and reverse pass of a Log-NCDE
    LogNcde(BenchLogNcdeArgs),
    /// One forward and reverse pass of a linear recurrence
    Slice(BenchSliceArgs),
    /// One observation after the other through a linear recurrence
    Stream(BenchStreamArgs),
}

const BENCH_SIGNATURE_EXAMPLES: &str = "\
Example:
  ncde bench signature --op logsig --batch 32 --length 1500 --channels 6 --depth 2 --window 12

The JSON line holds the parameters, `seconds` (best of `repeat` runs after one warm-up) and
`peak_mib` (peak resident memory of the process; null where the system does not say).
`logsig` gives coordinates of Lyndon brackets. A reverse pass starts from a gradient of ones
and recomputes what it needs; the forward pass is not part of its time.";

#[derive(Debug, Args)]
#[command(after_help = BENCH_SIGNATURE_EXAMPLES)]
pub(crate) struct BenchSignatureArgs {
    /// What is timed
    #[arg(long, value_enum, default_value = "sig")]
    pub(crate) op: Op,

    /// How many paths
    #[arg(long, value_name = "N", default_value = "128", value_parser = positive)]
    pub(crate) batch: usize,

    /// Observations of each path, 2 or more
    #[arg(long, value_name = "N", default_value = "256", value_parser = length)]
    pub(crate) length: usize,

    /// Channels of each observation
    #[arg(long, value_name = "N", default_value = "4", value_parser = positive)]
    pub(crate) channels: usize,

    /// Truncation depth
    #[arg(long, value_name = "N", default_value = "6", value_parser = depth)]
    pub(crate) depth: usize,

    /// One result for every K increments instead of one for each path
    #[arg(long, value_name = "K", value_parser = positive)]
    pub(crate) window: Option<usize>,

    /// Number type
    #[arg(long, value_enum, default_value = "f32")]
    pub(crate) dtype: Dtype,

    #[command(flatten)]
    pub(crate) run: RunArgs,
}

const BENCH_LOG_NCDE_EXAMPLES: &str = "\
Examples:
  ncde bench log-ncde
  ncde bench log-ncde --depth 1 --steps 200 --threads 1

The default shape is that of the thesis on SelfRegulationSCP1. One forward and one reverse
pass through all steps of Heun's method, gradients of the parameters; the loss is the mean
square of the last states. The field is a network with SiLU between its layers and tanh at its
end; log-signatures of windows have deviation 0.3.";

#[derive(Debug, Args)]
#[command(after_help = BENCH_LOG_NCDE_EXAMPLES)]
pub(crate) struct BenchLogNcdeArgs {
    /// How many series
    #[arg(long, value_name = "N", default_value = "32", value_parser = positive)]
    pub(crate) batch: usize,

    /// Log-ODE windows of each series
    #[arg(long, value_name = "N", default_value = "56", value_parser = positive)]
    pub(crate) windows: usize,

    /// Channels of the driving path
    #[arg(long, value_name = "N", default_value = "6", value_parser = positive)]
    pub(crate) channels: usize,

    /// Hidden states
    #[arg(long, value_name = "N", default_value = "64", value_parser = positive)]
    pub(crate) hidden: usize,

    /// Width of the network's hidden layers
    #[arg(long, value_name = "N", default_value = "128", value_parser = positive)]
    pub(crate) width: usize,

    /// Hidden layers of the network
    #[arg(long, value_name = "N", default_value = "3")]
    pub(crate) layers: usize,

    /// Depth of the log-signatures, 1 or 2
    #[arg(long, value_name = "N", default_value = "2", value_parser = one_or_two)]
    pub(crate) depth: usize,

    /// Steps of the solver
    #[arg(long, value_name = "N", default_value = "500", value_parser = positive)]
    pub(crate) steps: usize,

    /// Number type
    #[arg(long, value_enum, default_value = "f32")]
    pub(crate) dtype: Dtype,

    #[command(flatten)]
    pub(crate) run: RunArgs,
}

const BENCH_SLICE_EXAMPLES: &str = "\
Examples:
  ncde bench slice --structure block --block 4 --transition euler
  ncde bench slice --structure dplr --rank 4 --hidden 1024 --length 200
  ncde bench slice --channels 62 --length 203 --batch 32 --hidden 16 --depth 2

One forward and one reverse pass with gradients of A, the coefficients and the initial state;
the loss is the mean square of all states. Entries of A have deviation 0.25 / sqrt(block),
coefficients 0.05 times `--scale`. With `--depth N` above 1 the coefficients are those of
log-signatures, and forming brackets (or nesting, for structures that are not closed under
products) is part of the time. The JSON line also holds `norm`, the mean norm of the
generators, so that one sees what an exponential had to do, and `restart`: where states would
overflow they start anew after so many steps, the number of steps being the same.";

#[derive(Debug, Args)]
#[command(after_help = BENCH_SLICE_EXAMPLES)]
pub(crate) struct BenchSliceArgs {
    #[command(flatten)]
    pub(crate) field: FieldArgs,

    /// How many series
    #[arg(long, value_name = "N", default_value = "4", value_parser = positive)]
    pub(crate) batch: usize,

    /// Steps of each series
    #[arg(long, value_name = "N", default_value = "1499", value_parser = positive)]
    pub(crate) length: usize,

    /// Order of computation: step after step, a scan over chunks of time, or what the shapes suggest
    #[arg(long, value_parser = modes(), default_value = "auto")]
    pub(crate) mode: Mode,

    /// Steps of a chunk of the parallel scan
    #[arg(long, value_name = "N", default_value = "128", value_parser = positive)]
    pub(crate) chunk: usize,

    /// Depth of the log-signatures that drive it; 1 for increments
    #[arg(long, value_name = "N", default_value = "1", value_parser = depth)]
    pub(crate) depth: usize,

    /// Factor on the coefficients
    #[arg(long, value_name = "X", default_value = "1")]
    pub(crate) scale: f64,

    /// Number type
    #[arg(long, value_enum, default_value = "f32")]
    pub(crate) dtype: Dtype,

    #[command(flatten)]
    pub(crate) run: RunArgs,
}

const BENCH_STREAM_EXAMPLES: &str = "\
Example:
  ncde bench stream --structure block --channels 7 --hidden 128 --transition exp

`seconds` is the time of one observation, on one thread: the best of `repeat` runs of
100,000 observations each.";

#[derive(Debug, Args)]
#[command(after_help = BENCH_STREAM_EXAMPLES)]
pub(crate) struct BenchStreamArgs {
    #[command(flatten)]
    pub(crate) field: FieldArgs,

    /// Number type
    #[arg(long, value_enum, default_value = "f32")]
    pub(crate) dtype: Dtype,

    #[command(flatten)]
    pub(crate) run: RunArgs,
}

/// A linear field and its flow.
#[derive(Debug, Args)]
pub(crate) struct FieldArgs {
    /// Structure of the matrices; sparse ones have hidden^1.5 entries
    #[arg(long, value_parser = structures(), default_value = "block")]
    pub(crate) structure: StructureName,

    /// Channels of the driving path
    #[arg(long, value_name = "N", default_value = "7", value_parser = positive)]
    pub(crate) channels: usize,

    /// Hidden states
    #[arg(long, value_name = "N", default_value = "128", value_parser = positive)]
    pub(crate) hidden: usize,

    /// Size of the blocks, or of the dense block behind a diagonal
    #[arg(long, value_name = "N", default_value = "4", value_parser = positive)]
    pub(crate) block: usize,

    /// Rank of the low-rank part
    #[arg(long, value_name = "N", default_value = "4", value_parser = positive)]
    pub(crate) rank: usize,

    /// How a generator becomes a flow: the matrix exponential, or identity plus generator
    #[arg(long, value_parser = transitions(), default_value = "exp")]
    pub(crate) transition: Transition,
}

/// One of some names, and what it stands for.
fn named<T: Copy + Send + Sync + 'static>(names: &'static [(&'static str, T)]) -> impl TypedValueParser<Value = T> {
    let known = PossibleValuesParser::new(names.iter().map(|(name, _)| *name));
    known.map(move |seen| names.iter().find(|(name, _)| *name == seen).map_or(names[0].1, |(_, own)| *own))
}

/// The structures of linear fields.
pub(crate) fn structures() -> impl TypedValueParser<Value = StructureName> {
    named(StructureName::ALL)
}

/// The ways from a generator to a flow.
fn transitions() -> impl TypedValueParser<Value = Transition> {
    named(&[("exp", Transition::Exp), ("euler", Transition::Euler)])
}

/// The orders of computation.
fn modes() -> impl TypedValueParser<Value = Mode> {
    named(&[("auto", Mode::Auto), ("recurrent", Mode::Recurrent), ("parallel", Mode::Parallel)])
}

/// How a timing is run; the same for every bench.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// Where it runs
    #[arg(long, value_enum, default_value = "cpu")]
    pub(crate) device: Device,

    /// How many threads compute
    #[arg(long, value_name = "N", default_value = "2", value_parser = positive)]
    pub(crate) threads: usize,

    /// How many runs are timed
    #[arg(long, value_name = "N", default_value = "5", value_parser = positive)]
    pub(crate) repeat: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Op {
    /// Signatures
    Sig,
    /// The reverse pass of signatures
    SigBackward,
    /// Log-signatures
    Logsig,
    /// The reverse pass of log-signatures
    LogsigBackward,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Dtype {
    /// Single precision
    F32,
    /// Double precision
    F64,
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

fn positive(text: &str) -> Result<usize, String> {
    at_least(1, text, "wanted 1 or more")
}

/// More pieces than this change nothing but the time it takes.
const MOST_PIECES: usize = 1 << 16;

fn refinement(text: &str) -> Result<usize, String> {
    match positive(text)? {
        pieces if pieces <= MOST_PIECES => Ok(pieces),
        _ => Err(format!("wanted 1 to {MOST_PIECES}")),
    }
}

fn depth(text: &str) -> Result<usize, String> {
    at_least(1, text, "depth 0 keeps only the constant 1; ask for 1 or more")
}

fn one_or_two(text: &str) -> Result<usize, String> {
    match positive(text)? {
        depth if depth <= 2 => Ok(depth),
        _ => Err("wanted 1 or 2".into()),
    }
}

fn length(text: &str) -> Result<usize, String> {
    at_least(2, text, "a path needs at least two observations")
}

fn at_least(least: usize, text: &str, why: &str) -> Result<usize, String> {
    let number: usize = text.parse().map_err(|_| "wanted a whole number".to_string())?;
    if number < least { Err(why.into()) } else { Ok(number) }
}
