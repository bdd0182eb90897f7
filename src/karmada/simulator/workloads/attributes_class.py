"""VolumeAttributesClasses: one whose deletion was asked for goes when no claim and no volume names it any more.

Apart from the other volumes (`volume`), as API servers before 1.34 do not serve this kind: there only this waits.
"""

from karmada.machinery.committer import Committer
from karmada.machinery.controller import DONE, Result, own_key
from karmada.machinery.informers.cache import Change, Item, Key
from karmada.machinery.transport import JSONObject
from karmada.simulator.workloads.context import Workloads
from karmada.simulator.workloads.kinds import ATTRIBUTES_CLASSES, CLAIMS, VOLUMES
from karmada.simulator.workloads.volume import unprotected

COMPONENT = "volumeattributesclass-protection-controller"
PROTECTION = "kubernetes.io/vac-protection"
INDEX = "attributes class"


class AttributesClassController:
    """Finishes the deletion of volume attributes classes that nothing refers to."""

    def __init__(self, context: Workloads) -> None:
        self._classes = context.trees(ATTRIBUTES_CLASSES)
        self._users = (context.trees(CLAIMS), context.trees(VOLUMES))
        self._commit = Committer(context.client.resource(ATTRIBUTES_CLASSES), status_subresource=False)
        self.controller = context.controller(COMPONENT, self.reconcile, (self._classes, *self._users))
        self.controller.watch(self._classes, own_key)
        for users in self._users:
            users.add_index(INDEX, _named)
            self.controller.watch(users, _no_longer_named)

    async def reconcile(self, key: Key) -> Result:
        """Let one class go when it may."""
        class_ = self._classes.get(key.name)
        if class_ is None or not class_["metadata"].get("deletionTimestamp"):
            return DONE
        if not any(users.indexed_items(INDEX, key.name) for users in self._users):
            await self._commit.commit(class_, lambda seen: unprotected(seen, PROTECTION))
        return DONE


def _named(item: Item[JSONObject]) -> list[str]:
    """The classes that a claim or a volume has, gets or is about to get."""
    spec, status = item.value["spec"], item.value.get("status") or {}
    names = (
        spec.get("volumeAttributesClassName"),
        status.get("currentVolumeAttributesClassName"),
        (status.get("modifyVolumeStatus") or {}).get("targetVolumeAttributesClassName"),
    )
    return list(dict.fromkeys(name for name in names if name))


def _no_longer_named(change: Change[JSONObject]) -> list[Key]:
    before = _named(change.old) if change.old is not None else []
    after = _named(change.new) if change.new is not None else []
    return [Key("", name) for name in before if name not in after]
