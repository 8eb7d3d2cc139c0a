"""Standard errors, intervals and p-values of coefficients, in the data's own units."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from . import _core


class Inference:
    """How sure every coefficient is: of all rows, every row alike, without a penalty that would move them.

    Attributes
    ----------
    names : list of str
        ``"(intercept)"`` first where there is one, then the columns.
    params, bse, tvalues, pvalues : ndarray
        Estimates, standard errors, estimates in standard errors, and p-values; as statsmodels calls them. A column that
        is a sum of others, or grows for ever, has NaN.
    df_resid : float or None
        Degrees of freedom of Student's t; None where intervals are those of the normal distribution.
    nobs : int
        Rows.
    one_sided : list of str
        Columns whose coefficients grow for ever: all rows with their level are of one class. Those rows say nothing
        about the other columns.
    """

    def __init__(
        self,
        names: list[str],
        params: np.ndarray,
        covariance: np.ndarray,
        kept: np.ndarray,
        found: dict[str, Any],
        one_sided: list[str],
        odds: bool,
    ) -> None:
        self.names = names
        self.df_resid: float | None = found["freedom"]
        self.nobs: int = found["rows"]
        self.one_sided = one_sided
        self._odds = odds
        self._covariance = covariance
        self.params = np.where(kept, params, np.nan)
        self.bse = np.where(kept, np.sqrt(np.maximum(np.diag(covariance), 0.0)), np.nan)
        judged = self._judged(0.95)
        self.tvalues, self.pvalues = judged[:, 0], judged[:, 1]

    def _judged(self, confidence: float) -> np.ndarray:
        return np.array(_core.judged(self.params.tolist(), self.bse.tolist(), self.df_resid, confidence)).reshape(-1, 4)

    def cov_params(self) -> np.ndarray:
        """The covariances of all estimates."""
        return self._covariance.copy()

    def conf_int(self, alpha: float = 0.05) -> np.ndarray:
        """The two ends of every interval, which holds what it is of in ``1 - alpha`` of all samples."""
        if not 0.0 < alpha < 1.0:
            raise ValueError(f"alpha must be between 0 and 1, not {alpha!r}")
        return self._judged(1.0 - alpha)[:, 2:]

    def summary(self, alpha: float = 0.05) -> str:
        """A table of everything, at most 80 columns wide."""
        ends = self.conf_int(alpha)
        percent = f"{100 * (1 - alpha):g} %"
        statistic = "z" if self.df_resid is None else "t"
        what = f"odds ratio {percent}" if self._odds else percent
        lines = [
            f"{percent} intervals over {self.nobs} rows: every row alike, without a penalty",
            f"{'':<16} {'estimate':>10} {'std. error':>10} {statistic:>8} {'P>|' + statistic + '|':>7} {what:>22}",
        ]
        for at, name in enumerate(self.names):
            if np.isnan(self.params[at]):
                lone = name in self.one_sided
                why = "grows for ever: all its rows are of one class" if lone else "depends on other columns"
                lines.append(f"{name:<16.16} {why}")
                continue
            low, high = np.exp(ends[at]) if self._odds else ends[at]
            lines.append(
                f"{name:<16.16} {self.params[at]:>10.4g} {self.bse[at]:>10.4g} {self.tvalues[at]:>8.3f} "
                f"{self.pvalues[at]:>7.3f} {f'{low:.4g} to {high:.4g}':>22}"
            )
        return "\n".join(lines)

    def __repr__(self) -> str:
        return self.summary()


class Inferring:
    """What estimators have whose loss is a likelihood."""

    #: Whether coefficients are logarithms of odds ratios.
    _odds = False

    def _keep(self, found: dict[str, Any] | None, units: tuple[Any, ...]) -> None:
        """``units``: middle and half of every column, the factor of all coefficients, and what the constant gains."""
        self.inference_: Inference | None = None
        self._no_inference = None if found is None else found.get("refused")
        columns = len(units[0])
        names = [str(name) for name in getattr(self, "feature_names_in_", [f"x{column}" for column in range(columns)])]
        if self._no_inference:
            warnings.warn(f"there are no intervals: {self._no_inference}", UserWarning, stacklevel=5)
        if found is None or self._no_inference:
            return
        middle, half, factor, gained = units
        width = len(found["estimates"])
        # The intercept first, then the columns: each a sum of the coefficients of the scaled rows.
        own = np.zeros((columns + 1, width))
        own[0, :columns] = -factor * middle / half
        own[0, columns:] = factor
        own[1:, :columns] = np.diag(factor / half)
        params = own @ found["estimates"]
        params[0] += gained
        covariance = own @ np.reshape(found["covariance"], (width, width)) @ own.T
        names = ["(intercept)", *names]
        kept = np.array([True, *found["kept"][:columns]])
        first = 0 if width > columns else 1
        lone = [names[column + 1] for column in found["one_sided"]]
        few = (params[first:], covariance[first:, first:], kept[first:])
        self.inference_ = Inference(names[first:], *few, found, lone, self._odds)

    def _inferred(self) -> Inference:
        found = getattr(self, "inference_", None)
        if found is None:
            why = getattr(self, "_no_inference", None)
            raise ValueError(
                f"there are no intervals: {why}" if why else "there are no intervals: fit with inference=True"
            )
        return found

    def summary(self, alpha: float = 0.05) -> str:
        """Coefficients with standard errors, p-values and intervals, where ``inference=True``."""
        return self._inferred().summary(alpha)

    def conf_int(self, alpha: float = 0.05) -> np.ndarray:
        """The intervals of the coefficients, that of the intercept first, where ``inference=True``."""
        return self._inferred().conf_int(alpha)
