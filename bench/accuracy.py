"""Accuracy of ours and of aeon's classifiers on the same files, in one run; a Markdown table.

Usage: python bench/accuracy.py DATA... [--seeds 3] [--keep 0.5] [--missing 0.3] [--model NAME] [--set KEY=VALUE]
(after `cargo build --release -p ncde-cli`, with a Python that has `pip install aeon torch`; with `--peers none` numpy is enough)

DATA is NAME_TRAIN.ts, or the folder NAME that holds it; NAME_TEST.ts is beside it, either may be a .ts.gz. Series have labels and no time
stamps. A run is done on the data as they are and, with these options, again on

--keep 0.5     data of which half of all observations of every series are dropped at random, never the first or the last one,
--missing 0.3  data of which 30 % of all values are missing at random.

All methods get the same drop. Ours reads what is left, as a csv file with times and empty cells. Peers take full grids alone: what is not
there is interpolated linearly, per channel, and shorter series are padded with zeros at the end. `--only` leaves out the run on the data as they are.

--parts FILE.json scores on published parts instead of the test file: {"SEED": {"val": [...], "test": [...]}}, indices from 0 into the
training file followed by the test file; "train" is the rest where it is not given. FILE is a path, or a name that is looked for beside each
training file. Ours gets `--split FILE --seed SEED`; peers learn from the train part, and nobody of them sees the validation part.

What is measured: accuracy; balanced accuracy, the mean of the recalls of the classes in the test part; seconds to train and predict, and
seconds of processor time. A method runs alone, on `--threads` threads. For ours it is all of `ncde train`, from starting the process: reading, learning,
predicting the test part, writing model and report. For peers it is `fit` and `predict` on arrays in memory; what numba compiles is compiled
before, on a tiny case, and not counted. Memory is the peak of our process (Linux). All are means over seeds; a method that fails is said, not hidden.
"""
import argparse, csv, gzip, json, os, pathlib, platform, subprocess, sys, tempfile, time
from collections import Counter
import numpy as np

HERE = pathlib.Path(__file__).parent
PEERS = {"minirocket": "MiniRocket", "multirocket-hydra": "MultiRocket-Hydra"}

p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
p.add_argument("data", nargs="+", type=pathlib.Path, help="NAME_TRAIN.ts[.gz], or its folder")
p.add_argument("--ncde", default=str(HERE.parent / "target/release/ncde"), help="our binary; `none` leaves it out")
p.add_argument("--model", help="for `ncde train --model`; its default without")
p.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="for `ncde train --set`; may be given often")
p.add_argument("--peers", default="minirocket,multirocket-hydra", help="names with commas between, or `none`")
p.add_argument("--seeds", type=int, default=1, help="seeds 0 to N-1, or the first N of the parts")
p.add_argument("--keep", type=float, help="share of the observations that is kept")
p.add_argument("--missing", type=float, help="share of the values that is missing")
p.add_argument("--only", action="store_true", help="not on the data as they are")
p.add_argument("--parts", help="a JSON file with train, validation and test parts")
p.add_argument("--threads", type=int, default=1)
p.add_argument("--json", type=pathlib.Path, metavar="OUT", help="a file for all numbers, by seed")
a = p.parse_args()
wanted = [] if a.peers == "none" else a.peers.split(",")
for name in wanted:
    if name not in PEERS:
        p.error(f"no peer `{name}`: {', '.join(PEERS)} or none")
for option, share in (("--keep", a.keep), ("--missing", a.missing)):
    if share is not None and not 0 < share < 1:
        p.error(f"{option} is a share between 0 and 1")
if a.only and a.keep is None and a.missing is None:
    p.error("--only needs --keep or --missing")


def files(path):
    """The training and the test file."""
    if path.is_dir():
        found = [f for ending in ("ts", "ts.gz") if (f := path / f"{path.resolve().name}_TRAIN.{ending}").exists()]
        if not found:
            sys.exit(f"{path}: no {path.resolve().name}_TRAIN.ts or .ts.gz")
        path = found[0]
    stem, train, _ = path.name.rpartition("_TRAIN.ts")
    tests = [f for ending in ("ts", "ts.gz") if (f := path.with_name(f"{stem}_TEST.{ending}")).exists()]
    if not (train and path.exists() and tests):
        sys.exit(f"{path}: give a file NAME_TRAIN.ts with NAME_TEST.ts beside it")
    return stem, path, tests[0]


def read(path):
    """Series as arrays of shape (channels, length), a missing value as NaN, and labels."""
    series, labels, data = [], [], False
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt") as f:
        for line in f:
            line = line.strip()
            if not data:
                data = line.lower() == "@data"
                if line.lower().split() == ["@timestamps", "true"]:
                    sys.exit(f"{path}: time stamps are not read here")
            elif line:
                *channels, label = line.split(":")
                rows = [[np.nan if v == "?" else float(v) for v in c.split(",")] for c in channels]
                x = np.full((len(rows), max(map(len, rows))), np.nan)
                for channel, row in zip(x, rows):
                    channel[:len(row)] = row
                series.append(x)
                labels.append(label.strip())
    return series, labels


