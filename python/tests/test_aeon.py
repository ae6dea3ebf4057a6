"""aeon's own checks, and a swap of classifiers."""

import numpy as np
import pytest

pytest.importorskip("aeon")

from aeon.testing.estimator_checking import check_estimator

from conftest import drawn
from ncde.aeon import NcdeClassifier, NcdeRegressor


@pytest.mark.parametrize("estimator", [NcdeClassifier, NcdeRegressor])
@pytest.mark.filterwarnings("ignore")
def test_checks_of_aeon(estimator):
    assert set(check_estimator(estimator, raise_exceptions=True).values()) == {"PASSED"}


def test_ragged_series():
    X, y, _ = drawn(cases=20)
    ragged = [x[:, : 30 + i % 10] for i, x in enumerate(X)]
    assert NcdeClassifier().fit(ragged, y).predict(ragged).shape == (20,)
    assert np.isfinite(NcdeRegressor().fit(X, np.arange(20.0)).predict(X)).all()
