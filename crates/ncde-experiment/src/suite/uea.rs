//! `uea`: six data sets of the UEA archive, for files that a user has: train and test file joined, 70/15/15, five seeds.
//!
//! Published: thesis, tables of UEA results. The settings are those its grid search selected, one for each data set.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use ncde_data::{Dataset, ReadOptions};
use ncde_train::Device;

use super::trained::{self, ACCURACY, MEMORY, STEPS, TIME, TOTAL, VALIDATION};
use crate::Error;
use crate::frontier::frontier;
use crate::plan::{Budget, Entry, Plan, Published, Request};
use crate::record::Record;
use crate::report::learning_curves;
use crate::table::{Mean, mean, names};

pub(super) const ENTRY: Entry = Entry {
    name: "uea",
    summary: "six data sets of the UEA archive: every structure, NCDE, NRDE, Log-NCDE, LRU, S5, S6, Mamba and a stack",
    needs: "--data DIR with NAME/NAME_TRAIN.ts and NAME/NAME_TEST.ts of some of the six, or NAME/NAME.npz with NAME/splits.json",
    settings: true,
    plan,
};

const SEEDS: [u64; 5] = [2345, 3456, 4567, 5678, 6789];

/// A data set.
#[derive(Debug, Clone, Copy)]
struct Set {
    name: &'static str,
    /// What log-signatures are multiplied with for linear models, in code and not in the text.
    log_scale: f64,
    /// Observations of a series, its channels without time, and classes.
    length: usize,
    channels: usize,
    classes: usize,
}

#[rustfmt::skip]
const SETS: [Set; 6] = [
    Set { name: "EigenWorms", log_scale: 1.0, length: 17984, channels: 6, classes: 5 },
    Set { name: "EthanolConcentration", log_scale: 1.0, length: 1751, channels: 3, classes: 4 },
    Set { name: "Heartbeat", log_scale: 0.1, length: 405, channels: 61, classes: 2 },
    Set { name: "MotorImagery", log_scale: 1.0, length: 3000, channels: 64, classes: 2 },
    Set { name: "SelfRegulationSCP1", log_scale: 1.0, length: 896, channels: 6, classes: 2 },
    Set { name: "SelfRegulationSCP2", log_scale: 1.0, length: 1152, channels: 7, classes: 2 },
];

/// What the thesis's search selected for a neural CDE on a data set: rate, states, whether time is a channel, hidden layers and width of the field, depth and step of the Log-ODE, penalty.
type Neural = (f64, usize, bool, [usize; 2], [usize; 2], f64);

/// The same in the order of the sets. Linear models took over what was selected for the Log-NCDE.
const LOG_NCDE: [Neural; 6] = [
    (1e-3, 128, true, [2, 32], [2, 12], 1e-3),
    (1e-4, 64, true, [3, 64], [1, 1], 1e-6),
    (1e-3, 16, true, [3, 128], [2, 2], 1e-6),
    (1e-3, 16, false, [3, 64], [2, 16], 1e-3),
    (1e-4, 64, false, [3, 128], [2, 16], 0.0),
    (1e-4, 128, false, [2, 32], [2, 4], 1e-3),
];
const NRDE: [Neural; 6] = [
    (1e-3, 64, false, [3, 64], [2, 4], 0.0),
    (1e-3, 64, true, [4, 128], [1, 1], 0.0),
    (1e-3, 64, false, [3, 128], [2, 2], 0.0),
    (1e-4, 128, false, [4, 128], [1, 1], 0.0),
    (1e-3, 64, true, [4, 128], [1, 1], 0.0),
    (1e-4, 128, true, [4, 128], [1, 1], 0.0),
];
const NCDE: [Neural; 6] = [
    (1e-3, 128, true, [3, 128], [1, 1], 0.0),
    (1e-3, 128, true, [4, 128], [1, 1], 0.0),
    (1e-3, 128, true, [4, 128], [1, 1], 0.0),
    (1e-3, 16, true, [4, 128], [1, 1], 0.0),
    (1e-4, 128, false, [4, 128], [1, 1], 0.0),
    (1e-3, 128, false, [4, 128], [1, 1], 0.0),
];

