//! The runs of a search as a job of an engine: one task is one command, which may be done again at any time.
//!
//! A task that was killed goes on from its checkpoint when the engine starts it again, and one that is finished ends at once: so engines may repeat tasks as they like.

use std::path::PathBuf;

use toml::{Table, Value};

/// The most tasks of a Slurm array with the default `MaxArraySize` of 1001.
const MAX_TASKS: usize = 1000;

/// The runs of a search as a job for an engine.
#[derive(Debug, Clone, PartialEq)]
pub struct Job {
    /// The name of the job.
    pub name: String,
    /// The command of a run; the name of the run is appended.
    pub command: Vec<String>,
    /// The names of the runs.
    pub runs: Vec<String>,
    /// The directory of the logs, one file for each run.
    pub logs: PathBuf,
    /// The threads of a run.
    pub threads: usize,
    /// The NVIDIA GPUs of a run.
    pub gpus: usize,
    /// The most runs at a time, if the engine should limit them.
    pub jobs: Option<usize>,
}

/// A job definition file of [HyperQueue](https://it4innovations.github.io/hyperqueue/): `hq job submit-file FILE`.
pub fn hyperqueue(job: &Job) -> String {
    let table = |pairs: Vec<(&str, Value)>| Value::Table(pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect());
    let task = |(id, run): (usize, &String)| {
        let words = job.command.iter().chain([run]).cloned().map(Value::String).collect();
        // A file for each time that it is started.
        let log = job.logs.join(format!("{run}.%{{INSTANCE_ID}}.txt")).display().to_string();
        let gpus = (job.gpus > 0).then_some(("gpus/nvidia", Value::Integer(job.gpus as i64)));
        let resources = table([("cpus", Value::Integer(job.threads as i64))].into_iter().chain(gpus).collect());
        table(vec![
            ("id", Value::Integer(id as i64 + 1)),
            ("command", Value::Array(words)),
            ("stdout", "none".into()),
            ("stderr", log.into()),
            ("request", Value::Array(vec![table(vec![("resources", resources)])])),
        ])
    };
    let tasks = job.runs.iter().enumerate().map(task).collect();
    let all = Table::from_iter([("name".to_owned(), job.name.clone().into()), ("task".to_owned(), Value::Array(tasks))]);
    toml::to_string(&all).unwrap_or_default()
}

/// An array script of Slurm: `sbatch FILE`. With more runs than `MAX_TASKS`, each task does several.
pub fn slurm(job: &Job) -> String {
    let size = job.runs.len().min(MAX_TASKS);
    let most = job.jobs.map_or(String::new(), |jobs| format!("%{jobs}"));
    let command: Vec<String> = job.command.iter().map(|word| quoted(word)).collect();
    let name: String = job.name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    format!(
        "#!/bin/bash\n\
         #SBATCH --job-name={name}\n\
         #SBATCH --array=0-{last}{most}\n\
         #SBATCH --ntasks=1\n\
         #SBATCH --cpus-per-task={threads}\n\
         {gpus}#SBATCH --requeue\n\
         #SBATCH --output=/dev/null\n\
         # What a cluster asks for besides (partition, time, account) goes here, or behind sbatch on its command line.\n\
         # A run that was killed goes on from its checkpoint, one that is finished ends at once: this may be submitted again.\n\
         runs=(\n\
         {runs}\n\
         )\n\
         status=0\n\
         for ((i = SLURM_ARRAY_TASK_ID; i < ${{#runs[@]}}; i += {size})); do\n\
         \x20   {command} \"${{runs[i]}}\" >/dev/null 2>>{logs}/\"${{runs[i]}}.txt\" || status=1\n\
         done\n\
         exit $status\n",
        last = size.saturating_sub(1),
        threads = job.threads,
        gpus = if job.gpus > 0 { format!("#SBATCH --gpus-per-task={}\n", job.gpus) } else { String::new() },
        runs = job.runs.join("\n"),
        command = command.join(" "),
        logs = quoted(&job.logs.display().to_string()),
    )
}

/// A word as a shell reads it.
///
/// ```
/// assert_eq!(ncde_tune::quoted("it's"), "'it'\\''s'");
/// assert_eq!(ncde_tune::quoted("--set=a.b"), "--set=a.b");
/// ```
pub fn quoted(word: &str) -> String {
    if !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || "-_./=:,+@%".contains(c)) {
        return word.into();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(runs: usize) -> Job {
        Job {
            name: "my sweep".into(),
            command: ["/usr/bin/ncde", "tune", "--out", "/data/a sweep", "--only"].map(str::to_owned).to_vec(),
            runs: (1..=runs).map(|i| format!("{i:03}-seed-0")).collect(),
            logs: "/data/a sweep/logs".into(),
            threads: 2,
            gpus: 0,
            jobs: Some(4),
        }
    }

    #[test]
    fn hyperqueue_gets_a_task_for_each_run() {
        let table: Table = hyperqueue(&job(3)).parse().unwrap();
        let tasks = table["task"].as_array().unwrap();
        assert_eq!(tasks.len(), 3);
        let words: Vec<&str> = tasks[2]["command"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        assert_eq!(words, ["/usr/bin/ncde", "tune", "--out", "/data/a sweep", "--only", "003-seed-0"]);
        assert_eq!(tasks[2]["id"].as_integer(), Some(3));
        assert_eq!(tasks[2]["request"][0]["resources"]["cpus"].as_integer(), Some(2));
        assert_eq!(tasks[2]["stderr"].as_str(), Some("/data/a sweep/logs/003-seed-0.%{INSTANCE_ID}.txt"));
    }

    #[test]
    fn gpus_are_asked_for() {
        let job = Job { gpus: 1, ..job(1) };
        let table: Table = hyperqueue(&job).parse().unwrap();
        assert_eq!(table["task"][0]["request"][0]["resources"]["gpus/nvidia"].as_integer(), Some(1));
        assert!(slurm(&job).contains("#SBATCH --cpus-per-task=2\n#SBATCH --gpus-per-task=1\n#SBATCH --requeue\n"));
    }

    #[test]
    fn slurm_gets_an_array_and_deals_out_what_is_beyond_its_size() {
        let text = slurm(&job(3));
        assert!(
            text.contains("#SBATCH --array=0-2%4\n#SBATCH --ntasks=1\n#SBATCH --cpus-per-task=2\n#SBATCH --requeue\n"),
            "{text}"
        );
        assert!(text.contains("#SBATCH --job-name=my-sweep\n"), "{text}");
        assert!(text.contains("'/data/a sweep' --only \"${runs[i]}\" >/dev/null 2>>'/data/a sweep/logs'/\"${runs[i]}.txt\""));
        let text = slurm(&job(2500));
        assert!(text.contains("--array=0-999%4\n") && text.contains("i += 1000"), "{}", &text[..400]);
        assert_eq!(text.lines().filter(|line| line.ends_with("-seed-0")).count(), 2500);
    }
}
