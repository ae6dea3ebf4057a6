"""Series that are drawn."""

import numpy as np
import pytest


def drawn(cases=60, length=40, channels=1, seed=0):
    """Oscillations, slow ones and fast ones, at irregular times: X (cases, channels, time), y, times (cases, time)."""
    rng = np.random.default_rng(seed)
    times = np.sort(rng.uniform(0, 1, (cases, length)), axis=1)
    y = np.where(np.arange(cases) % 2 == 0, "slow", "fast")
    rate = np.where(y == "slow", 10.0, 25.0)[:, None, None]
    X = np.sin(rate * times[:, None, :] + rng.uniform(0, 6, (cases, channels, 1))) + 0.1 * rng.normal(size=(cases, channels, length))
    return X, y, times


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path, monkeypatch):
    """Examples write where nothing is lost."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="session")
def series():
    return drawn()


@pytest.fixture(scope="session")
def fitted(series):
    import ncde

    X, y, times = series
    return ncde.Classifier().fit(X, y, times=times)
