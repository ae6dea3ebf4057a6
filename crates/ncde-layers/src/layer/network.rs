//! A list of layers with its weights: `f_n(... f_2(f_1(x)) ...)`.

use std::collections::BTreeMap;
use std::sync::Arc;

use burn_tensor::backend::AutodiffBackend;
use burn_tensor::{Tensor, TensorData};
use ncde_runtime::layer::{LayerList, Resolved, Signal, Values, Weight};
use ncde_runtime::{LayerSpec, NamedWeight};

use super::{Batch, Context, Error, FieldNorm, Fitting, LayerBackend, Rows, foreign};

/// Takes a batch of training data.
pub type Visit<'a, B> = &'a mut dyn FnMut(Rows<B>, Context<B>) -> Result<(), Error>;

/// Is shown the rows that a layer hands on.
type Watch<'a, B> = &'a mut dyn FnMut(&Placed<B>, &Rows<B>);

/// Layers one after the other.
#[derive(Debug)]
struct BatchChain<B: LayerBackend> {
    layers: Vec<Placed<B>>,
}

/// A layer at its place.
#[derive(Debug)]
struct Placed<B: LayerBackend> {
    layer: Box<dyn Batch<B>>,
    /// Its weights by their names in the layer, those of layers inside it aside.
    weights: Vec<Weight>,
    /// The index of the first of them among all tensors of the network.
    first: usize,
    inside: Vec<BatchChain<B>>,
}

/// The weights of a layer, and the layers inside it.
#[derive(Debug)]
pub struct LayerWeights<'a, B: LayerBackend> {
    placed: &'a Placed<B>,
    /// All tensors of the network.
    tensors: &'a [Tensor<B, 1>],
}

impl<B: LayerBackend> LayerWeights<'_, B> {
    /// A weight by name, in its shape.
    ///
    /// # Errors
    /// If there is none of that name.
    pub fn weight<const D: usize>(&self, name: &str) -> Result<Tensor<B, D>, Error> {
        let Some(i) = self.placed.index_of(name) else {
            return Err(ncde_runtime::Error::State(format!("there is no weight `{name}`")).into());
        };
        let weight = &self.placed.weights[i - self.placed.first];
        let shape: [usize; D] = std::array::from_fn(|i| weight.shape.get(i).copied().unwrap_or(1));
        Ok(self.tensors[i].clone().reshape(shape))
    }

    /// What the layers inside make of rows, one list after the other.
    ///
    /// # Errors
    /// If one of them fails.
    pub fn inside(&self, rows: Rows<B>, context: &Context<B>) -> Result<Rows<B>, Error> {
        self.placed.inside.iter().try_fold(rows, |rows, list| list.forward(rows, self.tensors, context))
    }

    /// What each list of layers inside makes of the same rows; each draws random numbers of its own.
    ///
    /// # Errors
    /// If one of them fails.
    pub fn each_inside(&self, rows: &Rows<B>, context: &Context<B>) -> Result<Vec<Rows<B>>, Error> {
        let lists = self.placed.inside.iter().enumerate();
        lists.map(|(l, list)| list.forward(rows.clone(), self.tensors, &context.child(l))).collect()
    }
}

impl<B: LayerBackend> Placed<B> {
    fn forward(&self, rows: Rows<B>, tensors: &[Tensor<B, 1>], context: &Context<B>) -> Result<Rows<B>, Error> {
        self.layer.forward(rows, &LayerWeights { placed: self, tensors }, context)
    }

    /// The index of a weight of the layer among all tensors of the network.
    fn index_of(&self, name: &str) -> Option<usize> {
        self.weights.iter().position(|weight| weight.name == name).map(|i| self.first + i)
    }
}

impl<B: LayerBackend> BatchChain<B> {
    /// Layers with the values of all weights of the network, in order; `next` is the index of the first that is theirs, and then of the first behind.
    fn new(layers: &Resolved<'_>, values: &[NamedWeight], next: &mut usize) -> Result<Self, Error> {
        let mut all = Vec::with_capacity(layers.nodes.len());
        for node in &layers.nodes {
            let (first, mut fixed) = (*next, Values::default());
            for (weight, value) in node.weights.iter().zip(&values[first..]).filter(|(weight, _)| !weight.is_trained()) {
                fixed.insert(&weight.name, value.values.clone());
            }
            *next += node.weights.len();
            let inside = node.inside.iter().map(|list| Self::new(list, values, next)).collect::<Result<_, _>>()?;
            let layer = B::batch(node.spec, &node.input, &mut fixed)?;
            all.push(Placed { layer, weights: node.weights.clone(), first, inside });
        }
        Ok(Self { layers: all })
    }

    fn forward(&self, rows: Rows<B>, tensors: &[Tensor<B, 1>], context: &Context<B>) -> Result<Rows<B>, Error> {
        self.forward_watched(rows, tensors, context, None)
    }

    /// Forward; `watch` is shown the rows that each layer hands on, of lists inside a layer before those of the layer.
    fn forward_watched(
        &self,
        mut rows: Rows<B>,
        tensors: &[Tensor<B, 1>],
        context: &Context<B>,
        mut watch: Option<Watch<'_, B>>,
    ) -> Result<Rows<B>, Error> {
        for (i, placed) in self.layers.iter().enumerate() {
            let context = context.child(i);
            if let Some(watch) = &mut watch {
                for list in &placed.inside {
                    list.forward_watched(rows.clone(), tensors, &context, Some(watch))?;
                }
            }
            rows = placed.forward(rows, tensors, &context)?;
            if let Some(watch) = &mut watch {
                watch(placed, &rows);
            }
        }
        Ok(rows)
    }

