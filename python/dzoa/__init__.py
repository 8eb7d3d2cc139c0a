"""Distributed zeroth-order optimisation with accounted privacy.

``minimize`` takes Python callables, one per agent. ``Lasso``, ``HuberRegressor``, ``LogisticRegression`` and
``LinearSVC`` follow scikit-learn's conventions (and need it). ``privacy`` holds accountants and calculators,
``audit`` attacks any mechanism.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import privacy
from ._audit import AuditResult, audit
from ._core import ObjectiveError, __version__
from ._minimize import Result, minimize
from ._statement import PrivacyStatement

if TYPE_CHECKING:
    from ._estimators import (
        HuberRegressor,
        Lasso,
        LinearSVC,
        LogisticRegression,
        PrivacyLeakWarning,
    )

_ESTIMATORS = ("HuberRegressor", "Lasso", "LinearSVC", "LogisticRegression", "PrivacyLeakWarning")

__all__ = [
    "AuditResult",
    "HuberRegressor",
    "Lasso",
    "LinearSVC",
    "LogisticRegression",
    "ObjectiveError",
    "PrivacyLeakWarning",
    "PrivacyStatement",
    "Result",
    "__version__",
    "audit",
    "minimize",
    "privacy",
]


def __getattr__(name: str) -> Any:
    # The estimators need scikit-learn; everything else works without it.
    if name in _ESTIMATORS:
        from . import _estimators

        return getattr(_estimators, name)
    raise AttributeError(f"module 'dzoa' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(__all__)
