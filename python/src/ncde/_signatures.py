"""Signatures and log-signatures of paths."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from ncde import _ncde

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    Paths = ArrayLike | Sequence[ArrayLike]

Basis = Literal["lyndon", "hall", "expanded"]
Missing = Literal["refuse", "forward", "linear"]

_PARAMETERS = """
    Parameters
    ----------
    paths : array of shape [length, channels] or [batch, length, channels], or a list of arrays [length, channels]
        Each path is the polygon through its rows. Arrays of float32 give results of float32, all others of float64;
        arrays in C order are not copied.
    depth : int
        The length of the longest words, at least 1.{basis}
    stream : bool
        Whether every prefix of a path has a row, and not the path as a whole alone.
    windows : int, float or array, optional
        Cuts each path into windows with a row each: of so many increments (a whole number), of a duration (a float),
        or at these times. Neighbours share an end point.
    times : array of shape [length] or [batch, length], or a list of arrays, optional
        The time of each observation; 0, 1, 2, ... by default. Times do not become a channel.
    missing : {{"refuse", "forward", "linear"}}
        What is done where a value is NaN: an error, the last value of the channel, or a straight line across the gap.
    n_jobs : int, optional
        How many threads compute; all by default. Results do not depend on it.

    Returns
    -------
    array
        [length of the result], with an axis of the batch before it for several paths, and one of prefixes or windows between.
        A list of arrays where paths of a list have different numbers of rows.
"""


def signature(
    paths: Paths,
    depth: int,
    *,
    stream: bool = False,
    windows: int | float | ArrayLike | None = None,
    times: Any = None,
    missing: Missing = "refuse",
    n_jobs: int | None = None,
) -> Any:
    """The signature: one number for each word over the channels of at most ``depth`` letters.

    Words come by length, then in lexicographic order; the empty word, whose coefficient is always 1, is left out.
    {parameters}
    Examples
    --------
    >>> import ncde
    >>> right_then_up = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]]
    >>> ncde.signature(right_then_up, 2)
    array([1. , 1. , 0.5, 1. , 0. , 0.5])
    >>> ncde.signature_labels(2, 2)
    ['(1)', '(2)', '(1,1)', '(1,2)', '(2,1)', '(2,2)']
    """
    return _ncde.signature(paths, depth, None, stream, windows, times, missing, n_jobs)


def logsignature(
    paths: Paths,
    depth: int,
    *,
    basis: Basis = "lyndon",
    stream: bool = False,
    windows: int | float | ArrayLike | None = None,
    times: Any = None,
    missing: Missing = "refuse",
    n_jobs: int | None = None,
) -> Any:
    """The log-signature: the logarithm of the signature, without what is redundant in it.
    {parameters}
    Examples
    --------
    >>> import ncde
    >>> right_then_up = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]]
    >>> ncde.logsignature(right_then_up, 2)
    array([1. , 1. , 0.5])
    >>> ncde.logsignature_labels(2, 3)
    ['1', '2', '[1,2]', '[1,[1,2]]', '[[1,2],2]']
    """
    return _ncde.signature(paths, depth, basis, stream, windows, times, missing, n_jobs)


_BASIS = """
    basis : {{"lyndon", "hall", "expanded"}}
        Standard brackets of Lyndon words, the Hall basis in RoughPy's order, or the coefficients of all words."""

for _function, _text in ((signature, ""), (logsignature, _BASIS.format())):
    if _function.__doc__:  # There are none with `python -OO`.
        _function.__doc__ = _function.__doc__.replace("{parameters}", _PARAMETERS.format(basis=_text))


def signature_backward(
    paths: ArrayLike,
    gradient: ArrayLike,
    depth: int,
    *,
    stream: bool = False,
    windows: int | None = None,
    n_jobs: int | None = None,
) -> NDArray[Any]:
    """The reverse pass of :func:`signature`: from the gradient of a loss in its result to that in ``paths``, of their shape.

    Examples
    --------
    >>> import ncde
    >>> ncde.signature_backward([[0.0], [3.0]], [1.0, 1.0], 2)  # of x + x^2 / 2 at x = 3
    array([[-4.],
           [ 4.]])
    """
    result: NDArray[Any] = _ncde.signature_backward(paths, gradient, depth, None, stream, windows, n_jobs)
    return result


