//! A list of layers: `f_n(... f_2(f_1(x)) ...)`, their widths, their weights by place, and one row at a time through all of them.

use super::dropout::Identity;
use super::linear::{Linear, MANY_INPUTS};
use super::{Cost, LayerSpec, Row, Share, Signal, Size, Step, Values, Weight};
use crate::Error;
use crate::budget::Budget;
use crate::weights::Weights;

/// Where a row ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// It came out of the last layer.
    Out,
    /// This layer has an open window and handed nothing on.
    At(usize),
}

/// The signals between layers: that of the input first, that of the last layer's rows last.
///
/// # Errors
/// If a layer cannot take what the one before it hands on; the place is named.
pub(crate) fn signals(layers: &[LayerSpec], input: &Signal, place: &str) -> Result<Vec<Signal>, Error> {
    let mut signals = vec![input.clone()];
    for (i, spec) in layers.iter().enumerate() {
        let before = &signals[i];
        signals.push(spec.layer().output(before).map_err(|e| e.at(&format!("{place}{i}"), &spec.name()))?);
    }
    Ok(signals)
}

/// What comes out of a list of layers that stay within the budget. Every size is looked at before a layer is asked what it makes of it.
///
/// # Errors
/// If a layer asks for more, or cannot take what the one before it hands on; the place is named.
pub(crate) fn fits(layers: &[LayerSpec], input: &Signal, place: &str, budget: &mut Budget) -> Result<Signal, Error> {
    let mut signal = input.clone();
    for (i, spec) in layers.iter().enumerate() {
        let (layer, place) = (spec.layer(), format!("{place}{i}"));
        let named = |e: Error| e.at(&place, &spec.name());
        budget.take(layer.demand(&signal), layer.cost(&signal)).map_err(named)?;
        let lists = layer.inside();
        for (l, list) in lists.iter().enumerate() {
            match fits(list, &signal, &place_inside(&place, l, lists.len()), budget) {
                Err(error) if budget.exceeded => return Err(error),
                // What else is wrong inside is told by the layer, as it sees it.
                _ => {}
            }
        }
        signal = layer.output(&signal).map_err(named)?;
        let width = signal.width();
        let row = Cost { bytes: width.saturating_mul(2 * size_of::<f64>()), work: width };
        budget.take(0, row).map_err(named)?;
    }
    Ok(signal)
}

/// The place of one of the lists inside a layer: `layers.1.layers.`, and of one among several `layers.1.layers.0.`.
pub fn place_inside(layer: &str, list: usize, lists: usize) -> String {
    if lists == 1 { format!("{layer}.layers.") } else { format!("{layer}.layers.{list}.") }
}

/// All weights of a list of layers in order, by place: `layers.2.a`, and `layers.1.layers.0.a` of a layer [inside another](place_inside).
///
/// # Errors
/// If a layer cannot take what the one before it hands on; the place is named.
pub fn weights(layers: &[LayerSpec], input: &Signal, place: &str) -> Result<Vec<Weight>, Error> {
    fits(layers, input, place, &mut Budget::without_file())?;
    let signals = signals(layers, input, place)?;
    let mut all = Vec::new();
    for (i, (spec, signal)) in layers.iter().zip(&signals).enumerate() {
        let layer = spec.layer();
        let own = layer.weights(signal).map_err(|e| e.at(&format!("{place}{i}"), &spec.name()))?;
        all.extend(own.into_iter().map(|weight| Weight { name: format!("{place}{i}.{}", weight.name), ..weight }));
        let lists = layer.inside();
        for (l, list) in lists.iter().enumerate() {
            all.extend(weights(list, signal, &place_inside(&format!("{place}{i}"), l, lists.len()))?);
        }
    }
    Ok(all)
}

/// Layers one after the other, each with its share of one memory.
#[derive(Debug)]
pub struct Chain {
    steps: Vec<Box<dyn Step>>,
    /// Where the memory of each layer ends.
    ends: Vec<Size>,
    /// The row between two layers.
    row: Vec<f64>,
    next: Vec<f64>,
}

