//! A list of layers with its weights: `f_n(... f_2(f_1(x)) ...)`.

use std::sync::Arc;

use burn_tensor::backend::AutodiffBackend;
use burn_tensor::{Tensor, TensorData};
use ncde_runtime::layer::{LayerList, Resolved, Signal, Values, Weight};
use ncde_runtime::{LayerSpec, NamedWeight};

use super::{Batch, Context, Error, FieldNorm, Fitting, LayerBackend, Rows, batch, foreign};
use ncde_runtime::random::Stream;

/// Takes a batch of training data.
pub type Visit<'a, B> = &'a mut dyn FnMut(Rows<B>, Context<B>) -> Result<(), Error>;

/// Layers one after the other.
#[derive(Debug)]
struct BatchChain<B: LayerBackend> {
    layers: Vec<Placed<B>>,
}

/// A layer at its place.
#[derive(Debug)]
struct Placed<B: LayerBackend> {
    layer: Box<dyn Batch<B>>,
    /// Its own weights, in order; those of the lists of layers inside it follow.
    weights: Vec<Weight>,
    inside: Vec<BatchChain<B>>,
    /// How many tensors it and those inside it have.
    count: usize,
}

/// What a layer has of its own: its weights, and the layers inside it.
#[derive(Debug)]
pub struct LayerWeights<'a, B: LayerBackend> {
    weights: &'a [Weight],
    tensors: &'a [Tensor<B, 1>],
    inside: &'a [BatchChain<B>],
}

impl<B: LayerBackend> LayerWeights<'_, B> {
    /// A weight by name, in its shape.
    ///
    /// # Errors
    /// If there is none of that name.
    pub fn weight<const D: usize>(&self, name: &str) -> Result<Tensor<B, D>, Error> {
        let found = self.weights.iter().zip(self.tensors).find(|(weight, _)| weight.name == name);
        match found {
            Some((weight, tensor)) => {
                let shape: [usize; D] = std::array::from_fn(|i| weight.shape.get(i).copied().unwrap_or(1));
                Ok(tensor.clone().reshape(shape))
            }
            None => Err(ncde_runtime::Error::State(format!("there is no weight `{name}`")).into()),
        }
    }

    /// What the layers inside make of rows, one list after the other.
    ///
    /// # Errors
    /// If one of them fails.
    pub fn inside(&self, mut rows: Rows<B>, context: &Context<B>) -> Result<Rows<B>, Error> {
        for (list, tensors) in lists(self.inside, self.weights, self.tensors) {
            rows = list.forward(rows, tensors, context, usize::MAX)?;
        }
        Ok(rows)
    }

    /// What each list of layers inside makes of the same rows; each draws random numbers of its own.
    ///
    /// # Errors
    /// If one of them fails.
    pub fn each_inside(&self, rows: &Rows<B>, context: &Context<B>) -> Result<Vec<Rows<B>>, Error> {
        let all = lists(self.inside, self.weights, self.tensors).enumerate();
        all.map(|(l, (list, tensors))| list.forward(rows.clone(), tensors, &context.child(l), usize::MAX)).collect()
    }
}

/// The lists inside a layer with their tensors, which lie behind its own.
fn lists<'a, B: LayerBackend>(
    inside: &'a [BatchChain<B>],
    own: &[Weight],
    tensors: &'a [Tensor<B, 1>],
) -> impl Iterator<Item = (&'a BatchChain<B>, &'a [Tensor<B, 1>])> {
    inside.iter().scan(&tensors[own.len()..], |rest, list| {
        let (tensors, after) = rest.split_at(list.count());
        *rest = after;
        Some((list, tensors))
    })
}

