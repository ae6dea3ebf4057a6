"""SLiCEs with the arguments, weights and results of torch-slices: one, a layer around it, a stack of layers."""

from __future__ import annotations

import json
from typing import Any

import torch
from torch import Tensor, nn

from ncde import _ncde
from ncde.torch._recurrence import linear_recurrence


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


class SLiCELayer(nn.Module):
    """A :class:`SLiCE` and a network of each row, both beside a skip connection and with a norm: the class of this name in torch-slices.

    ``slice`` takes the arguments of :class:`SLiCE`. With ``prenorm`` norms come before the branches, else behind the sums; ``ff_style`` is two linear layers
    (``"mlp"``) or one (``"single"``); ``dropout_position`` is on each branch (``"residual"``) or on the result (``"output"``).
    """

    def __init__(
        self,
        input_dim: int,
        *,
        dropout_rate: float = 0.01,
        norm_type: str = "rmsnorm",
        prenorm: bool = True,
        second_norm: bool = True,
        ff_style: str = "mlp",
        ff_activation: str = "gelu",
        ff_mult: int = 4,
        dropout_position: str = "residual",
        norm_eps: float = 1e-6,
        **slice: Any,
    ) -> None:
        super().__init__()
        norm = _one_of("norm_type", norm_type, {"rmsnorm": nn.RMSNorm, "layernorm": nn.LayerNorm})
        activation = _one_of("ff_activation", ff_activation, {"gelu": nn.GELU, "glu": nn.GLU, "tanh": nn.Tanh})()
        is_single = _one_of("ff_style", ff_style, {"mlp": False, "single": True})
        self.drops_branches = _one_of("dropout_position", dropout_position, {"residual": True, "output": False})
        if is_single and ff_mult != 1:
            raise ValueError(f"ff_mult is {ff_mult}, but one linear layer (`ff_style=\"single\"`) has the width of its input: 1")
        self.prenorm = prenorm
        self.slice = SLiCE(input_dim, **slice)
        self.drop = nn.Dropout(dropout_rate)
        self.norm1 = norm(input_dim, eps=norm_eps)
        self.norm2 = norm(input_dim, eps=norm_eps) if second_norm else None
        width = ff_mult * input_dim
        first = nn.Linear(input_dim, 2 * width if ff_activation == "glu" else width)
        self.token_mlp = nn.Sequential(first, activation, *([] if is_single else [nn.Linear(width, input_dim)]))

    def forward(self, X: Tensor) -> Tensor:
        """[batch, length, input_dim], as its input."""

        def normed(norm: nn.Module | None, x: Tensor) -> Tensor:
            return x if norm is None else norm(x)

        for norm, branch in ((self.norm1, self.slice), (self.norm2, self.token_mlp)):
            out = branch(normed(norm, X) if self.prenorm else X)
            X = X + (self.drop(out) if self.drops_branches else out)
            X = X if self.prenorm else normed(norm, X)
        return X if self.drops_branches else self.drop(X)


def _one_of(name: str, value: str, known: dict[str, Any]) -> Any:
    if value not in known:
        raise ValueError(f"{name} is `{value}`, wanted {' or '.join(f'`{one}`' for one in known)}")
    return known[value]


class StackedSLiCE(nn.Module):
    """An embedding, ``num_layers`` times a :class:`SLiCELayer`, and a readout: the class of this name in torch-slices.

    ``tokens`` says whether inputs are whole numbers below ``data_dim``, [batch, length], or [batch, length, data_dim]. With a tuple as ``label_dim`` there is a
    readout for each of its numbers. ``layer`` takes the arguments of :class:`SLiCELayer` and :class:`SLiCE`.
    """

    def __init__(
        self,
        num_layers: int,
        data_dim: int,
        hidden_dim: int,
        label_dim: int | tuple[int, ...],
        bias: bool = True,
        tokens: bool = True,
        **layer: Any,
    ) -> None:
        super().__init__()
        self.tokens = tokens
        self.embedding: nn.Module = nn.Embedding(data_dim, hidden_dim) if tokens else nn.Linear(data_dim, hidden_dim)
        self.layers = nn.ModuleList(SLiCELayer(hidden_dim, bias=bias, **layer) for _ in range(num_layers))
        if isinstance(label_dim, int):
            self.linear: nn.Module = nn.Linear(hidden_dim, label_dim)
        else:
            self.linear = nn.ModuleList(nn.Linear(hidden_dim, size) for size in label_dim)

    def hidden(self, X: Tensor) -> Tensor:
        """What the last layer hands on, [batch, length, hidden_dim]."""
        X = self.embedding(X.long() if self.tokens else X.float())
        for layer in self.layers:
            X = layer(X)
        return X

    def forward(self, X: Tensor) -> Any:
        """[batch, length, label_dim], or a list of such for a tuple of sizes."""
        X = self.hidden(X)
        return [head(X) for head in self.linear] if isinstance(self.linear, nn.ModuleList) else self.linear(X)
