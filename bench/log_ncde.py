"""Our Log-NCDE training step and the peer's, alternating in one run; the best of each, and their ratio.

Usage: python bench/log_ncde.py [--rounds 3] [--ncde target/release/ncde]
(with the Python of bench/peers/README.md, after `cargo build --release -p ncde-cli`)
"""
import argparse, pathlib, sys

from timing import line, row

HERE = pathlib.Path(__file__).parent
p = argparse.ArgumentParser()
p.add_argument("--rounds", type=int, default=3)
p.add_argument("--ncde", default=str(HERE.parent / "target/release/ncde"))
a = p.parse_args()

# name, flags of both, whether the peer runs it, ratio wanted
WORK = [
    ("depth 2", "--depth 2", True, 4),
    ("depth 1", "--depth 1", True, 3),
    ("depth 2, 12 channels", "--depth 2 --channels 12", False, None),
    ("depth 2, 62 channels", "--depth 2 --channels 62", False, None),
]


ours, peers, peaks = {}, {}, {}
for _ in range(a.rounds):
    for name, flags, peer, _ in WORK:
        if peer:
            done = line([sys.executable, HERE / "peers/log_ncde_jax.py", *flags.split()])
            peers.setdefault(name, []).append(done["seconds"])
        done = line([a.ncde, "bench", "log-ncde", "--repeat", "5" if peer else "1", *flags.split()])
        ours.setdefault(name, []).append(done["seconds"])
        peaks[name] = done["peak_mib"]
for name, _, _, wanted in WORK:
    print(row(name, ours[name], peers.get(name), wanted, f"   {peaks[name]:7.1f} MiB"))
