"""sktime's own checks, and real time indices."""

import numpy as np
import pytest

pytest.importorskip("sktime")
pandas = pytest.importorskip("pandas")

from sktime.utils.estimator_checks import check_estimator

import ncde
from conftest import drawn
from ncde.sktime import NcdeClassifier, NcdeRegressor


@pytest.mark.parametrize("estimator", [NcdeClassifier, NcdeRegressor])
@pytest.mark.filterwarnings("ignore")
def test_checks_of_sktime(estimator):
    assert set(check_estimator(estimator, raise_exceptions=True, verbose=False).values()) == {"PASSED"}


def test_time_indices_are_times(series):
    X, y, times = series
    stamps = pandas.Timestamp("2026-01-01") + pandas.to_timedelta(times.ravel() * 1e6, unit="s")
    index = pandas.MultiIndex.from_arrays([np.repeat(np.arange(len(X)), X.shape[2]), stamps], names=["case", "time"])
    frame = pandas.DataFrame({"x": X[:, 0].ravel()}, index=index)
    model = NcdeClassifier().fit(frame, y)
    seconds = stamps.to_numpy().astype("M8[ns]").astype("i8").reshape(times.shape) / 1e9
    wanted = ncde.Classifier().fit(X, y, times=seconds).predict_proba(X, times=seconds)
    np.testing.assert_allclose(model.predict_proba(frame), wanted, atol=1e-9)
