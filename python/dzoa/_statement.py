"""What may be said about privacy, in words that cannot be confused."""

from __future__ import annotations

from dataclasses import dataclass

from . import _core


@dataclass(frozen=True)
class PrivacyStatement:
    """The claim of one run or fit.

    ``claim`` is ``"exact"`` (a guarantee that holds as stated), ``"nominal"`` (the paper's figure, not a
    guarantee) or ``"none"``. ``epsilon`` is the largest total over the agents, rounded up: what the whole plan costs,
    also where a run ended early, since when it ends may depend on what it released. For ``"none"`` it is None.
    Printed, it is the sentence of the program ``dzoa``.
    """

    claim: str
    mechanism: str
    epsilon: float | None = None
    delta: float | None = None
    #: Total per agent, by name.
    per_agent: dict[str, float | None] | None = None
    adjacency: str = "replace-one"
    #: Why a claim is weaker than the mechanism's, and what it rests on.
    notes: tuple[str, ...] = ()
    #: What a guarantee of joint sums rests on; None where it holds against all others together.
    condition: str | None = None
    #: Epsilon if 0, 1, ... others collude in truth, of joint sums.
    epsilon_if_colluding: tuple[float, ...] = ()
    #: All of it in words.
    sentence: str = ""

    def __str__(self) -> str:
        return self.sentence


def statement(said: _core.Statement) -> PrivacyStatement:
    """What the library says about a run, as a value that can be compared, copied and pickled."""
    return PrivacyStatement(
        said.claim,
        said.mechanism,
        said.epsilon,
        said.delta,
        said.per_agent,
        notes=tuple(said.notes),
        condition=said.condition,
        epsilon_if_colluding=tuple(said.epsilon_if_colluding),
        sentence=said.sentence,
    )
