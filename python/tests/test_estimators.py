"""Classifier, Regressor, Forecaster: forms of input, predictions, saving, streams."""

import copy
import json
import pickle
from pathlib import Path

import numpy as np
import pytest

import ncde
from conftest import drawn


def test_it_learns_from_times(series, fitted):
    X, y, times = drawn(seed=1)
    assert fitted.score(X, y, times=times) > 0.95
    assert list(fitted.classes_) == ["fast", "slow"]
    probabilities = fitted.predict_proba(X, times=times)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    assert (fitted.classes_[probabilities.argmax(axis=1)] == fitted.predict(X, times=times)).all()


def test_all_forms_of_the_same_series_give_the_same_model(series, tmp_path):
    pandas = pytest.importorskip("pandas")
    X, y, times = series
    wanted = ncde.Classifier().fit(X, y, times=times)
    listed = ncde.Classifier().fit(list(X), y, times=list(times))
    ids = np.repeat(np.arange(len(X)), X.shape[2])
    table = pandas.DataFrame({"id": ids, "time": times.ravel(), "x": X[:, 0].ravel(), "label": np.repeat(y, X.shape[2])})
    shuffled = table.sample(frac=1, random_state=0).sort_values("id", kind="stable")
    long = ncde.Classifier().fit(shuffled, "label")
    table.to_csv(tmp_path / "walks.csv", index=False)
    file = ncde.Classifier().fit(tmp_path / "walks.csv")
    named = {"channel_1": "x"}
    for other in (listed, long, file):
        got, seen = other.predict_proba(X, times=times) if other is not file else None, other
        if got is None:
            got = file.predict_proba(table.drop(columns="label"))
        np.testing.assert_allclose(got, wanted.predict_proba(X, times=times), atol=2e-6, err_msg=str(seen))
    assert json.loads(long._model.spec)["channels"] == list(named.values())
    np.testing.assert_array_equal(long.predict(table.drop(columns="label")), wanted.predict(X, times=times))
    assert long.score(table, "label") == wanted.score(X, y, times=times)
    assert long.score(table, pandas.Series(y, index=range(len(y)))[::-1]) == wanted.score(X, y, times=times)
    np.testing.assert_array_equal(long.predict(table.assign(note="text")), wanted.predict(X, times=times))
    np.testing.assert_array_equal(file.predict(tmp_path / "walks.csv"), wanted.predict(X, times=times))


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_other_tables(series, fitted, library):
    module = pytest.importorskip(library)
    X, y, times = series
    columns = {"id": np.repeat(np.arange(len(X)), X.shape[2]), "time": times.ravel(), "x": X[:, 0].ravel()}
    table = module.table(columns) if library == "pyarrow" else module.DataFrame(columns)
    model = ncde.Classifier().fit(table, y)
    np.testing.assert_allclose(model.predict_proba(table), fitted.predict_proba(X, times=times), atol=2e-6)


def test_ragged_series_with_gaps_and_statics():
    X, y, times = drawn()
    rng = np.random.default_rng(0)
    X = X.copy()
    X[rng.uniform(size=X.shape) < 0.2] = np.nan
    lengths = rng.integers(20, 40, len(X))
    ragged, clocks = [x[:, :n] for x, n in zip(X, lengths)], [t[:n] for t, n in zip(times, lengths)]
    statics = np.column_stack((rng.normal(size=len(X)), y == "slow"))
    model = ncde.Classifier().fit(ragged, y, times=clocks, statics=statics)
    assert model.score(ragged, y, times=clocks, statics=statics) > 0.9
    with pytest.raises(ValueError, match="static"):
        model.predict(ragged, times=clocks)


def test_labels_at_each_observation():
    X, _, _ = drawn(cases=40, length=30)
    y = [np.where(np.cumsum(x[0]) > 0, "up", "down") for x in X]
    model = ncde.Classifier().fit(X[:30], y[:30])
    predicted = model.predict(X[30:])
    share = np.mean(np.concatenate(predicted) == np.concatenate(y[30:]))
    assert share > 0.7 and model.score(X[30:], y[30:]) == share
    assert model.predict_proba(X[30:])[0].shape == (30, 2)


def test_a_stream_predicts_what_the_model_does(series, fitted):
    X, _, times = series
    stream = fitted.stream()
    with pytest.raises(ValueError, match="no observation yet"):
        stream.predict()
    for i, (t, x) in enumerate(zip(times[3], X[3, 0])):
        stream.push(t, [x])
        if i == 20:
            stream = pickle.loads(pickle.dumps(stream))
        if i == 30:
            stream = fitted.stream(state=stream.state())
    assert (stream.observations, stream.time) == (40, times[3, -1])
    np.testing.assert_allclose(stream.predict_proba(), fitted.predict_proba(X[3:4], times=times[3:4])[0], atol=1e-6)
    at_once = fitted.stream().push(times[3], X[3].T)
    np.testing.assert_allclose(at_once.predict_proba(), stream.predict_proba(), atol=1e-6)
    with pytest.raises(ValueError, match="time"):
        stream.push(0.0, [1.0])


