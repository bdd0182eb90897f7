"""Which objects belong to a binding, and the record of their states that is kept over a restart."""

from collections.abc import Mapping
from typing import Protocol

import msgspec

from karmada.controllers.bindings import BindingKey
from karmada.machinery.informers.cache import Key
from karmada.machinery.transport import GroupVersionResource


class Group(msgspec.Struct, frozen=True, array_like=True):
    """A binding's template and policy, its Works and their objects; the last are called as the template is."""

    type: GroupVersionResource
    api_version: str
    kind: str
    name: str
    permanent_id: str
    """The binding's, which its Works carry."""
    policy: Key
    """The policy that holds the template; without a namespace a cluster-wide one."""
    work: str
    """What its Works are called."""
    clusters: tuple[str, ...]
    """Where they are."""


class Record(msgspec.Struct, frozen=True, array_like=True):
    """A group, and a digest of its states."""

    digest: bytes
    group: Group


class Records(Protocol):
    """Where records are kept over a restart of this program; another program finds none."""

    async def load(self) -> dict[BindingKey, Record]:
        """All records."""
        ...

    async def write(self, changed: Mapping[BindingKey, Record | None]) -> None:
        """Keep records, and forget those that are None."""
        ...
