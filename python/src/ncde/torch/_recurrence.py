"""The linear recurrence of structured neural CDEs as an operator, and as a module."""

from __future__ import annotations

import json
from typing import Any

import torch
from torch import Tensor, nn

from ncde import _ncde
from ncde.torch._arrays import array, front, tensor, wide


def _counts(lengths: Tensor | None) -> list[int] | None:
    return None if lengths is None else lengths.tolist()


@torch.library.custom_op("ncde::linear_recurrence", mutates_args=(), device_types="cpu")
def _recurrence(spec: str, a: Tensor, coefficients: Tensor, initial: Tensor, affine: Tensor | None, lengths: Tensor | None) -> Tensor:
    added = None if affine is None else array(affine)
    return tensor(_ncde.recurrence_forward(spec, array(a), array(coefficients), array(initial), added, _counts(lengths)))


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
    added = None if affine is None else array(affine)
    found = _ncde.recurrence_backward(
        spec, array(a), array(coefficients), array(initial), array(states), array(gradient), added, _counts(lengths), driven
    )
    of_a, of_coefficients, of_initial, of_affine = (a.new_empty(0) if one is None else tensor(one) for one in found)
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
    fronts = [None if x is None else front(x, dim, size) for x, dim in zip(arrays, in_dims[2:])]
    if in_dims[1] is None:
        out = _recurrence(spec, a, *(None if x is None else x.flatten(0, 1) for x in fronts))
        return out.unflatten(0, (size, -1)), 0
    # Matrices of its own for each: one call each.
    each = [_recurrence(spec, own, *(None if x is None else x[i] for x in fronts)) for i, own in enumerate(a.movedim(in_dims[1], 0))]
    return torch.stack(each), 0


@_recurrence_backward.register_vmap
def _(info: Any, in_dims: Any, spec: str, *arguments: Any) -> Any:
    *arrays, driven = arguments
    fronts = [None if x is None else front(x, dim, info.batch_size) for x, dim in zip(arrays, in_dims[1:])]
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
    a, coefficients, initial = wide(a), wide(coefficients), wide(initial)
    kind = torch.promote_types(torch.promote_types(a.dtype, coefficients.dtype), initial.dtype)
    added = None if affine is None else wide(affine).to(kind)
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
