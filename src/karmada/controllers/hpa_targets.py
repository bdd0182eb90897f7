"""What a FederatedHPA scales: the template, the clusters that run it, and what they say of its pods.

A cluster counts only if both its scale and its pods were read: replicas without their pods would look idle. Clusters
that are not ready or do not answer are left out; the share of the replicas that the others run corrects for them.
"""

import asyncio
from dataclasses import dataclass

from karmada.api import events, label_selector, labels, names
from karmada.api.autoscaling.v1alpha1 import FederatedHPA
from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.label_selector import LabelSelectorError
from karmada.api.work.v1alpha2 import ResourceBinding
from karmada.controllers.clusters import is_ready
from karmada.controllers.hpa_members import MemberReader
from karmada.controllers.templates import Templates
from karmada.machinery.client import Client
from karmada.machinery.codec import reading
from karmada.machinery.discovery import ApiResource, UnknownKind
from karmada.machinery.errors import ApiError
from karmada.machinery.informers.cache import Item, Key
from karmada.machinery.informers.informer import Informer
from karmada.machinery.transport import JSONObject, Request, Verb
from karmada.membership.answers import Unread
from karmada.policies.autoscaling.limits import ABLE_TO_SCALE, Condition
from karmada.policies.autoscaling.readings import LabelledPod
from karmada.policies.autoscaling.scales import (
    WorkloadScale,
    is_known,
    scale_of_answer,
    scale_of_workload,
    selector_of_template,
)


class Stopped(Exception):
    """A reconcile that cannot go on: the event and the condition that say why."""

    def __init__(self, event: str, what: str, why: str, reason: str = "") -> None:
        super().__init__(why)
        self.event = event
        text = f"the HPA controller was unable to {what}: {why}"
        self.condition = Condition(ABLE_TO_SCALE, False, reason or event, text)


@dataclass(frozen=True, slots=True)
class Target:
    """A template that can be scaled, and the clusters it is scheduled to."""

    served: ApiResource
    key: Key
    resource_version: str
    scale: WorkloadScale
    """What the template asks for; its selector is that of the template's spec, empty where the spec has none."""
    ready: tuple[str, ...]
    not_ready: tuple[str, ...]
    binding: ResourceBinding | None = None
    """None for what is scheduled nowhere because it has no replicas."""


@dataclass(frozen=True, slots=True)
class Observed:
    """A workload in the clusters that answered."""

    replicas: int
    """Of all of them together, as are those that they have."""
    status_replicas: int
    pods: dict[str, list[LabelledPod]]
    """By cluster."""
    unread: dict[str, str]
    """Clusters that gave no answer, and why."""
    narrowed: dict[str, str]
    """By cluster, the selector that its metrics may be asked for with; empty when others share the answers."""


