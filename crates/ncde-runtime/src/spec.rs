//! What a saved model is: everything but its weights. `model.json` holds it.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use crate::budget::Budget;
use crate::forecast::Forecast;
use crate::layer::{LayerSpec, Resolved, Rows, Signal, StepChain, Weight};
use crate::prepare::{Missing, Preparation, Scaling};
use crate::threshold::Threshold;
use crate::weights::Weights;
use crate::{Error, Extent};

/// The format that this version writes and reads.
pub const FORMAT: u32 = 2;

/// A model without its weights.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelSpec {
    /// [`FORMAT`].
    pub format: u32,
    /// The version of ncde that wrote it.
    pub ncde: String,
    /// What people call it: the preset it was made by, or `layers`.
    pub name: String,
    /// The file of weights.
    pub weights: WeightsSpec,
    /// The names of the channels of an observation, in order.
    pub channels: Vec<String>,
    /// The names of the static covariates, in order.
    pub statics: Vec<String>,
    /// The tokens, if observations are tokens: there is one channel then, and its values are their numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vocabulary: Option<Vec<String>>,
    /// How the columns of the file it was trained on are read, for whoever reads files; it has no effect on predictions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<serde_json::Value>,
    /// What is predicted.
    pub task: Task,
    /// From which probability on a class is predicted; the likeliest is without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold: Option<Threshold>,
    /// How far training went; not known of a model without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trained: Option<Extent>,
    /// How observations become knots of a path.
    pub preparation: Preparation,
    /// What is computed from that path.
    pub layers: Vec<LayerSpec>,
}

/// The file of weights, as it must be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WeightsSpec {
    /// Its size.
    pub bytes: u64,
    /// Its CRC-32.
    pub crc32: u32,
}

/// Where a prediction is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum At {
    /// Of a series as a whole.
    End,
    /// At each observation.
    Steps,
}

/// What is predicted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
#[expect(clippy::large_enum_variant, reason = "a model has one task")]
pub enum Task {
    /// One of some classes.
    Classification {
        /// Their names.
        classes: Vec<String>,
        /// Where.
        at: At,
    },
    /// A number.
    Regression {
        /// Its name.
        target: String,
        /// Where.
        at: At,
        /// What training saw instead of it.
        scaling: Scaling,
    },
    /// The values of all channels some observations later.
    Forecast(Forecast),
}

impl Task {
    /// How many numbers a model puts out, for `channels` channels.
    pub fn outputs(&self, channels: usize) -> usize {
        match self {
            Self::Classification { classes, .. } => classes.len(),
            Self::Regression { .. } => 1,
            Self::Forecast(forecast) => forecast.outputs(channels),
        }
    }

    /// Where predictions are asked for.
    pub fn at(&self) -> At {
        match self {
            Self::Classification { at, .. } | Self::Regression { at, .. } => *at,
            Self::Forecast { .. } => At::Steps,
        }
    }

    /// What is forecast, if that is the task.
    pub fn forecast(&self) -> Option<&Forecast> {
        if let Self::Forecast(forecast) = self { Some(forecast) } else { None }
    }
}

impl ModelSpec {
    /// A model of one's own: these channels as they are, without a channel of time, missing values refused. The other fields can be set with
    /// `ModelSpec { statics, ..ModelSpec::new(..) }`.
    ///
    /// ```
    /// use ncde_runtime::layer::{Linear, LinearCde, Over, Pool, Windows};
    /// use ncde_runtime::{At, Model, ModelSpec, Prediction, Task};
    /// let layers = vec![
    ///     Windows::log_signatures(5, 2).into(),
    ///     LinearCde::new(8).into(),
    ///     Pool { over: Over::Last }.into(),
    ///     Linear { outputs: 2 }.into(),
    /// ];
    /// let task = Task::Classification { classes: vec!["calm".into(), "alarm".into()], at: At::End };
    /// let model = Model::drawn(ModelSpec::new(["x", "y"], task, layers), 0)?;
    /// let mut series = model.session(&[])?;
    /// series.push(0.0, &[0.5, -0.5])?;
    /// assert!(matches!(series.predict()?, Prediction::Class { .. }));
    /// # Ok::<(), ncde_runtime::Error>(())
    /// ```
    pub fn new(channels: impl IntoIterator<Item = impl Into<String>>, task: Task, layers: Vec<LayerSpec>) -> Self {
        let channels: Vec<String> = channels.into_iter().map(Into::into).collect();
        let scalings = vec![Scaling::IDENTITY; channels.len()];
        Self {
            format: FORMAT,
            ncde: env!("CARGO_PKG_VERSION").into(),
            name: "layers".into(),
            weights: WeightsSpec { bytes: 0, crc32: 0 },
            channels,
            statics: Vec::new(),
            vocabulary: None,
            schema: None,
            task,
            threshold: None,
            trained: None,
            preparation: Preparation { channels: scalings, statics: Vec::new(), time: None, missing: Missing::Refuse {} },
            layers,
        }
    }

    /// The rows that the first layer is given.
    pub fn signal(&self) -> Signal {
        let rows = match &self.vocabulary {
            Some(tokens) => Rows::Tokens { vocabulary: tokens.len() },
            None => Rows::Values(self.preparation.width()),
        };
        Signal { rows, statics: self.statics.len(), pooled: false }
    }