/// What it selected for a stacked model: rate, whether time is a channel, numbers between blocks, blocks, states; of Mamba also the rows of its convolution and the factor of its width.
type Stacked = (f64, bool, usize, usize, usize, [usize; 2]);

const LRU: [Stacked; 6] = [
    (1e-3, false, 64, 4, 64, [0, 0]),
    (1e-5, true, 64, 6, 16, [0, 0]),
    (1e-4, true, 128, 2, 256, [0, 0]),
    (1e-3, false, 16, 6, 256, [0, 0]),
    (1e-3, false, 64, 2, 16, [0, 0]),
    (1e-3, true, 64, 2, 16, [0, 0]),
];
/// Of its states one of each conjugate pair is held.
const S5: [Stacked; 6] = [
    (1e-4, true, 64, 2, 8, [0, 0]),
    (1e-5, true, 128, 2, 8, [0, 0]),
    (1e-3, false, 128, 4, 8, [0, 0]),
    (1e-3, false, 16, 6, 32, [0, 0]),
    (1e-3, false, 128, 6, 8, [0, 0]),
    (1e-4, true, 16, 2, 32, [0, 0]),
];
const S6: [Stacked; 6] = [
    (1e-3, false, 16, 4, 64, [0, 0]),
    (1e-5, true, 16, 4, 16, [0, 0]),
    (1e-3, true, 16, 4, 16, [0, 0]),
    (1e-3, true, 16, 4, 256, [0, 0]),
    (1e-4, false, 64, 2, 16, [0, 0]),
    (1e-3, false, 16, 2, 256, [0, 0]),
];
const MAMBA: [Stacked; 6] = [
    (1e-3, true, 16, 6, 64, [2, 1]),
    (1e-3, true, 64, 4, 256, [4, 4]),
    (1e-4, false, 64, 4, 256, [2, 4]),
    (1e-5, false, 128, 2, 64, [3, 1]),
    (1e-5, false, 128, 2, 16, [4, 1]),
    (1e-4, true, 64, 6, 64, [2, 2]),
];

/// Published means and deviations in percent, in the order of the sets.
type Known = [[f64; 2]; 6];

#[rustfmt::skip]
const MODELS: [(&str, Option<Known>); 16] = [
    ("block", Some([[86.1, 3.6], [28.6, 6.4], [77.4, 5.6], [53.0, 2.1], [84.9, 1.9], [54.0, 7.4]])),
    ("log-ncde", Some([[85.6, 5.1], [34.4, 6.4], [75.2, 4.7], [53.7, 5.3], [83.1, 2.9], [53.7, 4.1]])),
    ("diagonal-dense", Some([[85.6, 6.0], [27.3, 6.9], [73.9, 3.8], [54.7, 3.5], [84.7, 3.7], [51.6, 5.0]])),
    ("walsh-hadamard", Some([[85.0, 6.0], [30.1, 4.8], [76.1, 5.9], [49.5, 6.8], [82.4, 2.2], [51.9, 5.4]])),
    ("dplr", Some([[84.4, 5.2], [27.6, 4.7], [74.2, 5.4], [51.6, 5.8], [83.5, 2.2], [50.9, 5.8]])),
    ("diagonal", Some([[79.4, 5.8], [27.1, 4.6], [72.9, 5.1], [54.4, 6.3], [83.5, 2.2], [53.0, 5.9]])),
    ("sparse", Some([[87.8, 4.2], [30.4, 6.7], [72.6, 5.5], [47.7, 2.4], [82.8, 1.6], [49.5, 4.0]])),
    ("dense", Some([[88.3, 3.7], [25.8, 4.1], [74.2, 4.5], [49.8, 5.3], [81.9, 4.0], [49.8, 2.4]])),
    ("ncde", Some([[75.0, 4.0], [29.9, 6.6], [73.9, 2.6], [49.5, 2.9], [79.8, 5.7], [53.0, 2.9]])),
    ("nrde", Some([[83.9, 7.3], [25.3, 1.8], [72.9, 4.9], [47.0, 5.8], [80.9, 2.6], [53.7, 6.9]])),
    ("lru", Some([[87.8, 2.9], [21.5, 2.2], [78.4, 6.7], [48.4, 5.1], [82.6, 3.5], [51.2, 3.6]])),
    ("s5", Some([[81.1, 3.7], [24.1, 4.4], [77.7, 5.6], [47.7, 5.5], [89.9, 4.7], [50.5, 2.6]])),
    ("s6", Some([[85.0, 16.1], [26.4, 6.5], [76.5, 8.3], [51.3, 4.8], [82.8, 2.8], [49.9, 9.5]])),
    ("mamba", Some([[70.9, 15.9], [27.9, 4.6], [76.2, 3.9], [47.7, 4.5], [80.7, 1.4], [48.2, 4.0]])),
    (LINEAR, None),
    ("stack", None),
];

