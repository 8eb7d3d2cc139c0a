"""`dzoa evaluate` beside scikit-learn's metrics, on the same rows."""

import json
import os
import pathlib
import subprocess

import numpy as np
import pytest
import sklearn.linear_model
import sklearn.metrics
from sklearn.calibration import calibration_curve
from skipping import skip

ROOT = pathlib.Path(__file__).parents[2]
#: Both compute in doubles; Newton's method and lbfgs stop at about 1e-6.
CLOSE = 1e-9
FITTED = 1e-4


def evaluate(directory, loss, target, rows):
    """What the program says of the model `0.75 a - 1.25 b + 0.25` on these rows."""
    program = pathlib.Path(os.environ.get("DZOA_PROGRAM", ROOT / "target/release/dzoa"))
    if not program.exists():
        skip(f"{program} is not built")
    columns = [{"name": name, "kind": "numeric", "bound": 1.0} for name in "ab"]
    schema = {"columns": columns, "target": target, "row_norm": 8.0}
    weights = [6.0, -10.0, 2.0]
    model = {
        "model": 1,
        "sharing": "",
        "name": "x",
        "loss": loss,
        "intercept": True,
        "privacy": "",
        "schema": schema,
        "coefficients": [{"name": n, "value": v} for n, v in zip(["a", "b", "(intercept)"], weights)],
    }
    (directory / "model.json").write_text(json.dumps(model))
    (directory / "rows.csv").write_text("a,b,y\n" + "".join(f"{a!r},{b!r},{y}\n" for a, b, y in rows))
    command = [program, "evaluate", "--model", directory / "model.json", directory / "rows.csv", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_measures_of_a_classifier_are_scikit_learns(tmp_path):
    rng = np.random.default_rng(5)
    # Eighths: there are equal scores, and they are equal in doubles.
    X = rng.integers(-8, 9, size=(400, 2)) / 8
    z = 0.75 * X[:, 0] - 1.25 * X[:, 1] + 0.25
    p = 1 / (1 + np.exp(-z))
    y = rng.uniform(size=400) < 1 / (1 + np.exp(-(0.4 + 2.0 * z)))
    target = {"name": "y", "positive": {"equals": "1"}, "negative": {"equals": "0"}}
    rows = [(float(a), float(b), int(label)) for (a, b), label in zip(X, y)]
    found = evaluate(tmp_path, "logistic", target, rows)
    assert found["rows"] == 400
    assert found["accuracy"] == pytest.approx(sklearn.metrics.accuracy_score(y, z > 0), abs=CLOSE)
    assert found["base_rate"] == pytest.approx(y.mean(), abs=CLOSE)
    assert found["auc"] == pytest.approx(sklearn.metrics.roc_auc_score(y, z), abs=CLOSE)
    assert found["loss"] == pytest.approx(sklearn.metrics.log_loss(y, p), abs=CLOSE)
    negative, positive = sklearn.metrics.confusion_matrix(y, z > 0)
    counted = found["confusion"]
    assert [counted["true_negatives"], counted["false_positives"]] == negative.tolist()
    assert [counted["false_negatives"], counted["true_positives"]] == positive.tolist()
    calibration = found["calibration"]
    line = sklearn.linear_model.LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000).fit(z[:, None], y)
    assert calibration["slope"] == pytest.approx(line.coef_[0, 0], abs=FITTED)
    observed, predicted = calibration_curve(y, p, n_bins=10, strategy="quantile")
    assert [group["predicted"] for group in calibration["groups"]] == pytest.approx(predicted.tolist(), abs=CLOSE)
    assert [group["observed"] for group in calibration["groups"]] == pytest.approx(observed.tolist(), abs=CLOSE)
    share = np.array([group["rows"] for group in calibration["groups"]]) / 400
    assert calibration["error"] == pytest.approx(share @ np.abs(predicted - observed), abs=CLOSE)
    # At the fitted intercept the mean probability is the share of positives.
    moved = 1 / (1 + np.exp(-(z + calibration["intercept"])))
    assert moved.mean() == pytest.approx(y.mean(), abs=CLOSE)


@pytest.mark.parametrize("loss", ["squared", "absolute", "huber", "pinball"])
def test_measures_of_a_regression_are_in_the_targets_own_unit(tmp_path, loss):
    rng = np.random.default_rng(6)
    X = np.round(rng.uniform(-1, 1, size=(120, 2)), 3)
    # The model predicts in shares of the bound, 300.
    predicted = 300 * (0.75 * X[:, 0] - 1.25 * X[:, 1] + 0.25)
    y = np.clip(np.round(0.3 * predicted + 20 * rng.normal(size=120), 1), -290, 290)
    rows = [(float(a), float(b), float(v)) for (a, b), v in zip(X, y)]
    found = evaluate(tmp_path, loss, {"name": "y", "kind": "numeric", "bound": 300.0}, rows)
    errors = np.abs(predicted - y)
    # Huber's delta of 1 is one bound wide.
    expected = {
        "squared": sklearn.metrics.mean_squared_error(y, predicted),
        "absolute": errors.mean(),
        "pinball": sklearn.metrics.mean_pinball_loss(y, predicted, alpha=0.5),
        "huber": np.where(errors <= 300, errors**2 / 2, 300 * errors - 300**2 / 2).mean(),
    }
    assert found["loss"] == pytest.approx(expected[loss], rel=CLOSE)
    assert found["r2"] == pytest.approx(sklearn.metrics.r2_score(y, predicted), abs=CLOSE)
    assert found["mean_absolute_error"] == pytest.approx(errors.mean(), rel=CLOSE)
