//! `ncde train`: settings, data, steps, a directory with the model and its report.

mod progress;

use std::path::{Path, PathBuf};

use ncde::train::{Config, DataConfig, Outcome, Run};
use ncde_data::{Dataset, Layout, ReadOptions};
use ncde_report::{Glyphs, RunRecord};

use crate::args::{ColumnArgs, Device, TrainArgs};
use crate::error::Failure;
use crate::{output, schema, threads};
use progress::Progress;

/// A model that is trained on the demo takes seconds.
const DEMO: &[&str] = &["train.steps=1000", "model.hidden=32"];

pub(crate) fn run(args: &TrainArgs) -> Result<(), Failure> {
    if args.device != Device::Cpu {
        return Err(Failure::Refused("this program was built without GPU support; use `--device cpu`".into()));
    }
    let config = config(args)?;
    let demo = config.data.train.is_none();
    threads::on(args.threads.unwrap_or(0), || {
        let (train, test, layout) = if demo { (ncde::demo::turns(0), None, None) } else { read(&config)? };
        let name = train.name.clone();
        let layout = layout.map(serde_json::to_value).transpose().map_err(|e| Failure::Refused(e.to_string()))?;
        let run = Run::new(&config, train, test)?.with_schema(layout);
        if args.print_config {
            return output::data(|out| out.write_all(run.settings().config.explained().as_bytes()));
        }
        let directory = match &args.out {
            Some(directory) => directory.clone(),
            None => unused(&name),
        };
        if !args.resume && directory.join("run.json").exists() {
            return Err(Failure::Refused(format!(
                "`{}` holds a finished run; name another directory (`--out DIR`), or go on with it (`--resume`)",
                directory.display()
            )));
        }
        train_in(&run, &directory, args)
    })
}

fn train_in(run: &Run, directory: &Path, args: &TrainArgs) -> Result<(), Failure> {
    let (parts, settings) = (run.parts(), run.settings());
    output::talk(&format!(
        "{} cases to train on, {} to validate, {} to test; {}: {}",
        parts.train.len(),
        parts.validation.len(),
        parts.test.len(),
        run.spec().name,
        run.spec().detail()
    ));
    let command = std::env::args().map(|arg| quoted(&arg)).collect::<Vec<_>>().join(" ");
    let started = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let mut progress = Progress::new(args.json, (!settings.closed).then_some(settings.steps), &settings.metric);
    let result = run.train(directory, args.resume, [&command, &started], &mut |event| progress.show(&event));
    progress.finish();
    let Outcome { record, already } = result?;
    if already {
        output::talk(&format!("`{}` is already finished: nothing to do", directory.display()));
    }
    let page = write_report(std::slice::from_ref(&record), &directory.join("report.html"))?;
    if args.json {
        let mut line = serde_json::json!({
            "event": "finished", "steps": record.steps, "seconds": record.seconds, "stopped": record.stopped,
            "directory": directory, "report": page,
        });
        line["validation"] = serde_json::to_value(&record.validation).unwrap_or_default();
        line["test"] = serde_json::to_value(&record.test).unwrap_or_default();
        return output::data(|out| writeln!(out, "{line}"));
    }
    let glyphs = if output::is_terminal() { Glyphs::Unicode } else { Glyphs::Ascii };
    let text = ncde_report::terminal(&record, output::width(), glyphs);
    output::data(|out| {
        write!(out, "{text}")?;
        writeln!(out, "model   {}", directory.display())?;
        writeln!(out, "report  {}", page.display())
    })
}

/// Writes a page and a Markdown file of the same name; the page's path.
pub(crate) fn write_report(records: &[RunRecord], path: &Path) -> Result<PathBuf, Failure> {
    for (path, text) in
        [(path.to_path_buf(), ncde_report::html(records)), (path.with_extension("md"), ncde_report::markdown(records))]
    {
        std::fs::write(&path, text).map_err(|source| Failure::Write { path, source })?;
    }
    Ok(path.into())
}

/// What was asked for: the file, then flags.
fn config(args: &TrainArgs) -> Result<Config, Failure> {
    let mut config = match &args.config {
        None => Config::default(),
        Some(path) => {
            let text =
                std::fs::read_to_string(path).map_err(|e| Failure::Refused(format!("cannot read `{}`: {e}", path.display())))?;
            Config::from_toml(&text).map_err(|e| Failure::Refused(format!("`{}`: {e}", path.display())))?
        }
    };
    let paths = [
        (&mut config.data.train, &args.data),
        (&mut config.data.test, &args.test),
        (&mut config.data.labels, &args.labels),
        (&mut config.data.test_labels, &args.test_labels),
        (&mut config.data.parts, &args.split),
    ];
    for (own, asked) in paths {
        if asked.is_some() {
            own.clone_from(asked);
        }
    }
    if let Some(model) = &args.model {
        config.set(&format!("model.name={model}"))?;
    }
    if config.data.train.is_none() && config.model.name.as_deref() == Some("slice") {
        for assignment in DEMO {
            config.set(assignment)?;
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
    columns(&mut config.data, &args.columns);
    Ok(config)
}

/// What flags say of columns.
fn columns(data: &mut DataConfig, args: &ColumnArgs) {
    let options = args.over(data.options(None));
    data.id_column = options.id;
    data.time_column = options.time;
    data.label_column = options.label;
    data.statics = options.statics;
    data.ignore = (!options.ignore.is_empty()).then_some(options.ignore);
    data.channels = options.channels;
    data.sort = options.sort;
    data.duplicates = options.duplicates;
    data.time_format = options.time_format;
    data.decimal = options.decimal;
}

/// The data to train on, that to test on, and how the first was read.
type Files = (Dataset, Option<Dataset>, Option<Layout>);

fn read(config: &Config) -> Result<Files, Failure> {
    let data = &config.data;
    let Some(train) = &data.train else {
        return Err(Failure::Refused("there is no file to train on; give one with `--data FILE`".into()));
    };
    let train = ncde_data::load(train, &data.options(data.labels.as_ref()))?;
    schema::tell(&train);
    let test = match &data.test {
        None => None,
        Some(test) => {
            // What was decided for the one file holds for the other.
            let options = data.options(data.test_labels.as_ref().or(data.labels.as_ref()));
            let test = ncde_data::load(test, &ReadOptions { layout: train.layout.clone(), ..options })?;
            schema::warn(&test);
            Some(test.data)
        }
    };
    Ok((train.data, test, train.layout))
}

/// `runs/NAME`, or with a number behind it the first that is not there yet.
fn unused(name: &str) -> PathBuf {
    let clean: String = name.chars().map(|c| if c.is_alphanumeric() || "-_".contains(c) { c } else { '-' }).collect();
    let first = Path::new("runs").join(if clean.is_empty() { "run" } else { &clean });
    let numbered = (2..).map(|i| PathBuf::from(format!("{}-{i}", first.display())));
    std::iter::once(first.clone()).chain(numbered).find(|path| !path.exists()).unwrap_or(first)
}

/// An argument as it can be pasted into a shell.
fn quoted(arg: &str) -> String {
    if !arg.is_empty() && arg.chars().all(|c| c.is_alphanumeric() || "-_./=:,+@%".contains(c)) {
        return arg.into();
    }
    format!("'{}'", arg.replace('\'', "'\\''"))
}
