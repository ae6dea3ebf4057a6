//! Models with random weights, written to a folder as training writes them.
#![allow(dead_code, reason = "each test file uses some of it")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use std::path::Path;

use ncde_kernels::Transition;
use ncde_kernels::neural::{Activation, Last, Solver};
use ncde_runtime::random::Stream;
use ncde_runtime::{
    Architecture, At, FORMAT, Head, Input, Missing, Model, ModelSpec, NeuralKind, NeuralSpec, Norm, Over, Preparation, ReadSpec,
    SPEC, Scaling, SignatureSpec, Skip, SliceSpec, StructureConfig, Task, WEIGHTS, Weight, WeightsSpec, sizes, to_bytes,
};

pub(crate) const CHANNELS: usize = 2;

pub(crate) fn slice(structure: StructureConfig, depth: usize, window: usize, over: Over) -> Architecture {
    let head = Head::Network { width: 5, layers: 1 };
    let (masks, transition) = (Stream::new(3, 0).key(), Transition::Exp);
    Architecture::Slice(SliceSpec {
        hidden: 8,
        structure,
        masks,
        depth,
        window,
        scale: 0.5,
        input: Input::None,
        transition,
        read: ReadSpec { over, head, norm: Norm::None, skip: Skip::None },
    })
}

/// Every kind of model.
pub(crate) fn all() -> Vec<Architecture> {
    let mut all = vec![Architecture::Signature(SignatureSpec { depth: 3 })];
    let structures = [
        StructureConfig::Block { block: 4 },
        StructureConfig::Dense,
        StructureConfig::Diagonal,
        StructureConfig::DiagonalDense { block: 3 },
        StructureConfig::Dplr { rank: 2 },
        StructureConfig::Sparse { epsilon: 0.5 },
        StructureConfig::WalshHadamard { bound: ncde_kernels::Bound::Tanh },
    ];
    for (i, structure) in structures.into_iter().enumerate() {
        let over = [Over::Mean, Over::Last, Over::EveryStep][i % 3];
        let mut model = slice(structure, 1 + i % 3, 1 + 2 * (i % 3), over);
        if let Architecture::Slice(slice) = &mut model
            && i % 2 == 0
        {
            slice.read.skip = Skip::Window { coordinates: 4 };
            slice.read.norm = Norm::Layer;
            slice.input = Input::Path;
        }
        all.push(model);
    }
    for (i, kind) in [NeuralKind::Ncde, NeuralKind::Nrde { depth: 3 }]
        .into_iter()
        .chain((1..=3).map(|depth| NeuralKind::LogNcde { depth }))
        .enumerate()
    {
        all.push(neural(kind, [Over::Mean, Over::Last][i % 2], [Solver::Heun, Solver::Rk4, Solver::Euler][i % 3]));
    }
    all
}

/// A network with two hidden layers.
pub(crate) fn neural(kind: NeuralKind, over: Over, solver: Solver) -> Architecture {
    let window = if kind == NeuralKind::Ncde { 1 } else { 3 };
    Architecture::Neural(NeuralSpec {
        kind,
        hidden: 5,
        width: 7,
        layers: 2,
        activation: Activation::Silu,
        before_last: Activation::Tanh,
        last: Last::Tanh,
        solver,
        steps: 3,
        window,
        read: ReadSpec { over, head: Head::Linear, norm: Norm::Layer, skip: Skip::Window { coordinates: 3 } },
        radius: 2.0,
    })
}

pub(crate) fn spec(model: Architecture) -> ModelSpec {
    ModelSpec {
        format: FORMAT,
        ncde: "0.1.0".into(),
        weights: WeightsSpec { bytes: 0, crc32: 0 },
        channels: vec!["x".into(), "y".into()],
        statics: vec!["age".into()],
        task: Task::Classification { classes: ["a", "b", "c"].map(String::from).to_vec(), at: At::End },
        preparation: Preparation {
            channels: vec![Scaling { shift: 0.1, factor: 0.7 }, Scaling { shift: -0.2, factor: 0.4 }],
            statics: vec![Scaling { shift: 50.0, factor: 0.1 }],
            time: Some(Scaling { shift: 0.0, factor: 0.3 }),
            missing: Missing::Counts { factors: vec![0.1, 0.1] },
        },
        model,
    }
}

