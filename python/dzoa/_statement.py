"""What may be said about privacy, in words that cannot be confused."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PrivacyStatement:
    """The claim of one run or fit.

    ``claim`` is ``"exact"`` (a guarantee that holds as stated), ``"nominal"`` (the paper's figure, not a
    guarantee) or ``"none"``. ``epsilon`` is the largest total over the agents, rounded up; for ``"none"`` it is
    None.
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

    def __str__(self) -> str:
        if self.claim == "exact":
            text = (
                f"EXACT: (epsilon {self.epsilon:.4g}, delta {self.delta:.3g})-differential privacy for the rows of "
                f"every agent, {self.adjacency}, by the mechanism `{self.mechanism}`"
            )
        elif self.claim == "nominal":
            text = (
                f"NOMINAL: epsilon {self.epsilon:.4g} in total (Theorem 2), delta {self.delta:.3g}, is the paper's "
                "figure and is not a guarantee"
            )
        else:
            text = "NONE: nothing is promised about privacy"
        return ". ".join([text, *self.notes]) + "."


def statement(
    mechanism: str,
    names: list[str],
    epsilon: list[float | None],
    delta: float | None,
    *,
    seeded: bool,
    void: tuple[str, ...] = (),
    rests_on: tuple[str, ...] = (),
) -> PrivacyStatement:
    """The statement of a run; ``void`` lists what takes a guarantee away."""
    if mechanism == "none":
        return PrivacyStatement("none", mechanism, notes=("No noise is added to what is exchanged",))
    per_agent = dict(zip(names, epsilon))
    worst = max((value for value in epsilon if value is not None), default=None)
    if mechanism == "intrinsic":
        note = "The noise that it assumes is not added, and was not measured here"
        return PrivacyStatement("nominal", mechanism, worst, delta, per_agent, notes=(note,))
    if seeded:
        void = (*void, "Seeded: for tests. Whoever knows the seed can subtract the noise")
    if void:
        return PrivacyStatement("none", mechanism, None, delta, per_agent, notes=void)
    return PrivacyStatement("exact", mechanism, worst, delta, per_agent, notes=rests_on)
