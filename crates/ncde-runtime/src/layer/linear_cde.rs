//! A Linear NCDE, and with a structure for `A` the `SLiCE`.
//!
//! ```text
//! h_t = h_0 + ∫ sum_i A^i h_s domega^i_s + ∫ B dxi_s
//! h_{k+1} = exp(Omega_k) h_k + phi_1(Omega_k) beta_k   (exp),   (I + Omega_k) h_k + beta_k   (euler),   Omega_k = scale sum_P lambda_P A_P
//! ```
//!
//! Thesis, sections "Linear NCDEs" and "Structured Linear NCDEs". `drive` has the table of what drives the state, `plan` what the coordinates of a
//! log-signature multiply, `stability` how `a` becomes matrices that never expand a state. One row out for each row in: the state after it.
//!
//! | weight | shape | first values |
//! | --- | --- | --- |
//! | `a` | `[d_omega, parameters of a matrix]` | table in `structure` |
//! | `mask` (sparse) | `[d_omega, entries]`: `row H + column` of each | drawn without replacement, not trained |
//! | `b` (with an input term) | `[d_xi, H]` | uniform on `±1 / sqrt(d_xi)` |
//! | `first` (`initial = "first"`) | `[numbers of x_0, or of its knot, and statics, H]` | uniform on `±1 / sqrt(inputs)` |
//! | `start` (not with `one`) | `[H]` | as `first`; standard normal where there is none |

use std::ops::Range;
use std::sync::Arc;

use ncde_kernels::{Commutators, Field, Recurrence, Structure, Transition};
use ncde_signature::Basis;
use serde::{Deserialize, Serialize};

use super::flow::LinearStep;
use super::signal::{at_least_one, misplaced, positive, product, refuse, signature_sizes};
use super::{
    Contractive, Cost, Drive, Form, Init, Initial, InputTerm, Layer, Plan, Role, Scale, Signal, Stability, Step, StepChain,
    StructureSpec, Values, Weight,
};
use crate::Error;

/// A structured Linear NCDE.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinearCde {
    /// `H`.
    pub hidden: usize,
    /// The structure of `A`.
    pub structure: StructureSpec,
    /// What drives the state.
    pub drive: Drive,
    /// What is added to it.
    #[serde(default)]
    pub input: InputTerm,
    /// Where it begins.
    pub initial: Initial,
    /// `exp(Omega)`, or `I + Omega`.
    #[serde(default)]
    pub transition: Transition,
    /// What all increments of omega are multiplied with.
    #[serde(default = "one")]
    pub scale: f64,
    /// How large the parameters of `A` are at first.
    #[serde(default = "quarter")]
    pub init: Scale,
    /// Rates at which states forget at first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forget: Option<Forget>,
    /// Whether the flow may expand.
    #[serde(default, skip_serializing_if = "Stability::is_free")]
    pub stability: Stability,
}

impl LinearCde {
    /// States that windows drive through blocks of 4, from a first state that the first row and the statics set: exact flows, nothing added, nothing forgotten.
    ///
    /// ```
    /// use ncde_runtime::layer::{InputTerm, LinearCde, StructureSpec};
    /// let cde = LinearCde { structure: StructureSpec::Dplr { rank: 4 }, input: InputTerm::Path, ..LinearCde::new(64) };
    /// assert_eq!((cde.hidden, cde.input), (64, InputTerm::Path));
    /// ```
    pub fn new(hidden: usize) -> Self {
        Self {
            hidden,
            structure: StructureSpec::Block { block: 4 },
            drive: Drive::Windows {},
            input: InputTerm::None,
            initial: Initial::First,
            transition: Transition::default(),
            scale: one(),
            init: quarter(),
            forget: None,
            stability: Stability::Free {},
        }
    }
}

/// Rates of forgetting, which are subtracted from the diagonal of `A^0` when it is drawn, the matrix of time: of the states in order, a quarter has the
/// rate 0, and the others have rates from 1 to `2^octaves` a unit of time, so that some remember everything and others only what was just seen.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Forget {
    /// The logarithm of the largest rate, to base 2.
    pub octaves: f64,
}

