"""Features of series, for pipelines of others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ncde import _series
from ncde._base import BaseEstimator, NotFittedError, TransformerMixin
from ncde._signatures import Basis, logsignature

if TYPE_CHECKING:
    from typing_extensions import Self


class LogSignature(TransformerMixin, BaseEstimator):
    """Log-signatures of series over equal windows of their time, (cases, windows x coordinates).

    Parameters
    ----------
    depth : int
        The length of the longest brackets.
    windows : int
        Into how many windows the time of each series is cut.
    time : bool
        Whether time, from 0 to 1 over each series, is a channel; without it features do not change if the series is run through at another pace.
    basepoint : bool
        Whether the path begins at 0, so that features know the level of the first observation.
    basis : {"lyndon", "hall", "expanded"}
        The coordinates, see :func:`ncde.logsignature`.
    n_jobs : int, optional
        How many threads compute; all by default.

    Missing values (NaN) are filled by straight lines between the observations of their channel.

    Examples
    --------
    >>> import ncde, numpy as np
    >>> X = np.random.default_rng(0).normal(size=(10, 2, 50))  # (cases, channels, time)
    >>> ncde.LogSignature(depth=2, windows=3).fit_transform(X).shape
    (10, 18)
    """

    def __init__(
        self,
        *,
        depth: int = 3,
        windows: int = 1,
        time: bool = True,
        basepoint: bool = False,
        basis: Basis = "lyndon",
        n_jobs: int | None = None,
    ) -> None:
        self.depth = depth
        self.windows = windows
        self.time = time
        self.basepoint = basepoint
        self.basis = basis
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.three_d_array = True
        return tags

    def fit(self, X: Any, y: Any = None, times: Any = None) -> Self:
        """Remembers the channels; nothing else is learned."""
        series = _series.of(X, times)
        self.channels_ = series.data.channels
        self.n_features_in_ = len(self.channels_) if series.features is None else series.features
        self._flat_features = series.features if series.flat else None
        return self

    def transform(self, X: Any, times: Any = None) -> np.ndarray[Any, Any]:
        """The features of each series."""
        if not hasattr(self, "channels_"):
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' with appropriate arguments before using this estimator."
            )
        series = _series.of(X, times)
        _series.check_features(series, self._flat_features, type(self).__name__)
        if len(series.data.channels) != len(self.channels_):
            raise ValueError(f"X has {len(series.data.channels)} channels, but {type(self).__name__} is expecting {len(self.channels_)} channels")
        lengths = series.data.lengths
        ends = np.cumsum(lengths)[:-1]
        paths, clocks = np.split(series.data.values, ends), np.split(series.data.times, ends)
        both = [self._path(path, clock) for path, clock in zip(paths, clocks)]
        rows = logsignature(
            [path for path, _ in both],
            self.depth,
            basis=self.basis,
            windows=np.arange(1, self.windows) / self.windows,
            times=[clock for _, clock in both],
            missing="linear",
            n_jobs=self.n_jobs,
        )
        return np.stack([row.ravel() for row in rows])

    def _path(self, values: np.ndarray[Any, Any], times: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """A series as a path on the times from 0 to 1."""
        clock = (times - times[0]) / (times[-1] - times[0]) if len(times) > 1 else np.zeros(1)
        if self.time:
            values = np.column_stack((clock, values))
        if self.basepoint or len(values) == 1:
            # An instant before the first observation.
            clock = np.concatenate(([-1e-9], clock))
            values = np.concatenate((np.zeros((1, values.shape[1])), values))
        # What was never seen says nothing.
        values[:, np.isnan(values).all(axis=0)] = 0.0
        return np.ascontiguousarray(values), clock
