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

from ncde.torch._recurrence import LinearRecurrence, linear_recurrence
from ncde.torch._signature import logsignature, signature
from ncde.torch._slice import SLiCE, SLiCELayer, StackedSLiCE

__all__ = ["LinearRecurrence", "SLiCE", "SLiCELayer", "StackedSLiCE", "linear_recurrence", "logsignature", "signature"]
