"""What if: the scheduler's own rules on a world that was thought up. Nothing is written."""

import asyncio
from typing import Any

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.counting import counted
from karmada.api.work.v1alpha2 import ResourceBinding
from karmada.dashboard import manifests
from karmada.dashboard.answers import bad_request
from karmada.dashboard.moves import move_sentence
from karmada.dashboard.routes import Visit
from karmada.dashboard.rows import JSONObject, Ref, ref
from karmada.explain.simulate import world
from karmada.explain.simulate.gathering import all_subjects, subjects
from karmada.explain.simulate.outcome import NO_PLACEMENT, Outcome, outcome
from karmada.explain.simulate.subjects import Subject, existing
from karmada.explain.simulate.terms import Terms, running
from karmada.machinery.client import Client
from karmada.scheduler.core.snapshot import Snapshot

MOST = 100_000
_STEP = 10
"""Subjects that are decided before others get their turn: with many affinity terms each takes milliseconds."""


async def simulate(visit: Visit) -> JSONObject:
    """The moves that manifests, failing clusters or other replicas would cause."""
    body = visit.body()
    down, replicas = _names(body.get("clustersDown")), _replicas(body.get("replicas"))
    hub = visit.context.hub
    items = [one.item for one in await manifests.read(body)]
    there = world.of((await hub.of(Cluster).list()).items)
    clusters = list(world.without(there, down).values())
    terms = await running(hub)
    subjects = await _subjects(hub, items, replicas, visit.namespace, terms)
    async with visit.context.long:
        return await _result(subjects, clusters, Snapshot(clusters), terms)


async def _subjects(
    hub: Client, items: list[JSONObject], replicas: dict[str, int], namespace: str, terms: Terms
) -> list[Subject]:
    if items:
        made = await subjects(hub, items, [], namespace or "default", None, terms.gates)
    else:
        made = await all_subjects(hub, namespace, None)
    return [_resized(one, replicas) for one in made]


def _resized(subject: Subject, replicas: dict[str, int]) -> Subject:
    """A subject with the replicas that were asked for, if any were."""
    wanted = subject.wanted
    count = replicas.get(subject.name, replicas.get("*"))
    if count is None or wanted is None or not wanted.spec.replicas:
        return subject
    changed = existing(wanted, count)
    return Subject(subject.name, subject.before, changed.wanted)


async def _result(subjects: list[Subject], clusters: list[Cluster], snapshot: Snapshot, terms: Terms) -> JSONObject:
    moves: list[JSONObject] = []
    problems: list[JSONObject] = []
    for number, subject in enumerate(subjects):
        if number and not number % _STEP:
            await asyncio.sleep(0)
        done = outcome(subject, clusters, snapshot, terms)
        about = _ref(subject)
        if done.changed:
            later = [f"leaves {name} {seconds} s after the taint" for name, seconds in done.evicted.items() if seconds]
            sentence = "; ".join([move_sentence(done.before, done.after), *later])
            moves.append({"ref": about, "before": done.before, "after": done.after, "sentence": sentence})
        problems += _problems(done, about)
    return {"moves": moves, "problems": problems, "looked": len(subjects), "terms": str(terms)}


def _problems(done: Outcome, about: Ref) -> list[JSONObject]:
    found: list[JSONObject] = []
    if done.refused and done.refused != NO_PLACEMENT:
        remedy = "Relax the placement, or make room in the clusters that fit."
        found.append(_problem("error", about, f"{done.name}: {done.refused}", remedy))
    if done.lost:
        remedy = "Add room to the clusters that stay, or let the placement include more of them."
        text = f"{done.name}: {counted(done.lost, 'replica')} would run nowhere"
        found.append(_problem("error", about, text, remedy))
    return found


def _problem(severity: str, about: Ref, sentence: str, remedy: str) -> JSONObject:
    return {"severity": severity, "object": about, "sentence": sentence, "remedy": remedy}


def _ref(subject: Subject) -> Ref:
    binding = subject.wanted or subject.before
    if binding is None:
        kind, _, key = subject.name.partition(" ")
        namespace, _, name = key.rpartition("/")
        return ref("", kind, namespace, name)
    about = binding.spec.resource
    namespace = about.namespace or (binding.metadata.namespace if isinstance(binding, ResourceBinding) else "")
    return ref(about.api_version, about.kind, namespace, about.name)


def _names(given: Any) -> list[str]:
    if given is None:
        return []
    if not isinstance(given, list) or not all(isinstance(name, str) for name in given):
        raise bad_request("clustersDown: must be a list of names of clusters")
    return list(dict.fromkeys(given))


def _replicas(given: Any) -> dict[str, int]:
    """`{"Deployment default/nginx": 5}`; `*` stands for all."""
    if given is None:
        return {}
    good = isinstance(given, dict) and all(
        isinstance(count, int) and not isinstance(count, bool) and 0 <= count <= MOST for count in given.values()
    )
    if not good:
        raise bad_request('replicas: must be numbers by workload, such as {"Deployment default/nginx": 5}')
    found: dict[str, int] = given
    return found