impl Chain {
    /// The layers with their weights.
    ///
    /// # Errors
    /// If they do not fit together, or a weight is missing or has another shape.
    pub fn new(layers: &[LayerSpec], input: &Signal, place: &str, weights: &mut Weights) -> Result<Self, Error> {
        let signals = signals(layers, input, place)?;
        let (mut steps, mut ends, mut end): (Vec<Box<dyn Step>>, _, _) = (Vec::new(), Vec::new(), Size::default());
        // The weights of a layer that the next one does the work of.
        let mut handed_on: Option<Values> = None;
        for (i, (spec, signal)) in layers.iter().zip(&signals).enumerate() {
            let (layer, place) = (spec.layer(), format!("{place}{i}"));
            let named = |e: Error| e.at(&place, &spec.name());
            let mut values = Values::default();
            for weight in layer.weights(signal).map_err(named)? {
                values.insert(&weight.name, weights.take(&format!("{place}.{}", weight.name), &weight.shape)?);
            }
            let lists = layer.inside();
            let inside =
                lists.iter().enumerate().map(|(l, list)| Self::new(list, signal, &place_inside(&place, l, lists.len()), weights));
            let inside = inside.collect::<Result<Vec<_>, _>>()?;
            let wide = signal.width() >= MANY_INPUTS;
            let step = match (spec, handed_on.take(), layers.get(i + 1)) {
                (LayerSpec::Standardise(_), _, Some(LayerSpec::Linear(_))) if wide => {
                    handed_on = Some(values);
                    Box::new(Identity)
                }
                (_, Some(mut standardise), _) => {
                    let readout = Linear::behind(&mut standardise, &mut values)?;
                    let left = match steps.iter_mut().rev().find(|step| !step.is_identity()) {
                        Some(before) => before.read_by(readout),
                        None => Some(readout),
                    };
                    left.map_or(Box::new(Identity) as Box<dyn Step>, |readout| Box::new(readout))
                }
                _ => layer.step(signal, &mut values, inside).map_err(named)?,
            };
            end = end.plus(step.memory());
            ends.push(end);
            steps.push(step);
        }
        Ok(Self { steps, ends, row: Vec::new(), next: Vec::new() })
    }

    /// How many numbers the layers remember together.
    pub fn memory(&self) -> Size {
        self.ends.last().copied().unwrap_or_default()
    }

    /// Where the memory of a layer begins.
    fn start(&self, layer: usize) -> Size {
        if layer == 0 { Size::default() } else { self.ends[layer - 1] }
    }

    /// Takes a row through the layers from `first` on; what comes out is [`last`](Self::last).
    ///
    /// # Errors
    /// If a state overflows; the memory is then of no use.
    pub fn push(&mut self, first: usize, mut memory: Share<'_>, row: Row<'_>) -> Result<Ended, Error> {
        self.row.clear();
        self.row.extend_from_slice(row.values);
        for i in first..self.steps.len() {
            if self.steps[i].is_identity() {
                continue;
            }
            let own = memory.part(self.start(i), self.ends[i]);
            let row = Row { values: &self.row, ..row };
            if !self.steps[i].push(own, row, &mut self.next)? {
                return Ok(Ended::At(i));
            }
            std::mem::swap(&mut self.row, &mut self.next);
        }
        Ok(Ended::Out)
    }

    /// Whether only the first layer remembers anything, so that rows may be [passed](Self::pass).
    pub fn may_pass(&self) -> bool {
        self.ends.first() == self.ends.last()
    }

    /// Takes rows of which nobody needs what comes out, if [only the first layer remembers](Self::may_pass) them.
    ///
    /// # Errors
    /// As for [`push`](Self::push).
    pub fn pass(&mut self, memory: Share<'_>, rows: &[Row<'_>]) -> Result<(), Error> {
        self.steps.first_mut().map_or(Ok(()), |first| first.pass(memory, rows))
    }

    /// What would come out if the open window of layer `first` ended here, and those above it. The memory is used up: give a copy.
    ///
    /// # Errors
    /// As for [`push`](Self::push).
    pub fn open(&mut self, mut first: usize, mut memory: Share<'_>, row: Row<'_>) -> Result<(), Error> {
        loop {
            let own = memory.part(self.start(first), self.ends[first]);
            self.steps[first].open(own, &mut self.next)?;
            let values = std::mem::take(&mut self.next);
            let ended = self.push(first + 1, memory.again(), Row { values: &values, ..row });
            self.next = values;
            match ended? {
                Ended::Out => return Ok(()),
                Ended::At(above) => first = above,
            }
        }
    }

    /// The row that came out last.
    pub fn last(&self) -> &[f64] {
        &self.row
    }
}
