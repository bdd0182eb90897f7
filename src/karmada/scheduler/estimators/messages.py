"""The messages of the estimator service, in the wire format Karmada's own estimators and schedulers speak.

Each has `encode`; requests and responses have `decode`. Maps are written sorted by key.
"""

from collections.abc import Mapping
from typing import NamedTuple

from karmada.api.base import ResourceList
from karmada.api.meta import Toleration
from karmada.api.protobuf_wire import as_bytes
from karmada.api.work.v1alpha2 import (
    Component,
    ComponentReplicaRequirements,
    NodeClaim,
    NodeSelector,
    ObjectReference,
    ReplicaRequirements,
)
from karmada.scheduler.core.assumptions import AssumedWorkload
from karmada.scheduler.estimators.kubernetes_wire import (
    put_node_selector,
    put_quantity,
    put_toleration,
    read_node_selector,
    read_quantity,
    read_toleration,
)
from karmada.scheduler.estimators.wire import (
    as_int,
    as_text,
    entry,
    fields,
    put_bytes,
    put_entry,
    put_int,
    put_text,
)

SERVICE = "github.com.karmada_io.karmada.pkg.estimator.service.Estimator"
MAX_REPLICAS = f"/{SERVICE}/MaxAvailableReplicas"
MAX_SETS = f"/{SERVICE}/MaxAvailableComponentSets"
UNSCHEDULABLE = f"/{SERVICE}/GetUnschedulableReplicas"


class Answer(NamedTuple):
    """A response: one number, whatever was asked."""

    number: int

    def encode(self) -> bytes:
        """As bytes."""
        out = bytearray()
        put_int(out, 1, self.number)
        return bytes(out)

    @staticmethod
    def decode(data: bytes) -> "Answer":
        """From bytes."""
        return Answer(next((as_int(value, 32) for number, value in fields(data) if number == 1), 0))


class ReplicasRequest(NamedTuple):
    """How many replicas fit?"""

    cluster: str
    requirements: ReplicaRequirements | None = None
    assumed: tuple[AssumedWorkload, ...] = ()

    def encode(self) -> bytes:
        """As bytes."""
        out = bytearray()
        put_text(out, 1, self.cluster)
        if self.requirements is not None:
            needs = bytearray()
            _put_claim(needs, self.requirements.node_claim)
            put_text(needs, 3, self.requirements.namespace)
            put_text(needs, 4, self.requirements.priority_class_name)
            _put_amounts(needs, 5, self.requirements.resource_request)
            put_bytes(out, 2, needs)
        for workload in self.assumed:
            put_bytes(out, 3, _put_workload(workload))
        return bytes(out)

    @staticmethod
    def decode(data: bytes) -> "ReplicasRequest":
        """From bytes."""
        cluster, requirements, assumed = "", None, []
        for number, value in fields(data):
            if number == 1:
                cluster = as_text(value)
            elif number == 2:
                requirements = _read_requirements(as_bytes(value))
            elif number == 3:
                assumed.append(_read_workload(as_bytes(value)))
        return ReplicasRequest(cluster, requirements, tuple(assumed))


class SetsRequest(NamedTuple):
    """How many whole sets of components fit?"""

    cluster: str
    components: tuple[Component, ...] = ()
    namespace: str = ""
    assumed: tuple[AssumedWorkload, ...] = ()

    def encode(self) -> bytes:
        """As bytes."""
        out = bytearray()
        put_text(out, 1, self.cluster)
        for component in self.components:
            put_bytes(out, 2, _put_component(component))
        put_text(out, 3, self.namespace)
        for workload in self.assumed:
            put_bytes(out, 4, _put_workload(workload))
        return bytes(out)

    @staticmethod
    def decode(data: bytes) -> "SetsRequest":
        """From bytes."""
        cluster, namespace = "", ""
        components: list[Component] = []
        assumed: list[AssumedWorkload] = []
        for number, value in fields(data):
            if number == 1:
                cluster = as_text(value)
            elif number == 2:
                components.append(_read_component(as_bytes(value)))
            elif number == 3:
                namespace = as_text(value)
            elif number == 4:
                assumed.append(_read_workload(as_bytes(value)))
        return SetsRequest(cluster, tuple(components), namespace, tuple(assumed))


