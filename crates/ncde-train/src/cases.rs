//! The cases of a run as batches on a device: rows from [`Features`], targets and losses from [`Goal`].

use burn_autodiff::Autodiff;
use burn_tensor::ElementConversion;
use ncde_layers::dense::Seen;
use ncde_layers::layer::{Error as LayerError, Network, Phase, Visit};

use crate::batches::Batches;
use crate::features::Resident;
use crate::goal::Predicted;
use crate::optimizer::TrainBackend;
use crate::trainee::Trainee;
use crate::trainer::{Evaluation, Feed, Plan};
use crate::{Device, Error, Run};

/// The cases of a run, their rows on the device if they fit there.
pub(crate) struct Cases<'a, B: TrainBackend> {
    run: &'a Run,
    batches: Batches,
    resident: Option<Resident<B>>,
    tracked: Option<Resident<Autodiff<B>>>,
    /// How many members of the model vote.
    members: f64,
}

impl<'a, B: TrainBackend> Cases<'a, B> {
    pub(crate) fn new(run: &'a Run, batch: usize) -> Self {
        let resident: Option<Resident<B>> =
            if run.device == Device::Cpu { None } else { run.features.resident(&Default::default()) };
        let cases = run.parts.train.iter().map(|&i| (i, run.features.rows(i))).collect();
        let tracked = resident.as_ref().map(Resident::tracked);
        Self {
            run,
            batches: Batches::new(run.settings.plan.seed, batch, run.settings.short_first, cases),
            resident,
            tracked,
            members: run.spec.members() as f64,
        }
    }

    /// Shows the batches of the training part, in order.
    pub(crate) fn over_training(&self, visit: Visit<'_, B>) -> Result<(), LayerError> {
        for cases in self.run.parts.train.chunks(self.batches.size()) {
            let (rows, context) = self.run.features.batch::<B>(cases, Phase::Predict, self.resident.as_ref());
            visit(rows, context)?;
        }
        Ok(())
    }
}

impl<B: TrainBackend> Feed<B> for Cases<'_, B> {
    fn begin(&mut self, trainee: &mut Trainee<B>, (plan, rate): (&Plan, f64), step: usize) -> Result<Seen, LayerError> {
        let (cases, members) = (self.batches.at(step), self.members);
        let batch = self.run.features.batch(cases, Phase::Train(plan.masks.child(step as u64)), self.tracked.as_ref());
        // The sum over members, not their mean: with its own gradient and penalty each is clipped as if it were alone.
        let loss = |rows| self.run.goal.loss(rows, cases).map(|(loss, _)| if members > 1.0 { loss * members } else { loss });
        trainee.begin((plan, rate), batch, loss)
    }

    fn evaluate(&mut self, network: &Network<B>) -> Result<Option<Evaluation>, Error> {
        let Run { parts, features, goal, settings, .. } = self.run;
        if parts.validation.is_empty() {
            return Ok(None);
        }
        let (mut predicted, mut losses, mut weight) = (Predicted::default(), 0.0, 0.0);
        for batch in features.batches(&parts.validation) {
            let (rows, context) = features.batch::<B>(&batch, Phase::Predict, self.resident.as_ref());
            let outputs = network.forward(rows, &context)?;
            goal.collect(&outputs, &batch, &mut predicted);
            let (loss, share) = goal.loss(outputs, &batch)?;
            losses += share * loss.into_scalar().elem::<f64>();
            weight += share;
        }
        let metric = goal.metrics(&predicted).get(&settings.plan.metric);
        Ok(Some(Evaluation { loss: Some(losses / f64::max(weight, 1e-30)), metric }))
    }

    fn describe(&mut self, step: usize) -> String {
        let cases = self.batches.at(step);
        let mut names: Vec<String> = cases.iter().take(3).map(|&i| format!("`{}`", self.run.data.cases[i].id)).collect();
        names.extend((cases.len() > names.len()).then(|| "...".to_owned()));
        format!("the cases {}", names.join(", "))
    }

    fn loss_unit(&self) -> f64 {
        self.members
    }
}
