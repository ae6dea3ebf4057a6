#!/usr/bin/env python3
"""A search with a real engine on one machine, a worker killed on the way: is anything lost, or done twice?

    cargo build --release -p ncde-cli
    python3 -m venv ../hq && ../hq/bin/pip install hyperqueue      (outside the repository)
    ../hq/bin/python bench/sweep.py hyperqueue

    apt-get install slurm-wlm munge
    python3 bench/sweep.py slurm                (as root: it starts munged, slurmctld and two slurmd of its own)

Twenty short runs on the embedded demo are emitted with `ncde tune --emit ENGINE` and done by two workers, one of which is killed with the run that it is
at, as if its machine were gone; HyperQueue gets another in its place, Slurm goes on with one.

Then every run must have been finished exactly once, nothing may have been begun twice but what was killed, that must have gone on from its checkpoint, and all
weights must be, byte by byte, those of the same search without an engine. The exit code is 1 if anything of that is not so.
"""

import argparse
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RATES = "1e-2,8e-3,6e-3,5e-3,4e-3,3e-3,2e-3,1e-3,5e-4,2e-4"
SEARCH = ["--model", "slice", "--vary", f"rate={RATES}", "--vary", "hidden=8,16", "--set", "window=2"]
SECONDS = 600


def say(text):
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)


def tune(arguments, **options):
    command = [str(NCDE), "tune", *map(str, arguments)]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, **options).stdout


