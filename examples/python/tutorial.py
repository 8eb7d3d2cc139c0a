# %% [markdown]
# # dzoa in Python
#
# Cells as in a notebook; CI runs the file from top to bottom, so what is said here holds.

# %%
import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.model_selection import GridSearchCV, train_test_split

import dzoa

# %% [markdown]
# ## 1. Five clinics, one classifier, no pooled rows
#
# Each agent talks to its neighbours on a ring. Without `total_epsilon` nothing is private, and `privacy_` says so.

# %%
X, y = load_breast_cancer(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=0, stratify=y)
plain = dzoa.LogisticRegression(agents=5, graph="ring").fit(X_train, y_train)
print(f"accuracy {plain.score(X_test, y_test):.3f}")
print(plain.privacy_)
assert plain.score(X_test, y_test) > 0.95 and plain.privacy_.claim == "none"

# %% [markdown]
# ## 2. The same with an exact guarantee
#
# Bounds and classes must be public. Round numbers near this well-known data set's extremes stand in for what a real study knows
# beforehand; values beyond them are clipped. Had they been left out, `dzoa` would have warned, taken them from the data,
# and claimed nothing.

# %%
means = [30, 40, 200, 2600, 0.2, 0.4, 0.5, 0.25, 0.4, 0.1]
errors = [3, 5, 22, 550, 0.04, 0.15, 0.4, 0.06, 0.08, 0.03]
worst = [40, 50, 260, 4300, 0.25, 1.1, 1.3, 0.3, 0.7, 0.25]
bounds = (0.0, np.array(means + errors + worst))
private = dzoa.LogisticRegression(agents=5, total_epsilon=4.0, delta=1e-5, bounds=bounds, classes=(0, 1))
private.fit(X_train, y_train)
print(f"accuracy {private.score(X_test, y_test):.3f}")
print(private.privacy_)
assert private.privacy_.claim == "exact" and private.privacy_.epsilon <= 4.0
assert private.score(X_test, y_test) > 0.8

# %% [markdown]
# ## 3. What a search costs
#
# Every fit on the same rows is a release of its own. A grid of 3 settings with 3-fold cross-validation and a refit fits
# 10 times. A row is in 2 of the 3 folds of every setting and in the refit: 7 fits see it. For a total of 4 each of them
# may spend a seventh of `mu` squared:

# %%
fits_per_row = 3 * 2 + 1
mu = dzoa.privacy.gaussian_mu(4.0, 1e-5) / np.sqrt(fits_per_row)
each = dzoa.privacy.ExactGaussian().compose(dzoa.privacy.Event.gaussian(mu, 1.0)).epsilon(1e-5)
print(f"{fits_per_row} fits see a row: each may spend epsilon {each:.2f} of 4")
search = GridSearchCV(
    dzoa.LogisticRegression(total_epsilon=each, delta=1e-5, bounds=bounds, classes=(0, 1)), {"C": [0.1, 1.0, 10.0]}, cv=3
).fit(X_train, y_train)
print(search.best_params_, f"{search.score(X_test, y_test):.3f}")
# The scores of the folds are computed from held-out rows and are themselves not private: keep them.
total = dzoa.privacy.ExactGaussian().compose(dzoa.privacy.Event.gaussian(mu, 1.0), count=fits_per_row)
assert total.epsilon(1e-5) <= 4.0 * (1 + 1e-9)

# %% [markdown]
# ## 4. Regression
#
# Squares have no bounded gradient, so a private lasso clips difference quotients (`scalar`). Huber's loss has one
# (`output`). 442 patients are few for a budget of 8: the price is visible.

# %%
X, y = load_diabetes(return_X_y=True)
for model in (
    dzoa.Lasso(alpha=0.1),
    dzoa.HuberRegressor(),
    dzoa.Lasso(alpha=0.1, total_epsilon=8.0, bounds=0.2, target_bounds=(0, 350)),
    dzoa.HuberRegressor(total_epsilon=8.0, bounds=0.2, target_bounds=(0, 350)),
):
    model.fit(X, y)
    print(f"{type(model).__name__:15} R2 {model.score(X, y):6.3f}   {model.privacy_.claim}: {model.privacy_.mechanism}")

# %% [markdown]
# ## 5. A black box
#
# Three sites, each with a function of its own that only gives values. Any callable will do: a simulator, a service.

# %%
targets = np.array([[1.0, 0.0], [0.0, 2.0], [2.0, 1.0]])
sites = {name: (lambda b, t=t: float(np.abs(b - t).sum() + ((b - t) ** 2).sum())) for name, t in zip("abc", targets)}
found = dzoa.minimize(sites, graph=[("a", "b"), ("b", "c")], dim=2, rounds=150, smoothing=0.3, seed=1)
print(found)
print(found.trace.tail(3))
# The sum is smallest at the median-mean (1, 1) by symmetry.
assert np.allclose(found.x, 1.0, atol=0.05)

# %% [markdown]
# ## 6. A black box with an exact guarantee
#
# One value per sample, and `scalar` protects any loss: here a loss nobody has built in.

# %%
rng = np.random.default_rng(0)
rows = [rng.uniform(-1, 1, size=(2000, 3)) / np.sqrt(3) for _ in range(3)]
answers = [x @ np.array([1.0, -1.0, 0.0]) + 0.1 * rng.standard_cauchy(2000) for x in rows]
losses = [lambda points, x=x, a=a: np.log1p((points @ x.T - a) ** 2) for x, a in zip(rows, answers)]
guarded = dzoa.minimize(losses, dim=3, batched=True, per_sample=True, mechanism="scalar", total_epsilon=4.0, delta=1e-6)
print(guarded.x.round(2), guarded.privacy)
assert guarded.privacy.claim == "exact" and guarded.x[0] > 0.3 > -0.3 > guarded.x[1]

# %% [markdown]
# ## 7. Attack it yourself
#
# `audit` runs any mechanism on two neighbouring data sets and proves a lower bound on its epsilon.

# %%
data, neighbour = np.zeros(20), np.zeros(20)
neighbour[0] = 1.0


def careless(values):
    """The claim is epsilon 1, but the noise is for a mean of 200 values, not of 20."""
    return values.mean() + dzoa.privacy.gaussian_sigma(1 / 200, 1.0, 1e-5) * rng.normal()


verdict = dzoa.audit(careless, data, neighbour, claimed_epsilon=1.0, delta=1e-5, trials=2000)
print(verdict)
assert verdict.verdict == "violated"
