//! A list of layers one row at a time: `f_n(... f_2(f_1(x)) ...)`.

use super::dropout::Identity;
use super::linear::{Linear, MANY_INPUTS};
use super::{LayerSpec, Resolved, Row, Share, Size, Step, Values};
use crate::Error;
use crate::weights::Weights;

/// Where a row ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// It came out of the last layer.
    Out,
    /// This layer has an open window and handed nothing on.
    At(usize),
}

/// Layers one after the other, each with its share of one memory.
///
/// What takes rows fails if a state overflows; the memory is then of no use.
#[derive(Debug)]
pub struct StepChain {
    steps: Vec<Box<dyn Step>>,
    /// Where the memory of each layer ends.
    ends: Vec<Size>,
    /// The row between two layers.
    row: Vec<f64>,
    next: Vec<f64>,
}

impl StepChain {
    /// The layers with their weights.
    ///
    /// # Errors
    /// If a weight is missing or has another shape.
    pub fn new(layers: &Resolved<'_>, weights: &mut Weights) -> Result<Self, Error> {
        let mut steps: Vec<Box<dyn Step>> = Vec::new();
        // The weights of a layer that the next one does the work of.
        let mut handed_on: Option<Values> = None;
        for (i, node) in layers.nodes.iter().enumerate() {
            let signal = &node.input;
            let mut values = node.values(|name, shape| weights.take(name, shape))?;
            let inside = node.inside.iter().map(|list| Self::new(list, weights)).collect::<Result<Vec<_>, _>>()?;
            let wide = signal.width() >= MANY_INPUTS;
            let step = match (node.spec, handed_on.take(), layers.nodes.get(i + 1).map(|next| next.spec)) {
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
                _ => node.spec.layer().step(signal, &mut values, inside).map_err(|e| node.named(e))?,
            };
            steps.push(step);
        }
        // Only now: a layer that is read by another may remember less.
        let ends = steps.iter().scan(Size::default(), |end, step| {
            *end = end.plus(step.memory());
            Some(*end)
        });
        let ends = ends.collect();
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
    pub fn push(&mut self, first: usize, mut memory: Share<'_>, row: Row<'_>) -> Result<Ended, Error> {
        self.row.clear();
        self.row.extend_from_slice(row.values);
        for i in first..self.steps.len() {
            if self.steps[i].is_identity() {
                continue;
            }
            let share = memory.part(self.start(i), self.ends[i]);
            let row = Row { values: &self.row, ..row };
            if !self.steps[i].push(share, row, &mut self.next)? {
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
    pub fn pass(&mut self, memory: Share<'_>, rows: &[Row<'_>]) -> Result<(), Error> {
        self.steps.first_mut().map_or(Ok(()), |first| first.pass(memory, rows))
    }

    /// What would come out if the open window of layer `first` ended here, and those above it. The memory is used up: give a copy.
    pub fn open(&mut self, mut first: usize, mut memory: Share<'_>, row: Row<'_>) -> Result<(), Error> {
        loop {
            let share = memory.part(self.start(first), self.ends[first]);
            self.steps[first].open(share, &mut self.next)?;
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
