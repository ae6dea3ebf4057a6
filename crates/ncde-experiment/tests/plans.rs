//! The plans of all experiments, and short runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ncde_experiment::token::{
    A5, Around, Fit, Flow, Formal, Language, Lengths, Rates, Row, Slice, WordSource, accuracy, curve, fit,
};
use ncde_experiment::{Budget, Control, EXPERIMENTS, Error, Request, find};
use ncde_runtime::layer::{PermutationDiagonal, StructureSpec};
use ncde_train::{Device, FitRequest};

#[test]
fn every_experiment_has_a_plan_at_every_budget() {
    for entry in EXPERIMENTS.iter().filter(|entry| entry.name != "uea") {
        for (name, budget) in Budget::ALL.iter().filter(|(name, _)| (entry.name, *name) != ("ppg", "paper")) {
            let plan = entry.plan(&Request::new(*budget)).unwrap();
            assert!(!plan.jobs.is_empty() && !plan.metrics.is_empty(), "{} {name}", entry.name);
            // One directory a run.
            let mut places: Vec<String> =
                plan.jobs.iter().map(|job| format!("{}/{}/{}", job.model, job.task, job.seed)).collect();
            places.sort();
            let all = places.len();
            places.dedup();
            assert_eq!(places.len(), all, "{} {name}", entry.name);
            assert!(plan.jobs.iter().all(|job| !job.model.contains('/') && !job.task.contains('/')));
            // What was cut is said.
            assert!(
                *budget == Budget::Paper || entry.name == "lip" || plan.differences.iter().any(|line| line.starts_with("Cut: "))
            );
        }
    }
}

#[test]
fn published_values_are_of_models_and_tasks_that_are_run() {
    for entry in EXPERIMENTS.iter().filter(|entry| !["uea", "ppg"].contains(&entry.name)) {
        let plan = entry.plan(&Request::new(Budget::Paper)).unwrap();
        for known in &plan.published {
            assert!(plan.jobs.iter().any(|job| job.model == known.model && job.task == known.task), "{} {known:?}", entry.name);
            assert!(plan.metrics.iter().any(|metric| metric.name == known.metric), "{} {known:?}", entry.name);
        }
    }
}

#[test]
fn models_and_tasks_can_be_chosen_and_misspellings_are_told() {
    let entry = find(EXPERIMENTS, "formal").unwrap();
    let request = Request {
        models: vec!["dplr-57-4".into()],
        tasks: vec!["parity".into()],
        seeds: Some("2".parse().unwrap()),
        ..Request::new(Budget::Quick)
    };
    let plan = entry.plan(&request).unwrap();
    assert_eq!(plan.jobs.len(), 2);
    let short = entry.plan(&Request { steps: Some(7), ..request.clone() }).unwrap();
    assert_eq!(short.jobs[0].settings["training"]["steps"], 7);
    assert!(short.differences.last().unwrap().contains("At most 7 steps"), "{:?}", short.differences);
    let wrong = Request { tasks: vec!["party".into()], ..request };
    let message = entry.plan(&wrong).unwrap_err().to_string();
    assert!(message.contains("`formal` has no task `party`") && message.contains("`parity`"), "{message}");
    let message = find(EXPERIMENTS, "a6").unwrap_err().to_string();
    assert!(message.contains("`a6`") && message.contains("`a5`"), "{message}");
}

