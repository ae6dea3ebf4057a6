//! `ncde train`: settings, data, steps, a directory with the model and its report.

mod progress;
mod task;

use std::path::{Path, PathBuf};

use ncde_data::{Dataset, Layout, ReadOptions};
use ncde_train::{CONFIG, Config, Outcome, Run, TrainRequest, watching};

use ncde_report::RunRecord;
use ncde_tune::quoted;

use crate::args::{Device, SettingArgs, TrainArgs};
use crate::error::{Failure, refuse};
use crate::verbs::report;
use crate::{output, schema, signals, threads};
use progress::Progress;

/// A model that is trained on the demo takes seconds.
const DEMO_STEPS: usize = 1000;
const DEMO_HIDDEN: &str = "model.hidden=32";

pub(crate) fn run(args: &TrainArgs, words: &[String]) -> Result<(), Failure> {
    match train(args, words)? {
        None => Ok(()),
        Some(trained) => show(&trained, args.json),
    }
}

pub(crate) struct Trained {
    pub(crate) record: RunRecord,
    directory: PathBuf,
    page: PathBuf,
}

/// A run as it was asked for by these words behind `ncde`; none if its settings alone were asked for, and are printed.
pub(crate) fn train(args: &TrainArgs, words: &[String]) -> Result<Option<Trained>, Failure> {
    let device = device(args.device)?;
    let out = directory(args)?;
    let config = config(args, out.as_deref())?;
    threads::on(args.threads.unwrap_or(0), || {
        let Files { train, test, layout, told } = Files::read(&config)?;
        let (name, labels) = (train.name.clone(), task::Labels::of(&train.targets, layout.as_ref()));
        let layout = layout.map(serde_json::to_value).transpose().map_err(|e| Failure::Refused(e.to_string()))?;
        let run = Run::new(&config, train, test);
        // What is learned comes first; where nothing can be, how the file was read says why.
        if let Ok(run) = &run {
            output::info(&labels.task(run.spec()));
        }
        told.iter().for_each(|line| output::info(line));
        let run = run?.with_schema(layout).with_device(device);
        if args.print_config {
            output::data(|out| out.write_all(run.config().explained().as_bytes()))?;
            return Ok(None);
        }
        train_in(run, &out.clone().unwrap_or_else(|| unused(Path::new("runs"), &name)), args, words).map(Some)
    })
}

/// The device that a model is trained on, if this program was built with it.
pub(crate) fn device(device: Device) -> Result<ncde_train::Device, Failure> {
    match device {
        Device::Cpu => Ok(ncde_train::Device::Cpu),
        #[cfg(feature = "cuda")]
        Device::Cuda => Ok(ncde_train::Device::Cuda),
        #[cfg(feature = "wgpu")]
        Device::Wgpu => Ok(ncde_train::Device::Wgpu),
        #[cfg(not(all(feature = "cuda", feature = "wgpu")))]
        other => Err(Failure::NotBuilt { device: other }),
    }
}

/// Where the run is: the directory of `--out`, or of `--resume`; none if it is to be found.
fn directory(args: &TrainArgs) -> Result<Option<PathBuf>, Failure> {
    let directory = named_directory("run", args.out.as_deref(), args.resume.as_ref())?;
    if let (None, Some(resumed)) = (&args.out, &directory)
        && !resumed.join(CONFIG).exists()
    {
        refuse!("`{}` holds no run that could be resumed: there is no `{CONFIG}`", resumed.display());
    }
    Ok(directory.map(Path::to_path_buf))
}

/// The directory that `--out` or `--resume` names, of a `what`; none if neither does.
pub(crate) fn named_directory<'a>(
    what: &str,
    out: Option<&'a Path>,
    resume: Option<&'a Option<PathBuf>>,
) -> Result<Option<&'a Path>, Failure> {
    match (out, resume) {
        (Some(out), Some(Some(resumed))) if out != resumed => refuse!(
            "`--out {}` and `--resume {}` are two directories; a {what} goes on where it was begun",
            out.display(),
            resumed.display()
        ),
        (None, Some(None)) => refuse!("which {what} goes on? name its directory: `--resume DIR`"),
        (None, Some(Some(resumed))) => Ok(Some(resumed)),
        (out, _) => Ok(out),
    }
}

fn train_in(run: Run, directory: &Path, args: &TrainArgs, words: &[String]) -> Result<Trained, Failure> {
    let run = match run.settings().is_closed_form() {
        // Solved in a moment, with nothing to go on from: a signal ends it as it ends any program.
        true => run,
        false => run.stopped_by(signals::flag()?),
    };
    let settings = run.settings();
    let (what, [train, validation, test]) = match run.observations() {
        Some(counts) => ("observations", counts),
        None => ("cases", run.series()),
    };
    let split = match (run.cuts(), run.is_grouped()) {
        (Some(_), _) => ", split by time",
        (None, true) => ", split by group",
        (None, false) => "",
    };
    let model = format!("{}: {}", run.spec().name, run.spec().detail());
    output::info(&format!("{train} {what} to train on, {validation} to validate, {test} to test{split}; {model}"));
    for warning in run.warnings() {
        output::warn(&format!("warning: {warning}"));
    }
    let command = std::iter::once("ncde".to_owned()).chain(words.iter().map(|word| quoted(word))).collect::<Vec<_>>().join(" ");
    let started = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let mut progress =
        Progress::new(args.json, (!settings.is_closed_form()).then_some(settings.plan.steps), &settings.plan.metric);
    let request = TrainRequest { directory, resume: args.resume.is_some(), command: &command, started: &started };
    let result = run.train(&request, &mut watching(|event| progress.show(&event)));
    progress.bar.finish_and_clear();
    let Outcome { record, already } = result.map_err(|error| match error {
        ncde_train::Error::Interrupted { .. } => Failure::Interrupted(format!(
            "{error}; go on with\n  ncde train --resume {}",
            quoted(&directory.display().to_string())
        )),
        other => other.into(),
    })?;
    if already {
        output::info(&format!("`{}` is already finished: nothing to do", directory.display()));
    }
    let page = report::write_in(directory, &record)?;
    Ok(Trained { record, directory: directory.into(), page })
}

