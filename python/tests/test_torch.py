"""Operators of PyTorch: values, gradients, torch.library's checks, compiling, mapping, autocast."""

import copy
import subprocess
import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import ncde
from ncde.torch import LinearRecurrence, SLiCE, StackedSLiCE, linear_recurrence, logsignature, signature
from ncde.torch._arrays import wide

PATTERN = [[(0, 1), (2, 3), (3, 0)], [(1, 1), (3, 2)], [(0, 0), (2, 1)]]
STRUCTURES = [
    {"structure": "dense"},
    {"structure": "diagonal"},
    {"structure": "block", "block": 2},
    {"structure": "diagonal-dense", "block": 3},
    {"structure": "dplr", "rank": 2},
    {"structure": "sparse", "pattern": PATTERN},
    {"structure": "walsh-hadamard", "bound": "tanh"},
]


def layer(transition="exp", **structure):
    torch.manual_seed(0)
    return LinearRecurrence(3, 4, **structure, transition=transition, init_std=0.5, dtype=torch.float64)


def arrays(batch=2, length=5, dtype=torch.float64):
    torch.manual_seed(1)
    new = lambda *shape: (0.3 * torch.randn(*shape, dtype=dtype)).requires_grad_()
    return new(batch, length, 3), new(batch, 4), new(batch, length, 4)


@pytest.mark.parametrize("options", [{}, {"stream": True}, {"windows": 2}])
@pytest.mark.parametrize("kind", ["signature", "logsignature"])
def test_signatures(kind, options):
    x = torch.randn(3, 6, 2, dtype=torch.float64, requires_grad=True)
    of = {"signature": signature, "logsignature": logsignature}[kind]
    np.testing.assert_allclose(of(x, 3, **options).detach(), getattr(ncde, kind)(x.detach().numpy(), 3, **options))
    assert torch.autograd.gradcheck(lambda x: of(x, 3, **options), x)
    compiled = torch.compile(lambda x: of(x.sin(), 3, **options).square().sum(), fullgraph=True, backend="aot_eager")
    (got,) = torch.autograd.grad(compiled(x), x)
    (wanted,) = torch.autograd.grad(of(x.sin(), 3, **options).square().sum(), x)
    torch.testing.assert_close(got, wanted)
    mapped = torch.func.vmap(lambda x: of(x, 3, **options), in_dims=1)(x[:, None].expand(3, 4, 6, 2))
    torch.testing.assert_close(mapped[2], of(x, 3, **options))
    settings = (3, "" if kind == "signature" else "lyndon", options.get("stream", False), options.get("windows", 0))
    torch.library.opcheck(torch.ops.ncde.signature, (x, *settings))


@pytest.mark.parametrize("transition", ["exp", "euler"])
@pytest.mark.parametrize("structure", STRUCTURES, ids=lambda structure: structure["structure"])
def test_gradients_of_every_structure(structure, transition):
    own = layer(transition, **structure)
    coefficients, initial, affine = arrays()
    lengths = torch.tensor([5, 3])
    run = lambda a, *rest: linear_recurrence(own.spec, a, *rest, lengths)
    assert torch.autograd.gradcheck(run, (own.A, coefficients, initial, affine))
    assert torch.autograd.gradcheck(lambda a, c, h: linear_recurrence(own.spec, a, c, h), (own.A, coefficients, initial))


def test_values_are_those_of_matrix_exponentials():
    own = layer(structure="dense")
    coefficients, initial, affine = arrays()
    matrices = own.A.view(3, 4, 4)
    state, wanted = initial, []
    for t in range(5):
        generator = torch.einsum("bk,kij->bij", coefficients[:, t], matrices)
        state = torch.einsum("bij,bj->bi", torch.matrix_exp(generator), state)
        wanted.append(state)
    states, last = own(coefficients, initial)
    torch.testing.assert_close(states, torch.stack(wanted, 1))
    torch.testing.assert_close(last, state)