class HpaTargets:
    """Finds and observes the targets of FederatedHPAs."""

    def __init__(
        self,
        client: Client,
        templates: Templates,
        bindings: Informer[ResourceBinding],
        clusters: Informer[Cluster],
        reader: MemberReader,
    ) -> None:
        self._client = client
        self._templates = templates
        self._bindings = bindings
        self._clusters = clusters
        self._reader = reader

    async def find(self, autoscaler: FederatedHPA) -> Target:
        """The target of an autoscaler; raises `Stopped`."""
        reference, namespace = autoscaler.spec.scale_target_ref, autoscaler.metadata.namespace
        key = Key(namespace, reference.name)
        event, what = events.FAILED_GET_SCALE_TARGET_REF, "get the target reference object"
        try:
            served = await self._templates.resource(reference.api_version, reference.kind)
        except UnknownKind as error:
            raise Stopped(event, what, str(error)) from error
        if not served.namespaced:
            raise Stopped(event, what, f"spec.scaleTargetRef.kind: {reference.kind} is cluster-scoped")
        item = await self._templates.item(served, key)
        if item is None:
            kind = f"{served.type.resource}.{served.type.group}" if served.type.group else served.type.resource
            raise Stopped(event, what, f'{kind} "{reference.name}" not found')
        scale = await self._scale(served, item)
        if scale.replicas == 0:
            # What has no replicas is scheduled nowhere.
            return Target(served, key, item.resource_version, scale, (), ())
        binding = self._binding(item, reference.kind, key)
        ready, not_ready = self._clusters_of(binding)
        return Target(served, key, item.resource_version, scale, ready, not_ready, binding)

    async def observe(self, target: Target, alone: bool) -> Observed:
        """What the ready clusters of a target say; `alone` when no other autoscaler is in its namespace."""
        answers = await asyncio.gather(*(self._in_cluster(cluster, target, alone) for cluster in target.ready))
        pods: dict[str, list[LabelledPod]] = {}
        unread: dict[str, str] = {}
        narrowed: dict[str, str] = {}
        replicas = status_replicas = 0
        for cluster, answer in zip(target.ready, answers, strict=True):
            if isinstance(answer, str):
                unread[cluster] = answer
            elif answer is not None:
                scale, found = answer
                pods[cluster] = found
                replicas, status_replicas = replicas + scale.replicas, status_replicas + scale.status_replicas
                narrowed[cluster] = scale.selector if alone else ""
        if replicas == 0:
            why = "failed to get replicas in any of clusters, possibly because all of clusters are not ready"
            if unread:
                why += f" ({unread_text(unread)})"
            raise Stopped(events.FAILED_GET_SCALE, "get the target's current scale", why)
        return Observed(replicas, status_replicas, pods, unread, narrowed)

    async def _in_cluster(
        self, cluster: str, target: Target, alone: bool
    ) -> tuple[WorkloadScale, list[LabelledPod]] | str | None:
        """The scale and pods in one cluster; why they are not known; None when the workload is not there."""
        try:
            scale = await self._reader.scale(cluster, target.served, target.key)
            if scale is None:
                return None
            if not scale.selector:
                return "selector is required"
            selector = label_selector.parse(scale.selector)
            pods = await self._reader.pods(cluster, target.key.namespace, scale.selector if alone else "")
        except (Unread, LabelSelectorError) as error:
            return str(error)
        return scale, pods.selected(selector)

    def _binding(self, template: Item[JSONObject], kind: str, key: Key) -> ResourceBinding:
        marks = template.value["metadata"].get("labels") or {}
        binding = self._bindings.get(names.binding_name(kind, key.name), key.namespace)
        if not marks:
            why = "target resource has no label"
        elif not any(claim in marks for claim in labels.CLAIMS):
            why = "no label of policy permanent-id found"
        elif binding is None:
            why = "length of binding list is zero"
        elif binding.spec.resource.uid not in ("", template.uid):
            why = "no binding matches the target resource"
        else:
            return binding
        raise Stopped(events.FAILED_GET_BINDINGS, "get the binding by scaleTargetRef", why, "FailedGetBinding")

    def _clusters_of(self, binding: ResourceBinding) -> tuple[tuple[str, ...], tuple[str, ...]]:
        event, what = events.FAILED_GET_TARGET_CLUSTERS, "get the target clusters from binding"
        if not binding.spec.clusters:
            raise Stopped(event, what, "binding has no schedulable clusters")
        ready: list[str] = []
        not_ready: list[str] = []
        for scheduled in binding.spec.clusters:
            cluster = self._clusters.get(scheduled.name)
            if cluster is None:
                raise Stopped(event, what, f'clusters.cluster.karmada.io "{scheduled.name}" not found')
            (ready if is_ready(cluster) else not_ready).append(scheduled.name)
        return tuple(ready), tuple(not_ready)

    async def _scale(self, served: ApiResource, item: Item[JSONObject]) -> WorkloadScale:
        try:
            if is_known(served.type.group, served.type.resource):
                return reading(scale_of_workload, item.body)
            request = Request(Verb.GET, served.type, item.key.namespace, item.key.name, "scale")
            scale = reading(scale_of_answer, await self._client.transport.send(request))
            return scale._replace(selector=selector_of_template(item.body))
        except ApiError as error:
            raise Stopped(events.FAILED_GET_SCALE, "get the target's current scale", str(error)) from error


def unread_text(unread: dict[str, str]) -> str:
    """Why clusters gave no answer; once, where all have the same reason."""
    reasons = list(dict.fromkeys(unread.values()))
    if len(reasons) == 1:
        return reasons[0]
    return "; ".join(f"{cluster}: {why}" for cluster, why in unread.items())
