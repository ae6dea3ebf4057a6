//! The NCDE, the NRDE and the Log-NCDE: a network as the vector field, solved by fixed steps in each window.
//!
//! ```text
//! h_0 = L (knot_0, statics) + c,   h_{k+1} = the solution at u = 1 of  dh/du = F(h, c_k(u)),  from h_k
//! ncde       F = sum_i c_i f_i(h),   c(u) = m + (4u - 3u^2)(x - m),   x the increment, m = (slope of the increment before) x (time of this one)
//! nrde       F = sum_P c_P g_P(h),   c = log S^N over the window: a column of the network for each coordinate
//! log-ncde   F = sum_P c_P f_P(h),   a column for each channel, [f, g] = Dg f - Df g for brackets
//! ```
//!
//! Thesis, chapter "Neural Controlled Differential Equations". The equation is solved in the share `u` of the window that has passed, not in time: what
//! is computed does not depend on the unit of time; how fast time passes is a channel of the path. The control of an `ncde` is the derivative of
//! the cubic that begins with the slope of the increment before and ends with its own (Hermite interpolation with backward differences),
//! so it is known as soon as the observation is; the first increment has none before it, `m = x`.
//!
//! | weight | shape | first values |
//! | --- | --- | --- |
//! | `field` | for each layer its weight, `[inputs, outputs]` row by row, then its bias, all one after the other | uniform on `±init / sqrt(inputs)` |
//! | `first`, `start` | `[knot and statics, H]`, `[H]` | uniform on `±1 / sqrt(inputs)` |
//! | `radius` | `[1]`: the largest `\|h\|` seen in training; on that ball a bound of the field's Lip norm holds for what was seen | fitted |

use ncde_kernels::neural::{Activation, Depth, Input, Last, Method, Network, Outputs, Solve};
use ncde_signature::Basis;
use ncde_solve::brackets::MAX_DEPTH;
use ncde_solve::field;
use ncde_solve::lip;
use ncde_solve::solve::RowSteps;
use serde::{Deserialize, Serialize};

use super::drive::Start;
use super::signal::{at_least_one, counted, misplaced, positive, product, refuse, signature_sizes};
use super::state_memory::{narrow, widen};
use super::{Cost, Form, Init, Initial, Layer, LipBound, Role, Row, Share, Signal, Size, Step, StepChain, Values, Weight};
use crate::Error;

/// The most hidden layers of a network.
const MAX_LAYERS: usize = 1 << 10;

/// What the smallest network takes as long as, in multiplications: by the kernel, and by the generic solver.
const EVALUATION: usize = 1 << 12;
const GENERIC: usize = 1 << 14;

/// The most rows of a control in a step.
const MAX_ROWS: usize = 64;

/// A model whose vector field is a network.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NeuralCde {
    /// Which model.
    pub kind: NeuralKind,
    /// `H`.
    pub hidden: usize,
    /// The width of the hidden layers of the network.
    pub width: usize,
    /// How many there are.
    pub layers: usize,
    /// What follows each of them.
    pub activation: Activation,
    /// What follows the last of them.
    pub before_last: Activation,
    /// What follows the last layer.
    pub last: Last,
    /// How the equation is solved.
    pub solver: Method,
    /// In how many steps a window.
    pub steps: usize,
    /// What the first weights of the field are multiplied with.
    pub init: f64,
}

impl NeuralCde {
    /// A model as the thesis has it: two hidden layers of width 64, Heun's method, one step a window.
    ///
    /// ```
    /// use ncde_runtime::layer::{Method, NeuralCde, NeuralKind};
    /// let cde = NeuralCde { solver: Method::Rk4, steps: 2, ..NeuralCde::new(NeuralKind::LogNcde, 32) };
    /// assert_eq!((cde.hidden, cde.width, cde.init), (32, 64, 0.001));
    /// ```
    pub fn new(kind: NeuralKind, hidden: usize) -> Self {
        let (activation, before_last, last, init) = match kind {
            NeuralKind::Ncde => (Activation::Relu, Activation::Relu, Last::Tanh, 1.0),
            NeuralKind::Nrde => (Activation::Relu, Activation::Tanh, Last::Linear, 1.0),
            NeuralKind::LogNcde => (Activation::Silu, Activation::Silu, Last::Tanh, 0.001),
        };
        Self { kind, hidden, width: 64, layers: 2, activation, before_last, last, solver: Method::Heun, steps: 1, init }
    }
}

