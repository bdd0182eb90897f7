"""Pods from templates: what the controllers that own pods have in common."""

import asyncio
from collections.abc import Sequence
from typing import Any

from karmada.machinery.codec import Identity
from karmada.machinery.errors import ApiError, Forbidden, NotFound
from karmada.machinery.informers.cache import Change
from karmada.machinery.transport import JSONObject
from karmada.simulator.workloads.context import Workloads
from karmada.simulator.workloads.expectations import Expectations
from karmada.simulator.workloads.kinds import PODS
from karmada.simulator.workloads.views import Pod

AT_ONCE = 16
"""Requests under way at the same time for one owner."""


def owner_reference(owner: JSONObject) -> JSONObject:
    """The reference that makes an object managed by its owner."""
    metadata = owner["metadata"]
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": metadata["name"],
        "uid": metadata["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def from_template(owner: JSONObject, template: JSONObject, **metadata: Any) -> JSONObject:
    """A pod as a template describes it, owned by `owner`."""
    model = template.get("metadata") or {}
    made: JSONObject = {"namespace": owner["metadata"]["namespace"], "ownerReferences": [owner_reference(owner)]}
    for field in ("labels", "annotations", "finalizers"):
        if model.get(field):
            made[field] = model[field]
    made |= metadata
    return {"apiVersion": "v1", "kind": "Pod", "metadata": made, "spec": dict(template.get("spec") or {})}


class PodMaker:
    """Makes and deletes the pods of one controller's owners, and remembers it until the cache shows it."""

    def __init__(self, context: Workloads, component: str) -> None:
        self._context = context
        self._component = component
        self._pods = context.client.resource(PODS)
        self.expectations = Expectations(context.clock)

    def owned(self, owner_uid: str) -> list[Pod]:
        """The pods of an owner, in the order of their names."""
        found = self._context.pods.indexed("owner", owner_uid)
        return sorted(found, key=lambda pod: pod.metadata.name)

    async def create(self, owner: JSONObject, pods: Sequence[JSONObject]) -> ApiError | None:
        """Make pods; the first failure, after which nothing more is tried."""
        for start in range(0, len(pods), AT_ONCE):
            made = await asyncio.gather(
                *(self._create(owner, pod) for pod in pods[start : start + AT_ONCE]), return_exceptions=True
            )
            for outcome in made:
                if isinstance(outcome, ApiError):
                    return outcome
                if isinstance(outcome, BaseException):
                    raise outcome
        return None

    async def _create(self, owner: JSONObject, pod: JSONObject) -> None:
        uid = owner["metadata"]["uid"]
        try:
            made = await self._pods.create(pod)
        except ApiError as error:
            if not error.transient:
                text = f"Error creating: {error.message}"
                self._context.event(self._component, owner, "Warning", "FailedCreate", text)
            raise
        self.expectations.created(uid, made["metadata"]["uid"])
        name = made["metadata"]["name"]
        self._context.event(self._component, owner, "Normal", "SuccessfulCreate", f"Created pod: {name}")

    async def delete(self, owner: JSONObject, pods: Sequence[Pod]) -> None:
        """Ask for the deletion of pods."""
        for start in range(0, len(pods), AT_ONCE):
            await asyncio.gather(*(self._delete(owner, pod) for pod in pods[start : start + AT_ONCE]))

    async def _delete(self, owner: JSONObject, pod: Pod) -> None:
        meta = pod.metadata
        try:
            await self._pods.delete(meta.name, meta.namespace, only_if=Identity(uid=meta.uid))
        except NotFound:
            return
        self.expectations.deleted(owner["metadata"]["uid"], meta.uid)
        self._context.event(self._component, owner, "Normal", "SuccessfulDelete", f"Deleted pod: {meta.name}")


def owner_name(change: Change[Pod], kind: str) -> list[tuple[str, str]]:
    """Namespace and name of the owners of a kind that a change of a pod is about."""
    found = []
    for item in (change.old, change.new):
        owner = item.value.metadata.controller if item is not None else None
        if owner is not None and owner.kind == kind and item is not None:
            found.append((item.key.namespace, owner.name))
    return list(dict.fromkeys(found))


def is_refusal(error: ApiError) -> bool:
    """Whether a failed creation is a verdict about the pod (quota, validation) and not bad luck."""
    return isinstance(error, Forbidden) or not error.transient
