//! `signature`: a linear model of signature features, the honest baseline.

use ncde_runtime::LayerSpec;
use ncde_runtime::layer::{Over, SignatureFeatures, Standardise};

use super::head::read;
use super::{Built, Facts, Method, Preset};
use crate::Error;
use crate::config::{Keys, table};
use crate::settings::at_least;

/// About how many features there are by default: not many more than cases can tell apart.
const FEATURES: f64 = 600.0;

table! {
    /// The keys of `signature`.
    pub(crate) SignatureKeys {
        /// The depth of the signature: by default the largest, up to 4, that gives about 600 features.
        depth: usize,
        /// The share of features that is dropped in training.
        dropout: f64,
    }
}

/// The largest depth, up to 4, that gives about 600 features.
pub(crate) fn usual_depth(width: usize) -> usize {
    (1..=4).rev().find(|&n| (width as f64).powi(n) <= FEATURES).unwrap_or(1) as usize
}

impl Preset for SignatureKeys {
    const KEYS: &'static [&'static [Keys]] = &[Self::KEYS];

    fn layers(&mut self, name: &str, facts: &Facts) -> Result<Built, Error> {
        facts.path(name)?;
        let depth = at_least("model.depth", *self.depth.get_or_insert_with(|| usual_depth(facts.width())), 1)?;
        let features = vec![LayerSpec::Signature(SignatureFeatures { depth }), LayerSpec::Standardise(Standardise {})];
        Ok((read(&mut Some(Over::Last), &mut self.dropout, features, Vec::new(), facts)?, Method::Gradient))
    }
}
