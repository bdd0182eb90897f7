"""EndpointSlices on their way between clusters: what they are called, marked with and made of. Without I/O.

A member's slice is *collected* into a Work of that member's execution space that nobody dispatches. For ServiceExports
it becomes an *imported* slice of the control plane; for MultiClusterServices it is *dispatched* to the consumers. What
leaves a member is rebuilt from the fields of an EndpointSlice: whoever may write the Works of one cluster can offer
endpoints, and nothing else, and only as that cluster's.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from karmada.api import annotations, finalizers, labels, name_rules, names
from karmada.api.meta import ObjectMeta
from karmada.api.work.v1alpha1 import Work
from karmada.works.head import head_of

JSONObject = dict[str, Any]
API_VERSION, KIND = "discovery.k8s.io/v1", "EndpointSlice"
FOREIGN = (
    f"{labels.KUBERNETES_SERVICE_NAME},{labels.KUBERNETES_ENDPOINT_SLICE_MANAGED_BY} notin "
    f"({labels.IMPORTED_ENDPOINT_SLICE_CONTROLLER},{labels.DISPATCHED_ENDPOINT_SLICE_CONTROLLER})"
)
"""Label selector of the slices of Services that are a member's own: not brought there from others."""


class MemberKey(NamedTuple):
    """A Service or an EndpointSlice in a member."""

    cluster: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.cluster}/{self.namespace}/{self.name}"


class Use(NamedTuple):
    """Why slices are collected: which kind asks for them, and how their Works are marked and held."""

    kind: str
    namespace_label: str
    name_label: str
    finalizer: str

    def service(self, work: Work) -> MemberKey | None:
        """The Service whose slice a Work was collected for by this use."""
        marks = work.metadata.labels
        name = marks.get(self.name_label)
        if not name:
            return None  # so are nearly all Works, and everybody is asked about each
        namespace = marks.get(self.namespace_label)
        if not namespace or self.kind not in users(work.metadata) or is_dispatched(work.metadata):
            return None
        cluster = cluster_of(work.metadata)
        return MemberKey(cluster, namespace, name) if cluster else None


EXPORT = Use("ServiceExport", labels.ENDPOINT_SLICE_NAMESPACE, labels.ENDPOINT_SLICE_NAME, finalizers.ENDPOINT_SLICE)
MULTI_CLUSTER = Use(
    "MultiClusterService",
    labels.MULTI_CLUSTER_SERVICE_NAMESPACE,
    labels.MULTI_CLUSTER_SERVICE_NAME,
    finalizers.ENDPOINT_SLICE_DISPATCH,
)


def users(metadata: ObjectMeta) -> set[str]:
    """The kinds that use a collected slice."""
    return {kind for kind in metadata.labels.get(labels.ENDPOINT_SLICE_MANAGED_BY, "").split(".") if kind}


def cluster_of(metadata: ObjectMeta) -> str:
    """The cluster whose Work it is; empty for one that lies in no execution space."""
    space = metadata.namespace
    return space.removeprefix(names.EXECUTION_SPACE_PREFIX) if space.startswith(names.EXECUTION_SPACE_PREFIX) else ""


def is_dispatched(metadata: ObjectMeta) -> bool:
    """Whether a Work brings a slice to a consumer."""
    return bool(metadata.annotations.get(annotations.ENDPOINT_SLICE_PROVISION_CLUSTER))


def slice_name(work: Work) -> tuple[str, str] | None:
    """Namespace and name of the EndpointSlice that a Work holds; None when it holds anything else."""
    if len(work.spec.workload.manifests) != 1:
        return None
    try:
        head = head_of(work)
    except msgspec.DecodeError:
        return None
    if (head.api_version, head.kind) != (API_VERSION, KIND) or not head.name or not head.namespace:
        return None
    return head.namespace, head.name


def collected_slice(work: Work) -> MemberKey | None:
    """The slice that a Work was collected from, or may have been: it lies in a member's execution space."""
    cluster, which = cluster_of(work.metadata), slice_name(work)
    if not cluster or which is None or is_dispatched(work.metadata):
        return None
    return MemberKey(cluster, *which)


def dispatched_from(work: Work) -> MemberKey | None:
    """The slice whose endpoints a Work brings to a consumer."""
    if not is_dispatched(work.metadata):
        return None
    provider = work.metadata.annotations[annotations.ENDPOINT_SLICE_PROVISION_CLUSTER]
    which = slice_name(work)
    if which is None or not which[1].startswith(f"{provider}-"):
        return None
    return MemberKey(provider, which[0], which[1].removeprefix(f"{provider}-"))


def collected_work(key: MemberKey) -> str:
    """The name of the Work that a slice is collected into."""
    return names.work_name(KIND, key.name, key.namespace)


class _MarkedMetadata(msgspec.Struct, frozen=True):
    name: str = ""
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None


class _Marked(msgspec.Struct, frozen=True):
    metadata: _MarkedMetadata


_marked = msgspec.json.Decoder(_Marked)