fn one() -> f64 {
    1.0
}

fn quarter() -> Scale {
    Scale::Scaled { deviation: 0.25 }
}

/// What a linear CDE computes with besides its weights: decided once, for both forms.
#[derive(Debug)]
pub struct Prepared {
    /// `A^1, ..., A^d`.
    pub field: Field,
    /// What coordinates multiply; none where windows come as increments.
    pub plan: Option<Plan>,
    /// The generators of windows that come as increments.
    pub commutators: Option<Commutators>,
    /// The recurrence, over what the plan or the commutators make of `A`.
    pub recurrence: Arc<Recurrence>,
    /// How weights become matrices; none where they are.
    pub contractive: Option<Contractive>,
    /// Which numbers of a row drive.
    pub driving: Range<usize>,
    /// Which numbers of the first row set the initial state.
    pub first: Range<usize>,
}

impl LinearCde {
    /// `d_omega`, and the numbers of a row that drive and that set the initial state.
    fn sizes(&self, input: &Signal) -> Result<(usize, Range<usize>, Range<usize>), Error> {
        let width = input.sequence("linear-cde")?;
        match self.drive {
            Drive::Windows {} => {
                let (channels, coordinates, form, _) = input.windows("linear-cde")?;
                let driving = match form {
                    Form::LogSignature { .. } => 0..coordinates,
                    Form::Increments {} => channels..coordinates,
                    Form::Hermite {} => {
                        return Err(misplaced("linear-cde", "windows of the form `hermite` are for a `neural-cde`"));
                    }
                };
                Ok((channels, driving, coordinates..coordinates + channels))
            }
            _ => Ok((self.drive.channels(width), 0..width, 0..width)),
        }
    }

    /// How many columns `B` has.
    fn columns(&self, input: &Signal) -> Result<usize, Error> {
        let (channels, ..) = self.sizes(input)?;
        match (self.input, self.drive) {
            (InputTerm::None, _) => Ok(0),
            (InputTerm::Path, _) => Ok(channels),
            (InputTerm::Values, drive) if !drive.looks_back() => {
                refuse("input", "`values`, but the drive does not look at the row before; use `path`, or drive by `time`")
            }
            (InputTerm::Values, _) => Ok(input.width()),
        }
    }

    /// What is computed, for rows like these; `mask` is needed to compute with sparse matrices.
    ///
    /// # Errors
    /// If the sizes make no sense, or windows come in a form that the structure cannot use.
    pub fn prepare(&self, input: &Signal, mask: Option<&[f32]>) -> Result<Prepared, Error> {
        at_least_one(&[("hidden", self.hidden)])?;
        positive(&[("scale", self.scale)])?;
        let (channels, driving, first) = self.sizes(input)?;
        self.columns(input)?;
        let field = self.structure.field(self.hidden, channels, mask)?;
        let contractive = self.contractive(input, &field)?;
        let path = self.input == InputTerm::Path;
        let (plan, commutators, over) = match input.windows("linear-cde") {
            Ok((_, _, Form::Increments {}, window)) if self.drive == (Drive::Windows {}) => {
                let Some(block) = equal_blocks(field.structure()) else {
                    let problem = "windows come as increments, which need blocks of one size; use the form `log-signature`";
                    return Err(misplaced("linear-cde", problem));
                };
                // The numbers of a generator go in as coefficients of unit matrices.
                let over = Field::new(field.structure().clone(), field.channel(0).len())?;
                (None, Some(Commutators { block, steps: window, vectors: path, factor: 0.5 / self.scale }), over)
            }
            Ok((_, _, &Form::LogSignature { depth, basis }, _)) if self.drive == (Drive::Windows {}) => {
                let plan = Plan::new(&field, path, depth, basis)?;
                let over = plan.field().clone();
                (Some(plan), None, over)
            }
            _ => (Some(Plan::new(&field, path, 1, Basis::Lyndon)?), None, field.clone()),
        };
        let recurrence = Recurrence::new(over).with_transition(self.transition);
        let recurrence = match &plan {
            Some(plan) => recurrence.with_contraction(plan.contraction())?,
            None => recurrence,
        };
        Ok(Prepared { field, plan, commutators, contractive, recurrence: Arc::new(recurrence), driving, first })
    }