impl<B: LayerBackend> BatchChain<B> {
    /// Layers with the values of all their weights, in order.
    fn new(layers: &Resolved<'_>, mut values: &[NamedWeight]) -> Result<Self, Error> {
        let mut all = Vec::with_capacity(layers.nodes.len());
        for node in &layers.nodes {
            let (own, mut rest) = values.split_at(node.weights.len());
            let mut fixed = Values::default();
            for (weight, own) in node.weights.iter().zip(own).filter(|(weight, _)| !weight.is_trained()) {
                fixed.insert(node.local(weight), own.values.clone());
            }
            let mut inside = Vec::with_capacity(node.inside.len());
            for list in &node.inside {
                let (own, after) = rest.split_at(list.count());
                inside.push(Self::new(list, own)?);
                rest = after;
            }
            let local = |weight: &Weight| Weight { name: node.local(weight).into(), ..weight.clone() };
            let count = values.len() - rest.len();
            let layer = batch(node.spec, &node.input, &mut fixed)?;
            all.push(Placed { layer, weights: node.weights.iter().map(local).collect(), inside, count });
            values = rest;
        }
        Ok(Self { layers: all })
    }

    /// How many tensors its layers have.
    fn count(&self) -> usize {
        self.layers.iter().map(|placed| placed.count).sum()
    }

    /// Through the first `most` layers.
    fn forward(
        &self,
        mut rows: Rows<B>,
        mut tensors: &[Tensor<B, 1>],
        context: &Context<B>,
        most: usize,
    ) -> Result<Rows<B>, Error> {
        for (i, placed) in self.layers.iter().enumerate().take(most) {
            let (own, rest) = tensors.split_at(placed.count);
            rows = placed.layer.forward(rows, &placed.own(own), &context.child(i))?;
            tensors = rest;
        }
        Ok(rows)
    }

    fn penalties(&self, mut tensors: &[Tensor<B, 1>], norm: FieldNorm, all: &mut Vec<Tensor<B, 1>>) {
        for placed in &self.layers {
            let (own, rest) = tensors.split_at(placed.count);
            all.extend(placed.layer.penalty(&placed.own(own), norm));
            lists(&placed.inside, &placed.weights, own).for_each(|(list, tensors)| list.penalties(tensors, norm, all));
            tensors = rest;
        }
    }
}

impl<B: LayerBackend> Placed<B> {
    fn own<'a>(&'a self, tensors: &'a [Tensor<B, 1>]) -> LayerWeights<'a, B> {
        LayerWeights { weights: &self.weights, tensors, inside: &self.inside }
    }
}

/// Refuses layers of which a trained one comes before one that no gradient comes through, such as a `reservoir`: it would not learn what its rows do there.
///
/// # Errors
/// If there is one, or the layers do not fit together.
pub fn check_gradient_flow(layers: &[LayerSpec], input: &Signal) -> Result<(), ncde_runtime::Error> {
    check_flow(&Resolved::new(layers, input)?, &mut None)
}

/// The same; `trained` is the first weight before these layers that is trained.
fn check_flow(layers: &Resolved<'_>, trained: &mut Option<String>) -> Result<(), ncde_runtime::Error> {
    for node in &layers.nodes {
        let differentiable = match node.spec {
            LayerSpec::Foreign(layer) => foreign::is_differentiable(layer),
            own => own.layer().is_differentiable(),
        };
        if let (false, Some(weight)) = (differentiable, &*trained) {
            return Err(ncde_runtime::Error::Layer {
                layer: format!("{} ({})", node.place, node.spec.name()),
                problem: format!("no gradient comes through it, but `{weight}` before it is trained; put it before that"),
            });
        }
        // Lists beside each other do not come after each other.
        let before = trained.clone();
        for list in &node.inside {
            let mut within = before.clone();
            check_flow(list, &mut within)?;
            *trained = trained.take().or(within);
        }
        if trained.is_none() {
            *trained = node.weights.iter().find(|weight| weight.is_trained()).map(|weight| weight.name.clone());
        }
    }
    Ok(())
}

