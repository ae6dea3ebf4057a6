"""Neural controlled differential equations: time series with real times, gaps and any lengths.

==========================================  ==================================================================
:class:`Classifier`, :class:`Regressor`     classes and numbers of series, with scikit-learn's manners
:class:`Forecaster`                         later values
:class:`LogSignature`                       features of series for pipelines of others
:func:`load`, :func:`read`                  a saved model; a file
:func:`signature`, :func:`logsignature`     of batches of paths; reverse passes end in ``_backward``
:class:`Online`, :class:`Rolling`           of paths that grow, so far and over a window
:class:`Index`                              over any interval
==========================================  ==================================================================

``ncde.torch``, ``ncde.jax``, ``ncde.aeon`` and ``ncde.sktime`` are imported when they are asked for.
"""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from ncde._signatures import (
    Index,
    Online,
    Rolling,
    logsignature,
    logsignature_backward,
    logsignature_labels,
    logsignature_length,
    signature,
    signature_backward,
    signature_labels,
    signature_length,
)

if TYPE_CHECKING:
    from ncde._estimators import Classifier, Forecaster, Regressor, Report, Stream, load, read

__version__ = version("ncde")

#: What takes scikit-learn along, where that is installed, and is imported when it is asked for.
_LATER = {
    "Classifier": "_estimators",
    "Forecaster": "_estimators",
    "Regressor": "_estimators",
    "Report": "_estimators",
    "Stream": "_estimators",
    "load": "_estimators",
    "read": "_estimators",
    "LogSignature": "_features",
}


def __getattr__(name: str) -> Any:
    if name in _LATER:
        from importlib import import_module

        value = getattr(import_module(f"ncde.{_LATER[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'ncde' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted([*globals(), *_LATER])


__all__ = [
    "Classifier",
    "Forecaster",
    "Index",
    "LogSignature",
    "Online",
    "Regressor",
    "Report",
    "Rolling",
    "Stream",
    "load",
    "logsignature",
    "logsignature_backward",
    "logsignature_labels",
    "logsignature_length",
    "read",
    "signature",
    "signature_backward",
    "signature_labels",
    "signature_length",
]
