"""Volumes: claims get one, as soon as their class allows; volumes nobody claims any more go.

A claim whose class provisions gets a new volume of exactly its size; one without a class gets the smallest that fits
among those that people made. What is in use is protected by finalizers, which are removed here.
"""

from karmada.api.quantity import Quantity
from karmada.machinery.committer import Committer
from karmada.machinery.controller import DONE, Result, own_key
from karmada.machinery.informers.cache import Change, Item, Key
from karmada.machinery.transport import JSONObject
from karmada.simulator.workloads.context import Workloads
from karmada.simulator.workloads.kinds import CLAIMS, STORAGE_CLASSES, VOLUMES
from karmada.simulator.workloads.views import Pod

COMPONENT = "persistentvolume-controller"
CLAIM_PROTECTION = "kubernetes.io/pvc-protection"
VOLUME_PROTECTION = "kubernetes.io/pv-protection"
PROVISIONED_BY = "pv.kubernetes.io/provisioned-by"


class VolumeController:
    """Binds claims to volumes as their class allows, and deletes volumes that nobody claims any more."""

    def __init__(self, context: Workloads) -> None:
        self._context = context
        self._claims = context.trees(CLAIMS)
        self._volumes = context.trees(VOLUMES)
        self._classes = context.trees(STORAGE_CLASSES)
        context.pods.add_index("claim", _claims)
        self._volumes.add_index("claim", _claimed_by)
        self._commit_claim = Committer(context.client.resource(CLAIMS))
        self._commit_volume = Committer(context.client.resource(VOLUMES))
        needs = (self._claims, self._volumes, self._classes, context.pods)
        self.controller = context.controller(COMPONENT, self.reconcile, needs)
        self.controller.watch(self._claims, own_key)
        self.controller.watch(self._volumes, self._on_volume)
        self.controller.watch(context.pods, _claims_of)
        self.controller.watch(self._classes, lambda change: self._pending())

    def _on_volume(self, change: Change[JSONObject]) -> list[Key]:
        named = [Key(*text.split("/")) for text in _claimed_by(change.item)]
        return named or [change.key, *self._pending()]

    def _pending(self) -> list[Key]:
        if not self._claims.has_synced:
            return []
        return [item.key for item in self._claims.all_items() if not item.value["spec"].get("volumeName")]

    async def reconcile(self, key: Key) -> Result:
        """Look after one claim and its volume; a key without a namespace names a volume."""
        if not key.namespace:
            volume = self._volumes.get(key.name)
            if volume is not None:
                await self._unclaimed(volume)
            return DONE
        claim = self._claims.get(key.name, key.namespace)
        if claim is None:
            for volume in self._volumes.indexed("claim", str(key)):
                await self._unclaimed(volume)
            return DONE
        if claim["metadata"].get("deletionTimestamp"):
            if not any(not pod.is_finished for pod in self._context.pods.indexed("claim", str(key))):
                await self._commit_claim.commit(claim, lambda seen: unprotected(seen, CLAIM_PROTECTION))
            return DONE
        name = claim["spec"].get("volumeName")
        volume = self._volumes.get(name) if name else await self._find(claim, key)
        if volume is not None:
            await self._bind(claim, volume)
        elif (claim.get("status") or {}).get("phase") != "Pending":
            await self._commit_claim.commit(claim, lambda seen: seen | {"status": {"phase": "Pending"}})
        return DONE

    async def _find(self, claim: JSONObject, key: Key) -> JSONObject | None:
        """A volume for a claim; None when it has to wait."""
        held = self._volumes.indexed("claim", str(key))
        if held:
            return held[0]
        class_name = claim["spec"].get("storageClassName")
        class_ = self._classes.get(class_name) if class_name else None
        free = [volume for volume in self._volumes.values() if _suits(volume, claim)]
        if free:
            return min(free, key=lambda one: Quantity.parse(one["spec"]["capacity"]["storage"]))
        if class_ is None or class_.get("provisioner") == "kubernetes.io/no-provisioner":
            return None
        if class_.get("volumeBindingMode") == "WaitForFirstConsumer" and not self._context.pods.indexed_items(
            "claim", str(key)
        ):
            return None
        volume = provisioned(claim, class_)
        outcome = await self._commit_volume.ensure(volume["metadata"]["name"], "", lambda seen: seen or volume)
        return getattr(outcome, "value", volume)

    async def _bind(self, claim: JSONObject, volume: JSONObject) -> None:
        reference = {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "namespace": claim["metadata"]["namespace"],
            "name": claim["metadata"]["name"],
            "uid": claim["metadata"]["uid"],
        }

        def claimed(seen: JSONObject) -> JSONObject:
            held = (seen["spec"].get("claimRef") or {}).get("uid")
            if held == reference["uid"]:
                return seen
            return seen | {"spec": seen["spec"] | {"claimRef": reference}}

        def named(seen: JSONObject) -> JSONObject:
            if seen["spec"].get("volumeName"):
                return seen
            metadata = seen["metadata"]
            marks = {"pv.kubernetes.io/bind-completed": "yes", "pv.kubernetes.io/bound-by-controller": "yes"}
            annotations = (metadata.get("annotations") or {}) | marks
            return seen | {
                "metadata": metadata | {"annotations": annotations},
                "spec": seen["spec"] | {"volumeName": volume["metadata"]["name"]},
            }

        bound = {"phase": "Bound", "accessModes": claim["spec"].get("accessModes") or []}
        bound["capacity"] = {"storage": volume["spec"]["capacity"]["storage"]}
        written = await self._commit_volume.commit(volume, claimed)
        await self._commit_volume.commit(
            getattr(written, "value", volume),
            lambda seen: seen | {"status": (seen.get("status") or {}) | {"phase": "Bound"}},
        )
        written_claim = await self._commit_claim.commit(claim, named)
        await self._commit_claim.commit(
            getattr(written_claim, "value", claim),
            lambda seen: seen | {"status": (seen.get("status") or {}) | bound},
        )

    async def _unclaimed(self, volume: JSONObject) -> None:
        """A volume whose claim is gone, or that never had one."""
        if volume["metadata"].get("deletionTimestamp"):
            await self._commit_volume.commit(volume, lambda seen: unprotected(seen, VOLUME_PROTECTION))
            return
        reference = volume["spec"].get("claimRef") or {}
        present = self._claims.get(reference.get("name", ""), reference.get("namespace", "")) if reference else None
        if reference.get("uid") and (present is None or present["metadata"]["uid"] != reference["uid"]):
            if volume["spec"].get("persistentVolumeReclaimPolicy") == "Delete":
                await self._commit_volume.remove(volume, lambda seen: True)
                return
            await self._phase(volume, "Released")
        elif not reference:
            await self._phase(volume, "Available")

    async def _phase(self, volume: JSONObject, phase: str) -> None:
        await self._commit_volume.commit(
            volume, lambda seen: seen | {"status": (seen.get("status") or {}) | {"phase": phase}}
        )


