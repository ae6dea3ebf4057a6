"""Every example of the package and of its README."""

import doctest
import importlib
from pathlib import Path

import pytest

MODULES = ["ncde", "ncde._signatures", "ncde._estimators", "ncde._features", "ncde.torch", "ncde.jax", "ncde.aeon", "ncde.sktime"]
#: What a module is for, and cannot be imported without.
LIBRARIES = {"ncde.torch": "torch", "ncde.jax": "jax", "ncde.aeon": "aeon", "ncde.sktime": "sktime"}


@pytest.mark.parametrize("name", MODULES)
@pytest.mark.filterwarnings("ignore")
def test_examples_of(name):
    if name in LIBRARIES:
        pytest.importorskip(LIBRARIES[name])
    failed, tried = doctest.testmod(importlib.import_module(name))
    assert failed == 0 and (tried > 0 or name == "ncde")


def test_readme():
    pytest.importorskip("pandas")
    readme = Path(__file__).parent.parent / "README.md"
    failed, tried = doctest.testfile(str(readme), module_relative=False)
    assert failed == 0 and tried > 10
