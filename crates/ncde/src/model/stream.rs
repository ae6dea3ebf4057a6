//! A Linear NCDE fed one observation at a time: the weights of the layer, constant memory, no tensor.
//!
//! ```text
//! h_{j+1} = exp(Omega_j) h_j + phi_1(Omega_j) beta_j,   (Omega_j, beta_j) from (X_j, X_{j+1}, t_{j+1} - t_j)
//! ```
//!
//! With Log-ODE windows of `K` steps the stored state is the one at the end of the last full window, and the open window is held as
//! its signature so far. The state shown after each observation is that of the open window: the log-signature so far takes the stored
//! state along, and the stored one stays as it is. So after every observation the state is the last one of
//! [`forward`](super::LinearNcde::forward) on all observations up to now.
//!
//! Cost of an observation: one step of the recurrence; with windows also one step of the signature and one logarithm. Memory: the
//! weights, the state, one observation and one signature, however long the series is.

use std::sync::Arc;

use burn::tensor::backend::Backend;
use ncde_runtime::{Flow, Number as StreamNumber};
use ncde_signature::{Online, Signature};
use serde::{Deserialize, Serialize};

use super::Error;
use super::gates::Gates;
use super::linear_config::{Driving, Initial};
use super::linear_ncde::LinearNcde;
use super::presets::Preset;
use super::step_gates::{Step, StepGates, numbers};

const OPERATION: &str = "Linear NCDE stream";

/// Everything a stream remembers of its series.
///
/// It can be written to a file and resumed in another process, by a stream of the same layer and the same gates.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StreamState<T> {
    /// How many observations were taken; if 0, nothing else is there.
    pub observations: usize,
    /// `t_0`, the time of the first one.
    pub start: f64,
    /// The time of the last one.
    pub time: f64,
    /// The last observation: `[channels]`.
    pub last: Vec<T>,
    /// The state after the last step, or at the end of the last full window: `[columns, H]`.
    pub state: Vec<T>,
    /// The open Log-ODE window, if there is one.
    pub window: Option<WindowState<T>>,
}

/// An open Log-ODE window.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WindowState<T> {
    /// How many steps it holds.
    pub steps: usize,
    /// Its log-signature so far, of the joint path (omega, xi), in the coordinates of [`Plan::basis`](super::Plan::basis).
    pub log: Vec<T>,
}

impl<B: Backend> LinearNcde<B> {
    /// A stream with the weights of this layer and of `gates`, which are copied.
    ///
    /// ```
    /// use burn::backend::Flex;
    /// use ncde::model::{GatesConfig, LinearNcdeConfig, TimeChannel};
    /// use ncde::random::Stream;
    /// let device = Default::default();
    /// let gates = GatesConfig::Increments { time: TimeChannel::Present }.init::<Flex>(2, &device, &Stream::new(0, 1));
    /// let model = LinearNcdeConfig::new(8, 3).init::<Flex>(&device, 0)?;
    /// let mut stream = model.stream::<f32>(&gates)?;
    /// stream.push(0.0, &[1.0, 2.0])?;
    /// let h = stream.push(0.7, &[1.5, 1.0])?; // the state at time 0.7
    /// assert_eq!(h.len(), 8);
    ///
    /// let saved = stream.save()?;
    /// let h = stream.push(0.9, &[1.4, 1.1])?.to_vec();
    /// let mut other = model.stream::<f32>(&gates)?;
    /// other.resume(&saved)?;
    /// assert_eq!(other.push(0.9, &[1.4, 1.1])?, h);
    /// # Ok::<(), ncde::model::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the gates do not have the channels of omega and xi that the layer has, or a weight is not finite.
    pub fn stream<T: StreamNumber>(&self, gates: &Preset<B>) -> Result<LinearNcdeStream<T>, Error> {
        let config = self.config();
        let step = StepGates::new(gates);
        let wanted = [config.omega, config.inputs().joined()];
        let channels = step.channels(config.omega).unwrap_or_default();
        let seen = gates.channels(channels);
        if seen != wanted {
            let name = |[omega, xi]: [usize; 2]| format!("{omega} channels of omega and {xi} of xi");
            return Err(shape("the increment that the gates make", name(seen), name(wanted)));
        }
        match config.initial {
            Initial::FromFirst { channels: wanted } if wanted != channels => {
                return Err(shape("the path of the gates", format!("{channels} channels"), format!("{wanted}")));
            }
            _ => {}
        }
        let start: Vec<T> = numbers(self.start.val());
        let window = match config.driving {
            Driving::Increments => None,
            Driving::LogOde { steps, .. } => Some(Window::new(&self.parts.transform, steps)),
        };
        Ok(LinearNcdeStream {
            gates: step,
            flow: self.flow()?,
            first: self.first.as_ref().map(|map| numbers(map.val())),
            window,
            observations: 0,
            begin: 0.0,
            time: 0.0,
            last: vec![T::ZERO; channels],
            joint: vec![T::ZERO; wanted.iter().sum()],
            state: start.clone(),
            open: start.clone(),
            start,
        })
    }
}

