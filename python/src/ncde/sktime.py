"""Estimators for sktime; time indices of its pandas containers are the times of observations.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sktime.classification.base import BaseClassifier
from sktime.regression.base import BaseRegressor

from ncde._estimators import Classifier, Regressor
from ncde._parameters import ClassifierParameters, RegressorParameters

__all__ = ["NcdeClassifier", "NcdeRegressor"]

_TAGS = {
    "X_inner_mtype": ["df-list", "numpy3D"],
    "capability:multivariate": True,
    "capability:unequal_length": True,
    "capability:missing_values": True,
    "capability:multithreading": True,
    "capability:random_state": True,
    "property:randomness": "derandomized",
    "python_dependencies": None,
}


def _series(X: Any) -> tuple[Any, Any]:
    """Series and their times."""
    if isinstance(X, np.ndarray):
        return X, None
    return [frame.to_numpy(dtype=np.float64).T for frame in X], [_times(frame.index) for frame in X]


def _times(index: Any) -> Any:
    if hasattr(index, "to_timestamp"):
        index = index.to_timestamp()
    return index.to_numpy()


class NcdeClassifier(ClassifierParameters, BaseClassifier):
    """:class:`ncde.Classifier` with sktime's manners, and the same parameters.
    {parameters}
    Examples
    --------
    >>> from sktime.datasets import load_unit_test
    >>> from ncde.sktime import NcdeClassifier
    >>> X, y = load_unit_test(split="train")
    >>> bool(NcdeClassifier().fit(X, y).score(X, y) > 0.9)
    True
    """

    _tags = {**_TAGS, "capability:predict_proba": True}

    def _fit(self, X: Any, y: Any) -> NcdeClassifier:
        series, times = _series(X)
        self.classifier_ = Classifier(**self.get_params()).fit(series, y, times=times)
        return self

    def _predict(self, X: Any) -> Any:
        series, times = _series(X)
        return self.classifier_.predict(series, times=times)

    def _predict_proba(self, X: Any) -> Any:
        series, times = _series(X)
        return self.classifier_.predict_proba(series, times=times)

    @classmethod
    def get_test_params(cls, parameter_set: str = "default") -> list[dict[str, Any]]:
        """Parameters that sktime's tests are run with."""
        return [{}, {"memory": "small", "spans": 2, "random_state": 1}]


class NcdeRegressor(RegressorParameters, BaseRegressor):
    """:class:`ncde.Regressor` with sktime's manners, and the same parameters.
    {parameters}
    Examples
    --------
    >>> import numpy as np
    >>> from ncde.sktime import NcdeRegressor
    >>> rate = np.linspace(5, 20, 60)
    >>> X = np.sin(rate[:, None, None] * np.linspace(0, 1, 50))  # (cases, channels, time)
    >>> bool(NcdeRegressor().fit(X[::2], rate[::2]).score(X[1::2], rate[1::2]) > 0.9)
    True
    """

    _tags = _TAGS

    def _fit(self, X: Any, y: Any) -> NcdeRegressor:
        series, times = _series(X)
        self.regressor_ = Regressor(**self.get_params()).fit(series, y, times=times)
        return self

    def _predict(self, X: Any) -> Any:
        series, times = _series(X)
        return self.regressor_.predict(series, times=times)

    @classmethod
    def get_test_params(cls, parameter_set: str = "default") -> list[dict[str, Any]]:
        """Parameters that sktime's tests are run with."""
        return [{}, {"memory": "small", "spans": 2, "random_state": 1}]


for _class in (NcdeClassifier, NcdeRegressor):
    if _class.__doc__:  # There are none with `python -OO`.
        _class.__doc__ = _class.__doc__.replace("{parameters}", _class._parameters)
