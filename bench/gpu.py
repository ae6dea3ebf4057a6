"""What BENCHMARKS.md says of a GPU, in one run: ours beside JAX on the same machine, alternating; and every test of the kernels, each a process of its own.

Usage: python bench/gpu.py [--rounds 2] [--ncde target/release/ncde] [--device cuda] [--tests PROGRAM] [--jobs 8]
(with a Python that has JAX for the GPU, after `cargo build --release -p ncde-cli --features cuda`; PROGRAM is what
`cargo test --release -p ncde-gpu --features cuda --no-run` names: a process compiles its kernels one after the other, so processes are what makes them end)
"""
import argparse, concurrent.futures, pathlib, subprocess, sys, time

from timing import line, row

HERE = pathlib.Path(__file__).parent
p = argparse.ArgumentParser()
p.add_argument("--rounds", type=int, default=2)
p.add_argument("--ncde", default=str(HERE.parent / "target/release/ncde"))
p.add_argument("--device", default="cuda")
p.add_argument("--tests")
p.add_argument("--jobs", type=int, default=8)
p.add_argument("--seconds", type=int, default=500, help="the most that a test may take")
a = p.parse_args()

LONG = "--length 17984"
TRAIN = "train --steps 100"
# name, our bench with its flags, the peer with its flags (None: no peer), ratio or time wanted
WORK = [
    ("diagonal, length 17,984, euler", f"slice --structure diagonal --transition euler {LONG}", f"slice_jax.py --structure diagonal {LONG}", 25),
    ("block 4, length 17,984, euler", f"slice --structure block --transition euler {LONG}", f"slice_jax.py --structure block {LONG}", 25),
    ("block 4, length 1499, exp", "slice --structure block --transition exp", "slice_jax.py --structure block --exp", 40),
    ("block 4, length 1499, euler", "slice --structure block --transition euler", None, None),
    ("dense, length 17,984, euler", f"slice --structure dense --transition euler {LONG}", f"slice_jax.py --structure dense {LONG}", 4),
    ("Log-NCDE, depth 2", "log-ncde", "log_ncde_jax.py", 5),
    ("a step, EigenWorms' shape, windows of 12", f"{TRAIN} --batch 4 --length 17984 --channels 6 --set window=12 --set hidden=128 --set skip=false --set input=false --set head_layers=0", None, "1.5 ms"),
    ("a step, SelfRegulationSCP1's shape", f"{TRAIN} --batch 32 --length 896 --channels 6 --set window=12 --set hidden=128", None, "4 ms, mean of six"),
    ("a step, stack on tokens", f"{TRAIN} --model stack --tokens 10 --classes 10 --batch 256 --length 40 --set hidden=128", None, "2 ms"),
    ("signature, batch 128, length 256, depth 6", "signature --op sig", None, None),
    ("its reverse pass", "signature --op sig-backward", None, None),
]


def test(name):
    start = time.time()
    try:
        done = subprocess.run([a.tests, "--exact", name], capture_output=True, text=True, timeout=a.seconds)
        said = "passed" if done.returncode == 0 else f"failed: {done.stdout[-400:]}"
    except subprocess.TimeoutExpired:
        said = "did not end"
    return name, said, time.time() - start


if a.tests:
    listed = subprocess.run([a.tests, "--list"], capture_output=True, text=True, check=True).stdout
    names = [text.removesuffix(": test") for text in listed.splitlines() if text.endswith(": test")]
    with concurrent.futures.ThreadPoolExecutor(a.jobs) as pool:
        ended = list(pool.map(test, names))
    print(f"{sum(said == 'passed' for _, said, _ in ended)} of {len(names)} tests passed; the longest took {max(seconds for *_, seconds in ended):.0f} s")
    for name, said, seconds in ended:
        if said != "passed":
            print(f"  {name} {said} ({seconds:.0f} s)")

ours, peers, last = {}, {}, {}
for _ in range(a.rounds):
    for name, bench, peer, _ in WORK:
        if peer:
            script, *flags = peer.split()
            peers.setdefault(name, []).append(line([sys.executable, HERE / "peers" / script, *flags])["seconds"])
        repeat = [] if bench.startswith("train") else ["--repeat", 20]
        last[name] = line([a.ncde, "bench", *bench.split(), *repeat, "--device", a.device])
        ours.setdefault(name, []).append(last[name]["seconds"])
        print(name, ours[name][-1], peers.get(name, ["-"])[-1], file=sys.stderr, flush=True)
for name, _, _, wanted in WORK:
    print(row(name, ours[name], peers.get(name), wanted, f"   {last[name]['peak_mib']:7.1f} MiB   {last[name].get('launches', '-'):>5} launches"))