#[test]
fn settings_can_be_changed_where_a_run_has_them() {
    let of = |name: &str, model: &str, set: &[&str]| {
        let (models, set) = (vec![model.into()], set.iter().map(|&own| own.into()).collect());
        let request = Request { models, set, ..Request::new(Budget::Quick) };
        find(EXPERIMENTS, name).unwrap().plan(&request)
    };
    let keys = ["hidden=16", "recurrence.scores=2", "structure.recurrence.sharpness=5", "block=readout", "peak=0.5"];
    let plan = of("formal", "permutation-diagonal", &keys).unwrap();
    let own = &plan.jobs[0].settings;
    let recurrence = &own["structure"]["recurrence"];
    assert_eq!((&recurrence["hidden"], &recurrence["scores"], &recurrence["sharpness"]), (&16.into(), &2.0.into(), &5.0.into()));
    assert_eq!((&own["structure"]["block"], &own["training"]["rates"]["peak"]), (&"readout".into(), &0.5.into()));
    assert_eq!((&own["hidden"], &own["training"]["seed"]), (&16.into(), &plan.jobs[0].seed.into()));
    assert!(plan.differences.last().unwrap().contains("recurrence.scores=2"), "{:?}", plan.differences);
    let series = of("toy", "nrde", &["train.rate=0.125"]).unwrap();
    assert!(series.jobs[0].settings.as_str().unwrap().contains("rate = 0.125"));
    let told = |name, model, set| of(name, model, &[set]).unwrap_err().to_string();
    assert!(told("formal", "block-64-8", "recurrence.scores=2").contains("there is no such key; there are `hidden`"));
    assert!(told("formal", "block-64-8", "training.seed=2").contains("seed"), "records are known by their seed");
    assert!(told("formal", "block-64-8", "structure.rank=2").contains("rank"));
    assert!(told("formal", "block-64-8", "dropout=much").contains("much"));
    assert!(told("lip", "3 layers", "rate=1").contains("`lip` has no settings to change"));
}

#[test]
fn missing_data_say_where_to_get_them() {
    let entry = find(EXPERIMENTS, "uea").unwrap();
    let folder = tempfile::tempdir().unwrap();
    for data in [None, Some(folder.path().to_path_buf())] {
        let error = entry.plan(&Request { data, ..Request::new(Budget::Quick) }).unwrap_err();
        let message = error.to_string();
        assert!(matches!(error, Error::Data { .. }));
        assert!(message.contains("timeseriesclassification.com") && message.contains("NAME_TRAIN.ts"), "{message}");
    }
    let own = folder.path().join("Heartbeat");
    std::fs::create_dir(&own).unwrap();
    ["TRAIN", "TEST"].iter().for_each(|part| std::fs::write(own.join(format!("Heartbeat_{part}.ts")), "").unwrap());
    let data = Some(folder.path().to_path_buf());
    let plan = entry.plan(&Request { data, ..Request::new(Budget::Paper) }).unwrap();
    assert!(plan.jobs.iter().all(|job| job.task == "Heartbeat") && plan.jobs.len() == 16 * 5);
}

#[test]
fn parts_are_those_of_a_file_beside_one_array_or_those_that_are_given() {
    let entry = find(EXPERIMENTS, "uea").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let place = |path: &str| {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, "").unwrap();
        path
    };
    ["TRAIN", "TEST"].iter().for_each(|part| drop(place(&format!("Heartbeat/Heartbeat_{part}.ts"))));
    place("EthanolConcentration/EthanolConcentration.npz");
    let beside = place("EthanolConcentration/splits.json");
    let request = Request { data: Some(folder.path().into()), models: vec!["block".into()], ..Request::new(Budget::Quick) };
    let settings = |request: &Request| -> Vec<(String, String)> {
        let plan = entry.plan(request).unwrap();
        plan.jobs.iter().map(|job| (job.task.clone(), job.settings.as_str().unwrap().to_owned())).collect()
    };
    let own = settings(&request);
    assert!(own[0].0 == "EthanolConcentration" && own[0].1.contains(&format!("parts = \"{}\"", beside.display())), "{own:?}");
    assert!(own[0].1.contains("split = \"parts\"") && !own[0].1.contains("deduplicate = true"), "{own:?}");
    assert!(
        own[1].0 == "Heartbeat" && own[1].1.contains("split = \"thesis-jax-0.5\"") && own[1].1.contains("deduplicate = true")
    );
    // The Linear NCDE is a list of layers, of which the drive is the integral of the values over a time of 1.
    let linear = settings(&Request { models: vec!["linear-ncde".into()], tasks: vec!["Heartbeat".into()], ..request.clone() });
    let is_integral = linear[0].1.contains("kind = \"values\"") && linear[0].1.contains("scale = 0.00246");
    assert!(linear.len() == 1 && is_integral && linear[0].1.contains("thesis-jax-0.5"), "{linear:?}");
    // At least 500 steps, as published.
    let ncde = settings(&Request { models: vec!["ncde".into()], tasks: vec!["Heartbeat".into()], ..request.clone() });
    assert!(ncde[0].1.contains("solver_steps = 2"), "{ncde:?}");
    // Published Log-NCDEs are those of 2024, whose code drew other parts.
    let neural = settings(&Request { models: vec!["log-ncde".into()], tasks: vec!["Heartbeat".into()], ..request.clone() });
    assert!(neural.len() == 1 && neural[0].1.contains("split = \"thesis-jax-0.4\""), "{neural:?}");
    // One file is for one data set; a directory has one for each.
    let file = place("parts.json");
    let split = |path: &std::path::Path| Request { split: Some(path.into()), ..request.clone() };
    let message = entry.plan(&split(&file)).unwrap_err().to_string();
    assert!(message.contains("several data sets") && message.contains("--task NAME"), "{message}");
    let one = settings(&Request { tasks: vec!["Heartbeat".into()], ..split(&file) });
    assert!(one.len() == 1 && one[0].1.contains("parts.json"), "{one:?}");
    let message = entry.plan(&split(folder.path())).unwrap_err().to_string();
    assert!(message.contains("holds no parts of Heartbeat") && message.contains("Heartbeat/splits.json"), "{message}");
    place("Heartbeat/splits.json");
    assert!(settings(&split(folder.path())).iter().all(|(task, own)| own.contains(&format!("{task}/splits.json"))));
}