def provisioned(claim: JSONObject, class_: JSONObject) -> JSONObject:
    """The volume that a class makes for a claim."""
    metadata = claim["metadata"]
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {
            "name": f"pvc-{metadata['uid']}",
            "annotations": {PROVISIONED_BY: class_.get("provisioner", "")},
        },
        "spec": {
            "capacity": {"storage": claim["spec"]["resources"]["requests"]["storage"]},
            "accessModes": claim["spec"].get("accessModes") or ["ReadWriteOnce"],
            "persistentVolumeReclaimPolicy": class_.get("reclaimPolicy") or "Delete",
            "storageClassName": class_["metadata"]["name"],
            "volumeMode": claim["spec"].get("volumeMode") or "Filesystem",
            "hostPath": {"path": f"/simulated/pvc-{metadata['uid']}", "type": ""},
            "claimRef": {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "namespace": metadata["namespace"],
                "name": metadata["name"],
                "uid": metadata["uid"],
            },
        },
    }


def _suits(volume: JSONObject, claim: JSONObject) -> bool:
    spec, wanted = volume["spec"], claim["spec"]
    if volume["metadata"].get("deletionTimestamp") or spec.get("claimRef"):
        return False
    if (spec.get("storageClassName") or "") != (wanted.get("storageClassName") or ""):
        return False
    if not set(wanted.get("accessModes") or ()) <= set(spec.get("accessModes") or ()):
        return False
    size = wanted["resources"]["requests"]["storage"]
    return Quantity.parse(spec["capacity"]["storage"]) >= Quantity.parse(size)


def unprotected(obj: JSONObject, finalizer: str) -> JSONObject:
    """An object without a finalizer that kept it while it was in use."""
    metadata = obj["metadata"]
    left = [name for name in metadata.get("finalizers") or () if name != finalizer]
    return obj | {"metadata": metadata | {"finalizers": left}}


def _claims(item: Item[Pod]) -> list[str]:
    volumes = item.value.spec.volumes or ()
    return [
        f"{item.key.namespace}/{volume.persistent_volume_claim.claim_name}"
        for volume in volumes
        if volume.persistent_volume_claim is not None
    ]


def _claims_of(change: Change[Pod]) -> list[Key]:
    return [Key(*text.split("/")) for text in _claims(change.item)]


def _claimed_by(item: Item[JSONObject]) -> list[str]:
    reference = item.value["spec"].get("claimRef")
    return [f"{reference.get('namespace', '')}/{reference['name']}"] if reference else []
