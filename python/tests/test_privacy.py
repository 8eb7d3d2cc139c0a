"""Accountants, calculators and the audit."""

import json
import pathlib

import numpy as np
import pytest

import dzoa
from dzoa import privacy

ORACLE = json.loads((pathlib.Path(__file__).parents[2] / "tests/oracle/privacy.json").read_text())


def test_the_composition_agrees_with_the_oracle():
    for row in ORACLE["composition"]:
        mu = row["mu"]
        exact = privacy.ExactGaussian().compose(privacy.Event.gaussian(mu, 1.0))
        zcdp = privacy.ZeroConcentrated().compose(privacy.Event.gaussian(mu, 1.0))
        # Bounds: never below, and tight.
        assert row["epsilon_exact"] <= exact.epsilon(row["delta"]) * (1 + 1e-9)
        assert exact.epsilon(row["delta"]) == pytest.approx(row["epsilon_exact"], rel=1e-7)
        assert zcdp.epsilon(row["delta"]) == pytest.approx(row["epsilon_zcdp"], rel=1e-3)
        theorem2 = privacy.theorem2_epsilon(row["epsilon"], row["delta"], row["rounds"])
        assert theorem2 == pytest.approx(row["epsilon_theorem2"], rel=1e-9)


def test_sigma_and_epsilon_are_inverse_and_never_overshoot():
    sigma = privacy.gaussian_sigma(0.3, 2.0, 1e-6, releases=50)
    spent = privacy.gaussian_epsilon(0.3, sigma, 1e-6, releases=50)
    assert 2.0 * (1 - 1e-6) < spent <= 2.0 * (1 + 1e-9)


def test_the_corollary_and_its_inverse_agree():
    sizes = dict(sensitivity=privacy.lemma3_sensitivity(1.0, 4.0, 3, 20), delta=1e-3, features=10)
    step = privacy.corollary1_step(0.15, **sizes)
    assert privacy.corollary1_epsilon(step, **sizes) == pytest.approx(0.15, rel=1e-12)


def test_events_say_what_they_claim():
    assert privacy.Event.gaussian(1.0, 1.0).claim == "exact"
    assert privacy.Event.nominal(0.15, 1e-3).claim == "nominal"
    with pytest.raises(ValueError, match="Nominal"):
        privacy.ExactGaussian().compose(privacy.Event.nominal(0.15, 1e-3))


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda: privacy.gaussian_sigma(1.0, -1.0, 1e-5), "total_epsilon must be a finite number above 0, not -1"),
        (lambda: privacy.gaussian_epsilon(1.0, 1.0, 2.0), "delta must be strictly between 0 and 1, not 2"),
        (lambda: privacy.Event.subsampled_gaussian(1.0, 1.0, 5, 4), "batch must lie between 1 and samples (4), not 5"),
        (lambda: privacy.lemma3_sensitivity(1.0, 1.0, 0, 5), "neighbourhood must be at least 1, not 0"),
    ],
)
def test_bad_values_are_named(call, text):
    with pytest.raises(ValueError) as caught:
        call()
    assert text in str(caught.value)


def gaussian_mean(sigma, rng):
    return lambda data: data.mean(axis=0) + sigma * rng.normal(size=data.shape[1])


def test_the_audit_of_a_sound_mechanism_is_consistent_and_finds_much_of_it():
    rng = np.random.default_rng(5)
    data = np.zeros((10, 3))
    neighbour = data.copy()
    neighbour[0] = [1.0, 0.0, 0.0]
    # Replacing a row moves the mean by 0.1: mu is 0.1/sigma.
    sigma, delta = 0.05, 1e-3
    truth = privacy.gaussian_epsilon(0.1, sigma, delta)
    found = dzoa.audit(gaussian_mean(sigma, rng), data, neighbour, trials=4000, claimed_epsilon=truth, delta=delta)
    assert found.verdict == "consistent"
    assert 0.3 * truth < found.epsilon_lower_bound <= truth
    assert found.mu_estimate == pytest.approx(2.0, abs=0.2)


def test_the_audit_refutes_a_false_claim():
    rng = np.random.default_rng(6)
    data, neighbour = np.zeros((10, 1)), np.zeros((10, 1))
    neighbour[3] = 1.0
    found = dzoa.audit(gaussian_mean(0.02, rng), data, neighbour, claimed_epsilon=0.5, trials=1000)
    assert found.verdict == "violated" and found.epsilon_lower_bound > 0.5
    assert found.epsilon_lower_bound <= found.largest_provable_epsilon


def test_an_audit_of_our_own_estimator_proves_nothing_against_it():
    rng = np.random.default_rng(7)
    rows = rng.uniform(-1, 1, size=(40, 2))
    labels = (rows[:, 0] > 0).astype(int)
    other = labels.copy()
    other[0] = 1 - other[0]

    def fit(labels):
        model = dzoa.LogisticRegression(bounds=1.0, classes=(0, 1), total_epsilon=1.0, delta=1e-3, max_iter=3)
        return model.fit(rows, labels).coef_

    found = dzoa.audit(fit, labels, other, trials=300, claimed_epsilon=1.0, delta=1e-3)
    assert found.verdict == "consistent"
