"""Classifier, Regressor and Forecaster: a run of ``ncde train`` and its model, with scikit-learn's manners."""

from __future__ import annotations

import datetime
import json
import os
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ncde import _ncde, _series
from ncde._base import BaseEstimator, ClassifierMixin, NotFittedError, RegressorMixin
from ncde._parameters import KEYS, ClassifierParameters, ForecasterParameters, RegressorParameters

if TYPE_CHECKING:
    from typing_extensions import Self

    PathLike = str | os.PathLike[str]


class Report(str):
    """The HTML page of a run, which notebooks show."""

    def _repr_html_(self) -> str:
        page = self.replace("&", "&amp;").replace('"', "&quot;")
        return f'<iframe srcdoc="{page}" style="width: 100%; height: 48em; border: 0"></iframe>'

    def save(self, path: PathLike) -> None:
        """Writes the page to a file."""
        Path(path).write_text(self, encoding="utf-8")


class Stream:
    """A fitted model and one series that it follows, one observation at a time, in constant memory.

    It is made by ``stream()`` of an estimator, can be pickled, and predicts what the estimator would of the series so far.
    """

    def __init__(self, estimator: _Estimator, own: _ncde.Stream) -> None:
        self._estimator = estimator
        self._own = own

    def push(self, time: Any, values: Any) -> Self:
        """Takes the next observation, ``values`` of shape [channels], or several, [observations, channels] with as many times; NaN is missing."""
        self._own.push(time, values)
        return self

    def predict(self) -> Any:
        """The prediction for the series so far, as if it ended here."""
        return self._estimator._decided(self._own.predict()[None, :])[0]

    def predict_proba(self) -> np.ndarray[Any, Any]:
        """The probability of each class, in the order of ``classes_``."""
        return np.asarray(self._own.predict()[:-1])

    def know_ahead(self, values: Any) -> None:
        """Tells a forecaster what is known of later times, [steps ahead, known channels]."""
        self._own.know_ahead(values)

    @property
    def observations(self) -> int:
        """How many observations were taken."""
        return self._own.observations

    @property
    def time(self) -> float | None:
        """The time of the last observation."""
        return self._own.time

    def state(self) -> bytes:
        """All that is remembered of the series: portable, and read by ``stream(state=...)`` of the same model anywhere."""
        return self._own.state()

    def __getstate__(self) -> dict[str, Any]:
        return {"estimator": self._estimator, "state": self.state()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._estimator = state["estimator"]
        self._own = self._estimator._fitted().resume(state["state"])


class _Estimator(BaseEstimator):
    """What classifiers, regressors and forecasters have in common."""

    _task: ClassVar[str]
    id_column: str | None
    time_column: str | None
    group_column: str | None
    static_columns: list[str] | None
    channel_columns: list[str] | None
    random_state: Any
    n_jobs: int | None
    verbose: int
    #: The length of series that were given as (cases, time).
    _flat_features: int | None = None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.three_d_array = True
        tags.non_deterministic = False
        return tags

    def _read(
        self, X: Any, times: Any, statics: Any, groups: Any = None, label: str | None = None, channels: list[str] | None = None
    ) -> _series.Series:
        channels = self.channel_columns if channels is None else channels
        columns = _series.Columns(self.id_column, self.time_column, self.group_column, self.static_columns, channels, label)
        return _series.of(X, times, statics, groups, columns)

    def _with_labels(self, X: Any, y: Any, times: Any, statics: Any, groups: Any) -> tuple[_series.Series, Any]:
        """Series and their labels, which may be a column of a table."""
        if not isinstance(y, str):
            return self._read(X, times, statics, groups), y
        series = self._read(X, times, statics, groups, y)
        if series.labels is None:
            raise ValueError(f"y is `{y}`, the name of a column, but X is no long table with one")
        return series, series.labels

    def _settings(self) -> list[tuple[str, str]]:
        """Every key of the configuration that is set, as JSON."""
        settings = {"data.task": self._task, "data.test_share": 0.0}
        for name, key in KEYS.items():
            value = getattr(self, name, None)
            if value is not None:
                settings[key] = value
        settings["train.seed"] = _seed(self.random_state)
        return [(key, json.dumps(value, default=_plain)) for key, value in settings.items()]

    def _train(self, series: _series.Series, data: _ncde.Data) -> None:
        tell = (lambda line: print(line, file=sys.stderr, flush=True)) if self.verbose else None
        began = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        with tempfile.TemporaryDirectory(prefix="ncde-") as directory:
            self._model, interrupted = _ncde.fit(
                data, self._settings(), directory, command=repr(self), started=began, tell=tell, n_jobs=self.n_jobs
            )
        self.n_features_in_ = len(data.channels) if series.features is None else series.features
        # What is forecast grows longer; features of a table do not.
        self._flat_features = series.features if series.flat and self._task != "forecast" else None
        if series.names is not None:
            self.feature_names_in_ = np.asarray(series.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        if interrupted:
            raise KeyboardInterrupt("the fit was stopped; the model has the best weights until then")

    def _fitted(self) -> _ncde.Model:
        model: _ncde.Model | None = getattr(self, "_model", None)
        if model is None:
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' with appropriate arguments before using this estimator."
            )
        return model

    def _known(self, X: Any, times: Any, statics: Any, label: str | None = None) -> _series.Series:
        """Series for the model; of a table maybe with a column of labels."""
        model = self._fitted()
        if isinstance(X, (str, os.PathLike)):
            return _series.Series(model.read(os.fspath(X)))
        channels = json.loads(model.spec)["channels"] if _series.is_table(X) else []
        has_them = bool(channels) and set(channels) <= set(_series.column_names(X))
        # Other columns of a table, such as labels, need not be numbers.
        series = self._read(X, times, statics, label=label, channels=channels if has_them else None)
        known = getattr(self, "feature_names_in_", None)
        if known is not None and series.names is not None and list(known) != series.names:
            _refuse_names(list(known), series.names)
        _series.check_features(series, self._flat_features, type(self).__name__)
        return series

    def _compared(self, X: Any, y: Any, times: Any, statics: Any) -> tuple[Any, Any]:
        """Labels and predictions, of all series or all observations."""
        series = self._known(X, times, statics, y if isinstance(y, str) else None)
        labels, predicted = series.labels if isinstance(y, str) else y, self.predict(series)  # type: ignore[attr-defined]
        if _is_of_steps(labels):
            return np.concatenate([np.asarray(one) for one in labels]), np.concatenate(predicted)
        return _column_of(labels, series), predicted

    def _numbers(self, X: Any, times: Any, statics: Any) -> np.ndarray[Any, Any]:
        series = self._known(X, times, statics)
        return self._fitted().predict(series.data, n_jobs=self.n_jobs)

    def _by_steps(self, X: Any, times: Any, statics: Any, of: Callable[[Any], Any]) -> list[Any]:
        """What ``of`` makes of the predictions at each observation, a list with an array for each series."""
        series = self._known(X, times, statics)
        numbers = self._fitted().predict(series.data, steps=True, n_jobs=self.n_jobs)
        return list(np.split(of(numbers), np.cumsum(series.data.lengths)[:-1]))

    def _decided(self, numbers: np.ndarray[Any, Any]) -> Any:
        return numbers[:, 0]

    @property
    def _at_steps(self) -> bool:
        task = json.loads(self._fitted().spec)["task"]
        return bool(task.get("at") == "steps")

    def stream(self, statics: Any = (), *, state: bytes | None = None) -> Stream:
        """A new series that the model follows one observation at a time, or with ``state`` one that it goes on with."""
        model = self._fitted()
        return Stream(self, model.start([float(x) for x in statics]) if state is None else model.resume(state))

    def save(self, directory: PathLike) -> None:
        """Writes the directory of the model, as ``ncde train --out`` does: for the command line, for Rust, for :meth:`load`."""
        self._fitted().save(os.fspath(directory))

    @classmethod
    def load(cls, directory: PathLike) -> Self:
        """A model that was saved, here or by the command line."""
        return cls._of(_ncde.Model.load(os.fspath(directory)))

    @classmethod
    def _of(cls, model: _ncde.Model) -> Self:
        spec = json.loads(model.spec)
        kind = spec["task"]["kind"]
        if kind != cls._task:
            raise ValueError(f"the model is for {kind}; load it as a {_OF_TASK[kind].__name__}, or with `ncde.load`")
        estimator = cls()
        for name, key in KEYS.items():
            value = model.settings.get(key)
            if value is not None and name in estimator.get_params():
                setattr(estimator, name, json.loads(value))
        if "train.seed" in model.settings:
            estimator.random_state = json.loads(model.settings["train.seed"])
        estimator._model = model
        estimator.n_features_in_ = len(spec["channels"])
        estimator._loaded(spec)
        return estimator

    def _loaded(self, spec: dict[str, Any]) -> None:
        pass

    def report(self) -> Report:
        """The page of the run: metrics, curves, classes. A notebook shows it; ``report().save("report.html")`` writes it."""
        return Report(self._fitted().report())

    def summary(self) -> str:
        """The run in plain text."""
        return self._fitted().summary()

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        if "_model" in state:
            state["_model"] = state["_model"].files
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        if "_model" in state:
            state["_model"] = _ncde.Model.from_files(state["_model"])
        super().__setstate__(state)


class Classifier(ClassifierMixin, ClassifierParameters, _Estimator):
    """A classifier of time series, regular or not, of equal lengths or not, with gaps or without.

    By default a reservoir: fixed linear controlled differential equations whose responses are pooled, and a readout that is solved for. It has no
    learning rate, and takes seconds. ``model="slice"``, ``"log-ncde"``, ``"mamba"`` and others are trained step by step.
    {parameters}
    Examples
    --------
    >>> import ncde, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> time = np.sort(rng.uniform(0, 1, (60, 40)), axis=1)  # irregular, and different for each series
    >>> y = np.repeat(["slow", "fast"], 30)
    >>> X = np.sin(np.where(y == "slow", 10, 20)[:, None] * time + rng.uniform(0, 6, (60, 1)))[:, None, :]
    >>> clf = ncde.Classifier().fit(X[::2], y[::2], times=time[::2])
    >>> clf.score(X[1::2], y[1::2], times=time[1::2]) > 0.9
    True
    >>> stream = clf.stream()
    >>> for t, x in zip(time[1], X[1, 0]):
    ...     _ = stream.push(t, [x])
    >>> str(stream.predict())
    'slow'
    """

    _task = "classification"

    def fit(self, X: Any, y: Any = None, times: Any = None, statics: Any = None, groups: Any = None) -> Self:
        """Trains on series and their classes.

        Parameters
        ----------
        X : array (cases, channels, time) or (cases, time), list of arrays (channels, time), long table, or path of a file
            NaN is a missing value. A long table has a row an observation and a column with the name of its case.
        y : array (cases,), or the name of a column of a long table
            The class of each series; a list with an array for each series, or a column that changes within series, has one for each observation.
            Left out for a file that has its labels.
        times : array (time,) or (cases, time), or list of arrays, optional
            When each observation was made; 0, 1, 2, ... by default.
        statics : array (cases, covariates), optional
            Numbers of each series as a whole.
        groups : array (cases,), optional
            Series of one group stay together where some are held back, or left out.
        """
        series, y = self._with_labels(X, y, times, statics, groups)
        if y is None:
            data = _labelled(self, series.data, ("classes", "class-steps"))
            self.classes_ = np.asarray(_parsed(data.classes))
        elif _is_of_steps(y):
            all_labels = np.concatenate([np.asarray(one) for one in y])
            self.classes_, codes = np.unique(all_labels, return_inverse=True)
            data = series.data.with_class_steps([str(name) for name in self.classes_], codes.ravel().tolist())
        else:
            labels = _column_of(y, series)
            _check_classes(labels)
            self.classes_, codes = np.unique(labels, return_inverse=True)
            if len(self.classes_) < 2:
                raise ValueError(f"Classifier can't train when only one class is present: every case has the class `{self.classes_[0]}`")
            data = series.data.with_classes([str(name) for name in self.classes_], codes.ravel().tolist())
        self._train(series, data)
        return self

    def predict(self, X: Any, times: Any = None, statics: Any = None) -> Any:
        """The class of each series, (cases,); of a model with a class at each observation, a list with an array for each series."""
        if self._at_steps:
            return self._by_steps(X, times, statics, self._decided)
        return self._decided(self._numbers(X, times, statics))

    def predict_proba(self, X: Any, times: Any = None, statics: Any = None) -> Any:
        """The probability of each class, (cases, classes), in the order of ``classes_``."""
        if self._at_steps:
            return self._by_steps(X, times, statics, lambda numbers: numbers[:, :-1])
        return self._numbers(X, times, statics)[:, :-1]

    def score(self, X: Any, y: Any, sample_weight: Any = None, times: Any = None, statics: Any = None) -> float:
        """The share of series whose class is predicted."""
        truth, predicted = self._compared(X, y, times, statics)
        return float(np.average(predicted == truth, weights=sample_weight))

    def _decided(self, numbers: np.ndarray[Any, Any]) -> Any:
        return self.classes_[numbers[:, -1].astype(np.intp)]

    def _loaded(self, spec: dict[str, Any]) -> None:
        self.classes_ = np.asarray(_parsed(spec["task"]["classes"]))


class Regressor(RegressorMixin, RegressorParameters, _Estimator):
    """A regressor of time series: one number for each, or one for each observation.

    By default a reservoir, see :class:`Classifier`.
    {parameters}
    Examples
    --------
    >>> import ncde, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> rate = rng.uniform(5, 20, 80)
    >>> X = np.sin(rate[:, None] * np.linspace(0, 1, 50) + rng.uniform(0, 6, (80, 1)))
    >>> ncde.Regressor().fit(X[:60], rate[:60]).score(X[60:], rate[60:]) > 0.9
    True
    """

    _task = "regression"

    def fit(self, X: Any, y: Any = None, times: Any = None, statics: Any = None, groups: Any = None) -> Self:
        """Trains on series and their numbers; arguments as for :meth:`Classifier.fit`."""
        series, y = self._with_labels(X, y, times, statics, groups)
        if y is None:
            data = _labelled(self, series.data, ("values", "value-steps"))
        elif _is_of_steps(y):
            data = series.data.with_value_steps(np.concatenate([np.asarray(one, dtype=np.float64) for one in y]).tolist())
        else:
            numbers = np.asarray(_column_of(y, series), dtype=np.float64)
            if not np.isfinite(numbers).all():
                raise ValueError("Input y contains NaN or infinity; a series without a number cannot be learned from")
            if len(numbers) < 2:
                raise ValueError("n_samples=1: one series is too few to learn from; give at least 2")
            data = series.data.with_values(numbers.tolist())
        self._train(series, data)
        return self

    def predict(self, X: Any, times: Any = None, statics: Any = None) -> Any:
        """The number of each series, (cases,); of a model with one at each observation, a list with an array for each series."""
        if self._at_steps:
            return self._by_steps(X, times, statics, self._decided)
        return self._numbers(X, times, statics)[:, 0]

    def score(self, X: Any, y: Any, sample_weight: Any = None, times: Any = None, statics: Any = None) -> float:
        """The coefficient of determination: 1 at best, 0 for the mean."""
        truth, predicted = self._compared(X, y, times, statics)
        truth = np.asarray(truth, dtype=np.float64)
        error = np.average((truth - predicted) ** 2, weights=sample_weight)
        spread = np.average((truth - np.average(truth, weights=sample_weight)) ** 2, weights=sample_weight)
        return float(1 - error / spread) if spread > 0 else float(error == 0)


class Forecaster(ForecasterParameters, _Estimator):
    """A forecaster of later values of series, by default exponential smoothing that is weighed online on each series, and a readout beside it where it helps.
    {parameters}
    Examples
    --------
    >>> import ncde, numpy as np
    >>> t = np.arange(400)
    >>> X = (np.sin(2 * np.pi * t / 24) + 0.01 * t)[None, :]  # one series
    >>> model = ncde.Forecaster(horizon=12).fit(X[:, :380])
    >>> forecast = model.predict(X[:, :380])
    >>> forecast.shape  # (cases, horizons, channels)
    (1, 12, 1)
    >>> float(abs(forecast[0, :, 0] - X[0, 380:392]).max()) < 0.2
    True
    """

    _task = "forecast"

    def fit(self, X: Any, y: Any = None, times: Any = None, statics: Any = None, groups: Any = None) -> Self:
        """Trains on series; arguments as for :meth:`Classifier.fit`, without ``y``."""
        series = self._read(_one(X), times, statics, groups)
        self._train(series, series.data)
        return self

    def predict(self, X: Any, times: Any = None, statics: Any = None) -> np.ndarray[Any, Any]:
        """What comes after the end of each series, (cases, horizons, targets)."""
        return self._forecasts(X, times, statics)[0]

    def predict_interval(self, X: Any, times: Any = None, statics: Any = None) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """Lower and upper ends of the intervals around :meth:`predict`, of the level that the report states (95 % if nothing else is said)."""
        values, widths = self._forecasts(X, times, statics)
        return values - widths, values + widths

    def score(self, X: Any, y: Any = None, times: Any = None, statics: Any = None) -> float:
        """Minus the mean absolute error of forecasts of the last observations of each series from those before them; larger is better."""
        series = self._known(_one(X), times, statics)
        held_out, wanted = series.data.split_ends(self._horizons()[-1])
        forecast = self._shaped(self._fitted().predict(held_out, n_jobs=self.n_jobs))[0]
        targets = json.loads(self._fitted().spec)["task"].get("targets") or range(len(series.data.channels))
        first = self._horizons()[0]
        return -float(np.nanmean(np.abs(forecast - wanted[:, first - 1 :, list(targets)])))

    def _horizons(self) -> tuple[int, int]:
        task = json.loads(self._fitted().spec)["task"]
        return task.get("from", task["horizon"]), task["horizon"]

    def _forecasts(self, X: Any, times: Any, statics: Any) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        return self._shaped(self._numbers(_one(X), times, statics))

    def _shaped(self, numbers: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        first, last = self._horizons()
        both = numbers.reshape(len(numbers), 2, last - first + 1, -1)
        return both[:, 0], both[:, 1]

    def _decided(self, numbers: np.ndarray[Any, Any]) -> Any:
        return self._shaped(numbers)[0]


_OF_TASK: dict[str, type[Any]] = {"classification": Classifier, "regression": Regressor, "forecast": Forecaster}


def load(directory: PathLike) -> Any:
    """The model in a directory, as the estimator that it is: a :class:`Classifier`, :class:`Regressor` or :class:`Forecaster`."""
    model = _ncde.Model.load(os.fspath(directory))
    return _OF_TASK[json.loads(model.spec)["task"]["kind"]]._of(model)


def read(path: PathLike, *, labels: PathLike | None = None, task: str | None = None, **columns: Any) -> _ncde.Data:
    """A file of any format that the command line reads, for ``fit`` and ``predict``.

    ``columns`` says what its columns are for, by the keys of ``[data]`` in the configuration (``id_column="patient"``, ``ignore=["name"]``); what is not said
    is found out. Guesses that could be wrong are warnings.
    """
    data = _ncde.Data.read(os.fspath(path), labels=None if labels is None else os.fspath(labels), task=task, columns=columns)
    for warning in data.warnings:
        warnings.warn(warning, stacklevel=2)
    return data


def _one(X: Any) -> Any:
    """One series of one channel may be an array of one axis."""
    return np.asarray(X)[None, :] if hasattr(X, "__array__") and np.ndim(X) == 1 else X


def _seed(random_state: Any) -> int:
    if random_state is None:
        return 0
    if hasattr(random_state, "randint"):
        return int(random_state.randint(2**31 - 1))
    if hasattr(random_state, "integers"):
        return int(random_state.integers(2**31 - 1))
    return int(random_state)


def _plain(value: Any) -> Any:
    """Numbers of numpy, and paths."""
    if hasattr(value, "tolist"):
        return value.tolist()
    return os.fspath(value)


def _is_of_steps(y: Any) -> bool:
    return isinstance(y, (list, tuple)) and len(y) > 0 and np.ndim(y[0]) == 1


def _column_of(y: Any, series: _series.Series) -> np.ndarray[Any, Any]:
    """A label for each case: of a series of pandas with the names of cases as its index, in their order."""
    if series.ids and hasattr(y, "index") and hasattr(y, "loc") and set(series.ids) <= set(y.index):
        y = y.loc[series.ids]
    labels = np.asarray(y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        _warn_of_column()
        labels = labels.ravel()
    cases = len(series.data)
    if labels.ndim != 1:
        raise ValueError(f"y has the shape {labels.shape}, wanted ({cases},): a label for each series")
    if len(labels) != cases:
        raise ValueError(f"Found input variables with inconsistent numbers of samples: {len(labels)} labels for {cases} series")
    return labels


def _warn_of_column() -> None:
    try:
        from sklearn.exceptions import DataConversionWarning as Kind
    except ImportError:
        Kind = UserWarning
    warnings.warn("A column-vector y was passed when a 1d array was expected. Please change the shape of y to (n_samples,).", Kind, stacklevel=4)


def _check_classes(labels: np.ndarray[Any, Any]) -> None:
    if labels.dtype.kind == "f":
        if not np.isfinite(labels).all():
            raise ValueError("Input y contains NaN or infinity; a series without a class cannot be learned from")
        if (labels != np.floor(labels)).any():
            raise ValueError("Unknown label type: continuous. Classes are whole numbers or texts; for other numbers there is `Regressor`")
    if labels.dtype == object and any(one is None or one != one for one in labels):
        raise ValueError("Input y contains NaN; a series without a class cannot be learned from")


def _labelled(estimator: Any, data: _ncde.Data, kinds: tuple[str, ...]) -> _ncde.Data:
    if data.targets not in kinds:
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None"
            + ("" if data.targets == "none" else f"; the labels of the file are {data.targets}, wanted {' or '.join(kinds)}")
        )
    return data


def _parsed(names: list[str]) -> list[Any]:
    """Names of classes as the numbers that they are."""
    for kind in (int, float):
        try:
            values = [kind(name) for name in names]
        except ValueError:
            continue
        if [str(value) for value in values] == names:
            return values
    return list(names)


def _refuse_names(known: list[str], seen: list[str]) -> None:
    unseen, missing = [name for name in seen if name not in known], [name for name in known if name not in seen]
    text = "The feature names should match those that were passed during fit.\n"
    if unseen:
        text += "Feature names unseen at fit time:\n" + "".join(f"- {name}\n" for name in sorted(unseen)[:5])
    if missing:
        text += "Feature names seen at fit time, yet now missing:\n" + "".join(f"- {name}\n" for name in sorted(missing)[:5])
    if not unseen and not missing:
        text += "Feature names must be in the same order as they were in fit.\n"
    raise ValueError(text)


for _class in (Classifier, Regressor, Forecaster):
    if _class.__doc__:  # There are none with `python -OO`.
        _class.__doc__ = _class.__doc__.replace("{parameters}", _class._parameters)