impl<B: Backend> LinearNcde<B> {
    fn flow<T: StreamNumber>(&self) -> Result<Flow<T>, Error> {
        let b = self.b.as_ref().map(|b| numbers(b.val()));
        Ok(Flow::new(&self.parts.plan, &self.parts.recurrence, numbers::<B, T, 1>(self.a.val()), b, self.config().columns)?)
    }
}

/// A [`LinearNcde`] that takes one observation at a time.
///
/// Many series can share one: [`save`](Self::save) one, [`resume`](Self::resume) another.
#[derive(Debug)]
pub struct LinearNcdeStream<T: StreamNumber> {
    gates: StepGates<T>,
    flow: Flow<T>,
    /// `[columns, H]`.
    start: Vec<T>,
    /// `[channels, columns H]`.
    first: Option<Vec<T>>,
    window: Option<Window<T>>,
    observations: usize,
    begin: f64,
    time: f64,
    last: Vec<T>,
    /// The increment of (omega, xi).
    joint: Vec<T>,
    state: Vec<T>,
    /// The state in the open window.
    open: Vec<T>,
}

impl<T: StreamNumber> LinearNcdeStream<T> {
    /// Takes the next observation; the state at its time.
    ///
    /// The first observation gives the initial state. (Tokens that drive from the first one on: the state after it.)
    ///
    /// # Shapes
    /// `values`: `[channels]`, to `[columns, H]`.
    ///
    /// # Errors
    /// If the time does not increase, or the observation has other channels or a number that is not finite: it is then not taken, and
    /// nothing has changed. Also if a state overflows; the series cannot go on then, [`clear`](Self::clear) the stream or
    /// [`resume`](Self::resume) an earlier state.
    pub fn push(&mut self, time: f64, values: &[T]) -> Result<&[T], Error> {
        self.absorb(time, values)?;
        self.state()
    }

    /// As [`push`](Self::push), but nothing is shown: inside a Log-ODE window the state is not computed.
    ///
    /// # Errors
    /// As for [`push`](Self::push).
    pub fn absorb(&mut self, time: f64, values: &[T]) -> Result<(), Error> {
        self.check(time, values)?;
        // Full only if closing it has failed.
        self.close()?;
        let first = self.observations == 0;
        if first {
            self.begin = time;
            self.initial(values)?;
        }
        if !first || self.gates.first_drives() {
            let step = Step { from: &self.last, to: values, dt: time - self.time, end: time - self.begin };
            self.gates.step(&step, &mut self.joint);
            match &mut self.window {
                None => self.flow.advance(&mut self.state, &self.joint)?,
                Some(window) => window.push(&self.joint)?,
            }
        }
        self.observations += 1;
        self.time = time;
        self.last.copy_from_slice(values);
        self.close()
    }