/// The Linear NCDE that the thesis compares on `EigenWorms` alone: its drive is the integral of the values, its settings are those of the NCDE.
const LINEAR: &str = "linear-ncde";
const PUBLISHED_LINEAR: [f64; 2] = [87.2, 5.2];

/// The models that `quick` trains.
const QUICK: [&str; 3] = ["block", "diagonal", "log-ncde"];

/// The settings of a model on data set `i`.
fn settings(budget: Budget, model: &str, i: usize) -> String {
    let stacked = match model {
        "lru" => Some(LRU[i]),
        "s5" => Some(S5[i]),
        "s6" => Some(S6[i]),
        "mamba" => Some(MAMBA[i]),
        _ => None,
    };
    let of_neural = match model {
        "ncde" | LINEAR => NCDE[i],
        "nrde" => NRDE[i],
        _ => LOG_NCDE[i],
    };
    let (mut rate, hidden, mut time, [layers, width], [depth, window], mut penalty) = of_neural;
    let neural = ["ncde", "nrde", "log-ncde"].contains(&model);
    let plain = "norm = false\nskip = false\nhead_layers = 0\n";
    let Set { length, classes, log_scale, .. } = SETS[i];
    let body = match (model, stacked) {
        (_, Some((own_rate, own_time, hidden, blocks, states, [convolution, expand]))) => {
            (rate, time, penalty) = (own_rate, own_time, 0.0);
            let dropout = if model == "s5" { 0.05 } else { 0.1 };
            let of_mamba =
                if model == "mamba" { format!("convolution = {convolution}\nexpand = {expand}\n") } else { String::new() };
            format!(
                "name = \"{model}\"\nhidden = {hidden}\nblocks = {blocks}\nstates = {states}\n{of_mamba}real_gaps = false\ndropout = {dropout}\nreadout = \"mean\"\n"
            )
        }
        // No published row: flows that never expand, as is the default. Free ones of first order overflow in the first steps on all of these.
        ("stack", _) => format!("name = \"stack\"\nmembers = 1\nhidden = {hidden}\nreadout = \"mean\"\n"),
        // Time lasts 1 in all, and is a channel of the integral.
        (LINEAR, _) => {
            time = false;
            format!(
                "[[model.layers]]\nlayer = \"linear-cde\"\nhidden = {hidden}\nstructure = {{ kind = \"dense\" }}\ndrive = {{ kind = \"values\", time = true }}\n\
                 initial = \"first\"\ntransition = \"euler\"\nscale = {}\n\
                 [[model.layers]]\nlayer = \"pool\"\nover = \"mean\"\n[[model.layers]]\nlayer = \"linear\"\noutputs = {classes}\n",
                1.0 / length as f64
            )
        }
        (model, _) if neural => {
            // As many steps as published at least: a window, of the NCDE one step of the series, is solved in its share of 500.
            let steps = 500_usize.div_ceil(length.div_ceil(window));
            let windows = if model == "ncde" { String::new() } else { format!("depth = {depth}\nwindow = {window}\n") };
            format!(
                "name = \"{model}\"\nhidden = {hidden}\nfield_layers = {layers}\nfield_width = {width}\n{windows}solver_steps = {steps}\n\
                 readout = \"last\"\n{plain}"
            )
        }
        (structure, _) => {
            // All brackets of diagonal matrices vanish, so published ones have depth 1.
            let depth = if structure == "diagonal" { 1 } else { depth };
            let size = trained::structured(structure, hidden);
            format!(
                "name = \"slice\"\nstructure = \"{structure}\"\n{size}init = 0.25\nlog_scale = {log_scale}\ntransition = \"euler\"\nhidden = {hidden}\n\
                 depth = {depth}\nwindow = {window}\ninput = false\nforget = false\nreadout = \"mean\"\n{plain}"
            )
        }
    };
    let every = if neural { 100 } else { 1000 };
    // Published: until more than ten looks in a row bring nothing.
    let [steps, every, patience] = budget.of([300, 100, 0], [100_000, every, 11 * every]);
    // Published rows of these are the runs of 2024, which drew other parts for the same seeds.
    let of_2024 = neural || stacked.is_some();
    let (scale, split) = if of_2024 { ("none", "thesis-jax-0.4") } else { ("min-max", "thesis-jax-0.5") };
    format!(
        "[data]\nsplit = \"{split}\"\ndeduplicate = true\n[prepare]\nscale = \"{scale}\"\ntime = {time}\n[model]\n{body}[train]\nsteps = {steps}\n\
         batch = 32\nrate = {}\nschedule = \"constant\"\noptimizer = \"adam\"\nclip = 0.0\nevaluate_every = {every}\npatience = {patience}\npenalty = {penalty}\n\
         metric = \"accuracy\"\n",
        budget.of(10.0_f64.min(1e-3 / rate) * rate, rate),
    )
}