def test_states_in_and_out_go_on():
    own = layer(structure="dplr", rank=1)
    coefficients, initial, affine = arrays(length=8)
    whole, last = own(coefficients, initial, affine)
    first, between = own(coefficients[:, :3], initial, affine[:, :3])
    second, end = own(coefficients[:, 3:], between, affine[:, 3:])
    torch.testing.assert_close(torch.cat((first, second), 1), whole)
    torch.testing.assert_close(end, last)
    wanted = torch.autograd.grad(last.sum(), (initial, coefficients), retain_graph=True)
    torch.testing.assert_close(torch.autograd.grad(end.sum(), (initial, coefficients)), wanted)


def test_ragged_series_keep_their_last_state():
    own = layer(structure="dense")
    coefficients, initial, _ = arrays()
    states, last = own(coefficients, initial, lengths=torch.tensor([5, 2]))
    torch.testing.assert_close(last[1], states[1, 1])
    (gradient,) = torch.autograd.grad(last.sum(), coefficients)
    assert (gradient[1, 2:] == 0).all() and (gradient[1, :2] != 0).any()


def test_checks_of_operators():
    own = layer(structure="block", block=2)
    coefficients, initial, affine = arrays()
    for rest in ((affine, torch.tensor([5, 3])), (None, None)):
        torch.library.opcheck(torch.ops.ncde.linear_recurrence, (own.spec, own.A, coefficients, initial, *rest))


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_compiled_layers(backend):
    if backend == "inductor" and not torch._inductor.cpp_builder.get_cpp_compiler():
        pytest.skip("there is no compiler of C++")
    own = SLiCE(3, 8, block_size=2)
    x = torch.randn(2, 6, 3)
    compiled = torch.compile(own, fullgraph=True, backend=backend)
    # What an earlier version has left on disk would be run.
    with torch._inductor.config.patch(force_disable_caches=True):
        torch.testing.assert_close(compiled(x), own(x))
        compiled(x).sum().backward()
    got = own.vf_A.weight.grad.clone()
    own.zero_grad()
    own(x).sum().backward()
    torch.testing.assert_close(got, own.vf_A.weight.grad)


def test_mapping_over_series_and_over_models():
    own = layer(structure="dense")
    coefficients, initial, _ = arrays(batch=6)
    wanted, _ = own(coefficients, initial)
    run = lambda a, c, h: linear_recurrence(own.spec, a, c, h)
    got = torch.func.vmap(run, in_dims=(None, 0, 0))(own.A, coefficients.view(3, 2, 5, 3), initial.view(3, 2, 4))
    torch.testing.assert_close(got.flatten(0, 1), wanted)
    ensemble = torch.stack((own.A, 2 * own.A))
    got = torch.func.vmap(run, in_dims=(0, None, None))(ensemble, coefficients, initial)
    torch.testing.assert_close(got[0], wanted)
    (of_a,) = torch.autograd.grad(wanted.sum(), own.A, retain_graph=True)
    (of_ensemble,) = torch.autograd.grad(got.sum(), own.A)
    torch.testing.assert_close(of_ensemble, of_a + torch.autograd.grad(run(2 * own.A, coefficients, initial).sum(), own.A)[0])
    batch = torch.stack((torch.ones_like(wanted), -torch.ones_like(wanted)))
    (both,) = torch.autograd.grad(wanted, own.A, batch, is_grads_batched=True)
    torch.testing.assert_close(both, torch.stack((of_a, -of_a)))


def test_autocast_computes_in_single_precision():
    own = SLiCE(3, 8)
    x = torch.randn(2, 6, 3)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = own(x)
        assert out.dtype == torch.float32
    torch.testing.assert_close(out, own(x), atol=1e-2, rtol=1e-2)
    assert signature(x.bfloat16(), 2).dtype == torch.float32


def test_other_devices_are_a_clear_error():
    with pytest.raises(ValueError, match="computes on the processor"):
        wide(type("Tensor", (), {"device": torch.device("cuda"), "dtype": torch.float32})())
    with pytest.raises(ValueError, match="the next is 8"):
        LinearRecurrence(3, 6, "walsh-hadamard")
    with pytest.raises((ValueError, RuntimeError), match="not finite|NaN"):
        signature(torch.full((2, 3, 2), torch.nan), 2)


def test_state_dictionaries_and_copies():
    own = SLiCE(3, 8, diagonal_dense=True, block_size=3)
    other = copy.deepcopy(own)
    other.load_state_dict(own.state_dict())
    x = torch.randn(2, 6, 3)
    torch.testing.assert_close(own(x), other(x))


