"""Forward and reverse pass of one layer of the models the thesis compares with, by the libraries a user would take, in f32: a JSON line each.

Usage: python families.py NAME [NAME ...] [--batch 32] [--length 1024] [--width 128] [--threads 2] [--repeat 3] [--fla FOLDER]

lstm, gru, attention: torch. mamba: mambapy (its selective scan with projections, as our layer `selective`). lru, s5, linoss: discretax (JAX, Python 3.12).
deltanet: the recurrence of fla-core's `ops/delta_rule/naive.py` (chunk-wise, pure torch) between projections; `--fla` is the folder the wheel was unpacked to, as importing it wants Triton.
"""
import argparse, json, os, sys, time

p = argparse.ArgumentParser()
p.add_argument("names", nargs="+")
p.add_argument("--batch", type=int, default=32)
p.add_argument("--length", type=int, default=1024)
p.add_argument("--width", type=int, default=128)
p.add_argument("--threads", type=int, default=2)
p.add_argument("--repeat", type=int, default=3)
p.add_argument("--fla", default="fla_core")
p.add_argument("--device", default="cpu")
a = p.parse_args()
B, L, W = a.batch, a.length, a.width


def say(name, library, run):
    run()
    best = float("inf")
    for _ in range(a.repeat):
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
    print(json.dumps(dict(bench="family", name=name, library=library, batch=B, length=L, width=W, threads=a.threads, device=a.device, seconds=best)), flush=True)


def torch_layer(name):
    import torch
    import torch.nn as nn
    import torch.nn.functional as F
    torch.set_num_threads(a.threads)
    device = torch.device(a.device)
    x = torch.randn(B, L, W, device=device, requires_grad=True)
    library = f"torch {torch.__version__}"
    if name in ("lstm", "gru"):
        layer = dict(lstm=nn.LSTM, gru=nn.GRU)[name](W, W, batch_first=True).to(device)
        forward = lambda: layer(x)[0]
    elif name == "attention":
        heads = 4
        into, out = nn.Linear(W, 3 * W, device=device), nn.Linear(W, W, device=device)
        layer = nn.ModuleList([into, out])

        def forward():
            q, k, v = into(x).view(B, L, 3, heads, W // heads).permute(2, 0, 3, 1, 4)
            return out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(B, L, W))
    elif name == "mamba":
        from mambapy.mamba import MambaBlock, MambaConfig
        layer = MambaBlock(MambaConfig(d_model=W // 2, n_layers=1, d_state=16, expand_factor=2)).to(device)
        library = "mambapy 1.2.0, " + library
        forward = lambda: layer.ssm(x, None)
    else:
        source = open(os.path.join(a.fla, "fla/ops/delta_rule/naive.py")).read()
        space = {}
        exec(source, space)
        heads, library = 4, "fla-core, naive chunk-wise, " + library
        layer = nn.ModuleList([nn.Linear(W, 3 * W + heads, bias=False, device=device), nn.Linear(W, W, bias=False, device=device)])

        def forward():
            q, k, v, beta = layer[0](x).split([W, W, W, heads], -1)
            q, k, v = (F.silu(y).view(B, L, heads, W // heads).transpose(1, 2) for y in (q, k, v))
            q, k = F.normalize(q, dim=-1), F.normalize(k, dim=-1)
            y = space["delta_rule_chunkwise"](q, k, v, beta.sigmoid().transpose(1, 2))
            return layer[1]((y[0] if isinstance(y, tuple) else y).transpose(1, 2).reshape(B, L, W))

    def run():
        x.grad = None
        layer.zero_grad()
        forward().square().mean().backward()
        if device.type == "cuda":
            torch.cuda.synchronize()

    say(name, library, run)


def jax_layer(name):
    os.environ["XLA_FLAGS"] = f"--xla_cpu_multi_thread_eigen={'true' if a.threads > 1 else 'false'} intra_op_parallelism_threads={a.threads}"
    import jax, jax.numpy as jnp, equinox as eqx
    from discretax.sequence_mixers.linoss import LinOSSSequenceMixer
    from discretax.sequence_mixers.lru import LRUSequenceMixer
    from discretax.sequence_mixers.s5 import S5SequenceMixer
    key = jax.random.PRNGKey(0)
    layer = dict(
        lru=lambda: LRUSequenceMixer(W, key, state_dim=64),
        s5=lambda: S5SequenceMixer(W, key, state_dim=128),
        linoss=lambda: LinOSSSequenceMixer(W, key, state_dim=64, discretization="IM", damping=False),
    )[name]()
    x = jax.random.normal(key, (B, L, W))

    @eqx.filter_jit
    @eqx.filter_value_and_grad
    def step(both):
        layer, x = both
        return jnp.mean(jax.vmap(lambda x: layer(x, key))(x) ** 2)

    say(name, f"discretax 0.2.1, jax {jax.__version__}", lambda: jax.block_until_ready(step((layer, x))))


for name in a.names:
    (jax_layer if name in ("lru", "s5", "linoss") else torch_layer)(name)