#[test]
fn recordings_that_are_missing_say_where_to_get_them_or_are_drawn() {
    let entry = find(EXPERIMENTS, "ppg").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let none = Request::new(Budget::Paper);
    let empty = Request { data: Some(folder.path().into()), ..Request::new(Budget::Quick) };
    for request in [&none, &empty] {
        let message = entry.plan(request).unwrap_err().to_string();
        assert!(message.contains("archive.ics.uci.edu") && message.contains("S1/S1.pkl"), "{message}");
    }
    let drawn = entry.plan(&Request::new(Budget::Quick)).unwrap();
    assert!(drawn.published.is_empty() && drawn.differences.iter().any(|line| line.starts_with("DRAWN DATA")));
    assert!(drawn.jobs.iter().all(|job| job.task == "heart-rate-drawn"));
    for person in [1, 2, 15] {
        let own = folder.path().join(format!("PPG_FieldStudy/S{person}"));
        std::fs::create_dir_all(&own).unwrap();
        std::fs::write(own.join(format!("S{person}.pkl")), "").unwrap();
    }
    let plan = entry.plan(&Request { data: Some(folder.path().into()), ..Request::new(Budget::Paper) }).unwrap();
    assert!(plan.jobs.len() == 12 * 5 && plan.published.len() == 7 && plan.jobs.iter().all(|job| job.task == "heart-rate"));
    assert_eq!(plan.jobs[0].settings["data"]["people"], serde_json::json!(["S1", "S2", "S15"]));
    // What cannot be read is told by its file.
    let stop = Arc::new(AtomicBool::new(false));
    let mut say = |_: &str, _: f64| {};
    let out = folder.path().join("run");
    let error = (plan.jobs[0].work)(&mut Control { device: Device::Cpu, stop: &stop, directory: &out, say: &mut say })
        .unwrap_err()
        .to_string();
    assert!(error.contains("S1.pkl") && error.contains("ends at byte 0"), "{error}");
}

#[test]
fn a_short_run_on_drawn_recordings() {
    let entry = find(EXPERIMENTS, "ppg").unwrap();
    let plan = entry.plan(&Request { models: vec!["diagonal".into()], ..Request::new(Budget::Quick) }).unwrap();
    let (stop, folder) = (Arc::new(AtomicBool::new(false)), tempfile::tempdir().unwrap());
    let mut stop_soon = {
        let stop = stop.clone();
        move |words: &str, _: f64| stop.store(words.starts_with("step 2 "), Ordering::Relaxed)
    };
    let seen =
        (plan.jobs[0].work)(&mut Control { device: Device::Cpu, stop: &stop, directory: folder.path(), say: &mut stop_soon })
            .unwrap();
    assert!(seen.is_none() && folder.path().join("parts.json").exists());
}

