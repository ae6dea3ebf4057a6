//! The flags of `ncde bench`.

use clap::builder::TypedValueParser;
use clap::{Args, Subcommand, ValueEnum};
use ncde_experiment::Budget;
use ncde_kernels::{Mode, Transition};
use ncde_runtime::layer::StructureName;
use serde::Serialize;

use super::{Device, at_least, depth, named, positive, structures};

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
    /// One forward and reverse pass of any layers, or one row after the other
    Layer(BenchLayerArgs),
    /// One observation after the other through a linear recurrence
    Stream(BenchStreamArgs),
    /// Whole steps of training on random series
    Train(BenchTrainArgs),
    /// The thesis's tables of times, ours beside the published ones
    Table(BenchTableArgs),
}

const BENCH_TABLE_EXAMPLES: &str = "\
Examples:
  ncde bench table thesis
  ncde bench table thesis --device cuda --budget paper

The tables of `ncde experiment scan-table`, `log-ode-table`, `eigenworms` and `step-table`, on
numbers that are drawn at the shapes of the data sets. `quick` times fewer models, once.";

/// Which tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TableName {
    /// Those of the thesis
    Thesis,
}

#[derive(Debug, Args)]
#[command(after_help = BENCH_TABLE_EXAMPLES)]
pub(crate) struct BenchTableArgs {
    /// Which tables
    #[arg(value_enum)]
    pub(crate) name: TableName,

    /// A few models once, or all of them
    #[arg(long, value_parser = named(Budget::ALL), default_value = "quick")]
    pub(crate) budget: Budget,

    /// Where it runs
    #[arg(long, value_enum, default_value = "cpu")]
    pub(crate) device: Device,
}

const BENCH_TRAIN_EXAMPLES: &str = "\
Examples:
  ncde bench train --batch 4 --length 17984 --channels 6 --set window=12 --set hidden=128
  ncde bench train --model stack --tokens 10 --batch 256 --length 40 --set hidden=128
  ncde bench train --device cuda --steps 200

Steps are those of `ncde train`: a batch is put together, run forward and in reverse, and all
weights are updated. The JSON line holds the best step (`seconds`) and the median after five
that warm up. With `--tokens` series are of tokens, with a label at each.";

#[derive(Debug, Args, Serialize)]
#[command(after_help = BENCH_TRAIN_EXAMPLES)]
pub(crate) struct BenchTrainArgs {
    /// The model, as for `ncde train`
    #[arg(long, value_name = "NAME", default_value = "slice")]
    pub(crate) model: String,

    /// A setting, as for `ncde train`; may be given several times
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,

    /// How many series a step takes
    #[arg(long, value_name = "N", default_value = "32", value_parser = positive)]
    pub(crate) batch: usize,

    /// Observations of each series, 2 or more
    #[arg(long, value_name = "N", default_value = "1000", value_parser = length)]
    pub(crate) length: usize,

    /// Channels of each observation; time is one more
    #[arg(long, value_name = "N", default_value = "6", value_parser = positive)]
    pub(crate) channels: usize,

    /// Series of tokens, of so many different ones, in place of numbers
    #[arg(long, value_name = "N", value_parser = positive)]
    pub(crate) tokens: Option<usize>,

    /// How many classes there are
    #[arg(long, value_name = "N", default_value = "5", value_parser = positive)]
    pub(crate) classes: usize,

    /// Steps that are timed
    #[arg(long, value_name = "N", default_value = "20", value_parser = positive)]
    #[serde(skip)]
    pub(crate) steps: usize,

    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) run: WhereArgs,
}

const BENCH_LAYER_EXAMPLES: &str = "\
Examples:
  ncde bench layer '{\"layer\": \"lstm\", \"hidden\": 128}'
  ncde bench layer '{\"layer\": \"delta-net\", \"heads\": 4, \"key\": 32, \"value\": 32}' --op forward
  ncde bench layer '{\"layer\": \"gru\", \"hidden\": 128}' --op stream

Layers are those of `[[model.layers]]` and of model.json, one or a list in brackets, on rows of random
numbers. The reverse pass gives the gradients of all weights and of the rows.";

/// What is timed of layers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum LayerOp {
    /// Forward
    Forward,
    /// Forward and in reverse
    Backward,
    /// One row after the other
    Stream,
}

#[derive(Debug, Args, Serialize)]
#[command(after_help = BENCH_LAYER_EXAMPLES)]
pub(crate) struct BenchLayerArgs {
    /// The layers, as JSON
    #[arg(value_name = "JSON")]
    pub(crate) layers: String,

