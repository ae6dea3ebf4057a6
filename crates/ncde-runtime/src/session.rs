//! A model and one series that it follows.

use crate::model::{Model, Series};
use crate::prediction::Prediction;
use crate::{Beyond, Error};

/// A model and one series that it follows: small, and independent of all others of the model.
///
/// ```no_run
/// # use ncde_runtime::Model;
/// # let model = Model::load("runs/heart")?;
/// let mut patient = model.session(&[])?;
/// patient.push(0.0, &[0.1, 0.2])?;
/// let prediction = patient.predict()?;
/// // What is remembered of it can be saved, and gone on with in another process.
/// let saved = serde_json::to_string(patient.state()).expect("numbers and lists");
/// let mut patient = model.resume(serde_json::from_str(&saved).expect("as it was written"))?;
/// patient.push(0.7, &[0.3, f64::NAN])?;
/// # Ok::<(), ncde_runtime::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Session {
    model: Model,
    series: Series,
}

impl Model {
    /// A session of a new series with these static covariates; a NaN is a missing one.
    ///
    /// # Errors
    /// As for [`start`](Self::start).
    pub fn session(&self, statics: &[f64]) -> Result<Session, Error> {
        Ok(Session { series: self.start(statics)?, model: self.clone() })
    }

    /// A session that goes on with a series.
    ///
    /// # Errors
    /// As for [`check`](Self::check).
    pub fn resume(&self, series: Series) -> Result<Session, Error> {
        self.check(&series)?;
        Ok(Session { series, model: self.clone() })
    }
}

impl Session {
    /// Takes the next observation; a NaN is a missing value.
    ///
    /// # Errors
    /// As for [`Model::push`]: nothing has changed then.
    pub fn push(&mut self, time: f64, values: &[f64]) -> Result<(), Error> {
        self.model.push(&mut self.series, time, values)
    }

    /// Takes the next observation, and returns the prediction after it.
    ///
    /// # Errors
    /// As for [`Model::step`]: nothing has changed then.
    pub fn step(&mut self, time: f64, values: &[f64]) -> Result<Prediction, Error> {
        self.model.step(&mut self.series, time, values)
    }

    /// Takes the next observations, `[times, channels]`.
    ///
    /// # Errors
    /// As for [`Model::push_all`]: nothing has changed then.
    pub fn push_all(&mut self, times: &[f64], values: &[f64]) -> Result<(), Error> {
        self.model.push_all(&mut self.series, times, values)
    }

    /// Tells what is known of later times, `[steps ahead, known channels]`, for predictions until the next observation; a NaN is not known.
    ///
    /// # Errors
    /// As for [`Model::know_ahead`].
    pub fn know_ahead(&mut self, values: &[f64]) -> Result<(), Error> {
        self.model.know_ahead(&mut self.series, values)
    }

    /// The prediction for the series as it is now, as if it ended here.
    ///
    /// # Errors
    /// As for [`Model::predict`].
    pub fn predict(&self) -> Result<Prediction, Error> {
        self.model.predict(&self.series)
    }

    /// Where the last observation, with these values, lies beyond what was seen in training.
    pub fn beyond(&self, values: &[f64]) -> Beyond {
        self.model.beyond(&self.series, values)
    }

    /// All that is remembered of the series.
    pub fn state(&self) -> &Series {
        &self.series
    }

    /// The same, without the model.
    pub fn into_state(self) -> Series {
        self.series
    }

    /// The model.
    pub fn model(&self) -> &Model {
        &self.model
    }
}
