//! A list of layers, resolved once: what each is given and hands on, its weights by their names in the model, and the lists inside it.
//!
//! ```text
//! layer i of a model is at `layers.i`,   layer j of the only list inside it at `layers.i.layers.j`,   of list l of several at `layers.i.layers.l.j`
//! ```
//!
//! Whatever walks over layers (weights, steps, batches, checks, `ncde inspect`) reads this tree, so that no layer is asked twice what it hands on.

use super::{Cost, LayerSpec, Signal, Values, Weight};
use crate::budget::Budget;
use crate::random::Stream;
use crate::{Error, NamedWeight};

/// Layers that follow each other in a model.
#[derive(Debug, Clone, Copy)]
pub struct LayerList<'a> {
    /// The layers.
    pub layers: &'a [LayerSpec],
    /// The place of the first of them in the model, by which weights are named.
    pub first: usize,
}

impl<'a> LayerList<'a> {
    /// The layers of a model from one of them on; what those before it make is computed elsewhere.
    pub fn starting_at(first: usize, all: &'a [LayerSpec]) -> Self {
        Self { layers: all.get(first..).unwrap_or_default(), first }
    }
}

impl<'a, L: AsRef<[LayerSpec]> + ?Sized> From<&'a L> for LayerList<'a> {
    fn from(layers: &'a L) -> Self {
        Self { layers: layers.as_ref(), first: 0 }
    }
}

/// A resolved list of layers.
#[derive(Debug, Clone)]
pub struct Resolved<'a> {
    /// The layers in order.
    pub nodes: Vec<Node<'a>>,
    /// The rows that the first of them is given.
    pub input: Signal,
}

/// A layer at its place.
#[derive(Debug, Clone)]
pub struct Node<'a> {
    /// The layer.
    pub spec: &'a LayerSpec,
    /// Its place: `layers.1.layers.0`.
    pub place: String,
    /// The rows it is given.
    pub input: Signal,
    /// The rows it hands on.
    pub output: Signal,
    /// Its weights by their names in the layer: `a`; those of layers inside it aside.
    pub weights: Vec<Weight>,
    /// The lists of layers inside it.
    pub inside: Vec<Resolved<'a>>,
}

impl<'a> Resolved<'a> {
    /// Layers for rows like these.
    ///
    /// # Errors
    /// If a layer cannot take what the one before it hands on, or there would be too many weights; the place is named.
    pub fn new(list: impl Into<LayerList<'a>>, input: &Signal) -> Result<Self, Error> {
        Self::within(list.into(), input, Budget::without_file())?.weighed()
    }

    /// Without the weights, within a budget: sizes are looked at before memory is asked for.
    pub(crate) fn within(list: LayerList<'a>, input: &Signal, mut budget: Budget) -> Result<Self, Error> {
        Self::resolve(list, "layers.", input, &mut budget)
    }

    fn resolve(list: LayerList<'a>, place: &str, input: &Signal, budget: &mut Budget) -> Result<Self, Error> {
        let (mut nodes, mut signal) = (Vec::with_capacity(list.layers.len()), input.clone());
        for (i, spec) in list.layers.iter().enumerate() {
            let (layer, place) = (spec.layer(), format!("{place}{}", list.first + i));
            let named = |e: Error| e.at(&place, spec.name());
            budget.take(layer.demand(&signal), layer.cost(&signal)).and_then(|()| layer.takes(&signal)).map_err(named)?;
            let lists = layer.inside();
            let mut inside = Vec::with_capacity(lists.len());
            for (l, &list) in lists.iter().enumerate() {
                let place = if lists.len() == 1 { format!("{place}.layers.") } else { format!("{place}.layers.{l}.") };
                inside.push(Self::resolve(list.into(), &place, &signal, budget)?);
            }
            let made: Vec<Signal> = inside.iter().map(|list| list.output().clone()).collect();
            let output = layer.output(&signal, &made).map_err(named)?;
            let width = output.width();
            let row = Cost { bytes: width.saturating_mul(2 * size_of::<f64>()), work: width };
            budget.take(0, row).map_err(named)?;
            let input = std::mem::replace(&mut signal, output.clone());
            nodes.push(Node { spec, place, input, output, weights: Vec::new(), inside });
        }
        Ok(Self { nodes, input: input.clone() })
    }

    /// With the weights.
    pub(crate) fn weighed(mut self) -> Result<Self, Error> {
        for node in &mut self.nodes {
            node.weights = node.spec.layer().weights(&node.input).map_err(|e| node.named(e))?;
            let inside = std::mem::take(&mut node.inside);
            node.inside = inside.into_iter().map(Self::weighed).collect::<Result<_, _>>()?;
        }
        Ok(self)
    }

    /// The rows that the last layer hands on.
    pub fn output(&self) -> &Signal {
        self.nodes.last().map_or(&self.input, |node| &node.output)
    }

    /// Visits every layer, in order: first the layer, then those inside it.
    pub fn visit<'b>(&'b self, visitor: &mut dyn FnMut(&'b Node<'a>)) {
        for node in &self.nodes {
            visitor(node);
            node.inside.iter().for_each(|list| list.visit(visitor));
        }
    }

    /// All weights in order, by their names in the model: `layers.1.a`.
    pub fn weights(&self) -> Vec<Weight> {
        let mut all = Vec::new();
        self.visit(&mut |node| {
            all.extend(node.weights.iter().map(|weight| Weight { name: node.name_in_model(weight), ..weight.clone() }));
        });
        all
    }

    /// First values of all weights, in order: those of weight `i` from child `i` of the seed's stream.
    pub fn drawn(&self, seed: u64) -> Vec<NamedWeight> {
        let stream = Stream::new(seed, 2);
        let drawn = |(i, weight): (usize, Weight)| {
            let values = weight.draw(&stream.child(i as u64));
            NamedWeight { name: weight.name, shape: weight.shape, values }
        };
        self.weights().into_iter().enumerate().map(drawn).collect()
    }
}

impl Node<'_> {
    /// The name of one of its weights in the model: `layers.1.a`.
    pub fn name_in_model(&self, weight: &Weight) -> String {
        format!("{}.{}", self.place, weight.name)
    }

    /// Its weights with their values, which `take` finds by name in the model and shape.
    ///
    /// # Errors
    /// If it does not find one.
    pub fn values(&self, mut take: impl FnMut(&str, &[usize]) -> Result<Vec<f32>, Error>) -> Result<Values, Error> {
        let mut values = Values::default();
        for weight in &self.weights {
            values.insert(&weight.name, take(&self.name_in_model(weight), &weight.shape)?);
        }
        Ok(values)
    }

    /// An error of the layer, with its place and name.
    pub(crate) fn named(&self, error: Error) -> Error {
        error.at(&self.place, self.spec.name())
    }
}
