"""What of an object its row is made of; the rest (managed fields, manifests, lists of APIs) is skipped, not decoded.

Leaves are left as they come: rows put up with whatever a server holds.
"""

from collections.abc import Callable
from typing import Any, TypedDict

import msgspec

from karmada.dashboard.kinds import CLUSTERS, EVENTS, TEMPLATES, WORKS
from karmada.dashboard.rows import JSONObject, binding_row, cluster_row, event_row, template_row, work_row
from karmada.machinery.transport import GroupVersionResource


class _Metadata(TypedDict, total=False):
    name: Any
    namespace: Any
    generation: Any
    labels: Any
    annotations: Any


class _BindingSpec(TypedDict, total=False):
    resource: Any
    replicas: Any
    clusters: Any
    requiredBy: Any
    gracefulEvictionTasks: Any


class _BindingStatus(TypedDict, total=False):
    conditions: Any
    aggregatedStatus: Any


class _Binding(TypedDict, total=False):
    metadata: _Metadata
    spec: _BindingSpec | None
    status: _BindingStatus | None


class _TemplateSpec(TypedDict, total=False):
    replicas: Any


class _Template(TypedDict, total=False):
    metadata: _Metadata
    spec: _TemplateSpec | None


class _WorkStatus(TypedDict, total=False):
    conditions: Any


class _Work(TypedDict, total=False):
    metadata: _Metadata
    status: _WorkStatus | None


class _ClusterStatus(TypedDict, total=False):
    conditions: Any
    kubernetesVersion: Any
    nodeSummary: Any
    resourceSummary: Any


class _Cluster(TypedDict, total=False):
    metadata: _Metadata
    spec: Any
    status: _ClusterStatus | None


def row_maker(kind: GroupVersionResource) -> Callable[[bytes], JSONObject]:
    """How an encoded object of a kind becomes its row."""
    if kind in TEMPLATES:
        api_version, name = TEMPLATES[kind]
        typed, read = {"apiVersion": api_version, "kind": name}, _decode(_Template)
        return lambda body: template_row({**read(body), **typed})
    shape, make = _ROWS.get(kind, (_Binding, binding_row))
    decode = _decode(shape)
    return lambda body: make(decode(body))


def _decode(shape: Any) -> Callable[[bytes], JSONObject]:
    return msgspec.json.Decoder(shape).decode


_ROWS: dict[GroupVersionResource, tuple[Any, Callable[[JSONObject], JSONObject]]] = {
    CLUSTERS: (_Cluster, cluster_row),
    EVENTS: (dict[str, Any], event_row),
    WORKS: (_Work, work_row),
}
