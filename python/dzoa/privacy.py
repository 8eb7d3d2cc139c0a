"""Accountants and calculators.

Accountants compose :class:`Event` and give the total epsilon at a delta, rounded up: :class:`ExactGaussian`,
:class:`ZeroConcentrated`, :class:`Renyi`. :class:`Theorem2` is the paper's figure: nominal, not an upper bound.
Adjacency is replace-one everywhere.

>>> from dzoa import privacy
>>> total = privacy.ExactGaussian().compose(privacy.Event.gaussian(1.0, 100.0), count=200)
>>> total.epsilon(1e-5) < 0.6
True
"""

from __future__ import annotations

from ._core import (
    Event,
    ExactGaussian,
    Renyi,
    Theorem2,
    ZeroConcentrated,
    gaussian_delta,
    gaussian_epsilon,
    gaussian_mu,
    gaussian_sigma,
    lemma3_sensitivity,
    theorem1_sigma,
    theorem2_epsilon,
    zcdp_epsilon,
)
from ._core import corollary1_epsilon as _corollary1_epsilon
from ._core import corollary1_step as _corollary1_step

__all__ = [
    "Event",
    "ExactGaussian",
    "Renyi",
    "Theorem2",
    "ZeroConcentrated",
    "corollary1_epsilon",
    "corollary1_step",
    "gaussian_delta",
    "gaussian_epsilon",
    "gaussian_mu",
    "gaussian_sigma",
    "lemma3_sensitivity",
    "theorem1_sigma",
    "theorem2_epsilon",
    "zcdp_epsilon",
]


def corollary1_step(
    epsilon: float,
    *,
    sensitivity: float,
    delta: float,
    features: int,
    directions: int = 30,
    inner_steps: int = 100,
    c: float = 0.5,
    optimum_norm_squared: float = 0.0,
) -> float:
    """``alpha_0 R`` at which the paper's Corollary 1 promises this epsilon for one round. Nominal: not a guarantee."""
    return _corollary1_step(epsilon, _sizes(sensitivity, delta, features, directions, inner_steps, c, optimum_norm_squared))


def corollary1_epsilon(
    step: float,
    *,
    sensitivity: float,
    delta: float,
    features: int,
    directions: int = 30,
    inner_steps: int = 100,
    c: float = 0.5,
    optimum_norm_squared: float = 0.0,
) -> float:
    """The epsilon of one round that the paper's Corollary 1 claims for this ``alpha_0 R``. Nominal."""
    return _corollary1_epsilon(step, _sizes(sensitivity, delta, features, directions, inner_steps, c, optimum_norm_squared))


def _sizes(
    sensitivity: float,
    delta: float,
    features: int,
    directions: int,
    inner_steps: int,
    c: float,
    optimum_norm_squared: float,
) -> dict[str, float | int]:
    return {
        "sensitivity": sensitivity,
        "delta": delta,
        "features": features,
        "directions": directions,
        "inner_steps": inner_steps,
        "c": c,
        "optimum_norm_squared": optimum_norm_squared,
    }