def dispatching_work(body: bytes, cluster: str) -> str:
    """The name of the Work that brought a slice to a member, by the slice's own marks; empty unless all of them say
    that it was dispatched to this very cluster."""
    try:
        metadata = _marked.decode(body).metadata
    except (ValueError, RecursionError):
        return ""
    marks, noted = metadata.labels or {}, metadata.annotations or {}
    provider = noted.get(annotations.ENDPOINT_SLICE_PROVISION_CLUSTER)
    ours = (
        marks.get(labels.MANAGED) == "true"
        and marks.get(labels.KUBERNETES_ENDPOINT_SLICE_MANAGED_BY) == labels.DISPATCHED_ENDPOINT_SLICE_CONTROLLER
        and bool(marks.get(labels.WORK_PERMANENT_ID))
        and noted.get(annotations.WORK_NAMESPACE) == names.execution_space(cluster)
        and bool(provider)
        and metadata.name.startswith(f"{provider}-")
    )
    return noted.get(annotations.WORK_NAME, "") if ours else ""


def service_of(tree: Mapping[str, Any]) -> str:
    """The Service of a member's slice; empty when it names none that could exist."""
    name = ((tree.get("metadata") or {}).get("labels") or {}).get(labels.KUBERNETES_SERVICE_NAME)
    return name if isinstance(name, str) and name and not name_rules.dns_label(name) else ""


def used(work: Work, existing: Work | None, use: Use) -> Work:
    """A collected slice's Work as one use writes it, with the uses that it has already."""
    kinds = {use.kind} | (users(existing.metadata) if existing is not None else set())
    marks = {**work.metadata.labels, labels.ENDPOINT_SLICE_MANAGED_BY: ".".join(sorted(kinds))}
    return msgspec.structs.replace(work, metadata=msgspec.structs.replace(work.metadata, labels=marks))


def unused(metadata: ObjectMeta, use: Use) -> ObjectMeta | None:
    """The metadata of a collected slice's Work without a use; None when nobody else uses it."""
    left = users(metadata) - {use.kind}
    if not left:
        return None
    kept = {key: value for key, value in metadata.labels.items() if key not in (use.namespace_label, use.name_label)}
    kept[labels.ENDPOINT_SLICE_MANAGED_BY] = ".".join(sorted(left))
    return msgspec.structs.replace(metadata, labels=kept)


def imported(source: JSONObject, work: Work, cluster: str, service: str) -> JSONObject:
    """The slice of the control plane that offers a collected slice to importers."""
    marks = {
        labels.KUBERNETES_SERVICE_NAME: names.derived_service(service),
        labels.KUBERNETES_ENDPOINT_SLICE_MANAGED_BY: labels.IMPORTED_ENDPOINT_SLICE_CONTROLLER,
        labels.WORK_PERMANENT_ID: work.metadata.labels.get(labels.WORK_PERMANENT_ID, ""),
    }
    noted = {annotations.WORK_NAMESPACE: work.metadata.namespace, annotations.WORK_NAME: work.metadata.name}
    return _rebuilt(source, names.imported_endpoint_slice(cluster, source["metadata"]["name"]), marks, noted)


def dispatched(source: JSONObject, provider: str, service: str) -> JSONObject:
    """The slice of a consumer that offers a collected slice there."""
    marks = {
        labels.KUBERNETES_SERVICE_NAME: service,
        labels.KUBERNETES_ENDPOINT_SLICE_MANAGED_BY: labels.DISPATCHED_ENDPOINT_SLICE_CONTROLLER,
    }
    noted = {annotations.ENDPOINT_SLICE_PROVISION_CLUSTER: provider}
    return _rebuilt(source, names.dispatched_endpoint_slice(provider, source["metadata"]["name"]), marks, noted)


def dispatched_work(source: JSONObject, provider: str) -> str:
    """The name of the Works that bring a slice to consumers: the collected one's, where names are generated and so
    unlike those of other clusters; else one that no other cluster's slice has."""
    metadata = source["metadata"]
    if metadata.get("generateName"):
        return names.work_name(KIND, metadata["name"], metadata["namespace"])
    unlike = names.dispatched_endpoint_slice(provider, metadata["name"])
    return names.work_name(KIND, unlike, metadata["namespace"])


def _rebuilt(source: JSONObject, name: str, marks: dict[str, str], noted: dict[str, str]) -> JSONObject:
    metadata = {"name": name, "namespace": source["metadata"]["namespace"], "labels": marks, "annotations": noted}
    content: JSONObject = {field: source[field] for field in ("addressType", "endpoints", "ports") if field in source}
    return {"apiVersion": API_VERSION, "kind": KIND, "metadata": metadata, **content}


def clusters_of(slices: Iterable[Mapping[str, Any]]) -> list[str]:
    """The clusters whose endpoints imported slices hold, sorted."""
    spaces = ((one["metadata"].get("annotations") or {}).get(annotations.WORK_NAMESPACE, "") for one in slices)
    prefix = names.EXECUTION_SPACE_PREFIX
    return sorted({space.removeprefix(prefix) for space in spaces if space.startswith(prefix)})
