//! `ncde experiment`: an experiment of the thesis, its runs in a directory, tables beside published values.

mod progress;
mod steps;
mod timing;

use std::path::{Path, PathBuf};

use ncde_experiment::{EXPERIMENTS, Entry, Plan, Record, Request, find, latex, lines, markdown, page, run as run_plan, standing};

use crate::args::{BenchTableArgs, ExperimentArgs};
use crate::error::Failure;
use crate::verbs::train;
use crate::{output, signals, threads};
use progress::Progress;

/// All experiments, those that time this program among them.
fn all() -> Vec<Entry> {
    [EXPERIMENTS, timing::EXPERIMENTS].concat()
}

pub(crate) fn run(args: &ExperimentArgs) -> Result<(), Failure> {
    let Some(name) = &args.name else { return list(args.json) };
    let device = train::device(args.device)?;
    let all = all();
    let entry = find(&all, name)?;
    let request = Request {
        budget: args.budget,
        seeds: args.seeds.clone(),
        steps: args.steps,
        set: args.set.clone(),
        models: args.model.clone(),
        tasks: args.task.clone(),
        data: args.data.clone(),
        split: args.split.clone(),
        device,
    };
    let directory = args.out.clone().unwrap_or_else(|| Path::new("experiments").join(format!("{name}-{}", args.budget)));
    let stop = signals::flag()?;
    threads::on(args.threads.unwrap_or(0), || {
        let plan = entry.plan(&request)?;
        let mut progress = Progress::new(plan.jobs.len());
        let records = run_plan((entry.name, args.budget, device), &plan, &directory, args.resume, &stop, &mut |event| {
            progress.show(&event);
        });
        progress.bar.finish_and_clear();
        let records = records.map_err(|error| match error {
            ncde_experiment::Error::Interrupted { .. } => {
                Failure::Interrupted(format!("{error}; go on with the same command and `--resume`"))
            }
            other => other.into(),
        })?;
        show(&plan, &records, &directory, args.json)
    })
}

/// `ncde bench table thesis`: all tables of times, one after the other, beside the published ones. Nothing is left behind but what is printed.
pub(crate) fn tables(args: &BenchTableArgs) -> Result<(), Failure> {
    let device = train::device(args.device)?;
    let stop = signals::flag()?;
    let directory = std::env::temp_dir().join(format!("ncde-tables-{}", std::process::id()));
    let all = timing::EXPERIMENTS.iter().try_for_each(|entry| {
        let plan = entry.plan(&Request { device, ..Request::new(args.budget) })?;
        let mut progress = Progress::new(plan.jobs.len());
        let place = directory.join(entry.name);
        let records =
            run_plan((entry.name, args.budget, device), &plan, &place, false, &stop, &mut |event| progress.show(&event));
        progress.bar.finish_and_clear();
        let text = markdown(&plan, &records?);
        output::data(|out| writeln!(out, "{text}"))
    });
    // Whatever happened, nothing stays behind.
    let _ = std::fs::remove_dir_all(&directory);
    all
}

/// Writes the tables and the page, and prints the first.
fn show(plan: &Plan, records: &[Record], directory: &Path, json: bool) -> Result<(), Failure> {
    let text = markdown(plan, records);
    let files: [(PathBuf, &str); 3] = [
        (directory.join("table.md"), &text),
        (directory.join("table.tex"), &latex(plan, records)),
        (directory.join("report.html"), &page(plan, records)),
    ];
    files.iter().try_for_each(|(path, text)| output::file(path, text))?;
    if json {
        lines(plan, records).iter().try_for_each(output::json)?;
        return standing(plan, records).map_or(Ok(()), |standing| output::json(&standing));
    }
    output::data(|out| {
        writeln!(out, "{text}")?;
        writeln!(out, "runs    {}", directory.display())?;
        files.iter().try_for_each(|(path, _)| writeln!(out, "report  {}", path.display()))
    })
}

fn list(json: bool) -> Result<(), Failure> {
    output::data(|out| {
        for entry in all() {
            if json {
                writeln!(
                    out,
                    "{}",
                    serde_json::json!({"experiment": entry.name, "summary": entry.summary, "needs": entry.needs})
                )?;
            } else {
                writeln!(out, "{:22}{}\n{:22}needs: {}", entry.name, entry.summary, "", entry.needs)?;
            }
        }
        if !json {
            writeln!(out, "\nRun one with `ncde experiment NAME`; `ncde experiment --help` has examples.")?;
        }
        Ok(())
    })
}
