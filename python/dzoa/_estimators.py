"""Linear models over agents, with scikit-learn's conventions.

All of them scale every column to [-1, 1] by public ``bounds`` (and, for regression, the target by
``target_bounds``), fit there, and give ``coef_`` and ``intercept_`` in the data's own units. Penalties act on the
coefficients of the scaled columns, as after a ``MinMaxScaler``. Every row counts alike, whichever agent holds it.

``privacy_`` speaks of one fit and of what it learns itself. A scaler, an imputer or a selector before it in a pipeline
reads the rows as well: what such a step learns is not covered. Public ``bounds`` do the work of a scaler.
"""

from __future__ import annotations

import numbers
import warnings
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from . import _check, _core, _network
from ._inference import Inferring
from ._statement import PrivacyStatement, statement

__all__ = ["HuberRegressor", "Lasso", "LinearSVC", "LogisticRegression", "PrivacyLeakWarning"]


#: Beyond so many columns second derivatives are too many to be flooded.
_MOST_COLUMNS = 2000

#: What is asked of all rows is asked of so many at a time, so that no copy of all of them is made.
_ROWS_AT_A_TIME = 4096


class PrivacyLeakWarning(UserWarning):
    """Something that should be public was taken from private data."""


class _DistributedLinearModel(BaseEstimator):
    """What the four have in common; they differ in loss, penalty and target."""

    _loss: str

    def _penalty(self, rows: int, agents: int, target_scale: float, row_norm: float) -> tuple[str, float]:
        raise NotImplementedError

    def _loss_parameters(self, target_scale: float) -> dict[str, float]:
        return {}

    def _fit(self, X: np.ndarray, y: np.ndarray, target: tuple[float, float], agents: Any, leaks: list[str]) -> None:
        """Fits ``(y - middle)/scale`` on scaled columns; sets everything but ``coef_`` and ``intercept_``."""
        rows, columns = X.shape
        private = self.total_epsilon is not None
        seed = _seed(self.random_state)
        names, parts = self._parts(agents, y, seed)
        split = isinstance(self.agents if agents is None else agents, numbers.Integral)
        if split and self.partition == "dirichlet" and len(parts) > 1:
            leaks.append("partition")
        middle, half = self._scaling(X, private, leaks)
        row_norm = self._row_norm(X, (middle, half), private)
        by_sums = self._by_sums(private, columns + bool(self.fit_intercept))
        cut = private or self.row_norm is not None
        target_middle, target_scale = target
        regularizer, eta = self._penalty(rows, len(parts), target_scale, row_norm)
        options = {
            "loss": self._loss,
            "loss_parameters": self._loss_parameters(target_scale),
            "regularizer": regularizer,
            "l1_ratio": 0.5,
            "eta": eta,
            "intercept": bool(self.fit_intercept),
            "middle": middle.tolist(),
            "half": half.tolist(),
            "row_norm": row_norm,
            "cut": cut,
            "algorithm": "admm" if self.algorithm == "auto" and self.rho is not None else self.algorithm,
            "by_sums": by_sums,
            "rho": _check.optional_number("rho", self.rho),
            "rounds": _check.optional_count("max_iter", self.max_iter),
            "inner_steps": _check.optional_count("inner_steps", self.inner_steps),
            "directions": _check.optional_count("directions", self.directions),
            "total_epsilon": _check.optional_number("total_epsilon", self.total_epsilon),
            "delta": _check.number("delta", self.delta, high=1.0),
            "rows_per_person": _check.count("rows_per_person", self.rows_per_person),
            "tol": _check.number("tol", self.tol, strict=False),
            "leaks": leaks,
            "seed": seed,
            "threads": _check.count("threads", self.threads, low=0),
            "inference": bool(getattr(self, "inference", False)),
        }
        network = _network.describe(self.graph, names, len(parts))
        # Rows are scaled there, while they are dealt out to the agents: no copy of all of them is made here.
        found = _core.fit(X, np.ascontiguousarray((y - target_middle) / target_scale), parts, network, options)
        weights = np.vstack([found["coefficients"], found["model"]]) * (target_scale / row_norm)
        slopes = weights[:, :columns] / half
        constants = weights[:, columns] if self.fit_intercept else np.zeros(len(weights))
        constants = constants + target_middle - slopes @ middle
        self.agents_ = found["names"]
        self.agent_coef_, self._model_coef = slopes[:-1], slopes[-1]
        self.agent_intercept_, self._model_intercept = constants[:-1], float(constants[-1])
        self.n_iter_ = found["rounds"]
        self.rho_ = found["rho"]
        self.bounds_ = (middle - half, middle + half)
        self.privacy_: PrivacyStatement = statement(found["statement"])
        if isinstance(self, Inferring):
            self._keep(found["inference"], (middle, half, target_scale / row_norm, target_middle))
        self._residuals(found, private)

    def _residuals(self, found: dict[str, Any], private: bool) -> None:
        """How far from the end the rounds were; under a budget noise keeps them there, and nothing is warned."""
        self.primal_residual_, self.dual_residual_ = found["residuals"] or (0.0, 0.0)
        if found["converged"] or private:
            return
        rest = (
            f"the agents still differ by {self.primal_residual_:.1e} (primal residual) and pull by "
            f"{self.dual_residual_:.1e} (dual residual); hint: raise max_iter, try another rho, or take "
            "algorithm='auto', which finds the optimum"
            if found["residuals"]
            else "the last step was still long; hint: raise max_iter"
        )
        warnings.warn(f"not converged after {self.n_iter_} rounds: {rest}", ConvergenceWarning, stacklevel=4)

    def _by_sums(self, private: bool, columns: int) -> bool:
        """Whether agents flood sums of derivatives: nothing hides those, so never under a budget."""
        if self.algorithm not in ("auto", "admm", "d-zoa"):
            raise ValueError(f"algorithm must be 'auto', 'admm' or 'd-zoa', not {self.algorithm!r}")
        return self.algorithm == "auto" and not private and self.rho is None and columns <= _MOST_COLUMNS

    def _parts(self, agents: Any, y: np.ndarray, seed: int | None) -> tuple[list[str], list[np.ndarray]]:
        """Names and row numbers of the agents."""
        agents = self.agents if agents is None else agents
        if isinstance(agents, numbers.Integral) and not isinstance(agents, bool):
            number = _check.count("agents", agents)
            alpha = _check.number("partition_alpha", self.partition_alpha)
            parts = _core.partition(np.ascontiguousarray(y), number, self.partition, alpha, seed)
            return [str(k + 1) for k in range(number)], parts
        labels = np.asarray(agents)
        if labels.ndim != 1 or len(labels) != len(y):
            raise ValueError(
                f"agents: has shape {labels.shape} for {len(y)} rows; hint: a number, or one label per row "
                "(in a search or a pipeline pass it to fit)"
            )
        names: dict[str, list[int]] = {}
        for row, label in enumerate(labels.tolist()):
            names.setdefault(str(label), []).append(row)
        return list(names), [np.array(rows, dtype=np.uint64) for rows in names.values()]

    def _scaling(self, X: np.ndarray, private: bool, leaks: list[str]) -> tuple[np.ndarray, np.ndarray]:
        """What is subtracted from each column, and what it is divided by."""
        if self.bounds is None:
            low, high = X.min(axis=0), X.max(axis=0)
            if private:
                leaks.append("bounds")
                warnings.warn(
                    "bounds were not given and are taken from the data: that reveals its extremes, and the guarantee "
                    "is void; hint: bounds=(low, high) from public knowledge",
                    PrivacyLeakWarning,
                    stacklevel=4,
                )
        else:
            low, high = _low_high("bounds", self.bounds, X.shape[1])
        if not self.fit_intercept:
            # A constant can only be moved into an intercept.
            high = np.maximum(np.abs(low), np.abs(high))
            low = -high
        half = 0.5 * (high - low)
        return 0.5 * (low + high), np.where(half > 0, half, 1.0)

    def _row_norm(self, X: np.ndarray, scaling: tuple[np.ndarray, np.ndarray], private: bool) -> float:
        """What rows are divided by; under a budget features longer than that are cut, and the constant never is."""
        if self.row_norm is not None:
            return _check.number("row_norm", self.row_norm)
        if private:
            return _core.typical_row_norm(X.shape[1], bool(self.fit_intercept))
        middle, half = scaling
        longest = 0.0
        for first in range(0, len(X), _ROWS_AT_A_TIME):
            scaled = np.clip((X[first : first + _ROWS_AT_A_TIME] - middle) / half, -1.0, 1.0)
            longest = max(longest, float((scaled**2).sum(axis=1).max()))
        return max(float(np.sqrt(longest + bool(self.fit_intercept))), 1e-12)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # Fresh noise in every fit.
        tags.non_deterministic = self.total_epsilon is not None
        return tags


