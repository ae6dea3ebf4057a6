//! Which model: every default of `[model]`, decided from the data.
//!
//! | key | default |
//! | --- | --- |
//! | `name`, `structure`, `block`, `hidden` | slice, block, 4, 64 |
//! | `depth` | 2, or 1 where that would take too much memory or windows hold one observation |
//! | `window` | about 64 windows a series; 1 where an output is asked for at every observation, and for an `ncde` |
//! | `input`, `forget`, `norm`, `skip`, `head_layers` | yes (`forget`: with `input`), 1 |
//! | `field_width`, `field_layers`, `solver`, `solver_steps` | 64, 2, heun, about 64 a series |
//! | `activation`, `last` | silu, tanh (`log-ncde`); relu, tanh (`ncde`); relu, then tanh in the last hidden layer, linear (`nrde`) |
//! | `init` | 0.25 (`slice`), 0.001 (`log-ncde`), 1 |

use ncde_data::Dataset;
use ncde_kernels::neural::{Activation, Last, Solver};
use ncde_kernels::{Bound, Transition};
use ncde_runtime::{
    Architecture, At, Head, Input, NeuralKind, NeuralSpec, Norm, Over, ReadSpec, SignatureSpec, Skip, SliceSpec, StructureConfig,
    Task,
};

use super::Error;
use super::config::ModelConfig;
use super::names::{ActivationChoice, LastChoice, ModelName, ReadoutName, SolverChoice, StructureName, TransitionChoice};
use super::settings::{at_least, positive, refuse};
use crate::random::Stream;

/// The log-signatures of all windows may take about this much memory before a lower depth is the default.
const FEATURE_BYTES: f64 = 400e6;

/// The most coordinates of a log-signature that the head sees; of more, it sees the first level alone.
const MOST_SKIPPED: usize = 256;

/// About how many windows, and steps of a solver, a series is cut into.
const PIECES: f64 = 64.0;

/// What the defaults depend on.
struct Facts {
    seed: u64,
    /// Channels of the path.
    width: usize,
    lengths: Vec<usize>,
    median: usize,
    /// Where outputs are asked for.
    at: At,
}

/// The model, and the size of its first weights.
pub(super) fn architecture(
    m: &mut ModelConfig,
    seed: u64,
    data: &Dataset,
    task: &Task,
    width: usize,
) -> Result<(Architecture, f64), Error> {
    let mut lengths: Vec<usize> = data.cases.iter().map(ncde_data::Case::len).collect();
    lengths.sort_unstable();
    let median = lengths.get(lengths.len() / 2).copied().unwrap_or(1);
    let facts = Facts { seed, width, lengths, median, at: task.at() };
    let name = *m.name.get_or_insert(ModelName::Slice);
    own_keys_only(m, name)?;
    match name {
        ModelName::Slice => facts.slice(m),
        ModelName::Ncde | ModelName::Nrde | ModelName::LogNcde => facts.neural(m, name),
        ModelName::Signature => {
            // Not many more features than cases can tell apart.
            let fits = || (1..=4).rev().find(|&n| (width as f64).powi(n) <= 600.0).unwrap_or(1) as usize;
            let depth = at_least("model.depth", *m.depth.get_or_insert_with(fits), 1)?;
            Ok((Architecture::Signature(SignatureSpec { depth }), 0.25))
        }
    }
}

/// Refuses keys of another model.
fn own_keys_only(m: &ModelConfig, name: ModelName) -> Result<(), Error> {
    let linear = [
        ("structure", m.structure.is_some()),
        ("block", m.block.is_some()),
        ("rank", m.rank.is_some()),
        ("epsilon", m.epsilon.is_some()),
        ("transition", m.transition.is_some()),
        ("log_scale", m.log_scale.is_some()),
        ("input", m.input.is_some()),
        ("forget", m.forget.is_some()),
    ];
    let neural = [
        ("field_width", m.field_width.is_some()),
        ("field_layers", m.field_layers.is_some()),
        ("activation", m.activation.is_some()),
        ("last", m.last.is_some()),
        ("solver", m.solver.is_some()),
        ("solver_steps", m.solver_steps.is_some()),
    ];
    let states = [
        ("hidden", m.hidden.is_some()),
        ("window", m.window.is_some()),
        ("init", m.init.is_some()),
        ("readout", m.readout.is_some()),
        ("norm", m.norm.is_some()),
        ("skip", m.skip.is_some()),
        ("head_width", m.head_width.is_some()),
        ("head_layers", m.head_layers.is_some()),
    ];
    let (foreign, whose): (Vec<&[(&str, bool)]>, &str) = match name {
        ModelName::Slice => (vec![&neural], "`ncde`, `nrde` and `log-ncde` have"),
        ModelName::Ncde | ModelName::Nrde | ModelName::LogNcde => (vec![&linear], "`slice` has"),
        ModelName::Signature => (vec![&linear, &neural, &states], "the other models have"),
    };
    match foreign.into_iter().flatten().find(|(_, set)| *set) {
        Some((key, _)) => {
            refuse("model.name", format!("`{}`, which has no `{key}`; {whose} one, so leave it out", name.as_str()))
        }
        None => Ok(()),
    }
}

