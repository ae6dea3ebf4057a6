"""Forks, threads, signals: nothing hangs, and nothing ends the interpreter."""

import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import ncde
from conftest import drawn

FORKS = hasattr(os, "fork")


def script(text, timeout=60, **also):
    """Runs a script in a process of its own."""
    return subprocess.run([sys.executable, "-c", textwrap.dedent(text)], capture_output=True, text=True, timeout=timeout, **also)


def large(seed):
    return ncde.signature(np.random.default_rng(seed).normal(size=(64, 200, 4)), 5).sum()


def fit(seed):
    X, y, _ = drawn(cases=20, length=20)
    return ncde.Classifier(model="slice", steps=3, hidden=8).fit(X, y).predict_proba(X).sum()


@pytest.mark.skipif(not FORKS, reason="there is no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("work", [large, fit])
def test_forked_workers_after_a_first_call(work):
    wanted = work(1)  # threads are there now
    with multiprocessing.get_context("fork").Pool(2) as pool:
        got = pool.map_async(work, [1, 1, 1]).get(timeout=60)
    assert got == [wanted] * 3


@pytest.mark.skipif(not FORKS, reason="there is no fork")
def test_a_fork_in_the_middle_of_a_fit():
    done = script(
        """
        import os, threading, time, warnings
        import numpy as np, ncde
        warnings.simplefilter("ignore")
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(60, 2, 300)), np.arange(60) % 2
        ncde.Classifier  # imported before the fork
        thread = threading.Thread(target=lambda: ncde.Classifier(model="slice", steps=100000, minutes=0.08).fit(X, y))
        thread.start()
        time.sleep(1.5)
        child = os.fork()
        if child == 0:
            ncde.signature(rng.normal(size=(64, 200, 4)), 5)  # threads of its own
            ncde.Classifier().fit(X[:, :, :20], y).predict(X)  # nothing of gradients
            try:
                ncde.Classifier(model="slice", steps=2).fit(X, y)
            except RuntimeError as error:
                os._exit(7 if "forked" in str(error) else 8)
            os._exit(9)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        thread.join()
        """
    )
    assert done.stdout == "7\n", done.stderr


def test_threads_share_a_model(fitted):
    X, _, times = drawn(seed=3)
    wanted = fitted.predict_proba(X, times=times)
    with ThreadPoolExecutor(4) as threads:
        for got in threads.map(lambda _: fitted.predict_proba(X, times=times), range(8)):
            assert np.array_equal(got, wanted)


def test_other_threads_go_on_meanwhile():
    X, y, _ = drawn(cases=30, length=60)
    counted, over = [0], threading.Event()

    def count():
        while not over.wait(0.001):
            counted[0] += 1

    counter = threading.Thread(target=count)
    counter.start()
    ncde.Classifier(model="slice", steps=60).fit(X, y)
    over.set()
    counter.join()
    assert counted[0] > 20


def test_ctrl_c_keeps_the_best_weights():
    done = script(
        """
        import os, signal, threading, time
        import numpy as np, ncde
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(40, 2, 50)), np.arange(40) % 2
        model = ncde.Classifier(model="slice", steps=1000000, evaluate_every=5)
        threading.Timer(2.0, os.kill, (os.getpid(), signal.SIGINT)).start()
        begun = time.monotonic()
        try:
            model.fit(X, y)
        except KeyboardInterrupt:
            print("stopped", time.monotonic() - begun < 20, model.predict(X).shape)
        """
    )
    assert done.stdout == "stopped True (40,)\n", done.stderr


def test_errors_in_a_callback_are_raised():
    X, y, _ = drawn(cases=20, length=20)
    model = ncde.Classifier(model="slice", steps=5, verbose=1)
    kept, sys.stderr = sys.stderr, None
    try:
        model.fit(X, y)
    finally:
        sys.stderr = kept
    assert model.predict(X).shape == (20,)


def test_a_deleted_file(tmp_path, fitted):
    fitted.save(tmp_path / "model")
    (tmp_path / "model" / "model.safetensors").unlink()
    with pytest.raises(FileNotFoundError, match="model.safetensors"):
        ncde.load(tmp_path / "model")
    with pytest.raises(FileNotFoundError):
        fitted.predict(tmp_path / "nothing.csv")
    with pytest.raises(OSError):
        (tmp_path / "file").write_text("")
        fitted.save(tmp_path / "file")


def test_the_command_line_comes_with_the_package(tmp_path):
    run = [sys.executable, "-m", "ncde"]
    done = subprocess.run([*run, "data", "--demo", "--output", str(tmp_path / "walks.csv")], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    done = subprocess.run([*run, "train", "--data", str(tmp_path / "walks.csv"), "--out", str(tmp_path / "run")], capture_output=True, timeout=120)
    assert done.returncode == 0, done.stderr
    model = ncde.load(tmp_path / "run")
    written = tmp_path / "predictions.csv"
    subprocess.run([*run, "predict", str(tmp_path / "run"), "--data", str(tmp_path / "walks.csv"), "--output", str(written)], check=True, capture_output=True)
    said = [line.split(",")[1] for line in written.read_text().splitlines()[1:]]
    assert list(model.predict(tmp_path / "walks.csv")) == said
    assert subprocess.run([*run, "no-such-verb"], capture_output=True).returncode == 2


@pytest.mark.skipif(not FORKS, reason="there are no such signals")
def test_the_command_line_saves_at_a_signal(tmp_path):
    run = [sys.executable, "-m", "ncde", "train", "--model", "slice", "--steps", "1000000", "--out", str(tmp_path / "run")]
    process = subprocess.Popen(run, stderr=subprocess.PIPE)
    while not (tmp_path / "run" / "state.safetensors").exists() and not (tmp_path / "run" / "config.toml").exists():
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 130 and b"--resume" in told
