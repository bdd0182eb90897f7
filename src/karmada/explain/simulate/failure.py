"""What would move, lose replicas or have no room if clusters failed and all they run were evicted."""

import asyncio
from collections.abc import Iterable

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.explain.simulate import world
from karmada.explain.simulate.gathering import all_subjects
from karmada.explain.simulate.outcome import Outcome, outcome
from karmada.explain.simulate.terms import Terms
from karmada.machinery.client import Client
from karmada.scheduler.core.snapshot import Snapshot

SLICE = 50
"""Decisions between two moments in which others get their turn."""


async def failure(
    hub: Client, clusters: Iterable[Cluster], down: Iterable[str], terms: Terms, namespace: str = ""
) -> list[Outcome]:
    """The outcome for everything that runs in the clusters; raises `UnknownCluster`."""
    names = set(down)
    left = list(world.without(world.of(clusters), names).values())
    snapshot = Snapshot(left)
    found: list[Outcome] = []
    for number, subject in enumerate(await all_subjects(hub, namespace, None)):
        if number % SLICE == SLICE - 1:
            await asyncio.sleep(0)
        before = subject.before
        if before is not None and any(target.name in names for target in before.spec.clusters):
            found.append(outcome(subject, left, snapshot, terms))
    return found