impl Facts {
    fn steps(&self) -> bool {
        self.at == At::Steps
    }

    /// The observations of a window.
    fn window(&self, m: &mut ModelConfig) -> Result<usize, Error> {
        let fits = || if self.steps() { 1 } else { ((self.median as f64 / PIECES).round() as usize).max(1) };
        at_least("model.window", *m.window.get_or_insert_with(fits), 1)
    }

    /// Windows of all series.
    fn windows(&self, window: usize) -> f64 {
        self.lengths.iter().map(|&own| own.div_ceil(window) as f64).sum()
    }

    /// Coordinates of a log-signature of depth 2.
    fn pairs(&self) -> f64 {
        (self.width * (self.width + 1)) as f64 / 2.0
    }

    fn depth(&self, m: &mut ModelConfig, window: usize) -> Result<usize, Error> {
        let fits = 4.0 * self.windows(window) * self.pairs() <= FEATURE_BYTES && window > 1;
        at_least("model.depth", *m.depth.get_or_insert(if fits { 2 } else { 1 }), 1)
    }

    /// What reads the states, of which the head may see `coordinates` of the window beside each.
    fn read(&self, m: &mut ModelConfig, hidden: usize, coordinates: usize) -> Result<ReadSpec, Error> {
        let over =
            match (self.steps(), *m.readout.get_or_insert(if self.steps() { ReadoutName::Last } else { ReadoutName::Mean })) {
                (true, ReadoutName::Mean) => {
                    return refuse("model.readout", "`mean`, but an output is asked for at every observation; use `last`");
                }
                (true, ReadoutName::Last) => Over::EveryStep,
                (false, ReadoutName::Mean) => Over::Mean,
                (false, ReadoutName::Last) => Over::Last,
            };
        let norm = if *m.norm.get_or_insert(true) { Norm::Layer } else { Norm::None };
        let layers = *m.head_layers.get_or_insert(1);
        let head = match layers {
            0 => Head::Linear,
            _ => Head::Network { width: at_least("model.head_width", *m.head_width.get_or_insert(hidden), 1)?, layers },
        };
        let skip = match *m.skip.get_or_insert(true) {
            false => Skip::None,
            true => Skip::Window { coordinates: if coordinates <= MOST_SKIPPED { coordinates } else { self.width } },
        };
        Ok(ReadSpec { over, head, norm, skip })
    }

