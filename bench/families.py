"""Layers of the models the thesis compares with, ours and the peers', alternating in one run; the best of each, and their ratio; then one row of a stream.

Usage: python bench/families.py [--rounds 3] [--ncde target/release/ncde] [--fla FOLDER] [NAME ...]
(with the Python of bench/peers/README.md, after `cargo build --release -p ncde-cli`; `--fla` is where the wheel of fla-core was unpacked)
"""
import argparse, json, pathlib, sys

from timing import line, row

HERE = pathlib.Path(__file__).parent
p = argparse.ArgumentParser()
p.add_argument("names", nargs="*")
p.add_argument("--rounds", type=int, default=3)
p.add_argument("--ncde", default=str(HERE.parent / "target/release/ncde"))
p.add_argument("--fla", default="fla_core")
a = p.parse_args()

# name, our layer of 128 numbers, ratio wanted
WORK = [
    ("lru", dict(layer="state-space", states=64, discretisation="powers"), 3),
    ("s5", dict(layer="state-space", states=64, discretisation="zero-order-hold"), 3),
    ("mamba", dict(layer="selective", states=16, rank=4), 3),
    ("linoss", dict(layer="oscillators", states=64, scheme="implicit"), 3),
    ("deltanet", dict(layer="delta-net", heads=4, key=32, value=32), 3),
    ("lstm", dict(layer="lstm", hidden=128), 1.5),
    ("gru", dict(layer="gru", hidden=128), None),
    ("attention", dict(layer="attention", heads=4, head=32, context=1024, gap=1.0), 1.5),
]
# Layers without a peer here.
ALONE = [
    ("s4d", dict(layer="state-space", states=16, discretisation="zero-order-hold", per_channel=True)),
    ("slstm", dict(layer="slstm", hidden=128, heads=4)),
    ("mlstm", dict(layer="mlstm", heads=4)),
    ("rwkv7", dict(layer="rwkv", heads=4, rank=32)),
]


def ours(layer, *flags):
    return line([a.ncde, "bench", "layer", json.dumps(layer), "--threads", "2", *flags])["seconds"]


work = [(name, layer, wanted) for name, layer, wanted in WORK if not a.names or name in a.names]
alone = [(name, layer, None) for name, layer in ALONE if not a.names or name in a.names]
times, peers = {}, {}
for _ in range(a.rounds):
    for name, layer, _ in work + alone:
        if (name, layer, None) not in alone:
            peer = line([sys.executable, HERE / "peers/families.py", name, "--threads", "2", "--fla", a.fla])
            peers.setdefault(name, []).append(peer["seconds"])
        times.setdefault(name, []).append(ours(layer, "--repeat", "3"))
for name, _, wanted in work + alone:
    print(row(name, times[name], peers.get(name), wanted))
for name, layer, _ in work + alone:
    print(f"{name}, a row of a stream: {1e6 * ours(layer, '--op', 'stream'):.2f} us")
