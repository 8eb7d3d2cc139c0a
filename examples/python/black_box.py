"""Black boxes: three plants tune two knobs together, and each can only try a setting and see what it costs.

No gradient, no rows: `dzoa.minimize` takes any callable, and the agents work from its values alone.
"""

import numpy as np

import dzoa

# What each plant would choose for itself.
WISHES = {"a": [1.0, 0.0], "b": [0.0, 2.0], "c": [2.0, 1.0]}


def plant(wish):
    """Costs grow with the square of the distance: a stand-in for a simulator or a service."""
    return lambda knobs: float(np.sum((knobs - np.array(wish)) ** 2))


found = dzoa.minimize(
    {name: plant(wish) for name, wish in WISHES.items()},
    graph=[("a", "b"), ("b", "c")],
    dim=2,
    # How far apart two points are that a plant tries: small for a cost without noise.
    smoothing=0.1,
    seed=1,
    # Nobody needs the total cost on the way: ask the plants for nothing but the search.
    record_every=0,
)

print(f"{found.rounds} rounds: {found.status}")
for name, (first, second), asked in zip(found.agents, found.coefficients, found.evaluations):
    print(f"plant {name}: ({first:.3f}, {second:.3f}) after {asked} values")
print(f"together: ({found.x[0]:.3f}, {found.x[1]:.3f})")
# Squares add up to least at the mean of the wishes.
print("best:     (1.000, 1.000)")
