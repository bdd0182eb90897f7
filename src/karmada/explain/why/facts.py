"""Reads everything that says why: all at once where nothing depends on the answer before."""

import asyncio
import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import orjson

from karmada.api import names
from karmada.api.base import Struct
from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.decision import Decision, decode
from karmada.api.policy.v1alpha1 import (
    ClusterOverridePolicy,
    ClusterPropagationPolicy,
    OverridePolicy,
    PropagationPolicy,
)
from karmada.api.work.v1alpha1 import Work
from karmada.api.work.v1alpha2 import ClusterResourceBinding, ResourceBinding
from karmada.explain.errors import NoAnswer
from karmada.explain.events import events_of
from karmada.explain.members import Members
from karmada.explain.simulate.terms import Terms, running
from karmada.machinery.client import Client
from karmada.machinery.discovery import ApiResource
from karmada.machinery.errors import ApiError, NotFound
from karmada.machinery.resource import Scope
from karmada.machinery.transport import GroupVersionResource
from karmada.works.owner import BindingName, recorded

JSONObject = dict[str, Any]
Binding = ResourceBinding | ClusterResourceBinding
S = TypeVar("S", bound=Struct)
PODS = GroupVersionResource("", "v1", "pods")
REPLICA_SETS = GroupVersionResource("apps", "v1", "replicasets")


@dataclass(slots=True)
class MemberFacts:
    """What one member has."""

    object: JSONObject | None = None
    error: str = ""
    """Why the member could not be asked."""
    events: list[JSONObject] = field(default_factory=list)
    pods: list[JSONObject] = field(default_factory=list)
    makers: list[JSONObject] = field(default_factory=list)
    """The ReplicaSets that should make pods and cannot."""


@dataclass(slots=True)
class Facts:
    """Everything about one template."""

    kind: ApiResource
    namespace: str
    name: str
    template: JSONObject | None = None
    policies: Sequence[PropagationPolicy] = ()
    cluster_policies: Sequence[ClusterPropagationPolicy] = ()
    overrides: Sequence[OverridePolicy] = ()
    cluster_overrides: Sequence[ClusterOverridePolicy] = ()
    overrides_left_out: str = ""
    """Why override policies are not among the facts, where they are not."""
    clusters: Sequence[Cluster] = ()
    binding: Binding | None = None
    works: dict[str, Work] = field(default_factory=dict)
    members: dict[str, MemberFacts] = field(default_factory=dict)
    events: list[JSONObject] = field(default_factory=list)
    recorded: Decision | None = None
    """The scheduler's last decision about the binding, where it can be asked for it."""
    recorded_at: str = ""
    terms: Terms = field(default_factory=Terms)
    """The feature gates that the control plane runs under, and the kinds on which nothing acts in it."""
    others: Sequence[str] = ()
    """Names of the other objects of the kind, where the template is not there."""


async def read(hub: Client, members: Members, kind: ApiResource, namespace: str, name: str) -> Facts:
    """All facts about a template; those about members only for clusters it goes to."""
    facts = Facts(kind, namespace, name)
    facts.template, facts.policies, facts.cluster_policies, facts.terms = await asyncio.gather(
        _object(hub, kind, namespace, name),
        _all(hub, PropagationPolicy, namespace),
        _all(hub, ClusterPropagationPolicy),
        running(hub),
    )
    facts.overrides, facts.cluster_overrides, facts.clusters, facts.binding = await asyncio.gather(
        _all(hub, OverridePolicy, namespace),
        _all(hub, ClusterOverridePolicy),
        _all(hub, Cluster),
        _binding(hub, kind, namespace, name),
    )
    if facts.template is not None:
        facts.events = await events_of(hub, facts.template)
    else:
        facts.others = await _names(hub, kind, namespace)
    if facts.binding is not None:
        facts.recorded, facts.recorded_at = await _recorded(hub, facts.binding)
    chosen = [target.name for target in facts.binding.spec.clusters] if facts.binding else []
    work_name = names.work_name(kind.kind, name, namespace)

    async def work(cluster: str) -> None:
        with contextlib.suppress(NotFound):
            found = await hub.of(Work).get(work_name, names.execution_space(cluster))
            if all(_is(owner, facts.binding) for owner in recorded(found.metadata)):
                facts.works[cluster] = found

    async def member(cluster: str) -> None:
        reading = _member(members.client(cluster), kind, namespace, name)
        try:
            facts.members[cluster] = await members.in_time(reading)
        except (ApiError, NoAnswer) as error:
            facts.members[cluster] = MemberFacts(error=str(error))

    await asyncio.gather(*(ask(cluster) for cluster in chosen for ask in (work, member)))
    return facts


def _is(owner: BindingName, binding: Binding | None) -> bool:
    return binding is not None and owner == BindingName(binding.metadata.namespace, binding.metadata.name)


async def _object(client: Client, kind: ApiResource, namespace: str, name: str) -> JSONObject | None:
    try:
        return await client.resource(kind.type).get(name, namespace if kind.namespaced else "")
    except NotFound:
        return None


async def _all(hub: Client, type_: type[S], namespace: str = "") -> list[S]:
    return (await hub.of(type_).list(Scope(namespace))).items


async def _binding(hub: Client, kind: ApiResource, namespace: str, name: str) -> Binding | None:
    wanted = names.binding_name(kind.kind, name)
    try:
        if kind.namespaced:
            return await hub.of(ResourceBinding).get(wanted, namespace)
        return await hub.of(ClusterResourceBinding).get(wanted)
    except NotFound:
        return None


async def _names(hub: Client, kind: ApiResource, namespace: str) -> list[str]:
    """The names of a kind, as far as they may be read."""
    try:
        found = await hub.resource(kind.type).list(Scope(namespace if kind.namespaced else ""))
    except ApiError:
        return []
    return [item["metadata"]["name"] for item in found.items]


async def _recorded(hub: Client, binding: Binding) -> tuple[Decision | None, str]:
    """The last decision of a scheduler in the control plane's own process; others keep theirs to themselves."""
    about = binding.metadata
    try:
        items = orjson.loads(
            await hub.transport.raw("GET", f"/decisions/{names.namespaced_key(about.namespace, about.name)}")
        )["items"]
        return (decode(orjson.dumps(items[0]["decision"])), str(items[0]["time"])) if items else (None, "")
    except (ApiError, ValueError, KeyError, TypeError):
        return None, ""


def _refuses_pods(item: JSONObject) -> bool:
    """Whether the member creates no pods for it; the event about that is its ReplicaSet's."""
    states = ((one.get("type"), one.get("status")) for one in (item.get("status") or {}).get("conditions") or ())
    return item.get("kind") == "Deployment" and ("ReplicaFailure", "True") in states


async def _member(client: Client, kind: ApiResource, namespace: str, name: str) -> MemberFacts:
    found = MemberFacts(await _object(client, kind, namespace, name))
    if found.object is None:
        return found
    selector = (found.object.get("spec") or {}).get("selector") or {}
    labels = selector.get("matchLabels") or {}
    if labels and kind.namespaced:
        text = ",".join(f"{key}={value}" for key, value in labels.items())
        found.pods = (await client.resource(PODS).list(Scope(namespace, text))).items
        if _refuses_pods(found.object):
            found.makers = (await client.resource(REPLICA_SETS).list(Scope(namespace, text))).items
    about = [found.object, *found.pods[:5], *found.makers[:5]]
    answers = await asyncio.gather(*(events_of(client, item) for item in about))
    found.events = [event for one in answers for event in one]
    return found
