//! What must not change a result: padding, the batch, its order, threads, and a file in between.

use burn_flex::Flex;
use burn_tensor::DType;
use ncde_runtime::layer::{Over, Rows as Kind, output};
use ncde_runtime::{
    At, FORMAT, LayerSpec, Missing, Model, ModelSpec, NamedWeight, Prediction, Preparation, SPEC, Scaling, Task, WEIGHTS,
    Weights, to_bytes,
};

use crate::common::{B, numbers};
use crate::run::{Data, any_of, apart};
use crate::samples::{Sample, all};

/// The mean of rows multiplies padding by 0, and 0 times NaN is NaN.
fn takes_nan(layers: &[LayerSpec]) -> bool {
    let mean = |layer: &LayerSpec| matches!(layer, LayerSpec::Pool(pool) if pool.over == Over::Mean);
    !any_of(layers, &mean)
}

#[test]
fn padding_changes_nothing() {
    for sample in all() {
        let data = sample.data();
        let wanted = sample.batch(&data, 8, 0.0);
        let mut paddings = vec![1.0, 1e6];
        paddings.extend(takes_nan(&sample.layers).then_some(f64::NAN));
        for padding in paddings {
            for trunk in [8, 9, 13] {
                assert_eq!(sample.batch(&data, trunk, padding), wanted, "{}, {trunk} rows, padding {padding}", sample.name);
            }
        }
    }
}

#[test]
fn the_order_of_cases_changes_nothing() {
    for sample in all() {
        let data = sample.data();
        let wanted = sample.batch(&data, 8, 0.0);
        let order = [(1, 5), (3, 8), (2, 3), (0, 1)];
        let seen = sample.batch(&data.pick(&order), 8, 0.0);
        for (seen, (b, _)) in seen.iter().zip(order) {
            assert_eq!(*seen, wanted[b], "{}", sample.name);
        }
    }
}

#[test]
fn the_size_of_a_batch_changes_nothing() {
    for sample in all() {
        let data = Data::new(&sample.input, &[1, 5, 3, 8, 2, 7, 7, 4, 6, 1, 8], 1);
        let together = sample.batch(&data, 8, 0.0);
        for (b, &length) in data.lengths().iter().enumerate() {
            let alone = sample.batch(&data.pick(&[(b, length)]), length, 0.0);
            let error = apart(&alone[0], &together[b]);
            assert!(error < 1e-6, "{}, series {b}: {error}", sample.name);
        }
    }
}

/// States and all gradients of a larger batch.
fn passed(sample: &Sample, data: &Data) -> Vec<Vec<f64>> {
    let mut network = sample.network::<B>();
    network.track(&sample.network::<Flex>());
    let out = network.forward(data.batch(data.longest(), 0.0, DType::F32), &data.context(DType::F32));
    let out = out.unwrap_or_else(|e| panic!("{}: {e}", sample.name)).values;
    let gradients = out.clone().square().sum().backward();
    let mut all = vec![numbers(out)];
    all.extend(network.gradients(&gradients).unwrap().into_iter().flatten().map(numbers));
    all
}

#[test]
fn threads_change_nothing() {
    let pools = [1, 2].map(|threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap());
    for sample in all() {
        if sample.network::<Flex>().parameters() == 0 {
            continue;
        }
        let _graph = ncde_layers::graph::lock();
        let lengths: Vec<usize> = (0..37).map(|i| 1 + i % 13).collect();
        let mut data = Data::new(&sample.input, &lengths, 1);
        if !sample.is_tokens() {
            data.rows.iter_mut().flatten().for_each(|x| *x *= 0.25);
        }
        let [one, two] = pools.each_ref().map(|pool| pool.install(|| passed(&sample, &data)));
        assert_eq!(one, two, "{}", sample.name);
    }
}

/// A model of these layers, on observations as they are.
fn spec(sample: &Sample) -> ModelSpec {
    let last = output(&sample.layers, &sample.input).unwrap();
    let names = |what: &str, count: usize| (0..count).map(|i| format!("{what} {i}")).collect::<Vec<_>>();
    let vocabulary = match sample.input.rows {
        Kind::Tokens { vocabulary } => Some(names("token", vocabulary)),
        _ => None,
    };
    let (channels, statics) = (sample.input.width(), sample.input.statics);
    let members = if let Some(LayerSpec::Parallel(last)) = sample.layers.last() { last.layers.len() } else { 1 };
    let classes = names("class", last.width() / members);
    ModelSpec {
        format: FORMAT,
        ncde: "test".into(),
        name: "layers".into(),
        weights: to_bytes(&sample.weights()).unwrap().1,
        channels: names("channel", channels),
        statics: names("static", statics),
        vocabulary,
        schema: None,
        task: Task::Classification { classes, at: if last.pooled { At::End } else { At::Steps } },
        threshold: None,
        trained: None,
        preparation: Preparation {
            channels: vec![Scaling::IDENTITY; channels],
            statics: vec![Scaling::IDENTITY; statics],
            time: None,
            missing: Missing::Refuse {},
        },
        layers: sample.layers.clone(),
    }
}

/// What a model says after each observation of each series.
fn predictions(model: &Model, data: &Data) -> Vec<Prediction> {
    let mut all = Vec::new();
    for b in 0..data.rows.len() {
        let mut series = model.start(&data.statics[b]).unwrap();
        for (values, &time) in data.rows[b].chunks(data.width).zip(&data.times[b]) {
            model.push(&mut series, time, values).unwrap();
            all.push(model.predict(&series).unwrap());
        }
    }
    all
}

#[test]
fn a_file_changes_no_bit() {
    let directory = tempfile::tempdir().unwrap();
    for sample in all() {
        let (spec, weights, data) = (spec(&sample), sample.weights(), sample.data());
        let (bytes, _) = to_bytes(&weights).unwrap();
        std::fs::write(directory.path().join(WEIGHTS), bytes).unwrap();
        std::fs::write(directory.path().join(SPEC), serde_json::to_string(&spec).unwrap()).unwrap();
        let mut read = Weights::read(directory.path().join(WEIGHTS), &spec.weights).unwrap();
        for NamedWeight { name, shape, values } in &weights {
            let bits = |values: &[f32]| values.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(&read.take(name, shape).unwrap()), bits(values), "{}", sample.name);
        }
        read.finish().unwrap();
        let loaded = Model::load(directory.path()).unwrap();
        assert_eq!(loaded.spec(), &spec);
        let kept = Model::new(spec, Weights::of(weights)).unwrap();
        assert_eq!(predictions(&loaded, &data), predictions(&kept, &data), "{}", sample.name);
    }
}