    /// How weights become matrices that never expand, if that is asked for.
    fn contractive(&self, input: &Signal, field: &Field) -> Result<Option<Contractive>, Error> {
        let Stability::Contractive { rate } = self.stability else { return Ok(None) };
        let contractive = Contractive::new(field.structure(), rate)?;
        if self.transition == Transition::Euler {
            return refuse("stability", "`contractive`, but `I + Omega` expands, whatever the weights; use the transition `exp`");
        }
        match self.drive {
            Drive::Windows {} => match input.windows("linear-cde")?.2 {
                Form::LogSignature { depth: 1, .. } => Ok(Some(contractive)),
                _ => refuse(
                    "stability",
                    "`contractive`, but brackets with the matrix of time, which is not skew, may expand; use log-signatures of depth 1",
                ),
            },
            Drive::Increments { time: false } | Drive::Values { time: false } => refuse(
                "stability",
                "`contractive`, but time does not drive, and states are forgotten with time; set `time` of the drive",
            ),
            _ => Ok(Some(contractive)),
        }
    }

    /// Whether the windows of a model with equal blocks cost less as increments: few steps of many channels.
    ///
    /// ```
    /// use ncde_kernels::Structure;
    /// use ncde_runtime::layer::LinearCde;
    /// let blocks = Structure::blocks(16, 4)?;
    /// assert!(LinearCde::short_windows_pay(&blocks, 62, 2)); // Two increments in 62 channels, which have 1891 areas between them.
    /// assert!(!LinearCde::short_windows_pay(&blocks, 7, 16));
    /// # Ok::<(), ncde_kernels::Error>(())
    /// ```
    pub fn short_windows_pay(structure: &Structure, channels: usize, window: usize) -> bool {
        equal_blocks(structure).is_some_and(|b| {
            let numbers = structure.hidden() * b;
            numbers <= MAX_NUMBERS && 2 * (window * channels + numbers) < channels * (channels + 1) / 2
        })
    }

    /// How the parameters of all channels are drawn.
    fn init(&self, field: &Field) -> Result<Init, Error> {
        let of_channel = self.structure.init(self.init, field)?;
        let contractive = !self.stability.is_free();
        // Half the difference of two numbers is smaller than each by the root of 2.
        let wide = |(count, init): &(usize, Init)| match init {
            Init::Normal(deviation) if contractive => (*count, Init::Normal(std::f64::consts::SQRT_2 * deviation)),
            _ => (*count, init.clone()),
        };
        let others = (1..field.channels()).flat_map(|_| of_channel.iter().map(wide));
        let pieces = of_channel.iter().cloned().chain(others).collect();
        let Some(Forget { octaves }) = self.forget else { return Ok(Init::Pieces(pieces)) };
        let Some(diagonal) = self.structure.diagonal(field, contractive) else {
            let name = field.structure().name();
            return refuse(
                "forget",
                format!("set, but {name} matrices have no diagonal of their own; leave it out, or use `block`"),
            );
        };
        let rate = |j: usize| match (j as f64 + 0.5) / field.hidden() as f64 {
            share if share < 0.25 => 0.0,
            share => ((share - 0.25) / 0.75 * octaves).exp2(),
        };
        // The rate is the square of an entry of the diagonal of `L`.
        let entry = |rate: f64| if contractive { rate.sqrt() } else { -rate };
        let offsets = diagonal.into_iter().map(|(place, state)| (place, entry(rate(state)))).collect();
        Ok(Init::Moved(Box::new(Init::Pieces(pieces)), offsets))
    }
}

/// What a bracket in the table of a plan takes as long as, in multiplications for a row.
const BRACKET: usize = 1 << 12;

