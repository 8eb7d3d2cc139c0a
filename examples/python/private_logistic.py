"""Logistic regression with an exact guarantee: four clinics, one classifier, epsilon 4 in total.

The mechanism `output` releases certified minimisers with Gaussian noise. Its sensitivity rests on public numbers only:
the bounds of the columns, the two classes, and rows that are cut to norm 1. The noise comes from the operating system.
A `random_state` would make the fit repeatable, and void the guarantee.
"""

import numpy as np

import dzoa

CLINICS, PATIENTS, COLUMNS = 4, 2000, 3


def cell(row, column):
    """Made-up patients, the same in every language."""
    return np.sin((row + 1) * (1.3 + column))


row = np.arange(CLINICS * PATIENTS)
X = cell(row[:, None], np.arange(COLUMNS))
# Ill where the first column outweighs the second.
ill = np.where(cell(row, 0) - cell(row, 1) + 0.5 * cell(row, 20) > 0, 1, -1)

model = dzoa.LogisticRegression(
    # scikit-learn weighs the losses: in Rust this is a weight of 1/(2000 C) = 0.01 on ||b||^2/2.
    C=0.05,
    agents=np.repeat(["a", "b", "c", "d"], PATIENTS),
    graph="ring",
    total_epsilon=4.0,
    delta=1e-5,
    # Without bounds and classes they would be taken from the data, and the claim would be `none`.
    bounds=1.0,
    classes=(-1, 1),
    fit_intercept=False,
).fit(X, ill)

print("model:", ", ".join(f"{weight:.2f}" for weight in model.coef_.ravel()))
# For the reader of this example: an accuracy is computed from rows, and is not protected.
print(f"accuracy on the rows: {model.score(X, ill):.3f}")
print(f"privacy: {model.privacy_}")