def test_saved_models_are_the_same(series, fitted, tmp_path):
    X, _, times = series
    wanted = fitted.predict_proba(X, times=times)
    fitted.save(tmp_path / "model")
    assert {"model.json", "model.safetensors", "config.toml", "run.json", "report.html"} <= {path.name for path in (tmp_path / "model").iterdir()}
    for other in (
        ncde.load(tmp_path / "model"),
        ncde.Classifier.load(tmp_path / "model"),
        pickle.loads(pickle.dumps(fitted)),
        copy.deepcopy(fitted),
    ):
        assert np.array_equal(other.predict_proba(X, times=times), wanted)
        assert list(other.classes_) == list(fitted.classes_)
    again = ncde.load(tmp_path / "model")
    again.save(tmp_path / "again")
    for name in ("model.json", "model.safetensors"):
        assert (tmp_path / "model" / name).read_bytes() == (tmp_path / "again" / name).read_bytes()
    with pytest.raises(ValueError, match="load it as a Classifier"):
        ncde.Regressor.load(tmp_path / "model")
    with pytest.raises(FileNotFoundError):
        ncde.load(tmp_path / "nowhere")
    (tmp_path / "again" / "model.safetensors").write_bytes(b"broken")
    with pytest.raises(ValueError, match="model.safetensors"):
        ncde.load(tmp_path / "again")


def test_classes_of_a_saved_model_have_their_type(tmp_path):
    X, y, _ = drawn(cases=20)
    for name, classes in (("whole", y == "slow"), ("numbers", np.where(y == "slow", 3, 12))):
        model = ncde.Classifier().fit(X, np.asarray(classes).astype(int))
        model.save(tmp_path / name)
        assert np.array_equal(ncde.load(tmp_path / name).predict(X), model.predict(X))


def test_regressor_and_its_report():
    rng = np.random.default_rng(0)
    rate = rng.uniform(5, 20, 80)
    X = np.sin(rate[:, None] * np.linspace(0, 1, 50) + rng.uniform(0, 6, (80, 1)))
    model = ncde.Regressor().fit(X[:60], rate[:60])
    assert model.score(X[60:], rate[60:]) > 0.9
    report = model.report()
    assert report.startswith("<!doctype html>") or "<html" in report
    assert "<iframe" in report._repr_html_()
    assert "reservoir" in model.summary()


def test_forecaster():
    t = np.arange(300)
    X = np.stack([np.sin(2 * np.pi * t / 12) + shift for shift in (0, 5)])
    model = ncde.Forecaster(horizon=6).fit(X[:, :290])
    forecast = model.predict(X[:, :290])
    assert forecast.shape == (2, 6, 1)
    np.testing.assert_allclose(forecast[:, :, 0], X[:, 290:296], atol=0.3)
    low, high = model.predict_interval(X[:, :290])
    assert (low <= forecast).all() and (forecast <= high).all()
    assert -0.3 < model.score(X) < 0
    stream = model.stream().push(t[:290], X[0, :290, None])
    np.testing.assert_allclose(stream.predict(), forecast[0], atol=1e-6)
    one = ncde.Forecaster(horizon=3).fit(X[0]).predict(X[0])
    assert one.shape == (1, 3, 1)


def test_gradient_models_repeat_and_tell(capfd):
    X, y, times = drawn(cases=24, length=20)
    settings = {"model": "slice", "steps": 20, "hidden": 16, "random_state": 3}
    one = ncde.Classifier(**settings, verbose=1).fit(X, y, times=times)
    assert "step 20 of 20" in capfd.readouterr().err
    other = ncde.Classifier(**settings, n_jobs=1).fit(X, y, times=times)
    assert np.array_equal(one.predict_proba(X, times=times), other.predict_proba(X, times=times))
    assert ncde.Classifier(**settings).set_params(random_state=4).fit(X, y, times=times)._model.files != one._model.files
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"model": "slyce"}, "slice"),
        ({"model": "slice", "steps": -3}, "steps"),
        ({"model": "reservoir", "steps": 10}, "solved for"),
        ({"hidden": "many", "model": "slice"}, "hidden"),
        ({"scale": "huge"}, "expected one of"),
        ({"validation": 2.0}, "validation"),
    ],
)
def test_settings_that_make_no_sense(series, settings, text):
    X, y, _ = series
    with pytest.raises(ValueError, match=text):
        ncde.Classifier(**settings).fit(X, y)