    fn slice(&self, m: &mut ModelConfig) -> Result<(Architecture, f64), Error> {
        let width = self.width;
        let hidden = at_least("model.hidden", *m.hidden.get_or_insert(64), 1)?;
        let window = self.window(m)?;
        let depth = self.depth(m, window)?;
        let structure = match *m.structure.get_or_insert(StructureName::Block) {
            StructureName::Block => StructureConfig::Block { block: *m.block.get_or_insert(4) },
            StructureName::Dense => StructureConfig::Dense,
            StructureName::Diagonal => StructureConfig::Diagonal,
            StructureName::DiagonalDense => StructureConfig::DiagonalDense { block: *m.block.get_or_insert(16.min(hidden)) },
            StructureName::Dplr => StructureConfig::Dplr { rank: *m.rank.get_or_insert(4) },
            StructureName::Sparse => StructureConfig::Sparse { epsilon: *m.epsilon.get_or_insert(0.5) },
            StructureName::WalshHadamard => StructureConfig::WalshHadamard { bound: Bound::Tanh },
        };
        let transition = match *m.transition.get_or_insert(TransitionChoice::Exp) {
            TransitionChoice::Exp => Transition::Exp,
            TransitionChoice::Euler => Transition::Euler,
        };
        let init = positive("model.init", *m.init.get_or_insert(0.25))?;
        let scale = positive("model.log_scale", *m.log_scale.get_or_insert(1.0))?;
        let input = if *m.input.get_or_insert(true) { Input::Path } else { Input::None };
        m.forget.get_or_insert(input == Input::Path);
        let masks = Stream::new(self.seed, 2).child(0).key();
        let read = self.read(m, hidden, 0)?;
        let spec = SliceSpec { hidden, structure, masks, depth, window, scale, input, transition, read };
        // Sizes that cannot be are refused now, with the words of the kernels.
        let (plan, _) = spec.plan(width)?;
        let read = self.read(m, hidden, plan.matrix_places().len())?;
        Ok((Architecture::Slice(SliceSpec { read, ..spec }), init))
    }

    fn neural(&self, m: &mut ModelConfig, name: ModelName) -> Result<(Architecture, f64), Error> {
        let hidden = at_least("model.hidden", *m.hidden.get_or_insert(32), 1)?;
        let (window, kind) = match name {
            ModelName::Ncde => {
                for (key, value) in [("window", &mut m.window), ("depth", &mut m.depth)] {
                    let value = *value.get_or_insert(1);
                    if value != 1 {
                        let problem = format!("{value}, but an `ncde` is driven by one observation at a time; use `log-ncde`");
                        return refuse(&format!("model.{key}"), problem);
                    }
                }
                (1, NeuralKind::Ncde)
            }
            _ => {
                let window = self.window(m)?;
                let depth = self.depth(m, window)?;
                let kind = if name == ModelName::Nrde { NeuralKind::Nrde { depth } } else { NeuralKind::LogNcde { depth } };
                (window, kind)
            }
        };
        let log = matches!(kind, NeuralKind::LogNcde { .. });
        let usual = if log { ActivationChoice::Silu } else { ActivationChoice::Relu };
        let activation = match *m.activation.get_or_insert(usual) {
            ActivationChoice::Silu => Activation::Silu,
            ActivationChoice::Relu => Activation::Relu,
            ActivationChoice::Tanh => Activation::Tanh,
            ActivationChoice::Softplus => Activation::Softplus,
        };
        if kind.depth() > 1 && log && activation == Activation::Relu {
            return refuse(
                "model.activation",
                "`relu`, which has no derivative at 0, and brackets are made of derivatives; use `silu`",
            );
        }
        // The thesis's NRDE: a tanh before its last layer, nothing after it.
        let nrde = matches!(kind, NeuralKind::Nrde { .. });
        let usual = if nrde { LastChoice::Linear } else { LastChoice::Tanh };
        let last = match *m.last.get_or_insert(usual) {
            LastChoice::Tanh => Last::Tanh,
            LastChoice::Linear => Last::Linear,
        };
        let solver = match *m.solver.get_or_insert(SolverChoice::Heun) {
            SolverChoice::Euler => Solver::Euler,
            SolverChoice::Heun => Solver::Heun,
            SolverChoice::Rk4 => Solver::Rk4,
        };
        let windows = self.median.div_ceil(window).max(1);
        let steps = (PIECES / windows as f64).round().max(1.0) as usize;
        let init = positive("model.init", *m.init.get_or_insert(if log { 0.001 } else { 1.0 }))?;
        let read = self.read(m, hidden, 0)?;
        let spec = NeuralSpec {
            kind,
            hidden,
            width: at_least("model.field_width", *m.field_width.get_or_insert(64), 1)?,
            layers: *m.field_layers.get_or_insert(2),
            activation,
            before_last: if nrde { Activation::Tanh } else { activation },
            last,
            solver,
            steps: at_least("model.solver_steps", *m.solver_steps.get_or_insert(steps), 1)?,
            window,
            read,
            radius: 0.0,
        };
        spec.network(self.width)?;
        let read = self.read(m, hidden, spec.seen(self.width)?.len())?;
        Ok((Architecture::Neural(NeuralSpec { read, ..spec }), init))
    }
}
