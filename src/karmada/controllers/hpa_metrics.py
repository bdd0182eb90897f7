"""Reads the metrics that FederatedHPAs follow: those of pods and objects from members, external ones from the control
plane's own external metrics API.
"""

import asyncio
import re
from collections.abc import Awaitable, Mapping, Sequence
from typing import TypeVar
from weakref import WeakValueDictionary

from karmada.api import label_selector
from karmada.api.autoscaling.v1alpha1 import MetricIdentifier, MetricSpec, ObjectMetricSource
from karmada.controllers.hpa_members import MemberReader, Metric
from karmada.controllers.hpa_targets import Observed, Target, unread_text
from karmada.machinery.client import Client
from karmada.machinery.codec import reading
from karmada.machinery.errors import NotFound
from karmada.machinery.transport import GroupVersionResource, Request, Verb
from karmada.membership.answers import Answers, Missing, Unread
from karmada.policies.autoscaling.evaluation import Reading, Total
from karmada.policies.autoscaling.pods import MetricsError, Sample
from karmada.policies.autoscaling.readings import samples_of_resource, sum_of_values

T = TypeVar("T")
EXTERNAL = "external.metrics.k8s.io"
AT_ONCE = 8
"""Metrics that are read at a time for the autoscalers of one namespace: a member that is asked for thousands lets
deadlines pass, and is asked nothing for a while, also by all others."""
_EXTERNAL_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._:-]*[A-Za-z0-9])?")
"""What can stand in an address."""


class HpaMetrics:
    """Reads a metric from every member at once."""

    def __init__(self, client: Client, reader: MemberReader, answers: Answers) -> None:
        self._client = client
        self._reader = reader
        self._answers = answers
        self._slots: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()
        """By namespace."""

    async def read(self, spec: MetricSpec, target: Target, observed: Observed) -> Reading:
        """What there is to know about a metric."""
        slots = self._slots.setdefault(target.key.namespace, asyncio.Semaphore(AT_ONCE))
        async with slots:
            return await self._read(spec, target, observed)

    async def _read(self, spec: MetricSpec, target: Target, observed: Observed) -> Reading:
        try:
            if spec.type == "Resource" and spec.resource is not None:
                return await self._usages(spec.resource.name, "", target, observed)
            if spec.type == "ContainerResource" and (source := spec.container_resource) is not None:
                return await self._usages(source.name, source.container, target, observed)
            if spec.type == "Pods" and spec.pods is not None:
                return await self._values(_metric(spec.pods.metric), target, observed)
            if spec.type == "Object" and spec.object is not None:
                return await self._object(spec.object, target)
            if spec.type == "External" and spec.external is not None:
                return await self._external(_metric(spec.external.metric), target.key.namespace)
        except MetricsError as error:
            return error
        return MetricsError(f'unknown metric source type "{spec.type}"')

    async def _usages(self, resource: str, container: str, target: Target, observed: Observed) -> Mapping[str, Sample]:
        clusters = list(observed.pods)
        namespace = target.key.namespace
        answers = await asyncio.gather(
            *(_outcome(self._reader.usages(cluster, namespace, observed.narrowed[cluster])) for cluster in clusters)
        )
        known = _usable(clusters, answers, "resource metrics API")
        usages = [
            usage
            for cluster, found in known.items()
            for one in observed.pods[cluster]
            if (usage := found.get(one.pod.name)) is not None
        ]
        if clusters and not usages:
            raise MetricsError("no metrics returned from resource metrics API")
        return samples_of_resource(usages, resource, container)

    async def _values(self, metric: Metric, target: Target, observed: Observed) -> Mapping[str, Sample]:
        clusters = list(observed.pods)
        namespace = target.key.namespace
        answers = await asyncio.gather(
            *(
                _outcome(self._reader.values(cluster, namespace, metric, observed.narrowed[cluster]))
                for cluster in clusters
            )
        )
        known = _usable(clusters, answers, "custom metrics API")
        samples = {
            one.pod.name: sample
            for cluster, found in known.items()
            for one in observed.pods[cluster]
            if (sample := found.get(one.pod.name)) is not None
        }
        if clusters and not samples:
            raise MetricsError("no metrics returned from custom metrics API")
        return samples

    async def _object(self, source: ObjectMetricSource, target: Target) -> Total:
        """The sum over the target's clusters that have the object; others have no say in its replicas."""
        metric, described = _metric(source.metric), source.described_object
        clusters, namespace = target.ready, target.key.namespace
        answers = await asyncio.gather(
            *(_outcome(self._reader.value(cluster, namespace, described, metric)) for cluster in clusters)
        )
        unread = dict.fromkeys(target.not_ready, "it is not ready")
        values = []
        for cluster, answer in zip(clusters, answers, strict=True):
            if isinstance(answer, Unread):
                unread[cluster] = str(answer)
            elif answer is not None:
                values.append(answer)
        if not values:
            why = (
                unread_text(unread)
                if unread
                else f"no cluster has it for {described.kind} {namespace}/{described.name}"
            )
            raise MetricsError(f"unable to fetch metrics from custom metrics API: {why}")
        return Total(sum(values), "; ".join(f"{cluster}: {why}" for cluster, why in unread.items()))

    async def _external(self, metric: Metric, namespace: str) -> Total:
        if not _EXTERNAL_NAME.fullmatch(metric.name):
            raise MetricsError(f"external metric {metric.name}: names have letters, digits and . _ : - only")
        params = {"labelSelector": metric.selector} if metric.selector else {}

        async def ask() -> int | None:
            type_ = GroupVersionResource(EXTERNAL, "v1beta1", metric.name)
            return reading(
                sum_of_values, await self._client.transport.send(Request(Verb.LIST, type_, namespace, params=params))
            )

        try:
            # A source of its own each: one that is slow says nothing about the others. No cluster has such a name.
            value = await self._answers.of(f"{EXTERNAL}/{metric.name}", (namespace, metric), ask)
        except Unread as error:
            raise MetricsError(f"unable to fetch metrics from external metrics API: {error}") from error
        if value is None:
            raise MetricsError("no metrics returned from external metrics API")
        return Total(value)


async def _outcome(answer: Awaitable[T]) -> T | Unread:
    """An answer, or why there is none."""
    try:
        return await answer
    except Unread as error:
        return error
    except NotFound as error:
        return Missing(str(error))


def _usable(clusters: list[str], answers: Sequence[T | Unread], api: str) -> dict[str, T]:
    """The answers there are; the pods of other clusters count as pods without a metric."""
    found: dict[str, T] = {}
    unread: dict[str, str] = {}
    for cluster, answer in zip(clusters, answers, strict=True):
        if isinstance(answer, Unread):
            unread[cluster] = str(answer)
        else:
            found[cluster] = answer
    if clusters and not found:
        raise MetricsError(f"unable to fetch metrics from {api}: {unread_text(unread)}")
    return found


def _metric(identifier: MetricIdentifier) -> Metric:
    selector = identifier.selector
    return Metric(identifier.name, str(label_selector.from_struct(selector)) if selector is not None else "")