CASES = [
    {"block_size": 4},
    {"block_size": 1},
    {"block_size": 16},
    {"block_size": 4, "diagonal_dense": True},
    {"block_size": 4, "transition_mode": "matrix_exp"},
    {"block_size": 2, "bias": False, "path_mode": "increments", "scale": 0.5},
    {"block_size": 4, "input_dependent_init": True},
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_twenty_steps_beside_torch_slices(case):
    theirs = pytest.importorskip("slices")
    torch.manual_seed(0)
    settings = {"init_std": 0.1, **case}
    other, own = theirs.SLiCE(3, 16, use_parallel=False, **settings), SLiCE(3, 16, **settings)
    own.load_state_dict(other.state_dict())
    x, y = torch.randn(4, 30, 3).cumsum(1) * 0.2, torch.randn(4, 30, 16)
    losses = [twenty_steps(model, lambda model: (model(x) - y).square().mean()) for model in (own, other)]
    np.testing.assert_allclose(losses[0], losses[1], atol=1e-4)
    assert losses[0][-1] < losses[0][0]


STACKS = [
    {},
    {"tokens": False, "norm_type": "layernorm", "prenorm": False, "block_size": 2},
    {"ff_style": "single", "ff_mult": 1, "ff_activation": "glu", "dropout_position": "output", "second_norm": False},
    {"label_dim": (3, 2), "ff_activation": "tanh", "diagonal_dense": True},
]


@pytest.mark.parametrize("case", STACKS, ids=str)
def test_twenty_steps_of_a_stack_beside_torch_slices(case):
    theirs = pytest.importorskip("slices")
    torch.manual_seed(0)
    settings = {"num_layers": 2, "data_dim": 5, "hidden_dim": 16, "label_dim": 3, "dropout_rate": 0.0, "init_std": 0.1, **case}
    other, own = theirs.StackedSLiCE(use_parallel=False, **settings), StackedSLiCE(**settings)
    own.load_state_dict(other.state_dict())
    x = torch.randn(4, 30, 5) if not settings.get("tokens", True) else torch.randint(5, (4, 30))
    y = torch.randint(2, (4, 30))

    def loss(model):
        heads = model(x)
        heads = heads if isinstance(heads, list) else [heads]
        return sum(torch.nn.functional.cross_entropy(head.transpose(1, 2), y) for head in heads)

    losses = [twenty_steps(model, loss) for model in (own, other)]
    np.testing.assert_allclose(losses[0], losses[1], atol=1e-4)
    assert losses[0][-1] < losses[0][0]


def twenty_steps(model, loss):
    optimizer, losses = torch.optim.Adam(model.parameters(), lr=1e-2), []
    for _ in range(20):
        optimizer.zero_grad()
        value = loss(model)
        value.backward()
        optimizer.step()
        losses.append(value.item())
    return losses


PROCESSES = """
import sys
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from ncde.torch import SLiCE

dist.init_process_group("gloo")
torch.manual_seed(0)
model = DistributedDataParallel(SLiCE(3, 8, block_size=2, init_std=0.1))
x, y = torch.randn(8, 20, 3).cumsum(1), torch.randn(8, 20, 8)
own = slice(dist.get_rank(), None, dist.get_world_size())
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for _ in range(5):
    optimizer.zero_grad()
    loss = (model(x[own]) - y[own]).square().mean()
    loss.backward()
    optimizer.step()
    dist.all_reduce(loss)
    if dist.get_rank() == 0:
        print(loss.item() / dist.get_world_size(), flush=True)
dist.destroy_process_group()
"""


@pytest.mark.skipif(not torch.distributed.is_available(), reason="PyTorch is built without torch.distributed")
def test_two_processes_give_the_losses_of_one(tmp_path):
    (tmp_path / "train.py").write_text(PROCESSES)

    def losses(processes):
        run = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes), "train.py"]
        done = subprocess.run(run, capture_output=True, text=True, timeout=300, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return [float(line) for line in done.stdout.split()]

    np.testing.assert_allclose(losses(2), losses(1), atol=1e-5)
