"""Tensors as arrays, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor


def array(x: Tensor) -> np.ndarray[Any, Any]:
    numbers: np.ndarray[Any, Any] = x.detach().contiguous().numpy()
    return numbers


def tensor(x: Any) -> Tensor:
    return torch.from_numpy(np.asarray(x))


def wide(x: Tensor) -> Tensor:
    """Halves are computed with as singles, also under autocast."""
    if x.device.type not in ("cpu", "meta"):
        raise ValueError(f"a tensor on `{x.device}`, but ncde.torch computes on the processor; give it `x.cpu()`")
    return x.float() if x.dtype in (torch.float16, torch.bfloat16) else x


def front(x: Tensor, dim: int | None, size: int) -> Tensor:
    """With the axis that is mapped over in front."""
    return x.expand(size, *x.shape) if dim is None else x.movedim(dim, 0)