def logsignature_backward(
    paths: ArrayLike,
    gradient: ArrayLike,
    depth: int,
    *,
    basis: Basis = "lyndon",
    stream: bool = False,
    windows: int | None = None,
    n_jobs: int | None = None,
) -> NDArray[Any]:
    """The reverse pass of :func:`logsignature`, as :func:`signature_backward`."""
    result: NDArray[Any] = _ncde.signature_backward(paths, gradient, depth, basis, stream, windows, n_jobs)
    return result


def signature_length(channels: int, depth: int) -> int:
    """The number of coordinates of a signature.

    >>> import ncde
    >>> ncde.signature_length(4, 6), ncde.logsignature_length(4, 6)
    (5460, 964)
    """
    return _ncde.signature_length(channels, depth, None)


def logsignature_length(channels: int, depth: int, *, basis: Basis = "lyndon") -> int:
    """The number of coordinates of a log-signature."""
    return _ncde.signature_length(channels, depth, basis)


def signature_labels(channels: int, depth: int) -> list[str]:
    """The word of each coordinate of a signature."""
    return _ncde.signature_labels(channels, depth, None)


def logsignature_labels(channels: int, depth: int, *, basis: Basis = "lyndon") -> list[str]:
    """The bracket of each coordinate of a log-signature."""
    return _ncde.signature_labels(channels, depth, basis)


class Online:
    """The signature of all observations so far, in constant memory; with a ``basis`` the log-signature.

    >>> import ncde
    >>> online = ncde.Online(channels=1, depth=2)
    >>> online.push([[5.0], [6.0], [7.0]])
    >>> online.value()
    array([2., 2.])
    """

    def __init__(self, channels: int, depth: int, *, basis: Basis | None = None) -> None:
        self._own = _ncde.Online(channels, depth, basis)

    def push(self, observations: ArrayLike) -> None:
        """Takes an observation, [channels], or several, [observations, channels]."""
        self._own.push(observations)

    def value(self) -> NDArray[np.float64]:
        """The signature so far; zero until there are two observations."""
        return self._own.value()

    def restart(self) -> None:
        """Restarts at the last observation: from now on the value is of the path since then."""
        self._own.restart()


class Rolling:
    """The signature of the last ``window`` increments; with a ``basis`` the log-signature.

    >>> import ncde
    >>> rolling = ncde.Rolling(channels=1, depth=2, window=2)
    >>> rolling.push([[0.0], [10.0], [11.0], [13.0]])
    >>> rolling.value()  # from 10 to 13
    array([3. , 4.5])
    """

    def __init__(self, channels: int, depth: int, window: int, *, basis: Basis | None = None) -> None:
        self._own = _ncde.Rolling(channels, depth, window, basis)

    def push(self, observations: ArrayLike) -> None:
        """Takes an observation, [channels], or several, [observations, channels]."""
        self._own.push(observations)

    def value(self) -> NDArray[np.float64]:
        """The signature over the window as it is now."""
        return self._own.value()

    def drop_oldest(self) -> None:
        """Drops the oldest increment, for example because it is too long ago."""
        self._own.drop_oldest()

    def __len__(self) -> int:
        """How many increments the window holds now."""
        return len(self._own)


class Index:
    """A growing path that gives its signature over any interval; with a ``basis`` its log-signature.

    >>> import ncde
    >>> index = ncde.Index(channels=1, depth=2)
    >>> index.push([0.0, 0.5, 2.0], [[1.0], [2.0], [5.0]])
    >>> index.between(0.25, 1.0)  # linear between observations: from 1.5 to 3
    array([1.5  , 1.125])
    """

    def __init__(self, channels: int, depth: int, *, basis: Basis | None = None) -> None:
        self._own = _ncde.Index(channels, depth, basis)

    def push(self, times: ArrayLike, observations: ArrayLike) -> None:
        """Takes an observation, [channels], at a later time than the last; or several, [observations, channels]."""
        self._own.push(times, observations)

    def between(self, start: float, end: float) -> NDArray[np.float64]:
        """The signature from one time to another, the path being linear between observations."""
        return self._own.between(start, end)

    def observations(self, first: int, last: int) -> NDArray[np.float64]:
        """The signature from one observation to another, counted from 0."""
        return self._own.observations(first, last)

    def __len__(self) -> int:
        """The number of observations."""
        return len(self._own)
