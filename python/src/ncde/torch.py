"""Signatures and linear recurrences as operators of PyTorch, with gradients; imported only when it is asked for.

They are registered with ``torch.library``, so that ``torch.compile(fullgraph=True)``, ``torch.func.vmap``, autocast and ``opcheck`` know them. They compute on the processor.

>>> import torch
>>> from ncde.torch import LinearRecurrence, SLiCE, logsignature
>>> x = torch.randn(8, 100, 3)
>>> logsignature(x, 3).shape
torch.Size([8, 14])
>>> SLiCE(3, 16, block_size=4)(x).shape  # torch-slices' arguments and weights
torch.Size([8, 100, 16])
>>> states, last = LinearRecurrence(3, 16, "dplr", rank=2)(x.diff(dim=1))
>>> states.shape, last.shape
(torch.Size([8, 99, 16]), torch.Size([8, 16]))
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ncde import _ncde
from ncde._signatures import Basis

__all__ = ["LinearRecurrence", "SLiCE", "linear_recurrence", "logsignature", "signature"]


def _array(x: Tensor) -> np.ndarray[Any, Any]:
    array: np.ndarray[Any, Any] = x.detach().contiguous().numpy()
    return array


def _tensor(x: Any) -> Tensor:
    return torch.from_numpy(np.asarray(x))


def _wide(x: Tensor) -> Tensor:
    """Halves are computed with as singles, also under autocast."""
    if x.device.type not in ("cpu", "meta"):
        raise ValueError(f"a tensor on `{x.device}`, but ncde.torch computes on the processor; give it `x.cpu()`")
    return x.float() if x.dtype in (torch.float16, torch.bfloat16) else x


# Signatures -----------------------------------------------------------------------------------------------------------------------------------


@torch.library.custom_op("ncde::signature", mutates_args=(), device_types="cpu")
def _signature(paths: Tensor, depth: int, basis: str, stream: bool, windows: int) -> Tensor:
    return _tensor(_ncde.signature(_array(paths), depth, basis or None, stream, windows or None))


@torch.library.custom_op("ncde::signature_backward", mutates_args=(), device_types="cpu")
def _signature_backward(paths: Tensor, gradient: Tensor, depth: int, basis: str, stream: bool, windows: int) -> Tensor:
    return _tensor(_ncde.signature_backward(_array(paths), _array(gradient), depth, basis or None, stream, windows or None))


@_signature.register_fake
def _(paths: Tensor, depth: int, basis: str, stream: bool, windows: int) -> Tensor:
    batch, length, channels = paths.shape
    coordinates = _ncde.signature_length(int(channels), depth, basis or None)
    if stream:
        return paths.new_empty((batch, length - 1, coordinates))
    if windows:
        return paths.new_empty((batch, (length + windows - 2) // windows, coordinates))
    return paths.new_empty((batch, coordinates))


@_signature_backward.register_fake
def _(paths: Tensor, gradient: Tensor, depth: int, basis: str, stream: bool, windows: int) -> Tensor:
    return paths.new_empty(paths.shape)


def _signature_context(ctx: Any, inputs: Any, output: Tensor) -> None:
    paths, *ctx.settings = inputs
    ctx.save_for_backward(paths)


def _signature_gradient(ctx: Any, gradient: Tensor) -> Any:
    (paths,) = ctx.saved_tensors
    return _signature_backward(paths, gradient, *ctx.settings), None, None, None, None


_signature.register_autograd(_signature_gradient, setup_context=_signature_context)


def _front(x: Tensor, dim: int | None, size: int) -> Tensor:
    """With the axis that is mapped over in front."""
    return x.expand(size, *x.shape) if dim is None else x.movedim(dim, 0)


@_signature.register_vmap
def _(info: Any, in_dims: Any, paths: Tensor, *settings: Any) -> Any:
    paths = paths.movedim(in_dims[0], 0)
    out = _signature(paths.flatten(0, 1), *settings)
    return out.unflatten(0, paths.shape[:2]), 0


@_signature_backward.register_vmap
def _(info: Any, in_dims: Any, paths: Tensor, gradient: Tensor, *settings: Any) -> Any:
    paths, gradient = _front(paths, in_dims[0], info.batch_size), _front(gradient, in_dims[1], info.batch_size)
    out = _signature_backward(paths.flatten(0, 1), gradient.flatten(0, 1), *settings)
    return out.unflatten(0, paths.shape[:2]), 0


def _of_paths(paths: Tensor, depth: int, basis: str, stream: bool, windows: int | None) -> Tensor:
    if paths.ndim not in (2, 3):
        raise ValueError(f"paths have the shape {list(paths.shape)}, wanted [length, channels] or [batch, length, channels]")
    batch = _wide(paths) if paths.ndim == 3 else _wide(paths)[None]
    out: Tensor = _signature(batch, depth, basis, stream, windows or 0)
    return out if paths.ndim == 3 else out[0]


def signature(paths: Tensor, depth: int, *, stream: bool = False, windows: int | None = None) -> Tensor:
    """As :func:`ncde.signature`, of a tensor [length, channels] or [batch, length, channels], with gradients."""
    return _of_paths(paths, depth, "", stream, windows)


def logsignature(paths: Tensor, depth: int, *, basis: Basis = "lyndon", stream: bool = False, windows: int | None = None) -> Tensor:
    """As :func:`ncde.logsignature`, of a tensor [length, channels] or [batch, length, channels], with gradients."""
    return _of_paths(paths, depth, basis, stream, windows)


# Linear recurrences ---------------------------------------------------------------------------------------------------------------------------


def _counts(lengths: Tensor | None) -> list[int] | None:
    return None if lengths is None else lengths.tolist()


@torch.library.custom_op("ncde::linear_recurrence", mutates_args=(), device_types="cpu")
def _recurrence(spec: str, a: Tensor, coefficients: Tensor, initial: Tensor, affine: Tensor | None, lengths: Tensor | None) -> Tensor:
    added = None if affine is None else _array(affine)
    return _tensor(_ncde.recurrence_forward(spec, _array(a), _array(coefficients), _array(initial), added, _counts(lengths)))


@torch.library.custom_op("ncde::linear_recurrence_backward", mutates_args=(), device_types="cpu")
def _recurrence_backward(
    spec: str,
    a: Tensor,
    coefficients: Tensor,
    initial: Tensor,
    affine: Tensor | None,
    lengths: Tensor | None,
    states: Tensor,
    gradient: Tensor,
    driven: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    added = None if affine is None else _array(affine)
    found = _ncde.recurrence_backward(
        spec, _array(a), _array(coefficients), _array(initial), _array(states), _array(gradient), added, _counts(lengths), driven
    )
    of_a, of_coefficients, of_initial, of_affine = (a.new_empty(0) if one is None else _tensor(one) for one in found)
    return of_a, of_coefficients, of_initial, of_affine


@_recurrence.register_fake
def _(spec: str, a: Tensor, coefficients: Tensor, initial: Tensor, affine: Tensor | None, lengths: Tensor | None) -> Tensor:
    return initial.new_empty((*coefficients.shape[:2], initial.shape[-1]))


@_recurrence_backward.register_fake
def _(
    spec: str,
    a: Tensor,
    coefficients: Tensor,
    initial: Tensor,
    affine: Tensor | None,
    lengths: Tensor | None,
    states: Tensor,
    gradient: Tensor,
    driven: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    of_affine = a.new_empty(0) if affine is None else affine.new_empty(affine.shape)
    of_coefficients = coefficients.new_empty(coefficients.shape) if driven else a.new_empty(0)
    return a.new_empty(a.shape), of_coefficients, initial.new_empty(initial.shape), of_affine


def _recurrence_context(ctx: Any, inputs: Any, output: Tensor) -> None:
    spec, a, coefficients, initial, affine, lengths = inputs
    ctx.spec = spec
    ctx.save_for_backward(a, coefficients, initial, affine, lengths, output)


def _recurrence_gradient(ctx: Any, gradient: Tensor) -> Any:
    a, coefficients, initial, affine, lengths, states = ctx.saved_tensors
    # Those in the coefficients take a third of the time.
    driven = ctx.needs_input_grad[2]
    of_a, of_coefficients, of_initial, of_affine = _recurrence_backward(
        ctx.spec, a, coefficients, initial, affine, lengths, states, gradient.contiguous(), driven
    )
    return None, of_a, of_coefficients if driven else None, of_initial, None if affine is None else of_affine, None


_recurrence.register_autograd(_recurrence_gradient, setup_context=_recurrence_context)


@_recurrence.register_vmap
def _(info: Any, in_dims: Any, spec: str, a: Tensor, *arrays: Tensor | None) -> Any:
    size = info.batch_size
    fronts = [None if x is None else _front(x, dim, size) for x, dim in zip(arrays, in_dims[2:])]
    if in_dims[1] is None:
        out = _recurrence(spec, a, *(None if x is None else x.flatten(0, 1) for x in fronts))
        return out.unflatten(0, (size, -1)), 0
    # Matrices of its own for each: one call each.
    each = [_recurrence(spec, own, *(None if x is None else x[i] for x in fronts)) for i, own in enumerate(a.movedim(in_dims[1], 0))]
    return torch.stack(each), 0


@_recurrence_backward.register_vmap
def _(info: Any, in_dims: Any, spec: str, *arguments: Any) -> Any:
    *arrays, driven = arguments
    fronts = [None if x is None else _front(x, dim, info.batch_size) for x, dim in zip(arrays, in_dims[1:])]
    each = [_recurrence_backward(spec, *(None if x is None else x[i] for x in fronts), driven) for i in range(info.batch_size)]
    return tuple(torch.stack(own) for own in zip(*each)), (0, 0, 0, 0)


def linear_recurrence(
    spec: str,
    a: Tensor,
    coefficients: Tensor,
    initial: Tensor,
    affine: Tensor | None = None,
    lengths: Tensor | None = None,
) -> Tensor:
    """The states [batch, length, hidden] of ``h <- exp(sum_k coefficients_k A_k) h + ...``; :class:`LinearRecurrence` has the words for ``spec``.

    ``a`` holds the parameters of all matrices, ``coefficients`` are [batch, length, channels], ``initial`` [batch, hidden], ``affine`` [batch, length, hidden],
    ``lengths`` [batch]. All but ``lengths`` have gradients. Past the length of a series its last state is repeated.
    """
    a, coefficients, initial = _wide(a), _wide(coefficients), _wide(initial)
    kind = torch.promote_types(torch.promote_types(a.dtype, coefficients.dtype), initial.dtype)
    added = None if affine is None else _wide(affine).to(kind)
    out: Tensor = _recurrence(spec, a.to(kind), coefficients.to(kind), initial.to(kind), added, lengths)
    return out


class LinearRecurrence(nn.Module):
    r"""The linear recurrence of a structured neural CDE, with states in and out.

    .. math:: h_{t+1} = \Phi_t h_t + b_t, \quad \Phi_t = \exp(\Omega_t) \text{ or } I + \Omega_t, \quad \Omega_t = \sum_k \lambda_{t,k} A^k

    Parameters
    ----------
    channels : int
        How many coefficients a step has: increments of a path, or coordinates of a log-signature.
    hidden : int
        The number of states.
    structure : {"dense", "diagonal", "block", "diagonal-dense", "dplr", "sparse", "walsh-hadamard"}
        Of the matrices: full, a diagonal, equal blocks of ``block``, a diagonal and one block of ``block`` at the end, a diagonal and ``rank``, the places of
        ``pattern`` (for each channel a list of ``(row, column)``), or a Hadamard matrix times a diagonal.
    transition : {"exp", "euler"}
        The exact flow of a linear piece of path, or its first order.
    exact : bool
        Whether an added input goes through the flow of its step (``phi_1(Omega) beta``), which is exact for inputs that are spread over it, or is added as it is.
    init_std : float
        The deviation of the first parameters, which are drawn from a normal distribution.
    """

    def __init__(
        self,
        channels: int,
        hidden: int,
        structure: str = "block",
        *,
        block: int = 4,
        rank: int = 1,
        pattern: list[list[tuple[int, int]]] | None = None,
        bound: str = "tanh",
        transition: str = "exp",
        exact: bool = True,
        init_std: float = 0.01,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        spec: dict[str, Any] = {"structure": structure, "hidden": hidden, "channels": channels, "transition": transition, "approximate": not exact}
        if structure in ("block", "diagonal-dense"):
            spec["block"] = block
        elif structure == "dplr":
            spec["rank"] = rank
        elif structure == "sparse":
            spec["pattern"] = pattern or []
        elif structure == "walsh-hadamard":
            spec["bound"] = bound
        self.channels, self.hidden, self.spec = channels, hidden, json.dumps(spec)
        count = _ncde.recurrence_parameters(self.spec)
        self.A = nn.Parameter(init_std * torch.randn(count, device=device, dtype=dtype))

    def forward(
        self,
        coefficients: Tensor,
        initial: Tensor | None = None,
        affine: Tensor | None = None,
        lengths: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """The states [batch, length, hidden] and the last of each series, [batch, hidden], from which another call goes on; zeros are gone on from by default."""
        if initial is None:
            initial = coefficients.new_zeros(coefficients.shape[0], self.hidden)
        states = linear_recurrence(self.spec, self.A, coefficients, initial, affine, lengths)
        return states, states[:, -1]

    def extra_repr(self) -> str:
        return self.spec


class SLiCE(nn.Module):
    """A structured linear CDE ``y_i = y_{i-1} + A(X_i) y_{i-1} + B(X_i)``, with the arguments, weights and results of the class of this name in torch-slices.

    Its ``state_dict`` is that of torch-slices, both ways. ``use_parallel`` and ``chunk_size`` are taken and have no effect: the order of computation follows from
    the shapes. ``transition_mode="matrix_exp"`` takes ``exp(A(X_i))``, and adds ``B(X_i)`` as it is.
    """

    def __init__(
        self,
        input_dim: int,
        hidden_dim: int | None = None,
        bias: bool = True,
        block_size: int = 4,
        diagonal_dense: bool = False,
        init_std: float = 0.01,
        scale: float = 1.0,
        input_dependent_init: bool = False,
        use_parallel: bool = True,
        chunk_size: int = 256,
        path_mode: str = "values",
        transition_mode: str = "euler",
    ) -> None:
        super().__init__()
        hidden_dim = input_dim if hidden_dim is None else hidden_dim
        if path_mode not in ("values", "increments"):
            raise ValueError(f"path_mode is `{path_mode}`, wanted `values` or `increments`")
        if transition_mode not in ("euler", "matrix_exp"):
            raise ValueError(f"transition_mode is `{transition_mode}`, wanted `euler` or `matrix_exp`")
        self.input_dim, self.hidden_dim, self.block_size, self.scale, self.path_mode = input_dim, hidden_dim, block_size, scale, path_mode
        # One block, or blocks of one, are plain structures.
        self.diagonal_dense = diagonal_dense and 1 < block_size < hidden_dim
        structure = "diagonal-dense" if self.diagonal_dense else "block"
        transition = "exp" if transition_mode == "matrix_exp" else "euler"
        spec = {"structure": structure, "hidden": hidden_dim, "block": block_size, "channels": input_dim + 1, "transition": transition, "approximate": True}
        self.spec = json.dumps(spec)
        _ncde.recurrence_parameters(self.spec)
        if input_dependent_init:
            self.init: nn.Module | nn.Parameter = nn.Linear(input_dim, hidden_dim)
            nn.init.normal_(self.init.weight, std=init_std)
            nn.init.zeros_(self.init.bias)
        else:
            self.init = nn.Parameter(torch.randn(hidden_dim) * init_std)

        def linear(outputs: int, std: float) -> nn.Linear:
            layer = nn.Linear(input_dim + 1, outputs, bias=False)
            nn.init.normal_(layer.weight, std=std)
            return layer

        if self.diagonal_dense:
            self.vf_A_diag = linear(hidden_dim - block_size, init_std)
            self.vf_A_dense = linear(block_size**2, init_std / block_size**0.5)
        else:
            self.vf_A = linear(hidden_dim * block_size, init_std / block_size**0.5)
        self.vf_B = linear(hidden_dim, init_std) if bias else None

    def forward(self, X: Tensor, initial: Tensor | None = None, lengths: Tensor | None = None) -> Tensor:
        """The states [batch, length, hidden_dim] of values [batch, length, input_dim]; ``initial`` takes the place of the learnt first state."""
        path = torch.diff(X, dim=1, prepend=torch.zeros_like(X[:, :1])) if self.path_mode == "values" else X
        inputs = torch.cat((torch.ones_like(path[..., :1]), path), dim=-1) * self.scale
        if initial is None:
            initial = self.init.expand(X.shape[0], -1) if isinstance(self.init, nn.Parameter) else self.init(X[:, 0])
        if self.diagonal_dense:
            a = torch.cat((self.vf_A_diag.weight.T, self.vf_A_dense.weight.T), dim=1)
        else:
            a = self.vf_A.weight.T
        added = None if self.vf_B is None else self.vf_B(inputs)
        return linear_recurrence(self.spec, a.flatten(), inputs, initial, added, lengths)
