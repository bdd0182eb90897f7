"""What an estimator knows of its member, from trimmed caches: of thousands of pods only amounts, node, owner and the
PodScheduled condition are kept.
"""

from typing import Any

import msgspec

from karmada.api.codec import decoder
from karmada.api.native import Container, Node, Pod, PodStatus, ResourceQuota, Resources
from karmada.estimator.estimate import Member
from karmada.estimator.workloads import Workload
from karmada.machinery.informers.cache import Change, Item, Key
from karmada.machinery.informers.factory import InformerFactory
from karmada.machinery.informers.informer import Informer
from karmada.machinery.transport import GroupVersionResource

NODES = GroupVersionResource("", "v1", "nodes")
PODS = GroupVersionResource("", "v1", "pods")
QUOTAS = GroupVersionResource("", "v1", "resourcequotas")
DEPLOYMENTS = GroupVersionResource("apps", "v1", "deployments")
REPLICA_SETS = GroupVersionResource("apps", "v1", "replicasets")
_OWNED = "owned"


class _Meta(msgspec.Struct, frozen=True, gc=False, rename="camel", omit_defaults=True):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    creation_timestamp: str = ""
    labels: dict[str, str] = msgspec.field(default_factory=dict)
    owner_references: list[msgspec.Raw] = msgspec.field(default_factory=list)


class _PodSpec(msgspec.Struct, frozen=True, gc=False, rename="camel", omit_defaults=True):
    node_name: str = ""
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    overhead: dict[str, int | str] = msgspec.field(default_factory=dict)
    resources: Resources = Resources()


class _TrimmedPod(msgspec.Struct, frozen=True, gc=False, rename="camel", omit_defaults=True):
    metadata: _Meta = _Meta()
    spec: _PodSpec = _PodSpec()
    status: PodStatus = PodStatus()


_pod = msgspec.json.Decoder(_TrimmedPod)
_encode = msgspec.json.Encoder().encode


def trim_pod(body: bytes) -> bytes:
    """A pod with nothing but what estimating reads."""
    pod = _pod.decode(body)
    scheduled = tuple(condition for condition in pod.status.conditions if condition.type == "PodScheduled")
    return _encode(msgspec.structs.replace(pod, status=PodStatus(phase=pod.status.phase, conditions=scheduled)))


def trim_node(body: bytes) -> bytes:
    """A node with nothing but labels, taints and amounts."""
    node = decoder(Node).decode(body)
    meta = node.metadata
    kept = _Meta(name=meta.name, uid=meta.uid, resource_version=meta.resource_version, labels=dict(meta.labels))
    return _encode({"metadata": kept, "spec": node.spec, "status": {"allocatable": node.status.allocatable}})


class MemberState:
    """Follows a member and keeps `member` up to date."""

    def __init__(self, informers: InformerFactory) -> None:
        self.member = Member()
        self._nodes = informers.resource(NODES, project=trim_node)
        self._pods = informers.resource(PODS, project=trim_pod)
        self._quotas = informers.resource(QUOTAS)
        self._deployments = informers.resource(DEPLOYMENTS)
        self._replica_sets = informers.resource(REPLICA_SETS)
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
                self.member.nodes.put_node(decoder(Node).decode(change.new.body))

    def _pods_changed(self, changes: list[Change[Any]]) -> None:
        for change in changes:
            if change.new is None:
                self.member.nodes.drop_pod(*change.key)
            else:
                self.member.nodes.put_pod(decoder(Pod).decode(change.new.body))

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
