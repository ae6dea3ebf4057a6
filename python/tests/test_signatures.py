"""Signatures: values, forms of input, reverse passes, paths that grow."""

import numpy as np
import pytest

import ncde


def by_hand(path, depth):
    """exp(x_1) ... exp(x_m), word by word."""
    d = path.shape[1]
    levels = [np.ones(1)] + [np.zeros(d**k) for k in range(1, depth + 1)]
    for x in np.diff(path, axis=0):
        powers = [np.ones(1)]
        for k in range(1, depth + 1):
            powers.append(np.outer(powers[-1], x).ravel() / k)
        levels = [sum(np.outer(levels[j], powers[k - j]).ravel() for j in range(k + 1)) for k in range(depth + 1)]
    return np.concatenate(levels[1:])


@pytest.fixture
def paths():
    return np.random.default_rng(0).normal(size=(5, 9, 3))


def test_values_are_those_by_hand(paths):
    wanted = np.stack([by_hand(path, 4) for path in paths])
    np.testing.assert_allclose(ncde.signature(paths, 4), wanted, atol=1e-12)
    np.testing.assert_allclose(ncde.signature(paths[2], 4), wanted[2], atol=1e-12)
    np.testing.assert_allclose(ncde.signature(paths.astype("f4"), 4), wanted, rtol=2e-4, atol=2e-4)
    assert ncde.signature(paths.astype("f4"), 2).dtype == np.float32


@pytest.mark.parametrize("form", ["fortran", "reversed", "read-only", "strided", "list", "integers", "big-endian", "half", "objects", "lists"])
def test_any_layout_gives_the_same(paths, form):
    whole = np.round(paths * 4)
    wanted = ncde.signature(whole, 3)
    if form == "reversed":
        other = whole[:, ::-1].copy()[:, ::-1]
    elif form == "read-only":
        other = whole.copy()
        other.flags.writeable = False
    elif form == "strided":
        other = np.repeat(whole, 2, axis=1)[:, ::2]
    else:
        to = {"integers": "i8", "big-endian": ">f8", "half": "f2", "objects": object, "fortran": "f8", "list": "f8", "lists": "f8"}[form]
        other = whole.astype(to, order="F" if form == "fortran" else "C")
        other = list(other) if form == "list" else other.tolist() if form == "lists" else other
    np.testing.assert_allclose(ncde.signature(other, 3), wanted, atol=1e-3 if form == "half" else 1e-10)


def test_ragged_windows_and_streams(paths):
    ragged = [paths[0], paths[1, :4], paths[2, :2]]
    wanted = np.stack([by_hand(path, 3) for path in ragged])
    np.testing.assert_allclose(ncde.signature(ragged, 3), wanted, atol=1e-12)
    streams = ncde.signature(ragged, 3, stream=True)
    assert [len(one) for one in streams] == [8, 3, 1]
    np.testing.assert_allclose([one[-1] for one in streams], wanted, atol=1e-12)
    windows = ncde.signature(paths, 3, windows=3)
    assert windows.shape == (5, 3, 39)
    np.testing.assert_allclose(windows[1, 1], by_hand(paths[1, 3:7], 3), atol=1e-12)
    assert ncde.signature(paths[0], 3, stream=True).shape == (8, 39)


def test_windows_of_time_cut_between_observations(paths):
    times = np.array([0, 0.5, 1, 2, 4, 5, 5.5, 6, 8.0])
    halves = ncde.signature(paths, 3, times=times, windows=[3.0])
    at_3 = (paths[:, 3] + paths[:, 4]) / 2
    for path, cut, own in zip(paths, at_3, halves):
        np.testing.assert_allclose(own[0], by_hand(np.vstack((path[:4], cut)), 3), atol=1e-12)
        np.testing.assert_allclose(own[1], by_hand(np.vstack((cut, path[4:])), 3), atol=1e-12)
    assert ncde.signature(paths, 2, times=times, windows=2.0).shape == (5, 4, 12)


def test_missing_values(paths):
    gaps = paths.copy()
    gaps[:, 4, 1] = np.nan
    forward, straight = gaps.copy(), gaps.copy()
    forward[:, 4, 1] = gaps[:, 3, 1]
    straight[:, 4, 1] = (gaps[:, 3, 1] + gaps[:, 5, 1]) / 2
    np.testing.assert_allclose(ncde.signature(gaps, 3, missing="forward"), ncde.signature(forward, 3), atol=1e-12)
    np.testing.assert_allclose(ncde.signature(gaps, 3, missing="linear", stream=True), ncde.signature(straight, 3, stream=True), atol=1e-12)
    with pytest.raises(ValueError, match="observation 4, channel 1, is NaN"):
        ncde.signature(gaps[0], 3)


