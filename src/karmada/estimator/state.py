"""What an estimator knows of its member, from trimmed caches: of thousands of pods only amounts and node are kept, and
of those that wait for a node their labels, owner and PodScheduled condition; nodes that are alike share their bytes.
"""

from typing import Any, Protocol

import msgspec

from karmada.api.codec import decoder
from karmada.api.meta import ObjectMeta, OwnerReference
from karmada.api.native import Condition, Container, Node, NodeStatus, Pod, PodSpec, PodStatus, ResourceQuota, Resources
from karmada.estimator.estimate import Member
from karmada.estimator.nodes import without_own_name
from karmada.estimator.workloads import Workload
from karmada.machinery.informers.cache import Change, Item, Key
from karmada.machinery.informers.factory import Projection
from karmada.machinery.informers.informer import Informer
from karmada.machinery.resource import EVERYTHING, Scope
from karmada.machinery.transport import GroupVersionResource
from karmada.membership.resource_counts import Trimming, shared

NODES = GroupVersionResource("", "v1", "nodes")
PODS = GroupVersionResource("", "v1", "pods")
QUOTAS = GroupVersionResource("", "v1", "resourcequotas")
DEPLOYMENTS = GroupVersionResource("apps", "v1", "deployments")
REPLICA_SETS = GroupVersionResource("apps", "v1", "replicasets")
_OWNED = "owned"


_encode = msgspec.json.Encoder().encode


def trim_pod(body: bytes) -> bytes:
    """A pod with nothing but what estimating and counting read; its informer knows its name."""
    pod = decoder(Pod).decode(body)
    given = pod.spec
    spec = PodSpec(
        node_name=given.node_name,
        containers=_trimmed(given.containers),
        init_containers=_trimmed(given.init_containers),
        overhead=given.overhead,
        resources=Resources(requests=given.resources.requests),
    )
    # Whoever has a node waits for none.
    waits = tuple(c for c in pod.status.conditions if c.type == "PodScheduled" and c.status != "True")
    status = PodStatus(phase=pod.status.phase, conditions=waits)
    trimmed = {"spec": spec, "status": status}
    return _encode({"metadata": _trimmed_meta(pod.metadata), **trimmed} if waits else trimmed)


def _trimmed_meta(meta: ObjectMeta) -> dict[str, object]:
    """What says to which workload a pod belongs."""
    owners = [
        OwnerReference(api_version="", kind="", name="", uid=owner.uid, controller=True)
        for owner in meta.owner_references
        if owner.controller
    ]
    return {name: value for name, value in (("labels", meta.labels), ("ownerReferences", owners)) if value}


def _trimmed(containers: tuple[Container, ...]) -> tuple[Container, ...]:
    return tuple(Container(resources=Resources(requests=one.resources.requests)) for one in containers)


def trim_node(body: bytes) -> bytes:
    """A node with nothing but labels, taints, amounts and whether it is ready; its informer knows its name."""
    node = decoder(Node).decode(body)
    ready = tuple(Condition(type=c.type, status=c.status) for c in node.status.conditions if c.type == "Ready")
    status = NodeStatus(allocatable=node.status.allocatable, conditions=ready)
    labels = without_own_name(node.metadata.labels, node.metadata.name)
    return shared(_encode({"metadata": {"labels": labels}, "spec": node.spec, "status": status}))


ESTIMATED = Trimming(trim_node, trim_pod)


class Follow(Protocol):
    """Gives the informer of a collection of the member."""

    def __call__(
        self, type_: GroupVersionResource, scope: Scope = EVERYTHING, project: Projection | None = None
    ) -> Informer[Any]:
        """The informer, which starts when first asked for."""
        ...


class MemberState:
    """Follows a member and keeps `member` up to date."""

    def __init__(self, follow: Follow) -> None:
        self.member = Member()
        self._nodes = follow(NODES, project=trim_node)
        self._pods = follow(PODS, project=trim_pod)
        self._quotas = follow(QUOTAS)
        self._deployments = follow(DEPLOYMENTS)
        self._replica_sets = follow(REPLICA_SETS)
        self._pods.add_index(_OWNED, _owner)
        self._replica_sets.add_index(_OWNED, _owner)
        self._nodes.add_handler(self._nodes_changed)
        self._pods.add_handler(self._pods_changed)
        self._quotas.add_handler(self._quotas_changed)

    @property
    def informers(self) -> tuple[Informer[Any], ...]:
        """What must be synced before anything is answered."""
        return self._nodes, self._pods, self._quotas, self._deployments, self._replica_sets

    def deployment(self, namespace: str, name: str) -> Workload | None:
        """A Deployment of the member."""
        item = self._deployments.item(Key(namespace, name))
        return None if item is None else decoder(Workload).decode(item.body)

    def replica_sets(self, deployment: Workload) -> list[Workload]:
        """The ReplicaSets a Deployment controls."""
        owned = self._replica_sets.indexed_items(_OWNED, deployment.metadata.uid)
        return [decoder(Workload).decode(item.body) for item in owned]

    def pods(self, replica_sets: list[Workload]) -> list[Pod]:
        """The pods that ReplicaSets control."""
        return [
            decoder(Pod).decode(item.body)
            for owner in replica_sets
            for item in self._pods.indexed_items(_OWNED, owner.metadata.uid)
        ]

    def _nodes_changed(self, changes: list[Change[Any]]) -> None:
        for change in changes:
            if change.new is None:
                self.member.nodes.drop_node(change.key.name)
            else:
                self.member.nodes.put_node(decoder(Node).decode(change.new.body), change.key.name)

    def _pods_changed(self, changes: list[Change[Any]]) -> None:
        for change in changes:
            if change.old is not None:
                self.member.nodes.remove_pod(decoder(Pod).decode(change.old.body))
            if change.new is not None:
                self.member.nodes.add_pod(decoder(Pod).decode(change.new.body))

    def _quotas_changed(self, changes: list[Change[Any]]) -> None:
        for change in changes:
            namespace, name = change.key
            if change.new is not None:
                quota = decoder(ResourceQuota).decode(change.new.body)
                self.member.quotas.setdefault(namespace, {})[name] = quota
            else:
                self.member.quotas.get(namespace, {}).pop(name, None)


class _Owner(msgspec.Struct, frozen=True, gc=False):
    uid: str = ""
    controller: bool = False


class _OwnedMeta(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    owner_references: tuple[_Owner, ...] = ()


class _Owned(msgspec.Struct, frozen=True, gc=False):
    metadata: _OwnedMeta = _OwnedMeta()


_owned = msgspec.json.Decoder(_Owned)


def _owner(item: Item[Any]) -> list[str]:
    return [owner.uid for owner in _owned.decode(item.body).metadata.owner_references if owner.controller]
