//! Series, weights, and both forms of a sample.

use std::sync::Arc;

use burn_flex::Flex;
use burn_tensor::backend::Backend;
use burn_tensor::{DType, Tensor, TensorData};
use ncde_layers::layer::{Branches, Context, LayerBackend, Network, Phase, Places, Rows};
use ncde_runtime::layer::{Ended, Init, Resolved, Row, Rows as Kind, Signal, StateMemory, StepChain, weights};
use ncde_runtime::random::Stream;
use ncde_runtime::{LayerSpec, NamedWeight, Weights};

use crate::common::values;
use crate::samples::Sample;

/// The lengths of the batch that most tests run on.
pub(crate) const RAGGED: [usize; 4] = [1, 5, 3, 8];

/// Series of numbers that f32 holds, at irregular times.
#[derive(Debug, Clone)]
pub(crate) struct Data {
    pub(crate) width: usize,
    /// For each series its rows, one after the other.
    pub(crate) rows: Vec<Vec<f64>>,
    pub(crate) times: Vec<Vec<f64>>,
    pub(crate) statics: Vec<Vec<f64>>,
}

impl Data {
    pub(crate) fn new(input: &Signal, lengths: &[usize], seed: u64) -> Self {
        let single = |values: Vec<f64>| values.into_iter().map(|x| f64::from(x as f32)).collect::<Vec<f64>>();
        let series = |b: usize| {
            let seed = seed + 10 * b as u64;
            let count = lengths[b] * input.width();
            let rows = match input.rows {
                Kind::Tokens { vocabulary } => {
                    values(count, 0.5, seed).into_iter().map(|x| ((x + 0.5) * vocabulary as f64).floor()).collect()
                }
                _ => single(values(count, 1.0, seed)),
            };
            let mut time = 0.0;
            let times = values(lengths[b], 0.4, seed + 1).into_iter().map(|gap| {
                let now = time;
                time += 0.6 + gap;
                now
            });
            (rows, times.collect(), single(values(input.statics, 1.0, seed + 2)))
        };
        let (mut rows, mut times, mut statics) = (Vec::new(), Vec::new(), Vec::new());
        for b in 0..lengths.len() {
            let own: (Vec<f64>, Vec<f64>, Vec<f64>) = series(b);
            rows.push(own.0);
            times.push(own.1);
            statics.push(own.2);
        }
        Self { width: input.width(), rows, times, statics }
    }

    pub(crate) fn lengths(&self) -> Vec<usize> {
        self.times.iter().map(Vec::len).collect()
    }

    /// These series in this order, some of them several times, cut to these lengths.
    pub(crate) fn pick(&self, chosen: &[(usize, usize)]) -> Self {
        Self {
            width: self.width,
            rows: chosen.iter().map(|&(b, length)| self.rows[b][..length * self.width].to_vec()).collect(),
            times: chosen.iter().map(|&(b, length)| self.times[b][..length].to_vec()).collect(),
            statics: chosen.iter().map(|&(b, _)| self.statics[b].clone()).collect(),
        }
    }

    /// As a batch, with `padding` past the ends up to `trunk` rows.
    pub(crate) fn batch<B: Backend>(&self, trunk: usize, padding: f64, dtype: DType) -> Rows<B> {
        let (mut all, mut times) = (Vec::new(), Vec::new());
        for (b, (rows, own)) in self.rows.iter().zip(&self.times).enumerate() {
            all.extend_from_slice(rows);
            all.resize((b + 1) * trunk * self.width, padding);
            times.extend_from_slice(own);
            times.resize((b + 1) * trunk, own[own.len() - 1]);
        }
        let places = Places { lengths: self.lengths(), trunk, times, branches: None };
        Rows { values: tensor(all, [self.rows.len(), trunk, self.width], dtype), places: Arc::new(places) }
    }

    /// A prediction, with the statics.
    pub(crate) fn context<B: Backend>(&self, dtype: DType) -> Context<B> {
        let shape = [self.statics.len(), self.statics[0].len()];
        let statics = (shape[1] > 0).then(|| tensor(self.statics.concat(), shape, dtype));
        Context { statics, phase: Phase::Predict }
    }

