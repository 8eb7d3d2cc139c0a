"""Lasso over a network: three sites hold rows, two of ten columns matter, and nobody pools.

Each site solves its own small problem and exchanges coefficients with its neighbours only. Nothing is private here, and
`privacy_` says so; `private_logistic.py` adds a guarantee. The numbers are those of `examples/rust/lasso.rs`.
"""

import numpy as np
from sklearn.linear_model import Lasso

import dzoa

SITES, ROWS, COLUMNS = 3, 40, 10
ALPHA = 0.05  # how strongly coefficients are pulled to zero


def cell(row, column):
    """Rows that any language can make: no generator has to agree."""
    return np.sin((row + 1) * (1.3 + column))


row = np.arange(SITES * ROWS)
X = cell(row[:, None], np.arange(COLUMNS))
# Only columns 0 and 3 matter.
y = 2.0 * cell(row, 0) - cell(row, 3) + 0.3 * cell(row, 20)
holder = np.repeat(["north", "south", "west"], ROWS)

# Bounds are public knowledge about the columns: a sine is between -1 and 1.
network = dzoa.Lasso(ALPHA, agents=holder, graph="ring", bounds=1.0, fit_intercept=False, rho=0.1).fit(X, y)
# One computer with all rows: what pooling would have given.
pooled = Lasso(ALPHA, fit_intercept=False, tol=1e-9).fit(X, y)

print(f"{', '.join(network.agents_)}: {network.n_iter_} rounds")
print("column   network   pooled")
for column, (ours, theirs) in enumerate(zip(network.coef_, pooled.coef_)):
    # Adding zero turns a negative zero into zero.
    print(f"{column:6} {ours + 0.0:9.4f} {theirs + 0.0:8.4f}")
print(f"privacy: {network.privacy_}")