class UnschedulableRequest(NamedTuple):
    """How many replicas of a resource found no node for longer than the threshold?"""

    cluster: str
    resource: ObjectReference | None = None
    threshold: int = 0
    """Nanoseconds."""

    def encode(self) -> bytes:
        """As bytes."""
        out = bytearray()
        put_text(out, 1, self.cluster)
        if self.resource is not None:
            reference = bytearray()
            resource = self.resource
            texts = (resource.api_version, resource.kind, resource.namespace, resource.name)
            for number, text in enumerate(texts, 1):
                put_text(reference, number, text)
            put_bytes(out, 2, reference)
        put_int(out, 3, self.threshold)
        return bytes(out)

    @staticmethod
    def decode(data: bytes) -> "UnschedulableRequest":
        """From bytes."""
        cluster, resource, threshold = "", None, 0
        for number, value in fields(data):
            if number == 1:
                cluster = as_text(value)
            elif number == 2:
                texts = {part: as_text(text) for part, text in fields(as_bytes(value)) if part <= 4}
                resource = ObjectReference(
                    api_version=texts.get(1, ""),
                    kind=texts.get(2, ""),
                    namespace=texts.get(3, ""),
                    name=texts.get(4, ""),
                )
            elif number == 3:
                threshold = as_int(value)
        return UnschedulableRequest(cluster, resource, threshold)


def _put_workload(workload: AssumedWorkload) -> bytes:
    out = bytearray()
    put_text(out, 1, workload.namespace)
    for component in workload.components:
        put_bytes(out, 2, _put_component(component))
    return bytes(out)


def _read_workload(data: bytes) -> AssumedWorkload:
    namespace, components = "", []
    for number, value in fields(data):
        if number == 1:
            namespace = as_text(value)
        elif number == 2:
            components.append(_read_component(as_bytes(value)))
    return AssumedWorkload(namespace, tuple(components))


def _put_component(component: Component) -> bytes:
    out = bytearray()
    put_text(out, 1, component.name)
    if component.replica_requirements is not None:
        needs = bytearray()
        _put_claim(needs, component.replica_requirements.node_claim)
        put_text(needs, 3, component.replica_requirements.priority_class_name)
        _put_amounts(needs, 4, component.replica_requirements.resource_request)
        put_bytes(out, 2, needs)
    put_int(out, 3, component.replicas)
    return bytes(out)


def _read_component(data: bytes) -> Component:
    name, replicas = "", 0
    requirements: ComponentReplicaRequirements | None = None
    for number, value in fields(data):
        if number == 1:
            name = as_text(value)
        elif number == 2:
            requirements = _read_component_requirements(as_bytes(value))
        elif number == 3:
            replicas = as_int(value, 32)
    return Component(name=name, replicas=replicas, replica_requirements=requirements)


def _read_component_requirements(data: bytes) -> ComponentReplicaRequirements:
    claim: NodeClaim | None = None
    priority = ""
    amounts: ResourceList = {}
    for number, value in fields(data):
        if number == 1:
            claim = _read_claim(as_bytes(value))
        elif number == 3:
            priority = as_text(value)
        elif number == 4:
            name, quantity = entry(value)
            amounts[name] = read_quantity(quantity)
    return ComponentReplicaRequirements(node_claim=claim, priority_class_name=priority, resource_request=amounts)


def _read_requirements(data: bytes) -> ReplicaRequirements:
    claim: NodeClaim | None = None
    namespace = priority = ""
    amounts: ResourceList = {}
    for number, value in fields(data):
        if number == 1:
            claim = _read_claim(as_bytes(value))
        elif number == 3:
            namespace = as_text(value)
        elif number == 4:
            priority = as_text(value)
        elif number == 5:
            name, quantity = entry(value)
            amounts[name] = read_quantity(quantity)
    return ReplicaRequirements(
        node_claim=claim, namespace=namespace, priority_class_name=priority, resource_request=amounts
    )


def _put_claim(out: bytearray, claim: NodeClaim | None) -> None:
    if claim is None:
        return
    encoded = bytearray()
    for key in sorted(claim.node_selector):
        put_entry(encoded, 2, key, claim.node_selector[key].encode())
    if claim.hard_node_affinity is not None:
        selector = put_node_selector(claim.hard_node_affinity)
        if selector:
            put_bytes(encoded, 4, selector)
    for toleration in claim.tolerations:
        put_bytes(encoded, 5, put_toleration(toleration))
    put_bytes(out, 1, encoded)


def _read_claim(data: bytes) -> NodeClaim:
    labels: dict[str, str] = {}
    affinity: NodeSelector | None = None
    tolerations: list[Toleration] = []
    for number, value in fields(data):
        if number == 2:
            key, content = entry(value)
            labels[key] = as_text(content)
        elif number == 4:
            affinity = read_node_selector(as_bytes(value))
        elif number == 5:
            tolerations.append(read_toleration(as_bytes(value)))
    return NodeClaim(node_selector=labels, hard_node_affinity=affinity, tolerations=tuple(tolerations))


def _put_amounts(out: bytearray, field: int, amounts: Mapping[str, str | int]) -> None:
    for name in sorted(amounts):
        put_entry(out, field, name, put_quantity(amounts[name]))
