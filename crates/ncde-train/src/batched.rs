//! What a saved model says of data, on a device: its layers as tensors, many cases at a time.
//!
//! ```text
//! outputs[case, place] = f_n(... f_2(f_1(x)) ...),   the place of an observation: the end of its window, or a branch in the middle of one
//! ```
//!
//! The same numbers as one observation after the other, up to rounding.

use ncde_data::{Case, Dataset};
use ncde_runtime::layer::{LayerList, Weight};
use ncde_runtime::{At, LayerSpec, Model, ModelSpec, NamedWeight, Prediction};

use super::device::{OnDevice, on_device};
use super::features::Features;
use super::goal::{OutputSlot, places};
use super::known::KnownAhead;
use super::optimizer::TrainBackend;
use super::store::{Answered, predict_all};
use super::{Device, Error};
use ncde_layers::layer::{LayerBackend, Network, Phase};

/// What a model says of every case, computed on a device: at the observations that its task names, or at the end of each series alone. A reservoir is computed on the processor wherever.
///
/// # Errors
/// If an observation cannot be taken (the case is named), there is no such device, or its memory runs out.
pub fn predict_on(device: Device, model: &Model, data: &Dataset, at: At) -> Result<Answered, Error> {
    if let Some(LayerSpec::Reservoir(_) | LayerSpec::Memory(_)) = model.spec().layers.first() {
        return predict_all(model, data, at);
    }
    on_device(device, Batched { model, data, at })?
}

struct Batched<'a> {
    model: &'a Model,
    data: &'a Dataset,
    at: At,
}

impl OnDevice for Batched<'_> {
    type Output = Result<Answered, Error>;

    fn run<B: TrainBackend>(self) -> Self::Output {
        let Self { model, data, .. } = self;
        let spec = model.spec();
        let features = Features::new(data, &spec.preparation, &spec.layers, &spec.signal(), |i| self.observations(i))?;
        let network = network::<B>(model, &features)?;
        let mut all = Answered { predictions: vec![Vec::new(); data.cases.len()], overflowed: Vec::new() };
        for batch in features.batches(&(0..data.cases.len()).collect::<Vec<_>>()) {
            let (rows, context) = features.batch::<B>(&batch, Phase::Predict, None);
            let rows = match network.forward(rows, &context).map_err(Error::from) {
                // Kernels of the processor refuse a whole batch; which case it is, and from where on, is seen one by one.
                Err(error) if error.is_overflow() => {
                    let own = predict_all(model, &data.subset(&batch), self.at)?;
                    all.overflowed.extend(own.overflowed.iter().map(|&i| batch[i]));
                    batch.iter().zip(own.predictions).for_each(|(&i, own)| all.predictions[i] = own);
                    continue;
                }
                rows => rows?,
            };
            let [_, count, width] = rows.values.dims();
            let values: Vec<f64> = rows.values.to_data().iter().collect();
            for (outputs, &i) in values.chunks_exact(count * width).zip(&batch) {
                let at = self.observations(i);
                let places = match spec.task.at() {
                    // One output for a whole series.
                    At::End => vec![OutputSlot::Trunk(0)],
                    At::Steps => places(&at, data.cases[i].len(), features.window),
                };
                let own = places.iter().map(|place| &outputs[place.index(rows.places.trunk) * width..][..width]);
                all.predictions[i] = said(spec, &data.cases[i], &at, own)?;
                all.overflowed.extend((all.predictions[i].len() < at.len()).then_some(i));
            }
        }
        all.overflowed.sort_unstable();
        Ok(all)
    }
}

impl Batched<'_> {
    /// The observations of a case after which something is said.
    fn observations(&self, case: usize) -> Vec<usize> {
        let length = KnownAhead::new(self.model.spec(), &self.data.cases[case]).observed();
        if self.at == At::Steps { (0..length).collect() } else { length.checked_sub(1).into_iter().collect() }
    }
}

/// The layers behind the features, with the weights of the model. Layers that are computed ahead have none.
fn network<B: LayerBackend>(model: &Model, features: &Features) -> Result<Network<B>, Error> {
    let spec = model.spec();
    let value = |weight: Weight| model.weights().iter().find(|own| own.name == weight.name).cloned();
    let values: Vec<NamedWeight> = spec.all_weights()?.into_iter().filter_map(value).collect();
    let layers = LayerList::starting_at(features.first, &spec.layers);
    Ok(Network::with_values(layers, &features.signal, &values, &Default::default())?)
}

/// What outputs after some observations of a case say; nothing from the first on that is no number.
fn said<'a>(
    spec: &ModelSpec,
    case: &Case,
    at: &[usize],
    outputs: impl Iterator<Item = &'a [f64]>,
) -> Result<Vec<Prediction>, Error> {
    let channels = spec.preparation.channels.len();
    let known = KnownAhead::new(spec, case);
    let (mut track, mut next, mut all) = (spec.track(), 0, Vec::with_capacity(at.len()));
    for (&t, own) in at.iter().zip(outputs) {
        if !own.iter().all(|y| y.is_finite()) {
            break;
        }
        for i in next..=t {
            let named = |source| Error::Case { id: case.id.clone(), source };
            spec.follow(&mut track, case.times[i], case.row(i, channels)).map_err(named)?;
        }
        next = t + 1;
        track.ahead = known.at(t);
        all.push(spec.prediction(own, &track));
    }
    Ok(all)
}
