"""What may be said about privacy, in words that cannot be confused."""

from __future__ import annotations

from collections.abc import Sequence
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
    #: All of it in words.
    sentence: str = ""

    def __str__(self) -> str:
        return self.sentence


def statement(
    mechanism: str,
    names: list[str],
    statements: Sequence[_core.Statement],
    *,
    void: tuple[str, ...] = (),
    rests_on: tuple[str, ...] = (),
) -> PrivacyStatement:
    """The statement of a run; ``void`` lists what takes a guarantee away."""
    if mechanism == "intrinsic":
        rests_on = ("The noise that it assumes is not added, and was not measured here",)
    elif mechanism == "none":
        void, rests_on = (), ()
    said = _core.together(list(statements), list(void), list(rests_on))
    if mechanism == "none":
        return PrivacyStatement("none", mechanism, sentence=said.sentence)
    return PrivacyStatement(
        said.claim,
        mechanism,
        None if said.claim == "none" else said.epsilon,
        said.delta,
        {name: own.epsilon for name, own in zip(names, statements)},
        notes=void if said.claim == "none" else rests_on,
        sentence=said.sentence,
    )
