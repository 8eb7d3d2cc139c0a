"""A loss of your own: the squared hinge, `max(0, 1 - y z)^2`, which is not built in.

In Python a loss is a function from points to one value per sample; nothing else is asked for. (In Rust the trait `Loss`
also gives the exact solver what it needs: `examples/rust/own_loss.rs`.) The same values are all that
`mechanism="scalar"` needs for an exact guarantee, where there are rows enough.
"""

import numpy as np
from sklearn.svm import LinearSVC

import dzoa

SITES, ROWS = 3, 40
ETA = 0.3  # the weight of ||b||^2/2


def cell(row, column):
    """Made-up rows, the same in every language."""
    return np.sin((row + 1) * (1.3 + column))


row = np.arange(SITES * ROWS)
X = cell(row[:, None], np.arange(2))
# Positive where the first column outweighs the second.
y = np.sign(cell(row, 0) - cell(row, 1) + 0.5 * cell(row, 20))


def squared_hinge(rows):
    """A row of values for each point, a column for each sample of one site."""
    x, signs = X[rows], y[rows]
    return lambda points: np.maximum(0.0, 1.0 - signs * (points @ x.T)) ** 2


found = dzoa.minimize(
    [squared_hinge(slice(k * ROWS, (k + 1) * ROWS)) for k in range(SITES)],
    graph="path",
    dim=2,
    batched=True,
    per_sample=True,
    # The regulariser holds no data and is handled in closed form.
    regularizer="l2",
    eta=ETA,
    smoothing=0.1,
    seed=1,
    record_every=0,
)
# One computer with all rows: scikit-learn weighs the losses, we the regulariser.
pooled = LinearSVC(C=1 / (ETA * ROWS), fit_intercept=False, tol=1e-9).fit(X, y)

for name, model in (("network", found.x), ("pooled", pooled.coef_[0])):
    share = np.mean(np.sign(X @ model) == y)
    print(f"{name:7}: {model[0]:.3f} {model[1]:.3f}, {100 * share:.0f} % of the rows on the right side")
print(f"{found.nfev} points were asked for; {found.status} after {found.rounds} rounds")