/// The models whose vector field is a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NeuralKind {
    /// `dh = f(h) dX`: one vector field for each channel, along a smooth path through the observations.
    Ncde,
    /// One vector field for each coordinate of the log-signature, all outputs of one network.
    Nrde,
    /// The Log-ODE method: one vector field for each channel, and their Lie brackets for the other coordinates of the log-signature.
    LogNcde,
}

impl NeuralCde {
    /// The channels of the path, the depth of its log-signatures, and how many numbers of a row drive.
    fn sizes(&self, input: &Signal) -> Result<(usize, usize, usize), Error> {
        let (channels, coordinates, form, _) = input.windows("neural-cde")?;
        match (self.kind, form) {
            (NeuralKind::Ncde, Form::Hermite {}) => Ok((channels, 1, coordinates)),
            (NeuralKind::Nrde | NeuralKind::LogNcde, Form::LogSignature { depth, basis: Basis::Lyndon }) => {
                Ok((channels, *depth, coordinates))
            }
            (NeuralKind::Ncde, _) => Err(misplaced("neural-cde", "an `ncde` needs windows of the form `hermite`")),
            _ => Err(misplaced("neural-cde", "it needs windows of the form `log-signature` in the basis `lyndon`")),
        }
    }

    /// The depth of the brackets that are computed.
    ///
    /// # Errors
    /// If rows are not windows.
    pub fn depth(&self, input: &Signal) -> Result<usize, Error> {
        Ok(if self.kind == NeuralKind::LogNcde { self.sizes(input)?.1 } else { 1 })
    }

    /// The network, as the kernel knows it.
    ///
    /// # Errors
    /// If the sizes make no sense.
    pub fn network(&self, input: &Signal) -> Result<Network, Error> {
        at_least_one(&[("hidden", self.hidden), ("width", self.width), ("steps", self.steps)])?;
        if self.layers > MAX_LAYERS {
            return refuse("layers", format!("{}; at most {MAX_LAYERS} are possible", self.layers));
        }
        let (channels, depth, coordinates) = self.sizes(input)?;
        let columns = if self.kind == NeuralKind::Nrde { coordinates } else { channels };
        if self.kind == NeuralKind::LogNcde {
            if depth > MAX_DEPTH {
                return refuse("depth", format!("{depth}; brackets are computed to depth {MAX_DEPTH}"));
            }
            if depth > 1 && [self.activation, self.before_last].contains(&Activation::Relu) {
                let problem = "`relu`, which has no derivative at 0, and brackets are made of derivatives; use `silu`, `tanh` or `softplus`";
                return refuse("activation", problem);
            }
        }
        if self.kind == NeuralKind::Ncde && self.fitting_grid().is_none() {
            let problem = format!(
                "`{}`, whose stages lie between the points at which the path of an `ncde` is known; use `rk4`",
                self.solver.name()
            );
            return refuse("solver", problem);
        }
        positive(&[("init", self.init)])?;
        let network = Network::new(self.hidden, columns, &vec![self.width; self.layers])?;
        Ok(network.with_activation(self.activation).with_before_last(self.before_last).with_last(self.last))
    }

    /// How many rows the control of a window has.
    pub fn rows(&self) -> usize {
        if self.kind == NeuralKind::Ncde { self.steps * self.grid() + 1 } else { 1 }
    }

    /// The rows of the control of a window from the numbers that drive, appended to `out`.
    pub fn control(&self, numbers: &[f32], out: &mut Vec<f32>) {
        if self.kind != NeuralKind::Ncde {
            out.extend_from_slice(numbers);
            return;
        }
        let (x, m) = numbers.split_at(numbers.len() / 2);
        let last = (self.rows() - 1) as f32;
        for row in 0..self.rows() {
            let u = row as f32 / last;
            let weight = (4.0 - 3.0 * u) * u;
            out.extend(m.iter().zip(x).map(|(&m, &x)| m + weight * (x - m)));
        }
    }

