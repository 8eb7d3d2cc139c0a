"""``dzoa.audit``: attack any mechanism that turns data into a vector."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _check, _core


@dataclass(frozen=True)
class AuditResult:
    """What an attack proves. ``verdict`` is ``"violated"`` where the claim is refuted at this confidence, else
    ``"consistent"``: an attack that finds nothing proves nothing."""

    claimed_epsilon: float | None
    epsilon_lower_bound: float
    delta: float
    confidence: float
    trials: int
    largest_provable_epsilon: float
    verdict: str
    #: Separation of the scores in standard deviations: an estimate, not a bound.
    mu_estimate: float


def audit(
    mechanism: Callable[[Any], Any],
    data: Any,
    neighbour: Any,
    *,
    trials: int = 2000,
    claimed_epsilon: float | None = None,
    delta: float = 1e-5,
    confidence: float = 0.95,
    score: Callable[[np.ndarray], float] | None = None,
) -> AuditResult:
    """A lower bound on the epsilon of ``mechanism``, from ``trials`` runs on each of two neighbouring data sets.

    ``mechanism(data)`` returns a vector (or a number) and must draw fresh randomness in every call. Without a
    ``score`` the attacker learns the best linear score from another quarter as many runs, which are then not used
    for the bound. The bound holds with probability ``confidence``, whatever the score.
    """
    trials = _check.count("trials", trials, low=100)
    claimed = _check.optional_number("claimed_epsilon", claimed_epsilon)
    delta = _check.number("delta", delta, strict=False, high=1.0)
    confidence = _check.number("confidence", confidence, high=1.0)

    def releases(held: Any, count: int) -> np.ndarray:
        rows = [np.ravel(np.asarray(mechanism(held), dtype=float)) for _ in range(count)]
        if len({row.size for row in rows}) != 1 or rows[0].size == 0:
            raise ValueError("mechanism: must return vectors of one length")
        return np.stack(rows)

    pilot = max(50, trials // 4)
    if score is None:
        score = _linear_score(releases(data, pilot), releases(neighbour, pilot))
    without = [float(score(row)) for row in releases(data, trials)]
    with_ = [float(score(row)) for row in releases(neighbour, trials)]
    lower, provable, separation = _core.audit_scores(without, with_, delta, confidence)
    violated = claimed is not None and lower > claimed
    return AuditResult(
        claimed_epsilon=claimed,
        epsilon_lower_bound=lower,
        delta=delta,
        confidence=confidence,
        trials=trials,
        largest_provable_epsilon=provable,
        verdict="violated" if violated else "consistent",
        mu_estimate=separation,
    )


def _linear_score(without: np.ndarray, with_: np.ndarray) -> Callable[[np.ndarray], float]:
    """Fisher's discriminant, with a ridge for directions without noise."""
    shift = with_.mean(axis=0) - without.mean(axis=0)
    spread = np.cov(without, rowvar=False, ddof=1) + np.cov(with_, rowvar=False, ddof=1)
    spread = np.atleast_2d(spread)
    ridge = 1e-6 * max(np.trace(spread) / spread.shape[0], np.finfo(float).tiny)
    weights = np.linalg.solve(spread + ridge * np.eye(spread.shape[0]), shift)
    return lambda row: float(row @ weights)
