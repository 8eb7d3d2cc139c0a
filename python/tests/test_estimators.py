"""The estimators: scikit-learn's conventions, scikit-learn's optima, the program's bits."""

import copy
import itertools
import json
import math
import os
import pathlib
import pickle
import subprocess
import warnings

import numpy as np
import pytest
import sklearn.linear_model
import sklearn.svm
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from skipping import skip

import dzoa

ROOT = pathlib.Path(__file__).parents[2]
ALL = [dzoa.Lasso, dzoa.HuberRegressor, dzoa.LogisticRegression, dzoa.LinearSVC]

#: Checks that cannot pass, with the reason. Empty: all of them pass.
EXPECTED_FAILURES: dict[str, str] = {}


@parametrize_with_checks(
    [
        dzoa.Lasso(),
        dzoa.HuberRegressor(),
        dzoa.LogisticRegression(),
        dzoa.LinearSVC(),
        dzoa.LogisticRegression(algorithm="d-zoa", rho=0.05, max_iter=30),
        # With a budget: tagged non_deterministic and, on so few rows, poor_score, which is true.
        dzoa.LogisticRegression(total_epsilon=1.0, bounds=10.0),
        dzoa.LinearSVC(total_epsilon=1.0, bounds=10.0),
        dzoa.HuberRegressor(total_epsilon=1.0, bounds=10.0, target_bounds=100.0),
        dzoa.Lasso(total_epsilon=1.0, bounds=10.0, target_bounds=100.0),
    ],
    expected_failed_checks=lambda estimator: EXPECTED_FAILURES,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def scaled(X):
    return 2 * (X - X.min(axis=0)) / (X.max(axis=0) - X.min(axis=0)) - 1


@pytest.fixture(scope="module")
def diabetes():
    return load_diabetes(return_X_y=True)


@pytest.fixture(scope="module")
def cancer():
    return load_breast_cancer(return_X_y=True)


@pytest.mark.parametrize("agents", [1, 2, 13])
def test_lasso_is_that_of_scikit_learn_on_scaled_columns(diabetes, agents):
    X, y = diabetes
    ours = dzoa.Lasso(alpha=0.5, agents=agents, graph="complete", rho=0.01, max_iter=1000).fit(X, y)
    theirs = sklearn.linear_model.Lasso(alpha=0.5, tol=1e-12, max_iter=100_000).fit(scaled(X), y)
    # 442 = 2 x 221 = 13 x 34: parts of equal size, so both objectives are the same.
    np.testing.assert_allclose(ours.predict(X), theirs.predict(scaled(X)), atol=0.3)
    assert ours.score(X, y) == pytest.approx(theirs.score(scaled(X), y), abs=1e-4)


@pytest.mark.parametrize("penalty", ["l2", "l1"])
def test_logistic_regression_reaches_the_optimum_of_scikit_learn(cancer, penalty):
    X, y = cancer
    ours = dzoa.LogisticRegression(penalty=penalty, max_iter=600).fit(X, y)
    ratio = {"l2": 0.0, "l1": 1.0}[penalty]
    theirs = sklearn.linear_model.LogisticRegression(
        l1_ratio=ratio, solver="saga" if ratio else "lbfgs", tol=1e-7, max_iter=20_000
    ).fit(scaled(X), y)
    half = (X.max(axis=0) - X.min(axis=0)) / 2

    def objective(score, weights):
        size = 0.5 * (weights**2).sum() if penalty == "l2" else np.abs(weights).sum()
        return np.logaddexp(0, -(2 * y - 1) * score).sum() + size

    value = objective(ours.decision_function(X), ours.coef_ * half)
    best = objective(theirs.decision_function(scaled(X)), theirs.coef_)
    assert value < best * (1 + 1e-3)


def test_the_svc_comes_near_the_optimum_of_libsvm(cancer):
    X, y = cancer
    X, y = X[::2], y[::2]
    ours = dzoa.LinearSVC(C=0.1, max_iter=300).fit(X, y)
    theirs = sklearn.svm.SVC(kernel="linear", C=0.1, tol=1e-8).fit(scaled(X), y)
    half = (X.max(axis=0) - X.min(axis=0)) / 2

    def objective(score, weights):
        return 0.1 * np.maximum(0, 1 - (2 * y - 1) * score).sum() + 0.5 * (weights**2).sum()

    value = objective(ours.decision_function(X), ours.coef_ * half)
    best = objective(theirs.decision_function(scaled(X)), theirs.coef_)
    assert value < best * (1 + 5e-3)


def test_huber_with_a_wide_threshold_is_ridge_and_with_a_narrow_one_resists_outliers(diabetes):
    X, y = diabetes
    # Squares with 1/2 and alpha/2 ||w||^2, a mean over n rows: ridge with alpha n.
    wide = dzoa.HuberRegressor(alpha=0.01, huber_delta=1e6, max_iter=1000).fit(X, y)
    ridge = sklearn.linear_model.Ridge(alpha=0.01 * len(y)).fit(scaled(X), y)
    np.testing.assert_allclose(wide.predict(X), ridge.predict(scaled(X)), atol=0.5)
    spoiled = y.copy()
    spoiled[::20] = 5000.0
    robust = dzoa.HuberRegressor(huber_delta=20.0).fit(X, spoiled)
    assert robust.score(X, y) > 0.45
    assert sklearn.linear_model.LinearRegression().fit(X, spoiled).score(X, y) < 0.3


def test_without_an_intercept_zero_stays_zero(diabetes, cancer):
    X, y = diabetes
    assert dzoa.Lasso(fit_intercept=False).fit(X, y).intercept_ == 0.0
    X, y = cancer
    assert dzoa.LogisticRegression(fit_intercept=False, max_iter=20).fit(X, y).intercept_[0] == 0.0


def test_without_a_budget_nothing_is_promised_and_nothing_is_warned(cancer):
    X, y = cancer
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = dzoa.LogisticRegression().fit(X, y)
    assert model.privacy_.claim == "none" and str(model.privacy_).startswith("NONE")
    assert model.privacy_.epsilon is None


@pytest.mark.parametrize("estimator", ALL)
def test_with_a_budget_and_public_bounds_the_guarantee_is_exact_and_kept(estimator, cancer, diabetes):
    regression = estimator in (dzoa.Lasso, dzoa.HuberRegressor)
    X, y = diabetes if regression else cancer
    public = dict(bounds=(X.min(axis=0), X.max(axis=0)))
    if regression:
        public["target_bounds"] = (0.0, 350.0)
    else:
        public["classes"] = (0, 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = estimator(total_epsilon=3.0, delta=1e-5, agents=4, **public).fit(X, y)
    assert model.privacy_.claim == "exact"
    assert model.privacy_.mechanism == "joint"
    # Charged for the whole budget, never above it.
    assert all(2.9 < spent <= 3.0 for spent in model.privacy_.per_agent.values())
    again = estimator(total_epsilon=3.0, delta=1e-5, agents=4, **public).fit(X, y)
    assert not np.array_equal(model.coef_, again.coef_)


def test_bounds_from_the_data_warn_and_void_the_guarantee(cancer):
    X, y = cancer
    with pytest.warns(dzoa.PrivacyLeakWarning, match="bounds were not given"):
        model = dzoa.LogisticRegression(total_epsilon=1.0, classes=(0, 1)).fit(X, y)
    assert model.privacy_.claim == "none" and "bounds were taken from the data" in str(model.privacy_)


CLASSIFIERS = [dzoa.LogisticRegression, dzoa.LinearSVC]


@pytest.mark.parametrize("estimator", CLASSIFIERS)
def test_classes_from_the_data_warn_and_void_the_guarantee(estimator, cancer):
    X, y = cancer
    with pytest.warns(dzoa.PrivacyLeakWarning, match="classes were not given"):
        model = estimator(total_epsilon=1.0, bounds=(0.0, X.max(0))).fit(X, y)
    assert model.privacy_.claim == "none" and model.privacy_.epsilon is None
    assert "classes were taken from the data" in str(model.privacy_)


@pytest.mark.parametrize("estimator", CLASSIFIERS)
def test_with_public_classes_no_single_row_decides_whether_a_fit_succeeds_or_what_it_predicts(estimator, cancer):
    X, y = cancer
    public = dict(total_epsilon=1.0, bounds=(0.0, X.max(0)), classes=("ill", "well"))
    one = np.full(len(y), "ill", dtype=object)
    two = one.copy()
    two[17] = "well"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fits = [estimator(**public).fit(X, labels) for labels in (one, two)]
    for fit in fits:
        assert fit.classes_.tolist() == ["ill", "well"] and fit.privacy_.claim == "exact"
        assert set(fit.predict(X)) <= {"ill", "well"}
    # Without a budget, too, and then the one class that is there is found.
    plain = estimator(classes=("well", "ill"), max_iter=20).fit(X, one)
    assert plain.classes_.tolist() == ["ill", "well"] and set(plain.predict(X)) == {"ill"}


def test_public_classes_in_any_order_give_the_bits_of_those_that_are_found(cancer):
    X, y = cancer
    found = dzoa.LogisticRegression(max_iter=30, random_state=1).fit(X, y)
    for classes in [(0, 1), [1, 0], np.array([0, 1]), (0.0, 1.0), (False, True)]:
        given = dzoa.LogisticRegression(max_iter=30, random_state=1, classes=classes)
        assert given.get_params()["classes"] is classes and clone(given).classes is not None
        np.testing.assert_array_equal(given.fit(X, y).coef_, found.coef_)
        np.testing.assert_array_equal(given.predict(X), found.predict(X))


def test_a_label_outside_the_public_classes_is_refused_before_anything_is_released(cancer, monkeypatch):
    X, y = cancer

    def released(*_):
        raise AssertionError("the fit began")

    monkeypatch.setattr("dzoa._core.fit", released)
    wrong = y.copy()
    wrong[3] = 2
    for labels, text in [(wrong, f"y[3] is {wrong[3]!r}, which is not one of classes=(0, 1)"), (y.astype(str), "y[0] is")]:
        with pytest.raises(ValueError) as caught:
            dzoa.LogisticRegression(total_epsilon=1.0, bounds=1.0, classes=(0, 1)).fit(X, labels)
        assert text in str(caught.value) and "hint:" in str(caught.value) and "\n" not in str(caught.value)


def test_a_step_that_reads_the_rows_is_named_where_privacy_is_printed(cancer):
    X, y = cancer
    pipeline = make_pipeline(StandardScaler(), dzoa.LogisticRegression(total_epsilon=1.0, bounds=3.0, classes=(0, 1)))
    printed = str(pipeline.fit(X, y)[-1].privacy_)
    assert printed.startswith("EXACT") and "steps before this one learn from the rows" in printed
    assert "is not covered" in printed


def test_a_partition_by_targets_voids_the_guarantee(cancer):
    X, y = cancer
    model = dzoa.LogisticRegression(
        total_epsilon=1.0, bounds=(0.0, X.max(0)), classes=(0, 1), agents=3, partition="dirichlet", partition_alpha=5.0
    )
    assert model.fit(X, y).privacy_.claim == "none" and "reads the targets" in str(model.privacy_)


def test_a_seed_voids_the_guarantee_and_repeats_the_bits(cancer):
    X, y = cancer
    model = dzoa.LogisticRegression(total_epsilon=1.0, bounds=(X.min(0), X.max(0)), classes=(0, 1), random_state=3)
    first, second = model.fit(X, y).coef_, clone(model).fit(X, y).coef_
    np.testing.assert_array_equal(first, second)
    assert model.privacy_.claim == "none" and "seed" in str(model.privacy_)


def test_more_budget_is_more_accurate(cancer):
    X, y = cancer

    def accuracy(epsilon):
        fits = (
            dzoa.LogisticRegression(
                total_epsilon=epsilon, bounds=(X.min(0), X.max(0)), classes=(0, 1), random_state=seed
            ).fit(X, y)
            for seed in range(8)
        )
        return np.mean([fit.score(X, y) for fit in fits])

    assert accuracy(0.1) + 0.1 < accuracy(16.0) and accuracy(16.0) > 0.93


def test_rows_beyond_the_bounds_are_clipped_so_that_one_row_cannot_do_more(cancer):
    X, y = cancer
    model = dzoa.LogisticRegression(total_epsilon=2.0, bounds=(X.min(0), X.max(0)), classes=(0, 1), random_state=1)
    low, high = X.min(0), X.max(0)
    wild = X.copy()
    wild[0] = 1e9
    tame = X.copy()
    # Just beyond, too: equal rows meet equal noise, and rows that differ in the last bit do not.
    tame[0] = high + 1e-6 * (high - low)
    np.testing.assert_array_equal(model.fit(wild, y).coef_, clone(model).fit(tame, y).coef_)
    np.testing.assert_allclose(model.bounds_[0], low)


def test_labels_say_who_holds_which_row(cancer):
    X, y = cancer
    labels = np.array(["north", "south", "east"])[np.arange(len(y)) % 3]
    model = dzoa.LogisticRegression(agents=labels, graph=[("north", "south"), ("south", "east")], max_iter=50).fit(X, y)
    assert model.agents_ == ["north", "south", "east"] and model.agent_coef_.shape == (3, 30)
    again = dzoa.LogisticRegression(graph=[("north", "south"), ("south", "east")], max_iter=50).fit(X, y, agents=labels)
    np.testing.assert_array_equal(model.coef_, again.coef_)


@pytest.mark.parametrize(
    "change, text",
    [
        (dict(bounds=[1.0, 2.0]), "bounds: has shape (2,), expected one number or 30, one per column"),
        (dict(bounds=(1.0, -1.0)), "bounds: low 1 is above high -1 in column 0"),
        (dict(bounds=(1.0, 2.0, 3.0)), "a tuple must hold low and high"),
        (dict(total_epsilon=-1.0), "total_epsilon must be a finite number above 0, not -1.0"),
        (dict(delta=1.0), "delta must be a finite number above 0 and below 1, not 1.0"),
        (dict(agents=0), "agents must be a whole number of at least 1"),
        (dict(agents=[1, 2]), "agents: has shape (2,) for 569 rows"),
        (dict(agents=1000), "leave agent"),
        (dict(penalty="l3"), "penalty must be 'l1' or 'l2', not 'l3'"),
        (dict(algorithm="sgd"), "algorithm must be 'auto', 'admm' or 'd-zoa', not 'sgd'"),
        (dict(classes=(0, 0)), "classes must be two different labels, not (0, 0)"),
        (dict(classes=(0, 1, 2)), "classes must be two different labels, not (0, 1, 2)"),
        (dict(classes="01"), "classes must be two different labels, not '01'"),
        (dict(classes=1), "classes must be two different labels, not 1"),
        (dict(classes=[[0], [1]]), "classes must be two different labels, not [[0], [1]]"),
        (dict(C=0.0), "C must be a finite number above 0, not 0.0"),
        (dict(partition="random"), "partition: unknown `random`"),
        (dict(agents=3, graph="moebius"), "graph: unknown topology `moebius`"),
    ],
)
def test_bad_parameters_are_refused_in_one_line(cancer, change, text):
    with pytest.raises((ValueError, TypeError)) as caught:
        dzoa.LogisticRegression(**change).fit(*cancer)
    assert text in str(caught.value) and "\n" not in str(caught.value)


def test_pipelines_searches_pickles_and_copies(cancer):
    X, y = cancer
    pipeline = make_pipeline(StandardScaler(), dzoa.LogisticRegression(agents=3, max_iter=60))
    search = GridSearchCV(pipeline, {"logisticregression__C": [0.01, 1.0]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.95
    fitted = search.best_estimator_
    for twin in (pickle.loads(pickle.dumps(fitted)), copy.deepcopy(fitted)):
        np.testing.assert_array_equal(twin.predict(X), fitted.predict(X))
        assert twin[-1].privacy_ == fitted[-1].privacy_


def program():
    path = pathlib.Path(os.environ.get("DZOA_PROGRAM", ROOT / "target/release/dzoa"))
    if not path.exists():
        skip(f"{path} is not built")
    return path


#: Per loss the estimator, with the penalty's strength that is the program's eta = 1/150 on 90 rows of 3 agents.
SAME_PROBLEM = {
    "logistic": dzoa.LogisticRegression(C=5.0, penalty="l1", classes=(0, 1)),
    "hinge": dzoa.LinearSVC(C=5.0, penalty="l1", classes=(0, 1)),
    "huber": dzoa.HuberRegressor(alpha=1 / 450, penalty="l1", huber_delta=0.25, target_bounds=1.0),
    "squared": dzoa.Lasso(alpha=1 / 900, target_bounds=1.0),
}


#: All combinations but one: squares under a budget are fitted by values only.
SAME_RUNS = [
    case
    for case in itertools.product(SAME_PROBLEM, ["admm", "d-zoa"], ["none", "exact"])
    if case != ("squared", "admm", "exact")
]


@pytest.mark.parametrize(("loss", "algorithm", "privacy"), SAME_RUNS)
def test_the_same_seed_gives_the_bits_of_the_program(tmp_path, loss, algorithm, privacy):
    rng = np.random.default_rng(11)
    X = np.round(rng.uniform(-1, 1, size=(90, 3)), 6)
    y = np.round(0.5 * (X[:, 0] - X[:, 1]), 6)
    target = '{ name = "y", kind = "numeric", bound = 1.0 }'
    if loss in ("logistic", "hinge"):
        y = (y > 0).astype(int)
        target = '{ name = "y", positive = { equals = "1" } }'
    lines = ["a,b,c,y"] + [",".join([*(repr(float(v)) for v in row), repr(label)]) for row, label in zip(X, y.tolist())]
    (tmp_path / "all.csv").write_text("\n".join(lines) + "\n")
    mechanism = "none" if privacy == "none" else "scalar" if loss == "squared" else "output"
    budget = {
        "none": "",
        "output": "total_epsilon = 3.0\ndelta = 1e-4\nschedule = { growth = 1.03 }\n",
        "scalar": "total_epsilon = 3.0\ndelta = 1e-4\nschedule = { growth = 1.02 }\n",
    }[mechanism]
    # What the estimators choose and the program leaves to its config.
    inner = ""
    if mechanism == "scalar":
        inner = "inner_steps = 1\ndirections = 4\nsmoothing = 0.01"
    elif (loss, algorithm, mechanism) == ("hinge", "admm", "none"):
        inner = f"options = {{ tolerance = {math.sqrt(1e-10 / 0.02)!r} }}"
    columns = ", ".join(f'{{ name = "{name}", kind = "numeric", bound = 1.0 }}' for name in "abc")
    # To the last bit: noise follows from everything that goes into a round.
    _, eta = SAME_PROBLEM[loss]._penalty(90, 3, 1.0, 1.0)
    assert eta == pytest.approx(1 / 150)
    (tmp_path / "run.toml").write_text(
        f"""name = "bits"
[problem]
loss = "{loss}"
{"huber_delta = 0.25" if loss == "huber" else ""}
regularizer = "l1"
eta = {eta!r}
intercept = true
[data]
file = "all.csv"
partition = "iid"
agents = 3
[network]
topology = "path"
[algorithm]
name = "{algorithm}"
rho = 0.02
rounds = 20
{inner}
[privacy]
mechanism = "{mechanism}"
{budget}[run]
seed = 42
[schema]
row_norm = 1.0
columns = [{columns}]
target = {target}
"""
    )
    output = subprocess.run(
        [program(), "run", tmp_path / "run.toml", "--json", "--out", tmp_path / "out"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    expected = np.array(json.loads(output)["coefficients"])
    model = clone(SAME_PROBLEM[loss]).set_params(
        agents=3,
        partition="iid",
        graph="path",
        bounds=1.0,
        row_norm=1.0,
        algorithm=algorithm,
        rho=0.02,
        max_iter=20,
        tol=0.0,
        total_epsilon=3.0 if budget else None,
        delta=1e-4,
        random_state=42,
    )
    model.fit(X, y)
    found = np.column_stack([model.agent_coef_, model.agent_intercept_])
    np.testing.assert_array_equal(found, expected)