def _seed(random_state: Any) -> int | None:
    if random_state is None:
        return None
    if isinstance(random_state, numbers.Integral) and not isinstance(random_state, bool):
        return _check.seed("random_state", random_state)
    return int(check_random_state(random_state).randint(0, 2**31 - 1))


def _labels(classes: Any) -> np.ndarray:
    """A list of labels as an array; a text is one label and no list of letters."""
    try:
        labels = np.asarray(classes if isinstance(classes, np.ndarray) else list(classes))
    except TypeError:
        labels = None
    if labels is None or labels.ndim != 1 or isinstance(classes, (str, bytes)):
        raise ValueError(f"classes must be two different labels, not {classes!r}")
    return labels


def _low_high(name: str, bounds: Any, columns: int) -> tuple[np.ndarray, np.ndarray]:
    """One number, one per column (a list or array), or a tuple of low and high, each of them either."""
    pair = bounds if isinstance(bounds, tuple) else None
    if pair is not None and len(pair) != 2:
        raise ValueError(f"{name}: a tuple must hold low and high, not {len(pair)} values")

    def vector(part: Any) -> np.ndarray:
        array = np.asarray(part, dtype=float)
        if array.shape not in ((), (columns,)):
            raise ValueError(f"{name}: has shape {array.shape}, expected one number or {columns}, one per column")
        if not np.isfinite(array).all():
            raise ValueError(f"{name}: holds a value that is not finite")
        return np.broadcast_to(array, (columns,)).copy()

    if pair is None:
        high = vector(bounds)
        low = -high
    else:
        low, high = vector(pair[0]), vector(pair[1])
    wrong = np.flatnonzero(low > high)
    if wrong.size:
        raise ValueError(f"{name}: low {low[wrong[0]]:g} is above high {high[wrong[0]]:g} in column {wrong[0]}")
    return low, high