def wait_for(what, done, seconds=SECONDS, pause=0.02):
    """Until `done` gives something."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = done()
        if found:
            return found
        time.sleep(pause)
    raise SystemExit(f"waited {seconds} s for {what}: in vain")


def kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


# --- what is in a directory


def runs(directory):
    return sorted((directory / "runs").iterdir()) if (directory / "runs").exists() else []


def attempts(run):
    """The events of a run: when it was begun, and how that ended."""
    path = run / "attempts.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def finished(directory):
    return [run for run in runs(directory) if (run / "run.json").exists()]


def at_work(directory, pids):
    """A run that one of these processes is at, and that has a checkpoint."""
    for run in runs(directory):
        seen = attempts(run)
        if seen and seen[-1]["event"] == "started" and seen[-1]["process"] in pids and (run / "checkpoint.bin").exists():
            return run, seen[-1]["process"]
    return None


def parents():
    """The parent of every process."""
    found = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            found[int(entry.name)] = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
        except (OSError, IndexError):
            continue
    return found


def children(pid):
    """All processes below one."""
    below = {}
    for child, parent in parents().items():
        below.setdefault(parent, []).append(child)
    found, rest = [], [pid]
    while rest:
        own = below.get(rest.pop(), [])
        found += own
        rest += own
    return found


# --- HyperQueue


def hyperqueue(directory):
    """Server here, each worker a process of its own. The run that was killed."""
    os.environ["TQDM_DISABLE"] = "1"
    from hyperqueue import Job, LocalCluster
    from hyperqueue.cluster import WorkerConfig
    from hyperqueue.ffi.protocol import ResourceRequest

    cluster = LocalCluster()
    workers = []

    def worker():
        pid = os.fork()
        if pid == 0:
            cluster.start_worker(WorkerConfig(cores=1))
            while True:
                signal.pause()
        workers.append(pid)
        return pid

    # The package has no `hq`, which would read this file by itself (`hq job submit-file`).
    description = tomllib.loads((directory / "hyperqueue.toml").read_text())
    job = Job(name=description["name"], max_fails=None)
    for task in description["task"]:
        cpus = task["request"][0]["resources"]["cpus"]
        job.program(task["command"], stdout=None, stderr=task["stderr"], resources=ResourceRequest(cpus=cpus))
    victim, _ = worker(), worker()
    client = cluster.client()
    submitted = client.submit(job)
    say(f"submitted {len(description['task'])} tasks to two workers")
    try:
        wait_for("two runs", lambda: len(finished(directory)) >= 2)
        lost, process = wait_for("a run with a checkpoint", lambda: at_work(directory, children(victim)))
        for pid in (victim, process):
            kill(pid)
        say(f"killed a worker with its run {lost.name}")
        worker()
        # It raises if a task failed.
        client.wait_for_jobs([submitted])
        say("the job is done")
    finally:
        for pid in workers:
            kill(pid)
        cluster.stop()
    return lost


# --- Slurm


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def slurm(directory):
    """One controller and two nodes on this machine, without systemd, cgroups or a data base."""
    home = Path(tempfile.mkdtemp(prefix="slurm-"))
    home.chmod(0o755)
    (home / "state").mkdir()
    key, sock = home / "munge.key", home / "munge.socket"
    key.write_bytes(os.urandom(1024))
    key.chmod(0o600)
    host = socket.gethostname().split(".")[0]
    nodes = [(f"sweep{os.getpid()}-{i}", free_port()) for i in (1, 2)]
    kept, victim = (name for name, _ in nodes)
    lines = [
        "ClusterName=sweep",
        f"SlurmctldHost={host}(127.0.0.1)",
        "SlurmUser=root",
        "AuthType=auth/munge",
        f"AuthInfo=socket={sock}",
        "CredType=cred/munge",
        f"SlurmctldPort={free_port()}",
        f"StateSaveLocation={home}/state",
        f"SlurmdSpoolDir={home}/spool-%n",
        f"SlurmctldPidFile={home}/slurmctld.pid",
        f"SlurmdPidFile={home}/slurmd-%n.pid",
        f"SlurmctldLogFile={home}/slurmctld.log",
        f"SlurmdLogFile={home}/slurmd-%n.log",
        "ProctrackType=proctrack/linuxproc",
        "TaskPlugin=task/none",
        "JobAcctGatherType=jobacct_gather/none",
        "AccountingStorageType=accounting_storage/none",
        "MpiDefault=none",
        "SwitchType=switch/none",
        "SelectType=select/cons_tres",
        "SelectTypeParameters=CR_Core",
        "SchedulerParameters=sched_interval=1,bf_interval=1,batch_sched_delay=0",
        # A node that does not answer for so long is down, and its jobs go elsewhere.
        "SlurmdTimeout=10",
        "ReturnToService=2",
        "JobRequeue=1",
    ]
    lines += [f"NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=1 State=UNKNOWN" for name, port in nodes]
    lines.append(f"PartitionName=all Nodes={kept},{victim} Default=YES MaxTime=INFINITE State=UP")
    (home / "slurm.conf").write_text("\n".join(lines) + "\n")
    environment = {**os.environ, "SLURM_CONF": str(home / "slurm.conf")}
    started = []

    def start(name, *command):
        log = open(home / f"{name}.out", "w")
        started.append(subprocess.Popen(command, env=environment, stdout=log, stderr=log))
        return started[-1]

    def ask(*command):
        return subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout

    try:
        start("munged", "munged", "--foreground", "--force", f"--socket={sock}", f"--key-file={key}",
              f"--pid-file={home}/munged.pid", f"--log-file={home}/munged.log", f"--seed-file={home}/munged.seed")
        wait_for("munged", sock.exists, 20)
        start("slurmctld", "slurmctld", "-D", "-f", home / "slurm.conf")
        daemons = {name: start(name, "slurmd", "-D", "-N", name, "-f", home / "slurm.conf") for name, _ in nodes}

        def idle():
            answer = subprocess.run(["sinfo", "-h", "-o", "%t %D"], env=environment, capture_output=True, text=True)
            return "idle 2" in answer.stdout

        wait_for("two idle nodes", idle, 60, 0.5)
        number = ask("sbatch", "--parsable", str(directory / "slurm.sh")).strip()
        say(f"submitted job {number} to two nodes")
        wait_for("two runs", lambda: len(finished(directory)) >= 2)

        def of_node(name):
            """The processes of its jobs, which know its name, and of what watches over them, above."""
            steps = []
            for entry in Path("/proc").glob("[0-9]*"):
                try:
                    words = (entry / "environ").read_bytes().split(b"\0")
                except OSError:
                    continue
                if f"SLURMD_NODENAME={name}".encode() in words:
                    steps.append(int(entry.name))
            above = parents()
            return [above[pid] for pid in steps if above.get(pid, 1) > 1 and above[pid] not in steps] + steps

        lost, _ = wait_for("a run with a checkpoint", lambda: at_work(directory, of_node(victim)))
        for pid in [daemons[victim].pid, *children(daemons[victim].pid), *of_node(victim)]:
            kill(pid)
        say(f"killed node {victim} with its run {lost.name}")
        wait_for("an empty queue", lambda: not ask("squeue", "-h", "-j", number).strip(), SECONDS, 1.0)
        say("the queue is empty")
        return lost
    finally:
        for process in reversed(started):
            for pid in children(process.pid):
                kill(pid)
            process.kill()
            process.wait()
        shutil.rmtree(home, ignore_errors=True)


# --- the check


def logs(directory, run):
    return "".join(path.read_text() for path in sorted((directory / "logs").glob(f"{run.name}*.txt")))


def check(directory, reference, lost, count):
    problems = []
    names = [run.name for run in runs(directory)]
    if len(names) != count:
        problems.append(f"{len(names)} runs, not {count}")
    for run in runs(directory):
        events = [attempt["event"] for attempt in attempts(run)]
        wanted = ["started", "started", "finished"] if run == lost else ["started", "finished"]
        if events != wanted:
            problems.append(f"{run.name}: {events}, wanted {wanted}")
        if run == lost and "going on after step" not in logs(directory, run):
            problems.append(f"{run.name} was killed, but did not go on from its checkpoint")
        weights = (run / "model.safetensors").read_bytes() if (run / "model.safetensors").exists() else b""
        if weights != (reference / "runs" / run.name / "model.safetensors").read_bytes():
            problems.append(f"{run.name}: other weights than without an engine")
    lines = [json.loads(line) for line in tune(["--collect", directory, "--json"]).splitlines()]
    trials, best = [line for line in lines if line["event"] == "trial"], lines[-1]
    if len(trials) != count or any(trial["open"] or trial["failed"] for trial in trials):
        problems.append("`--collect` does not have all runs")
    alone = [json.loads(line) for line in tune(["--collect", reference, "--json"]).splitlines()]
    if best["event"] != "best" or (best["set"], best["value"], best["test"]) != (alone[-1]["set"], alone[-1]["value"], alone[-1]["test"]):
        problems.append("another best trial than without an engine")
    return problems


def main():
    global NCDE
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("engine", choices=["hyperqueue", "slurm"])
    parser.add_argument("--ncde", type=Path, default=ROOT / "target/release/ncde")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--keep", action="store_true", help="leave the directory of the search")
    asked = parser.parse_args()
    NCDE = asked.ncde.resolve()
    if not NCDE.exists():
        raise SystemExit(f"there is no {NCDE}; build it with `cargo build --release -p ncde-cli`")
    folder = Path(tempfile.mkdtemp(prefix="sweep-"))
    search = [*SEARCH, "--steps", asked.steps]
    directory, reference = folder / asked.engine, folder / "alone"
    try:
        begun = time.monotonic()
        tune([*search, "--out", reference, "--jobs", 2], stderr=subprocess.DEVNULL)
        say(f"{len(runs(reference))} runs without an engine: {time.monotonic() - begun:.0f} s")
        tune([*search, "--out", directory, "--emit", asked.engine])
        begun = time.monotonic()
        lost = {"hyperqueue": hyperqueue, "slurm": slurm}[asked.engine](directory)
        say(f"with {asked.engine}: {time.monotonic() - begun:.0f} s")
        problems = check(directory, reference, lost, len(runs(reference)))
    finally:
        if asked.keep:
            say(f"kept {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)
    for problem in problems:
        print(f"wrong: {problem}", file=sys.stderr)
    if problems:
        raise SystemExit(1)
    say("20 runs, each finished once, the killed one from its checkpoint, all weights as without an engine: nothing lost, nothing done twice")


if __name__ == "__main__":
    main()
