"""Clusters that passed the filters, and the order in which they are preferred everywhere:

earlier tier of affinities, higher score, more room (including what the binding already has there), name.
"""

from collections.abc import Iterable
from typing import NamedTuple

from karmada.api.cluster.v1alpha1 import Cluster


class Candidate(NamedTuple):
    """A cluster that fits."""

    name: str
    cluster: Cluster
    score: int
    estimate: int
    """Replicas (or component sets) that still fit."""
    available: int
    """The estimate plus what the binding already has there."""
    tier: int = 0
    """0 for the affinity itself, then the groups it overflows to."""


def preference(candidate: Candidate) -> tuple[int, int, int, str]:
    """The sort key of candidates, best first."""
    return candidate.tier, -candidate.score, -candidate.available, candidate.name


def in_order(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Candidates, best first."""
    return sorted(candidates, key=preference)