class _Regressor(RegressorMixin, _DistributedLinearModel):
    def fit(self, X: Any, y: Any, agents: Any = None) -> Any:
        """Fit the model; ``agents`` (one label per row) overrides the parameter of the same name."""
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
        leaks: list[str] = []
        self._fit(X, np.asarray(y, dtype=float), self._target(y, leaks), agents, leaks)
        self.coef_, self.intercept_ = self._model_coef, self._model_intercept
        return self

    def _target(self, y: np.ndarray, leaks: list[str]) -> tuple[float, float]:
        if self.target_bounds is None:
            low, high = float(np.min(y)), float(np.max(y))
            if self.total_epsilon is not None:
                leaks.append("target_bounds")
                warnings.warn(
                    "target_bounds were not given and are taken from the data: that reveals its extremes, and the "
                    "guarantee is void; hint: target_bounds=(low, high) from public knowledge",
                    PrivacyLeakWarning,
                    stacklevel=3,
                )
        else:
            pair = _low_high("target_bounds", self.target_bounds, 1)
            low, high = float(pair[0][0]), float(pair[1][0])
        if not self.fit_intercept:
            high = max(abs(low), abs(high))
            low = -high
        half = 0.5 * (high - low)
        return 0.5 * (low + high), half if half > 0 else 1.0

    def predict(self, X: Any) -> np.ndarray:
        """``X @ coef_ + intercept_``"""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return X @ self.coef_ + self.intercept_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # On few rows there is more noise than signal.
        tags.regressor_tags.poor_score = self.total_epsilon is not None
        return tags


