"""Without a budget the estimators find scikit-learn's optimum, at default settings, over any number of agents."""

import warnings

import numpy as np
import pytest
import sklearn.linear_model
import sklearn.svm
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_wine,
    make_classification,
    make_regression,
)
from sklearn.exceptions import ConvergenceWarning

import dzoa

#: How near probabilities must be, and predictions as a share of the target's range.
NEAR = 1e-4


def scaled(X):
    """What the estimators do to columns by default; a constant one becomes zero."""
    low, high = X.min(axis=0), X.max(axis=0)
    return (X - (low + high) / 2) / np.where(high > low, (high - low) / 2, 1.0)


def classes(name):
    if name == "generated":
        return make_classification(20_000, 20, random_state=0)
    if name == "cancer":
        return load_breast_cancer(return_X_y=True)
    X, y = {"digits": load_digits, "wine": load_wine}[name](return_X_y=True)
    return X, (y >= 5 if name == "digits" else y == 1).astype(int)


@pytest.mark.parametrize("agents", [1, 4])
@pytest.mark.parametrize("penalty", ["l1", "l2"])
@pytest.mark.parametrize("name", ["cancer", "digits", "wine", "generated"])
def test_logistic_regression_has_the_probabilities_of_scikit_learn(name, penalty, agents):
    X, y = classes(name)
    theirs = sklearn.linear_model.LogisticRegression(
        l1_ratio=float(penalty == "l1"),
        solver="saga" if penalty == "l1" else "lbfgs",
        tol=1e-7,
        max_iter=50_000,
    ).fit(scaled(X), y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ours = dzoa.LogisticRegression(penalty=penalty, agents=agents).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(scaled(X)), atol=NEAR)
    if penalty == "l1":
        # Zeros are zero, and those of scikit-learn: not a mean of sparse vectors.
        np.testing.assert_array_equal(ours.coef_ == 0, theirs.coef_ == 0)
        assert (ours.coef_ == 0).any() and ours.coef_.any()


@pytest.mark.parametrize("agents", [1, 4])
@pytest.mark.parametrize("name", ["diabetes", "generated"])
def test_the_lasso_has_the_predictions_of_scikit_learn(name, agents):
    if name == "diabetes":
        X, y = load_diabetes(return_X_y=True)
    else:
        X, y = make_regression(20_000, 20, n_informative=5, noise=10.0, random_state=0)
    theirs = sklearn.linear_model.Lasso(alpha=0.1, tol=1e-12, max_iter=100_000).fit(scaled(X), y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ours = dzoa.Lasso(alpha=0.1, agents=agents).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(scaled(X)), atol=NEAR)
    np.testing.assert_array_equal(ours.coef_ == 0, theirs.coef_ == 0)


def test_agents_of_any_sizes_find_the_model_of_all_rows():
    X, y = load_breast_cancer(return_X_y=True)
    labels = np.where(np.arange(len(y)) < 20, "small", np.where(np.arange(len(y)) < 100, "middle", "large"))
    apart = dzoa.LogisticRegression(agents=labels).fit(X, y)
    alone = dzoa.LogisticRegression().fit(X, y)
    np.testing.assert_allclose(apart.predict_proba(X), alone.predict_proba(X), atol=1e-7)


@pytest.mark.parametrize("agents", [1, 3])
def test_the_svc_has_the_decisions_of_libsvm(agents):
    X, y = load_breast_cancer(return_X_y=True)
    theirs = sklearn.svm.SVC(kernel="linear", C=1.0, tol=1e-9).fit(scaled(X), y)
    ours = dzoa.LinearSVC(agents=agents).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(scaled(X)), atol=1e-4)


def test_rounds_that_end_too_early_say_how_far_they_are():
    X, y = load_breast_cancer(return_X_y=True)
    with pytest.warns(ConvergenceWarning, match=r"not converged after 5 rounds: .* differ by .*primal.*dual.*hint"):
        early = dzoa.LogisticRegression(algorithm="admm", agents=4, max_iter=5).fit(X, y)
    assert early.primal_residual_ > 1e-3 and early.dual_residual_ > 0
    with pytest.warns(ConvergenceWarning, match="not converged after 3 rounds: the last step was still long"):
        dzoa.LogisticRegression(max_iter=3).fit(X, y)


def test_rounds_of_releases_that_stand_still_end_sparse_and_without_a_warning():
    X, y = load_diabetes(return_X_y=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = dzoa.Lasso(alpha=0.5, algorithm="admm", agents=4, graph="complete", rho=0.1, max_iter=3000).fit(X, y)
    theirs = sklearn.linear_model.Lasso(alpha=0.5, tol=1e-12, max_iter=100_000).fit(scaled(X), y)
    np.testing.assert_array_equal(model.coef_ == 0, theirs.coef_ == 0)
    assert model.primal_residual_ <= 1e-7


def test_under_a_budget_nothing_is_flooded_and_no_end_is_warned_of():
    X, y = load_breast_cancer(return_X_y=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = dzoa.LogisticRegression(total_epsilon=5.0, bounds=(0.0, X.max(0)), classes=(0, 1)).fit(X, y)
    assert model.privacy_.claim == "exact" and model.privacy_.mechanism == "joint"