#[test]
fn training_on_words_is_a_function_of_its_seed() {
    let source = A5::new(Lengths::One(3), 20, 1234, 5);
    let row = Row::new("block", 16, StructureSpec::Block { block: 4 });
    let slice = Slice { blocks: 1, scale: 0.2, init: 1.0, dropout: 0.1, flow: Flow::Euler };
    let (layers, signal) = slice.layers(&row, &source).unwrap();
    let how = |seed| Fit {
        steps: 12,
        rates: Rates { peak: 1e-2, floor: 1e-5, warmup: 0.1 },
        decay: 0.01,
        clip: 1.0,
        penalty: 1e-3,
        look: 5,
        held_out: 50,
        enough: 0.9,
        seed,
    };
    let (stop, folder) = (AtomicBool::new(false), tempfile::tempdir().unwrap());
    let train = |seed, identity: Option<&str>, on: &mut dyn FnMut(usize)| {
        let (how, plan) = (how(seed), how(seed).plan());
        let request = FitRequest {
            stop: Some(&stop),
            directory: identity.map(|_| folder.path()),
            identity: identity.unwrap_or_default(),
            ..FitRequest::new(&layers, &signal, &plan)
        };
        let mut last = 0;
        fit(&request, &source, how.held_out, &mut |step, _, _| {
            if std::mem::replace(&mut last, step) != step {
                on(step);
            }
        })
    };
    let alone = |seed| train(seed, None, &mut |_| {}).unwrap();
    let (once, again, other) = (alone(5), alone(5), alone(6));
    assert_eq!(curve(&once).iter().map(|point| point[0]).collect::<Vec<_>>(), [5.0, 10.0, 12.0]);
    assert!(curve(&once) == curve(&again) && once.network.weights() == again.network.weights());
    assert_ne!(once.network.weights(), other.network.weights());
    // One that is stopped goes on to the same weights; with another identity nothing is written over.
    assert!(train(5, Some("a"), &mut |step| stop.store(step == 7, Ordering::Relaxed)).unwrap().reason.is_none());
    let refused = train(5, Some("b"), &mut |_| {}).unwrap_err().to_string();
    assert!(refused.contains("of a training with other settings; remove it"), "{refused}");
    stop.store(false, Ordering::Relaxed);
    let mut steps = 0;
    let rest = train(5, Some("a"), &mut |_| steps += 1).unwrap();
    assert_eq!((steps, curve(&rest), rest.network.weights()), (5, curve(&once), once.network.weights()));
    // The accuracy does not depend on which words share a pass.
    let words: Vec<_> = (0..50).map(|i| source.held_out(i)).collect();
    let one_by_one: f64 = words.iter().map(|word| accuracy(&*once.network, std::slice::from_ref(word)).unwrap()).sum();
    assert!((accuracy(&*once.network, &words).unwrap() - one_by_one / 50.0).abs() < 1e-12);
    assert_eq!(curve(&once)[2][1], accuracy(&*once.network, &words).unwrap());
}

/// A choice is learned through: trained on words up to 20, parity of words of 40 to 256.
#[test]
fn permutations_learn_parity() {
    let source = Formal { language: Language::Parity, batch: 64, seed: 0, train: [3, 20], held_out: [40, 256] };
    let row = Row::permutation("permutation-diagonal", PermutationDiagonal::new(32, 8), Around::Skips);
    let slice = Slice { blocks: 2, scale: 0.05, init: 0.3, dropout: 0.0, flow: Flow::Euler };
    let (layers, signal) = slice.layers(&row, &source).unwrap();
    let rates = Rates { peak: 5e-3, floor: 1e-5, warmup: 0.05 };
    let how = Fit { steps: 1000, rates, decay: 0.01, clip: 1.0, penalty: 0.0, look: 100, held_out: 64, enough: 0.98, seed: 0 };
    let plan = how.plan();
    let fitted = fit(&FitRequest::new(&layers, &signal, &plan), &source, how.held_out, &mut |_, _, _| {}).unwrap();
    assert!(curve(&fitted).last().unwrap()[1] > 0.98, "{:?}", curve(&fitted));
}

/// Settings of timings are those of the experiment, and settings of training.
#[test]
fn published_settings_can_be_set() {
    for model in ["block", "diagonal", "dense", "log-ncde", "nrde", "ncde"] {
        let shapes = ncde_experiment::uea_shapes(model);
        assert_eq!(shapes.len(), 6);
        for shape in shapes {
            let mut config = ncde_train::Config::default();
            shape.settings.iter().for_each(|setting| config.set(setting).unwrap());
            assert!(shape.settings.iter().any(|setting| setting.starts_with("model.hidden=")), "{shape:?}");
        }
    }
}