/// A data set as far as its numbers do not matter, and a model on it: what a timing of a training step needs.
#[expect(missing_docs, reason = "the names say what the fields are")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shape {
    pub name: &'static str,
    /// Observations of a series.
    pub length: usize,
    pub channels: usize,
    pub classes: usize,
    /// The published settings of preparation and model, as `TABLE.KEY=VALUE`.
    pub settings: Vec<String>,
}

/// The six data sets, with the settings of a model on each.
pub fn uea_shapes(model: &str) -> Vec<Shape> {
    let of = |(i, set): (usize, &Set)| {
        let (text, mut table, mut settings) = (settings(Budget::Paper, model, i), String::new(), Vec::new());
        for line in text.lines() {
            if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
                name.clone_into(&mut table);
            } else if let Some((key, value)) = line.split_once(" = ").filter(|_| table == "prepare" || table == "model") {
                settings.push(format!("{table}.{key}={}", value.trim_matches('"')));
            }
        }
        Shape { name: set.name, length: set.length, channels: set.channels, classes: set.classes, settings }
    };
    SETS.iter().enumerate().map(of).collect()
}

fn plan(request: &Request) -> Result<Plan, Error> {
    let budget = request.budget;
    let Some(directory) = &request.data else {
        return Err(missing("no directory of data sets was given"));
    };
    let present: Vec<(usize, Set, Files)> =
        SETS.iter().enumerate().filter_map(|(i, set)| Some((i, *set, Files::of(directory, set.name)?))).collect();
    if present.is_empty() {
        return Err(missing(&format!("`{}` holds none of the six data sets", directory.display())));
    }
    let chosen =
        present.iter().filter(|(_, set, _)| request.tasks.is_empty() || request.tasks.iter().any(|task| task == set.name));
    if let Some(split) = request.split.as_ref().filter(|split| !split.is_dir() && chosen.count() > 1) {
        return Err(Error::Refused(format!(
            "`--split {}` is one file of parts, and there are several data sets; choose one (`--task NAME`), or give a directory with NAME/splits.json for each",
            split.display()
        )));
    }
    let (mut jobs, mut published) = (Vec::new(), Vec::new());
    for (model, known) in MODELS {
        for (i, set, files) in &present {
            let known = if model == LINEAR { (*i == 0).then_some(PUBLISHED_LINEAR) } else { known.map(|known| known[*i]) };
            if let Some([mean, deviation]) = known {
                let (mean, deviation) = (mean / 100.0, Some(deviation / 100.0));
                published.push(Published { model, task: set.name, metric: ACCURACY.name, mean, deviation });
            }
            if !request.wants(model, &QUICK) {
                continue;
            }
            for seed in request.seeds(&SEEDS) {
                let mut config = trained::config(&settings(budget, model, *i), &[])?;
                let parts = files.parts(request.split.as_deref(), set.name)?;
                let in_parts = parts.is_some();
                if in_parts {
                    let data = &mut config.data;
                    (data.parts, data.split, data.deduplicate) = (parts, Some(ncde_train::SplitBy::Parts), None);
                }
                let files = files.clone();
                let data = Rc::new(move || files.read(in_parts));
                jobs.push(trained::job((model.into(), set.name.into(), seed), (config, request), None, data)?);
            }
        }
    }
    Ok(Plan {
        title: format!("UEA archive ({budget})"),
        differences: differences(budget, request.device),
        jobs,
        metrics: vec![ACCURACY, TIME, STEPS, TOTAL, MEMORY],
        published,
        compared: true,
        figures: |records| {
            let mut all = vec![frontier(records, &ACCURACY, &TIME, Some(&MEMORY))];
            all.extend(learning_curves(records, "validation", &VALIDATION));
            all
        },
        findings,
    })
}

