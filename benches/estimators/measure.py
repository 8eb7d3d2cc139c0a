"""Measures docs/estimators.md: the private classifiers beside diffprivlib's, on breast cancer.

    cargo xtask estimators
"""

import argparse
import pathlib
import warnings

import diffprivlib
import numpy as np
import sklearn
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

import dzoa

EPSILONS = (1.0, 4.0, 16.0)
STRENGTHS = (0.01, 0.1, 1.0)
SEEDS = range(20)
DELTA = 1e-5
#: Round numbers near the extremes of this well-known data set, in place of public knowledge: the same for everybody.
HIGH = np.array(
    [30, 40, 200, 2600, 0.2, 0.4, 0.5, 0.25, 0.4, 0.1]
    + [3, 5, 22, 550, 0.04, 0.15, 0.4, 0.06, 0.08, 0.03]
    + [40, 50, 260, 4300, 0.25, 1.1, 1.3, 0.3, 0.7, 0.25]
)
#: What rows are cut to after their columns are scaled to [-1, 1]: our default, given to both.
NORM = float(np.sqrt(len(HIGH) / 3 + 1))


def ours(kind, agents, strength):
    def fit(X, y, epsilon, seed):
        model = kind(C=strength, agents=agents, total_epsilon=epsilon, delta=DELTA, bounds=(0.0, HIGH), classes=(0, 1))
        model.set_params(random_state=seed)
        return model.fit(X, y).predict

    return fit


def theirs(strength):
    def scaled(X):
        return np.clip(2 * X / HIGH - 1, -1, 1)

    def fit(X, y, epsilon, seed):
        model = diffprivlib.models.LogisticRegression(
            epsilon=epsilon, data_norm=NORM, C=strength, random_state=seed, max_iter=1000
        ).fit(scaled(X), y)
        return lambda X: model.predict(scaled(X))

    return fit


def accuracies(fit, epsilon):
    X, y = load_breast_cancer(return_X_y=True)
    scores = []
    for seed in SEEDS:
        X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=seed, stratify=y)
        scores.append((fit(X_train, y_train, epsilon, seed)(X_test) == y_test).mean())
    return np.array(scores)


def main() -> None:
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser()
    parser.add_argument("document", type=pathlib.Path)
    document = parser.parse_args().document
    rows = []
    for label, make, guarantee in (
        ("dzoa `LogisticRegression`, 1 agent", lambda c: ours(dzoa.LogisticRegression, 1, c), f"(epsilon, {DELTA:g})"),
        ("dzoa `LogisticRegression`, 5 agents", lambda c: ours(dzoa.LogisticRegression, 5, c), f"(epsilon, {DELTA:g})"),
        ("dzoa `LinearSVC`, 1 agent", lambda c: ours(dzoa.LinearSVC, 1, c), f"(epsilon, {DELTA:g})"),
        ("dzoa `LinearSVC`, 5 agents", lambda c: ours(dzoa.LinearSVC, 5, c), f"(epsilon, {DELTA:g})"),
        ("diffprivlib `LogisticRegression`, pooled", theirs, "(epsilon, 0)"),
    ):
        for strength in STRENGTHS:
            cells = []
            for epsilon in EPSILONS:
                scores = accuracies(make(strength), epsilon)
                cells.append(f"{scores.mean():.3f} ± {scores.std(ddof=1):.3f}")
            print(label, strength, cells, flush=True)
            rows.append(f"| {label} | {guarantee} | {strength:g} | " + " | ".join(cells) + " |")
    X, y = load_breast_cancer(return_X_y=True)
    plain = accuracies(lambda X, y, epsilon, seed: dzoa.LogisticRegression(bounds=(0.0, HIGH)).fit(X, y).predict, None)
    head = " | ".join(f"epsilon {epsilon:g}" for epsilon in EPSILONS)
    table = "\n".join(rows)
    document.write_text(
        f"""# The estimators beside diffprivlib

Written by `cargo xtask estimators` (`benches/estimators/measure.py`), as measured: dzoa with its default rules,
diffprivlib {diffprivlib.__version__} with scikit-learn {sklearn.__version__}.

Breast cancer (scikit-learn's, {X.shape[0]} rows, {X.shape[1]} columns), {len(SEEDS)} random splits of 70 to 30; accuracy on the
held-out rows, mean and standard deviation. All get the same bounds (columns to [-1, 1]; round numbers near the extremes of this
well-known data set, in place of public knowledge) and cut rows to the same norm {NORM:.2f}. C is the inverse strength of the l2 penalty in both libraries. Nothing is tuned: every C is shown.

| model | guarantee | C | {head} |
| --- | --- | --- | {" | ".join("---" for _ in EPSILONS)} |
{table}

Not private, C = 1: {plain.mean():.3f} ± {plain.std(ddof=1):.3f}. The larger class alone: {max(y.mean(), 1 - y.mean()):.3f}.

- Adjacency is the same, replacing one row. diffprivlib's guarantee is pure (delta 0), by one perturbed objective on
  pooled rows. dzoa's has delta {DELTA:g}, over all rounds of all exchanged vectors, for each agent's own rows: with five
  agents nobody ever holds more than a fifth of the rows.
- Seeds make both repeatable, and void both guarantees: for measurements only.
- With five agents each has about 80 training rows, so every release needs five times the noise.
"""
    )


if __name__ == "__main__":
    main()