    /// What is timed
    #[arg(long, value_enum, default_value = "backward")]
    pub(crate) op: LayerOp,

    /// How many series
    #[arg(long, value_name = "N", default_value = "32", value_parser = positive)]
    pub(crate) batch: usize,

    /// Rows of each series
    #[arg(long, value_name = "N", default_value = "1024", value_parser = positive)]
    pub(crate) length: usize,

    /// Numbers of each row
    #[arg(long, value_name = "N", default_value = "128", value_parser = positive)]
    pub(crate) width: usize,

    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) run: LayerRunArgs,
}

#[derive(Debug, Args, Serialize)]
pub(crate) struct LayerRunArgs {
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) on: WhereArgs,

    /// How many runs are timed
    #[arg(long, value_name = "N", default_value = "5", value_parser = positive)]
    pub(crate) repeat: usize,
}

const BENCH_SIGNATURE_EXAMPLES: &str = "\
Examples:
  ncde bench signature --op logsig --batch 32 --length 1500 --channels 6 --depth 2 --window 12
  ncde bench signature --op logsig-backward --depth 3 --window 12 --device cuda

The JSON line holds the parameters, `seconds` (best of `repeat` runs after one warm-up) and
`peak_mib` (peak resident memory of the process; null where the system does not say).
`logsig` gives coordinates of Lyndon brackets. A reverse pass starts from a gradient of ones
and recomputes what it needs; the forward pass is not part of its time.
On a GPU, in f32, paths lie there already; three runs warm up, each is waited for, and the line
holds `median`, `launches` of one run and the device's memory as `peak_mib`, too.";

#[derive(Debug, Args, Serialize)]
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

    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) run: RunArgs,
}

const BENCH_LOG_NCDE_EXAMPLES: &str = "\
Examples:
  ncde bench log-ncde
  ncde bench log-ncde --depth 1 --steps 200 --threads 1
  ncde bench log-ncde --device cuda

The default shape is that of the thesis on SelfRegulationSCP1. One forward and one reverse
pass through all steps of Heun's method, gradients of the parameters; the loss is the mean
square of the last states. The field is a network with SiLU between its layers and tanh at its
end; log-signatures of windows have deviation 0.3.";

#[derive(Debug, Args, Serialize)]
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

    #[command(flatten)]
    #[serde(flatten)]
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

#[derive(Debug, Args, Serialize)]
#[command(after_help = BENCH_SLICE_EXAMPLES)]
pub(crate) struct BenchSliceArgs {
    #[command(flatten)]
    #[serde(flatten)]
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

    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) run: RunArgs,
}

const BENCH_STREAM_EXAMPLES: &str = "\
Example:
  ncde bench stream --structure block --channels 7 --hidden 128 --transition exp

`seconds` is the time of one observation, on one thread: the best of `repeat` runs of
100,000 observations each.";

#[derive(Debug, Args, Serialize)]
#[command(after_help = BENCH_STREAM_EXAMPLES)]
pub(crate) struct BenchStreamArgs {
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) field: FieldArgs,

    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) run: RunArgs,
}

/// A linear field and its flow.
#[derive(Debug, Args, Serialize)]
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

/// The ways from a generator to a flow.
fn transitions() -> impl TypedValueParser<Value = Transition> {
    named(&[("exp", Transition::Exp), ("euler", Transition::Euler)])
}

/// The orders of computation.
fn modes() -> impl TypedValueParser<Value = Mode> {
    named(&[("auto", Mode::Auto), ("recurrent", Mode::Recurrent), ("parallel", Mode::Parallel)])
}

/// How a timing is run; the same for every bench.
#[derive(Debug, Args, Serialize)]
pub(crate) struct WhereArgs {
    /// Where it runs
    #[arg(long, value_enum, default_value = "cpu")]
    pub(crate) device: Device,

    /// How many threads compute
    #[arg(long, value_name = "N", default_value = "2", value_parser = positive)]
    pub(crate) threads: usize,
}

#[derive(Debug, Args, Serialize)]
pub(crate) struct RunArgs {
    /// Number type
    #[arg(long, value_enum, default_value = "f32")]
    pub(crate) dtype: Dtype,

    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) on: WhereArgs,

    /// How many runs are timed
    #[arg(long, value_name = "N", default_value = "5", value_parser = positive)]
    pub(crate) repeat: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
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

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Dtype {
    /// Single precision
    F32,
    /// Double precision
    F64,
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