pub(crate) fn weights(spec: &ModelSpec) -> Vec<Weight> {
    let width = spec.preparation.width();
    let first = width + spec.statics.len();
    let outputs = spec.task.outputs(CHANNELS);
    let mut shapes: Vec<(String, Vec<usize>)> = match &spec.model {
        Architecture::Slice(slice) => {
            let field = slice.structure.field(slice.hidden, width, &Stream::from_key(slice.masks)).unwrap();
            vec![
                ("a".into(), vec![field.parameters()]),
                ("start".into(), vec![1, slice.hidden]),
                ("first".into(), vec![first, slice.hidden]),
            ]
            .into_iter()
            .chain((slice.input == Input::Path).then(|| ("b".into(), vec![width, slice.hidden])))
            .collect()
        }
        Architecture::Neural(neural) => vec![
            ("field".into(), vec![neural.network(width).unwrap().parameters()]),
            ("start".into(), vec![1, neural.hidden]),
            ("first".into(), vec![first, neural.hidden]),
        ],
        Architecture::Signature(signature) => {
            let features = first + (1..=signature.depth).map(|n| width.pow(n as u32)).sum::<usize>();
            vec![("shift".into(), vec![features]), ("factor".into(), vec![features])]
        }
    };
    let layers = match &spec.model {
        Architecture::Slice(slice) => sizes(slice.read.head, slice.hidden + slice.read.skip.width(width), outputs),
        Architecture::Neural(neural) => sizes(neural.read.head, neural.hidden + neural.read.skip.width(width), outputs),
        Architecture::Signature(_) => vec![shapes[0].1[0], outputs],
    };
    if let Some(ReadSpec { skip: Skip::Window { coordinates }, .. }) = spec.model.read() {
        shapes.push(("skip".into(), vec![*coordinates]));
    }
    for (i, pair) in layers.windows(2).enumerate() {
        shapes.push((format!("readout.{i}.weight"), pair.to_vec()));
        shapes.push((format!("readout.{i}.bias"), vec![pair[1]]));
    }
    let stream = Stream::new(11, 0);
    let draw = |(k, (name, shape)): (usize, (String, Vec<usize>))| {
        let count: usize = shape.iter().product();
        let values = (0..count as u64).map(|i| 0.4 * stream.child(k as u64).normal(i) as f32).collect();
        Weight { name, shape, values }
    };
    shapes.into_iter().enumerate().map(draw).collect()
}

pub(crate) fn write(folder: &Path, mut spec: ModelSpec, weights: &[Weight]) {
    let (bytes, remembered) = to_bytes(weights).unwrap();
    spec.weights = remembered;
    std::fs::write(folder.join(WEIGHTS), bytes).unwrap();
    std::fs::write(folder.join(SPEC), serde_json::to_string(&spec).unwrap()).unwrap();
}

pub(crate) fn model(architecture: Architecture) -> Model {
    let folder = tempfile::tempdir().unwrap();
    let spec = spec(architecture);
    let weights = weights(&spec);
    write(folder.path(), spec, &weights);
    Model::load(folder.path()).unwrap()
}

/// Irregular times, some values missing.
pub(crate) fn observations(seed: u64, length: usize) -> Vec<(f64, [f64; CHANNELS])> {
    let stream = Stream::new(seed, 1);
    let mut time = 0.0;
    let row = |i: u64| {
        let value = |k: u64| if stream.uniform(9 * i + k) < 0.2 { f64::NAN } else { stream.normal(9 * i + k) };
        time += 0.1 + stream.uniform(9 * i + 5);
        (time, [value(1), value(2)])
    };
    (0..length as u64).map(row).collect()
}
