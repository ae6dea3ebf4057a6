"""Our signature kernels beside the peers', in one run, as a markdown table.

    cargo build --release -p ncde-cli
    python bench/signature.py [--ncde target/release/ncde] [--rounds 3] [--threads 2]

Run it with the Python that has the peers (bench/peers/README.md). Peers and ours alternate `rounds` times; the best of each counts.
"""
import argparse, json, pathlib, subprocess, sys

p = argparse.ArgumentParser()
p.add_argument("--ncde", default="target/release/ncde")
p.add_argument("--rounds", type=int, default=3)
p.add_argument("--repeat", type=int, default=10)
p.add_argument("--threads", type=int, default=2)
a = p.parse_args()
peers_script = pathlib.Path(__file__).parent / "peers" / "signature.py"


def lines(command):
    out = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=True).stdout
    return [json.loads(line) for line in out.splitlines() if line.startswith("{")]


def ours(op, *flags):
    return lines([a.ncde, "bench", "signature", "--op", op, "--repeat", a.repeat, "--threads", a.threads, *flags])[0]


best_peer, best_ours = {}, {}
for _ in range(a.rounds):
    for row in lines([sys.executable, peers_script, "--repeat", a.repeat, "--threads", a.threads]):
        if row["seconds"] is not None:
            key = (row["op"], row["peer"])
            best_peer[key] = min(row["seconds"], best_peer.get(key, 1e9))
    for op in ("sig", "sig-backward", "logsig", "logsig-backward"):
        best_ours[op] = min(ours(op)["seconds"], best_ours.get(op, 1e9))

print("| batch 128, length 256, 4 channels, depth 6, f32 | ours | best peer | ratio |\n| --- | --- | --- | --- |")
pairs = {"sig": ["sig"], "sig-backward": ["sig_backward"], "logsig": ["logsig_brackets"], "logsig-backward": []}
for op, names in pairs.items():
    found = [(s, peer) for (name, peer), s in best_peer.items() if name in names]
    mine = best_ours[op] * 1e3
    if found:
        s, peer = min(found)
        print(f"| {op} | {mine:.2f} ms | {peer} {s * 1e3:.1f} ms | {s * 1e3 / mine:.1f} |")
    else:
        print(f"| {op} | {mine:.2f} ms | - | - |")
print("\nall peers (ms):", {f"{peer} {op}": round(s * 1e3, 1) for (op, peer), s in sorted(best_peer.items())})
w = [ours("logsig", "--window", 12, "--batch", 32, "--length", 17984, "--channels", 7, "--depth", 2) for _ in range(a.rounds)]
print(f"\nwindows of 12, batch 32, length 17984, 7 channels, depth 2: {min(r['seconds'] for r in w) * 1e3:.2f} ms")
m = ours("sig-backward", "--batch", 1, "--length", 100000, "--channels", 6, "--depth", 4)
print(f"reverse pass of 100,000 points, 6 channels, depth 4: {m['seconds'] * 1e3:.0f} ms, peak {m['peak_mib']:.1f} MiB (input {m['input_mib']:.1f})")