/// Where a data set lies.
#[derive(Debug, Clone)]
enum Files {
    /// A file to train on and one to test on, as in the archive.
    Two([PathBuf; 2]),
    /// All cases in one file, and the file of parts beside it.
    One(PathBuf, Option<PathBuf>),
}

impl Files {
    /// The files of a data set, if they are there.
    fn of(directory: &Path, name: &str) -> Option<Self> {
        let places = [directory.join(name), directory.to_path_buf()];
        let file = |name: &str| {
            let mut all = places.iter().map(|place| place.join(name)).filter(|path| path.is_file());
            all.next()
        };
        let part = |part: &str| ["ts", "ts.gz", "arff"].iter().find_map(|ending| file(&format!("{name}_{part}.{ending}")));
        if let (Some(train), Some(test)) = (part("TRAIN"), part("TEST")) {
            return Some(Self::Two([train, test]));
        }
        let one = file(&format!("{name}.npz"))?;
        let beside = one.with_file_name("splits.json");
        Some(Self::One(one, beside.is_file().then_some(beside)))
    }

    /// The file of parts: that which was asked for, or which lies beside one file of all cases.
    fn parts(&self, asked: Option<&Path>, name: &str) -> Result<Option<PathBuf>, Error> {
        match (asked, self) {
            (Some(directory), _) if directory.is_dir() => {
                let places = [directory.join(name).join("splits.json"), directory.join(format!("{name}.json"))];
                let found = places.into_iter().find(|path| path.is_file());
                found.map(Some).ok_or_else(|| Error::Data {
                    problem: format!("`{}` holds no parts of {name}", directory.display()),
                    help: format!("Expected: {name}/splits.json or {name}.json in it, as `{{\"SEED\": {{\"val\": [...], \"test\": [...]}}}}`."),
                })
            }
            (Some(file), _) => Ok(Some(file.to_path_buf())),
            (None, Self::One(_, beside)) => Ok(beside.clone()),
            (None, Self::Two(_)) => Ok(None),
        }
    }

    /// The cases. Where parts are listed they lie in one row, copies removed.
    fn read(&self, in_parts: bool) -> Result<trained::Data, Error> {
        let read = |path: &Path| -> Result<Dataset, Error> { Ok(ncde_data::load(path, &ReadOptions::default())?.data) };
        Ok(match self {
            Self::One(path, _) => trained::Data::Files(read(path)?, None),
            Self::Two([train, test]) if in_parts => {
                let (train, test) = (read(train)?, read(test)?);
                let test = test.aligned(&train.schema())?;
                trained::Data::Files(train.concat(test)?.without_duplicates().0, None)
            }
            Self::Two([train, test]) => trained::Data::Files(read(train)?, Some(read(test)?)),
        })
    }
}