    /// The state now, inside an open window too. Before the first observation: the initial state without the part of it that comes
    /// from the first observation.
    ///
    /// # Shapes
    /// `[columns, H]`.
    ///
    /// # Errors
    /// If it overflows.
    pub fn state(&mut self) -> Result<&[T], Error> {
        match &mut self.window {
            Some(window) if window.steps > 0 => {
                self.open.copy_from_slice(&self.state);
                self.flow.advance(&mut self.open, &window.log()?)?;
                Ok(&self.open)
            }
            _ => Ok(&self.state),
        }
    }

    /// The stored state: after the last step or, with Log-ODE windows, at the end of the last full window.
    ///
    /// # Shapes
    /// `[columns, H]`.
    pub fn stored(&self) -> &[T] {
        &self.state
    }

    /// How many observations were taken.
    pub fn observations(&self) -> usize {
        self.observations
    }

    /// The time of the last observation; none before the first.
    pub fn time(&self) -> Option<f64> {
        (self.observations > 0).then_some(self.time)
    }

    /// How many channels an observation has.
    pub fn channels(&self) -> usize {
        self.last.len()
    }

    /// Forgets the series.
    pub fn clear(&mut self) {
        self.observations = 0;
        self.state.copy_from_slice(&self.start);
        if let Some(window) = &mut self.window {
            window.open(0, None);
        }
    }

    /// What the stream remembers.
    ///
    /// # Errors
    /// If the log-signature of the open window overflows.
    pub fn save(&mut self) -> Result<StreamState<T>, Error> {
        let window = match &mut self.window {
            Some(window) if window.steps > 0 => Some(WindowState { steps: window.steps, log: window.log()? }),
            _ => None,
        };
        let kept = |values: &[T]| if self.observations > 0 { values.to_vec() } else { Vec::new() };
        Ok(StreamState {
            observations: self.observations,
            start: if self.observations > 0 { self.begin } else { 0.0 },
            time: if self.observations > 0 { self.time } else { 0.0 },
            last: kept(&self.last),
            state: kept(&self.state),
            window,
        })
    }

    /// Goes on where a series was saved. What comes then is the same as without the interruption: exactly so at the end of a window
    /// and without windows, and but for rounding inside an open window.
    ///
    /// # Errors
    /// If the state is one of another layer, or holds a number that is not finite. The stream is then as it was.
    pub fn resume(&mut self, saved: &StreamState<T>) -> Result<(), Error> {
        if saved.observations == 0 {
            self.clear();
            return Ok(());
        }
        let sizes =
            [("the last saved observation", &saved.last, self.last.len()), ("the saved state", &saved.state, self.state.len())];
        let log = saved.window.as_ref().zip(self.window.as_ref());
        let log = log.map(|(saved, own)| ("the saved log-signature", &saved.log, own.transform.len()));
        for (what, values, wanted) in sizes.into_iter().chain(log) {
            if values.len() != wanted {
                return Err(shape(what, format!("{} numbers", values.len()), format!("{wanted}")));
            }
            finite(what, values)?;
        }
        if let Some(&time) = [saved.start, saved.time].iter().find(|time| !time.is_finite()) {
            return Err(ncde_signature::Error::TimeNotFinite { index: saved.observations - 1, time }.into());
        }
        let steps = saved.window.as_ref().map_or(0, |window| window.steps);
        let most = self.window.as_ref().map_or(0, |window| window.size);
        if steps > most {
            return Err(shape("the saved window", format!("{steps} steps"), format!("at most {most}")));
        }
        if let Some(window) = &mut self.window {
            window.open(steps, saved.window.as_ref().filter(|_| steps > 0).map(|window| window.log.clone()));
        }
        self.observations = saved.observations;
        self.begin = saved.start;
        self.time = saved.time;
        self.last.copy_from_slice(&saved.last);
        self.state.copy_from_slice(&saved.state);
        Ok(())
    }