    /// Which of these rows is read by each stage of each step.
    pub fn reads(&self) -> Vec<usize> {
        let (grid, nodes) = (self.grid(), self.solver.nodes());
        let row = |step: usize, node: f64| match self.kind {
            NeuralKind::Ncde => step * grid + (node * grid as f64).round() as usize,
            NeuralKind::Nrde | NeuralKind::LogNcde => 0,
        };
        (0..self.steps).flat_map(|step| nodes.iter().map(move |&node| row(step, node))).collect()
    }

    /// How many rows of the control lie in a step: the fewest that give every stage its own. (A method without such a grid is refused.)
    fn grid(&self) -> usize {
        self.fitting_grid().unwrap_or(MAX_ROWS)
    }

    fn fitting_grid(&self) -> Option<usize> {
        let fits = |grid: &usize| self.solver.nodes().iter().all(|node| (node * *grid as f64).fract() == 0.0);
        (1..=MAX_ROWS).find(fits)
    }
}

impl Layer for NeuralCde {
    fn describe(&self) -> String {
        let kind = match self.kind {
            NeuralKind::Ncde => "a network for each channel",
            NeuralKind::Nrde => "a network for each coordinate",
            NeuralKind::LogNcde => "a network for each channel and their Lie brackets",
        };
        format!("{} states that the path moves by {kind}, {} a window", self.hidden, counted(self.steps, "solver step"))
    }

    fn output(&self, input: &Signal, _: &[Signal]) -> Result<Signal, Error> {
        self.network(input)?;
        Ok(input.with_width(self.hidden))
    }

    fn demand(&self, input: &Signal) -> usize {
        let Ok((channels, _, coordinates)) = self.sizes(input) else { return self.hidden };
        let outputs = product(&[self.hidden, if self.kind == NeuralKind::Nrde { coordinates } else { channels }]);
        match self.layers {
            0 => product(&[self.hidden, outputs]),
            layers => {
                let inner = product(&[self.width, self.width, layers - 1]);
                inner.saturating_add(product(&[self.width, self.hidden.saturating_add(outputs)]))
            }
        }
    }

    fn cost(&self, input: &Signal) -> Cost {
        let Ok((channels, depth, _)) = self.sizes(input) else { return Cost::default() };
        let stages = product(&[self.steps, self.solver.nodes().len()]);
        let network = self.demand(input);
        // Brackets are derivatives along fields, one for each word that is shorter by a letter. The kernel for depth 2 needs one field of each.
        let (brackets, evaluation) = match (self.kind, depth) {
            (NeuralKind::LogNcde, 2) => {
                let inner = product(&[self.width, self.width, self.layers.saturating_sub(1)]);
                (product(&[channels, inner.saturating_add(product(&[2, self.width.max(1), self.hidden]))]), EVALUATION)
            }
            (NeuralKind::LogNcde, 3..) => {
                let words = signature_sizes(channels, depth - 1).map_or(usize::MAX, |sizes| sizes.words);
                (product(&[network.saturating_add(GENERIC), words]), GENERIC)
            }
            _ => (0, EVALUATION),
        };
        let rows = if self.kind == NeuralKind::Ncde { product(&[self.steps, self.grid(), channels]) } else { 0 };
        Cost {
            bytes: stages.saturating_add(rows).saturating_mul(16),
            work: product(&[stages, network.saturating_add(brackets).saturating_add(evaluation)]),
        }
    }

    fn weights(&self, input: &Signal) -> Result<Vec<Weight>, Error> {
        let network = self.network(input)?;
        let pieces = (0..network.layers()).map(|l| {
            let layer = network.layer(l);
            (layer.weight.len() + layer.bias.len(), Init::Uniform(self.init / (layer.inputs as f64).sqrt()))
        });
        let inputs = self.sizes(input)?.0 + input.statics;
        let mut all = vec![Weight::trained("field", [network.parameters()], Init::Pieces(pieces.collect()))];
        all.extend(Initial::First.weights(inputs, self.hidden, Init::linear(inputs)));
        all.push(Weight::trained("radius", [1], Init::Constant(0.0)).with_role(Role::Fitted));
        Ok(all)
    }

    fn lip_bound(&self, input: &Signal, weights: &mut Values) -> Result<Option<LipBound>, Error> {
        let (field, network) = (weights.take("field")?, generic_field(&self.network(input)?)?);
        let radius = weights.take("radius")?.first().copied().map_or(0.0, f64::from);
        let log10 = lip::bound(&network, &field, radius, 2.0).map(|bound| bound.whole()).map_err(|e| e.to_string());
        Ok(Some(LipBound { radius, log10 }))
    }

