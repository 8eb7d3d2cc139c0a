"""Who talks to whom: networkx graphs, edge lists, names of topologies."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any


def describe(graph: Any, names: Sequence[str] | None, agents: int) -> dict[str, Any]:
    """A network as the native module takes it."""
    described: dict[str, Any] = {
        "names": list(names) if names is not None else [str(k + 1) for k in range(agents)],
        "edges": None,
        "topology": None,
        "parameters": {},
    }
    if graph is None:
        graph = "ring"
    if isinstance(graph, str):
        described["topology"] = graph
        return described
    if isinstance(graph, dict) and "topology" in graph:
        described["topology"] = graph["topology"]
        described["parameters"] = {key: value for key, value in graph.items() if key != "topology" and value is not None}
        return described
    if hasattr(graph, "nodes") and hasattr(graph, "edges"):
        if hasattr(graph, "is_directed") and graph.is_directed():
            raise ValueError("graph: is directed; hint: agents talk both ways, use graph.to_undirected()")
        nodes = [str(node) for node in graph.nodes]
        if len(nodes) != agents:
            raise ValueError(f"graph: has {len(nodes)} nodes for {agents} agents")
        if names is None:
            described["names"] = nodes
        elif set(nodes) != set(names):
            missing = sorted(set(nodes).symmetric_difference(names))[0]
            raise ValueError(f"graph: agent `{missing}` is not both in the graph and among the agents")
        described["edges"] = [(str(a), str(b)) for a, b in graph.edges()]
        return described
    if not isinstance(graph, Iterable):
        raise TypeError(
            f"graph: cannot be a {type(graph).__name__}; hint: a topology's name, a list of edges, a networkx graph"
        )
    described["edges"] = [_edge(edge, described["names"]) for edge in graph]
    return described


def _edge(edge: Any, names: list[str]) -> tuple[str, str]:
    try:
        a, b = edge
    except (TypeError, ValueError):
        raise ValueError(f"graph: {edge!r} is not an edge; hint: edges are pairs, such as (0, 1)") from None

    def name(end: Any) -> str:
        if isinstance(end, str):
            return end
        try:
            position = int(end)
        except (TypeError, ValueError):
            position = -1
        if position != end or not 0 <= position < len(names):
            raise ValueError(f"graph: the edge {edge!r} names agent {end!r}, but there are agents 0 to {len(names) - 1}")
        return names[position]

    return name(a), name(b)
