"""Makes signatures.json: values of published libraries on random paths, which tests/golden.rs compares with ours.

    pip install numpy==2.4.6 torch==2.15.0 pysiglib==4.0.0 RoughPy==0.3.0 iisignature==0.24 && python make.py > signatures.json

Paths: numpy default_rng(seed).standard_normal((length, channels)).cumsum(0) * 0.3, float64.
- signature: iisignature.sig;
- gradient: pysiglib.sig_backprop, of the sum of all coordinates times 1..n / n (iisignature's is in single precision);
- lyndon: pysiglib.log_sig, method 2 (Lyndon brackets);
- hall: RoughPy, the Lie basis of its context, from the stream of increments.
"""
import json, sys
import importlib.metadata as md
import numpy as np
import torch, pysiglib, iisignature, roughpy as rp

out = {"versions": {p: md.version(p) for p in ("numpy", "pysiglib", "RoughPy", "iisignature")}, "cases": []}
for seed, (length, channels, depth) in enumerate([(2, 1, 4), (9, 2, 5), (17, 3, 4), (6, 5, 3), (30, 2, 6), (8, 7, 2)]):
    x = np.random.default_rng(seed).standard_normal((length, channels)).cumsum(0) * 0.3
    sig = iisignature.sig(x, depth)
    weights = np.arange(1, len(sig) + 1) / len(sig)
    pysiglib.prepare_log_sig(channels, depth, 2)
    lyndon = pysiglib.log_sig(torch.from_numpy(x[None].copy()), depth, method=2).numpy()[0]
    xt = torch.from_numpy(x[None])
    full = pysiglib.sig(xt, depth)
    gradient = pysiglib.sig_backprop(xt, full, torch.from_numpy(weights[None]), depth).numpy().ravel()
    stream = rp.LieIncrementStream.from_increments(np.diff(x, axis=0), width=channels, depth=depth, dtype=rp.DPReal)
    whole = rp.RealInterval(-1.0, length + 1.0)
    out["cases"].append({
        "length": length, "channels": channels, "depth": depth,
        "path": x.ravel().tolist(),
        "signature": sig.tolist(),
        "weights": weights.tolist(),
        "gradient": gradient.tolist(),
        "lyndon": lyndon.tolist(),
        "hall": np.array(stream.log_signature(whole)).tolist(),
        "hall_labels": [str(k) for k in rp.get_context(channels, depth, rp.DPReal).lie_basis] if channels * depth <= 12 else [],
    })
json.dump(out, sys.stdout)
