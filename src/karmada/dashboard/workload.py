"""One workload: its way through the federation, with the reason of every step."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Event
from typing import Any, NamedTuple, TypeVar

import orjson

from karmada.api.codec import encode
from karmada.api.policy.v1alpha1 import ClusterOverridePolicy, OverridePolicy
from karmada.dashboard.differences import Differences, without_managers
from karmada.dashboard.graph import graph, verdicts
from karmada.dashboard.names import checked_kind
from karmada.dashboard.redaction import redacted
from karmada.dashboard.routes import Visit
from karmada.dashboard.rows import POLICY_VERSION, JSONObject, event_row, ref
from karmada.explain.events import events_of
from karmada.explain.why.chain import chain
from karmada.explain.why.facts import Facts, read
from karmada.explain.why.links import Link
from karmada.explain.why.scheduling import decision_about
from karmada.machinery.client import Client
from karmada.machinery.discovery import ApiResource
from karmada.machinery.errors import NotFound
from karmada.overrides.apply import apply_overrides
from karmada.overrides.errors import OverrideError
from karmada.policies.matching import Match, closest, subject_of

P = TypeVar("P", OverridePolicy, ClusterOverridePolicy)
TIMELINE = 200
MOST_COPIED = 2_000_000
"""Bytes of template and override policies, for all clusters together, of which copies are made to explain them."""
PATIENCE = 30.0
"""Seconds for an explanation, and until its turn comes."""
_THREAD = ThreadPoolExecutor(1, "explanations")
"""One of their own: an API server in the same process has its thread for the requests of everybody."""


async def workload(visit: Visit) -> JSONObject:
    """Everything about a workload."""
    api_version, kind, namespace, name = visit.subject()
    context = visit.context
    served = await kind_of(context.hub, api_version, kind)
    facts = await read(context.hub, context.members, served, namespace if served.namespaced else "", name)
    if facts.template is None:
        raise NotFound(f"there is no {kind} {name} in the control plane")
    async with context.long:
        explanation = await explaining(facts)
    return {
        "ref": ref(api_version, kind, facts.namespace, name),
        "template": explanation.template,
        "graph": explanation.graph,
        "verdicts": explanation.verdicts,
        "recorded": explanation.recorded,
        "overrides": explanation.overrides,
        "timeline": await _timeline(context.hub, facts, explanation.links),
        "why": _why(explanation.links),
    }


class GivenUp(Exception):
    """Nobody waits for the explanation any more."""


class Explained(NamedTuple):
    """What is explained of a workload that needs nothing but the facts."""

    template: JSONObject
    links: list[Link]
    graph: JSONObject
    verdicts: list[JSONObject]
    recorded: str
    overrides: list[JSONObject]


async def explaining(facts: Facts) -> Explained:
    """Everything that is made of the facts, while the loop goes on. It takes as long as people's templates and policies
    are large, and ends with the request."""
    is_given_up = Event()

    def go_on() -> None:
        if is_given_up.is_set():
            raise GivenUp

    try:
        async with asyncio.timeout(PATIENCE):
            return await asyncio.get_running_loop().run_in_executor(_THREAD, explained, facts, go_on)
    finally:
        is_given_up.set()


def explained(facts: Facts, go_on: Callable[[], None] = lambda: None) -> Explained:
    """Everything that is made of the facts. Before every copy `go_on` is asked, which may raise."""
    template, binding = facts.template, facts.binding
    assert template is not None
    facts = _with_few_overrides(facts, template)
    links = chain(facts, go_on=go_on)
    decision, recorded = decision_about(facts, binding) if binding is not None else (None, False)
    judged = verdicts(facts, binding, decision.decisive if decision is not None else None) if binding else []
    changed = overridden(facts, go_on)
    moment = facts.recorded_at if recorded else ""
    shown = redacted(without_managers(template))
    return Explained(shown, links, graph(facts, links, judged, changed), judged, moment, changed)


def _with_few_overrides(facts: Facts, template: JSONObject) -> Facts:
    """The facts with the override policies that may choose the template only; with none where copies for all clusters
    would be too many bytes."""
    subject = subject_of(template)

    def choosing(policies: Sequence[P]) -> list[P]:
        selecting = ((one, one.spec.resource_selectors) for one in policies)
        return [one for one, selectors in selecting if not selectors or closest(selectors, subject) is not Match.NONE]

    wide, own = choosing(facts.cluster_overrides), choosing(facts.overrides)
    size = sum(len(encode(one)) for one in (*wide, *own))
    clusters = len(facts.binding.spec.clusters) if facts.binding is not None else 0
    if size and (len(orjson.dumps(template)) + size) * clusters > MOST_COPIED:
        text = f"more than {MOST_COPIED} bytes of template and override policies for all clusters: not shown"
        return replace(facts, cluster_overrides=(), overrides=(), overrides_left_out=text)
    return replace(facts, cluster_overrides=wide, overrides=own)


async def kind_of(hub: Client, api_version: str, kind: str) -> ApiResource:
    """The collection of a kind."""
    checked_kind(api_version, kind)
    return await hub.mapper.of_kind(api_version, kind)


def _why(links: list[Link]) -> JSONObject:
    broken = [link for link in links if link.broken]
    if not broken:
        text = links[-1].text if links else "everything arrived"
        return {"status": "ok", "because": [text], "remedy": []}
    return {
        "status": "broken",
        "because": [f"{link.name}: {link.text}" for link in broken],
        "remedy": list(dict.fromkeys(link.remedy for link in broken if link.remedy)),
    }


def overridden(facts: Facts, go_on: Callable[[], None] = lambda: None) -> list[JSONObject]:
    """What override policies change, policy by policy, as a diff of what is shown of the copies."""
    template, binding = facts.template, facts.binding
    found: list[JSONObject] = []
    if template is None or binding is None:
        return found
    chosen = {target.name for target in binding.spec.clusters}
    about = f"{facts.kind.kind} {facts.name}"
    diffs = Differences()
    for cluster in facts.clusters:
        name = cluster.metadata.name
        if name not in chosen:
            continue
        policies: list[tuple[Any, list[Any], list[Any]]] = [
            (one, [one], []) for one in _ranked(facts.cluster_overrides, template)
        ]
        policies += [(one, [], [one]) for one in _ranked(facts.overrides, template)]
        before = orjson.dumps(template)
        for policy, wide, own in policies:
            go_on()
            try:
                done = apply_overrides(orjson.loads(before), cluster, wide, own)
            except OverrideError:
                continue
            if not done.by_cluster_policies and not done.by_policies:
                continue
            after = orjson.dumps(done.resource)
            diff = diffs.between(before, after)
            where = policy.metadata
            found.append(
                {
                    "cluster": name,
                    "policy": ref(POLICY_VERSION, policy.kind, where.namespace, where.name),
                    "diff": f"--- {about}\n+++ in {name}\n{diff}" if diff else "",
                }
            )
            before = after
    return found


def _ranked(policies: Sequence[Any], template: JSONObject) -> list[Any]:
    """Override policies in the order in which they apply: those that name the object last."""
    subject = subject_of(template)
    return sorted(
        policies, key=lambda one: (max(closest(one.spec.resource_selectors, subject), Match.ALL), one.metadata.name)
    )


async def _timeline(hub: Client, facts: Facts, links: list[Link]) -> list[JSONObject]:
    """What happened, the newest first: decisions, evictions and events, the members' too."""
    binding = facts.binding
    found = [_moment(event) for event in facts.events]
    if binding is not None:
        about = binding.metadata
        tree = {"kind": binding.kind, "metadata": {"name": about.name, "namespace": about.namespace, "uid": about.uid}}
        found += [_moment(event) for event in await events_of(hub, tree)]
        for task in binding.spec.graceful_eviction_tasks:
            moment = str(task.creation_timestamp or "")
            text = f"it is being withdrawn from {task.from_cluster}: {task.reason} {task.message}".strip()
            found.append({"time": moment, "sentence": text, "cluster": task.from_cluster, "kind": "move"})
    if facts.recorded_at:
        text = next((link.text for link in links if link.name == "scheduling"), "decided")
        found.append({"time": facts.recorded_at, "sentence": f"scheduler: {text}", "kind": "decision"})
    for name, member in facts.members.items():
        found += [_moment(event, name) for event in member.events]
    return sorted(found, key=lambda one: str(one["time"]), reverse=True)[:TIMELINE]


_MOVES = ("EvictWorkload", "TaintManager", "Deschedul")


def _moment(event: JSONObject, cluster: str = "") -> JSONObject:
    row = event_row(event, cluster)
    reason = row["reason"]
    kind = "move" if reason.startswith(_MOVES) else "decision" if reason.startswith("Schedule") else "event"
    moment = {"time": row["time"], "sentence": f"{reason}: {row['message']}", "kind": kind}
    return {**moment, "cluster": cluster} if cluster else moment
