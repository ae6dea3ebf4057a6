"""Whatever holds series, as :class:`ncde._ncde.Data`: arrays, lists of arrays, tables, files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ncde import _ncde

#: What the column with the name of a case is called, if nothing is said.
ID_COLUMNS = ("id", "case", "case_id", "series", "series_id", "unique_id")
#: The same for times.
TIME_COLUMNS = ("time", "t", "timestamp", "date", "datetime", "ds")


@dataclass(frozen=True)
class Columns:
    """What the columns of a long table are for; what is not said is found out from their names."""

    id: str | None = None
    time: str | None = None
    group: str | None = None
    statics: Sequence[str] | None = None
    channels: Sequence[str] | None = None
    label: str | None = None


@dataclass
class Series:
    """Series with what scikit-learn wants to know of them."""

    data: _ncde.Data
    #: The size of the first axis behind the cases, if there is one for all.
    features: int | None = None
    #: Whether they came as (cases, time), as tables of features do.
    flat: bool = False
    #: The names of the columns of a table with a row a case.
    names: list[str] | None = None
    #: Of a long table with a column of labels, one for each case, or a list with an array for each.
    labels: Any = None
    #: Of a long table, the ids of the cases.
    ids: list[Any] = field(default_factory=list)


def of(X: Any, times: Any = None, statics: Any = None, groups: Any = None, columns: Columns = Columns()) -> Series:
    """Series from any of the forms that an estimator takes."""
    if isinstance(X, Series):
        return X
    if isinstance(X, _ncde.Data):
        return Series(X)
    if isinstance(X, (str, os.PathLike)):
        return Series(_ncde.Data.read(os.fspath(X), columns=_said(columns)))
    if is_table(X):
        names = column_names(X)
        id_column = columns.id or next((name for name in names if str(name).lower() in ID_COLUMNS), None)
        if id_column is not None:
            return _of_long(X, names, id_column, columns, statics, groups)
        # A row a case, a column a time step: as an array, with names.
        table = np.column_stack([_numbers(column(X, name), name) for name in names]) if names else np.empty((len(X), 0))
        series = _of_array(table, times, statics, groups)
        series.names = names if all(isinstance(name, str) for name in names) else None
        return series
    if isinstance(X, (list, tuple)) and X and not np.isscalar(X[0]) and all(_is_array(one) for one in X):
        return _of_list(X, times, statics, groups)
    return _of_array(X, times, statics, groups)


def _is_array(x: Any) -> bool:
    return hasattr(x, "__array__") and np.ndim(x) in (1, 2)


def is_table(X: Any) -> bool:
    """Whether it has columns by name: of pandas, polars, or Arrow, or of anything that speaks Arrow's C interface."""
    return hasattr(X, "__arrow_c_stream__") or (hasattr(X, "columns") and hasattr(X, "__getitem__") and not hasattr(X, "dtype"))


def _arrow(X: Any) -> Any:
    """A table that is known by the C interface alone."""
    if hasattr(X, "__getitem__") and (hasattr(X, "columns") or hasattr(X, "column_names")):
        return X
    try:
        import pyarrow
    except ImportError as error:
        raise TypeError(f"a {type(X).__name__} is read through pyarrow, which is not installed; give a pandas or polars frame") from error
    return pyarrow.table(X)


def column_names(X: Any) -> list[Any]:
    """The names of the columns of a table."""
    X = _arrow(X)
    return list(getattr(X, "column_names", None) or X.columns)


def column(X: Any, name: Any) -> np.ndarray[Any, Any]:
    """A column as an array."""
    X = _arrow(X)
    if name not in column_names(X):
        raise ValueError(f"there is no column `{name}`; the columns are {', '.join(map(str, column_names(X)))}")
    return np.asarray(X[name].to_numpy())


def _numbers(values: Any, name: Any) -> Any:
    if values.dtype.kind in "Mm":
        return values.astype("M8[ns]" if values.dtype.kind == "M" else "m8[ns]").astype("i8") / 1e9
    if values.dtype.kind == "c":
        raise ValueError("Complex data not supported: series are of real numbers")
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"column `{name}` is no column of numbers ({error}); leave it out with `channel_columns`, or read the file itself: "
            "give its path in place of a table"
        ) from error


def _of_long(X: Any, names: list[Any], id_column: Any, columns: Columns, statics: Any, groups: Any) -> Series:
    if statics is not None or groups is not None:
        raise ValueError("of a long table, statics and groups are columns: name them with `static_columns` and `group_column`")
    ids = column(X, id_column)
    unique, first, code = np.unique(ids, return_index=True, return_inverse=True)
    # Cases come as they do in the table.
    place = np.empty(len(unique), dtype=np.intp)
    order = np.argsort(first)
    place[order] = np.arange(len(unique))
    code = place[code.ravel()]
    time_column = columns.time or next((name for name in names if str(name).lower() in TIME_COLUMNS), None)
    times = None if time_column is None else _numbers(column(X, time_column), time_column)
    rows = np.argsort(code, kind="stable") if times is None else np.lexsort((times, code))
    lengths = np.bincount(code, minlength=len(unique))
    starts = np.concatenate(([0], np.cumsum(lengths)[:-1])).astype(np.intp)

    def of_cases(name: Any) -> np.ndarray[Any, Any]:
        values = column(X, name)[rows]
        changed = np.flatnonzero((values[1:] != values[:-1]) & (np.diff(code[rows]) == 0) & ~(_is_nan(values[1:]) & _is_nan(values[:-1])))
        if len(changed):
            case = unique[order][code[rows][changed[0]]]
            raise ValueError(f"column `{name}` changes within case `{case}`; it is to say one thing of each case")
        return values[starts]

    own = {id_column, time_column, columns.group, columns.label, *(columns.statics or ())}
    channels = list(columns.channels) if columns.channels is not None else [name for name in names if name not in own]
    values = [_numbers(column(X, name), name)[rows] for name in channels]
    group = None if columns.group is None else [str(one) for one in of_cases(columns.group)]
    named = list(columns.statics or ())
    data = _ncde.Data(
        np.column_stack(values) if values else np.empty((len(rows), 0)),
        lengths.tolist(),
        [str(name) for name in channels],
        times=None if times is None else times[rows],
        statics=np.column_stack([_numbers(of_cases(name), name) for name in named]) if named else None,
        static_names=[str(name) for name in named] or None,
        ids=[str(one) for one in unique[order]],
        groups=group,
        name="table",
    )
    labels: Any = None
    if columns.label is not None:
        labels = np.split(column(X, columns.label)[rows], starts[1:])
        if all((one == one[0]).all() for one in labels):
            labels = np.asarray([one[0] for one in labels])
    return Series(data, labels=labels, ids=list(unique[order]))