    pub(crate) fn longest(&self) -> usize {
        self.lengths().into_iter().max().unwrap()
    }
}

pub(crate) fn tensor<B: Backend, const D: usize>(values: Vec<f64>, shape: [usize; D], dtype: DType) -> Tensor<B, D> {
    Tensor::from_data(TensorData::new(values, shape), (&B::Device::default(), dtype))
}

/// Weights without a pattern; those that are all 0 or 1 at first are moved.
pub(crate) fn drawn(layers: &[LayerSpec], input: &Signal) -> Vec<NamedWeight> {
    let all = weights(layers, input).unwrap().into_iter().enumerate();
    let draw = |(i, weight): (usize, ncde_runtime::layer::Weight)| {
        let mut own = weight.draw(&Stream::new(5, 2).child(i as u64));
        if matches!(weight.init, Init::Constant(_)) {
            own.iter_mut().zip(values(weight.count(), 0.5, 77 + i as u64)).for_each(|(x, by)| *x += by as f32);
        }
        NamedWeight { name: weight.name, shape: weight.shape, values: own }
    };
    all.map(draw).collect()
}

impl Sample {
    pub(crate) fn weights(&self) -> Vec<NamedWeight> {
        drawn(&self.layers, &self.input)
    }

    pub(crate) fn network<B: LayerBackend>(&self) -> Network<B> {
        Network::with_values(&self.layers, &self.input, &self.weights(), &Default::default()).unwrap()
    }

    pub(crate) fn data(&self) -> Data {
        Data::new(&self.input, &RAGGED, 1)
    }

    pub(crate) fn is_tokens(&self) -> bool {
        matches!(self.input.rows, Kind::Tokens { .. })
    }

    /// What comes out for each series, row after row, in f32.
    pub(crate) fn batch(&self, data: &Data, trunk: usize, padding: f64) -> Vec<Vec<Vec<f64>>> {
        let rows = data.batch::<Flex>(trunk, padding, DType::F32);
        let out =
            self.network::<Flex>().forward(rows, &data.context(DType::F32)).unwrap_or_else(|e| panic!("{}: {e}", self.name));
        own_rows(&out)
    }

    /// What comes out after each observation, one row at a time.
    pub(crate) fn steps(&self, data: &Data, series: usize) -> Vec<Stepped> {
        let mut chain =
            StepChain::new(&Resolved::new(&self.layers, &self.input).unwrap(), &mut Weights::of(self.weights())).unwrap();
        let mut memory = StateMemory::new(chain.memory());
        let rows = data.rows[series].chunks(data.width).zip(&data.times[series]);
        rows.map(|(values, &time)| {
            let row = Row { time, values, statics: &data.statics[series] };
            match chain.push(0, memory.share(), row).unwrap() {
                Ended::Out => Stepped { closed: true, row: chain.last().to_vec() },
                Ended::At(layer) => {
                    chain.open(layer, memory.clone().share(), Row { values: &[], ..row }).unwrap();
                    Stepped { closed: false, row: chain.last().to_vec() }
                }
            }
        })
        .collect()
    }
}

/// What comes out after an observation.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Stepped {
    /// Whether all windows ended here.
    pub(crate) closed: bool,
    /// The row, or that of the open window as it is.
    pub(crate) row: Vec<f64>,
}

/// The rows of the trunk of each series, padding aside.
pub(crate) fn own_rows<B: Backend>(rows: &Rows<B>) -> Vec<Vec<Vec<f64>>> {
    let all = places(rows);
    rows.places.lengths.iter().zip(all).map(|(&length, own)| own[..length].to_vec()).collect()
}

/// All rows of each series.
pub(crate) fn places<B: Backend>(rows: &Rows<B>) -> Vec<Vec<Vec<f64>>> {
    let [_, count, width] = rows.values.dims();
    let values: Vec<f64> = rows.values.to_data().iter().collect();
    values.chunks(count * width).map(|own| own.chunks(width).map(<[f64]>::to_vec).collect()).collect()
}

