"""``dzoa.minimize`` and its result."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _check, _core, _network
from ._statement import PrivacyStatement, statement

Array = npt.NDArray[np.float64]
Objective = Callable[[Array], Any]


@dataclass
class Result:
    """What a run found, what it cost, and what it may claim."""

    #: What every agent reports, one row each.
    coefficients: Array
    #: The best point whose value was seen: the start, a recorded round or the end. Where nobody asked for values, as
    #: under a guarantee, it is ``x_final``.
    x: Array
    #: The sum of all objectives (and the regulariser) at ``x``; None where nobody asked for values. Never protected.
    #: Of noisy objectives it is the luckiest value, and asking again may give a larger one.
    fun: float | None
    #: The same at ``x_final``.
    fun_final: float | None
    #: ``finished``, ``stopped``, ``out-of-evaluations``, ``non-finite`` or ``budget-exhausted``.
    status: str
    message: str
    #: Rounds that all agents finished.
    rounds: int
    #: Points asked of each agent's objective by the algorithm.
    evaluations: list[int]
    #: Points asked for the trace: counted apart.
    trace_evaluations: list[int]
    privacy: PrivacyStatement
    agents: list[str]
    edges: list[tuple[int, int]]
    #: What was used: rho, steps, clip and the like.
    settings: dict[str, Any]
    #: Whether u_2 was raised to what the objective's values can resolve.
    step_raised: bool
    columns: dict[str, Array] = field(repr=False)
    #: What is known about how sure ``x`` is, of ``joint-models``: the size of the ``noise`` in one value of the sum (0.0
    #: where asking again gave the same, None where nothing was asked again), the ``curvature`` of the last model (least
    #: and largest, in first steps), the decrease it ``promised`` of one more step, and whether models were ``broken``.
    certainty: dict[str, Any] = field(default_factory=dict)
    #: Who may see ``fun``, where a guarantee for the rest does not cover it.
    fun_note: str | None = field(default=None, repr=False)

    @property
    def x_final(self) -> Array:
        """The mean of what the agents report in the end."""
        return np.asarray(self.coefficients.mean(axis=0))

    @property
    def success(self) -> bool:
        return self.status in ("finished", "stopped")

    @property
    def nfev(self) -> int:
        """Points asked for in all, without those for the trace."""
        return sum(self.evaluations)

    @property
    def trace(self) -> Any:
        """One row per round: a pandas or polars DataFrame if one is installed, else a dict of arrays."""
        try:
            import pandas

            return pandas.DataFrame(self.columns)
        except ImportError:
            pass
        try:
            import polars

            return polars.DataFrame(self.columns)
        except ImportError:
            return dict(self.columns)

    def plot(self, ax: Any = None) -> Any:
        """Objective (where it was recorded) and disagreement against the evaluations; returns the axes."""
        try:
            import matplotlib.pyplot as plt
        except ImportError:
            raise ImportError("plot() needs matplotlib; hint: pip install matplotlib") from None
        if ax is None:
            _, ax = plt.subplots(figsize=(6.4, 4.0), layout="constrained")
        asked, objective = self.columns["evaluations"], self.columns["objective"]
        known = np.isfinite(objective)
        handles = []
        if known.any():
            handles += ax.plot(asked[known], objective[known], color="#1f5aa6", label="objective at the mean")
            ax.set_ylabel("objective")
            other = ax.twinx()
        else:
            other = ax
        apart = self.columns["consensus"]
        positive = apart > 0
        if positive.any():
            handles += other.plot(
                asked[positive], apart[positive], color="#c05a1a", linestyle="--", label="largest distance from the mean"
            )
            other.set_yscale("log")
            other.set_ylabel("distance")
        ax.set_xlabel("evaluations, all agents")
        ax.set_title(f"privacy: {self.privacy.claim}", loc="left", fontsize="medium")
        if handles:
            ax.legend(handles=handles, frameon=False)
        return ax

    def __str__(self) -> str:
        value = "" if self.fun is None else f", objective {self.fun:.6g}"
        if self.fun_note:
            value += f" ({self.fun_note})"
        sure = self._how_sure()
        return (
            f"{self.status} after {self.rounds} rounds{value}, {self.nfev} evaluations by {len(self.agents)} agents\n"
            f"x = {self.x}\n{sure}privacy: {self.privacy}"
        )

    def _how_sure(self) -> str:
        """One line about noise and curvature, where models said something."""
        if not self.certainty:
            return ""
        noise, curvature = self.certainty["noise"], self.certainty["curvature"]
        if self.certainty["broken"]:
            found = "values differ when asked again" if noise else "kinks"
            line = f"how sure: quadratic models do not hold ({found}"
            return line + (f", noise {noise:.2g} in one value of the sum)\n" if noise else "); no model says how near\n")
        line = "how sure: quadratic models hold"
        if self.certainty["promised"] is not None:
            line += f", the last one promised {max(self.certainty['promised'], 0.0):.1e} of another step"
        if curvature is not None and curvature[0] <= 0.0:
            line += "; flat or a saddle along some direction"
        return line + "\n"


def _colluders(mechanism: str, colluders: int | str) -> int | None:
    """None stands for all others."""
    if isinstance(colluders, str):
        if colluders != "all":
            raise ValueError(f'colluders must be "all" or a whole number, not {colluders!r}')
        return None
    if mechanism != "joint":
        raise ValueError(f'colluders has no effect with mechanism="{mechanism}"; hint: mechanism="joint"')
    return _check.count("colluders", colluders, low=0)


def _describe_variables(
    dim: int | None, x0: Any, bounds: Any, names: Any, scale: Any, integer: Any
) -> tuple[int, list[tuple[str, float | None, float, float, bool, bool]] | None]:
    """The number of variables, and what is known of each, where anything is."""
    given = {"x0": x0, "bounds": bounds, "variables": names}
    if hasattr(bounds, "lb") and hasattr(bounds, "ub"):  # scipy's own
        low, high = np.broadcast_arrays(np.atleast_1d(bounds.lb), np.atleast_1d(bounds.ub))
        given["bounds"] = bounds = list(zip(low.tolist(), high.tolist()))
    for key in ("scale", "integer"):
        value = {"scale": scale, "integer": integer}[key]
        if value is not None and not isinstance(value, (str, bool, np.bool_)):
            given[key] = value
    counts = {key: len(value) for key, value in given.items() if value is not None}
    if dim is not None:
        counts["dim"] = _check.count("dim", dim)
    if not counts:
        raise ValueError("dim: is missing; hint: dim=3, or x0 or bounds with one entry for each variable")
    (first, count), *rest = counts.items()
    for key, other in rest:
        if other != count:
            raise ValueError(f"{key}: is for {other} variables, but {first} is for {count}")
    if count < 1:
        raise ValueError(f"{first}: is empty")
    if all(value is None for value in (x0, bounds, names, scale, integer)):
        return count, None
    scales = [scale] * count if scale is None or isinstance(scale, str) else list(scale)
    for one in scales:
        if one not in (None, "linear", "log"):
            raise ValueError(f'scale: unknown {one!r}; hint: "linear", "log"')
    whole = [bool(integer)] * count if integer is None or isinstance(integer, (bool, np.bool_)) else [bool(i) for i in integer]
    starts = [None] * count if x0 is None else [float(x) for x in np.asarray(x0, dtype=float)]
    pairs = [(None, None)] * count if bounds is None else list(bounds)
    described = []
    for p, (name, start, pair) in enumerate(zip(names or [f"x{p + 1}" for p in range(count)], starts, pairs)):
        try:
            low, high = pair
            low = -np.inf if low is None else float(low)
            high = np.inf if high is None else float(high)
        except (TypeError, ValueError):
            raise ValueError(f"bounds: entry {p} is {pair!r}; hint: (low, high), None for no bound") from None
        start = None if start is None or np.isnan(start) else start
        described.append((str(name), start, low, high, scales[p] == "log", whole[p]))
    return count, described


def minimize(
    objectives: Sequence[Objective] | Mapping[str, Objective],
    graph: Any = "ring",
    *,
    dim: int | None = None,
    x0: npt.ArrayLike | None = None,
    bounds: Any = None,
    variables: Sequence[str] | None = None,
    scale: str | Sequence[str] | None = None,
    integer: bool | Sequence[bool] | None = None,
    algorithm: str = "auto",
    time_limit: float | None = None,
    journal: str | os.PathLike[str] | None = None,
    rho: float | None = None,
    rounds: int | None = None,
    mechanism: str = "none",
    seed: int | None = None,
    callback: Callable[[int, Array], Any] | None = None,
    batched: bool = False,
    per_sample: bool = False,
    inner_steps: int | None = None,
    directions: int | None = None,
    smoothing: float | None = None,
    step: float | None = None,
    lipschitz: float = 1.0,
    antithetic: bool | None = None,
    orthogonal: bool | None = None,
    average: str = "auto",
    regularizer: str = "none",
    eta: float = 0.0,
    l1_ratio: float = 0.5,
    epsilon: float | None = None,
    total_epsilon: float | None = None,
    delta: float | None = None,
    clip: float | None = None,
    colluders: int | str = "all",
    curvature: float = 1.0,
    c1: float = 1.0,
    samples: Sequence[int] | None = None,
    max_evaluations: int | None = None,
    shortest_step: float = 1e-8,
    cache: int = 0,
    record_every: int | None = None,
    threads: int = 1,
) -> Result:
    """Minimise the sum of the agents' objectives, from values alone, each agent talking to its neighbours only.

    Parameters
    ----------
    objectives : list of callables, or dict from agent names to callables
        ``f(point) -> float``. With ``batched=True`` ``f(points) -> values`` for an array of points, one per row.
        With ``per_sample=True`` one value per sample: an array, or with ``batched`` one row per point; the
        objective is then their mean, and one value at zero, which is not counted, tells the number of samples.
    graph : str, dict, list of edges, or networkx graph
        A topology (``"ring"``, ``"path"``, ``"star"``, ``"complete"``, ``"grid"``, ``"paper"``, or
        ``{"topology": "erdos-renyi", "p": 0.4}``), edges by position or name, or a graph whose nodes are the agents.
    dim : int, optional
        Number of variables, where neither ``x0`` nor ``bounds`` tells it.
    x0 : array, optional
        Where the search begins: zero, or the middle of bounds, where nothing is said. A NaN leaves one variable open.
    bounds : list of (low, high), or scipy.optimize.Bounds
        No question is ever outside. None or an infinity is no bound; equal bounds fix a variable.
    variables : list of str, optional
        Names, for error messages.
    scale : {"linear", "log"}, or one for each variable
        ``log``: steps are factors; the variable is positive.
    integer : bool, or one for each variable
        Only whole numbers are asked for.
    algorithm : {"auto", "joint-models", "joint-values", "d-zoa"}
        ``auto`` takes quadratic models from values at common points (``joint-models``) where nothing is to be
        protected, there are at most 100 variables, the penalty has no kinks, and no key of the two-point loop is
        given; ``joint-values`` under ``joint``; ``d-zoa`` else. With ``joint-models`` everybody hears everybody's values.
    time_limit : float, optional
        Seconds, after which no further round begins.
    journal : path of a directory, optional
        Every value is written there before the next is asked for: the same call again, after a kill or a power cut,
        goes on where it was and asks no point twice.
    rho, rounds : outer loop. Without a ``rho`` the curvature of the objectives is measured around zero (17 values
        an agent), under ``scalar`` a public rule chooses both.
    mechanism : {"none", "joint", "scalar", "intrinsic"}
        ``joint`` gives the most accurate exact guarantee from ``per_sample`` values: sums of clipped difference
        quotients over all agents (``total_epsilon``, ``delta``, ``clip``, ``curvature``). It holds against all other
        agents together, or with ``colluders=t`` against any t of them, with masks and less noise. ``scalar`` gives an exact guarantee from ``per_sample`` values (``total_epsilon``, ``delta``, ``clip``; a
        sample's value may depend on that sample only). ``intrinsic`` is the paper's, nominal, not a guarantee
        (``epsilon``, ``delta``, ``samples``, ``c1``).
    seed : int, optional
        Makes the run repeatable, and voids a guarantee: whoever knows it can subtract the noise.
    callback : callable(round, coefficients), optional
        Called after every round; True ends the run.
    inner_steps, directions, smoothing, step, lipschitz : T, J, u_1, alpha_0 R and L of the inner loop.
        Without a ``step``: from the measured curvature; under ``scalar`` from ``curvature``, a public bound.
    antithetic, orthogonal : pairs of opposite directions, and directions at right angles: less noise from as many
        values (antithetic pairs pay where ``smoothing`` is large). By default orthogonal with ``mechanism="none"`` and no
        l1 penalty, and neither with the others.
    regularizer, eta, l1_ratio : ``"none"``, ``"l1"``, ``"l2"`` (1/2 ||b||^2) or ``"elastic-net"``, handled in closed form.
    max_evaluations : int, optional
        Points that may be asked of each objective; a run that would need more ends.
    shortest_step : float
        Differences over shorter steps than this are not trusted; a coarse simulator needs more than 1e-8.
    cache : int
        Points whose values are remembered.
    record_every : int, optional
        Ask for the sum of the objectives every so many rounds for the trace; 0 never does. By default about 50 times,
        and never under ``scalar``: these values are not protected. Asked for all the same, they void the claim of the
        result, because ``fun`` and the trace hold them: for the holder of the rows, not to be shared.
    threads : int
        Agents computed at the same time; 0 takes all cores. More than 1 calls the objectives from several threads.
    """
    dim, described = _describe_variables(dim, x0, bounds, variables, scale, integer)
    names: list[str] | None = None
    if isinstance(objectives, Mapping):
        names = [str(name) for name in objectives]
        functions = list(objectives.values())
    else:
        functions = list(objectives)
    if not functions:
        raise ValueError("objectives: is empty; hint: one callable per agent")
    network = _network.describe(graph, names, len(functions))
    if names is None and len(network["names"]) != len(functions):
        raise ValueError(f"graph: has {len(network['names'])} agents, but there are {len(functions)} objectives")
    options = {
        "dim": dim,
        "algorithm": algorithm,
        "variables": described,
        "time_limit": _check.optional_number("time_limit", time_limit),
        "journal": None if journal is None else os.fspath(journal),
        "batched": bool(batched),
        "per_sample": bool(per_sample),
        "rho": _check.optional_number("rho", rho),
        "rounds": _check.optional_count("rounds", rounds),
        "inner_steps": _check.optional_count("inner_steps", inner_steps),
        "directions": _check.optional_count("directions", directions),
        "smoothing": _check.optional_number("smoothing", smoothing),
        "step": _check.optional_number("step", step),
        "lipschitz": _check.number("lipschitz", lipschitz),
        "antithetic": None if antithetic is None else bool(antithetic),
        "orthogonal": None if orthogonal is None else bool(orthogonal),
        "average": average,
        "regularizer": regularizer,
        "l1_ratio": _check.number("l1_ratio", l1_ratio, strict=False, high=1.0),
        "eta": _check.number("eta", eta, strict=False),
        "mechanism": mechanism,
        "epsilon": _check.optional_number("epsilon", epsilon),
        "total_epsilon": _check.optional_number("total_epsilon", total_epsilon),
        "delta": _check.optional_number("delta", delta, high=1.0),
        "clip": _check.optional_number("clip", clip),
        "colluders": _colluders(mechanism, colluders),
        "curvature": _check.number("curvature", curvature),
        "c1": _check.number("c1", c1),
        "samples": None if samples is None else [_check.count("samples", n) for n in samples],
        "shortest_step": _check.number("shortest_step", shortest_step),
        "max_evaluations": _check.optional_count("max_evaluations", max_evaluations),
        "cache": _check.count("cache", cache, low=0),
        "record_every": None if record_every is None else _check.count("record_every", record_every, low=0),
        "seed": _check.seed("seed", seed),
        "threads": _check.count("threads", threads, low=0),
    }
    found = _core.minimize(functions, network, options, callback)
    if found["divergence"]:
        hint = "hint: result.x is the best point seen; a smaller step, or a larger shortest_step for noisy values"
        warnings.warn(f"{found['divergence']}; {hint}", RuntimeWarning, stacklevel=2)
    return Result(
        coefficients=found["coefficients"],
        x=found["x"],
        fun_final=found["fun_final"],
        fun=found["fun"],
        status=found["status"],
        message=found["message"],
        rounds=found["rounds_done"],
        evaluations=found["evaluations"],
        trace_evaluations=found["watched"],
        privacy=statement(found["statement"]),
        agents=found["names"],
        edges=found["edges"],
        settings={
            key: found[key] for key in ("algorithm", "rho", "rounds", "clip", "steps", "inner_steps", "directions", "sensitivity")
        },
        step_raised=found["step_raised"],
        columns=found["trace"],
        fun_note=found["fun_note"],
        certainty={key: found[key] for key in ("noise", "promised", "curvature", "broken") if key in found},
    )