def _is_nan(values: np.ndarray[Any, Any]) -> Any:
    return values != values


def _said(columns: Columns) -> dict[str, Any]:
    said = {
        "id_column": columns.id,
        "time_column": columns.time,
        "group_column": columns.group,
        "statics": columns.statics,
        "channels": columns.channels,
    }
    return {key: list(value) if key in ("statics", "channels") else value for key, value in said.items() if value is not None}


def _array(X: Any) -> np.ndarray[Any, Any]:
    if hasattr(X, "toarray"):
        raise TypeError("a sparse matrix was given, but series are dense; use `X.toarray()`")
    values = np.asarray(X)
    if values.dtype.kind == "c":
        raise ValueError("Complex data not supported: series are of real numbers")
    if values.dtype.kind not in "fiub":
        values = values.astype(np.float64)
    return values


def _of_array(X: Any, times: Any, statics: Any, groups: Any) -> Series:
    values = _array(X)
    if values.ndim not in (2, 3):
        raise ValueError(
            f"Expected 2D array, got {'scalar' if values.ndim == 0 else f'{values.ndim}D'} array instead: X has the shape {values.shape}, "
            "wanted (cases, channels, time), (cases, time), or a list of arrays. Reshape your data either using array.reshape(-1, 1) "
            "if it is one observation of each case, or array.reshape(1, -1) if it is one series."
        )
    cases, length = values.shape[0], values.shape[-1]
    channels = values.shape[1] if values.ndim == 3 else 1
    if cases == 0 or length == 0:
        what = "sample(s)" if cases == 0 else "feature(s)"
        raise ValueError(f"0 {what} (shape={values.shape}) while a minimum of 1 is required: there is nothing to learn from")
    if np.isinf(values).any():
        raise ValueError("Input X contains infinity or a value too large for dtype('float64'); a missing value is NaN")
    flat = np.ascontiguousarray(values.reshape(cases, channels, length).swapaxes(1, 2)).reshape(cases * length, channels)
    data = _data(flat, [length] * cases, _flat_times(times, [length] * cases), statics, groups)
    return Series(data, features=values.shape[1], flat=values.ndim == 2)


def check_features(series: Series, wanted: int | None, who: str) -> None:
    """Refuses (cases, time) of another time than that of training, as scikit-learn wants it: it may be another table."""
    if series.flat and wanted is not None and series.features != wanted:
        raise ValueError(
            f"X has {series.features} features, but {who} is expecting {wanted} features as input; series of another length than those of training are "
            "given as (cases, 1, time), or as a list of arrays"
        )


def _of_list(X: Any, times: Any, statics: Any, groups: Any) -> Series:
    series = [one[None, :] if one.ndim == 1 else one for one in map(_array, X)]
    channels = series[0].shape[0]
    for i, one in enumerate(series):
        if one.ndim != 2 or one.shape[0] != channels or one.shape[1] == 0:
            raise ValueError(
                f"series {i} has the shape {one.shape}, and the first {series[0].shape}; each is (channels, time), "
                "with the same channels and at least one time"
            )
    lengths = [one.shape[1] for one in series]
    flat = np.ascontiguousarray(np.concatenate(series, axis=1).T)
    return Series(_data(flat, lengths, _flat_times(times, lengths), statics, groups), features=channels)


def _flat_times(times: Any, lengths: list[int]) -> Any:
    if times is None:
        return None
    if isinstance(times, (list, tuple)) and times and np.ndim(times[0]) == 1:
        each = [_numbers(np.asarray(one), "times") for one in times]
    else:
        all_times = _numbers(np.asarray(times), "times")
        each = [all_times] * len(lengths) if all_times.ndim == 1 else list(all_times)
    seen = [len(one) for one in each]
    if seen != lengths:
        raise ValueError(f"times have the lengths {_short(seen)}, but the series {_short(lengths)}; give a time for each observation")
    return np.concatenate(each)


def _short(lengths: list[int]) -> str:
    return f"{lengths[:5]}" + (f" and {len(lengths) - 5} more" if len(lengths) > 5 else "")


def _data(flat: np.ndarray[Any, Any], lengths: list[int], times: Any, statics: Any, groups: Any) -> _ncde.Data:
    names = None
    if statics is not None:
        if is_table(statics):
            names = [str(name) for name in column_names(statics)]
            statics = np.column_stack([_numbers(column(statics, name), name) for name in column_names(statics)])
        statics = np.asarray(statics, dtype=np.float64)
        statics = statics[:, None] if statics.ndim == 1 else statics
    groups = None if groups is None else [str(one) for one in np.asarray(groups).ravel()]
    return _ncde.Data(flat, lengths, times=times, statics=statics, static_names=names, groups=groups)
