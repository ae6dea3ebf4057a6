"""Our linear recurrences and the peers', alternating in one run; the best of each, and their ratio.

Usage: python bench/slice.py [--rounds 3] [--ncde target/release/ncde]
(with the Python of bench/peers/README.md, after `cargo build --release -p ncde-cli`)
"""
import argparse, pathlib, sys

from timing import line, row

HERE = pathlib.Path(__file__).parent
p = argparse.ArgumentParser()
p.add_argument("--rounds", type=int, default=3)
p.add_argument("--ncde", default=str(HERE.parent / "target/release/ncde"))
a = p.parse_args()

TOKENS = "--batch 256 --length 40 --channels 129"
EIGHTS = "--block 8 --batch 2 --length 6000 --channels 13 --hidden 96"
# name, flags of ours, flags of the peer (None: no peer), ratio wanted
WORK = [
    ("diagonal, euler", "--structure diagonal --transition euler", "--structure diagonal --mode recurrent", 5),
    ("block 4, euler", "--structure block --transition euler", "--structure block --mode recurrent", 8),
    ("dense, euler", "--structure dense --transition euler", "--structure dense --mode recurrent", 10),
    ("stacked tokens, block 4, euler", f"--structure block --transition euler {TOKENS}", f"--structure block --mode recurrent {TOKENS}", 3.5),
    ("block 8, 13 channels, 96 states, euler", f"--structure block --transition euler {EIGHTS}", f"--structure block --mode recurrent {EIGHTS}", 8),
    ("diagonal, exp", "--structure diagonal", None, None),
    ("block 4, exp", "--structure block", None, None),
    ("block 4, exp, norm 1", "--structure block --scale 15", None, None),
    ("block 4, exp, norm 5", "--structure block --scale 75", None, None),
    ("dense, exp", "--structure dense", None, None),
    ("DPLR, euler", "--structure dplr --transition euler", None, None),
    ("DPLR, exp", "--structure dplr", None, None),
    ("Walsh-Hadamard, euler", "--structure walsh-hadamard --transition euler", None, None),
    ("Walsh-Hadamard, exp", "--structure walsh-hadamard", None, None),
    ("sparse, exp", "--structure sparse", None, None),
    ("depth 2, 62 channels", "--batch 32 --length 203 --channels 62 --hidden 16 --depth 2 --transition euler", None, None),
    ("depth 2, 62 channels, exp", "--batch 32 --length 203 --channels 62 --hidden 16 --depth 2", None, None),
]


ours, peers = {}, {}
for _ in range(a.rounds):
    for name, flags, peer, _ in WORK:
        if peer:
            peers.setdefault(name, []).append(line([sys.executable, HERE / "peers/slice_jax.py", *peer.split()])["seconds"])
        ours.setdefault(name, []).append(line([a.ncde, "bench", "slice", "--repeat", "15", *flags.split()])["seconds"])
for name, _, _, wanted in WORK:
    print(row(name, ours[name], peers.get(name), wanted))
