"""What members say about the workloads of FederatedHPAs: scales, pods and metrics, read once per interval for all.

Pods and their metrics are listed by namespace, so that autoscalers of one namespace share two requests per member; one
that is alone in its namespace narrows them to its own pods. Scales of well-known kinds come from the informers that
follow propagated objects anyway; members that nobody follows here (those of agents) are asked for each scale, and no
informer starts for them.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple, TypeVar

from karmada.api.autoscaling.v1alpha1 import CrossVersionObjectReference
from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.label_selector import Selector
from karmada.machinery.client import Client
from karmada.machinery.codec import reading
from karmada.machinery.discovery import ApiResource
from karmada.machinery.errors import ApiError, BadAnswer, NotFound
from karmada.machinery.informers.cache import Key
from karmada.machinery.informers.informer import Informer
from karmada.machinery.limits import SLICE
from karmada.machinery.resource import Scope
from karmada.machinery.transport import GroupVersionResource, Request, Verb
from karmada.membership.answers import Answers, Missing, Unread
from karmada.membership.members import Member, Members
from karmada.policies.autoscaling.pods import Sample
from karmada.policies.autoscaling.readings import (
    LabelledPod,
    PodUsage,
    pod_of,
    samples_of_values,
    sum_of_values,
    usage_of,
)
from karmada.policies.autoscaling.scales import WorkloadScale, is_known, scale_of_answer, scale_of_workload

T = TypeVar("T")
PODS = GroupVersionResource("", "v1", "pods")
POD_METRICS = GroupVersionResource("metrics.k8s.io", "v1beta1", "pods")
LARGE = 256 * 1024
"""Bytes of an answer that take longer than some milliseconds to be read."""
CUSTOM_METRICS = "custom.metrics.k8s.io"
CUSTOM_VERSIONS = ("v1beta2", "v1beta1")
_NOT_SERVED = "the server could not find the requested resource"


class PodsOfNamespace:
    """Pods of one namespace of a member, found by selector without trying each."""

    def __init__(self, pods: Iterable[LabelledPod]) -> None:
        self._pods = tuple(pods)
        self._by_label: dict[str, dict[str, list[LabelledPod]]] = {}

    def selected(self, selector: Selector) -> list[LabelledPod]:
        """The pods that a selector chooses."""
        candidates: Iterable[LabelledPod] = self._pods
        if required := selector.required_label():
            key, value = required
            candidates = self._with(key).get(value, ())
        return [one for one in candidates if selector.matches(one.labels)]

    def _with(self, key: str) -> Mapping[str, list[LabelledPod]]:
        groups = self._by_label.get(key)
        if groups is None:
            groups = self._by_label[key] = {}
            for one in self._pods:
                if key in one.labels:
                    groups.setdefault(one.labels[key], []).append(one)
        return groups


class Metric(NamedTuple):
    """A custom metric: its name and the selector that narrows it down."""

    name: str
    selector: str = ""

    def params(self, labels: str = "") -> dict[str, str]:
        """The query parameters that ask for it."""
        given = {"labelSelector": labels, "metricLabelSelector": self.selector}
        return {name: value for name, value in given.items() if value}


class _Path(NamedTuple):
    """Where a custom metric is served."""

    namespace: str
    resource: str
    name: str
    subresource: str = ""


class MemberReader:
    """Reads members; every method raises `Unread` when there is no answer."""

    def __init__(
        self, client: Client, followed: Members, readable: Members, clusters: Informer[Cluster], answers: Answers
    ) -> None:
        """`followed` are those whose objects this process follows, `readable` those it can ask."""
        self._client = client
        self._followed = followed
        self._readable = readable
        self._clusters = clusters
        self._answers = answers
        self._custom: dict[str, str] = {}
        """The version of the custom metrics API that each member is known to serve."""

    async def scale(self, cluster: str, served: ApiResource, key: Key) -> WorkloadScale | None:
        """The scale of a workload in a member; None when it is not there."""
        member = await self._member(cluster)
        if is_known(served.type.group, served.type.resource) and self._is_followed(cluster):
            informer = member.managed(served.type)
            if not await informer.is_loaded():
                raise Unread(f"its {served.type.resource} cannot be loaded")
            item = informer.item(key)
            try:
                return None if item is None else reading(scale_of_workload, item.body)
            except BadAnswer as error:
                raise Unread(str(error)) from error

        async def ask() -> WorkloadScale:
            request = Request(Verb.GET, served.type, key.namespace, key.name, "scale")
            return reading(scale_of_answer, await member.client.transport.send(request))

        try:
            return await self._answers.of(cluster, ("scale", served.type, key), ask)
        except Missing:
            return None

    async def pods(self, cluster: str, namespace: str, selector: str) -> PodsOfNamespace:
        """Pods of a namespace, all or those of a selector."""
        member = await self._member(cluster)

        async def ask() -> PodsOfNamespace:
            listing = await member.client.encoded(PODS).list(Scope(namespace, selector))
            decode = partial(pod_of, cluster)
            return PodsOfNamespace(await in_turns(decode, listing.items))

        return await self._answers.of(cluster, ("pods", namespace, selector), ask)

    async def usages(self, cluster: str, namespace: str, selector: str) -> Mapping[str, PodUsage]:
        """What pods of a namespace use, by pod."""
        member = await self._member(cluster)

        async def ask() -> Mapping[str, PodUsage]:
            try:
                listing = await member.client.encoded(POD_METRICS).list(Scope(namespace, selector), page_size=0)
            except NotFound as error:
                raise _named(error, "get pods.metrics.k8s.io") from error
            decode = partial(usage_of, cluster)
            return {one.pod: one for one in await in_turns(decode, listing.items)}

        return await self._answers.of(cluster, ("usages", namespace, selector), ask)

    async def values(self, cluster: str, namespace: str, metric: Metric, selector: str) -> Mapping[str, Sample]:
        """A custom metric of pods of a namespace, by pod."""
        decode = partial(samples_of_values, cluster)
        return await self._metric(cluster, _Path(namespace, "pods", "*", metric.name), metric.params(selector), decode)

    async def value(
        self, cluster: str, namespace: str, described: CrossVersionObjectReference, metric: Metric
    ) -> int | None:
        """A custom metric of one object, in thousandths; None when there is none in this member."""
        if described.kind == "Namespace" and described.api_version == "v1":
            path = _Path(namespace, "metrics", metric.name)
        else:
            kind = (await self._client.mapper.of_kind(described.api_version, described.kind)).type
            resource = f"{kind.resource}.{kind.group}" if kind.group else kind.resource
            path = _Path(namespace, resource, described.name, metric.name)
        try:
            return await self._metric(cluster, path, metric.params(), sum_of_values)
        except Missing:
            return None

    async def _metric(self, cluster: str, path: _Path, params: Mapping[str, str], decode: Callable[[bytes], T]) -> T:
        member = await self._member(cluster)

        async def ask() -> T:
            known = self._custom.pop(cluster, None)
            missing: NotFound | None = None
            for version in (known,) if known else CUSTOM_VERSIONS:
                type_ = GroupVersionResource(CUSTOM_METRICS, version, path.resource)
                request = Request(Verb.GET, type_, path.namespace, path.name, path.subresource, params)
                try:
                    body = await member.client.transport.send(request)
                except NotFound as error:
                    missing = _named(error, f"get {path.resource}.{CUSTOM_METRICS}")
                    continue
                self._custom[cluster] = version
                # One answer holds the values of all pods: it is not divided, and read in a thread if it is large.
                return reading(decode, body) if len(body) < LARGE else await asyncio.to_thread(reading, decode, body)
            assert missing is not None
            raise missing

        return await self._answers.of(cluster, ("custom", path, tuple(params.items())), ask)

    async def _member(self, name: str) -> Member:
        return await self._answers.member(name, self._clusters, self._readable)

    def _is_followed(self, name: str) -> bool:
        cluster = self._clusters.get(name)
        return cluster is not None and self._followed.concerns(cluster)


async def in_turns(decode: Callable[[bytes], T], bodies: Sequence[bytes]) -> list[T]:
    """What a member's objects say, however many it sends: others get their turn in between."""
    found: list[T] = []
    for start in range(0, len(bodies), SLICE):
        if start:
            await asyncio.sleep(0)
        found += [reading(decode, body) for body in bodies[start : start + SLICE]]
    return found


def _named(error: ApiError, what: str) -> NotFound:
    """An error that says what was asked for: a server without the API does not."""
    text = str(error)
    return NotFound(f"{text} ({what})" if text == _NOT_SERVED else text)
