"""Measures docs/large-data.md: fits without and with a budget on many rows, beside scikit-learn.

    python benches/estimators/large.py [--rows 1000000] > docs/large-data.md
"""

import argparse
import time
import warnings

import numpy as np
import sklearn.linear_model
import sklearn.svm
from sklearn.datasets import load_digits

import dzoa

COLUMNS = 20


def drawn(rows):
    """Rows in [-1, 1] and labels of a logistic model."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(rows, COLUMNS))
    score = X @ rng.normal(size=COLUMNS)
    return X, (rng.uniform(size=rows) < 1 / (1 + np.exp(-score))).astype(int)


def seconds(model, X, y):
    begun = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    return time.process_time() - begun


def line(*cells):
    print("| " + " | ".join(cells) + " |", flush=True)


def beside(what, ours, theirs, X, y, scaled):
    mine, others = seconds(ours, X, y), seconds(theirs, scaled, y)
    line(what, f"{mine:.2f}", f"{others:.2f}", f"{mine / others:.1f}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    most = parser.parse_args().rows
    print("# Large data\n\nWritten by `benches/estimators/large.py`, in one run; seconds of processor time,\nsince the machine was shared.\n")
    print(f"Without a budget, {COLUMNS} columns, one thread; scikit-learn at its default tolerance.\n")
    line("fit", "dzoa, s", "scikit-learn, s", "ratio")
    line("---", "---:", "---:", "---:")
    svc = sklearn.svm.LinearSVC(loss="hinge", max_iter=10_000)
    for rows in [rows for rows in (20_000, 200_000, 1_000_000) if rows <= most]:
        X, y = drawn(rows)
        theirs = sklearn.linear_model.LogisticRegression()
        beside(f"logistic, l2, {rows:,} rows", dzoa.LogisticRegression(), theirs, X, y, X)
        if rows <= 200_000:
            beside(f"SVM, {rows:,} rows", dzoa.LinearSVC(), svc, X, y, X)
    X, y = load_digits(return_X_y=True)
    beside("SVM, digits (1,797 x 64)", dzoa.LinearSVC(), svc, X, (y >= 5).astype(int), X / 8 - 1)
    print("\nWith a budget (`output`, epsilon 1, delta 1e-6, 60 rounds), rows over the agents in equal parts:\n")
    line("rows", "agents", "s")
    line("---:", "---:", "---:")
    for rows, agents in [(100_000, 1), (100_000, 4), (most, 1), (most, 4)]:
        X, y = drawn(rows)
        model = dzoa.LogisticRegression(
            agents=agents, total_epsilon=1.0, delta=1e-6, bounds=1.0, classes=(0, 1), threads=0
        )
        line(f"{rows:,}", str(agents), f"{seconds(model, X, y):.1f}")


if __name__ == "__main__":
    main()