def thin(series, keep, missing, rng):
    """The times that are kept and the values there, of every series."""
    out = []
    for x in series:
        n = x.shape[1]
        times = np.arange(n)
        if keep is not None and n > 2:
            inner = rng.choice(np.arange(1, n - 1), max(round(keep * n) - 2, 0), replace=False)
            times = np.sort(np.concatenate([[0, n - 1], inner]))
        x = x[:, times].copy()
        if missing is not None:
            x[rng.random(x.shape) < missing] = np.nan
        out.append((times, x))
    return out


def grid(thinned, lengths, longest):
    """Full grids: linear between what is there, constant beyond its ends, zeros after the end of the series."""
    out = np.zeros((len(thinned), thinned[0][1].shape[0], longest), dtype=np.float32)
    for case, (times, x), n in zip(out, thinned, lengths):
        for channel, values in zip(case, x):
            seen = ~np.isnan(values)
            if seen.any():
                channel[:n] = np.interp(np.arange(n), times[seen], values[seen])
    return out


def write(path, thinned, labels):
    """A long csv file; labels are words, so that nobody takes them for numbers to regress."""
    with open(path, "w", newline="") as f:
        w = csv.writer(f)
        w.writerow(["id", "time", *(f"channel_{i + 1}" for i in range(thinned[0][1].shape[0])), "label"])
        for i, ((times, x), label) in enumerate(zip(thinned, labels)):
            for t, values in zip(times, x.T):
                w.writerow([i + 1, t, *("" if np.isnan(v) else repr(float(v)) for v in values), f"class {label}"])


def scores(truth, predicted):
    right = np.asarray(truth) == np.asarray(predicted)
    recalls = [right[np.asarray(truth) == c].mean() for c in sorted(set(truth))]
    return {"accuracy": float(right.mean()), "balanced_accuracy": float(np.mean(recalls))}


def peak(pid):
    """The most memory that a process has held so far, in MiB."""
    try:
        lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))
    except (OSError, StopIteration):
        return None


def ours(train, test, truth, parts, seed):
    """One `ncde train`; `truth` are the labels it has to be tested on."""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder, "run")
        command = [a.ncde, "train", "--data", str(train), "--test", str(test), "--out", str(out), "--seed", str(seed), "--threads", str(a.threads)]
        command += ["--model", a.model] if a.model else []
        command += [word for pair in a.set for word in ("--set", pair)]
        command += ["--split", str(parts)] if parts else []
        with open(pathlib.Path(folder, "log"), "w+") as log:
            start, memory = time.perf_counter(), None
            process = subprocess.Popen(command, stdout=log, stderr=log)
            # not `ru_maxrss`: that of a child begins with the memory of this process
            while (done := os.wait4(process.pid, os.WNOHANG))[0] == 0:
                memory = peak(process.pid) or memory
                time.sleep(0.005)
            seconds = time.perf_counter() - start
            process.returncode = os.waitstatus_to_exitcode(done[1])
            if process.returncode:
                log.seek(0)
                raise RuntimeError(f"{' '.join(command)}: {log.read().strip()[-400:]}")
        run = json.loads((out / "run.json").read_text())
    said = [(row["truth"], row["predicted"]) for row in run["predictions"]]
    sizes = lambda labels: sorted(Counter(labels).values())
    if sizes(label for label, _ in said) != sizes(truth):  # labels may be spelled otherwise, `1` for `1.0`
        raise RuntimeError(f"tested on {len(said)} cases, which are not the {len(truth)} of the test part")
    return {**scores(*zip(*said)), "seconds": seconds, "cpu_seconds": done[2].ru_utime + done[2].ru_stime, "memory_mib": memory}


def make(name, seed):
    if name == "minirocket":
        from aeon.classification.convolution_based import MiniRocketClassifier
        return MiniRocketClassifier(random_state=seed, n_jobs=a.threads)
    import torch
    torch.set_num_threads(a.threads)
    from aeon.classification.convolution_based import MultiRocketHydraClassifier
    return MultiRocketHydraClassifier(random_state=seed, n_jobs=a.threads)


def peer(name, train, test, seed):
    """`train` and `test`: grids and labels."""
    model = make(name, seed)
    from threadpoolctl import threadpool_limits  # BLAS, beneath scikit-learn
    with threadpool_limits(a.threads):
        start, cpu = time.perf_counter(), time.process_time()
        model.fit(train[0], np.asarray(train[1]))
        predicted = model.predict(test[0])
    seconds = {"seconds": time.perf_counter() - start, "cpu_seconds": time.process_time() - cpu}
    return {**scores(test[1], predicted), **seconds, "memory_mib": None}


