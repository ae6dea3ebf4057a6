"""Functions of JAX: values, gradients, jit and vmap."""

import numpy as np
import pytest

jax = pytest.importorskip("jax")

import ncde
from ncde import jax as ours


@pytest.fixture(autouse=True, scope="module")
def double_precision():
    with jax.enable_x64(True):
        yield


@pytest.mark.parametrize("options", [{}, {"stream": True}, {"windows": 2}])
@pytest.mark.parametrize("kind", ["signature", "logsignature"])
def test_values_and_gradients(kind, options):
    x = np.random.default_rng(0).normal(size=(3, 6, 2))
    of = lambda x: getattr(ours, kind)(x, 3, **options)
    wanted = getattr(ncde, kind)(x, 3, **options)
    np.testing.assert_allclose(jax.jit(of)(x), wanted, atol=1e-12)
    np.testing.assert_allclose(jax.vmap(of)(x), wanted, atol=1e-12)
    np.testing.assert_allclose(of(x[0]), wanted[0], atol=1e-12)
    weight = np.random.default_rng(1).normal(size=wanted.shape)
    loss = lambda x: (weight * of(x)).sum()
    gradient = getattr(ncde, f"{kind}_backward")(x, weight, 3, **options)
    np.testing.assert_allclose(jax.jit(jax.grad(loss))(x), gradient, atol=1e-12)
    one = lambda x, w: (w * of(x)).sum()
    np.testing.assert_allclose(jax.vmap(jax.grad(one))(x, weight), gradient, atol=1e-12)
