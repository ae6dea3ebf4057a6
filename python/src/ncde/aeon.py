"""Estimators for aeon: put ``NcdeClassifier()`` where ``MiniRocketClassifier()`` stands, and nothing else.

aeon has no times: observations are counted 0, 1, 2, ... :class:`ncde.Classifier` takes them.
"""

from __future__ import annotations

from types import FunctionType
from typing import Any

from aeon.classification.base import BaseClassifier
from aeon.regression.base import BaseRegressor

from ncde._estimators import Classifier, Regressor
from ncde._parameters import ClassifierParameters, RegressorParameters

__all__ = ["NcdeClassifier", "NcdeRegressor"]

_TAGS = {
    "X_inner_type": ["np-list", "numpy3D"],
    "capability:multivariate": True,
    "capability:unequal_length": True,
    "capability:missing_values": True,
    "capability:multithreading": True,
    "algorithm_type": "feature",
}


def _on_one_thread(init: Any) -> Any:
    """The same signature with ``n_jobs=1``, which is what estimators of aeon begin with."""
    same = FunctionType(init.__code__, init.__globals__, init.__name__, init.__defaults__, init.__closure__)
    same.__kwdefaults__ = {**init.__kwdefaults__, "n_jobs": 1}
    same.__annotations__ = init.__annotations__
    return same


class NcdeClassifier(ClassifierParameters, BaseClassifier):
    """:class:`ncde.Classifier` with aeon's manners, and the same parameters.
    {parameters}
    Examples
    --------
    >>> from aeon.datasets import load_unit_test
    >>> from ncde.aeon import NcdeClassifier
    >>> X, y = load_unit_test(split="train")
    >>> bool(NcdeClassifier().fit(X, y).score(X, y) > 0.9)
    True
    """

    _tags = _TAGS
    __init__ = _on_one_thread(ClassifierParameters.__init__)

    def _fit(self, X: Any, y: Any) -> NcdeClassifier:
        self.classifier_ = Classifier(**self.get_params()).fit(X, y)
        return self

    def _predict(self, X: Any) -> Any:
        return self.classifier_.predict(X)

    def _predict_proba(self, X: Any) -> Any:
        return self.classifier_.predict_proba(X)


class NcdeRegressor(RegressorParameters, BaseRegressor):
    """:class:`ncde.Regressor` with aeon's manners, and the same parameters.
    {parameters}
    Examples
    --------
    >>> import numpy as np
    >>> from ncde.aeon import NcdeRegressor
    >>> rate = np.linspace(5, 20, 60)
    >>> X = np.sin(rate[:, None, None] * np.linspace(0, 1, 50))  # (cases, channels, time)
    >>> bool(NcdeRegressor().fit(X[::2], rate[::2]).score(X[1::2], rate[1::2]) > 0.9)
    True
    """

    _tags = _TAGS
    __init__ = _on_one_thread(RegressorParameters.__init__)

    def _fit(self, X: Any, y: Any) -> NcdeRegressor:
        self.regressor_ = Regressor(**self.get_params()).fit(X, y)
        return self

    def _predict(self, X: Any) -> Any:
        return self.regressor_.predict(X)


for _class in (NcdeClassifier, NcdeRegressor):
    if _class.__doc__:  # There are none with `python -OO`.
        _class.__doc__ = _class.__doc__.replace("{parameters}", _class._parameters)
