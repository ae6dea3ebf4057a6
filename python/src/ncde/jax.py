"""Signatures as functions of JAX, with reverse gradients, ``jit`` and ``vmap``; imported only when it is asked for. They compute on the processor.

>>> import jax, jax.numpy as jnp
>>> from ncde.jax import logsignature
>>> x = jax.random.normal(jax.random.key(0), (8, 100, 3))
>>> jax.jit(lambda x: logsignature(x, 3))(x).shape
(8, 14)
>>> jax.grad(lambda x: logsignature(x, 3).sum())(x).shape
(8, 100, 3)
"""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import numpy as np

from ncde import _ncde
from ncde._signatures import Basis

__all__ = ["logsignature", "signature"]


def _shape(shape: tuple[int, ...], depth: int, basis: str | None, stream: bool, windows: int | None) -> tuple[int, ...]:
    *batch, length, channels = shape
    coordinates = _ncde.signature_length(channels, depth, basis)
    rows = (length - 1,) if stream else () if windows is None else (-(-(length - 1) // windows),)
    return (*batch, *rows, coordinates)


def _forward(settings: tuple[Any, ...], paths: Any) -> np.ndarray[Any, Any]:
    paths = np.asarray(paths)
    out: np.ndarray[Any, Any] = _ncde.signature(paths.reshape(-1, *paths.shape[-2:]), *settings)
    return out.reshape(_shape(paths.shape, *settings))


def _backward(settings: tuple[Any, ...], paths: Any, gradient: Any) -> np.ndarray[Any, Any]:
    paths, gradient = np.asarray(paths), np.asarray(gradient)
    batch = paths.reshape(-1, *paths.shape[-2:])
    out: np.ndarray[Any, Any] = _ncde.signature_backward(batch, gradient.reshape(len(batch), -1), *settings)
    return out.reshape(paths.shape)


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def _signature(settings: tuple[Any, ...], paths: Any) -> Any:
    result = jax.ShapeDtypeStruct(_shape(paths.shape, *settings), paths.dtype)
    return jax.pure_callback(partial(_forward, settings), result, paths, vmap_method="broadcast_all")


def _with_paths(settings: tuple[Any, ...], paths: Any) -> Any:
    return _signature(settings, paths), paths


def _gradient(settings: tuple[Any, ...], paths: Any, gradient: Any) -> Any:
    result = jax.ShapeDtypeStruct(paths.shape, paths.dtype)
    return (jax.pure_callback(partial(_backward, settings), result, paths, gradient, vmap_method="broadcast_all"),)


_signature.defvjp(_with_paths, _gradient)


def _of_paths(paths: Any, settings: tuple[Any, ...]) -> Any:
    if paths.ndim < 2:
        raise ValueError(f"paths have the shape {paths.shape}, wanted (length, channels) or (batch, length, channels)")
    wide = paths.astype("float32") if paths.dtype.itemsize < 4 else paths
    return _signature(settings, wide)


def signature(paths: Any, depth: int, *, stream: bool = False, windows: int | None = None) -> Any:
    """As :func:`ncde.signature`, of an array (..., length, channels)."""
    return _of_paths(paths, (depth, None, stream, windows))


def logsignature(paths: Any, depth: int, *, basis: Basis = "lyndon", stream: bool = False, windows: int | None = None) -> Any:
    """As :func:`ncde.logsignature`, of an array (..., length, channels)."""
    return _of_paths(paths, (depth, basis, stream, windows))
