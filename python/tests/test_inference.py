"""Intervals without privacy are those of statsmodels, on public data."""

import pickle

import numpy as np
import pytest
import statsmodels.api as sm
from sklearn.datasets import load_breast_cancer, load_diabetes

import dzoa

CLOSE = {"rtol": 1e-6, "atol": 1e-12}


def _same(model, expected):
    found = model.inference_
    np.testing.assert_allclose(found.params, expected.params, **CLOSE)
    np.testing.assert_allclose(found.bse, expected.bse, **CLOSE)
    np.testing.assert_allclose(found.tvalues, expected.tvalues, **CLOSE)
    np.testing.assert_allclose(found.pvalues, expected.pvalues, **CLOSE)
    np.testing.assert_allclose(model.conf_int(), expected.conf_int(), **CLOSE)
    np.testing.assert_allclose(model.conf_int(alpha=0.01), expected.conf_int(alpha=0.01), **CLOSE)
    np.testing.assert_allclose(found.cov_params(), expected.cov_params(), rtol=1e-5, atol=1e-9)


def _affairs():
    data = sm.datasets.fair.load_pandas().data
    return data.drop(columns="affairs"), (data["affairs"] > 0).astype(int)


@pytest.mark.parametrize("agents", [1, 4])
@pytest.mark.parametrize("alpha", [0.0, 0.1])
def test_a_line_is_that_of_ordinary_least_squares(agents, alpha):
    X, y = load_diabetes(return_X_y=True)
    model = dzoa.Lasso(alpha, agents=agents, inference=True).fit(X, y)
    _same(model, sm.OLS(y, sm.add_constant(X)).fit())
    assert model.inference_.df_resid == len(y) - 11


@pytest.mark.parametrize("penalty", ["l1", "l2"])
@pytest.mark.parametrize("data", ["breast cancer", "affairs"])
def test_a_logistic_regression_is_that_of_a_generalised_linear_model(penalty, data):
    if data == "affairs":
        X, y = _affairs()
    else:
        bunch = load_breast_cancer(as_frame=True)
        # All thirty columns separate the classes.
        X, y = bunch.data.iloc[:, [0, 1, 4, 8]], bunch.target
    model = dzoa.LogisticRegression(0.5, penalty=penalty, agents=3, inference=True).fit(X, y)
    expected = sm.GLM(np.asarray(y), sm.add_constant(np.asarray(X)), family=sm.families.Binomial()).fit(tol=1e-14)
    _same(model, expected)
    assert model.inference_.names == ["(intercept)", *X.columns]


def test_the_table_has_a_line_for_every_coefficient_and_fits_a_terminal():
    X, y = _affairs()
    model = dzoa.LogisticRegression(inference=True).fit(X, y)
    lines = model.summary().splitlines()
    assert len(lines) == 3 + X.shape[1]
    assert max(map(len, lines)) <= 80
    at = lines[3].split()
    assert at[0] == X.columns[0]
    odds = np.exp(model.conf_int()[1])
    np.testing.assert_allclose([float(at[-3]), float(at[-1])], odds, rtol=1e-3)
    assert pickle.loads(pickle.dumps(model)).summary() == model.summary()


def test_without_an_intercept_there_is_none_in_the_table():
    X, y = load_diabetes(return_X_y=True)
    model = dzoa.Lasso(fit_intercept=False, inference=True).fit(X, y)
    _same(model, sm.OLS(y, X).fit())


def test_a_column_that_repeats_another_has_no_interval_and_the_others_keep_theirs():
    X, y = load_diabetes(return_X_y=True)
    model = dzoa.Lasso(inference=True).fit(np.column_stack([X, X[:, 0] - X[:, 1]]), y)
    expected = sm.OLS(y, sm.add_constant(X)).fit()
    assert np.isnan(model.inference_.params[-1]) and "depends on other columns" in model.summary()
    np.testing.assert_allclose(model.inference_.bse[:-1], expected.bse, **CLOSE)


def test_a_rare_level_of_one_class_has_no_interval_and_the_others_are_as_without_its_rows():
    X, y = load_breast_cancer(return_X_y=True)
    X = X[:, [1, 4]]
    rare = np.zeros(len(y))
    rare[np.flatnonzero(y == 1)[:3]] = 1.0
    model = dzoa.LogisticRegression(inference=True).fit(np.column_stack([X, rare]), y)
    assert model.inference_.one_sided == ["x2"] and "all its rows are of one class" in model.summary()
    few = sm.GLM(y[rare == 0], sm.add_constant(X[rare == 0]), family=sm.families.Binomial()).fit(tol=1e-14)
    np.testing.assert_allclose(model.inference_.params[:3], few.params, **CLOSE)
    np.testing.assert_allclose(model.inference_.bse[:3], few.bse, **CLOSE)


def test_what_has_no_interval_says_why():
    X, y = load_breast_cancer(return_X_y=True)
    with pytest.raises(ValueError, match="fit with inference=True"):
        dzoa.LogisticRegression().fit(X, y).summary()
    # All thirty columns separate the classes: the odds have no end.
    with pytest.warns(UserWarning, match="there are no intervals: without a penalty"):
        model = dzoa.LogisticRegression(inference=True).fit(X, y)
    with pytest.raises(ValueError, match="there are no intervals: without a penalty"):
        model.conf_int()
    # Nobody has said yet what noise does to them.
    private = dzoa.LogisticRegression(inference=True, total_epsilon=1.0, bounds=(0, 5000), classes=(0, 1))
    with pytest.raises(ValueError, match="nobody knows intervals that count the noise"):
        private.fit(X, y)
    with pytest.raises(ValueError, match="alpha must be between 0 and 1"):
        dzoa.LogisticRegression(inference=True).fit(X[:, [1, 4]], y).conf_int(2)