/// The most numbers of a generator: its steps see each as a channel of its own.
const MAX_NUMBERS: usize = 256;

/// The size of blocks, where all have the same.
fn equal_blocks(structure: &Structure) -> Option<usize> {
    let sizes = structure.sizes()?;
    sizes.first().copied().filter(|first| sizes.iter().all(|b| b == first))
}

impl Layer for LinearCde {
    fn describe(&self) -> String {
        format!("{} states that the path moves linearly", self.hidden)
    }

    fn output(&self, input: &Signal, _: &[Signal]) -> Result<Signal, Error> {
        self.prepare(input, None)?;
        Ok(input.with_width(self.hidden))
    }

    fn demand(&self, input: &Signal) -> usize {
        let channels = self.sizes(input).map_or(1, |(channels, ..)| channels);
        product(&[channels, self.structure.demand(self.hidden)])
    }

    fn cost(&self, input: &Signal) -> Cost {
        let (Drive::Windows {}, Ok((channels, _, form, window))) = (self.drive, input.windows("linear-cde")) else {
            return Cost::default();
        };
        let matrix = self.structure.demand(self.hidden);
        let diagonal = matches!(self.structure, StructureSpec::Diagonal {});
        match *form {
            // A matrix for each bracket, made once from two products.
            Form::LogSignature { depth: depth @ 2.., basis: Basis::Lyndon | Basis::Hall } if !diagonal => {
                let brackets = signature_sizes(channels, depth).map_or(0, |sizes| sizes.brackets);
                let numbers = product(&[brackets, matrix]);
                let made = product(&[numbers, self.structure.side(self.hidden)]) / 4;
                let table = product(&[brackets, BRACKET]);
                Cost { bytes: numbers.saturating_mul(8), work: numbers.saturating_add(made).saturating_add(table) }
            }
            // A product with a state for each word, and a table of all words.
            Form::LogSignature { depth: depth @ 2.., basis: Basis::Expanded } if !diagonal => {
                let words = signature_sizes(channels, depth).map_or(0, |sizes| sizes.words);
                let vectors = if self.input == InputTerm::None { 0 } else { product(&[words, 4, self.hidden]) };
                Cost {
                    bytes: product(&[words, 128]).saturating_add(vectors),
                    work: product(&[words, matrix.saturating_add(256), 8]),
                }
            }
            // Every number of a generator is a channel of a recurrence.
            Form::Increments {} => Cost {
                bytes: product(&[matrix, matrix, 16]).saturating_add(product(&[window, matrix, 8])),
                work: product(&[matrix, matrix]).saturating_add(product(&[window, channels, matrix])),
            },
            _ => Cost::default(),
        }
    }

    fn weights(&self, input: &Signal) -> Result<Vec<Weight>, Error> {
        let (channels, _, first) = self.sizes(input)?;
        let (hidden, columns) = (self.hidden, self.columns(input)?);
        let field = self.structure.field(hidden, channels, None)?;
        let mut all = vec![Weight::trained("a", [channels, field.channel(0).len()], self.init(&field)?)];
        if let Some(entries) = self.structure.entries(hidden)? {
            all.push(Weight::trained("mask", [channels, entries], Init::Subset(hidden * hidden)).with_role(Role::Fixed));
        }
        if columns > 0 {
            all.push(Weight::trained("b", [columns, hidden], Init::linear(columns)));
        }
        let inputs = first.len() + input.statics;
        let init = match (self.initial, self.init) {
            (Initial::First, Scale::Scaled { .. }) => Init::linear(inputs),
            _ => Init::Normal(1.0),
        };
        all.extend(self.initial.weights(inputs, hidden, init));
        Ok(all)
    }

    fn step(&self, input: &Signal, weights: &mut Values, _: Vec<StepChain>) -> Result<Box<dyn Step>, Error> {
        let mask = self.structure.entries(self.hidden)?.map(|_| weights.take("mask")).transpose()?;
        let prepared = self.prepare(input, mask.as_deref())?;
        Ok(Box::new(LinearStep::new(self, input, &prepared, weights)?))
    }
}
