//! A layer on a batch by its steps: `reservoir` and `memory`, see [`ncde_runtime::layer`].
//!
//! Nothing in them is trained, and no gradient comes through them: rows are taken as numbers, one after the other, as a prediction takes them. Models that are solved for in closed
//! form do not come here; this is for compositions of one's own. Layers before them must have nothing to train (`check_gradient_flow` in `network`).

use std::sync::{Mutex, PoisonError};

use ncde_runtime::layer::{Layer, Row, Signal, StateMemory, Step, Values};

use super::{Batch, Context, Error, LayerBackend, LayerWeights, Rows};

#[derive(Debug)]
pub(super) struct BySteps {
    /// One at a time works with it: it has working memory.
    step: Mutex<Box<dyn Step>>,
}

impl BySteps {
    pub(super) fn new(spec: &dyn Layer, input: &Signal, fixed: &mut Values) -> Result<Self, Error> {
        Ok(Self { step: Mutex::new(spec.step(input, fixed, Vec::new())?) })
    }
}

impl<B: LayerBackend> Batch<B> for BySteps {
    fn forward(&self, rows: Rows<B>, _: &LayerWeights<'_, B>, context: &Context<B>) -> Result<Rows<B>, Error> {
        let mut step = self.step.lock().unwrap_or_else(PoisonError::into_inner);
        let ([batch, count, width], places) = (rows.values.dims(), &*rows.places);
        let values: Vec<f64> = rows.values.to_data().iter().collect();
        let statics: Vec<f64> = context.statics.as_ref().map_or_else(Vec::new, |statics| statics.to_data().iter().collect());
        let covariates = statics.len() / batch.max(1);
        let (mut all, mut out) = (Vec::new(), Vec::new());
        let mut features = 0;
        for b in 0..batch {
            let row = |t: usize| Row {
                time: places.times[b * count + t],
                values: &values[(b * count + t) * width..][..width],
                statics: &statics[b * covariates..(b + 1) * covariates],
            };
            let mut memory = StateMemory::new(step.memory());
            for t in 0..places.lengths[b] {
                step.push(memory.share(), row(t), &mut out)?;
                features = out.len();
                all.resize(batch * count * features, 0.0);
                all[(b * count + t) * features..][..features].copy_from_slice(&out);
                let Some(branches) = &places.branches else { continue };
                let parents = &branches.parents[b * branches.count..(b + 1) * branches.count];
                for (i, _) in parents.iter().enumerate().filter(|(_, parent)| **parent == t) {
                    step.push(memory.clone().share(), row(places.trunk + i), &mut out)?;
                    all[(b * count + places.trunk + i) * features..][..features].copy_from_slice(&out);
                }
            }
        }
        let values = rows.constant(all, [batch, count, features]);
        Ok(rows.with(values))
    }
}