def bad_inputs():
    X, y, times = drawn(cases=10, length=8)
    inf = X.copy()
    inf[0, 0, 0] = np.inf
    yield "infinity", (inf, y, None), ValueError, "inf"
    yield "complex", (X.astype(complex), y, None), ValueError, "Complex"
    yield "0-d", (np.zeros(()), y, None), ValueError, "Expected 2D array"
    yield "one axis", (np.zeros(5), y, None), ValueError, "Expected 2D array"
    yield "no cases", (np.zeros((0, 1, 5)), [], None), ValueError, "0 sample"
    yield "no times", (np.zeros((10, 1, 0)), y, None), ValueError, "0 feature"
    yield "texts", (np.full((10, 5), "a"), y, None), ValueError, "float"
    yield "objects", (np.full((10, 5), object()), np.arange(10) % 2, None), TypeError, "float"
    yield "labels", (X, y[:-1], None), ValueError, "inconsistent numbers of samples: 9 labels for 10 series"
    yield "no labels", (X, None, None), ValueError, "requires y"
    yield "one class", (X, ["a"] * 10, None), ValueError, "one class"
    yield "quantities", (X, np.linspace(0, 1, 10), None), ValueError, "Unknown label type"
    yield "NaN labels", (X, np.where(np.arange(10) < 5, np.nan, 1.0), None), ValueError, "NaN"
    yield "times back", (X, y, times[:, ::-1]), ValueError, "time"
    yield "few times", (X, y, times[:, :3]), ValueError, "times have the lengths"
    yield "NaN times", (X, y, np.full(8, np.nan)), ValueError, "time"
    yield "channels", ([X[0], np.zeros((2, 8))], y[:2], None), ValueError, "series 1 has the shape"
    yield "file", ("nowhere.csv", None, None), FileNotFoundError, "cannot open `nowhere.csv`"


@pytest.mark.parametrize(("arguments", "error", "text"), [pytest.param(*case[1:], id=case[0]) for case in bad_inputs()])
def test_nonsense_is_an_exception(arguments, error, text):
    X, y, times = arguments
    with pytest.raises(error, match=text):
        ncde.Classifier().fit(X, y, times=times)


def test_arrays_of_any_layout(series, fitted):
    X, y, times = series
    wanted = fitted.predict_proba(X, times=times)
    for other in (np.asfortranarray(X), X[:, :, ::-1].copy()[:, :, ::-1], np.repeat(X, 2, axis=2)[:, :, ::2], X.astype(">f8")):
        assert np.array_equal(fitted.predict_proba(other, times=times), wanted)


def test_a_model_of_other_channels_refuses(fitted):
    with pytest.raises(ValueError, match="channel"):
        fitted.predict(np.zeros((3, 2, 40)))


def test_series_of_other_lengths():
    X, y, _ = drawn(cases=30)
    model = ncde.Classifier().fit(X[:, 0], y)
    assert model.predict(X[:, :, :30]).shape == (30,)
    with pytest.raises(ValueError, match="has 30 features, but Classifier is expecting 40.*list of arrays"):
        model.predict(X[:, 0, :30])


def test_fitting_before_predicting():
    with pytest.raises((ValueError, AttributeError), match="not fitted"):
        ncde.Classifier().predict(np.zeros((2, 1, 5)))


def test_groups_and_reading(tmp_path):
    X, y, times = drawn(cases=30)
    lines = ["patient,when,x,age,outcome"]
    for i in range(30):
        lines += [f"p{i},{t},{x},{i},{y[i]}" for t, x in zip(times[i], X[i, 0])]
    path = tmp_path / "visits.csv"
    path.write_text("\n".join(lines))
    data = ncde.read(path, id_column="patient", time_column="when", statics=["age"], label_column="outcome")
    assert (len(data), data.channels, data.classes) == (30, ["x"], ["fast", "slow"])
    model = ncde.Classifier().fit(data)
    assert model.predict(path).shape == (30,)
    grouped = ncde.Classifier(model="slice", steps=2, validation=0.3).fit(X, y, times=times, groups=np.arange(30) // 3)
    assert grouped.predict(X, times=times).shape == (30,)


def test_the_keywords_are_those_of_the_configuration(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parent.parent / "tools"))
    parameters = pytest.importorskip("parameters")
    assert parameters.FILE.read_text(encoding="utf-8") == parameters.text(), "run `python python/tools/parameters.py`"
