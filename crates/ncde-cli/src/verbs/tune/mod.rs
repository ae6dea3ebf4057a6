//! `ncde tune`: a search over settings, each run a process with a directory of its own.
//!
//! ```text
//! plan -> folder -> pool of workers, or an engine's -> standings -> table.md, best.toml
//! ```

mod best;
mod folder;
mod halving;
mod plan;
mod pool;
mod progress;
mod show;
mod standings;
mod worker;

use std::path::{Path, PathBuf};

use ncde_tune::{Job, Method, Sweep, hyperqueue, quoted, slurm};

use crate::args::{Device, Engine, SettingArgs, TuneArgs};
use crate::error::{Failure, refuse};
use crate::verbs::train::{self, device, named_directory, read_config};
use crate::{output, program, signals};
use folder::Folder;
use plan::Plan;
use pool::Pool;
use progress::Progress;

pub(crate) fn run(args: &TuneArgs) -> Result<(), Failure> {
    if let Some(directory) = &args.collect {
        let folder = Folder::new(directory)?;
        return show::all(&folder, &folder.sweep()?, args.json);
    }
    if let (Some(name), Some(out)) = (&args.only, &args.out) {
        return worker::only(&Folder::new(out)?, name, args);
    }
    // A device that is not there is known before anything runs.
    device(args.device)?;
    let (folder, sweep, _lock) = prepare(args)?;
    if let Some(engine) = args.emit {
        return emit(&folder, &sweep, engine, args);
    }
    let stop = signals::flag()?;
    let jobs = args.jobs.unwrap_or(1);
    let all = args.threads.or_else(|| std::thread::available_parallelism().ok().map(usize::from)).unwrap_or(1);
    let pool = Pool { folder: &folder, jobs, threads: (all / jobs).max(1), stop, retry: args.retry };
    let mut progress = Progress::new(&sweep, &folder, args.json);
    let worked = match sweep.method {
        Method::Halving => halving::work(&pool, &sweep, &mut progress),
        Method::Grid | Method::Random => {
            let runs: Vec<_> = sweep.runs().collect();
            pool.work(&runs, None, &mut |ended| progress.show(&ended))
        }
    };
    progress.bar.finish_and_clear();
    if !worked? {
        return Err(Failure::Interrupted(format!(
            "interrupted after {} of {} runs; all that was done is saved. Go on with\n  ncde tune --resume {}{}",
            progress.done,
            progress.all,
            quoted(&folder.path.display().to_string()),
            args.jobs.map_or(String::new(), |jobs| format!(" --jobs {jobs}")),
        )));
    }
    show::all(&folder, &sweep, args.json)
}

/// The search that is asked for, in its directory, which is this process's from here on.
fn prepare(args: &TuneArgs) -> Result<(Folder, Sweep, ncde_files::Lock), Failure> {
    let named = named_directory("search", args.out.as_deref(), args.resume.as_ref())?;
    let resumed = named.filter(|_| args.resume.is_some());
    if let Some(directory) = resumed.filter(|_| args.grid.is_none() && args.vary.is_empty()) {
        let more = args.settings != SettingArgs::default()
            || args.seeds.is_some()
            || args.folds.is_some()
            || args.trials.is_some()
            || args.method.is_some();
        if more {
            refuse!(
                "what a search does is in its directory; to add to it, give the whole command again, with `--grid` or `--vary`"
            );
        }
        let folder = Folder::new(directory)?;
        let sweep = folder.sweep()?;
        let lock = folder.claim()?;
        return Ok((folder, sweep, lock));
    }
    let Plan { sweep, base } = plan::plan(args)?;
    let directory = named.map_or_else(|| unused(args), Path::to_path_buf);
    let folder = Folder::new(&directory)?;
    if resumed.is_none() && folder.holds_search() {
        refuse!("`{}` holds a search; go on with it (`--resume`), or name another directory (`--out DIR`)", directory.display());
    }
    let lock = folder.claim()?;
    if folder.holds_search() {
        sweep.goes_on(&folder.sweep()?)?;
        let begun = read_config(&folder.base())?.to_toml();
        let now = base.to_toml();
        let differs =
            |one: &str, other: &str| one.lines().find(|line| !other.lines().any(|known| known == *line)).map(str::to_owned);
        if let Some(line) = differs(&begun, &now).or_else(|| differs(&now, &begun)) {
            refuse!(
                "`{}` was begun with other settings (`{line}`); give the same to go on, or another directory (`--out DIR`)",
                directory.display()
            );
        }
    }
    folder.begin(&sweep, &base)?;
    Ok((folder, sweep, lock))
}

/// `sweeps/NAME`, or with a number behind it the first that is not there yet.
fn unused(args: &TuneArgs) -> PathBuf {
    let stem = |path: &PathBuf| path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let name = args.settings.data.as_ref().and_then(stem).or_else(|| args.grid.as_ref().and_then(stem));
    train::unused(Path::new("sweeps"), &name.unwrap_or_else(|| "demo".into()))
}

fn emit(folder: &Folder, sweep: &Sweep, engine: Engine, args: &TuneArgs) -> Result<(), Failure> {
    if sweep.method == Method::Halving {
        refuse!(
            "of `halving` it is not known ahead which runs go on; emit `--method grid` or `random`, or run it here with `--jobs`"
        );
    }
    let program = program::words().map_err(Failure::Refused)?;
    let threads = args.threads.unwrap_or(1);
    let path = |path: &Path| path.display().to_string();
    let words = ["tune", "--out", &path(&folder.path), "--threads", &threads.to_string(), "--only"].map(str::to_owned);
    let command = program.iter().map(|word| word.to_string_lossy().into_owned()).chain(words).collect();
    let name = folder.path.file_name().map_or("sweep".into(), |name| name.to_string_lossy().into_owned());
    let job = Job {
        name: format!("ncde {name}"),
        command,
        runs: sweep.runs().map(Sweep::name).collect(),
        logs: folder.path.join("logs"),
        threads,
        gpus: usize::from(sweep.device == Device::Cuda.to_string()),
        jobs: args.jobs,
    };
    let (file, text, submit) = match engine {
        Engine::Hyperqueue => ("hyperqueue.toml", hyperqueue(&job), "hq job submit-file"),
        Engine::Slurm => ("slurm.sh", slurm(&job), "sbatch"),
    };
    folder.write(file, &text)?;
    let target = folder.path.join(file);
    output::info(&format!("{} runs, each a task; submit them with", job.runs.len()));
    output::info(&format!("  {submit} {}", quoted(&path(&target))));
    output::info(&format!("and gather what they leave with\n  ncde tune --collect {}", quoted(&path(&folder.path))));
    output::data(|out| writeln!(out, "{}", target.display()))
}