def warm(name):
    """Compiles; says whether the peer is there."""
    rng = np.random.default_rng(0)
    try:
        for channels in (1, 2):
            x, y = rng.standard_normal((8, channels, 40)).astype(np.float32), ["a", "b"] * 4
            peer(name, (x, y), (x, y), 0)
    except ImportError as e:
        print(f"{PEERS[name]} is left out: {e} (`pip install aeon`, and `torch` for MultiRocket-Hydra)", file=sys.stderr)
        return False
    return True


def guard(label, f):
    try:
        return f()
    except Exception as e:  # a method that cannot do it is reported, not hidden
        print(f"{label}: {type(e).__name__}: {e}", file=sys.stderr)
        return None


def parts_of(path):
    """The file with the parts beside this training file, and what it holds."""
    if not a.parts:
        return None, None
    for f in (pathlib.Path(a.parts), path.with_name(a.parts)):
        if f.exists():
            return f, json.loads(f.read_text())
    sys.exit(f"no {a.parts}, neither here nor beside {path}")


def version(command):
    return subprocess.run(command, capture_output=True, text=True).stdout.strip()


def settle(rows, method, values):
    """The mean over seeds as a line of the table."""
    good = [v for v in values if v]
    row = {**method, "failed": len(values) - len(good), "by_seed": values}
    for key in ("accuracy", "balanced_accuracy", "seconds", "cpu_seconds", "memory_mib"):
        known = [v[key] for v in good if v[key] is not None]
        row[key] = float(np.mean(known)) if known else None
    rows.append(row)
    show = lambda v, form: "" if v is None else format(v, form)
    note = f" ({row['failed']} of {len(values)} failed)" if row["failed"] else ""
    print(f"| {row['data']} | {row['condition']} | {row['method']}{note} | {show(row['accuracy'], '.1%')} | {show(row['balanced_accuracy'], '.1%')} "
          f"| {show(row['seconds'], '.2f')} | {show(row['cpu_seconds'], '.2f')} | {show(row['memory_mib'], '.0f')} |", flush=True)


def main():
    data = [files(path) for path in a.data]
    peers = [name for name in wanted if warm(name)]
    conditions = [] if a.only else [("as is", None, None)]
    conditions += [(f"keep {a.keep}", a.keep, None)] if a.keep is not None else []
    conditions += [(f"missing {a.missing}", None, a.missing)] if a.missing is not None else []
    print("| data set | data | method | accuracy | balanced | seconds | CPU seconds | peak MiB |")
    print("| --- | --- | --- | ---: | ---: | ---: | ---: | ---: |", flush=True)
    rows = []
    for name, train_file, test_file in data:
        parts_file, parts = parts_of(train_file)
        (series, labels), (more, more_labels) = read(train_file), read(test_file)
        first = len(series)
        series, labels = series + more, labels + more_labels
        lengths = [x.shape[1] for x in series]
        seeds = [int(s) for s in parts][:a.seeds] if parts else range(a.seeds)
        for condition, keep, missing in conditions:
            found = {method: [] for method in (["ncde"] if a.ncde != "none" else []) + peers}
            for seed in seeds:
                thinned = thin(series, keep, missing, np.random.default_rng(seed))
                train, test = range(first), range(first, len(series))
                if parts:
                    part = parts[str(seed)]
                    test, other = part["test"], {*part["test"], *part["val"]}
                    train = part.get("train", [i for i in range(len(series)) if i not in other])
                if "ncde" in found:
                    with tempfile.TemporaryDirectory() as folder:
                        both = train_file, test_file
                        if condition != "as is":
                            both = pathlib.Path(folder, f"{name}_TRAIN.csv"), pathlib.Path(folder, f"{name}_TEST.csv")
                            write(both[0], thinned[:first], labels[:first])
                            write(both[1], thinned[first:], labels[first:])
                        found["ncde"].append(guard(f"{name}, ncde", lambda: ours(*both, [labels[i] for i in test], parts_file, seed)))
                if peers:
                    full = grid(thinned, lengths, max(lengths))
                    cut = lambda part: (full[list(part)], [labels[i] for i in part])
                    for method in peers:
                        found[method].append(guard(f"{name}, {method}", lambda: peer(method, cut(train), cut(test), seed)))
            for method, values in found.items():
                called = PEERS.get(method) or "ncde" + (f" {a.model}" if a.model else "") + "".join(f" {pair}" for pair in a.set)
                settle(rows, {"data": name, "condition": condition, "method": called}, values)
            if a.json:
                about = {"threads": a.threads, "seeds": a.seeds, "parts": a.parts, "python": platform.python_version()}
                if "ncde" in found:
                    about["ncde"] = version([a.ncde, "--version"])
                if peers:
                    from importlib.metadata import version as installed
                    about |= {m: installed(m) for m in ("aeon", "numba", "scikit-learn", "torch") if m in sys.modules or m == "scikit-learn"}
                a.json.write_text(json.dumps({"about": about, "rows": rows}, indent=1) + "\n")


main()