    /// Visits every layer, in order: first the layer, then those inside it.
    fn visit<'a>(&'a self, visitor: &mut dyn FnMut(&'a Placed<B>)) {
        for placed in &self.layers {
            visitor(placed);
            placed.inside.iter().for_each(|list| list.visit(visitor));
        }
    }

    fn contains(&self, target: &Placed<B>) -> bool {
        self.layers.iter().any(|placed| std::ptr::eq(placed, target) || placed.inside.iter().any(|list| list.contains(target)))
    }

    /// The rows that come to a layer of this list, or inside one of its layers.
    fn rows_before(
        &self,
        target: &Placed<B>,
        mut rows: Rows<B>,
        tensors: &[Tensor<B, 1>],
        context: &Context<B>,
    ) -> Result<Rows<B>, Error> {
        for (i, placed) in self.layers.iter().enumerate().take_while(|(_, placed)| !std::ptr::eq(*placed, target)) {
            let context = context.child(i);
            if let Some(list) = placed.inside.iter().find(|list| list.contains(target)) {
                return list.rows_before(target, rows, tensors, &context);
            }
            rows = placed.forward(rows, tensors, &context)?;
        }
        Ok(rows)
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
            spec => spec.layer().is_differentiable(),
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
            *trained = node.weights.iter().find(|weight| weight.is_trained()).map(|weight| node.name_in_model(weight));
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
        let layers = Resolved::new(layers, input)?;
        Self::resolved(&layers, &layers.drawn(seed), device)
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
        let fits = |(weight, value): (&Weight, &NamedWeight)| weight.name == value.name && weight.count() == value.values.len();
        if weights.len() != values.len() || !weights.iter().zip(values).all(fits) {
            let (seen, wanted) = (format!("{} of them", values.len()), format!("the {} of these layers", weights.len()));
            return Err(Error::Shape { operation: "network", what: "the list of weights", seen, wanted });
        }
        let tensors = values.iter().map(|weight| vector(weight.values.clone(), device)).collect();
        Ok(Self { tensors, chain: Arc::new(BatchChain::new(layers, values, &mut 0)?), input: layers.input.clone(), weights })
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
        self.chain.forward(rows, &self.tensors, context)
    }

    /// The sum of the penalties on vector fields; none if there are none.
    pub fn penalty(&self, norm: FieldNorm) -> Option<Tensor<B, 1>> {
        let mut all = Vec::new();
        self.chain.visit(&mut |placed| {
            all.extend(placed.layer.penalty(&LayerWeights { placed, tensors: &self.tensors }, norm));
        });
        all.into_iter().reduce(|sum, penalty| sum + penalty)
    }

    /// Fits what is fitted and not trained, layer by layer, to batches of training data.
    ///
    /// # Errors
    /// If a layer before it fails.
    pub fn fit(&mut self, batches: &mut dyn FnMut(Visit<'_, B>) -> Result<(), Error>) -> Result<(), Error> {
        let (chain, mut fitted) = (self.chain.clone(), Vec::new());
        chain.visit(&mut |placed| fitted.extend(placed.layer.fitting().map(|fitting| (placed, fitting))));
        for (placed, mut fitting) in fitted {
            batches(&mut |rows, context| {
                // Nothing random is drawn here.
                fitting.add(&chain.rows_before(placed, rows, &self.tensors, &context)?);
                Ok(())
            })?;
            for (name, values) in Fitting::finish(&*fitting) {
                self.set(placed.index_of(name), values);
            }
        }
        Ok(())
    }

    /// Sets what is the largest value seen of a layer's rows, over batches of training data.
    ///
    /// # Errors
    /// If a layer fails.
    pub fn measure(&mut self, batches: &mut dyn FnMut(Visit<'_, B>) -> Result<(), Error>) -> Result<(), Error> {
        let (chain, mut largest) = (self.chain.clone(), BTreeMap::new());
        chain.visit(&mut |placed| largest.extend(placed.layer.measured().map(|(name, _)| (placed.index_of(name), 0.0_f64))));
        if largest.is_empty() {
            return Ok(());
        }
        batches(&mut |rows, context| {
            let mut measure = |placed: &Placed<B>, rows: &Rows<B>| {
                if let Some((name, size)) = placed.layer.measured() {
                    largest.entry(placed.index_of(name)).and_modify(|largest| *largest = largest.max(size(rows)));
                }
            };
            chain.forward_watched(rows, &self.tensors, &context, Some(&mut measure)).map(|_| ())
        })?;
        largest.into_iter().for_each(|(index, largest)| self.set(index, vec![largest as f32]));
        Ok(())
    }

    /// Sets the values of a weight, if there is such a one.
    fn set(&mut self, index: Option<usize>, values: Vec<f32>) {
        if let Some(tensor) = index.and_then(|i| self.tensors.get_mut(i)) {
            *tensor = vector(values, &tensor.device());
        }
    }
}

fn vector<B: LayerBackend>(values: Vec<f32>, device: &B::Device) -> Tensor<B, 1> {
    let count = values.len();
    Tensor::from_data(TensorData::new(values, [count]), device)
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
