"""Whose Work it is: the binding it records, else the object it holds.

Names of Works end in a hash of 32 bits, so two resources can want Works of one name: whoever came first keeps it. A
Work never goes from one binding to another. Only a binding that has the recorded one's very name takes its Works over:
the recorded one is gone then.
"""

from typing import Any, NamedTuple

import msgspec

from karmada.api import annotations, labels
from karmada.api.meta import ObjectMeta
from karmada.api.work.v1alpha1 import Work

JSONObject = dict[str, Any]

_IDS = (labels.RESOURCE_BINDING_PERMANENT_ID, labels.CLUSTER_RESOURCE_BINDING_PERMANENT_ID)


class WorkOfAnother(Exception):
    """The Work of that name belongs to another resource or binding, and stays its."""


class BindingName(NamedTuple):
    """Names a binding; the namespace is empty for a ClusterResourceBinding."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return (
            f"ResourceBinding {self.namespace}/{self.name}" if self.namespace else f"ClusterResourceBinding {self.name}"
        )


class _Metadata(msgspec.Struct, frozen=True):
    name: str = ""
    namespace: str = ""


class _Held(msgspec.Struct, frozen=True, rename="camel"):
    """Which object a manifest is."""

    api_version: str = ""
    kind: str = ""
    metadata: _Metadata = _Metadata()

    def __str__(self) -> str:
        where = f"{self.metadata.namespace}/" if self.metadata.namespace else ""
        return f"{self.kind} {where}{self.metadata.name}"

    def is_same(self, other: "_Held") -> bool:
        """Whether both are one object, be it in two versions of its API."""
        groups = [held.api_version.rpartition("/")[0] for held in (self, other)]
        return groups[0] == groups[1] and (self.kind, self.metadata) == (other.kind, other.metadata)


_held = msgspec.json.Decoder(_Held)


def recorded(metadata: ObjectMeta) -> list[BindingName]:
    """The bindings a Work says it was made for."""
    noted = metadata.annotations
    found = []
    if name := noted.get(annotations.RESOURCE_BINDING_NAME):
        found.append(BindingName(noted.get(annotations.RESOURCE_BINDING_NAMESPACE, ""), name))
    if name := noted.get(annotations.CLUSTER_RESOURCE_BINDING_NAME):
        found.append(BindingName("", name))
    return found


class _Head(msgspec.Struct, frozen=True):
    metadata: ObjectMeta


_head = msgspec.json.Decoder(_Head)


def made_for(body: bytes) -> list[BindingName]:
    """The bindings that an encoded Work says it was made for, whatever else is wrong with it."""
    try:
        return recorded(_head.decode(body).metadata)
    except msgspec.DecodeError:
        return []


def require_own(existing: Work, metadata: ObjectMeta, manifest: JSONObject) -> None:
    """Raise `WorkOfAnother` unless `manifest` may be written into the Work that has the name wanted for it."""
    mine, theirs = recorded(metadata), recorded(existing.metadata)
    which = f"work {existing.metadata.namespace}/{existing.metadata.name}"
    if mine and theirs:
        if mine != theirs:
            owners = " and ".join(map(str, theirs))
            raise WorkOfAnother(
                f"{which} belongs to {owners} and stays its: rename the resource to give it another Work"
            )
        return
    ids = [(key, metadata.labels[key]) for key in _IDS if key in metadata.labels]
    if any(existing.metadata.labels.get(key, id_) != id_ for key, id_ in ids):
        raise WorkOfAnother(f"{which} carries the permanent id of another binding and stays its")
    wanted = msgspec.convert(manifest, _Held)
    for held in map(_read, existing.spec.workload.manifests):
        if not held.is_same(wanted):
            raise WorkOfAnother(f"{which} holds {held} and stays its: rename {wanted} to give it another Work")


def _read(manifest: msgspec.Raw) -> _Held:
    try:
        return _held.decode(manifest)
    except msgspec.DecodeError:
        return _Held(kind="an object that cannot be read")