def test_log_signatures_agree_between_bases(paths):
    assert ncde.logsignature(paths, 4).shape == (5, ncde.logsignature_length(3, 4))
    expanded = ncde.logsignature(paths, 2, basis="expanded")
    second = (ncde.signature(paths, 2)[:, 3:].reshape(5, 3, 3)).transpose(0, 2, 1)
    area = (second.transpose(0, 2, 1) - second) / 2
    np.testing.assert_allclose(expanded[:, 3:].reshape(5, 3, 3), area, atol=1e-12)
    np.testing.assert_allclose(ncde.logsignature(paths, 2)[:, 3:], area[:, [0, 0, 1], [1, 2, 2]], atol=1e-12)
    assert len(ncde.logsignature_labels(3, 4, basis="hall")) == ncde.logsignature_length(3, 4, basis="hall")


@pytest.mark.parametrize("kind", ["signature", "logsignature"])
@pytest.mark.parametrize("over", [{}, {"stream": True}, {"windows": 3}])
def test_reverse_passes_are_differences(paths, kind, over):
    forward, backward = getattr(ncde, kind), getattr(ncde, f"{kind}_backward")
    weight = np.random.default_rng(1).normal(size=forward(paths, 3, **over).shape)
    gradient = backward(paths, weight, 3, **over)
    direction = np.random.default_rng(2).normal(size=paths.shape)
    ahead, behind = (np.sum(weight * forward(paths + sign * 1e-5 * direction, 3, **over)) for sign in (1, -1))
    assert np.sum(gradient * direction) == pytest.approx((ahead - behind) / 2e-5, rel=1e-7)


def test_growing_paths_are_paths(paths):
    path, times = paths[0], np.arange(9) / 2
    online, rolling, index = ncde.Online(3, 3), ncde.Rolling(3, 3, 4), ncde.Index(3, 3, basis="lyndon")
    for t, row in zip(times, path):
        online.push(row)
        rolling.push(row)
        index.push(t, row)
    np.testing.assert_allclose(online.value(), ncde.signature(path, 3), atol=1e-12)
    np.testing.assert_allclose(rolling.value(), ncde.signature(path[-5:], 3), atol=1e-12)
    np.testing.assert_allclose(index.between(1.0, 3.0), ncde.logsignature(path[2:7], 3), atol=1e-12)
    np.testing.assert_allclose(index.observations(2, 6), ncde.logsignature(path[2:7], 3), atol=1e-12)
    assert (len(rolling), len(index)) == (4, 9)
    with pytest.raises(ValueError, match="times must increase"):
        index.push(0.0, path[0])


@pytest.mark.parametrize(
    ("paths", "depth", "error", "text"),
    [
        (np.zeros(()), 2, ValueError, r"the shape \[\]"),
        (np.zeros(3), 2, ValueError, r"the shape \[3\]"),
        (np.zeros((2, 2, 2, 2)), 2, ValueError, "the shape"),
        (np.zeros((0, 2)), 2, ValueError, "empty"),
        (np.zeros((1, 2)), 2, ValueError, "one observation"),
        (np.zeros((4, 0)), 2, ValueError, "channel"),
        (np.zeros((4, 2)), 0, ValueError, "depth 0"),
        (np.zeros((4, 2)), 500, ValueError, "more than fit in memory"),
        (np.zeros((4, 2)), -1, OverflowError, "negative"),
        (np.zeros((4, 2)), "2", TypeError, "int"),
        (np.zeros((4, 2), dtype=complex), 2, TypeError, "complex"),
        (np.array([["a", "b"]]), 2, TypeError, "wanted numbers"),
        ([[object()]], 2, TypeError, "float"),
        ([np.zeros((4, 2)), np.zeros((4, 3))], 2, ValueError, "path 1 has the shape"),
        (None, 2, ValueError, r"the shape \[\]"),
    ],
)
def test_nonsense_is_an_exception(paths, depth, error, text):
    with pytest.raises(error, match=text):
        ncde.signature(paths, depth)


def test_wrong_keywords_are_exceptions(paths):
    with pytest.raises(ValueError, match="there is no basis `lie`"):
        ncde.logsignature(paths, 2, basis="lie")
    with pytest.raises(ValueError, match="leave one of them out"):
        ncde.signature(paths, 2, stream=True, windows=2)
    with pytest.raises(ValueError, match="at least one increment"):
        ncde.signature(paths, 2, windows=0)
    with pytest.raises(ValueError, match="gradient"):
        ncde.signature_backward(paths, np.zeros((5, 11)), 2)
    with pytest.raises(ValueError, match="times have the shape"):
        ncde.signature(paths, 2, times=np.arange(4.0))


def test_nothing_is_left_of_an_empty_batch():
    assert ncde.signature(np.zeros((0, 5, 2)), 2).shape == (0, 6)


def test_results_do_not_depend_on_threads():
    paths = np.random.default_rng(0).normal(size=(64, 100, 4))
    assert np.array_equal(ncde.signature(paths, 5, n_jobs=1), ncde.signature(paths, 5, n_jobs=3))
