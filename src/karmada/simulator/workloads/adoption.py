"""Who belongs to whom: workloads adopt what matches their selector and has no owner, and release what no longer does.

What nobody owns is rare, so it is kept in an index of its own (`ORPHANS`) and costs nothing when there is none.
"""

from typing import Any

from karmada.api import label_selector
from karmada.machinery.committer import Committer
from karmada.machinery.informers.cache import Item
from karmada.machinery.informers.informer import Informer
from karmada.machinery.resource import Resource
from karmada.machinery.transport import JSONObject
from karmada.simulator.workloads.pod_making import owner_reference
from karmada.simulator.workloads.views import Meta, meta_of

ORPHANS = "orphans"


class Adoption:
    """Adopts objects of one kind, which an informer shows in any form and a resource writes as trees."""

    def __init__(self, informer: Informer[Any], resource: Resource[JSONObject]) -> None:
        self._informer = informer
        self._decode = resource.codec.decode
        self._commit = Committer(resource)
        informer.add_index(ORPHANS, orphaned if informer.codec.shareable else _orphaned_tree)

    async def adopt(self, owner: JSONObject) -> bool:
        """Adopt the orphans that an owner selects; whether there were any."""
        metadata = owner["metadata"]
        found = False
        orphans = self._informer.indexed_items(ORPHANS, metadata["namespace"])
        if not orphans or metadata.get("deletionTimestamp"):
            return False
        selector = _selector(owner)
        for item in orphans:
            tree = self._decode(item.body)
            if selector.matches(tree["metadata"].get("labels") or {}):
                found = True
                await self._commit.commit(tree, lambda seen: adopted(seen, owner))
        return found

    async def release(self, owner: JSONObject, owned: list[Item[Any]]) -> bool:
        """Release what an owner no longer selects; whether there was anything."""
        selector = _selector(owner)
        found = False
        for item in owned:
            tree = self._decode(item.body)
            going = tree["metadata"].get("deletionTimestamp")
            if not going and not selector.matches(tree["metadata"].get("labels") or {}):
                found = True
                await self._commit.commit(tree, lambda seen: released(seen, owner["metadata"]["uid"]))
        return found


def _selector(owner: JSONObject) -> label_selector.Selector:
    """What an owner selects; a ReplicationController lists labels only."""
    selector = owner["spec"].get("selector")
    return label_selector.from_json({"matchLabels": selector} if owner["kind"] == "ReplicationController" else selector)


def adopted(obj: JSONObject, owner: JSONObject) -> JSONObject:
    """The object with an owner; unchanged when somebody else was faster."""
    metadata = obj["metadata"]
    references = metadata.get("ownerReferences") or []
    if metadata.get("deletionTimestamp") or any(reference.get("controller") for reference in references):
        return obj
    return obj | {"metadata": metadata | {"ownerReferences": [*references, owner_reference(owner)]}}


def released(obj: JSONObject, uid: str) -> JSONObject:
    """The object without an owner."""
    metadata = obj["metadata"]
    left = [reference for reference in metadata.get("ownerReferences") or () if reference["uid"] != uid]
    return obj | {"metadata": metadata | {"ownerReferences": left}}


def orphaned(item: Item[Any]) -> list[str]:
    """The namespace of an object, given as a view, that nobody manages."""
    return _orphanage(item, item.value.metadata)


def _orphaned_tree(item: Item[Any]) -> list[str]:
    return _orphanage(item, meta_of(item.body))


def _orphanage(item: Item[Any], meta: Meta) -> list[str]:
    return [] if meta.controller is not None or meta.deletion_timestamp else [item.key.namespace]