fn show(Trained { record, directory, page }: &Trained, json: bool) -> Result<(), Failure> {
    if json {
        return output::json(&serde_json::json!({
            "event": "finished", "steps": record.steps, "seconds": record.seconds, "stopped": record.stopped,
            "directory": directory, "report": page, "validation": record.validation, "test": record.test,
        }));
    }
    if output::is_quiet() {
        return Ok(());
    }
    let text = ncde_report::terminal(record, output::width(), output::glyphs());
    output::data(|out| {
        write!(out, "{text}")?;
        writeln!(out, "model   {}", directory.display())?;
        writeln!(out, "report  {}", page.display())
    })
}

/// What was asked for: the file, or the settings of the run that goes on; then flags.
fn config(args: &TrainArgs, directory: Option<&Path>) -> Result<Config, Failure> {
    let begun = directory.filter(|_| args.resume.is_some()).map(|directory| directory.join(CONFIG)).filter(|path| path.exists());
    let mut config = match args.settings.config.as_ref().or(begun.as_ref()) {
        None => Config::default(),
        Some(path) => read_config(path)?,
    };
    set(&mut config, &args.settings)?;
    Ok(config)
}

pub(crate) fn read_config(path: &Path) -> Result<Config, Failure> {
    let text = std::fs::read_to_string(path).map_err(|e| Failure::Refused(format!("cannot read `{}`: {e}", path.display())))?;
    Config::from_toml(&text).map_err(|e| Failure::Refused(format!("`{}`: {e}", path.display())))
}

pub(crate) fn set(config: &mut Config, args: &SettingArgs) -> Result<(), Failure> {
    let paths = [
        (&mut config.data.train, &args.data),
        (&mut config.data.test, &args.test),
        (&mut config.data.labels, &args.labels),
        (&mut config.data.test_labels, &args.test_labels),
        (&mut config.data.parts, &args.split),
    ];
    for (setting, flag) in paths {
        if flag.is_some() {
            setting.clone_from(flag);
        }
    }
    if let Some(model) = &args.model {
        config.set(&format!("model.name={model}"))?;
    }
    if config.data.train.is_none() && config.model.name.as_deref() == Some("slice") {
        config.train.steps = config.train.steps.or(Some(DEMO_STEPS));
        if !config.model.keys.contains_key("hidden") {
            config.set(DEMO_HIDDEN)?;
        }
    }
    if let Some(structure) = args.structure {
        config.set(&format!("model.structure={}", structure.as_str()))?;
    }
    config.train.steps = args.steps.or(config.train.steps);
    config.train.seed = args.seed.or(config.train.seed);
    for assignment in &args.set {
        config.set(assignment)?;
    }
    config.data.columns = args.columns.columns().over(std::mem::take(&mut config.data.columns));
    for (setting, flag) in [(&mut config.data.target, &args.target), (&mut config.data.known, &args.known)] {
        if flag.is_some() {
            setting.clone_from(flag);
        }
    }
    if config.data.is_forecast() && config.data.target.is_none() {
        config.data.target = config.data.columns.label.take_if(|label| label != "none").map(|label| vec![label]);
    }
    Ok(())
}

/// The data to train on, that to test on, and how the first was read.
pub(crate) struct Files {
    pub(crate) train: Dataset,
    pub(crate) test: Option<Dataset>,
    layout: Option<Layout>,
    /// How they were read, a line for each thing that is worth knowing.
    pub(crate) told: Vec<String>,
}

impl Files {
    /// The files that settings name; the demo if they name none.
    pub(crate) fn read(config: &Config) -> Result<Self, Failure> {
        let data = &config.data;
        let Some(train) = &data.train else {
            return Ok(Self { train: ncde_train::demo::turns(0), test: None, layout: None, told: vec![] });
        };
        let train = ncde_data::load(train, &data.options(data.labels.as_ref()))?;
        let mut told = schema::told(&train);
        let test = match &data.test {
            None => None,
            Some(test) => {
                // What was decided for the one file holds for the other.
                let options = data.options(data.test_labels.as_ref().or(data.labels.as_ref()));
                let test = ncde_data::load(test, &ReadOptions { layout: train.layout.clone(), ..options })?;
                told.extend(schema::warned(&test));
                Some(test.data)
            }
        };
        Ok(Self { train: train.data, test, layout: train.layout, told })
    }
}

/// `FOLDER/NAME`, or with a number behind it the first that is not there yet.
pub(crate) fn unused(folder: &Path, name: &str) -> PathBuf {
    let clean: String = name.chars().map(|c| if c.is_alphanumeric() || "-_".contains(c) { c } else { '-' }).collect();
    let first = folder.join(if clean.is_empty() { "run" } else { &clean });
    let numbered = (2..).map(|i| PathBuf::from(format!("{}-{i}", first.display())));
    std::iter::once(first.clone()).chain(numbered).find(|path| !path.exists()).unwrap_or(first)
}