fn missing(problem: &str) -> Error {
    let names = SETS.map(|set| set.name).join(", ");
    Error::Data {
        problem: problem.into(),
        help: format!(
            "Give it with `--data DIR`. Expected: DIR/NAME/NAME_TRAIN.ts and DIR/NAME/NAME_TEST.ts (or .arff, or .ts.gz), or all cases in DIR/NAME/NAME.npz with their parts in DIR/NAME/splits.json, NAME one of {names}. They are in the \
             multivariate archive of https://timeseriesclassification.com (Multivariate2018_ts.zip); one data set is enough."
        ),
    }
}

fn differences(budget: Budget, device: Device) -> Vec<String> {
    let place = if device == Device::Cpu { "processor" } else { "GPU" };
    let mut all = vec![
        "Settings are those that the published search selected for each model; its grid is not searched again. LRU, S5, S6 and Mamba have layer norms where the published \
         blocks have batch norms (LRU, S5), silu where they have gelu, and no dropout inside a block; LRU begins with radii from 0.9 to 0.999 and angles up to pi/10 (published: 0 to 1, 2 pi), S5 with the frequencies of S4D-Inv."
            .to_owned(),
        "Parts are those that the thesis's code draws for the seed: that of 2024 for NCDE, NRDE, Log-NCDE, LRU, S5, S6 and Mamba (original Threefry; the published S6 and Mamba drew theirs by PyTorch), that of 2025 for all others (partitionable Threefry), \
         as their published rows; others with `--split`. A data set in one .npz has \
         those of the splits.json beside it, and where some of its cases are missing it is trained on fewer."
            .into(),
        "A window sees its own observations alone: the published last window of some data sets begins with an observation of another series. It is solved in a whole number of steps, \
         such that a series has 500 or more: the NCDE of Heartbeat has 808, where 500 were published."
            .into(),
        "Diagonals of walsh-hadamard are unbounded, as in the published code; the text bounds them (`--set bound=tanh`).".into(),
        "linear-ncde is driven by time and the integral of the values at the left of every step, as the text has it for EigenWorms; all other linear models, the Log-Linear NCDE (dense) among them, \
         by the path itself, as the published code has it."
            .into(),
        "Channels are scaled by the training part alone; published by all parts together. Linear models on Heartbeat take log-signatures divided by 10, as the \
         published code does."
            .into(),
        "The weights with the best validation accuracy are tested; published: the last ones at which it was at least the best.".into(),
        "Memory is the peak of the process while it trains, the data included, or on a GPU what this and earlier runs of the process reserved; published, on an H100: block 2344 MB on average, diagonal \
         1875, Log-NCDE 2177."
            .into(),
        format!("Time is that of this machine's {place}; published times are of an H100: block 68.1 s for 1000 steps on average, diagonal 11.0, Log-NCDE 1322."),
    ];
    if budget == Budget::Quick {
        all.push(format!(
            "Cut: {} alone (others with `--model`), 300 steps instead of up to 100,000 until eleven looks bring nothing, rates of 1e-4 raised to 1e-3. One seed.",
            QUICK.join(", ")
        ));
    }
    all
}

fn findings(records: &[Record]) -> Vec<String> {
    let tasks = names(records, |record| &record.task);
    let one = |model: &str| {
        let all: Option<Vec<f64>> = tasks.iter().map(|task| Some(mean(records, model, task, ACCURACY.name)?.mean)).collect();
        let own = Mean::of(&all?)?;
        Some(format!("{model}: {:.1} % on average over {} data sets.", 100.0 * own.mean, own.seeds))
    };
    names(records, |record| &record.model).into_iter().filter_map(one).collect()
}