    fn check(&self, time: f64, values: &[T]) -> Result<(), Error> {
        let (index, wanted) = (self.observations, self.last.len());
        if values.len() != wanted {
            return Err(shape("the observation", format!("{} channels", values.len()), format!("{wanted}")));
        }
        if let Some(channel) = values.iter().position(|x| !x.is_finite()) {
            return Err(Error::Algebra(ncde_signature::Error::NotFinite {
                place: format!("observation {index}"),
                channel,
                value: values[channel].to_f64(),
                hint: "fill missing values before pushing",
            }));
        }
        if !time.is_finite() {
            return Err(ncde_signature::Error::TimeNotFinite { index, time }.into());
        }
        if index > 0 && time <= self.time {
            return Err(ncde_signature::Error::TimesNotIncreasing { index, previous: self.time, time }.into());
        }
        Ok(())
    }

    /// `h_{t_0} = L X_{t_0} + c`.
    fn initial(&mut self, values: &[T]) -> Result<(), Error> {
        self.state.copy_from_slice(&self.start);
        for (&x, row) in values.iter().zip(self.first.iter().flat_map(|map| map.chunks_exact(self.start.len()))) {
            self.state.iter_mut().zip(row).for_each(|(h, &w)| *h += x * w);
        }
        finite("the initial state", &self.state)
    }

    /// Takes the stored state to the end of a full window, and opens the next.
    fn close(&mut self) -> Result<(), Error> {
        let Some(window) = self.window.as_mut().filter(|window| window.steps == window.size) else { return Ok(()) };
        self.flow.advance(&mut self.state, &window.log()?)?;
        window.open(0, None);
        Ok(())
    }
}

/// A Log-ODE window that fills up.
#[derive(Debug)]
struct Window<T: StreamNumber> {
    transform: Arc<Signature>,
    /// Of what was pushed since the window was opened or resumed.
    online: Online<T>,
    /// Whether it has its first point, 0.
    begun: bool,
    /// The joint path since then, from 0.
    path: Vec<T>,
    next: Vec<T>,
    /// The log-signature of what came before, in a window that was resumed.
    before: Option<Vec<T>>,
    steps: usize,
    /// `K`.
    size: usize,
}

impl<T: StreamNumber> Window<T> {
    fn new(transform: &Arc<Signature>, size: usize) -> Self {
        let zero = vec![T::ZERO; transform.shape().width()];
        let (transform, online) = (Arc::clone(transform), Online::new(transform));
        Self { transform, online, begun: false, path: zero.clone(), next: zero, before: None, steps: 0, size }
    }

    /// Empties it; what was there before is `before`, made of `steps` steps.
    fn open(&mut self, steps: usize, before: Option<Vec<T>>) {
        self.online.clear();
        self.begun = false;
        self.path.fill(T::ZERO);
        self.steps = steps;
        self.before = before;
    }

    fn push(&mut self, increment: &[T]) -> Result<(), Error> {
        if !self.begun {
            self.online.push(&self.path)?;
            self.begun = true;
        }
        for (next, (&x, &dx)) in self.next.iter_mut().zip(self.path.iter().zip(increment)) {
            *next = x + dx;
        }
        self.online.push(&self.next)?;
        std::mem::swap(&mut self.path, &mut self.next);
        self.steps += 1;
        Ok(())
    }

    fn log(&mut self) -> Result<Vec<T>, Error> {
        let own = self.online.value()?;
        match &self.before {
            Some(before) => Ok(self.transform.join(before, &own)?),
            None => Ok(own),
        }
    }
}

fn finite<T: StreamNumber>(what: &'static str, values: &[T]) -> Result<(), Error> {
    match values.iter().position(|x| !x.is_finite()) {
        None => Ok(()),
        Some(i) => {
            let (value, place) = (values[i].to_f64(), format!("place {i}"));
            Err(ncde_kernels::Error::NotFinite { operation: OPERATION, what, value, place }.into())
        }
    }
}

fn shape(what: &'static str, seen: String, wanted: String) -> Error {
    Error::Shape { operation: OPERATION, what, seen, wanted }
}