class _Classifier(ClassifierMixin, _DistributedLinearModel):
    def fit(self, X: Any, y: Any, agents: Any = None) -> Any:
        """Fit the model; ``agents`` (one label per row) overrides the parameter of the same name."""
        X, y = validate_data(self, X, y, dtype=np.float64)
        leaks: list[str] = []
        self.classes_, positive = self._known(y) if self.classes is not None else self._found(y, leaks)
        self._fit(X, np.where(positive, 1.0, -1.0), (0.0, 1.0), agents, leaks)
        self.coef_, self.intercept_ = self._model_coef[np.newaxis], np.array([self._model_intercept])
        return self

    def _known(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The public classes, and which rows are of the second; no row decides what they are."""
        classes = np.unique(_labels(self.classes))
        if classes.shape != (2,):
            raise ValueError(f"classes must be two different labels, not {self.classes!r}")
        negative, positive = (np.asarray(y == label, dtype=bool) for label in classes)
        strange = np.flatnonzero(~(negative | positive))
        if strange.size:
            # For the holder of the rows, and before anything is released.
            raise ValueError(
                f"y[{strange[0]}] is {y[strange[0]]!r}, which is not one of classes={self.classes!r}; hint: correct "
                "the label, or name the two labels that are possible"
            )
        return classes, positive

    def _found(self, y: np.ndarray, leaks: list[str]) -> tuple[np.ndarray, np.ndarray]:
        """The classes that occur in ``y``: one row can decide what they are, and whether there are two."""
        check_classification_targets(y)
        kind = type_of_target(y, input_name="y", raise_unknown=True)
        if kind != "binary":
            raise ValueError(
                f"Only binary classification is supported. The type of the target is {kind}. hint: "
                "OneVsRestClassifier fits once per class, and pays once per class"
            )
        classes, index = np.unique(y, return_inverse=True)
        if len(classes) < 2:
            raise ValueError(
                f"y holds one class only ({classes[0]!r}): Classifier can't train when only one class is present. "
                "hint: classes=(negative, positive)"
            )
        if self.total_epsilon is not None:
            leaks.append("classes")
            warnings.warn(
                "classes were not given and are taken from the data: one row can decide what they are, and the "
                "guarantee is void; hint: classes=(negative, positive) from public knowledge",
                PrivacyLeakWarning,
                stacklevel=3,
            )
        return classes, index == 1

    def _penalty(self, rows: int, agents: int, target_scale: float, row_norm: float) -> tuple[str, float]:
        # C sum loss + R  is  K/N sum loss + K/(C N) R, up to a factor.
        strength = agents / (_check.number("C", self.C) * rows)
        if self.penalty not in ("l1", "l2"):
            raise ValueError(f"penalty must be 'l1' or 'l2', not {self.penalty!r}")
        return self.penalty, strength / (row_norm if self.penalty == "l1" else row_norm**2)

    def decision_function(self, X: Any) -> np.ndarray:
        """Signed score: positive for ``classes_[1]``."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return X @ self.coef_[0] + self.intercept_[0]

    def predict(self, X: Any) -> np.ndarray:
        """The likelier class."""
        positive = self.decision_function(X) > 0
        return self.classes_[positive.astype(int)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        # On few rows there is more noise than signal.
        tags.classifier_tags.poor_score = self.total_epsilon is not None
        return tags


_PARAMETERS = """
    agents : int or one label per row, default 1
        Who holds which rows. A number splits them by ``partition``.
    partition : {"contiguous", "iid", "dirichlet"}
    partition_alpha : float
        For ``dirichlet``: small values make agents very different.
    graph : topology name, list of edges, or networkx graph, default "ring"
    total_epsilon : float, optional
        Exact budget of each agent over the whole fit. Without it the fit is **not private**; ``privacy_`` says so.
    delta : float, default 1e-5
    bounds : number, one per column, or tuple (low, high)
        Public. Without them they are taken from the data, which under a budget voids the guarantee, with a warning.
    row_norm : float, optional
        Scaled rows are divided by it and, under a budget, features longer than it are cut; the constant never is.
        Public; by default sqrt(columns/3 + 1).
    fit_intercept : bool, default True
    algorithm : {"auto", "admm", "d-zoa"}
        "admm": exact inner solver, neighbours exchange models. "d-zoa": the paper's loop on function values
        (``inner_steps``, ``directions``). "auto": without a budget and without ``rho``, agents flood sums of first and
        second derivatives over the graph, which ends at the optimum of all rows after a few rounds; otherwise "admm".
    rho, max_iter, tol : outer loop; by default public rules.
        Without a budget, rounds that end before their residuals do (``primal_residual_``, ``dual_residual_``) raise a
        ``ConvergenceWarning``.
    rows_per_person : int, default 1
        The guarantee is for persons with at most so many rows in one agent's data.
    random_state : int, RandomState or None
        A seed makes the fit repeatable and voids the guarantee.
    threads : int, default 1
        0 takes all cores.
"""


_CLASSES = """
    classes : two labels, optional
        Public: what a label can be, whatever the rows hold; ``classes_`` is these in order. ``y`` may then hold one
        of them only. Without them they are taken from ``y``, which under a budget voids the guarantee, with a warning.
        A label that is not among them is an error. It depends on the rows, but is raised before anything is released,
        to whoever called ``fit`` and holds them: do not pass it on."""


_INFERENCE = """    inference : bool, default False
        Without a budget: standard errors, p-values and intervals beside the fit, in ``inference_``, ``summary()`` and
        ``conf_int()``. They are of all rows alike and of estimates that no penalty moves, as those of statsmodels'
        ``OLS`` or ``GLM``.
"""


class Lasso(Inferring, _Regressor):
    __doc__ = f"""Least squares with an l1 penalty: ``1/(2 n) ||y - Xw||^2 + alpha ||w||_1`` on scaled columns.

    Squares have no bounded gradient: under a budget rows' gradients are clipped, and the clip follows how many rows it
    moves, which is released with noise and paid for (``joint``).

    Parameters
    ----------
    alpha : float, default 0.1
    target_bounds : number or tuple (low, high)
        Public, as ``bounds``.{_PARAMETERS}{_INFERENCE}"""

    _loss = "squared"

    def __init__(
        self,
        alpha: float = 0.1,
        *,
        agents: Any = 1,
        partition: str = "contiguous",
        partition_alpha: float = 1.0,
        graph: Any = "ring",
        total_epsilon: float | None = None,
        delta: float = 1e-5,
        bounds: Any = None,
        target_bounds: Any = None,
        row_norm: float | None = None,
        fit_intercept: bool = True,
        algorithm: str = "auto",
        rho: float | None = None,
        max_iter: int | None = None,
        inner_steps: int | None = None,
        directions: int | None = None,
        tol: float = 1e-7,
        rows_per_person: int = 1,
        random_state: Any = None,
        threads: int = 1,
        inference: bool = False,
    ) -> None:
        self.alpha = alpha
        self.agents = agents
        self.partition = partition
        self.partition_alpha = partition_alpha
        self.graph = graph
        self.total_epsilon = total_epsilon
        self.delta = delta
        self.bounds = bounds
        self.target_bounds = target_bounds
        self.row_norm = row_norm
        self.fit_intercept = fit_intercept
        self.algorithm = algorithm
        self.rho = rho
        self.max_iter = max_iter
        self.inner_steps = inner_steps
        self.directions = directions
        self.tol = tol
        self.rows_per_person = rows_per_person
        self.random_state = random_state
        self.threads = threads
        self.inference = inference

    def _penalty(self, rows: int, agents: int, target_scale: float, row_norm: float) -> tuple[str, float]:
        # Our squares have no factor 1/2, and the agents' means are added up.
        alpha = _check.number("alpha", self.alpha, strict=False)
        return "l1", 2.0 * agents * alpha / (target_scale * row_norm)


class HuberRegressor(_Regressor):
    __doc__ = f"""Robust regression: ``1/n sum huber(y - Xw) + alpha R(w)`` on scaled columns.

    Unlike scikit-learn's, the threshold is fixed: no scale is estimated from the data.

    Parameters
    ----------
    alpha : float, default 1e-4
    penalty : {{"l2", "l1"}}
        ``1/2 ||w||^2`` or ``||w||_1``.
    huber_delta : float, optional
        Where squares (with the factor 1/2) turn into lines, in units of the target; by default a tenth of half the
        target's range.
    target_bounds : number or tuple (low, high)
        Public, as ``bounds``.{_PARAMETERS}"""

    _loss = "huber"

    def __init__(
        self,
        alpha: float = 1e-4,
        *,
        penalty: str = "l2",
        huber_delta: float | None = None,
        agents: Any = 1,
        partition: str = "contiguous",
        partition_alpha: float = 1.0,
        graph: Any = "ring",
        total_epsilon: float | None = None,
        delta: float = 1e-5,
        bounds: Any = None,
        target_bounds: Any = None,
        row_norm: float | None = None,
        fit_intercept: bool = True,
        algorithm: str = "auto",
        rho: float | None = None,
        max_iter: int | None = None,
        inner_steps: int | None = None,
        directions: int | None = None,
        tol: float = 1e-7,
        rows_per_person: int = 1,
        random_state: Any = None,
        threads: int = 1,
    ) -> None:
        self.alpha = alpha
        self.penalty = penalty
        self.huber_delta = huber_delta
        self.agents = agents
        self.partition = partition
        self.partition_alpha = partition_alpha
        self.graph = graph
        self.total_epsilon = total_epsilon
        self.delta = delta
        self.bounds = bounds
        self.target_bounds = target_bounds
        self.row_norm = row_norm
        self.fit_intercept = fit_intercept
        self.algorithm = algorithm
        self.rho = rho
        self.max_iter = max_iter
        self.inner_steps = inner_steps
        self.directions = directions
        self.tol = tol
        self.rows_per_person = rows_per_person
        self.random_state = random_state
        self.threads = threads

    def _loss_parameters(self, target_scale: float) -> dict[str, float]:
        if self.huber_delta is None:
            return {"huber_delta": 0.1}
        return {"huber_delta": _check.number("huber_delta", self.huber_delta) / target_scale}

    def _penalty(self, rows: int, agents: int, target_scale: float, row_norm: float) -> tuple[str, float]:
        alpha = _check.number("alpha", self.alpha, strict=False)
        if self.penalty not in ("l1", "l2"):
            raise ValueError(f"penalty must be 'l1' or 'l2', not {self.penalty!r}")
        scale = target_scale * row_norm if self.penalty == "l1" else row_norm**2
        return self.penalty, agents * alpha / scale


class LogisticRegression(Inferring, _Classifier):
    __doc__ = f"""Logistic regression of two classes: ``C sum log-loss + R(w)`` on scaled columns.

    Parameters
    ----------
    C : float, default 1
        Inverse strength of the penalty, as scikit-learn's.
    penalty : {{"l2", "l1"}}
        ``1/2 ||w||^2`` or ``||w||_1``.{_CLASSES}{_PARAMETERS}{_INFERENCE}"""

    _loss = "logistic"
    _odds = True

    def __init__(
        self,
        C: float = 1.0,
        *,
        penalty: str = "l2",
        agents: Any = 1,
        partition: str = "contiguous",
        partition_alpha: float = 1.0,
        graph: Any = "ring",
        total_epsilon: float | None = None,
        delta: float = 1e-5,
        bounds: Any = None,
        classes: Any = None,
        row_norm: float | None = None,
        fit_intercept: bool = True,
        algorithm: str = "auto",
        rho: float | None = None,
        max_iter: int | None = None,
        inner_steps: int | None = None,
        directions: int | None = None,
        tol: float = 1e-7,
        rows_per_person: int = 1,
        random_state: Any = None,
        threads: int = 1,
        inference: bool = False,
    ) -> None:
        self.C = C
        self.penalty = penalty
        self.agents = agents
        self.partition = partition
        self.partition_alpha = partition_alpha
        self.graph = graph
        self.total_epsilon = total_epsilon
        self.delta = delta
        self.bounds = bounds
        self.classes = classes
        self.row_norm = row_norm
        self.fit_intercept = fit_intercept
        self.algorithm = algorithm
        self.rho = rho
        self.max_iter = max_iter
        self.inner_steps = inner_steps
        self.directions = directions
        self.tol = tol
        self.rows_per_person = rows_per_person
        self.random_state = random_state
        self.threads = threads
        self.inference = inference

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the two classes."""
        score = self.decision_function(X)
        # Written so that large scores of either sign do not overflow.
        small = np.exp(-np.abs(score))
        positive = np.where(score >= 0, 1.0 / (1.0 + small), small / (1.0 + small))
        return np.column_stack([1.0 - positive, positive])

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithms of the probabilities."""
        score = self.decision_function(X)
        return np.column_stack([-np.logaddexp(0.0, score), -np.logaddexp(0.0, -score)])


class LinearSVC(_Classifier):
    __doc__ = f"""Linear support vector classifier of two classes: ``C sum hinge + R(w)`` on scaled columns.

    The intercept is not penalised.

    Parameters
    ----------
    C : float, default 1
    penalty : {{"l2", "l1"}}
        ``1/2 ||w||^2`` or ``||w||_1``.{_CLASSES}{_PARAMETERS}"""

    _loss = "hinge"

    def __init__(
        self,
        C: float = 1.0,
        *,
        penalty: str = "l2",
        agents: Any = 1,
        partition: str = "contiguous",
        partition_alpha: float = 1.0,
        graph: Any = "ring",
        total_epsilon: float | None = None,
        delta: float = 1e-5,
        bounds: Any = None,
        classes: Any = None,
        row_norm: float | None = None,
        fit_intercept: bool = True,
        algorithm: str = "auto",
        rho: float | None = None,
        max_iter: int | None = None,
        inner_steps: int | None = None,
        directions: int | None = None,
        tol: float = 1e-7,
        rows_per_person: int = 1,
        random_state: Any = None,
        threads: int = 1,
    ) -> None:
        self.C = C
        self.penalty = penalty
        self.agents = agents
        self.partition = partition
        self.partition_alpha = partition_alpha
        self.graph = graph
        self.total_epsilon = total_epsilon
        self.delta = delta
        self.bounds = bounds
        self.classes = classes
        self.row_norm = row_norm
        self.fit_intercept = fit_intercept
        self.algorithm = algorithm
        self.rho = rho
        self.max_iter = max_iter
        self.inner_steps = inner_steps
        self.directions = directions
        self.tol = tol
        self.rows_per_person = rows_per_person
        self.random_state = random_state
        self.threads = threads
