"""How objects of a kind are selected, printed and kept, whichever cluster has the kind."""

import dataclasses
from functools import cache

from karmada.apiserver.builtin import builtin_types
from karmada.apiserver.catalog import Catalog
from karmada.apiserver.resources import ResourceType
from karmada.apiserver.schema.model import Schema
from karmada.apiserver.served_resource import Served
from karmada.machinery.discovery import ApiResource


@cache
def _builtin() -> Catalog:
    return Catalog(builtin_types())


class Kinds:
    """Kinds by what discovery says; `own` knows the custom ones of the control plane, with their columns."""

    def __init__(self, own: Catalog | None = None) -> None:
        self._own = own

    def __call__(self, resource: ApiResource) -> Served:
        """The kind as mirrors keep it: in the version that was read, never converted."""
        names = tuple(resource.type)
        known = (self._own.find(*names) if self._own is not None else None) or _builtin().find(*names)
        if known is None or known.type.namespaced != resource.namespaced or known.type.kind != resource.kind:
            return Served(_unknown(resource))
        return Served(dataclasses.replace(known.type, storage_version="", stored_in=None))


def _unknown(resource: ApiResource) -> ResourceType:
    return ResourceType(
        *resource.type,
        resource.kind,
        resource.namespaced,
        Schema("object", preserve_unknown=True),
        singular=resource.singular,
        custom=True,
    )