    fn step(&self, input: &Signal, weights: &mut Values, _: Vec<StepChain>) -> Result<Box<dyn Step>, Error> {
        let (channels, _, coordinates) = self.sizes(input)?;
        let network = self.network(input)?;
        weights.take("radius")?;
        let route = match self.depth(input)? {
            depth @ (1 | 2) => Route::Fused {
                solve: Box::new(
                    Solve::new(network).with_depth(if depth == 2 { Depth::Two } else { Depth::One }).with_method(self.solver),
                ),
                reads: self.reads(),
                dt: vec![1.0 / self.steps as f32; self.steps],
                control: Vec::new(),
                states: Vec::new(),
            },
            depth => Route::Generic { steps: RowSteps::new(channels, depth, self.solver)?, field: generic_field(&network)? },
        };
        Ok(Box::new(NeuralStep {
            spec: self.clone(),
            coordinates,
            parameters: weights.take("field")?,
            start: Initial::First.take(weights, self.hidden)?,
            route,
            numbers: Vec::new(),
            state: vec![0.0; self.hidden],
        }))
    }
}

/// The network as `ncde-solve` writes it: the same parameters in the same order.
///
/// # Errors
/// If the sizes make no sense.
pub fn generic_field(network: &Network) -> Result<field::Network, ncde_solve::Error> {
    let hidden = network.widths().iter().enumerate();
    let hidden = hidden.map(|(l, &width)| field::Layer { width, activation: network.activation_of(l) });
    let activation = if network.last() == Last::Tanh { Activation::Tanh } else { Activation::Identity };
    let last = field::Layer { width: network.channels() * network.hidden(), activation };
    field::Network::from_layers(network.hidden(), network.channels(), hidden.chain([last]).collect())
}

#[derive(Debug)]
struct NeuralStep {
    spec: NeuralCde,
    /// How many numbers of a row drive; the knot follows.
    coordinates: usize,
    parameters: Vec<f32>,
    start: Start,
    route: Route,
    numbers: Vec<f32>,
    state: Vec<f32>,
}

/// The kernel knows brackets to depth 2; deeper ones are computed by the generic solver, with the same steps.
#[derive(Debug)]
enum Route {
    Fused { solve: Box<Solve>, reads: Vec<usize>, dt: Vec<f32>, control: Vec<f32>, states: Vec<f32> },
    Generic { steps: RowSteps, field: field::Network },
}

impl NeuralStep {
    fn advance(&mut self) -> Result<(), Error> {
        let count = self.spec.steps;
        match &mut self.route {
            Route::Fused { solve, reads, dt, control, states } => {
                control.clear();
                self.spec.control(&self.numbers, control);
                let input = Input {
                    batch: 1,
                    steps: count,
                    control: self.spec.rows(),
                    parameters: &self.parameters,
                    coefficients: control,
                    initial: &self.state,
                    dt,
                    rows: reads,
                };
                solve.forward_into(&input, Outputs::At(&[count - 1]), states)?;
                self.state.copy_from_slice(states);
                Ok(())
            }
            Route::Generic { steps, field } => {
                Ok(steps.window(field, &self.parameters, &self.numbers, (count, 1.0 / count as f64), &mut self.state)?)
            }
        }
    }
}

impl Step for NeuralStep {
    /// Whether there was a row, and the state.
    fn memory(&self) -> Size {
        Size::wide(1 + self.spec.hidden)
    }

    fn push(&mut self, memory: Share<'_>, row: Row<'_>, out: &mut Vec<f64>) -> Result<bool, Error> {
        let (started, state) = memory.wide.split_at_mut(1);
        let (numbers, knot) = row.values.split_at(self.coordinates);
        if started[0] == 0.0 {
            self.start.set(knot, row.statics, &mut self.state);
        } else {
            narrow(state, &mut self.state);
            self.numbers.clear();
            self.numbers.extend(numbers.iter().map(|&x| x as f32));
            self.advance()?;
        }
        started[0] = 1.0;
        widen(&self.state, state);
        out.clear();
        out.extend_from_slice(state);
        Ok(true)
    }
}