    /// The layers in a few words: `windows, beside [linear-cde, layer-norm], linear, activation, pool, linear`.
    pub fn detail(&self) -> String {
        fn list(layers: &[LayerSpec]) -> String {
            let one = |spec: &LayerSpec| match &spec.layer().inside()[..] {
                [] => spec.name().to_owned(),
                inside => {
                    format!("{} [{}]", spec.name(), inside.iter().map(|layers| list(layers)).collect::<Vec<_>>().join(" | "))
                }
            };
            layers.iter().map(one).collect::<Vec<_>>().join(", ")
        }
        list(&self.layers)
    }

    /// How many members vote, whose outputs lie behind each other: the lists of a `parallel` at the end, or one.
    pub fn members(&self) -> usize {
        if let Some(LayerSpec::Parallel(last)) = self.layers.last() { last.layers.len() } else { 1 }
    }

    /// All weights in order, by name: `layers.2.a`.
    ///
    /// # Errors
    /// If the layers do not fit together.
    pub fn all_weights(&self) -> Result<Vec<Weight>, Error> {
        Ok(self.resolved()?.weights())
    }

    /// Its layers, resolved.
    ///
    /// # Errors
    /// If the layers do not fit together.
    pub fn resolved(&self) -> Result<Resolved<'_>, Error> {
        Resolved::new(&self.layers, &self.signal())
    }

    /// The layers with their weights, every size checked.
    pub(crate) fn chain(&self, weights: &mut Weights) -> Result<StepChain, Error> {
        StepChain::new(&self.check_within(Budget::in_file(weights.numbers()))?.weighed()?, weights)
    }

    /// Everything fits together: channels and scalings, the layers, and what comes out of them with what is predicted.
    ///
    /// # Errors
    /// If something does not.
    pub fn check(&self) -> Result<(), Error> {
        self.check_within(Budget::without_file()).map(|_| ())
    }

    /// The same within a budget; the layers come back without their weights.
    fn check_within(&self, budget: Budget) -> Result<Resolved<'_>, Error> {
        let corrupt = |problem: String| Err(Error::Corrupt { path: crate::SPEC.into(), problem });
        let channels = self.channels.len();
        let counts = [
            ("channels", self.preparation.channels.len(), channels),
            ("static covariates", self.preparation.statics.len(), self.statics.len()),
        ];
        if let Some((what, seen, wanted)) = counts.into_iter().find(|(_, seen, wanted)| seen != wanted) {
            return corrupt(format!("scalings of {seen} {what}, but there are {wanted}"));
        }
        if let Missing::Counts { factors } = &self.preparation.missing
            && factors.len() != channels
        {
            return corrupt(format!("{} factors of counts, but there are {channels} channels", factors.len()));
        }
        if let Some(problem) = self.trained.as_ref().and_then(|extent| extent.problem(channels)) {
            return corrupt(problem);
        }
        let none = Vec::new();
        let (classes, target) = match &self.task {
            Task::Classification { classes, .. } => (classes, None),
            Task::Regression { scaling, .. } => (&none, Some(scaling)),
            Task::Forecast(forecast) => match forecast.problem(channels) {
                Some(problem) => return corrupt(problem),
                None => (&none, None),
            },
        };
        if let Some(problem) = self.threshold.as_ref().and_then(|threshold| threshold.problem(classes)) {
            return corrupt(problem);
        }
        let preparation = &self.preparation;
        let mut scalings = preparation.channels.iter().chain(&preparation.statics).chain(&preparation.time).chain(target);
        if let Some(scaling) = scalings.find(|scaling| !(scaling.shift.is_finite() && scaling.factor.is_normal())) {
            return corrupt(format!("a scaling with the factor {} and the shift {}", scaling.factor, scaling.shift));
        }
        let tokens = self.vocabulary.as_ref().unwrap_or(&none);
        let lists =
            [("channels", &self.channels), ("static covariates", &self.statics), ("classes", classes), ("tokens", tokens)];
        for (what, names) in lists {
            let mut seen = HashSet::new();
            if let Some(name) = names.iter().find(|name| !seen.insert(*name)) {
                return corrupt(format!("two {what} are called `{name}`"));
            }
        }
        if self.vocabulary.as_ref().is_some_and(|tokens| tokens.is_empty() || channels != 1 || self.preparation.width() != 1) {
            return corrupt(format!("a vocabulary, but knots of {} numbers; tokens are one", self.preparation.width()));
        }
        if self.vocabulary.is_some() && preparation.channels[0] != Scaling::IDENTITY {
            return corrupt("a vocabulary, but the channel is scaled; tokens are numbers as they are".into());
        }
        if self.layers.is_empty() {
            return corrupt("no layers".into());
        }
        let resolved = Resolved::within((&self.layers).into(), &self.signal(), budget)?;
        let output = resolved.output();
        let (at, last) = (self.task.at(), self.layers.len() - 1);
        let problem = match (at, output.pooled) {
            (At::End, false) => "the series as a whole is predicted, so that a `pool` is needed before the end".to_owned(),
            (At::Steps, true) => "a prediction at every observation is asked for, so that there can be no `pool`".to_owned(),
            _ if output.width() != self.members() * self.task.outputs(channels) => {
                let of_member = if self.members() == 1 { "" } else { " of each member" };
                format!("{} numbers come out, but the task needs {}{of_member}", output.width(), self.task.outputs(channels))
            }
            _ => return Ok(resolved),
        };
        Err(Error::Layer { layer: format!("layers.{last} ({})", self.layers[last].name()), problem })
    }
}
