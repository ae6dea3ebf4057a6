"""Signatures and log-signatures as operators."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ncde import _ncde
from ncde._signatures import Basis
from ncde.torch._arrays import array, front, tensor, wide


@torch.library.custom_op("ncde::signature", mutates_args=(), device_types="cpu")
def _signature(paths: Tensor, depth: int, basis: str, stream: bool, windows: int) -> Tensor:
    return tensor(_ncde.signature(array(paths), depth, basis or None, stream, windows or None))


@torch.library.custom_op("ncde::signature_backward", mutates_args=(), device_types="cpu")
def _signature_backward(paths: Tensor, gradient: Tensor, depth: int, basis: str, stream: bool, windows: int) -> Tensor:
    return tensor(_ncde.signature_backward(array(paths), array(gradient), depth, basis or None, stream, windows or None))


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


@_signature.register_vmap
def _(info: Any, in_dims: Any, paths: Tensor, *settings: Any) -> Any:
    paths = paths.movedim(in_dims[0], 0)
    out = _signature(paths.flatten(0, 1), *settings)
    return out.unflatten(0, paths.shape[:2]), 0


@_signature_backward.register_vmap
def _(info: Any, in_dims: Any, paths: Tensor, gradient: Tensor, *settings: Any) -> Any:
    paths, gradient = front(paths, in_dims[0], info.batch_size), front(gradient, in_dims[1], info.batch_size)
    out = _signature_backward(paths.flatten(0, 1), gradient.flatten(0, 1), *settings)
    return out.unflatten(0, paths.shape[:2]), 0


def _of_paths(paths: Tensor, depth: int, basis: str, stream: bool, windows: int | None) -> Tensor:
    if paths.ndim not in (2, 3):
        raise ValueError(f"paths have the shape {list(paths.shape)}, wanted [length, channels] or [batch, length, channels]")
    batch = wide(paths) if paths.ndim == 3 else wide(paths)[None]
    out: Tensor = _signature(batch, depth, basis, stream, windows or 0)
    return out if paths.ndim == 3 else out[0]


def signature(paths: Tensor, depth: int, *, stream: bool = False, windows: int | None = None) -> Tensor:
    """As :func:`ncde.signature`, of a tensor [length, channels] or [batch, length, channels], with gradients."""
    return _of_paths(paths, depth, "", stream, windows)


def logsignature(paths: Tensor, depth: int, *, basis: Basis = "lyndon", stream: bool = False, windows: int | None = None) -> Tensor:
    """As :func:`ncde.logsignature`, of a tensor [length, channels] or [batch, length, channels], with gradients."""
    return _of_paths(paths, depth, basis, stream, windows)
