"""scikit-learn's tools on the estimators, and its own checks."""

import numpy as np
import pytest

sklearn = pytest.importorskip("sklearn")

from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import ncde
from conftest import drawn


@parametrize_with_checks([ncde.Classifier(), ncde.Regressor(), ncde.LogSignature(depth=2)])
def test_checks_of_estimators(estimator, check):
    check(estimator)


def test_clone_and_parameters():
    model = ncde.Classifier(model="slice", hidden=8, rate=0.01)
    other = clone(model)
    assert other.get_params() == model.get_params() and other is not model
    assert "hidden=8" in repr(model) and "patience" not in repr(model)
    with pytest.raises(ValueError, match="hiden"):
        model.set_params(hiden=3)


def test_cross_validation_and_search():
    X, y, _ = drawn(cases=40)
    assert cross_val_score(ncde.Classifier(), X, y, cv=4).mean() > 0.6
    search = GridSearchCV(ncde.Classifier(memory="small"), {"spans": [2, 4]}, cv=2).fit(X, y)
    assert set(search.best_params_) == {"spans"}
    assert search.predict(X).shape == (40,)


def test_processes_of_joblib():
    X, y, _ = drawn(cases=40)
    one = cross_val_score(ncde.Classifier(), X, y, cv=4)
    assert np.array_equal(cross_val_score(ncde.Classifier(n_jobs=1), X, y, cv=4, n_jobs=2), one)


def test_pipelines():
    X, y, _ = drawn(cases=60)
    features = make_pipeline(ncde.LogSignature(depth=3, windows=4), StandardScaler(), LogisticRegression(max_iter=1000)).fit(X, y)
    assert features.score(X, y) > 0.9
    whole = make_pipeline(FunctionTransformer(np.diff), ncde.Classifier()).fit(X, y)
    assert whole.score(X, y) > 0.6


def test_calibration_and_votes():
    X, y, _ = drawn(cases=40)
    assert CalibratedClassifierCV(ncde.Classifier(), cv=2).fit(X, y).predict_proba(X).shape == (40, 2)
    voting = VotingClassifier([("a", ncde.Classifier()), ("b", ncde.Classifier(random_state=1))], voting="soft").fit(X, y)
    assert voting.predict(X).shape == (40,)


def test_times_are_routed():
    X, y, times = drawn(cases=40)
    with sklearn.config_context(enable_metadata_routing=True):
        model = ncde.Classifier().set_fit_request(times=True).set_score_request(times=True)
        scores = cross_val_score(model, X, y, cv=4, params={"times": times})
        assert scores.mean() > 0.8
        grouped = ncde.Classifier().set_fit_request(times=True, groups=True).set_score_request(times=True)
        groups = np.arange(40) // 2
        assert len(cross_val_score(grouped, X, y, cv=GroupKFold(4), params={"times": times, "groups": groups})) == 4