/// A list of layers with its weights. Clones share the layers, and tensors until one of them is changed.
///
/// ```
/// use burn_flex::Flex;
/// use burn_tensor::Tensor;
/// use ncde_layers::layer::{Context, Network, Places, Rows};
/// use ncde_runtime::LayerSpec;
/// use ncde_runtime::layer::{Linear, Over, Pool, Signal};
/// let layers = [LayerSpec::Linear(Linear { outputs: 5 }), LayerSpec::Pool(Pool { over: Over::Mean })];
/// let network = Network::<Flex>::drawn(&layers, &Signal::values(3), 0, &Default::default())?;
/// // Two series of 3 channels, with 4 and 2 observations.
/// let rows = Rows { values: Tensor::ones([2, 4, 3], &Default::default()), places: Places::regular(&[4, 2]).into() };
/// assert_eq!(network.forward(rows, &Context::predict())?.values.dims(), [2, 1, 5]);
/// # Ok::<(), ncde_layers::layer::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Network<B: LayerBackend> {
    /// Its weights in order, by name.
    weights: Vec<Weight>,
    /// Their values, flat.
    pub tensors: Vec<Tensor<B, 1>>,
    /// The rows it takes.
    input: Signal,
    chain: Arc<BatchChain<B>>,
}

impl<B: LayerBackend> Network<B> {
    /// Layers for rows like these, with weights drawn from a seed: weight `i` of the list from child `i` of its stream.
    ///
    /// # Errors
    /// If the layers do not fit together.
    pub fn drawn<'a>(layers: impl Into<LayerList<'a>>, input: &Signal, seed: u64, device: &B::Device) -> Result<Self, Error> {
        let (layers, stream) = (Resolved::new(layers, input)?, Stream::new(seed, 2));
        let weights = layers.weights().into_iter().enumerate();
        let values: Vec<NamedWeight> = weights
            .map(|(i, weight)| {
                let values = weight.draw(&stream.child(i as u64));
                NamedWeight { name: weight.name, shape: weight.shape, values }
            })
            .collect();
        Self::resolved(&layers, &values, device)
    }

    /// Layers for rows like these, with these weights, all of them in order.
    ///
    /// # Errors
    /// If the layers do not fit together, or a weight is none of theirs.
    pub fn with_values<'a>(
        layers: impl Into<LayerList<'a>>,
        input: &Signal,
        values: &[NamedWeight],
        device: &B::Device,
    ) -> Result<Self, Error> {
        Self::resolved(&Resolved::new(layers, input)?, values, device)
    }

    fn resolved(layers: &Resolved<'_>, values: &[NamedWeight], device: &B::Device) -> Result<Self, Error> {
        let weights = layers.weights();
        check_flow(layers, &mut None)?;
        let fits = |(weight, own): (&Weight, &NamedWeight)| weight.name == own.name && weight.count() == own.values.len();
        if weights.len() != values.len() || !weights.iter().zip(values).all(fits) {
            let (seen, wanted) = (format!("{} of them", values.len()), format!("the {} of these layers", weights.len()));
            return Err(Error::Shape { operation: "network", what: "the list of weights", seen, wanted });
        }
        let tensor = |own: &NamedWeight| Tensor::from_data(TensorData::new(own.values.clone(), [own.values.len()]), device);
        let tensors = values.iter().map(tensor).collect();
        Ok(Self { tensors, chain: Arc::new(BatchChain::new(layers, values)?), input: layers.input.clone(), weights })
    }

    /// The weights in order.
    pub fn weights(&self) -> &[Weight] {
        &self.weights
    }

    /// The weights with their values.
    pub fn values(&self) -> Vec<NamedWeight> {
        let value = |(weight, tensor): (&Weight, &Tensor<B, 1>)| NamedWeight {
            name: weight.name.clone(),
            shape: weight.shape.clone(),
            values: tensor.to_data().iter().collect(),
        };
        self.weights.iter().zip(&self.tensors).map(value).collect()
    }

    /// How many numbers are trained.
    pub fn parameters(&self) -> usize {
        self.weights.iter().filter(|weight| weight.is_trained()).map(Weight::count).sum()
    }

    /// The outputs of a batch.
    ///
    /// # Shapes
    /// Rows `[batch, places, width]` to `[batch, places, outputs]`, or after `pool` `[batch, 1, outputs]`.
    ///
    /// # Errors
    /// If shapes do not fit, a number is not finite, or a state overflows.
    pub fn forward(&self, rows: Rows<B>, context: &Context<B>) -> Result<Rows<B>, Error> {
        rows.check()?;
        let [batch, _, width] = rows.values.dims();
        let statics = context.statics.as_ref().map_or([batch, 0], Tensor::dims);
        let sizes =
            [("the batch of rows", [batch, width], self.input.width()), ("the tensor of statics", statics, self.input.statics)];
        if let Some((what, seen, wanted)) = sizes.into_iter().find(|(_, seen, wanted)| *seen != [batch, *wanted]) {
            let (seen, wanted) = (format!("{} series of {} numbers", seen[0], seen[1]), format!("{batch} of {wanted}"));
            return Err(Error::Shape { operation: "layers", what, seen, wanted });
        }
        self.chain.forward(rows, &self.tensors, context, usize::MAX)
    }

    /// The sum of the penalties on vector fields; none if there are none.
    pub fn penalty(&self, norm: FieldNorm) -> Option<Tensor<B, 1>> {
        let mut all = Vec::new();
        self.chain.penalties(&self.tensors, norm, &mut all);
        all.into_iter().reduce(|sum, own| sum + own)
    }

    /// Fits what is fitted and not trained, layer by layer, to batches of training data.
    ///
    /// # Errors
    /// If a layer before it fails.
    pub fn fit(&mut self, batches: &mut dyn FnMut(Visit<'_, B>) -> Result<(), Error>) -> Result<(), Error> {
        let mut places = Vec::new();
        self.chain.fitted(&[], 0, &mut places);
        for (path, first) in places {
            let Some(mut fitting) = self.chain.at(&path).and_then(|placed| placed.layer.fitting()) else { continue };
            batches(&mut |rows, context| {
                fitting.add(&self.chain.before(rows, &self.tensors, &context, &path)?);
                Ok(())
            })?;
            for (name, values) in Fitting::finish(&*fitting) {
                let weights = self.chain.at(&path).map_or(&[][..], |placed| &placed.weights);
                if let Some(i) = weights.iter().position(|weight| weight.name == name) {
                    let (device, count) = (self.tensors[first + i].device(), values.len());
                    self.tensors[first + i] = Tensor::from_data(TensorData::new(values, [count]), &device);
                }
            }
        }
        Ok(())
    }

    /// Sets what is the largest value seen of a layer's rows, over batches of training data.
    ///
    /// # Errors
    /// If a layer fails.
    pub fn measure(&mut self, batches: &mut dyn FnMut(Visit<'_, B>) -> Result<(), Error>) -> Result<(), Error> {
        let measures = |weight: &Weight| weight.name.ends_with(".radius");
        if !self.weights.iter().any(measures) {
            return Ok(());
        }
        let mut most: Vec<f64> = vec![0.0; self.tensors.len()];
        batches(&mut |rows, context| self.chain.largest(rows, &self.tensors, 0, &context, &mut most).map(|_| ()))?;
        let device = self.tensors[0].device();
        for (i, weight) in self.weights.iter().enumerate().filter(|(_, weight)| measures(weight)) {
            debug_assert_eq!(weight.count(), 1);
            self.tensors[i] = Tensor::from_data(TensorData::new(vec![most[i] as f32], [1]), &device);
        }
        Ok(())
    }
}

impl<B: LayerBackend> BatchChain<B> {
    /// The layers that are fitted, in the order in which rows come by: for each the places of the layers around it, of the list in each, and its own; and its first tensor.
    fn fitted(&self, around: &[usize], mut first: usize, all: &mut Vec<(Vec<usize>, usize)>) {
        for (i, placed) in self.layers.iter().enumerate() {
            let path = [around, &[i]].concat();
            let mut inside = first + placed.weights.len();
            for (l, list) in placed.inside.iter().enumerate() {
                list.fitted(&[&path[..], &[l]].concat(), inside, all);
                inside += list.count();
            }
            if placed.layer.fitting().is_some() {
                all.push((path, first));
            }
            first += placed.count;
        }
    }

    /// The layer at such a place.
    fn at(&self, path: &[usize]) -> Option<&Placed<B>> {
        match path {
            [i] => self.layers.get(*i),
            [i, list, inside @ ..] => self.layers.get(*i)?.inside.get(*list)?.at(inside),
            [] => None,
        }
    }

    /// The rows that come to it.
    fn before(&self, rows: Rows<B>, tensors: &[Tensor<B, 1>], context: &Context<B>, path: &[usize]) -> Result<Rows<B>, Error> {
        let Some(&i) = path.first() else { return Ok(rows) };
        let rows = self.forward(rows, tensors, context, i)?;
        let (first, placed) = (self.layers[..i].iter().map(|placed| placed.count).sum::<usize>(), &self.layers[i]);
        let list = path.get(1).and_then(|&l| lists(&placed.inside, &placed.weights, &tensors[first..]).nth(l));
        // Nothing random is drawn here, so that lists need no numbers of their own.
        list.map_or(Ok(rows.clone()), |(list, tensors)| list.before(rows, tensors, &context.child(i), &path[2..]))
    }

    /// Forward, with the largest value that each weight of that kind stands for.
    fn largest(
        &self,
        mut rows: Rows<B>,
        tensors: &[Tensor<B, 1>],
        mut first: usize,
        context: &Context<B>,
        most: &mut [f64],
    ) -> Result<Rows<B>, Error> {
        let mut rest = tensors;
        for (i, placed) in self.layers.iter().enumerate() {
            let (own, after) = rest.split_at(placed.count);
            let context = context.child(i);
            let mut inside = first + placed.weights.len();
            for (list, tensors) in lists(&placed.inside, &placed.weights, own) {
                list.largest(rows.clone(), tensors, inside, &context, most)?;
                inside += list.count();
            }
            rows = placed.layer.forward(rows, &placed.own(own), &context)?;
            if let Some((name, value)) = placed.layer.largest(&rows)
                && let Some(j) = placed.weights.iter().position(|weight| weight.name == name)
            {
                most[first + j] = most[first + j].max(value);
            }
            first += placed.count;
            rest = after;
        }
        Ok(rows)
    }
}

impl<B: LayerBackend + AutodiffBackend> Network<B> {
    /// Begins a pass: the weights of a network without gradients become variables.
    pub fn track<I: LayerBackend>(&mut self, from: &Network<I>)
    where
        B: AutodiffBackend<InnerBackend = I>,
    {
        self.tensors = from
            .tensors
            .iter()
            .zip(&self.weights)
            .map(|(tensor, weight)| {
                let tensor = Tensor::from_inner(tensor.clone());
                if weight.is_trained() { tensor.require_grad() } else { tensor }
            })
            .collect();
    }

    /// The gradients of the trained weights, in order.
    ///
    /// # Errors
    /// If one is missing, or an operation failed in the reverse pass.
    pub fn gradients(&self, gradients: &B::Gradients) -> Result<Vec<Option<Tensor<B::InnerBackend, 1>>>, Error> {
        if let Some(error) = crate::graph::take_error() {
            return Err(error.into());
        }
        let gradient = |(weight, tensor): (&Weight, &Tensor<B, 1>)| match tensor.grad(gradients) {
            _ if !weight.is_trained() => Ok(None),
            Some(gradient) => Ok(Some(gradient)),
            None => Err(Error::NoGradient { name: weight.name.clone() }),
        };
        self.weights.iter().zip(&self.tensors).map(gradient).collect()
    }
}