/// The largest difference, relative to the largest number.
pub(crate) fn apart(a: &[Vec<f64>], b: &[Vec<f64>]) -> f64 {
    assert_eq!(a.iter().map(Vec::len).collect::<Vec<_>>(), b.iter().map(Vec::len).collect::<Vec<_>>());
    crate::common::difference(&a.concat(), &b.concat())
}

/// Whether a layer is like this, or one inside it.
pub(crate) fn any_of(layers: &[LayerSpec], like: &dyn Fn(&LayerSpec) -> bool) -> bool {
    layers.iter().any(|layer| like(layer) || layer.layer().inside().into_iter().any(|list| any_of(list, like)))
}

/// A composition that begins with windows of several steps, cut behind them.
pub(crate) struct Branched {
    /// What follows the windows.
    pub(crate) rest: Sample,
    /// Windows, the shorter last one too, then those in the middle of which an output is asked for.
    rows: Vec<Vec<f64>>,
    places: Places,
    /// Which observation each branch belongs to, for each series; padding aside.
    pub(crate) observations: Vec<Vec<usize>>,
}

impl Branched {
    /// None if there are no such windows, or what follows them takes no branches.
    pub(crate) fn new(sample: &Sample, data: &Data) -> Option<Self> {
        let LayerSpec::Windows(windows) = &sample.layers[0] else { return None };
        let refuses = |layer: &LayerSpec| matches!(layer, LayerSpec::Signature(_) | LayerSpec::Pool(_) | LayerSpec::Windows(_));
        if windows.window == 1 || sample.layers.len() == 1 || any_of(&sample.layers[1..], &refuses) {
            return None;
        }
        let first = Sample { layers: sample.layers[..1].to_vec(), ..sample.clone() };
        let input = sample.layers[0].layer().output(&sample.input, &[]).unwrap();
        let rest = Sample { name: sample.name.clone(), layers: sample.layers[1..].to_vec(), input };
        let width = rest.input.width();
        let (mut trunks, mut branches) = (Vec::new(), Vec::new());
        for series in 0..data.rows.len() {
            let (mut trunk, mut own): (Vec<(f64, Vec<f64>)>, _) = (Vec::new(), Vec::new());
            let steps = first.steps(data, series);
            let last = steps.len() - 1;
            for (n, Stepped { closed, row }) in steps.into_iter().enumerate() {
                let time = data.times[series][n];
                if !closed {
                    own.push((n, trunk.len() - 1, time, row.clone()));
                }
                if closed || n == last {
                    trunk.push((time, row));
                }
            }
            trunks.push(trunk);
            branches.push(own);
        }
        let longest = trunks.iter().map(Vec::len).max()?;
        let count = branches.iter().map(Vec::len).max()?;
        let (mut rows, mut times, mut parents) = (Vec::new(), Vec::new(), Vec::new());
        for (trunk, own) in trunks.iter().zip(&branches) {
            let padding = |from: usize, to: usize| (from..to).map(|_| (trunk[trunk.len() - 1].0, vec![0.0; width]));
            let all = trunk.iter().cloned().chain(padding(trunk.len(), longest));
            let all = all.chain(own.iter().map(|(_, _, time, row)| (*time, row.clone()))).chain(padding(own.len(), count));
            let (own_times, own_rows): (Vec<f64>, Vec<Vec<f64>>) = all.unzip();
            times.extend(own_times);
            rows.extend(own_rows);
            parents.extend(own.iter().map(|branch| branch.1).chain((own.len()..count).map(|_| 0)));
        }
        let lengths = trunks.iter().map(Vec::len).collect();
        let places = Places { lengths, trunk: longest, times, branches: Some(Branches { count, parents }) };
        let observations = branches.iter().map(|own| own.iter().map(|branch| branch.0).collect()).collect();
        Some(Self { rest, rows, places, observations })
    }

    pub(crate) fn rows<B: Backend>(&self, dtype: DType) -> Rows<B> {
        let shape = [self.places.batch(), self.places.count(), self.rest.input.width()];
        Rows { values: tensor(self.rows.concat(), shape, dtype), places: Arc::new(self.places.clone()) }
    }
}
